// A person watches a project on the page: saves, red and green, texts that mean harm, the keyboard, colours, narrow screens.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessibilityFaults, BOUND, check, checkPages, goTo, openPage, proctor, project, startService, textOf, until, withBrowser } from "./browser.mjs";

const SOURCE = join(project, "shop.py");
const RIGHT = "def total(prices):\n    return sum(prices)\n";
const WRONG = "def total(prices):\n    return sum(prices) + 1\n";
// How soon a save is on the page, in the fastest of several tries: a busy machine delays single ones.
const SAVE_BOUND = 100;
const SAVES = 20;
const WIDTHS = [1920, 1440, 820, 360];
const SCHEMES = ["light", "dark"];

const headline = (page) => textOf(page, ".hero h1");
const headlineIs = (page, word) => until(`the headline “${word}”`, async () => ((await headline(page)) ?? "").startsWith(word));

async function idOfProject() {
  return JSON.parse(await proctor("log", "--json")).project;
}

// The page is opened before there is a run, and shows the first one.
async function firstRun(page) {
  await headlineIs(page, "Passed");
  // It is said after the headline is drawn.
  await until("the verdict, said to people who do not see it", async () => ((await textOf(page, "[role=status][aria-live]")) ?? "").includes("Passed"));
}

async function saveIsSeen(page) {
  await page.evaluate(() => {
    window.seen = [];
    const look = () => {
      const word = document.querySelector(".hero h1")?.textContent;
      if (word && word !== window.seen.at(-1)?.word) window.seen.push({ at: Date.now(), word });
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const delays = [];
  for (let time = 0; time < SAVES && !delays.some((one) => one <= SAVE_BOUND); time += 1) {
    await page.evaluate(() => { window.seen.length = 0; });
    const saved = Date.now();
    writeFileSync(SOURCE, `${RIGHT}# ${saved}\n`);
    const first = await until("a save on the page", () => page.evaluate(() => window.seen.find((one) => one.word === "Saved" || one.word === "Running")?.at ?? 0));
    delays.push(first - saved);
    await until("the end of the run", async () => (await page.evaluate(() => window.seen.at(-1)?.word)) === "Passed");
  }
  const fastest = Math.min(...delays);
  console.log(`a save is on the page after ${delays.join(", ")} ms`);
  check(fastest <= SAVE_BOUND, `a save is on the page within ${SAVE_BOUND} ms`, delays);
}

async function redToGreen(page) {
  writeFileSync(SOURCE, WRONG);
  await headlineIs(page, "Failed");
  const failure = await until("the command that runs the failed test alone", async () => {
    const shown = (await textOf(page, ".failure")) ?? "";
    return shown.includes("-m pytest test_shop.py::test_total") && shown.includes("expected") ? shown : null;
  });
  check(failure.includes("assert 7 == 6") && failure.includes("expected6") && failure.includes("received7"), "message and difference are shown", failure);
  check((await page.locator(".failures").boundingBox()).y < (await page.locator(".rows").first().boundingBox()).y, "failures come before lists");
  writeFileSync(SOURCE, RIGHT);
  const words = await until("green without a false word between", async () => {
    const seen = await page.evaluate(() => window.seen.map((one) => one.word));
    return seen.at(-1) === "Passed" ? seen : null;
  });
  const after = words.slice(words.lastIndexOf("Running"));
  check(!after.includes("Failed"), "the old verdict is not shown as that of the new tree", words);
  check((await page.locator(".failure").count()) === 0, "no failure is left");
}

// A log of several parts, read by ranges: this test answers in the place of the service, which keeps logs of checks to itself.
async function longOutput(page) {
  const line = (number) => `line ${number} \u001b[32mgreen ${number}\u001b[0m <script>window.hacked = 1</script> \u001b[2J \u202e turned`;
  const whole = Buffer.from(`${Array.from({ length: 4000 }, (_, number) => line(number)).join("\n")}\n`);
  const ranges = [];
  await page.route("**/files/*.log", (route) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(route.request().headers().range);
    ranges.push(Number(to) - Number(from) + 1);
    return route.fulfill({ status: 206, headers: { "content-range": `bytes ${from}-${to}/${whole.length}` }, body: whole.subarray(Number(from), Number(to) + 1) });
  });
  const output = () => textOf(page, ".output");
  await page.click(".action-row");
  await page.click(".action-row");
  const end = await until("the end of the log", async () => { const shown = (await output()) ?? ""; return shown.includes("line 3999") ? shown : null; });
  check(!end.includes("line 100 ") && /^line \d+ green/.test(end), "the end comes first, in whole lines", end.slice(0, 80));
  check(end.includes("<script>window.hacked = 1</script>") && end.includes("\\u{1b}[2J") && end.includes("\\u{202e}"), "markup and hidden characters are text", end.slice(0, 200));
  check(!/[\u001b\u202e]/.test(end), "no hidden character stands as itself");
  check((await textOf(page, ".output .ansi-green")).startsWith("green "), "colours of a terminal are colours");
  await page.click("text=From the start");
  await until("the start", async () => (await output()).startsWith("line 0 "));
  await until("the end again, by its parts", async () => {
    await page.locator("text=/^Later/").click({ timeout: 5000 }).catch(() => {});
    return (await output()).includes("line 3999");
  });
  const lines = await page.locator(".output-line").count();
  check(Math.max(...ranges) < 256 * 1024 && lines < 4000, "only a part of the log is asked for and shown", [ranges, lines]);
  await page.unroute("**/files/*.log");
  await longLine(page);
}

// A log whose last line is longer than a part: its end is shown, and the parts before it lead to its start.
async function longLine(page) {
  const whole = Buffer.from(`first line\n${"x".repeat(100_000)}\n`);
  await page.route("**/files/*.log", (route) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(route.request().headers().range);
    return route.fulfill({ status: 206, headers: { "content-range": `bytes ${from}-${to}/${whole.length}` }, body: whole.subarray(Number(from), Number(to) + 1) });
  });
  await page.click(".action-row");
  await page.click(".action-row");
  await until("the end of a long line", async () => ((await textOf(page, ".output")) ?? "").startsWith("xxx"));
  await until("its start, by the parts before", async () => {
    await page.locator("text=/^Earlier/").click({ timeout: 5000 }).catch(() => {});
    return (await textOf(page, ".output")).startsWith("first line");
  });
  await page.unroute("**/files/*.log");
}

// As many tabs as a person opens who presses `o` often: each shows the project.
async function manyTabs(context) {
  const tabs = [];
  for (let number = 0; number < 7; number += 1) {
    const tab = await openPage(context);
    await until(`tab ${number + 1} drawn`, async () => (await tab.locator(".hero").count()) === 1);
    tabs.push(tab);
  }
  for (const tab of tabs) await tab.close();
}

// Names and outputs that would be code, or paint over the page, are text.
async function hostileTexts(page, id) {
  writeFileSync(join(project, "test_hostile.py"), HOSTILE);
  await headlineIs(page, "Failed");
  await until("the hostile failure", async () => ((await textOf(page, ".failures")) ?? "").includes("boom"));
  const shown = await textOf(page, ".failures");
  check(shown.includes("<img src=x onerror="), "markup is text", shown);
  check(shown.includes("\\u{202e}") && !shown.includes("\u202e"), "a control that turns text around is an escape", shown);
  const number = await page.evaluate(() => document.querySelector(".hero .facts a").textContent.replace("run ", ""));
  await goTo(page, `/projects/${id}/runs/${number}`);
  await page.click(".action-row");
  const excerpt = await until("the output", () => textOf(page, ".output"));
  check(excerpt.includes("<script>window.hacked = 1</script>"), "markup in an output is text", excerpt);
  await longOutput(page);
  check((await page.evaluate(() => window.hacked)) === undefined, "nothing was executed");
  check((await page.locator("#main img, #main script, #main iframe").count()) === 0, "no element was made from a text");
  for (const view of ["tests", "compare", "trends", "runs", "now"]) {
    await goTo(page, `/projects/${id}/${view}`);
    await page.waitForTimeout(50);
    const text = await page.evaluate(() => document.body.textContent);
    check(!/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(text), `no hidden character stands in ${view}`);
  }
  writeFileSync(join(project, "test_hostile.py"), "def test_tame():\n    pass\n");
  await headlineIs(page, "Passed");
}

const HOSTILE = `import pytest
@pytest.mark.parametrize("name", ["<img src=x onerror='window.hacked=1'>", "turn \\u202e around"])
def test_hostile(name):
    print("<script>window.hacked = 1</script>")
    print("\\x1b[2J cleared \\u2066 isolated")
    assert name == "boom <b>" + "\\u202e"
`;

async function keyboardOnly(page, id) {
  await goTo(page, `/projects/${id}`);
  await page.waitForSelector(".hero");
  const at = () => page.evaluate(() => location.hash);
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await press("g", "r");
  await until("the runs", async () => (await at()).endsWith("/runs"));
  await page.waitForSelector(".list-pane .row");
  await press("j");
  const newest = await until("a run by j", async () => /runs\/(\d+)$/.exec(await at())?.[1]);
  await press("j", "j", "k");
  await until("the run before by j and k", async () => (await at()).endsWith(`/${Number(newest) - 1}`));
  await press("f");
  await until("only what failed", async () => (await page.locator(".list-pane .row .tone-passed").count()) === 0);
  await press("f");
  await page.waitForSelector(".run .hero");
  await press("v");
  await until("the verification by v", async () => ((await textOf(page, ".verified")) ?? "").startsWith("Verified"));
  await press("?");
  await until("the help", () => page.evaluate(() => document.querySelector("dialog.help").open));
  await press("Escape");
  await until("no help", () => page.evaluate(() => !document.querySelector("dialog.help").open));
  await press("g", "t");
  await page.waitForSelector(".matrix-row");
  await press("/");
  await page.keyboard.type("test_total");
  await until("the filter", async () => (await page.locator(".matrix-row").count()) === 1);
  await press("Escape", "j", "Enter");
  await until("the past of the test by Enter", async () => /\/tests\/[0-9a-f]{16}$/.test(await at()));
  await press("g", "d");
  await until("the trends", async () => (await at()).endsWith("/trends"));
  await press("g", "c");
  await until("compare", async () => (await at()).includes("/compare"));
  await press("g", "n");
  await until("now", async () => (await at()) === `#/projects/${id}`);
  // Whatever has the focus shows it.
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  check(outline === "solid", "the focus is seen", outline);
}

async function compareRuns(page, id) {
  const { runs } = JSON.parse(await proctor("log", "--json", "--limit", "200"));
  const red = runs.findIndex((run) => run.failedTests.includes("test_shop.py::test_total"));
  const number = (run) => String(Number(run.runId.split("-").at(-1)));
  const [before, after] = [number(runs[red + 1]), number(runs[red])];
  await goTo(page, `/projects/${id}/compare/${before}/${after}`);
  const text = await until("the comparison", async () => { const shown = (await textOf(page, "#main")) ?? ""; return shown.includes("newly") ? shown : null; });
  check(text.includes("1 test newly fails") && text.includes("test_total"), "the test that newly fails is named", text);
  await page.click("text=Swap");
  await until("the other direction", async () => ((await textOf(page, "#main")) ?? "").includes("1 test mended"));
}

// How many cells of the matrix's first row stand out.
async function paintedBlocks(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector(".matrix-canvas canvas");
    const scale = canvas.width / canvas.clientWidth;
    const row = canvas.getContext("2d").getImageData(0, Math.round(6 * scale), canvas.width, 1).data;
    let blocks = 0;
    let inside = false;
    for (let x = 0; x < canvas.width; x += 1) {
      const isPainted = row[x * 4 + 3] > 0;
      if (isPainted && !inside) blocks += 1;
      inside = isPainted;
    }
    return blocks;
  });
}

