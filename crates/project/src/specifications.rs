//! The test specifications in a project's tree, and the plans of their tasks.
//!
//! The tree's index says which specification files exist, and their digests. A file is read again only if its digest
//! changed. [`TaskError`] says why a task has no plan.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::dependency::{Dependencies, cycle_through, order_by_dependencies};
use crate::task_error::{TaskError, TaskPlace, project_problem};
use proctor_model::{Digest, Plan, Problem, TaskId, TextPosition};
use proctor_plan::config::{Configuration, SpecificationSettings, nearest};
use proctor_plan::spec::specification::{
    DependencyOutline, OutlinedAction, SPECIFICATION_SUFFIX, SpecificationContext, SpecificationReading, TaskOutline,
    read_filled_specification,
};
use proctor_plan::spec::{
    DiskFiles, ProjectFiles, TaskContext, approval_terms, compare_with_project, resolve_task, unreachable_request,
};
use proctor_tree::{NameSearch, NameTopic, TreeIndex};

/// How many bytes of a file are read at most. This is more than any parser accepts, so a longer file is refused by its
/// parser.
const MOST_BYTES: u64 = (16 << 20) + 1;

/// The code of the lint's note about a dependency on a task of another file. It is about one file alone.
const TASK_UNKNOWN: &str = "TASK_UNKNOWN";

/// The search for test specifications in a tree.
pub const SPECIFICATION_SEARCH: NameSearch =
    NameSearch { topic: NameTopic::Specifications, is_wanted: |name| name.ends_with(SPECIFICATION_SUFFIX.as_bytes()) };

/// The test specifications of a project, as last read.
#[derive(Debug, Default)]
pub struct Specifications {
    root: PathBuf,
    /// What filled the placeholders of the files.
    settings: SpecificationSettings,
    files: BTreeMap<String, Known>,
}

/// A specification file that was read.
#[derive(Debug)]
struct Known {
    /// The digest of the content that was read. `None` means that the file must be read again the next time, because
    /// what was read does not have the tree's digest: it could not be read, is a link, or was saved in the meantime.
    content: Option<Digest>,
    /// The content with its placeholders filled.
    reading: SpecificationReading,
}

/// A task of a specification, as a list of tasks shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecifiedTask {
    pub task: TaskId,
    /// The title; empty if the specification gives none that can be read.
    pub title: String,
    /// The tasks that must be complete first.
    pub needs: Vec<String>,
}

impl Specifications {
    /// Updates the specifications to a project's current tree: reads new and changed files, and forgets removed ones.
    /// Placeholders are filled from `settings`. If other settings filled them the last time, all files are read again.
    pub fn update(&mut self, root: &Path, index: &TreeIndex, settings: &SpecificationSettings) {
        if self.root != root || self.settings != *settings {
            *self = Self { root: root.to_owned(), settings: settings.clone(), files: BTreeMap::new() };
        }
        let mut before = std::mem::take(&mut self.files);
        for (path, content) in index.named(SPECIFICATION_SEARCH) {
            let Some(name) = path.as_path().to_str().map(str::to_owned) else { continue };
            let known = before.remove(&name).filter(|known| known.content == Some(content));
            let known = known.unwrap_or_else(|| {
                let (reading, read) = read_specification_file(root, &name, settings);
                Known { content: read.filter(|read| *read == content), reading }
            });
            self.files.insert(name, known);
        }
    }

    /// Reads specification files whose contents are given by their paths, such as those of a commit. `root` is the project's directory,
    /// from which absolute paths in them are understood.
    pub fn of_contents(root: &Path, contents: &BTreeMap<String, Vec<u8>>, settings: &SpecificationSettings) -> Self {
        let read = |(name, bytes): (&String, &Vec<u8>)| {
            (name.clone(), Known { content: None, reading: reading_of(bytes, root, name, settings) })
        };
        Self { root: root.to_owned(), settings: settings.clone(), files: contents.iter().map(read).collect() }
    }

    /// Returns whether the project has no specification file, not even one that cannot be read.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns every task of every specification, including tasks of specifications with errors. A task comes after the
    /// tasks that it depends on, also those of other files.
    pub fn tasks(&self) -> Vec<TaskId> {
        let dependencies = self.dependencies();
        order_by_dependencies(&dependencies).into_iter().filter_map(|id| TaskId::try_from(id).ok()).collect()
    }

