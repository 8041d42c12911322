//! Finds the inputs that a project's own files lead to: what `tsconfig.json` extends, path dependencies, linked packages, and the
//! configuration that tools look for in the directories above.
//!
//! Readers ([`proctor_tools::paths_that_lead_out`]) yield paths, and one judge sorts them. What lies in the same checkout of the same
//! repository becomes an input by itself. Everything else stays hidden, and a note says what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::inputs::{InputSearch, without_links, without_nested};
use crate::request::ProjectSettings;
use proctor_evidence::read_regular_file;
use proctor_git::{GitIndex, GitLocation, find_git_location, read_git_index};
use proctor_model::PlanNote;
use proctor_sandbox::list_for_settings;
use proctor_tools::{
    CONFIGURATION_DIRECTORIES, ManifestPlace, PROGRAM_ENDINGS, dependencies_of_package, fits_pattern, is_configuration_above,
    may_lead_out, members_of_workspace, name_of_package, paths_of_environment_file, paths_that_lead_out,
};
use proctor_tree::InputPlace;
use proctor_tree::ignore::MatcherSettings;

/// The most files and bytes of inputs that are taken without being written down.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 64 << 20;

/// The subject of the note that lists the inputs that were found.
const BESIDE: &str = "inputs beside the project";
/// The subject of the notes about what was found and is no input.
const NOT_TAKEN: &str = "inputs";

/// The longest file that is read for the paths that it names, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// The most files and directories that are looked at: files that name each other could be followed for ever.
const MOST_LOOKED_AT: usize = 4_096;

/// Directories of installed packages. What lies in one is of the environment, which has a digest of its own.
const ENVIRONMENTS: &[&str] = &["node_modules", "site-packages", "dist-packages"];

/// The manifests of workspaces whose tools read the manifests of all members, each with the name that those have.
const WORKSPACES: &[(&str, &str)] = &[("Cargo.toml", "Cargo.toml"), ("pyproject.toml", "pyproject.toml"), ("go.work", "go.mod")];

/// The files that name the members of a workspace of Node.
const NODE_WORKSPACES: &[&str] = &["package.json", "pnpm-workspace.yaml"];

/// How many levels of directories `**` stands for in a pattern of members.
const DEEPEST_MEMBERS: usize = 3;

/// The names under which a project has its Python environment.
const PYTHON_ENVIRONMENTS: &[&str] = &[".venv", "venv", "env"];

/// Where the system's own files lie, which checks see anyway.
const SYSTEM: &[&str] = &["/usr", "/nix", "/gnu", "/snap", "/etc"];

/// What a project's own files lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundInputs {
    /// The inputs of the same repository, which need no setting.
    pub taken: Vec<InputPlace>,
    /// What was found and is no input.
    pub left_out: Vec<LeftOut>,
}

/// Something beside a project that its files lead to and that its checks do not see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// The name that `inputs` of `[project]` would have for it.
    pub name: String,
    /// The file, environment or package that leads there.
    pub by: String,
    pub reason: LeftOutReason,
}

/// Why what a project's files lead to is no input by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// It lies in another checkout of the same repository, so it is another version of the project's own code.
    OtherCheckout,
    /// It lies in no repository, or in another one.
    Outside,
    /// It has more files or bytes than are taken without being written down.
    TooLarge,
}

/// A file's or directory's identity, size and times; `None` if nothing is there.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// What was found for a project, and the stamps of everything that was looked at for it.
struct Known {
    looked_at: BTreeMap<PathBuf, Stamp>,
    found: FoundInputs,
}

/// What was found before, by the project's root. Settings are read before every run, and most often none of these files changed.
static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());

