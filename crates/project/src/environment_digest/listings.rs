//! The listings of the directories inside of a hashed directory, and their saved form for the next start.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstatat};

use super::known_files::{put_stamp, take, take_stamp, take_text};
use proctor_model::{Digest, IdentityWriter};
use proctor_tree::EntryStamp;

/// The first bytes of a saved file. They change when its format changes.
const FORMAT: &[u8] = b"proctor-directory-listings-v2\n";

/// The listings of all directories inside of a hashed directory, by their paths inside of it. The keys are plain texts, because paths are
/// compared name by name, which takes most of the time of a look at ten thousand directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownListings(pub(super) BTreeMap<OsString, KnownListing>);

/// From so many directories on, their stamps are asked for by two threads.
const MANY: usize = 500;

/// Returns the directory whose listings were saved; `None` if the bytes are damaged or of another format.
pub(super) fn saved_directory(bytes: &[u8]) -> Option<PathBuf> {
    take_text(&mut bytes.strip_prefix(FORMAT)?).map(PathBuf::from)
}

/// Returns the digest of a directory of which everything was known when its listings were saved, if each directory inside still has its
/// stamp. This is what most looks find, so nothing is kept of what is read.
pub(super) fn unchanged(bytes: &[u8]) -> Option<Digest> {
    let (directory, mut rest) = take_head(bytes)?;
    let [is_whole] = take(&mut rest)?;
    let digest = Digest::from_bytes(take(&mut rest)?);
    if is_whole == 0 {
        return None;
    }
    let mut stamps = Vec::new();
    while !rest.is_empty() {
        let (path, listing) = take_listing(&mut rest)?;
        // A directory of files alone is looked at file by file.
        if path.is_empty() && listing.directories.is_empty() {
            return None;
        }
        stamps.push((path, listing.stamp?));
    }
    let top = open(&directory, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
    let holds = |(path, stamp): &(OsString, EntryStamp)| {
        let flags = if path.is_empty() { AtFlags::AT_EMPTY_PATH } else { AtFlags::AT_SYMLINK_NOFOLLOW };
        fstatat(&top, path.as_os_str(), flags).is_ok_and(|stat| EntryStamp::of(&stat) == *stamp)
    };
    let (ours, others) = stamps.split_at(if stamps.len() < MANY { 0 } else { stamps.len() / 2 });
    let all_hold = thread::scope(|scope| {
        let ours = (!ours.is_empty()).then(|| scope.spawn(|| ours.iter().all(holds)));
        others.iter().all(holds) && ours.is_none_or(|ours| ours.join().is_ok_and(|holds| holds))
    });
    all_hold.then_some(digest)
}

/// Returns the directory whose listings were saved, and what follows it; `None` if the bytes are damaged or of another format.
fn take_head(bytes: &[u8]) -> Option<(PathBuf, &[u8])> {
    let (sealed, seal) = bytes.split_last_chunk::<32>()?;
    let mut rest = sealed.strip_prefix(FORMAT).filter(|_| Digest::of(sealed).as_bytes() == seal)?;
    Some((take_text(&mut rest)?.into(), rest))
}

fn take_listing(rest: &mut &[u8]) -> Option<(OsString, KnownListing)> {
    let path = take_text(rest)?;
    let (stamp, digest) = (Some(take_stamp(rest)?), Some(Digest::from_bytes(take(rest)?)));
    let count = u64::from_le_bytes(take(rest)?);
    let directories = (0..count).map(|_| take_text(rest)).collect::<Option<_>>()?;
    Some((path, KnownListing { stamp, digest, directories }))
}

fn put_text(bytes: &mut Vec<u8>, text: &OsStr) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// What was found in one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownListing {
    /// `None` if the directory was changed so shortly before the look that its stamp proves nothing.
    pub(super) stamp: Option<EntryStamp>,
    /// The names, kinds and contents of its entries; `None` if the content of one is not known.
    pub(super) digest: Option<Digest>,
    pub(super) directories: Vec<OsString>,
}

impl KnownListings {
    /// Returns the digest of the whole directory; `None` if something in it is not known.
    pub(super) fn digest(&self) -> Option<Digest> {
        let writer = IdentityWriter::new("proctor-whole-directory-v1");
        let add = |writer: IdentityWriter, (path, listing): (&OsString, &KnownListing)| {
            Some(writer.part("directory", path.as_bytes()).part("entries", listing.digest?.as_bytes()))
        };
        self.0.iter().try_fold(writer, add).map(IdentityWriter::digest)
    }