    /// Returns the tasks in the order of [`Self::tasks`], with what a list of them shows.
    pub fn listed(&self) -> Vec<SpecifiedTask> {
        let listed = |task: TaskId| {
            let (_, outline) = self.outlines().find(|(_, outline)| outline.id == task.as_str())?;
            let needs = outline.dependencies.iter().map(|needed| needed.task.clone()).collect();
            Some(SpecifiedTask { task, title: outline.title.clone(), needs })
        };
        self.tasks().into_iter().filter_map(listed).collect()
    }

    /// Returns every file with its reading: compared with the project's other files, and with the errors that show only when
    /// all specifications are compared. Errors of the latter kind replace the notes about tasks of other files.
    pub fn checked(&self) -> Vec<(String, SpecificationReading)> {
        let files = DiskFiles::new(&self.root);
        let checked = |(name, known): (&String, &Known)| {
            let mut reading = compare_with_project(known.reading.clone(), &files);
            reading.faults.retain(|fault| fault.code() != TASK_UNKNOWN);
            for outline in known.tasks() {
                let Ok(task) = TaskId::try_from(outline.id.as_str()) else { continue };
                let of_file = self.project_faults(&task).into_iter().filter(|fault| fault.file == *name);
                let new: Vec<Problem> = of_file.filter(|fault| !has_hard(&reading.faults, fault)).collect();
                let twice = self.twice(&task).and_then(TaskError::into_faults);
                let twice = twice.into_iter().flat_map(|twice| twice.faults).filter(|fault| fault.file == *name);
                reading.faults.extend(new.into_iter().chain(twice));
            }
            reading.faults.sort_by_key(|fault| (fault.position, fault.gravity));
            if reading.faults.iter().any(Problem::is_hard) {
                reading.specification = None;
            }
            (name.clone(), reading)
        };
        self.files.iter().map(checked).collect()
    }

    /// Returns the files that have a task. If no file has it, returns those in which no task can be read: it may be in one of them.
    pub fn files_of(&self, task: &TaskId) -> Vec<&str> {
        let named = |is_wanted: &dyn Fn(&Known) -> bool| {
            self.files.iter().filter(|(_, known)| is_wanted(known)).map(|(name, _)| name.as_str()).collect::<Vec<_>>()
        };
        let found = named(&|known| known.tasks().iter().any(|outline| outline.id == task.as_str()));
        if found.is_empty() { named(&Known::is_torn) } else { found }
    }

    /// Reads a text in the place of a file, which stays as it is. `name` is what errors call the text.
    pub fn propose(&mut self, file: &str, name: &str, text: &str) {
        let reading = reading_of(text.as_bytes(), &self.root, name, &self.settings);
        self.files.insert(file.to_owned(), Known { content: None, reading });
    }

    /// Returns the errors of the specification files in which no task can be read. Such errors belong to no task.
    pub fn faults_without_task(&self) -> Vec<&Problem> {
        let torn = self.files.values().filter(|known| known.is_torn());
        torn.flat_map(|known| known.reading.faults.iter().filter(|fault| fault.is_hard())).collect()
    }

    /// Returns the errors of a task that show only when all specifications of the project are compared: a dependency on a
    /// task that no file has, and tasks of several files that wait for each other.
    pub fn project_faults(&self, task: &TaskId) -> Vec<Problem> {
        let dependencies = self.dependencies();
        let outlines =
            self.files.iter().flat_map(|(file, known)| known.tasks().iter().map(move |outline| (file, known, outline)));
        let mut faults = Vec::new();
        for (file, known, outline) in outlines.filter(|(_, _, outline)| outline.id == task.as_str()) {
            // Which task a dependency means is not known before its placeholders are filled.
            let is_unknown = |needed: &&DependencyOutline| {
                !dependencies.contains_key(needed.task.as_str()) && !known.reading.is_unfilled(&needed.pointer)
            };
            let unknown = outline.dependencies.iter().filter(is_unknown);
            faults.extend(unknown.map(|needed| self.unknown_dependency(file, needed, &dependencies)));
            let Some(cycle) = cycle_through(&outline.id, &dependencies) else { continue };
            let first = cycle.get(1).copied().unwrap_or_default();
            let Some(needed) = outline.dependencies.iter().find(|needed| needed.task == first) else { continue };
            let message = format!("`{task}` waits for itself: {}", cycle.join(" → "));
            let problem = project_problem("TASK_CYCLE", needed.pointer.clone(), message).within(file, needed.position);
            faults.push(problem.hint("remove one of these dependencies"));
        }
        faults
    }

