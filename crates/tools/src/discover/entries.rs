//! Reads the named commands in the files of task runners: targets of makefiles, recipes of justfiles, tasks of Taskfiles, and scripts of
//! Hatch, PDM and poe. `environments` reads those of tox and nox.
//!
//! The readers know the usual form of each file and not its whole language. What they cannot read is no command.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::discover::environments::{BASE, default_of_nox, default_of_tox, nox, tox};
use crate::project_files::{ProjectFiles, within};

/// A command that a file of the project gives a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedCommand {
    /// Relative to the project.
    pub(super) file: String,
    pub(super) name: String,
    /// The lines of a shell script, in the order in which they run.
    pub(super) lines: Vec<String>,
}

/// Reads names of commands in the files of a directory.
type DefaultNames = fn(&dyn ProjectFiles, &str) -> Option<Vec<String>>;

/// A program that runs the named commands of one kind of file.
pub(super) struct TaskRunner {
    pub(super) programs: &'static [&'static str],
    /// The words of a call before the name of a command.
    pub(super) call: &'static [&'static str],
    /// Returns all named commands in the files of a directory.
    pub(super) read: fn(&dyn ProjectFiles, &str) -> Vec<NamedCommand>,
    /// Returns the names of the commands that the runner runs if its arguments name none, by the files of a directory; `None` if the files
    /// do not say it plainly. A runner without this function runs none then.
    pub(super) default: Option<DefaultNames>,
    named_by: NamedBy,
    /// The command that the runner runs for a name that its files do not have.
    pub(super) otherwise: Option<&'static str>,
    /// Options whose value is the directory of the file.
    directory: &'static [&'static str],
    /// Options whose value is the path of the file.
    file: &'static [&'static str],
    /// Options with which it chooses commands in a way that is not read, or runs none.
    unclear: &'static [&'static str],
    /// Other options that take the next word as their value.
    valued: &'static [&'static str],
}

/// Which words of a call are names of commands. A word with `=` is none.
#[derive(Debug, Clone, Copy)]
enum NamedBy {
    Words,
    /// Only the first word. The words behind it are the command's own arguments, and `run` may stand before it.
    FirstWord,
    /// `run ENVIRONMENT:NAME`.
    WordBehindRun,
    /// The value of these options, with commas between names.
    ValueOf(&'static [&'static str]),
    /// All words behind one of these options, up to the next option.
    ValuesOf(&'static [&'static str]),
}

const RUNNER: TaskRunner = TaskRunner {
    programs: &[],
    call: &[],
    read: |_, _| Vec::new(),
    default: None,
    named_by: NamedBy::Words,
    otherwise: None,
    directory: &[],
    file: &[],
    unclear: &[],
    valued: &[],
};

