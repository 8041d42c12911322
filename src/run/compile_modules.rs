//! Compiles the Python modules that a run used, so that later runs need not compile them. This happens after the verdict
//! is published.
//!
//! The interpreter gets the sources as its standard input and writes the compiled modules to its standard output. It runs
//! no code of the project: neither the project nor any installed package is on its path (`-I -S`), and `compile()`
//! executes nothing. The interpreter is isolated like a check, but may write nowhere. An interpreter that returns wrong
//! modules can spoil only the modules that are kept for itself, because the layer is named after the interpreter's
//! program file and its state.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::evidence::WaitDecision;
use crate::model::{ActionEnd, ActionLimits, Digest, IsolationLevel, ResourceLimits, Sandbox, StopStage, SystemCallFilter};
use crate::process::{ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, clock, supervise};
use crate::project::{ModulesToCompile, PythonInterpreter, Workspace};
use crate::snapshot::{CacheTag, CompiledModule, PythonModule};

/// The most modules that one process of the interpreter compiles. If the process is stopped, no more modules than these
/// are lost.
const BATCH_MODULES: usize = 64;
/// Once the sources for one process of the interpreter have this size in bytes, the process gets no further source.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// The largest source that is compiled, in bytes. Larger sources are mostly data, and compiling one of them could
/// take the whole time.
const MAX_SOURCE: u64 = 512 * 1024;

/// The largest compiled module that is accepted, and the most that one process may print, in bytes.
const MAX_CODE: usize = 8 * 1024 * 1024;
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// The flags of a compiled file that Python checks against the hash of its source (PEP 552). So if a check changes a
/// module's source during the run, Python runs the changed source and not the kept module.
const CHECKED_HASH: [u8; 4] = [3, 0, 0, 0];
/// The length of a compiled file's head: the magic number, the flags, and the hash.
const HEAD_BYTES: usize = 16;

const GREETING: &[u8] = b"proctor\n";

/// The Python program that the interpreter runs. A source whose compilation gives a warning is not compiled: otherwise
/// a check would print the warning, or fail because of it, in its first run only.
const PROGRAM: &str = r#"
import marshal, sys, warnings
from importlib.util import MAGIC_NUMBER, source_hash
from os import fsdecode
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
except Exception:
    pass
warnings.simplefilter("error")
read, out = sys.stdin.buffer.read, sys.stdout.buffer
def number():
    return int.from_bytes(read(4), "little")
out.write(b"proctor\n" + sys.implementation.cache_tag.encode() + b"\n")
out.flush()
for level in iter(lambda: read(1), b""):
    name = fsdecode(read(number()))
    source = read(number())
    try:
        code = compile(source, name, "exec", dont_inherit=True, optimize=level[0])
        code = MAGIC_NUMBER + b"\3\0\0\0" + source_hash(source) + marshal.dumps(code)
    except Exception:
        code = b""
    out.write(len(code).to_bytes(4, "little") + code)
    out.flush()
"#;

/// A module with the bytes from which it is compiled.
struct ModuleSource {
    module: PythonModule,
    digest: Digest,
    bytes: Vec<u8>,
}

/// What one process of the interpreter did.
struct CompiledBatch {
    tag: CacheTag,
    /// The compiled modules in the order in which they were asked for; `None` for a source that cannot be compiled.
    answers: Vec<Option<Vec<u8>>>,
    end: BatchEnd,
}

/// How a process of the interpreter ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchEnd {
    /// By itself: after the last module, or because it crashed at one.
    ByItself,
    TimedOut,
    Stopped,
}

impl Workspace {
    /// Compiles the Python modules that the last run compiled and that are not kept yet, for at most `bound`. It is
    /// meant for idle time: if another process has locked the project, nothing is compiled, and a stop request ends the
    /// compiling at once.
    pub fn compile_modules(&mut self, bound: Duration, control: &Control) {
        let Some(work) = self.bytecode.to_compile.take() else { return };
        let begun = clock::monotonic();
        for (interpreter, modules) in &work.modules {
            let lacking = self.lacking(&work, interpreter, modules.iter());
            if lacking.is_empty() {
                continue;
            }
            // The launcher of the runs has prepared itself for the next check, so it is left alone.
            let Ok(mut launcher) = LauncherHandle::execute(self.executable()) else { return };
            let mut waiting = VecDeque::from(lacking);
            while !waiting.is_empty() && control.requested().is_none() {
                let left = bound.saturating_sub(clock::monotonic().since(begun));
                let is_whole_bound = left > bound / 2;
                if left.is_zero()
                    || !self.compile_some(&work, interpreter, &mut waiting, &mut launcher, (left, is_whole_bound), control)
                {
                    break;
                }
            }
        }
    }

