//! The files of a log, as C2SP's tlog-tiles defines them: tiles of up to 256 hashes of the Merkle tree, and bundles of
//! up to 256 log entries. Pure.
//!
//! The content of a file of a given name never changes, because a tile that is not full has its number of hashes in its
//! name.

use crate::transparency::LedgerLog;

/// The number of hashes in a full tile, and of entries in a full bundle.
const WIDTH: u64 = 256;
/// The number of tree levels that one tile covers.
const HEIGHT: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogFile {
    /// The file's path, relative to the log's directory.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
}

/// Returns all files of a log except its checkpoint.
pub(super) fn log_files(log: &LedgerLog) -> impl Iterator<Item = LogFile> {
    let levels = (0..).map(|level| (level, log.tree().level(level * HEIGHT))).take_while(|(_, hashes)| !hashes.is_empty());
    let tiles = levels.flat_map(|(level, hashes)| {
        tile_ranges(hashes.len() as u64).map(move |(number, start, end)| {
            let range = usize::try_from(start).expect("a log in memory")..usize::try_from(end).expect("a log in memory");
            let bytes = hashes[range].iter().flat_map(|hash| *hash.as_bytes()).collect();
            LogFile { path: path(&level.to_string(), number, end - start), bytes }
        })
    });
    let bundles = tile_ranges(log.size()).map(|(number, start, end)| {
        let bytes = log.entries(start, end).flat_map(bundle_entry).collect();
        LogFile { path: path("entries", number, end - start), bytes }
    });
    tiles.chain(bundles)
}

/// Divides `count` items into tiles; returns each tile's number, start and end.
fn tile_ranges(count: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..count.div_ceil(WIDTH)).map(move |number| (number, number * WIDTH, count.min((number + 1) * WIDTH)))
}

/// Returns an entry as a bundle contains it: with its length in front, as two bytes.
fn bundle_entry(entry: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(entry.len()).expect("an entry is a digest");
    [length.to_be_bytes().as_slice(), &entry].concat()
}

/// Returns a tile's path, such as `tile/0/x001/x234/067`; it ends with `.p/<width>` if the tile is not full.
fn path(level: &str, number: u64, width: u64) -> String {
    let mut groups = vec![format!("{:03}", number % 1000)];
    let mut rest = number / 1000;
    while rest > 0 {
        groups.push(format!("x{:03}", rest % 1000));
        rest /= 1000;
    }
    groups.reverse();
    let partial = if width == WIDTH { String::new() } else { format!(".p/{width}") };
    format!("tile/{level}/{}{partial}", groups.join("/"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::transparency::merkle::{MerkleTree, hash_entry};
    use proctor_model::{Digest, ProjectId};

    fn log(size: u64) -> LedgerLog {
        let lines = (0..size).map(|number| Digest::of(&number.to_be_bytes())).collect();
        LedgerLog::from_hashes(ProjectId::try_from("shop-00000001").unwrap(), lines)
    }

    #[test]
    fn paths_are_those_of_the_specification() {
        assert_eq!(path("0", 1_234_067, 256), "tile/0/x001/x234/067");
        assert_eq!(path("entries", 0, 256), "tile/entries/000");
        assert_eq!(path("1", 273, 5), "tile/1/273.p/5");
        assert_eq!(path("0", 1000, 256), "tile/0/x001/000");
    }

    #[test]
    fn a_log_has_the_tiles_its_size_asks_for() {
        let names = |size| log_files(&log(size)).map(|file| file.path).collect::<Vec<_>>();
        assert_eq!(names(0), [] as [&str; 0]);
        assert_eq!(names(5), ["tile/0/000.p/5", "tile/entries/000.p/5"]);
        assert_eq!(names(256), ["tile/0/000", "tile/1/000.p/1", "tile/entries/000"]);
        let of_600 = names(600);
        let expected = ["tile/0/000", "tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2"];
        assert_eq!(of_600[..4], expected);
        assert_eq!(of_600[4..], ["tile/entries/000", "tile/entries/001", "tile/entries/002.p/88"]);
    }

    #[test]
    fn the_tree_follows_from_the_tiles_alone() {
        for size in [1, 255, 256, 257, 600] {
            let log = log(size);
            let files: BTreeMap<_, _> = log_files(&log).map(|file| (file.path, file.bytes)).collect();
            let hashes = |level: &str| -> Vec<Digest> {
                let prefix = format!("tile/{level}/");
                let tiles = files.iter().filter(|(path, _)| path.starts_with(&prefix)).flat_map(|(_, bytes)| bytes.chunks(32));
                tiles.map(|hash| Digest::from_bytes(hash.try_into().unwrap())).collect()
            };
            let tree = MerkleTree::from_hashes(hashes("0"));
            assert_eq!(tree.root_at(size), log.tree().root_at(size), "{size}");
            let above: Vec<Digest> = hashes("0")
                .chunks_exact(256)
                .map(|tile| MerkleTree::from_hashes(tile.iter().copied()).root_at(256).unwrap())
                .collect();
            assert_eq!(hashes("1"), above, "{size}");
            let bundles: Vec<u8> =
                files.iter().filter(|(path, _)| path.contains("entries")).flat_map(|(_, bytes)| bytes.clone()).collect();
            let entries: Vec<_> = bundles
                .chunks(66)
                .map(|entry| {
                    assert_eq!(entry[..2], [0, 64]);
                    hash_entry(&entry[2..])
                })
                .collect();
            assert_eq!(entries, hashes("0"));
        }
    }
}
