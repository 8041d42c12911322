//! Follows commands to the programs that they call: through launchers, shells, scripts of `package.json`, members of workspaces and the files
//! of task runners. Texts are read as far as they can be, and nothing is executed.

mod asked;
mod checks;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::discover::entries::{NamedCommand, TaskRunner, task_runner_of, value_of};
use crate::discover::members::members;
use crate::jsonc::{RUNNERS, parse_jsonc, scripts};
use crate::launchers::{NODES, SHELLS, is_python, only_starts_others, row_of_call, visit_programs};
use crate::project_files::{ProjectFiles, within};
use crate::shell::simple_commands;
use asked::{Asked, Certain, Member};
pub(super) use checks::RunByChecks;
use proctor_model::{Tool, ToolClass, has_word};

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

/// Programs that start others in containers.
const CONTAINERS: &[&str] = &["docker", "podman", "docker-compose", "podman-compose"];

/// Options of `run` and `exec` of these that take the next word as their value.
const VALUED_OF_CONTAINERS: &str = "-e --env --env-file --entrypoint -h --hostname --index -l --label --mount --name --network -p --platform --publish -u \
     --user -v --volume -w --workdir";

/// Programs that start another one in the directory that is the value of an option.
const LAUNCHERS_WITH_DIRECTORY: &[(&str, &[&str])] = &[
    ("env", &["-C", "--chdir"]),
    ("uv", &["--directory"]),
    ("uvx", &["--directory"]),
    ("poetry", &["-C", "--directory"]),
    ("pnpm", &["-C", "--dir"]),
    ("yarn", &["--cwd"]),
];

/// Stands for a directory outside of the project. No path has this character, so nothing is found there.
pub(super) const OUTSIDE: &str = "\0";

/// Programs that run scripts of `package.json`, and whole commands, that their arguments name.
pub(super) const SCRIPT_LISTS: &[&str] = &["run-s", "run-p", "npm-run-all", "npm-run-all2", "concurrently"];

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

/// A call of a program, from the program's name on, and the directory in which it runs, relative to the project.
type Call = (String, Vec<String>);

/// Which workspace members, or commands of a task runner, are followed if a command chooses them in a way that proctor does not read.
#[derive(Debug, Clone, Copy)]
enum Unclear {
    All,
    /// A check covers less rather than more.
    Nothing,
}

/// The calls of programs that commands lead to, through scripts and the files of task runners. Each file is read once.
pub(super) struct Followed<'f> {
    files: &'f dyn ProjectFiles,
    pub(super) entered: BTreeSet<Entry>,
    /// Programs that only start others are left out.
    pub(super) calls: Vec<Call>,
    /// Calls of package managers that lead to no script in the directory or member that they name, and the call at which following ended.
    unread: Vec<Call>,
    unclear: Unclear,
    /// At so many calls or named commands it ends.
    most: usize,
    scripts: BTreeMap<String, Rc<BTreeMap<String, String>>>,
    tasks: BTreeMap<(&'static str, String), Rc<Vec<NamedCommand>>>,
    members: Option<Rc<Vec<Member>>>,
}

impl<'f> Followed<'f> {
    pub(super) fn new(files: &'f dyn ProjectFiles) -> Self {
        Self {
            files,
            entered: BTreeSet::new(),
            calls: Vec::new(),
            unread: Vec::new(),
            unclear: Unclear::All,
            most: MOST,
            scripts: BTreeMap::new(),
            tasks: BTreeMap::new(),
            members: None,
        }
    }

    /// Forgets what was followed, and keeps what was read of the project's files.
    pub(super) fn begin_anew(&mut self) {
        *self = Self {
            scripts: std::mem::take(&mut self.scripts),
            tasks: std::mem::take(&mut self.tasks),
            members: self.members.take(),
            ..Self::new(self.files)
        };
    }

