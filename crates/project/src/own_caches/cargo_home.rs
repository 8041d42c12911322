//! A `CARGO_HOME` of a project's own, in which cargo finds what the home's has.
//!
//! The packages that `Cargo.lock` names are linked one by one: the home may hold thousands. Without a lock file, every
//! package is linked whose archive is there. Programs, settings and credentials stay the home's; the sandbox hides
//! credentials behind a link as it hides them without.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::own_caches::tool_caches::ToolCaches;
use crate::own_caches::write_below::WritableDirectory;

/// The most bytes of a lock file that are read; what follows them is ignored.
const LARGEST_LOCK: u64 = 32 << 20;
/// The most packages that are linked. The rest is downloaded again.
const MOST_PACKAGES: usize = 10_000;
/// What is linked as a whole.
const SHARED: &[&str] = &["bin", "credentials", "credentials.toml"];
/// The settings. They are left out where cargo finds them above the project anyway, because it would read them twice.
const SETTINGS: &[&str] = &["config", "config.toml"];

/// What a lock file names.
#[derive(Debug, Default, PartialEq, Eq)]
struct LockedPackages {
    /// Packages from registries, as `(name, version)`.
    from_registries: BTreeSet<(String, String)>,
    /// Commits of git repositories, as `(name of the repository, commit)`.
    from_git: BTreeSet<(String, String)>,
}

/// Links what a cargo of this project needs into `own`. What is already there stays, unless it is a link that leads nowhere any
/// more, because the user's own cargo removed an old package.
pub(super) fn link_cargo_home(own: &WritableDirectory, caches: &ToolCaches<'_>) -> io::Result<()> {
    let home = caches.request.cargo_home.filter(|home| home.is_absolute()).map(Path::to_owned);
    let home = home.unwrap_or_else(|| caches.home.join(".cargo"));
    let finds_settings_itself = caches.request.root.starts_with(caches.home);
    let settings = SETTINGS.iter().filter(|_| !finds_settings_itself);
    for name in SHARED.iter().chain(settings).filter(|name| home.join(name).exists()) {
        own.link_anew(name.as_bytes(), &home.join(name))?;
    }
    let registry = home.join("registry");
    let lock = caches.nearest("Cargo.lock").and_then(|path| read_lock(&path));
    let locked = lock.map(|text| locked_packages(&text));
    let own_registry = own.directory(b"registry")?;
    for index in directories_in(&registry.join("index")) {
        let packages = match &locked {
            Some(locked) => locked.from_registries.clone(),
            None => cached_packages(&registry.join("cache").join(&index)),
        };
        Registry { own: &own_registry, home: &registry, index: &index }.link(&packages)?;
    }
    match &locked {
        Some(locked) if !locked.from_git.is_empty() => link_repositories(own, &home, &locked.from_git),
        Some(_) | None => Ok(()),
    }
}

/// One registry: a directory of the same name lies below `index`, `cache` and `src`.
struct Registry<'r> {
    own: &'r WritableDirectory,
    home: &'r Path,
    index: &'r str,
}

impl Registry<'_> {
    fn link(&self, packages: &BTreeSet<(String, String)>) -> io::Result<()> {
        let part = |name: &str| self.own.directory(name.as_bytes())?.directory(self.index.as_bytes());
        let [index, cache, src] = [part("index")?, part("cache")?, part("src")?];
        let from = |name: &str| self.home.join(name).join(self.index);
        let configuration = from("index").join("config.json");
        if configuration.is_file() && !index.has(b"config.json") {
            // cargo writes it anew from time to time.
            index.copy(b"config.json", &configuration)?;
        }
        let index = index.directory(b".cache")?;
        for (name, version) in packages.iter().take(MOST_PACKAGES) {
            let named = format!("{name}-{version}");
            let archive = format!("{named}.crate");
            if cache.leads_somewhere(archive.as_bytes()) && src.leads_somewhere(named.as_bytes()) {
                continue;
            }
            let place = index_place(name);
            let known = place.iter().fold(from("index").join(".cache"), |path, part| path.join(part));
            if known.is_file()
                && let Some((file, directories)) = place.split_last()
            {
                let mut below = None;
                for directory in directories {
                    below = Some(below.as_ref().unwrap_or(&index).directory(directory.as_bytes())?);
                }
                below.as_ref().unwrap_or(&index).link_anew(file.as_bytes(), &known)?;
            }
            for (part, own, file) in [("cache", &cache, archive), ("src", &src, named)] {
                let target = from(part).join(&file);
                own.unlink_if_dangling(file.as_bytes());
                if target.exists() {
                    own.link(file.as_bytes(), &target)?;
                }
            }
        }
        Ok(())
    }
}