// The test that flips on an equal tree is the first row, and its cells are seen to differ.
async function flakyBySight(page, id) {
  writeFileSync(join(project, "test_flips.py"), readFileSync(join(project, "flips.txt"), "utf8"));
  await goTo(page, `/projects/${id}`);
  await until("a run with the new test", async () => (await proctor("log", "--json", "--test", "test_flips.py::test_flips")).includes("exec-"));
  for (let time = 0; time < 3; time += 1) await proctor("run");
  await goTo(page, `/projects/${id}/tests`);
  await until("the flaky test in the first row", async () => ((await textOf(page, ".matrix-row")) ?? "").includes("test_flips"));
  await until("how often it flips, in the first row", async () => /flip/.test((await textOf(page, ".matrix-flips.tone-flaky")) ?? ""));
  // Every cell of the first row, sampled at half of its height above the low bar: only a failure is painted there.
  await until("failures that stand out in the row of the flaky test", async () => await paintedBlocks(page) >= 2);
  await page.click("text=As a table");
  const cells = await until("the table", () => page.evaluate(() => [...document.querySelectorAll(".matrix-table tbody tr:first-child td")].map((cell) => cell.textContent)));
  check(cells.includes("failed") && cells.includes("passed"), "the table says the same in words", cells);
  writeFileSync(join(project, "test_flips.py"), "def test_flips():\n    pass\n");
}

