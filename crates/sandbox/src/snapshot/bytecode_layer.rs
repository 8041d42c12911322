//! The compiled Python modules of a project for one interpreter, or one pytest: a directory that lies over the copy of
//! the tree.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::snapshot::SnapshotError;
use crate::snapshot::bytecode_record::{BytecodeRecord, ModuleState, RecordedModule};
use crate::snapshot::entries::empty_directory;
use crate::snapshot::python_module::{CacheTag, PythonModule};
use proctor_model::{Digest, EntryKind, TreePath};
use proctor_tree::{ContentChange, TreeIndex, content_changes};

/// The directory, in the project's directory of snapshots, that holds the layers of all interpreters.
const BYTECODE: &str = "bytecode";
const FILES: &str = "files";
const NEW: &str = "new.pyc";

/// The most interpreters of a project whose compiled modules are kept. A pytest counts as one.
const MAX_INTERPRETERS: usize = 8;
/// The bytes of a compiled file that hold its flags, and those that hold the time of its source if the flags are 0
/// (PEP 552).
const FLAGS: std::ops::Range<usize> = 4..8;
const TIME: std::ops::Range<usize> = 8..12;

/// The compiled modules of one interpreter. The caller must hold the project's lock, and must not call a method that
/// changes the layer while the layer is mounted.
#[derive(Debug)]
pub struct BytecodeLayer {
    directory: PathBuf,
    boot: String,
    /// `None` if there are no compiled modules.
    record: Option<BytecodeRecord>,
    /// The tree for which the layer was last brought up to date by this process.
    current_for: Option<TreeIndex>,
}

/// A module that an interpreter compiled, or was asked to compile.
#[derive(Debug)]
pub struct CompiledModule {
    pub module: PythonModule,
    pub digest: Digest,
    /// The content of the compiled file; `None` if the interpreter did not compile the source.
    pub code: Option<Vec<u8>>,
}

impl BytecodeLayer {
    /// Opens the layer of one interpreter. `key` names the interpreter and is used as the name of a directory.
    pub fn open(snapshot: &Path, key: &str, boot: &str) -> Self {
        let directory = snapshot.join(BYTECODE).join(key);
        let record = BytecodeRecord::open(&directory, boot);
        Self { directory, boot: boot.to_owned(), record, current_for: None }
    }

    /// Removes every compiled module whose source is not in the tree with the content that was compiled. Returns the directory
    /// to mount; `None` if there are no compiled modules.
    ///
    /// # Errors
    /// When a file cannot be removed. The layer must not be mounted then, because it could cover an entry of the tree.
    pub fn bring_up_to(&mut self, index: &TreeIndex) -> Result<Option<PathBuf>, SnapshotError> {
        self.notice_others();
        let Some(record) = &self.record else { return Ok(None) };
        let is_outdated = |module: &PythonModule, recorded: &RecordedModule| {
            let entry = index.lookup(&module.source).filter(|entry| entry.kind != EntryKind::Link);
            entry.and_then(|entry| entry.digest) != Some(recorded.digest)
        };
        let outdated: Vec<PythonModule> = match &self.current_for {
            Some(before) => changed_modules(record, &content_changes(Some(before), index)),
            None => record.modules.keys().cloned().collect(),
        };
        let outdated: Vec<PythonModule> = outdated
            .into_iter()
            .filter(|module| record.modules.get(module).is_some_and(|recorded| is_outdated(module, recorded)))
            .collect();
        self.remove(&outdated).map_err(|source| SnapshotError::Copy { path: self.directory.clone(), source })?;
        self.current_for = Some(index.clone());
        let is_empty = self.record.as_ref().is_none_or(|record| record.modules.is_empty());
        Ok((!is_empty).then(|| self.directory.join(FILES)))
    }

    /// Returns whether a module is still to be compiled from this content.
    pub fn lacks(&mut self, module: &PythonModule, digest: Digest) -> bool {
        self.notice_others();
        let Some(record) = &self.record else { return true };
        match record.modules.get(module).filter(|recorded| recorded.digest == digest) {
            None => true,
            Some(RecordedModule { state: ModuleState::Refused, .. }) => false,
            Some(RecordedModule { state: ModuleState::Compiled, .. }) => !self.file_of(record, module).exists(),
        }
    }

    /// Returns whether a kept file holds the time of its source, and this is not `time` (in seconds since 1970): then the
    /// file is not used.
    pub fn is_of_another_time(&self, module: &PythonModule, time: u32) -> bool {
        let Some(record) = &self.record else { return false };
        let mut head = [0; TIME.end];
        let read = fs::File::open(self.file_of(record, module)).and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
        read.is_ok() && head[FLAGS] == [0; 4] && head[TIME] != time.to_le_bytes()
    }

