// Opens a file in the editor that the person has chosen in this browser: an editor is a person's, not the project's.
import { html } from "./vendor/preact.js";
import { isOffline } from "./ask.js";
import { live } from "./live.js";
import { createStore, useStore } from "./store.js";
import { Line } from "./text.js";

const EDITOR_KEY = "proctor-editor";
const EDITORS = { vscode: "VS Code", cursor: "Cursor", zed: "Zed", idea: "IDEA" };

function keptEditor() {
  try { return localStorage.getItem(EDITOR_KEY) ?? ""; } catch { return ""; }
}

const chosen = createStore({ editor: Object.hasOwn(EDITORS, keptEditor()) ? keptEditor() : "" });

// The address by which an editor opens a place; null for a file that does not lie in the project.
export function editorAddress(editor, root, { file, line, column }) {
  if (!Object.hasOwn(EDITORS, editor) || !root.startsWith("/") || file.startsWith("/") || file.split("/").includes("..")) return null;
  const path = `${root}/${file}`.split("/").map(encodeURIComponent).join("/");
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
    chosen.set({ editor: event.target.value });
    try { localStorage.setItem(EDITOR_KEY, event.target.value); } catch { /* A page without storage keeps no choice. */ }
  };
  return html`<select class="select" aria-label="Open files in" value=${editor} onChange=${choose}><option value="">Open files in …</option>${Object.entries(EDITORS).map(([name, word]) => html`<option value=${name}>${word}</option>`)}</select>`;
}
