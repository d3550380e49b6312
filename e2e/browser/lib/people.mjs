// People of the console: the administrator makes their accounts, and they sign in.
import { context } from "./browser.mjs";

const password = "three small words suffice";
const made = new Set();

// person is a browser of somebody with roles, who is made when there is none of the name.
export async function person(name, { roles = ["viewer", "reviewer"], shown = "", ...options } = {}) {
  if (!made.has(name)) {
    const keeper = await context();
    const page = await keeper.newPage();
    await page.goto("/accounts");
    const form = page.locator('form[action="/accounts"]');
    await form.locator('[name="account"]').fill(name);
    await form.locator('[name="display"]').fill(shown);
    for (const role of roles) await form.locator(`[name="role"][value="${role}"]`).check();
    await form.getByRole("button", { name: "Add" }).click();
    const secret = await page.locator("code.secret").textContent();
    await keeper.close();
    // A password that somebody else has seen is changed first.
    const browser = await context({ name, password: secret });
    const own = await browser.newPage();
    await own.goto("/account");
    await own.getByLabel("Present password").fill(secret);
    await own.getByLabel("New password", { exact: true }).fill(password);
    await own.getByLabel("New password again").fill(password);
    await own.getByRole("button", { name: "Change password" }).click();
    await own.getByText("Your password is changed.").waitFor();
    await browser.close();
    made.add(name);
  }
  return context({ name, password, ...options });
}
