// Receives the notifications of a Sabha platform, verifies each and prints it.
// node webhook.mjs PORT URL KEYS
import { createHash, createPublicKey, verify } from "node:crypto";
import { createServer } from "node:http";

const [port = "9000", url = `http://127.0.0.1:${port}/`, keysURL = "http://127.0.0.1:8080/.well-known/jwks.json"] = process.argv.slice(2);
let keys = [];

async function keyOf(id) {
  const find = () => keys.find((k) => k.kid === id);
  if (!find()) keys = (await (await fetch(keysURL)).json()).keys;
  if (!find()) throw new Error(`the platform has no key ${id}`);
  return createPublicKey({ key: find(), format: "jwk" });
}

async function claimsOf(signature, body) {
  const [head, payload, mark, more] = signature.split(".");
  const decode = (part) => JSON.parse(Buffer.from(part, "base64url"));
  const { alg, kid } = decode(head);
  if (alg !== "EdDSA" || more !== undefined) throw new Error("no signature that is known here");
  if (!verify(null, Buffer.from(`${head}.${payload}`), await keyOf(kid), Buffer.from(mark, "base64url"))) throw new Error("the signature is wrong");
  const claims = decode(payload);
  if (claims.sha256 !== createHash("sha256").update(body).digest("base64url")) throw new Error("another body was signed");
  if (claims.aud !== url) throw new Error(`it is for ${claims.aud}`);
  if (claims.exp + 30 < Date.now() / 1000) throw new Error("it is too old");
  return claims; // claims.jti is the same when it is sent again
}

const server = createServer(async (req, res) => {
  try {
    const parts = [];
    for await (const part of req) parts.push(part);
    const body = Buffer.concat(parts);
    const claims = await claimsOf(req.headers["sabha-signature"] ?? "", body);
    console.log(claims.task, claims.event, body.toString());
    res.writeHead(204).end();
  } catch (err) {
    console.error("refused:", err.message);
    res.writeHead(401).end();
  }
});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
