//! Whether two directories of installed packages, each of its own checkout, have the same content once the path of the checkout is taken
//! out of it. Installers write that path into scripts, `pyvenv.cfg`, `direct_url.json`, `.pth` files and links.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::every_file::is_written_by_tools;
use super::known_files::{FileSurvey, Found, KnownFiles, ReadingRoom};
use super::whole_directory::SavedDirectory;
use crate::toolchain_places::is_of_system;
use proctor_evidence::{Store, open_regular_file, secret_of_digests};
use proctor_model::{Digest, EntryKind};
use proctor_sandbox::process::clock;
use proctor_sandbox::{EnvironmentAdditions, variables_of_checks};

/// The largest file, in bytes, from which the path of a checkout is taken out. Another larger file is another content.
const LARGEST_TEXT: u64 = 4 << 20;
/// How many bytes of new files are hashed at most in each of the two compared directories. If one has more, the directories count as
/// different.
const HASHED: u64 = 64 << 20;
/// What stands for the path of a checkout.
const PLACEHOLDER: &[u8] = b"\0root\0";

/// A directory of installed packages, and the root of the checkout that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstalledAt<'a> {
    pub(crate) saved: &'a SavedDirectory,
    pub(crate) directory: &'a Path,
    pub(crate) root: &'a Path,
}

/// One of the two directories while they are compared.
struct ComparedSide<'a> {
    at: InstalledAt<'a>,
    files: FileSurvey,
    room: ReadingRoom,
}

/// Returns the first path that differs, relative to the directories; `None` if both have the same content. What cannot be read differs.
pub(crate) fn first_difference(one: InstalledAt<'_>, other: InstalledAt<'_>) -> Option<PathBuf> {
    let [mut one, mut other] = [one, other].map(ComparedSide::new);
    let mut waiting = vec![PathBuf::new()];
    while let Some(inside) = waiting.pop() {
        let (Some(entries), Some(others)) = (one.entries(&inside), other.entries(&inside)) else { return Some(inside) };
        if let Some(name) = entries.keys().chain(others.keys()).find(|name| entries.get(*name) != others.get(*name)) {
            return Some(inside.join(name));
        }
        for (name, kind) in entries {
            let path = inside.join(name);
            let is_same = match kind {
                EntryKind::Directory => {
                    waiting.push(path);
                    continue;
                }
                EntryKind::Link => one.link(&path).is_some_and(|target| other.link(&path) == Some(target)),
                EntryKind::File | EntryKind::Executable => is_same_file(&mut one, &mut other, &path).unwrap_or(false),
            };
            if !is_same {
                return Some(path);
            }
        }
    }
    None
}

/// Returns the digest of the content without the path of the checkout, for comparison on another machine; `None` if something cannot be
/// read.
pub(crate) fn content_without_root(at: InstalledAt<'_>) -> Option<Digest> {
    let mut side = ComparedSide::new(at);
    let (mut waiting, mut parts) = (vec![PathBuf::new()], BTreeMap::new());
    while let Some(inside) = waiting.pop() {
        for (name, kind) in side.entries(&inside)? {
            let path = inside.join(name);
            let content = match kind {
                EntryKind::Directory => {
                    waiting.push(path);
                    continue;
                }
                EntryKind::Link => Digest::of(&side.link(&path)?),
                EntryKind::File | EntryKind::Executable if is_record(&path) => Digest::of(&names_of_record(&side.text(&path)?)),
                EntryKind::File | EntryKind::Executable if may_name_root(&path) => side.neutral_digest(&path)?,
                EntryKind::File | EntryKind::Executable => side.digest(&path)?,
            };
            parts.insert(path, (kind, content));
        }
    }
    let mut hasher = Sha256::new();
    for (path, (kind, content)) in parts {
        let path = path.as_os_str().as_bytes();
        let kind = match kind {
            EntryKind::Directory => b'd',
            EntryKind::Link => b'l',
            EntryKind::File => b'f',
            EntryKind::Executable => b'x',
        };
        hasher.update((path.len() as u64).to_be_bytes());
        hasher.update(path);
        hasher.update([kind]);
        hasher.update(content.as_bytes());
    }
    Some(Digest::from_hasher(hasher))
}

