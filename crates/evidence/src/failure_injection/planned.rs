//! The test build: reads which failure is to be injected, counts operations, and logs them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::errno::Errno;

use crate::{DurableStep, FileOperation};

/// The I/O errors that a test can choose, by name.
const ERRNOS: [(&str, Errno); 6] = [
    ("EIO", Errno::EIO),
    ("ENOSPC", Errno::ENOSPC),
    ("EDQUOT", Errno::EDQUOT),
    ("EROFS", Errno::EROFS),
    ("EACCES", Errno::EACCES),
    ("EMFILE", Errno::EMFILE),
];
/// Hexadecimal digits in a row of at least this length are an id or a nonce, which differs from process to process.
const NONCE_DIGITS: usize = 8;
const RUN_PREFIX: &str = "exec-";

static PLANNED: OnceLock<FailureInjection> = OnceLock::new();

/// What happens at the operation that a test chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFailure {
    /// The operation fails with this error. If it is a write, the first half of the bytes is written.
    Fails(Errno),
    /// The program dies before the operation. If it is a write, the first half of the bytes is written.
    Dies,
}

/// The failure to inject into this process, and the log of the operations that the process tried.
#[derive(Debug)]
pub struct FailureInjection {
    planned: Option<(String, InjectedFailure)>,
    passed: Option<File>,
    /// The number of calls of each operation, by its name (see `operation_name`).
    counts: Mutex<BTreeMap<String, u32>>,
    die: fn(),
}

impl FailureInjection {
    /// Reads the failure to inject: `OPERATION:ERRNO` from `fail_at`, or the operation to die at from `die_at`. `passed` is
    /// the file for the log. Returns `None` if neither a failure that can be read nor a log is asked for. `die` must end the
    /// process at once.
    pub fn parse(fail_at: Option<&str>, die_at: Option<&str>, passed: Option<&Path>, die: fn()) -> Option<Self> {
        let fails = || {
            let (operation, errno_name) = fail_at?.rsplit_once(':')?;
            let (_, errno) = ERRNOS.iter().find(|(known, _)| *known == errno_name)?;
            Some((operation.to_owned(), InjectedFailure::Fails(*errno)))
        };
        let planned = fails().or_else(|| Some((die_at?.to_owned(), InjectedFailure::Dies)));
        let passed = passed.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
        if planned.is_none() && passed.is_none() {
            return None;
        }
        Some(Self { planned, passed, counts: Mutex::default(), die })
    }

    /// Makes this the failure injection of the whole process. A second call has no effect.
    pub fn install(self) {
        let _begun_already = PLANNED.set(self);
    }

    /// Adds a line to the log of operations that says that a durable step is done.
    pub fn log_step(step: DurableStep) {
        if let Some(planned) = PLANNED.get() {
            planned.log(&format!("done {}", step.name()));
        }
    }

    /// Counts and logs an operation; returns the failure that is planned for it.
    fn pass_operation(&self, operation: FileOperation, path: &Path) -> Option<InjectedFailure> {
        let name = operation_name(operation, path);
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            *count
        };
        let numbered = format!("{name} {number}");
        self.log(&numbered);
        self.planned.as_ref().filter(|(planned, _)| *planned == numbered).map(|(_, failure)| *failure)
    }

    fn log(&self, line: &str) {
        if let Some(mut file) = self.passed.as_ref() {
            let _unheard = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn cause(&self, failure: InjectedFailure) -> io::Error {
        match failure {
            InjectedFailure::Fails(errno) => errno.into(),
            InjectedFailure::Dies => {
                (self.die)();
                Errno::EINTR.into()
            }
        }
    }
}

/// Counts and logs an operation. Returns an error if a test planned that the operation fails.
pub(crate) fn fail_if_planned(operation: FileOperation, path: &Path) -> io::Result<()> {
    let Some(planned) = PLANNED.get() else { return Ok(()) };
    planned.pass_operation(operation, path).map_or(Ok(()), |failure| Err(planned.cause(failure)))
}

/// Writes the bytes. If a test planned that this write fails, only the first half is written.
pub(crate) fn write_unless_planned_to_fail(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let Some(planned) = PLANNED.get() else { return write(bytes) };
    match planned.pass_operation(FileOperation::Write, path) {
        None => write(bytes),
        Some(failure) => {
            write(&bytes[..bytes.len() / 2])?;
            Err(planned.cause(failure))
        }
    }
}

/// Returns a name for an operation that is the same in every process: the kind of operation and the last two components
/// of the path, without ids.
fn operation_name(operation: FileOperation, path: &Path) -> String {
    let process = std::process::id().to_string();
    // Git stores an object in a directory whose name is the first two digits of the object's id.
    let is_fan = |name: &str| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let without_fan = |name: &str| {
        if is_fan(name) { "<fan>".to_owned() } else { without_ids(name, &process) }
    };
    let name = |path: &Path| path.file_name().map(|name| without_fan(&name.to_string_lossy())).unwrap_or_default();
    format!("{} {}/{}", operation_word(operation), path.parent().map(name).unwrap_or_default(), name(path))
}

/// Returns the word by which tests name an operation. Error messages use other words for some operations: "cannot write
/// to `x`".
fn operation_word(operation: FileOperation) -> &'static str {
    match operation {
        FileOperation::Create => "create",
        FileOperation::Open => "open",
        FileOperation::Read => "read",
        FileOperation::Write => "write",
        FileOperation::Sync => "sync",
        FileOperation::Protect => "protect",
        FileOperation::List => "list",
        FileOperation::Rename => "rename",
        FileOperation::Remove => "remove",
        FileOperation::Link => "link",
        FileOperation::Lock => "lock",
    }
}

