// Writes what mocha's tests amount to in the Common Test Report Format beside this file. mocha loads it by `--require`, and the reporter that
// the project has chosen stays. Every process of `--parallel` loads it, and only the first one has the whole run.
const fs = require('node:fs'), path = require('node:path');
const isWorker = process.env.MOCHA_WORKER_ID !== undefined || !require('node:worker_threads').isMainThread;
const loaded = Object.values(require.cache).find((module) => /[\\/]lib[\\/]mocha\.c?js$/.test(module.filename || ''));
const Mocha = loaded && loaded.exports;
const run = Mocha && Mocha.prototype && Mocha.prototype.run;
let isTaken = isWorker;
// The instance that the command line made: the first one after this file was loaded. A spec may make others and run them, at any time.
let own;

// A hook of another process has no path of titles.
function names(runnable) {
  return typeof runnable.titlePath === 'function' ? runnable.titlePath().slice(0, -1) : [];
}

// The first place of the stack that lies in the test's own file is where it failed. mocha takes the working directory out of stacks.
function lineIn(file, stack) {
  const place = file && [file, path.relative(process.cwd(), file)].map((name) => stack.split(name + ':')[1]).find((rest) => rest);
  const line = parseInt(place, 10);
  return line > 0 ? line : undefined;
}

function listen(runner, isDryRun) {
  const tests = new Map(), before = new Map();
  // A copy of a test stands for it in each new try.
  const keyOf = (runnable) => typeof runnable.retriedTest === 'function' && runnable.retriedTest() || runnable;
  const add = (runnable, status, error) => {
    const text = (value) => (value === undefined || value === null ? '' : String(value));
    const retries = typeof runnable.currentRetry === 'function' ? runnable.currentRetry() : 0;
    const trace = error && typeof error === 'object' ? text(error.stack) : '';
    const file = runnable.file || (runnable.parent && runnable.parent.file);
    tests.set(keyOf(runnable), {
      name: text(runnable.title), suite: names(runnable), status, duration: runnable.duration || 0, filePath: file,
      message: error === undefined ? undefined : text(error && error.message || error), trace, line: lineIn(file, trace),
      retries: retries > 0 ? retries : undefined, flaky: retries > 0 && status === 'passed' ? true : undefined,
    });
  };
  // What went wrong in a test that passes in the end was told by the earlier tries.
  runner.on('retry', (test, error) => before.set(keyOf(test), error));
  runner.on('pass', (test) => add(test, isDryRun ? 'skipped' : 'passed', before.get(keyOf(test))));
  runner.on('pending', (test) => add(test, 'skipped'));
  runner.on('fail', (test, error) => add(test, 'failed', error === undefined ? 'it failed' : error));
  runner.on('end', () => {
    // A later run of the process that is not inside of this one writes its own report in the place of this one.
    isTaken = false;
    const all = [...tests.values()];
    const count = (status) => all.filter((test) => test.status === status).length;
    const summary = { tests: all.length, passed: count('passed'), failed: count('failed'), skipped: count('skipped'), pending: 0, other: 0 };
    fs.writeFileSync(path.join(__dirname, 'report.json'), JSON.stringify({ results: { tool: { name: 'mocha' }, summary, tests: all } }));
  });
}

if (run) {
  const ui = Mocha.prototype.ui;
  Mocha.prototype.ui = function (...words) {
    own = own || this;
    return ui.apply(this, words);
  };
  Mocha.prototype.run = function (...words) {
    const Own = this._reporter;
    if (!isTaken && (own || this) === this && typeof Own === 'function') {
      isTaken = true;
      const isDryRun = Boolean(this.options && this.options.dryRun);
      this._reporter = function (runner, options) {
        listen(runner, isDryRun);
        return new Own(runner, options);
      };
    }
    return run.apply(this, words);
  };
}
