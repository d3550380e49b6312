// Chromium, the platform under test, and what every spec does with them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "playwright-core";

// platform is where what the spec drives is served: console and http are URLs, key
// is an API key, password that of admin at the console, chromium the path of the program.
export const platform = JSON.parse(process.env.SABHA_PLATFORM ?? "{}");

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// patience bounds every wait, in milliseconds. It is reached only when something is broken.
const patience = 60_000;

export const wide = { width: 1440, height: 900 };
export const narrow = { width: 390, height: 844 };

let running;

// launch starts the browser with a profile of its own, once a spec file.
async function launch() {
  running ??= chromium.launch({
    executablePath: platform.chromium,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  return running;
}

after(async () => (await running)?.close());

// context is a browser of one person: cookies of its own. Unless they are a stranger,
// they have signed in: as admin, or as who is named with a password. Errors of its
// pages are collected in context.problems.
// at is the console, where it is reached in another way.
export async function context({ size = wide, scheme = "light", scripts = true, name = "admin", password = platform.password, stranger = false, at = platform.console } = {}) {
  const c = await (await launch()).newContext({
    baseURL: at, viewport: size, colorScheme: scheme, javaScriptEnabled: scripts, reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC",
  });
  c.setDefaultTimeout(patience);
  c.problems = [];
  c.on("weberror", (e) => c.problems.push(String(e.error())));
  c.on("console", (m) => m.type() === "error" && c.problems.push(`${m.text()} ${m.location().url}`));
  if (!stranger) {
    const answer = await c.request.post("/sign-in", { form: { name, password }, maxRedirects: 0 });
    assert.equal(answer.status(), 303, `${name} is not signed in: ${await answer.text()}`);
  }
  return c;
}

// accessible fails when axe finds a serious or critical issue, and names each.
export async function accessible(page, what) {
  // Evaluated by the browser's debugger: the page's own policy refuses inline scripts.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const grave = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(
    grave.map((v) => `${what}: ${v.id} (${v.impact}): ${v.help}: ${v.nodes.map((n) => n.html).join(" | ")}`), [],
  );
}

// fits fails when a page is wider than its window.
export async function fits(page, what) {
  const { width, window } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth, window: innerWidth }));
  assert.ok(width <= window, `${what} is ${width} px wide in a window of ${window} px`);
}

// live waits until the page's stream is open.
export async function live(page) {
  await page.locator('#link[data-state="live"]').waitFor();
}