impl InputSearch<'_> {
    /// Returns all inputs of the project: those that the settings name, and what its files lead to.
    pub fn with_found(&self, named: Vec<InputPlace>) -> FoundInputs {
        let found = self.find(&named);
        FoundInputs { taken: without_nested([named, found.taken].concat()), left_out: found.left_out }
    }

    /// Returns what the project's own files lead to. `named` are the inputs that the settings name.
    pub fn find(&self, named: &[InputPlace]) -> FoundInputs {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &&Known| known.looked_at.iter().all(|(path, stamp)| read_stamp(path) == *stamp);
        let found = match known.get(self.root).filter(is_same) {
            Some(known) => known.found.clone(),
            None => {
                let mut finder = Finder::new(*self);
                finder.look();
                let (looked_at, found) = (std::mem::take(&mut finder.looked_at), finder.sort_out());
                known.insert(self.root.to_owned(), Known { looked_at, found: found.clone() });
                found
            }
        };
        let is_named = |path: &Path| named.iter().any(|input| path.starts_with(&input.path));
        FoundInputs {
            taken: found.taken.into_iter().filter(|input| !is_named(&input.path)).collect(),
            left_out: found
                .left_out
                .into_iter()
                .filter(|left| !self.place(&left.name).is_ok_and(|place| is_named(&place.path)))
                .collect(),
        }
    }
}

/// Returns whether a note is one of those about inputs. A person is told it once, until it changes.
pub fn is_input_note(note: &PlanNote) -> bool {
    [BESIDE, NOT_TAKEN].contains(&note.subject.as_str())
}

impl ProjectSettings {
    /// Returns the settings with the inputs to which the project's files lead now. A prerequisite may have installed packages that lead
    /// elsewhere than those that were there before.
    #[must_use]
    pub fn with_inputs_of_now(&self, search: &InputSearch<'_>) -> Self {
        let named = self.named_inputs.iter().filter_map(|name| search.place(name).ok());
        let FoundInputs { taken, left_out } = search.with_found(named.collect());
        Self { matcher: MatcherSettings { inputs: taken, ..self.matcher.clone() }, left_out, ..self.clone() }
    }

    /// Returns notes about the inputs that were found, and about what is none by itself.
    pub fn input_notes(&self) -> Vec<PlanNote> {
        let found = self.matcher.inputs.iter().filter(|input| !self.named_inputs.contains(&input.name));
        let found: Vec<&str> = found.map(|input| input.name.as_str()).collect();
        let taken = (!found.is_empty()).then(|| PlanNote { subject: BESIDE.to_owned(), message: found.join(", ") });
        let left = self.left_out.iter().filter_map(|left| {
            let why = match left.reason {
                // A note says so where a check fails, because the tree's own code may be found first.
                LeftOutReason::OtherCheckout => return None,
                LeftOutReason::Outside => format!("`{}` leads to `{}`, which is not part of this repository", left.by, left.name),
                LeftOutReason::TooLarge => format!("`{}` has more than {MOST_FILES} files or 64 MiB", left.name),
            };
            let list = list_for_settings(self.named_inputs.iter().chain([&left.name]));
            let message = format!("{why}: checks see it with `inputs = {list}` in `[project]`");
            Some(PlanNote { subject: NOT_TAKEN.to_owned(), message })
        });
        taken.into_iter().chain(left).collect()
    }
}

struct Finder<'a> {
    search: InputSearch<'a>,
    /// Where the repository lies, unless its root is HOME or above it.
    location: Option<GitLocation>,
    looked_at: BTreeMap<PathBuf, Stamp>,
    /// The paths of the same checkout, without links.
    found: BTreeSet<PathBuf>,
    left_out: BTreeSet<LeftOut>,
    /// The packages of the workspaces of Node around the project, by their names. They are read when a package is not installed.
    packages: Option<BTreeMap<String, PathBuf>>,
}

impl<'a> Finder<'a> {
    fn new(search: InputSearch<'a>) -> Self {
        let home = search.home.map(without_links);
        let is_around_home = |location: &GitLocation| home.as_ref().is_some_and(|home| home.starts_with(&location.work_tree));
        let location = find_git_location(search.root).filter(|location| !is_around_home(location));
        let (looked_at, found, left_out, packages) = Default::default();
        Self { search, location, looked_at, found, left_out, packages }
    }

