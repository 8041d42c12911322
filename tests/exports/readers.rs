//! Has the exports read by programs that others wrote: junitparser, Allure, CTRF's own validator, Microsoft's SARIF multitool and
//! sarif-tools. Each takes a real run, and refuses a copy in which one thing is wrong, so that the check can fail.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{export, project};
use crate::common::{Project, export_modules, python_junit, python_sarif};

/// Prints what junitparser reads: for each suite its name, its counts, and how many of its cases have which result.
const JUNIT: &str = r#"
import json, sys
from junitparser import Error, Failure, JUnitXml, Skipped

suites = {}
for suite in JUnitXml.fromfile(sys.argv[1]):
    cases = [type(result) for case in suite for result in case.result]
    counted = [len(list(suite)), cases.count(Failure), cases.count(Error), cases.count(Skipped)]
    said = [suite.tests, suite.failures, suite.errors, suite.skipped]
    assert counted == said, f"{suite.name}: it says {said} and has {counted}"
    suites[suite.name] = counted, {each.name: each.value for each in suite.properties()}
print(json.dumps(suites))
"#;

/// Validates a document by the schema of CTRF as its own package does, and prints the names of the tests that failed.
const CTRF: &str = r#"
import { readFileSync } from "node:fs";
import { calculateSummary, filterTests, parse, validateStrict } from "ctrf";
const report = parse(readFileSync(process.argv[2], "utf8"));
validateStrict(report);
const counted = calculateSummary(report.results.tests);
for (const key of ["tests", "passed", "failed", "skipped"]) {
    if (counted[key] !== report.results.summary[key]) throw new Error(`${key}: ${counted[key]}`);
}
console.log(JSON.stringify(filterTests(report, { status: "failed" }).map((test) => test.name)));
"#;

/// An exported run in a directory of its own.
struct Exported {
    project: Project,
}

impl Exported {
    fn new() -> Self {
        let project = project("");
        project.proctor(["run"]).status(1);
        Self { project }
    }

    /// Writes an export to a file, with one text replaced.
    #[track_caller]
    fn write(&self, format: &str, name: &str, replaced: Option<(&str, &str)>) -> PathBuf {
        let mut text = export(&self.project, format);
        if let Some((from, to)) = replaced {
            assert!(text.contains(from), "`{from}` is not in {text}");
            text = text.replacen(from, to, 1);
        }
        let path = self.project.shared(name);
        fs::create_dir_all(path.parent().expect("it lies in a directory")).expect("the directory is ours");
        fs::write(&path, text).expect("the directory is ours");
        path
    }
}

/// Runs a program. Returns its standard output if it succeeded, and otherwise what it said.
#[track_caller]
fn read_by(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(stdout.into_owned()) } else { Err(format!("{stdout}{stderr}")) }
}

#[test]
#[ignore = "wide tier"]
fn junitparser_reads_the_counts_and_refuses_others() {
    let exported = Exported::new();
    let read = |path: &Path| read_by(Command::new(python_junit()).args(["-c", JUNIT]).arg(path));
    let suites: Value = serde_json::from_str(&read(&exported.write("junit", "a.xml", None)).expect("it is read")).expect("JSON");
    assert_eq!(suites["unit"][0], serde_json::json!([4, 1, 1, 1]));
    assert_eq!(suites["types"][0], serde_json::json!([1, 1, 0, 0]));
    assert_eq!(suites["unit"][1]["proctor.verdict"], "FAILED");
    let tampered = exported.write("junit", "b.xml", Some(("<failure ", "<system-err ")));
    assert!(read(&tampered).is_err(), "an element is not closed");
    let tampered = exported.write("junit", "c.xml", Some(("tests=\"4\" failures=\"1\"", "tests=\"4\" failures=\"0\"")));
    let refused = read(&tampered).expect_err("the counts are wrong");
    assert!(refused.contains("unit: it says [4, 0, 1, 1] and has [4, 1, 1, 1]"), "{refused}");
}

