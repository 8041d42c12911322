// The page: its frame, and which view is in it.
import { html, render, useEffect, useLayoutEffect, useState } from "./vendor/preact.js";
import { connection, embeddedRuns, hasAnswer, isOffline, openWithTicket } from "./ask.js";
import { Compare } from "./compare.js";
import { Help, followKeys, helpIsOpen, setKeys } from "./keys.js";
import { follow, live } from "./live.js";
import { Mark } from "./marks.js";
import { NewProject, Now, Overview, VerdictSpeaker, headlineOf, projectName, worstTask } from "./now.js";
import { ConnectionBanner, Empty, Problem, Waiting } from "./parts.js";
import { followAddress, go, href, place, replacePlace } from "./route.js";
import { Runs } from "./runs.js";
import { useStore } from "./store.js";
import { Past, Tests } from "./tests.js";
import { Line, shownLine } from "./text.js";
import { Trends } from "./trends.js";

const THEME_KEY = "proctor-theme";
const THEMES = ["auto", "light", "dark"];
const THEME_WORDS = { auto: "as the system", light: "light", dark: "dark" };

// The views of a project: the word, the part of the address, the key behind `g`, and the answer that the view needs.
const VIEWS = [
  ["Now", "now", "n", "status"],
  ["Runs", "runs", "r", "runs"],
  ["Tests", "tests", "t", "matrix"],
  ["Trends", "trends", "d", "trends"],
  ["Compare", "compare", "c", "compare"],
];

// Where an exported page begins: at its first run.
function exportedStart() {
  const [first] = embeddedRuns();
  return first ? href(first.project, "runs", first.run) : null;
}

function isOffered(view, project) {
  if (!isOffline) return true;
  if (view === "status") return hasAnswer(`/v1/projects/${project}/verdict`) || hasAnswer("/v1/status");
  if (view === "runs" && embeddedRuns().some((one) => one.project === project)) return true;
  return hasAnswer(`/v1/projects/${project}/${view}`);
}

