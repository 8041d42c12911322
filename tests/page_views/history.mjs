// 10,000 runs and 2,000 tests on the page: how soon they are usable, that only rows in sight are in the document, and that scrolling does not
// stick. This test answers for the service: what is looked at is the page, and a store of so many runs takes minutes to make.
import { check, checkPages, goTo, openPage, proctor, startService, textOf, until, withBrowser } from "./browser.mjs";

const RUNS = 10_000;
const TESTS = 2000;
// How soon the list is usable, in milliseconds: what the browser needs on a machine that does nothing else, and room for one that does.
const USABLE = Number(process.env.PAGE_VIEWS_USABLE ?? 1500);
const MOST_ROWS = 120;
// The longest time between two frames while somebody scrolls, for the middle one of all: a busy machine delays single ones.
const LONGEST_FRAME = 100;

const rows = (page, selector) => page.locator(selector).count();

// Scrolls a box from its start to its end and returns the middle time between two frames.
const scrollThrough = (page, selector) => page.evaluate(async (wanted) => {
  const box = document.querySelector(wanted);
  const frames = [];
  let last = performance.now();
  const frame = () => new Promise((done) => requestAnimationFrame((now) => { frames.push(now - last); last = now; done(); }));
  const steps = 60;
  for (let step = 1; step <= steps; step += 1) {
    box.scrollTop = (box.scrollHeight - box.clientHeight) * (step / steps);
    await frame();
  }
  return Math.round(frames.sort((one, other) => one - other)[Math.floor(frames.length / 2)]);
}, selector);

// The newest of 10,000 runs, made from a real one.
function manyRuns(model, limit) {
  const last = Date.parse(model.started);
  return Array.from({ length: Math.min(limit, RUNS) }, (_, back) => {
    const isRed = back % 7 === 3;
    const number = String(RUNS - back).padStart(6, "0");
    return { ...model, runId: model.runId.replace(/\d{6}$/, number), started: new Date(last - back * 60_000).toISOString(), result: isRed ? "FAILED" : "PASSED", failedChecks: isRed ? ["quick"] : [] };
  });
}

// The matrix of many tests in 60 of the runs.
function manyTests(runs, id) {
  const shown = runs.slice(0, 60).map(({ failedTests, ...run }) => run);
  const tests = Array.from({ length: TESTS }, (_, number) => ({
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
  const { project: id, runs: [model] } = JSON.parse(await proctor("log", "--json"));
  await page.route("**/runs?*", (route) => {
    const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
    return route.fulfill({ json: { schema: "proctor-log-v1", project: id, runs: manyRuns(model, limit) } });
  });
  await until("the first page", () => rows(page, ".hero"));
  const begun = Date.now();
  await goTo(page, `/projects/${id}/runs`);
  await until("the runs", () => rows(page, ".list-pane .row"));
  const usable = Date.now() - begun;
  console.log(`the list of runs is there after ${usable} ms`);
  check(usable < USABLE, `usable within ${USABLE} ms`, usable);
  check((await rows(page, ".list-pane .row")) < MOST_ROWS, "only rows in sight are in the document");
  await page.keyboard.press("G");
  await until("all runs", async () => /^10.000 runs/.test((await textOf(page, ".list-count")) ?? ""));
  const middle = await scrollThrough(page, ".list-pane .virtual");
  console.log(`the middle frame while scrolling ${RUNS} runs: ${middle} ms`);
  check(middle < LONGEST_FRAME, "scrolling does not stick", middle);
  check((await rows(page, ".list-pane .row")) < MOST_ROWS, "only rows in sight are in the document after scrolling, too");
  await page.route("**/matrix?*", (route) => route.fulfill({ json: manyTests(manyRuns(model, 60), id) }));
  const asked = Date.now();
  await goTo(page, `/projects/${id}/tests`);
  await until("the matrix", () => rows(page, ".matrix-row"));
  console.log(`the matrix of ${TESTS} tests is there after ${Date.now() - asked} ms`);
  check((await textOf(page, ".matrix-row")).includes("test_0"), "the test that flips comes first");
  const ofMatrix = await scrollThrough(page, ".matrix-list");
  console.log(`the middle frame while scrolling the matrix: ${ofMatrix} ms`);
  check(ofMatrix < LONGEST_FRAME, "scrolling the matrix does not stick", ofMatrix);
  check((await rows(page, ".matrix-row")) < MOST_ROWS, "only tests in sight are in the document");
  await service.stop();
  checkPages();
});
