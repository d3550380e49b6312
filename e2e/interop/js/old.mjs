// Drives a platform through one binding of A2A 0.3 with the JavaScript SDK of that
// time and prints what the SDK made of the answers, as one JSON object:
//
//   node old.mjs HTTP+JSON|JSONRPC|GRPC BASE_URL API_KEY
import { randomUUID } from "node:crypto";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk-0.3/client";
import { GrpcTransportFactory } from "@a2a-js/sdk-0.3/client/grpc";

const [binding, base, key] = process.argv.slice(2);

const factory = new ClientFactory({
  transports: [new RestTransportFactory(), new JsonRpcTransportFactory(), new GrpcTransportFactory()],
  preferredTransports: [binding],
  cardResolver: new DefaultAgentCardResolver(),
});

const known = { serviceParameters: { "X-API-Key": key } };
const anonymous = {};

const text = (value) => ({ kind: "text", text: value });
const data = (value) => ({ kind: "data", data: value });
const request = (parts, more = {}, configuration) => ({
  message: { kind: "message", messageId: randomUUID(), role: "user", parts, ...more },
  configuration,
});
const playbook = (name) => ({ metadata: { "urn:sabha:ext:playbook:v1": name } });

const texts = (parts) => parts.filter((p) => p.kind === "text").map((p) => p.text).join("\n");
const task = (t) => ({
  id: t.id, contextId: t.contextId, state: t.status.state, note: texts(t.status.message?.parts ?? []),
  artifacts: (t.artifacts ?? []).map((a) => ({ name: a.name, text: texts(a.parts) })), history: (t.history ?? []).length,
});
const result = (r) =>
  r.kind === "message"
    ? { message: { role: r.role, text: texts(r.parts), data: r.parts.find((p) => p.kind === "data")?.data } }
    : { task: task(r) };

async function* read(stream) {
  for await (const e of stream) {
    switch (e.kind) {
      case "task":
        yield { kind: e.kind, id: e.id, state: e.status.state };
        break;
      case "status-update":
        yield { kind: e.kind, id: e.taskId, state: e.status.state, final: e.final };
        break;
      case "artifact-update":
        yield { kind: e.kind, id: e.taskId, name: e.artifact.name, text: texts(e.artifact.parts) };
        break;
      default:
        yield { kind: e.kind };
    }
  }
}
const collect = async (stream) => {
  const events = [];
  for await (const e of read(stream)) events.push(e);
  return events;
};

const ended = async (id) => {
  for (;;) {
    const t = await client.getTask({ id }, known);
    if (["completed", "failed", "canceled", "rejected"].includes(t.status.state)) return t;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const failure = async (call) => {
  try {
    await call();
  } catch (error) {
    // Of an error within a stream the SDK tells its class as the cause.
    const e = error.cause?.errorResponse ? error.cause : error;
    return { name: e.constructor.name, message: e.errorResponse?.error.message ?? e.message, code: e.errorResponse?.error.code ?? 0 };
  }
  return null;
};

const report = {};
const client = await factory.createFromUrl(base);
report.version = client.agentCard.protocolVersion;
const card = await client.getAgentCard(known);
report.card = {
  name: card.name, skills: card.skills.map((s) => s.id), version: card.protocolVersion,
  interfaces: card.additionalInterfaces.map((i) => ({ url: i.url, protocolBinding: i.transport })),
};

const sent = await client.sendMessage(request([text("How often are backups taken?")]), known);
report.send = result(sent);
report.stream = await collect(client.sendMessageStream(request([text("What does a restore need?")]), known));
report.get = task(await client.getTask({ id: sent.id, historyLength: 1 }, known));

const once = request([text("How often are backups taken?")]);
report.twice = [result(await client.sendMessage(once, known)), result(await client.sendMessage(once, known))];

const asked = await client.sendMessage(request([text("Compute it.")], playbook("compute")), known);
report.asked = result(asked);
const subscription = read(client.resubscribeTask({ id: asked.id }, known));
report.subscribed = [(await subscription.next()).value];
const rest = (async () => {
  for await (const e of subscription) report.subscribed.push(e);
})();
report.answered = result(await client.sendMessage(request([data({ code: "result = 6 * 7" })], { taskId: asked.id, contextId: asked.contextId }), known));
await rest;

const waiting = await client.sendMessage(request([text("Compute it.")], playbook("compute")), known);
report.canceling = task(await client.cancelTask({ id: waiting.id }, known));
report.canceled = task(await ended(waiting.id));

const polling = await new ClientFactory({
  transports: [new RestTransportFactory(), new JsonRpcTransportFactory(), new GrpcTransportFactory()],
  preferredTransports: [binding], cardResolver: new DefaultAgentCardResolver(), clientConfig: { polling: true },
}).createFromUrl(base);
const returned = await polling.sendMessage(request([text("How long does a restore take?")]), known);
report.returned = result(returned);
report.polled = task(await ended(returned.id));

// Over gRPC there is only the agent at the root, whose card names no other interface of research.
const research = await factory.createFromUrl(base + "/research/.well-known/agent-card.json", "");
report.search = result(await research.sendMessage(request([data({ action: "search", query: "how often are backups taken", limit: 1 })]), anonymous));

const unknown = { id: randomUUID() };

const hook = { taskId: asked.id, pushNotificationConfig: { id: "hook", url: "https://example.com/hook", token: "chosen" } };
const hooks = async () => (await client.listTaskPushNotificationConfig({ id: asked.id }, known)).map((c) => c.pushNotificationConfig.id);
report.push = { made: (await client.setTaskPushNotificationConfig(hook, known)).pushNotificationConfig.id };
report.push.got = (await client.getTaskPushNotificationConfig({ id: asked.id, pushNotificationConfigId: "hook" }, known)).pushNotificationConfig.token;
report.push.listed = await hooks();
await client.deleteTaskPushNotificationConfig({ id: asked.id, pushNotificationConfigId: "hook" }, known);
report.push.left = await hooks();

report.errors = {
  getUnknown: await failure(() => client.getTask(unknown, known)),
  cancelUnknown: await failure(() => client.cancelTask(unknown, known)),
  subscribeUnknown: await failure(() => collect(client.resubscribeTask(unknown, known))),
  cancelFinished: await failure(() => client.cancelTask({ id: sent.id }, known)),
  subscribeFinished: await failure(() => collect(client.resubscribeTask({ id: sent.id }, known))),
  sendFinished: await failure(() => client.sendMessage(request([text("More?")], { taskId: sent.id, contextId: sent.contextId }), known)),
  push: await failure(() => client.setTaskPushNotificationConfig({ ...hook, taskId: unknown.id }, known)),
  noParts: await failure(() => client.sendMessage(request([]), known)),
  noKey: await failure(() => client.sendMessage(request([text("How often are backups taken?")]), anonymous)),
  streamNoKey: await failure(() => collect(client.sendMessageStream(request([text("How often are backups taken?")]), anonymous))),
  wrongKey: await failure(() => client.getTask({ id: sent.id }, { serviceParameters: { "X-API-Key": "sk-wrong" } })),
};

console.log(JSON.stringify(report));
process.exit(0); // the SDK has no way to close its gRPC channel
