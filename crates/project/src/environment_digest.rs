//! What a verdict depends on in addition to the tree: the real paths and bytes of tools, the files of environments that
//! decide what their programs do, and changed configuration files (E15). This module reads files and runs no program.
//!
//! An *environment* is a directory of installed programs and packages, such as `.venv` and `node_modules`. It does not
//! belong to the tree, and checks use it as it is. `places` finds the environments, `deciding_files` knows which of
//! their files decide what the installed programs do, and compares two readings of these files. `known_files` remembers
//! digests, so that an unchanged file is not read again.

mod deciding_files;
mod every_file;
mod known_files;
mod listings;
mod places;
mod same_directory;
mod whole_directory;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use self::deciding_files::DecidingFiles;
use self::every_file::EveryFile;
pub use self::every_file::SurveyExtent;
use self::known_files::FileSurvey;
pub(crate) use self::known_files::{KnownEnvironments, KnownFiles, KnownFilesSource};
pub use self::places::{EarlierLook, SurveyScope, environments_in_project};
pub(crate) use self::places::{EnvironmentSearch, environment_links, environments_of_programs};
pub use self::same_directory::variables_digest;
pub(crate) use self::same_directory::{InstalledAt, content_without_root, first_difference};
pub(crate) use self::whole_directory::{LookDepth, LookedDirectory, SavedDirectory, forget_gone_toolchains};
use crate::toolchains::SeenByChecks;
use proctor_evidence::report::{ConfigurationChangeV2, EnvironmentComponentV2};
use proctor_evidence::{BackgroundJob, BackgroundThread, open_regular_file};
use proctor_model::{Action, Digest, FileChangeKind, IdentityWriter, NPM_SETTINGS_FILES, Plan, Tool, TreePath};
use proctor_sandbox::process::{clock, resolve_program};
use proctor_sandbox::{interpreter_of, matches_name};
use proctor_tree::{NameSearch, NameTopic, TreeIndex};

/// Ends the name of the component that stands for every file of a directory.
pub const EVERY_FILE: &str = ", every file";

/// The names of files that can change a run's result without a change to the source (S7). Each tool adds its own
/// configuration files.
const CONFIGURATION: &[&str] = &[
    "proctor.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "package.json",
    ".coveragerc",
    // Python runs these two files before anything else, from any directory of its search path.
    "sitecustomize.py",
    "usercustomize.py",
];

/// The names of files that pin the versions of installed packages.
const LOCKS: &[&str] =
    &["uv.lock", "poetry.lock", "Pipfile.lock", "requirements*.txt", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"];

/// The usual directories of Python's virtual environments, relative to the project.
pub(crate) const VIRTUAL_ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// The file with code that pytest runs in addition to the tests. The code can change their results.
const CONFTEST: &str = "conftest.py";
/// This section in a package's entry points marks a plugin that pytest loads automatically.
const PYTEST_PLUGIN: &[u8] = b"[pytest11]";

/// The device, inode, size and times of a program file when it was read. A file whose stamp is still the same is not
/// read again; its known digest is used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileStamp(pub(crate) String);

/// A program that the plan starts, or the interpreter of such a program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramFile {
    /// The path with all links resolved.
    pub(crate) real_path: PathBuf,
    /// The file's stamp when it was read.
    pub(crate) stamp: FileStamp,
}

/// The known digests of program files, by path and stamp.
pub(crate) type KnownDigests = BTreeMap<ProgramFile, Digest>;

/// The installed packages, tools and configuration that a run's checks use, as a look at them found them.
#[derive(Debug, Clone)]
pub struct SurveyedEnvironment {
    pub digest: Digest,
    /// The parts from which the digest is computed, for the report.
    pub components: Vec<EnvironmentComponentV2>,
    /// The configuration files of the tree, by path.
    pub configuration: BTreeMap<String, Digest>,
    /// The digests of the program files that this survey hashed because they were not known, to be remembered for later
    /// runs.
    pub(crate) learnt: KnownDigests,
    /// Whether the digest covers the whole environment.
    pub certainty: DigestCertainty,
    /// The deciding files in the project that changed since a run began whose process died.
    pub changed_in_died_run: Vec<TreePath>,
    /// The state of the environments at this reading, to be compared with a later reading; `None` if the reading
    /// failed.
    pub looked: Option<LookedEnvironments>,
}

