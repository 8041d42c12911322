// The output of an action, read in parts: the end first, and more on request.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { styleClass, styledLines } from "./ansi.js";
import { askRange } from "./ask.js";
import { byteWords } from "./format.js";
import { Problem, Waiting } from "./parts.js";
import { Lines } from "./text.js";

const PART = 48 * 1024;
// The most bytes of one output that are in the document at once.
const MOST_SHOWN = 4 * PART;
const LONGEST_LINE = 4000;

function StyledLine({ line }) {
  return line.map(({ text, style }) => {
    const shown = text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)} … (${text.length} characters)` : text;
    const names = styleClass(style);
    return names === "" ? html`<${Lines} of=${shown} />` : html`<span class=${names}><${Lines} of=${shown} /></span>`;
  });
}

// `found` is the number of the line that a search has found, from 0; null if none was.
export function OutputText({ text, label, found = null }) {
  const lines = useMemo(() => styledLines(text), [text]);
  const box = useRef(null);
  useLayoutEffect(() => { if (found !== null) box.current?.querySelector(".is-found")?.scrollIntoView({ block: "center" }); }, [text, found]);
  return html`<pre class="output" tabindex="0" aria-label=${label} ref=${box}>${lines.map((line, number) => html`<span class=${`output-line ${number === found ? "is-found" : ""}`}><${StyledLine} line=${line} />${"\n"}</span>`)}</pre>`;
}

// The first byte of a character from this one on, in UTF-8. Bytes that are no text are not skipped for ever.
function characterStart(bytes, place) {
  let at = place;
  while (at < bytes.length && at < place + 3 && (bytes[at] & 0xc0) === 0x80) at += 1;
  return at;
}

// The end of the last whole character.
function characterEnd(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

// Cuts a part of a log at ends of lines, or of characters where a line is longer than the part: something is always shown.
// `askedFrom` and `askedTo` are the part as it was asked for, from which the next one is counted.
export function cutPart({ bytes, from, total }) {
  const askedTo = from + bytes.length;
  let start = 0;
  let end = bytes.length;
  if (from > 0) {
    const behindLine = bytes.indexOf(10) + 1;
    start = behindLine > 0 && behindLine < end ? behindLine : characterStart(bytes, 0);
  }
  if (askedTo < total) {
    const behindLine = bytes.lastIndexOf(10) + 1;
    end = behindLine > start ? behindLine : Math.max(start, characterEnd(bytes));
  }
  return { text: new TextDecoder().decode(bytes.subarray(start, end)), from: from + start, to: from + end, askedFrom: from, askedTo, total };
}

// How many bytes of a log are searched at once.
const SEARCHED = 1024 * 1024;

// The same bytes with small letters for the capitals of ASCII.
function smallLetters(bytes) {
  return bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));
}

// The first place of some bytes in others; -1 if they are not there.
export function findBytes(bytes, wanted) {
  for (let at = bytes.indexOf(wanted[0]); at >= 0 && at + wanted.length <= bytes.length; at = bytes.indexOf(wanted[0], at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}

// The next place of a text in a log from a byte on, and from its start when its end was reached; -1 if it is nowhere. Capitals do not matter.
export async function findInLog(readRange, total, text, from) {
  const wanted = smallLetters(new TextEncoder().encode(text));
  if (wanted.length === 0) return -1;
  for (const [start, end] of [[from, total], [0, Math.min(total, from + wanted.length)]]) {
    for (let at = start; at < end; at += SEARCHED) {
      // What begins in this part may end in the next one.
      const to = Math.min(end, at + SEARCHED + wanted.length - 1);
      const { bytes } = await readRange(at, to);
      const found = findBytes(smallLetters(bytes), wanted);
      if (found >= 0) return at + found;
    }
  }
  return -1;
}

// The number of the line of a part in which a byte of the log is.
export function lineOfByte(part, at) {
  const bytes = new TextEncoder().encode(part.text);
  return bytes.subarray(0, Math.max(0, at - part.from)).filter((byte) => byte === 10).length;
}

function Search({ path, total, show }) {
  const [text, setText] = useState("");
  const [told, tell] = useState("");
  const last = useRef({ text: "", at: -1 });
  const search = async (event) => {
    event.preventDefault();
    const from = last.current.text === text ? last.current.at + 1 : 0;
    tell("Searching …");
    try {
      const at = await findInLog((start, end) => askRange(path, start, end), total, text, Math.min(from, total));
      last.current = { text, at };
      tell(at < 0 ? "Not in this log." : at < from ? "Found, from the start again." : "Found.");
      if (at >= 0) show(at);
    } catch (problem) {
      tell(problem.message ?? "The log cannot be read.");
    }
  };
  return html`<form class="output-more" role="search" onSubmit=${search}><input class="filter" type="search" placeholder="Find in the log" aria-label="Find in the log" value=${text} onInput=${(event) => setText(event.target.value)} /><button type="submit" class="button small" disabled=${text === ""}>Find next</button> <span class="quiet" role="status">${told}</span></form>`;
}

// `path` names the log. Where the service does not hand it out, the excerpts of the report are shown instead.
export function Output({ path, name, excerpts }) {
  const [wanted, want] = useState({ from: -PART, to: null });
  const [part, setPart] = useState(null);
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    let isWanted = true;
    (async () => {
      let { from, to } = wanted;
      if (from < 0) {
        const total = (await askRange(path, 0, 1)).total;
        from = Math.max(0, total + from);
        to = total;
      }
      if (to === from) return { bytes: new Uint8Array(), from: 0, total: 0 };
      return askRange(path, from, to);
    })().then((read) => isWanted && (setProblem(null), setPart(cutPart(read))), (error) => isWanted && setProblem(error));
    return () => { isWanted = false; };
  }, [path, wanted]);
  if (problem && problem.kind === "noSuchRange") return html`<p class="quiet">It printed nothing.</p>`;
  if (problem && excerpts) return html`<${Excerpts} of=${excerpts} name=${name} why=${problem} />`;
  if (problem) return html`<${Problem} of=${problem} />`;
  if (!part) return html`<${Waiting} what=${name} />`;
  if (part.total === 0) return html`<p class="quiet">It printed nothing.</p>`;
  const earlier = Math.max(0, part.askedFrom - PART);
  const later = Math.min(part.total, part.askedTo + PART);
  const show = (at) => { setFound(at); want({ from: Math.max(0, at - PART / 2), to: Math.min(part.total, at + PART / 2) }); };
  const isInPart = found !== null && found >= part.from && found < part.to;
  return html`<div class="output-frame">
    <${Search} path=${path} total=${part.total} show=${show} />
    ${part.from > 0 ? html`<div class="output-more"><button type="button" class="button small" onClick=${() => want({ from: earlier, to: Math.min(part.askedTo, earlier + MOST_SHOWN) })}>Earlier ${byteWords(part.from - earlier)}</button> <button type="button" class="button small" onClick=${() => want({ from: 0, to: Math.min(part.total, PART) })}>From the start</button> <span class="quiet">${byteWords(part.from)} before this</span></div>` : null}
    <${OutputText} text=${part.text} label=${`Output: ${name}`} found=${isInPart ? lineOfByte(part, found) : null} />
    ${part.to < part.total ? html`<div class="output-more"><button type="button" class="button small" onClick=${() => want({ from: Math.max(part.askedFrom, later - MOST_SHOWN), to: later })}>Later ${byteWords(later - part.to)}</button> <button type="button" class="button small" onClick=${() => want({ from: -PART, to: null })}>To the end</button> <span class="quiet">${byteWords(part.total - part.to)} after this</span></div>` : null}
  </div>`;
}

// The first and last bytes of each stream, as the report has them.
function Excerpts({ of, name, why }) {
  const streams = ["stdout", "stderr"].filter((stream) => of[stream]);
  return html`<div class="output-frame">
    ${why.kind === "refused" || why.kind === "notExported" ? html`<p class="quiet note">Excerpts from the report. <span>For the whole log: <code class="mono">proctor show --log</code></span></p>` : html`<${Problem} of=${why} />`}
    ${streams.length === 0 ? html`<p class="quiet">It printed nothing.</p>` : null}
    ${streams.map((stream) => html`<section aria-label=${stream}>
      ${streams.length > 1 ? html`<h4 class="stream">${stream}</h4>` : null}
      ${of[`${stream}Shown`] && of[`${stream}Shown`].ranges.length > 1 ? html`<p class="quiet note">First and last bytes of ${byteWords(of[`${stream}Shown`].totalBytes)}</p>` : null}
      <${OutputText} text=${of[stream]} label=${`${stream} of ${name}`} />
    </section>`)}
  </div>`;
}
