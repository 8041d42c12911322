//! What a closed world shows of a project's git directories: the files that git itself owns, and of the configuration only
//! what says how the repository is stored. Hooks, settings and whatever else lies there are hidden.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proctor_git::{find_git_directories, find_git_location};
use proctor_model::Access;

/// What git keeps for all worktrees of a repository (gitrepository-layout(5)).
const OF_REPOSITORY: &str = "\
    HEAD info/attributes info/exclude info/grafts info/sparse-checkout objects packed-refs refs reftable shallow";

/// What git keeps for one worktree.
const OF_WORKTREE: &str = "\
    AUTO_MERGE BISECT_LOG CHERRY_PICK_HEAD FETCH_HEAD HEAD MERGE_HEAD MERGE_MODE MERGE_MSG ORIG_HEAD REVERT_HEAD commondir \
    gitdir index refs";

/// Which of these names git gives to directories. All others are files.
const DIRECTORIES: &[&str] = &["objects", "refs", REFERENCE_TABLES];
/// The directory of references that are kept in tables (`git init --ref-format=reftable`), and the list of the tables.
const REFERENCE_TABLES: &str = "reftable";
const LIST_OF_TABLES: &str = "tables.list";

/// The files with settings. A repository's own settings can make git run any program.
const CONFIGURATION: &[&str] = &["config", "config.worktree"];

/// The settings that say how a repository is stored; everything in the section `extensions` belongs to them too.
const STORAGE_SETTINGS: &[&str] =
    &["repositoryformatversion", "bare", "worktree", "filemode", "symlinks", "ignorecase", "precomposeunicode"];

/// The most bytes of a configuration that are read. A larger one shows nothing.
const LARGEST_CONFIGURATION: u64 = 1 << 20;
/// How many digits names of objects have.
const SHA1_DIGITS: usize = 40;
const SHA256_DIGITS: usize = 64;
/// What git keeps in `objects/info`.
const OBJECT_LISTS: &[&str] = &["alternates", "commit-graph", COMMIT_GRAPHS, "http-alternates", "packs"];
/// The directory of the lists of commits that build on each other.
const COMMIT_GRAPHS: &str = "commit-graphs";
/// The kinds of files that packs and lists consist of.
const PACK_FILES: &[&str] = &["pack", "idx", "rev", "bitmap", "keep", "promisor", "mtimes", "graph"];
/// The most files and directories of references that are looked at.
const MOST_REFERENCES: u32 = 100_000;
/// The most bytes that a file of a reference has: names of references have at most 4,096.
const LARGEST_REFERENCE: u64 = 5_000;
/// How deep the directories of submodules lie at most below `modules`: the name of a submodule may have slashes.
const DEEPEST_SUBMODULE: u32 = 4;

/// What is hidden in directories of references, by directory. A run looks once, because there may be many.
#[derive(Debug, Default)]
pub struct KnownReferences(Mutex<BTreeMap<PathBuf, Vec<PathBuf>>>);

impl KnownReferences {
    fn hidden_in(&self, references: &Path) -> Vec<PathBuf> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(references.to_owned()).or_insert_with(|| foreign_references(references, MOST_REFERENCES)).clone()
    }

    /// Returns what to say of references that actions did not see because there are too many to look at; `None` if there are none.
    pub fn unseen(&self) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Only a directory of too many is hidden as a whole.
        let unread = known.values().flatten().find(|hidden| hidden.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()))?;
        let advice = "`git pack-refs --all` makes one file of them";
        Some(format!("checks do not see the more than {MOST_REFERENCES} references in `{}`: {advice}", unread.display()))
    }
}

/// Returns the places of a project's git directories, each with the access that an action has. Not all of them exist.
pub(super) fn git_places(project: &Path, known: &KnownReferences) -> Vec<(PathBuf, Access)> {
    let mut places = Vec::new();
    let location = find_git_location(project);
    let entries = [Some(project), location.as_ref().map(|location| location.work_tree.as_path())];
    for entry in entries.into_iter().flatten().map(|directory| directory.join(".git")) {
        // git itself may not recognise the directory, which may become a repository at any moment.
        if entry.is_dir() {
            show_git_directory(&entry, &[OF_REPOSITORY, OF_WORKTREE], known, &mut places);
        } else {
            places.push((entry, Access::ReadOnly));
        }
    }
    if let Some((git_directory, common)) = find_git_directories(project) {
        let is_linked = git_directory.canonicalize().is_ok_and(|real| real != common);
        show_git_directory(&git_directory, &[OF_REPOSITORY, OF_WORKTREE], known, &mut places);
        if is_linked {
            show_git_directory(&common, &[OF_REPOSITORY], known, &mut places);
        }
        show_submodules(&common.join("modules"), DEEPEST_SUBMODULE, known, &mut places);
        for objects in borrowed_objects(&common) {
            places.extend(foreign_objects(&objects).into_iter().map(|path| (path, Access::Hidden)));
            places.push((objects, Access::ReadOnly));
        }
    }
    places
}

