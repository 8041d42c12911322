// Run: one run whole. The verdict first, then what failed, then how it was tested.
import { html, useEffect, useLayoutEffect, useState } from "./vendor/preact.js";
import { ask, hasAnswer, isOffline } from "./ask.js";
import { Failures, allActions, failuresOf } from "./failures.js";
import { byNumberInText, byteWords, count, duration, microseconds, runNumber, shortDigest, withRunNumbers } from "./format.js";
import { setKeys } from "./keys.js";
import { Mark, endOf, outcomeTone, resultOf, triggerWords } from "./marks.js";
import { Output } from "./output.js";
import { BothTimes, Problem, VirtualList, Waiting, announce, useAnswer } from "./parts.js";
import { href } from "./route.js";
import { Line, Lines, PathName } from "./text.js";

// Actions whose own records are asked for, to draw when each began.
const MOST_RECORDS = 40;

export function Run({ project, run, previous }) {
  const base = `/v1/projects/${encodeURIComponent(project.id)}/runs/${encodeURIComponent(run)}`;
  const details = useAnswer(base, "");
  const isKept = details.data?.files.includes("execution-report.json");
  const report = useAnswer(isKept ? `${base}/files/execution-report.json` : null, "");
  const task = details.data?.run.task;
  const verdict = useAnswer(details.data && !isOffline && details.data.run.result === "FAILED" ? `/v1/projects/${encodeURIComponent(project.id)}/verdict?task=${encodeURIComponent(task)}` : null, "");
  if (details.problem) return html`<div class="page"><${BackToRuns} project=${project} /><${Problem} of=${details.problem} /></div>`;
  if (!details.data) return html`<div class="page"><${Waiting} what="the run" /></div>`;
  const logged = details.data.run;
  const told = verdict.data?.project.tasks.find((one) => one.task === task)?.failures;
  const known = told && told.runId === logged.runId ? told : null;
  const body = report.data;
  return html`<article class="page run" aria-label=${`Run ${run}`}>
    <${BackToRuns} project=${project} />
    <${RunHead} logged=${logged} report=${body} project=${project} previous=${previous} base=${base} />
    ${isKept ? null : html`<div class="notice"><${Mark} tone="none" /><div><strong>The evidence of this run is not there${logged.evidence === "pruned" ? ": it was pruned" : ""}.</strong><p>The ledger keeps its verdict and its hashes. How its tests ended is in the index, without proof.</p></div></div>`}
    ${report.problem ? html`<${Problem} of=${report.problem} />` : null}
    ${isKept && !body && !report.problem ? html`<${Waiting} what="the report" />` : null}
    ${body ? html`<${Reasons} report=${body} />
      <${Failures} failures=${failuresOf(body, known?.failures ?? [])} total=${known?.total} next=${known?.next ?? nextSteps(body)} project=${project.id} />
      <${TimeLine} report=${body} base=${base} files=${details.data.files} />
      <${Conditions} report=${body} />
      <${Files} report=${body} names=${details.data.files} />` : null}
  </article>`;
}

function BackToRuns({ project }) {
  return html`<a class="back" href=${href(project.id, "runs")}>‹ Runs</a>`;
}

function nextSteps(report) {
  return allActions(report).filter((action) => action.agentAction?.required).map((action) => ({ actionId: action.actionId, message: action.agentAction.message }));
}

