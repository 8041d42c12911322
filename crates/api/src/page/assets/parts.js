// Small pieces that all views are made of.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { ask, connection, isOffline } from "./ask.js";
import { ago, shortTime, wholeTime } from "./format.js";
import { live } from "./live.js";
import { useNow, useStore } from "./store.js";
import { Line, Lines, shownLine } from "./text.js";

// Asks a question again whenever the project's answers may have changed; what is shown stays until the new answer is there.
export function useAnswer(path, project) {
  const version = useStore(live).versions[project] ?? 0;
  const [answer, setAnswer] = useState({ path: null, data: null, problem: null });
  useEffect(() => {
    let isWanted = true;
    if (path === null) return undefined;
    ask(path).then(
      (data) => isWanted && setAnswer({ path, data, problem: null }),
      (problem) => isWanted && setAnswer((before) => ({ path, data: before.path === path ? before.data : null, problem })),
    );
    return () => { isWanted = false; };
  }, [path, version]);
  const isCurrent = answer.path === path;
  return { data: isCurrent ? answer.data : null, problem: isCurrent ? answer.problem : null, isLoading: path !== null && !isCurrent };
}

// A time as distance or as clock time, with the whole time as title.
export function Time({ at, absolute = false }) {
  const now = useNow(absolute ? 0 : 10_000);
  const time = Date.parse(at);
  if (Number.isNaN(time)) return html`<span>–</span>`;
  return html`<time datetime=${at} title=${wholeTime(time)}>${absolute ? shortTime(time, now) : ago(time, now)}</time>`;
}

export function BothTimes({ at }) {
  return html`<span class="both-times"><${Time} at=${at} absolute=${true} /> <span class="quiet">· <${Time} at=${at} /></span></span>`;
}

// A message of a few words that is said once and then goes.
export function announce(message) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = message;
}

export function CopyButton({ text, label = "Copy" }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return announce("The browser does not allow copying here.");
    }
    setDone(true);
    announce("Copied.");
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class="button small copy" onClick=${copy} aria-label=${`${label}: ${shownLine(text)}`}>${isDone ? "Copied" : label}</button>`;
}

// A command for a shell in the project's root.
export function CommandLine({ of }) {
  return html`<div class="command"><code class="mono"><span class="prompt" aria-hidden="true">$</span><${Line} of=${of} /></code><${CopyButton} text=${of} /></div>`;
}

// What is there when nothing is there, and what to do about it.
export function Empty({ title, children, isPage = false }) {
  return html`<div class="empty">${isPage ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}${children}</div>`;
}

// What went wrong, and the next step.
export function Problem({ of, retry }) {
  if (!of || of.kind === "ended") return null;
  return html`<div class="problem" role="alert">
    <p class="problem-title"><${Line} of=${of.message ?? String(of)} /></p>
    ${of.hint ? html`<p><${Line} of=${of.hint} /></p>` : null}
    ${retry ? html`<button type="button" class="button" onClick=${retry}>Try again</button>` : null}
  </div>`;
}

export function Waiting({ what }) {
  return html`<p class="waiting" role="status">Reading ${what} …</p>`;
}

// Lines that a tool printed about a failure; those of a difference are marked by their first character.
// In the difference of a failed test, a line with a minus is what was expected, and one with a plus what was received.
export function Excerpt({ lines, isOfTest = false }) {
  const kind = (line) => (/^\s*[-]\s?(?![-])/.test(line) ? (isOfTest ? "come" : "gone") : /^\s*[+](?![+])/.test(line) ? (isOfTest ? "gone" : "come") : /^E\s/.test(line) ? "error" : /^>/.test(line) ? "here" : "");
  return html`<pre class="excerpt" tabindex="0" aria-label="What the tool printed">${lines.map((line) => html`<span class=${`excerpt-line ${kind(line)}`}><${Lines} of=${line} />${"\n"}</span>`)}</pre>`;
}

const OVERSCAN = 8;

// A list of rows of one height, of which only those in sight are in the document. It scrolls with its own box.
export function VirtualList({ total, rowHeight, drawRow, selected, label, onNearEnd, onScroll, children, className = "" }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const measure = useCallback(() => {
    const element = box.current;
    if (!element) return;
    setView((before) => (before.top === element.scrollTop && before.height === element.clientHeight ? before : { top: element.scrollTop, height: element.clientHeight }));
    if (onScroll) onScroll(element);
  }, [onScroll]);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [measure]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || selected === undefined || selected < 0) return;
    const top = selected * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight;
  }, [selected, rowHeight]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN);
  const last = Math.min(total, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN);
  useEffect(() => {
    if (onNearEnd && last >= total - OVERSCAN) onNearEnd();
  }, [last, total, onNearEnd]);
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(drawRow(index, { position: "absolute", top: `${index * rowHeight}px`, height: `${rowHeight}px`, left: 0, right: 0 }));
  return html`<div class=${`virtual ${className}`} ref=${box} style=${{ maxHeight: `${total * rowHeight + 2}px` }} onScroll=${measure} tabindex="0" role="list" aria-label=${label}>
    ${children}
    <div class="virtual-rows" role="presentation" style=${{ height: `${total * rowHeight}px` }}>${rows}</div>
  </div>`;
}

function bannerWords(state, why) {
  if (state === "never") return ["This page was opened without a ticket", "Only proctor can open it, so that no other program reads your results:"];
  if (state === "spent") return ["The ticket of this page is not valid any more", "It opens the page once, within a minute. Open the page anew:"];
  return ["The service was restarted or ended", `${why} What you see is how it was then. Open the page anew:`];
}

// Says in words that the page is not connected, and what to do.
export function ConnectionBanner() {
  const { state, why } = useStore(connection);
  if (isOffline || state === "open" || state === "opening") return null;
  const [title, says] = bannerWords(state, why);
  return html`<div class="banner" role="alert">
    <div><strong>${title}.</strong> ${says}</div>
    <${CommandLine} of="proctor open" />
  </div>`;
}