    /// Adds compiled modules, which replace earlier ones. `tree` is the directory of the tree's copy.
    ///
    /// # Errors
    /// When a file cannot be written, for example because the disk is full.
    pub fn add(&mut self, tree: &Path, tag: CacheTag, compiled: &[CompiledModule]) -> Result<(), SnapshotError> {
        let added = self.try_add(tree, tag, compiled);
        added.map_err(|source| SnapshotError::Copy { path: self.directory.clone(), source })
    }

    fn try_add(&mut self, tree: &Path, tag: CacheTag, compiled: &[CompiledModule]) -> io::Result<()> {
        self.notice_others();
        if self.record.as_ref().is_none_or(|record| record.tag != tag) {
            self.begin_anew(tag)?;
        }
        let Some(record) = &mut self.record else { return Ok(()) };
        let state = |one: &CompiledModule| if one.code.is_some() { ModuleState::Compiled } else { ModuleState::Refused };
        let noted = |one: &CompiledModule| (one.module.clone(), Some(RecordedModule { digest: one.digest, state: state(one) }));
        record.note(&compiled.iter().map(noted).collect::<Vec<_>>())?;
        record.shorten(&self.boot)?;
        let files = self.directory.join(FILES);
        let mut made = BTreeSet::new();
        for one in compiled {
            let Some(code) = &one.code else { continue };
            let path = one.module.compiled_path(&record.tag);
            let parent = path.parent().unwrap_or_default();
            if !made.contains(&parent) {
                make_directories(&files, tree, &parent)?;
                made.insert(parent);
            }
            write_file(&self.directory.join(NEW), &files.join(path.as_path()), code)?;
        }
        Ok(())
    }

    /// Empties the layer of this interpreter and begins a new record. If more than `MAX_INTERPRETERS` interpreters then
    /// have a layer, the layers that were not changed for the longest time are removed.
    fn begin_anew(&mut self, tag: CacheTag) -> io::Result<()> {
        self.record = None;
        self.current_for = None;
        if let Some(all) = self.directory.parent() {
            fs::create_dir_all(all)?;
            remove_oldest(all, &self.directory)?;
        }
        fs::create_dir_all(&self.directory)?;
        empty_directory(&self.directory)?;
        fs::create_dir(self.directory.join(FILES))?;
        self.record = Some(BytecodeRecord::begin(&self.directory, &self.boot, tag)?);
        Ok(())
    }

    fn remove(&mut self, modules: &[PythonModule]) -> io::Result<()> {
        let Some(record) = &self.record else { return Ok(()) };
        let files = self.directory.join(FILES);
        for module in modules {
            let path = self.file_of(record, module);
            match fs::remove_file(&path) {
                Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    return Err(error);
                }
                Ok(()) | Err(_) => {}
            }
            // Directories that became empty are removed too. If such a directory stayed, it could cover a file that the
            // tree now has at the same path.
            let parents = path.ancestors().skip(1).take_while(|directory| *directory != files);
            let _removed = parents.take_while(|directory| is_gone(directory)).count();
        }
        let gone: Vec<_> = modules.iter().map(|module| (module.clone(), None)).collect();
        match &mut self.record {
            Some(record) => record.note(&gone),
            None => Ok(()),
        }
    }

    /// Reads the record if it was not read yet, or if another process has changed the layer since.
    fn notice_others(&mut self) {
        if self.record.as_ref().is_none_or(|record| !record.is_as_left()) {
            self.record = BytecodeRecord::open(&self.directory, &self.boot);
            self.current_for = None;
        }
    }

    fn file_of(&self, record: &BytecodeRecord, module: &PythonModule) -> PathBuf {
        self.directory.join(FILES).join(module.compiled_path(&record.tag).as_path())
    }
}

fn changed_modules(record: &BytecodeRecord, changes: &[ContentChange]) -> Vec<PythonModule> {
    let mut changed = BTreeSet::new();
    for change in changes {
        let (ContentChange::Removed(path) | ContentChange::Put(path, ..)) = change;
        let from = PythonModule { source: path.clone(), optimization: 0 };
        let same = record.modules.range(from..).take_while(|(module, _)| module.source == *path);
        let inside = [path.as_bytes(), b"/"].concat();
        // Other paths, such as `a-b`, come between `a` and `a/b`.
        let below_from = PythonModule { source: path.join(b"\0"), optimization: 0 };
        let below = record.modules.range(below_from..).take_while(|(module, _)| module.source.as_bytes().starts_with(&inside));
        changed.extend(same.chain(below).map(|(module, _)| module.clone()));
    }
    changed.into_iter().collect()
}

