// Writes what Playwright's tests amount to in the Common Test Report Format beside this file. Playwright loads it by the variable
// `PW_TEST_REPORTER`, beside the reporters that the project has chosen.
const fs = require('node:fs'), path = require('node:path'), { spawnSync } = require('node:child_process');

const OUTCOMES = { expected: 'passed', flaky: 'passed', unexpected: 'failed', skipped: 'skipped' };

class Report {
  constructor() {
    this.errors = [];
  }

  printsToStdio() {
    return false;
  }

  onBegin(config, suite) {
    this.suite = suite;
    const { PROCTOR_SHARD_LIST: list, PROCTOR_SHARD_ALL: isAll } = process.env;
    if (list) fs.writeFileSync(list, JSON.stringify(isAll ? names(suite) : listed(names(suite), list)));
  }

  onError(error) {
    this.errors.push(error);
  }

  onEnd() {
    if (process.env.PROCTOR_SHARD_ALL) return;
    const tests = (this.suite ? this.suite.allTests() : []).map((test) => told(test));
    // Playwright says by an error of its own that it found no test. The report has none then.
    for (const error of this.errors.filter((one) => !String(one.message).includes('No tests found'))) {
      const { file, line } = error.location || {};
      tests.push({ name: file ? path.basename(file) : 'outside of the tests', suite: [], status: 'failed', filePath: file, line, ...words(error) });
    }
    const count = (status) => tests.filter((test) => test.status === status).length;
    const summary = {
      tests: tests.length, passed: count('passed'), failed: count('failed'), skipped: count('skipped'), pending: 0, other: count('other'),
    };
    const report = { results: { tool: { name: 'playwright' }, summary, tests } };
    fs.writeFileSync(path.join(__dirname, 'report.json'), JSON.stringify(report));
  }
}

function names(suite) {
  return suite.allTests().map((test) => {
    const [, project, ...titles] = test.titlePath();
    return (project ? `[${project}] ` : '') + titles.join(' › ') + (test.repeatEachIndex ? ` (repeated ${test.repeatEachIndex})` : '');
  });
}

// Lists all tests and those of this part (shard). Playwright tells a reporter only the part, so it is asked for all in another process.
function listed(own, list) {
  const words = process.argv.slice(1).filter((word) => !word.startsWith('--shard='));
  const { PROCTOR_SHARD_LIST, ...env } = process.env, all = `${list}.all`;
  spawnSync(process.execPath, [...process.execArgv, ...words, '--list'], { env: { ...env, PROCTOR_SHARD_LIST: all, PROCTOR_SHARD_ALL: '1' } });
  const tests = JSON.parse(fs.readFileSync(all, 'utf8'));
  fs.rmSync(all);
  return { tests, own: own.map((name) => tests.indexOf(name)) };
}

function words(error) {
  const message = error ? String(error.message || error.value || error.stack || '') : '';
  return { message, trace: error && error.snippet ? `${error.snippet}\n${error.stack || ''}` : error && error.stack || '' };
}

function told(test) {
  const last = test.results[test.results.length - 1];
  // A test that never began although nothing skips it: the run ended before.
  const isUnended = !last && test.expectedStatus !== 'skipped' || last && last.status === 'interrupted';
  const status = isUnended ? 'other' : OUTCOMES[test.outcome()];
  const isFlaky = test.outcome() === 'flaky';
  // What went wrong in a flaky test stands in an earlier attempt.
  const ended = isFlaky ? test.results.find((result) => result.error) : last;
  const error = ended && ended.errors && ended.errors[0] || ended && ended.error;
  const failed = status === 'failed' || isFlaky ? { message: ended ? ended.status : '', ...(error ? words(error) : {}) } : {};
  const place = (status === 'failed' || isFlaky) && error && error.location && error.location.file === test.location.file ? error.location : test.location;
  // The first titles are those of the root, the project and the file.
  const [, project, , ...names] = test.titlePath().slice(0, -1);
  if (project) names.unshift(`[${project}]`);
  return {
    name: test.title, suite: names, status, duration: last ? last.duration : 0, filePath: test.location.file, line: place.line,
    retries: test.results.length > 1 ? test.results.length - 1 : undefined, flaky: isFlaky ? true : undefined, ...failed,
  };
}

module.exports = Report;