/// The state of the environments (directories of installed programs, such as `.venv`) at one reading: the files that
/// decide what their programs do, with digests.
#[derive(Debug, Clone)]
pub struct LookedEnvironments {
    pub search: EnvironmentSearch,
    pub(crate) files: DecidingFiles,
    /// The digests of the read files. The next reading uses them for files that have not changed.
    pub(crate) known: Arc<KnownFiles>,
    /// All files of the environments; `None` if only the deciding ones were read.
    every: Option<EveryFile>,
}

/// Whether a digest covers the whole environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestCertainty {
    Known,
    /// A part could not be read, so another environment may have the same digest.
    PartlyUnknown,
}

/// What is needed to read the programs and environments (directories such as `.venv`) that a plan uses.
pub(crate) struct SurveySubject {
    pub(crate) seen: SeenByChecks,
    /// The digests of program files that earlier runs computed.
    pub(crate) programs: KnownDigests,
    /// The source of the digests of environments' files that earlier runs computed.
    pub(crate) files: KnownFilesSource,
    pub(crate) scope: SurveyScope,
}

/// The reading of a run's programs and environments (directories such as `.venv`). It is done in the background while
/// the actions run, because hashing an interpreter must not delay a verdict.
pub struct EnvironmentSurvey {
    found: BackgroundJob<Found>,
}

struct Found {
    programs: BTreeMap<ProgramFile, Option<Digest>>,
    learnt: KnownDigests,
    environments: LookedEnvironments,
    changed_in_died_run: Vec<TreePath>,
    /// The plugins that pytest loads automatically, by package.
    plugins: BTreeMap<String, Option<Digest>>,
}

impl EnvironmentSurvey {
    /// Begins to read, in the background, the plan's programs and the files that decide what the environments' programs
    /// do.
    pub(crate) fn begin(background: &BackgroundThread, subject: SurveySubject) -> Self {
        Self { found: background.begin(move || survey(&subject)) }
    }

    /// Waits for the background reading and adds the tree's configuration files. If the reading failed, the environment
    /// counts as partly unknown, and so as different from the environment of every other run.
    pub fn finish(self, files: impl Iterator<Item = (String, Digest)>) -> SurveyedEnvironment {
        let (configuration, locks) = pinned_files(files);
        let conftests = configuration.iter().filter(|(path, _)| path.rsplit('/').next() == Some(CONFTEST));
        let conftests: BTreeMap<String, Digest> = conftests.map(|(path, digest)| (path.clone(), *digest)).collect();
        let found = self.found.wait();
        let certainty = match &found {
            Some(found) if found.programs.values().all(Option::is_some) && found.environments.is_known() => {
                DigestCertainty::Known
            }
            Some(_) | None => DigestCertainty::PartlyUnknown,
        };
        let (programs, learnt, plugins, looked, changed_in_died_run) = match found {
            Some(found) => (found.programs, found.learnt, found.plugins, Some(found.environments), found.changed_in_died_run),
            None => (BTreeMap::new(), KnownDigests::new(), BTreeMap::new(), None, Vec::new()),
        };
        let programs: BTreeMap<_, _> = programs.into_iter().map(|(file, digest)| (file.real_path, digest)).collect();
        let environments = looked.as_ref().map(|looked| looked.files.digests()).unwrap_or_default();
        let digest =
            EnvironmentIdentity { programs: &programs, locks: &locks, environments: &environments, conftests: &conftests }
                .digest();
        let every = looked.as_ref().and_then(|looked| looked.every.as_ref()).map(EveryFile::digests).unwrap_or_default();
        let digest = every.iter().fold(digest, |digest, (name, of_files)| {
            let writer = IdentityWriter::new("proctor-environment-with-every-file-v1").part("environment", digest.as_bytes());
            writer.part("name", name.as_bytes()).part("files", of_files.as_bytes()).digest()
        });
        let of_every = every.iter().map(|(name, digest)| (format!("{}{EVERY_FILE}", name.to_string_lossy()), Some(*digest)));
        let of_programs = programs.iter().map(|(path, digest)| (path.display().to_string(), *digest));
        let of_tree = locks.iter().chain(&conftests).map(|(path, digest)| (path.clone(), Some(*digest)));
        let of_environments = environments.iter().map(|(name, digest)| (name.to_string_lossy().into_owned(), Some(*digest)));
        let of_plugins = plugins.iter().map(|(name, digest)| (format!("pytest plugin {name}"), *digest));
        let parts = of_programs.chain(of_tree).chain(of_environments).chain(of_plugins).chain(of_every);
        let known = parts.filter_map(|(name, digest)| Some(EnvironmentComponentV2 { name, sha256: digest? }));
        SurveyedEnvironment { digest, components: known.collect(), configuration, learnt, certainty, changed_in_died_run, looked }
    }
}

