// What goes on now: the states of all projects, and the events of the service as they come.
import { ask, connection, embeddedProjects, forgetToken, hasAnswer, isOffline, request } from "./ask.js";
import { runStart } from "./format.js";
import { createStore } from "./store.js";

// `projects`: the listed projects, null before the first answer. `running`: the run under way of a project. `saved`: when a save was heard
// that no run has answered yet. `versions`: a number for each project that grows when its answers may have changed.
export const live = createStore({ projects: null, editor: "", statuses: {}, running: {}, saved: {}, last: {}, versions: {}, problem: null, stream: "closed", service: null });

function change(part) {
  live.set({ ...live.get(), ...part });
}

function setOf(map, project, value) {
  const next = { ...live.get()[map] };
  if (value === undefined) delete next[project];
  else next[project] = value;
  change({ [map]: next });
}

function grow(project) {
  setOf("versions", project, (live.get().versions[project] ?? 0) + 1);
}

let refreshing = null;
let again = false;

// The projects whose state is another one than before. Their answers may have changed.
export function changedProjects(before, after) {
  const told = (state, id) => JSON.stringify([state.statuses[id] ?? null, (state.projects ?? []).find((project) => project.id === id) ?? null]);
  return (after.projects ?? []).map((project) => project.id).filter((id) => told(before, id) !== told(after, id));
}

// Asks how all projects stand. Questions that come while one is under way become one further question.
export function refresh() {
  if (refreshing) {
    again = true;
    return refreshing;
  }
  refreshing = (async () => {
    do {
      again = false;
      try {
        const [listed, standing] = await Promise.all([hasAnswer("/v1/projects") ? ask("/v1/projects") : { projects: embeddedProjects() }, hasAnswer("/v1/status") ? ask("/v1/status") : { projects: [] }]);
        const statuses = Object.fromEntries(standing.projects.filter((project) => project.id).map((project) => [project.id, project]));
        change({ projects: listed.projects, editor: listed.editor ?? "", statuses, service: standing.service ?? null, problem: null });
      } catch (problem) {
        change({ problem });
      }
    } while (again);
    refreshing = null;
  })();
  return refreshing;
}

// A save that starts no run must not be shown for ever: after this time the service is asked how the project stands.
const SAVE_PATIENCE = 1500;

async function settleSave(project, heard) {
  if (live.get().saved[project] !== heard || live.get().running[project]) return;
  await refresh();
  if (live.get().saved[project] === heard) setOf("saved", project, undefined);
}

// The run goes from the screen when its verdict is there: the one before is not for the tree as it is now.
async function endRun(project) {
  const over = live.get().running[project];
  grow(project);
  await refresh();
  if (live.get().running[project] === over) setOf("running", project, undefined);
}

const SHOWN_FAILURES = 20;
const SHOWN_ENDED = 4;

// Of the tests that have ended, those that failed are shown, and the last other ones.
function testsToShow(tests) {
  const failed = tests.filter((test) => test.outcome === "failed" || test.outcome === "error").slice(0, SHOWN_FAILURES);
  return [...failed, ...tests.filter((test) => !failed.includes(test)).slice(-SHOWN_ENDED)];
}

// A page that is opened during a run is sent at once what happened in it before; when an action began is not told then.
const LATE_START = 2000;
const SENT_AT_ONCE = 500;

function startOfAction(running) {
  const now = Date.now();
  return running.heard - running.since > LATE_START && now - running.heard < SENT_AT_ONCE ? null : now;
}

function take(event) {
  const { kind, project } = event;
  const state = live.get();
  if (kind === "changed") {
    const heard = Date.now();
    setOf("saved", project, heard);
    setTimeout(() => settleSave(project, heard), SAVE_PATIENCE);
  } else if (kind === "runStarted") {
    setOf("saved", project, undefined);
    setOf("running", project, { task: event.task, trigger: event.trigger, since: runStart(event.runId) ?? Date.now(), heard: Date.now(), actions: [] });
  } else if (kind === "actionStarted" || kind === "actionEnded") {
    const running = state.running[project] ?? { task: null, trigger: null, since: null, actions: [] };
    const others = running.actions.filter((action) => action.id !== event.actionId);
    const known = running.actions.find((action) => action.id === event.actionId);
    const action = { id: event.actionId, name: event.name, since: known ? known.since : startOfAction(running), ended: null, status: null, progress: null, tests: [] };
    if (kind === "actionEnded") Object.assign(action, { since: known ? known.since : null, ended: Date.now(), status: event.status ?? "SKIPPED", progress: known?.progress ?? null, tests: known?.tests ?? [] });
    const index = known ? running.actions.indexOf(known) : others.length;
    setOf("running", project, { ...running, actions: [...others.slice(0, index), action, ...others.slice(index)] });
  } else if (kind === "actionProgress") {
    const running = state.running[project] ?? { task: null, trigger: null, since: null, actions: [] };
    const known = running.actions.find((action) => action.id === event.actionId) ?? { id: event.actionId, name: event.name, since: null, ended: null, status: null, tests: [] };
    const action = { ...known, progress: event.progress, tests: testsToShow([...known.tests, ...event.ended]) };
    const isNew = !running.actions.some((one) => one.id === event.actionId);
    setOf("running", project, { ...running, actions: isNew ? [...running.actions, action] : running.actions.map((one) => (one.id === event.actionId ? action : one)) });
  } else if (kind === "runFinished") {
    setOf("saved", project, undefined);
    setOf("last", project, { outcome: event.outcome, task: event.task, runId: event.runId, at: Date.now() });
    endRun(project);
  } else if (kind === "health" || kind === "added" || kind === "removed") {
    refresh();
  } else if (kind === "missed") {
    for (const known of state.projects ?? []) grow(known.id);
    change({ running: {}, saved: {} });
    refresh();
  } else if (kind === "end" && event.reason === "stopping") {
    forgetToken("The service was ended.");
  }
}

