//! Tests the defaults of a project whose checks take seconds: which checks a save starts, and which of them go on at the same
//! time. The tools are stand-ins that are found by the files of real ones. A test judges by what was carried out, not by a clock:
//! two checks that must go on side by side wait for each other.

use std::fs;
use std::time::Duration;

use crate::common::{Project, WRITES_TO_SHARED, Watch};

const LATE: Duration = Duration::from_secs(60);
const NOTICE: &str = "saved, but no check is triggered by the change: the last verdict is for the tree before it";
/// Three checks at a time, also on a machine with one CPU.
const THREE: &str = "[queue]\nmax_parallel = 3\n";

/// The beginning of every stand-in: it notes its name, and waits for the file of the check that has to go on beside it. A check
/// without such a partner, `-`, waits for nobody.
const BEGIN: &str = "begin() { echo $1 >>../shared/steps; touch ../shared/$1.here; \
    [ $2 = - ] || until [ -e ../shared/$2.here ]; do sleep 0.01; done; }\n";

const PYTEST: &str =
    "case \"$*\" in *--junitxml=*) begin pytest $(cat ../shared/beside.pytest 2>/dev/null || echo -);; *) exit 0;; esac
for word; do case $word in --junitxml=*) echo \"<testsuites><testsuite name='s' tests='1'>\
<testcase classname='c' name='n'/></testsuite></testsuites>\" > \"${word#--junitxml=}\"; echo '1 passed in 0.01s';; esac; done
";
const TSC: &str = "begin tsc eslint\n";
const ESLINT: &str = "begin eslint tsc
echo '[{\"filePath\":\"/a.ts\",\"messages\":[],\"errorCount\":0,\"warningCount\":0}]'
";

/// Returns a project in which pytest, tsc and eslint are found, without a `proctor.toml`.
fn project() -> Project {
    project_with(BEGIN)
}

/// The same with another beginning of the stand-ins.
fn project_with(begin: &str) -> Project {
    let tool = |text: &str| format!("#!/bin/sh\n{begin}{text}");
    Project::new()
        .file("pytest.ini", "[pytest]\n")
        .file("tsconfig.json", "{}")
        .file("eslint.config.js", "")
        .file("package.json", "{}")
        .file(".gitignore", "node_modules/\n.venv/\n")
        .file("shop/cart.py", "")
        .file("web/table.ts", "")
        .file("README.md", "")
        .executable(".venv/bin/python", &tool(PYTEST))
        .executable("node_modules/.bin/tsc", &tool(TSC))
        .executable("node_modules/.bin/eslint", &tool(ESLINT))
}

/// Returns the names of the checks that were carried out since the first `known` of them, sorted: those that go on at the same
/// time may begin in any order.
fn carried_out_after(project: &Project, known: usize) -> Vec<String> {
    let text = fs::read_to_string(project.shared("steps")).unwrap_or_default();
    let mut names: Vec<String> = text.lines().skip(known).map(str::to_owned).collect();
    names.sort();
    names
}

/// Waits for the end of the run of a save.
fn next_verdict(project: &Project, watch: &mut Watch<'_>) {
    watch.wait_for_verdict();
    watch.wait_for_line("the end of the run", LATE, |line| line.starts_with("PASSED"));
    for name in ["pytest", "tsc", "eslint"] {
        let _not_carried_out = fs::remove_file(project.shared(&format!("{name}.here")));
    }
}

