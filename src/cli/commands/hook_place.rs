//! The settings file of an agent on disk: where it is, whether it may be changed, and its change.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use proctor_app::hook::{AgentRow, SettingsProblem};
use proctor_app::turn::replace_file;
use proctor_app::{CommandError, Environment};
use proctor_evidence::read_regular_file;
use proctor_model::{CommandExit, words};

/// The largest settings file that is edited, in bytes.
const LONGEST_SETTINGS: u64 = 4 << 20;

/// A settings file of an agent.
#[derive(Debug, Clone)]
pub(super) struct SettingsPlace {
    pub(super) agent: &'static AgentRow,
    /// Whether the file is the project's or the user's own.
    pub(super) scope: SettingsScope,
    /// The directory that is there whether or not the agent is used: the home directory, or the project's root.
    base: PathBuf,
    pub(super) path: PathBuf,
}

/// Whose settings a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsScope {
    Project,
    User,
}

words! {
    pub(super) fn SettingsScope::word: Project "project", User "user"
}

impl SettingsPlace {
    /// Returns the settings of a project.
    pub(super) fn of_project(agent: &'static AgentRow, root: &Path) -> Self {
        Self { agent, scope: SettingsScope::Project, base: root.to_owned(), path: root.join(agent.project_file) }
    }

    /// Returns the user's own settings; `None` if there is no home directory.
    pub(super) fn of_user(agent: &'static AgentRow, environment: &Environment) -> Option<Self> {
        let absolute = |name: &str| environment.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let named = absolute(agent.directory_variable).filter(|_| !agent.directory_variable.is_empty());
        let (base, directory) = match named {
            Some(directory) => (directory.clone(), directory),
            None => absolute("HOME").map(|home| (home.clone(), home.join(agent.user_directory)))?,
        };
        Some(Self { agent, scope: SettingsScope::User, base, path: directory.join(agent.user_file) })
    }

    /// Returns whether the agent has a directory here, so that it seems to be used.
    pub(super) fn is_in_use(&self) -> bool {
        match self.scope {
            SettingsScope::Project => self.path.parent().is_some_and(Path::is_dir),
            SettingsScope::User => {
                let directory = self.base.join(self.agent.user_directory);
                directory.is_dir() || self.path.parent().is_some_and(Path::is_dir)
            }
        }
    }

    /// Returns the directories that have to be made for the file, the outermost first.
    pub(super) fn missing_directories(&self) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> =
            self.path.ancestors().skip(1).take_while(|directory| !directory.exists()).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Reads the settings; `None` if there are none.
    ///
    /// Whatever makes it unclear whose file it is, or where it lies, is refused with what to do.
    pub(super) fn read(&self) -> Result<Option<String>, CommandError> {
        let below = self.path.strip_prefix(&self.base).unwrap_or(Path::new(""));
        let mut reached = self.base.clone();
        for part in below.components() {
            reached.push(part);
            let metadata = match reached.symlink_metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(self.unreadable(&error)),
            };
            let shown = reached.display();
            if metadata.file_type().is_symlink() {
                return Err(self.refused(
                    format!("`{shown}` is a link, and replacing it would leave the file behind it unchanged"),
                    "add the hooks to the file behind the link yourself, or make it a file",
                ));
            }
            if metadata.uid() != geteuid().as_raw() {
                return Err(self.refused(
                    format!("`{shown}` belongs to the user {}, and not to you", metadata.uid()),
                    "run this as that user, or change the owner",
                ));
            }
            if reached != self.path {
                continue;
            }
            if !metadata.is_file() {
                return Err(self.refused(format!("`{shown}` is no file"), "move it away"));
            }
            if metadata.nlink() > 1 {
                return Err(self.refused(
                    format!("`{shown}` has {} names (hard links), and only one of them would change", metadata.nlink()),
                    "copy it, so that it has one name",
                ));
            }
            if metadata.permissions().mode() & 0o200 == 0 {
                return Err(
                    self.refused(format!("`{shown}` is read-only"), "`chmod u+w` makes it writable, if it is meant to be")
                );
            }
        }
        let bytes = read_regular_file(&self.path, LONGEST_SETTINGS).map_err(|error| self.unreadable(&error))?;
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| self.refused(format!("`{}` is not UTF-8", self.path.display()), "save it in UTF-8"))
    }

    /// Writes the settings, if the file still has the text `before`; `None` removes it.
    pub(super) fn write(&self, before: Option<&str>, text: Option<&str>) -> Result<(), CommandError> {
        if self.read()?.as_deref() != before {
            return Err(self.refused(format!("`{}` was changed meanwhile", self.path.display()), "run the command again"));
        }
        let result = match text {
            None => fs::remove_file(&self.path),
            Some(text) => {
                let mode = self.path.metadata().map_or(0o644, |file| file.permissions().mode() & 0o777);
                let directory = self.path.parent().unwrap_or(&self.base);
                fs::create_dir_all(directory).and_then(|()| replace_file(&self.path, text.as_bytes(), mode))
            }
        };
        result.map_err(|error| {
            CommandError::caused(CommandExit::Usage, format!("`{}` cannot be written", self.path.display()), &error)
                .hint("see who may write there: `ls -ld` shows it")
        })
    }

    /// Converts a problem with the text of the settings into an error.
    pub(super) fn problem(&self, problem: &SettingsProblem) -> CommandError {
        let hint = match problem {
            SettingsProblem::Empty => "write `{}` into it, or remove it",
            SettingsProblem::ByteOrderMark => "save the file without the byte order mark",
            SettingsProblem::OtherPlugin => {
                "give it another name; or, if you added to proctor's plugin, move your lines into a file of their own and remove this one"
            }
            SettingsProblem::NotJson { .. } | SettingsProblem::WrongShape { .. } | SettingsProblem::Twice { .. } => {
                "correct that place; the file was not changed"
            }
        };
        self.refused(format!("`{}`: {problem}", self.path.display()), hint)
    }

    fn refused(&self, message: String, hint: &str) -> CommandError {
        CommandError::new(CommandExit::Usage, format!("the settings of {} stay as they are: {message}", self.agent.shown))
            .hint(hint)
    }

    fn unreadable(&self, error: &std::io::Error) -> CommandError {
        CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", self.path.display()), error)
            .hint("see who may read it: `ls -l` shows it")
    }
}