impl LookedEnvironments {
    /// Reads the environments of a project for the first time, without those of programs and of the user's home directory.
    pub fn of_project(index: TreeIndex) -> Self {
        Self::look(EnvironmentSearch::new(index, None, &[], None), Arc::default(), |_| None)
    }

    fn look(
        search: EnvironmentSearch,
        known: Arc<KnownFiles>,
        look_at_every_file: impl FnOnce(&EnvironmentSearch) -> Option<EveryFile>,
    ) -> Self {
        let mut survey = FileSurvey::new(known, clock::now());
        let files = DecidingFiles::look(&search, &mut survey);
        let every = look_at_every_file(&search);
        Self { search, files, known: survey.finish(), every }
    }

    /// Returns whether all files of the environments were read, or only the deciding ones.
    pub fn extent(&self) -> SurveyExtent {
        if self.every.is_some() { SurveyExtent::EveryFile } else { SurveyExtent::DecidingFiles }
    }

    fn is_known(&self) -> bool {
        self.files.is_known() && self.every.as_ref().is_none_or(EveryFile::is_known)
    }

    /// Returns the files that changed since an earlier reading, as far as they belong to environments inside of the project.
    pub fn changed_since(&self, earlier: &Self) -> Vec<TreePath> {
        let mut changed = self.files.changed_since(&earlier.files);
        if let (Some(now), Some(before)) = (&self.every, &earlier.every) {
            changed.extend(now.changed_since(before));
            changed.sort();
            changed.dedup();
        }
        changed
    }

    /// Reads the same environments again, to find changes since the last reading. Files that have not changed are not
    /// read.
    pub fn look_again(&self) -> Self {
        let every = |search: &EnvironmentSearch| self.every.as_ref().map(|every| every.look_again(search));
        Self::look(self.search.clone(), Arc::clone(&self.known), every)
    }

    /// Returns how many deciding files the environments of the project have.
    pub fn count(&self) -> usize {
        self.files.environments.values().map(BTreeMap::len).sum()
    }
}

fn survey(subject: &SurveySubject) -> Found {
    let used = used_programs(&subject.seen.plan, subject.seen.index.root(), &subject.seen.path_variable);
    let paths: Vec<PathBuf> = used.iter().cloned().flat_map(UsedProgram::paths).collect();
    let search =
        EnvironmentSearch::new(subject.seen.index.clone(), subject.seen.shown.as_deref(), &paths, subject.seen.home.clone());
    // The environments are read before the programs are hashed, because checks may already change the environments, and
    // hashing a program can take a while.
    let environments = LookedEnvironments::look(search, subject.files.load(), |search| match subject.scope.extent {
        SurveyExtent::DecidingFiles => None,
        SurveyExtent::EveryFile => Some(EveryFile::look(search)),
    });
    let changed_in_died_run = match (&subject.seen.shown, subject.scope.earlier) {
        (None, EarlierLook::Compare) => environments.known.changed_since(&subject.files.load_saved(), subject.seen.index.root()),
        (None, EarlierLook::Replace) => {
            subject.files.save(&environments.known);
            Vec::new()
        }
        (None, EarlierLook::Leave) | (Some(_), _) => Vec::new(),
    };
    let LookedEnvironments { search, files, .. } = &environments;
    let of_pytest = used.iter().filter(|used| used.loads_pytest_plugins);
    let plugins = of_pytest
        .filter_map(|used| files.pytest_plugins.get(&search.name_for_program(&used.path)?))
        .flat_map(|plugins| plugins.iter().map(|(package, digest)| (package.clone(), *digest)))
        .collect();
    let mut learnt = KnownDigests::new();
    let mut programs = BTreeMap::new();
    for file in paths.iter().filter_map(|path| program_file(path)) {
        let known = subject.programs.get(&file).or_else(|| learnt.get(&file)).copied();
        let digest = known.or_else(|| {
            let digest = file_digest(&file.real_path).ok()?;
            learnt.insert(file.clone(), digest);
            Some(digest)
        });
        programs.insert(file, digest);
    }
    Found { programs, learnt, environments, changed_in_died_run, plugins }
}

