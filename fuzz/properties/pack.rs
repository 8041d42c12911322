//! Packs with their indexes, as somebody may have made them, hold objects under their own hashes or an error, and nothing else.

use std::fs;

use proctor_git::{GitStorage, ObjectId};

/// How many bytes say how long the index is, at the beginning of an input.
const HEAD: usize = 4;
/// Where the names of the objects begin in an index, and the length of one.
const NAMES: usize = 8 + 256 * 4;
const NAME: usize = 20;
/// The most objects of an input that are read.
const MOST: usize = 40;

/// Checks the rules for one input: the length of an index (four bytes, big-endian), the index, and the pack.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_at_checked(HEAD) else { return };
    let length = usize::try_from(u32::from_be_bytes(length.try_into().expect("four bytes"))).expect("a small number");
    let (index, pack) = rest.split_at(length.min(rest.len()));
    let place = tempfile::tempdir().expect("a temporary directory");
    let packs = place.path().join("objects/pack");
    fs::create_dir_all(&packs).expect("the directory is ours");
    fs::write(packs.join("pack-1.idx"), index).expect("the directory is ours");
    fs::write(packs.join("pack-1.pack"), pack).expect("the directory is ours");
    let storage = GitStorage::open(place.path(), place.path()).expect("it has a directory of objects");
    for name in index.get(NAMES..).unwrap_or_default().chunks_exact(NAME).take(MOST) {
        let id: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = ObjectId::parse(&id).expect("forty digits");
        if let Ok(object) = storage.objects.read(id) {
            assert_eq!(object.id(), id, "an object has the hash that is its name");
        }
        let found = storage.objects.find_abbreviated(&id.hex()[..6], 3).unwrap_or_default();
        assert!(found.iter().all(|found| found.hex().starts_with(&id.hex()[..6])), "names begin as they were asked for");
    }
}
