// Compare: what differs between two runs.
import { html, useEffect, useState } from "./vendor/preact.js";
import { hasAnswer } from "./ask.js";
import { count, microseconds, runNumber } from "./format.js";
import { Mark, endOf, outcomeTone, resultOf } from "./marks.js";
import { CommandLine, Empty, Problem, Waiting, useAnswer } from "./parts.js";
import { go, href, replacePlace } from "./route.js";
import { Line, PathName } from "./text.js";

const CHOICES = 200;
const SHOWN_TESTS = 100;

export function Compare({ project, from, to }) {
  const base = `/v1/projects/${encodeURIComponent(project.id)}`;
  const list = useAnswer(hasAnswer(`${base}/runs`) ? `${base}/runs?limit=${CHOICES}` : null, project.id);
  const runs = list.data?.runs ?? [];
  useEffect(() => {
    if (from || runs.length < 2) return;
    const judged = runs.filter((run) => run.result !== null && run.result !== undefined);
    const newest = judged[0] ?? runs[0];
    const before = judged.slice(1).find((run) => run.task === newest.task) ?? runs[1];
    replacePlace(href(project.id, "compare", runNumber(before.runId), runNumber(newest.runId)));
  }, [from, runs.length]);
  const { data, problem } = useAnswer(from && to ? `${base}/compare?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}` : null, "");
  if (list.data && runs.length < 2 && !from) return html`<${Empty} isPage=${true} title="Two runs are needed"><p>After a second run, this page says what differs between them.</p><${CommandLine} of="proctor run" /><//>`;
  return html`<div class="page">
    <div class="title-line"><h1>Compare</h1></div>
    ${from && to ? html`<div class="compare-head"><${RunChoice} label="Earlier run" value=${from} runs=${runs} choose=${(number) => go(href(project.id, "compare", number, to))} /><span class="arrow" aria-hidden="true">→</span><${RunChoice} label="Later run" value=${to} runs=${runs} choose=${(number) => go(href(project.id, "compare", from, number))} /><button type="button" class="button small" onClick=${() => go(href(project.id, "compare", to, from))}>Swap</button></div>` : null}
    ${problem ? html`<${Problem} of=${problem} />` : null}
    ${data ? html`<${Differences} comparison=${data.comparison} project=${project.id} />` : problem ? null : html`<${Waiting} what="the two runs" />`}
  </div>`;
}

// A field for a run's number; the last runs are offered.
function RunChoice({ label, value, runs, choose }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const id = label.replace(/ /g, "-").toLowerCase();
  const run = runs.find((one) => runNumber(one.runId) === value || one.runId === value);
  const end = run ? endOf(run) : null;
  const take = () => { const wanted = text.trim(); if (wanted !== "" && wanted !== value) choose(wanted); };
  return html`<div class="run-choice"><label for=${id}>${label}</label><div class="run-choice-line">${end ? html`<${Mark} tone=${end.tone} />` : null}<input id=${id} list=${`${id}-list`} inputmode="numeric" autocomplete="off" value=${text} onInput=${(event) => setText(event.target.value)} onChange=${take} onKeyDown=${(event) => { if (event.key === "Enter") take(); }} /><span class="quiet">${end ? end.word : ""}</span></div>
    <datalist id=${`${id}-list`}>${runs.slice(0, 50).map((one) => html`<option value=${runNumber(one.runId)}>${endOf(one).word}</option>`)}</datalist></div>`;
}

function Outcome({ of }) {
  return html`<span class="outcome"><${Mark} tone=${of ? outcomeTone(of) : "none"} size=${13} /> ${of ?? "not there"}</span>`;
}

function TestsOf({ title, tests, project, empty }) {
  const [isWhole, showWhole] = useState(false);
  if (tests.length === 0) return empty ? html`<section aria-label=${title}><div class="section-head"><h2>${title}</h2></div><p class="quiet">${empty}</p></section>` : null;
  const shown = isWhole ? tests : tests.slice(0, SHOWN_TESTS);
  return html`<section aria-label=${title}><div class="section-head"><h2>${title}</h2><span class="quiet">${tests.length}</span></div><ul class="rows">${shown.map((one) => html`<li key=${one.test.key}><a class="row compared" href=${href(project, "tests", one.test.key)} data-row="test"><span class="row-name"><${PathName} of=${one.test.id} />${one.message ? html`<span class="quiet compared-message"><${Line} of=${one.message} /></span>` : null}</span><span class="row-word"><${Outcome} of=${one.from} /> <span aria-hidden="true">→</span><span class="visually-hidden">then</span> <${Outcome} of=${one.to} /></span></a></li>`)}</ul>${shown.length < tests.length ? html`<button type="button" class="button" onClick=${() => showWhole(true)}>Show ${tests.length - shown.length} more</button>` : null}</section>`;
}

