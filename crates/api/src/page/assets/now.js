// Now: how each project and task stands, what runs, and what failed last.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { connection, hasAnswer, isOffline } from "./ask.js";
import { Failures, failuresOf } from "./failures.js";
import { count, duration, runNumber, shortDigest } from "./format.js";
import { live, refresh } from "./live.js";
import { Mark, endOf, outcomeWords, resultOf, standingOf, triggerWords } from "./marks.js";
import { CommandLine, Empty, Problem, Time, Waiting, useAnswer } from "./parts.js";
import { href, replacePlace } from "./route.js";
import { useNow, useStore } from "./store.js";
import { EndOfPath, Line, PathName, shownLine } from "./text.js";

const STRIP_RUNS = 48;
const NEW_PROJECT_INTERVAL = 2000;
const WATCH_INTERVAL = 10000;

// The tasks of a project as the service knows them, or as the list of projects tells them where nobody watches.
export function tasksOf(state, project) {
  const standing = state.statuses[project.id];
  if (standing) return standing.tasks;
  const listed = project.standing;
  if (!listed) return [];
  const tasks = listed.tasks && listed.tasks.length > 0 ? listed.tasks : [{ task: "default", verdict: listed.verdict }];
  return tasks.map(({ task, verdict }) => ({ task, verdict, state: verdict ? "listed" : "noVerdict", result: verdict?.result ?? null, checks: [], paths: [], problems: [], person: null }));
}

// What is said about a task first: what goes on now, else its verdict.
export function headlineOf(state, project, task) {
  const running = state.running[project.id];
  if (running && (running.task === null || !task || running.task === task.task)) return { tone: "running", word: "Running", says: running.trigger ? `This run was ${triggerWords(running.trigger)}.` : "Started before this page was opened." };
  if (state.saved[project.id]) return { tone: "running", word: "Saved", says: "A run begins when the burst of saves is over." };
  if (task && task.state === "listed") {
    const isPassed = task.result === "PASSED";
    const word = task.result ? (isPassed ? "Passed" : "Failed") : "No verdict";
    return { tone: task.result ? (isPassed ? "passed" : "failed") : "none", word, says: isOffline ? "When this file was made." : project.standing?.watchedBy ? "The last verdict." : "The last verdict. Nobody watches this project, so whether it still holds is not known." };
  }
  return standingOf(task);
}

// What a project with several tasks shows: the first of these that one of its tasks has.
const WORST_FIRST = ["running", "failed", "attention", "stale", "queued", "none", "passed"];

// The task that stands for its project where there is room for one; undefined if the project has none.
export function worstTask(state, project) {
  const place = (task) => WORST_FIRST.indexOf(headlineOf(state, project, task).tone);
  const [first, ...others] = tasksOf(state, project);
  return others.reduce((worst, task) => (place(task) < place(worst) ? task : worst), first);
}

export function projectName(project) {
  const root = project.root ?? "";
  return root.slice(root.lastIndexOf("/") + 1) || project.id;
}

// No event tells of a project that nobody watches, so a new one is looked for; nor of the end of a watch.
function useNewProjects(isWanted, interval = NEW_PROJECT_INTERVAL) {
  useEffect(() => {
    if (!isWanted || isOffline) return undefined;
    const timer = setInterval(() => { if (connection.get().state === "open") refresh(); }, interval);
    return () => clearInterval(timer);
  }, [isWanted, interval]);
}

// What to type so that each save starts a run: without the service, `proctor service add` alone would start nothing.
function EverySave() {
  const { service } = useStore(live);
  return html`<p>To have them run at every save:</p><${CommandLine} of=${service ? "proctor service add" : "proctor watch"} />`;
}

// A directory in which nothing was run yet: goes to the first project that is new since the page was opened.
export function NewProject() {
  const { projects, problem } = useStore(live);
  const known = useRef(null);
  useNewProjects(true);
  useEffect(() => {
    if (projects === null) return;
    known.current ??= new Set(projects.map((project) => project.id));
    const fresh = projects.find((project) => !known.current.has(project.id));
    if (fresh) replacePlace(href(fresh.id));
  }, [projects]);
  if (!projects) return problem ? html`<${Problem} of=${problem} />` : html`<${Waiting} what="the projects" />`;
  return html`<${Empty} title="No run yet">
    <p>In that directory nothing was run yet. Run its checks once; this page shows the run.</p>
    <${CommandLine} of="proctor run" />
    <${EverySave} />
    ${projects.length > 0 ? html`<p><a href="#/">All projects</a></p>` : null}
  <//>`;
}

