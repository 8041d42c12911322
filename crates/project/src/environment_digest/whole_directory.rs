//! The content of a whole directory outside of the tree, such as an installed toolchain: every file is hashed once, and recognised by
//! its stamp afterwards.
//!
//! A directory's own stamp changes when an entry comes, goes or is renamed. So the usual look ([`LookDepth::Listings`]) asks for the
//! stamps of the directories alone. It misses a file whose bytes are changed in place; [`LookDepth::EveryStamp`] sees that too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::stat::{FileStat, SFlag, lstat};

use super::every_file::is_written_by_tools;
use super::known_files::{FileSurvey, Found, KnownFiles, ReadingRoom};
use super::listings::{KnownListing, KnownListings, saved_directory, unchanged};
use proctor_evidence::Store;
use proctor_index as index;
use proctor_model::{Digest, IdentityWriter, Timestamp};
use proctor_sandbox::process::clock;
use proctor_tree::{EntryStamp, Trust};

/// The most entries of a directory that are named by content. Nobody waits for a directory with more.
const MOST_ENTRIES: usize = 1_000_000;

/// Stands for the content of what the user may not read.
const FORBIDDEN: &[u8] = b"forbidden";

/// How many bytes are hashed before what is known so far is saved, so that a process that ends loses no more than that.
const BYTES_BETWEEN_SAVES: u64 = 128 << 20;

/// After so many saves a directory counts as one that changes faster than it can be hashed.
const MOST_SAVES: usize = 1_000;

/// Which stamps a look at a hashed directory compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookDepth {
    /// Those of the directories, and of the files in a directory that holds no other directory.
    Listings,
    /// Those of the directories and of every file.
    EveryStamp,
}

/// Where the digests of a directory's files are saved, for all projects of the store.
#[derive(Debug, Clone)]
pub(crate) struct SavedDirectory {
    directory: PathBuf,
    listings: PathBuf,
    files: PathBuf,
}

/// A look at a directory whose files are known, or are hashed as far as `room` allows.
struct DirectoryLook<'look> {
    saved: &'look SavedDirectory,
    depth: LookDepth,
    room: ReadingRoom,
    begun: Timestamp,
    known: KnownListings,
    /// The listings of the directories, with what was found of their files.
    listings: KnownListings,
    /// Read when the first listing is not known.
    files: Option<FileSurvey>,
    entries: usize,
    /// Whether the look was given up, because something cannot be read or there is too much.
    is_open: bool,
}

/// How a look at a directory ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookedDirectory {
    Known(Digest),
    /// There was more to hash than the look had room for.
    NotHashed,
    /// Something in it cannot be read, or it has too many entries.
    Unreadable,
}

impl LookedDirectory {
    /// Returns the digest of the content; `None` if it is not known.
    pub(crate) fn digest(self) -> Option<Digest> {
        match self {
            Self::Known(digest) => Some(digest),
            Self::NotHashed | Self::Unreadable => None,
        }
    }
}

impl SavedDirectory {
    pub(crate) fn of(store: &Store, directory: &Path) -> Self {
        let listings = store.toolchain_index_path(directory);
        let files = listings.with_extension("files");
        Self { directory: directory.to_owned(), listings, files }
    }

    /// Returns where the digests of its files are saved.
    pub(super) fn files(&self) -> &Path {
        &self.files
    }

    /// Looks at the directory, and hashes files that are not known if they have at most `bytes` together.
    pub(crate) fn look(&self, depth: LookDepth, bytes: u64) -> LookedDirectory {
        self.look_within(depth, ReadingRoom::of(bytes)).0
    }

    /// Returns the latest change of a file that the look met, too.
    fn look_within(&self, depth: LookDepth, room: ReadingRoom) -> (LookedDirectory, i64) {
        let bytes = index::read_tree_index(&self.listings);
        let unchanged = bytes.as_deref().filter(|_| depth == LookDepth::Listings).and_then(unchanged);
        if let Some(digest) = unchanged {
            return (LookedDirectory::Known(digest), i64::MIN);
        }
        let known = bytes.and_then(|bytes| KnownListings::from_bytes(&bytes)).unwrap_or_default();
        let (begun, listings) = (clock::now(), KnownListings::default());
        let mut look =
            DirectoryLook { saved: self, depth, room, begun, known, listings, files: None, entries: 0, is_open: false };
        look.walk();
        let newest = look.files.as_ref().map_or(i64::MIN, FileSurvey::newest_change);
        (look.finish(), newest)
    }

    /// Hashes everything that is not known yet, however long it takes. What is known is saved now and then, so a process that ends
    /// meanwhile leaves less for the next one.
    pub(crate) fn hash(&self) -> LookedDirectory {
        self.hash_and_newest_change().0
    }

