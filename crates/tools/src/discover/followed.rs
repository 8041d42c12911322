//! Follows commands to the programs that they call: through launchers, shells, scripts of `package.json`, members of workspaces and the files
//! of task runners. Texts are read as far as they can be, and nothing is executed.

use std::collections::BTreeSet;

use crate::discover::command_text;
use crate::discover::entries::{NamedCommand, task_runner_of};
use crate::discover::members::members;
use crate::launchers::{is_python, only_starts_others, row_of_call, visit_programs};
use crate::package_json::{RUNNERS, script_name, scripts};
use crate::project_files::{ProjectFiles, within};
use crate::shell::simple_commands;
use proctor_model::{Tool, ToolClass};

/// Programs that run tests and have no row in the table of tools, with the word that makes it a run of tests.
const OTHER_TEST_RUNNERS: &[&[&str]] = &[
    &["ctest"],
    &["cypress", "run"],
    &["dotnet", "test"],
    &["jasmine"],
    &["karma", "start"],
    &["mvn", "test"],
    &["nose2"],
    &["phpunit"],
    &["rspec"],
    &["tap"],
    &["tape"],
    &["unittest"],
    &["uvu"],
];

/// Programs that run scripts of every member of a workspace.
const WORKSPACE_RUNNERS: &[&str] = &["turbo", "nx", "lerna"];

/// Words by which a package manager runs scripts of the members of a workspace.
const OF_MEMBERS: &[&str] =
    &["-r", "--recursive", "-w", "--workspace", "-ws", "--workspaces", "-F", "--filter", "workspace", "workspaces", "foreach"];

/// Programs that run scripts of `package.json`, and whole commands, that their arguments name.
const SCRIPT_LISTS: &[&str] = &["run-s", "run-p", "npm-run-all", "npm-run-all2", "concurrently"];

/// The longest text of a command that stands for a test runner, in characters.
const LONGEST: usize = 60;

/// The most commands that are followed. A text that leads to more is not followed further.
const MOST: usize = 400;

/// A command of a check, with the directory in which it runs and the tool that it is.
#[derive(Debug, Clone, Copy)]
pub struct RunCommand<'a> {
    pub argv: &'a [String],
    /// Relative to the project; empty for the root.
    pub directory: &'a str,
    pub tool: Tool,
}

/// A named command in the files of a project: by the file's path, and its name there.
pub(super) type Entry = (String, String);

/// The calls of programs that commands lead to, through scripts and the files of task runners.
pub(super) struct Followed<'f> {
    files: &'f dyn ProjectFiles,
    pub(super) entered: BTreeSet<Entry>,
    /// Each from the program's name on. Programs that only start others are left out.
    pub(super) calls: Vec<Vec<String>>,
}

impl<'f> Followed<'f> {
    pub(super) fn new(files: &'f dyn ProjectFiles) -> Self {
        Self { files, entered: BTreeSet::new(), calls: Vec::new() }
    }

    pub(super) fn follow(&mut self, argv: &[String], directory: &str) {
        let mut calls = Vec::new();
        visit_programs(argv, &mut |call| calls.push(call.to_vec()));
        for call in calls {
            let Some((program, words)) = call.split_first() else { continue };
            if self.calls.len() >= MOST {
                return;
            }
            let is_test = tool_of(&call).is_some_and(|tool| tool.class() == ToolClass::Test);
            let is_last = is_test || runs_a_file(&call);
            let is_entered = self.enter_scripts(&call, directory) || self.enter_task(program, words, directory);
            if is_last || !is_entered && !only_starts_others(program) {
                self.calls.push(call);
            }
            // What stands behind it are its own arguments.
            if is_last {
                return;
            }
        }
    }

    /// Follows the commands of a shell script. `cd` holds for the commands behind it.
    pub(super) fn follow_script(&mut self, script: &str, directory: &str) {
        let mut directory = directory.to_owned();
        for command in simple_commands(script) {
            match command.as_slice() {
                [program, to] if program == "cd" => directory = below(&directory, to),
                _ => self.follow(&command, &directory),
            }
        }
    }

    /// Follows the scripts of `package.json` that a call runs. Returns whether it runs any.
    fn enter_scripts(&mut self, call: &[String], directory: &str) -> bool {
        let (program, words) = (call[0].as_str(), &call[1..]);
        let is_manager = RUNNERS.contains(&program);
        let mut places = vec![directory.to_owned()];
        let mut names: Vec<&str> = words.iter().map(|word| word.strip_prefix("npm:").unwrap_or(word)).collect();
        if WORKSPACE_RUNNERS.contains(&program) || is_manager && words.iter().any(|word| is_of_members(word)) {
            places = members(self.files);
        } else if is_manager {
            places.extend(
                words
                    .iter()
                    .map(|word| below(directory, word))
                    .filter(|place| *place != directory)
                    .filter(|place| self.files.is_directory(place)),
            );
            // Without a directory among its words, only the first word is a script.
            if places.len() == 1 {
                names = script_name(call).into_iter().collect();
            }
        } else if !SCRIPT_LISTS.contains(&program) {
            return false;
        }
        let mut is_any = false;
        for place in places {
            for (name, text) in scripts(self.files, &place) {
                if !names.iter().any(|wanted| is_named(wanted, &name)) {
                    continue;
                }
                is_any = true;
                if self.entered.insert((within(&place, "package.json"), name)) {
                    self.follow_script(&text, &place);
                }
            }
        }
        if program == "concurrently" {
            words.iter().filter(|word| word.contains(' ')).for_each(|word| self.follow_script(word, directory));
        }
        is_any
    }

