// A client of the platform: sends requests over HTTP+JSON as any A2A client does.
import { randomUUID } from "node:crypto";
import { platform } from "./browser.mjs";

const extension = (name) => `urn:sabha:ext:${name}:v1`;

async function post(path, body) {
  const res = await fetch(platform.http + path, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", "x-api-key": platform.key },
    body: JSON.stringify(body),
  });
  const answer = await res.text();
  if (!res.ok) throw new Error(`${path}: ${res.status} ${answer}`);
  return JSON.parse(answer);
}

// message of a request: text, data, or both, for a playbook when one is named.
export function message({ text, data, playbook }) {
  const parts = [];
  if (text !== undefined) parts.push({ text });
  if (data !== undefined) parts.push({ data });
  return { messageId: randomUUID(), role: "ROLE_USER", parts, metadata: playbook ? { [extension("playbook")]: playbook } : undefined };
}

// ask sends a request and returns its task when it has come to rest, or at once.
export async function ask(request, { wait = true } = {}) {
  const { task } = await post("/message:send", { message: message(request), configuration: { returnImmediately: !wait } });
  return task;
}
