import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, context, fits, live, narrow, wide } from "../lib/browser.mjs";
import { ask } from "../lib/client.mjs";

test("a request that comes in shows on an open page without a reload", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/tasks");
  await live(page);
  const task = await ask({ text: "How often are backups taken?" });
  await page.locator(`#task-${task.id}`).getByText("Completed").waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

for (const [name, size] of Object.entries({ wide, narrow })) {
  for (const scheme of ["light", "dark"]) {
    test(`tasks and a task are accessible and fit, ${name} and ${scheme}`, async () => {
      const task = await ask({ text: "Who may restore the customer database?" });
      const browser = await context({ size, scheme });
      const page = await browser.newPage();
      for (const path of ["/", "/tasks", "/playbooks", "/playbooks/general", `/tasks/${task.id}/timeline`, `/tasks/${task.id}/content`, `/tasks/${task.id}/events`, `/tasks/${task.id}`, "/nothing-here"]) {
        await page.goto(path);
        await accessible(page, path);
        await fits(page, path);
      }
      await browser.close();
    });
  }
}
