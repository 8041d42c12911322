// Makes the files of this directory from the packages of npm: `node vendor.mjs DIRECTORY`, where DIRECTORY has the packages unpacked as
// `preact`, `htm` and `uplot`. Each library is wrapped in one function, so that all modules can be joined to one script.
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const from = process.argv[2];
const here = import.meta.dirname;
const version = (name) => JSON.parse(readFileSync(join(from, name, "package.json"), "utf8")).version;
const text = (name, path) => readFileSync(join(from, name, path), "utf8").replace(/^\/\/# sourceMappingURL=.*$/gm, "").trim();
const returned = (code) =>
  code.replace(/export\s*\{([^}]*)\};?\s*$/, (_, names) => `return{${names.split(",").map((name) => name.split(" as ").reverse().join(":")).join(",")}};`);

const preact = returned(text("preact", "dist/preact.mjs"));
const hooks = returned(text("preact", "hooks/dist/hooks.mjs").replace(/^import\{options as (\w+)\}from"preact";/, "const $1=preactLibrary.options;"));
const htm = text("htm", "dist/htm.mjs").replace(/export default ([\s\S]*?);?$/, "return $1;");
const uplot = text("uplot", "dist/uPlot.iife.min.js");

// The licences ask that their texts go with every copy, so they are in the files: those of MIT whole, that of htm by its name.
const notice = (name) => `/*! ${name} ${version(name)}\n${readFileSync(join(from, name, "LICENSE"), "utf8").trim()}\n*/`;

const write = (name, code) => writeFileSync(join(here, name), `${code}\n`);
write("preact.js", [
  notice("preact"),
  `/*! htm ${version("htm")}, Copyright 2018 Google Inc., licensed under the Apache License, Version 2.0 */`,
  `const preactLibrary = (() => {\n${preact}\n})();`,
  `const hooksLibrary = (() => {\n${hooks}\n})();`,
  `const htmLibrary = (() => {\n${htm}\n})();`,
  "export const { h, render, Fragment } = preactLibrary;",
  "export const { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } = hooksLibrary;",
  "export const html = htmLibrary.bind(h);",
].join("\n"));
write("uplot.js", [
  notice("uplot"),
  `export const uPlotLibrary = (() => {\n${uplot}\nreturn uPlot;\n})();`,
].join("\n"));
write("uplot.css", `/* uPlot ${version("uplot")}. Licence: LICENSE-uplot. */\n${text("uplot", "dist/uPlot.min.css")}`);
for (const name of ["preact", "htm", "uplot"]) copyFileSync(join(from, name, "LICENSE"), join(here, `LICENSE-${name}`));

const files = readdirSync(here).filter((name) => name !== "SHA256SUMS").sort();
const line = (name) => `${createHash("sha256").update(readFileSync(join(here, name))).digest("hex")}  ${name}`;
writeFileSync(join(here, "SHA256SUMS"), `${files.map(line).join("\n")}\n`);
