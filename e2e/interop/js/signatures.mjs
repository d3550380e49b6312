// Verifies and signs agent cards with the JavaScript SDK:
//
//   node signatures.mjs < {"jwks": …, "verify": ["CARD", …], "private": JWK, "sign": ["CARD", …]}
//
// prints {"verified": [true, …], "signed": ["CARD", …]}.
import { createPrivateKey, createPublicKey } from "node:crypto";
import { text } from "node:stream/consumers";
import { generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk";

console.debug = () => {}; // the SDK tells there of each signature that is none

const job = JSON.parse(await text(process.stdin));

const verify = verifyAgentCardSignature(async (kid) => {
  const key = job.jwks.keys.find((k) => k.kid === kid);
  if (!key) throw new Error(`no key ${kid}`);
  return createPublicKey({ key, format: "jwk" });
});

const verified = [];
for (const card of job.verify ?? []) {
  verified.push(await verify(JSON.parse(card)).then(() => true, () => false));
}

const signed = [];
for (const card of job.sign ?? []) {
  const key = createPrivateKey({ key: job.private, format: "jwk" });
  const sign = generateAgentCardSignature(key, { alg: "EdDSA", typ: "JOSE", kid: job.private.kid });
  signed.push(JSON.stringify(await sign(JSON.parse(card))));
}

console.log(JSON.stringify({ verified, signed }));
