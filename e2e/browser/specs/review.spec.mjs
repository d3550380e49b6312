import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live } from "../lib/browser.mjs";
import { answer, ask, completed, follow, get } from "../lib/client.mjs";
import { person } from "../lib/people.mjs";

const letter = "Backups of the customer database are taken every six hours. A restore takes ten minutes and needs no approval.";

// open shows a page to somebody, and waits until it is live.
async function open(browser, path = "/review") {
  const page = await browser.newPage();
  await page.goto(path);
  await live(page);
  return page;
}

// itemOf is the id of the review that a task waits for, once it shows on a page.
async function itemOf(page, text) {
  const row = page.locator(".desk-list li", { hasText: text }).first();
  await row.waitFor();
  return (await row.getAttribute("id")).replace("item-", "");
}

test("two reviewers race for an unsure answer, one edits and approves it, and the client's stream ends with the edit", async () => {
  const [asha, bo] = await Promise.all([person("asha", { shown: "Asha Rao" }), person("bo")]);
  const pages = await Promise.all([open(asha), open(bo)]);
  const stream = await follow({ data: { letter, subject: "the race" }, playbook: "letter" });

  // It comes into the list of both without a reload, and both open it.
  const id = await itemOf(pages[0], "the race");
  await itemOf(pages[1], "the race");
  await Promise.all(pages.map((p) => p.locator(`#item-${id} a`).click()));
  await Promise.all(pages.map((p) => p.getByText("Nobody holds this item").waitFor()));
  for (const p of pages) await live(p);

  await Promise.all(pages.map((p) => p.keyboard.press("c")));
  const held = await Promise.any(pages.map(async (p, n) => { await p.getByText("You hold this item.").waitFor(); return n; }));
  const [winner, loser] = [pages[held], pages[1 - held]];
  await loser.getByText(`${["Asha", "Bo"][held]} holds this item.`, { exact: false }).waitFor();
  assert.equal(await loser.locator("#decide").count(), 0);
  assert.equal(await loser.getByText("You hold this item.").count(), 0);

  await winner.keyboard.press("e");
  const text = winner.getByLabel("Content");
  await text.waitFor();
  await text.fill("Backups of the customer database are taken every six hours. A restore needs the approval of two operators.");
  await winner.locator("#changes ins", { hasText: "two operators" }).waitFor();
  await winner.getByLabel("Reason").fill("As the handbook has it");
  await winner.getByRole("button", { name: "Approve with edits" }).click();
  await winner.getByText("Approved with your edits.").waitFor();

  // The other page says so by itself, with what was changed.
  await loser.getByText("As the handbook has it").first().waitFor();
  await loser.locator(".diff ins", { hasText: "two operators" }).waitFor();
  assert.match(await loser.locator(".standing").textContent(), /Approved/);

  await stream.done;
  const states = stream.events.flatMap((e) => e.statusUpdate?.status.state ?? []);
  assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
  assert.ok(states.includes("TASK_STATE_AUTH_REQUIRED"), states.join());
  assert.equal(answer(stream.events.flatMap((e) => e.artifactUpdate?.artifact ?? [])), "Backups of the customer database are taken every six hours. A restore needs the approval of two operators.");
  for (const browser of [asha, bo]) {
    assert.deepEqual(browser.problems.filter((p) => !p.includes("409")), []); // who comes second is refused
    await browser.close();
  }
});