export function Overview() {
  const state = useStore(live);
  useNewProjects(state.projects !== null && state.projects.length === 0);
  if (!state.projects) return state.problem ? html`<${Problem} of=${state.problem} />` : html`<${Waiting} what="the projects" />`;
  if (state.projects.length === 0) {
    return html`<${Empty} title="No project yet">
      <p>proctor knows no project. In a project's directory, run its checks once; this page shows the run as it comes.</p>
      <${CommandLine} of="proctor run" />
      <${EverySave} />
    <//>`;
  }
  return html`<div class="page"><h1 class="visually-hidden">Projects</h1>
    <ul class="cards">${state.projects.map((project) => html`<li key=${project.id}><${ProjectCard} project=${project} state=${state} /></li>`)}</ul>
  </div>`;
}

function ProjectCard({ project, state }) {
  const tasks = tasksOf(state, project);
  const worst = worstTask(state, project);
  const head = headlineOf(state, project, worst);
  const health = (state.statuses[project.id] ?? project.standing ?? {}).health;
  return html`<a class=${`card edge-${head.tone}`} href=${href(project.id)} data-row="project">
    <span class="card-head"><${Mark} tone=${head.tone} size=${22} /><strong><${Line} of=${projectName(project)} /></strong></span>
    <span class="card-word">${head.word}</span>
    <span class="quiet"><${PathName} of=${project.root} /></span>
    ${worst?.verdict?.ended ? html`<span class="quiet">last verdict <${Time} at=${worst.verdict.ended} /></span>` : null}
    ${tasks.length < 2 ? null : tasks.map((task) => { const each = headlineOf(state, project, task); return html`<span class="card-task"><${Mark} tone=${each.tone} size=${13} /> <${Line} of=${task.task} mono=${true} /> <span class="quiet">${each.word}</span></span>`; })}
    ${health ? html`<span class="warn"><${Mark} tone="attention" size=${14} /> <${Line} of=${health.message} /></span>` : null}
  </a>`;
}

