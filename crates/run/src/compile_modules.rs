//! Compiles the Python modules that a run used, so that later runs need not compile them. This happens after the verdict
//! is published.
//!
//! The interpreter gets the sources as its standard input and writes the compiled modules to its standard output. It runs
//! no code of the project: neither the project nor any installed package is on its path (`-I -S`), and `compile()`
//! executes nothing. The interpreter is isolated like a check, but may write nowhere. An interpreter that returns wrong
//! modules can spoil only the modules that are kept for itself, because the layer is named after the interpreter's
//! program file and its state.
//!
//! A test is compiled as pytest does it: by the code of the installed pytest, which rewrites the `assert` statements
//! first. Only the directory that has pytest is on the path then.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};

use proctor_evidence::{Store, WaitDecision};
use proctor_model::{ActionEnd, ActionLimits, Digest, IsolationLevel, StopStage};
use proctor_project::{KeptBytecode, ModulesToCompile, PythonInterpreter, Workspace};
use proctor_sandbox::hide_store_alone;
use proctor_sandbox::process::{
    ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, clock, supervise,
};
use proctor_sandbox::snapshot::{CacheTag, CompiledModule, PythonModule};

/// The most modules that one process of the interpreter compiles. If the process is stopped, no more modules than these
/// are lost.
const BATCH_MODULES: usize = 64;
/// Once the sources for one process of the interpreter have this size in bytes, the process gets no further source.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// pytest is ready to compile well before this time is over.
const LONG_FOR_PYTEST: Duration = Duration::from_secs(10);

/// The largest source that is compiled, in bytes. Larger sources are mostly data, and compiling one of them could
/// take the whole time.
const MAX_SOURCE: u64 = 512 * 1024;

/// The largest compiled module that is accepted, and the most that one process may print, in bytes.
const MAX_CODE: usize = 8 * 1024 * 1024;
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;

/// The flags of a compiled file that Python checks against the hash of its source (PEP 552). So if a check changes a
/// module's source during the run, Python runs the changed source and not the kept module. pytest before 9.2 compares
/// the time and the size of the source instead.
const CHECKED_HASH: [u8; 4] = [3, 0, 0, 0];
const CHECKED_TIME: [u8; 4] = [0, 0, 0, 0];
/// The length of a compiled file's head: the magic number, the flags, and the hash.
const HEAD_BYTES: usize = 16;

const GREETING: &[u8] = b"proctor\n";

/// The Python program that the interpreter runs. With an argument, the directory that has pytest, it compiles tests as
/// pytest does. A source whose compilation gives a warning is not compiled: otherwise a check would print the warning,
/// or fail because of it, in its first run only.
const PROGRAM: &str = r#"
import marshal, sys, warnings
from importlib.util import MAGIC_NUMBER, source_hash
from os import fsdecode
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
except Exception:
    pass
tag = sys.implementation.cache_tag
def compiled(source, name, level, time):
    code = compile(source, name, "exec", dont_inherit=True, optimize=level)
    return MAGIC_NUMBER + b"\3\0\0\0" + source_hash(source) + marshal.dumps(code)
if sys.argv[1:]:
    import ast, io, types
    sys.path.extend(sys.argv[1:])
    from _pytest.assertion import rewrite
    tag = rewrite.PYTEST_TAG
    write = rewrite._write_pyc_fp
    takes_hash = "source_hash" in write.__code__.co_varnames
    def compiled(source, name, level, time):
        tree = ast.parse(source, filename=name)
        rewrite.rewrite_asserts(tree, source, name)
        code = compile(tree, name, "exec", dont_inherit=True)
        file = io.BytesIO()
        stamp = types.SimpleNamespace(st_mtime=time, st_size=len(source))
        write(file, source_hash(source) if takes_hash else stamp, code)
        return file.getvalue()
warnings.simplefilter("error")
read, out = sys.stdin.buffer.read, sys.stdout.buffer
def number():
    return int.from_bytes(read(4), "little")
