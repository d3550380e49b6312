// The JavaScript SDK's server with its DatabaseTaskStore on better-sqlite3.
// usage: node server.mjs HOST:PORT DATABASE full|normal
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import express from 'express';
import Database from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { AgentCard, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler } from '@a2a-js/sdk/server';
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const [address, file, sync] = process.argv.slice(2);
const [host, port] = address.split(':');
const REPLY = 'y'.repeat(1024);

execFileSync('node_modules/.bin/a2a-db', ['upgrade', '--url', `sqlite:${file}`], { stdio: 'ignore' });
const sqlite = new Database(file);
sqlite.pragma('journal_mode = WAL');
sqlite.pragma(`synchronous = ${sync === 'full' ? 'FULL' : 'NORMAL'}`);
const store = new DatabaseTaskStore(new Kysely({ dialect: new SqliteDialect({ database: sqlite }) }));

const now = () => new Date().toISOString();
const executor = {
  // The task, a working update, one artifact, the end: what the other servers do.
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const ids = { taskId, contextId };
    bus.publish(AgentEvent.task({
      id: taskId, contextId, history: [userMessage], artifacts: [], metadata: undefined,
      status: { state: TaskState.TASK_STATE_SUBMITTED, timestamp: now(), message: undefined },
    }));
    bus.publish(AgentEvent.statusUpdate({
      ...ids, metadata: undefined, status: { state: TaskState.TASK_STATE_WORKING, timestamp: now(), message: undefined },
    }));
    bus.publish(AgentEvent.artifactUpdate({
      ...ids, append: false, lastChunk: true, metadata: undefined,
      artifact: {
        artifactId: randomUUID(), name: '', description: '', metadata: undefined, extensions: [],
        parts: [{ content: { $case: 'text', value: REPLY }, mediaType: 'text/plain', filename: '', metadata: undefined }],
      },
    }));
    bus.publish(AgentEvent.statusUpdate({
      ...ids, metadata: undefined, status: { state: TaskState.TASK_STATE_COMPLETED, timestamp: now(), message: undefined },
    }));
    bus.finished();
  },
  async cancelTask() {},
};

const card = AgentCard.fromJSON({
  name: 'Bench', description: 'The peer of a benchmark', version: '1', capabilities: { streaming: true },
  supportedInterfaces: [{ url: `http://${address}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [],
});
const app = express();
app.use(jsonRpcHandler({ requestHandler: new DefaultRequestHandler(card, store, executor), userBuilder: UserBuilder.noAuthentication }));
app.listen(Number(port), host, () => console.log('ready'));
