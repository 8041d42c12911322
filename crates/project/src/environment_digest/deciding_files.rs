//! The files of an environment that decide what its programs do: interpreters, entry points, files that Python runs at
//! its start, and the records of installed packages.
//!
//! The files inside of the packages are not read, because there are too many of them. The records say which packages are
//! installed, so only a file that somebody edits by hand inside of a package stays unseen.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::known_files::{FileContent, FileSurvey};
use super::places::{EnvironmentParts, EnvironmentPlace, EnvironmentSearch};
use proctor_model::{Digest, IdentityWriter, TreePath};

/// Files at the top of an environment: the settings of a virtual environment and of Bundler, and what npm, Yarn and pnpm
/// record about the packages they installed.
const RECORDS: &[&str] =
    &["pyvenv.cfg", "config", ".package-lock.json", ".yarn-state.yml", ".yarn-integrity", ".modules.yaml", ".pnpm/lock.yaml"];

/// The directories of programs in an environment.
const PROGRAMS: &[&str] = &["bin", ".bin", "releases"];

/// The directories of Python's packages, below a directory for each version of Python.
const PYTHON_PACKAGES: &[&str] = &["site-packages", "dist-packages"];

/// Packages that Python imports at its start, in addition to single files of these names.
const RUN_AT_START: &[&str] = &["sitecustomize", "usercustomize"];

/// The record of an installed wheel, with the hashes of its files, and the file that is read instead where a
/// distributor removed the record.
const WHEEL: [&str; 2] = ["RECORD", "METADATA"];

/// The record of a package that is installed in another form than a wheel.
const EGG: [&str; 1] = ["PKG-INFO"];

/// Files that say which programs and plugins a package has, and where its source is.
const BESIDE_RECORD: &[&str] = &["entry_points.txt", "direct_url.json"];

/// The deciding files of all environments of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DecidingFiles {
    /// By the name of the environment, and then by the path inside of it: the digest of the file, or `None` if it cannot
    /// be read.
    pub(super) environments: BTreeMap<OsString, BTreeMap<PathBuf, Option<Digest>>>,
    /// By the name of the environment: the packages with plugins that pytest loads automatically.
    pub(super) pytest_plugins: BTreeMap<OsString, BTreeMap<String, Option<Digest>>>,
}

impl DecidingFiles {
    /// Looks at all environments. Unchanged files are not read.
    pub(super) fn look(search: &EnvironmentSearch, survey: &mut FileSurvey) -> Self {
        let mut all = Self::default();
        for (name, place) in search.find() {
            let mut look = EnvironmentLook { top: &place.path, survey, files: BTreeMap::new(), plugins: BTreeMap::new() };
            look.at(&place);
            let (files, plugins) = (look.files, look.plugins);
            if !files.is_empty() {
                all.environments.insert(name.clone(), files);
            }
            all.pytest_plugins.insert(name, plugins);
        }
        all
    }

    /// Returns the deciding files that appeared, vanished or have another content than `earlier`, as far as they belong to
    /// environments inside of the project.
    pub(crate) fn changed_since(&self, earlier: &Self) -> Vec<TreePath> {
        if self.environments == earlier.environments {
            return Vec::new();
        }
        let flat = |all: &Self| -> BTreeMap<PathBuf, Option<Digest>> {
            let files = |(name, files): (&OsString, &BTreeMap<PathBuf, Option<Digest>>)| {
                let paths = files.iter().map(|(path, digest)| (path_of(name, path), *digest));
                paths.collect::<Vec<_>>()
            };
            all.environments.iter().flat_map(files).collect()
        };
        let (before, now) = (flat(earlier), flat(self));
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        let other = now.iter().filter(|(path, digest)| before.get(*path) != Some(digest)).map(|(path, _)| path);
        let mut changed: Vec<TreePath> =
            gone.chain(other).filter_map(|path| TreePath::try_from(path.as_os_str().as_bytes()).ok()).collect();
        changed.sort();
        changed
    }

    /// Returns whether every deciding file could be read.
    pub(super) fn is_known(&self) -> bool {
        self.environments.values().flat_map(BTreeMap::values).all(Option::is_some)
    }