test("the whole review is done from the keyboard", async () => {
  const browser = await person("asha");
  const task = await ask({ data: { letter, subject: "a keyboard" }, playbook: "letter" });
  const other = await ask({ data: { letter, subject: "a refusal" }, playbook: "letter" });
  const page = await open(browser);
  const press = async (...keys) => { for (const k of keys) await page.keyboard.press(k); };
  const focused = () => page.evaluate(() => document.activeElement.closest("li")?.textContent ?? document.activeElement.textContent);

  // Find it by its words, then in the list.
  await press("/");
  await page.keyboard.type("keyboard");
  await press("Enter");
  await page.waitForURL(/q=keyboard/);
  await live(page);
  await press("j");
  assert.match(await focused(), /Letter about a keyboard/);
  await press("Enter");
  await page.getByText("Nobody holds this item").waitFor();
  await live(page);
  await press("c");
  await page.getByText("You hold this item.").waitFor();
  await press("r");
  await page.getByText("Nobody holds this item").waitFor();

  // Ask the requester; the answer brings the item back.
  await press("q");
  await page.keyboard.type("Which database?");
  await press("Tab", "Enter");
  await page.getByText("The requester was asked.").waitFor();
  await page.goto("/review?q=keyboard");
  await live(page);
  await press("j", "Enter");
  await page.getByText("Which database?").first().waitFor();
  assert.equal((await get(task.id)).status.state, "TASK_STATE_INPUT_REQUIRED");
  await ask({ task: task.id, text: "The one of customers." }, { wait: false });
  await page.getByText("The one of customers.").first().waitFor();

  // The item is another with the answer, and is looked at as it is now. Then a only goes
  // to the button, and Enter decides.
  await page.locator("#decide").waitFor();
  await page.goto("/review?q=keyboard");
  await live(page);
  await press("j", "Enter");
  await page.locator("#decide").waitFor();
  await live(page);
  await press("a");
  assert.match(await focused(), /^Approve/);
  await press("Enter");
  await page.getByText("Approved.", { exact: false }).first().waitFor();
  await completed(task.id, "TASK_STATE_COMPLETED");

  // A rejection needs its reason.
  await page.goto("/review?q=refusal");
  await live(page);
  await press("j", "Enter");
  await page.locator("#decide").waitFor();
  await live(page);
  await press("x");
  await page.keyboard.type("The handbook says otherwise");
  await press("Control+Enter");
  await page.getByText("Rejected.", { exact: false }).first().waitFor();
  const rejected = await completed(other.id, "TASK_STATE_REJECTED");
  assert.match(JSON.stringify(rejected.status.message), /The handbook says otherwise/);

  await page.goto("/review");
  await live(page);
  await press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("a hundred items of one kind are decided by keyboard in under five minutes", async (t) => {
  const tasks = [];
  for (let n = 0; n < 100; n += 20) {
    tasks.push(...await Promise.all(Array.from({ length: 20 }, (_, i) => ask({ data: { order: String(5000 + n + i), amount: 10 + n + i, payee: `Customer ${n + i}` }, playbook: "refund" }))));
  }
  const browser = await person("asha");
  const page = await open(browser, "/review?product=refunds");
  const begun = Date.now();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.locator("#decide").waitFor();
  await page.keyboard.press("B");
  await page.getByRole("heading", { name: "100 items of one kind" }).waitFor();
  // Each row is gone through; two need a closer look and stay.
  for (let n = 0; n < 100; n++) {
    await page.keyboard.press("j");
    if (n === 7 || n === 70) await page.keyboard.press("Space");
  }
  await page.getByText("98 selected").waitFor();
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "98 items decided" }).waitFor();
  // The two that are left, one after the other.
  await page.goto("/review?product=refunds");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  for (const said of ["This is the next item.", "Nothing else waits for you here."]) {
    await page.locator("#decide").waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await page.getByText(said).waitFor();
  }
  const seconds = (Date.now() - begun) / 1000;
  t.diagnostic(`100 items were decided by keyboard in ${seconds.toFixed(1)} s`);
  assert.ok(seconds < 300, `${seconds} s`);
  for (const task of tasks) assert.equal((await completed(task.id, "TASK_STATE_COMPLETED")).status.state, "TASK_STATE_COMPLETED");
  await browser.close();
});