    fn unknown_dependency(&self, file: &str, needed: &DependencyOutline, known: &Dependencies<'_>) -> Problem {
        let message = format!("no test specification has a task `{}`", needed.task);
        let torn = self.torn();
        let hint = match torn.as_slice() {
            [] => format!("the tasks are: {}", known.keys().copied().collect::<Vec<_>>().join(", ")),
            [..] => format!("it may be in {}, whose tasks cannot be read: `proctor check` says why", torn.join(", ")),
        };
        project_problem("TASK_NOWHERE", needed.pointer.clone(), message)
            .within(file, needed.position)
            .nearest(nearest(&needed.task, known.keys().copied()))
            .hint(hint)
    }

    /// Returns the plan of a task.
    ///
    /// # Errors
    ///
    /// See [`TaskError`].
    pub fn plan(&self, configuration: &Configuration, task: &TaskId) -> Result<Plan, TaskError> {
        // The specification is also checked against other files. Their changes are not noticed here, so the plan is
        // made anew every time.
        self.plan_beside(configuration, task, &DiskFiles::new(&self.root))
    }

    /// Makes the plan of a task as [`Self::plan`] does. `files` are the project's other files, in place of those on the disk.
    ///
    /// # Errors
    /// As those of [`Self::plan`].
    pub fn plan_beside(&self, configuration: &Configuration, task: &TaskId, files: &dyn ProjectFiles) -> Result<Plan, TaskError> {
        let has_it = |known: &Known| known.tasks().iter().any(|outline| outline.id == task.as_str());
        let found: Vec<_> = self.files.iter().filter(|(_, known)| has_it(known)).collect();
        let (name, reading) = match found[..] {
            [] => return Err(self.without_file(task)),
            [(name, known)] => (name, &known.reading),
            [..] => return Err(self.twice(task).unwrap_or_else(|| self.without_file(task))),
        };
        let reading = compare_with_project(reading.clone(), files);
        let project_faults = self.project_faults(task);
        let specification = reading.specification.as_ref().filter(|_| project_faults.is_empty());
        let Some(specification) = specification else {
            let hard = reading.faults.iter().filter(|fault| fault.is_hard()).cloned();
            let faults = hard.chain(project_faults.iter().filter(|fault| !has_hard(&reading.faults, fault)).cloned()).collect();
            return Err(TaskError::Wrong { file: name.clone(), faults, actions: actions_of(&reading, task) });
        };
        let approval =
            approval_terms(configuration, files).map_err(|problem| TaskError::Approval { problem: problem.to_string() })?;
        let around = TaskContext { project: SpecificationContext { project_root: &self.root }, files, configuration };
        let plan = resolve_task(specification, task, &reading.faults, around).ok_or_else(|| self.without_file(task))?;
        match unreachable_request(&plan, configuration) {
            Some(problem) => Err(TaskError::Approval { problem: problem.to_string() }),
            None => Ok(Plan { approval, ..plan }),
        }
    }

    /// Returns the error that several files have a task; `None` if at most one has it.
    fn twice(&self, task: &TaskId) -> Option<TaskError> {
        let of_task = |(name, known)| {
            let outline = Known::tasks(known).iter().find(|outline| outline.id == task.as_str())?;
            Some((TaskPlace { file: String::clone(name), position: outline.position }, known))
        };
        let found: Vec<(TaskPlace, &Known)> = self.files.iter().filter_map(of_task).collect();
        let (_, first) = found.first().filter(|_| found.len() > 1)?;
        let actions = actions_of(&first.reading, task);
        Some(TaskError::Twice { task: task.clone(), places: found.into_iter().map(|(place, _)| place).collect(), actions })
    }

