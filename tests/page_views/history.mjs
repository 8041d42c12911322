// A store of 10,000 runs on the page: how soon it is usable, that only rows in sight are in the document, and that scrolling does not stick.
import { check, checkPages, goTo, openPage, proctor, startService, textOf, until, withBrowser } from "./browser.mjs";

const RUNS = 10_000;
const TESTS = 1000;
// How soon the list is usable, in milliseconds: what the browser needs on a machine that does nothing else, and room for one that does.
const USABLE = Number(process.env.PAGE_VIEWS_USABLE ?? 1500);
const MOST_ROWS = 120;
// The longest pause between two frames while somebody scrolls.
const LONGEST_FRAME = 250;

const rows = (page, selector) => page.locator(selector).count();

// Scrolls a box from its start to its end and returns the longest time between two frames.
const scrollThrough = (page, selector) => page.evaluate(async (wanted) => {
  const box = document.querySelector(wanted);
  let longest = 0;
  let last = performance.now();
  const frame = () => new Promise((done) => requestAnimationFrame((now) => { longest = Math.max(longest, now - last); last = now; done(); }));
  await frame();
  longest = 0;
  const steps = 60;
  for (let step = 1; step <= steps; step += 1) {
    box.scrollTop = (box.scrollHeight - box.clientHeight) * (step / steps);
    await frame();
  }
  return Math.round(longest);
}, selector);

// The matrix of many tests, answered by this test in the place of the service: 2,000 tests in 60 of the runs.
function manyTests(runs, id) {
  const shown = runs.slice(0, 60).map(({ failedTests, ...run }) => run);
  const tests = Array.from({ length: 2 * TESTS }, (_, number) => ({
    test: { key: number.toString(16).padStart(16, "0"), task: "default", check: "pytest", id: `tests/test_part_${number % 40}.py::test_${number}` },
    flipsOnEqualTrees: number === 0 ? 9 : 0,
    since: shown[0].started,
    lastRun: shown[0].runId,
    cells: shown.map((_, column) => (number === 0 && column % 3 === 0 ? "f" : number % 17 === 0 ? "s" : "p")).join(""),
  }));
  return { schema: "proctor-matrix-v1", project: id, runs: shown, tests };
}

await withBrowser(async (browser) => {
  const service = await startService();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await openPage(context);
  const listed = JSON.parse(await proctor("list", "--json"));
  const [{ id }] = listed.projects;
  await until("the first page", () => rows(page, ".hero"));
  const begun = Date.now();
  await goTo(page, `/projects/${id}/runs`);
  await until("the runs", () => rows(page, ".list-pane .row"));
  const usable = Date.now() - begun;
  console.log(`the list of runs is there after ${usable} ms`);
  check(usable < USABLE, `usable within ${USABLE} ms`, usable);
  check((await rows(page, ".list-pane .row")) < MOST_ROWS, "only rows in sight are in the document");
  await page.keyboard.press("G");
  await until("all runs", async () => ((await textOf(page, ".list-count")) ?? "").startsWith((RUNS + 1).toLocaleString("en")) || ((await textOf(page, ".list-count")) ?? "").startsWith(RUNS.toLocaleString("en")));
  const longest = await scrollThrough(page, ".list-pane .virtual");
  console.log(`the longest frame while scrolling ${RUNS} runs: ${longest} ms`);
  check(longest < LONGEST_FRAME, "scrolling does not stick", longest);
  check((await rows(page, ".list-pane .row")) < MOST_ROWS, "only rows in sight are in the document after scrolling, too");
  const { runs } = JSON.parse(await proctor("log", "--json", "--limit", "60"));
  await page.route("**/matrix?*", (route) => route.fulfill({ json: manyTests(runs, id) }));
  const asked = Date.now();
  await goTo(page, `/projects/${id}/tests`);
  await until("the matrix", () => rows(page, ".matrix-row"));
  console.log(`the matrix of ${2 * TESTS} tests is there after ${Date.now() - asked} ms`);
  check((await textOf(page, ".matrix-row")).includes("test_0"), "the test that flips comes first");
  const sticking = await scrollThrough(page, ".matrix-list");
  console.log(`the longest frame while scrolling the matrix: ${sticking} ms`);
  check(sticking < LONGEST_FRAME, "scrolling the matrix does not stick", sticking);
  check((await rows(page, ".matrix-row")) < MOST_ROWS, "only tests in sight are in the document");
  await service.stop();
  checkPages();
});