test("a second approver is told what the first has changed, before anything is decided", async () => {
  const [asha, bo] = await Promise.all([person("asha"), person("bo")]);
  const task = await ask({ data: { offer: "Twenty years at three percent." }, playbook: "loan" });
  const pages = await Promise.all([open(asha, "/review?product=loans"), open(bo, "/review?product=loans")]);
  const id = await itemOf(pages[0], "Loan offer");
  await Promise.all(pages.map((p) => p.goto(`/review/${id}`)));
  await Promise.all(pages.map(live));
  await pages[0].getByText("0 of 2 approvals").waitFor();
  await pages[0].keyboard.press("e");
  await pages[0].getByLabel("Content").fill("Twenty years at four percent.");
  await pages[0].keyboard.press("Control+Enter");
  await pages[0].getByText("Your approval is noted").waitFor();

  const second = pages[1];
  await second.getByText("The item has just changed.").waitFor();
  await second.keyboard.press("a");
  await second.keyboard.press("Enter");
  await second.getByText("since you looked at it").waitFor();
  await second.locator(".notice .diff ins", { hasText: "four" }).waitFor();
  assert.equal((await get(task.id)).status.state, "TASK_STATE_AUTH_REQUIRED");
  await live(second);
  await second.keyboard.press("a");
  await second.keyboard.press("Enter");
  await second.getByText("Approved.", { exact: false }).first().waitFor();
  const ended = await completed(task.id, "TASK_STATE_COMPLETED");
  assert.equal(answer(ended.artifacts), "Twenty years at four percent.");
  for (const browser of [asha, bo]) await browser.close();
});

test("without scripts an item is read, edited and decided by forms", async () => {
  const task = await ask({ data: { letter, subject: "no script" }, playbook: "letter" });
  const browser = await person("asha", { scripts: false });
  const page = await browser.newPage();
  await page.goto("/review?q=no+script");
  await page.locator(".desk-list li a").first().click();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Content").fill("A letter without a script.");
  await page.getByRole("button", { name: "Show changes" }).click();
  await page.locator(".diff ins", { hasText: "without" }).waitFor();
  await page.getByRole("button", { name: "Approve with edits" }).click();
  await page.getByText("Approved with your edits.").waitFor();
  assert.equal(answer((await completed(task.id, "TASK_STATE_COMPLETED")).artifacts), "A letter without a script.");
  await browser.close();
});

test("hostile content of a request, and a hostile name, are text and nothing else", async () => {
  const evil = '<script>window.__pwned=1</script><img src=x onerror="window.__pwned=1"> =HYPERLINK("https://evil.example","x") \u202e001 yap\u202c';
  const task = await ask({ data: { letter: evil, subject: evil }, playbook: "letter" });
  const [browser, viewer] = await Promise.all([person("eve", { shown: '<img src=x onerror="window.__pwned=1">' }), person("asha")]);
  const page = await open(browser, "/review?q=hyperlink");
  const id = await itemOf(page, "HYPERLINK");
  await page.goto(`/review/${id}`);
  await live(page);
  await page.keyboard.press("c");
  await page.getByText("You hold this item.").waitFor();
  const others = await viewer.newPage();
  for (const [p, path] of [[page, `/review/${id}?edit=1`], [page, `/review/${id}`], [others, "/review"], [others, `/review/${id}`], [others, "/tasks"], [others, `/tasks/${task.id}`]]) {
    await p.goto(path);
    await p.locator("main h1").first().waitFor();
    assert.equal(await p.evaluate(() => window.__pwned), undefined, path);
    assert.equal(await p.locator("main img, main script").count(), 0, path);
    assert.ok((await p.locator("main").textContent()).includes("<script>window.__pwned=1</script>") || path.startsWith("/tasks") || path.includes("edit"), `${path} shows the text as it is`);
  }
  // What would turn the direction of the text is shown by its code.
  await others.goto(`/review/${id}`);
  assert.match(await others.locator("main").textContent(), /⟦U\+202E⟧001 yap⟦U\+202C⟧/);
  assert.deepEqual([...browser.problems, ...viewer.problems], []);
  await browser.close();
  await viewer.close();
});

test("nobody sees reviews who has not signed in", async () => {
  const stranger = await context({ stranger: true });
  const page = await stranger.newPage();
  await page.goto("/review");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal(await page.getByText("Decided lately").count(), 0);
  await stranger.close();
});
