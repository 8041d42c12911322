//! Records which modules a layer of bytecode may have, and from which content each was compiled.
//!
//! A module is recorded before its compiled file is written, and taken off the record after the file is removed. So the record
//! names every file of the layer, also after a crash.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::snapshot::python_module::{CacheTag, PythonModule};
use proctor_model::{Digest, TreePath};

const RECORD: &str = "record";
const NEW: &str = "record.new";

/// The first line of a record. A record that begins with another line is not used.
const VERSION: &str = "proctor-bytecode-1";

/// The record is written anew when at least this many of its entries are outdated.
const OUTDATED: usize = 1024;

/// What the record says about a module: from which source it was compiled, and whether the interpreter compiled that
/// source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordedModule {
    pub(super) digest: Digest,
    pub(super) state: ModuleState,
}

/// Whether a module could be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModuleState {
    Compiled,
    /// The interpreter did not compile this source, so it is not asked again.
    Refused,
}

/// The record of one layer, and the open file that holds it.
#[derive(Debug)]
pub(super) struct BytecodeRecord {
    directory: PathBuf,
    file: File,
    pub(super) tag: CacheTag,
    pub(super) modules: BTreeMap<PythonModule, RecordedModule>,
    entries: usize,
    left: FileIdentity,
}

/// Tells whether another process has changed the layer: every such process appends to the record's file or replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    file: (u64, u64),
    bytes: u64,
}

impl BytecodeRecord {
    /// Opens the record in `directory`. Returns `None` if there is none, if it is from another boot or version, or if it is
    /// damaged or unreadable.
    pub(super) fn open(directory: &Path, boot: &str) -> Option<Self> {
        let path = directory.join(RECORD);
        let bytes = fs::read(&path).ok()?;
        let (tag, body) = split_head(&bytes, boot)?;
        let mut modules = BTreeMap::new();
        let mut entries = 0;
        // A record whose last entry was not written completely is not used: the next entry would be appended to the
        // incomplete one.
        for entry in body.strip_suffix(&[0])?.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let (module, recorded) = parse(entry)?;
            match recorded {
                Some(recorded) => drop(modules.insert(module, recorded)),
                None => drop(modules.remove(&module)),
            }
            entries += 1;
        }
        let file = OpenOptions::new().append(true).open(&path).ok()?;
        let left = FileIdentity::read(directory).ok()?;
        Some(Self { directory: directory.to_owned(), file, tag, modules, entries, left })
    }

    /// Starts an empty record in `directory`.
    pub(super) fn begin(directory: &Path, boot: &str, tag: CacheTag) -> io::Result<Self> {
        let head = format!("{VERSION}\n{boot}\n{}\n\0", tag.as_str());
        let file = replace(directory, head.as_bytes())?;
        let left = FileIdentity::read(directory)?;
        Ok(Self { directory: directory.to_owned(), file, tag, modules: BTreeMap::new(), entries: 0, left })
    }

    /// Returns whether no other process has changed the layer since this one did.
    pub(super) fn is_as_left(&self) -> bool {
        FileIdentity::read(&self.directory).is_ok_and(|identity| identity == self.left)
    }

    /// Records modules, or takes them off the record (`None`).
    pub(super) fn note(&mut self, changes: &[(PythonModule, Option<RecordedModule>)]) -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (module, recorded) in changes {
            append_entry(&mut bytes, module, recorded.as_ref());
        }
        self.file.write_all(&bytes)?;
        self.entries += changes.len();
        for (module, recorded) in changes {
            match recorded {
                Some(recorded) => drop(self.modules.insert(module.clone(), *recorded)),
                None => drop(self.modules.remove(module)),
            }
        }
        self.left = FileIdentity::read(&self.directory)?;
        Ok(())
    }

    /// Writes the record anew if many of its entries are outdated.
    pub(super) fn shorten(&mut self, boot: &str) -> io::Result<()> {
        if self.entries < self.modules.len() + OUTDATED {
            return Ok(());
        }
        let mut bytes = format!("{VERSION}\n{boot}\n{}\n\0", self.tag.as_str()).into_bytes();
        for (module, recorded) in &self.modules {
            append_entry(&mut bytes, module, Some(recorded));
        }
        self.file = replace(&self.directory, &bytes)?;
        self.entries = self.modules.len();
        self.left = FileIdentity::read(&self.directory)?;
        Ok(())
    }
}

impl FileIdentity {
    fn read(directory: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(directory.join(RECORD))?;
        Ok(Self { file: (metadata.dev(), metadata.ino()), bytes: metadata.len() })
    }
}

fn replace(directory: &Path, bytes: &[u8]) -> io::Result<File> {
    let new = directory.join(NEW);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().append(true).create_new(true).open(&new)?;
    file.write_all(bytes)?;
    nix::fcntl::renameat(nix::fcntl::AT_FDCWD, &new, nix::fcntl::AT_FDCWD, &directory.join(RECORD))?;
    Ok(file)
}

/// Returns the tag and what follows the head of a record, if it was written in this boot.
fn split_head<'b>(bytes: &'b [u8], boot: &str) -> Option<(CacheTag, &'b [u8])> {
    let body = bytes.strip_prefix(format!("{VERSION}\n{boot}\n").as_bytes())?;
    let end = body.iter().position(|byte| *byte == b'\n')?;
    let tag = CacheTag::new(std::str::from_utf8(&body[..end]).ok()?)?;
    Some((tag, &body[end + 1..]))
}

/// An entry is the level of optimization, the state (`g` for a module that is gone), the digest, and the path, ended by NUL.
fn append_entry(bytes: &mut Vec<u8>, module: &PythonModule, recorded: Option<&RecordedModule>) {
    let state = match recorded.map(|recorded| recorded.state) {
        Some(ModuleState::Compiled) => b'c',
        Some(ModuleState::Refused) => b'r',
        None => b'g',
    };
    bytes.push(b'0' + module.optimization);
    bytes.push(state);
    bytes.extend_from_slice(recorded.map_or_else(|| "0".repeat(64), |recorded| recorded.digest.hex()).as_bytes());
    bytes.extend_from_slice(module.source.as_bytes());
    bytes.push(0);
}

fn parse(entry: &[u8]) -> Option<(PythonModule, Option<RecordedModule>)> {
    let (level, state) = (entry.first()?.checked_sub(b'0')?, entry.get(1)?);
    let digest = Digest::try_from(String::from_utf8(entry.get(2..66)?.to_vec()).ok()?).ok()?;
    let module = PythonModule { source: TreePath::try_from(entry.get(66..)?).ok()?, optimization: level };
    let recorded = match state {
        b'c' => Some(RecordedModule { digest, state: ModuleState::Compiled }),
        b'r' => Some(RecordedModule { digest, state: ModuleState::Refused }),
        b'g' => None,
        _ => return None,
    };
    Some((module, recorded))
}
