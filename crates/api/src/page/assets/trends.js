// Trends: how long runs take, how many tests there are, how long a red lasts, and which checks cost most.
import { html, useMemo, useState } from "./vendor/preact.js";
import { CountChart, DurationChart } from "./chart.js";
import { count, duration, percentile, runNumber } from "./format.js";
import { CommandLine, Empty, Problem, Time, Waiting, useAnswer } from "./parts.js";
import { href } from "./route.js";
import { Line, shownLine } from "./text.js";

const TREND_RUNS = [50, 200, 1000];

function Figure({ value, name, note }) {
  return html`<div class="figure"><dt>${name}</dt><dd>${value}</dd>${note ? html`<dd class="quiet figure-note">${note}</dd>` : null}</div>`;
}

// Why there is no duration from red to green; null if there is one. `judged` are the results of the runs with a verdict, newest first; `ended` is
// the number of reds whose beginning and end are known.
export function noTimeToGreen(judged, ended) {
  if (ended > 0) return null;
  if (!judged.includes("FAILED")) return ["never red", "No run was red."];
  if (judged[0] === "FAILED") return ["still red", "No red has ended: the newest run is red."];
  return ["not known", "How long it was red is not known: when it became red lies before these runs, or the clock went back."];
}

export function Trends({ project }) {
  const [limit, setLimit] = useState(200);
  const [task, setTask] = useState(null);
  const { data, problem } = useAnswer(`/v1/projects/${encodeURIComponent(project.id)}/trends?runs=${limit}`, project.id);
  const tasks = useMemo(() => [...new Set((data?.runs ?? []).map((run) => run.task))], [data]);
  const chosen = task !== null && tasks.includes(task) ? task : tasks.includes("default") ? "default" : tasks[0];
  const runs = useMemo(() => (data?.runs ?? []).filter((run) => run.task === chosen), [data, chosen]);
  if (problem && !data) return html`<${Problem} of=${problem} />`;
  if (!data) return html`<${Waiting} what="the trends" />`;
  if (runs.length === 0) return html`<${Empty} isPage=${true} title="No run yet"><p>After a few runs this page shows how long they take, and what costs most.</p><${CommandLine} of="proctor run" /><//>`;
  const judged = runs.filter((run) => run.result !== null);
  const times = runs.map((run) => run.durationMs).filter((value) => value !== null && value !== undefined);
  const median = percentile(times, 0.5);
  const slow = percentile(times, 0.95);
  const green = judged.filter((run) => run.result === "PASSED").length;
  const ids = new Set(runs.map((run) => run.runId));
  const reds = data.timeToGreen.filter((one) => ids.has(one.from) || ids.has(one.to));
  const toGreen = percentile(reds.map((one) => one.seconds * 1000), 0.5);
  const noTime = noTimeToGreen(judged.map((run) => run.result), reds.length);
  const checks = data.checks.filter((check) => check.task === chosen);
  const most = Math.max(1, ...checks.map((check) => check.totalMs));
  const counted = runs.filter((run) => run.passed !== null && run.passed !== undefined);
  return html`<div class="page">
    <div class="title-line"><h1>Trends</h1><p class="quiet">${count(runs.length, "run")}, <${Time} at=${runs[runs.length - 1].started} /> to <${Time} at=${runs[0].started} /></p></div>
    <div class="tools">
      <div class="chips" role="group" aria-label="How many runs">${TREND_RUNS.map((number) => html`<button type="button" class="chip" aria-pressed=${limit === number ? "true" : "false"} onClick=${() => setLimit(number)}>${number.toLocaleString()} runs</button>`)}</div>
      ${tasks.length > 1 ? html`<select class="select" aria-label="Task" value=${chosen} onChange=${(event) => setTask(event.target.value)}>${tasks.map((one) => html`<option value=${one}>${shownLine(one)}</option>`)}</select>` : null}
    </div>
    <dl class="figures">
      <${Figure} name="Median run" value=${duration(median)} note="half are faster" />
      <${Figure} name="Slow run" value=${duration(slow)} note="19 of 20 are faster" />
      <${Figure} name="Passed" value=${judged.length === 0 ? "–" : `${Math.round((100 * green) / judged.length)} %`} note=${`${green} of ${judged.length} with a verdict`} />
      <${Figure} name="Red to green" value=${toGreen === null ? "–" : duration(toGreen)} note=${noTime ? noTime[0] : `median of ${reds.length}`} />
    </dl>
    <section aria-label="Duration of runs"><div class="section-head"><h2>Duration</h2><span class="quiet legend"><span><i class="key-square tone-failed"></i> failed</span> <span><i class="key-dash"></i> median</span> <span><i class="key-dots"></i> 95 %</span></span></div>
      <${DurationChart} points=${runs.filter((run) => run.durationMs !== null).map((run) => ({ at: run.started, milliseconds: run.durationMs, isFailed: run.result === "FAILED", name: `run ${runNumber(run.runId)}` }))} median=${median} slow=${slow} /></section>
    ${counted.length > 1 ? html`<section aria-label="Tests"><div class="section-head"><h2>Tests</h2><span class="quiet legend"><span><i class="key-line tone-passed"></i> passed</span> <span><i class="key-dots tone-skipped"></i> skipped</span> <span><i class="key-dash tone-failed"></i> failed</span></span></div>
      <${CountChart} points=${counted.map((run) => ({ at: run.started, passed: run.passed, failed: run.failed, skipped: run.skipped, name: `run ${runNumber(run.runId)}` }))} /></section>` : null}
    <div class="columns">
      <section aria-label="Most expensive checks"><div class="section-head"><h2>Most expensive checks</h2></div>
        <div class="table-scroll" tabindex="0" role="region" aria-label="Checks by cost"><table class="plain-table"><thead><tr><th scope="col">Check</th><th scope="col">In all</th><th scope="col">Median</th><th scope="col">95 %</th><th scope="col">Runs</th></tr></thead>
        <tbody>${checks.map((check) => html`<tr key=${check.check}><th scope="row"><${Line} of=${check.check} /><span class="cost" aria-hidden="true"><span style=${{ width: `${(100 * check.totalMs) / most}%` }}></span></span></th><td>${duration(check.totalMs)}</td><td>${duration(check.p50Ms)}</td><td>${duration(check.p95Ms)}</td><td>${check.runs}</td></tr>`)}</tbody></table></div>
      </section>
      <section aria-label="Red to green"><div class="section-head"><h2>Red to green</h2></div>
        ${noTime ? html`<p class="quiet">${noTime[1]}</p>` : html`<ul class="rows">${reds.slice(0, 12).map((one) => html`<li class="row" key=${one.from}><span class="row-name">run <a href=${href(project.id, "runs", runNumber(one.from))}>${runNumber(one.from)}</a> → <a href=${href(project.id, "runs", runNumber(one.to))}>${runNumber(one.to)}</a></span><span class="row-time">${duration(one.seconds * 1000)}</span></li>`)}</ul>`}
      </section>
    </div>
  </div>`;
}
