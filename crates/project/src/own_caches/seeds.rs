//! Links a project's caches to `~/.cache`.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::own_caches::SeenHome;
use crate::own_caches::write_below::WritableDirectory;
use proctor_model::ActionPhase;

/// How one entry of `~/.cache` is brought into a project's cache directory.
struct Seed {
    name: &'static str,
    /// How many levels of directories are made anew, so that the project can add entries to them. What lies deeper is linked.
    levels: u32,
    /// The names of directories whose subdirectories are linked, although these subdirectories lie on a level that is
    /// made anew.
    linked_in: &'static [&'static str],
    small_files: SmallFiles,
}

/// What becomes of the small files of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SmallFiles {
    /// Small files are linked, as large files are. A small file may hold secrets, which stay hidden behind a link.
    Linked,
    /// Small files are copied, because the tool changes them in place: indexes, locks, databases.
    Copied,
}

const fn seed(name: &'static str, levels: u32) -> Seed {
    Seed { name, levels, linked_in: &[], small_files: SmallFiles::Linked }
}

/// The entries of `~/.cache` that tools need in a certain way. `EVERY_OTHER` applies to entries that are not named.
const SEEDS: &[Seed] = &[
    Seed { small_files: SmallFiles::Copied, ..seed("pip", 12) },
    seed("yarn", 2),
    Seed { linked_in: &["virtualenvs"], small_files: SmallFiles::Copied, ..seed("pypoetry", 12) },
    // The database of pre-commit names its environments by their absolute paths in the home.
    Seed { small_files: SmallFiles::Copied, ..seed("pre-commit", 1) },
];

const EVERY_OTHER: Seed = seed("", 2);

/// Caches that a tool writes to in many places, and that are too large to be linked file by file. Nothing is linked
/// for them, so each project begins with an empty cache. uv refuses a linked directory (`archive-v0`), and installs a
/// part of a package if only a part of its files is there. virtualenv, which Poetry and tox use, locks files beside its images.
const EMPTY_AT_FIRST: &[&str] =
    &["bazel", "ccache", "go-build", "golangci-lint", "mesa_shader_cache", "sccache", "staticcheck", "uv", "virtualenv"];

/// The size in bytes up to which a file counts as small.
const SMALL: u64 = 64 * 1024;
/// The most entries that are made for one entry of `~/.cache`. The rest is missing in the project's cache.
const MOST_ENTRIES: u32 = 20_000;
/// A directory with more entries than this is linked as a whole, unless `SEEDS` names its cache.
const LARGE_DIRECTORY: usize = 500;
/// A link that leads nowhere. It says that the last links were those of a check, which leave out what it does not see.
const FOR_CHECKS: &[u8] = b".linked-for-checks";

/// Links the project's cache directory to the home's. The entries of `EMPTY_AT_FIRST` are left out.
///
/// A prerequisite gets links to everything, and what the user downloaded since the last one is linked too. A check gets links
/// only to what it sees: it could not write to a file of its own cache whose name is a link that leads nowhere.
pub(super) fn link_home_cache(
    own: &WritableDirectory,
    home_cache: &Path,
    phase: ActionPhase,
    seen: SeenHome<'_>,
) -> io::Result<()> {
    let is_limited = seen.0.is_some();
    let is_renewed = phase == ActionPhase::Prerequisite || is_limited != own.has(FOR_CHECKS);
    for entry in fs::read_dir(home_cache)?.flatten() {
        let name = entry.file_name();
        let named = SEEDS.iter().find(|seed| OsStr::new(seed.name) == name);
        let seed = named.unwrap_or(&EVERY_OTHER);
        let is_empty = EMPTY_AT_FIRST.iter().any(|empty| OsStr::new(empty) == name);
        if is_empty || (own.has(name.as_bytes()) && !is_renewed) {
            continue;
        }
        let mut linking = Linking { seed, is_named: named.is_some(), left: MOST_ENTRIES, seen };
        let _incomplete = linking.entry(own, &entry, seed.levels, false);
    }
    if is_limited {
        return own.link(FOR_CHECKS, Path::new("nowhere"));
    }
    own.unlink_link(FOR_CHECKS);
    Ok(())
}

