// An underwriter of another organisation, as an A2A agent on the JavaScript SDK.
//
//   node underwriter.mjs --port 0 --token-file FILE --keys FILE
//
// It prints "ready URL" when it serves. FILE of --keys is written: the public key that its
// card is signed with. It judges what it is sent and nothing else: it has no access to the
// broker, keeps what it was sent in memory until it is told to erase it, and shows that at
// /held to whoever has the token.
//
// It is hasty on purpose. Its first look at an application forgets the instalment of the
// new loan in the debts; sent back with reasons, it counts it. And it is sure of a rule for
// the self-employed that does not exist, whatever it is told. That is what judges are for.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import express from 'express';
import { AgentCard, generateAgentCardSignature, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const { values: options } = parseArgs({
  options: { port: { type: 'string', default: '0' }, 'token-file': { type: 'string' }, keys: { type: 'string' } },
});
const token = readFileSync(options['token-file'], 'utf8').trim();

const held = new Map(); // what applicants submitted, by reference

const round = (x) => Math.round(x * 100) / 100;

// assess judges one application. feedback is why an earlier assessment was sent back.
function assess(a, feedback) {
  const monthly = a.rate / 100 / 12;
  const payment = (a.loan * monthly) / (1 - (1 + monthly) ** (-12 * a.term_years));
  const owed = feedback.length ? a.debts_monthly + payment : a.debts_monthly;
  const dti = (owed / a.income_monthly) * 100;
  const ltv = (a.loan / a.property_value) * 100;
  const rules = [
    { id: 'ML-2.1', says: 'The debt-to-income ratio must not exceed 43 %.' },
    { id: 'ML-3.1', says: 'The loan-to-value ratio must not exceed 90 %.' },
  ];
  if (ltv > 80) rules.push({ id: 'ML-3.2', says: 'A loan-to-value ratio above 80 % requires mortgage insurance.' });
  if (a.self_employed) rules.push({ id: 'ML-4.7', says: 'Self-employed applicants need accounts of two years.' });
  const grade = dti > 43 || ltv > 90 ? 'decline' : dti <= 36 && ltv <= 80 ? 'prime' : 'standard';
  return { reference: a.reference, grade, payment: round(payment), dti: round(dti), ltv: round(ltv), insurance: ltv > 80, rules };
}

const now = () => new Date().toISOString();
const text = (value) => ({ content: { $case: 'text', value }, mediaType: 'text/plain', filename: '', metadata: undefined });
const data = (value) => ({ content: { $case: 'data', value }, mediaType: 'application/json', filename: '', metadata: undefined });
const say = (ids, ...parts) => ({ messageId: randomUUID(), ...ids, role: 2, parts, metadata: undefined, extensions: [], referenceTaskIds: [] });

const missing = (a) => ['reference', 'income_monthly', 'debts_monthly', 'property_value', 'loan', 'term_years', 'rate'].filter((k) => a[k] === undefined);

const executor = {
  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context;
    const ids = { taskId, contextId };
    const input = userMessage.parts.find((p) => p.content?.$case === 'data')?.content.value ?? {};
    if (input.action === 'erase') { // answered at once, without a task
      bus.publish(AgentEvent.message(say({ contextId, taskId: '' }, data({ erased: held.delete(input.reference) }))));
      bus.finished();
      return;
    }
    const status = (state, message) => ({ state, timestamp: now(), message });
    const update = (state, message) => bus.publish(AgentEvent.statusUpdate({ ...ids, metadata: undefined, status: status(state, message) }));
    bus.publish(AgentEvent.task({ id: taskId, contextId, history: [userMessage], artifacts: [], metadata: undefined, status: status(TaskState.TASK_STATE_SUBMITTED) }));
    const lacking = missing(input);
    if (lacking.length) {
      update(TaskState.TASK_STATE_FAILED, say(ids, text(`the application lacks ${lacking.join(', ')}`)));
      bus.finished();
      return;
    }
    held.set(input.reference, { ...input, note: userMessage.parts.find((p) => p.content?.$case === 'text')?.content.value });
    update(TaskState.TASK_STATE_WORKING, say(ids, text('Looking at income, debts and the property.')));
    const assessment = assess(input, input.feedback ?? []);
    bus.publish(AgentEvent.artifactUpdate({
      ...ids, append: false, lastChunk: true, metadata: undefined,
      artifact: {
        artifactId: 'assessment', name: 'assessment', description: 'Grade, ratios and the rules applied.', metadata: undefined, extensions: [],
        parts: [data(assessment), text(assessment.rules.map((r) => `${r.says} [${r.id}]`).join('\n'))],
      },
    }));
    update(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', metadata: undefined, status: { state: TaskState.TASK_STATE_CANCELED, timestamp: now(), message: undefined } }));
  },
};

const app = express();
const server = app.listen(Number(options.port), '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const kid = 'underwriter-1';
  writeFileSync(options.keys, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'EdDSA' }] }));
  const card = AgentCard.fromJSON({
    name: 'Northbridge Underwriting', description: 'Judges applications for mortgages by its rulebook.', version: '4.2.0',
    provider: { organization: 'Northbridge Underwriting plc', url },
    capabilities: { streaming: true },
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { token: { list: ['submit'] } } }], // an empty list would not be covered by the SDK's signature
    defaultInputModes: ['application/json', 'text/plain'], defaultOutputModes: ['application/json', 'text/plain'],
    skills: [
      { id: 'underwrite', name: 'Underwrite', description: 'Grades an application.', tags: ['mortgage', 'risk'] },
      { id: 'erase', name: 'Erase', description: 'Forgets what was submitted under a reference.', tags: ['mortgage', 'privacy'] },
    ],
  });
  const sign = generateAgentCardSignature(privateKey, { alg: 'EdDSA', typ: 'JOSE', kid });
  const signed = await sign(AgentCard.toJSON(card));
  app.get('/.well-known/agent-card.json', (_, res) => res.json(signed));
  app.use((req, res, next) => (req.get('authorization') === `Bearer ${token}` ? next() : res.status(401).set('WWW-Authenticate', 'Bearer').json({ error: 'a bearer token is needed' })));
  app.get('/held', (_, res) => res.json(Object.fromEntries(held)));
  app.use('/a2a', jsonRpcHandler({ requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), executor), userBuilder: UserBuilder.noAuthentication }));
  console.log(`ready ${url}`);
});