/// Removes an empty directory. Returns whether it is gone.
fn is_gone(directory: &Path) -> bool {
    match fs::remove_dir(directory) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Makes a directory of the layer, with its parent directories. Each gets the mode of the directory at the same path of
/// the tree, because a check sees the modes of the topmost layer.
fn make_directories(files: &Path, tree: &Path, path: &TreePath) -> io::Result<()> {
    if path.is_root() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or_default();
    let made = files.join(path.as_path());
    if made.is_dir() {
        return Ok(());
    }
    make_directories(files, tree, &parent)?;
    fs::create_dir(&made)?;
    // The directory of compiled files is not in the tree, so it gets the mode of the directory that contains it.
    let like = [path, &parent].into_iter().find_map(|path| fs::metadata(tree.join(path.as_path())).ok());
    match like {
        Some(like) => fs::set_permissions(&made, fs::Permissions::from_mode(like.permissions().mode() & 0o777)),
        None => Ok(()),
    }
}

/// Writes the file `new`, and renames it to `path` when it is complete. So a crash leaves no incomplete compiled file.
fn write_file(new: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(new)?.write_all(bytes)?;
    nix::fcntl::renameat(nix::fcntl::AT_FDCWD, new, nix::fcntl::AT_FDCWD, path)?;
    Ok(())
}

/// Removes the layers that were not changed for the longest time, so that `own` is one of at most `MAX_INTERPRETERS`.
fn remove_oldest(all: &Path, own: &Path) -> io::Result<()> {
    let mut others: Vec<_> = fs::read_dir(all)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path != own)
        .map(|path| (fs::metadata(&path).and_then(|metadata| metadata.modified()).ok(), path))
        .collect();
    others.sort();
    let surplus = (others.len() + 1).saturating_sub(MAX_INTERPRETERS);
    for (_, path) in others.into_iter().take(surplus) {
        empty_directory(&path)?;
        fs::remove_dir(&path)?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the projects whose modules are kept, and damage the record")]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use tempfile::TempDir;

    use super::*;
    use proctor_model::Timestamp;
    use proctor_tree::ignore::{Matcher, MatcherSettings, Selects};

    /// A project, which also serves as the copy of its tree, and the directory of the project's bytecode layers.
    struct Scene {
        root: TempDir,
        kept: TempDir,
    }

    impl Scene {
        fn new(files: &[&str]) -> Self {
            let scene = Self { root: TempDir::new().expect("a directory"), kept: TempDir::new().expect("a directory") };
            files.iter().for_each(|name| scene.save(name, name));
            scene
        }

        fn save(&self, name: &str, text: &str) {
            let path = self.root.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }

        fn index(&self) -> TreeIndex {
            let settings = MatcherSettings {
                ignore: Vec::new(),
                include: Vec::new(),
                own_link: None,
                store: None,
                task_list: None,
                selects: Selects::Tree,
                outputs: proctor_tree::ignore::ShownOutputs::default(),
                inputs: Vec::new(),
            };
            let matcher = Matcher::new(&settings).expect("no patterns");
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            TreeIndex::scan(self.root.path(), &matcher, Timestamp::from_millis(now.as_millis() as i64)).expect("a tree")
        }

        fn open(&self) -> BytecodeLayer {
            BytecodeLayer::open(self.kept.path(), "key", "boot")
        }

        fn add(&self, layer: &mut BytecodeLayer, names: &[&str]) {
            let compiled: Vec<CompiledModule> = names
                .iter()
                .map(|name| CompiledModule {
                    module: module(name),
                    digest: self.digest(name),
                    code: Some(name.as_bytes().to_vec()),
                })
                .collect();
            layer.add(self.root.path(), tag(), &compiled).expect("added");
        }

        fn digest(&self, name: &str) -> Digest {
            Digest::of(&fs::read(self.root.path().join(name)).expect("a file"))
        }

        /// Brings the layer up to date with the present tree, and returns the paths of all its entries, sorted.
        /// Directories end in a slash.
        fn mounted(&self, layer: &mut BytecodeLayer) -> Vec<String> {
            let Some(files) = layer.bring_up_to(&self.index()).expect("up to date") else { return Vec::new() };
            let (mut found, mut waiting) = (Vec::new(), vec![files.clone()]);
            while let Some(directory) = waiting.pop() {
                for path in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
                    let name = path.strip_prefix(&files).expect("below").display().to_string();
                    found.push(if path.is_dir() { name + "/" } else { name });
                    waiting.extend(path.is_dir().then_some(path));
                }
            }
            found.sort();
            found
        }
    }

    fn module(name: &str) -> PythonModule {
        PythonModule { source: TreePath::try_from(name).expect("a clean path"), optimization: 0 }
    }

    fn tag() -> CacheTag {
        CacheTag::new("cpython-311").expect("a tag")
    }

    #[test]
    fn a_module_is_kept_until_its_source_changes_for_this_and_for_other_processes() {
        let scene = Scene::new(&["a.py", "p/b.py", "p/q/c.py", "p-q/d.py"]);
        let mut layer = scene.open();
        assert!(layer.lacks(&module("a.py"), scene.digest("a.py")));
        scene.add(&mut layer, &["a.py", "p/b.py", "p/q/c.py", "p-q/d.py"]);
        let all = [
            "__pycache__/",
            "__pycache__/a.cpython-311.pyc",
            "p-q/",
            "p-q/__pycache__/",
            "p-q/__pycache__/d.cpython-311.pyc",
            "p/",
            "p/__pycache__/",
            "p/__pycache__/b.cpython-311.pyc",
            "p/q/",
            "p/q/__pycache__/",
            "p/q/__pycache__/c.cpython-311.pyc",
        ];
        assert_eq!(scene.mounted(&mut layer), all);
        assert!(!layer.lacks(&module("a.py"), scene.digest("a.py")));
        let mut other = scene.open();
        assert_eq!(scene.mounted(&mut other), all);
        scene.save("a.py", "changed");
        assert_eq!(scene.mounted(&mut layer), all[2..]);
        // The directory `p` is replaced by a file. The compiled modules kept below `p` must go, because they would cover
        // the file.
        fs::remove_dir_all(scene.root.path().join("p")).expect("a directory");
        scene.save("p", "a file");
        assert_eq!(scene.mounted(&mut other), all[2..5]);
        assert_eq!(scene.mounted(&mut layer), all[2..5]);
        fs::remove_dir_all(scene.root.path().join("p-q")).expect("a directory");
        assert_eq!(scene.mounted(&mut layer), Vec::<String>::new());
    }

    #[test]
    fn a_source_that_was_refused_or_whose_file_is_missing_is_known() {
        let scene = Scene::new(&["a.py", "b.py"]);
        let mut layer = scene.open();
        let refused = CompiledModule { module: module("a.py"), digest: scene.digest("a.py"), code: None };
        layer.add(scene.root.path(), tag(), &[refused]).expect("added");
        scene.add(&mut layer, &["b.py"]);
        let mut other = scene.open();
        assert!(!other.lacks(&module("a.py"), scene.digest("a.py")));
        assert!(other.lacks(&module("a.py"), Digest::of(b"changed")));
        fs::remove_file(scene.kept.path().join("bytecode/key/files/__pycache__/b.cpython-311.pyc")).expect("a file");
        assert!(other.lacks(&module("b.py"), scene.digest("b.py")));
    }

    #[test]
    fn nothing_is_used_of_another_boot_or_by_a_record_that_was_cut() {
        let scene = Scene::new(&["a.py"]);
        scene.add(&mut scene.open(), &["a.py"]);
        let mut later = BytecodeLayer::open(scene.kept.path(), "key", "another boot");
        assert_eq!(scene.mounted(&mut later), Vec::<String>::new());
        let record = scene.kept.path().join("bytecode/key/record");
        let whole = fs::read(&record).expect("a record");
        for length in [whole.len() - 1, 30, 0] {
            fs::write(&record, &whole[..length]).expect("a file");
            assert_eq!(scene.mounted(&mut scene.open()), Vec::<String>::new(), "{length}");
        }
        // The layer's record is damaged. So the compiled module of `a.py` is removed before that of `b.py` is added.
        let mut layer = scene.open();
        scene.save("b.py", "b");
        scene.add(&mut layer, &["b.py"]);
        assert_eq!(scene.mounted(&mut layer), ["__pycache__/", "__pycache__/b.cpython-311.pyc"]);
    }

    #[test]
    fn a_record_with_many_outdated_entries_is_written_anew() {
        let scene = Scene::new(&["a.py"]);
        let mut layer = scene.open();
        for _ in 0..1030 {
            scene.add(&mut layer, &["a.py"]);
        }
        let bytes = fs::metadata(scene.kept.path().join("bytecode/key/record")).expect("a record").len();
        assert!(bytes < 10_000, "{bytes}");
        assert_eq!(scene.mounted(&mut scene.open()).len(), 2);
    }

    #[test]
    fn the_interpreters_that_were_not_used_for_the_longest_time_are_forgotten() {
        let scene = Scene::new(&["a.py"]);
        for (age, key) in ["1", "2", "3", "4", "5", "6", "7", "8"].into_iter().enumerate() {
            scene.add(&mut BytecodeLayer::open(scene.kept.path(), key, "boot"), &["a.py"]);
            let changed = UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
            let directory = fs::File::open(scene.kept.path().join("bytecode").join(key)).expect("a directory");
            directory.set_modified(changed).expect("it is ours");
        }
        scene.add(&mut BytecodeLayer::open(scene.kept.path(), "9", "boot"), &["a.py"]);
        let left = fs::read_dir(scene.kept.path().join("bytecode")).expect("a directory");
        let mut left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
        left.sort();
        assert_eq!(left, ["2", "3", "4", "5", "6", "7", "8", "9"]);
    }
}