    /// Returns the digest of each environment, by its name.
    pub(super) fn digests(&self) -> BTreeMap<&OsStr, Digest> {
        let digest = |files: &BTreeMap<PathBuf, Option<Digest>>| {
            let writer = IdentityWriter::new("proctor-environment-files-v1");
            let add = |writer: IdentityWriter, (path, digest): (&PathBuf, &Option<Digest>)| {
                let digest = digest.as_ref().map_or(&b"unknown"[..], |digest| digest.as_bytes());
                writer.part("path", path.as_os_str().as_bytes()).part("content", digest)
            };
            files.iter().fold(writer, add).digest()
        };
        self.environments.iter().map(|(name, files)| (name.as_os_str(), digest(files))).collect()
    }
}

/// Returns the path of a file: relative to the project if the environment lies in it. An environment that is a single file
/// has its file at the empty path.
fn path_of(environment: &OsStr, inside: &Path) -> PathBuf {
    if inside.as_os_str().is_empty() { PathBuf::from(environment) } else { Path::new(environment).join(inside) }
}

struct EnvironmentLook<'look> {
    top: &'look Path,
    survey: &'look mut FileSurvey,
    files: BTreeMap<PathBuf, Option<Digest>>,
    plugins: BTreeMap<String, Option<Digest>>,
}

