//! What a verdict depends on in addition to the tree: the real paths and bytes of tools, the installed packages, and
//! changed configuration files (E15). This module reads files and runs no program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::evidence::{BackgroundJob, BackgroundThread};
use crate::model::{Digest, FileChangeKind, Plan, Tool};
use crate::process::resolve_program;
use crate::report::{ConfigurationChangeV2, EnvironmentComponentV2};
use crate::sandbox::interpreter_of;
use crate::tree::TreeIndex;

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
const VIRTUAL_ENVIRONMENTS: &[&str] = &[".venv", "venv"];
const NODE_RECORD: &str = "node_modules/.package-lock.json";

/// The file with code that pytest runs in addition to the tests. The code can change their results.
const CONFTEST: &str = "conftest.py";
/// This section in a package's entry points marks a plugin that pytest loads automatically.
const PYTEST_PLUGIN: &[u8] = b"[pytest11]";

/// How many bytes of an installed package's record are read at most.
const RECORD_CAP: u64 = 16 * 1024 * 1024;

/// The device, inode, size and times of a program file when it was read. A file with an unchanged stamp counts as
/// unchanged.
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

/// The environment of a run.
#[derive(Debug, Clone)]
pub(crate) struct SurveyedEnvironment {
    /// The digest of the whole environment.
    pub(crate) digest: Digest,
    /// The parts of the digest that are known, for the report.
    pub(crate) components: Vec<EnvironmentComponentV2>,
    /// The configuration files of the tree, by path.
    pub(crate) configuration: BTreeMap<String, Digest>,
    /// The digests of program files that were hashed for the first time.
    pub(crate) learnt: KnownDigests,
    /// Whether the digest covers the whole environment.
    pub(crate) certainty: DigestCertainty,
}

/// Whether a digest covers the whole environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DigestCertainty {
    Known,
    /// A part could not be read, so another environment may have the same digest.
    PartlyUnknown,
}

/// A survey that runs in the background while the actions run, because hashing an interpreter must not delay a verdict.
pub(crate) struct EnvironmentSurvey {
    found: BackgroundJob<Found>,
}

/// Code that runs inside pytest in addition to the tests.
struct Inside {
    conftests: BTreeMap<String, Digest>,
    plugins: BTreeMap<String, Option<Digest>>,
}

struct Found {
    programs: BTreeMap<ProgramFile, Option<Digest>>,
    learnt: KnownDigests,
    installed: BTreeMap<String, Option<Digest>>,
    /// The plugins that pytest loads automatically, by package.
    plugins: BTreeMap<String, Option<Digest>>,
}

impl EnvironmentSurvey {
    /// Begins to read the plan's programs and the installed packages.
    pub(crate) fn begin(
        background: &BackgroundThread,
        known: KnownDigests,
        plan: &Plan,
        root: &Path,
        path_variable: &OsStr,
    ) -> Self {
        let (plan, root, path_variable) = (plan.clone(), root.to_owned(), path_variable.to_owned());
        let found = background.begin(move || {
            let mut learnt = KnownDigests::new();
            let mut found = BTreeMap::new();
            for file in programs(&plan, &root, &path_variable) {
                let digest = known.get(&file).copied().or_else(|| {
                    let digest = file_digest(&file.real_path)?;
                    learnt.insert(file.clone(), digest);
                    Some(digest)
                });
                found.insert(file, digest);
            }
            let plugins = pytest_plugins(&plan, &root, &path_variable);
            Found { programs: found, learnt, installed: installed_packages(&root), plugins }
        });
        Self { found }
    }

