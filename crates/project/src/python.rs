//! Python interpreters of a project's checks, and the compiled modules that are kept for them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::environment_digest::{VIRTUAL_ENVIRONMENTS, program_file};
use proctor_evidence::{Store, read_boot_id, read_regular_text};
use proctor_model::{Digest, ProjectId};
use proctor_sandbox::process::resolve_program;
use proctor_sandbox::snapshot::{BytecodeLayer, PythonModule};
use proctor_sandbox::{interpreter_of, search_path};
use proctor_tree::TreeIndex;

/// Programs that start a tool by the interpreter of the project's virtual environment.
const RUNNERS: &[&str] = &["uv", "poetry", "pdm", "hatch", "pipenv", "rye"];

/// A Python interpreter, identified by the real path and the state of its file, or a pytest that runs on one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonInterpreter {
    pub program: PathBuf,
    /// Two interpreters have different keys, and a change of an interpreter's file changes its key.
    pub(crate) key: String,
    /// The path by which the interpreter is started, such as `.venv/bin/python`. Links are not resolved.
    pub(crate) started_as: PathBuf,
    /// The directory of packages that has pytest, if the compiled modules are pytest's; `None` if they are the
    /// interpreter's own.
    pub pytest: Option<PathBuf>,
}

/// The modules that checks of the last run compiled, and that are worth keeping compiled.
#[derive(Debug, Clone)]
pub struct ModulesToCompile {
    pub project: ProjectId,
    pub root: PathBuf,
    /// The tree that the run tested, and the directory of its copy.
    pub tree: (TreeIndex, PathBuf),
    pub modules: BTreeMap<PythonInterpreter, BTreeSet<PythonModule>>,
}

/// The kept compiled modules of the projects that this process runs, and the modules that are to be compiled.
#[derive(Debug, Default)]
pub struct KeptBytecode {
    layers: BTreeMap<(ProjectId, String), BytecodeLayer>,
    pub to_compile: Option<ModulesToCompile>,
}

impl KeptBytecode {
    /// Returns the layer of compiled modules for an interpreter. The caller must hold the project's lock.
    pub fn layer(&mut self, store: &Store, project: &ProjectId, interpreter: &PythonInterpreter) -> &mut BytecodeLayer {
        let key = (project.clone(), interpreter.key.clone());
        let open = || BytecodeLayer::open(&store.snapshot_directory(project), &interpreter.key, &read_boot_id());
        self.layers.entry(key).or_insert_with(open)
    }
}

impl PythonInterpreter {
    /// Returns the interpreter by which a program runs; `None` if the program is not known to run Python. `program`
    /// is absolute and may be the interpreter, a script, or a runner such as `uv`. `root` is the project's root
    /// directory, and `environment` holds the variables that the program gets.
    pub fn of(program: &Path, root: &Path, directory: &Path, environment: &BTreeMap<OsString, OsString>) -> Option<Self> {
        let chosen =
            |path: &Path| Self::from_file(path).or_else(|| Self::from_file(&chosen_by_pyenv(path, directory, environment)?));
        if let Some(own) = chosen(program) {
            return Some(own);
        }
        let named = interpreter_of(program);
        let named = named.and_then(|named| resolve_program(&named, directory, &search_path(environment)).ok());
        if let Some(of_script) = named.and_then(|path| chosen(&path)) {
            return Some(of_script);
        }
        // A script of an environment with a long path names `/bin/sh`, which then starts the interpreter.
        let beside = program.parent().filter(|programs| programs.with_file_name("pyvenv.cfg").is_file());
        if let Some(of_environment) = beside.and_then(|programs| Self::from_file(&programs.join("python"))) {
            return Some(of_environment);
        }
        let is_runner = program.file_name().is_some_and(|name| RUNNERS.iter().any(|runner| name == *runner));
        let environments = VIRTUAL_ENVIRONMENTS.iter().filter(|_| is_runner);
        environments.filter_map(|environment| Self::from_file(&root.join(environment).join("bin/python"))).next()
    }

