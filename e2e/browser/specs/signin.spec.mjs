import assert from "node:assert/strict";
import { test } from "node:test";
import { context, live, platform } from "../lib/browser.mjs";

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
