//! Tests the bundled project under watch, with real pytest, tsc and eslint: each kind of mistake is found, and gone
//! after it is corrected.

use std::fs;

use serde_json::Value;

use crate::common::{Project, Watch, node_modules, python_plain};
use crate::watch_cli::{LATE, report_of, status_of, tree_digest};

/// How an editor writes a file.
#[derive(Debug, Clone, Copy)]
enum Save {
    InPlace,
    ByRename,
}

/// The bundled project. It uses the installed test tools instead of running its prerequisites.
fn quotes() -> Project {
    let project = Project::bundled("quotes");
    let settings = fs::read_to_string(project.path().join("proctor.toml")).expect("it has settings");
    let (comment, checks) = settings.split_once("# Run through the environment's own interpreter").expect("the checks follow");
    assert!(comment.contains("[[prerequisite]]"));
    let python = python_plain();
    let checks = checks.replace(".venv/bin/python", &python.to_string_lossy());
    std::os::unix::fs::symlink(node_modules(), project.path().join("node_modules")).expect("the copy has none");
    // A mended file has the content of before, which would be known.
    project.toml(&format!("[run]\nreuse = \"off\"\n# {checks}"))
}

#[track_caller]
fn edit(project: &Project, path: &str, from: &str, to: &str, save: Save) {
    let full = project.path().join(path);
    let text = fs::read_to_string(&full).expect("the file is there");
    assert_eq!(text.matches(from).count(), 1, "{path}: {from}");
    let text = text.replace(from, to);
    match save {
        Save::InPlace => project.save(path, &text),
        Save::ByRename => {
            let temporary = full.with_file_name(".edit.tmp");
            fs::write(&temporary, text).expect("the directory is ours");
            fs::rename(&temporary, &full).expect("one file system");
        }
    }
}

/// Waits for a verdict on the tree as it is now, and returns its report.
#[track_caller]
fn next_report(project: &Project, watch: &mut Watch<'_>) -> Value {
    let digest = tree_digest(project);
    loop {
        let run = watch.wait_for_verdict();
        if run["treeDigest"] == digest.as_str() && status_of(&run) != "MOVED" {
            return report_of(project, &run);
        }
    }
}

fn result<'r>(report: &'r Value, name: &str) -> &'r Value {
    let results = report["stepExecution"]["results"].as_array().expect("a list");
    results.iter().find(|result| result["name"] == name).expect("the check is there")
}

#[test]
#[ignore = "long tier"]
fn a_broken_test_type_and_lint_rule_are_each_found_and_mended() {
    let project = quotes();
    let mut watch = project.watch(["."]);
    let first = next_report(&project, &mut watch);
    assert_eq!(first["validationCriteriaEvaluation"]["overallResult"], "PASSED", "{first:#}");

    for (check, path, right, wrong, finding, breaking, mending) in [
        (
            "pytest",
            "quotes/quote.py",
            "return self.issued <= day <= self",
            "return self.issued <= day < self",
            "test_quote",
            Save::InPlace,
            Save::ByRename,
        ),
        ("tsc", "web/src/model.ts", "JPY: 0 }", "JPY: \"0\" }", "TS2322", Save::ByRename, Save::InPlace),
        (
            "eslint",
            "web/src/validate.ts",
            "net + tax !== payable",
            "net + tax != payable",
            "eqeqeq",
            Save::ByRename,
            Save::ByRename,
        ),
    ] {
        edit(&project, path, right, wrong, breaking);
        let broken = next_report(&project, &mut watch);
        assert_eq!(broken["validationCriteriaEvaluation"]["overallResult"], "FAILED", "{check}");
        assert!(result(&broken, check).to_string().contains(finding), "{:#}", result(&broken, check));
        for name in ["pytest", "tsc", "eslint"] {
            assert_eq!(result(&broken, name)["status"] == "SUCCESS", name != check, "{name} with broken {check}");
        }
        assert_eq!(broken["trigger"]["kind"], "save");
        assert!(broken["trigger"]["paths"].to_string().contains(path), "{}", broken["trigger"]);
        edit(&project, path, wrong, right, mending);
        let mended = next_report(&project, &mut watch);
        assert_eq!(mended["validationCriteriaEvaluation"]["overallResult"], "PASSED", "{check}");
    }
    assert_eq!(project.store().committed_runs().len(), 7, "{}", watch.text());
    assert_eq!(watch.interrupt().status, 130);
}

#[test]
#[ignore = "long tier"]
fn a_lint_warning_is_reported_and_does_not_block() {
    let project = quotes();
    let mut watch = project.watch(["."]);
    next_report(&project, &mut watch);
    let (right, wrong) = ("const rows = toRows(quote);", "const rows = toRows(quote); console.log(rows.length);");
    edit(&project, "web/src/table.ts", right, wrong, Save::InPlace);
    let line = watch.wait_for_line("the check", LATE, |line| line.contains("eslint") && line.contains("1 warning"));
    assert!(line.contains("0 errors, 1 warning"), "{line}");
    let report = next_report(&project, &mut watch);
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "PASSED");
    assert!(result(&report, "eslint").to_string().contains("no-console"), "{:#}", result(&report, "eslint"));
    watch.interrupt();
}