function RunHead({ logged, report, project, previous, base }) {
  const end = endOf(logged);
  const { tests } = logged;
  const trigger = report?.trigger;
  return html`<header class=${`hero edge-${end.tone}`}>
    <div class="hero-mark"><${Mark} tone=${end.tone} size=${40} /></div>
    <div class="hero-text">
      <h1>${end.word} <span class="quiet">run ${runNumber(logged.runId)}</span></h1>
      ${report ? html`<p><${Line} of=${report.validationCriteriaEvaluation?.reason ?? report.completionCriteriaEvaluation?.reason ?? ""} /></p>` : null}
      <ul class="facts">
        <li><${BothTimes} at=${logged.started} /></li>
        <li>${duration(logged.duration)}</li>
        ${tests ? html`<li>${count(tests.passed, "passed", "passed")}, ${tests.failed} failed, ${tests.skipped} skipped</li>` : null}
        <li>task <${Line} of=${logged.task} mono=${true} /></li>
        <li>tree <span class="mono" title=${logged.tree}>${shortDigest(logged.tree)}</span></li>
        ${trigger ? html`<li>${triggerWords(trigger.kind)}${(trigger.paths ?? []).length > 0 ? html`: ${trigger.paths.slice(0, 3).map((path) => html`<${PathName} of=${path} /> `)}${trigger.paths.length > 3 ? `and ${trigger.paths.length - 3} more` : ""}` : null}</li>` : null}
      </ul>
      <div class="actions">
        ${hasAnswer(`${base}/verification`) ? html`<${VerifyButton} base=${base} />` : null}
        ${previous && hasAnswer(`/v1/projects/${project.id}/compare`) ? html`<a class="button" href=${href(project.id, "compare", runNumber(previous.runId), runNumber(logged.runId))}>Compare with run ${runNumber(previous.runId)}</a>` : null}
      </div>
    </div>
  </header>`;
}

function VerifyButton({ base }) {
  const [state, setState] = useState({ step: "idle" });
  const verify = async () => {
    setState({ step: "busy" });
    try {
      const result = await ask(`${base}/verification`);
      setState({ step: "done", result });
      announce(result.verified ? "Verified." : "The evidence does not verify.");
    } catch (problem) {
      setState({ step: "failed", problem });
    }
  };
  useLayoutEffect(() => setKeys({ v: verify }), [base]);
  if (state.step === "done") {
    const { result } = state;
    return html`<div class=${`verified ${result.verified ? "" : "is-wrong"}`}>
      <${Mark} tone=${result.verified ? "passed" : "failed"} />
      <div><strong>${result.verified ? "Verified" : "Does not verify"}</strong> <span class="quiet">${count(result.files, "file")}, ${byteWords(result.bytes)}, hashes and signatures</span>
        ${(result.faults ?? []).length > 0 ? html`<ul class="plain">${result.faults.slice(0, 20).map((fault) => html`<li><${Line} of=${fault.message ?? fault.problem ?? fault.what ?? JSON.stringify(fault)} /></li>`)}</ul>` : null}</div>
    </div>`;
  }
  return html`<button type="button" class="button" disabled=${state.step === "busy"} onClick=${verify}>${state.step === "busy" ? "Verifying …" : "Verify the evidence"}</button>${state.step === "failed" ? html`<${Problem} of=${state.problem} />` : null}`;
}

// What a person should know beside the verdict.
function Reasons({ report }) {
  const notes = [];
  const { tree } = report;
  if (tree?.movedCount > 0) notes.push(["The tree moved during the run", (tree.moved ?? []).slice(0, 20)]);
  if ((report.lostEvents ?? []).length > 0) notes.push(["File events may have been missed", report.lostEvents]);
  if ((report.configurationChanged ?? []).length > 0) notes.push(["Configuration changed", report.configurationChanged.map((one) => `${one.path}: ${one.change}`)]);
  if (report.testsModified && (report.testsModified.changes ?? []).length > 0) notes.push(["Protected files differ from what was approved", report.testsModified.changes.map((one) => one.path ?? String(one))]);
  if (report.testsNotRun) notes.push([`Tests not run: ${report.testsNotRun}`, []]);
  if (report.fewerTests) notes.push([`${report.fewerTests.now} tests, ${report.fewerTests.before} before`, [withRunNumbers(report.fewerTests.since)]]);
  for (const note of report.notes ?? []) notes.push([`${note.subject}: ${withRunNumbers(note.message)}`, []]);
  for (const error of report.specificationErrors ?? []) notes.push([`${error.file}:${error.line}: ${error.message}`, error.hint ? [error.hint] : []]);
  if (report.route?.requiresHuman) notes.push([`A person is needed: ${report.route.reason}`, []]);
  return notes.map(([title, lines]) => html`<div class="notice"><${Mark} tone="attention" /><div>${lines.length > 0 ? html`<strong><${Line} of=${title} /></strong>` : html`<${Line} of=${title} />`}${lines.length > 0 ? html`<ul class="plain">${lines.map((line) => html`<li><${Line} of=${line} /></li>`)}</ul>` : null}</div></div>`);
}

