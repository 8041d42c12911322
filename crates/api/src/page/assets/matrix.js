// The matrix: a row for each test, a column for each run, drawn on a canvas of which only the rows in sight are painted.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { count, runNumber } from "./format.js";
import { endOf } from "./marks.js";
import { Time, VirtualList } from "./parts.js";
import { go, href } from "./route.js";
import { PathName, shownLine } from "./text.js";

const MATRIX_ROW_HEIGHT = 26;
const CELL_WORDS = { p: "passed", f: "failed", e: "error", s: "skipped", x: "passed and failed", ".": "not in the run" };
const TABLE_ROWS = 50;
// Of a column with the space beside it, in pixels.
const WIDEST_STEP = 18;

// Paints one cell into the box (x, y, width, height). Every letter has a shape of its own.
function paintCell(context, letter, box, colours) {
  const { x, y, width, height } = box;
  const full = height - 6;
  if (letter === "p") {
    context.fillStyle = colours.passed;
    context.fillRect(x, y + 3 + full * 0.6, width, full * 0.4);
  } else if (letter === "f" || letter === "e") {
    context.fillStyle = colours.failed;
    context.fillRect(x, y + 3, width, full);
    if (letter === "e") {
      context.fillStyle = colours.ground;
      context.fillRect(x + width * 0.3, y + 3, width * 0.4, full * 0.45);
    }
  } else if (letter === "x") {
    context.fillStyle = colours.failed;
    context.fillRect(x, y + 3, width * 0.5, full);
    context.fillStyle = colours.flaky;
    context.fillRect(x + width * 0.5, y + 3 + full * 0.5, width * 0.5, full * 0.5);
  } else if (letter === "s") {
    context.fillStyle = colours.skipped;
    context.fillRect(x, y + height / 2 - 1, width, 2);
  } else {
    context.fillStyle = colours.absent;
    context.fillRect(x + width / 2 - 1, y + height / 2 - 1, 2, 2);
  }
}

function coloursOf(element) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  return { passed: colour("--cell-passed"), failed: colour("--cell-failed"), flaky: colour("--flaky"), skipped: colour("--skipped"), absent: colour("--line-strong"), ground: colour("--surface"), mark: colour("--hover") };
}

function summary(test) {
  const all = [...test.cells];
  const counted = Object.entries(CELL_WORDS).map(([letter, word]) => [all.filter((cell) => cell === letter).length, word]).filter(([number, word]) => number > 0 && word !== "not in the run");
  return `${counted.map(([number, word]) => `${number} ${word}`).join(", ")}${test.flipsOnEqualTrees > 0 ? `; flips on ${count(test.flipsOnEqualTrees, "equal tree")}` : ""}`;
}

export function statusNow(test) {
  // A test that the newest lists do not have neither fails nor passes now.
  if (test.runsWithoutIt > 0) return { letter: ".", word: `not in the last ${count(test.runsWithoutIt, "run")}`, tone: "none" };
  const letter = [...test.cells].find((cell) => cell !== ".") ?? ".";
  return { letter, word: CELL_WORDS[letter] ?? letter, tone: { p: "passed", f: "failed", e: "failed", s: "skipped", x: "flaky" }[letter] ?? "none" };
}

