//! Tests that `proctor verify` finds manipulations of an export, by somebody who has only the exported keys. The export is of a run by the
//! second key of a store with three.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_evidence::FaultKind;
use proctor_model::Digest;
use tempfile::TempDir;

use crate::common::{Extent, Project, fake_tool};
use crate::tamper::SAMPLE;
use crate::tamper::victim::write;

/// A manipulation of an export.
pub(super) struct Row {
    pub(super) what: &'static str,
    act: fn(&Export),
    pub(super) kind: FaultKind,
}

const fn row(what: &'static str, kind: FaultKind, act: fn(&Export)) -> Row {
    Row { what, act, kind }
}

impl Row {
    /// Carries the manipulation out. One that changes nothing would be named by nobody.
    pub(super) fn act_on(&self, export: &Export) {
        let before = files_below(&export.path(""));
        (self.act)(export);
        assert!(files_below(&export.path("")) != before, "{}: nothing was changed", self.what);
    }
}

/// A copy of an export, beside the exports of other runs and of another project.
pub(super) struct Export {
    pub(super) directory: TempDir,
}

const LOG: &str = "run/STEP.1-terminal-output.log";
const REPORT: &str = "run/execution-report.json";
const LEDGER: &str = "ledger.jsonl";
const PROOF: &str = "ledger.tlog-proof";
const KEYS: &str = "keys.jsonl";

impl Export {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("export").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn put(&self, name: &str, text: &str) {
        write(&self.path(name), text.as_bytes());
    }

    /// Replaces the first occurrence of a text, which must be there.
    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "`{from}` is not in {text}");
        self.put(name, &text.replacen(from, to, 1));
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("it is ours");
    }

    /// Takes a file from the export of another run (`earlier`, `later`), or of another project (`other`).
    fn take(&self, name: &str, from: &str) {
        let bytes = fs::read(self.directory.path().join(from).join(name)).expect("it was exported");
        write(&self.path(name), &bytes);
    }

    fn statements(&self) -> String {
        let files = fs::read_dir(self.path("run")).expect("it was exported").flatten();
        let mut names = files.filter_map(|entry| entry.file_name().into_string().ok());
        format!("run/{}", names.find(|name| name.ends_with(".intoto.jsonl")).expect("it is signed"))
    }

    /// Changes the lines of a file.
    fn lines(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<String> = self.text(name).lines().map(str::to_owned).collect();
        change(&mut lines);
        self.put(name, &(lines.join("\n") + "\n"));
    }
}

