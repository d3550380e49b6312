// Looks at screens one after the other.
import { context } from "./browser.mjs";
import { person } from "./people.mjs";

// look opens each screen as who it is for, prepares it, and calls see with its page and
// name. It returns what went wrong in the pages by themselves.
export async function look(screens, options, see) {
  const pages = new Map();
  const pageOf = async (who) => {
    if (!pages.has(who)) {
      const browser = who === "nobody" ? await context({ stranger: true, ...options }) : who ? await person(who, options) : await context(options);
      pages.set(who, await browser.newPage());
    }
    return pages.get(who);
  };
  for (const [name, { path, as, prepare }] of screens) {
    const page = await pageOf(as);
    await page.goto(path);
    await prepare?.(page);
    await see(page, name);
  }
  const problems = [];
  for (const page of pages.values()) {
    problems.push(...page.context().problems);
    await page.context().close();
  }
  return problems.filter((p) => !/status of 40[04]/.test(p)); // pages that say what is wrong with their address
}
