//! Links the packages that an npm lock file names from the home's npm cache. That cache may hold a hundred thousand files,
//! so only the named ones are linked. npm finds a package by the hash in the lock file and checks what it reads.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::own_caches::write_below::WritableDirectory;

/// The lock files of npm, in the order in which npm prefers them.
const LOCK_FILES: &[&str] = &["npm-shrinkwrap.json", "package-lock.json"];
/// The most bytes of a lock file that are read; what follows them is ignored.
const LARGEST_LOCK: u64 = 32 << 20;
const HASHES: &[&str] = &["sha512", "sha1"];

/// Links every package that the lock file in `directory` names and that is in the home's cache.
pub(super) fn link_locked_packages(own: &WritableDirectory, home_cache: &Path, directory: &Path) -> io::Result<()> {
    let Some(lock) = LOCK_FILES.iter().find_map(|name| read_lock(&directory.join(name))) else { return Ok(()) };
    let content = home_cache.join("content-v2");
    if !content.is_dir() {
        return Ok(());
    }
    let own = own.directory(b"npm")?.directory(b"_cacache")?.directory(b"content-v2")?;
    for [hash, first, second, rest] in content_paths(&lock) {
        let target: PathBuf = [content.as_path(), hash.as_ref(), first.as_ref(), second.as_ref(), rest.as_ref()].iter().collect();
        if target.is_file() {
            let below = own.directory(hash.as_bytes())?.directory(first.as_bytes())?.directory(second.as_bytes())?;
            below.link(rest.as_bytes(), &target)?;
        }
    }
    Ok(())
}

fn read_lock(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = String::new();
    file.take(LARGEST_LOCK).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns where npm's cache keeps each package of a lock file: the name of the hash and the hash in three parts.
fn content_paths(lock: &str) -> Vec<[String; 4]> {
    let values = lock.split("\"integrity\"").skip(1).filter_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        value.split('"').next()
    });
    values.flat_map(str::split_whitespace).filter_map(content_path).collect()
}

fn content_path(integrity: &str) -> Option<[String; 4]> {
    let (hash, encoded) = integrity.split_once('-')?;
    let bytes = STANDARD.decode(encoded).ok().filter(|bytes| bytes.len() > 2)?;
    let mut hexadecimal = String::new();
    for byte in bytes {
        write!(hexadecimal, "{byte:02x}").ok()?;
    }
    let (first, second, rest) = (&hexadecimal[..2], &hexadecimal[2..4], &hexadecimal[4..]);
    HASHES.contains(&hash).then(|| [hash, first, second, rest].map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_looked_for_where_npm_keeps_it() {
        let lock = "{\"packages\": {\"node_modules/a\": {\"integrity\": \"sha1-AAECAwQ= sha512-/wD/\"},\n\
            \"node_modules/b\": {\"integrity\" : \"md5-AAECAwQ=\"}, \"node_modules/c\": {\"integrity\": \"sha512-../../x\"}}}";
        let paths: Vec<String> = content_paths(lock).iter().map(|path| path.join("/")).collect();
        assert_eq!(paths, ["sha1/00/01/020304", "sha512/ff/00/ff"]);
    }
}
