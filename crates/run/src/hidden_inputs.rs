//! Finds in the output of a failed action what it looked for beside the project and could not see, and returns the line for `proctor.toml`
//! that would show it: a path, a module, a socket, a program of a toolchain that nothing selects.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use proctor_model::{Access, Action, ActionEnd, EndedAction, PlanNote, Sandbox, TreePath, quoted_text};
use proctor_project::{InputSearch, LeftOut, LeftOutReason, RunRequest};
use proctor_sandbox::{home, list_for_settings, search_path};
use proctor_tools::{PROGRAM_ENDINGS, install_command};

/// The most bytes of a line that are searched, and the most lines with a marker.
const LONGEST_LINE: usize = 4 * 1024;
const MOST_LINES: usize = 64;
/// How many lines, with the marker's own, may name the file whose relative path is missing.
const NEAR: usize = 4;

/// What programs print about something that is not there or may not be read. In lower case.
const MISSING: &[&str] = &[
    "no such file",
    "enoent",
    "not found",
    "notfound",
    "cannot find",
    "can't find",
    "could not find",
    "couldn't find",
    "cannot open",
    "can't open",
    "could not open",
    "could not read",
    "cannot read",
    "failed to read",
    "failed to load",
    "does not exist",
    "nonexistent",
    "doesn't exist",
    "permission denied",
    "cannot connect",
    "no module named",
    "unable to resolve",
    "failed to resolve",
    "couldn't resolve",
    "could not resolve",
];

/// What stands before the name of a module that is missing, in the messages of Python and Node.js.
const BEFORE_MODULES: &[&str] = &["module named ", "Cannot find module ", "Cannot find package "];

/// What a failed action could see.
struct ActionView<'a> {
    search: InputSearch<'a>,
    /// The action's working directory, from which relative paths in its output lead.
    directory: &'a Path,
    sandbox: &'a Sandbox,
    /// The inputs and sockets of the settings; the advice adds to them.
    inputs: &'a [String],
    sockets: &'a [String],
    /// What the project's files lead to and checks do not see.
    left_out: &'a [LeftOut],
    /// Where the action could not write, as a note says already.
    unwritable: Vec<&'a str>,
    /// The directories of `PATH`.
    search_path: &'a OsStr,
}

/// Returns notes about what a failed action looked for and did not see. `surroundings` are the run, the variables of proctor and the
/// store. `said` are the notes about the action so far: where it could not write, it did not look for an input.
pub(crate) fn hidden_input_notes(
    (request, ambient, store): (&RunRequest<'_>, &BTreeMap<OsString, OsString>, &Path),
    action: &Action,
    ended: &EndedAction,
    sandbox: Option<&Sandbox>,
    said: &[PlanNote],
) -> Vec<PlanNote> {
    let Some(sandbox) = sandbox else { return Vec::new() };
    let root = request.scope.root.as_path();
    let view = ActionView {
        search: InputSearch { root, home: home(ambient), store },
        directory: &root.join(&action.directory),
        sandbox,
        inputs: &request.settings.named_inputs,
        sockets: &request.settings.sandbox.sockets,
        left_out: &request.settings.left_out,
        unwritable: said.iter().flat_map(|note| words(&note.message)).filter(|word| word.starts_with('/')).collect(),
        search_path: &search_path(ambient),
    };
    let output = format!("{}\n{}", ended.captured.stdout.text(), ended.captured.stderr.text());
    let note = |message| PlanNote { subject: action.name.clone(), message };
    hidden_inputs(&output, &view).into_iter().map(note).collect()
}

/// Adds the notes about the project's inputs, but for a line that the note of a failed check has already.
pub(crate) fn add_input_notes(request: &RunRequest<'_>, notes: &mut Vec<PlanNote>) {
    let is_said = |note: &PlanNote| notes.iter().any(|other| proposes_inputs_of(&other.message, &note.message));
    let about_inputs: Vec<PlanNote> = request.settings.input_notes().into_iter().filter(|note| !is_said(note)).collect();
    notes.extend(about_inputs);
}

/// Returns whether the inputs that a note proposes contain those that another one proposes.
fn proposes_inputs_of(one: &str, other: &str) -> bool {
    let inputs = |text| -> Vec<&Path> {
        let list = str::split_once(text, "`inputs = [").and_then(|(_, rest)| rest.split_once(']')).map_or("", |(list, _)| list);
        list.split('"').skip(1).step_by(2).map(Path::new).collect()
    };
    let (one, other) = (inputs(one), inputs(other));
    !other.is_empty() && other.iter().all(|input| one.iter().any(|around| input.starts_with(around)))
}

/// Returns at most one line of advice about each kind: another checkout, an input, a socket, a program.
fn hidden_inputs(output: &str, view: &ActionView<'_>) -> Vec<String> {
    let all: Vec<&str> = output.lines().filter(|line| line.len() <= LONGEST_LINE).collect();
    let places: Vec<usize> = (0..all.len()).filter(|at| says_missing(all[*at])).take(MOST_LINES).collect();
    let lines: Vec<&str> = places.iter().map(|at| all[*at]).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let input = places.iter().find_map(|at| view.input_of(all[*at], &all[*at..all.len().min(at + NEAR)]));
    let checkout = view.other_checkout().or_else(|| lines.iter().find_map(|line| view.installed_elsewhere(line)));
    let checkout = checkout.filter(|_| input.is_none());
    let socket = lines.iter().find_map(|line| view.socket_of(line));
    let program = lines.iter().find_map(|line| view.program_of(line));
    let advice = [
        checkout,
        input.map(|name| {
            let list = list_for_settings(view.inputs.iter().chain([&name]));
            format!("`{name}` is not part of this project, so its checks do not see it: put `inputs = {list}` in `[project]`")
        }),
        socket.map(|path| {
            let list = list_for_settings(view.sockets.iter().chain([&path]));
            format!("the socket `{path}` is hidden: if the command needs it, put `sockets = {list}` in `[sandbox]`")
        }),
        program.map(|(name, directory)| {
            format!(
                "`{name}` lies in `{}`, a toolchain that nothing in this project selects, so its checks do not see it: name `{name}` in the \
                 check's command, or add a file that selects it, such as a manifest",
                directory.display()
            )
        }),
    ];
    advice.into_iter().flatten().collect()
}

/// Returns the command that installs a project's packages.
fn installing(root: &Path) -> &'static str {
    let has = |file: &str| root.join(file).is_file();
    let npm = || has("package.json").then_some("npm install");
    install_command(has).or_else(npm).unwrap_or("python3 -m venv .venv && .venv/bin/pip install -e .")
}

