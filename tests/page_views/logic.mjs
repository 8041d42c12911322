// What the page's modules decide by themselves, without a browser: which bytes of a log are shown, and what terminal colours mean.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The modules look for these when they are read; nothing here draws.
globalThis.document = { getElementById: () => null, addEventListener: () => {} };
globalThis.sessionStorage = { getItem: () => null };
const load = (name) => import(pathToFileURL(join(process.argv[2], name)));
let checked = 0;
const equal = (found, expected, what) => {
  checked += 1;
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one === other) return;
  console.error(`${what}: ${one} instead of ${other}`);
  process.exit(1);
};

const { cutPart } = await load("output.js");
const encoder = new TextEncoder();
const part = (text, from, to = undefined) => {
  const whole = encoder.encode(text);
  const bytes = whole.slice(from, to);
  return cutPart({ bytes, from, total: whole.length });
};
const shown = ({ text, from, to }) => [text, from, to];

equal(shown(part("one\ntwo\nthree\n", 1)), ["two\nthree\n", 4, 14], "a part begins behind an end of line");
equal(shown(part("one\ntwo\nthree\n", 0, 10)), ["one\ntwo\n", 0, 8], "a part ends at an end of line");
const long = `first line\n${"x".repeat(100)}\n`;
equal(shown(part(long, 50)), [long.slice(50), 50, long.length], "the end of a long line is shown");
equal([part(long, 50).askedFrom, part(long, 50).askedTo], [50, long.length], "the part that was asked for is known");
equal(shown(part(long, 20, 40)), ["x".repeat(20), 20, 40], "the middle of a long line is shown");
equal(shown(part(`a\n${"x".repeat(9)}`, 1, 5)), ["xxx", 2, 5], "the only end of line is that of the line before");
equal(part(long, 5, 60).askedTo, 60, "what is cut off is still counted as asked for");
const wide = "\u20ac".repeat(10);
equal(shown(part(wide, 1)), ["\u20ac".repeat(9), 3, 30], "a part begins with a whole character");
equal(shown(part(wide, 0, 10)), ["\u20ac".repeat(3), 0, 9], "a part ends with a whole character");
equal(shown(part(wide, 0, 9)), ["\u20ac".repeat(3), 0, 9], "a character that is whole stays");
equal(shown(part("", 0)), ["", 0, 0], "nothing is nothing");
equal(cutPart({ bytes: new Uint8Array(20).fill(0x80), from: 5, total: 40 }).from, 8, "bytes that are no text are shown");

const { findInLog, lineOfByte } = await load("output.js");
const searched = encoder.encode(`first\n${"x".repeat(1024 * 1024)}\u00e4 Needle\nlast needle\n`);
const find = (text, from) => findInLog(async (start, end) => ({ bytes: searched.slice(start, end) }), searched.length, text, from);
const placeOf = (text) => encoder.encode(new TextDecoder().decode(searched).split(text)[0]).length;
equal(await find("needle", 0), placeOf("Needle"), "a text is found whatever its capitals, beyond the first part");
equal(await find("x\u00e4 need", 0), placeOf("x\u00e4 Need"), "a text is found across two parts");
equal(await find("needle", placeOf("Needle") + 1), placeOf("needle"), "the next one is found");
equal(await find("needle", placeOf("needle") + 1), placeOf("Needle"), "after the end the search begins anew");
equal([await find("absent", 0), await find("", 0)], [-1, -1], "what is not there is not found");
equal(lineOfByte({ text: "one\ntwo\nthree", from: 10 }, 18), 2, "the line of a byte of the log");

const { editorAddress } = await load("editor.js");
const addressOf = (editor, file, line = null) => editorAddress(editor, "/home/a b", { file, line, column: null });
equal(addressOf("vscode", "src/x#.py", 3), "vscode://file/home/a%20b/src/x%23.py:3:1", "a place in an editor");
equal(addressOf("idea", "x.py", 3), "idea://open?file=/home/a%20b/x.py&line=3", "an editor that asks for its place in another way");
equal([addressOf("", "x"), addressOf("javascript", "x"), addressOf("zed", "/etc/passwd"), addressOf("zed", "../x")], [null, null, null, null], "no address");
equal(addressOf("subl://open?url=file://{path}&line={line}", "src/x.py", 3), "subl://open?url=file:///home/a%20b/src/x.py&line=3", "an editor by a pattern");
equal(["javascript://x{path}", "https://x{path}", "data:x{path}", "subl://open"].map((pattern) => addressOf(pattern, "x")), [null, null, null, null], "no editor");

const { editorOf } = await load("editor.js");
equal([["zed", "idea"], ["", "idea"], ["", "javascript://x{path}"], ["", ""]].map(([picked, configured]) => editorOf(picked, configured)), ["zed", "idea", "", ""], "the editor of the browser before the configured one");

