//! Reading objects from packs (gitformat-pack(5)). The index of a pack says where in the pack an object begins.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::evidence::anchor::git::delta;
use crate::evidence::anchor::git::error::ObjectProblem;
use crate::evidence::anchor::git::object::{GitObject, ID_BYTES, ObjectId, ObjectKind};

/// The largest object that is read, in bytes. The notes of a million commits are smaller.
pub(super) const LARGEST_OBJECT: usize = 64 << 20;
/// The first bytes of an index of version 2. Git stopped writing version 1 before 2008.
const INDEX_START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const COUNTS: u64 = 8;
const NAMES: u64 = COUNTS + 256 * 4;
/// The longest chain of deltas that is followed. By default git makes chains of at most 50 deltas, and never more than
/// 4095.
const LONGEST_CHAIN: u32 = 4096;
/// An upper bound, in bytes, for the header of an object, and for what compression adds to content that cannot be
/// compressed.
const HEAD: usize = 64;

/// A function that reads an object by its hash from anywhere in the repository, because a delta's base may lie in
/// another pack.
pub(super) type ObjectLookup<'a> = &'a dyn Fn(ObjectId) -> Result<GitObject, ObjectProblem>;

/// Returns the offset of an object in the pack that the index in `file` describes, or `None` if the pack does not contain the
/// object or the index is not of version 2.
pub(super) fn find(file: &File, id: ObjectId) -> io::Result<Option<u64>> {
    let mut start = [0; INDEX_START.len()];
    file.read_exact_at(&mut start, 0)?;
    if start != INDEX_START {
        return Ok(None);
    }
    let first = usize::from(id.as_bytes()[0]);
    let below = if first == 0 { 0 } else { read_u32(file, COUNTS + 4 * (first as u64 - 1))? };
    let (mut low, mut high) = (u64::from(below), u64::from(read_u32(file, COUNTS + 4 * first as u64)?));
    let total = u64::from(read_u32(file, COUNTS + 4 * 255)?);
    while low < high {
        let middle = low.midpoint(high);
        let mut name = [0; ID_BYTES];
        file.read_exact_at(&mut name, NAMES + middle * ID_BYTES as u64)?;
        match name.cmp(id.as_bytes()) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return read_offset(file, middle, total).map(Some),
        }
    }
    Ok(None)
}

/// Returns the offset, in the pack, of the object with this number in the index. The index has the offsets after the
/// names and checksums; large offsets are in a further table.
fn read_offset(index: &File, number: u64, total: u64) -> io::Result<u64> {
    let offsets = NAMES + total * (ID_BYTES as u64 + 4);
    let offset = read_u32(index, offsets + 4 * number)?;
    if offset >> 31 == 0 {
        return Ok(u64::from(offset));
    }
    let mut far = [0; 8];
    index.read_exact_at(&mut far, offsets + 4 * total + 8 * u64::from(offset & 0x7fff_ffff))?;
    Ok(u64::from_be_bytes(far))
}

fn read_u32(file: &File, offset: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(u32::from_be_bytes(bytes))
}

pub(super) fn read(pack: &File, offset: u64, lookup: ObjectLookup<'_>) -> Result<GitObject, ObjectProblem> {
    let (mut offset, mut deltas) = (offset, Vec::new());
    // Follows the deltas down to an object that is stored whole, then applies them in reverse order.
    let mut object = loop {
        let entry = PackEntry::read(pack, offset)?;
        match entry.kind {
            PackEntryKind::Whole(kind) => break GitObject { kind, content: entry.inflate(pack)? },
            PackEntryKind::OffsetDelta { distance } => {
                deltas.push(entry.inflate(pack)?);
                offset = offset.checked_sub(distance).filter(|_| distance > 0).ok_or(ObjectProblem::Damaged)?;
            }
            PackEntryKind::ReferenceDelta(base) => {
                deltas.push(entry.inflate(pack)?);
                break lookup(base)?;
            }
        }
        if deltas.len() as u32 > LONGEST_CHAIN {
            return Err(ObjectProblem::Damaged);
        }
    };
    while let Some(delta) = deltas.pop() {
        object.content = delta::apply(&object.content, &delta, LARGEST_OBJECT).ok_or(ObjectProblem::Damaged)?;
    }
    Ok(object)
}

struct PackEntry {
    kind: PackEntryKind,
    /// The length of the content in bytes, before compression.
    length: usize,
    /// The offset in the pack at which the compressed content begins.
    data: u64,
}

enum PackEntryKind {
    Whole(ObjectKind),
    /// A delta; its base is the object that begins `distance` bytes earlier in the pack.
    OffsetDelta {
        distance: u64,
    },
    /// A delta; its base is the object with this hash.
    ReferenceDelta(ObjectId),
}

impl PackEntry {
    fn read(pack: &File, offset: u64) -> Result<Self, ObjectProblem> {
        let head = read_some(pack, offset, HEAD)?;
        let mut bytes = head.iter().copied();
        let mut next = || bytes.next().ok_or(ObjectProblem::Damaged);
        let first = next()?;
        let (mut length, mut shift, mut byte) = (usize::from(first & 0x0f), 4, first);
        while byte & 0x80 != 0 {
            byte = next()?;
            length |= usize::from(byte & 0x7f).checked_shl(shift).ok_or(ObjectProblem::Damaged)?;
            shift += 7;
        }
        if length > LARGEST_OBJECT {
            return Err(ObjectProblem::TooLarge);
        }
        let kind = match first >> 4 & 0x07 {
            1 => PackEntryKind::Whole(ObjectKind::Commit),
            2 => PackEntryKind::Whole(ObjectKind::Tree),
            3 => PackEntryKind::Whole(ObjectKind::Blob),
            6 => {
                let mut byte = next()?;
                let mut distance = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    // In git's encoding of distances, the smallest number with n+1 bytes follows the largest number
                    // with n bytes.
                    let longer = distance.checked_add(1).and_then(|distance| distance.checked_mul(128));
                    distance = longer.ok_or(ObjectProblem::Damaged)? | u64::from(byte & 0x7f);
                }
                PackEntryKind::OffsetDelta { distance }
            }
            7 => {
                let mut id = [0; ID_BYTES];
                for byte in &mut id {
                    *byte = next()?;
                }
                PackEntryKind::ReferenceDelta(ObjectId::from_bytes(id))
            }
            4 => return Err(ObjectProblem::Kind),
            _ => return Err(ObjectProblem::Damaged),
        };
        let read = head.len() - bytes.count();
        Ok(Self { kind, length, data: offset + read as u64 })
    }

    fn inflate(&self, pack: &File) -> Result<Vec<u8>, ObjectProblem> {
        let compressed = read_some(pack, self.data, self.length + self.length / 64 + HEAD)?;
        let content = decompress_to_vec_zlib_with_limit(&compressed, self.length + 1).map_err(|_| ObjectProblem::Damaged)?;
        if content.len() == self.length { Ok(content) } else { Err(ObjectProblem::Damaged) }
    }
}

/// Reads `most` bytes, or fewer if the file ends earlier.
fn read_some(file: &File, offset: u64, most: usize) -> Result<Vec<u8>, ObjectProblem> {
    let (mut bytes, mut read) = (vec![0; most], 0);
    while read < most {
        match file.read_at(&mut bytes[read..], offset.saturating_add(read as u64)) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(ObjectProblem::Damaged),
        }
    }
    bytes.truncate(read);
    Ok(bytes)
}