#[test]
fn with_what_init_writes_a_save_starts_the_checks_that_read_such_files_and_documentation_none() {
    let project = project();
    project.proctor(["init"]).success();
    let written = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    assert!(written.contains("order = \"failed-first\"") && written.matches("reuse = \"watch\"").count() == 3, "{written}");
    project.save("proctor.toml", &format!("{written}\n{WRITES_TO_SHARED}{THREE}"));
    let mut watch = project.watch(["."]);
    next_verdict(&project, &mut watch);
    assert_eq!(carried_out_after(&project, 0), ["eslint", "pytest", "tsc"]);
    project.save("README.md", "documentation\n");
    watch.wait_for_line("the notice", LATE, |line| line == NOTICE);
    assert_eq!(carried_out_after(&project, 3), [""; 0]);
    project.save("shop/cart.py", "one = 1\n");
    next_verdict(&project, &mut watch);
    assert_eq!(carried_out_after(&project, 3), ["pytest"]);
    // These two wait for each other, so they went on at the same time.
    project.save("web/table.ts", "const one = 1;\n");
    next_verdict(&project, &mut watch);
    assert_eq!(carried_out_after(&project, 4), ["eslint", "tsc"]);
    watch.interrupt();
    // `paths` prove nothing: what has not seen this tree is stale until it has run, and then the verdict is one on all checks.
    project.proctor(["wait", "--fresh", "--timeout", "0"]).status(5);
    project.proctor(["wait", "--fresh"]).success();
    assert_eq!(carried_out_after(&project, 6), ["pytest"]);
    assert_eq!(project.store().report("default")["executionSummary"]["overallStatus"], "SUCCESS");
}

/// Returns the names of the checks that the last run carried out itself, sorted.
fn carried_out_last(project: &Project) -> Vec<String> {
    let report = project.store().report("default");
    let results = report["stepExecution"]["results"].as_array().expect("the checks").clone();
    let executed = results.iter().filter(|result| result["disposition"] == "EXECUTED");
    let mut names: Vec<String> = executed.map(|result| result["name"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

/// What proctor does by itself is no rule that anybody approves: before and after it, the plan is the same one.
#[test]
fn without_a_file_a_save_starts_what_init_would_write() {
    let project = project_with("begin() { :; }\n");
    let mut watch = project.watch(["."]);
    next_verdict(&project, &mut watch);
    let plan = project.store().report("default")["testSpecification"]["planDigest"].clone();
    assert_eq!(carried_out_last(&project), ["eslint", "pytest", "tsc"]);
    project.save("README.md", "documentation\n");
    watch.wait_for_line("the notice", LATE, |line| line == NOTICE);
    for (path, expected) in [("shop/cart.py", &["pytest"][..]), ("web/table.ts", &["eslint", "tsc"])] {
        project.save(path, "one = 1\n");
        next_verdict(&project, &mut watch);
        assert_eq!(carried_out_last(&project), expected, "{path}");
    }
    watch.interrupt();
    project.proctor(["wait", "--fresh"]).success();
    // A run by a file without checks of its own is by the same rules, and by its own settings it starts everything.
    project.save("proctor.toml", "[watch]\n");
    let run = project.proctor(["run"]).success();
    assert!(!run.stdout.contains("changed rules"), "{}", run.snapshot());
    assert_eq!(project.store().report("default")["testSpecification"]["planDigest"], plan);
}

#[test]
fn what_is_found_beside_a_file_without_checks_runs_at_every_save_side_by_side() {
    let project = project();
    project.save("proctor.toml", &format!("{WRITES_TO_SHARED}{THREE}"));
    // pytest waits for tsc, and tsc and eslint for each other: none of the three could end if they ran one by one.
    fs::write(project.shared("beside.pytest"), "tsc\n").expect("the directory is ours");
    let mut watch = project.watch(["."]);
    next_verdict(&project, &mut watch);
    for (number, path) in (1..).zip(["README.md", "shop/cart.py", "web/table.ts"]) {
        project.save(path, "saved\n");
        next_verdict(&project, &mut watch);
        assert_eq!(carried_out_after(&project, 3 * number), ["eslint", "pytest", "tsc"], "{path}");
    }
    watch.interrupt();
}

/// What was found is written down with proposals of what starts a check. These are no rules, so nobody is asked.
#[test]
fn a_project_that_was_run_before_init_runs_after_it_by_the_same_rules() {
    let project = project();
    project.save("proctor.toml", &format!("{WRITES_TO_SHARED}{THREE}"));
    project.proctor(["run"]).success();
    fs::remove_file(project.path().join("proctor.toml")).expect("it was written");
    project.proctor(["init"]).success();
    let written = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &format!("{written}\n{WRITES_TO_SHARED}{THREE}"));
    let again = project.proctor(["run"]).success();
    assert!(!again.stdout.contains("judged by changed rules"), "{}", again.snapshot());
}
