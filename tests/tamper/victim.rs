//! A store with real runs, and copies of it to manipulate. The store is made once for all tests that run at the same
//! time.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use proctor_model::Digest;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Project, fake_tool, proctor};

/// The store that is copied. It has, in this order: a passed run, an approval by rule, a failed run, an approval by a person, an interrupted
/// run, a run of a single named check, the start of a TDD cycle, a second key, and another passed run.
pub(super) struct Made {
    project: Project,
}

/// A copy of the store, to manipulate.
pub(super) struct Victim {
    directory: TempDir,
}

/// A fault in the output of `proctor verify --json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: String,
    pub(super) file: String,
    pub(super) detail: String,
}

/// Whether a manipulation was possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Done,
    /// Only root can do this manipulation.
    NotPossibleHere,
}

impl Made {
    /// Returns the store. Tests that run at the same time share one, and the last of them removes it. The static holds only a weak reference,
    /// because statics are never dropped.
    #[track_caller]
    pub(super) fn get() -> Arc<Self> {
        static MADE: Mutex<Weak<Made>> = Mutex::new(Weak::new());
        // A test that panicked while it made the store has left no store, so the poisoned lock can be used.
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::make());
            *made = Arc::downgrade(&new);
            new
        })
    }

    fn make() -> Self {
        let check = |name: &str, arguments: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"fake-tool {arguments}\"\n");
        // Copies of the store are written to, and the project links to none of them.
        let green =
            "[evidence]\nlink = \"\"\n".to_owned() + &check("says", "--stdout said") + &check("warns", "--stderr careful");
        let project = Project::new().with_program(fake_tool()).toml(&green);
        project.proctor(["run"]).success();
        project.save("proctor.toml", &(green.clone() + &check("fails", "--exit 3 --stdout broken")));
        project.proctor(["run"]).failure();
        project.save("proctor.toml", &green);
        project.approve();
        project.proctor(["run"]).env("PROCTOR_TEST_DIE_AFTER", "files-synced").watch().ended();
        project.proctor(["run", "--check", "says"]).success();
        project.proctor(["tdd", "start"]).success();
        project.proctor(["key", "rotate"]).success();
        project.proctor(["run"]).success();
        Self { project }
    }

    /// Runs the project's checks with a copy of the store.
    #[track_caller]
    pub(super) fn run_in(&self, victim: &Victim) {
        self.project.proctor(["run"]).env("XDG_STATE_HOME", victim.directory.path()).success();
    }

    #[track_caller]
    pub(super) fn copy(&self) -> Victim {
        copy(&self.project.root().join("state/proctor"))
    }
}

/// Copies a store with modes, links and times.
#[track_caller]
fn copy(store: &Path) -> Victim {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let copied = Command::new("cp").arg("-a").arg(store).arg(directory.path()).status().expect("coreutils are there");
    assert!(copied.success());
    Victim { directory }
}

