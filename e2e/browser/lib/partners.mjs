// The agent of another organisation that the platform has an agreement with.
import { platform } from "./browser.mjs";
import { until } from "./client.mjs";

// publish has it publish another card: change gets the present one.
export async function publish(change) {
  const card = await (await fetch(`${platform.partner}/card`)).json();
  change(card);
  await fetch(`${platform.partner}/card`, { method: "PUT", body: JSON.stringify(card) });
}

// verified opens its page as an operator, when it is registered, and has it verified.
export async function verified(page) {
  await until("the partner of the agreement is registered", async () => { await page.goto("/partners"); return page.locator("#partner-underwriter").count(); }, (n) => n === 1);
  await page.locator("#partner-underwriter a").first().click();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.locator(".partner-badges").getByText("verified", { exact: true }).waitFor();
}