const { flipsFirst } = await load("tests.js");
const namedTest = (id, flipsOnEqualTrees, cells) => ({ test: { id, key: id, check: "", task: "" }, flipsOnEqualTrees, cells, runsWithoutIt: 0 });
const inTheirOrder = flipsFirst([namedTest("t[10]", 0, "p"), namedTest("t[2]", 0, "p"), namedTest("z", 0, "f"), namedTest("y", 1, "p")]).map((one) => one.test.id);
equal(inTheirOrder, ["y", "z", "t[2]", "t[10]"], "flips, failures, then names with their numbers in order");

const { styleClass, styledLines } = await load("ansi.js");
const style = (sequence) => styleClass(styledLines(`\u001b[${sequence}mx`)[0][0].style);
equal(style("4:3"), "ansi-underline", "a wavy underline is an underline");
equal(style("4;4:0"), "", "an underline ends by its part 0");
equal(style("4:"), "ansi-underline", "an underline without its part is one");
equal(style("1;38:2::255:0:0"), "ansi-red ansi-bold", "a colour with a colour space");
equal(style("38:2:0:255:0"), "ansi-green", "a colour without a colour space");
equal(style("48:5:4"), "ansi-on-blue", "a ground of the list of colours");
equal(style("38:2::255:0:0:1"), "ansi-red", "a tolerance is no colour");
equal(style("38;5;1;48;2;0;0;255"), "ansi-red ansi-on-blue", "colours with semicolons");
equal(style("58;5;1"), "", "the colour of an underline is none of the text");
equal(style("58;2;1;3;4;1"), "ansi-bold", "the arguments of an underline's colour are no codes");
equal(style("58:2::1:3:4"), "", "the colour of an underline with colons is left out");
equal(style("1:31"), "", "parts of an unknown code are no codes");

const { nextRow, previousRun } = await load("runs.js");
const runsOf = (...pairs) => pairs.map(([number, task]) => ({ runId: `exec-20260101T000000Z-${String(number).padStart(6, "0")}`, task }));
const listed = runsOf([9, "default"], [8, "other"], [7, "default"], [6, "other"]);
equal(previousRun(listed, "9")?.runId, listed[2].runId, "the run before is one of the same task");
equal(previousRun(listed, "6"), undefined, "the oldest run has none before it");
equal(previousRun(listed, "4"), undefined, "nothing is said of a run that is not in the list");
equal([nextRow(listed, undefined, 1), nextRow(listed, "8", 1), nextRow(listed, "8", -1), nextRow(listed, "6", 1)], [0, 2, 0, 3], "the rows beside a run");
equal([nextRow(runsOf([9, "a"], [5, "a"]), "7", 1), nextRow(runsOf([9, "a"], [5, "a"]), "7", -1)], [1, 0], "a run that is filtered out has its place by its number");
equal(nextRow(listed, "2", 1), 3, "a run that is older than the list is behind it");

const { tasksToTry } = await load("tests.js");
equal(tasksToTry([]), ["default"], "own checks are asked for where no task is known");
equal(tasksToTry(["pay", "cart"]), ["cart", "pay"], "a project with specifications alone has no task of its own checks");
equal(tasksToTry(["cart", "default"]), ["default", "cart"], "own checks come first");

const { noTimeToGreen } = await load("trends.js");
const note = (judged, ended = 0) => noTimeToGreen(judged, ended)?.[0] ?? null;
equal(note([]), "never red", "without a verdict nothing was red");
equal(note(["PASSED", "PASSED"]), "never red", "a task that always passed was never red");
equal(note(["FAILED", "FAILED"]), "still red", "a task whose every run is red is not called never red");
equal(note(["FAILED", "PASSED"]), "still red", "a red that has not ended has no duration");
equal(note(["PASSED", "FAILED"]), "not known", "when the first red began is not known");
equal(note(["PASSED", "FAILED", "PASSED"], 1), null, "a red that ended has a duration");

const { proofTone } = await load("now.js");
equal(["proves it", "notices it", "passes either way", "not tried"].map(proofTone), ["passed", "stale", "failed", "none"], "the tone of a test that was tried without the change");

const { inOrder } = await load("chart.js");
const back = [{ at: "2026-01-01T10:00:00Z", name: "run 3" }, { at: "2026-01-01T12:00:00Z", name: "run 2" }, { at: "no time", name: "" }, { at: "2026-01-01T11:00:00Z", name: "run 1" }];
equal(inOrder(back).map((point) => point.name), ["run 1", "run 2", "run 3"], "a clock that went back changes no order of runs");

