"""Mutations of JavaScript and TypeScript suites: of tests, configuration, and of the way in which the process ends. Rows as in `suites.py`."""

import json
from pathlib import Path

from projects import Project
from suites import Edit, Row, append, bare, red


def tests_of(directory: Path, project: Project) -> list[Path]:
    return sorted(path for path in (directory / project.tests).iterdir() if ".test." in path.name)


def first(code: str) -> Edit:
    return lambda directory, project: append(tests_of(directory, project)[0], code)


def every(change) -> Edit:
    def edit(directory, project):
        for path in tests_of(directory, project):
            path.write_text(change(path.read_text()))

    return edit


def write(path: str, text: str) -> Edit:
    def edit(directory, project):
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)

    return edit


def change(path: str, old: str, new: str) -> Edit:
    def edit(directory, project):
        text = (directory / path).read_text()
        if old not in text:
            raise LookupError(f"`{path}` of {project.name} has no `{old}`")
        (directory / path).write_text(text.replace(old, new, 1))

    return edit


def manifest(**keys) -> Edit:
    def edit(directory, project):
        path = directory / "package.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | keys, indent=2))

    return edit


def rename_all(directory: Path, project: Project) -> None:
    for path in tests_of(directory, project):
        path.rename(path.with_name(path.name.replace(".test.", ".checks.")))
    # `node --test` runs every file of a directory `test`.
    (directory / project.tests).rename(directory / "checks")


FAILS = "\ntest('lab fails', () => { throw new Error('lab') })\n"
FAILS_NODE = "\nrequire('node:test')('lab fails', () => { throw new Error('lab') })\n"
ENDS = "test('lab ends', () => { process.exit(0) })\n"
SKIPS = "\nimport { beforeEach } from 'vitest';\nbeforeEach((context) => context.skip());\n"

ROWS = {
    "error": [
        red("test-ends-process", every(lambda text: "require('node:test')('lab ends', () => { process.exit(0) })\n" + text)),
        red("import-ends-process", every(lambda text: "process.exit(0)\n" + text)),
        red("files-emptied", every(lambda text: "")),
        red("files-renamed", rename_all),
        bare("failing-test", first(FAILS_NODE)),
        bare("syntax-error", first("\nfunction (\n")),
    ],
    "warning": [
        red("all-todo", every(lambda text: "require('node:test').todo('later')\n")),
        red("all-skipped", every(lambda text: "require('node:test').skip('later', () => {})\n")),
        bare("exit-code-overwritten", first(FAILS_NODE + "process.on('exit', () => { process.exitCode = 0 })\n")),
        bare("missing-module", first("\nrequire('nothing-has-this-name')\n")),
        bare("prints-a-failed-summary", first("\nconsole.log('# pass 0\\n# fail 7\\nnot ok 9 - lab')\n")),
    ],
    "ms": [
        red("test-ends-process", first(ENDS)),
        red("all-skipped", every(lambda text: text.replace("test.each", "test.skip.each").replace("test('", "test.skip('"))),
        red("no-tests-allowed", manifest(jest={"testMatch": ["**/nothing.js"], "passWithNoTests": True})),
        red("name-matches-nothing", command=("node_modules/.bin/jest", "-t", "nothing-has-this-name", "--passWithNoTests")),
        bare("failing-test", first(FAILS)),
        bare("stops-at-first-failure", first(FAILS), manifest(jest={"bail": 1})),
        bare("only-one-test", first("\ntest.only('lab only', () => {})\n")),
        bare("error-after-the-tests", first("\ntest('lab late', () => { setTimeout(() => { throw new Error('late') }, 0) })\n")),
    ],
    "quotes-vitest": [
        red("test-ends-process", first(ENDS)),
        red("all-skipped", first(SKIPS)),
        bare("unhandled-rejection", first("\ntest('lab rejects', () => { void Promise.reject(new Error('lab')) })\n")),
        bare("import-error", first("\nimport '../src/nothing-has-this-name';\n")),
        bare("quiet", first("\ntest('lab prints', () => console.log('Tests  7 failed (7)'))\n"), write("vitest.config.mjs", "export default { test: { reporters: ['dot'] } };\n")),
    ],
    "quotes-tsc": [
        bare("wrong-argument", change("web/src/format.ts", "formatAmount(quote.totals.payable, quote.currency)", "formatAmount(quote.totals.payable, quote.status)")),
        bare("missing-property", change("web/src/model.ts", "  readonly payable: number;\n", "")),
        bare("syntax-error", change("web/src/table.ts", "return rows;", "return rows")),
        bare("missing-module", change("web/src/table.ts", "./format", "./nothing-has-this-name")),
        bare("excused-error", change("web/src/table.ts", "  return rows;", "  // @ts-expect-error lab\n  return quote;")),
        red("no-check-by-option", change("web/src/table.ts", "  return rows;", "  return quote;"), command=("node_modules/.bin/tsc", "--noEmit", "--noCheck", "-p", "web")),
        # A project may say so of itself; a check that checks nothing is no success all the same.
        red("no-check-by-configuration", change("web/tsconfig.json", '"noEmit": true', '"noEmit": true, "noCheck": true'), change("web/src/table.ts", "  return rows;", "  return quote;")),
        red("no-inputs", change("web/tsconfig.json", '"include": ["src"]', '"include": ["nothing"]')),
        red("solution-of-nothing", change("web/tsconfig.json", '"include": ["src"]', '"files": [], "references": []'), change("web/src/table.ts", "  return rows;", "  return quote;")),
    ],
}  # fmt: skip
# How many mutations of the sources each project has besides.
SOURCES = {"error": 3, "warning": 2, "ms": 2, "quotes-vitest": 3, "quotes-tsc": 2}
