// Photographs every screen, light and dark, wide and narrow, as NAME-SCHEME-WIDTH.png.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { context, fits, narrow, platform, wide } from "./lib/browser.mjs";
import { ask } from "./lib/client.mjs";

const task = await ask({ text: "Who may restore the customer database?" });
await ask({ text: "How often are backups taken?" });

// screens by name: where they are, and what to do there first.
const screens = {
  tasks: { path: "/" },
  task: { path: `/tasks/${task.id}` },
  account: { path: "/account" },
  accounts: { path: "/accounts", prepare: (page) => page.getByText("Change", { exact: true }).first().click() },
  "sign-in": { path: "/sign-in", prepare: async (page) => { await page.context().clearCookies(); await page.goto("/sign-in"); } },
};

await mkdir(platform.out, { recursive: true });
for (const [width, size] of Object.entries({ wide, narrow })) {
  for (const scheme of ["light", "dark"]) {
    test(`screens, ${scheme} and ${width}`, async () => {
      const browser = await context({ size, scheme });
      const page = await browser.newPage();
      for (const [name, { path, prepare }] of Object.entries(screens)) {
        await page.goto(path);
        await prepare?.(page);
        await fits(page, `${path}, ${width}`);
        await page.screenshot({ path: join(platform.out, `${name}-${scheme}-${width}.png`), fullPage: true, animations: "disabled" });
      }
      assert.deepEqual(browser.problems, []);
      await browser.close();
    });
  }
}