// When each action began and ended, as milliseconds since the run's start. Where no record tells it, one follows the other.
function useTimes(report, base, files) {
  const actions = allActions(report);
  const [records, setRecords] = useState({});
  useEffect(() => {
    let isWanted = true;
    const wanted = actions.slice(0, MOST_RECORDS).map((action) => [action.actionId, (action.evidenceFiles ?? []).find((name) => name.startsWith(`${action.actionId}-`) && name.endsWith(".json") && (action.evidenceFiles ?? []).includes(name.replace(/\.json$/, ".log")))]);
    Promise.all(wanted.filter(([, name]) => name && files.includes(name) && hasAnswer(`${base}/files/${name}`)).map(async ([id, name]) => [id, (await ask(`${base}/files/${encodeURIComponent(name)}`)).execution])).then(
      (found) => isWanted && setRecords(Object.fromEntries(found.filter(([, execution]) => execution?.startTime))),
      () => {},
    );
    return () => { isWanted = false; };
  }, [base]);
  const begun = Date.parse(report.executionSummary.startTime);
  let before = 0;
  return actions.map((action) => {
    const record = records[action.actionId];
    const from = record ? Date.parse(record.startTime) - begun : before;
    const to = from + (action.duration ?? 0);
    before = to;
    return { action, from, to, isMeasured: Boolean(record) };
  });
}

function TimeLine({ report, base, files }) {
  const times = useTimes(report, base, files);
  const [opened, open] = useState(() => new Set());
  const whole = Math.max(report.executionSummary.totalDuration ?? 0, ...times.map((one) => one.to), 1);
  const toggle = (id) => { const next = new Set(opened); if (!next.delete(id)) next.add(id); open(next); };
  return html`<section class="time-line" aria-label="Checks on a time line">
    <div class="section-head"><h2>Checks</h2><span class="quiet">${duration(whole)} in all${times.some((one) => one.isMeasured) || times.length < 2 ? "" : ", one after the other"}</span></div>
    <ul class="rows">${times.map(({ action, from, to }) => {
      const result = resultOf(action);
      const id = action.actionId;
      const isOpen = opened.has(id);
      const results = action.result?.testResults;
      return html`<li key=${id}>
        <button type="button" class="row action-row" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => toggle(id)} data-row="action">
          <${Mark} tone=${result.tone} />
          <span class="row-name"><${Line} of=${action.name} />${action.phase === "check" ? null : html` <span class="quiet">${action.phase}</span>`}</span>
          <span class="row-word">${results ? `${results.passed} passed${results.failed ? `, ${results.failed} failed` : ""}${results.skipped ? `, ${results.skipped} skipped` : ""}` : result.word}</span>
          <span class="lane" aria-hidden="true"><span class=${`tone-${result.tone}`} style=${{ left: `${(100 * from) / whole}%`, width: `${Math.max(0.6, (100 * (to - from)) / whole)}%` }}></span></span>
          <span class="row-time">${duration(action.duration)}</span>
        </button>
        ${isOpen ? html`<${ActionDetails} action=${action} base=${base} files=${files} />` : null}
      </li>`;
    })}</ul>
  </section>`;
}

