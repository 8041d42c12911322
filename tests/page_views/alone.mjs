// The page of `proctor open` without the service: two tasks, files that change without a run, runs of other processes, a ticket used twice.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BOUND, Going, check, checkPages, openFile, openPage, proctor, project, textOf, until, withBrowser } from "./browser.mjs";

const SOURCE = join(project, "totals.txt");
const headlineIs = (page, word) => until(`the headline “${word}”`, async () => ((await textOf(page, ".hero h1")) ?? "").startsWith(word));
const titleIs = (page, word) => until(`the title “${word}”`, async () => (await page.title()).startsWith(word));

await withBrowser(async (browser) => {
  await proctor("run", "--task", "T101");
  await proctor("run", "--task", "T102");
  const context = await browser.newContext();
  const page = await openPage(context);

  // The first task passed, the second failed: the project has not passed.
  await titleIs(page, "Failed");
  await headlineIs(page, "Failed");
  await until("the failed task, said to people who do not see the page", async () => ((await textOf(page, "[role=status][aria-live]")) ?? "").includes("T102: Failed"));
  check((await page.locator(".tabs a:first-child .tone-failed").count()) === 1, "the tab's mark is that of the failed task");

  // A file changes, and is put back. No run is made, so no event tells of it.
  await page.click('.chip:has-text("T101")');
  await headlineIs(page, "Passed");
  const whole = readFileSync(SOURCE, "utf8");
  writeFileSync(SOURCE, `${whole}\n`);
  await headlineIs(page, "Out of date");
  writeFileSync(SOURCE, whole);
  await headlineIs(page, "Passed");

  // Runs of other processes: when each is over, it is not shown as one that runs.
  for (let time = 0; time < 3; time += 1) {
    await proctor("run", "--task", "T101");
    await headlineIs(page, "Passed");
  }

  // A watch of another process is named, and no longer when it has ended.
  const notices = async () => (await page.locator(".notice").allTextContents()).join(" ");
  const watch = new Going("watch", "--task", "T101");
  await until("the watch", async () => (await notices()).includes(`proctor watch (process ${watch.child.pid})`));
  await watch.stop();
  await until("nobody watches", async () => (await notices()).includes("does not watch this project"));

  // The ticket of the page opens no second one.
  const copy = join(project, "..", "again.html");
  writeFileSync(copy, page.ticketFile);
  const stranger = await browser.newContext();
  const second = await openFile(stranger, copy);
  await second.waitForSelector(".banner", { timeout: BOUND });
  await until("what a spent ticket is", async () => ((await textOf(second, ".banner")) ?? "").includes("not valid any more"));
  await page.opening.stop();
  await until("the banner of a page whose program ended", async () => ((await textOf(page, ".banner")) ?? "").includes("proctor open"));
  checkPages();
});
