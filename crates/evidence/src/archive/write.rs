//! Writing an archive. The same files always make the same bytes: owner, times and modes are fixed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::archive::{ArchiveFolder, ArchiveMember};
use crate::changes::write_raw;
use crate::error::failed;
use crate::names::EXPORTED_RUN;
use crate::{EvidenceError, FileOperation};
use proctor_model::RunId;

/// The mode that files get when the archive is unpacked: only their owner may read and write them.
const MODE: u32 = 0o600;

/// An archive that is being written. The archive's file is not synced here: the caller that opened the file syncs it.
pub(crate) struct ArchiveWriter<'a> {
    path: &'a Path,
    run_id: &'a RunId,
    tar: Builder<zstd::Encoder<'static, CheckedWriter<'a>>>,
}

/// Writes through the module `changes`, so that a test can make any write fail.
struct CheckedWriter<'a> {
    path: &'a Path,
    file: &'a mut File,
}

impl<'a> ArchiveWriter<'a> {
    pub(crate) fn begin(file: &'a mut File, path: &'a Path, run_id: &'a RunId) -> Result<Self, EvidenceError> {
        let encoder = zstd::Encoder::new(CheckedWriter { path, file }, zstd::DEFAULT_COMPRESSION_LEVEL);
        let mut encoder = encoder.map_err(failed(FileOperation::Write, path))?;
        encoder.include_checksum(true).map_err(failed(FileOperation::Write, path))?;
        Ok(Self { path, run_id, tar: Builder::new(encoder) })
    }

    /// Adds a file whose content has exactly `bytes` bytes.
    pub(crate) fn add(&mut self, member: &ArchiveMember, bytes: u64, content: &mut dyn Read) -> Result<(), EvidenceError> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(MODE);
        header.set_size(bytes);
        let path = match member.folder {
            ArchiveFolder::Top => format!("{}/{}", self.run_id, member.name),
            ArchiveFolder::Run => format!("{}/{EXPORTED_RUN}/{}", self.run_id, member.name),
        };
        let mut counted = content.take(bytes);
        let written = self.tar.append_data(&mut header, path, &mut counted);
        let whole = written.and_then(|()| match counted.limit() {
            0 => Ok(()),
            // The `tar` library does not notice missing content. A program that unpacks the archive would then read the
            // next header as content.
            _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file became shorter while it was archived")),
        });
        whole.map_err(failed(FileOperation::Write, self.path))
    }

    pub(crate) fn finish(self) -> Result<(), EvidenceError> {
        let ended = self.tar.into_inner().and_then(zstd::Encoder::finish);
        ended.map(drop).map_err(failed(FileOperation::Write, self.path))
    }
}

impl Write for CheckedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_raw(self.file, self.path, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