impl ActionView<'_> {
    /// Returns advice about an environment that leads to another checkout of the same repository.
    fn other_checkout(&self) -> Option<String> {
        let left = self.left_out.iter().find(|left| left.reason == LeftOutReason::OtherCheckout)?;
        let command = installing(self.search.root);
        Some(format!(
            "`{}` leads to `{}`, another checkout, whose code checks do not see: install in this one with `{command}`",
            left.by, left.name
        ))
    }

    /// Returns advice about a module that is missing here, and lies in another checkout beside the project or in packages above it.
    fn installed_elsewhere(&self, line: &str) -> Option<String> {
        let name = missing_name(line).filter(|name| !name.starts_with(['.', '/']))?;
        let package: PathBuf = Path::new(name).iter().take(if name.starts_with('@') { 2 } else { 1 }).collect();
        let mut above = self.search.root.ancestors().skip(1).map(|directory| directory.join("node_modules"));
        let packages = above.find(|packages| packages.join(&package).exists() && self.is_hidden(packages));
        let is_there = |path: &Path| holds_module(path, module_of(line)?).then(|| self.search.is_in_other_checkout(path));
        let checkout = || self.beside().map(|(_, path)| path).find(|path| is_there(path) == Some(true));
        let (place, command) = (self.search.name_of(&packages.or_else(checkout)?), installing(self.search.root));
        Some(format!("`{}` lies in `{place}`, not of this checkout: install in this one with `{command}`", package.display()))
    }

    /// Returns the input that a line of output tells of: something that lies beside the project and is hidden. `near` are the line and
    /// the next ones: a relative path leads from the working directory, or from a file that is named there.
    fn input_of(&self, line: &str, near: &[&str]) -> Option<String> {
        let files = near.iter().copied().flat_map(words).map(|word| self.directory.join(word.split(':').next().unwrap_or(word)));
        let files = files.filter(|file| file.starts_with(self.search.root) && file.is_file());
        let bases: BTreeSet<PathBuf> = files.filter_map(|file| Some(file.parent()?.to_owned())).collect();
        let bases = || std::iter::once(self.directory).chain(bases.iter().map(PathBuf::as_path));
        let paths = words(line).flat_map(|word| bases().flat_map(move |base| self.paths_of(base, word)));
        let path = paths.filter(|path| self.is_hidden_file(path)).find_map(|path| self.entry_beside(&path));
        path.or_else(|| self.module_beside(module_of(line)?))
    }

    /// Returns the paths that a word may mean in a directory. Imports leave the ending out.
    fn paths_of(&self, base: &Path, word: &str) -> Vec<PathBuf> {
        let path = match (word.strip_prefix("~/"), self.search.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => base.join(word),
        };
        let leads_out = word.split('/').any(|part| part == "..");
        let endings = PROGRAM_ENDINGS.iter().filter(|_| leads_out).map(|ending| base.join(format!("{word}.{ending}")));
        endings.collect::<Vec<_>>().into_iter().chain([path]).collect()
    }

    /// Returns whether a file or directory is there, outside of the project, and the action does not see it.
    fn is_hidden_file(&self, path: &Path) -> bool {
        let is_unwritable = self.unwritable.iter().any(|place| path.starts_with(place));
        path.canonicalize().is_ok_and(|path| {
            !is_unwritable && (path.is_file() || path.is_dir()) && !path.starts_with(self.search.root) && self.is_hidden(&path)
        })
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let around = self.sandbox.places.iter().filter(|place| path.starts_with(&place.path));
        let closest = around.max_by_key(|place| place.path.as_os_str().len());
        closest.is_some_and(|place| matches!(place.access, Access::Hidden | Access::Private { .. }))
    }

    /// Returns the name of the entry that lies beside the project, or beside a directory above it, and holds a path; `None` if no check may
    /// see that.
    fn entry_beside(&self, path: &Path) -> Option<String> {
        let path = path.canonicalize().ok()?;
        let home = self.search.home.and_then(|home| home.canonicalize().ok());
        let home = home.filter(|home| path.starts_with(home) && !self.search.root.starts_with(home));
        let shared = home.as_deref().or_else(|| self.search.root.ancestors().find(|above| path.starts_with(above)))?;
        let first = path.strip_prefix(shared).ok()?.components().next()?;
        // Of the user's own settings, and of the root directory, the file itself is meant: `~/.config/x.toml`, not the whole of `~/.config`.
        let is_dotted = first.as_os_str().as_encoded_bytes().starts_with(b".");
        let entry = if shared.parent().is_none() || is_dotted { path.clone() } else { shared.join(first) };
        let is_allowed = self.search.refusal(&entry).is_none() && !self.search.is_in_other_checkout(&path);
        is_allowed.then(|| self.search.name_of(&entry))
    }

    /// Returns where a module lies that the project's files lead to, or that lies beside the project.
    fn module_beside(&self, module: &str) -> Option<String> {
        let left = self.left_out.iter().filter(|left| left.reason != LeftOutReason::OtherCheckout);
        let known = left.filter_map(|left| Some((left.name.clone(), self.search.place(&left.name).ok()?.path)));
        let mut candidates: Vec<(String, PathBuf)> = known.chain(self.beside()).collect();
        candidates.retain(|(_, path)| {
            self.search.refusal(path).is_none() && self.is_hidden(path) && !self.search.is_in_other_checkout(path)
        });
        candidates.into_iter().find(|(_, path)| holds_module(path, module)).map(|(name, _)| name)
    }

    /// Returns what lies beside the project, each with its name in the settings.
    fn beside(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let entries = self.search.root.parent().and_then(|around| fs::read_dir(around).ok()).into_iter().flatten().flatten();
        entries.map(|entry| (self.search.name_of(&entry.path()), entry.path())).take(MOST_LINES * 4)
    }

    /// Returns the program that a line of output tells of, and the directory of `PATH` with it that the action does not see.
    fn program_of<'line>(&self, line: &'line str) -> Option<(&'line str, PathBuf)> {
        let directories = || std::env::split_paths(self.search_path).filter_map(|directory| directory.canonicalize().ok());
        let hidden: Vec<PathBuf> = directories().filter(|directory| self.is_hidden(directory)).collect();
        let names = words(line).filter(|word| !word.contains('/'));
        let mut found = names.flat_map(|name| hidden.iter().map(move |directory| (name, directory)));
        found.find(|(name, directory)| directory.join(name).is_file()).map(|(name, directory)| (name, directory.clone()))
    }

    /// Returns the socket that a line of output tells of and that the action does not see.
    fn socket_of(&self, line: &str) -> Option<String> {
        let paths = words(line).map(|word| word.trim_start_matches("unix://")).filter(|word| word.starts_with('/'));
        let is_socket = |path: &&str| fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
        let mut hidden =
            paths.filter(is_socket).filter(|path| Path::new(path).canonicalize().is_ok_and(|path| self.is_hidden(&path)));
        hidden.next().map(str::to_owned)
    }
}