fn is_record(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("RECORD"))
}

fn is_same_file(one: &mut ComparedSide<'_>, other: &mut ComparedSide<'_>, path: &Path) -> Option<bool> {
    let is_equal = one.digest(path)? == other.digest(path)?;
    // A directory that was copied has the same bytes, and the path in them leads to the other checkout.
    if is_equal && !may_name_root(path) {
        return Some(true);
    }
    let [mut one, mut other] = [one.text(path)?, other.text(path)?];
    // It lists the hashes of scripts, which are compared themselves.
    if is_record(path) {
        [one, other] = [one, other].map(|text| names_of_record(&text));
    }
    Some(one == other)
}

/// Returns whether installers write the path of the checkout into files of this name.
fn may_name_root(path: &Path) -> bool {
    let is_script = path.parent().and_then(Path::file_name).is_some_and(|name| name == "bin" || name == ".bin");
    let name = path.file_name().unwrap_or_default().as_bytes();
    let has_end = [&b".pth"[..], b".cfg", b".egg-link", b"direct_url.json"].iter().any(|end| name.ends_with(end));
    is_script || has_end || name.starts_with(b"__editable__")
}

/// Returns the paths that a list of installed files names, without their hashes and sizes.
fn names_of_record(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b',').next().unwrap_or_default());
    lines.collect::<Vec<_>>().join(&b'\n')
}

/// Returns the digest of the variables that checks of a project get, without the path of its checkout. Variables of a single action stand
/// in its plan. Reports have it, and values may be secrets: so it begins with a secret of the store, without which it is `None`.
pub fn variables_digest(
    store: &Store,
    root: &Path,
    ambient: &BTreeMap<OsString, OsString>,
    settings: &EnvironmentAdditions,
) -> Option<Digest> {
    let mut hasher = Sha256::new();
    hasher.update(secret_of_digests(store)?.as_bytes());
    for (name, value) in variables_of_checks(ambient, settings) {
        let value = if name == "PATH" { without_git(value) } else { value };
        let value = without_root(value.as_bytes(), root.as_os_str().as_bytes());
        for part in [name.as_bytes(), &value] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
    }
    Some(Digest::from_hasher(hasher))
}

/// Returns a search path without the directory of git's own programs, which git puts in front for what it starts, such as a hook.
fn without_git(path: &OsStr) -> &OsStr {
    let first = path.as_bytes().iter().position(|byte| *byte == b':').unwrap_or_default();
    let directory = Path::new(OsStr::from_bytes(&path.as_bytes()[..first]));
    let is_gits = directory.ends_with("git-core") && is_of_system(directory);
    if is_gits { OsStr::from_bytes(&path.as_bytes()[first + 1..]) } else { path }
}

/// Returns a text with each occurrence of a path replaced that is not only the beginning of a longer name.
fn without_root(text: &[u8], root: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(byte) = rest.first() {
        let is_longer_name = |next: &u8| next.is_ascii_alphanumeric() || b"_-.".contains(next);
        if !root.is_empty() && rest.starts_with(root) && !rest.get(root.len()).is_some_and(is_longer_name) {
            found.extend_from_slice(PLACEHOLDER);
            rest = &rest[root.len()..];
        } else {
            found.push(*byte);
            rest = &rest[1..];
        }
    }
    found
}

impl<'a> ComparedSide<'a> {
    fn new(at: InstalledAt<'a>) -> Self {
        let files = FileSurvey::new(Arc::new(KnownFiles::load(at.saved.files())), clock::now());
        Self { at, files, room: ReadingRoom::of(HASHED) }
    }

