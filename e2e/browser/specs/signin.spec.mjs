import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, context, live, platform } from "../lib/browser.mjs";

test("people sign in by keyboard, come to the page that they wanted, and sign out", async () => {
  const browser = await context({ stranger: true });
  const page = await browser.newPage();
  await page.goto("/tasks?state=failed");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.keyboard.type("admin");
  await page.keyboard.press("Tab");
  await page.keyboard.type("wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("The name or the password is wrong").waitFor();
  browser.problems.length = 0; // the browser reports the 401 of the form
  await page.keyboard.type(platform.password); // the field has the focus, the name is kept
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tasks?state=failed");
  await live(page);
  await page.locator(".account > summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto("/tasks");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(browser.problems, []);
  await browser.close();
});

test("an open page says that its session has ended", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/tasks");
  await live(page);
  const elsewhere = await browser.newPage();
  await elsewhere.goto("/account");
  await elsewhere.getByRole("button", { name: "Sign out everywhere" }).click();
  await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.locator('#link[data-state="ended"]').getByText("Signed out").waitFor();
  await browser.close();
});

test("the page of one's own account follows sessions elsewhere, and keeps what is typed", async () => {
  const browser = await context();
  const page = await browser.newPage();
  await page.goto("/account");
  await live(page);
  await page.getByLabel("New password", { exact: true }).fill("half of a new pass");
  const other = await context();
  const elsewhere = await other.newPage();
  await elsewhere.goto("/account");
  await live(elsewhere);
  const session = await elsewhere.locator("tr", { hasText: "this one" }).getAttribute("id");
  const row = page.locator(`#${session}`);
  await row.waitFor();
  assert.equal(await row.getByText("this one").count(), 0);
  await elsewhere.locator(".account > summary").click();
  await elsewhere.getByRole("button", { name: "Sign out" }).first().click();
  await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor();
  await row.waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("New password", { exact: true }).inputValue(), "half of a new pass");
  await accessible(page, "one's own account");
  assert.deepEqual(browser.problems, []);
  await other.close();
  await browser.close();
});

test("an identity provider signs somebody in with its roles, until the account is disabled", async () => {
  const signs = async (claims) => assert.equal((await fetch(platform.people, { method: "PUT", body: JSON.stringify(claims) })).status, 200);
  await signs({ sub: "rosa", name: "Rosa <b>Ruiz</b>", roles: ["viewer", "reviewer"], groups: ["lending"] });
  const browser = await context({ stranger: true });
  const page = await browser.newPage();
  await page.goto("/review?tab=unassigned");
  await accessible(page, "the sign-in with a provider");
  // By keyboard: the provider asks nothing in this test, and sends her back.
  await page.getByRole("link", { name: /^Sign in with 127\.0\.0\.1:/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/review?tab=unassigned");
  await live(page);
  await page.locator(".account > summary").click();
  await page.locator(".account").getByText("Rosa <b>Ruiz</b>").first().waitFor();
  assert.equal(await page.getByRole("link", { name: "Tasks", exact: true }).count(), 1);
  await page.goto("/accounts");
  await page.getByRole("heading", { name: "This is for administrators" }).waitFor();
  browser.problems.length = 0; // the 403 of that page
  await page.goto("/review");
  await live(page);

  // Who keeps the accounts sees her without a reload.
  const keeper = await context();
  const accounts = await keeper.newPage();
  await accounts.goto("/accounts");
  await live(accounts);
  const row = accounts.locator(".accounts > li", { hasText: "acme/rosa" });

  // What came back from the provider is good once, and for the browser that began.
  const back = await browser.request.get("/sign-in/callback?code=stolen&state=other", { maxRedirects: 0 });
  assert.equal(back.status(), 400);

  // Another one whose roles are none of ours does not get in.
  await signs({ sub: "mallory", roles: ["janitor"] });
  const other = await context({ stranger: true });
  const refused = await other.newPage();
  await refused.goto("/sign-in");
  await refused.getByRole("link", { name: /^Sign in with/ }).click();
  await refused.getByRole("alert").getByText("You have no role in this console.").waitFor();
  await accounts.getByText("acme/mallory").waitFor();
  await other.close();

  // Whom an administrator disables is out at once, and does not come back.
  await row.getByText("Change", { exact: true }).click();
  await row.getByLabel("Disabled").check();
  await row.getByRole("button", { name: "Save" }).click();
  await accounts.getByText("acme/rosa is changed.").waitFor();
  await page.locator('#link[data-state="ended"]').getByText("Signed out").waitFor();
  await signs({ sub: "rosa", roles: ["viewer", "reviewer"] });
  await page.goto("/sign-in");
  await page.getByRole("link", { name: /^Sign in with/ }).click();
  await page.getByRole("alert").getByText("Your account is disabled.").waitFor();
  await keeper.close();
  await browser.close();
});
