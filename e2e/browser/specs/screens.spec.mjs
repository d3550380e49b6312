// Every screen is accessible, fits its window, is light to load, and is in the list.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, fits, narrow, wide } from "../lib/browser.mjs";
import { look } from "../lib/look.mjs";
import { scene } from "../lib/screens.mjs";
import { weigh } from "../lib/weight.mjs";

// most that a page may weigh on its way, compressed and without pictures, bytes.
const most = 150_000;

const screens = Object.entries(await scene());
const linked = new Set();
const weights = new Map();

// kind is the kind of page at an address: what follows the place is a name or an id.
function kind(address) {
  const [, place, name, ...rest] = new URL(address, "http://console").pathname.split("/");
  return [place, name && "*", ...rest].filter((part) => part !== undefined).join("/");
}

for (const [width, size] of Object.entries({ wide, narrow })) {
  for (const scheme of ["light", "dark"]) {
    test(`every screen is accessible and fits, ${scheme} and ${width}`, async () => {
      const problems = await look(screens, { size, scheme }, async (page, name) => {
        await accessible(page, name);
        await fits(page, name);
        if (width !== "wide" || scheme !== "light") return;
        weights.set(name, await weigh(page));
        for (const link of await page.locator("a[href^='/']:not([download])").evaluateAll((all) => all.map((a) => a.getAttribute("href")))) linked.add(kind(link));
      });
      assert.deepEqual(problems, []);
    });
  }
}

test("a page is light to load", (t) => {
  const heaviest = [...weights].sort(([, a], [, b]) => b - a);
  t.diagnostic(`the heaviest pages, in bytes as they are sent: ${heaviest.slice(0, 3).map(([name, bytes]) => `${name} ${bytes}`).join(", ")}; the lightest: ${heaviest.at(-1).join(" ")}`);
  assert.equal(weights.size, screens.length);
  for (const [name, bytes] of heaviest) {
    assert.ok(bytes < most, `${name} weighs ${bytes} bytes`);
    assert.ok(bytes > 10_000, `${name} was not weighed whole: ${bytes} bytes`);
  }
});

test("every page that another leads to is among the screens", () => {
  const seen = new Set(screens.map(([, { path }]) => kind(path)));
  const away = "sign-in/*"; // to the identity provider
  assert.deepEqual([...linked].filter((k) => !seen.has(k) && k !== away), []);
  assert.ok(linked.size > 10, [...linked].join());
});