fn show_git_directory(directory: &Path, names: &[&str], known: &KnownReferences, places: &mut Vec<(PathBuf, Access)>) {
    // What lies behind a link is not the repository's own.
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let Ok(directory) = directory.canonicalize() else { return };
    // A project's own entry mostly is the directory that git finds. To list its objects takes long.
    if places.contains(&(directory.clone(), Access::Hidden)) {
        return;
    }
    let paths = names.iter().flat_map(|names| names.split(' ')).map(|name| (directory.join(name), DIRECTORIES.contains(&name)));
    let own = paths.filter(|(path, is_directory)| !is_link(path) && path.is_dir() == *is_directory);
    places.extend(own.map(|(path, _)| (path, Access::ReadOnly)));
    for path in CONFIGURATION.iter().map(|name| directory.join(name)).filter(|path| path.is_file() && !is_link(path)) {
        places.push((path.clone(), Access::Text { content: storage_settings(&read_configuration(&path)) }));
    }
    let foreign = foreign_objects(&directory.join("objects"))
        .into_iter()
        .chain(known.hidden_in(&directory.join("refs")))
        .chain(foreign_tables(&directory.join(REFERENCE_TABLES)));
    places.extend(foreign.map(|path| (path, Access::Hidden)));
    places.push((directory, Access::Hidden));
}

/// Returns what is not git's own in a directory of objects, by its name: git has directories for packs, and one for each two digits
/// with which names of objects begin.
fn foreign_objects(objects: &Path) -> Vec<PathBuf> {
    let mut foreign = Vec::new();
    for entry in fs::read_dir(objects).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_directory_of_objects(name)) else {
            foreign.push(entry.path());
            continue;
        };
        let is_own = |below: &str| match name {
            "pack" => is_list_or_pack(below),
            "info" => OBJECT_LISTS.contains(&below),
            _ => [SHA1_DIGITS - 2, SHA256_DIGITS - 2].contains(&below.len()) && is_hexadecimal(below),
        };
        let is_own_entry = |below: &DirEntry| {
            let is_list = |kind: fs::FileType| kind.is_dir() && below.file_name() == COMMIT_GRAPHS;
            below.file_name().to_str().is_some_and(is_own) && below.file_type().is_ok_and(|kind| kind.is_file() || is_list(kind))
        };
        let graphs = fs::read_dir(entry.path().join(COMMIT_GRAPHS)).into_iter().flatten().flatten();
        let is_graph = |graph: &DirEntry| {
            graph.file_name().to_str().is_some_and(is_list_or_pack) && graph.file_type().is_ok_and(|kind| kind.is_file())
        };
        foreign.extend(graphs.filter(|graph| !is_graph(graph)).map(|graph| graph.path()));
        let below = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        foreign.extend(below.filter(|below| !is_own_entry(below)).map(|below| below.path()));
    }
    foreign
}

/// Returns whether git gives a file of packs, or of the list of packs or commits, such a name.
fn is_list_or_pack(name: &str) -> bool {
    let named = ["pack-", "multi-pack-index-", "graph-"].into_iter().find_map(|prefix| name.strip_prefix(prefix));
    let is_named = |(digest, kind): (&str, &str)| {
        [SHA1_DIGITS, SHA256_DIGITS].contains(&digest.len()) && is_hexadecimal(digest) && PACK_FILES.contains(&kind)
    };
    ["multi-pack-index", "commit-graph-chain"].contains(&name)
        || named.and_then(|named| named.split_once('.')).is_some_and(is_named)
}

fn is_directory_of_objects(name: &str) -> bool {
    ["info", "pack"].contains(&name) || name.len() == 2 && is_hexadecimal(name)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Returns the files below a directory of references that are none: git lets a branch be called `conftest.py` too, so the content
/// decides. The directories in which there are too many to look at count as foreign.
fn foreign_references(references: &Path, most: u32) -> Vec<PathBuf> {
    let (mut foreign, mut waiting, mut looked) = (Vec::new(), vec![references.to_owned()], 0);
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked += 1;
            if looked > most {
                foreign.push(directory);
                break;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => foreign.push(entry.path()),
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(_) if is_reference(&entry.path()) => {}
                Ok(_) | Err(_) => foreign.push(entry.path()),
            }
        }
    }
    foreign
}