/// Links a directory of the home that lies outside of `~/.cache` and that every action sees, under another name. `levels` levels
/// of directories in it are made anew. Before every prerequisite, what is new in the home is linked too.
pub(super) fn link_directory(
    own: &WritableDirectory,
    name: &[u8],
    from: &Path,
    levels: u32,
    phase: ActionPhase,
) -> io::Result<()> {
    if own.has(name) && phase != ActionPhase::Prerequisite {
        return Ok(());
    }
    let below = own.directory(name)?;
    let mut linking = Linking { seed: &EVERY_OTHER, is_named: true, left: MOST_ENTRIES, seen: SeenHome(None) };
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let _missing = linking.entry(&below, &entry, levels, false);
    }
    Ok(())
}

struct Linking<'s> {
    seed: &'s Seed,
    is_named: bool,
    left: u32,
    seen: SeenHome<'s>,
}

impl Linking<'_> {
    /// Links one entry. `levels` is the number of levels that are still made anew.
    fn entry(&mut self, own: &WritableDirectory, entry: &DirEntry, levels: u32, is_linked: bool) -> io::Result<()> {
        let (file_name, path, kind) = (entry.file_name(), entry.path(), entry.file_type()?);
        let name = file_name.as_bytes();
        let Some(left) = self.left.checked_sub(1) else { return Ok(()) };
        self.left = left;
        let is_seen = self.seen.has(&path);
        if !is_seen && !own.has(name) {
            return Ok(());
        }
        if kind.is_dir() && levels > 0 && !is_linked {
            let mut entries: Vec<DirEntry> = fs::read_dir(&path)?.flatten().collect();
            if self.is_named || entries.len() <= LARGE_DIRECTORY {
                let below = own.directory(name)?;
                let are_linked = self.seed.linked_in.iter().any(|linked| OsStr::new(linked) == file_name);
                entries.sort_by_key(DirEntry::file_name);
                for inner in entries {
                    // An entry that cannot be linked is missing in the project's cache.
                    let _missing = self.entry(&below, &inner, levels - 1, are_linked);
                }
                return Ok(());
            }
        }
        if !is_seen {
            own.unlink_link(name);
            return Ok(());
        }
        own.unlink_if_dangling(name);
        if own.has(name) {
            return Ok(());
        }
        if kind.is_symlink() {
            // A relative link leads to the same entry in the project's cache.
            return own.link(name, &fs::read_link(&path)?);
        }
        let is_small = kind.is_file() && entry.metadata()?.len() <= SMALL;
        match self.seed.small_files {
            SmallFiles::Copied if is_small => own.copy(name, &path),
            SmallFiles::Copied | SmallFiles::Linked if kind.is_file() || kind.is_dir() => own.link(name, &path),
            // Sockets and pipes belong to the process that made them.
            SmallFiles::Copied | SmallFiles::Linked => Ok(()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the caches that are linked")]
mod tests {
    use super::*;

    /// Makes a home's cache from names of files, links a project's cache to it, and returns the directory that holds
    /// both as `home` and `own`.
    fn linked(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("own")).expect("made");
        for file in files {
            let path = root.path().join("home").join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            fs::write(path, "home").expect("written");
        }
        link(&root, ActionPhase::Prerequisite);
        root
    }

    fn link(root: &tempfile::TempDir, phase: ActionPhase) {
        let own = WritableDirectory::open(&root.path().join("own")).expect("opened");
        let seen = [root.path().join("home/playwright")];
        let seen = if phase == ActionPhase::Prerequisite { SeenHome(None) } else { SeenHome(Some(&seen)) };
        link_home_cache(&own, &root.path().join("home"), phase, seen).expect("linked");
    }

    fn is_link(root: &tempfile::TempDir, path: &str) -> bool {
        root.path().join("own").join(path).symlink_metadata().expect("there").is_symlink()
    }

    #[test]
    fn the_upper_levels_are_the_projects_own_and_what_lies_deeper_is_linked() {
        let root = linked(&[
            "tool/1.0/data/x",
            "pre-commit/db.db",
            "pre-commit/repo/x",
            "pypoetry/virtualenvs/id/x",
            "uv/x/y",
            "virtualenv/wheel/x",
        ]);
        assert!(!is_link(&root, "tool/1.0") && is_link(&root, "tool/1.0/data"));
        assert!(!is_link(&root, "pre-commit/db.db") && is_link(&root, "pre-commit/repo"));
        assert!(!is_link(&root, "pypoetry/virtualenvs") && is_link(&root, "pypoetry/virtualenvs/id"));
        assert!(["own/uv", "own/virtualenv"].into_iter().all(|empty| !root.path().join(empty).exists()));
    }

    #[test]
    fn what_the_user_downloads_later_is_seen_by_the_next_installation() {
        let root = linked(&["pip/http-v2/a/1"]);
        fs::write(root.path().join("own/pip/http-v2/a/1"), "own").expect("written");
        fs::write(root.path().join("home/pip/http-v2/a/2"), "home").expect("written");
        link(&root, ActionPhase::Step);
        assert!(!root.path().join("own/pip/http-v2/a/2").exists());
        link(&root, ActionPhase::Prerequisite);
        let content = |name: &str| fs::read_to_string(root.path().join("own/pip/http-v2/a").join(name)).expect("read");
        assert_eq!((content("1"), content("2")), ("own".to_owned(), "home".to_owned()));
    }

    #[test]
    fn a_check_has_no_link_to_what_it_does_not_see() {
        let large = "pip/http-v2/large";
        let root = linked(&["tool/1.0/data/x", "playwright/chromium/x", "pip/http-v2/small"]);
        fs::write(root.path().join("home").join(large), vec![0_u8; 65 * 1024]).expect("written");
        let has = |path: &str| root.path().join("own").join(path).symlink_metadata().is_ok();
        for _ in 0..2 {
            link(&root, ActionPhase::Prerequisite);
            assert!(["tool/1.0/data", "playwright/chromium/x", large].into_iter().all(has));
            link(&root, ActionPhase::Step);
            assert!(!has("tool/1.0/data") && !has(large));
            assert!(
                has("tool/1.0") && has("playwright/chromium/x") && has("pip/http-v2/small"),
                "what is the project's own stays"
            );
        }
        let linked_by_an_earlier_version = root.path().join("own/tool/1.0/data");
        std::os::unix::fs::symlink("/nowhere", &linked_by_an_earlier_version).expect("linked");
        fs::remove_file(root.path().join("own/.linked-for-checks")).expect("removed");
        link(&root, ActionPhase::Step);
        assert!(!has("tool/1.0/data"));
        fs::remove_dir_all(root.path().join("own")).expect("removed");
        fs::create_dir(root.path().join("own")).expect("made");
        link(&root, ActionPhase::Step);
        assert!(!has("tool") && !has("pip") && has("playwright/chromium/x"));
    }

    #[test]
    fn a_link_that_tested_code_put_into_the_cache_leads_nowhere() {
        let root = linked(&["pip/http-v2/a/1"]);
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("made");
        fs::remove_dir_all(root.path().join("own/pip/http-v2")).expect("removed");
        std::os::unix::fs::symlink(&elsewhere, root.path().join("own/pip/http-v2")).expect("linked");
        link(&root, ActionPhase::Prerequisite);
        assert_eq!(fs::read_dir(&elsewhere).expect("read").count(), 0);
    }
}