    /// Hashes as [`Self::hash`] does. Returns the latest change of a file in the directory too, in nanoseconds since 1970.
    pub(crate) fn hash_and_newest_change(&self) -> (LookedDirectory, i64) {
        for _ in 0..MOST_SAVES {
            match self.look_within(LookDepth::EveryStamp, ReadingRoom::until(BYTES_BETWEEN_SAVES)) {
                (LookedDirectory::NotHashed, _) => {}
                done => return done,
            }
        }
        (LookedDirectory::NotHashed, i64::MIN)
    }
}

impl DirectoryLook<'_> {
    fn walk(&mut self) {
        let mut waiting = vec![PathBuf::new()];
        while let Some(inside) = waiting.pop() {
            match self.listing(&inside) {
                Some(listing) if self.entries <= MOST_ENTRIES => {
                    waiting.extend(listing.directories.iter().map(|name| inside.join(name)));
                    self.listings.0.insert(inside.into_os_string(), listing);
                }
                Some(_) | None => {
                    self.is_open = true;
                    return;
                }
            }
        }
    }

    /// Returns the listing of a directory: the known one if its stamp says that it still holds. `None` if it cannot be read.
    fn listing(&mut self, inside: &Path) -> Option<KnownListing> {
        // To join an empty path would add a slash, and a path with a slash at its end is never a file.
        let is_top = inside.as_os_str().is_empty();
        let path = if is_top { self.saved.directory.clone() } else { self.saved.directory.join(inside) };
        let stat = lstat(&path).ok()?;
        if is_top && !is_directory(&stat) {
            return self.single_file();
        }
        let stamp = EntryStamp::of(&stat);
        // A directory that holds files alone, such as `~/bin`, has programs, and few: each stamp is compared.
        let is_small = |known: &KnownListing| is_top && known.directories.is_empty();
        let holds = |known: &KnownListing| known.stamp == Some(stamp) && known.digest.is_some() && !is_small(known);
        if self.depth == LookDepth::Listings
            && let Some(known) = self.known.0.remove(inside.as_os_str()).filter(holds)
        {
            self.entries += known.directories.len() + 1;
            return Some(known);
        }
        let entries = match entries_of(&path) {
            Ok(entries) => entries,
            Err(error) if is_forbidden(&error) => {
                return Some(KnownListing { stamp: None, digest: Some(Digest::of(FORBIDDEN)), directories: Vec::new() });
            }
            Err(_) => return None,
        };
        self.entries += entries.len();
        let mut writer = Some(IdentityWriter::new("proctor-directory-listing-v1"));
        let mut directories = Vec::new();
        for (name, kind) in entries {
            let inside = inside.join(&name);
            if kind.is_dir() && is_written_by_tools(&inside) {
                continue;
            }
            let (word, content) = if kind.is_dir() {
                directories.push(name.clone());
                ("directory", Some(Digest::of(b"")))
            } else if kind.is_symlink() {
                ("link", Some(Digest::of(fs::read_link(path.join(&name)).ok()?.as_os_str().as_bytes())))
            } else {
                ("file", self.file(path.join(&name))?)
            };
            writer = writer
                .zip(content)
                .map(|(writer, content)| writer.part(word, name.as_bytes()).part("content", content.as_bytes()));
        }
        let stamp = Some(stamp).filter(|stamp| stamp.trust(self.begun) == Trust::Settled);
        Some(KnownListing { stamp, digest: writer.map(IdentityWriter::digest), directories })
    }

    /// Returns the listing of what is a single file and no directory. Its stamp is compared each time.
    fn single_file(&mut self) -> Option<KnownListing> {
        let content = self.file(self.saved.directory.clone())?;
        let writer = IdentityWriter::new("proctor-single-file-v1");
        let digest = content.map(|content| writer.part("content", content.as_bytes()).digest());
        Some(KnownListing { stamp: None, digest, directories: Vec::new() })
    }

    /// Returns the digest of a file; the inner `None` if there is no room to hash it. `None` if it cannot be read.
    fn file(&mut self, path: PathBuf) -> Option<Option<Digest>> {
        let (saved, begun) = (self.saved, self.begun);
        let files = self.files.get_or_insert_with(|| FileSurvey::new(Arc::new(KnownFiles::load(&saved.files)), begun));
        match files.look_within(path, &mut self.room) {
            Ok(Found::Content(content)) => Some(Some(content.digest)),
            // A socket or a pipe has no content.
            Ok(Found::Nothing) => Some(Some(Digest::of(b""))),
            Ok(Found::NoRoom) => Some(None),
            Err(error) => is_forbidden(&error).then(|| Some(Digest::of(FORBIDDEN))),
        }
    }

    /// Saves what is known now, and returns the digest of the whole directory.
    fn finish(self) -> LookedDirectory {
        if let Some(files) = self.files {
            let has_met_all = self.depth == LookDepth::EveryStamp && !self.is_open;
            let files = if has_met_all { files.finish() } else { files.finish_with_others() };
            save(&self.saved.files, || files.unsaved_bytes());
            save(&self.saved.listings, || Some(self.listings.to_bytes(&self.saved.directory, !self.is_open)));
        }
        if self.is_open {
            return LookedDirectory::Unreadable;
        }
        self.listings.digest().map_or(LookedDirectory::NotHashed, LookedDirectory::Known)
    }
}

