// The output of an action, read in parts: the end first, and more on request.
import { html, useEffect, useMemo, useState } from "./vendor/preact.js";
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

export function OutputText({ text, label }) {
  const lines = useMemo(() => styledLines(text), [text]);
  return html`<pre class="output" tabindex="0" aria-label=${label}>${lines.map((line) => html`<span class="output-line"><${StyledLine} line=${line} />${"\n"}</span>`)}</pre>`;
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

// `path` names the log. Where the service does not hand it out, the excerpts of the report are shown instead.
export function Output({ path, name, excerpts }) {
  const [wanted, want] = useState({ from: -PART, to: null });
  const [part, setPart] = useState(null);
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
  return html`<div class="output-frame">
    ${part.from > 0 ? html`<div class="output-more"><button type="button" class="button small" onClick=${() => want({ from: earlier, to: Math.min(part.askedTo, earlier + MOST_SHOWN) })}>Earlier ${byteWords(part.from - earlier)}</button> <button type="button" class="button small" onClick=${() => want({ from: 0, to: Math.min(part.total, PART) })}>From the start</button> <span class="quiet">${byteWords(part.from)} before this</span></div>` : null}
    <${OutputText} text=${part.text} label=${`Output: ${name}`} />
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