/// A program that the plan starts.
#[derive(Clone)]
struct UsedProgram {
    /// The program's absolute path; links in it are not resolved.
    path: PathBuf,
    /// The absolute path of the interpreter, if the program is a script.
    interpreter: Option<PathBuf>,
    loads_pytest_plugins: bool,
}

impl UsedProgram {
    fn paths(self) -> impl Iterator<Item = PathBuf> {
        std::iter::once(self.path).chain(self.interpreter)
    }
}

/// Returns the absolute paths of the programs that a plan starts, and of their interpreters. Links in them are not resolved.
pub(crate) fn paths_of_programs(plan: &Plan, root: &Path, path_variable: &OsStr) -> Vec<PathBuf> {
    used_programs(plan, root, path_variable).into_iter().flat_map(UsedProgram::paths).collect()
}

/// Returns every program that the plan starts. A missing program is left out, because the action that needs the program
/// reports that it is missing.
fn used_programs(plan: &Plan, root: &Path, path_variable: &OsStr) -> Vec<UsedProgram> {
    let program = |action: &Action| {
        let directory = root.join(&action.directory);
        let path = resolve_program(action.command.argv.first()?, &directory, path_variable).ok()?;
        let interpreter =
            interpreter_of(&path).and_then(|interpreter| resolve_program(&interpreter, &directory, path_variable).ok());
        Some(UsedProgram { path, interpreter, loads_pytest_plugins: action.tool.loads_plugins() })
    };
    plan.actions().filter(|action| action.starts_program_of_this_machine()).filter_map(program).collect()
}

/// Computes the digest of a program file.
pub(crate) fn file_digest(path: &Path) -> io::Result<Digest> {
    let mut file = open_regular_file(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 256 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest::from_hasher(hasher)),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Returns patterns for the names of configuration files; `*` matches any characters.
fn configuration_patterns() -> impl Iterator<Item = &'static str> {
    let of_tools = Tool::ALL.into_iter().flat_map(|tool| tool.configuration().iter().copied());
    CONFIGURATION.iter().chain(NPM_SETTINGS_FILES).copied().chain(of_tools)
}

/// Returns whether a file of this name pins package versions or configures tools.
pub fn is_pinned(name: &[u8]) -> bool {
    let is_lock = |name: &str| LOCKS.iter().any(|pattern| matches_name(pattern, name));
    configures_tools(name) || is_lock(&String::from_utf8_lossy(name))
}

/// Returns whether a file of this name configures tools, or is loaded by its name before any test.
pub fn configures_tools(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    configuration_patterns().any(|pattern| matches_name(pattern, &name))
}

/// Returns the files of a tree that pin package versions or configure tools, with their digests.
pub fn pinned(index: &TreeIndex) -> impl Iterator<Item = (String, Digest)> {
    index
        .named(NameSearch { topic: NameTopic::Pinned, is_wanted: is_pinned })
        .into_iter()
        .map(|(path, digest)| (path.to_string(), digest))
}

/// Returns whether a tree has a file that pins the versions of packages.
pub(crate) fn has_lock_file(index: &TreeIndex) -> bool {
    !pinned_files(pinned(index)).1.is_empty()
}

/// Returns two maps from path to digest: the files that configure tools, and the files that pin package versions.
fn pinned_files(files: impl Iterator<Item = (String, Digest)>) -> (BTreeMap<String, Digest>, BTreeMap<String, Digest>) {
    let mut configuration = BTreeMap::new();
    let mut locks = BTreeMap::new();
    for (path, digest) in files {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if configures_tools(name.as_bytes()) {
            configuration.insert(path.clone(), digest);
        }
        if LOCKS.iter().any(|pattern| matches_name(pattern, &name)) {
            locks.insert(path, digest);
        }
    }
    (configuration, locks)
}

/// The parts from which the digest of a run's environment is computed.
struct EnvironmentIdentity<'a> {
    programs: &'a BTreeMap<PathBuf, Option<Digest>>,
    locks: &'a BTreeMap<String, Digest>,
    environments: &'a BTreeMap<&'a OsStr, Digest>,
    conftests: &'a BTreeMap<String, Digest>,
}

