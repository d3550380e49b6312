// Drives a platform through one binding with the JavaScript SDK and prints what
// the SDK made of the answers, as one JSON object:
//
//   node client.mjs HTTP+JSON|JSONRPC|GRPC BASE_URL API_KEY [VERSION]
//
// VERSION is that of the protocol: 1.0 unless stated, or 0.3.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

const [binding, base, key, version = "1.0"] = process.argv.slice(2);

const legacyCompat = { enabled: version !== "1.0" };
const factory = new ClientFactory({
  transports: [new RestTransportFactory({ legacyCompat }), new JsonRpcTransportFactory({ legacyCompat }), new GrpcTransportFactory({ legacyCompat })],
  preferredTransports: [binding],
  cardResolver: new DefaultAgentCardResolver({ legacyCompat }),
});
// The SDK prefers the newest version that a card names.
const create = async (path) => {
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(base, path);
  card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion === version);
  return factory.createFromAgentCard(card);
};

// On HTTP service parameters are headers, in gRPC metadata.
const known = { serviceParameters: { "X-API-Key": key } };
const anonymous = {};

const text = (value) => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" });
const data = (value) => ({ content: { $case: "data", value }, metadata: undefined, filename: "", mediaType: "application/json" });

const request = (parts, more = {}, configuration) => ({
  tenant: "",
  message: {
    messageId: randomUUID(), contextId: "", taskId: "", role: Role.ROLE_USER, parts,
    metadata: undefined, extensions: [], referenceTaskIds: [], ...more,
  },
  configuration,
  metadata: undefined,
});

const playbook = (name) => ({ metadata: { "urn:sabha:ext:playbook:v1": name } });

const texts = (parts) => parts.filter((p) => p.content?.$case === "text").map((p) => p.content.value).join("\n");
const state = (task) => TaskState[task.status.state];
const task = (t) => ({
  id: t.id, contextId: t.contextId, state: state(t), note: texts(t.status.message?.parts ?? []),
  artifacts: t.artifacts.map((a) => ({ name: a.name, text: texts(a.parts) })), history: t.history.length,
});
const result = (r) =>
  "messageId" in r
    ? { message: { role: Role[r.role], text: texts(r.parts), data: r.parts.find((p) => p.content?.$case === "data")?.content.value } }
    : { task: task(r) };

async function* read(stream) {
  for await (const e of stream) {
    const { $case: kind, value } = e.payload;
    switch (kind) {
      case "task":
        yield { kind, id: value.id, state: state(value) };
        break;
      case "statusUpdate":
        yield { kind, id: value.taskId, state: state(value) };
        break;
      case "artifactUpdate":
        yield { kind, id: value.taskId, name: value.artifact.name, text: texts(value.artifact.parts) };
        break;
      default:
        yield { kind };
    }
  }
}

const collect = async (stream) => {
  const events = [];
  for await (const e of read(stream)) events.push(e);
  return events;
};

