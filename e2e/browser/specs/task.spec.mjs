import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { ask, completed, get } from "../lib/client.mjs";
import { retried } from "../lib/screens.mjs";

async function open(browser, path) {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

// boxes of the graph as their names and states.
const boxes = (page) => page.locator(".graph .node").evaluateAll((all) => all.map((n) => `${n.querySelector(".node-name").textContent} ${/state-([a-z]+)/.exec(n.getAttribute("class"))?.[1]}`));

test("a task shows its plan as a graph, its calls along the time, what was said and made, and its events", async () => {
  const task = await ask({ text: "How often are backups taken?" });
  const browser = await context();
  const page = await open(browser, `/tasks/${task.id}`);
  assert.deepEqual(await boxes(page), ["investigate completed", "recall completed", "draft completed", "validate completed", "review skipped"]);
  for (const took of await page.locator(".graph .node-by[text-anchor]").allTextContents()) assert.match(took, /^(under 0\.01|\d+|\d\.\d{1,2}) (ms|s)$/);
  // A box leads to its step, which opens.
  await page.locator("#node-validate").click();
  const step = page.locator("#step-validate");
  await step.getByRole("heading", { name: "Output" }).waitFor();
  assert.match(await step.locator(".code").last().textContent(), /confidence/);

  await page.keyboard.press("2");
  await page.waitForURL(/timeline$/);
  const calls = page.locator(".calls tbody tr");
  await calls.first().getByText("planner", { exact: false }).first().waitFor();
  const text = await calls.allTextContents();
  for (const call of ["plan-and-run", "investigate", "recall", "validate"]) assert.ok(text.some((t) => t.includes(call)), `${call} is among ${text}`);
  await calls.first().locator("summary").click();
  assert.match(await calls.first().locator(".facts").textContent(), /On behalf of\s*admin[\s\S]*Request, SHA-256\s*[0-9a-f]{64}/);

  await page.keyboard.press("3");
  await page.waitForURL(/content$/);
  await page.locator("#message-0").getByText("How often are backups taken?").waitFor();
  await page.locator("#artifact-0").getByText("taken every six hours").first().waitFor();

  await page.keyboard.press("4");
  await page.waitForURL(/events$/);
  const events = page.locator(".events > li");
  assert.match(await events.first().textContent(), /Submitted/);
  assert.match(await events.last().textContent(), /Completed/);
  assert.ok((await events.allTextContents()).some((t) => t.includes("draft completed, validate running")));
  await events.last().locator("summary").click();
  assert.equal(JSON.parse(await events.last().locator("pre").textContent()).statusUpdate.status.state, "TASK_STATE_COMPLETED");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "NDJSON" }).click()]);
  const lines = (await readFile(await download.path(), "utf8")).trim().split("\n").map((l) => JSON.parse(l));
  assert.equal(download.suggestedFilename(), `events-${task.id}.ndjson`);
  assert.deepEqual(lines.map((l) => l.version), lines.map((_, i) => i + 1));
  assert.equal(lines.length, await events.count());
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("a graph moves as its plan runs: what waits, fails and is tried again shows without a reload", async () => {
  const browser = await context();
  const page = await open(browser, "/tasks?q=the+office");
  const task = await retried("Remind the office.");
  await page.locator(`#task-${task.id} .row-link`).first().click();
  await live(page);
  await page.locator("#node-note.state-completed").waitFor();
  await page.locator("#step-office").getByText("attempt 2 of 4", { exact: false }).waitFor();
  await page.locator("#step-office .step-time").getByText(/next try\s+in \d+ (h|min)/).waitFor();
  await page.locator("#step-office > summary").click();
  await page.locator("#step-office").getByText("the office is closed").last().waitFor();

  // Whoever does not want to wait for the hour has it tried at once.
  await page.locator("#step-office").getByRole("button", { name: "Retry now" }).click();
  await page.getByText("Step office is tried again now.").waitFor();
  await page.locator("#step-office").getByText("attempt 3 of 4", { exact: false }).waitFor();

  // A cancel says what was undone.
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "Cancel this task?" });
  await dialog.getByLabel("Reason").fill("The office has moved");
  await dialog.getByRole("button", { name: "Cancel the task" }).click();
  await page.locator(".verdict").getByText("Canceled", { exact: true }).waitFor();
  await page.getByRole("heading", { name: "What was undone" }).waitFor();
  await page.locator(".panel:has(#undone) > header").getByText("1 of 1").waitFor();
  const undone = page.locator(".step", { hasText: "undo note" });
  assert.match(await undone.locator("summary").textContent(), /Completed[\s\S]*memory · forget/);
  await page.getByText("The office has moved").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel…" }).count(), 0);
  await completed(task.id, "TASK_STATE_CANCELED");

  // It runs again from the step that failed, with what the steps before have made.
  const step = page.locator("#step-office");
  if (!(await step.evaluate((s) => s.open))) await step.locator("> summary").click();
  await step.getByRole("button", { name: "Run again from here" }).click();
  await page.getByRole("dialog", { name: "Run again from office?" }).getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => /^\/tasks\/[0-9a-f-]+$/.test(url.pathname) && !url.pathname.endsWith(task.id));
  await live(page);
  await page.getByText("Run again from", { exact: true }).waitFor();
  await page.getByRole("link", { name: task.id }).waitFor();
  await page.locator("#node-note.state-completed").waitFor();
  await page.locator("#step-office").getByText("attempt 2 of 4", { exact: false }).waitFor();
  const fork = await get(new URL(page.url()).pathname.split("/").pop());
  assert.equal(fork.status.state, "TASK_STATE_WORKING");
  assert.deepEqual(browser.problems, []);
  await browser.close();
});
