import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { ask, until } from "../lib/client.mjs";

async function open(browser, path) {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

test("agents are shown with their health, version, card, skills, bindings and figures", async () => {
  const browser = await context();
  const page = await open(browser, "/agents");
  for (const name of ["planner", "research", "memory", "executor", "validator", "review"]) {
    const card = page.locator(`#agent-${name}`);
    await card.getByText("answers", { exact: true }).waitFor();
    await card.getByText("card valid").waitFor();
    assert.match(await card.locator(".card-facts", { hasText: "version" }).textContent(), /version \S+/);
  }
  const research = page.locator("#agent-research");
  await research.locator("details details > summary", { hasText: "5 skills" }).click();
  await research.getByText("Bindings").click();
  await research.getByText("POST /research/message:send").waitFor();
  await research.getByText("tenant research").waitFor();
  await page.locator("#agent-planner").getByText("Bindings").click();
  await page.locator("#agent-planner").getByText("POST /message:send").waitFor();
  await research.getByText("Card as JSON").click();
  const card = JSON.parse(await research.locator("pre").textContent());
  assert.deepEqual(card.skills.map((s) => s.id).sort(), ["changes", "fetch", "investigate", "search", "vector-search"]);

  // What is opened stays open when calls come into the figures.
  await ask({ text: "How often are backups taken?" });
  await research.getByText("1 call in the last hour").waitFor();
  await research.getByText("0.0 % failed").waitFor();
  const health = research.getByRole("row", { name: /investigate/ });
  assert.match(await health.textContent(), /investigate1\s*[\d.]+ m?s[\d.]+ m?s.*within budget.*general/s);
  assert.ok(await research.locator("pre").isVisible());

  await research.locator("dl > div", { has: page.getByText("search", { exact: true }) }).first().getByRole("link", { name: "Try it" }).click();
  await page.waitForURL(/playground/);
  assert.equal(await page.getByRole("combobox", { name: "Agent", exact: true }).inputValue(), "research");
  assert.equal(await page.getByLabel("Skill").inputValue(), "search");
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("the playground sends text, data, metadata and a file to the planner, and shows what comes as it comes beside its JSON", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/playground");
  await page.getByText("What comes back is shown here as it comes.").waitFor();
  await page.getByLabel("Playbook").selectOption("letter");
  await page.getByText("Data, metadata and files").click();
  await page.getByRole("textbox", { name: "Data JSON", exact: true }).fill('{"letter": "Backups are taken every minute.", "subject": "the playground"}');
  await page.getByLabel("Metadata").fill('{"urn:example:ticket": "T-17"}');
  await page.getByLabel("Files").setInputFiles({ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("kept as it is") });
  await page.getByRole("button", { name: "Send" }).click();

  // The answer waits for a person, and the stream goes on.
  await page.locator("[data-play-state]").getByText("auth required").waitFor();
  await page.locator("[data-play-said]").getByText("find completed", { exact: false }).first().waitFor();
  const link = page.getByRole("link", { name: "Open the task" });
  const id = (await link.getAttribute("href")).split("/").pop();
  const raw = () => page.locator("[data-play-raw] pre").evaluateAll((all) => all.map((p) => JSON.parse(p.textContent)));
  const events = await raw();
  assert.match(await page.locator("[data-play-count]").textContent(), new RegExp(`^${events.length} events$`));
  const sent = events[0].task.history[0];
  assert.equal(sent.metadata["urn:example:ticket"], "T-17");
  assert.deepEqual(sent.parts.map((p) => Object.keys(p).find((k) => ["text", "data", "raw"].includes(k))), ["data", "raw"]);

  // Who stops to listen has not stopped the task.
  await page.getByRole("button", { name: "Stop listening" }).click();
  await page.locator("[data-play-state]").getByText("not listening; the task goes on").waitFor();
  await page.goto(`/tasks/${id}/content`);
  await page.locator(".verdict").getByText("Auth required").waitFor();

  // The file came through, and is a download.
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "note.txt" }).click()]);
  assert.equal(download.suggestedFilename(), "note.txt");
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("the playground goes on with a conversation, talks to any agent, and says what was refused", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/playground");
  const send = async (text) => {
    await page.getByLabel("Text").fill(text);
    await page.keyboard.press("Control+Enter");
  };
  const state = page.locator("[data-play-state]");
  await send("How often are backups taken?");
  await page.locator("[data-play-said]").getByText("every six hours", { exact: false }).first().waitFor();
  await state.getByText("completed").waitFor();
  await send("How long are they kept?");
  await until("the second answer is there", () => page.locator("[data-play-said] .play-own").count(), (n) => n === 2);
  await page.getByText("thirty days").first().waitFor();
  await until("the second answer has ended", () => page.locator("[data-play-raw] > li", { hasText: /completed|failed/ }).count(), (n) => n === 2);
  const contexts = await page.locator("[data-play-raw] pre").evaluateAll((all) => [...new Set(all.map((p) => Object.values(JSON.parse(p.textContent))[0].contextId).filter(Boolean))]);
  assert.equal(contexts.length, 1, "both belong to one conversation");
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByText("What comes back is shown here as it comes.").waitFor();

  // Another agent answers with a message, at once.
  await page.getByRole("combobox", { name: "Agent", exact: true }).selectOption("research");
  await page.waitForURL(/agent=research/);
  await page.getByLabel("Skill").selectOption("search");
  await send("customer database");
  await page.locator("[data-play-said] .play-message").waitFor();
  await page.locator("[data-play-raw] li", { hasText: "message" }).first().waitFor();

  await page.getByText("Data, metadata and files").click();
  await page.getByLabel("Metadata").fill("[1]");
  await send("refused");
  await page.locator("[data-play-said] .play-error").getByText("the metadata is no JSON object", { exact: false }).waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});
