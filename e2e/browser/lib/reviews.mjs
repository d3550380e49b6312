// Something to review of each kind, for specs that look at pages.
import { ask } from "./client.mjs";

const letter = "Backups of the customer database are taken every six hours. A restore takes ten minutes and needs no approval.";

// fill puts items into the queues: an unsure letter, refunds that are alike, a loan.
export async function fill() {
  await ask({ data: { letter, subject: "restoring the customer database" }, playbook: "letter" });
  for (let n = 0; n < 6; n++) await ask({ data: { order: String(4711 + n), amount: 12.5 + 7 * n, payee: ["Ada", "Bo", "Cy"][n % 3] }, playbook: "refund" });
  await ask({ data: { offer: "Twenty years at three percent." }, playbook: "loan" });
}

// address of the item with a title, and of the batch of all that are alike.
export async function addresses(page) {
  await page.goto("/review");
  const of = async (text) => new URL(await page.locator(".desk-list li a", { hasText: text }).first().getAttribute("href"), page.url()).pathname;
  const [unsure, refund, loan] = [await of("Letter about"), await of("Refund of order"), await of("Loan offer")];
  await page.goto(refund);
  return { unsure, refund, loan, batch: await page.getByRole("link", { name: "decide together" }).getAttribute("href") };
}
