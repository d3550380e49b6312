// The screens of the console, with something to see on each. Who looks at every screen
// takes them from here, so that a new one is photographed and checked as the others are.
import { ask, cancel, completed, get, until } from "./client.mjs";
import { context, platform } from "./browser.mjs";
import { person } from "./people.mjs";
import { publish, verified } from "./partners.mjs";
import { addresses, fill } from "./reviews.mjs";

// retried sends a request whose second step has failed and is tried again in an hour.
export async function retried(text) {
  const task = await ask({ text, playbook: "reminder" }, { wait: false });
  await until("a step is tried again", () => get(task.id), (t) => Object.values(t.metadata ?? {}).some((plan) => plan.steps?.some((s) => s.retry_at)));
  return task;
}

// question asks people, and returns its task.
export function question(data) { return ask({ data }, { agent: "review", wait: false }); }

// scene puts something onto every screen and returns the screens by name: the path of
// each, who looks when it is not admin, and what to do there first. Those that are plain
// are checked like all others but not photographed.
export async function scene() {
  const answered = await ask({ text: "How often are backups taken?" });
  await ask({ text: "Who may restore the customer database?" });
  const stuck = await retried("Remind the customer that the contract ends in March.");
  const undone = await retried("Remind the customer to change the password.");
  await cancel(undone.id);
  await completed(undone.id, "TASK_STATE_CANCELED");

  await fill();
  const reviewer = await person("meera", { shown: "Meera Rao" });
  const page = await reviewer.newPage();
  const { unsure, refund, loan, batch } = await addresses(page);
  const known = await question({ title: "Why did parcel 17 change its zone?", question: "The map of 2024 has parcel 17 outside of the flood zone, that of 2025 inside. Who knows why?", tags: ["maps", "flood"] });
  const open = await question({ title: "Who keeps the keys of the archive?", question: "A customer asks for a contract of 1987. Who can open the archive this week?", tags: ["archive"] });
  await until("the questions are on the board", async () => { await page.goto("/questions"); return page.locator(".desk-list li").count(); }, (n) => n === 2);
  await page.goto(`/questions/${known.id}`);
  await page.getByLabel("Your reply").fill("The dyke was raised in spring, so the zone ends at the road now. The new map has it right.");
  await page.getByRole("button", { name: "Reply" }).click();
  await page.getByText("The dyke was raised").first().waitFor();
  await reviewer.close();

  const keeper = await context();
  const partner = await keeper.newPage();
  await verified(partner);
  await partner.getByRole("button", { name: "Approve the card" }).click();
  await partner.locator(".partner-badges").getByText("approved", { exact: true }).waitFor();
  await partner.getByRole("button", { name: "Let plans call it" }).click();
  await partner.getByRole("button", { name: "Stop plans calling it" }).waitFor();
  for (const who of ["ada@example.com", "bo@example.com"]) await ask({ data: { application: `A loan of 200,000 over 20 years, please. Write to ${who} or to DE89 3704 0044 0532 0130 00.` }, playbook: "underwriting" });
  await partner.getByText("Nothing has left for this partner").waitFor({ state: "detached" });
  await publish((card) => { Object.assign(card, { name: "Underwriting desk", description: "Decides on loans." }); card.supportedInterfaces[0].url = `${platform.partner}/moved`; card.skills.push({ id: "quote", name: "Quote", description: "Says what a loan would cost.", tags: ["loans"] }); });
  await partner.getByRole("button", { name: "Read the card now" }).click();
  await partner.getByRole("heading", { name: "A change of the card waits" }).waitFor();
  await keeper.close();

  const opened = (...names) => async (page) => { for (const name of names) await page.getByText(name, { exact: true }).first().click(); };
  return {
    dashboard: { path: "/" },
    tasks: { path: "/tasks" },
    "tasks-none": { path: "/tasks?q=text%20that%20nobody%20wrote", plain: true },
    "tasks-fault": { path: "/tasks?q=state:wrong", plain: true },
    "tasks-selected": { path: "/tasks?q=state:open", plain: true, prepare: async (page) => { await page.locator("[data-pick]").first().check(); await page.getByRole("button", { name: "Cancel…" }).click(); } },
    task: { path: `/tasks/${answered.id}` },
    "task-retried": { path: `/tasks/${stuck.id}`, prepare: (page) => page.locator("#step-office > summary").click() },
    "task-undone": { path: `/tasks/${undone.id}` },
    "task-timeline": { path: `/tasks/${answered.id}/timeline`, prepare: (page) => page.locator(".audit > summary").nth(1).click() },
    "task-content": { path: `/tasks/${answered.id}/content` },
    "task-events": { path: `/tasks/${answered.id}/events` },
    playbooks: { path: "/playbooks" },
    playbook: { path: "/playbooks/general" },
    agents: {
      path: "/agents",
      prepare: async (page) => {
        const card = page.locator("#agent-research .fold > summary"); // which wide screens do not have
        if (await card.isVisible()) await card.click();
        await page.locator("#agent-research details details > summary").first().click();
      },
    },
    partners: { path: "/partners" },
    "partners-none": { path: "/partners?q=nobody", plain: true },
    partner: { path: "/partners/underwriter" },
    "no-partner": { path: "/partners/nobody", plain: true },
    playground: { path: "/playground" },
    "playground-answer": {
      path: "/playground",
      prepare: async (page) => {
        await page.getByLabel("Text").fill("How often are backups taken?");
        await page.getByRole("button", { name: "Send" }).click();
        await page.locator("[data-play-state]").getByText("completed").waitFor();
      },
    },
    review: { path: "/review", as: "meera" },
    "review-done": { path: "/review?tab=done", as: "meera", plain: true },
    "review-none": { path: "/review?q=nothing+at+all", as: "meera", plain: true },
    "review-item": { path: unsure, as: "meera" },
    "review-edit": {
      path: `${unsure}?edit=1`, as: "meera",
      prepare: async (page) => {
        await page.getByLabel("Content").fill("Backups of the customer database are taken every six hours. A restore needs the approval of two operators.");
        await page.locator("#changes ins").first().waitFor();
      },
    },
    "review-ask": { path: unsure, as: "meera", plain: true, prepare: async (page) => { await page.keyboard.press("q"); await page.getByRole("dialog", { name: "Ask the requester" }).waitFor(); } },
    "review-fields": { path: `${refund}?edit=1`, as: "meera" },
    "review-two": { path: loan, as: "meera" },
    "review-batch": { path: batch, as: "meera" },
    questions: { path: "/questions", as: "meera" },
    question: { path: `/questions/${known.id}?view=all`, as: "meera" },
    "question-open": { path: `/questions/${open.id}`, as: "meera" },
    account: { path: "/account" },
    accounts: { path: "/accounts", prepare: opened("Change") },
    "no-page": { path: "/nothing-here", plain: true },
    "no-task": { path: "/tasks/01a22d13-0000-72ae-95c8-1dd46faccd2c", plain: true },
    "no-item": { path: "/review/nothing-here", as: "meera", plain: true },
    keys: { path: "/tasks", plain: true, prepare: async (page) => { await page.keyboard.press("?"); await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor(); } },
    "sign-in": { path: "/sign-in", as: "nobody" },
  };
}
