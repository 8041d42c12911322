//! Reads a store by its documented layout, without the program's own reader.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A state directory, `$XDG_STATE_HOME/proctor`.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    directory: PathBuf,
}

impl Store {
    /// Returns the store in a state directory. The directory need not exist yet.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns the ids of the projects that have evidence or a ledger.
    pub(crate) fn project_ids(&self) -> Vec<String> {
        let names = |folder: &str| {
            let entries = fs::read_dir(self.directory.join(folder)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let mut ids = names("evidence");
        ids.extend(names("ledger").iter().filter_map(|name| name.strip_suffix(".jsonl")).map(str::to_owned));
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the latest committed report of `task`.
    #[track_caller]
    pub(crate) fn report(&self, task: &str) -> Value {
        let path = self.run_directory(task).join("execution-report.json");
        parse(&path, &read(&path))
    }

    /// Returns the directory of the latest committed run of `task`.
    #[track_caller]
    pub(crate) fn run_directory(&self, task: &str) -> PathBuf {
        let link = self.directory.join("evidence").join(self.project_id()).join(task).join("latest");
        link.canonicalize().unwrap_or_else(|error| panic!("no run is committed at `{}`: {error}", link.display()))
    }

    /// Returns where the project's ledger lies.
    #[track_caller]
    pub(crate) fn ledger_path(&self) -> PathBuf {
        self.directory.join("ledger").join(format!("{}.jsonl", self.project_id()))
    }

    /// Returns the complete lines of the ledger; an empty list if there is no ledger. A line that is still being written is left out.
    #[track_caller]
    pub(crate) fn ledger(&self) -> Vec<Value> {
        let Some(id) = self.project_ids().pop() else { return Vec::new() };
        let path = self.directory.join("ledger").join(format!("{id}.jsonl"));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        complete.map(|line| parse(&path, line)).collect()
    }

    /// Returns the runs in the ledger, in the order of their commits.
    #[track_caller]
    pub(crate) fn committed_runs(&self) -> Vec<Value> {
        let bodies = self.ledger().into_iter().map(|mut line| line["body"].take());
        bodies.filter(|body| body["kind"] == "run").collect()
    }

    #[track_caller]
    fn project_id(&self) -> String {
        let mut ids = self.project_ids();
        assert_eq!(ids.len(), 1, "a test has one project, `{}` has {ids:?}", self.directory.display());
        ids.remove(0)
    }
}

#[track_caller]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("could not read `{}`: {error}", path.display()))
}

#[track_caller]
fn parse(path: &Path, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("`{}` is not JSON: {error}\n{text}", path.display()))
}
