//! The listings of the directories inside of a hashed directory, and their saved form for the next start.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::known_files::{put_stamp, take, take_stamp, take_text};
use proctor_model::{Digest, IdentityWriter};
use proctor_tree::EntryStamp;

/// The first bytes of a saved file. They change when its format changes.
const FORMAT: &[u8] = b"proctor-directory-listings-v1\n";

/// The listings of all directories inside of a hashed directory, by their paths inside of it. The keys are plain texts, because paths are
/// compared name by name, which takes most of the time of a look at ten thousand directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownListings(pub(super) BTreeMap<OsString, KnownListing>);

/// Returns the directory whose listings were saved; `None` if the bytes are damaged or of another format.
pub(super) fn saved_directory(bytes: &[u8]) -> Option<PathBuf> {
    take_text(&mut bytes.strip_prefix(FORMAT)?).map(PathBuf::from)
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

    /// Returns the saved form of the listings in a directory.
    pub(super) fn to_bytes(&self, directory: &Path) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        put_text(&mut bytes, directory.as_os_str());
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
        let (sealed, seal) = bytes.split_last_chunk::<32>()?;
        let mut rest = sealed.strip_prefix(FORMAT).filter(|_| Digest::of(sealed).as_bytes() == seal)?;
        let _directory = take_text(&mut rest)?;
        let mut listings = BTreeMap::new();
        while !rest.is_empty() {
            let path = take_text(&mut rest)?;
            let (stamp, digest) = (Some(take_stamp(&mut rest)?), Some(Digest::from_bytes(take(&mut rest)?)));
            let count = u64::from_le_bytes(take(&mut rest)?);
            let directories = (0..count).map(|_| take_text(&mut rest)).collect::<Option<_>>()?;
            listings.insert(path, KnownListing { stamp, digest, directories });
        }
        Some(Self(listings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(name: &str) -> KnownListing {
        let stamp = EntryStamp { device: 1, inode: 2, size: 3, modified: 4, changed: 5 };
        KnownListing { stamp: Some(stamp), digest: Some(Digest::of(name.as_bytes())), directories: vec![OsString::from(name)] }
    }

    #[test]
    fn what_was_saved_is_loaded_and_what_was_damaged_is_not() {
        let listings = KnownListings([(OsString::new(), listing("lib")), (OsString::from("lib"), listing("x"))].into());
        let bytes = listings.to_bytes(Path::new("/toolchain"));
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
        let saved = KnownListings::from_bytes(&listings.to_bytes(Path::new("/toolchain"))).expect("it is whole");
        assert_eq!(saved.0.into_keys().collect::<Vec<_>>(), [OsString::new()]);
    }
}
