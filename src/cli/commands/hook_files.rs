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

use crate::evidence::read_regular_file;
use crate::hook::{AddedPart, HookLine, SessionState};
use crate::model::Digest;

/// The largest file that is read, in bytes.
const LONGEST_FILE: u64 = 8 << 20;
/// The log's length from which its older half is left out, in bytes.
const LONGEST_LOG: u64 = 4 << 20;
/// How long the state of a session is kept after its last event.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// What was added to a settings file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SettingsRecord {
    pub(super) added: BTreeSet<AddedPart>,
    /// The directories that were made for the file, the innermost last.
    pub(super) directories: Vec<PathBuf>,
}

/// The directory of the files.
pub(super) struct HookFiles {
    directory: PathBuf,
}

impl HookFiles {
    pub(super) fn of(state_root: &Path) -> Self {
        Self { directory: state_root.join("hooks") }
    }

    /// Returns what is known about a session; nothing, if its file is missing or cannot be understood.
    pub(super) fn session(&self, agent: &str, session: &str) -> SessionState {
        read(&self.session_path(agent, session)).unwrap_or_default()
    }

    pub(super) fn write_session(&self, agent: &str, session: &str, state: &SessionState) -> io::Result<()> {
        self.write(&self.session_path(agent, session), &serde_json::to_vec(state)?)
    }

    /// A session's id is any text of the agent, so its digest is the file's name.
    fn session_path(&self, agent: &str, session: &str) -> PathBuf {
        let name = Digest::of(format!("{agent}\0{session}").as_bytes()).hex();
        self.directory.join("sessions").join(format!("{name}.json"))
    }

    /// Removes the states of sessions that had no event for a long time.
    pub(super) fn forget_old_sessions(&self) {
        let Ok(entries) = fs::read_dir(self.directory.join("sessions")) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().ok().and_then(|file| file.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _gone_already = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the lines of the log. Lines that are torn, or of a later version, are left out.
    pub(super) fn log(&self) -> Vec<HookLine> {
        let bytes = read_regular_file(&self.log_path(), LONGEST_FILE).unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds a line to the log.
    pub(super) fn add_to_log(&self, line: &HookLine) -> io::Result<()> {
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
    pub(super) fn settings_records(&self) -> BTreeMap<PathBuf, SettingsRecord> {
        read(&self.directory.join("settings.json")).unwrap_or_default()
    }

    pub(super) fn write_settings_records(&self, records: &BTreeMap<PathBuf, SettingsRecord>) -> io::Result<()> {
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
pub(super) fn replace_file(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
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
