//! Tests real Jest, Vitest, Prettier, mypy and Ruff in complete runs: the arguments that proctor adds to each tool, how
//! it judges the tool's output, and what it records.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Project, jest_modules, node_modules, python_checkers, vitest_modules};

const PASSING: &str = "test('adds', () => { expect(1 + 1).toBe(2); });\n";
const FAILING: &str = "test('adds', () => { expect(1 + 1).toBe(2); });\ndescribe('quotes', () => { test('answers 200', () => { expect(404).toBe(200); }); });\n";
const EXITING: &str = "test('ends the process', () => { process.exit(0); });\n";

/// Returns the category code of the first check, and the value that its result has at `key`.
fn outcome(report: &Value, key: &str) -> (Value, Value) {
    let result = &report["stepExecution"]["results"][0];
    (result["classification"]["code"].clone(), result["result"][key].clone())
}

fn check(tool: &str, command: &str) -> String {
    format!("[[check]]\nname = \"{tool}\"\ntool = \"{tool}\"\ncommand = \"{command}\"\n")
}

fn program(modules: &Path, name: &str) -> String {
    modules.join(".bin").join(name).display().to_string()
}

#[test]
fn jest_passes_fails_and_proves_nothing_where_a_test_ends_the_process() {
    let jest = program(&jest_modules(), "jest");
    let project = Project::new().file("package.json", "{\"name\": \"x\"}\n").toml(&check("jest", &jest));
    project.save("a.test.js", PASSING);
    let output = project.proctor(["run"]).success();
    let (code, tests) = outcome(&output.report(), "testResults");
    assert_eq!((code, &tests["passed"], &tests["failed"]), (json!("TESTS_PASSED"), &json!(1), &json!(0)));
    assert!(output.run_directory().join("STEP.1-jest-report.json").is_file(), "the report is evidence");
    project.save("a.test.js", FAILING);
    let report = project.proctor(["run"]).failure().report();
    let (code, tests) = outcome(&report, "testResults");
    assert_eq!((code, &tests["passed"], &tests["failed"]), (json!("TESTS_FAILED"), &json!(1), &json!(1)));
    let failure = &tests["failures"][0];
    assert_eq!((&failure["testName"], &failure["testFile"]), (&json!("a.test.js › quotes › answers 200"), &json!("a.test.js")));
    assert_eq!((&failure["expected"], &failure["received"], &failure["line"]), (&json!("200"), &json!("404"), &json!(2)));
    assert_eq!(report["stepExecution"]["results"][0]["result"]["reportChannel"], "argument");
    project.save("a.test.js", EXITING);
    let (code, _) = outcome(&project.proctor(["run"]).failure().report(), "testResults");
    assert_eq!(code, "REPORT_MISSING", "Jest ended with exit code 0");
}

#[test]
fn jest_behind_a_script_is_recognised_and_asked_through_it() {
    let package = r#"{"name": "x", "scripts": {"test": "jest --ci"}}"#;
    let visible = jest_modules().display().to_string();
    let toml = &format!("[sandbox]\nvisible = [\"{visible}\"]\n[[check]]\nname = \"unit\"\ncommand = \"npm test\"\n");
    let project = Project::new().file("package.json", package).toml(toml).file("a.test.js", PASSING);
    symlink(jest_modules(), project.path().join("node_modules")).expect("the project is ours");
    let (code, tests) = outcome(&project.proctor(["run"]).success().report(), "testResults");
    assert_eq!((code, &tests["passed"]), (json!("TESTS_PASSED"), &json!(1)));
}

