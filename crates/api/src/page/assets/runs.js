// Runs: the list of all runs beside the one that is looked at.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useState } from "./vendor/preact.js";
import { hasAnswer, isOffline } from "./ask.js";
import { runNumber } from "./format.js";
import { setKeys } from "./keys.js";
import { endOf } from "./marks.js";
import { RunRow } from "./now.js";
import { CommandLine, Empty, Problem, VirtualList, Waiting, useAnswer } from "./parts.js";
import { go, href, replacePlace } from "./route.js";
import { Run } from "./run.js";
import { shownLine } from "./text.js";

const FIRST_RUNS = 200;
const ALL_RUNS = 10_000;
const RUN_ROW_HEIGHT = 44;

function fitsWords(run, words) {
  const text = [runNumber(run.runId), run.task, endOf(run).word, run.tree ?? "", ...run.failedChecks, ...run.failedTests].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

// The last run of the same task before this one. `all` are runs, newest first; if they do not have this run, none is known.
export function previousRun(all, run) {
  const current = all.find((one) => runNumber(one.runId) === run);
  return current && all.find((one) => Number(runNumber(one.runId)) < Number(run) && one.task === current.task);
}

// Which row of the list comes next for `j` and `k`. A run that is not in the list has its place by its number: `below` is the first older row.
export function nextRow(shown, run, steps) {
  if (!run) return 0;
  const selected = shown.findIndex((one) => runNumber(one.runId) === run);
  if (selected >= 0) return Math.min(shown.length - 1, Math.max(0, selected + steps));
  const older = shown.findIndex((one) => Number(runNumber(one.runId)) < Number(run));
  const below = older < 0 ? shown.length : older;
  return Math.min(shown.length - 1, Math.max(0, steps > 0 ? below + steps - 1 : below + steps));
}

// The runs of a project. An exported page without their list shows the one that it holds.
export function Runs({ project, run }) {
  const hasList = hasAnswer(`/v1/projects/${project.id}/runs`);
  return hasList || !run ? html`<${RunList} project=${project} run=${run} />` : html`<${Run} key=${run} project=${project} run=${run} />`;
}

function RunList({ project, run }) {
  const [limit, setLimit] = useState(FIRST_RUNS);
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [filter, setFilter] = useState("");
  const base = `/v1/projects/${encodeURIComponent(project.id)}/runs`;
  const answer = useAnswer(`${base}?limit=${limit}${onlyFailed ? "&failed=yes" : ""}`, project.id);
  const [kept, keep] = useState(null);
  useEffect(() => { if (answer.data) keep(answer.data); }, [answer.data]);
  const all = (answer.data ?? kept)?.runs ?? [];
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const shown = useMemo(() => all.filter((one) => (!onlyFailed || one.result !== "PASSED") && (words.length === 0 || fitsWords(one, words))), [all, filter, onlyFailed]);
  const selected = shown.findIndex((one) => runNumber(one.runId) === run || one.runId === run);
  const previous = previousRun(all, run);
  const more = useCallback(() => { if (limit < ALL_RUNS && all.length >= limit) setLimit(ALL_RUNS); }, [limit, all.length]);
  useEffect(() => { if (words.length > 0 && shown.length < 50) more(); }, [filter, shown.length]);
  const move = useCallback((steps) => {
    const target = shown[nextRow(shown, run, steps)];
    if (target) (run ? replacePlace : go)(href(project.id, "runs", runNumber(target.runId)));
  }, [shown, run, project.id]);
  useLayoutEffect(() => setKeys({
    j: () => move(1),
    k: () => move(-1),
    G: () => { more(); move(shown.length); },
    f: () => setOnlyFailed((before) => !before),
    c: () => { if (previous) go(href(project.id, "compare", runNumber(previous.runId), run)); },
  }), [move, shown, run, previous]);

  if (!answer.data && !kept) return answer.problem ? html`<${Problem} of=${answer.problem} />` : html`<${Waiting} what="the runs" />`;
  if (answer.data && all.length === 0 && !onlyFailed) return html`<${Empty} isPage=${true} title="No run yet"><p>Save a file of the project, or start a run yourself:</p><${CommandLine} of="proctor run" /><//>`;
  const row = (index, style) => {
    const one = shown[index];
    const number = runNumber(one.runId);
    return html`<div key=${one.runId} role="listitem" style=${style}><a class="row" aria-current=${index === selected ? "true" : undefined} href=${href(project.id, "runs", number)} data-row="run"><${RunRow} run=${one} /></a></div>`;
  };
  return html`<div class=${`master ${run ? "has-detail" : ""}`}>
    <aside class="list-pane" aria-label="Runs">
      ${run ? null : html`<h1 class="visually-hidden">Runs</h1>`}
      <div class="list-tools">
        <input class="filter" type="search" placeholder="Filter runs" aria-label="Filter runs" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
        <button type="button" class="chip" aria-pressed=${onlyFailed ? "true" : "false"} onClick=${() => setOnlyFailed(!onlyFailed)}>Not passed</button>
      </div>
      <p class="quiet list-count" role="status">${shown.length.toLocaleString()} ${shown.length === 1 ? "run" : "runs"}${all.length >= limit && limit < ALL_RUNS ? " loaded, more below" : ""}</p>
      ${shown.length === 0 ? html`<p class="quiet list-none">${onlyFailed && words.length === 0 ? "Every run passed." : `No run fits “${shownLine(filter)}”.`}</p>` : html`<${VirtualList} total=${shown.length} rowHeight=${RUN_ROW_HEIGHT} drawRow=${row} selected=${run ? selected : undefined} label="Runs, newest first" onNearEnd=${isOffline ? undefined : more} />`}
    </aside>
    <div class="detail-pane">${run ? html`<${Run} key=${run} project=${project} run=${run} previous=${previous} />` : html`<div class="detail-none quiet"><p>Choose a run. <kbd>j</kbd> and <kbd>k</kbd> go through them.</p></div>`}</div>
  </div>`;
}