pub(super) const TASK_RUNNERS: &[TaskRunner] = &[
    TaskRunner {
        programs: &["tox"],
        call: &["tox", "-e"],
        read: tox,
        default: Some(default_of_tox),
        named_by: NamedBy::ValueOf(&["-e"]),
        otherwise: Some(BASE),
        directory: &["--root"],
        file: &["-c", "--conf"],
        unclear: &["-f", "-m", "--skip-env", "-n", "--notest"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["nox"],
        call: &["nox", "-s"],
        read: nox,
        default: Some(default_of_nox),
        named_by: NamedBy::ValuesOf(&["-s", "-e", "--session", "--sessions"]),
        file: &["-f", "--noxfile"],
        unclear: &["-k", "--keywords", "-t", "--tags", "-p", "--python", "--pythons", "-l", "--list", "--install-only"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["hatch"],
        call: &["hatch", "run"],
        read: hatch,
        named_by: NamedBy::WordBehindRun,
        unclear: &["-p", "--project"],
        valued: &["-e", "--env"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["pdm"],
        call: &["pdm", "run"],
        read: pdm,
        named_by: NamedBy::FirstWord,
        directory: &["-p", "--project"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["poe"],
        call: &["poe"],
        read: poe,
        named_by: NamedBy::FirstWord,
        directory: &["-C", "--directory", "--root"],
        unclear: &["-d", "--dry-run"],
        valued: &["-e", "--executor"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["make", "gmake"],
        call: &["make"],
        read: makefile,
        directory: &["-C", "--directory"],
        file: &["-f", "--file", "--makefile"],
        unclear: &["-n", "--dry-run", "--just-print", "--recon", "-q", "--question", "-t", "--touch"],
        valued: &["-I", "-o", "-W"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["just"],
        call: &["just"],
        read: justfile,
        directory: &["-d", "--working-directory"],
        file: &["-f", "--justfile"],
        unclear: &["-n", "--dry-run", "-s", "--show"],
        ..RUNNER
    },
    TaskRunner {
        programs: &["task"],
        call: &["task"],
        read: taskfile,
        directory: &["-d", "--dir"],
        file: &["-t", "--taskfile"],
        unclear: &["-n", "--dry", "-g", "--global", "--status"],
        ..RUNNER
    },
];

/// What a call asks of a task runner.
#[derive(Debug, Default)]
pub(super) struct TaskCall<'c> {
    /// Each relative to the one before.
    pub(super) directories: Vec<&'c str>,
    pub(super) file: Option<&'c str>,
    pub(super) names: Vec<&'c str>,
    /// Whether it chooses commands in a way that is not read.
    pub(super) is_unclear: bool,
}

impl TaskRunner {
    /// Reads the words behind the program's name, up to `--`.
    pub(super) fn called_with<'c>(&self, words: &'c [String]) -> TaskCall<'c> {
        let words = &words[..words.iter().position(|word| word == "--").unwrap_or(words.len())];
        let mut call = TaskCall::default();
        let mut plain: Vec<&str> = Vec::new();
        let mut at = 0;
        let (valued, many) = match self.named_by {
            NamedBy::ValueOf(options) => (options, false),
            NamedBy::ValuesOf(options) => (options, true),
            NamedBy::Words | NamedBy::FirstWord | NamedBy::WordBehindRun => (&[][..], false),
        };
        while let Some(word) = words.get(at).map(String::as_str) {
            if let Some((value, taken)) = value_of(words, at, self.directory) {
                call.directories.push(value);
                at += taken;
            } else if let Some((value, taken)) = value_of(words, at, self.file) {
                call.file = Some(value);
                at += taken;
            } else if let Some((value, taken)) = value_of(words, at, valued) {
                call.names.extend(value.split(','));
                at += taken;
                let more = words[at.min(words.len())..].iter().take_while(|word| many && !word.starts_with('-'));
                let more: Vec<&str> = more.map(String::as_str).collect();
                at += more.len();
                call.names.extend(more);
            } else {
                call.is_unclear |= self.unclear.contains(&word.split('=').next().unwrap_or(word));
                at += if self.valued.contains(&word) { 2 } else { 1 };
                plain.extend(Some(word).filter(|word| !word.starts_with(['-', '+']) && !word.contains('=')));
            }
        }
        let is_behind_run = plain.first() == Some(&"run");
        match self.named_by {
            NamedBy::Words => call.names = plain,
            NamedBy::FirstWord => call.names.extend(plain.get(usize::from(is_behind_run))),
            NamedBy::WordBehindRun => {
                let name = plain.get(1).filter(|_| is_behind_run);
                call.names.extend(name.and_then(|name| name.rsplit(':').next()));
            }
            NamedBy::ValueOf(_) | NamedBy::ValuesOf(_) => {}
        }
        call
    }
}

/// Returns the value of the option at a place in a call, and how many words the option takes; `None` if none of these options is there.
/// A value may stand behind `=`, and that of a single letter directly behind it. Other letters may stand before the letter: `-sC web`.
pub(super) fn value_of<'c>(words: &'c [String], at: usize, options: &[&str]) -> Option<(&'c str, usize)> {
    let word = words[at].as_str();
    let joined = |option: &&str| match option.strip_prefix("--") {
        Some(_) if word == *option => Some(""),
        Some(_) => word.strip_prefix(option)?.strip_prefix('=').filter(|value| !value.is_empty()),
        None => {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
            let (before, value) = letters.split_once(&option[1..])?;
            before.chars().all(|letter| letter.is_ascii_lowercase()).then(|| value.strip_prefix('=').unwrap_or(value))
        }
    };
    let value = options.iter().find_map(joined)?;
    if value.is_empty() { Some((words.get(at + 1)?, 2)) } else { Some((value, 1)) }
}

/// The names of makefiles, in the order in which GNU make looks for them.
pub(super) const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
pub(super) const JUSTFILES: &[&str] = &["justfile", "Justfile", ".justfile"];
const TASKFILES: &[&str] = &["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml"];

/// Returns the task runner with a program of this name.
pub(super) fn task_runner_of(program: &str) -> Option<&'static TaskRunner> {
    TASK_RUNNERS.iter().find(|runner| runner.programs.contains(&program))
}

pub(super) fn text_of(files: &dyn ProjectFiles, path: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&files.read(path)?).into_owned())
}

