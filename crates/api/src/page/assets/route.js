// The part of the address behind `#`: which view of which project is shown.
import { runNumber } from "./format.js";
import { createStore } from "./store.js";

// The places that a link can name. `:` begins a part that is taken as it is.
const PLACES = [
  ["new", "/new"],
  ["now", "/projects/:project"],
  ["now", "/projects/:project/now"],
  ["runs", "/projects/:project/runs"],
  ["runs", "/projects/:project/runs/:run"],
  ["tests", "/projects/:project/tests"],
  ["past", "/projects/:project/tests/:test"],
  ["trends", "/projects/:project/trends"],
  ["compare", "/projects/:project/compare"],
  ["compare", "/projects/:project/compare/:from/:to"],
];

export function parsePlace(hash) {
  const [path] = hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "").map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  if (parts.length === 0) return { view: "overview" };
  for (const [view, pattern] of PLACES) {
    const wanted = pattern.split("/").slice(1);
    if (wanted.length !== parts.length) continue;
    const place = { view };
    const fits = wanted.every((part, index) => {
      if (!part.startsWith(":")) return part === parts[index];
      place[part.slice(1)] = parts[index];
      return true;
    });
    // A run is known by its number, also where a link names its whole id.
    for (const key of ["run", "from", "to"]) if (place[key]) place[key] = runNumber(place[key]);
    if (fits) return place;
  }
  return { view: "unknown", path };
}

export const place = createStore({ view: "overview" });

export function followAddress() {
  const read = () => place.set(parsePlace(location.hash));
  addEventListener("hashchange", read);
  read();
}

export function href(project, ...parts) {
  return `#/${["projects", project, ...parts].map(encodeURIComponent).join("/")}`;
}

export function go(address) {
  if (location.hash !== address) location.hash = address;
}

// Changes the address without a new entry in the browser's history: for moves from one row to the next.
export function replacePlace(address) {
  history.replaceState(null, "", address);
  place.set(parsePlace(address));
}