    /// Returns the modules that are not kept yet and are no larger than [`MAX_SOURCE`], the shortest first: a long
    /// module must not keep other modules from being compiled.
    fn lacking<'m>(
        &mut self,
        work: &ModulesToCompile,
        interpreter: &PythonInterpreter,
        modules: impl Iterator<Item = &'m PythonModule>,
    ) -> Vec<PythonModule> {
        let (tree, copy) = &work.tree;
        let layer = self.bytecode.layer(&self.store, &work.project, interpreter);
        let mut lacking: Vec<_> = modules
            .filter_map(|module| Some((module, tree.lookup(&module.source)?.digest?)))
            .filter(|(module, digest)| layer.lacks(module, *digest))
            .filter_map(|(module, _)| Some((std::fs::metadata(copy.join(module.source.as_path())).ok()?.len(), module.clone())))
            .filter(|(bytes, _)| *bytes <= MAX_SOURCE)
            .collect();
        lacking.sort();
        lacking.into_iter().map(|(_, module)| module).collect()
    }

    /// Compiles the next modules in one process of the interpreter and keeps the results. Returns false if no further
    /// process should be started, for example because the interpreter cannot be used.
    fn compile_some(
        &mut self,
        work: &ModulesToCompile,
        interpreter: &PythonInterpreter,
        waiting: &mut VecDeque<PythonModule>,
        launcher: &mut LauncherHandle,
        (left, is_whole_bound): (Duration, bool),
        control: &Control,
    ) -> bool {
        // Each batch takes the project's lock anew, so that another process that needs the lock waits for one batch at
        // most.
        let Ok(_lock) = self.store.lock(&work.project, &mut || WaitDecision::GiveUp) else { return false };
        let sources = take_sources(work, waiting);
        if sources.is_empty() {
            return true;
        }
        let compiled = match compile_batch(self.store.root(), interpreter, (&work.root, &sources), launcher, (left, control)) {
            Ok(Some(compiled)) => compiled,
            Ok(None) => return false,
            Err(error) => {
                tracing::debug!("Python modules were not compiled: {error}");
                return false;
            }
        };
        let answered = compiled.answers.len();
        let mut kept: Vec<CompiledModule> = Vec::new();
        let mut answers = compiled.answers.into_iter();
        let mut is_culprit = match compiled.end {
            BatchEnd::ByItself => true,
            // If one module alone takes the whole time, it counts as refused. Otherwise it would take the whole time
            // after every run.
            BatchEnd::TimedOut => is_whole_bound && answered == 0,
            BatchEnd::Stopped => false,
        };
        for ModuleSource { module, digest, .. } in sources {
            match answers.next() {
                Some(code) => kept.push(CompiledModule { module, digest, code }),
                None if is_culprit => {
                    is_culprit = false;
                    kept.push(CompiledModule { module, digest, code: None });
                }
                None => waiting.push_back(module),
            }
        }
        let layer = self.bytecode.layer(&self.store, &work.project, interpreter);
        if let Err(error) = layer.add(&work.tree.1, compiled.tag, &kept) {
            tracing::warn!("compiled Python modules were not kept: {error}");
            return false;
        }
        compiled.end == BatchEnd::ByItself
    }
}

/// Takes modules from `waiting`, and reads their sources from the tree's copy. A source whose content differs from that
/// in the run's tree is left out.
fn take_sources(work: &ModulesToCompile, waiting: &mut VecDeque<PythonModule>) -> Vec<ModuleSource> {
    let (tree, copy) = &work.tree;
    let (mut sources, mut total) = (Vec::new(), 0);
    while sources.len() < BATCH_MODULES && total < BATCH_BYTES {
        let Some(module) = waiting.pop_front() else { break };
        let digest = tree.lookup(&module.source).and_then(|entry| entry.digest);
        let Ok(bytes) = read_source(&copy.join(module.source.as_path())) else { continue };
        if Some(Digest::of(&bytes)) != digest {
            continue;
        }
        total += bytes.len();
        sources.push(ModuleSource { module, digest: Digest::of(&bytes), bytes });
    }
    sources
}

