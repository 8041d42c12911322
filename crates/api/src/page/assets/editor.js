// Opens a file in the editor that the person has chosen in this browser: an editor is a person's, not the project's.
import { html } from "./vendor/preact.js";
import { isOffline } from "./ask.js";
import { live } from "./live.js";
import { createStore, useStore } from "./store.js";
import { Line } from "./text.js";

const EDITOR_KEY = "proctor-editor";
const EDITORS = { vscode: "VS Code", cursor: "Cursor", zed: "Zed", idea: "IDEA" };
const EXAMPLE = "subl://open?url=file://{path}&line={line}";

function keptEditor() {
  try { return localStorage.getItem(EDITOR_KEY) ?? ""; } catch { return ""; }
}

// A pattern of an address, such as the example. What the browser would show or run itself is none.
function isPattern(text) {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s]*\{path\}/.test(text) && !/^(javascript|data|blob|file|about|view-source|https?|wss?|ftp):/.test(text);
}

const isEditor = (text) => Object.hasOwn(EDITORS, text) || isPattern(text);
const chosen = createStore({ editor: isEditor(keptEditor()) ? keptEditor() : "" });

// The address by which an editor opens a place; null for a file that does not lie in the project.
export function editorAddress(editor, root, { file, line, column }) {
  if (!isEditor(editor) || !root.startsWith("/") || file.startsWith("/") || file.split("/").includes("..")) return null;
  const path = `${root}/${file}`.split("/").map(encodeURIComponent).join("/");
  if (isPattern(editor)) return editor.replaceAll("{path}", path).replaceAll("{line}", line || 1).replaceAll("{column}", column || 1);
  if (editor === "idea") return `idea://open?file=${path}${line ? `&line=${line}` : ""}`;
  return `${editor}://file${path}${line ? `:${line}:${column || 1}` : ""}`;
}

// The place of a failure, which opens in the chosen editor.
export function Place({ project, failure }) {
  const { editor } = useStore(chosen);
  const { projects } = useStore(live);
  const root = (projects ?? []).find((one) => one.id === project)?.root ?? "";
  const address = isOffline ? null : editorAddress(editor, root, failure);
  const shown = html`<${Line} of=${`${failure.file}${failure.line ? `:${failure.line}` : ""}`} />`;
  return address ? html`<a class="quiet mono place" href=${address}>${shown}</a>` : html`<span class="quiet mono place">${shown}</span>`;
}

export function EditorChoice() {
  const { editor } = useStore(chosen);
  if (isOffline) return null;
  const choose = (event) => {
    const named = event.target.value;
    const wanted = named === "pattern" ? (prompt("The address that opens a file, with {path}, {line} and {column}", isPattern(editor) ? editor : EXAMPLE) ?? "").trim() : named;
    const taken = isEditor(wanted) || wanted === "" ? wanted : editor;
    event.target.value = isPattern(taken) ? "pattern" : taken;
    chosen.set({ editor: taken });
    try { localStorage.setItem(EDITOR_KEY, taken); } catch { /* A page without storage keeps no choice. */ }
  };
  return html`<select class="select" aria-label="Open files in" value=${isPattern(editor) ? "pattern" : editor} onChange=${choose}><option value="">Open files in …</option>${Object.entries(EDITORS).map(([name, word]) => html`<option value=${name}>${word}</option>`)}<option value="pattern">another editor …</option></select>`;
}
