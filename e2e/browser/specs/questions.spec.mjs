import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { answer, completed, get } from "../lib/client.mjs";
import { person } from "../lib/people.mjs";
import { question } from "../lib/screens.mjs";

async function open(browser, path) {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

test("an agent asks people, somebody answers in the browser, and the task completes with the answer", async () => {
  const [bo, cy, asker] = [await person("bo", { shown: "Bo Lind" }), await person("cy"), await context()];
  const [page, others] = [await open(bo, "/questions"), await open(cy, "/questions")];
  await page.getByText("No question waits for an answer").waitFor();

  // It comes onto the board of both without a reload.
  const task = await question({ title: "Parcel 17", question: "Why did parcel 17 change its zone?", tags: ["maps"] });
  const row = (p) => p.locator(`#question-${task.id}`);
  await row(page).getByText("Waiting").waitFor();
  await row(others).getByText("0 replies").waitFor();
  assert.equal((await get(task.id, "review")).status.state, "TASK_STATE_WORKING");
  for (const p of [page, others]) {
    await row(p).getByRole("link").click();
    await p.getByRole("heading", { name: "Parcel 17" }).waitFor();
    await live(p);
  }
  await page.keyboard.press("r");
  await page.keyboard.type("The dyke was raised in spring.");
  await page.getByRole("button", { name: "Reply" }).click();
  await page.locator(".bubble.answer").getByText("The dyke was raised in spring.").waitFor();
  await page.locator(".badges").getByText("Answered").waitFor();
  const ended = await completed(task.id, "TASK_STATE_COMPLETED", "review");
  assert.match(answer(ended.artifacts ?? []) + JSON.stringify(ended.status.message ?? {}), /The dyke was raised in spring\./);

  // The other reader sees it at once, as unread, and takes note of it; the discussion goes on.
  await others.locator(".bubble.answer").getByText("The dyke was raised in spring.").waitFor();
  await others.getByText("1 reply you have not taken note of.").waitFor();
  await others.keyboard.press("n");
  await others.getByText("you have not taken note of").waitFor({ state: "detached" });
  await others.getByLabel("Your reply").fill("I can confirm that.");
  await others.getByRole("button", { name: "Reply" }).click();
  await page.getByText("I can confirm that.").waitFor();
  await page.getByText("1 reply you have not taken note of.").waitFor();
  assert.equal((await get(task.id, "review")).status.state, "TASK_STATE_COMPLETED");

  // Who asked finds it answered.
  const own = await open(asker, "/questions?view=all");
  await own.locator(`#question-${task.id}`).getByText("Answered").waitFor();
  await own.locator(`#question-${task.id}`).getByText("2 replies").waitFor();
  assert.deepEqual([...bo.problems, ...cy.problems, ...asker.problems], []);
  for (const b of [bo, cy, asker]) await b.close();
});