    fn entries(&self, inside: &Path) -> Option<BTreeMap<OsString, EntryKind>> {
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(self.at.directory.join(inside)).ok()? {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            let kind = match (kind.is_dir(), kind.is_symlink()) {
                (true, _) if is_written_by_tools(&inside.join(entry.file_name())) => continue,
                (true, _) => EntryKind::Directory,
                (false, true) => EntryKind::Link,
                (false, false) if entry.metadata().ok()?.permissions().mode() & 0o100 == 0 => EntryKind::File,
                (false, false) => EntryKind::Executable,
            };
            entries.insert(entry.file_name(), kind);
        }
        Some(entries)
    }

    fn link(&self, path: &Path) -> Option<Vec<u8>> {
        let target = fs::read_link(self.at.directory.join(path)).ok()?;
        Some(without_root(target.as_os_str().as_bytes(), self.at.root.as_os_str().as_bytes()))
    }

    /// Returns the digest of a small file without the path of the checkout, and that of a large one, such as a program, as it is.
    fn neutral_digest(&mut self, path: &Path) -> Option<Digest> {
        match self.text(path) {
            Some(text) => Some(Digest::of(&text)),
            None => self.digest(path),
        }
    }

    fn digest(&mut self, path: &Path) -> Option<Digest> {
        match self.files.look_within(self.at.directory.join(path), &mut self.room).ok()? {
            Found::Content(content) => Some(content.digest),
            Found::Nothing | Found::NoRoom => None,
        }
    }

    fn text(&self, path: &Path) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let file = open_regular_file(&self.at.directory.join(path)).ok()?;
        let length = file.take(LARGEST_TEXT + 1).read_to_end(&mut text).ok()?;
        let is_small = u64::try_from(length).is_ok_and(|length| length <= LARGEST_TEXT);
        is_small.then(|| without_root(&text, self.at.root.as_os_str().as_bytes()))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the directories they compare")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use proctor_evidence::Attestor;

    /// Two checkouts with a virtual environment each, as an installer makes them.
    fn checkouts(top: &Path) -> [PathBuf; 2] {
        ["main", "main-fix"].map(|name| {
            let root = top.join(name);
            let packages = root.join(".venv/lib/site-packages");
            fs::create_dir_all(&packages).expect("it is ours");
            fs::create_dir_all(root.join(".venv/bin")).expect("it is ours");
            let write = |path: &str, text: String| fs::write(root.join(".venv").join(path), text).expect("it is ours");
            write("pyvenv.cfg", format!("home = /usr/bin\ncommand = /usr/bin/python3 -m venv {}/.venv\n", root.display()));
            write("bin/pytest", format!("#!{}/.venv/bin/python\nmain()\n", root.display()));
            write("lib/site-packages/shop.pth", format!("{}/src\n", root.display()));
            write("lib/site-packages/pytest.py", "def main(): pass\n".to_owned());
            write("lib/site-packages/RECORD", format!("../../bin/pytest,sha256={name},7\npytest.py,sha256=x,1\n"));
            symlink(root.join(".venv/lib"), root.join(".venv/lib64")).expect("it is ours");
            root
        })
    }

    fn difference([one, other]: &[PathBuf; 2], store: &Store) -> Option<String> {
        let directories = [one.join(".venv"), other.join(".venv")];
        let saved = [SavedDirectory::of(store, &directories[0]), SavedDirectory::of(store, &directories[1])];
        let at = |which: usize, root| InstalledAt { saved: &saved[which], directory: &directories[which], root };
        first_difference(at(0, one), at(1, other)).map(|path| path.display().to_string())
    }

    fn neutral(root: &Path, store: &Store) -> Digest {
        let directory = root.join(".venv");
        let saved = SavedDirectory::of(store, &directory);
        content_without_root(InstalledAt { saved: &saved, directory: &directory, root }).expect("it can be read")
    }