const finished = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"].map((s) => `TASK_STATE_${s}`);
const ended = async (id) => {
  for (;;) {
    const t = await client.getTask({ tenant: "", id }, known);
    if (finished.includes(state(t))) return t;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

// What a program that uses the SDK sees of an error.
const failure = async (call) => {
  try {
    await call();
  } catch (error) {
    // Of an error within a stream of the older version the SDK tells its class as the cause.
    const e = error.cause?.reason ? error.cause : error;
    return { name: e.name, reason: e.reason, message: e.message, code: e.envelopeCode ?? e.statusCode ?? e.status };
  }
  return null;
};

const report = { binding };
const client = await (version === "1.0" ? factory.createFromUrl(base) : create());
report.protocol = client.transport.protocolName;
report.version = client.protocolVersion;

const first = await client.getAgentCard(known);
report.card = { name: first.name, skills: first.skills.map((s) => s.id), interfaces: first.supportedInterfaces };

const sent = await client.sendMessage(request([text("How often are backups taken?")]), known);
report.send = result(sent);
report.stream = await collect(client.sendMessageStream(request([text("What does a restore need?")]), known));
report.get = task(await client.getTask({ tenant: "", id: sent.id, historyLength: 0 }, known));

// A task that waits for input stays open as long as nobody answers it.
const asked = await client.sendMessage(request([text("Compute it.")], playbook("compute")), known);
report.asked = result(asked);
const subscription = read(client.resubscribeTask({ tenant: "", id: asked.id }, known));
report.subscribed = [(await subscription.next()).value];
const rest = (async () => {
  for await (const e of subscription) report.subscribed.push(e);
})();
report.answered = result(await client.sendMessage(
  request([data({ code: "result = 6 * 7" })], { taskId: asked.id, contextId: asked.contextId }), known));
await rest;

const waiting = await client.sendMessage(request([text("Compute it.")], playbook("compute")), known);
report.canceling = task(await client.cancelTask({ tenant: "", id: waiting.id, metadata: undefined }, known));
report.canceled = task(await ended(waiting.id)); // what was done is undone first

const returned = await client.sendMessage(
  request([text("How long does a restore take?")], {}, { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true }), known);
report.returned = result(returned);
report.polled = task(await ended(returned.id));

const page = { tenant: "", contextId: "", status: TaskState.TASK_STATE_CANCELED, pageSize: 1, pageToken: "", statusTimestampAfter: undefined };
if (version === "1.0") { // the SDK has no lists in the older version
  const list = await client.listTasks(page, known);
  report.list = { tasks: list.tasks.map(task), pageSize: list.pageSize, totalSize: list.totalSize, nextPageToken: list.nextPageToken, want: waiting.id };
}

// Research is called directly, by its own card, and anonymously. The SDK drops the
// path of a base address, so the path of the card is named.
const research = await create("/research/.well-known/agent-card.json");
report.search = result(await research.sendMessage(request([data({ action: "search", query: "how often are backups taken", limit: 1 })]), anonymous));

const unknown = { tenant: "", id: randomUUID() };

const hook = { tenant: "", id: "hook", taskId: asked.id, url: "https://example.com/hook", token: "chosen", authentication: undefined };
const hooks = async () => (await client.listTaskPushNotificationConfig({ tenant: "", taskId: asked.id, pageSize: 0, pageToken: "" }, known)).configs.map((c) => c.id);
report.push = { made: (await client.createTaskPushNotificationConfig(hook, known)).id };
report.push.got = (await client.getTaskPushNotificationConfig({ tenant: "", taskId: asked.id, id: "hook" }, known)).token;
report.push.listed = await hooks();
await client.deleteTaskPushNotificationConfig({ tenant: "", taskId: asked.id, id: "hook" }, known);
report.push.left = await hooks();

// A webhook that comes with the first message hears of everything.
const notified = report.push.notified = [];
const webhook = createServer(async (req, res) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  const e = JSON.parse(Buffer.concat(parts));
  notified.push({ kind: Object.keys(e)[0], state: (e.task ?? e.statusUpdate)?.status.state, secrets: `${req.headers["x-a2a-notification-token"]} ${req.headers.authorization}` });
  res.writeHead(204).end();
});
await new Promise((done) => webhook.listen(0, "127.0.0.1", done));
await client.sendMessage(request([text("How often are backups taken?")], {}, {
  acceptedOutputModes: [], historyLength: undefined, returnImmediately: false, taskPushNotificationConfig: {
    tenant: "", id: "", taskId: "", url: `http://127.0.0.1:${webhook.address().port}/`, token: "t", authentication: { scheme: "Bearer", credentials: "c" },
  },
}), known);
while (notified.at(-1)?.state !== "TASK_STATE_COMPLETED") await new Promise((again) => setTimeout(again, 10));

report.errors = {
  getUnknown: await failure(() => client.getTask(unknown, known)),
  cancelUnknown: await failure(() => client.cancelTask(unknown, known)),
  subscribeUnknown: await failure(() => collect(client.resubscribeTask(unknown, known))),
  cancelFinished: await failure(() => client.cancelTask({ tenant: "", id: sent.id }, known)),
  subscribeFinished: await failure(() => collect(client.resubscribeTask({ tenant: "", id: sent.id }, known))),
  sendFinished: await failure(() => client.sendMessage(request([text("More?")], { taskId: sent.id, contextId: sent.contextId }), known)),
  streamFinished: await failure(() => collect(client.sendMessageStream(request([text("More?")], { taskId: sent.id, contextId: sent.contextId }), known))),
  push: await failure(() => client.createTaskPushNotificationConfig({ ...hook, taskId: unknown.id }, known)),
  noParts: await failure(() => client.sendMessage(request([]), known)),
  noKey: await failure(() => client.sendMessage(request([text("How often are backups taken?")]), anonymous)),
  wrongKey: await failure(() => client.getTask({ tenant: "", id: sent.id }, { serviceParameters: { "X-API-Key": "sk-wrong" } })),
};

console.log(JSON.stringify(report));
process.exit(0); // the SDK has no way to close its gRPC channel