    /// Waits for the survey and adds the tree's configuration files. If the survey failed, the digest is marked as
    /// partly unknown, so that it is not mistaken for the digest of the same environment.
    pub(crate) fn finish(self, files: impl Iterator<Item = (String, Digest)>) -> SurveyedEnvironment {
        let found = self.found.wait().unwrap_or_else(|| Found {
            programs: BTreeMap::new(),
            learnt: KnownDigests::new(),
            installed: BTreeMap::from([("survey failed".to_owned(), None)]),
            plugins: BTreeMap::new(),
        });
        let (configuration, locks) = pinned_files(files);
        let programs: BTreeMap<_, _> = found.programs.into_iter().map(|(file, digest)| (file.real_path, digest)).collect();
        let conftests = configuration.iter().filter(|(path, _)| path.rsplit('/').next() == Some(CONFTEST));
        let conftests: BTreeMap<String, Digest> = conftests.map(|(path, digest)| (path.clone(), *digest)).collect();
        let inside = Inside { conftests, plugins: found.plugins };
        let digest = environment_digest(&programs, &locks, &found.installed, &inside);
        let is_known = programs.values().chain(found.installed.values()).all(Option::is_some);
        let certainty = if is_known { DigestCertainty::Known } else { DigestCertainty::PartlyUnknown };
        let of_programs = programs.iter().map(|(path, digest)| (path.display().to_string(), *digest));
        let of_locks = locks.iter().chain(&inside.conftests).map(|(path, digest)| (path.clone(), Some(*digest)));
        let of_plugins = inside.plugins.iter().map(|(name, digest)| (format!("pytest plugin {name}"), *digest));
        let known = of_programs.chain(of_locks).chain(of_plugins).filter_map(|(name, digest)| Some((name, digest?)));
        let components = known.map(|(name, sha256)| EnvironmentComponentV2 { name, sha256 }).collect();
        SurveyedEnvironment { digest, components, configuration, learnt: found.learnt, certainty }
    }
}

/// Returns every program that the plan starts, and the interpreters of scripts. A missing program is left out: the
/// action that needs it reports that.
fn programs(plan: &Plan, root: &Path, path_variable: &OsStr) -> BTreeSet<ProgramFile> {
    let mut found = BTreeSet::new();
    for action in plan.actions() {
        let Some(program) = action.command.argv.first() else { continue };
        let directory = root.join(&action.directory);
        let Ok(path) = resolve_program(program, &directory, path_variable) else { continue };
        let Some(file) = program_file(&path) else { continue };
        let interpreter = interpreter_of(&file.real_path)
            .and_then(|interpreter| resolve_program(&interpreter, &directory, path_variable).ok())
            .and_then(|path| program_file(&path));
        found.insert(file);
        found.extend(interpreter);
    }
    found
}

/// Computes the digest of a program file; `None` if it cannot be read.
pub(crate) fn file_digest(path: &Path) -> Option<Digest> {
    let mut file = File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0_u8; 256 * 1024];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(Digest::from_hasher(hasher)),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Returns patterns for the names of configuration files; `*` matches any characters.
fn configuration_patterns() -> impl Iterator<Item = &'static str> {
    let of_tools = Tool::ALL.into_iter().flat_map(|tool| tool.configuration().iter().copied());
    CONFIGURATION.iter().copied().chain(of_tools)
}

/// Returns whether a file of this name pins package versions or configures tools.
pub(crate) fn is_pinned(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    configuration_patterns().chain(LOCKS.iter().copied()).any(|pattern| matches_name(pattern, &name))
}

/// Returns the files of a tree that pin package versions or configure tools, with their digests.
pub(crate) fn pinned(index: &TreeIndex) -> impl Iterator<Item = (String, Digest)> {
    index.named(&is_pinned).into_iter().map(|(path, digest)| (path.to_string(), digest))
}

/// Returns two maps from path to digest: the files that configure tools, and the files that pin package versions.
fn pinned_files(files: impl Iterator<Item = (String, Digest)>) -> (BTreeMap<String, Digest>, BTreeMap<String, Digest>) {
    let mut configuration = BTreeMap::new();
    let mut locks = BTreeMap::new();
    for (path, digest) in files {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if configuration_patterns().any(|pattern| matches_name(pattern, &name)) {
            configuration.insert(path.clone(), digest);
        }
        if LOCKS.iter().any(|pattern| matches_name(pattern, &name)) {
            locks.insert(path, digest);
        }
    }
    (configuration, locks)
}

/// Returns the packages in the project's own environments, with the digests of their records.
fn installed_packages(root: &Path) -> BTreeMap<String, Option<Digest>> {
    let mut found = BTreeMap::new();
    for environment in VIRTUAL_ENVIRONMENTS {
        for library in subdirectories(&root.join(environment).join("lib")) {
            for package in subdirectories(&library.join("site-packages")) {
                let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if name.ends_with(".dist-info") || name.ends_with(".egg-info") {
                    found.insert(format!("{environment}/{name}"), capped_digest(&package.join("RECORD")));
                }
            }
        }
    }
    if let Some(digest) = capped_digest(&root.join(NODE_RECORD)) {
        found.insert(NODE_RECORD.to_owned(), Some(digest));
    }
    found
}

