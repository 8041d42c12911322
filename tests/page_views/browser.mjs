// A browser that opens proctor's page as a person does, and the program whose page it is.
import { spawn, execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { promisify } from "node:util";

const run = promisify(execFile);
const setting = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`the test sets ${name}`);
  return value;
};
const require = createRequire(`${setting("PAGE_VIEWS_MODULES")}/`);
const { chromium } = require("playwright-core");

const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
// How long something that is waited for may take on a busy machine.
export const BOUND = 40_000;

export const project = setting("PAGE_VIEWS_PROJECT");

export function check(holds, what, shown = undefined) {
  if (!holds) throw new Error(`${what}${shown === undefined ? "" : `: ${JSON.stringify(shown)}`}`);
}

// Asks again and again until the answer is a true value, and returns it.
export async function until(what, ask, bound = BOUND) {
  const end = Date.now() + bound;
  let last;
  for (;;) {
    last = await ask();
    if (last) return last;
    if (Date.now() > end) throw new Error(`waited ${bound} ms for ${what}; the last answer was ${JSON.stringify(last)}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

// Runs proctor in the project. An exit code other than 0 is no error here: red runs end with 1.
export async function proctor(...args) {
  try {
    return (await run(setting("PAGE_VIEWS_PROCTOR"), args, { cwd: project, maxBuffer: 64 << 20 })).stdout;
  } catch (error) {
    if (typeof error.code !== "number") throw error;
    return error.stdout;
  }
}

// A command of proctor's that goes on until it is ended.
export class Going {
  constructor(...args) {
    this.said = "";
    this.child = spawn(setting("PAGE_VIEWS_PROCTOR"), args, { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (data) => { this.said += data; });
    this.ended = new Promise((done) => this.child.on("exit", done));
  }

  async stop() {
    this.child.kill("SIGTERM");
    await this.ended;
  }
}

const socket = () => `${setting("XDG_RUNTIME_DIR")}/proctor/control.sock`;

export async function startService() {
  const service = new Going("service", "daemon");
  await until("the service's socket", () => {
    check(service.child.exitCode === null, "the service ended", service.said);
    return existsSync(socket());
  });
  return service;
}

// Opens the page by the file that `proctor open` writes, as a browser does that is started with it.
export async function openPage(context, ...args) {
  const opening = new Going("open", "--no-browser", ...args);
  const file = await until("the file of `proctor open`", () => {
    const named = opening.said.match(/\/[^\s`'"]+\.html/g) ?? [];
    return named.find((path) => existsSync(path)) ?? false;
  });
  const page = await context.newPage();
  watchPage(page);
  page.ticketFile = readFileSync(file, "utf8");
  await page.goto(`file://${file}`);
  await page.waitForSelector("#main", { timeout: BOUND });
  opening.child.unref();
  page.opening = opening;
  return page;
}

// Opens a file as a person does who double-clicks it.
export async function openFile(context, path) {
  const page = await context.newPage();
  watchPage(page);
  await page.goto(`file://${path}`);
  return page;
}

// Errors of the page's scripts and requests to other hosts make the test fail, by `checkPages`.
const faults = [];
export const requests = [];

function watchPage(page) {
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("console", (message) => { if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text()); });
  page.on("request", (request) => requests.push(request.url()));
}

export function checkPages() {
  check(faults.length === 0, "the page had errors", faults);
  const foreign = requests.filter((url) => !/^(http:\/\/(127\.0\.0\.1|localhost):\d+\/|file:\/\/\/|data:)/.test(url));
  check(foreign.length === 0, "requests to others", foreign);
  const origins = new Set(requests.filter((url) => url.startsWith("http")).map((url) => new URL(url).origin));
  return origins;
}

// What axe-core finds.
export async function accessibilityFaults(page) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(" | ")}`);
}

export async function withBrowser(act) {
  const browser = await chromium.launch({ executablePath: setting("PAGE_VIEWS_CHROMIUM"), args: ARGUMENTS });
  try {
    await act(browser);
  } finally {
    await browser.close();
  }
}

export async function goTo(page, place) {
  await page.evaluate((to) => { location.hash = to; }, place);
}

// The text of the first element, or null.
export async function textOf(page, selector) {
  return page.evaluate((wanted) => document.querySelector(wanted)?.textContent ?? null, selector);
}
