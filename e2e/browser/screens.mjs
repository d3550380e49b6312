// Photographs every screen, light and dark, wide and narrow, as NAME-SCHEME-WIDTH.png.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { context, fits, narrow, platform, wide } from "./lib/browser.mjs";
import { ask } from "./lib/client.mjs";
import { person } from "./lib/people.mjs";
import { addresses, fill } from "./lib/reviews.mjs";

const task = await ask({ text: "Who may restore the customer database?" });
await ask({ text: "How often are backups taken?" });

await fill();
const reviewer = await person("meera", { shown: "Meera Rao" });
const { unsure, refund, loan, batch } = await addresses(await reviewer.newPage());
await reviewer.close();

// screens by name: where they are, and what to do there first.
const screens = {
  dashboard: { path: "/" },
  tasks: { path: "/tasks" },
  task: { path: `/tasks/${task.id}` },
  "task-timeline": { path: `/tasks/${task.id}/timeline` },
  "task-content": { path: `/tasks/${task.id}/content` },
  "task-events": { path: `/tasks/${task.id}/events` },
  playbooks: { path: "/playbooks" },
  playbook: { path: "/playbooks/general" },
  review: { path: "/review" },
  "review-item": { path: unsure },
  "review-edit": {
    path: `${unsure}?edit=1`,
    prepare: async (page) => {
      await page.getByLabel("Content").fill("Backups of the customer database are taken every six hours. A restore needs the approval of two operators.");
      await page.locator("#changes ins").first().waitFor();
    },
  },
  "review-fields": { path: `${refund}?edit=1` },
  "review-two": { path: loan },
  "review-batch": { path: batch },
  questions: { path: "/questions" },
  account: { path: "/account" },
  accounts: { path: "/accounts", prepare: (page) => page.getByText("Change", { exact: true }).first().click() },
  "sign-in": { path: "/sign-in", prepare: async (page) => { await page.context().clearCookies(); await page.goto("/sign-in"); } },
};

await mkdir(platform.out, { recursive: true });
for (const [width, size] of Object.entries({ wide, narrow })) {
  for (const scheme of ["light", "dark"]) {
    test(`screens, ${scheme} and ${width}`, async () => {
      const [browser, reviewing] = [await context({ size, scheme }), await person("meera", { size, scheme })];
      const pages = [await browser.newPage(), await reviewing.newPage()];
      for (const [name, { path, prepare }] of Object.entries(screens)) {
        const page = pages[/^\/(review|questions)/.test(path) ? 1 : 0];
        await page.goto(path);
        await prepare?.(page);
        await fits(page, `${path}, ${width}`);
        await page.screenshot({ path: join(platform.out, `${name}-${scheme}-${width}.png`), fullPage: true, animations: "disabled" });
      }
      assert.deepEqual([...browser.problems, ...reviewing.problems], []);
      await browser.close();
      await reviewing.close();
    });
  }
}