/// Returns the first of these files that a directory has.
pub(super) fn first_of(files: &dyn ProjectFiles, directory: &str, names: &[&str]) -> Option<(String, String)> {
    let path = names.iter().map(|name| within(directory, name)).find(|path| files.exists(path))?;
    let text = text_of(files, &path)?;
    Some((path, text))
}

/// Returns the targets of a makefile. A variable that the file does not set stands for its name in small letters: `$(PYTHON)` is
/// `python`.
pub(super) fn makefile(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let Some((file, text)) = first_of(files, directory, MAKEFILES) else { return Vec::new() };
    let text = text.replace("\\\n", " ");
    let set = text.lines().filter(|line| !line.starts_with('\t')).filter_map(|line| line.split_once('='));
    let set = set.map(|(name, value)| (name.trim().trim_end_matches([':', '?', '+']).trim().to_owned(), value.trim().to_owned()));
    let variables: BTreeMap<String, String> = set.collect();
    let expand = |line: &str| expand_variables(line, &variables);
    recipes(&file, &text, "make", usize::MAX, &expand)
}

pub(super) fn justfile(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let Some((file, text)) = first_of(files, directory, JUSTFILES) else { return Vec::new() };
    // Behind the name of a recipe stand its parameters.
    recipes(&file, &text.replace("\\\n", " "), "just", 1, &|line| line.replace("{{", " ").replace("}}", " "))
}

/// Returns the recipes of a makefile or justfile. A line begins with at most `most` names.
fn recipes(file: &str, text: &str, program: &str, most: usize, expand: &dyn Fn(&str) -> String) -> Vec<NamedCommand> {
    let mut found: Vec<(NamedCommand, Vec<String>)> = Vec::new();
    let mut open = 0..0;
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            let line = expand(line.trim_start().trim_start_matches(['@', '-', '+']));
            found[open.clone()].iter_mut().for_each(|(command, _)| command.lines.push(line.clone()));
            continue;
        }
        // Names stand before a colon that is no assignment. A recipe of `just` may have `@` before it.
        let head =
            line.split_once(':').filter(|(_, rest)| !line.starts_with('#') && !rest.trim_start_matches(':').starts_with('='));
        let Some((names, rest)) = head else {
            open = if line.trim().is_empty() || line.starts_with('#') { open } else { found.len()..found.len() };
            continue;
        };
        let needed: Vec<String> = rest.trim_start_matches(':').split_whitespace().map(str::to_owned).collect();
        let begin = found.len();
        for name in names.split_whitespace().take(most).map(|word| word.trim_start_matches('@').to_owned()) {
            found.push((NamedCommand { file: file.to_owned(), name, lines: Vec::new() }, needed.clone()));
        }
        open = begin..found.len();
    }
    let known: BTreeSet<String> = found.iter().map(|(command, _)| command.name.clone()).collect();
    let with_needed = |(command, needed): (NamedCommand, Vec<String>)| {
        let needed = needed.into_iter().filter(|name| known.contains(name)).map(|name| format!("{program} {name}"));
        NamedCommand { lines: needed.chain(command.lines).collect(), ..command }
    };
    found.into_iter().map(with_needed).collect()
}

