// What reviewers leave behind: held, decided, and what became of a batch. Screens that
// stay as they are, are in screens.spec.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, fits, narrow } from "../lib/browser.mjs";
import { person } from "../lib/people.mjs";
import { addresses, fill } from "../lib/reviews.mjs";

test("items that others hold or have decided, and what became of a batch, are accessible and fit", async () => {
  await fill();
  const other = await person("bo");
  const at = await other.newPage();
  const { refund, loan, batch } = await addresses(at);
  await at.goto(loan);
  await at.getByRole("button", { name: "Claim" }).click();
  await at.getByText("You hold this item.").waitFor();
  await at.goto(refund);
  await at.getByRole("button", { name: "Approve" }).click();
  await at.getByText("Approved.").first().waitFor();
  await other.close();
  const browser = await person("asha", { size: narrow, scheme: "dark" });
  const page = await browser.newPage();
  for (const path of [loan, refund]) {
    await page.goto(path);
    await accessible(page, path);
    await fits(page, path);
  }
  await page.goto(batch);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "items decided" }).waitFor();
  await accessible(page, "what became of a batch");
  await fits(page, "what became of a batch");
  assert.deepEqual(browser.problems, []);
  await browser.close();
});
