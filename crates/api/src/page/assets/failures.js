// What failed: made from the answer about a verdict, or from the report of any run.
import { html, useState } from "./vendor/preact.js";
import { EditorChoice, Place } from "./editor.js";
import { count, runNumber } from "./format.js";
import { Mark } from "./marks.js";
import { CommandLine, Excerpt, Time } from "./parts.js";
import { href } from "./route.js";
import { Line, Lines, PathName } from "./text.js";

const SHOWN_AT_FIRST = 5;
const OUTPUT_LINES = 12;

function actionsOf(report) {
  return [...report.prerequisiteExecution.results, ...report.stepExecution.results, ...report.cleanupExecution.results];
}

export function allActions(report) {
  const phases = [["prerequisite", report.prerequisiteExecution], ["check", report.stepExecution], ["clean-up", report.cleanupExecution]];
  return phases.flatMap(([phase, execution]) => execution.results.map((action) => ({ ...action, phase })));
}

// The last lines that an action printed, by its report.
function endOfOutput(result) {
  const lines = [result?.stdout, result?.stderr].filter(Boolean).join("\n").trimEnd().split("\n");
  return lines.length === 1 && lines[0] === "" ? [] : lines.slice(-OUTPUT_LINES);
}

// The failures of a report in the form of those of a verdict. `known` are failures of the verdict's answer, which know more.
export function failuresOf(report, known = []) {
  const found = [];
  for (const action of actionsOf(report)) {
    if (action.status === undefined || action.status === null || action.status === "SUCCESS") continue;
    const base = { check: action.name, actionId: action.actionId, blocking: action.blocking !== false };
    const before = found.length;
    for (const test of action.result?.testResults?.failures ?? []) {
      const more = known.find((failure) => failure.actionId === action.actionId && failure.test === test.testName) ?? {};
      found.push({
        ...base, kind: "test", test: test.testName, reportName: test.reportName, file: test.testFile ?? null, line: test.line ?? null, message: test.error ?? "",
        expected: test.expected ?? null, received: test.received ?? null, excerpt: (test.stack ?? "").split("\n").filter((line, index, all) => line !== "" || index < all.length - 1),
        rerun: more.rerun ?? null, since: more.since ?? null, flaky: more.flaky ?? false,
      });
    }
    const findings = Array.isArray(action.result?.diagnostics) ? action.result.diagnostics : [];
    for (const finding of findings.filter((one) => one.severity !== "warning" || one.blocking)) {
      found.push({ ...base, kind: "finding", test: null, file: finding.file ?? null, line: finding.line ?? null, column: finding.column ?? null, rule: finding.ruleId ?? finding.code ?? null, message: finding.message ?? "", excerpt: [], rerun: null, since: null, flaky: false });
    }
    if (found.length === before) {
      const more = known.find((failure) => failure.actionId === action.actionId && failure.kind === "action") ?? {};
      found.push({ ...base, kind: "action", test: null, file: null, line: null, message: action.classification?.reason ?? action.status, excerpt: more.excerpt?.length ? more.excerpt : endOfOutput(action.result), rerun: more.rerun ?? null, since: more.since ?? null, flaky: more.flaky ?? false });
    }
  }
  return found;
}

// Expected and received one below the other, where the tool named both.
function Difference({ expected, received }) {
  if (expected === null && received === null) return null;
  if (expected === undefined && received === undefined) return null;
  return html`<dl class="difference">
    <div class="expected"><dt>expected</dt><dd><pre tabindex="0" role="group" aria-label="expected"><${Lines} of=${expected ?? "not told"} /></pre></dd></div>
    <div class="received"><dt>received</dt><dd><pre tabindex="0" role="group" aria-label="received"><${Lines} of=${received ?? "not told"} /></pre></dd></div>
  </dl>`;
}

function Failure({ failure, project, next }) {
  const place = failure.file ? `${failure.file}${failure.line ? `:${failure.line}` : ""}` : null;
  return html`<article class="failure" tabindex="0" data-row="failure">
    <header>
      <${Mark} tone=${failure.flaky ? "flaky" : failure.blocking === false ? "attention" : "failed"} />
      <h3>${failure.test ? html`<${PathName} of=${failure.test} />` : failure.kind === "finding" && place ? html`<${PathName} of=${place} />` : html`<${Line} of=${failure.check} />`}</h3>
      ${failure.kind === "action" ? null : html`<span class="tag"><${Line} of=${failure.check} /></span>`}
      ${failure.rule ? html`<span class="tag mono"><${Line} of=${failure.rule} /></span>` : null}
      ${failure.flaky ? html`<span class="tag tone-flaky">flaky: passed on an equal tree</span>` : null}
    </header>
    <p class="failure-message" tabindex="0" role="group" aria-label="Message"><${Lines} of=${failure.message} /></p>
    ${failure.since ? html`<p class="quiet">Failing since <a href=${href(project, "runs", String(failure.since.run))}>run ${failure.since.run}</a>, <${Time} at=${failure.since.started} /> · ${failure.since.atLeast ? "at least " : ""}${count(failure.since.runs, "run")}</p>` : null}
    <${Difference} expected=${failure.expected} received=${failure.received} />
    ${failure.excerpt && failure.excerpt.length > 0 ? html`<${Excerpt} lines=${failure.excerpt} isOfTest=${failure.kind === "test"} />` : null}
    ${place ? html`<p><${Place} project=${project} failure=${failure} /></p>` : null}
    ${failure.rerun ? html`<${CommandLine} of=${failure.rerun} />` : null}
    ${next ? html`<p class="next"><${Line} of=${next.message} /></p>` : null}
  </article>`;
}

// `failures` in their order; `total` counts also those that are not listed.
export function Failures({ failures, total, next = [], project, runId, isBefore = false }) {
  const [isWhole, showWhole] = useState(false);
  if (failures.length === 0) return null;
  const shown = isWhole ? failures : failures.slice(0, SHOWN_AT_FIRST);
  const named = new Set();
  return html`<section class="failures" aria-label="What failed">
    <div class="section-head"><h2>${count(Math.max(total ?? 0, failures.length), "failure")}${isBefore ? " of the run before" : ""}</h2>${runId ? html`<a href=${href(project, "runs", runNumber(runId))}>run ${runNumber(runId)}</a>` : null}${failures.some((failure) => failure.file) ? html`<${EditorChoice} />` : null}</div>
    ${shown.map((failure) => {
      const step = named.has(failure.check) ? undefined : next.find((one) => one.actionId === failure.actionId);
      named.add(failure.check);
      return html`<${Failure} key=${`${failure.actionId} ${failure.test} ${failure.file} ${failure.line} ${failure.message}`} failure=${failure} project=${project} next=${step} />`;
    })}
    ${shown.length < failures.length ? html`<button type="button" class="button" onClick=${() => showWhole(true)}>Show ${failures.length - shown.length} more</button>` : null}
    ${isWhole && (total ?? 0) > failures.length ? html`<p class="quiet">The report lists ${failures.length} of ${total}.</p>` : null}
  </section>`;
}