/// Returns the packages with pytest plugins in the virtual environments that the plan's pytest checks use.
fn pytest_plugins(plan: &Plan, root: &Path, path_variable: &OsStr) -> BTreeMap<String, Option<Digest>> {
    let mut found = BTreeMap::new();
    for action in plan.actions().filter(|action| action.tool.loads_plugins()) {
        let Some(program) = action.command.argv.first() else { continue };
        let Ok(path) = resolve_program(program, &root.join(&action.directory), path_variable) else { continue };
        // In a virtual environment the program is a link to a file outside. Only its unresolved path leads to the
        // environment's packages.
        let Some(environment) = path.parent().and_then(Path::parent).filter(|path| path.join("pyvenv.cfg").is_file()) else {
            continue;
        };
        for library in subdirectories(&environment.join("lib")) {
            for package in subdirectories(&library.join("site-packages")) {
                let entries = File::open(package.join("entry_points.txt")).ok().and_then(|file| {
                    let mut bytes = Vec::new();
                    file.take(RECORD_CAP).read_to_end(&mut bytes).ok().map(|_| bytes)
                });
                let is_plugin = |bytes: Vec<u8>| bytes.windows(PYTEST_PLUGIN.len()).any(|window| window == PYTEST_PLUGIN);
                if entries.is_some_and(is_plugin) {
                    let name = package.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    found.insert(name, capped_digest(&package.join("RECORD")));
                }
            }
        }
    }
    found
}

/// Returns the digest of the whole environment. If the digests of two runs are equal and fully known, the environment
/// is not the reason why their verdicts differ.
fn environment_digest(
    programs: &BTreeMap<PathBuf, Option<Digest>>,
    locks: &BTreeMap<String, Digest>,
    installed: &BTreeMap<String, Option<Digest>>,
    inside: &Inside,
) -> Digest {
    let unknown = "unknown".to_owned();
    let mut text = String::from("proctor-environment-v2\n");
    let mut line = |kind: &str, name: &str, digest: Option<String>| {
        text.push_str(&format!("{kind} {} {name}\n", digest.as_ref().unwrap_or(&unknown)));
    };
    for (path, digest) in programs {
        line("program", &path.to_string_lossy(), digest.map(|digest| digest.hex()));
    }
    for (path, digest) in locks {
        line("lock", path, Some(digest.hex()));
    }
    for (name, digest) in installed {
        line("package", name, digest.map(|digest| digest.hex()));
    }
    for (path, digest) in &inside.conftests {
        line("conftest", path, Some(digest.hex()));
    }
    for (name, digest) in &inside.plugins {
        line("plugin", name, digest.map(|digest| digest.hex()));
    }
    Digest::of(text.as_bytes())
}

/// Returns the differences between the configuration files of two runs.
pub(crate) fn changed_between(before: &BTreeMap<String, Digest>, now: &BTreeMap<String, Digest>) -> Vec<ConfigurationChangeV2> {
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

fn capped_digest(path: &Path) -> Option<Digest> {
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(RECORD_CAP).read_to_end(&mut bytes).ok()?;
    Some(Digest::of(&bytes))
}

fn subdirectories(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
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
        let programs = |text: &[u8]| [(PathBuf::from("/usr/bin/python"), Some(Digest::of(text)))].into();
        let empty = BTreeMap::new();
        let installed = BTreeMap::new();
        let inside = |text: &[u8]| Inside {
            conftests: [("tests/conftest.py".to_owned(), Digest::of(text))].into(),
            plugins: [("pytest_cov-7.1.0".to_owned(), None)].into(),
        };
        let one = environment_digest(&programs(b"1"), &empty, &installed, &inside(b"a"));
        assert_eq!(one, environment_digest(&programs(b"1"), &empty, &installed, &inside(b"a")));
        assert_ne!(one, environment_digest(&programs(b"2"), &empty, &installed, &inside(b"a")));
        assert_ne!(one, environment_digest(&programs(b"1"), &empty, &installed, &inside(b"b")));
    }
}