/// Returns whether a module lies in a directory, in its `src`, or is the directory or file itself.
fn holds_module(path: &Path, module: &str) -> bool {
    let [file, stub] = ["py", "pyi"].map(|ending| format!("{module}.{ending}"));
    path.file_name().is_some_and(|name| name == file.as_str() || (name == module && path.is_dir()))
        || [path.to_owned(), path.join("src")].iter().any(|directory| {
            directory.join(&file).is_file()
                || directory.join(&stub).is_file()
                || directory.join(module).join("__init__.py").is_file()
                || directory.join(module).is_dir()
        })
}

/// Returns the top-level name of the module that a line says is missing.
fn module_of(line: &str) -> Option<&str> {
    let name = missing_name(line).filter(|name| !name.starts_with(['.', '/', '@']))?;
    name.split('.').next().filter(|name| !name.is_empty())
}

/// Returns what a line says is missing, as a program imports it.
fn missing_name(line: &str) -> Option<&str> {
    let rest = BEFORE_MODULES.iter().find_map(|before| line.split_once(before).map(|(_, rest)| rest))?;
    rest.trim_start_matches(['\'', '"', '`']).split(['\'', '"', '`', ' ', ';']).next()
}

/// Divides a line into the words between blanks, quotes and brackets.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |character: char| character.is_whitespace() || "'\"`‘’()[]{}<>,;=".contains(character);
    line.split(ends).map(|word| word.trim_end_matches(['.', ':'])).filter(|word| !word.is_empty())
}