// A run's page leads to the editor, to every test with its duration, and to a place in the log.
async function runWhole(page, id, run) {
  // The service keeps logs of checks to itself here, so the test answers in its place.
  const whole = Buffer.from(`${"a line\n".repeat(30_000)}Here it ASSERTs\n${"a line\n".repeat(30_000)}`);
  await page.route("**/files/*.log", (route) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(route.request().headers().range);
    return route.fulfill({ status: 206, headers: { "content-range": `bytes ${from}-${to}/${whole.length}` }, body: whole.subarray(Number(from), Number(to) + 1) });
  });
  await goTo(page, `/projects/${id}/runs/${run}`);
  await until("the choice of the editor", async () => (await page.locator("select[aria-label='Open files in']").count()) === 1);
  await page.selectOption("select[aria-label='Open files in']", "vscode");
  const address = await until("a link to the editor", () => page.evaluate(() => document.querySelector("a.place")?.getAttribute("href") ?? null));
  check(/^vscode:\/\/file\/.*\.py:\d+:1$/.test(address), "the link names file and line", address);
  await page.click(".action-row");
  await page.click("text=All tests and their durations");
  const tests = await until("the tests of the check", () => page.evaluate(() => { const rows = [...document.querySelectorAll(".test-row")]; return rows.length > 1 ? rows.map((row) => row.textContent) : null; }));
  check(/fail/.test(tests[0]) && tests.some((test) => /passed.*(ms|s)$/.test(test)), "what failed comes first, and what passed has its duration", tests);
  await page.fill("input[aria-label='Find in the log']", "it assert");
  await page.click("text=Find next");
  const found = await until("the line that was found", () => textOf(page, ".output-line.is-found"));
  check(found.trim() === "Here it ASSERTs", "the line has the text", found);
  await page.fill("input[aria-label='Find in the log']", "no such text");
  await page.click("text=Find next");
  await until("what is not there", () => page.evaluate(() => document.querySelector("form[role=search] [role=status]").textContent === "Not in this log."));
  await page.unroute("**/files/*.log");
}