    /// Follows what a task runner's files have under the names in a call. Returns whether they have any.
    fn enter_task(&mut self, program: &str, words: &[String], directory: &str) -> bool {
        let Some(runner) = task_runner_of(program) else { return false };
        let all = (runner.read)(self.files, directory);
        // `hatch run ENVIRONMENT:NAME`, `tox -e ONE,TWO`.
        let names: Vec<&str> = words.iter().flat_map(|word| word.split([',', '=', ':'])).collect();
        let (named, others): (Vec<NamedCommand>, _) = all.into_iter().partition(|command| names.contains(&command.name.as_str()));
        let chosen = if named.is_empty() && runner.runs_all { others } else { named };
        for NamedCommand { file, name, lines } in &chosen {
            if self.entered.insert((file.clone(), name.clone())) {
                lines.iter().for_each(|line| self.follow_script(line, directory));
            }
        }
        !chosen.is_empty()
    }

    pub(super) fn runs_tests(&self) -> bool {
        !self.named(|class| class == ToolClass::Test).is_empty()
    }

    /// Returns the known tools and test runners that it calls, of which `is_wanted`.
    fn named(&self, is_wanted: impl Fn(ToolClass) -> bool) -> BTreeSet<String> {
        self.calls
            .iter()
            .filter_map(|call| known_program(call))
            .filter(|(_, class)| is_wanted(*class))
            .map(|(word, _)| word)
            .collect()
    }
}

/// What the checks of a plan run.
pub(super) struct RunByChecks<'f> {
    followed: Followed<'f>,
    named: BTreeSet<String>,
}

impl<'f> RunByChecks<'f> {
    pub(super) fn of(files: &'f dyn ProjectFiles, checks: &[RunCommand<'_>]) -> Self {
        let mut followed = Followed::new(files);
        checks.iter().for_each(|check| followed.follow(check.argv, check.directory));
        let mut named = followed.named(|_| true);
        named.extend(checks.iter().map(|check| check.tool.word().to_owned()));
        Self { followed, named }
    }

    /// Returns whether a check calls a named command.
    pub(super) fn has_entered(&self, entry: &Entry) -> bool {
        self.followed.entered.contains(entry)
    }

    /// Returns what the checks do not run of a command: its test runners; without any, its last command that is no known tool; without
    /// such a one, its tools. `None` if they run it.
    pub(super) fn lacks(&self, command: &Followed<'_>) -> Option<String> {
        let missing = |named: BTreeSet<String>| named.difference(&self.named).cloned().collect::<Vec<_>>().join(", ");
        let runners = command.named(|class| class == ToolClass::Test);
        let last = command.calls.iter().rfind(|call| known_program(call).is_none());
        let lacking = match last.filter(|_| runners.is_empty()) {
            Some(last) if self.followed.calls.iter().any(|call| call.starts_with(last)) => String::new(),
            Some(last) => shortened(&command_text(last)),
            None if runners.is_empty() => missing(command.named(|_| true)),
            None => missing(runners),
        };
        Some(lacking).filter(|lacking| !lacking.is_empty())
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the directory to which `cd` leads. A place outside of the project is taken for its root.
fn below(directory: &str, to: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

fn is_of_members(word: &str) -> bool {
    OF_MEMBERS.iter().any(|option| word == *option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')))
}

/// Returns whether a word names a script: by its name, or as a pattern with `*` at its end.
fn is_named(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        Some((stem, _)) => name.starts_with(stem),
        None => wanted == name,
    }
}

fn tool_of(call: &[String]) -> Option<Tool> {
    row_of_call(&call[0], &call[1..]).map(|row| row.tool)
}

/// Returns whether an interpreter is called with a file, and not as a launcher of another program.
fn runs_a_file(call: &[String]) -> bool {
    let is_interpreter = is_python(&call[0]) || matches!(call[0].as_str(), "node" | "nodejs");
    let file = call[1..].iter().find(|word| !word.starts_with('-'));
    is_interpreter
        && file.is_some_and(|file| {
            !file.contains("node_modules/") && [".py", ".js", ".mjs", ".cjs", ".ts"].iter().any(|end| file.ends_with(end))
        })
}

/// Returns the word of the tool or test runner that a call runs, and its class; `None` if it is not known.
fn known_program(call: &[String]) -> Option<(String, ToolClass)> {
    if let Some(tool) = tool_of(call) {
        return Some((tool.word().to_owned(), tool.class()));
    }
    let is_call = |words: &&&[&str]| call[0] == words[0] && words[1..].iter().all(|word| call.iter().any(|other| other == word));
    OTHER_TEST_RUNNERS.iter().find(is_call).map(|words| (words[0].to_owned(), ToolClass::Test))
}