export function Now({ project }) {
  const state = useStore(live);
  useNewProjects(project.serving === "notServed", WATCH_INTERVAL);
  const tasks = tasksOf(state, project);
  const [chosen, choose] = useState(null);
  const task = tasks.find((one) => one.task === chosen) ?? worstTask(state, project);
  const name = task?.task ?? "default";
  const query = `/v1/projects/${encodeURIComponent(project.id)}`;
  const runs = useAnswer(hasAnswer(`${query}/runs`) ? `${query}/runs?limit=${STRIP_RUNS}&task=${encodeURIComponent(name)}` : null, project.id);
  const trends = useAnswer(hasAnswer(`${query}/trends`) ? `${query}/trends?runs=200&task=${encodeURIComponent(name)}` : null, project.id);
  const head = headlineOf(state, project, task);
  const last = state.last[project.id];
  const lastWords = last && !state.running[project.id] ? outcomeWords(last.outcome) : null;
  const listed = runs.data ? runs.data.runs : [];
  const standing = state.statuses[project.id] ?? project.standing ?? {};
  return html`<div class="page">
    ${tasks.length > 1 ? html`<div class="chips" role="group" aria-label="Tasks">${tasks.map((one) => { const each = headlineOf(state, project, one); return html`<button type="button" class="chip" aria-pressed=${one === task ? "true" : "false"} onClick=${() => choose(one.task)}><${Mark} tone=${each.tone} size=${13} /> <${Line} of=${one.task} /></button>`; })}</div>` : null}
    <section class=${`hero edge-${head.tone}`} aria-label="Verdict">
      <div class="hero-mark"><${Mark} tone=${head.tone} size=${44} /></div>
      <div class="hero-text">
        <h1>${head.word}</h1>
        <p>${head.says}</p>
        ${lastWords ? html`<p class="note">${lastWords}</p>` : null}
        ${task?.verdict ? html`<${VerdictFacts} verdict=${task.verdict} known=${task.known} project=${project} isBefore=${head.tone === "running"} />` : null}
      </div>
      <${Strip} runs=${listed} project=${project} />
    </section>
    <${Notices} standing=${standing} task=${task} project=${project} />
    <${RunningNow} state=${state} project=${project} trends=${trends.data} />
    ${!task?.verdict && !state.running[project.id] && head.tone === "none" ? html`<${Empty} title="The first run comes here"><p>Save a file of the project, or start a run yourself:</p><${CommandLine} of="proctor run" /><//>` : null}
    ${task?.verdict ? html`<${LastFailures} project=${project} task=${task} query=${query} />` : null}
    <div class="columns">
      <${Checks} task=${task} trends=${trends.data} project=${project} />
      <${RecentRuns} runs=${listed} project=${project} />
    </div>
    <${LastProof} query=${query} project=${project} tree=${task?.tree} />
    ${runs.problem ? html`<${Problem} of=${runs.problem} />` : null}
  </div>`;
}

// Where a verdict comes from that the last run did not give.
const knownWords = (known) => `known from ${known.root ? `${known.root}, ` : ""}run ${runNumber(known.run)}`;

function VerdictFacts({ verdict, known, project, isBefore }) {
  return html`<ul class="facts">
    ${isBefore ? html`<li>before: ${verdict.result === "PASSED" ? "passed" : verdict.result === "FAILED" ? "failed" : "no verdict"}</li>` : null}
    ${known ? html`<li><${Line} of=${knownWords(known)} /></li>` : html`<li><a href=${href(project.id, "runs", runNumber(verdict.runId))}>run ${runNumber(verdict.runId)}</a></li>`}
    ${verdict.ended ? html`<li><${Time} at=${verdict.ended} /></li>` : null}
    <li>tree <span class="mono" title=${verdict.tree}>${shortDigest(verdict.tree)}</span></li>
    ${verdict.tested ? html`<li>${verdict.tested === "snapshot" ? "tested on a snapshot" : "tested in place"}</li>` : null}
    ${verdict.isolation ? html`<li class="warn">isolated by ${verdict.isolation} only</li>` : null}
  </ul>`;
}

// The last runs as bars: height is duration, and a failed run also has a cap.
function Strip({ runs, project }) {
  if (runs.length < 2) return null;
  const shown = [...runs].reverse();
  const most = Math.max(...shown.map((run) => run.duration ?? 0), 1);
  return html`<nav class="strip" aria-label="Last runs, oldest first">${shown.map((run) => {
    const end = endOf(run);
    const height = 18 + 82 * Math.sqrt((run.duration ?? 0) / most);
    return html`<a key=${run.runId} class=${`strip-bar tone-${end.tone} is-${end.tone}`} href=${href(project.id, "runs", runNumber(run.runId))} title=${`run ${runNumber(run.runId)}: ${end.word}, ${duration(run.duration)}`} aria-label=${`run ${runNumber(run.runId)}: ${end.word}`}><span style=${{ height: `${height}%` }}></span></a>`;
  })}</nav>`;
}

function Notices({ standing, task, project }) {
  const problems = [...(standing.problems ?? []), ...(task?.problems ?? [])];
  const { health } = standing;
  const { service } = useStore(live);
  return html`
    ${health ? html`<div class="notice"><${Mark} tone="attention" /><div><strong><${Line} of=${health.message} /></strong><p><${Line} of=${health.mend} />; a running service tries again by itself. Since <${Time} at=${health.since} />.</p></div></div>` : null}
    ${task?.person ? html`<div class="notice"><${Mark} tone="attention" /><div><strong><${Line} of=${task.person.reason} /></strong>${task.person.runId ? html` <p>Since <${Time} at=${task.person.since} />, <a href=${href(project.id, "runs", runNumber(task.person.runId))}>run ${runNumber(task.person.runId)}</a>.</p>` : null}<${CommandLine} of=${task.person.command} /></div></div>` : null}
    ${problems.map((problem) => html`<div class="notice"><${Mark} tone="attention" /><div><${Line} of=${problem} /></div></div>`)}
    ${task && task.paths && task.paths.length > 0 ? html`<div class="notice"><${Mark} tone="attention" /><div><strong>Changed during the run</strong><ul class="plain">${task.paths.slice(0, 20).map((path) => html`<li><${PathName} of=${path} /></li>`)}</ul></div></div>` : null}
    ${project.standing?.watchedBy ? html`<div class="notice"><${Mark} tone="none" /><div><code>proctor watch</code> (process ${project.standing.watchedBy}) runs the checks at each save.</div></div>` : null}
    ${!isOffline && project.serving === "notServed" && !project.standing?.watchedBy && (project.standing?.watching ?? "notWatched") === "notWatched" ? html`<div class="notice"><${Mark} tone="none" /><div><strong>The service does not watch this project.</strong> <p>A save starts a run only while <code>proctor watch</code> runs. To have each save start one:</p><${CommandLine} of=${service ? "proctor service add" : "proctor service install && proctor service add"} /></div></div>` : null}
    ${project.standing?.watching === "polling" ? html`<div class="notice"><${Mark} tone="none" /><div>Changes are found by looking at intervals: the kernel reports no events for a part of this tree.</div></div>` : null}`;
}

// How far the tests of a running check are, as far as its output says it.
function progressWords(progress) {
  if (!progress) return "";
  const tests = (count) => (count === 1 ? "1 test" : `${count} tests`);
  if (progress.ended > 0) return progress.expected !== null && progress.ended <= progress.expected ? `${progress.ended} of ${tests(progress.expected)}` : tests(progress.ended);
  const percent = progress.percent === null ? "" : `${progress.percent} %`;
  if (progress.expected !== null) return percent ? `${percent} of ${tests(progress.expected)}` : tests(progress.expected);
  if (progress.files > 0) return progress.files === 1 ? "1 file of tests" : `${progress.files} files of tests`;
  return percent;
}

const TEST_TONES = { passed: "passed", failed: "failed", error: "failed", skipped: "skipped" };
const TEST_WORDS = { passed: "passed", failed: "failed", error: "error", skipped: "skipped" };

// The tests of a running check as they end.
function TestsSoFar({ action }) {
  if (action.ended || action.tests.length === 0) return null;
  return html`<li class="row tests-so-far"><ul aria-label=${`Tests of ${action.name} that have ended`}>${action.tests.map((test, place) => html`<li key=${place}><${Mark} tone=${TEST_TONES[test.outcome]} /><span class="test-name"><${Line} of=${test.name} /></span><span class="quiet">${TEST_WORDS[test.outcome]}</span></li>`)}</ul></li>`;
}

function Progress({ elapsed, usual }) {
  const share = usual ? Math.min(1, elapsed / usual) : 0;
  return html`<span class=${`progress ${usual && elapsed > usual * 1.5 ? "is-late" : ""}`} aria-hidden="true"><span style=${{ transform: `scaleX(${share})` }}></span></span>`;
}

function RunningNow({ state, project, trends }) {
  const running = state.running[project.id];
  const now = useNow(running ? 100 : 0);
  const queued = state.statuses[project.id]?.tasks.some((task) => task.state === "queued");
  if (!running) return queued ? html`<div class="notice"><${Mark} tone="queued" /><div>A run waits for its turn: as many checks run on this machine as may.</div></div>` : null;
  const usualOf = (name) => (trends?.checks ?? []).find((check) => check.check === name && (running.task === null || check.task === running.task))?.p50Ms ?? null;
  return html`<section class="running" aria-label="What runs now">
    <div class="section-head"><h2>What runs</h2><span class="quiet">${running.since ? `${duration(now - running.since)} so far` : "since before this page was opened"}</span></div>
    <ul class="rows">${running.actions.map((action) => {
      const usual = usualOf(action.name);
      const elapsed = action.since ? (action.ended ?? now) - action.since : null;
      const result = action.ended ? resultOf(action) : { tone: "running", word: "running" };
      return html`<li class="row" key=${action.id}><${Mark} tone=${result.tone} /><span class="row-name"><${Line} of=${action.name} /></span><span class="row-word">${(!action.ended && progressWords(action.progress)) || result.word}</span>${action.ended ? null : html`<${Progress} elapsed=${elapsed ?? 0} usual=${usual} />`}<span class="row-time">${elapsed === null ? "" : duration(elapsed)}${usual ? html` <span class="quiet">usually ${duration(usual)}</span>` : null}</span></li><${TestsSoFar} action=${action} />`;
    })}${running.actions.length === 0 ? html`<li class="row"><${Mark} tone="running" /><span class="row-name">Making the snapshot</span></li>` : null}</ul>
  </section>`;
}

function LastFailures({ project, task, query }) {
  const run = runNumber(task.verdict.runId);
  const isRed = task.verdict.result !== "PASSED";
  const report = useAnswer(isRed ? `${query}/runs/${run}/files/execution-report.json` : null, project.id);
  const verdict = useAnswer(isRed && !isOffline ? `${query}/verdict?task=${encodeURIComponent(task.task)}` : null, project.id);
  if (!isRed) return null;
  const told = verdict.data?.project.tasks.find((one) => one.task === task.task)?.failures;
  const known = told && told.runId === task.verdict.runId ? told : null;
  if (report.data) return html`<${Failures} failures=${failuresOf(report.data, known?.failures ?? [])} total=${known?.total} next=${known?.next ?? []} project=${project.id} runId=${task.verdict.runId} isBefore=${task.state !== "fresh" && task.state !== "listed"} />`;
  if (known) return html`<${Failures} failures=${known.failures} total=${known.total} next=${known.next} project=${project.id} runId=${task.verdict.runId} />`;
  return report.problem ? html`<${Problem} of=${report.problem} />` : html`<${Waiting} what="what failed" />`;
}

function Checks({ task, trends, project }) {
  const checks = task?.checks ?? [];
  if (checks.length === 0) return null;
  return html`<section aria-label="Checks"><div class="section-head"><h2>Checks</h2></div><ul class="rows">${checks.map((check) => {
    const tone = check.result === "PASSED" ? "passed" : check.result === "FAILED" ? "failed" : "none";
    const isFresh = check.state === "fresh";
    const usual = (trends?.checks ?? []).find((one) => one.check === check.name && one.task === task.task);
    return html`<li class="row" key=${check.name}><${Mark} tone=${isFresh ? tone : "stale"} /><span class="row-name"><${Line} of=${check.name} /></span><span class="row-word">${isFresh ? (tone === "passed" ? "passed" : tone === "failed" ? "failed" : "no result") : "not on this tree"}</span>${check.runId ? html`<a href=${href(project.id, "runs", runNumber(check.runId))}>run ${runNumber(check.runId)}</a>` : null}<span class="row-time quiet">${usual ? `usually ${duration(usual.p50Ms)}` : ""}</span></li>`;
  })}</ul></section>`;
}

function RecentRuns({ runs, project }) {
  if (runs.length === 0) return null;
  return html`<section aria-label="Last runs"><div class="section-head"><h2>Last runs</h2><a href=${href(project.id, "runs")}>all runs</a></div><ul class="rows">${runs.slice(0, 8).map((run) => html`<li key=${run.runId}><a class="row" href=${href(project.id, "runs", runNumber(run.runId))} data-row="run"><${RunRow} run=${run} /></a></li>`)}</ul></section>`;
}

// The tone of each word of `proctor prove`; of any other word the test says nothing.
const PROOF_TONES = { "proves it": "passed", "notices it": "stale", "by a snapshot of this change": "stale", "cannot run before": "stale", "newly fails": "failed", "fails before and after": "failed", "flaky": "attention", "passes either way": "failed" };

export function proofTone(word) {
  return PROOF_TONES[word] ?? "none";
}

// What `proctor prove` answered last: whether each test of the change fails without it.
function LastProof({ query, project, tree }) {
  const { data } = useAnswer(hasAnswer(`${query}/proof`) ? `${query}/proof` : null, project.id);
  const answer = data?.answer;
  if (!answer) return null;
  const about = tree === undefined || tree === null || tree === answer.treeDigest ? "" : ", about other files than now";
  return html`<section aria-label="Tests of the change"><div class="section-head"><h2>Tests of the change</h2><span class="quiet"><${Time} at=${data.stored} />${about}</span></div>
    <p>${answer.state} · <${Line} of=${answer.summary} /></p>
    <ul class="rows">${(answer.tests ?? []).map((one) => html`<li class="row" key=${one.test}><${Mark} tone=${proofTone(one.word)} /><span class="row-name"><${Line} of=${one.test} mono=${true} /></span><span class="row-word">${one.word}</span></li>`)}</ul>
    ${answer.moreTests ? html`<p class="quiet">${count(answer.moreTests, "more test")}</p>` : null}
  </section>`;
}

// The inside of a line about one run.
export function RunRow({ run }) {
  const end = endOf(run);
  const { tests } = run;
  const failed = run.failedTests.length > 0 ? run.failedTests[0] : run.failedChecks[0];
  return html`<${Mark} tone=${end.tone} />
    <span class="run-number">${runNumber(run.runId)}</span>
    <span class="row-word">${end.word}</span>
    <span class="run-what quiet" title=${failed ? shownLine(failed) : undefined}>${failed ? html`<${EndOfPath} of=${failed} />` : tests ? count(tests.passed, "test") : ""}</span>
    <span class="row-time quiet">${duration(run.duration)}</span>
    <span class="row-age quiet"><${Time} at=${run.started} /></span>`;
}

// Says the verdict for people who do not see the page, each time it changes; of several tasks that of the worst.
export function VerdictSpeaker({ project }) {
  const state = useStore(live);
  const [said, say] = useState("");
  const task = project ? worstTask(state, project) : null;
  const head = project ? headlineOf(state, project, task) : null;
  const name = project && tasksOf(state, project).length > 1 ? `${projectName(project)}, ${task.task}` : project && projectName(project);
  const words = head && head.word !== "Saved" ? `${name}: ${head.word}. ${head.says}` : said;
  useEffect(() => { if (words !== said) say(words); }, [words]);
  return html`<div class="visually-hidden" role="status" aria-live="polite">${shownLine(said)}</div>`;
}