/// Replaces run ids, this process's id, and rows of digits that are an id or a nonce by placeholders.
fn without_ids(name: &str, process: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        if let Some(id) = rest.strip_prefix(RUN_PREFIX) {
            let length = id.bytes().take_while(|byte| byte.is_ascii_digit() || b"TZ-".contains(byte)).count();
            // A run id has its milliseconds after a dot. A file's extension may follow after another dot.
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
    fn an_operation_has_the_same_name_in_every_process() {
        let name_of = |path: &str| operation_name(FileOperation::Sync, Path::new(path));
        assert_eq!(name_of("/s/ledger/shop-00000001.jsonl"), "sync ledger/shop-<id>.jsonl");
        let run = "/s/evidence/shop-00000001/default/runs/exec-20260304T093000.120Z-000007";
        assert_eq!(name_of(run), "sync runs/<run>");
        assert_eq!(name_of(&format!("{run}/SHA256SUMS")), "sync <run>/SHA256SUMS");
        assert_eq!(name_of(&format!("{run}/exec-20260304T093000.120Z-000007.intoto.jsonl")), "sync <run>/<run>.intoto.jsonl");
        assert_eq!(name_of("/s/keys/private-0123456789abcdef.pem"), "sync keys/private-<id>.pem");
        assert_eq!(operation_name(FileOperation::Protect, Path::new("/a/b")), "protect a/b");
        // The digits of a process id may occur in the time of a run id.
        assert_eq!(without_ids("exec-20260304T233512.120Z-000007", "2335"), "<run>");
        assert_eq!(without_ids("torn-2335-0123456789abcdef", "2335"), "torn-<process>-<id>");
        assert_eq!(name_of("/r/.git/objects/0f/0123456789abcdef0123456789abcdef012345"), "sync <fan>/<id>");
    }

    #[test]
    fn the_planned_failure_happens_once_and_all_operations_are_logged() {
        let directory = tempfile::tempdir().unwrap();
        let passed = directory.path().join("passed");
        let injection = FailureInjection::parse(Some("sync a/b 2:ENOSPC"), None, Some(&passed), || {}).unwrap();
        let outcomes = [(); 3].map(|()| injection.pass_operation(FileOperation::Sync, Path::new("/a/b")));
        assert_eq!(outcomes, [None, Some(InjectedFailure::Fails(Errno::ENOSPC)), None]);
        assert_eq!(std::fs::read_to_string(&passed).unwrap(), "sync a/b 1\nsync a/b 2\nsync a/b 3\n");
        assert!(FailureInjection::parse(None, None, None, || {}).is_none());
        assert!(FailureInjection::parse(Some("sync a/b 1:ENOUGH"), None, None, || {}).is_none(), "no such error");
        assert_eq!(
            FailureInjection::parse(None, Some("sync a/b 1"), None, || {}).unwrap().planned.unwrap().1,
            InjectedFailure::Dies
        );
    }
}
