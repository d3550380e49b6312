// A client of the platform: sends requests over HTTP+JSON as any A2A client does.
import { randomUUID } from "node:crypto";
import { platform } from "./browser.mjs";

const extension = (name) => `urn:sabha:ext:${name}:v1`;

const headers = { "content-type": "application/json", "a2a-version": "1.0", "x-api-key": platform.key };

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

// ask sends a request and returns its task when it has come to rest, or at once.
export async function ask(request, { wait = true } = {}) {
  const { task } = await post("/message:send", { message: message(request), configuration: { returnImmediately: !wait } });
  return task;
}

// get reads a task.
export async function get(id) {
  const res = await fetch(`${platform.http}/tasks/${id}`, { headers });
  return res.json();
}

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
