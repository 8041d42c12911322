//! The Merkle tree of RFC 6962. This module computes the root at every size that the tree has had, makes inclusion
//! proofs, and checks them.

use sha2::{Digest as _, Sha256};

use proctor_model::Digest;

/// Prefixes of the hashed bytes, one for an entry and one for a pair of hashes, so that the two cannot be confused (RFC
/// 6962, section 2.1).
const LEAF: [u8; 1] = [0];
const NODE: [u8; 1] = [1];

/// The Merkle tree of a log. Entries can be added to the tree and never be changed or removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MerkleTree {
    /// For each height the hashes of all complete subtrees of this height, from left to right. Height 0 has the
    /// entries' hashes.
    levels: Vec<Vec<Digest>>,
}

pub(crate) fn hash_entry(entry: &[u8]) -> Digest {
    Digest::from_hasher(Sha256::new().chain_update(LEAF).chain_update(entry))
}

pub(super) fn hash_node(left: Digest, right: Digest) -> Digest {
    Digest::from_hasher(Sha256::new().chain_update(NODE).chain_update(left.as_bytes()).chain_update(right.as_bytes()))
}

impl MerkleTree {
    pub(crate) fn from_hashes(entries: impl IntoIterator<Item = Digest>) -> Self {
        let mut tree = Self::default();
        entries.into_iter().for_each(|entry| tree.push(entry));
        tree
    }

    fn push(&mut self, entry: Digest) {
        let mut carried = entry;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let hashes = &mut self.levels[level];
            hashes.push(carried);
            if hashes.len() % 2 == 1 {
                return;
            }
            carried = hash_node(hashes[hashes.len() - 2], hashes[hashes.len() - 1]);
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.level(0).len() as u64
    }

    /// Returns the hashes of all complete subtrees of a height, from left to right.
    pub(super) fn level(&self, height: usize) -> &[Digest] {
        self.levels.get(height).map_or(&[], Vec::as_slice)
    }

    /// Returns the root of the tree of the first `size` entries, or `None` if there are fewer entries.
    pub(crate) fn root_at(&self, size: u64) -> Option<Digest> {
        match size {
            0 => Some(Digest::of(b"")),
            size if size <= self.size() => Some(self.subtree_hash(0, size)),
            _ => None,
        }
    }

    /// Returns an inclusion proof: the sibling hashes on the way from an entry up to the root of the first `size`
    /// entries. Returns `None` if the entry is not among the first `size` entries, or the tree has fewer than `size`
    /// entries.
    pub(super) fn prove_inclusion(&self, index: u64, size: u64) -> Option<Vec<Digest>> {
        if index >= size || size > self.size() {
            return None;
        }
        let (mut start, mut end, mut path) = (0, size, Vec::new());
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                path.push(self.subtree_hash(middle, end));
                end = middle;
            } else {
                path.push(self.subtree_hash(start, middle));
                start = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// Returns the hash of the entries from index `start` to before `end`. These entries must form a subtree: `start`
    /// is a multiple of the smallest power of two that is not below `end - start`.
    fn subtree_hash(&self, start: u64, end: u64) -> Digest {
        let length = end - start;
        if length.is_power_of_two() {
            let height = length.trailing_zeros();
            let position = usize::try_from(start >> height).expect("a tree in memory");
            return self.levels[height as usize][position];
        }
        let middle = start + split(length);
        hash_node(self.subtree_hash(start, middle), self.subtree_hash(middle, end))
    }
}

/// Returns the largest power of two below `length`, which is at least 2. This is how many entries are in the left
/// subtree.
fn split(length: u64) -> u64 {
    1 << (length - 1).ilog2()
}

/// Computes the root of a tree of `size` entries from one entry's hash and its path. Returns `None` if the index or the path
/// does not fit a tree of this size (RFC 9162, section 2.1.3.2).
pub(super) fn root_from_path(entry: Digest, index: u64, size: u64, path: &[Digest]) -> Option<Digest> {
    let (mut node, mut last) = (index, size.checked_sub(1)?);
    if node > last {
        return None;
    }
    let mut hash = entry;
    for other in path {
        if last == 0 {
            return None;
        }
        if node % 2 == 1 || node == last {
            hash = hash_node(*other, hash);
            while node % 2 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            hash = hash_node(hash, *other);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    (last == 0).then_some(hash)
}

#[cfg(test)]
mod tests;
