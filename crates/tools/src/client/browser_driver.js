// Opens Chromium by playwright, carries out the steps of its argument one after the other, and prints what the last step returns.
// It ends with an exit code of the table in browser.rs; the first line on standard error says why.
'use strict';
const path = require('node:path');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const { execFileSync } = require('node:child_process');

const { steps, takesScreenshot } = JSON.parse(process.argv[process.argv.length - 1]);
const picture = path.join(process.env.PROCTOR_OUT, 'screenshot.png');

class End extends Error {
  constructor(code, why) {
    super(why);
    this.code = code;
  }
}

const firstLine = (error) => String((error && error.message) || error).split('\n')[0];

// The project's packages come first, then those of the machine.
function findPlaywright() {
  const places = [path.join(process.cwd(), 'package.json')];
  for (const place of (process.env.NODE_PATH || '').split(':').filter(Boolean)) places.push(path.join(place, 'x'));
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 20000 };
    places.push(path.join(execFileSync('npm', ['root', '-g'], options).trim(), 'x'));
  } catch {
    // Without npm only the project's packages are searched.
  }
  for (const place of places) {
    for (const name of ['playwright', 'playwright-core', '@playwright/test']) {
      try {
        return createRequire(place)(name);
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND') throw new End(23, firstLine(error));
      }
    }
  }
  throw new End(21, 'no such package was found from ' + process.cwd());
}

function findChromium(playwright) {
  const own = playwright.chromium.executablePath();
  if (own && fs.existsSync(own)) return own;
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  for (const place of (process.env.PATH || '').split(':').filter(Boolean)) {
    for (const name of names) {
      const program = path.join(place, name);
      if (fs.existsSync(program)) return program;
    }
  }
  throw new End(22, 'neither playwright nor PATH has one');
}

async function fill(page, name, value, timeout) {
  // A name of a field is tried before it is read as a selector.
  const quoted = JSON.stringify(name);
  const named = page.locator(`[name=${quoted}], [id=${quoted}], [data-testid=${quoted}]`).first();
  const field = (await named.count()) > 0 ? named : page.locator(name).first();
  await field.waitFor({ state: 'visible', timeout });
  const kind = await field.evaluate((element) => (element.tagName === 'SELECT' ? 'select' : element.type || ''));
  if (kind === 'select') await field.selectOption(value, { timeout });
  else if (kind === 'checkbox' || kind === 'radio') await field.setChecked(!['', 'false', 'off', '0'].includes(value), { timeout });
  else await field.fill(value, { timeout });
}

async function carryOut(page, step) {
  const timeout = step.waitTimeout;
  if (step.url) {
    let answer;
    try {
      answer = await page.goto(step.url, { timeout, waitUntil: 'load' });
    } catch (error) {
      throw new End(/net::ERR_/.test(String(error)) ? 24 : 20, firstLine(error));
    }
    if (answer && answer.status() >= 400) throw new End(20, `${step.url} answers with status ${answer.status()}`);
  }
  switch (step.action) {
    case 'navigate':
      return undefined;
    case 'click':
      await page.click(step.selector, { timeout });
      // A click may open another page. Whatever comes later waits for it.
      return page.waitForLoadState('load', { timeout });
    case 'fill_form':
      for (const [name, value] of Object.entries(step.formData || {})) await fill(page, name, value, timeout);
      return undefined;
    case 'evaluate':
      return page.evaluate(step.script);
    case 'screenshot':
      if (step.selector) await page.waitForSelector(step.selector, { timeout });
      return undefined;
    case 'wait_for_selector':
      await page.waitForSelector(step.selector, { timeout });
      return undefined;
    case 'get_content':
      return step.selector ? page.locator(step.selector).first().innerText({ timeout }) : page.content();
    default:
      throw new End(23, `unknown action ${step.action}`);
  }
}

async function main() {
  const playwright = findPlaywright();
  const executablePath = findChromium(playwright);
  let browser;
  try {
    // The isolation of the action takes the place of Chromium's own sandbox, which cannot be set up inside of it.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    browser = await playwright.chromium.launch({ executablePath, headless: true, args });
  } catch (error) {
    throw new End(23, firstLine(error));
  }
  try {
    const page = await (await browser.newContext()).newPage();
    let returned;
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      try {
        returned = await carryOut(page, step);
      } catch (error) {
        const code = error instanceof End ? error.code : 20;
        if (isLast) throw new End(code, firstLine(error));
        throw new End(code === 24 ? 24 : 25, `${step.id} (${step.action}): ${firstLine(error)}`);
      }
    }
    if (takesScreenshot) await page.screenshot({ path: picture, fullPage: true });
    if (returned !== undefined && returned !== null) {
      process.stdout.write((typeof returned === 'string' ? returned : JSON.stringify(returned)) + '\n');
    }
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  process.stderr.write(firstLine(error) + '\n');
  process.exitCode = error instanceof End ? error.code : 23;
});
