// The page of a task that waits for a person: why, since when, by which run, and what to type.
import { BOUND, check, checkPages, openPage, proctor, textOf, until, withBrowser } from "./browser.mjs";

await withBrowser(async (browser) => {
  const { person } = JSON.parse(await proctor("status", "--json")).projects[0].tasks[0];
  check(person?.reason === "Tests should fail in RED phase", "the task waits for a person", person);
  const page = await openPage(await browser.newContext());
  await until("the headline of a task that waits", async () => ((await textOf(page, ".hero h1")) ?? "").startsWith("A person is needed"));
  const notice = page.locator(".notice", { hasText: person.reason });
  await notice.waitFor({ timeout: BOUND });
  const said = await notice.textContent();
  const run = Number(person.runId.split("-").at(-1));
  check(said.includes(`run ${run}`) && said.includes("Since"), "since when and by which run", said);
  check(said.includes("proctor tdd resolve default --to NODE --reason TEXT"), "the whole command", said);
  const since = await notice.locator("time").getAttribute("datetime");
  check(since === person.since, "the time is that of the question", since);
  await page.opening.stop();
  checkPages();
});
