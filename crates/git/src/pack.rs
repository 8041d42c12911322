//! Reads objects from packs (gitformat-pack(5)). The index of a pack says where in the pack an object begins.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::delta;
use crate::error::ObjectProblem;
use crate::object::{GitObject, ID_BYTES, ObjectId, ObjectKind};

/// The largest object that is read, in bytes. The notes of a million commits are smaller.
pub(super) const LARGEST_OBJECT: usize = 64 << 20;
/// The first bytes of an index of version 2. Git stopped writing version 1 before 2008.
const INDEX_START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// Where the table of counts begins in an index, and where the names begin after it.
const COUNTS: usize = 8;
const NAMES: usize = COUNTS + 256 * 4;
/// The longest chain of deltas that is followed. By default git makes chains of at most 50 deltas, and never more than
/// 4095.
const LONGEST_CHAIN: usize = 4096;
/// The most bytes that the deltas of one object may have together: they are all in memory at once.
const MOST_DELTA_BYTES: usize = 4 * LARGEST_OBJECT;
/// The most bytes that applying the deltas of one object may write, so that a small damaged pack cannot keep a processor busy.
const MOST_BYTES_MADE: usize = 64 * LARGEST_OBJECT;
/// An upper bound, in bytes, for the header of an object, and for what compression adds to content that cannot be
/// compressed.
const HEAD: usize = 64;

/// A function that reads an object by its hash from anywhere in the repository, because a delta's base may lie in
/// another pack.
type ObjectLookup<'a> = &'a dyn Fn(ObjectId) -> Result<GitObject, ObjectProblem>;

/// A pack with its index, both open.
#[derive(Debug)]
pub(super) struct Pack {
    index: File,
    objects: File,
    /// How many names of the index begin with a byte that is at most this one.
    fan_out: Vec<u32>,
}

impl Pack {
    /// Opens a pack; `None` if its index is not of version 2.
    pub(super) fn open(index: File, objects: File) -> Result<Option<Self>, ObjectProblem> {
        let mut start = [0; NAMES];
        index.read_exact_at(&mut start, 0).map_err(|_| ObjectProblem::Damaged)?;
        let (head, counts) = start.split_at(COUNTS);
        if head != INDEX_START {
            return Ok(None);
        }
        let fan_out: Vec<u32> =
            counts.chunks_exact(4).map(|count| u32::from_be_bytes([count[0], count[1], count[2], count[3]])).collect();
        if fan_out.is_sorted() { Ok(Some(Self { index, objects, fan_out })) } else { Err(ObjectProblem::Damaged) }
    }

    /// Returns the offset at which an object begins in the pack, or `None` if the pack does not contain the object.
    fn find(&self, id: ObjectId) -> io::Result<Option<u64>> {
        let (mut low, mut high) = self.names_from(id.as_bytes()[0]);
        while low < high {
            let middle = low.midpoint(high);
            match self.read_name(middle)?.as_bytes().cmp(id.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.offset(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// Adds the names in the pack that begin with the hexadecimal digits `prefix`, at most `most`.
    pub(super) fn find_abbreviated(&self, prefix: &str, most: usize, found: &mut Vec<ObjectId>) -> io::Result<()> {
        let Ok(first) = u8::from_str_radix(&prefix[..2], 16) else { return Ok(()) };
        let (low, end) = self.names_from(first);
        let (mut low, mut high) = (low, end);
        while low < high {
            let middle = low.midpoint(high);
            if self.read_name(middle)?.hex().as_str() < prefix { low = middle + 1 } else { high = middle }
        }
        while low < end && found.len() < most {
            let name = self.read_name(low)?;
            if !name.hex().starts_with(prefix) {
                break;
            }
            found.push(name);
            low += 1;
        }
        Ok(())
    }

    /// Returns where the names that begin with this byte start and end in the index.
    fn names_from(&self, first: u8) -> (u64, u64) {
        let before = first.checked_sub(1).map_or(0, |before| self.fan_out[usize::from(before)]);
        (u64::from(before), u64::from(self.fan_out[usize::from(first)]))
    }

    fn read_name(&self, number: u64) -> io::Result<ObjectId> {
        let mut name = [0; ID_BYTES];
        self.index.read_exact_at(&mut name, NAMES as u64 + number * ID_BYTES as u64)?;
        Ok(ObjectId::from_bytes(name))
    }

    /// Returns the offset, in the pack, of the object with this number in the index. The index has the offsets after the
    /// names and checksums; large offsets are in a further table.
    fn offset(&self, number: u64) -> io::Result<u64> {
        let total = u64::from(self.fan_out[255]);
        let offsets = NAMES as u64 + total * (ID_BYTES as u64 + 4);
        let offset = read_u32(&self.index, offsets + 4 * number)?;
        if offset >> 31 == 0 {
            return Ok(u64::from(offset));
        }
        let mut far = [0; 8];
        self.index.read_exact_at(&mut far, offsets + 4 * total + 8 * u64::from(offset & 0x7fff_ffff))?;
        Ok(u64::from_be_bytes(far))
    }

    /// Reads an object, or returns `None` if the pack does not contain it.
    pub(super) fn read(&self, id: ObjectId, lookup: ObjectLookup<'_>) -> Result<Option<GitObject>, ObjectProblem> {
        let find = |id| self.find(id).map_err(|_| ObjectProblem::Damaged);
        let Some(mut offset) = find(id)? else { return Ok(None) };
        let (mut deltas, mut bytes) = (Vec::new(), 0);
        // Follows the deltas down to an object that is stored whole, then applies them in reverse order.
        let mut object = loop {
            let entry = PackEntry::read(&self.objects, offset)?;
            if let PackEntryKind::Whole(kind) = entry.kind {
                break GitObject { kind, content: entry.inflate(&self.objects)? };
            }
            bytes += entry.length;
            if deltas.len() >= LONGEST_CHAIN || bytes > MOST_DELTA_BYTES {
                return Err(ObjectProblem::Damaged);
            }
            deltas.push(entry.inflate(&self.objects)?);
            match entry.kind {
                PackEntryKind::Whole(_) => {}
                PackEntryKind::OffsetDelta { distance } => {
                    offset = offset.checked_sub(distance).filter(|_| distance > 0).ok_or(ObjectProblem::Damaged)?;
                }
                PackEntryKind::ReferenceDelta(base) => match find(base)? {
                    Some(at) => offset = at,
                    None => break lookup(base)?,
                },
            }
        };
        let mut made = 0;
        while let Some(delta) = deltas.pop() {
            object.content = delta::apply(&object.content, &delta, LARGEST_OBJECT).ok_or(ObjectProblem::Damaged)?;
            made += object.content.len();
            if made > MOST_BYTES_MADE {
                return Err(ObjectProblem::TooLarge);
            }
        }
        Ok(Some(object))
    }
}

fn read_u32(file: &File, offset: u64) -> io::Result<u32> {
    let mut bytes = [0; 4];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(u32::from_be_bytes(bytes))
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
            if shift > 53 {
                return Err(ObjectProblem::Damaged);
            }
            length |= usize::from(byte & 0x7f) << shift;
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
            4 => PackEntryKind::Whole(ObjectKind::Tag),
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
