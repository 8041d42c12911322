// Texts from outside (names of tests, paths, outputs, messages) and how they are shown: always as text, with hidden characters written as escapes.
import { html } from "./vendor/preact.js";

// Characters that a browser obeys or a person does not see: the same set that proctor escapes on the terminal.
const HIDDEN_RANGES = [
  [0x00, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x70f, 0x70f], [0x115f, 0x1160], [0x17b4, 0x17b5],
  [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0x2800, 0x2800], [0x3164, 0x3164], [0xd800, 0xf8ff],
  [0xfdd0, 0xfdef], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff0, 0xfffb], [0x110bd, 0x110bd], [0x110cd, 0x110cd],
  [0x13430, 0x1343f], [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe0fff], [0xf0000, 0x10ffff],
];
const NAMED_ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const PLAIN = /^[\x20-\x7e]*$/;

export function isHiddenCharacter(code) {
  return HIDDEN_RANGES.some(([first, last]) => first <= code && code <= last) || (code & 0xfffe) === 0xfffe;
}

function isSymbol(code) {
  return ((code >= 0x203c && code <= 0x3299) || (code >= 0x1f000 && code <= 0x1faff)) && !isHiddenCharacter(code);
}

// Splits a text into pieces that are shown as they are and pieces that are escapes. `kept` has the hidden characters that stay.
export function shownPieces(text, kept = "") {
  if (PLAIN.test(text)) return text === "" ? [] : [{ text, hidden: false }];
  const found = [];
  let before = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    const selectsForm = (code === 0xfe0e || code === 0xfe0f) && isSymbol(before);
    const hidden = isHiddenCharacter(code) && !selectsForm && !kept.includes(character);
    const shown = hidden ? NAMED_ESCAPES[character] ?? `\\u{${code.toString(16)}}` : character;
    const last = found[found.length - 1];
    if (last && last.hidden === hidden) last.text += shown;
    else found.push({ text: shown, hidden });
    before = code;
  }
  return found;
}

// The text with its escapes as one plain string, for titles and labels.
export function shownLine(text) {
  return shownPieces(String(text ?? "")).map((piece) => piece.text).join("");
}

function drawn(pieces) {
  return pieces.map((piece) => (piece.hidden ? html`<span class="escape">${piece.text}</span>` : piece.text));
}

// A text of one line.
export function Line({ of, mono }) {
  return html`<bdi class=${mono ? "mono" : undefined}>${drawn(shownPieces(String(of ?? "")))}</bdi>`;
}

// A text of several lines; a carriage return before a line's end belongs to the line's end.
export function Lines({ of }) {
  return drawn(shownPieces(String(of ?? "").replace(/\r\n/g, "\n"), "\n\t"));
}

// Where the parameters in brackets at the end of a test's id begin; its length without them.
function parameterOf(text) {
  const found = text.endsWith("]") ? text.indexOf("[", Math.max(0, text.indexOf("::"))) : -1;
  return found < 0 ? text.length : found;
}

// Where the last part of a path or of a test's id begins. The parameters are a part of a test's name.
export function lastPart(text) {
  const path = text.slice(0, parameterOf(text));
  const cut = Math.max(path.lastIndexOf("::"), path.lastIndexOf("/"));
  if (cut < 0) return 0;
  return cut + (path.startsWith("::", cut) ? 2 : 1);
}

// The last part of a path or of a test's id, for narrow places.
export function EndOfPath({ of }) {
  const text = String(of ?? "");
  return html`<bdi class="mono" title=${shownLine(text)}>${drawn(shownPieces(text.slice(lastPart(text))))}</bdi>`;
}

// A path or a test's id: the part that tells it apart from others stays readable when the line is cut.
export function PathName({ of }) {
  const text = String(of ?? "");
  const [last, end] = [lastPart(text), parameterOf(text)];
  const split = last > 1 ? last : 0;
  const part = (name, from, to) => from < to && html`<span class=${name}>${drawn(shownPieces(text.slice(from, to)))}</span>`;
  return html`<bdi class="mono path-name" title=${shownLine(text)}>${part("path-start", 0, split)}${part("path-end", split, end)}${part("path-case", end, text.length)}</bdi>`;
}
