import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live, platform } from "../lib/browser.mjs";
import { until } from "../lib/client.mjs";
import { publish, verified } from "../lib/partners.mjs";
import { person } from "../lib/people.mjs";

test("a partner is verified, approved, given rights, changed and suspended, and its card does nothing by itself", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await verified(page);
  await live(page);
  assert.equal(await page.locator("h1").textContent(), "Underwriting <b>desk</b>");
  await page.getByText("⟦U+202E⟧").first().waitFor();
  assert.match(await page.title(), /^Underwriting/);
  await page.getByRole("cell", { name: "99.5 %" }).waitFor();
  await page.getByText("Nothing has left for this partner").waitFor();
  await page.getByText("There are no golden tasks for this partner").waitFor();

  await page.getByRole("form", { name: "Approve" }).getByLabel("Note").fill("Seen with their manager.");
  await page.getByRole("button", { name: "Approve the card" }).click();
  const badges = page.locator(".partner-badges");
  await badges.getByText("approved", { exact: true }).waitFor();
  await page.locator(".past").getByText("Seen with their manager.").waitFor();
  await page.getByRole("button", { name: "Let plans call it" }).click();
  await page.getByRole("button", { name: "Stop plans calling it" }).waitFor();
  await page.getByRole("button", { name: "Let searches find it" }).click();
  await page.getByRole("button", { name: "Hide it from searches" }).waitFor();
  assert.match(await page.locator(".facts").first().textContent(), /callable, discoverable/);

  const list = await browser.newPage();
  await list.goto("/partners");
  await live(list);

  // A changed card waits, is shown place by place, and is adopted.
  await publish((card) => card.supportedInterfaces.push({ url: `${platform.partner}/other`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }));
  await page.getByRole("button", { name: "Read the card now" }).click();
  await page.getByRole("heading", { name: "A change of the card waits" }).waitFor();
  await page.locator(".waits ins", { hasText: "/other" }).first().waitFor();
  await list.locator("#partner-underwriter").getByText("change waits").waitFor();
  assert.equal(await list.getByRole("search").count(), 1);

  // Who was shown another one decides nothing.
  await publish((card) => { card.supportedInterfaces[1].url = `${platform.partner}/third`; });
  const other = await browser.newPage();
  await other.goto("/partners/underwriter");
  await other.getByRole("button", { name: "Read the card now" }).click();
  await page.locator(".waits ins", { hasText: "/third" }).first().waitFor();
  await page.getByRole("button", { name: "Adopt the new card" }).click();
  await page.getByText("The card has changed since you looked at it").waitFor();
  await page.getByRole("button", { name: "Adopt the new card" }).click();
  await page.locator(".past").getByText("Change adopted").waitFor();
  assert.equal(await page.locator(".waits").count(), 0);

  await page.getByText("Suspend it…").click();
  await page.getByLabel("Reason").fill("They move house.");
  await page.getByRole("button", { name: "Suspend: no call" }).click();
  await badges.getByText("suspended", { exact: true }).waitFor();
  await page.getByText("They move house.").first().waitFor();
  assert.deepEqual(browser.problems.filter((p) => !/status of 409/.test(p)), []); // of the decision on a card that was not there any more
  await browser.close();
});

test("partners are found, and who only looks is not offered what operators do", async () => {
  const browser = await person("vera", { roles: ["viewer"] });
  const page = await browser.newPage();
  await page.goto("/partners");
  const row = page.locator("#partner-underwriter");
  await row.waitFor();
  assert.equal(await page.getByRole("button", { name: "Register" }).count(), 0);
  await page.getByLabel("Words").fill("nothing like it");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText("No partner matches").waitFor();
  await page.getByRole("link", { name: "Show all partners" }).click();
  await page.getByLabel("State").selectOption("suspended");
  await page.getByRole("button", { name: "Find" }).click();
  await page.waitForURL(/state=suspended/);
  await row.getByRole("link").click();
  await page.getByText("You may not see this").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("what cannot be registered says why, and what was written stays", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/partners#register");
  await live(page);
  const address = page.getByLabel("Card its address");
  await address.fill("http://agents.partner.example");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.locator(".toast").getByText("must begin with https://", { exact: false }).waitFor();
  await until("it stays", () => address.inputValue(), (v) => v === "http://agents.partner.example");
  assert.deepEqual(browser.problems.filter((p) => !/status of 4/.test(p)), []);
  await browser.close();
});