    fn look(&mut self) {
        let root = self.search.root.to_owned();
        self.read_directory(&root);
        for name in NODE_WORKSPACES.iter().chain(WORKSPACES.iter().map(|(name, _)| name)) {
            for member in self.members_of(&root, name) {
                self.read_directory(&member);
            }
        }
        self.read_links(&root.join("node_modules"));
        for directory in self.directories_above(&root) {
            self.read_directory_above(&directory);
        }
        for directory in std::iter::once(root.clone()).chain(self.directories_above(&root)) {
            for name in PYTHON_ENVIRONMENTS {
                self.read_python_environment(&directory.join(name));
            }
        }
    }

    /// Returns the directories above a directory, up to the root of the repository.
    fn directories_above(&self, directory: &Path) -> Vec<PathBuf> {
        let Some(location) = &self.location else { return Vec::new() };
        let above = directory.ancestors().skip(1).take_while(|above| above.starts_with(&location.work_tree));
        above.map(Path::to_owned).collect()
    }

    /// Reads the files of a directory that may name what lies beside it.
    fn read_directory(&mut self, directory: &Path) {
        for name in self.names_in(directory).into_iter().filter(|name| may_lead_out(name)) {
            self.read_file(&directory.join(name));
        }
    }

    /// Takes the configuration files of a directory above the project, and reads them.
    fn read_directory_above(&mut self, directory: &Path) {
        let names = CONFIGURATION_DIRECTORIES.iter().flat_map(|below| {
            let names = self.names_in(&directory.join(below));
            names.into_iter().map(move |name| format!("{below}{name}"))
        });
        let names: Vec<String> = names.filter(|name| is_configuration_above(name)).collect();
        for name in names {
            let path = directory.join(&name);
            self.judge(&path, &name);
            for (_, manifest) in WORKSPACES.iter().filter(|(workspace, _)| *workspace == name) {
                for member in self.members_of(directory, &name).into_iter().filter(|member| member.join(manifest).is_file()) {
                    self.judge(&member, &name);
                }
            }
        }
    }

    /// Returns the directories of the members of a workspace, as a file of a directory names them.
    fn members_of(&mut self, directory: &Path, name: &str) -> Vec<PathBuf> {
        let text = self.text_of(&directory.join(name));
        let patterns = text.map(|text| members_of_workspace(name, &text)).unwrap_or_default();
        patterns.iter().flat_map(|pattern| self.directories_that_fit(directory, pattern)).collect()
    }

    /// Returns the directories that a pattern stands for, such as `packages/*`.
    fn directories_that_fit(&mut self, directory: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut found = vec![directory.to_owned()];
        for part in pattern.split('/').filter(|part| !["", "."].contains(part)) {
            found = match part {
                "**" => {
                    let (mut all, mut last) = (found.clone(), found);
                    for _ in 0..DEEPEST_MEMBERS {
                        last = last.iter().flat_map(|directory| self.directories_in(directory, "*")).collect();
                        all.extend(last.iter().cloned());
                    }
                    all
                }
                part if part.contains('*') => found.iter().flat_map(|directory| self.directories_in(directory, part)).collect(),
                part => found.into_iter().map(|directory| directory.join(part)).collect(),
            };
        }
        found
    }

    fn directories_in(&mut self, directory: &Path, pattern: &str) -> Vec<PathBuf> {
        let is_wanted =
            |name: &String| fits_pattern(pattern, name) && !name.starts_with('.') && !ENVIRONMENTS.contains(&name.as_str());
        let names = self.names_in(directory).into_iter().filter(is_wanted);
        names.map(|name| directory.join(name)).filter(|path| path.is_dir()).collect()
    }

    /// Returns where a package of this name lies in the workspaces of Node around the project, installed or not.
    fn package_of_workspace(&mut self, name: &str) -> Option<PathBuf> {
        if self.packages.is_none() {
            let root = self.search.root.to_owned();
            let mut packages = BTreeMap::new();
            for directory in self.directories_above(&root) {
                for file in NODE_WORKSPACES {
                    for member in self.members_of(&directory, file) {
                        let text = self.text_of(&member.join("package.json"));
                        packages.extend(text.and_then(|text| name_of_package(&text)).map(|name| (name, member)));
                    }
                }
            }
            self.packages = Some(packages);
        }
        self.packages.as_ref()?.get(name).cloned()
    }

