// The page's modules joined to one script as an export joins them: no import or export is left, no name is there twice.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Script } from "node:vm";

const assets = process.argv[2];
const names = readFileSync(join(assets, "ORDER"), "utf8").split("\n").filter((name) => name !== "");
const fail = (what) => { console.error(what); process.exit(1); };
const seen = new Set();
let joined = "";
for (const name of names) {
  for (const line of readFileSync(join(assets, name), "utf8").split("\n")) {
    const from = /^import .* from "\.\.?\/(.*)";$/.exec(line);
    if (line.startsWith("import")) {
      if (!from) fail(`${name}: an import must be on one line: ${line}`);
      if (!seen.has(from[1])) fail(`${name}: ${from[1]} must come before it in ORDER`);
      if (/ as /.test(line)) fail(`${name}: an import cannot rename: ${line}`);
      continue;
    }
    if (line.startsWith("export default")) fail(`${name}: no default export: ${line}`);
    joined += `${line.startsWith("export ") ? line.slice(7) : line}\n`;
  }
  seen.add(name);
}
// Compiling finds a name that is there twice.
new Script(joined, { filename: "joined.js" });
console.log(`${names.length} modules, ${joined.length} characters`);