// A view without anything to show has a heading too.
async function emptyViews(page, id) {
  const LISTS = /\/v1\/projects\/[^/]+\/(runs|matrix|trends)\?/;
  await page.route(LISTS, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), runs: [], tests: [] } });
  });
  for (const view of ["runs", "tests", "trends", "compare"]) {
    await goTo(page, `/projects/${id}/${view}`);
    await until(`${view} without a run`, async () => (await page.locator("#main .empty").count()) === 1);
    const found = await accessibilityFaults(page);
    check(found.length === 0, `axe finds nothing in ${view} without a run`, found);
  }
  await page.unroute(LISTS);
  await goTo(page, "/");
}

// Beside the names there is room for the cells, and not much more.
async function matrixUsesWidth(page, id) {
  await page.setViewportSize({ width: 820, height: 900 });
  await goTo(page, `/projects/${id}/tests`);
  const share = await until("the matrix at 820 px", () => page.evaluate(() => { const row = document.querySelector("a.matrix-row"); return row && row.querySelector(".matrix-name").clientWidth / row.clientWidth; }));
  check(share > 0.45, "names have half of a row at 820 px", share);
  await page.setViewportSize({ width: 1440, height: 900 });
}

function views(id, run) {
  return ["", "/runs", `/runs/${run}`, "/tests", "/trends", "/compare"].map((part) => `/projects/${id}${part}`);
}

