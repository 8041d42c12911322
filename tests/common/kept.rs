//! Checks the evidence and the ledger of a project without proctor's own code, by coreutils, JSON, RFC 8785 and SHA-256.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_model::Digest;
use serde_json::Value;

/// The evidence of a project's task `default`, and the project's ledger.
pub(crate) struct KeptEvidence {
    /// `evidence/<project-id>/default`.
    pub(crate) task: PathBuf,
    /// `ledger/<project-id>.jsonl`.
    pub(crate) ledger: PathBuf,
}

/// A run that has a line in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) run_id: String,
    pub(crate) status: String,
}

impl KeptEvidence {
    /// Returns the evidence of every project below a state directory, sorted by the projects' ids.
    #[track_caller]
    pub(crate) fn all(state: &Path) -> Vec<Self> {
        let names = names_in(&state.join("ledger"));
        let ids = names.iter().filter_map(|name| name.strip_suffix(".jsonl"));
        ids.map(|id| Self {
            task: state.join("evidence").join(id).join("default"),
            ledger: state.join("ledger").join(format!("{id}.jsonl")),
        })
        .collect()
    }

    /// Returns the evidence of the only project below a state directory.
    #[track_caller]
    pub(crate) fn only(state: &Path) -> Self {
        let mut all = Self::all(state);
        assert_eq!(all.len(), 1, "one project is expected in `{}`", state.display());
        all.remove(0)
    }

    /// Checks that every complete line of the ledger is JSON, has the next number and names the hash of the line before it. Returns the
    /// bodies of the lines.
    #[track_caller]
    pub(crate) fn chained_bodies(&self) -> Vec<Value> {
        let bytes = fs::read(&self.ledger).expect("a project has a ledger");
        let mut previous = Digest::of(b"").hex();
        let mut bodies = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let line = &line[..line.len() - 1];
            let mut value: Value = serde_json::from_slice(line).expect("a whole line of a ledger is JSON");
            assert_eq!(value["sequence"], bodies.len() + 1, "sequences have no gap: {value}");
            assert_eq!(value["previous"], previous, "each line names the one before: {value}");
            previous = Digest::of(line).hex();
            bodies.push(value["body"].take());
        }
        bodies
    }

    /// Checks the ledger, every committed run and the links. Returns the committed runs in the order of their commits.
    #[track_caller]
    pub(crate) fn check(&self) -> Vec<Committed> {
        self.check_after(0)
    }

    /// Checks the ledger, every committed run and the links, but skips the first `checked` runs: they were checked
    /// before, and committed runs do not change.
    #[track_caller]
    pub(crate) fn check_after(&self, checked: usize) -> Vec<Committed> {
        let bodies = self.chained_bodies();
        let runs: Vec<&Value> = bodies.iter().filter(|body| body["kind"] == "run").collect();
        runs.iter().skip(checked).for_each(|body| self.check_run(body));
        let text = |body: &Value, key: &str| body[key].as_str().expect("a run's line has it").to_owned();
        let committed: Vec<Committed> =
            runs.iter().map(|body| Committed { run_id: text(body, "runId"), status: text(body, "overallStatus") }).collect();
        self.check_links(&committed);
        committed
    }

    /// Returns the ids of the run directories that no line of the ledger names.
    #[track_caller]
    pub(crate) fn unsealed(&self, committed: &[Committed]) -> Vec<String> {
        let mut names = names_in(&self.task.join("runs"));
        names.retain(|name| committed.iter().all(|run| run.run_id != *name));
        names
    }

    /// Returns the id of the run that the link `latest` leads to.
    pub(crate) fn latest(&self) -> Option<String> {
        let target = fs::read_link(self.task.join("latest")).ok()?;
        Some(target.file_name().expect("`latest` leads to a run").to_string_lossy().into_owned())
    }

    /// Returns the names of temporary links that a process has left by dying before it renamed them. The next run removes them.
    pub(crate) fn half_made_links(&self) -> Vec<String> {
        names_in(&self.task).into_iter().filter(|name| name.starts_with('.') && name.ends_with(".new")).collect()
    }

    /// Checks that the manifest verifies and has the hash that the ledger names, and that the report is JSON whose hash is the one that
    /// report and ledger name.
    #[track_caller]
    fn check_run(&self, body: &Value) {
        let run_id = body["runId"].as_str().expect("a run has an id");
        let directory = self.task.join("runs").join(run_id);
        assert_sums_verify(&directory);
        let manifest = fs::read(directory.join("SHA256SUMS")).expect("it was just verified");
        assert_eq!(body["manifestHash"], Digest::of(&manifest).hex(), "{run_id}");
        let listed = manifest.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(names_in(&directory).len(), listed + 1, "the manifest of {run_id} names every file but itself");
        let bytes = fs::read(directory.join("execution-report.json")).expect("a sealed run has a report");
        let mut report: Value = serde_json::from_slice(&bytes).expect("a report is JSON");
        assert_eq!(report["executionSummary"]["overallStatus"], body["overallStatus"], "{run_id}");
        let authenticity = report["authenticity"].as_object_mut().expect("a report says how it is known to be genuine");
        let claimed = authenticity.remove("reportHash").expect("a sealed report has its hash");
        authenticity.remove("signature");
        let canonical = serde_json_canonicalizer::to_vec(&report).expect("a report has a canonical form");
        assert_eq!(claimed, Digest::of(&canonical).hex(), "the report of {run_id} hashes to something else");
        assert_eq!(body["reportHash"], claimed, "{run_id}");
    }

    /// Checks that `latest` leads to a committed run that was not interrupted, and that every link beside it leads to a file of that run.
    #[track_caller]
    fn check_links(&self, committed: &[Committed]) {
        let Some(latest) = self.latest() else { return };
        let run = committed.iter().find(|run| run.run_id == latest);
        let run = run.unwrap_or_else(|| panic!("`latest` leads to {latest}, which is not committed: {committed:?}"));
        assert_ne!(run.status, "INTERRUPTED", "`latest` stays where it was");
        // A temporary link that was not renamed is harmless: the next run replaces it.
        let names = names_in(&self.task).into_iter().filter(|name| !self.half_made_links().contains(name));
        for name in names.filter(|name| !["runs", "latest"].contains(&name.as_str())) {
            let target = fs::read_link(self.task.join(&name)).expect("only links lie beside `runs`");
            assert_eq!(target, Path::new("latest").join(&name), "{name}");
        }
        if self.task.join("execution-report.json").symlink_metadata().is_ok() {
            assert!(self.task.join("execution-report.json").is_file(), "the name people know leads to a report");
        }
    }
}

#[track_caller]
fn assert_sums_verify(directory: &Path) {
    let output = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(directory)
        .output()
        .unwrap_or_else(|error| panic!("`{}` cannot be verified: {error}", directory.display()));
    assert!(output.status.success(), "`{}`: {}", directory.display(), String::from_utf8_lossy(&output.stderr));
}

/// Returns the names in a directory, sorted; an empty list if there is no such directory.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