/// Returns what is not git's own in a directory of tables of references, by its name: a table is called `0x…-0x…-….ref`.
fn foreign_tables(tables: &Path) -> Vec<PathBuf> {
    let is_table = |name: &str| name == LIST_OF_TABLES || (name.starts_with("0x") && name.ends_with(".ref"));
    let entries = fs::read_dir(tables).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| !path.file_name().and_then(|name| name.to_str()).is_some_and(is_table) || !path.is_file()).collect()
}

/// Returns whether a file has what git writes for a reference: the name of an object, or of another reference.
fn is_reference(path: &Path) -> bool {
    let is_small = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LARGEST_REFERENCE);
    let text = if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
    let line = text.trim_end();
    let is_symbolic = line.strip_prefix("ref: refs/").is_some_and(|name| !name.contains(char::is_whitespace));
    is_symbolic || [SHA1_DIGITS, SHA256_DIGITS].contains(&line.len()) && is_hexadecimal(line)
}

fn show_submodules(directory: &Path, levels: u32, known: &KnownReferences, places: &mut Vec<(PathBuf, Access)>) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.join("HEAD").is_file() {
            show_git_directory(&path, &[OF_REPOSITORY, OF_WORKTREE], known, places);
            show_submodules(&path.join("modules"), levels.saturating_sub(1), known, places);
        } else if levels > 0 && path.is_dir() {
            show_submodules(&path, levels - 1, known, places);
        }
    }
}

/// Returns the directories of objects that a repository borrows from others (`objects/info/alternates`).
fn borrowed_objects(common: &Path) -> Vec<PathBuf> {
    let objects = common.join("objects");
    let text = read_configuration(&objects.join("info/alternates"));
    let is_store = |path: &PathBuf| path.ends_with("objects") && path.join("pack").is_dir();
    text.lines().map(|line| objects.join(line.trim())).filter(is_store).collect()
}

fn read_configuration(path: &Path) -> String {
    let is_small = path.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST_CONFIGURATION);
    if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// Returns the lines of a git configuration that say how the repository is stored.
