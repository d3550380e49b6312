import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { ask, completed } from "../lib/client.mjs";
import { person } from "../lib/people.mjs";
import { retried } from "../lib/screens.mjs";

// open shows a page and waits until it is live.
async function open(browser, path) {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

// search writes into the bar of the list and waits for what it finds.
async function search(page, text) {
  await page.keyboard.press("/");
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
  await page.getByRole("button", { name: "Find" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === text);
  await live(page);
}

const rows = (page) => page.locator("tbody [data-row]");

test("a request that comes in shows on an open page without a reload", async () => {
  const browser = await context();
  const page = await open(browser, "/tasks");
  const task = await ask({ text: "How often are backups taken?" });
  await page.locator(`#task-${task.id}`).getByText("Completed").waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("the bar finds tasks by what they are, offers filters, and says what is wrong with one", async () => {
  const [answered, stuck] = [await ask({ text: "How often are backups taken at the archive?" }), await retried("Remind the archive.")];
  const browser = await context();
  const page = await open(browser, "/tasks");
  for (const [query, found] of [["archive", [stuck, answered]], ["archive state:completed", [answered]], ["retrying archive", [stuck]], ["playbook:reminder", [stuck]], ["agent:memory playbook:general archive", [answered]], [`task:${stuck.id}`, [stuck]], ["archive age:>1h", []]]) {
    await search(page, query);
    assert.deepEqual(await rows(page).evaluateAll((all) => all.map((r) => r.id)), found.map((t) => `task-${t.id}`), query);
  }
  await page.getByText("No task matches").waitFor();
  await page.goto("/tasks");
  await page.keyboard.press("/");
  await page.keyboard.type("state:fai");
  await page.getByRole("option", { name: "state:failed" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#query").inputValue(), "state:failed ");
  await page.goto("/tasks?q=state:wrong");
  assert.match(await page.locator("#query-help").textContent(), /wrong/);
  assert.equal(await page.locator("#query").getAttribute("aria-invalid"), "true");
  assert.deepEqual(browser.problems.filter((p) => !p.includes("status of 400")), []);
  await browser.close();
});

test("the list is a file that a spreadsheet does not calculate", async () => {
  const task = await ask({ text: "=HYPERLINK(\"https://evil.example\") backups", playbook: "general" });
  const browser = await context();
  const page = await open(browser, `/tasks?q=task:${task.id}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
  const lines = (await readFile(await download.path(), "utf8")).trim().split(/\r?\n/);
  assert.equal(download.suggestedFilename(), "tasks.csv");
  assert.equal(lines.length, 2, lines.join("\n"));
  assert.match(lines[1], new RegExp(`^${task.id},`));
  assert.ok(lines[1].includes("'=HYPERLINK"), lines[1]);
  await browser.close();
});

test("a search is kept under a name, for oneself or for everybody, and deleted", async () => {
  const [browser, other] = [await context(), await person("olga", { roles: ["viewer"] })];
  const page = await open(browser, "/tasks?q=state:failed+age:%3C1d");
  const keep = async (name, shared) => {
    await page.locator("summary", { hasText: "Filters" }).click();
    await page.getByRole("button", { name: "Save this search" }).click();
    const dialog = page.getByRole("dialog", { name: "Save this search" });
    await dialog.getByLabel("Name").fill(name);
    if (shared) await dialog.getByRole("checkbox").check();
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText(`Saved as ${name}.`).waitFor();
  };
  await keep("Broken today", true);
  await keep("Only mine", false);
  await page.goto("/tasks");
  await page.locator("summary", { hasText: "Filters" }).click();
  await page.getByRole("link", { name: "Broken today" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === "state:failed age:<1d");
  const theirs = await open(other, "/tasks");
  await theirs.locator("summary", { hasText: "Filters" }).click();
  await theirs.getByRole("link", { name: "Broken today shared" }).waitFor();
  assert.equal(await theirs.getByText("Only mine").count(), 0);
  assert.equal(await theirs.getByRole("button", { name: "Delete the filter" }).count(), 0);
  await page.locator("summary", { hasText: "Filters" }).click();
  await page.getByRole("button", { name: "Delete the filter Broken today" }).click();
  await page.getByText("Deleted.").waitFor();
  await theirs.getByRole("link", { name: "Broken today" }).waitFor({ state: "detached" });
  assert.deepEqual([...browser.problems, ...other.problems], []);
  await browser.close();
  await other.close();
});

test("many tasks are selected by keyboard and canceled together with a reason, which a viewer cannot", async () => {
  const tasks = [];
  for (const n of [1, 2, 3]) tasks.push(await retried(`Remind the caller number ${n}.`));
  const [browser, viewer] = [await context(), await person("olga", { roles: ["viewer"] })];
  const page = await open(browser, "/tasks?q=caller+number");
  assert.equal(await rows(page).count(), 3);
  for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
  await page.getByText("2 selected").waitFor();
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "Cancel 2 tasks?" });
  await dialog.getByLabel("Reason").fill("Asked twice");
  // What is written stays while the list changes beneath it.
  const other = await ask({ text: "How is a caller given a number?" });
  await page.locator(`#task-${other.id}`).waitFor();
  assert.equal(await dialog.getByLabel("Reason").inputValue(), "Asked twice");
  await dialog.getByRole("button", { name: "Cancel 2 tasks" }).click();
  await page.locator(".toast").getByText("2 tasks").waitFor();
  for (const t of [tasks[2], tasks[1]]) {
    await page.locator(`#task-${t.id}`).getByText("Canceled", { exact: true }).waitFor();
    await completed(t.id, "TASK_STATE_CANCELED");
  }
  await page.locator(`#task-${tasks[0].id}`).getByText("Working").waitFor();
  await page.goto(`/tasks/${tasks[1].id}`);
  await page.getByText("Asked twice").first().waitFor();

  const theirs = await open(viewer, "/tasks?q=caller+number");
  await theirs.locator(`#task-${tasks[0].id} .row-link`).first().click();
  await theirs.getByRole("heading", { name: "Remind the caller number 1." }).waitFor();
  assert.equal(await theirs.getByRole("button", { name: /Cancel|Retry/ }).count(), 0);
  assert.deepEqual([...browser.problems, ...viewer.problems], []);
  await browser.close();
  await viewer.close();
});
