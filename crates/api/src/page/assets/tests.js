// Tests: all tests of a project over its last runs, those that flip on equal trees first; and the past of one test.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useState } from "./vendor/preact.js";
import { hasAnswer } from "./ask.js";
import { DurationChart } from "./chart.js";
import { byNumberInText, count, microseconds, runNumber, shortDigest } from "./format.js";
import { setKeys } from "./keys.js";
import { live } from "./live.js";
import { Mark, outcomeTone } from "./marks.js";
import { Matrix, MatrixTable, statusNow } from "./matrix.js";
import { tasksOf } from "./now.js";
import { BothTimes, CommandLine, Empty, Problem, Time, VirtualList, Waiting, useAnswer } from "./parts.js";
import { go, href } from "./route.js";
import { useStore } from "./store.js";
import { Line, PathName, shownLine } from "./text.js";

const MATRIX_RUNS = 60;
const MATRIX_TESTS = 2000;
const KINDS = [["all", "All"], ["failing", "Failing now"], ["flaky", "Flips"], ["skipped", "Skipped"]];

function isOfKind(test, kind) {
  if (kind === "failing") return statusNow(test).tone === "failed";
  if (kind === "flaky") return test.flipsOnEqualTrees > 0 || test.cells.includes("x");
  if (kind === "skipped") return statusNow(test).letter === "s";
  return true;
}

// Those that flip first, then those that fail now, then by name.
export function flipsFirst(tests) {
  const rank = (test) => (test.flipsOnEqualTrees > 0 ? 0 : isOfKind(test, "failing") ? 1 : 2);
  return [...tests].sort((one, other) => rank(one) - rank(other) || byNumberInText(one.test.id, other.test.id));
}

// The tasks whose tests can be shown, in the order in which they are tried until one has tests: the project's own checks first.
export function tasksToTry(names) {
  const own = names.filter((name) => name === "default");
  const tried = [...own, ...names.filter((name) => name !== "default").sort()];
  return tried.length > 0 ? tried : ["default"];
}

export function Tests({ project }) {
  const state = useStore(live);
  const [kind, setKind] = useState("all");
  const [filter, setFilter] = useState("");
  const [isTable, showTable] = useState(false);
  const [chosen, choose] = useState(null);
  const [tried, setTried] = useState(0);
  const [selected, select] = useState(-1);
  const tasks = tasksToTry(tasksOf(state, project).map((one) => one.task));
  const task = chosen ?? tasks[Math.min(tried, tasks.length - 1)];
  const path = `/v1/projects/${encodeURIComponent(project.id)}/matrix?task=${encodeURIComponent(task)}&runs=${MATRIX_RUNS}&tests=${MATRIX_TESTS}`;
  const { data, problem } = useAnswer(path, project.id);
  const all = useMemo(() => flipsFirst(data?.tests ?? []), [data]);
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const shown = useMemo(() => all.filter((one) => isOfKind(one, kind) && words.every((word) => `${one.test.id} ${one.test.check} ${one.test.task}`.toLowerCase().includes(word))), [all, kind, filter]);
  const isNext = data !== null && all.length === 0 && chosen === null && tried < tasks.length - 1;
  useEffect(() => { if (isNext) setTried(tried + 1); }, [isNext, tried]);
  const move = useCallback((steps) => select((before) => Math.min(shown.length - 1, Math.max(0, before + steps))), [shown.length]);
  useLayoutEffect(() => setKeys({
    j: () => move(1),
    k: () => move(-1),
    G: () => select(shown.length - 1),
    f: () => setKind((before) => (before === "failing" ? "all" : "failing")),
    Enter: () => { if (document.activeElement?.closest("a, button")) document.activeElement.click(); else if (shown[selected]) go(href(project.id, "tests", shown[selected].test.key)); },
  }), [move, shown, selected]);
  if (problem && !data) return html`<${Problem} of=${problem} />`;
  if (!data || isNext) return html`<${Waiting} what="the tests" />`;
  if (all.length === 0 && chosen === null) return html`<${Empty} isPage=${true} title="No test is known yet"><p>Tests come here from the reports of tools such as pytest, Jest or <code>cargo test</code>, after a run:</p><${CommandLine} of="proctor run" /><//>`;
  const flips = all.filter((one) => isOfKind(one, "flaky")).length;
  const failing = all.filter((one) => isOfKind(one, "failing")).length;
  return html`<div class="page page-full">
    <div class="title-line"><h1>Tests</h1><p class="quiet">${all.length >= MATRIX_TESTS ? `the first ${MATRIX_TESTS.toLocaleString()}` : count(all.length, "test")} over ${count(data.runs.length, "run")} · ${failing === 0 ? "none fails now" : `${failing} failing now`} · ${flips === 0 ? "none flips" : html`<strong class="tone-flaky">${flips} ${flips === 1 ? "flips" : "flip"} on equal trees</strong>`}</p></div>
    <div class="tools">
      <input class="filter" type="search" placeholder="Filter tests" aria-label="Filter tests" value=${filter} onInput=${(event) => { setFilter(event.target.value); select(-1); }} />
      <div class="chips" role="group" aria-label="Which tests">${KINDS.map(([name, word]) => html`<button type="button" class="chip" aria-pressed=${kind === name ? "true" : "false"} onClick=${() => { setKind(name); select(-1); }}>${word}</button>`)}</div>
      ${tasks.length > 1 ? html`<select class="select" aria-label="Task" value=${task} onChange=${(event) => { choose(event.target.value); select(-1); }}>${[...new Set([...tasks, task])].map((one) => html`<option value=${one}>${shownLine(one)}</option>`)}</select>` : null}
      <button type="button" class="chip" aria-pressed=${isTable ? "true" : "false"} onClick=${() => showTable(!isTable)}>As a table</button>
    </div>
    ${shown.length === 0 ? html`<p class="quiet list-none">${all.length === 0 ? "No test of this task is known yet." : kind === "failing" && words.length === 0 ? "No test fails now." : kind === "flaky" && words.length === 0 ? "No test passed and failed on equal trees." : `No test fits “${shownLine(filter)}”.`}</p>` : isTable ? html`<${MatrixTable} tests=${shown} runs=${data.runs} project=${project.id} />` : html`<${Matrix} tests=${shown} runs=${data.runs} project=${project.id} selected=${selected} />`}
  </div>`;
}

