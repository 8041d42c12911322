#!/usr/bin/env node
// Starts proctor's program, which is in the package for this platform.
"use strict";
const { spawn } = require("node:child_process");
const { basename } = require("node:path");

const name = `proctor-bin-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/proctor`);
} catch {
  console.error(`error: the package ${name} is not installed: proctor has none for this platform, or optional packages were left out`);
  process.exit(70);
}
// The program does what it is called. Newer versions of Node can become the program. It then gets every signal itself.
const called = basename(process.argv[1], ".js");
if (process.execve) process.execve(program, [called, ...process.argv.slice(2)], process.env);

const child = spawn(program, process.argv.slice(2), { argv0: called, stdio: "inherit" });
// A terminal sends its Ctrl-C to the program too, for which a second one means something else: it is not passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: ${error.message}`);
  process.exit(70);
});
child.on("exit", (code, signal) => {
  process.removeAllListeners(signal ?? "SIGINT");
  if (signal) process.kill(process.pid, signal);
  else process.exit(code);
});