    /// Returns the interpreter at a path; `None` if there is no file, or if the file is a script or does not have the
    /// name of an interpreter.
    pub(crate) fn from_file(path: &Path) -> Option<Self> {
        let file = program_file(path)?;
        if !is_python(file.real_path.file_name()?) || interpreter_of(&file.real_path).is_some() {
            return None;
        }
        let identity = [file.real_path.as_os_str().as_bytes(), b"\0", file.stamp.0.as_bytes()].concat();
        let key = key_of(&identity);
        Some(Self { program: file.real_path, key, started_as: path.to_owned(), pytest: None })
    }
}

impl PythonInterpreter {
    /// Returns the pytest that this interpreter runs; `None` if none is installed in its virtual environment, or beside it
    /// if it is in none. `rewriter` is the file of pytest that rewrites tests, below a directory of packages, and
    /// `code` has the packages that it imports. `state` is the
    /// state of everything else that decides how it rewrites them. `stamp` returns the state of an environment's packages.
    pub fn with_pytest(
        &self,
        rewriter: &str,
        code: &[&str],
        state: &Digest,
        stamp: impl Fn(&[PathBuf]) -> Digest,
    ) -> Option<Self> {
        let around = |program: &Path| program.parent()?.parent().map(Path::to_owned);
        let environment = around(&self.started_as).filter(|environment| environment.join("pyvenv.cfg").is_file());
        let environment = environment.or_else(|| around(&self.program))?;
        let packages = site_packages(&environment).into_iter().find(|packages| packages.join(rewriter).is_file())?;
        let stamp = stamp(&[environment]).hex();
        let code = stamp_code(&packages, code);
        let identity = [self.key.as_bytes(), state.hex().as_bytes(), stamp.as_bytes(), code.hex().as_bytes()].join(&0);
        Some(Self { key: key_of(&identity), pytest: Some(packages), ..self.clone() })
    }
}

/// Returns the state of every file of the packages that rewrite tests. A file that was changed and put back has another
/// state (its time of change), so nothing that it made in between is used.
fn stamp_code(packages: &Path, code: &[&str]) -> Digest {
    let mut waiting: Vec<PathBuf> = code.iter().map(|name| packages.join(name)).collect();
    let mut stamps = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                waiting.push(entry.path());
            } else {
                let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
                let name = entry.path().into_os_string().into_encoded_bytes();
                stamps.push((name, metadata.ino(), metadata.len(), times));
            }
        }
    }
    stamps.sort();
    let mut bytes = Vec::new();
    for (name, inode, length, times) in stamps {
        bytes.extend_from_slice(&name);
        bytes.push(0);
        bytes.extend([inode, length].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(times.iter().flat_map(|number| number.to_le_bytes()));
    }
    Digest::of(&bytes)
}

/// Returns the directories of a Python environment that hold its packages.
pub fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let versions = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("site-packages")).collect();
    found.sort();
    found
}

fn key_of(identity: &[u8]) -> String {
    Digest::of(identity).hex()[..32].to_owned()
}

/// The size limit, in bytes, of a file that names a Python version, such as `.python-version`. A larger file is not
/// read.
const LONGEST_VERSION: u64 = 64 * 1024;

/// Returns the program that pyenv's script at `shim` starts in a directory; `None` if the script is not pyenv's, or if
/// nothing chooses a version. A version that is written as a prefix, such as `3.13`, is not resolved.
fn chosen_by_pyenv(shim: &Path, directory: &Path, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let pyenv = shim.parent().filter(|shims| shims.ends_with("shims"))?.parent()?;
    let read = |path: PathBuf| read_regular_text(&path, LONGEST_VERSION).ok();
    let by_variable = environment.get(OsStr::new("PYENV_VERSION")).and_then(|value| value.to_str().map(str::to_owned));
    let by_directory = || directory.ancestors().find_map(|directory| read(directory.join(".python-version")));
    let text = by_variable.or_else(by_directory).or_else(|| read(pyenv.join("version")))?;
    let version = text.split([':', '\n', ' ']).find(|word| !word.is_empty() && !word.contains('/'))?;
    Some(pyenv.join("versions").join(version).join("bin").join(shim.file_name()?))
}

