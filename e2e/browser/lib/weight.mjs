// What a page weighs on its way: the bytes of bodies as they are sent.
import http from "node:http";

// sent is how many bytes the body of an address has, compressed as browsers ask for it.
function sent(url, cookie) {
  return new Promise((resolve, reject) => {
    http.get(url, { headers: { "accept-encoding": "gzip, deflate, br, zstd", cookie } }, (res) => {
      let bytes = 0;
      if (res.statusCode >= 500) reject(new Error(`${url}: ${res.statusCode}`));
      res.on("data", (chunk) => { bytes += chunk.length; });
      res.on("end", () => resolve(bytes));
    }).on("error", reject);
  });
}

const known = new Map(); // of files, which are the same for every page

// weigh sums what a browser fetches for a page that it has open, without pictures: the
// page itself, style sheets, scripts, that of the shared worker, and fonts.
export async function weigh(page) {
  const cookie = (await page.context().cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
  const files = await page.evaluate(() => [
    ...performance.getEntriesByType("resource").filter((e) => ["script", "link", "css"].includes(e.initiatorType)).map((e) => e.name),
    ...[...document.querySelectorAll("[data-worker]")].map((s) => new URL(s.dataset.worker, location).href),
  ]);
  let bytes = await sent(page.url(), cookie);
  for (const file of new Set(files.filter((f) => !/\.(svg|png|ico)\b/.test(f)))) {
    if (!known.has(file)) known.set(file, await sent(file, cookie));
    bytes += known.get(file);
  }
  return bytes;
}