pub(super) const ROWS: &[Row] = &[
    row("export: a log is edited", FaultKind::FileChanged, |it| it.put(LOG, "sung")),
    row("export: a log is gone", FaultKind::FileMissing, |it| it.remove(LOG)),
    row("export: a file is added", FaultKind::FileUnlisted, |it| it.put("run/extra", "x")),
    row("export: a log and the manifest are edited", FaultKind::ManifestChanged, |it| {
        let old = Digest::of(&fs::read(it.path(LOG)).expect("it is there")).hex();
        it.put(LOG, "sung");
        it.replace("run/SHA256SUMS", &old, &Digest::of(b"sung").hex());
    }),
    row("export: the verdict of the report is edited", FaultKind::ReportHash, |it| it.replace(REPORT, "PASSED", "FAILED")),
    row("export: the report is another run's", FaultKind::FileChanged, |it| it.take(REPORT, "earlier")),
    row("export: the manifest is gone", FaultKind::FileUnlisted, |it| it.put("run/SHA256SUMS", "")),
    row("export: the manifest is another run's", FaultKind::ManifestChanged, |it| it.take("run/SHA256SUMS", "earlier")),
    row("export: the report's signature is gone", FaultKind::SignatureMissing, |it| it.remove("run/execution-report.json.sig")),
    row("export: the report's signature is another run's", FaultKind::SignatureWrong, |it| {
        it.take("run/execution-report.json.sig", "later")
    }),
    row("export: the statements are gone", FaultKind::FileMissing, |it| it.remove(&it.statements())),
    row("export: a statement is left out", FaultKind::StatementsWrong, |it| {
        it.lines(&it.statements(), |lines| drop(lines.pop()))
    }),
    row("export: the statements are by another key", FaultKind::SignatureWrong, |it| {
        it.replace(&it.statements(), "\"keyid\":\"", "\"keyid\":\"0")
    }),
    row("export: the line is gone", FaultKind::LedgerMissing, |it| it.remove(LEDGER)),
    row("export: the line is empty", FaultKind::LineUnreadable, |it| it.put(LEDGER, "")),
    row("export: the line is there twice", FaultKind::LineUnreadable, |it| it.put(LEDGER, &it.text(LEDGER).repeat(2))),
    row("export: the line has no newline", FaultKind::LineUnreadable, |it| it.put(LEDGER, it.text(LEDGER).trim_end())),
    row("export: the verdict of the line is edited", FaultKind::LineSignature, |it| {
        it.replace(LEDGER, "\"overallResult\":\"PASSED\"", "\"overallResult\":\"FAILED\"")
    }),
    row("export: the line is dated otherwise", FaultKind::LineSignature, |it| {
        it.replace(LEDGER, "\"time\":\"20", "\"time\":\"21")
    }),
    row("export: the number of the line is edited", FaultKind::ProofWrong, |it| {
        it.replace(LEDGER, "\"sequence\":", "\"sequence\":1")
    }),
    row("export: the line is an earlier run's", FaultKind::ManifestChanged, |it| it.take(LEDGER, "earlier")),
    row("export: the line of an earlier run does not fit the proof", FaultKind::ProofWrong, |it| it.take(LEDGER, "earlier")),
    row("export: the line is another project's", FaultKind::LineSignature, |it| it.take(LEDGER, "other")),
    row("export: the line is not signed", FaultKind::LineSignature, |it| {
        let text = it.text(LEDGER);
        it.put(LEDGER, &format!("{}}}\n", text.rsplit_once(",\"signature\"").expect("it is signed").0));
    }),
    row("export: the line has the signature of another", FaultKind::LineSignature, |it| {
        let other = fs::read_to_string(it.directory.path().join("later").join(LEDGER)).expect("text");
        let signature = other.rsplit_once(",\"signature\"").expect("it is signed").1.to_owned();
        let text = it.text(LEDGER);
        it.put(LEDGER, &format!("{},\"signature\"{signature}", text.rsplit_once(",\"signature\"").expect("it is signed").0));
    }),
    row("export: the proof is gone", FaultKind::ProofMissing, |it| it.remove(PROOF)),
    row("export: the proof is empty", FaultKind::ProofUnreadable, |it| it.put(PROOF, "")),
    row("export: the proof is of another line", FaultKind::ProofWrong, |it| it.replace(PROOF, "index ", "index 1")),
    row("export: the proof is another run's", FaultKind::ProofWrong, |it| it.take(PROOF, "later")),
    row("export: the proof is another project's", FaultKind::ProofWrong, |it| it.take(PROOF, "other")),
    row("export: a hash of the proof is left out", FaultKind::ProofWrong, |it| it.lines(PROOF, |lines| drop(lines.remove(2)))),
    row("export: a hash of the proof is there twice", FaultKind::ProofWrong, |it| {
        it.lines(PROOF, |lines| lines.insert(2, lines[2].clone()))
    }),
    row("export: the checkpoint of the proof is of another project", FaultKind::AnchorSignature, |it| {
        it.put(PROOF, &it.text(PROOF).replace("proctor/project", "proctor/brochure"))
    }),
    row("export: the checkpoint of the proof has another length", FaultKind::AnchorSignature, |it| {
        it.lines(PROOF, |lines| {
            let at = lines.iter().position(|line| line.starts_with("proctor/")).expect("it has a checkpoint");
            lines[at + 1].insert(0, '1');
        })
    }),
    row("export: the checkpoint of the proof is not signed", FaultKind::ProofUnreadable, |it| {
        it.lines(PROOF, |lines| drop(lines.pop()))
    }),
    row("export: the signature of the checkpoint is another's", FaultKind::AnchorSignature, |it| {
        // All exports of one project have the checkpoint of the ledger as it is, and so the same signature.
        let other = fs::read_to_string(it.directory.path().join("other").join(PROOF)).expect("text");
        let signature = other.split(' ').next_back().expect("it is signed").trim_end().to_owned();
        it.lines(PROOF, |lines| {
            let last = lines.last_mut().expect("it is signed");
            let (name, _) = last.rsplit_once(' ').expect("a name stands before it");
            *last = format!("{name} {signature}");
        });
    }),
    row("export: the history of keys is another project's", FaultKind::KeyHistoryWrong, |it| it.take(KEYS, "other")),
    row("export: a key is left out of the history", FaultKind::KeyHistoryWrong, |it| {
        it.lines(KEYS, |lines| drop(lines.remove(1)))
    }),
    row("export: the history of keys is no JSON", FaultKind::KeyHistoryWrong, |it| it.put(KEYS, "keys\n")),
    row("export: two keys of the history are swapped", FaultKind::KeyHistoryWrong, |it| it.lines(KEYS, |lines| lines.swap(0, 1))),
    row("export: a key of the history has another id", FaultKind::KeyHistoryWrong, |it| {
        it.replace(KEYS, "\"keyId\":\"", "\"keyId\":\"0")
    }),
];

