//! The test specifications in a project's tree, and the plans of their tasks.
//!
//! The tree's index says which specification files exist, and their digests. A file is read again only if its digest
//! changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::config::{Configuration, nearest};
use crate::model::{CommandExit, Digest, Plan, Problem, TaskId};
use crate::spec::specification::{
    InvalidAction, SPECIFICATION_SUFFIX, SpecificationContext, SpecificationReading, read_filled_specification,
    read_specification,
};
use crate::spec::{DiskFiles, TaskContext, approval_terms, compare_with_project, resolve_task};
use crate::tree::{NameSearch, NameTopic, TreeIndex};

/// How many bytes of a file are read at most. This is more than any parser accepts, so a longer file is refused by its
/// parser.
const MOST_BYTES: u64 = (16 << 20) + 1;

/// Why a task of a specification has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No specification has the task.
    #[error("no test specification has a task `{task}`")]
    Unknown {
        task: TaskId,
        /// The tasks of all specifications.
        known: Vec<String>,
        /// The specification files without a readable task. The wanted task may be in one of them.
        torn: Vec<String>,
    },
    /// Several specifications have the task.
    #[error("{} both have a task `{task}`", quoted(files).join(" and "))]
    Twice { task: TaskId, files: Vec<String> },
    /// The specification has errors that make a run impossible.
    #[error("`{file}` has {}: nothing was run", counted(faults.len()))]
    Wrong {
        file: String,
        /// The errors with their positions; empty if the file cannot be read.
        faults: Vec<Problem>,
        /// The actions of the task that contain errors, as far as these actions can be read.
        invalid: Vec<InvalidAction>,
    },
    /// The section `[approval]` of the settings is wrong, so it is unknown who may approve a weakening.
    #[error("the configuration is wrong: nothing was run")]
    Approval {
        /// The error in `[approval]`, with its position and a hint.
        problem: String,
    },
}

/// The search for test specifications in a tree.
pub(crate) const SPECIFICATION_SEARCH: NameSearch =
    NameSearch { topic: NameTopic::Specifications, is_wanted: |name| name.ends_with(SPECIFICATION_SUFFIX.as_bytes()) };

/// The test specifications of a project, as last read.
#[derive(Debug, Default)]
pub struct Specifications {
    root: PathBuf,
    files: BTreeMap<String, Known>,
}

/// A specification file that was read.
#[derive(Debug)]
struct Known {
    /// The digest of the content that was read. `None` means that the file must be read again the next time, because
    /// what was read does not have the tree's digest: it could not be read, is a link, or was saved in the meantime.
    content: Option<Digest>,
    /// The parsed content, with its placeholders as they are; `None` if the file could not be read.
    reading: Option<SpecificationReading>,
    /// The content. The values of placeholders come from the settings, which change without the file.
    text: String,
}

impl Specifications {
    /// Updates the specifications to a project's current tree: reads new and changed files, and forgets removed ones.
    pub fn update(&mut self, root: &Path, index: &TreeIndex) {
        if self.root != root {
            *self = Self { root: root.to_owned(), files: BTreeMap::new() };
        }
        let mut before = std::mem::take(&mut self.files);
        for (path, content) in index.named(SPECIFICATION_SEARCH) {
            let Some(name) = path.as_path().to_str().map(str::to_owned) else { continue };
            let known = before.remove(&name).filter(|known| known.content == Some(content));
            let known = known.unwrap_or_else(|| read(root, &name, content));
            self.files.insert(name, known);
        }
    }

    /// Returns every task of every specification, sorted, including tasks of specifications with errors.
    pub fn tasks(&self) -> Vec<TaskId> {
        let names = self.files.values().flat_map(|known| known.tasks().iter());
        let mut tasks: Vec<TaskId> = names.filter_map(|name| TaskId::try_from(name.as_str()).ok()).collect();
        tasks.sort();
        tasks.dedup();
        tasks
    }