/// Removes what is remembered of toolchains that are gone.
pub(crate) fn forget_gone_toolchains(store: &Store) {
    let Ok(saved) = fs::read_dir(store.toolchains_directory()) else { return };
    for path in saved.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_none()) {
        let directory = index::read_tree_index(&path).and_then(|bytes| saved_directory(&bytes));
        if directory.is_none_or(|directory| !directory.exists()) {
            // A file that stays is removed the next time.
            let _left = [path.with_extension("files"), path].map(|path| index::remove_tree_index(&path));
        }
    }
}

fn is_directory(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR
}

fn entries_of(directory: &Path) -> io::Result<BTreeMap<OsString, FileType>> {
    let named = |entry: io::Result<DirEntry>| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
    fs::read_dir(directory)?.map(named).collect()
}

/// Returns whether the user may not read something. Checks run as the same user, so they cannot read it either.
fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn save(path: &Path, bytes: impl FnOnce() -> Option<Vec<u8>>) {
    let Some(bytes) = bytes().filter(|bytes| index::read_tree_index(path).as_ref() != Some(bytes)) else { return };
    if let Err(error) = index::write_tree_index(path, &bytes) {
        tracing::warn!("the digests of a toolchain's files were not saved: {error}");
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the directories they look at")]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const MUCH: u64 = 1 << 30;

    struct Scene {
        top: tempfile::TempDir,
        toolchain: PathBuf,
        saved: SavedDirectory,
    }

    impl Scene {
        fn new() -> Self {
            let top = tempfile::tempdir().expect("a directory");
            let path = |name: &str| top.path().join(name);
            let toolchain = path("toolchain");
            fs::create_dir_all(toolchain.join("lib/deep")).expect("it is ours");
            fs::write(toolchain.join("lib/deep/a.py"), "one").expect("it is ours");
            fs::write(toolchain.join("lib/b.py"), "two").expect("it is ours");
            let saved = SavedDirectory { directory: toolchain.clone(), listings: path("saved"), files: path("saved.files") };
            let scene = Self { top, toolchain, saved };
            scene.settle();
            scene
        }

        /// Waits until the kernel's clock for file times has gone on, so that a stamp from now on differs from all earlier ones.
        fn settle(&self) {
            // Nothing in the scene is newer than this file.
            let last = self.top.path().join("last");
            fs::write(&last, "").expect("it is ours");
            let newest = EntryStamp::of(&lstat(&last).expect("it is there"));
            while newest.trust(clock::now()) != Trust::Settled {
                std::thread::yield_now();
            }
        }

        fn look(&self, depth: LookDepth, bytes: u64) -> LookedDirectory {
            self.saved.look(depth, bytes)
        }
    }

    #[test]
    fn what_was_hashed_once_is_known_by_its_stamps() {
        let scene = Scene::new();
        let hashed = scene.saved.hash();
        assert!(hashed.digest().is_some(), "{hashed:?}");
        for depth in [LookDepth::Listings, LookDepth::EveryStamp] {
            assert_eq!(scene.look(depth, 0), hashed, "{depth:?} reads no file");
        }
        fs::write(scene.toolchain.join("lib/deep/new.py"), "three").expect("it is ours");
        assert_eq!(scene.look(LookDepth::Listings, 0), LookedDirectory::NotHashed, "a new file");
        let with_new = scene.look(LookDepth::Listings, MUCH);
        assert!(with_new.digest().is_some() && with_new != hashed, "{with_new:?}");
        fs::remove_file(scene.toolchain.join("lib/deep/new.py")).expect("it is there");
        assert_eq!(scene.look(LookDepth::Listings, 0), hashed, "the other files are still known");
    }

    #[test]
    fn a_file_changed_in_place_is_seen_by_its_own_stamp_also_with_the_old_times() {
        let scene = Scene::new();
        let hashed = scene.saved.hash();
        let path = scene.toolchain.join("lib/deep/a.py");
        fs::write(&path, "eno").expect("it is ours");
        let old = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(old)).expect("it is ours");
        assert_eq!(scene.look(LookDepth::Listings, MUCH), hashed, "the stamps of the directories say nothing");
        let changed = scene.look(LookDepth::EveryStamp, MUCH);
        assert!(changed.digest().is_some() && changed != hashed, "{changed:?}");
        assert_eq!(scene.look(LookDepth::Listings, 0), changed, "it is remembered");
    }

    #[test]
    fn a_program_changed_in_place_is_seen_where_a_directory_holds_files_alone() {
        let scene = Scene::new();
        let programs = SavedDirectory { directory: scene.toolchain.join("lib/deep"), ..scene.saved.clone() };
        let hashed = programs.hash();
        let saved = || fs::metadata(&programs.listings).expect("it was saved").ino();
        let written = saved();
        assert_eq!(programs.look(LookDepth::Listings, 0), hashed, "it is known");
        assert_eq!(saved(), written, "what is saved already is not written again");
        fs::write(scene.toolchain.join("lib/deep/a.py"), "eno").expect("it is ours");
        assert!(![LookedDirectory::NotHashed, hashed].contains(&programs.look(LookDepth::Listings, MUCH)));
    }

    #[test]
    fn a_file_that_was_changed_and_put_back_shows_it_and_one_that_got_another_link_does_not() {
        let scene = Scene::new();
        let (hashed, before) = scene.saved.hash_and_newest_change();
        let path = scene.toolchain.join("lib/deep/a.py");
        scene.settle();
        fs::hard_link(&path, scene.top.path().join("of another project")).expect("it is ours");
        assert_eq!(scene.saved.hash_and_newest_change(), (hashed, before), "a link changes no content");
        let path = scene.toolchain.join("lib/b.py");
        let times = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("it has one");
        for text in ["eno", "two"] {
            fs::write(&path, text).expect("it is ours");
        }
        fs::File::options().write(true).open(&path).and_then(|file| file.set_modified(times)).expect("it is ours");
        let (content, newest) = scene.saved.hash_and_newest_change();
        assert_eq!(content, hashed);
        assert!(newest > before, "{newest} {before}");
    }

    #[test]
    fn a_single_file_has_a_content_too() {
        let scene = Scene::new();
        let file = SavedDirectory { directory: scene.toolchain.join("lib/b.py"), ..scene.saved.clone() };
        let hashed = file.hash();
        assert!(hashed.digest().is_some(), "{hashed:?}");
        assert_eq!(file.look(LookDepth::Listings, 0), hashed);
        fs::write(scene.toolchain.join("lib/b.py"), "changed").expect("it is ours");
        assert!(![LookedDirectory::NotHashed, hashed].contains(&file.look(LookDepth::Listings, MUCH)));
    }

    #[test]
    fn what_has_no_room_is_not_known_and_what_was_hashed_of_it_is_kept() {
        let scene = Scene::new();
        assert_eq!(scene.look(LookDepth::Listings, 2), LookedDirectory::NotHashed);
        assert_eq!(scene.look(LookDepth::Listings, 3), LookedDirectory::NotHashed, "one of two files");
        assert!(scene.look(LookDepth::Listings, 3).digest().is_some(), "the other one");
    }

    #[test]
    fn modules_that_python_compiles_and_damaged_memories_change_nothing() {
        let scene = Scene::new();
        let hashed = scene.saved.hash();
        fs::create_dir(scene.toolchain.join("lib/__pycache__")).expect("it is ours");
        fs::write(scene.toolchain.join("lib/__pycache__/b.pyc"), "x").expect("it is ours");
        assert_eq!(scene.look(LookDepth::Listings, 0), hashed);
        for saved in [&scene.saved.listings, &scene.saved.files] {
            fs::write(saved, "damaged").expect("it is ours");
        }
        assert_eq!(scene.saved.hash(), hashed);
        assert_eq!(
            SavedDirectory { directory: scene.toolchain.join("gone"), ..scene.saved.clone() }.hash(),
            LookedDirectory::Unreadable
        );
    }

    #[test]
    fn what_is_remembered_of_a_directory_that_is_gone_is_removed() {
        let scene = Scene::new();
        let store = Store::open(&scene.top.path().join("store")).expect("a store");
        let saved = SavedDirectory::of(&store, &scene.toolchain);
        assert!(saved.hash().digest().is_some());
        forget_gone_toolchains(&store);
        assert!(saved.listings.is_file() && saved.files.is_file(), "it is there");
        fs::remove_dir_all(&scene.toolchain).expect("it is ours");
        forget_gone_toolchains(&store);
        assert!(!saved.listings.exists() && !saved.files.exists());
    }
}