function ActionDetails({ action, base, files }) {
  const log = action.evidence && action.evidence.endsWith(".log") && files.includes(action.evidence) ? action.evidence : null;
  const { classification, result } = action;
  return html`<div class="action-details">
    <dl class="pairs">
      ${action.command ? html`<div><dt>Command</dt><dd class="mono wrap"><${Lines} of=${action.command} /></dd></div>` : null}
      ${action.directory ? html`<div><dt>Directory</dt><dd><${PathName} of=${action.directory} /></dd></div>` : null}
      ${result && result.exitCode !== undefined ? html`<div><dt>Exit code</dt><dd>${result.exitCode}${result.signal ? html`, signal <${Line} of=${result.signal} />` : null}</dd></div>` : null}
      ${classification ? html`<div><dt>Judged</dt><dd><span class="mono"><${Line} of=${classification.code} /></span> <${Line} of=${classification.reason} /></dd></div>` : null}
      ${action.skipReason ? html`<div><dt>Skipped</dt><dd><${Line} of=${typeof action.skipReason === "string" ? action.skipReason : JSON.stringify(action.skipReason)} /></dd></div>` : null}
      ${action.reused ? html`<div><dt>Reused</dt><dd>from run ${runNumber(action.reused.runId)}${action.reused.otherTree ? ", which had another tree: no proof for this one" : ""}</dd></div>` : null}
      ${action.attempts > 1 ? html`<div><dt>Attempts</dt><dd>${action.attempts}</dd></div>` : null}
      ${result?.coverage ? html`<div><dt>Coverage</dt><dd class="mono"><${Line} of=${JSON.stringify(result.coverage)} /></dd></div>` : null}
    </dl>
    <${TestsOfAction} action=${action} base=${base} files=${files} />
    ${log ? html`<${Output} path=${`${base}/files/${encodeURIComponent(log)}`} name=${action.name} excerpts=${result} />` : html`<p class="quiet">This action has no output.</p>`}
  </div>`;
}

const TEST_ROW_HEIGHT = 30;
const FAILED_FIRST = ["failed", "error", "skipped", "passed"];

// Every test of a check with its duration, when it is asked for. A reused result has its record in the run that carried the check out.
function TestsOfAction({ action, base, files }) {
  const [isShown, show] = useState(false);
  const [isByDuration, sortByDuration] = useState(false);
  const name = (action.evidenceFiles ?? files).find((file) => file.startsWith(`${action.actionId}-`) && file.endsWith("-test-results.json"));
  const from = action.reused ? base.replace(/[^/]+$/, encodeURIComponent(action.reused.runId)) : base;
  const path = name ? `${from}/files/${encodeURIComponent(name)}` : null;
  const { data, problem } = useAnswer(isShown ? path : null, "");
  if (!path || !hasAnswer(path)) return null;
  const tests = [...(data?.results.testResults ?? [])];
  const took = (test) => test.durationUs ?? (test.duration ?? 0) * 1000;
  tests.sort((one, other) => (isByDuration ? took(other) - took(one) : FAILED_FIRST.indexOf(one.status) - FAILED_FIRST.indexOf(other.status) || byNumberInText(one.fullName, other.fullName)));
  const drawRow = (index, style) => {
    const test = tests[index];
    return html`<div key=${`${test.fullName} ${index}`} role="listitem" class="test-row" style=${style}><${Mark} tone=${outcomeTone(test.status)} size=${13} /><span class="visually-hidden">${test.status}</span><span class="row-name"><${PathName} of=${test.fullName} /></span><span class="row-time quiet">${test.durationUs === undefined && test.duration === undefined ? "–" : microseconds(took(test))}</span></div>`;
  };
  return html`<div class="tests-of-action">
    <div class="output-more"><button type="button" class="button small" aria-expanded=${isShown ? "true" : "false"} onClick=${() => show(!isShown)}>${isShown ? "Hide the tests" : "All tests and their durations"}</button>${data ? html` <button type="button" class="chip" aria-pressed=${isByDuration ? "true" : "false"} onClick=${() => sortByDuration(!isByDuration)}>Slowest first</button> <span class="quiet">${count(tests.length, "test")}</span>` : null}</div>
    ${isShown && problem ? html`<${Problem} of=${problem} />` : null}
    ${isShown && data ? html`<${VirtualList} total=${tests.length} rowHeight=${TEST_ROW_HEIGHT} drawRow=${drawRow} label=${`Tests of ${action.name}`} className="test-rows" />` : null}
  </div>`;
}

// Which files differ from the tree of the run before, as far as the report names them.
function ChangedFiles({ difference }) {
  const { files = [], count: all } = difference;
  return html`<ul class="plain">${files.slice(0, 50).map((file) => html`<li>${file.before ? (file.after ? "changed" : "removed") : "added"} <${PathName} of=${file.path} /></li>`)}${all > Math.min(50, files.length) ? html`<li class="quiet">and ${all - Math.min(50, files.length)} more</li>` : null}</ul>`;
}

