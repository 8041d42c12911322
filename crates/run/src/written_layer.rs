//! Writes what one content has otherwise than the copy of the project, as a layer that is mounted over the copy.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;

use nix::sys::stat::{Mode, SFlag, mknod};
use proctor_model::EntryKind;

/// A file as a content has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub kind: EntryKind,
    /// The text of a file, or where a link leads.
    pub text: Vec<u8>,
}

/// Writes a layer. `None` means that the content lacks the file. `has_below` says whether the content has a file below a directory: a
/// directory without one is hidden as a whole, because Python imports from empty directories.
pub fn write_layer(
    layer: &Path,
    differences: &BTreeMap<String, Option<WrittenFile>>,
    has_below: &dyn Fn(&str) -> bool,
) -> io::Result<()> {
    for (path, file) in differences {
        match file {
            Some(file) => write_file(layer, path, file)?,
            None => hide(layer, path, has_below)?,
        }
    }
    Ok(())
}

fn write_file(layer: &Path, path: &str, file: &WrittenFile) -> io::Result<()> {
    let full = layer.join(path);
    make_directories(layer, path)?;
    let mode = match file.kind {
        EntryKind::Link => return symlink(OsStr::from_bytes(&file.text), &full),
        EntryKind::Executable => 0o755,
        EntryKind::File | EntryKind::Directory => 0o644,
    };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(&full)?.write_all(&file.text)
}

/// Hides an entry, or the topmost directory above it in which the content has nothing.
fn hide(layer: &Path, path: &str, has_below: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let directories = path.match_indices('/').map(|(end, _)| &path[..end]);
    let hidden = directories.into_iter().find(|directory| !has_below(directory)).unwrap_or(path);
    make_directories(layer, hidden)?;
    // overlayfs takes this device for a removed entry.
    match mknod(&layer.join(hidden), SFlag::S_IFCHR, Mode::S_IRUSR, 0) {
        // It was hidden for another file, or the content has a file in the place of the directory.
        Err(nix::errno::Errno::EEXIST) => Ok(()),
        made => Ok(made?),
    }
}

fn make_directories(layer: &Path, path: &str) -> io::Result<()> {
    let above = |(end, _)| layer.join(&path[..end]);
    // What is written through a link lands outside of the layer.
    if path.match_indices('/').map(above).any(|place| place.is_symlink()) {
        return Err(io::Error::new(ErrorKind::NotADirectory, format!("a link lies above `{path}`")));
    }
    let Some(parent) = layer.join(path).parent().map(Path::to_owned) else { return Ok(()) };
    match DirBuilder::new().recursive(true).mode(0o755).create(&parent) {
        // A file of the other content lies where this one has a directory.
        Err(error) if error.kind() == ErrorKind::NotADirectory || error.kind() == ErrorKind::AlreadyExists => {
            let in_the_way = path.match_indices('/').map(above);
            in_the_way
                .filter(|place| place.symlink_metadata().is_ok_and(|there| !there.is_dir()))
                .try_for_each(fs::remove_file)?;
            DirBuilder::new().recursive(true).mode(0o755).create(&parent)
        }
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileTypeExt as _;

    use super::*;

    #[test]
    fn a_layer_has_what_differs_and_hides_what_is_not_there() {
        let layer = tempfile::tempdir().expect("a directory");
        let file = |text: &str| Some(WrittenFile { kind: EntryKind::File, text: text.as_bytes().to_vec() });
        let differences = BTreeMap::from([
            ("shop/vat.py".to_owned(), file("before")),
            ("shop/new/deep/a.py".to_owned(), None),
            ("shop/new/b.py".to_owned(), None),
            ("shop/gone.py".to_owned(), None),
        ]);
        write_layer(layer.path(), &differences, &|directory| directory == "shop").expect("a layer");
        assert_eq!(fs::read_to_string(layer.path().join("shop/vat.py")).expect("a file"), "before");
        for hidden in ["shop/new", "shop/gone.py"] {
            let kind = layer.path().join(hidden).symlink_metadata().expect("there").file_type();
            assert!(kind.is_char_device(), "{hidden}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (layer, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let link = WrittenFile { kind: EntryKind::Link, text: other.path().as_os_str().as_bytes().to_vec() };
        for inner in [Some(WrittenFile { kind: EntryKind::File, text: Vec::new() }), None] {
            let differences = BTreeMap::from([("a".to_owned(), Some(link.clone())), ("a/deep/b".to_owned(), inner)]);
            write_layer(layer.path(), &differences, &|_| true).expect_err("a link above");
            assert_eq!(fs::read_dir(other.path()).expect("a directory").count(), 0);
            fs::remove_file(layer.path().join("a")).expect("the link");
        }
    }
}