// Finds out that a check failed because it looked for a file in the cache of another check, and says what helps. Pure.

/// Returns a note for each cache of another check in which a failed check looked for a file. `caches` has the caches that other
/// checks of the run wrote, each with the name of the check.
pub(super) fn hidden_caches(failed: &Action, ended: &EndedAction, caches: &BTreeMap<TreePath, String>) -> Vec<PlanNote> {
    if caches.is_empty() {
        return Vec::new();
    }
    let (stdout, stderr) = (ended.captured.stdout.text(), ended.captured.stderr.text());
    let program = match ended.end {
        ActionEnd::NotStarted(_) => failed.command.argv.first().map(String::as_str),
        ActionEnd::Exited { .. }
        | ActionEnd::Signalled { .. }
        | ActionEnd::TimedOut { .. }
        | ActionEnd::Stopped { .. }
        | ActionEnd::Lost { .. } => None,
    };
    let lines: Vec<&str> = stdout.lines().chain(stderr.lines()).filter(|line| says_missing(line)).chain(program).collect();
    let looked_for = caches.iter().filter(|(cache, _)| lines.iter().any(|line| names(line, &cache.to_string())));
    let note = |(cache, check): (&TreePath, &String)| PlanNote {
        subject: failed.name.clone(),
        message: format!(
            "`{cache}` is a cache of the check `{check}`, which no other check sees: with `writes = [{}]`, or a part of it, `{check}` makes \
             it a product, which later checks see",
            quoted_text(&format!("{cache}/**"))
        ),
    };
    looked_for.map(note).collect()
}

/// Returns whether a line of output says that a file or directory is missing.
pub(super) fn says_missing(line: &str) -> bool {
    let line = line.to_lowercase();
    MISSING.iter().any(|marker| line.contains(marker))
}

/// Returns whether a line names something in the directory at `cache`.
fn names(line: &str, cache: &str) -> bool {
    let is_part_of_a_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    line.match_indices(&format!("{cache}/")).any(|(start, _)| {
        let before = line[..start].strip_suffix("./").unwrap_or(&line[..start]);
        !before.ends_with(is_part_of_a_name)
    })
}

#[cfg(test)]
#[path = "hidden_inputs/tests.rs"]
mod tests;

#[cfg(test)]
mod cache_tests {
    use super::*;

    #[test]
    fn a_line_names_a_cache_by_its_whole_name() {
        for line in ["sh: 1: ./target/app: not found", "open 'target/x'", "/p/target/debug/app: No such file or directory"] {
            assert!(names(line, "target"), "{line}");
        }
        for line in ["my-target/app: not found", "target: not found", "targets/app", "a.target/x"] {
            assert!(!names(line, "target"), "{line}");
        }
    }
}
