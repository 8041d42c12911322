//! Reads and writes the unit files, and reads whether the user's services keep running without a session. Nothing is
//! decided here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::unistd::{User, getuid};

/// logind's directory with a file for every user whose services keep running without a session (`loginctl(1)`, `enable-linger`).
const LINGER: &str = "/var/lib/systemd/linger";

/// Returns the directory of the user's unit files; `None` if neither `XDG_CONFIG_HOME` nor `HOME` is an
/// absolute path.
pub(crate) fn unit_directory(variables: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variables.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("systemd/user"))
}

/// Returns the content of a unit file; `None` if there is no file. A link is not followed, because its target is not
/// proctor's file. A link, a directory or any other kind of file counts as an empty file.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_file() => fs::read(path).map(Some),
        Ok(_) => Ok(Some(Vec::new())),
    }
}

/// Writes a unit file atomically: a reader finds either the old file or the whole new one.
#[expect(clippy::disallowed_methods, reason = "the service manager may read the file at any moment, so it is replaced at once")]
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    // The new text is written to a file beside the unit file first. systemd ignores files with the ending `.new`.
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        let _never_made = fs::remove_file(&beside);
    }
    placed
}

/// Removes a unit file. It is no error if there is none.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns device and inode of a file, with links followed: two paths with the same pair lead to one file. `None` if there is no
/// file.
pub(crate) fn file_identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

pub(crate) fn user_name() -> Option<String> {
    User::from_uid(getuid()).ok().flatten().map(|user| user.name)
}

/// Returns whether the user's services keep running without a session.
pub(crate) fn lingers(user: &str) -> bool {
    Path::new(LINGER).join(user).exists()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_unit_file_is_replaced_as_a_whole_and_a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("systemd/user/proctor.service");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some(b"two".as_slice()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["proctor.service"]);
        remove(&path).unwrap();
        remove(&path).unwrap();
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert_eq!(read(&path).unwrap(), Some(Vec::new()), "a masked unit is somebody's decision");
    }

    #[test]
    fn unit_files_lie_where_the_service_manager_looks() {
        let directory =
            |pairs: &[(&str, &str)]| unit_directory(&pairs.iter().map(|(name, value)| (name.into(), value.into())).collect());
        assert_eq!(directory(&[("HOME", "/h")]), Some("/h/.config/systemd/user".into()));
        assert_eq!(directory(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")]), Some("/c/systemd/user".into()));
        assert_eq!(directory(&[("XDG_CONFIG_HOME", "c")]), None);
    }
}
