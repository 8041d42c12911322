// An exported run: one file that opens without a network and asks nobody; and the page's modules joined to one script.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessibilityFaults, check, checkPages, goTo, openFile, proctor, project, requests, textOf, until, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  await proctor("run");
  writeFileSync(join(project, "shop.py"), "def total(prices):\n    return sum(prices) + 1\n");
  await proctor("run");
  await proctor("export", "--format", "html", "--to", join(project, "..", "run.html"));
  const exported = join(project, "..", "run.html");
  const text = readFileSync(exported, "utf8");
  check(!/<script[^>]+src=|<link[^>]+href="[^d]/.test(text), "the file names no other file");
  const context = await browser.newContext({ offline: true });
  const page = await openFile(context, exported);
  const shown = await until("the exported run", async () => { const found = (await textOf(page, "#main")) ?? ""; return found.includes("assert 7 == 6") ? found : null; });
  check(shown.includes("test_total"), "the failure is there", shown);
  const spoken = await page.locator("[role=status][aria-live]").allTextContents();
  check(spoken.every((words) => words === ""), "nothing is said of a verdict as of now, which the file does not have", spoken);
  const offered = await page.locator(".tabs a").allTextContents();
  check(!offered.includes("Compare") && offered.includes("Runs"), "only views with answers are offered", offered);
  for (const tab of offered) {
    await page.click(`.tabs a:text-is("${tab}")`);
    await until(`${tab} drawn`, () => page.evaluate(() => document.querySelector("#main .hero, #main .row, #main .matrix, #main .chart") !== null));
    check((await page.locator(".problem").count()) === 0, `${tab} has its answers`);
    const found = await accessibilityFaults(page);
    check(found.length === 0, `axe finds nothing in ${tab}`, found);
  }
  await goTo(page, "/projects/unknown-00000000");
  await until("a place that is not in the file", async () => ((await textOf(page, "#main")) ?? "").includes("not known"));
  check(requests.every((url) => url.startsWith("file://")), "nothing is fetched", requests);
  checkPages();
});
