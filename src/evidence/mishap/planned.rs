//! The test build: what goes wrong where, and what was passed by.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::errno::Errno;

use crate::evidence::{DurableStep, FileOperation};

/// The errors that an operation can be let fail with.
const ERRNOS: [(&str, Errno); 6] = [
    ("EIO", Errno::EIO),
    ("ENOSPC", Errno::ENOSPC),
    ("EDQUOT", Errno::EDQUOT),
    ("EROFS", Errno::EROFS),
    ("EACCES", Errno::EACCES),
    ("EMFILE", Errno::EMFILE),
];
/// So many hexadecimal digits are an id or a nonce, which is another one in every process.
const NONCE_DIGITS: usize = 8;
/// How the name of a run begins.
const RUN_PREFIX: &str = "exec-";

static PLANNED: OnceLock<Mishaps> = OnceLock::new();

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The operation fails; of a write, half was carried out.
    Fails(Errno),
    /// The program dies before the operation; of a write, half was carried out.
    Dies,
}

/// What goes wrong in this process, and where what was passed by is written down.
#[derive(Debug)]
pub struct Mishaps {
    planned: Option<(String, Mishap)>,
    passed: Option<File>,
    /// How often each place was passed.
    counts: Mutex<BTreeMap<String, u32>>,
    die: fn(),
}

impl Mishaps {
    /// Reads what is planned: `PLACE:ERRNO` or the place to die at, and the file for what was passed by. None where nothing is asked
    /// for or it does not read. `die` ends the process at once.
    pub fn parse(fail_at: Option<&str>, die_at: Option<&str>, passed: Option<&Path>, die: fn()) -> Option<Self> {
        let fails = || {
            let (place, name) = fail_at?.rsplit_once(':')?;
            let (_, errno) = ERRNOS.iter().find(|(known, _)| *known == name)?;
            Some((place.to_owned(), Mishap::Fails(*errno)))
        };
        let planned = fails().or_else(|| Some((die_at?.to_owned(), Mishap::Dies)));
        let passed = passed.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
        if planned.is_none() && passed.is_none() {
            return None;
        }
        Some(Self { planned, passed, counts: Mutex::default(), die })
    }

    /// Lets it happen in this process from now on.
    pub fn begin(self) {
        let _begun_already = PLANNED.set(self);
    }

    /// Writes down that a durable step is done.
    pub fn pass_step(step: DurableStep) {
        if let Some(planned) = PLANNED.get() {
            planned.note(&format!("done {}", step.name()));
        }
    }

