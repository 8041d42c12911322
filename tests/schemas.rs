//! What proctor writes is what `proctor generate schema` says: checked by Python's `jsonschema`, which knows nothing of proctor.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Project, fake_tool, python_schemas, repository, seal_many_runs};

/// Reads lines `SCHEMA<tab>FILE` and validates each file; a file whose name ends in `.jsonl` has a document on each line.
const VALIDATES: &str = r#"
import json, sys
from jsonschema import Draft7Validator

validators, count = {}, 0
for line in open(sys.argv[1], encoding="utf-8"):
    schema, file = line.rstrip("\n").split("\t")
    if schema not in validators:
        loaded = json.load(open(schema, encoding="utf-8"))
        Draft7Validator.check_schema(loaded)
        validators[schema] = Draft7Validator(loaded)
    text = open(file, encoding="utf-8").read()
    for document in text.splitlines() if file.endswith(".jsonl") else [text]:
        for error in validators[schema].iter_errors(json.loads(document)):
            sys.exit(f"{file}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
        count += 1
print(count)
"#;

/// The number of reports that are made by the code that seals every run, in the quick and in the long tier.
const MANY: [u64; 2] = [60, 1000];

fn write(project: &Project, name: &str, text: &str) -> PathBuf {
    let path = project.shared(name);
    fs::write(&path, text).expect("the root is ours");
    path
}

/// Returns every file of this name below a directory.
fn files_named(directory: &Path, is_it: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it is a directory").flatten() {
        let kind = entry.file_type().expect("it is there");
        if kind.is_dir() {
            found.extend(files_named(&entry.path(), is_it));
        } else if kind.is_file() && entry.file_name().to_str().is_some_and(is_it) {
            found.push(entry.path());
        }
    }
    found
}

#[test]
#[ignore = "long tier"]
fn what_is_written_is_valid_by_the_printed_schemas() {
    everything_is_valid(MANY[0]);
}

#[test]
#[ignore = "long tier"]
fn a_thousand_reports_are_valid_by_the_printed_schema() {
    everything_is_valid(MANY[1]);
}

fn everything_is_valid(many: u64) {
    let check = |name: &str, words: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"fake-tool {words}\"\n");
    let project = Project::new().with_program(fake_tool()).toml(&check("says", "--stdout said"));
    project.proctor(["run"]).success();
    project.save("proctor.toml", &(check("says", "--stdout said") + &check("fails", "--exit 3 --stderr broken")));
    project.proctor(["run"]).failure();
    project.proctor(["tdd", "start"]).success();
    project.proctor(["key", "rotate"]).success();
    project.proctor(["run"]).any_status();
    let schema =
        |what: &str| write(&project, &format!("{what}.schema"), &project.proctor(["generate", "schema", what]).success().stdout);
    let [report, debt, ledger, verify, status] = ["report", "debt", "ledger", "verify", "status"].map(schema);
    let specification = schema("specification");
    assert_eq!(fs::read(&specification).ok(), Some(project.proctor(["generate", "schema"]).success().stdout.into_bytes()));
    let state = project.root().join("state/proctor");
    seal_many_runs(&state, many, 10);
    let store = |name: &'static str| files_named(&state.join("evidence"), &move |found: &str| found == name);
    let reports = store("execution-report.json");
    assert!(reports.len() as u64 > many, "{}", reports.len());
    let golden = |name: &str| repository().join("crates/evidence/src/report/golden").join(name);
    let verified = project.proctor(["verify", "--all", "--json"]).success().stdout;
    let verified = write(&project, "verified", &verified);
    let shown = write(&project, "status", &project.proctor(["status", "--json"]).success().stdout);
    let log = files_named(&state.join("evidence"), &|name| name.ends_with(".log")).pop().expect("a run has a log");
    fs::remove_file(log).expect("the directory is ours");
    let faulty = write(&project, "faulty", &project.proctor(["verify", "--json"]).status(6).stdout);
    let ledgers = files_named(&state.join("ledger"), &|name| name.ends_with(".jsonl"));
    let rows = [
        (&report, [reports, vec![golden("execution-report.json")]].concat()),
        (&debt, [store("technical-debt-data.json"), vec![golden("technical-debt-data.json")]].concat()),
        (&ledger, ledgers),
        (&verify, vec![verified, faulty]),
        (&status, vec![shown]),
    ];
    let pairs = rows.iter().flat_map(|(schema, files)| files.iter().map(move |file| (schema, file)));
    let list: String = pairs.map(|(schema, file)| format!("{}\t{}\n", schema.display(), file.display())).collect();
    let list = write(&project, "list", &list);
    let arguments = ["-c", VALIDATES, list.to_str().expect("a temporary path is text")];
    let said = project.command(&python_schemas(), arguments).success().stdout;
    assert!(said.trim().parse::<u64>().is_ok_and(|count| count > 2 * many), "{said}");
}

#[test]
#[ignore = "long tier"]
fn a_document_that_is_another_one_is_refused_by_its_schema() {
    let project = Project::new();
    let golden =
        fs::read_to_string(repository().join("crates/evidence/src/report/golden/execution-report.json")).expect("it is there");
    let schema = write(&project, "schema", &project.proctor(["generate", "schema", "report"]).success().stdout);
    for (from, to) in [("\"overallStatus\": \"", "\"overallStatus\": \"X"), ("\"reportVersion\"", "\"reportVersions\"")] {
        assert!(golden.contains(from), "{from}");
        let document = write(&project, "document", &golden.replacen(from, to, 1));
        let list = write(&project, "list", &format!("{}\t{}\n", schema.display(), document.display()));
        let arguments = ["-c", VALIDATES, list.to_str().expect("a temporary path is text")];
        assert_eq!(project.command(&python_schemas(), arguments).any_status().status, 1, "{from}");
    }
}