    /// Returns the saved form of the listings in a directory. `is_whole` says that no directory inside was left out.
    pub(super) fn to_bytes(&self, directory: &Path, is_whole: bool) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        put_text(&mut bytes, directory.as_os_str());
        let is_whole = is_whole && self.0.values().all(|listing| listing.stamp.is_some());
        let whole = self.digest().filter(|_| is_whole);
        bytes.push(u8::from(whole.is_some()));
        bytes.extend_from_slice(whole.unwrap_or_else(|| Digest::of(b"")).as_bytes());
        let known =
            self.0.iter().filter_map(|(path, listing)| Some((path, listing.stamp?, listing.digest?, &listing.directories)));
        for (path, stamp, digest, directories) in known {
            put_text(&mut bytes, path);
            put_stamp(&mut bytes, &stamp);
            bytes.extend_from_slice(digest.as_bytes());
            bytes.extend_from_slice(&(directories.len() as u64).to_le_bytes());
            directories.iter().for_each(|name| put_text(&mut bytes, name));
        }
        let seal = Digest::of(&bytes);
        bytes.extend_from_slice(seal.as_bytes());
        bytes
    }

    /// Returns the saved listings; `None` if the bytes are damaged or of another format.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (_directory, rest) = take_head(bytes)?;
        let mut rest = rest.get(33..)?;
        let mut listings = BTreeMap::new();
        while !rest.is_empty() {
            let (path, listing) = take_listing(&mut rest)?;
            listings.insert(path, listing);
        }
        Some(Self(listings))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes the directories it looks at")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::lstat;

    use super::*;

    fn listing(name: &str) -> KnownListing {
        let stamp = EntryStamp { device: 1, inode: 2, size: 3, modified: 4, changed: 5 };
        KnownListing { stamp: Some(stamp), digest: Some(Digest::of(name.as_bytes())), directories: vec![OsString::from(name)] }
    }

    #[test]
    fn what_was_saved_is_loaded_and_what_was_damaged_is_not() {
        let listings = KnownListings([(OsString::new(), listing("lib")), (OsString::from("lib"), listing("x"))].into());
        let bytes = listings.to_bytes(Path::new("/toolchain"), true);
        assert_eq!(saved_directory(&bytes), Some(PathBuf::from("/toolchain")));
        assert_eq!(KnownListings::from_bytes(&bytes), Some(listings));
        for place in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(KnownListings::from_bytes(&damaged), None, "{place}");
        }
        assert_eq!(KnownListings::from_bytes(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_directory_is_known_when_each_listing_in_it_is_and_only_those_are_saved() {
        let mut listings = KnownListings([(OsString::new(), listing("lib"))].into());
        assert!(listings.digest().is_some());
        listings.0.insert(OsString::from("lib"), KnownListing { digest: None, ..listing("x") });
        assert_eq!(listings.digest(), None);
        listings.0.insert(OsString::from("bin"), KnownListing { stamp: None, ..listing("x") });
        let saved = KnownListings::from_bytes(&listings.to_bytes(Path::new("/toolchain"), true)).expect("it is whole");
        assert_eq!(saved.0.into_keys().collect::<Vec<_>>(), [OsString::new()]);
    }

    #[test]
    fn a_directory_is_unchanged_while_each_stamp_in_it_is_the_saved_one_and_none_was_left_out() {
        let scene = tempfile::tempdir().expect("a directory");
        let [top, deep] = [scene.path().join("top"), scene.path().join("top/lib/deep")];
        fs::create_dir_all(&deep).expect("it is ours");
        let listings = || {
            let known = |inside: &str| {
                let stat = lstat(&top.join(inside)).expect("it is there");
                (OsString::from(inside), KnownListing { stamp: Some(EntryStamp::of(&stat)), ..listing("x") })
            };
            KnownListings(["", "lib", "lib/deep"].map(known).into())
        };
        let saved = listings().to_bytes(&top, true);
        assert!(unchanged(&saved).is_some_and(|digest| Some(digest) == listings().digest()));
        assert_eq!(unchanged(&listings().to_bytes(&top, false)), None, "a part of it was left out");
        let elsewhere = scene.path().join("elsewhere");
        fs::rename(&top, &elsewhere).and_then(|()| symlink(&elsewhere, &top)).expect("it is ours");
        assert_eq!(unchanged(&saved), None, "a link is no directory");
        fs::remove_file(&top).and_then(|()| fs::rename(&elsewhere, &top)).expect("it is ours");
        let saved = listings().to_bytes(&top, true);
        assert!(unchanged(&saved).is_some());
        fs::create_dir(deep.join("new")).expect("it is ours");
        assert_eq!(unchanged(&saved), None, "a new entry");
    }
}
