// Questions to the service. In a page that was exported, the answers are in the page and nothing is fetched.
import { createStore } from "./store.js";

const TOKEN_KEY = "proctor-token";
const ended = (message) => ({ kind: "ended", message, hint: "run `proctor open` to open the page anew" });

function embeddedAnswers() {
  const element = document.getElementById("proctor-answers");
  return element ? JSON.parse(element.textContent) : null;
}

export const answers = embeddedAnswers();
export const isOffline = answers !== null;

// Whether the page has a token: `opening`, `open`, `never` (it was opened without a ticket), `spent` (its
// ticket was used before, or is too old) or `ended`.
export const connection = createStore({ state: isOffline ? "open" : "opening", why: "" });

let token = isOffline ? null : sessionStorage.getItem(TOKEN_KEY);

// Forgets the token for good: whoever listens on this port from now on gets nothing.
export function forgetToken(why) {
  token = null;
  sessionStorage.removeItem(TOKEN_KEY);
  if (connection.get().state !== "ended") connection.set({ state: "ended", why });
}

// Takes the ticket out of the address, and a token for it.
export async function openWithTicket() {
  if (isOffline) return;
  const handed = /^#ticket=([^&]*)(?:&to=(.*))?$/.exec(location.hash);
  if (handed) {
    const to = handed[2] ? decodeURIComponent(handed[2]) : "/";
    history.replaceState(null, "", `${location.pathname}#${to.startsWith("/") ? to : "/"}`);
    try {
      const answer = await fetch("/ticket", { headers: { authorization: `Ticket ${handed[1]}` }, cache: "no-store" });
      if (answer.ok) {
        token = (await answer.json()).token;
        sessionStorage.setItem(TOKEN_KEY, token);
      } else if (!token) {
        return connection.set({ state: "spent", why: "" });
      }
    } catch {
      return forgetToken("The service did not answer: it was ended or restarted.");
    }
  }
  connection.set({ state: token ? "open" : "never", why: "" });
}

// Asks with the token. Throws an error with `kind`, `message` and `hint`.
export async function request(path, headers = {}, signal = undefined) {
  if (!token) throw ended("The page has no access to the service any more.");
  let answer;
  try {
    answer = await fetch(path, { headers: { authorization: `Bearer ${token}`, ...headers }, cache: "no-store", signal });
  } catch (error) {
    if (signal && signal.aborted) throw error;
    forgetToken("The service does not answer any more: it was ended or restarted.");
    throw ended("The service does not answer any more.");
  }
  if (answer.ok) return answer;
  if (answer.status === 401) {
    forgetToken("The service was restarted, so this page's access has ended.");
    throw ended("The service was restarted.");
  }
  const told = await answer.json().then((body) => body.error, () => null);
  throw told ?? { kind: "unknown", message: `the service answered ${answer.status}`, hint: "" };
}

function embedded(path) {
  if (Object.hasOwn(answers, path)) return answers[path];
  throw { kind: "notExported", message: "This file does not hold that answer.", hint: "open the page of the service: `proctor open`" };
}

// Whether an exported page has an answer whose path begins so; true for every path where there is a service.
export function hasAnswer(start) {
  return !isOffline || Object.keys(answers).some((path) => path === start || path.startsWith(`${start}?`));
}

// The projects and runs that an exported page has answers of, as `{ project, run }`.
export function embeddedRuns() {
  const found = Object.keys(answers).map((path) => /^\/v1\/projects\/([^/?]+)\/runs\/([^/?]+)$/.exec(path)).filter((match) => match !== null);
  return found.map(([, project, run]) => ({ project: decodeURIComponent(project), run: decodeURIComponent(run) }));
}

// The list of projects of an exported page that has no answer of that route: what the runs say about them.
export function embeddedProjects() {
  const ids = [...new Set(embeddedRuns().map((one) => one.project))];
  const nameOf = (id) => Object.entries(answers).find(([path, answer]) => path.includes(`/${id}/`) && path.endsWith("/execution-report.json") && answer.project)?.[1].project.name;
  return ids.map((id) => ({ id, root: nameOf(id) ?? id, serving: "notServed", standing: null }));
}

// Returns the JSON answer of a route. An exported page takes any answer of the same path if the query is another.
export async function ask(path) {
  if (!isOffline) return (await request(path)).json();
  const start = path.split("?")[0];
  const key = Object.hasOwn(answers, path) ? path : Object.keys(answers).find((name) => name.split("?")[0] === start);
  return embedded(key ?? path);
}

// Returns a part of a file as bytes, with the file's whole length: `{ bytes, from, total }`.
export async function askRange(path, from, to) {
  if (isOffline) {
    const text = embedded(path);
    const whole = new TextEncoder().encode(typeof text === "string" ? text : JSON.stringify(text, null, 2));
    return { bytes: whole.slice(from, to), from, total: whole.length };
  }
  const answer = await request(path, { range: `bytes=${from}-${to - 1}` });
  const told = /^bytes (\d+)-\d+\/(\d+)$/.exec(answer.headers.get("content-range") ?? "");
  const taken = new Uint8Array(await answer.arrayBuffer());
  return { bytes: taken, from: told ? Number(told[1]) : 0, total: told ? Number(told[2]) : taken.length };
}
