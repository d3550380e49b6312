import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, fits, narrow, wide } from "../lib/browser.mjs";
import { person } from "../lib/people.mjs";
import { addresses, fill } from "../lib/reviews.mjs";

test("the pages of reviewers are accessible and fit", async (t) => {
  await fill();
  const other = await person("bo");
  const at = await other.newPage();
  const { unsure, refund, loan, batch } = await addresses(at);
  await at.goto(loan);
  await at.getByRole("button", { name: "Claim" }).click();
  await at.getByText("You hold this item.").waitFor();
  await at.goto(refund);
  await at.getByRole("button", { name: "Approve" }).click();
  await at.getByText("Approved.").first().waitFor();
  await other.close();
  const pages = ["/review", "/review?tab=done", "/review?q=nothing+at+all", unsure, `${unsure}?edit=1`, loan, refund, batch, "/questions", "/review/nothing-here"];
  for (const [name, size] of Object.entries({ wide, narrow })) {
    for (const scheme of ["light", "dark"]) {
      await t.test(`${name} and ${scheme}`, async () => {
        const browser = await person("asha", { size, scheme });
        const page = await browser.newPage();
        for (const path of pages) {
          await page.goto(path);
          await accessible(page, path);
          await fits(page, path);
        }
        await page.goto(unsure);
        await page.keyboard.press("q");
        await page.getByRole("dialog", { name: "Ask the requester" }).waitFor();
        await accessible(page, "the question to the requester");
        await browser.close();
      });
    }
  }
  const browser = await person("asha");
  const page = await browser.newPage();
  await page.goto(batch);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("heading", { name: "items decided" }).waitFor();
  await accessible(page, "what became of a batch");
  assert.deepEqual(browser.problems, []);
  await browser.close();
});