    /// Returns why no file is known to have the task. A file in which no task can be read is taken for the task's own if it
    /// is named after the task, as in `T117-test-specification.json`.
    fn without_file(&self, task: &TaskId) -> TaskError {
        let torn = self.files.iter().filter(|(_, known)| known.is_torn());
        if let Some((file, known)) = torn.into_iter().find(|(name, _)| is_named_after(name, task)) {
            let faults = known.reading.faults.iter().filter(|fault| fault.is_hard()).cloned().collect();
            return TaskError::Wrong { file: file.clone(), faults, actions: Vec::new() };
        }
        let known = self.outlines().map(|(_, outline)| outline.id.clone()).collect();
        TaskError::Unknown { task: task.clone(), known, torn: self.torn() }
    }

    fn torn(&self) -> Vec<String> {
        self.files.iter().filter(|(_, known)| known.is_torn()).map(|(name, _)| name.clone()).collect()
    }

    fn outlines(&self) -> impl Iterator<Item = (&String, &TaskOutline)> {
        self.files.iter().flat_map(|(name, known)| known.tasks().iter().map(move |outline| (name, outline)))
    }

    /// Returns the tasks with what they depend on. A task of several files depends on what any of them says.
    fn dependencies(&self) -> Dependencies<'_> {
        let mut dependencies = Dependencies::new();
        for (_, outline) in self.outlines() {
            let needed = outline.dependencies.iter().map(|needed| needed.task.as_str());
            dependencies.entry(outline.id.as_str()).or_default().extend(needed);
        }
        dependencies
    }
}

impl Known {
    fn tasks(&self) -> &[TaskOutline] {
        &self.reading.tasks
    }

    /// Returns whether no task of the file can be read.
    fn is_torn(&self) -> bool {
        !self.tasks().iter().any(|outline| TaskId::try_from(outline.id.as_str()).is_ok())
    }
}

/// Returns whether an error of the same rule is among the errors that prevent a run.
fn has_hard(faults: &[Problem], fault: &Problem) -> bool {
    faults.iter().any(|told| told.is_hard() && told.code() == fault.code())
}

fn is_named_after(file: &str, task: &TaskId) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_prefix(task.as_str()).is_some_and(|rest| !rest.starts_with(|character: char| character.is_alphanumeric()))
}

fn actions_of(reading: &SpecificationReading, task: &TaskId) -> Vec<OutlinedAction> {
    reading.actions.iter().filter(|action| action.task == task.as_str()).cloned().collect()
}

/// Reads a specification file, and fills its placeholders from `settings`. A file that cannot be read has one error that says
/// why. The digest is that of the bytes that were read; `None` if the file could not be read.
pub fn read_specification_file(
    root: &Path,
    name: &str,
    settings: &SpecificationSettings,
) -> (SpecificationReading, Option<Digest>) {
    let bytes = match read_bytes(&root.join(name)) {
        Ok(bytes) => bytes,
        Err(error) => {
            let reason = format!("the file cannot be read: {error}");
            let hint = "make it a regular file that you may read, or give it another name";
            return (SpecificationReading::unreadable(name, &reason, None, hint), None);
        }
    };
    let digest = Some(Digest::of(&bytes));
    (reading_of(&bytes, root, name, settings), digest)
}

fn reading_of(bytes: &[u8], root: &Path, name: &str, settings: &SpecificationSettings) -> SpecificationReading {
    match std::str::from_utf8(bytes) {
        Ok(text) => read_filled_specification(text, name, SpecificationContext { project_root: root }, settings),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let position = TextPosition::of(&valid, valid.len());
            let reason = format!("the file is not UTF-8: {error}");
            SpecificationReading::unreadable(name, &reason, Some(position), "save the file in UTF-8")
        }
    }
}

/// Reads a text file. Opening a FIFO returns at once instead of waiting for a writer. The text's parser has to refuse a
/// text that is too long.
///
/// # Errors
///
/// When the path is not a regular file, when it cannot be read, or when the text is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(path)?).map_err(|_| {
        // These are the words of `Read::read_to_string`.
        io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