impl EnvironmentIdentity<'_> {
    /// Returns the digest of the whole environment. If two runs have equal digests, the environment is not the reason
    /// why their verdicts differ.
    fn digest(&self) -> Digest {
        let writer = IdentityWriter::new("proctor-environment-v3");
        let writer = self.programs.iter().fold(writer, |writer, (path, digest)| {
            let digest = digest.as_ref().map_or(&b"unknown"[..], |digest| digest.as_bytes());
            writer.part("program", path.as_os_str().as_bytes()).part("content", digest)
        });
        let writer = self
            .locks
            .iter()
            .fold(writer, |writer, (path, digest)| writer.part("lock", path.as_bytes()).part("content", digest.as_bytes()));
        let writer = self
            .environments
            .iter()
            .fold(writer, |writer, (name, digest)| writer.part("environment", name.as_bytes()).part("files", digest.as_bytes()));
        let writer = self
            .conftests
            .iter()
            .fold(writer, |writer, (path, digest)| writer.part("conftest", path.as_bytes()).part("content", digest.as_bytes()));
        writer.digest()
    }
}

/// Returns whether a package's entry points name a plugin that pytest loads automatically.
fn is_pytest_plugin(entry_points: &[u8]) -> bool {
    entry_points.windows(PYTEST_PLUGIN.len()).any(|window| window == PYTEST_PLUGIN)
}

/// Returns the differences between the configuration files of two runs.
pub fn changed_between(before: &BTreeMap<String, Digest>, now: &BTreeMap<String, Digest>) -> Vec<ConfigurationChangeV2> {
    if before.is_empty() {
        // The first run has no earlier state to compare with.
        return Vec::new();
    }
    let paths: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let changes = paths.into_iter().filter_map(|path| {
        let change = match (before.get(path), now.get(path)) {
            (None, Some(_)) => FileChangeKind::Added,
            (Some(_), None) => FileChangeKind::Removed,
            (Some(old), Some(new)) if old != new => FileChangeKind::Modified,
            (Some(_), Some(_)) | (None, None) => return None,
        };
        Some(ConfigurationChangeV2 { path: path.clone(), change })
    });
    changes.collect()
}

pub(crate) fn program_file(path: &Path) -> Option<ProgramFile> {
    let real_path = std::fs::canonicalize(path).ok()?;
    let metadata = std::fs::metadata(&real_path).ok()?;
    let stamp = FileStamp(format!(
        "{}:{}:{}:{}.{:09}:{}.{:09}",
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec()
    ));
    Some(ProgramFile { real_path, stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_and_lock_files_are_found_at_any_depth_by_name() {
        let digest = Digest::of(b"x");
        let paths = ["web/tsconfig.build.json", "tests/conftest.py", "requirements-dev.txt", "src/a.py", "tsconfig.txt"];
        let (configuration, locks) = pinned_files(paths.iter().map(|path| (path.to_string(), digest)));
        assert_eq!(configuration.keys().collect::<Vec<_>>(), ["tests/conftest.py", "web/tsconfig.build.json"]);
        assert_eq!(locks.keys().collect::<Vec<_>>(), ["requirements-dev.txt"]);
    }

    #[test]
    fn an_added_a_changed_and_a_vanished_file_are_all_changes() {
        let digests = |pairs: &[(&str, &str)]| -> BTreeMap<String, Digest> {
            pairs.iter().map(|(name, text)| (name.to_string(), Digest::of(text.as_bytes()))).collect()
        };
        let before = digests(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = digests(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let changes: Vec<_> = changed_between(&before, &now).into_iter().map(|change| (change.path, change.change)).collect();
        let expected = [
            ("b".to_owned(), FileChangeKind::Modified),
            ("c".to_owned(), FileChangeKind::Removed),
            ("d".to_owned(), FileChangeKind::Added),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn another_byte_in_a_tool_is_another_environment() {
        let digest = |program: &[u8], conftest: &[u8], files: &[u8]| {
            EnvironmentIdentity {
                programs: &[(PathBuf::from("/usr/bin/python"), Some(Digest::of(program)))].into(),
                locks: &BTreeMap::new(),
                environments: &[(OsStr::new(".venv"), Digest::of(files))].into(),
                conftests: &[("tests/conftest.py".to_owned(), Digest::of(conftest))].into(),
            }
            .digest()
        };
        let one = digest(b"1", b"a", b"x");
        assert_eq!(one, digest(b"1", b"a", b"x"));
        assert_ne!(one, digest(b"2", b"a", b"x"));
        assert_ne!(one, digest(b"1", b"b", b"x"));
        assert_ne!(one, digest(b"1", b"a", b"y"));
    }
}