fn storage_settings(text: &str) -> String {
    let mut kept = String::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            section = rest.split(']').next().unwrap_or_default().trim().to_ascii_lowercase();
            continue;
        }
        let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        let is_kept = match section.as_str() {
            "core" => STORAGE_SETTINGS.contains(&key.as_str()),
            "extensions" => !key.is_empty() && !key.starts_with(['#', ';']),
            _ => false,
        };
        // A value that goes on in the next line is none of these settings.
        if is_kept && !line.ends_with('\\') {
            kept.push_str(&format!("[{section}]\n\t{line}\n"));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_configuration_stays_what_says_how_the_repository_is_stored() {
        let text = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\thooksPath = /evil\n\tfsmonitor = /evil\n\
                    [extensions]\n\tobjectFormat = sha256\n[user]\n\tname = Ada\n[filter \"x\"]\n\tsmudge = /evil\n\
                    [CORE] ; again\n\tsshCommand = /evil\n\tIgnoreCase = true\n";
        let kept = storage_settings(text);
        assert_eq!(
            kept,
            "[core]\n\trepositoryformatversion = 1\n[core]\n\tbare = false\n[extensions]\n\tobjectFormat = sha256\n[core]\n\tIgnoreCase = true\n"
        );
    }

    #[test]
    fn where_there_are_too_many_references_whole_directories_are_hidden() {
        let root = tempfile::tempdir().expect("a directory");
        for number in 0..4 {
            let path = root.path().join(format!("heads/x{number}"));
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::io::Write::write_all(&mut fs::File::create(path).expect("made"), &[b'a'; SHA1_DIGITS]).expect("written");
        }
        assert_eq!(foreign_references(root.path(), 5), Vec::<PathBuf>::new());
        assert_eq!(foreign_references(root.path(), 4), [root.path().join("heads")]);
        let known = |found| KnownReferences(Mutex::new([(root.path().to_owned(), vec![root.path().join(found)])].into()));
        assert!(known("heads").unseen().is_some_and(|said| said.contains("heads`")));
        assert_eq!(known("heads/x1").unseen(), None, "it is no reference");
    }

    #[test]
    fn a_linked_worktree_shows_its_own_directory_and_what_all_worktrees_share() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("it is there");
        let file = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().expect("a parent")).expect("made");
            std::io::Write::write_all(&mut fs::File::create(root.join(name)).expect("made"), text.as_bytes()).expect("written");
        };
        file("main/.git/HEAD", "ref: refs/heads/main\n");
        file("main/.git/config", "[core]\n\tbare = false\n");
        file("main/.git/worktrees/shop/commondir", "../..\n");
        file("main/.git/worktrees/shop/HEAD", "ref: refs/heads/shop\n");
        let name = "0123456789abcdef0123456789abcdef01234567";
        file(&format!("main/.git/objects/ab/{}", &name[2..]), "");
        file("main/.git/objects/ab/conftest.py", "");
        file("main/.git/objects/pack/conftest.py", "");
        file("main/.git/objects/pack/pack-0123456789abcdef0123456789abcdef01234567.idx", "");
        file("main/.git/objects/pack/pack-evil.sh", "");
        file("main/.git/objects/info/commit-graphs/graph-0123456789abcdef0123456789abcdef01234567.graph", "");
        file("main/.git/objects/info/commit-graphs/evil.sh", "");
        file("main/.git/refs/heads/main.py", &format!("{name}\n"));
        file("main/.git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n");
        // Where git has a file, a directory is none of git's, and what another repository lends has objects alone.
        for name in ["main/.git/info/grafts/conftest.py", "main/.git/worktrees/shop/MERGE_MSG/conftest.py"] {
            file(name, "");
        }
        file("main/.git/reftable/conftest.py", "");
        file("main/.git/reftable/tables.list", "");
        file("main/.git/reftable/0x000000000001-0x000000000002-4c71a9e5.ref", "");
        file("main/.git/objects/info/alternates", &format!("{}/lender/objects\n", root.display()));
        file("lender/objects/pack/conftest.py", "");
        file("lender/objects/conftest.py", "");
        file("main/.git/refs/conftest.py", "import os\n");
        file("main/.git/refs/heads/x/conftest.py", "ref: print(1)\n");
        file("main/.git/worktrees/shop/refs/conftest.py", "");
        file("main/.git/objects/x/conftest.py", "");
        file("shop/.git", &format!("gitdir: {}/main/.git/worktrees/shop\n", root.display()));
        let places = git_places(&root.join("shop"), &KnownReferences::default());
        let access = |name: &str| places.iter().find(|(path, _)| *path == root.join(name)).map(|(_, access)| access.clone());
        for shown in ["shop/.git", "main/.git/objects", "main/.git/refs", "main/.git/reftable", "lender/objects"] {
            assert_eq!(access(shown), Some(Access::ReadOnly), "{shown}");
        }
        let hidden = [
            "main/.git",
            "main/.git/worktrees/shop",
            "main/.git/worktrees/shop/refs/conftest.py",
            "main/.git/objects/x",
            "main/.git/reftable/conftest.py",
            "lender/objects/conftest.py",
            "lender/objects/pack/conftest.py",
            "main/.git/objects/ab/conftest.py",
            "main/.git/objects/pack/conftest.py",
            "main/.git/objects/pack/pack-evil.sh",
            "main/.git/objects/info/commit-graphs/evil.sh",
            "main/.git/refs/conftest.py",
            "main/.git/refs/heads/x/conftest.py",
        ];
        for hidden in hidden {
            assert_eq!(access(hidden), Some(Access::Hidden), "{hidden}");
        }
        assert_eq!(access("main/.git/config"), Some(Access::Text { content: "[core]\n\tbare = false\n".to_owned() }));
        for absent in [
            "main/.git/index",
            "main/.git/info/grafts",
            "main/.git/worktrees/shop/MERGE_MSG",
            "main/.git/reftable/tables.list",
            "main/.git/reftable/0x000000000001-0x000000000002-4c71a9e5.ref",
            "main/.git/hooks",
            "main/.git/worktrees",
            "main/.git/info",
            "main/.git/logs",
            "main/.git/objects/ab",
            "main/.git/objects/pack/pack-0123456789abcdef0123456789abcdef01234567.idx",
            "main/.git/objects/info/commit-graphs",
            "main/.git/objects/info/commit-graphs/graph-0123456789abcdef0123456789abcdef01234567.graph",
            "main/.git/refs/heads/main.py",
            "main/.git/refs/remotes/origin/HEAD",
        ] {
            assert_eq!(access(absent), None, "{absent}");
        }
    }
}