#[test]
fn vitest_is_found_by_its_script_and_judged_by_its_report() {
    let project = Project::new()
        .file("package.json", r#"{"name": "x", "type": "module", "scripts": {"test": "vitest --globals"}}"#)
        .file(".gitignore", "node_modules\n")
        .file("a.test.js", FAILING);
    symlink(vitest_modules(), project.path().join("node_modules")).expect("the project is ours");
    let report = project.proctor(["run"]).failure().report();
    let (code, tests) = outcome(&report, "testResults");
    assert_eq!((code, &tests["passed"], &tests["failed"]), (json!("TESTS_FAILED"), &json!(1), &json!(1)));
    project.save("a.test.js", PASSING);
    let (code, tests) = outcome(&project.proctor(["run"]).success().report(), "testResults");
    assert_eq!((code, &tests["passed"]), (json!("TESTS_PASSED"), &json!(1)));
}

#[test]
fn prettier_warns_unless_the_policy_says_more_and_a_pattern_without_files_is_no_success() {
    let prettier = program(&jest_modules(), "prettier");
    let project = Project::new().file("a.js", "const  x = 1\n").toml(&check("prettier", &format!("{prettier} --check .")));
    let report = project.proctor(["run"]).success().report();
    let (code, found) = outcome(&report, "diagnostics");
    assert_eq!((code, &found[0]["file"], &found[0]["fixable"]), (json!("FINDINGS"), &json!("a.js"), &json!(true)));
    let classification = &report["stepExecution"]["results"][0]["classification"];
    assert_eq!(classification["policyApplied"]["strategy"], "WARN_ONLY", "C20");
    let strict = format!("{}policy = {{ block_on = \"errors-only\" }}\n", check("prettier", &format!("{prettier} --check a.js")));
    let strict = Project::new().file("a.js", "const  x = 1\n").toml(&strict);
    strict.proctor(["run"]).failure();
    strict.save("a.js", "const x = 1;\n");
    assert_eq!(outcome(&strict.proctor(["run"]).success().report(), "diagnostics").0, "CLEAN");
    let nothing = Project::new().toml(&check("prettier", &format!("{prettier} --check nowhere.js")));
    assert_eq!(outcome(&nothing.proctor(["run"]).failure().report(), "diagnostics").0, "USAGE_ERROR");
}

#[test]
fn mypy_and_ruff_are_found_in_the_projects_environment() {
    let environment: PathBuf = python_checkers().parent().and_then(Path::parent).expect("it lies in bin/").to_owned();
    let project = Project::new()
        .file("pyproject.toml", "[tool.mypy]\nfiles = [\"a.py\"]\n[tool.ruff]\nline-length = 100\n")
        .file(".gitignore", ".venv\n")
        .file("a.py", "import os\n\n\ndef f(x: int) -> str:\n    return x\n");
    symlink(environment, project.path().join(".venv")).expect("the project is ours");
    let report = project.proctor(["run"]).failure().report();
    let results = report["stepExecution"]["results"].as_array().expect("two checks").clone();
    let seen: Vec<_> = results
        .iter()
        .map(|result| {
            let found = &result["result"]["diagnostics"][0];
            (result["classification"]["validationTool"].clone(), found["ruleId"].clone(), found["line"].clone())
        })
        .collect();
    assert_eq!(seen, [(json!("mypy"), json!("return-value"), json!(5)), (json!("ruff"), json!("F401"), json!(1))]);
    assert_eq!(results[1]["result"]["diagnostics"][0]["fix"]["automated"], true, "the command is ours, so it was asked for JSON");
    project.save("a.py", "def f(x: int) -> str:\n    return str(x)\n");
    project.proctor(["run"]).success();
}

/// Vitest writes a snapshot of a test's value where none is there yet. In earlier versions this file counted as a save,
/// so the run was MOVED.
#[test]
#[ignore = "long tier"]
fn a_new_snapshot_of_vitest_moves_nothing_and_is_kept_where_writes_says() {
    let test = "test('a', () => expect({ a: 1 }).toMatchSnapshot());\n";
    let project = Project::new()
        .toml("[sandbox]\nsnapshot = \"require\"\n")
        .file("package.json", r#"{"name": "x", "type": "module", "scripts": {"test": "vitest --globals"}}"#)
        .file(".gitignore", "node_modules\n")
        .file("a.test.js", test);
    symlink(vitest_modules(), project.path().join("node_modules")).expect("the project is ours");
    let made = "__snapshots__/a.test.js.snap";
    for _ in 0..2 {
        let output = project.proctor(["run"]).success();
        let snapshot = output.report()["tree"]["snapshot"].clone();
        assert_eq!((&snapshot["written"][0]["path"], &snapshot["writtenCount"]), (&json!(made), &json!(1)), "{snapshot}");
        assert!(output.stdout.contains("to keep: writes = [\"__snapshots__/a.test.js.snap\"]"), "{}", output.stdout);
        assert!(!project.path().join(made).exists());
    }
    let runs = project.store().committed_runs();
    assert!(runs.iter().all(|run| run["overallStatus"] == "SUCCESS"), "{runs:?}");
    let command = "command = \"npx vitest run --globals\"\nwrites = [\"**/__snapshots__/**\"]\n";
    project.save("proctor.toml", &format!("[sandbox]\nsnapshot = \"require\"\n[[check]]\nname = \"unit\"\n{command}"));
    project.approve();
    project.proctor(["run"]).success();
    assert!(project.path().join(made).is_file());
    // The kept snapshot is compared from now on.
    project.save("a.test.js", &test.replace("a: 1", "a: 2"));
    let (code, tests) = outcome(&project.proctor(["run"]).failure().report(), "testResults");
    assert_eq!((code, &tests["failed"]), (json!("TESTS_FAILED"), &json!(1)));
}

/// Each of these commands ends with exit code 0 and checked nothing.
#[test]
fn v4_v22_commands_that_check_nothing_are_no_success() {
    let python = python_checkers();
    let ruff = python.with_file_name("ruff").display().to_string();
    let (eslint, tsc) = (program(&node_modules(), "eslint"), program(&node_modules(), "tsc"));
    let (python, prettier) = (python.display().to_string(), program(&jest_modules(), "prettier"));
    let rows = [
        ("eslint", format!("{eslint} --print-config a.js"), "USAGE_ERROR"),
        ("eslint", format!("{eslint} --no-error-on-unmatched-pattern nope"), "USAGE_ERROR"),
        ("eslint", format!("{eslint} -f json --no-error-on-unmatched-pattern nope"), "NOTHING_CHECKED"),
        ("tsc", format!("{tsc} --showConfig"), "USAGE_ERROR"),
        ("tsc", format!("{tsc} -b --dry"), "USAGE_ERROR"),
        ("tsc", format!("{tsc} -p solution --diagnostics"), "NOTHING_CHECKED"),
        ("ruff", format!("{ruff} check --show-files"), "USAGE_ERROR"),
        ("ruff", format!("{ruff} rule F401"), "USAGE_ERROR"),
        ("mypy", format!("{python} -m mypy --version"), "USAGE_ERROR"),
        ("prettier", format!("{prettier} --version"), "USAGE_ERROR"),
        ("generic", format!("{python} -m unittest discover -s none"), "NOTHING_CHECKED"),
        ("generic", format!("{python} -m unittest discover -s skipped"), "NOTHING_CHECKED"),
    ];
    let checks: String = rows
        .iter()
        .enumerate()
        .map(|(number, (tool, command, _))| {
            let tool = if *tool == "generic" { String::new() } else { format!("tool = \"{tool}\"\n") };
            format!("[[check]]\nname = \"c{number}\"\n{tool}command = \"{command}\"\n")
        })
        .collect();
    let project = Project::new()
        .file("a.js", "const x = 1;\n")
        .file("eslint.config.mjs", "export default [{ rules: {} }];\n")
        .file("a.ts", "export const x: number = 1;\n")
        .file("a.py", "x = 1\n")
        .file("tsconfig.json", "{ \"files\": [\"a.ts\"], \"compilerOptions\": { \"noEmit\": true, \"types\": [] } }\n")
        .file("solution/tsconfig.json", "{ \"files\": [], \"references\": [{ \"path\": \"..\" }] }\n")
        .file("none/readme.txt", "no test\n")
        .file(
            "skipped/test_a.py",
            "import unittest\n\n\nclass A(unittest.TestCase):\n    @unittest.skip('later')\n    def test_a(self):\n        pass\n",
        )
        .toml(&checks);
    let report = project.proctor(["run"]).failure().report();
    let results = report["stepExecution"]["results"].as_array().expect("a list of results");
    for ((_, command, expected), result) in rows.iter().zip(results) {
        let classification = &result["classification"];
        assert_eq!(classification["code"], *expected, "{command}: {}", classification["reason"]);
        assert_ne!(result["status"], "SUCCESS", "{command}");
    }
    assert_eq!(results.len(), rows.len());
    assert_eq!(results[2]["result"]["examined"], json!({ "what": "files", "count": 0 }));
}

#[test]
fn what_a_tool_looked_at_is_in_the_report_and_unknown_is_said_as_such() {
    let mypy = python_checkers().display().to_string();
    let eslint = program(&node_modules(), "eslint");
    let toml = [check("mypy", &format!("{mypy} -m mypy a.py")), check("eslint", &format!("{eslint} a.js"))].concat();
    let project = Project::new()
        .file("a.py", "x = 1\n")
        .file("a.js", "const x = 1;\n")
        .file("eslint.config.mjs", "export default [{ rules: {} }];\n")
        .toml(&toml);
    let report = project.proctor(["run"]).success().report();
    let examined = |number: usize| report["stepExecution"]["results"][number]["result"]["examined"].clone();
    assert_eq!(examined(0), json!({ "what": "files", "count": 1 }));
    assert_eq!(examined(1), json!({ "what": "files", "count": null }), "its text for people has no number of files");
}

#[test]
fn a_policy_can_allow_that_nothing_is_checked_and_the_report_says_so() {
    let eslint = program(&node_modules(), "eslint");
    let command = format!("{eslint} -f json --no-error-on-unmatched-pattern nope");
    let toml = format!("{}policy = {{ block_on = \"never\" }}\n", check("eslint", &command));
    let project = Project::new().file("eslint.config.mjs", "export default [];\n").toml(&toml);
    let report = project.proctor(["run"]).success().report();
    let classification = &report["stepExecution"]["results"][0]["classification"];
    assert_eq!(classification["code"], "NOTHING_CHECKED");
    assert_eq!(classification["policyApplied"]["strategy"], "NEVER");
}

/// The files that a linter checks, each with a finding.
const LISTED: &[(&str, &str)] =
    &[("src/bad.py", "import os\n"), ("src/bad.js", "debugger\n"), ("more/bad.py", "import os\n"), ("more/bad.js", "debugger\n")];

/// A further path is free for these tools, so no file in it may take a file of the first path from the tool, and no path may.
#[test]
#[ignore = "long tier"]
fn a_further_path_takes_no_file_from_a_linter() {
    let ruff = format!("{} check --no-cache --output-format concise", python_checkers().with_file_name("ruff").display());
    let eslint = format!("{} -f json", program(&node_modules(), "eslint"));
    let prettier = format!("{} --list-different", program(&jest_modules(), "prettier"));
    let cheats: &[(&str, &str)] = &[
        ("more/ruff.toml", "exclude = [\"src\", \"*\"]\nforce-exclude = true\n"),
        ("more/pyproject.toml", "[tool.ruff]\nextend-exclude = [\"../src\"]\nlint.per-file-ignores = { \"**\" = [\"ALL\"] }\n"),
        ("more/eslint.config.mjs", "export default [{ ignores: [\"**\"] }, { ignores: [\"../src/**\"] }];\n"),
        ("more/.eslintrc.json", "{\"root\": true, \"ignorePatterns\": [\"../src\", \"*\"]}\n"),
        ("more/.prettierignore", "../src\n*\n"),
        ("more/.prettierrc", "{\"requirePragma\": true}\n"),
    ];
    for (tool, end) in [(&ruff, ".py"), (&eslint, ".js"), (&prettier, ".js")] {
        let is_read = |(path, _): &&(&str, &str)| tool.contains("ruff") == (path.contains("ruff") || path.contains("pyproject"));
        for cheat in cheats.iter().filter(is_read).map(Some).chain([None]) {
            let rules = ("eslint.config.mjs", "export default [{ rules: { \"no-debugger\": \"error\" } }];\n");
            let project =
                LISTED.iter().chain(cheat).chain([&rules]).fold(Project::new(), |project, (path, text)| project.file(path, text));
            let listed = |paths: &str| {
                let mut words = tool.split(' ').chain(paths.split(' '));
                let mut command = Command::new(words.next().expect("a program"));
                let output = command.args(words).current_dir(project.path()).output().expect("the tool is installed");
                (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
            };
            for paths in ["src more", "src .", &format!("src more/bad{end}"), "src more/none"] {
                let (is_success, text) = listed(paths);
                // A tool that refuses a path fails, which hides nothing.
                assert!(!is_success, "{tool} {paths}, {cheat:?}: {text}");
                let names_it = text.contains(&format!("src/bad{end}"));
                assert!(names_it || paths.ends_with("none") || text.is_empty(), "{tool} {paths}, {cheat:?}: {text}");
            }
        }
    }
}

/// Each of these commands mends its own copy and ends with exit code 0, and the project keeps what was wrong.
#[test]
#[ignore = "long tier"]
fn a_linter_or_formatter_that_mends_its_own_copy_is_no_success() {
    let ruff = python_checkers().with_file_name("ruff").display().to_string();
    let (eslint, prettier) = (program(&node_modules(), "eslint"), program(&jest_modules(), "prettier"));
    let rows = [
        ("ruff", format!("{ruff} check --fix ruff/a.py"), Some("`ruff/a.py`")),
        ("format", format!("{ruff} format format"), Some("`format/a.py`")),
        ("eslint", format!("{eslint} --fix eslint"), Some("`eslint/a.js`")),
        ("prettier", format!("{prettier} --write prettier"), Some("`prettier/a.js`")),
        ("script", "npm run mend".to_owned(), Some("2 files")),
        ("shell", "bash -c 'set -e; true; bin/gofmt -w go/a.go'".to_owned(), Some("`go/a.go`")),
        ("removes", "bin/black gone.py --remove".to_owned(), Some("`gone.py`")),
        ("same", "bin/black same.py".to_owned(), None),
        ("makes", "bin/black made.py".to_owned(), None),
        ("clean", format!("{ruff} check --fix clean.py"), None),
        ("generates", "bin/generate go/a.go".to_owned(), None),
    ];
    let checks: String =
        rows.iter().map(|(name, command, _)| format!("[[check]]\nname = \"{name}\"\ncommand = \"{command}\"\n")).collect();
    // What a later check sees is not what the mending one made.
    let later = format!("[[check]]\nname = \"later\"\ncommand = \"{ruff} check ruff\"\n");
    let visible = jest_modules().display().to_string();
    let toml = format!("[sandbox]\nsnapshot = \"require\"\nvisible = [\"{visible}\"]\n{checks}{later}");
    let unformatted = "const   x = 1\n";
    let project = Project::new()
        .file(
            "package.json",
            &format!(r#"{{"name": "x", "scripts": {{"mend": "npm run both", "both": "{prettier} --write script"}}}}"#),
        )
        .file("eslint.config.mjs", "export default [{ rules: { 'prefer-const': 'error' } }];\n")
        .file("eslint/a.js", "let x = 1;\nexport default x;\n")
        .file("ruff/a.py", "import os\n")
        .file("format/a.py", "x  =  1\n")
        .file("prettier/a.js", unformatted)
        .file("script/a.js", unformatted)
        .file("script/b.js", unformatted)
        .file("go/a.go", "package a\n")
        .file("same.py", "x\n")
        .file("gone.py", "x\n")
        .file("clean.py", "x = 1\n")
        .executable("bin/gofmt", "#!/bin/sh\necho mended >> \"$2\"\n")
        .executable("bin/generate", "#!/bin/sh\necho made >> \"$1\"\n")
        .executable("bin/black", "#!/bin/sh\nif [ -n \"$2\" ]; then rm \"$1\"; else rm -f \"$1\"; echo x > \"$1\"; fi\n")
        .toml(&toml);
    let report = project.proctor(["run"]).failure().report();
    let results = report["stepExecution"]["results"].as_array().expect("a list of results");
    for ((name, command, named), result) in rows.iter().zip(results) {
        let (code, reason) = (&result["classification"]["code"], result["classification"]["reason"].as_str().unwrap_or_default());
        match named {
            Some(named) => {
                assert_eq!((code, &result["blocking"]), (&json!("FILES_CHANGED"), &json!(true)), "{command}: {reason}");
                assert!(reason.contains(named) && reason.contains("not as it wants them"), "{command}: {reason}");
                assert_eq!(result["debtGeneration"]["shouldGenerate"], true, "{command}");
            }
            None => assert_eq!(result["status"], "SUCCESS", "{name}: {command}: {result:#}"),
        }
    }
    let later = &results[rows.len()];
    assert_eq!((&later["name"], &later["classification"]["code"]), (&json!("later"), &json!("FINDINGS")), "{later:#}");
    assert_eq!(std::fs::read_to_string(project.path().join("ruff/a.py")).expect("it is ours"), "import os\n");
}

/// `writes` copies what was mended to the project: the verdict about the files before is red, and that about the mended ones green.
#[test]
fn what_a_formatter_mends_by_its_writes_is_judged_on_the_mended_files() {
    let ruff = python_checkers().with_file_name("ruff").display().to_string();
    let toml =
        format!("[sandbox]\nsnapshot = \"require\"\n{}writes = [\"*.py\"]\n", check("ruff", &format!("{ruff} check --fix")));
    let project = Project::new().file("a.py", "import os\n").toml(&toml);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(report["stepExecution"]["results"][0]["classification"]["code"], "FILES_CHANGED");
    assert_eq!(std::fs::read_to_string(project.path().join("a.py")).expect("it is ours"), "");
    project.proctor(["run"]).success();
    // A policy under which findings do not block allows it.
    project.save("a.py", "import os\n");
    project.save("proctor.toml", &toml.replace("writes = [\"*.py\"]", "policy = { block_on = \"warn-only\" }"));
    project.approve();
    let report = project.proctor(["run"]).success().report();
    let classification = &report["stepExecution"]["results"][0]["classification"];
    assert_eq!((&classification["code"], &classification["category"]), (&json!("FILES_CHANGED"), &json!("VALIDATION_FAILURE")));
}