const PAST_ROW_HEIGHT = 40;
const MOST_RESULTS = 500;

export function Past({ project, test }) {
  const path = `/v1/projects/${encodeURIComponent(project.id)}/tests/${encodeURIComponent(test)}`;
  const { data, problem } = useAnswer(hasAnswer(path) ? `${path}?limit=${MOST_RESULTS}` : null, project.id);
  if (!hasAnswer(path)) return html`<${Empty} isPage=${true} title="The past of this test is not in this file"><p>Open the page of the service:</p><${CommandLine} of="proctor open" /><//>`;
  if (problem && !data) return html`<div class="page"><a class="back" href=${href(project.id, "tests")}>‹ Tests</a><${Problem} of=${problem} /></div>`;
  if (!data) return html`<${Waiting} what="the past of the test" />`;
  const { past } = data;
  const [newest] = past.results;
  const tone = newest ? (past.flipsOnEqualTrees > 0 && outcomeTone(newest.outcome) === "failed" ? "flaky" : outcomeTone(newest.outcome)) : "none";
  const timed = past.results.filter((one) => one.durationUs !== null);
  const drawRow = (index, style) => {
    const one = past.results[index];
    return html`<div key=${`${one.runId} ${one.attempt}`} role="listitem" style=${style}><a class="row" href=${href(project.id, "runs", runNumber(one.runId))} data-row="result"><${Mark} tone=${outcomeTone(one.outcome)} /><span class="run-number">${runNumber(one.runId)}</span><span class="row-word">${one.outcome}${one.attempt > 1 ? `, attempt ${one.attempt}` : ""}</span><span class="run-what quiet"><${Line} of=${one.message ?? ""} /></span><span class="quiet mono tree-part">${shortDigest(one.tree)}</span><span class="row-time quiet">${microseconds(one.durationUs)}</span><span class="row-age quiet"><${Time} at=${one.started} /></span></a></div>`;
  };
  return html`<div class="page">
    <a class="back" href=${href(project.id, "tests")}>‹ Tests</a>
    <header class=${`hero edge-${tone}`}><div class="hero-mark"><${Mark} tone=${tone} size=${36} /></div><div class="hero-text">
      <h1 class="test-title"><${PathName} of=${past.test.id} /></h1>
      <ul class="facts">
        <li>${count(past.counts.passed, "time", "times")} passed, ${past.counts.failed} failed, ${past.counts.skipped} skipped</li>
        <li class=${past.flipsOnEqualTrees > 0 ? "tone-flaky" : ""}>${past.flipsOnEqualTrees > 0 ? `passed and failed on ${count(past.flipsOnEqualTrees, "equal tree")}` : "never both on one tree"}</li>
        <li>usually ${microseconds(past.typicalDurationUs)}</li>
        <li>check <${Line} of=${past.test.check} /></li>
        ${past.runsWithoutIt > 0 ? html`<li class="warn">not in the last ${count(past.runsWithoutIt, "run")}</li>` : null}
      </ul>
      ${past.lastChange ? html`<p>Changed from ${past.lastChange.from} to ${past.lastChange.to} in <a href=${href(project.id, "runs", runNumber(past.lastChange.runId))}>run ${runNumber(past.lastChange.runId)}</a>, <${BothTimes} at=${past.lastChange.started} /></p>` : html`<p class="quiet">It always ended in the same way.</p>`}
    </div></header>
    ${timed.length > 1 ? html`<section aria-label="Durations"><div class="section-head"><h2>Duration</h2></div><${DurationChart} points=${timed.map((one) => ({ at: one.started, milliseconds: one.durationUs / 1000, isFailed: outcomeTone(one.outcome) === "failed", name: `run ${runNumber(one.runId)}` }))} /></section>` : null}
    <section aria-label="Results"><div class="section-head"><h2>Results</h2><span class="quiet">newest first</span></div><${VirtualList} total=${past.results.length} rowHeight=${PAST_ROW_HEIGHT} drawRow=${drawRow} label="Results, newest first" className="past-list" /></section>
  </div>`;
}