    fn read_file(&mut self, path: &Path) {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return };
        let place = if path.starts_with(self.search.root) { ManifestPlace::InProject } else { ManifestPlace::Beside };
        // What a program beside the project imports decides as much as the program.
        let is_program = || name.rsplit_once('.').is_some_and(|(_, ending)| PROGRAM_ENDINGS.contains(&ending));
        let may_lead_out = may_lead_out(name) || place == ManifestPlace::Beside && is_program();
        if !may_lead_out {
            return;
        }
        let Some(text) = self.text_of(path) else { return };
        for named in paths_that_lead_out(name, &text, place) {
            let path = directory.join(&named);
            self.note(&path);
            // `extends` and imports leave the ending out.
            let endings =
                std::iter::once("json").chain(PROGRAM_ENDINGS).map(|ending| directory.join(format!("{named}.{ending}")));
            let named = std::iter::once(path.clone()).chain(endings).find(|path| path.exists());
            self.judge(&named.unwrap_or(path), name);
        }
        if name == "package.json" {
            self.read_linked_packages(directory, &text);
        }
    }

    /// Takes the packages that a package manager linked to directories of the workspace.
    fn read_linked_packages(&mut self, directory: &Path, package: &str) {
        let holders: Vec<PathBuf> = [directory.to_owned()].into_iter().chain(self.directories_above(directory)).collect();
        for name in dependencies_of_package(package) {
            let installed: Vec<PathBuf> = holders.iter().map(|holder| holder.join("node_modules").join(&name)).collect();
            let found = installed.iter().find(|path| fs::symlink_metadata(path).is_ok()).cloned();
            if found.is_none() {
                // It may be installed later.
                for packages in installed.iter().filter_map(|path| path.parent()) {
                    self.note(packages);
                }
            }
            if let Some(path) = found.or_else(|| self.package_of_workspace(&name)) {
                self.note(&path);
                self.judge(&path, &name);
            }
        }
    }

    /// Reads where the links in a project's own directory of packages lead, also those to packages with a scope (`@acme/core`).
    fn read_links(&mut self, packages: &Path) {
        for name in self.names_in(packages) {
            let path = packages.join(&name);
            if name.starts_with('@') {
                for below in self.names_in(&path) {
                    self.judge(&path.join(&below), &format!("{name}/{below}"));
                }
            } else if path.is_symlink() {
                self.judge(&path, &name);
            }
        }
    }

    /// Reads which directories a Python environment adds to where modules are found.
    fn read_python_environment(&mut self, environment: &Path) {
        let library = environment.join("lib");
        for version in self.names_in(&library).into_iter().filter(|name| name.starts_with("python3")) {
            let packages = library.join(version).join("site-packages");
            for name in self.names_in(&packages) {
                let path = packages.join(&name);
                let (path, file) = if name.ends_with(".dist-info") {
                    (path.join("direct_url.json"), "direct_url.json")
                } else if name.ends_with(".pth") || (name.starts_with("__editable__") && name.ends_with(".py")) {
                    (path, name.as_str())
                } else {
                    continue;
                };
                let named = self.text_of(&path).map(|text| paths_of_environment_file(file, &text));
                let by = environment.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                named.into_iter().flatten().for_each(|named| self.judge(Path::new(&named), by));
            }
        }
    }

    /// Decides what becomes of a path that a file names, and goes on from there if it is an input.
    /// `by` is the file, environment or package that names it.
    fn judge(&mut self, path: &Path, by: &str) {
        // What is missing now may come.
        self.note(path);
        let Ok(path) = path.canonicalize() else { return };
        let is_installed = path.components().any(|part| ENVIRONMENTS.iter().any(|name| part.as_os_str() == *name));
        let is_of_system = SYSTEM.iter().any(|system| path.starts_with(system));
        if is_installed || is_of_system || self.search.refusal(&path).is_some() || self.found.contains(&path) {
            return;
        }
        match self.reason_to_leave_out(&path) {
            Some(reason) => {
                self.left_out.insert(LeftOut { name: self.search.name_of(&path), by: by.to_owned(), reason });
            }
            None => {
                self.found.insert(path.clone());
                if path.is_dir() { self.read_directory(&path) } else { self.read_file(&path) }
            }
        }
    }

    fn reason_to_leave_out(&self, path: &Path) -> Option<LeftOutReason> {
        if self.search.is_in_other_checkout(path) {
            return Some(LeftOutReason::OtherCheckout);
        }
        let directory = if path.is_dir() { path } else { path.parent()? };
        let there = find_git_location(directory);
        let is_same = self.location.as_ref().zip(there).is_some_and(|(own, there)| own.work_tree == there.work_tree);
        (!is_same).then_some(LeftOutReason::Outside)
    }

    /// Leaves out what is too large to be taken without being written down.
    fn sort_out(self) -> FoundInputs {
        let places = self.found.iter().map(|path| InputPlace { name: self.search.name_of(path), path: path.clone() });
        let places = without_nested(places.collect());
        let index =
            self.location.as_ref().filter(|_| !places.is_empty()).map(|location| read_git_index(&location.work_tree, None));
        let (mut left_files, mut left_bytes) = (MOST_FILES, MOST_BYTES);
        let mut found = FoundInputs { taken: Vec::new(), left_out: self.left_out.into_iter().collect() };
        for place in places {
            let below = self.location.as_ref().and_then(|location| place.path.strip_prefix(&location.work_tree).ok());
            let (files, bytes) = index.as_ref().zip(below).map_or((0, 0), |(index, below)| size(index, &place.path, below));
            if files > left_files || bytes > left_bytes {
                found.left_out.push(LeftOut { name: place.name, by: String::new(), reason: LeftOutReason::TooLarge });
                continue;
            }
            (left_files, left_bytes) = (left_files - files, left_bytes - bytes);
            found.taken.push(place);
        }
        found
    }

    fn names_in(&mut self, directory: &Path) -> Vec<String> {
        if !self.note(directory) {
            return Vec::new();
        }
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn text_of(&mut self, path: &Path) -> Option<String> {
        self.note(path).then(|| read_regular_file(path, LONGEST_FILE).ok())?.and_then(|bytes| String::from_utf8(bytes).ok())
    }

    /// Notes that a path is looked at. Returns whether it may be, because not too many were.
    fn note(&mut self, path: &Path) -> bool {
        let is_allowed = self.looked_at.len() < MOST_LOOKED_AT;
        if is_allowed {
            self.looked_at.insert(path.to_owned(), read_stamp(path));
        }
        is_allowed
    }
}