    /// Returns the plan of a task.
    ///
    /// # Errors
    ///
    /// See [`TaskError`].
    pub fn plan(&self, configuration: &Configuration, task: &TaskId) -> Result<Plan, TaskError> {
        let filled: Vec<_> =
            self.files.iter().map(|(name, known)| (name, known.filled(&self.root, name, configuration))).collect();
        let has_it = |reading: &Option<Cow<'_, SpecificationReading>>| {
            reading.as_ref().is_some_and(|reading| reading.tasks.iter().any(|id| id == task.as_str()))
        };
        let found: Vec<_> = filled.iter().filter(|(_, reading)| has_it(reading)).collect();
        let (name, reading) = match found[..] {
            [] => return Err(self.unknown(task)),
            [(name, Some(reading))] => (*name, reading.as_ref()),
            [(name, None)] => {
                return Err(TaskError::Wrong { file: (*name).clone(), faults: Vec::new(), invalid: Vec::new() });
            }
            [..] => {
                let files = found.iter().map(|(name, _)| (*name).clone()).collect();
                return Err(TaskError::Twice { task: task.clone(), files });
            }
        };
        // The specification is also checked against other files. Their changes are not noticed here, so the plan is
        // made anew every time.
        let files = DiskFiles::new(&self.root);
        let reading = compare_with_project(reading.clone(), &files);
        let Some(specification) = &reading.specification else {
            let faults = reading.faults.iter().filter(|fault| fault.is_hard()).cloned().collect();
            let invalid = reading.invalid.iter().filter(|action| action.task == task.as_str()).cloned().collect();
            return Err(TaskError::Wrong { file: name.clone(), faults, invalid });
        };
        let approval =
            approval_terms(configuration, &files).map_err(|problem| TaskError::Approval { problem: problem.to_string() })?;
        let around = TaskContext { project: SpecificationContext { project_root: &self.root }, files: &files, configuration };
        let plan = resolve_task(specification, task, &reading.faults, around).ok_or_else(|| self.unknown(task))?;
        Ok(Plan { approval, ..plan })
    }

    fn unknown(&self, task: &TaskId) -> TaskError {
        let known = self.files.values().flat_map(|known| known.tasks().iter().cloned()).collect();
        let torn = self.files.iter().filter(|(_, known)| known.tasks().is_empty()).map(|(name, _)| name.clone()).collect();
        TaskError::Unknown { task: task.clone(), known, torn }
    }
}

impl Known {
    fn tasks(&self) -> &[String] {
        self.reading.as_ref().map(|reading| reading.tasks.as_slice()).unwrap_or_default()
    }

    /// Returns the content with its placeholders filled from the settings; `None` if the file could not be read.
    fn filled(&self, root: &Path, name: &str, configuration: &Configuration) -> Option<Cow<'_, SpecificationReading>> {
        let (reading, settings) = (self.reading.as_ref()?, &configuration.specification);
        if settings.is_empty() {
            return Some(Cow::Borrowed(reading));
        }
        let project = SpecificationContext { project_root: root };
        Some(Cow::Owned(read_filled_specification(&self.text, name, project, settings)))
    }
}

fn read(root: &Path, name: &str, content: Digest) -> Known {
    let Ok(text) = read_text(&root.join(name)) else { return Known { content: None, reading: None, text: String::new() } };
    let is_named = Digest::of(text.as_bytes()) == content;
    let reading = read_specification(&text, name, SpecificationContext { project_root: root });
    Known { content: is_named.then_some(content), reading: Some(reading), text }
}

/// Reads a text file. Opening a FIFO returns at once instead of waiting for a writer. The text's parser has to refuse a
/// text that is too long.
///
/// # Errors
///
/// When the path is not a regular file, when it cannot be read, or when the text is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

impl TaskError {
    /// Returns the exit code of a command that fails with this error (G5).
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::Unknown { .. } => CommandExit::Usage,
            Self::Twice { .. } | Self::Wrong { .. } | Self::Approval { .. } => CommandExit::SpecificationWrong,
        }
    }

    /// Returns the lines that follow the message with details, such as the single errors of a specification.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } | Self::Twice { .. } => Vec::new(),
            Self::Wrong { faults, .. } => faults.iter().map(ToString::to_string).collect(),
            Self::Approval { problem } => vec![problem.clone()],
        }
    }

    /// Returns advice on what to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Twice { .. } => vec!["give one of them another id, or remove a file".to_owned()],
            Self::Approval { .. } => vec!["`proctor init --print` shows every setting with its default".to_owned()],
            Self::Wrong { .. } => vec!["`proctor check` says all that is to be said of it, notes too".to_owned()],
            Self::Unknown { task, known, torn } => {
                let near = nearest(task.as_str(), known.iter().map(String::as_str));
                let mut hints: Vec<String> = near.map(|near| format!("did you mean `{near}`?")).into_iter().collect();
                hints.push(match known.as_slice() {
                    [] => format!("tasks are found in files whose names end in `{SPECIFICATION_SUFFIX}`"),
                    [..] => format!("the tasks are: {}", known.join(", ")),
                });
                if !torn.is_empty() {
                    // The wanted task may be in a file whose tasks could not be read.
                    let torn = quoted(torn).join(", ");
                    hints.push(format!("the tasks of {torn} are not known: `proctor check` says why"));
                }
                hints
            }
        }
    }

    /// Returns all lines for people: message, details, hints.
    pub fn lines(&self) -> Vec<String> {
        let details = self.details().into_iter().map(|detail| format!("  {}", detail.replace('\n', "\n  ")));
        let hints = self.hints().into_iter().map(|hint| format!("  hint: {hint}"));
        std::iter::once(self.to_string()).chain(details).chain(hints).collect()
    }
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

fn counted(errors: usize) -> String {
    if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") }
}