/// Makes a project with three keys and exports of three of its runs, and of another project's.
pub(super) fn make() -> (Project, TempDir) {
    let toml = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";
    let new = || Project::new().with_program(fake_tool()).toml(toml);
    let (project, other) = (new(), new());
    let run = |project: &Project| drop(project.proctor(["run"]).success());
    (0..2).for_each(|_| run(&project));
    for _ in 0..2 {
        project.proctor(["key", "rotate"]).success();
        (0..2).for_each(|_| run(&project));
    }
    (0..3).for_each(|_| run(&other));
    let exports = TempDir::new().expect("a temporary directory can be made");
    let export = |project: &Project, run: usize, name: &str| {
        let run = project.store().committed_runs()[run]["runId"].as_str().expect("it has an id").to_owned();
        let to = exports.path().join(name);
        project.proctor(["export", &run, "--to", to.to_str().expect("it is text")]).success();
    };
    export(&project, 2, "export");
    export(&project, 1, "earlier");
    export(&project, 4, "later");
    export(&other, 1, "other");
    fs::write(exports.path().join("keys"), project.proctor(["key", "export"]).success().stdout).expect("it is ours");
    (project, exports)
}

/// The entries below a directory, each with its content; `None` for what is no file.
fn files_below(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if entry.file_type().expect("its kind").is_dir() {
            found.extend(files_below(&path));
        }
        found.insert(path.clone(), path.is_file().then(|| fs::read(&path).expect("a file")));
    }
    found
}

fn kinds(project: &Project, export: &Export) -> Vec<String> {
    let text = |path: &Path| path.to_str().expect("it is text").to_owned();
    let keys = text(&export.directory.path().join("keys"));
    let arguments = ["verify", "--json", &text(&export.path("")), "--key", &keys].map(str::to_owned);
    let document = project.proctor(arguments).any_status().json();
    let faults = document["faults"].as_array().unwrap_or_else(|| panic!("{document}"));
    faults.iter().map(|fault| fault["kind"].as_str().expect("it is text").to_owned()).collect()
}

pub(super) fn copied(exports: &TempDir) -> Export {
    let directory = TempDir::new().expect("a temporary directory can be made");
    let copied = std::process::Command::new("cp").arg("-a").arg(exports.path().join(".")).arg(directory.path()).status();
    assert!(copied.expect("coreutils are there").success());
    Export { directory }
}

fn manipulations_of_exports_are_named(extent: Extent) {
    let (project, exports) = make();
    let elsewhere = Project::new();
    assert_eq!(kinds(&elsewhere, &copied(&exports)), [] as [&str; 0]);
    let mut unseen = Vec::new();
    for row in extent.of(ROWS) {
        let export = copied(&exports);
        row.act_on(&export);
        let found = kinds(&elsewhere, &export);
        if !found.iter().any(|kind| kind == row.kind.word()) {
            unseen.push(format!("{}: {} is expected, found {found:?}", row.what, row.kind.word()));
        }
    }
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
    drop(project);
}

#[test]
fn some_manipulations_of_an_export_are_named() {
    manipulations_of_exports_are_named(SAMPLE);
}

#[test]
#[ignore = "long tier"]
fn every_manipulation_of_an_export_is_named() {
    manipulations_of_exports_are_named(Extent::All);
}

#[test]
fn a_file_that_is_no_archive_is_named() {
    let (project, exports) = make();
    let (file, keys) = (exports.path().join("export.tar.zst"), exports.path().join("keys"));
    fs::write(&file, "no archive").expect("the directory is ours");
    let arguments = ["verify".as_ref(), "--json".as_ref(), file.as_os_str(), "--key".as_ref(), keys.as_os_str()];
    let found = project.proctor(arguments).status(6).json();
    assert_eq!(found["faults"][0]["kind"], FaultKind::ArchiveUnreadable.word(), "{found}");
}
