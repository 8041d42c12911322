// Charts of numbers over time. Each has the same numbers as a table for people who do not see it.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { uPlotLibrary } from "./vendor/uplot.js";
import { duration, shortTime } from "./format.js";

function chartColours(element) {
  const style = getComputedStyle(element);
  const colour = (name) => style.getPropertyValue(name).trim();
  return { text: colour("--quiet"), line: colour("--line"), passed: colour("--passed"), failed: colour("--failed"), skipped: colour("--skipped"), main: colour("--accent"), faint: colour("--accent-soft") };
}

// Draws with the options that `make` returns for a width and colours; again when the width or the theme changes.
function useChart(make, data) {
  const place = useRef(null);
  useEffect(() => {
    const element = place.current;
    let chart = null;
    const draw = () => {
      if (chart) chart.destroy();
      element.textContent = "";
      const width = Math.floor(element.clientWidth);
      if (width < 40) return;
      chart = new uPlotLibrary({ width, height: width < 480 ? 150 : 190, padding: [10, 44, 0, 0], cursor: { drag: { x: false, y: false }, points: { size: 7 } }, legend: { show: false }, ...make(chartColours(element)) }, data, element);
    };
    draw();
    let known = element.clientWidth;
    const observer = new ResizeObserver(() => { if (element.clientWidth !== known) { known = element.clientWidth; draw(); } });
    observer.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    addEventListener("themechange", draw);
    return () => { observer.disconnect(); dark.removeEventListener("change", draw); removeEventListener("themechange", draw); if (chart) chart.destroy(); };
  }, [data]);
  return place;
}

function axes(colours, points, values, size = 62) {
  const now = Date.now();
  const named = (_, places) => places.map((at) => (points[at] ? shortTime(Date.parse(points[at].at), now) : ""));
  const font = "11px system-ui, sans-serif";
  const grid = { stroke: colours.line, width: 1 };
  return [
    { stroke: colours.text, font, grid: { show: false }, ticks: { show: false }, space: 120, size: 28, values: named, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
    { stroke: colours.text, font, grid, ticks: { show: false }, values, size, space: 36 },
  ];
}

// A small axis text: no more digits than are needed.
function axisDuration(milliseconds) {
  if (milliseconds === 0) return "0";
  if (milliseconds < 1000) return `${Number(milliseconds.toPrecision(3))} ms`;
  if (milliseconds < 120_000) return `${Number((milliseconds / 1000).toPrecision(3))} s`;
  return `${Number((milliseconds / 60_000).toPrecision(3))} min`;
}

// Oldest first, as the runs were made; `points` are newest first. A clock that went back changes no order. Runs stand side by side whatever time
// lies between them: a night would else press a day's runs into a line.
export function inOrder(points) {
  return points.filter((point) => !Number.isNaN(Date.parse(point.at))).reverse();
}

function Told({ of, isShown }) {
  return html`<p class="chart-told quiet" aria-hidden="true">${isShown ? of : " "}</p>`;
}

// Failed runs are squares above the line, so they differ by shape too.
function squares(chart, index) {
  const { ctx } = chart;
  const size = 6 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = chart.series[index].stroke();
  chart.data[index].forEach((value, at) => {
    if (value === null) return;
    const x = chart.valToPos(chart.data[0][at], "x", true);
    const y = chart.valToPos(value, "y", true);
    ctx.fillRect(x - size / 2, y - size / 2, size, size);
  });
  ctx.restore();
}

export function DurationChart({ points, median = null, slow = null }) {
  const [pointed, setPointed] = useState(null);
  const sorted = inOrder(points);
  const known = useRef({ key: "", data: null });
  const key = `${sorted.length} ${sorted[0]?.name} ${sorted[sorted.length - 1]?.name} ${median} ${slow}`;
  if (known.current.key !== key) {
    const times = sorted.map((_, at) => at);
    known.current = { key, sorted, data: [times, sorted.map((point) => point.milliseconds), sorted.map((point) => (point.isFailed ? point.milliseconds : null)), times.map(() => median), times.map(() => slow)] };
  }
  const { data } = known.current;
  const place = useChart((colours) => ({
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.max(1, high) * 1.1] } },
    axes: axes(colours, sorted, (_, values) => values.map(axisDuration)),
    series: [
      {},
      { stroke: colours.main, width: 1.5, fill: colours.faint, points: { show: sorted.length < 80, size: 5, fill: colours.main } },
      { stroke: colours.failed, width: 0, paths: () => null, points: { show: squares } },
      { stroke: colours.text, width: 1, dash: [6, 4], points: { show: false } },
      { stroke: colours.text, width: 1, dash: [2, 4], points: { show: false } },
    ],
    hooks: { setCursor: [(chart) => setPointed(chart.cursor.idx ?? null)] },
  }), data);
  const one = pointed === null ? null : known.current.sorted[pointed];
  return html`<figure class="chart"><div class="chart-place" ref=${place} role="img" aria-label=${`Durations of ${sorted.length} runs${median === null ? "" : `, median ${duration(median)}`}`}></div>
    <${Told} isShown=${one} of=${one ? `${one.name}: ${duration(one.milliseconds)}${one.isFailed ? ", failed" : ""}` : ""} /></figure>`;
}

export function CountChart({ points }) {
  const [pointed, setPointed] = useState(null);
  const sorted = inOrder(points);
  const known = useRef({ key: "", data: null });
  const key = `${sorted.length} ${sorted[0]?.name} ${sorted[sorted.length - 1]?.name}`;
  if (known.current.key !== key) known.current = { key, sorted, data: [sorted.map((_, at) => at), sorted.map((point) => point.passed), sorted.map((point) => point.skipped), sorted.map((point) => point.failed)] };
  const place = useChart((colours) => ({
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.max(1, high) * 1.1] } },
    axes: axes(colours, sorted, (_, values) => values.map((value) => (Number.isInteger(value) ? value.toLocaleString() : "")), 48),
    series: [
      {},
      { stroke: colours.passed, fill: colours.faint, width: 1.5, points: { show: false } },
      { stroke: colours.skipped, width: 1.5, dash: [2, 3], points: { show: false } },
      { stroke: colours.failed, width: 2, dash: [8, 3], points: { show: false } },
    ],
    hooks: { setCursor: [(chart) => setPointed(chart.cursor.idx ?? null)] },
  }), known.current.data);
  const one = pointed === null ? null : known.current.sorted[pointed];
  return html`<figure class="chart"><div class="chart-place" ref=${place} role="img" aria-label="How many tests passed, failed and were skipped"></div>
    <${Told} isShown=${one} of=${one ? `${one.name}: ${one.passed} passed, ${one.failed} failed, ${one.skipped} skipped` : ""} /></figure>`;
}
