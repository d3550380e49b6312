// Pages stay true: in many tabs, and when the connection is lost.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { ask } from "../lib/client.mjs";
import { retried } from "../lib/screens.mjs";
import { wire } from "../lib/wire.mjs";

// shows waits until a page lists a task that has completed.
const shows = (page, task) => page.locator(`#task-${task.id}`).getByText("Completed").waitFor();

async function open(browser, path = "/tasks") {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

// marked remembers a page as it was loaded: a reload would forget the mark.
const mark = (page) => page.evaluate(() => { window.marked = true; });
const marked = (page) => page.evaluate(() => window.marked === true);

describe("pages stay true", { concurrency: true }, () => {
  test("ten tabs on one address, and three others, all show what happens, and an eleventh still opens", async () => {
    const browser = await context();
    const tabs = [];
    for (let n = 0; n < 10; n++) tabs.push(await open(browser));
    const [dashboard, playbooks, agents] = [await open(browser, "/"), await open(browser, "/playbooks"), await open(browser, "/agents")];
    await Promise.all(tabs.map(mark));
    for (const text of ["How often are backups taken?", "How long are the backups kept?"]) {
      const task = await ask({ text });
      await Promise.all(tabs.map((tab) => shows(tab, task)));
    }
    for (const tab of tabs) assert.ok(await marked(tab), "a tab was loaded again");
    await dashboard.getByText(/\d+ began in the last hour, \d+ completed/).waitFor();
    await playbooks.locator("#playbook-general").getByTitle("Completed").waitFor();
    await agents.locator("#agent-planner").getByText("answers", { exact: true }).waitFor();
    const late = await open(browser);
    await late.getByText("How long are the backups kept?").first().waitFor();
    assert.deepEqual(browser.problems, []);
    await browser.close();
  });

  test("when the server goes away pages say so, refuse what is done, come back by themselves and show what happened meanwhile", async () => {
    const line = await wire();
    const browser = await context({ at: line.address });
    const [list, other] = [await open(browser), await open(browser, "/")];
    await Promise.all([list, other].map(mark));
    const stuck = await retried("Remind me when the line is cut.");
    await list.locator(`#task-${stuck.id}`).waitFor();
    await list.locator(`#task-${stuck.id} [data-pick]`).check();
    line.cut();
    for (const p of [list, other]) await p.locator('#link[data-state="lost"]').getByText(/Connection lost at \d\d:\d\d:\d\d; trying again/).waitFor();

    const missed = await ask({ text: "How often are backups taken?" });
    await list.getByRole("button", { name: "Cancel…" }).click();
    await list.getByLabel("Reason").fill("While it was away");
    await list.getByRole("button", { name: "Cancel 1 task" }).click();
    await list.getByText("The console cannot be reached; nothing was changed. Try again.").waitFor();
    assert.equal(await list.getByLabel("Reason").inputValue(), "While it was away");
    assert.equal(await list.locator(`#task-${missed.id}`).count(), 0);

    line.mend();
    await Promise.all([list, other].map(live));
    await shows(list, missed);
    await list.getByRole("button", { name: "Cancel 1 task" }).click();
    await list.locator(`#task-${stuck.id}`).getByText("Canceled", { exact: true }).waitFor();
    for (const p of [list, other]) assert.ok(await marked(p), "a page was loaded again");
    await browser.close();
    line.close();
  });

  test("a line that has gone silent is noticed, and left for a new one", async () => {
    const line = await wire();
    const browser = await context({ at: line.address });
    const page = await open(browser);
    line.mute();
    const missed = await ask({ text: "How often are backups taken?" });
    await page.locator('#link[data-state="lost"]').waitFor();
    assert.equal(await page.locator(`#task-${missed.id}`).count(), 0);
    line.mend();
    await live(page);
    await shows(page, missed);
    await browser.close();
    line.close();
  });

  test("where tabs cannot share a stream each asks for itself", async () => {
    const line = await wire();
    const browser = await context({ at: line.address });
    await browser.addInitScript(() => { delete window.SharedWorker; });
    const page = await browser.newPage();
    await page.goto("/tasks");
    await page.locator('#link[data-state="polling"]').getByText("Live, every few seconds").waitFor();
    await shows(page, await ask({ text: "How often are backups taken?" }));
    line.cut();
    await page.locator('#link[data-state="lost"]').waitFor();
    line.mend();
    await page.locator('#link[data-state="polling"]').waitFor();
    await browser.close();
    line.close();
  });
});