out.write(b"proctor\n" + tag.encode() + b"\n")
out.flush()
for level in iter(lambda: read(1), b""):
    time = number()
    name = fsdecode(read(number()))
    source = read(number())
    try:
        code = compiled(source, name, level[0], time)
    except Exception:
        code = b""
    out.write(len(code).to_bytes(4, "little") + code)
    out.flush()
"#;

/// A module with the bytes from which it is compiled.
struct ModuleSource {
    module: PythonModule,
    digest: Digest,
    /// When the source was last changed, as compiled files hold it.
    time: u32,
    bytes: Vec<u8>,
}

/// The modules that one process of the Python interpreter compiled.
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

/// The compiling of the modules that one run used.
struct Compilation<'a> {
    store: &'a Store,
    kept: &'a mut KeptBytecode,
    work: &'a ModulesToCompile,
    control: &'a Control,
}

/// How long the compiling may still take.
#[derive(Debug, Clone, Copy)]
struct TimeLeft {
    left: Duration,
    /// Whether that is most of the time that the compiling may take in all.
    is_whole_bound: bool,
}

/// Compiles the Python modules that the last run compiled and that are not kept yet, for at most `bound`. It is
/// meant for idle time: if another process has locked the project, nothing is compiled, and a stop request ends the
/// compiling at once.
pub fn compile_modules(workspace: &mut Workspace, bound: Duration, control: &Control) {
    let Some(work) = workspace.runner.bytecode.to_compile.take() else { return };
    let begun = clock::monotonic();
    // Without pytest first: to start it takes longer than to compile most modules.
    let mut all: Vec<_> = work.modules.iter().collect();
    all.sort_by_key(|(interpreter, _)| interpreter.pytest.is_some());
    for (interpreter, modules) in all {
        let executable = workspace.runner.executable().to_owned();
        let (store, kept) = (&workspace.evidence.store, &mut workspace.runner.bytecode);
        let mut compilation = Compilation { store, kept, work: &work, control };
        let lacking = compilation.lacking(interpreter, modules.iter());
        if lacking.is_empty() {
            continue;
        }
        // The launcher of the runs has prepared itself for the next check, so it is left alone.
        let Ok(mut launcher) = LauncherHandle::execute(&executable) else { return };
        let mut waiting = VecDeque::from(lacking);
        while !waiting.is_empty() && control.requested().is_none() {
            let left = bound.saturating_sub(clock::monotonic().since(begun));
            let time = TimeLeft { left, is_whole_bound: left > bound / 2 };
            if left.is_zero() || !compilation.compile_some(interpreter, &mut waiting, &mut launcher, time) {
                break;
            }
        }
    }
}