    /// Passes a place; returns what goes wrong there.
    fn pass(&self, operation: FileOperation, path: &Path) -> Option<Mishap> {
        let place = place(operation, path);
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(place.clone()).or_default();
            *count += 1;
            *count
        };
        let numbered = format!("{place} {number}");
        self.note(&numbered);
        self.planned.as_ref().filter(|(planned, _)| *planned == numbered).map(|(_, mishap)| *mishap)
    }

    fn note(&self, line: &str) {
        if let Some(mut file) = self.passed.as_ref() {
            let _unheard = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn carry_out(&self, mishap: Mishap) -> io::Error {
        match mishap {
            Mishap::Fails(errno) => errno.into(),
            Mishap::Dies => {
                (self.die)();
                Errno::EINTR.into()
            }
        }
    }
}

/// Passes an operation, which fails here where that is planned.
pub(in crate::evidence) fn before(operation: FileOperation, path: &Path) -> io::Result<()> {
    let Some(planned) = PLANNED.get() else { return Ok(()) };
    planned.pass(operation, path).map_or(Ok(()), |mishap| Err(planned.carry_out(mishap)))
}

/// Passes a write, of which half is carried out where one is planned to go wrong.
pub(in crate::evidence) fn before_write(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let Some(planned) = PLANNED.get() else { return write(bytes) };
    match planned.pass(FileOperation::Write, path) {
        None => write(bytes),
        Some(mishap) => {
            write(&bytes[..bytes.len() / 2])?;
            Err(planned.carry_out(mishap))
        }
    }
}

/// Returns the name of an operation at a path, which is the same in every process: the last two names of the path, without ids.
fn place(operation: FileOperation, path: &Path) -> String {
    let process = std::process::id().to_string();
    // Git keeps an object in a directory of two digits of its id.
    let is_fan = |name: &str| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = |name: &str| {
        if is_fan(name) { "<fan>".to_owned() } else { without_ids(name, &process) }
    };
    let name = |path: &Path| path.file_name().map(|name| named(&name.to_string_lossy())).unwrap_or_default();
    let operation = format!("{operation:?}").to_lowercase();
    format!("{operation} {}/{}", path.parent().map(name).unwrap_or_default(), name(path))
}

/// Replaces the ids of runs and of this process, and digits that are an id or a nonce.
fn without_ids(name: &str, process: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        if let Some(id) = rest.strip_prefix(RUN_PREFIX) {
            let length = id.bytes().take_while(|byte| byte.is_ascii_digit() || b"TZ-".contains(byte)).count();
            // Milliseconds stand behind a dot, and so may the ending of a file's name.
            let millis = id[length..].strip_prefix('.').map_or(0, |more| {
                let digits = more.bytes().take_while(|byte| byte.is_ascii_digit() || b"TZ-".contains(byte)).count();
                if digits == 0 { 0 } else { digits + 1 }
            });
            plain.push_str("<run>");
            rest = &id[length + millis..];
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if &rest[..digits] == process {
            plain.push_str("<process>");
            rest = &rest[digits..];
            continue;
        }
        if digits >= NONCE_DIGITS {
            plain.push_str("<id>");
            rest = &rest[digits..];
            continue;
        }
        let kept = rest.chars().next().map_or(1, char::len_utf8).max(digits);
        plain.push_str(&rest[..kept]);
        rest = &rest[kept..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_same_in_every_process() {
        let of = |path: &str| place(FileOperation::Sync, Path::new(path));
        assert_eq!(of("/s/ledger/shop-00000001.jsonl"), "sync ledger/shop-<id>.jsonl");
        let run = "/s/evidence/shop-00000001/default/runs/exec-20260304T093000.120Z-000007";
        assert_eq!(of(run), "sync runs/<run>");
        assert_eq!(of(&format!("{run}/SHA256SUMS")), "sync <run>/SHA256SUMS");
        assert_eq!(of(&format!("{run}/exec-20260304T093000.120Z-000007.intoto.jsonl")), "sync <run>/<run>.intoto.jsonl");
        assert_eq!(of("/s/keys/private-0123456789abcdef.pem"), "sync keys/private-<id>.pem");
        assert_eq!(place(FileOperation::Protect, Path::new("/a/b")), "protect a/b");
        // The time of a run may have the digits of a process in it.
        assert_eq!(without_ids("exec-20260304T233512.120Z-000007", "2335"), "<run>");
        assert_eq!(without_ids("torn-2335-0123456789abcdef", "2335"), "torn-<process>-<id>");
        assert_eq!(of("/r/.git/objects/0f/0123456789abcdef0123456789abcdef012345"), "sync <fan>/<id>");
    }

    #[test]
    fn what_is_planned_goes_wrong_once_and_the_rest_is_written_down() {
        let directory = tempfile::tempdir().unwrap();
        let passed = directory.path().join("passed");
        let mishaps = Mishaps::parse(Some("sync a/b 2:ENOSPC"), None, Some(&passed), || {}).unwrap();
        let outcomes = [(); 3].map(|()| mishaps.pass(FileOperation::Sync, Path::new("/a/b")));
        assert_eq!(outcomes, [None, Some(Mishap::Fails(Errno::ENOSPC)), None]);
        assert_eq!(std::fs::read_to_string(&passed).unwrap(), "sync a/b 1\nsync a/b 2\nsync a/b 3\n");
        assert!(Mishaps::parse(None, None, None, || {}).is_none());
        assert!(Mishaps::parse(Some("sync a/b 1:ENOUGH"), None, None, || {}).is_none(), "no such error");
        assert_eq!(Mishaps::parse(None, Some("sync a/b 1"), None, || {}).unwrap().planned.unwrap().1, Mishap::Dies);
    }
}