async function coloursAndWidths(browser, id, run) {
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
    const page = await openPage(context);
    for (const view of views(id, run)) {
      await goTo(page, view);
      await until(`${view} drawn`, () => page.evaluate(() => document.querySelector("#main .hero, #main .row, #main .matrix, #main .chart") !== null));
      await page.waitForTimeout(150);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        check(over <= 0, `${view} fits into ${width} px (${colorScheme})`, over);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      const found = await accessibilityFaults(page);
      check(found.length === 0, `axe finds nothing in ${view} (${colorScheme})`, found);
    }
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const own = await ground();
    check((colorScheme === "dark") === /rgb\(\d\d, \d\d, \d\d\)/.test(own), `the ground is ${colorScheme}`, own);
    // The switch goes from “as the system” over light to dark.
    await page.keyboard.press("d");
    const first = await ground();
    await page.keyboard.press("d");
    const second = await ground();
    check(first !== second && [first, second].includes(own), "the switch shows both", [own, first, second]);
    check((await page.evaluate(() => document.getAnimations().filter((one) => one.effect?.getComputedTiming().iterations === Infinity).length)) === 0, "nothing moves for people who asked for that");
    await context.close();
  }
}

async function restarted(page, service, browser) {
  const asked = [];
  page.on("request", (request) => asked.push({ url: request.url(), token: request.headers().authorization ?? null, at: Date.now() }));
  await service.stop();
  await until("the banner", async () => ((await textOf(page, ".banner")) ?? "").includes("proctor open"));
  const isKept = await page.evaluate(() => sessionStorage.getItem("proctor-token"));
  check(isKept === null, "the token is forgotten", isKept);
  const before = asked.length;
  const anew = await startService();
  const context = await browser.newContext();
  const second = await openPage(context);
  await until("the page of the new service", async () => (await second.locator(".hero").count()) === 1);
  check(asked.length === before, "a page that was left open asks nobody any more", asked.slice(before));
  const { origin } = new URL(second.url());
  await context.close();
  const stranger = await browser.newContext();
  const uninvited = await stranger.newPage();
  await uninvited.goto(`${origin}/`);
  await until("a page without a ticket says so", async () => ((await textOf(uninvited, ".banner")) ?? "").includes("without a ticket"));
  await stranger.close();
  return anew;
}

await withBrowser(async (browser) => {
  await proctor("service", "add");
  let service = await startService();
  const context = await browser.newContext();
  await context.grantPermissions([]);
  const page = await openPage(context);
  page.setDefaultTimeout(BOUND);
  const id = JSON.parse(await proctor("service", "list", "--json")).projects[0].id;
  await step("a page that was opened before the first run", () => firstRun(page));
  await step("a save", () => saveIsSeen(page));
  await step("red to green", () => redToGreen(page));
  await step("hostile texts", () => hostileTexts(page, id));
  await step("the keyboard", () => keyboardOnly(page, id));
  await step("seven tabs", () => manyTabs(context));
  await step("compare", () => compareRuns(page, id));
  await step("a flaky test", () => flakyBySight(page, id));
  const red = JSON.parse(await proctor("log", "--json", "--failed")).runs[0].runId;
  await step("a run whole", () => runWhole(page, id, String(Number(red.split("-").at(-1)))));
  await step("the matrix at 820 px", () => matrixUsesWidth(page, id));
  await step("colours, widths, axe", async () => coloursAndWidths(browser, await idOfProject(), String(Number(red.split("-").at(-1)))));
  await step("views without a run", () => emptyViews(page, id));
  await step("a restart", async () => { service = await restarted(page, service, browser); });
  await service.stop();
  check(checkPages().size >= 2, "both services were asked");
});

async function step(what, act) {
  const begun = Date.now();
  try {
    await act();
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
  console.log(`${what}: ${Date.now() - begun} ms`);
}