// Reads server-sent events from a stream of bytes. Returns the id of the last one.
async function readEvents(body, lastId, see) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let id = lastId;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return id;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
      const named = lines.find((line) => line.startsWith("id:"));
      if (named) id = named.slice(3).trim();
      if (data) see(JSON.parse(data), id);
    }
  }
}

const LONGEST_PAUSE = 5000;
// A browser opens six connections to one server, for all tabs together. A stream keeps one for good, so only so many tabs have one.
const MOST_STREAMS = 3;
const STREAMLESS_INTERVAL = 3000;

// How often somebody looks whether there is a question to ask. A run that is over may be told while its process still keeps the project locked:
// the answer is "running" then, and no event follows.
const LOOK_INTERVAL = 500;
// A look at large projects takes its time. So many times as long as the last one took, nobody looks again.
const REST_AFTER_LOOK = 4;

// After how many milliseconds the projects are looked at again although no event came; null if events tell of everything. Without the service
// nobody watches the files, so no event tells of a save.
export function nextLook({ service, statuses, running }) {
  const isUnfollowed = Object.values(statuses).some((project) => !running[project.id] && project.tasks.some((task) => task.state === "running"));
  if (isUnfollowed) return LOOK_INTERVAL;
  return service === null ? STREAMLESS_INTERVAL : null;
}

async function lookAgain() {
  const before = live.get();
  await refresh();
  for (const project of changedProjects(before, live.get())) grow(project);
}

// Beside the stream: looks again where events do not tell of everything. A page that nobody sees asks nothing, and asks when it is seen again.
function lookBesideStream() {
  let asked = Date.now();
  let rest = 0;
  let isLooking = false;
  const look = async (isDueAtOnce) => {
    const pause = nextLook(live.get());
    if (pause === null || isLooking || document.hidden || live.get().stream !== "open") return;
    if (!isDueAtOnce && Date.now() - asked < Math.max(pause, rest)) return;
    isLooking = true;
    const begun = Date.now();
    await lookAgain();
    asked = Date.now();
    rest = REST_AFTER_LOOK * (asked - begun);
    isLooking = false;
  };
  const seen = () => look(true);
  document.addEventListener("visibilitychange", seen);
  const timer = setInterval(() => {
    if (connection.get().state === "open") return look(false);
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
  }, LOOK_INTERVAL);
}

// Keeps one of the browser's few streams while `act` goes on. Returns whether one was free. `locks` are shared by the tabs of one server.
export async function withStream(act, locks) {
  if (!locks) return act().then(() => true);
  for (let number = 0; number < MOST_STREAMS; number += 1) {
    const wasFree = await locks.request(`proctor-stream-${number}`, { ifAvailable: true }, async (lock) => {
      if (!lock) return false;
      await act();
      return true;
    });
    if (wasFree) return true;
  }
  return false;
}

// Follows what happens until the token is forgotten: by a stream of events, or by questions at intervals as long as other tabs have the streams.
export async function follow() {
  await refresh();
  if (isOffline) return;
  lookBesideStream();
  while (connection.get().state === "open" && !(await withStream(followEvents, navigator.locks))) {
    change({ stream: "intervals" });
    await new Promise((done) => setTimeout(done, STREAMLESS_INTERVAL));
    if (connection.get().state !== "open") return;
    await lookAgain();
  }
}

// A stream that breaks is asked for again, with the last event that was read.
async function followEvents() {
  let lastId = null;
  let pause = 100;
  while (connection.get().state === "open") {
    try {
      const answer = await request("/v1/events", lastId ? { "last-event-id": lastId } : {});
      if (!(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) return forgetToken("Another program answers in the place of the service.");
      change({ stream: "open" });
      // What happened between the first answer and the stream is in no event.
      refresh();
      lastId = await readEvents(answer.body, lastId, (event, id) => {
        lastId = id;
        pause = 100;
        take(event);
      });
    } catch (problem) {
      if (problem && problem.kind && problem.kind !== "ended") change({ problem });
    }
    change({ stream: "closed" });
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}