function readTheme() {
  try {
    const kept = localStorage.getItem(THEME_KEY);
    return THEMES.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}

function ThemeButton() {
  const [theme, setTheme] = useState(readTheme);
  const turn = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(next);
    applyTheme(next);
    try { localStorage.setItem(THEME_KEY, next); } catch { /* A page without storage keeps no choice. */ }
  };
  useLayoutEffect(() => setKeys({ d: turn }), [theme]);
  return html`<button type="button" class="icon-button" onClick=${turn} aria-label=${`Colours: ${THEME_WORDS[theme]}. Change`} title=${`Colours: ${THEME_WORDS[theme]}`}>
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><circle cx="9" cy="9" r="6.5" class="line" />${theme === "dark" ? html`<circle cx="9" cy="9" r="6.5" fill="currentColor" />` : theme === "auto" ? html`<path d="M9 2.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />` : null}</svg>
  </button>`;
}

function LiveSign() {
  const { state } = useStore(connection);
  const { stream, service } = useStore(live);
  if (isOffline) return html`<span class="live-sign is-off" title="This file holds answers from when it was made">exported</span>`;
  const isLive = state === "open" && stream === "open";
  const follows = service === null ? "Runs are shown as they are sealed, and files are looked at every few seconds: no service runs" : "The page follows the service";
  if (state === "open" && stream === "intervals") return html`<span class="live-sign" title="Other tabs follow the service; this one asks it every few seconds"><i aria-hidden="true"></i>every 3 s</span>`;
  return html`<span class=${`live-sign ${isLive ? "" : "is-off"}`} title=${isLive ? follows : "The page gets no news"}><i aria-hidden="true"></i>${isLive ? "live" : state === "open" ? "connecting" : "not connected"}</span>`;
}

function Top({ at, project, state }) {
  const projects = state.projects ?? [];
  return html`<header class="top">
    <a class="wordmark" href="#/" aria-label="proctor, all projects"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="M3 10.5l4.5 4.5L17 4.5" class="line thick" /></svg>proctor</a>
    ${project ? html`<span class="crumb"><span class="quiet" aria-hidden="true">/</span>${projects.length > 1 ? html`<select class="project-choice" aria-label="Project" value=${project.id} onChange=${(event) => go(href(event.target.value))}>${projects.map((one) => html`<option value=${one.id}>${shownLine(projectName(one))}</option>`)}</select>` : html`<strong><${Line} of=${projectName(project)} /></strong>`}</span>` : null}
    <span class="top-end"><${LiveSign} /><${ThemeButton} /><button type="button" class="icon-button" onClick=${() => helpIsOpen.set(true)} aria-label="Keys and help" title="Keys (?)"><b aria-hidden="true">?</b></button></span>
    ${project ? html`<nav class="tabs" aria-label="Views">${VIEWS.filter(([, , , needs]) => isOffered(needs, project.id)).map(([word, part]) => html`<a href=${part === "now" ? href(project.id) : href(project.id, part)} aria-current=${at.view === part || (part === "tests" && at.view === "past") ? "page" : undefined}>${part === "now" ? html`<${TabMark} state=${state} project=${project} />` : null}${word}</a>`)}</nav>` : null}
  </header>`;
}

function TabMark({ state, project }) {
  return html`<${Mark} tone=${headlineOf(state, project, worstTask(state, project)).tone} size=${13} />`;
}

function View({ at, project }) {
  if (at.view === "runs") return html`<${Runs} key=${project.id} project=${project} run=${at.run} />`;
  if (at.view === "tests") return html`<${Tests} key=${project.id} project=${project} />`;
  if (at.view === "past") return html`<${Past} key=${at.test} project=${project} test=${at.test} />`;
  if (at.view === "trends") return html`<${Trends} key=${project.id} project=${project} />`;
  if (at.view === "compare") return html`<${Compare} key=${project.id} project=${project} from=${at.from} to=${at.to} />`;
  return html`<${Now} key=${project.id} project=${project} />`;
}

const TITLES = { runs: "Runs", tests: "Tests", past: "Test", trends: "Trends", compare: "Compare" };

function Page() {
  const at = useStore(place);
  const state = useStore(live);
  const { state: open } = useStore(connection);
  const projects = state.projects;
  const project = at.project && projects ? projects.find((one) => one.id === at.project) : null;
  useEffect(() => {
    if (at.view === "overview" && projects && projects.length === 1 && !isOffline) replacePlace(href(projects[0].id));
    if (isOffline && (at.view === "overview" || (project && at.view === "now" && !isOffered("status", at.project)) || (project && at.view === "runs" && !at.run && !hasAnswer(`/v1/projects/${at.project}/runs`))) && exportedStart()) replacePlace(exportedStart());
  }, [at, projects, project]);
  useEffect(() => {
    if (!project) return undefined;
    return setKeys(Object.fromEntries([["g p", () => go("#/")], ...VIEWS.filter(([, , , needs]) => isOffered(needs, project.id)).map(([, part, key]) => [`g ${key}`, () => go(part === "now" ? href(project.id) : href(project.id, part))])]));
  }, [project?.id]);
  const word = project ? headlineOf(state, project, worstTask(state, project)).word : "";
  useEffect(() => {
    document.title = project ? `${at.view === "now" ? word : at.run ? `Run ${at.run}` : TITLES[at.view] ?? ""} · ${shownLine(projectName(project))} · proctor` : "proctor";
  }, [project, at, word]);
  let inside;
  if (at.view === "overview") inside = open === "never" || open === "spent" || open === "ended" && !projects ? null : html`<${Overview} />`;
  else if (at.view === "new") inside = isOffline || open !== "open" ? null : html`<${NewProject} />`;
  else if (at.view === "unknown") inside = html`<${Empty} isPage=${true} title="There is no such page"><p><a href="#/">All projects</a></p><//>`;
  else if (project) inside = html`<${View} at=${at} project=${project} />`;
  else if (!projects) inside = state.problem ? html`<${Problem} of=${state.problem} />` : open === "never" || open === "spent" || open === "ended" ? null : html`<${Waiting} what="the project" />`;
  else inside = html`<${Empty} isPage=${true} title="This project is not known"><p>No registered project has the id <${Line} of=${at.project} mono=${true} />. <a href="#/">All projects</a></p><//>`;
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>To the content</a>
    <${Top} at=${at} project=${project} state=${state} />
    <${ConnectionBanner} />
    <main id="main" tabindex="-1">${inside}</main>
    ${hasAnswer("/v1/status") ? html`<${VerdictSpeaker} project=${project} />` : null}
    <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
    <${Help} />`;
}

applyTheme(readTheme());
followKeys();
openWithTicket().then(() => {
  followAddress();
  render(html`<${Page} />`, document.getElementById("page"));
  if (connection.get().state === "open") follow();
});