impl Victim {
    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().join("proctor")
    }

    /// Verifies the whole store. Returns the faults; checks that the exit code says whether there are any.
    #[track_caller]
    pub(super) fn verify(&self) -> Vec<Found> {
        self.verify_document().0
    }

    /// Returns how many runs `proctor verify` names as unsigned.
    #[track_caller]
    pub(super) fn unsigned(&self) -> usize {
        self.verify_document().1["unsigned"].as_array().expect("it is a list").len()
    }

    #[track_caller]
    fn verify_document(&self) -> (Vec<Found>, Value) {
        let mut command = Command::new(proctor());
        command
            .args(["verify", "--all", "--json"])
            .env("XDG_STATE_HOME", self.directory.path())
            .current_dir(self.directory.path());
        let output = command.output().expect("proctor starts");
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let faults = document["faults"].as_array().unwrap_or_else(|| panic!("no faults in {document}"));
        let text = |fault: &Value, key: &str| fault[key].as_str().expect("it is text").to_owned();
        let found = |fault| Found { kind: text(fault, "kind"), file: text(fault, "file"), detail: text(fault, "detail") };
        let found: Vec<Found> = faults.iter().map(found).collect();
        assert_eq!(output.status.code(), Some(if found.is_empty() { 0 } else { 6 }), "{document}");
        assert_eq!(document["verified"], found.is_empty());
        (found, document)
    }

    /// Returns the directory of a run by its position: runs are in the order in which they were made.
    pub(super) fn run(&self, position: usize) -> PathBuf {
        let mut runs = entries(&self.task().join("runs"));
        runs.sort();
        runs.swap_remove(position)
    }

    pub(super) fn task(&self) -> PathBuf {
        entries(&self.root().join("evidence")).remove(0).join("default")
    }

    pub(super) fn ledger(&self) -> PathBuf {
        entries(&self.root().join("ledger"))
            .into_iter()
            .find(|path| path.extension().is_some_and(|it| it == "jsonl"))
            .expect("one")
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.ledger()).expect("the ledger is text");
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn write_lines(&self, lines: &[String]) {
        write(&self.ledger(), (lines.join("\n") + "\n").as_bytes());
    }

    /// Returns the index of the ledger's line about a run.
    pub(super) fn line_of_run(&self, position: usize) -> usize {
        let run = self.run(position);
        let name = run.file_name().expect("it has a name").to_string_lossy().into_owned();
        self.lines().iter().position(|line| line.contains(&format!("\"runId\":\"{name}\""))).expect("it is in the ledger")
    }

    /// Corrects, in every line of the ledger, the hash of the line before it, as a forger does after editing a line.
    pub(super) fn chain_again(&self) {
        let mut previous = Digest::of(b"").hex();
        let chained = self.lines().into_iter().map(|line| {
            let (head, rest) = line.split_once("\"previous\":\"").expect("every line has it");
            let line = format!("{head}\"previous\":\"{previous}{}", &rest[64..]);
            previous = Digest::of(line.as_bytes()).hex();
            line
        });
        let chained: Vec<String> = chained.collect();
        self.write_lines(&chained);
    }

    /// Writes a run's manifest again and corrects its hash in the ledger, as a forger does after editing a file.
    pub(super) fn seal_again(&self, position: usize) {
        let run = self.run(position);
        let line = self.line_of_run(position);
        let old = Digest::of(&fs::read(run.join("SHA256SUMS")).expect("it is there")).hex();
        let mut names: Vec<_> = entries(&run);
        names.retain(|path| !path.ends_with("SHA256SUMS"));
        names.sort();
        let row = |path: &PathBuf| {
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            format!("{}  {name}\n", Digest::of(&fs::read(path).expect("it is a file")).hex())
        };
        let manifest: String = names.iter().map(row).collect();
        write(&run.join("SHA256SUMS"), manifest.as_bytes());
        let mut lines = self.lines();
        lines[line] = lines[line].replace(&old, &Digest::of(manifest.as_bytes()).hex());
        self.write_lines(&lines);
        self.chain_again();
    }

    pub(super) fn database(&self) -> Connection {
        Connection::open(self.root().join("state.db")).expect("the index opens")
    }

    /// Changes the index by an SQL statement.
    pub(super) fn sql(&self, statement: &str) -> Act {
        let changed = self.database().execute(statement, []).unwrap_or_else(|error| panic!("{statement}: {error}"));
        assert!(changed > 0, "{statement} changed nothing");
        Act::Done
    }

    /// Returns the file of `keys/` whose name begins with `start`.
    pub(super) fn key_file(&self, start: &str) -> PathBuf {
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
        entries(&self.root().join("keys")).into_iter().find(is_it).unwrap_or_else(|| panic!("no `{start}…`"))
    }

    /// Returns the file of the private key that belongs to the key record with this number.
    pub(super) fn private_of(&self, number: u32) -> PathBuf {
        let record: Value =
            serde_json::from_slice(&fs::read(self.key_file(&format!("key-{number:04}"))).expect("it is there")).expect("JSON");
        let id = record["key"]["keyId"].as_str().expect("it has an id").to_owned();
        self.key_file(&format!("private-{}", &id[..16]))
    }
}

/// Returns the paths of a directory's entries, sorted.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(directory).expect("it is a directory").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Overwrites a file and keeps its mode, as a forger does who does not want to be noticed.
pub(super) fn write(path: &Path, bytes: &[u8]) {
    let mode = path.metadata().map_or(0o400, |metadata| metadata.mode());
    if path.exists() {
        fs::remove_file(path).expect("the directory is ours");
    }
    fs::write(path, bytes).expect("the directory is ours");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Replaces a text in a file. The file must contain the text.
pub(super) fn replace(path: &Path, from: &str, to: &str) -> Act {
    let text = fs::read_to_string(path).expect("it is text");
    assert!(text.contains(from), "`{from}` is not in {text}");
    write(path, text.replacen(from, to, 1).as_bytes());
    Act::Done
}
