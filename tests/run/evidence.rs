//! Tests that evidence can be checked without proctor: files, hashes, manifest, exact bytes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::common::{IN_PLACE, Project, proctor};
use crate::run::{check, cleanup, prerequisite, project, result, run_directories};

/// Computes a report's hash by RFC 8785: keys sorted, no white space, whole floats written as integers.
const REPORT_HASH: &str = r#"
import hashlib, json, sys
number = lambda text: int(float(text)) if float(text).is_integer() else float(text)
report = json.load(open(sys.argv[1], encoding="utf-8"), parse_float=number)
claimed = report["authenticity"].pop("reportHash")
report["authenticity"].pop("signature", None)
text = json.dumps(report, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
print(claimed == hashlib.sha256(text.encode()).hexdigest())
"#;

fn with_runs() -> Project {
    let toml = prerequisite("packages", &[])
        + &check("prints", &["--stdout", "größe\n", "--stderr", "warned\n"])
        + &check("fails", &["--exit", "7"])
        + &cleanup("tidy up", &["--stdout", "tidied"]);
    let project = project(&toml);
    project.proctor(["run"]).failure();
    project.proctor(["run", "--check", "prints"]).success();
    let moves = "[[check]]\nname = \"moves\"\ncommand = [\"fake-tool\", \"--script\", \"date +%N > new\"]\n[sandbox]\nsnapshot = \"off\"\n";
    project.save("proctor.toml", &(toml + moves));
    project.proctor(["run"]).status(5);
    project
}

#[test]
fn c76_every_file_is_there_hashed_and_named_in_a_manifest_that_verifies() {
    let project = with_runs();
    let directories = run_directories(&project);
    assert_eq!(directories.len(), 4, "the run whose tree moved was repeated");
    for directory in directories {
        let in_it = directory.to_str().unwrap();
        project.command(Path::new("sha256sum"), ["-c", "--strict", "--quiet", "SHA256SUMS"]).directory(in_it).success();
        let manifest = fs::read_to_string(directory.join("SHA256SUMS")).unwrap();
        let listed: BTreeSet<&str> = manifest.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
        let report: Value = serde_json::from_str(&fs::read_to_string(directory.join("execution-report.json")).unwrap()).unwrap();
        let mut files: BTreeSet<String> =
            fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert!(files.remove("SHA256SUMS"));
        assert_eq!(files.iter().map(String::as_str).collect::<BTreeSet<_>>(), listed, "nothing is there that is not listed");
        for id in ["PREREQ.1", "STEP.1", "STEP.2", "CLEANUP.1"] {
            let result = result(&report, id);
            let named = result["evidence"]
                .as_str()
                .into_iter()
                .chain(result["evidenceFiles"].as_array().into_iter().flatten().filter_map(Value::as_str));
            let named: Vec<&str> = named.collect();
            assert_eq!(named.is_empty(), result["disposition"] == "SKIPPED", "{id}");
            assert!(named.iter().all(|name| files.contains(*name)), "{id}: {named:?}");
        }
        for file in report["evidenceFiles"].as_array().unwrap() {
            let (name, hash) = (file["name"].as_str().unwrap(), file["sha256"].as_str().unwrap());
            assert!(manifest.contains(&format!("{hash}  {name}\n")), "{name}");
            assert_eq!(fs::metadata(directory.join(name)).unwrap().len(), file["bytes"].as_u64().unwrap(), "{name}");
        }
        for name in files {
            let mode = fs::metadata(directory.join(&name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o222, 0, "{name} is read-only");
        }
    }
}

#[test]
fn a_record_names_the_program_that_was_started_not_one_that_came_before_it_meanwhile() {
    let project = Project::new()
        .toml(&format!("{IN_PLACE}[[check]]\nname = \"tool\"\ncommand = [\"own-tool\"]\n"))
        .file(".gitignore", "early/\n")
        .file("early/none", "")
        .executable("late/own-tool", "#!/bin/sh\ncp \"$0\" early/own-tool && echo \"$0\"\n");
    let (early, late) = (project.path().join("early"), project.path().join("late"));
    let project = project.env("PATH", format!("{}:{}:/usr/bin:/bin", early.display(), late.display()));
    project.proctor(["run"]).success();
    assert!(early.join("own-tool").exists(), "what is found first is another one now");
    let [directory] = &run_directories(&project)[..] else { panic!("one run") };
    let record = fs::read(directory.join("STEP.1-terminal-output.json")).expect("a record");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(record["program"]["path"], late.join("own-tool").display().to_string(), "{record:#}");
}

#[test]
fn the_report_s_hash_is_recomputed_by_another_program() {
    let project = with_runs();
    for directory in run_directories(&project) {
        let report = directory.join("execution-report.json");
        let said = project.command(Path::new("python3"), ["-c", REPORT_HASH, report.to_str().unwrap()]).success();
        assert_eq!(said.stdout, "True\n", "{}", report.display());
    }
}

#[test]
fn the_ledger_holds_the_hashes_of_the_report_and_the_manifest() {
    let project = with_runs();
    let runs = project.store().committed_runs();
    for (record, directory) in runs.iter().zip(run_directories(&project)) {
        assert!(directory.ends_with(record["runId"].as_str().unwrap()));
        let report: Value = serde_json::from_str(&fs::read_to_string(directory.join("execution-report.json")).unwrap()).unwrap();
        assert_eq!(record["reportHash"], report["authenticity"]["reportHash"]);
        let said = project.command(Path::new("sha256sum"), [directory.join("SHA256SUMS")]).success();
        assert!(said.stdout.starts_with(record["manifestHash"].as_str().unwrap()), "{}", said.stdout);
    }
}

#[test]
fn c73_logs_hold_the_exact_bytes() {
    let every_byte: String = (0..=255_u8).map(|byte| format!("{byte:02x}")).collect();
    let toml = check("bytes", &["--raw-bytes", &every_byte]) + &check("much", &["--stdout-bytes", "3000000"]);
    let project = project(&toml);
    let output = project.proctor(["run"]).success();
    let directory = output.run_directory();
    assert_eq!(fs::read(directory.join("STEP.1-terminal-output.log")).unwrap(), (0..=255).collect::<Vec<u8>>());
    let much: Vec<u8> = (0..3_000_000_u32).map(|index| u8::try_from(index % 251).unwrap()).collect();
    assert_eq!(fs::read(directory.join("STEP.2-terminal-output.log")).unwrap(), much);
    for step in ["1", "2"] {
        let script = format!(
            "'{}' show --log STEP.{step} | cmp - '{}'/STEP.{step}-terminal-output.log",
            proctor().display(),
            directory.display()
        );
        project.command(Path::new("/bin/sh"), ["-c", &script]).success();
    }
    let report = output.report();
    let outcome = &result(&report, "STEP.2")["result"];
    assert_eq!(outcome["stdoutShown"]["totalBytes"], 3_000_000);
    assert!(outcome["stdout"].as_str().unwrap().len() < 64 * 1024, "the report shows an excerpt");
}

#[test]
fn both_streams_are_told_apart() {
    let project = project(&check(
        "both",
        &["--stdout", "out\n", "--sleep", "20", "--stderr", "error\n", "--sleep", "20", "--stdout", "more\n"],
    ));
    let output = project.proctor(["run"]).success();
    let directory = output.run_directory();
    // On a busy machine both streams may have something to read at once, and which one is read first is nobody's promise.
    let log = fs::read_to_string(directory.join("STEP.1-terminal-output.log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    let mut of_lines: Vec<&str> = lines.iter().map(|line| if *line == "error" { "stderr" } else { "stdout" }).collect();
    of_lines.dedup();
    lines.sort_unstable();
    assert_eq!(lines, ["error", "more", "out"]);
    let frames = fs::read_to_string(directory.join("STEP.1-terminal-output.frames")).unwrap();
    let frames: Vec<Value> = frames.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut streams: Vec<&str> = frames.iter().filter_map(|frame| frame["stream"].as_str()).collect();
    streams.dedup();
    assert_eq!(streams, of_lines, "{frames:?}\n{log}");
    let outcome = result(&output.report(), "STEP.1")["result"].clone();
    assert_eq!((&outcome["stdout"], &outcome["stderr"]), (&"out\nmore\n".into(), &"error\n".into()));
}
