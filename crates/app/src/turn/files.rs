//! The private files of hooks: `hooks/` in the store, with a state for each session of an agent, a log of what was answered, and the record
//! of what was added to settings. Only the store's owner may read them. None is evidence: where one is missing, less is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::hook::{AddedPart, HookLine, SessionState};
use proctor_evidence::{lock_directory, read_regular_file};
use proctor_model::Digest;

/// The largest file that is read, in bytes.
const LONGEST_FILE: u64 = 8 << 20;
/// The log's length from which its older half is left out, in bytes.
const LONGEST_LOG: u64 = 4 << 20;
/// How long a hook waits for others that change sessions. Each of them takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long the state of a session is kept after its last event.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// What was added to a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SettingsRecord {
    pub added: BTreeSet<AddedPart>,
    /// The directories that were made for the file, the innermost last.
    pub directories: Vec<PathBuf>,
}

/// The directory of the files.
pub struct HookFiles {
    directory: PathBuf,
}

impl HookFiles {
    pub fn of(state_root: &Path) -> Self {
        Self { directory: state_root.join("hooks") }
    }

    /// Returns what is known about a session; nothing, if its file is missing or cannot be understood.
    pub fn session(&self, agent: &str, session: &str) -> SessionState {
        read(&self.session_path(agent, session)).unwrap_or_default()
    }

    /// Changes what is known about a session while no other hook changes anything, and returns what `change` returns. The error says that
    /// the change is not kept; it was made all the same, for this one answer.
    pub fn update_session<T>(
        &self,
        agent: &str,
        session: &str,
        change: impl FnOnce(&mut SessionState) -> T,
    ) -> (T, io::Result<()>) {
        let lock = lock_directory(&self.directory, LOCK_WAIT);
        let mut state = self.session(agent, session);
        let before = state.clone();
        let changed = change(&mut state);
        let kept = match lock {
            Ok(Some(_held)) if state == before => Ok(()),
            Ok(Some(_held)) => serde_json::to_vec(&state)
                .map_err(io::Error::from)
                .and_then(|bytes| self.write(&self.session_path(agent, session), &bytes)),
            Ok(None) => Err(io::Error::new(ErrorKind::WouldBlock, "another hook holds its lock for too long")),
            Err(error) => Err(io::Error::other(error)),
        };
        (changed, kept)
    }

    /// A session's id is any text of the agent, so its digest is the file's name.
    fn session_path(&self, agent: &str, session: &str) -> PathBuf {
        let name = Digest::of(format!("{agent}\0{session}").as_bytes()).hex();
        self.directory.join("sessions").join(format!("{name}.json"))
    }

    /// Removes the states of sessions that had no event for a long time.
    pub fn forget_old_sessions(&self) {
        let Ok(entries) = fs::read_dir(self.directory.join("sessions")) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().ok().and_then(|file| file.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _gone_already = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the lines of the log. Lines that are torn, or of a later version, are left out.
    pub fn log(&self) -> Vec<HookLine> {
        let bytes = read_regular_file(&self.log_path(), LONGEST_FILE).unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds a line to the log.
    pub fn add_to_log(&self, line: &HookLine) -> io::Result<()> {
        let path = self.log_path();
        if fs::metadata(&path).is_ok_and(|file| file.len() > LONGEST_LOG) {
            let lines = self.log();
            let newer = lines.iter().skip(lines.len() / 2).map(|line| serde_json::to_string(line).map(|text| text + "\n"));
            self.write(&path, newer.collect::<Result<String, _>>()?.as_bytes())?;
        }
        self.make_directory(&self.directory)?;
        let text = serde_json::to_string(line)? + "\n";
        // One write of a short line to a file that is open for appending is whole, also where several hooks write at once.
        OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?.write_all(text.as_bytes())
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("log.jsonl")
    }

    /// Returns what was added to settings files, by their paths.
    pub fn settings_records(&self) -> BTreeMap<PathBuf, SettingsRecord> {
        read(&self.directory.join("settings.json")).unwrap_or_default()
    }

    pub fn write_settings_records(&self, records: &BTreeMap<PathBuf, SettingsRecord>) -> io::Result<()> {
        self.write(&self.directory.join("settings.json"), &serde_json::to_vec(records)?)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_directory(path.parent().unwrap_or(&self.directory))?;
        replace_file(path, bytes, 0o600)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular_file(path, LONGEST_FILE).ok()?).ok()
}

/// Replaces a file as a whole, or makes it: a reader finds either the old text or the new one.
#[expect(clippy::disallowed_methods, reason = "settings of agents and states of hooks are no evidence, and are replaced at once")]
pub fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A file whose name ends in `~` belongs to no project's tree, so watchers ignore it.
    let beside = path.with_file_name(format!(".{name}.{}~", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    // A process with the same id may have died here.
    let written = match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&beside)?;
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
        }
        written => written,
    };
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        let _never_made = fs::remove_file(&beside);
    }
    placed
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::hook::TurnState;

    #[test]
    fn what_changes_nothing_is_not_written() {
        use std::os::unix::fs::MetadataExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let files = HookFiles::of(directory.path());
        let beginning = |is_beginning| {
            let change = |session: &mut SessionState| {
                session.projects.entry("/p".to_owned()).or_default().is_beginning = is_beginning;
            };
            files.update_session("claude", "s1", change).1.expect("it is ours");
            fs::metadata(files.session_path("claude", "s1")).expect("it is there").ino()
        };
        let first = beginning(true);
        assert_eq!(beginning(true), first);
        assert_ne!(beginning(false), first);
    }

    #[test]
    fn hooks_of_one_session_at_once_lose_no_update() {
        const HOOKS: u32 = 8;
        const UPDATES: u32 = 25;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let update = |hook: u32| {
            // As hooks do, each has files of its own, and one project of its own.
            let files = HookFiles::of(directory.path());
            for _ in 0..UPDATES {
                let ((), kept) = files.update_session("claude", "s1", |session| {
                    session.projects.entry("/shop".to_owned()).or_default().blocks += 1;
                    session.projects.entry(format!("/{hook}")).or_default().blocks += 1;
                });
                kept.expect("it is kept");
            }
        };
        thread::scope(|scope| {
            for hook in 0..HOOKS {
                scope.spawn(move || update(hook));
            }
        });
        let session = HookFiles::of(directory.path()).session("claude", "s1");
        let blocks = |root: &str| session.projects.get(root).map_or(0, |state: &TurnState| state.blocks);
        assert_eq!(blocks("/shop"), HOOKS * UPDATES);
        assert!((0..HOOKS).all(|hook| blocks(&format!("/{hook}")) == UPDATES), "{session:?}");
    }
}