/// Returns whether a name is that of an interpreter, such as `python3.13t` or `pypy3.10`.
fn is_python(name: &OsStr) -> bool {
    let rest = name.as_bytes().strip_prefix(b"python").or_else(|| name.as_bytes().strip_prefix(b"pypy"));
    rest.is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || b".dt".contains(byte)))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the programs that are looked at")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_interpreter_is_found_behind_links_scripts_and_runners() {
        let root = tempfile::tempdir().expect("a directory");
        let at = |name: &str| root.path().join(name);
        for directory in ["real", "project/.venv/bin", "bin"] {
            fs::create_dir_all(at(directory)).expect("a directory");
        }
        fs::write(at("real/python3.99"), "\x7fELF").expect("a file");
        symlink(at("real/python3.99"), at("project/.venv/bin/python")).expect("a link");
        fs::write(at("project/.venv/pyvenv.cfg"), "").expect("a file");
        let python = at("project/.venv/bin/python");
        fs::write(at("project/.venv/bin/pytest"), format!("#!{}\n", python.display())).expect("a file");
        fs::write(at("project/.venv/bin/long"), "#!/bin/sh\n").expect("a file");
        fs::write(at("bin/uv"), "\x7fELF").expect("a file");
        fs::write(at("bin/python3"), "#!/bin/sh\n").expect("a file");
        let environment = BTreeMap::from([("PATH".into(), at("pyenv/shims").into())]);
        let found = |name: &str| {
            PythonInterpreter::of(&at(name), &at("project"), &at("project"), &environment).map(|found| found.program)
        };
        let real = Some(at("real/python3.99").canonicalize().expect("a file"));
        for name in ["project/.venv/bin/python", "project/.venv/bin/pytest", "project/.venv/bin/long", "bin/uv"] {
            assert_eq!(found(name), real, "{name}");
        }
        // A script that is called `python` and is not pyenv's may choose any interpreter.
        assert_eq!(found("bin/python3"), None);
        // pyenv's script starts the version of the project, or else the version of the user.
        for directory in ["pyenv/shims", "pyenv/versions/3.98.1/bin", "pyenv/versions/3.99.1/bin"] {
            fs::create_dir_all(at(directory)).expect("a directory");
        }
        fs::write(at("pyenv/shims/python3"), "#!/usr/bin/env bash\n").expect("a file");
        for version in ["3.98.1", "3.99.1"] {
            fs::write(at(&format!("pyenv/versions/{version}/bin/python3")), "\x7fELF").expect("a file");
        }
        fs::write(at("pyenv/version"), "3.98.1\n").expect("a file");
        let of_version = |version: &str| at(&format!("pyenv/versions/{version}/bin/python3")).canonicalize().ok();
        assert_eq!(found("pyenv/shims/python3"), of_version("3.98.1"));
        fs::write(at("project/.python-version"), "3.99.1\n").expect("a file");
        assert_eq!(found("pyenv/shims/python3"), of_version("3.99.1"));
        assert_eq!(found("bin/none"), None);
    }

    #[test]
    fn a_changed_interpreter_has_another_key() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("python3");
        let key = || PythonInterpreter::from_file(&path).expect("an interpreter").key;
        fs::write(&path, "\x7fELF 1").expect("a file");
        let before = key();
        assert_eq!(key(), before);
        fs::write(&path, "\x7fELF changed").expect("a file");
        assert_ne!(key(), before);
    }

    #[test]
    fn only_interpreters_are_named_like_one() {
        let are: Vec<bool> = ["python", "python3.13t", "pypy3.10", "python-config", "pythonw.sh", "node", "pytest"]
            .map(|name| is_python(OsStr::new(name)))
            .into();
        assert_eq!(are, [true, true, true, false, false, false, false]);
    }
}