    /// Adds the calls that were not followed, where they are all that a text has.
    pub(super) fn or_unread(mut self) -> Self {
        if self.calls.is_empty() {
            self.calls.append(&mut self.unread);
        }
        self
    }

    pub(super) fn follow(&mut self, argv: &[String], directory: &str) {
        let mut calls = Vec::new();
        visit_programs(argv, &mut |call| calls.push(call.to_vec()));
        let mut directory = directory.to_owned();
        let mut behind: Vec<usize> = calls.iter().skip(1).map(Vec::len).collect();
        behind.push(0);
        for (mut call, behind) in calls.into_iter().zip(behind) {
            let Some((program, words)) = call.split_first() else { continue };
            if self.calls.len().max(self.entered.len()) >= self.most {
                if self.unread.is_empty() {
                    self.unread.push((directory, call));
                }
                return;
            }
            if SHELLS.contains(&program.as_str()) {
                return self.follow_shell(words, &directory);
            }
            if let Some(inner) = in_container(program, words) {
                return self.calls.extend(inner.into_iter().map(|call| (directory.clone(), call)));
            }
            let is_test = tool_of(&call).is_some_and(|tool| tool.class() == ToolClass::Test);
            let is_last = is_test || runs_a_file(&call);
            let is_entered = !is_test && (self.enter_scripts(&call, &directory) || self.enter_task(program, words, &directory));
            let to = directory_of_launcher(program, &words[..words.len().saturating_sub(behind)]);
            let place = to.map(|to| below(&directory, to));
            if is_last || !is_entered && !only_starts_others(program) {
                // A call is the end of the command, with the program's name in place of its path.
                let path = argv.get(argv.len().wrapping_sub(call.len())).and_then(|word| own_program(word, &directory));
                if let Some(path) = path.filter(|_| known_program(&call).is_none()) {
                    call[0] = path;
                }
                self.calls.push((directory.clone(), call));
            }
            // All words behind the last call are its own arguments.
            if is_last {
                return;
            }
            directory = place.unwrap_or(directory);
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

    /// Follows a call of a shell: the script behind `-c`. A file that it runs counts as a program of the project.
    fn follow_shell(&mut self, words: &[String], directory: &str) {
        let mut is_text = false;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if !word.starts_with(['-', '+']) {
                break;
            }
            is_text |= !word.starts_with("--") && word.ends_with('c');
            at += if matches!(word.as_str(), "-o" | "+o" | "-O" | "+O") { 2 } else { 1 };
        }
        let Some(word) = words.get(at) else { return };
        if is_text {
            self.follow_script(word, directory);
        } else {
            let path = own_program(&format!("./{word}"), directory).filter(|_| !word.starts_with('/'));
            let call = [path.unwrap_or_else(|| word.clone())].into_iter().chain(words[at + 1..].iter().cloned()).collect();
            self.calls.push((directory.to_owned(), call));
        }
    }

    fn scripts_of(&mut self, directory: &str) -> Rc<BTreeMap<String, String>> {
        let read = || Rc::new(scripts(self.files, directory));
        Rc::clone(self.scripts.entry(directory.to_owned()).or_insert_with(read))
    }

    fn tasks_of(&mut self, runner: &TaskRunner, directory: &str) -> Rc<Vec<NamedCommand>> {
        let read = || Rc::new((runner.read)(self.files, directory));
        Rc::clone(self.tasks.entry((runner.programs[0], directory.to_owned())).or_insert_with(read))
    }

    fn members(&mut self) -> Rc<Vec<Member>> {
        let files = self.files;
        let to_member = |directory: String| {
            let package = files.read(&within(&directory, "package.json")).and_then(|bytes| String::from_utf8(bytes).ok());
            let name = package.and_then(|text| Some(parse_jsonc(&text)?.get("name")?.as_str()?.to_owned()));
            let name = name.unwrap_or_else(|| directory.rsplit('/').next().unwrap_or_default().to_owned());
            Member { directory, name }
        };
        Rc::clone(self.members.get_or_insert_with(|| Rc::new(members(files).into_iter().map(to_member).collect())))
    }

    /// Follows the scripts of `package.json` that a call runs. Returns whether it runs any.
    fn enter_scripts(&mut self, call: &[String], directory: &str) -> bool {
        let (program, words) = (call[0].as_str(), &call[1..]);
        let is_list = SCRIPT_LISTS.contains(&program);
        let (places, names) = if is_list {
            let words = words.iter().take_while(|word| *word != "--").map(|word| word.strip_prefix("npm:").unwrap_or(word));
            (vec![directory.to_owned()], words.map(str::to_owned).collect())
        } else if RUNNERS.contains(&program) || WORKSPACE_RUNNERS.contains(&program) {
            let asked = Asked::of(program, words);
            let places = self.places(&asked, directory);
            (places, asked.names)
        } else {
            return false;
        };
        let mut is_any = false;
        for place in &places {
            for (name, text) in self.scripts_of(place).iter() {
                if !names.iter().any(|wanted| is_named(wanted, name)) {
                    continue;
                }
                is_any = true;
                if self.entered.insert((within(place, "package.json"), name.clone())) {
                    self.follow_script(text, place);
                }
            }
        }
        if program == "concurrently" {
            words.iter().filter(|word| word.contains(' ')).for_each(|word| self.follow_script(word, directory));
        }
        if !is_any && !is_list && !names.is_empty() && places != [""] {
            self.unread.push((directory.to_owned(), call.to_vec()));
        }
        is_any
    }

    /// Returns the directories whose `package.json` a call means.
    fn places(&mut self, asked: &Asked, directory: &str) -> Vec<String> {
        let place = asked.directory.as_ref().map_or_else(|| directory.to_owned(), |to| below(directory, to));
        if !asked.is_every && !asked.is_unclear && asked.members.is_empty() {
            return vec![if asked.is_root { String::new() } else { place }];
        }
        let all = self.members();
        let directories = |members: Vec<&Member>| members.into_iter().map(|member| member.directory.clone()).collect();
        let is_of_root = place.is_empty() || all.iter().any(|member| member.directory == place);
        match (asked.chosen(&all, &place).filter(|_| is_of_root), self.unclear) {
            (Some((members, Certain::Yes)), _) | (Some((members, Certain::No)), Unclear::Nothing) => directories(members),
            (None, Unclear::Nothing) => Vec::new(),
            (None | Some((_, Certain::No)), Unclear::All) => directories(all.iter().collect()),
        }
    }

    /// Follows what a task runner's files have under the names in a call. Returns whether they have any.
    fn enter_task(&mut self, program: &str, words: &[String], directory: &str) -> bool {
        let Some(runner) = task_runner_of(program) else { return false };
        let call = runner.called_with(words);
        let directory = call.directories.iter().fold(directory.to_owned(), |place, to| below(&place, to));
        let file = call.file.map(|file| below(&directory, file));
        let all = self.tasks_of(runner, &directory);
        let has = |name: &str| all.iter().any(|command| command.name == name);
        let is_plain = call.names.is_empty() && !call.is_unclear;
        // What runs where nothing is named is read of the file that the runner finds by itself.
        let default = runner.default.filter(|_| is_plain && file.is_none()).and_then(|default| default(self.files, &directory));
        let is_asked = is_plain && default.is_none();
        let wanted = default.unwrap_or_else(|| call.names.iter().map(|name| (*name).to_owned()).collect());
        let names: Vec<&str> =
            wanted.iter().filter_map(|name| if has(name) { Some(name.as_str()) } else { runner.otherwise }).collect();
        let is_named = |name: &str| match self.unclear {
            Unclear::Nothing => !call.is_unclear && names.contains(&name),
            Unclear::All if is_asked => runner.default.is_some(),
            Unclear::All if call.names.is_empty() && call.is_unclear => true,
            Unclear::All => names.contains(&name),
        };
        let is_of_file = |path: &str| file.as_ref().is_none_or(|file| *file == path);
        let is_chosen = |command: &&NamedCommand| is_of_file(&command.file) && is_named(&command.name);
        let chosen: Vec<&NamedCommand> = all.iter().filter(is_chosen).collect();
        for NamedCommand { file, name, lines } in &chosen {
            if self.entered.insert((file.clone(), name.clone())) {
                lines.iter().for_each(|line| self.follow_script(line, &directory));
            }
        }
        !chosen.is_empty()
    }

    pub(super) fn runs_tests(&self) -> bool {
        !self.called_tools(|class| class == ToolClass::Test).is_empty()
    }

    /// Returns the known tools and test runners that it calls, of which `is_wanted`, each with its directory.
    fn called_tools(&self, is_wanted: impl Fn(ToolClass) -> bool) -> BTreeSet<(String, String)> {
        let named = |(directory, call): &Call| Some((known_program(call)?, directory.clone()));
        let named = self.calls.iter().filter_map(named).filter(|((_, class), _)| is_wanted(*class));
        named.map(|((word, _), directory)| (word, directory)).collect()
    }
}

/// Returns the directory to which `cd` leads.
pub(super) fn below(directory: &str, to: &str) -> String {
    if to.starts_with(['/', '~']) || directory == OUTSIDE {
        return OUTSIDE.to_owned();
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return OUTSIDE.to_owned();
        }
    }
    parts.join("/")
}

