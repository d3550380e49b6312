// A wire to the console that can be cut: a TCP proxy on a port of its own.
import net from "node:net";
import { platform } from "./browser.mjs";

// wire connects to the console. Its address is where browsers reach it.
export async function wire() {
  const to = new URL(platform.console);
  const sockets = new Set();
  let state = "up";
  const server = net.createServer((near) => {
    if (state === "down") { near.destroy(); return; }
    const far = net.connect(Number(to.port), to.hostname);
    for (const [a, b] of [[near, far], [far, near]]) {
      sockets.add(a);
      a.on("data", (bytes) => state !== "silent" && b.write(bytes));
      a.on("error", () => {});
      a.on("close", () => { sockets.delete(a); b.destroy(); });
    }
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const drop = () => { for (const s of sockets) s.destroy(); };
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    cut() { state = "down"; drop(); }, // as when the server goes away
    mute() { state = "silent"; }, // as when a cable is pulled: nothing is closed, nothing comes
    mend() { const was = state; state = "up"; if (was === "silent") drop(); },
    close() { drop(); server.close(); },
  };
}