function Differences({ comparison, project }) {
  const { newlyFailing, mended, changed, gone, slower, checks, changedFiles, notCompared } = comparison;
  const come = comparison.new;
  const isSame = [newlyFailing, mended, changed, gone, come, slower, checks].every((list) => list.length === 0);
  const tone = newlyFailing.length > 0 ? "failed" : mended.length > 0 ? "passed" : "none";
  const words = newlyFailing.length > 0 ? `${count(newlyFailing.length, "test")} newly ${newlyFailing.length === 1 ? "fails" : "fail"}` : mended.length > 0 ? `${count(mended.length, "test")} mended, none newly fails` : isSame ? "No difference" : "No test newly fails";
  return html`<section class=${`hero edge-${tone}`} aria-label="What differs"><div class="hero-mark"><${Mark} tone=${tone} size=${36} /></div><div class="hero-text"><h2 class="hero-title">${words}</h2>
      <ul class="facts"><li>${comparison.equalTrees === true ? html`<strong class=${newlyFailing.length + mended.length > 0 ? "tone-flaky" : ""}>on equal trees</strong>` : comparison.equalTrees === false ? "on different trees" : "one of the trees is not known"}</li><li>${newlyFailing.length} newly failing</li><li>${mended.length} mended</li>${slower.length > 0 ? html`<li>${slower.length} slower</li>` : null}<li>${come.length} new, ${gone.length} gone</li></ul>
      ${notCompared.length > 0 ? html`<p class="warn">Not every test was compared of: ${notCompared.map((name) => html`<${Line} of=${name} /> `)}</p>` : null}</div></section>
    <${TestsOf} title="Newly failing" tests=${newlyFailing} project=${project} />
    ${checks.length > 0 ? html`<section aria-label="Checks with another result"><div class="section-head"><h2>Checks</h2></div><ul class="rows">${checks.map((one) => { const [before, after] = [one.before, one.after].map((status) => (status ? resultOf({ status }) : { tone: "none", word: "not there" })); return html`<li class="row" key=${one.check}><span class="row-name"><${Line} of=${one.check} /></span><span class="row-word"><span class="outcome"><${Mark} tone=${before.tone} size=${13} /> ${before.word}</span> → <span class="outcome"><${Mark} tone=${after.tone} size=${13} /> ${after.word}</span></span></li>`; })}</ul></section>` : null}
    <${TestsOf} title="Mended" tests=${mended} project=${project} />
    <${TestsOf} title="Ended in another way" tests=${changed} project=${project} />
    ${slower.length > 0 ? html`<section aria-label="Slower"><div class="section-head"><h2>Slower</h2></div><ul class="rows">${slower.map((one) => html`<li key=${one.test.key}><a class="row" href=${href(project, "tests", one.test.key)} data-row="test"><span class="row-name"><${PathName} of=${one.test.id} /></span><span class="row-word">${microseconds(one.beforeUs)} → ${microseconds(one.nowUs)}</span></a></li>`)}</ul></section>` : null}
    <${TestsOf} title="New" tests=${come} project=${project} />
    <${TestsOf} title="Gone" tests=${gone} project=${project} />
    ${changedFiles.length > 0 ? html`<section aria-label="Files that differ"><div class="section-head"><h2>Files that differ</h2></div><ul class="plain">${changedFiles.map((file) => html`<li>${file.before ? (file.after ? "changed" : "removed") : "added"} <${PathName} of=${file.path} /></li>`)}</ul></section>` : null}
    ${comparison.areAllFilesKnown || comparison.equalTrees === true ? null : html`<p class="quiet">Other files may differ: the runs do not name them all.</p>`}`;
}