impl Compilation<'_> {
    /// Returns the modules that are not kept yet and are no larger than [`MAX_SOURCE`], the shortest first: a long
    /// module must not keep other modules from being compiled.
    fn lacking<'m>(
        &mut self,
        interpreter: &PythonInterpreter,
        modules: impl Iterator<Item = &'m PythonModule>,
    ) -> Vec<PythonModule> {
        let (tree, copy) = &self.work.tree;
        let layer = self.kept.layer(self.store, &self.work.project, interpreter);
        let mut lacking: Vec<_> = modules
            .filter_map(|module| {
                let digest = tree.lookup(&module.source)?.digest?;
                let metadata = std::fs::metadata(copy.join(module.source.as_path())).ok()?;
                let is_lacking = layer.lacks(module, digest) || layer.is_of_another_time(module, time_of(&metadata));
                (is_lacking && metadata.len() <= MAX_SOURCE).then(|| (metadata.len(), module.clone()))
            })
            .collect();
        lacking.sort();
        lacking.into_iter().map(|(_, module)| module).collect()
    }

    /// Compiles the next modules in one process of the interpreter and keeps the results. Returns false if no further
    /// process should be started, for example because the interpreter cannot be used.
    fn compile_some(
        &mut self,
        interpreter: &PythonInterpreter,
        waiting: &mut VecDeque<PythonModule>,
        launcher: &mut LauncherHandle,
        time: TimeLeft,
    ) -> bool {
        let work = self.work;
        // Each batch takes the project's lock anew, so that another process that needs the lock waits for one batch at
        // most.
        let Ok(_lock) = self.store.lock(&work.project, &mut || WaitDecision::GiveUp) else { return false };
        let sources = take_sources(work, waiting);
        if sources.is_empty() {
            return true;
        }
        let compiled = match self.compile_batch(interpreter, &sources, launcher, time.left) {
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
            // after every run. The start of pytest alone may take a short time.
            BatchEnd::TimedOut => {
                time.is_whole_bound && answered == 0 && (interpreter.pytest.is_none() || time.left > LONG_FOR_PYTEST)
            }
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
        let layer = self.kept.layer(self.store, &work.project, interpreter);
        if let Err(error) = layer.add(&work.tree.1, compiled.tag, &kept) {
            tracing::warn!("compiled Python modules were not kept: {error}");
            return false;
        }
        compiled.end == BatchEnd::ByItself
    }

    /// Lets one process of the interpreter compile the sources. Returns `None` if the process did not print its cache tag.
    fn compile_batch(
        &self,
        interpreter: &PythonInterpreter,
        sources: &[ModuleSource],
        launcher: &mut LauncherHandle,
        left: Duration,
    ) -> io::Result<Option<CompiledBatch>> {
        let program = interpreter.program.clone();
        let mut argv = vec![program.clone().into_os_string()];
        argv.extend(["-I", "-S", "-B", "-c", PROGRAM].map(OsString::from));
        argv.extend(interpreter.pytest.iter().map(OsString::from));
        let isolation = Isolation {
            strongest: IsolationLevel::Namespace,
            weakest: IsolationLevel::Namespace,
            sandbox: Some(hide_store_alone(self.store.root())?),
            ..Isolation::weakest()
        };
        let child = LaunchedChild {
            program,
            argv,
            environment: Vec::new(),
            directory: "/".into(),
            isolation,
            another_follows: false,
            early: None,
        };
        let launch = LaunchRequest { child, network: None, input: Some(question(&self.work.root, sources)) };
        let limits = ActionLimits {
            timeout: left,
            idle: None,
            output: Some(MAX_OUTPUT),
            grace: Duration::ZERO,
            ladder: vec![StopStage::Sigkill],
        };
        let mut printed = File::from(memfd_create(c"proctor-compiled", MFdFlags::MFD_CLOEXEC)?);
        let sinks =
            Sinks { log: printed.try_clone()?, frames: File::options().write(true).open("/dev/null")?, masked: Vec::new() };
        let ended = supervise(launcher, &launch, &limits, sinks, self.control, ALL_REASONS).map_err(io::Error::other)?;
        let end = match ended.end {
            ActionEnd::NotStarted(failure) => return Err(io::Error::other(failure.to_string())),
            ActionEnd::Exited { .. } | ActionEnd::Signalled { .. } => BatchEnd::ByItself,
            ActionEnd::TimedOut { .. } => BatchEnd::TimedOut,
            ActionEnd::Stopped { .. } | ActionEnd::Lost { .. } => BatchEnd::Stopped,
        };
        let mut bytes = Vec::new();
        printed.rewind()?;
        printed.read_to_end(&mut bytes)?;
        let answer = read_answer(&bytes, sources, interpreter.pytest.is_some());
        Ok(answer.map(|(tag, answers)| CompiledBatch { tag, answers, end }))
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
        let Ok((time, bytes)) = read_source(&copy.join(module.source.as_path())) else { continue };
        if Some(Digest::of(&bytes)) != digest {
            continue;
        }
        total += bytes.len();
        sources.push(ModuleSource { module, digest: Digest::of(&bytes), time, bytes });
    }
    sources
}

fn read_source(path: &Path) -> io::Result<(u32, Vec<u8>)> {
    let mut bytes = Vec::new();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let time = time_of(&file.metadata()?);
    file.take(MAX_SOURCE + 1).read_to_end(&mut bytes)?;
    Ok((time, bytes))
}

