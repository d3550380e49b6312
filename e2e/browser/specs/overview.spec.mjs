import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { ask } from "../lib/client.mjs";
import { retried } from "../lib/screens.mjs";

async function open(browser, path) {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

test("the dashboard says what needs a person, what is stuck and why, and how agents fare, as it happens", async () => {
  const browser = await context();
  const page = await open(browser, "/");
  await page.getByText("Nothing is stuck.").waitFor();
  await page.getByText("Nobody is waited for.").waitFor();
  const stat = (name) => page.locator(".stat", { hasText: name }).locator("b");
  assert.equal(await stat("Wait for a decision").textContent(), "0");

  await ask({ text: "How often are backups taken?" });
  const failed = await ask({ text: "Who invented the telephone?" });
  assert.equal(failed.status.state, "TASK_STATE_FAILED");
  const refund = await ask({ data: { order: "1", amount: 5, payee: "Ada" }, playbook: "refund" });
  const stuck = await retried("Remind me of the dashboard.");
  await page.getByText("4 began in the last hour, 1 completed").waitFor();
  await page.locator(".stat", { hasText: "Wait for a decision" }).getByText("1 unassigned").waitFor();
  assert.equal(await stat("Failed or rejected").textContent(), "1");
  assert.equal(await stat("Running").textContent(), "1");
  const person = page.locator(`.panel:has(#people) #brief-${refund.id}`);
  assert.match(await person.textContent(), /amount: 5, order: 1, payee: Ada[\s\S]*look: waits for a person/);
  const why = page.locator(`.panel:has(#stuck) #brief-${stuck.id}`);
  assert.match(await why.textContent(), /Remind me of the dashboard\.[\s\S]*office: attempt 2 of 4|office: attempt 2/);
  assert.match(await why.textContent(), /the office is closed/);
  const planner = page.locator("#skill-planner-plan-and-run");
  await planner.getByText(/1 · \d+\.\d %/).waitFor();
  assert.ok(await page.locator(".chart rect.state-failed").count() > 0);

  await page.locator(".stat", { hasText: "Failed or rejected" }).click();
  await page.locator(`#task-${failed.id}`).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "Week" }).click();
  await page.getByText("4 began in the last week").waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("playbooks are listed with their runs, and shown with their graph, check, versions and source", async () => {
  const browser = await context();
  const page = await open(browser, "/playbooks");
  const card = page.locator("#playbook-letter");
  await card.getByText("3 steps").waitFor();
  await card.getByText("medium risk").waitFor();
  await card.getByText("Never run").waitFor();
  const task = await ask({ data: { letter: "Backups are taken every minute." }, playbook: "letter" });
  await card.getByTitle("Auth required").waitFor();

  await card.getByRole("link", { name: "letter" }).click();
  await page.getByRole("heading", { name: "letter", exact: true }).waitFor();
  await page.locator(".facts").getByText("passed").waitFor();
  assert.deepEqual(await page.locator(".graph .node-name").allTextContents(), ["find", "check", "person"]);
  assert.match(await page.locator(".code").last().textContent(), /playbook: letter\nversion: 1/);
  await page.locator(`#brief-${task.id}`).waitFor();
  await live(page);
  const second = await ask({ data: { letter: "Backups are taken every day." }, playbook: "letter" });
  await page.locator(`#brief-${second.id}`).waitFor();

  await ask({ text: "How often are backups taken?" });
  await page.goto("/playbooks/general?version=1");
  assert.equal(await page.locator(".facts [aria-current]").textContent(), "1");
  assert.deepEqual(await page.locator(".graph .node-name").allTextContents(), ["investigate", "recall", "draft", "validate"]);
  await page.locator(".facts").getByRole("link", { name: "2", exact: true }).click();
  await page.waitForURL(/version=2/);
  assert.deepEqual(await page.locator(".graph .node-name").allTextContents(), ["investigate", "recall", "draft", "validate", "review"]);
  await page.getByRole("link", { name: "Try it" }).click();
  await page.waitForURL(/playground/);
  assert.equal(await page.getByLabel("Playbook").inputValue(), "general");
  await page.goto("/playbooks/none");
  await page.getByText("There is no such playbook").waitFor();
  assert.deepEqual(browser.problems.filter((p) => !p.includes("/playbooks/none")), []);
  await browser.close();
});