/// Returns the path in the project of a program that a word with a directory names; `None` if it is a program of an installed package.
pub(super) fn own_program(word: &str, directory: &str) -> Option<String> {
    let path = below(directory, word);
    let is_installed = |part: &str| part.starts_with('.') || matches!(part, "node_modules" | "venv" | "env" | OUTSIDE);
    (word.contains('/') && !path.split('/').any(is_installed)).then_some(path)
}

/// Returns the directory in which a launcher with these words of its own starts another program, if it says one.
fn directory_of_launcher<'w>(program: &str, words: &'w [String]) -> Option<&'w str> {
    let options = LAUNCHERS_WITH_DIRECTORY.iter().find(|(name, _)| *name == program)?.1;
    (0..words.len()).find_map(|at| value_of(words, at, options)).map(|(value, _)| value)
}

/// Returns the calls of test runners in the command that `run` or `exec` of a container's program starts; `None` if it is no such
/// call, or the command has no known test runner. The word behind the options is the image or the service.
fn in_container(program: &str, words: &[String]) -> Option<Vec<Vec<String>>> {
    let verb = words.iter().position(|word| matches!(word.as_str(), "run" | "exec")).filter(|_| CONTAINERS.contains(&program))?;
    let mut at = verb + 1;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if has_word(VALUED_OF_CONTAINERS, word) { 2 } else { 1 };
    }
    let mut calls = Vec::new();
    visit_programs(words.get(at + 1..)?, &mut |call| {
        if known_program(call).is_some_and(|(_, class)| class == ToolClass::Test) {
            calls.push(call.to_vec());
        }
    });
    (!calls.is_empty()).then_some(calls)
}

/// Returns whether a word names a script: by its name, or as a pattern with `*` at its end.
fn is_named(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        Some((stem, _)) => name.starts_with(stem),
        None => wanted == name,
    }
}

pub(super) fn tool_of(call: &[String]) -> Option<Tool> {
    row_of_call(&call[0], &call[1..]).map(|row| row.tool)
}

/// Returns whether an interpreter is called with a file, and not as a launcher of another program.
fn runs_a_file(call: &[String]) -> bool {
    let file = call[1..].iter().find(|word| !word.starts_with('-'));
    (is_python(&call[0]) || NODES.contains(&call[0].as_str()))
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
