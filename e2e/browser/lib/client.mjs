// A client of the platform: sends requests over HTTP+JSON as any A2A client does.
import { randomUUID } from "node:crypto";
import { platform } from "./browser.mjs";

const extension = (name) => `urn:sabha:ext:${name}:v1`;

const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-api-key": platform.key };

// at is where an agent is served: the planner at the root.
const at = (agent) => (agent === "planner" ? "" : `/${agent}`);

async function post(path, body) {
  const res = await fetch(platform.http + path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await res.text();
  if (!res.ok) throw new Error(`${path}: ${res.status} ${answer}`);
  return JSON.parse(answer);
}

// message of a request: text, data, or both, for a playbook when one is named, or for a
// task that goes on with it.
export function message({ text, data, playbook, task }) {
  const parts = [];
  if (text !== undefined) parts.push({ text });
  if (data !== undefined) parts.push({ data });
  return { messageId: randomUUID(), taskId: task, role: "ROLE_USER", parts, metadata: playbook ? { [extension("playbook")]: playbook } : undefined };
}

// ask sends a request to the planner, or to another agent, and returns its task when it
// has come to rest, or at once.
export async function ask(request, { wait = true, agent = "planner" } = {}) {
  const { task } = await post(`${at(agent)}/message:send`, { message: message(request), configuration: { returnImmediately: !wait } });
  return task;
}

// get reads a task.
export async function get(id, agent = "planner") {
  const res = await fetch(`${platform.http}${at(agent)}/tasks/${id}`, { headers });
  return res.json();
}

// until reads something again and again until it is as wanted. What names it in the failure.
export async function until(what, read, wanted) {
  for (let n = 0; n < 600; n++) {
    const found = await read();
    if (wanted(found)) return found;
    await new Promise((r) => setTimeout(r, 100));
  }
  throw new Error(`not within a minute: ${what}`);
}

// completed waits until a task has a state.
export function completed(id, state = "TASK_STATE_COMPLETED", agent = "planner") {
  return until(`the task ${id} is ${state}`, () => get(id, agent), (task) => task.status.state === state);
}

// cancel cancels a task.
export function cancel(id) { return post(`/tasks/${id}:cancel`, {}); }

// follow sends a request as a stream and returns its events: they come as they happen,
// and the last one has come when done resolves.
export async function follow(request) {
  const res = await fetch(`${platform.http}/message:stream`, { method: "POST", headers, body: JSON.stringify({ message: message(request) }) });
  if (!res.ok) throw new Error(`message:stream: ${res.status} ${await res.text()}`);
  const events = [];
  const done = (async () => {
    let rest = "";
    for await (const chunk of res.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.startsWith("data:")) events.push(JSON.parse(line.slice(5)));
    }
  })();
  return { events, done };
}

// answer is the text of a task's artifacts, of those among events too.
export function answer(artifacts) {
  return artifacts.flatMap((a) => a.parts).map((p) => p.text ?? "").join("");
}
