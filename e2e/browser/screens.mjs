// Photographs every screen, light and dark, wide and narrow, as NAME-SCHEME-WIDTH.png,
// and those of docs/console.md as guide-NAME.png: they are in docs/images as
// console-NAME.png.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fits, live, narrow, platform, wide } from "./lib/browser.mjs";
import { look } from "./lib/look.mjs";
import { scene } from "./lib/screens.mjs";

const screens = Object.entries(await scene()).filter(([, screen]) => !screen.plain);
await mkdir(platform.out, { recursive: true });

const photograph = (page, name, fullPage) => page.screenshot({ path: join(platform.out, `${name}.png`), fullPage, animations: "disabled" });

for (const [width, size] of Object.entries({ wide, narrow })) {
  for (const scheme of ["light", "dark"]) {
    test(`screens, ${scheme} and ${width}`, async () => {
      const problems = await look(screens, { size, scheme }, async (page, name) => {
        await fits(page, `${name}, ${width}`);
        await photograph(page, `${name}-${scheme}-${width}`, true);
      });
      assert.deepEqual(problems, []);
    });
  }
}

test("the pictures of the guide for operators", async () => {
  const guide = screens.filter(([name]) => ["dashboard", "tasks", "task-retried", "task-timeline", "agents", "partners", "partner", "playground-answer"].includes(name));
  const problems = await look(guide, { size: { width: 1240, height: 800 } }, async (page, name) => {
    if (!name.startsWith("playground")) await live(page); // which has nothing to follow
    await photograph(page, `guide-${name}`, false);
  });
  assert.deepEqual(problems, []);
});
