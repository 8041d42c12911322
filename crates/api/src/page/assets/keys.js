// The keyboard: what each key does, in every view and in the view that is shown.
import { html, useEffect, useRef } from "./vendor/preact.js";
import { createStore, useStore } from "./store.js";

export const helpIsOpen = createStore(false);

// The keys as the help shows them.
const KEY_ROWS = [
  ["Everywhere", [["?", "this help"], ["g n", "Now"], ["g r", "Runs"], ["g t", "Tests"], ["g d", "Trends (durations)"], ["g c", "Compare"], ["g p", "all projects"], ["/", "filter"], ["d", "light or dark"], ["Esc", "close, or leave the filter"]]],
  ["Lists", [["j  k", "next, previous"], ["Enter", "open"], ["f", "only what failed"], ["G", "to the end"]]],
  ["A run", [["n", "next failure"], ["y", "copy the command that runs the failed test alone"], ["v", "verify the evidence"], ["c", "compare with the run before"]]],
];

const layers = [];

// Gives keys a meaning until the returned function is called. Later ones come before earlier ones.
export function setKeys(keys) {
  layers.push(keys);
  return () => layers.splice(layers.indexOf(keys), 1);
}

// Moves the focus along the rows of the view.
function moveFocus(selector, steps) {
  const rows = [...document.querySelectorAll(`main ${selector}`)].filter((row) => row.offsetParent !== null);
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement?.closest?.(selector));
  const next = rows[at < 0 ? (steps > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + steps))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function copyCommand() {
  const near = document.activeElement?.closest?.(".failure");
  const button = (near ?? document).querySelector(".failure .copy, .command .copy");
  if (button) button.click();
}

const COMMON_KEYS = {
  j: () => moveFocus("[data-row]", 1),
  k: () => moveFocus("[data-row]", -1),
  n: () => moveFocus(".failure", 1),
  N: () => moveFocus(".failure", -1),
  y: copyCommand,
  "/": () => document.querySelector("main .filter")?.focus(),
  "?": () => helpIsOpen.set(!helpIsOpen.get()),
};

// How long a `g` waits for the key behind it, in milliseconds.
const PREFIX_PATIENCE = 1500;
let prefix = null;
let prefixTimer = 0;

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field) {
    if (event.key === "Escape") {
      field.blur();
      event.preventDefault();
    }
    return;
  }
  if (document.querySelector("dialog[open]") && event.key !== "?") return;
  const key = prefix ? `${prefix} ${event.key}` : event.key;
  prefix = null;
  if (event.key === "g" && key === "g") {
    prefix = "g";
    clearTimeout(prefixTimer);
    prefixTimer = setTimeout(() => { prefix = null; }, PREFIX_PATIENCE);
    return;
  }
  const layer = [...layers].reverse().find((keys) => Object.hasOwn(keys, key));
  const act = layer ? layer[key] : COMMON_KEYS[key];
  if (!act) return;
  event.preventDefault();
  act();
}

export function followKeys() {
  addEventListener("keydown", pressed);
}

export function Help() {
  const isShown = useStore(helpIsOpen);
  const dialog = useRef(null);
  useEffect(() => {
    if (isShown && !dialog.current.open) dialog.current.showModal();
    if (!isShown && dialog.current.open) dialog.current.close();
  }, [isShown]);
  return html`<dialog class="help" ref=${dialog} aria-labelledby="help-title" onClose=${() => helpIsOpen.set(false)} onClick=${(event) => { if (event.target === dialog.current) helpIsOpen.set(false); }}>
    <div class="help-inside">
    <div class="section-head"><h2 id="help-title">Keys</h2><button type="button" class="button small" onClick=${() => helpIsOpen.set(false)}>Close</button></div>
    <div class="help-columns">${KEY_ROWS.map(([title, rows]) => html`<section><h3>${title}</h3><dl>${rows.map(([keys, what]) => html`<div><dt>${keys.split(" ").filter((key) => key !== "").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl></section>`)}</div>
    <h3>Shapes in the matrix</h3>
    <p class="quiet">A low bar passed, a full block failed, a block with a notch is an error, a thin line was skipped, a split block both passed and failed in one run, a dot was not in the run.</p>
    </div>
  </dialog>`;
}