/// Links the checkouts of these commits, and their repositories. A repository without the commit is not linked, because cargo
/// has to fetch into it.
fn link_repositories(own: &WritableDirectory, home: &Path, commits: &BTreeSet<(String, String)>) -> io::Result<()> {
    let (checkouts, databases) = (home.join("git/checkouts"), home.join("git/db"));
    let git = own.directory(b"git")?;
    for repository in directories_in(&checkouts) {
        let name = repository.rsplit_once('-').map_or(repository.as_str(), |(name, _hash)| name);
        let wanted: Vec<&String> = commits.iter().filter(|(of, _)| of == name).map(|(_, commit)| commit).collect();
        let found: Vec<String> = directories_in(&checkouts.join(&repository));
        let there = |commit: &&String| found.iter().any(|short| !short.is_empty() && commit.starts_with(short.as_str()));
        if wanted.is_empty() {
            continue;
        }
        let own_databases = git.directory(b"db")?;
        if !wanted.iter().all(there) {
            own_databases.unlink_link(repository.as_bytes());
            continue;
        }
        own_databases.link_anew(repository.as_bytes(), &databases.join(&repository))?;
        let own_checkouts = git.directory(b"checkouts")?.directory(repository.as_bytes())?;
        for short in found.iter().filter(|short| wanted.iter().any(|commit| commit.starts_with(short.as_str()))) {
            own_checkouts.link_anew(short.as_bytes(), &checkouts.join(&repository).join(short))?;
        }
    }
    Ok(())
}

/// Returns where an index keeps what it knows of a package, as names of directories and a file.
fn index_place(name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let part = |range: std::ops::Range<usize>| name.get(range).unwrap_or_default().to_owned();
    match name.len() {
        0..=2 => vec![name.len().to_string(), name],
        3 => vec!["3".to_owned(), part(0..1), name],
        _ => vec![part(0..2), part(2..4), name],
    }
}

fn read_lock(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = String::new();
    file.take(LARGEST_LOCK).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns what a lock file names. cargo writes one field of a package on a line. A name that could lead out of a directory is
/// left out.
fn locked_packages(lock: &str) -> LockedPackages {
    let mut packages = LockedPackages::default();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'));
            line.filter(|value| !value.is_empty())
        };
        let (Some(name), Some(version), Some(source)) = (field("name"), field("version"), field("source")) else { continue };
        if let Some((url, commit)) = source.strip_prefix("git+").and_then(|source| source.split_once('#')) {
            let url = url.split('?').next().unwrap_or_default().trim_end_matches('/');
            let repository = url.rsplit('/').next().unwrap_or_default().trim_end_matches(".git");
            packages.from_git.insert((repository.to_owned(), commit.to_owned()));
        } else if [name, version].iter().all(|part| is_plain(part)) {
            packages.from_registries.insert((name.to_owned(), version.to_owned()));
        }
    }
    packages
}

/// Returns the packages whose archives lie in a directory.
fn cached_packages(directory: &Path) -> BTreeSet<(String, String)> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| split_archive_name(name.strip_suffix(".crate")?)).collect()
}

/// Splits `serde_json-1.0.1` before the version, which begins with a number and a dot.
fn split_archive_name(name: &str) -> Option<(String, String)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = |text: &str| text.split_once('.').is_some_and(|(first, _)| is_number(first));
    let (at, _) = name.match_indices('-').find(|(at, _)| is_version(&name[at + 1..]))?;
    Some((name[..at].to_owned(), name[at + 1..].to_owned()))
}

fn is_plain(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+".contains(&byte)) && !part.starts_with('.')
}

fn directories_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_packages_and_commits_and_nothing_outside() {
        let lock = "version = 4\n\n[[package]]\nname = \"itoa\"\nversion = \"1.0.1\"\nsource = \"registry+https://x\"\nchecksum = \"0\"\n\n\
            [[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\n \"itoa\",\n]\n\n\
            [[package]]\nname = \"../../evil\"\nversion = \"1.0.0\"\nsource = \"registry+https://x\"\n\n\
            [[package]]\nname = \"tool\"\nversion = \"0.2.0\"\nsource = \"git+https://x/y/tools.git?branch=main#0123456789abcdef\"\n";
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        let expected = LockedPackages {
            from_registries: [pair("itoa", "1.0.1")].into(),
            from_git: [pair("tools", "0123456789abcdef")].into(),
        };
        assert_eq!(locked_packages(lock), expected);
    }

    #[test]
    fn names_lie_where_cargo_keeps_them() {
        let place = |name: &str| index_place(name).join("/");
        assert_eq!(["a", "cc", "syn", "Serde"].map(place), ["1/a", "2/cc", "3/s/syn", "se/rd/serde"]);
        let split = |name: &str| split_archive_name(name).map(|(name, version)| format!("{name} {version}"));
        assert_eq!(split("serde_json-1.0.1"), Some("serde_json 1.0.1".to_owned()));
        assert_eq!(split("sha-1-0.10.1-pre.2"), Some("sha-1 0.10.1-pre.2".to_owned()));
        assert_eq!(split("readme"), None);
    }
}