fn expand_variables(line: &str, variables: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let close = if behind.starts_with('(') { ')' } else { '}' };
        match behind.find(close).filter(|_| behind.starts_with(['(', '{'])) {
            Some(end) => {
                let name = &behind[1..end];
                expanded.push_str(
                    &variables.get(name).filter(|value| !value.contains('$')).cloned().unwrap_or_else(|| name.to_lowercase()),
                );
                rest = &behind[end + 1..];
            }
            // `$$` is the shell's own `$`.
            None => {
                expanded.push('$');
                rest = behind.strip_prefix('$').unwrap_or(behind);
            }
        }
    }
    expanded + rest
}

/// Returns the tasks of a Taskfile. It is YAML, of which the usual form is read: one key or item on each line.
fn taskfile(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let Some((file, text)) = first_of(files, directory, TASKFILES) else { return Vec::new() };
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut found: Vec<NamedCommand> = Vec::new();
    let mut of_names = None;
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("tasks:"))
        .skip(1)
        .take_while(|line| !line.starts_with(char::is_alphabetic));
    for line in lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        let value = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        let body = line.trim();
        if depth(line) == *of_names.get_or_insert(depth(line)) {
            let (name, inline) = body.split_once(':').unwrap_or((body, ""));
            let lines = Some(value(inline)).filter(|text| !text.is_empty() && !text.starts_with(['{', '[', '&']));
            found.push(NamedCommand { file: file.clone(), name: value(name), lines: lines.into_iter().collect() });
            continue;
        }
        let Some(task) = found.last_mut() else { continue };
        let item = body.strip_prefix('-').map(str::trim);
        let of_key = |key: &str| item.unwrap_or(body).strip_prefix(key).map(value).filter(|text| !text.is_empty());
        let line = of_key("task:").map(|name| format!("task {name}")).or_else(|| of_key("cmd:"));
        task.lines.extend(line.or_else(|| item.map(value)).filter(|text| text != "|" && text != ">"));
    }
    found
}

fn hatch(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let mut found = Vec::new();
    for (name, keys) in [("pyproject.toml", &["tool", "hatch", "envs"][..]), ("hatch.toml", &["envs"])] {
        let path = within(directory, name);
        let environments = text_of(files, &path).and_then(|text| table_at(&text, keys)).unwrap_or_default();
        let scripts = environments.values().filter_map(|environment| environment.get("scripts")?.as_table());
        found.extend(scripts.flatten().map(|(name, value)| to_command(&path, name, value, "")));
    }
    found
}

fn pdm(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    of_pyproject(files, directory, &["tool", "pdm", "scripts"], "pdm run ")
}

fn poe(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    of_pyproject(files, directory, &["tool", "poe", "tasks"], "poe ")
}

/// Returns the commands in a table of `pyproject.toml`. The items of a list are names of others, which `program` runs.
fn of_pyproject(files: &dyn ProjectFiles, directory: &str, keys: &[&str], program: &str) -> Vec<NamedCommand> {
    let path = within(directory, "pyproject.toml");
    let table = text_of(files, &path).and_then(|text| table_at(&text, keys)).unwrap_or_default();
    table.iter().map(|(name, value)| to_command(&path, name, value, program)).collect()
}

fn to_command(file: &str, name: &str, value: &Value, program: &str) -> NamedCommand {
    NamedCommand { file: file.to_owned(), name: name.to_owned(), lines: command_lines(value, program) }
}

/// Returns the lines of a command that is written as a text, as a list, or as a table with one of these.
pub(super) fn command_lines(value: &Value, program: &str) -> Vec<String> {
    let words = |list: &[Value]| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => {
            let line = |one: &Value| match one {
                Value::Array(list) => vec![words(list)],
                Value::String(text) => vec![format!("{program}{text}")],
                other @ (Value::Table(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_)) => {
                    command_lines(other, program)
                }
            };
            list.iter().flat_map(line).collect()
        }
        Value::Table(table) => {
            let keys = ["cmd", "shell", "composite", "sequence", "ref"];
            keys.iter().filter_map(|key| table.get(*key)).flat_map(|value| command_lines(value, program)).collect()
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => Vec::new(),
    }
}

/// Returns the table at these keys of a TOML text; `None` if it is not there.
pub(super) fn table_at(text: &str, keys: &[&str]) -> Option<Table> {
    let table: Table = text.parse().ok()?;
    keys.iter().try_fold(table, |table, key| table.get(*key)?.as_table().cloned())
}
