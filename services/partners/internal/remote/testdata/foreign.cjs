// An agent on the JavaScript SDK's server: it does what the text of a message says, as
// the one of foreign_test.go does.
//
//   node foreign.cjs FOLDER_WITH_NODE_MODULES JSONRPC|HTTP+JSON|GRPC
const { createRequire } = require("node:module");
const { randomUUID } = require("node:crypto");

const [folder, binding] = process.argv.slice(2);
const load = createRequire(`${folder}/package.json`);
const { AgentCard, TaskState } = load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = load("@a2a-js/sdk/server");

const now = () => new Date().toISOString();
const part = (value) => ({ content: { $case: "text", value }, mediaType: "text/plain", filename: "", metadata: undefined });
const message = (ids, text) => ({
  messageId: randomUUID(), role: 2, parts: [part(text)], metadata: undefined, extensions: [], referenceTaskIds: [], ...ids,
});
const canceled = new Set();

const executor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const ids = { taskId, contextId };
    const word = userMessage.parts.map((p) => p.content?.value ?? "").join("");
    const say = (state, text) =>
      bus.publish(AgentEvent.statusUpdate({ ...ids, metadata: undefined, status: { state, timestamp: now(), message: text ? message(ids, text) : undefined } }));
    if (word === "hello") {
      bus.publish(AgentEvent.message(message({ taskId: "", contextId }, "hello yourself")));
      bus.finished();
      return;
    }
    if (!task) {
      bus.publish(AgentEvent.task({
        id: taskId, contextId, history: [userMessage], artifacts: [], metadata: undefined,
        status: { state: TaskState.TASK_STATE_SUBMITTED, timestamp: now(), message: undefined },
      }));
    }
    if (word === "ask") {
      say(TaskState.TASK_STATE_INPUT_REQUIRED, "which?");
      bus.finished();
      return;
    }
    say(TaskState.TASK_STATE_WORKING, "on it");
    if (word === "wait") {
      while (!canceled.has(taskId)) await new Promise((resolve) => setTimeout(resolve, 10));
      say(TaskState.TASK_STATE_CANCELED);
      bus.finished();
      return;
    }
    bus.publish(AgentEvent.artifactUpdate({
      ...ids, append: false, lastChunk: true, metadata: undefined,
      artifact: { artifactId: randomUUID(), name: "", description: "", metadata: undefined, extensions: [], parts: [part(`made of ${word}`)] },
    }));
    say(TaskState.TASK_STATE_COMPLETED, "done");
    bus.finished();
  },
  async cancelTask(taskId) {
    canceled.add(taskId);
  },
};

const card = AgentCard.fromJSON({
  name: "Foreign", description: "An agent of another make", version: "1", capabilities: { streaming: true },
  supportedInterfaces: [{ url: "http://127.0.0.1/", protocolBinding: binding, protocolVersion: "1.0" }],
  defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [],
});
const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);

if (binding === "GRPC") {
  const grpc = load("@grpc/grpc-js");
  const { A2AService, grpcService, UserBuilder } = load("@a2a-js/sdk/server/grpc");
  const server = new grpc.Server();
  server.addService(A2AService, grpcService({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
  server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
    if (error) throw error;
    console.log(`127.0.0.1:${port}`);
  });
} else {
  const { jsonRpcHandler, restHandler, UserBuilder } = load("@a2a-js/sdk/server/express");
  const make = binding === "JSONRPC" ? jsonRpcHandler : restHandler;
  const app = load("express")();
  app.use(make({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
  const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
}