export function Matrix({ tests, runs, project, selected }) {
  const canvas = useRef(null);
  const scroller = useRef(null);
  const [pointed, point] = useState(null);
  const theme = document.documentElement.dataset.theme ?? "";
  const place = useRef({ left: 0, step: 8, cell: 6 });
  const paint = useCallback(() => {
    const element = canvas.current;
    const box = scroller.current;
    if (!element || !box) return;
    const width = element.clientWidth;
    const height = box.clientHeight;
    const scale = window.devicePixelRatio || 1;
    if (element.width !== Math.round(width * scale) || element.height !== Math.round(height * scale)) {
      element.width = Math.round(width * scale);
      element.height = Math.round(height * scale);
      element.style.height = `${height}px`;
    }
    const context = element.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const colours = coloursOf(element);
    const columns = Math.max(1, runs.length);
    const step = Math.max(3, Math.min(WIDEST_STEP, Math.floor(width / columns)));
    const cell = Math.max(2, step - (step > 5 ? 2 : 1));
    place.current = { step, cell, shown: Math.min(columns, Math.floor(width / step)) };
    const first = Math.floor(box.scrollTop / MATRIX_ROW_HEIGHT);
    const last = Math.min(tests.length, Math.ceil((box.scrollTop + height) / MATRIX_ROW_HEIGHT));
    for (let row = first; row < last; row += 1) {
      const y = row * MATRIX_ROW_HEIGHT - box.scrollTop;
      const { cells } = tests[row];
      // The newest run is on the right, as on every other time line.
      for (let column = 0; column < place.current.shown; column += 1) {
        paintCell(context, cells[column] ?? ".", { x: width - (column + 1) * step + (step - cell), y, width: cell, height: MATRIX_ROW_HEIGHT }, colours);
      }
    }
  }, [tests, runs, theme]);
  const onScroll = useCallback((box) => { scroller.current = box; paint(); }, [paint]);
  useLayoutEffect(paint, [paint]);
  useEffect(() => {
    const again = () => paint();
    addEventListener("resize", again);
    addEventListener("themechange", again);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    return () => { removeEventListener("resize", again); removeEventListener("themechange", again); dark.removeEventListener("change", again); };
  }, [paint]);
  const found = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const column = Math.floor((box.right - event.clientX) / place.current.step);
    const row = Math.floor((event.clientY - box.top + scroller.current.scrollTop) / MATRIX_ROW_HEIGHT);
    const test = tests[row];
    const run = runs[column];
    return test && run && event.clientX >= box.left ? { test, run, letter: test.cells[column] ?? "." } : null;
  };
  const drawRow = (index, style) => {
    const test = tests[index];
    const now = statusNow(test);
    return html`<div key=${test.test.key} role="listitem" style=${style}><a class="matrix-row" aria-current=${index === selected ? "true" : undefined} href=${href(project, "tests", test.test.key)} data-row="test">
      <span class="matrix-name"><${PathName} of=${test.test.id} /></span>
      <span class=${`matrix-flips ${test.flipsOnEqualTrees > 0 ? "tone-flaky" : "quiet"}`}>${test.flipsOnEqualTrees > 0 ? count(test.flipsOnEqualTrees, "flip") : ""}</span>
      <span class=${`matrix-age ${now.tone === "failed" ? "tone-failed" : "quiet"}`}><span class="visually-hidden">${now.word} </span>${test.runsWithoutIt > 0 ? html`<span title=${now.word} aria-hidden="true">gone</span>` : test.since ? html`<${Time} at=${test.since} />` : ""}</span>
      <span class="visually-hidden">${summary(test)}</span>
    </a></div>`;
  };
  return html`<div class="matrix" style=${{ "--cells": `${runs.length * WIDEST_STEP}px` }}>
    <div class="matrix-head" aria-hidden="true"><span class="matrix-name">test</span><span class="matrix-flips">flips</span><span class="matrix-age">since</span><span class="matrix-runs">newest run right</span></div>
    <${VirtualList} total=${tests.length} rowHeight=${MATRIX_ROW_HEIGHT} drawRow=${drawRow} selected=${selected} label="Tests, those that flip first" onScroll=${onScroll} className="matrix-list">
      <div class="matrix-canvas"><canvas ref=${canvas} aria-hidden="true" onMouseMove=${(event) => point(found(event))} onMouseLeave=${() => point(null)} onClick=${(event) => { const at = found(event); if (at) go(href(project, "runs", runNumber(at.run.runId))); }}></canvas></div>
    <//>
    <p class="matrix-told quiet" aria-hidden="true">${pointed ? `${shownLine(pointed.test.test.id)} · run ${runNumber(pointed.run.runId)}: ${CELL_WORDS[pointed.letter] ?? pointed.letter}` : "Point at a cell to read it; a click opens its run."}</p>
  </div>`;
}

// The same as a table, a page of rows at a time.
export function MatrixTable({ tests, runs, project }) {
  const [page, turn] = useState(0);
  const pages = Math.max(1, Math.ceil(tests.length / TABLE_ROWS));
  const at = Math.min(page, pages - 1);
  const shown = tests.slice(at * TABLE_ROWS, (at + 1) * TABLE_ROWS);
  return html`<div class="table-frame">
    <div class="table-tools"><button type="button" class="button small" disabled=${at === 0} onClick=${() => turn(at - 1)}>Previous tests</button> <span role="status">page ${at + 1} of ${pages}</span> <button type="button" class="button small" disabled=${at === pages - 1} onClick=${() => turn(at + 1)}>Next tests</button></div>
    <div class="table-scroll" tabindex="0" role="region" aria-label="Tests and runs"><table class="matrix-table">
      <thead><tr><th scope="col">Test</th><th scope="col">Flips</th><th scope="col">Since</th>${runs.map((run) => html`<th scope="col" key=${run.runId}><a href=${href(project, "runs", runNumber(run.runId))} title=${endOf(run).word}>${runNumber(run.runId)}</a></th>`)}</tr></thead>
      <tbody>${shown.map((test) => html`<tr key=${test.test.key}><th scope="row"><a href=${href(project, "tests", test.test.key)}><${PathName} of=${test.test.id} /></a></th><td>${test.flipsOnEqualTrees}</td><td>${test.runsWithoutIt > 0 ? statusNow(test).word : test.since ? html`<${Time} at=${test.since} />` : "–"}</td>${[...test.cells].map((cell) => html`<td class=${`cell-${cell === "." ? "absent" : cell}`}>${cell === "." ? "–" : CELL_WORDS[cell] ?? cell}</td>`)}</tr>`)}</tbody>
    </table></div>
  </div>`;
}
