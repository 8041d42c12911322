//! Writing an archive: the same files make the same bytes, whoever writes them and when.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::evidence::archive::{Place, Shelf};
use crate::evidence::changes::write_part;
use crate::evidence::error::failed;
use crate::evidence::names::EXPORTED_RUN;
use crate::evidence::{EvidenceError, FileOperation};
use crate::model::RunId;

/// What files have that are unpacked: nobody's name, no time, and for their owner alone.
const MODE: u32 = 0o600;

/// An archive that is being written. It is on disk only when its file is synced.
pub(in crate::evidence) struct Packer<'a> {
    path: &'a Path,
    run_id: &'a RunId,
    tar: Builder<zstd::Encoder<'static, Through<'a>>>,
}

/// Hands every write to the operation that a test lets fail.
struct Through<'a> {
    path: &'a Path,
    file: &'a mut File,
}

impl<'a> Packer<'a> {
    /// Begins an archive in a file that is empty.
    pub(in crate::evidence) fn begin(file: &'a mut File, path: &'a Path, run_id: &'a RunId) -> Result<Self, EvidenceError> {
        let encoder = zstd::Encoder::new(Through { path, file }, zstd::DEFAULT_COMPRESSION_LEVEL);
        let mut encoder = encoder.map_err(failed(FileOperation::Write, path))?;
        encoder.include_checksum(true).map_err(failed(FileOperation::Write, path))?;
        Ok(Self { path, run_id, tar: Builder::new(encoder) })
    }

    /// Adds a file of so many bytes; `content` must have as many.
    pub(in crate::evidence) fn add(&mut self, place: &Place, bytes: u64, content: &mut dyn Read) -> Result<(), EvidenceError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(MODE);
        header.set_size(bytes);
        let path = match place.shelf {
            Shelf::Top => format!("{}/{}", self.run_id, place.name),
            Shelf::Run => format!("{}/{EXPORTED_RUN}/{}", self.run_id, place.name),
        };
        let mut counted = content.take(bytes);
        let written = self.tar.append_data(&mut header, path, &mut counted);
        let whole = written.and_then(|()| match counted.limit() {
            0 => Ok(()),
            // Tar says nothing of it: it would take the next header for what is missing.
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file became shorter while it was archived")),
        });
        whole.map_err(failed(FileOperation::Write, self.path))
    }

    /// Ends the archive.
    pub(in crate::evidence) fn end(self) -> Result<(), EvidenceError> {
        let ended = self.tar.into_inner().and_then(zstd::Encoder::finish);
        ended.map(drop).map_err(failed(FileOperation::Write, self.path))
    }
}

/// Writes what is read into a file, for whoever has it in no archive.
pub(in crate::evidence) fn copy_into(file: &mut File, path: &Path, content: &mut dyn Read) -> Result<(), EvidenceError> {
    io::copy(content, &mut Through { path, file }).map(drop).map_err(failed(FileOperation::Write, path))
}

impl Write for Through<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_part(self.file, self.path, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