#[test]
#[ignore = "wide tier"]
fn the_package_of_ctrf_validates_the_document_and_refuses_another_key() {
    let exported = Exported::new();
    let script = exported.project.shared("node/read.mjs");
    fs::create_dir_all(exported.project.shared("node")).expect("the directory is ours");
    std::os::unix::fs::symlink(export_modules(), exported.project.shared("node/node_modules")).expect("the directory is ours");
    fs::write(&script, CTRF).expect("the directory is ours");
    let read = |path: &Path| read_by(Command::new("node").arg(&script).arg(path));
    let failed = read(&exported.write("ctrf", "a.json", None)).expect("it is valid");
    let failed: Vec<String> = serde_json::from_str(&failed).expect("JSON");
    assert_eq!(failed.len(), 3, "{failed:?}");
    for (from, to) in
        [("\"status\": \"passed\"", "\"state\": \"passed\""), ("\"status\": \"skipped\"", "\"status\": \"omitted\"")]
    {
        let refused = read(&exported.write("ctrf", "b.json", Some((from, to)))).expect_err("it is not valid");
        assert!(refused.contains("ValidationError"), "{refused}");
    }
    let wrong = read(&exported.write("ctrf", "c.json", Some(("\"failed\": 3", "\"failed\": 0")))).expect_err("a wrong count");
    assert!(wrong.contains("failed: 3"), "{wrong}");
}

#[test]
#[ignore = "wide tier"]
fn allure_reads_every_case_of_junit_and_sees_a_tampered_one() {
    let exported = Exported::new();
    let statuses = |name: &str, replaced| {
        exported.write("junit", &format!("{name}/junit.xml"), replaced);
        let (from, to) = (exported.project.shared(name), exported.project.shared(&format!("{name}-out")));
        let mut allure = Command::new(export_modules().join(".bin/allure"));
        allure.arg("generate").arg(&from).arg("-o").arg(&to).current_dir(exported.project.shared("")).env("CI", "true");
        let said = read_by(&mut allure);
        let results = fs::read(to.join("test-results.json")).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        let results: Value = serde_json::from_slice(&results).expect("JSON");
        let tests = results["byId"].as_object().expect("the tests by their ids").values();
        let mut statuses: Vec<String> = tests.map(|test| test["status"].as_str().unwrap_or_default().to_owned()).collect();
        statuses.sort();
        statuses
    };
    assert_eq!(statuses("whole", None), ["broken", "failed", "failed", "passed", "skipped"]);
    let tampered = statuses("tampered", Some(("<error message=\"no fixture\"", "<xerror message=\"no fixture\"")));
    assert_ne!(tampered, ["broken", "failed", "failed", "passed", "skipped"]);
}

#[test]
#[ignore = "wide tier"]
fn the_multitool_of_sarif_finds_no_error_and_finds_one_in_a_tampered_document() {
    let exported = Exported::new();
    let tool = export_modules().join("@microsoft/sarif-multitool-linux/Sarif.Multitool");
    // Packages are installed without their scripts, one of which would do this.
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("the build directory is ours");
    let errors = |path: &Path| {
        let mut command = Command::new(&tool);
        command
            .arg("validate")
            .arg(path)
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .env("TMPDIR", exported.project.shared(""));
        command.env("DOTNET_BUNDLE_EXTRACT_BASE_DIR", exported.project.shared("dotnet"));
        let said = read_by(&mut command).expect("the tool ends well, whatever it finds");
        assert!(said.contains("Analysis completed successfully"), "{said}");
        said.lines().filter(|line| line.contains(": error ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(errors(&exported.write("sarif", "a.sarif", None)), Vec::<String>::new());
    for (from, to) in [
        ("\"startLine\": 3", "\"startLine\": 0"),
        ("\"message\": {", "\"mesage\": {"),
        ("\"uriBaseId\": \"SRCROOT\"", "\"uriBaseId\": 5"),
    ] {
        assert_ne!(errors(&exported.write("sarif", "b.sarif", Some((from, to)))), Vec::<String>::new(), "{from}");
    }
}

#[test]
#[ignore = "wide tier"]
fn sarif_tools_list_every_finding_by_file_and_line_and_refuse_a_torn_document() {
    let exported = Exported::new();
    let table = exported.project.shared("findings.csv");
    let read = |path: &Path| {
        let mut command = Command::new(python_sarif());
        command.args(["-m", "sarif", "csv", "-o"]).arg(&table).arg(path);
        read_by(&mut command).map(|_| fs::read_to_string(&table).expect("it was written"))
    };
    let found = read(&exported.write("sarif", "a.sarif", None)).expect("it is read");
    let rows: Vec<&str> = found.lines().collect();
    assert_eq!(rows.len(), 5, "a head, two tests and two findings: {found}");
    assert!(rows.iter().any(|row| row.starts_with("typescript,error,TS2322,") && row.contains("web/a%20b.ts,3")), "{found}");
    let tampered =
        read(&exported.write("sarif", "b.sarif", Some(("\"level\": \"error\"", "\"level\": \"note\"")))).expect("it is read");
    assert_ne!(tampered, found, "a finding that was weakened is seen");
    assert!(read(&exported.write("sarif", "c.sarif", Some(("\"results\"", "\"results")))).is_err(), "it is no JSON");
}