/// Returns when a file was last changed, in seconds since 1970, as compiled files hold it: the lowest 32 bits.
fn time_of(metadata: &Metadata) -> u32 {
    let bytes = metadata.mtime().to_le_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Returns what the interpreter reads: for each source its level of optimization and its time, then the length and the
/// bytes of its name, then the length and the bytes of its content.
fn question(root: &Path, sources: &[ModuleSource]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for source in sources {
        bytes.push(source.module.optimization);
        bytes.extend_from_slice(&source.time.to_le_bytes());
        let name = root.join(source.module.source.as_path());
        for part in [name.as_os_str().as_bytes(), &source.bytes] {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(part);
        }
    }
    bytes
}

/// Reads what the interpreter printed: its cache tag, and the answers until the first one that is not whole. Returns
/// `None` if there is no valid tag. `is_pytest` says whether pytest compiled the sources.
fn read_answer(printed: &[u8], sources: &[ModuleSource], is_pytest: bool) -> Option<(CacheTag, Vec<Option<Vec<u8>>>)> {
    let rest = printed.strip_prefix(GREETING)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let tag = CacheTag::new(std::str::from_utf8(&rest[..end]).ok()?).filter(|tag| tag.is_of_pytest() == is_pytest)?;
    let mut rest = &rest[end + 1..];
    let mut answers = Vec::new();
    while let Some(source) = sources.get(answers.len())
        && let Some((length, after)) = rest.split_first_chunk::<4>()
        && let Some((code, after)) = after.split_at_checked(u32::from_le_bytes(*length) as usize)
    {
        rest = after;
        let is_compiled = (HEAD_BYTES..=MAX_CODE).contains(&code.len()) && is_checked(&code[..HEAD_BYTES], source, is_pytest);
        answers.push(is_compiled.then(|| code.to_vec()));
    }
    Some((tag, answers))
}

/// Returns whether the head of a compiled file is one that ties it to its source.
fn is_checked(head: &[u8], source: &ModuleSource, is_pytest: bool) -> bool {
    let size = u32::try_from(source.bytes.len()).unwrap_or(u32::MAX);
    let stamp = [source.time.to_le_bytes(), size.to_le_bytes()].concat();
    head[4..8] == CHECKED_HASH || (is_pytest && head[4..8] == CHECKED_TIME && head[8..] == stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::TreePath;

    fn sources(count: usize) -> Vec<ModuleSource> {
        let module = PythonModule { source: TreePath::try_from("test_a.py").expect("a path"), optimization: 0 };
        let one = || ModuleSource { module: module.clone(), digest: Digest::of(b"text"), time: 7, bytes: b"text".to_vec() };
        (0..count).map(|_| one()).collect()
    }

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
        let (tag, answers) = read_answer(&bytes, &sources(4), false).expect("a tag");
        assert_eq!(Some(tag), CacheTag::new("cpython-311"));
        assert_eq!(answers, [Some(code.clone()), None, None, Some(code)]);
        for (length, expected) in [(bytes.len() - 1, 3), (bytes.len() - 21, 3), (25, 0), (20, 0)] {
            assert_eq!(read_answer(&bytes[..length], &sources(4), false).expect("a tag").1.len(), expected, "{length}");
        }
        assert_eq!(read_answer(&bytes, &sources(1), false).expect("a tag").1.len(), 1);
        let wrong = [&b"proctor\n"[..], b"proctor\n../x\n", b"Traceback\n", b""];
        assert!(wrong.iter().all(|text| read_answer(text, &sources(4), false).is_none()));
    }

    #[test]
    fn a_file_with_a_time_is_taken_only_from_pytest_and_for_its_own_source() {
        let by_time =
            |time: u32, size: u32| [b"magi".as_slice(), &CHECKED_TIME, &time.to_le_bytes(), &size.to_le_bytes()].concat();
        let bytes = printed(&[&by_time(7, 4), &by_time(8, 4), &by_time(7, 5)]);
        let is_taken = |is_pytest: bool| {
            let tag: &[u8] = if is_pytest { b"cpython-311-pytest-8.3.4" } else { b"cpython-311" };
            let bytes = [b"proctor\n", tag, &bytes[b"proctor\ncpython-311".len()..]].concat();
            let answers = read_answer(&bytes, &sources(3), is_pytest).expect("a tag").1;
            answers.iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!((is_taken(true), is_taken(false)), (vec![true, false, false], vec![false, false, false]));
    }
}