impl EnvironmentLook<'_> {
    fn at(&mut self, place: &EnvironmentPlace) {
        if place.parts == EnvironmentParts::All {
            match fs::symlink_metadata(self.top) {
                // The environment is a single file, such as `.pnp.cjs`.
                Ok(metadata) if metadata.is_file() => {
                    let _content = self.file(PathBuf::new());
                    return;
                }
                Ok(metadata) if metadata.is_symlink() => self.link(PathBuf::new(), LinkContent::Ignored),
                Ok(_) | Err(_) => {}
            }
            for record in RECORDS {
                let _content = self.file(PathBuf::from(record));
            }
            PROGRAMS.iter().for_each(|directory| self.programs(Path::new(directory)));
            if self.top.file_name() == Some(OsStr::new("node_modules")) {
                self.linked_packages(Path::new(""));
            }
            // In `__pypackages__`, the packages lie directly in `3.11/lib`, and not in a `site-packages` directory
            // below it.
            if self.top.file_name() == Some(OsStr::new("__pypackages__")) {
                for version in self.directories(Path::new("")) {
                    self.python_packages(&version.join("lib"));
                    self.programs(&version.join("bin"));
                }
            }
        }
        for library in ["lib", "lib64"] {
            // In many virtual environments `lib64` is a link to `lib`.
            if fs::symlink_metadata(self.top.join(library)).is_ok_and(|metadata| metadata.is_dir()) {
                for version in self.directories(Path::new(library)) {
                    PYTHON_PACKAGES.iter().for_each(|packages| self.python_packages(&version.join(packages)));
                }
            }
        }
    }

    /// Notes a file. Returns its content, and `None` if there is no such file or it cannot be read.
    fn file(&mut self, inside: PathBuf) -> Option<FileContent> {
        let found = self.look(&inside);
        match found {
            Ok(None) => {}
            Ok(Some(content)) => drop(self.files.insert(inside, Some(content.digest))),
            Err(_) => drop(self.files.insert(inside, None)),
        }
        found.ok().flatten()
    }

    fn look(&mut self, inside: &Path) -> io::Result<Option<FileContent>> {
        self.survey.look(self.path(inside))
    }

    fn path(&self, inside: &Path) -> PathBuf {
        // To join an empty path would add a slash, and a path with a slash at its end is never a file or a link.
        if inside.as_os_str().is_empty() { self.top.to_owned() } else { self.top.join(inside) }
    }

    /// Notes the programs in a directory. A link counts by what it names and by the content of the file it leads to.
    fn programs(&mut self, directory: &Path) {
        for (name, kind) in self.entries(directory) {
            let inside = directory.join(name);
            if kind.is_symlink() {
                self.link(inside, LinkContent::Read);
            } else if kind.is_file() {
                let _content = self.file(inside);
            }
        }
    }

    fn link(&mut self, inside: PathBuf, content: LinkContent) {
        let path = self.path(&inside);
        let Ok(target) = fs::read_link(&path) else {
            self.files.insert(inside, None);
            return;
        };
        let writer = IdentityWriter::new("proctor-environment-link-v1").part("target", target.as_os_str().as_bytes());
        let content = match content {
            LinkContent::Ignored => Some(writer),
            LinkContent::Read => match self.look(&inside) {
                Ok(None) => Some(writer),
                Err(_) => None,
                Ok(Some(content)) => {
                    // A link with an absolute target leads out of the environment to an interpreter, whose place
                    // decides which library it uses.
                    let real = if target.is_absolute() { fs::canonicalize(&path).ok() } else { None };
                    let real = real.as_deref().map_or(&b""[..], |real| real.as_os_str().as_bytes());
                    Some(writer.part("real", real).part("content", content.digest.as_bytes()))
                }
            },
        };
        self.files.insert(inside, content.map(IdentityWriter::digest));
    }

    /// Notes the links to packages in a `node_modules` directory and in the scopes (`@scope`) below it: packages of a
    /// workspace, and with pnpm all packages.
    fn linked_packages(&mut self, directory: &Path) {
        for (name, kind) in self.entries(directory) {
            let inside = directory.join(&name);
            if kind.is_symlink() {
                self.link(inside, LinkContent::Ignored);
            } else if kind.is_dir() && name.as_bytes().starts_with(b"@") && directory.as_os_str().is_empty() {
                self.linked_packages(&inside);
            }
        }
    }

    /// Notes a directory of Python's packages: every file that lies directly in it, which includes path files (`.pth`) and
    /// modules that Python runs at its start, and the records of the packages.
    fn python_packages(&mut self, directory: &Path) {
        for (name, kind) in self.entries(directory) {
            let inside = directory.join(&name);
            let bytes = name.as_bytes();
            let is_file = !kind.is_dir() && self.file(inside.clone()).is_some();
            if is_file {
                continue;
            }
            if bytes.ends_with(b".dist-info") {
                self.package(&inside, &WHEEL);
            } else if bytes.ends_with(b".egg-info") {
                self.package(&inside, &EGG);
            } else if RUN_AT_START.iter().any(|package| package.as_bytes() == bytes) {
                let _content = self.file(inside.join("__init__.py"));
            }
        }
    }

    /// Notes a package: the first of `records` that exists, its entry points and where it comes from. A package
    /// without a record is noted as unreadable, because nobody knows what is installed.
    fn package(&mut self, directory: &Path, records: &[&str]) {
        let record = records.iter().find_map(|record| self.file(directory.join(record)));
        if record.is_none() {
            self.files.insert(directory.to_owned(), None);
        }
        for name in BESIDE_RECORD {
            let content = self.file(directory.join(name));
            if content.is_some_and(|content| content.is_pytest_plugin) {
                let package = directory.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                self.plugins.insert(package, record.map(|record| record.digest));
            }
        }
    }

    fn directories(&mut self, directory: &Path) -> Vec<PathBuf> {
        let entries = self.entries(directory).into_iter();
        entries.filter(|(_, kind)| kind.is_dir()).map(|(name, _)| directory.join(name)).collect()
    }

    /// Lists a directory. If it exists and cannot be listed, it is noted as unreadable.
    fn entries(&mut self, directory: &Path) -> Vec<(OsString, FileType)> {
        let known = |entry: DirEntry| Ok((entry.file_name(), entry.file_type()?));
        let listed = fs::read_dir(self.top.join(directory)).and_then(|entries| entries.map(|entry| known(entry?)).collect());
        listed.unwrap_or_else(|error| {
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                self.files.insert(directory.to_owned(), None);
            }
            Vec::new()
        })
    }
}

/// Whether the file that a link leads to is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkContent {
    Read,
    /// The link leads to a directory.
    Ignored,
}

#[cfg(test)]
mod tests;