const { lastPart } = await load("text.js");
const end = (name) => name.slice(lastPart(name));
equal(end("tests/test_a.py::Class::test_b"), "test_b", "the last part of a test's id");
equal(end("tests/test_a.py::test_b[a/b::c]"), "test_b[a/b::c]", "a parameter is not cut");
equal(end("pkg.test_a.test_b[x/y]"), "pkg.test_a.test_b[x/y]", "a parameter of a name without a path is not cut");
equal(end("app/[slug]/page.test.js"), "page.test.js", "a directory may have brackets");
equal(end("app/[slug]/test_a.py::test_b[x/y]"), "test_b[x/y]", "a directory with brackets, and a parameter");
equal(end("shop.py"), "shop.py", "a name without a path is whole");

const { statusNow } = await load("matrix.js");
const now = (cells, runsWithoutIt) => statusNow({ cells, runsWithoutIt });
equal([now(".f.", 0).tone, now(".f.", 0).word], ["failed", "failed"], "a run that left the check out says nothing of its tests");
equal([now(".f.", 1).tone, now(".f.", 1).word], ["none", "not in the last 1 run"], "a test that is gone does not fail now");
equal(now("..s", 2).letter, ".", "nor is it skipped");

const { runStart, withRunNumbers } = await load("format.js");
const id = "exec-20261130T070859.795Z-000012";
equal(withRunNumbers(`passed in ${id}, (${id}). runs/${id}/a`), `passed in run 12, (run 12). runs/${id}/a`, "runs are named by their numbers, but not in a path");
equal(runStart("exec-20260304T093000.250Z-000042"), Date.UTC(2026, 2, 4, 9, 30, 0, 250), "when a run began is in its id");
equal(runStart(undefined), null, "a run without an id has no beginning");

const { worstTask } = await load("now.js");
const pair = { id: "a", root: "/a" };
const ofTasks = (...tasks) => ({ statuses: { a: { id: "a", tasks: tasks.map(([task, state, result = null]) => ({ task, state, result, verdict: null })) } }, running: {}, saved: {} });
const worst = (...tasks) => worstTask(ofTasks(...tasks), pair)?.task;
const [green, red] = [["T101", "fresh", "PASSED"], ["T102", "fresh", "FAILED"]];
equal(worst(green, red), "T102", "a failed task stands for its project");
equal(worst(red, green, ["T103", "stale"], ["T104", "needsHuman"]), "T102", "a failure is worse than what is not known");
equal(worst(green, ["T103", "stale"], ["T104", "needsHuman"]), "T104", "a task that waits for a person is worse than an old verdict");
equal(worst(green, ["T103", "stale"]), "T103", "an old verdict is worse than a pass");
equal(worst(green, ["T105", "noVerdict"]), "T105", "a task without a verdict has not passed");
equal(worst(red, ["T106", "running"]), "T106", "what runs comes first");
equal(worst(green, ["T100", "fresh", "PASSED"]), "T101", "of equal ones it is the first");
equal(worst(), undefined, "a project without tasks has no worst one");

const { changedProjects, nextLook, withStream } = await load("live.js");
const looked = (service, running, ...states) => nextLook({ service, running, statuses: { a: { id: "a", tasks: states.map((state) => ({ state })) } } });
equal(looked(null, {}, "fresh"), 3000, "without the service no event tells of a save, so the files are looked at again");
equal(looked({ version: "0" }, {}, "fresh"), null, "the service tells of everything");
equal(looked(null, {}, "fresh", "running"), 500, "a run whose events nobody hears is asked for again soon");
equal(looked({ version: "0" }, {}, "running"), 500, "also beside the service");
equal(looked({ version: "0" }, { a: {} }, "running"), null, "the events of a run that is followed tell of its end");
const standing = (...runs) => ({ statuses: { a: { run: runs[0] } }, projects: ["a", "b"].map((id, at) => ({ id, run: runs[at] })) });
equal(changedProjects(standing(1, 1), standing(1, 2)), ["b"], "only what is another than before is asked for again");
const held = new Set();
// As `navigator.locks`, of several tabs.
const locks = {
  async request(name, { ifAvailable }, act) {
    if (held.has(name)) return act(null);
    held.add(name);
    try { return await act({ name, ifAvailable }); } finally { held.delete(name); }
  },
};
let close = null;
const stream = () => new Promise((done) => { close = done; });
const tabs = [withStream(stream, locks), withStream(stream, locks), withStream(stream, locks)];
await new Promise(setImmediate);
equal([held.size, await withStream(stream, locks)], [3, false], "the fourth tab has no stream");
close();
await Promise.any(tabs);
equal(await withStream(async () => {}, locks), true, "a stream that a tab leaves is another one's");
equal(await withStream(async () => {}, undefined), true, "an old browser has streams without locks");

const { parsePlace } = await load("route.js");
equal(parsePlace("#/new"), { view: "new" }, "the place of a project that is not known yet");

console.log(`${checked} decisions hold`);