/// Returns how many files would be digested at or below a path, and how many bytes they have: those that git tracks, or if there are none, all.
/// `below` is the path from the repository's root. Counting ends when there are too many.
fn size(index: &GitIndex, path: &Path, below: &Path) -> (usize, u64) {
    let prefix = below.as_os_str().as_encoded_bytes();
    let tracked = index.paths().iter().filter_map(|tracked| tracked.strip_prefix(prefix)?.strip_prefix(b"/"));
    let (mut files, mut bytes) = (0, 0);
    for name in tracked {
        let name = Path::new(std::ffi::OsStr::new(std::str::from_utf8(name).unwrap_or_default()));
        files += 1;
        bytes += fs::symlink_metadata(path.join(name)).map_or(0, |metadata| metadata.len());
        if files > MOST_FILES || bytes > MOST_BYTES {
            break;
        }
    }
    if files == 0 { size_on_disk(path) } else { (files, bytes) }
}

/// Returns how many files and directories lie at or below a path, and how many bytes they have, without following links.
fn size_on_disk(path: &Path) -> (usize, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop().filter(|_| files <= MOST_FILES && bytes <= MOST_BYTES) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        files += 1;
        bytes += metadata.len();
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()).take(MOST_FILES + 1));
        }
    }
    (files, bytes)
}

fn read_stamp(path: &Path) -> Stamp {
    let metadata = fs::symlink_metadata(path).ok()?;
    let changed = metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec());
    Some((metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime_nsec(), changed))
}

#[cfg(test)]
#[path = "found_inputs/tests.rs"]
mod tests;