fn read_source(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    file.take(MAX_SOURCE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Lets one process of the interpreter compile the sources. Returns `None` if the process did not print its cache tag.
fn compile_batch(
    store: &Path,
    interpreter: &PythonInterpreter,
    (root, sources): (&Path, &[ModuleSource]),
    launcher: &mut LauncherHandle,
    (left, control): (Duration, &Control),
) -> io::Result<Option<CompiledBatch>> {
    let program = interpreter.program.clone();
    let mut argv = vec![program.clone().into_os_string()];
    argv.extend(["-I", "-S", "-B", "-c", PROGRAM].map(OsString::from));
    let isolation = Isolation {
        strongest: IsolationLevel::Namespace,
        weakest: IsolationLevel::Namespace,
        sandbox: Some(Sandbox { places: Vec::new(), store: store.canonicalize()? }),
        snapshot: None,
        output: None,
        resources: ResourceLimits::default(),
        filter: SystemCallFilter::WherePossible,
    };
    let child =
        LaunchedChild { program, argv, environment: Vec::new(), directory: "/".into(), isolation, another_follows: false };
    let launch = LaunchRequest { child, input: Some(question(root, sources)) };
    let limits = ActionLimits {
        timeout: left,
        idle: None,
        output: Some(MAX_OUTPUT),
        grace: Duration::ZERO,
        ladder: vec![StopStage::Sigkill],
    };
    let mut printed = File::from(memfd_create(c"proctor-compiled", MFdFlags::MFD_CLOEXEC)?);
    let sinks = Sinks { log: printed.try_clone()?, frames: File::options().write(true).open("/dev/null")? };
    let ended = supervise(launcher, &launch, &limits, sinks, control, ALL_REASONS).map_err(io::Error::other)?;
    let end = match ended.end {
        ActionEnd::NotStarted(failure) => return Err(io::Error::other(failure.to_string())),
        ActionEnd::Exited { .. } | ActionEnd::Signalled { .. } => BatchEnd::ByItself,
        ActionEnd::TimedOut { .. } => BatchEnd::TimedOut,
        ActionEnd::Stopped { .. } | ActionEnd::Lost { .. } => BatchEnd::Stopped,
    };
    let mut bytes = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut bytes)?;
    let answer = read_answer(&bytes, sources.len());
    Ok(answer.map(|(tag, answers)| CompiledBatch { tag, answers, end }))
}

/// Returns what the interpreter reads: for each source its level of optimization, then the length and the bytes of
/// its name, then the length and the bytes of its content.
fn question(root: &Path, sources: &[ModuleSource]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for source in sources {
        bytes.push(source.module.optimization);
        let name = root.join(source.module.source.as_path());
        for part in [name.as_os_str().as_bytes(), &source.bytes] {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(part);
        }
    }
    bytes
}

/// Reads what the interpreter printed: its cache tag, and the answers until the first one that is not whole. Returns
/// `None` if there is no valid tag.
fn read_answer(printed: &[u8], asked: usize) -> Option<(CacheTag, Vec<Option<Vec<u8>>>)> {
    let rest = printed.strip_prefix(GREETING)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let tag = CacheTag::new(std::str::from_utf8(&rest[..end]).ok()?)?;
    let mut rest = &rest[end + 1..];
    let mut answers = Vec::new();
    while answers.len() < asked
        && let Some((length, after)) = rest.split_first_chunk::<4>()
        && let Some((code, after)) = after.split_at_checked(u32::from_le_bytes(*length) as usize)
    {
        rest = after;
        let is_compiled = (HEAD_BYTES..=MAX_CODE).contains(&code.len()) && code[4..8] == CHECKED_HASH;
        answers.push(is_compiled.then(|| code.to_vec()));
    }
    Some((tag, answers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(answers: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"proctor\ncpython-311\n".to_vec();
        for answer in answers {
            bytes.extend_from_slice(&u32::try_from(answer.len()).expect("short").to_le_bytes());
            bytes.extend_from_slice(answer);
        }
        bytes
    }

    #[test]
    fn answers_are_read_until_the_first_that_is_not_whole() {
        let code = [b"magi".as_slice(), &CHECKED_HASH, b"hashhash", b"code"].concat();
        let unchecked = [b"magi".as_slice(), &[1, 0, 0, 0], b"hashhash", b"code"].concat();
        let bytes = printed(&[&code, b"", &unchecked, &code]);
        let (tag, answers) = read_answer(&bytes, 4).expect("a tag");
        assert_eq!(Some(tag), CacheTag::new("cpython-311"));
        assert_eq!(answers, [Some(code.clone()), None, None, Some(code)]);
        for (length, expected) in [(bytes.len() - 1, 3), (bytes.len() - 21, 3), (25, 0), (20, 0)] {
            assert_eq!(read_answer(&bytes[..length], 4).expect("a tag").1.len(), expected, "{length}");
        }
        assert_eq!(read_answer(&bytes, 1).expect("a tag").1.len(), 1);
        assert!([&b"proctor\n"[..], b"proctor\n../x\n", b"Traceback\n", b""].iter().all(|text| read_answer(text, 4).is_none()));
    }
}
