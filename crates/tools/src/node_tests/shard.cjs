// Lets Jest and Vitest run one part (shard) of the test files that they find, and lists which. Jest loads this file by
// `--testSequencer`, Vitest by `--reporter`. Both find all files in every process, so each computes the same division. What took
// longest is placed first, always in the part that has the least to do so far.
const fs = require('node:fs'), path = require('node:path');

const plan = JSON.parse(fs.readFileSync(path.join(__dirname, 'proctor-shard.json'), 'utf8'));
const all = [], own = [];

function divide(names, times, parts) {
  const known = names.filter((name) => name in times).map((name) => times[name]);
  const usual = known.length ? Math.max(known.reduce((sum, one) => sum + one, 0) / known.length, 1) : 1;
  const weight = (name) => Math.max(name in times ? times[name] : usual, 1);
  const loads = Array(parts).fill(0), placed = new Map();
  const order = [...new Set(names)].sort((a, b) => weight(b) - weight(a) || (a < b ? -1 : 1));
  for (const name of order) {
    const part = loads.indexOf(Math.min(...loads));
    loads[part] += weight(name);
    placed.set(name, part + 1);
  }
  return placed;
}

// Returns the items of this part. Vitest asks once for each pool of workers, so the list grows.
function part(items, nameOf) {
  const names = items.map(nameOf), placed = divide(names, plan.times, plan.of);
  const mine = items.filter((_, at) => placed.get(names[at]) === plan.number);
  for (const [name, number] of placed) {
    if (number === plan.number) own.push(all.length);
    all.push(name);
  }
  const file = path.join(__dirname, 'collected.json');
  fs.writeFileSync(`${file}.new`, JSON.stringify({ unit: 'file', tests: all, own }));
  fs.renameSync(`${file}.new`, file);
  return mine;
}

const below = (file) => path.relative(process.cwd(), file);

module.exports = class Shard {
  // Called by Jest, with all test files.
  sort(tests) {
    const name = (test) => below(test.path) + (test.context.config.displayName ? ` [${test.context.config.displayName.name}]` : '');
    const mine = part(tests, name), time = (test) => plan.times[name(test)] || 0;
    return mine.sort((a, b) => time(b) - time(a));
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}

  // Called by Vitest, before it looks for test files.
  onInit(vitest) {
    const name = (spec) => {
      const [project, kind] = [spec.project || spec[0], spec.pool === 'typescript' ? 'types' : ''];
      const of = [project && project.name, kind].filter(Boolean).join(' ');
      return below(spec.moduleId || spec[1]) + (of ? ` [${of}]` : '');
    };
    const Base = vitest.config.sequence.sequencer;
    vitest.config.sequence.sequencer = class extends Base {
      async sort(specs) {
        return super.sort(part(specs, name));
      }
    };
  }
};