    #[test]
    fn environments_that_differ_in_the_path_of_their_checkout_are_the_same() {
        let top = tempfile::tempdir().expect("a directory");
        let store = Store::open(&top.path().join("store")).expect("a store");
        let roots = checkouts(top.path());
        assert_eq!(difference(&roots, &store), None);
        assert_eq!(neutral(&roots[0], &store), neutral(&roots[1], &store), "the same is told to other machines");
        fs::create_dir(roots[1].join(".venv/lib/__pycache__")).expect("it is ours");
        assert_eq!(difference(&roots, &store), None, "compiled modules are written by Python itself");
    }

    #[test]
    fn a_patched_file_a_further_one_and_a_path_into_the_other_checkout_differ() {
        for (path, text) in [
            ("lib/site-packages/pytest.py", Some("def main(): exit(0)\n".to_owned())),
            ("lib/site-packages/sitecustomize.py", Some(String::new())),
            ("bin/pytest", Some("#!/usr/bin/python\nmain()\n".to_owned())),
            // As in an environment that was copied: the packages of the other checkout would be tested.
            ("lib/site-packages/shop.pth", None),
        ] {
            let top = tempfile::tempdir().expect("a directory");
            let store = Store::open(&top.path().join("store")).expect("a store");
            let roots = checkouts(top.path());
            let text = text.unwrap_or_else(|| format!("{}/src\n", roots[0].display()));
            fs::write(roots[1].join(".venv").join(path), text).expect("it is ours");
            assert_eq!(difference(&roots, &store).as_deref(), Some(path));
            assert_ne!(neutral(&roots[0], &store), neutral(&roots[1], &store), "{path}");
        }
    }

    #[test]
    fn variables_are_equal_but_for_the_projects_own_path_and_what_no_check_gets() {
        let settings = EnvironmentAdditions {
            pass: vec!["LIGHT".into()],
            from_file: vec![("MODE".into(), "a".into())],
            secrets: vec!["KEY".into()],
            ..EnvironmentAdditions::default()
        };
        let stores = tempfile::tempdir().expect("a directory");
        let [store, other_store] = ["one", "other"].map(|name| {
            let store = Store::open(&stores.path().join(name)).expect("a store");
            assert_eq!(variables_digest(&store, Path::new("/w"), &BTreeMap::new(), &settings), None, "it has no key");
            Attestor::open(&store, clock::now()).expect("it makes a key");
            store
        });
        let digest = |root: &str, changed: &[(&str, &str)]| {
            let path = format!("{root}/.venv/bin:/usr/bin");
            let usual = [("PATH", path.as_str()), ("LIGHT", "on"), ("KEY", "k"), ("HOME", "/h")];
            let ambient = usual.iter().chain(changed).map(|(name, value)| (name.into(), value.into())).collect();
            variables_digest(&store, Path::new(root), &ambient, &settings)
        };
        let first = digest("/w/a", &[]);
        assert!(first.is_some());
        assert_eq!((digest("/w/b", &[]), digest("/w/a", &[("SSH_AUTH_SOCK", "/run/1")])), (first, first));
        let beside = ("PATH", "/w/a2/.venv/bin:/usr/bin");
        let changes = [("LIGHT", "off"), ("KEY", "other"), ("TZ", "UTC"), ("LC_ALL", "C"), ("JAVA_HOME", "/jdk"), beside];
        for changed in changes {
            assert_ne!(digest("/w/a", &[changed]), first, "{changed:?}");
        }
        let other_file = EnvironmentAdditions { from_file: vec![("MODE".into(), "b".into())], ..settings.clone() };
        let of = |store, settings| variables_digest(store, Path::new("/w"), &BTreeMap::new(), settings);
        assert_ne!(of(&store, &settings), of(&store, &other_file));
        // Whoever sees the digest cannot try values: another store's is another one.
        assert_ne!(of(&store, &settings), of(&other_store, &settings));
    }
}