// How it was tested: what was isolated, what stayed open, what was written.
function Conditions({ report }) {
  const { isolation, tree, environment } = report;
  const snapshot = tree?.snapshot;
  const written = snapshot?.written ?? [];
  return html`<section class="conditions" aria-label="How it was tested">
    <div class="section-head"><h2>How it was tested</h2></div>
    <dl class="pairs">
      ${isolation ? html`<div><dt>Isolation</dt><dd>${isolation.level}${(isolation.openChannels ?? []).length > 0 ? html`<span class="quiet">, open: ${isolation.openChannels.join(", ")}</span>` : null}${(isolation.obstacles ?? []).map((obstacle) => html`<p class="warn"><${Line} of=${obstacle} /></p>`)}</dd></div>` : null}
      ${(isolation?.survivors ?? []).length > 0 ? html`<div><dt>Left behind</dt><dd><ul class="plain">${isolation.survivors.map((one) => html`<li>process ${one.pid}: <span class="mono"><${Line} of=${one.argv.join(" ")} /></span>, ended</li>`)}</ul></dd></div>` : null}
      ${tree ? html`<div><dt>Tree</dt><dd><span class="mono wrap">${tree.before}</span> <span class="quiet">${tree.files ? count(tree.files, "file") : ""}${tree.after && tree.after !== tree.before ? ", another one afterwards" : tree.after ? ", the same afterwards" : ""}</span></dd></div>` : null}
      ${tree?.sinceLastRun ? html`<div><dt>Changed</dt><dd>${tree.sinceLastRun.count === 0 ? "no file" : count(tree.sinceLastRun.count, "file")} since run ${runNumber(tree.sinceLastRun.since)}<${ChangedFiles} difference=${tree.sinceLastRun} /></dd></div>` : null}
      ${snapshot ? html`<div><dt>Tested</dt><dd>${snapshot.tested === "snapshot" ? "on a snapshot of the tree" : "in the project itself"}${snapshot.reason ? html`: <${Line} of=${snapshot.reason} />` : null}${snapshot.caches ? html`<span class="quiet">, ${snapshot.caches === "kept" ? "with the tools' kept caches" : "with fresh caches"}</span>` : null}</dd></div>` : null}
      ${snapshot ? html`<div><dt>Written</dt><dd>${written.length === 0 ? html`<span class="quiet">${snapshot.writtenCount ? count(snapshot.writtenCount, "file") : "nothing outside of caches"}</span>` : html`<ul class="plain">${written.slice(0, 50).map((one) => html`<li><${PathName} of=${one.path} /> <span class="quiet">${one.kept ? "kept in the project" : one.notKept ?? "not kept"}</span></li>`)}${(snapshot.writtenCount ?? 0) > Math.min(50, written.length) ? html`<li class="quiet">and ${snapshot.writtenCount - Math.min(50, written.length)} more</li>` : null}</ul>`}</dd></div>` : null}
      ${environment ? html`<div><dt>Environment</dt><dd><details><summary>${count(environment.names.length, "variable")}, ${count((environment.components ?? []).length, "component")}</summary><p class="mono wrap"><${Line} of=${environment.names.join(" ")} /></p><ul class="plain">${(environment.components ?? []).map((one) => html`<li><${PathName} of=${one.name} /></li>`)}</ul></details></dd></div>` : null}
      ${(report.contended ?? []).length > 0 ? html`<div><dt>Waited</dt><dd>${report.contended.map((one) => html`<p>${one.actionId}: ${duration(one.waitedMs)} for other actions on this machine</p>`)}</dd></div>` : null}
    </dl>
  </section>`;
}

function Files({ report, names }) {
  const sizes = Object.fromEntries((report.evidenceFiles ?? []).map((file) => [file.name, file]));
  return html`<section class="files" aria-label="Evidence files"><details>
    <summary><h2>Evidence</h2> <span class="quiet">${count(names.length, "file")}</span></summary>
    <ul class="rows">${names.map((name) => html`<li class="row file-row" key=${name}><span class="mono row-name"><${Line} of=${name} /></span><span class="quiet mono" title=${sizes[name]?.sha256}>${sizes[name] ? sizes[name].sha256.slice(0, 12) : ""}</span><span class="row-time quiet">${sizes[name] ? byteWords(sizes[name].bytes) : ""}</span></li>`)}</ul>
  </details></section>`;
}
