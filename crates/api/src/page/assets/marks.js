// Words and shapes of states. A state is always told by a shape and a word; colour only helps.
import { html } from "./vendor/preact.js";

// The drawing of each shape in a square of 16 units; `currentColor` is the colour of its tone.
const SHAPES = {
  passed: () => html`<circle cx="8" cy="8" r="7" fill="currentColor" /><path d="M4.8 8.3l2.2 2.2 4.2-4.7" class="cut" />`,
  failed: () => html`<path d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" fill="currentColor" /><path d="M5.5 5.5l5 5m0-5l-5 5" class="cut" />`,
  flaky: () => html`<path d="M8 1l7 7-7 7-7-7z" fill="currentColor" /><path d="M4.6 8.6c1.1-1.5 2.2-1.5 3.4-.4s2.3 1.1 3.4-.4" class="cut" />`,
  skipped: () => html`<circle cx="8" cy="8" r="6.2" class="line" /><path d="M5 8h6" class="line" />`,
  running: () => html`<circle cx="8" cy="8" r="6.2" class="line faint" /><path d="M8 1.8a6.2 6.2 0 0 1 6.2 6.2" class="line turning" />`,
  queued: () => html`<circle cx="3" cy="8" r="1.7" fill="currentColor" /><circle cx="8" cy="8" r="1.7" fill="currentColor" /><circle cx="13" cy="8" r="1.7" fill="currentColor" />`,
  stale: () => html`<circle cx="8" cy="8" r="6.2" class="line dashed" /><path d="M8 4.8V8l2.2 1.6" class="line" />`,
  attention: () => html`<path d="M8 1.2l7.2 13.3H.8z" fill="currentColor" /><path d="M8 6v3.8M8 12v.4" class="cut" />`,
  none: () => html`<circle cx="8" cy="8" r="6.2" class="line dashed" />`,
};

export function Mark({ tone, size = 16 }) {
  return html`<svg class=${`mark tone-${tone}`} width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true">${(SHAPES[tone] ?? SHAPES.none)()}</svg>`;
}

// How a task stands, by its state in the answers: the tone, the word, and what it means.
const TASK_STATES = {
  running: ["running", "Running", "The checks run now."],
  queued: ["queued", "Queued", "The run waits for its turn on this machine."],
  stale: ["stale", "Out of date", "The last verdict is for something else than what is there now."],
  moved: ["attention", "No verdict: the tree moved", "Files changed while they were tested."],
  unstable: ["attention", "No verdict: files keep changing", "The same files changed again when the run was repeated."],
  needsHuman: ["attention", "A person is needed", "The task waits until a person decides where it goes."],
  notApproved: ["attention", "Not approved", "The checks ask for less than was approved. `proctor approve` shows what."],
  rootMissing: ["attention", "The directory is missing", "The project's directory does not exist."],
  configurationWrong: ["attention", "The configuration is wrong", "Nothing is run until proctor.toml is mended."],
  specificationWrong: ["attention", "The specification is wrong", "Nothing is run until the test specification is mended."],
  noVerdict: ["none", "No verdict yet", "No run has given one. Save a file, or run `proctor run`."],
};

// Why a verdict is out of date.
const STALE_REASONS = {
  tree: "Files changed since it was given.",
  digestVersion: "It was given by an older version, whose tree digest cannot be compared.",
  plan: "The plan changed: its checks, commands, time limits or policies.",
  treeAndPlan: "Files and the plan changed since it was given.",
  taskGone: "The configuration does not have this task any more.",
  checks: "The run does not cover every check on this tree, or later results contradict it.",
};

export function standingOf(task) {
  if (!task) return { tone: "none", word: "No verdict yet", says: TASK_STATES.noVerdict[2] };
  if (task.state === "fresh") {
    const isPassed = task.result === "PASSED";
    return { tone: isPassed ? "passed" : "failed", word: isPassed ? "Passed" : "Failed", says: "For the tree exactly as it is now." };
  }
  const [tone, word, says] = TASK_STATES[task.state] ?? ["none", String(task.state), ""];
  return { tone, word, says: STALE_REASONS[task.outdated] ?? says };
}

// The result of an action of a report, or of an event.
const RESULTS = {
  SUCCESS: ["passed", "passed"],
  TEST_FAILURE: ["failed", "tests failed"],
  VALIDATION_FAILURE: ["failed", "findings"],
  EXECUTION_ERROR: ["failed", "could not be carried out"],
  TIMEOUT: ["failed", "over a limit"],
  PREREQUISITE_FAILURE: ["failed", "prerequisite failed"],
  SPECIFICATION_ERROR: ["failed", "specification wrong"],
  SKIPPED: ["skipped", "skipped"],
};

export function resultOf(action) {
  const [tone, word] = RESULTS[action.status ?? "SKIPPED"] ?? ["none", String(action.status)];
  if (action.blocking === false && tone === "failed") return { tone: "attention", word: `${word}, allowed` };
  if (action.flaky) return { tone: "flaky", word: "flaky" };
  return { tone, word: action.disposition === "REUSED" ? `${word}, reused` : word };
}

// How a run of a list ended.
export function endOf(run) {
  if (run.result === "PASSED") return { tone: "passed", word: "Passed" };
  if (run.result === "FAILED") return run.flaky ? { tone: "flaky", word: "Failed, flaky" } : { tone: "failed", word: "Failed" };
  const words = { MOVED: "No verdict: moved", INTERRUPTED: "Interrupted", SPECIFICATION_ERROR: "Specification wrong" };
  return { tone: "none", word: words[run.status] ?? "No verdict" };
}

const OUTCOMES = { passed: "passed", failed: "failed", error: "failed", skipped: "skipped" };

export function outcomeTone(outcome) {
  return OUTCOMES[outcome] ?? "none";
}

// What started a run, as the end of a sentence.
const TRIGGERS = {
  request: "asked for by a command or key",
  start: "started by `proctor watch`",
  save: "started by a save",
  moved: "repeated, because the tree moved",
  wait: "started by a command that waits for a verdict",
};

export function triggerWords(kind) {
  return TRIGGERS[kind] ?? String(kind ?? "not known");
}

// What a run that was not judged came to, by the outcome in its event.
const OUTCOME_WORDS = {
  moved: "The tree moved during the run, so there is no verdict.",
  interrupted: "The run was stopped.",
  superseded: "A newer save stopped the run.",
  unchanged: "Nothing was run: the tree is the one that was judged last.",
  untriggered: "Nothing was run: no check is triggered by the files that changed.",
  needsHuman: "Nothing was run: a person decides where the task goes.",
  waits: "Nothing was run: the task waits for others that are not complete on this tree.",
  notApproved: "Nothing was run: the plan asks for less than was approved.",
  configurationWrong: "Nothing was run: the configuration is wrong.",
  failed: "The run could not be made.",
};

export function outcomeWords(outcome) {
  return OUTCOME_WORDS[outcome] ?? null;
}
