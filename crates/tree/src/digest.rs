//! The format `proctor-tree-v2`: how the digest of a directory is computed from its entries.

use sha2::{Digest as _, Sha256};

use proctor_model::{Digest, EntryKind};

/// The name of the format, with which the hashed text of every directory begins.
const TAG: &[u8] = b"proctor-tree-v2\n";

/// One entry of a directory, with all that the directory's digest depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestedEntry<'name> {
    pub kind: EntryKind,
    /// The digest of the entry's content; `None` if the entry could not be read.
    pub digest: Option<Digest>,
    pub name: &'name [u8],
}

impl DigestedEntry<'_> {
    /// Returns the letter of the entry's kind in the hashed text (docs/reference/tree-digest.md).
    fn letter(&self) -> u8 {
        match (self.digest, self.kind) {
            // An unreadable entry of any kind; zeros take the place of its digest.
            (None, _) => b'u',
            (Some(_), EntryKind::File) => b'f',
            (Some(_), EntryKind::Executable) => b'x',
            (Some(_), EntryKind::Link) => b'l',
            (Some(_), EntryKind::Directory) => b'd',
        }
    }
}

/// Computes the digest of a directory from its entries, which must be in ascending order of their names' bytes.
pub fn compute_directory_digest<'name>(entries: impl Iterator<Item = DigestedEntry<'name>>) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(TAG);
    entries.for_each(|entry| hash_entry(&mut hasher, &entry));
    Digest::from_hasher(hasher)
}

/// Adds the record of an entry to what is hashed.
pub(super) fn hash_entry(hasher: &mut Sha256, entry: &DigestedEntry<'_>) {
    let mut head = [b'0'; 67];
    head[0] = entry.letter();
    head[1] = b' ';
    head[66] = b' ';
    if let Some(digest) = entry.digest {
        write_hex(&mut head[2..66], &digest);
    }
    hasher.update(head);
    hasher.update(entry.name);
    hasher.update([0]);
}

/// Writes 64 hexadecimal digits by a loop of its own, because formatting each byte with `write!` takes longer than the
/// hashing.
fn write_hex(digits: &mut [u8], digest: &Digest) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(digest.as_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_the_one_computed_by_hand() {
        // The expected digest was printed by: printf 'proctor-tree-v2\n' | sha256sum
        let empty = compute_directory_digest(std::iter::empty());
        assert_eq!(empty, Digest::of(b"proctor-tree-v2\n"));
        assert_eq!(empty.hex(), "4b5944ef5e986195b3a8f5dddbd8087855fd5475583bbbb2857321ba8ae2b531");
        // The expected digest was printed by: printf 'proctor-tree-v2\nf <sha256 of "hello\n"> a\0u 000…0 b\0' |
        // sha256sum
        let file = DigestedEntry { kind: EntryKind::File, digest: Some(Digest::of(b"hello\n")), name: b"a" };
        let unreadable = DigestedEntry { kind: EntryKind::File, digest: None, name: b"b" };
        let both = compute_directory_digest([file, unreadable].into_iter());
        assert_eq!(both.hex(), "f07196ea60bc2c8b4173686651d40bcee3761fe58158810cefed6f087b53c8f2");
    }

    #[test]
    fn every_part_of_an_entry_counts() {
        let one = DigestedEntry { kind: EntryKind::File, digest: Some(Digest::of(b"x")), name: b"a" };
        let changed = [
            DigestedEntry { kind: EntryKind::Executable, ..one },
            DigestedEntry { kind: EntryKind::Link, ..one },
            DigestedEntry { kind: EntryKind::Directory, ..one },
            DigestedEntry { digest: None, ..one },
            DigestedEntry { digest: Some(Digest::of(b"y")), ..one },
            DigestedEntry { name: b"b", ..one },
        ];
        let digests: std::collections::BTreeSet<Digest> =
            changed.into_iter().chain([one]).map(|entry| compute_directory_digest([entry].into_iter())).collect();
        assert_eq!(digests.len(), changed.len() + 1);
    }
}
