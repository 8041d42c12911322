//! Notices that the service's own program file was replaced, for example by an update, so that the service can start the new one.
//!
//! The file is not looked at from time to time: a watch tells of a change of the old file's name, and the end of each run is an
//! occasion to look.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::engine::Moment;
use proctor_sandbox::process::clock::monotonic;
use proctor_sandbox::process::try_program;
use proctor_tree::watch::{FollowedFile, WatchHub};

/// How long another file must stay as it is before it counts as the new program: it may still be written.
const SETTLING: Duration = Duration::from_secs(1);
/// The longest pause between two looks while the file is gone or not ready.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long the new program may take to print its version. Nothing waits for it meanwhile.
const TRIAL: Duration = Duration::from_secs(10);
/// How long it may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(200);
/// The most bytes that are read of what it prints.
const LONGEST_VERSION: usize = 4 * 1024;

/// The service's own program file.
pub(super) struct OwnProgram {
    path: PathBuf,
    /// The device and inode of the file from which this process was started; `None` if they could not be read.
    own: Option<FileIdentity>,
    /// What was found instead, and whether it is looked at again.
    change: Option<ProgramChange>,
    /// The file that could not be run when it was tried last.
    unfit: Option<FileStamp>,
    /// The trial of the new program that is under way.
    trial: Option<ProgramTrial>,
    /// The program that ran when it was tried last.
    fit: Option<RunnableProgram>,
    /// The file, and the links by which its path leads to it. For what could not be watched, the ends of runs are the only occasions to
    /// look.
    _followed: Vec<FollowedFile>,
}

/// A program that was opened before it was tried, so that the same file is tried and started, whatever its path leads to meanwhile.
#[derive(Debug, Clone)]
pub struct RunnableProgram {
    path: PathBuf,
    file: Arc<File>,
}

impl PartialEq for RunnableProgram {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
    }
}

impl Eq for RunnableProgram {}

impl RunnableProgram {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: Arc::new(File::open(path)?) })
    }

    /// Returns the path that the program was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path by which this process and its children execute the opened file. A script is executed by its own path: its
    /// interpreter opens it anew, and by then the descriptor is closed.
    pub fn executable(&self) -> PathBuf {
        let mut beginning = [0; 2];
        let read = (&*self.file).rewind().and_then(|()| (&*self.file).read(&mut beginning));
        if read.is_ok() && &beginning == b"#!" {
            return self.path.clone();
        }
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

/// What another file must not change in for a moment before it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    identity: FileIdentity,
    bytes: u64,
    changed: (i64, i64),
}

#[derive(Debug, Clone, Copy)]
struct ProgramChange {
    /// The other file; `None` while there is none that could be started.
    found: Option<FileStamp>,
    pause: Duration,
    again: Moment,
}

/// A trial of another program, on a thread of its own. Dropping it ends the trial.
struct ProgramTrial {
    /// The stamp of the file that is tried. If another file is there at the end, the outcome does not count.
    of: FileStamp,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The program that was tried, or why it does not run.
pub(crate) type TrialOutcome = Result<RunnableProgram, String>;

/// Whether the service's program file is still the one that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramState {
    Same,
    /// The file is gone, being written or being tried: it is looked at again at [`OwnProgram::next_moment`], or when the trial
    /// is over.
    Unsettled,
    /// Another program is there, complete and executable.
    Replaced,
}

impl OwnProgram {
    /// Begins to watch the file. `changed` is called from another thread at every event of it, and must not block.
    pub(super) fn follow(path: &Path, hub: &WatchHub, changed: impl Fn() + Send + Sync + 'static) -> Self {
        let (running, is_replaced) = running_program(path);
        let own = running.map(|metadata| FileIdentity::of(&metadata));
        // No event tells of what was replaced before.
        let change = is_replaced.then_some(ProgramChange { found: None, pause: SETTLING, again: Moment(0) });
        let changed = Arc::new(changed);
        let follow = |file: PathBuf| {
            let changed = Arc::clone(&changed);
            hub.follow_file(&file, move || changed()).ok()
        };
        let followed = links_and_file(path).into_iter().filter_map(follow).collect();
        Self { path: path.to_owned(), own, change, unfit: None, trial: None, fit: None, _followed: followed }
    }

    /// Returns the path at which the new program was found.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the program that ran when it was tried last.
    pub(super) fn fit(&self) -> Option<&RunnableProgram> {
        self.fit.as_ref()
    }

    /// Returns when the file is to be looked at again. During a trial its end is the occasion.
    pub(super) fn next_moment(&self) -> Option<Moment> {
        self.change.filter(|_| self.trial.is_none()).map(|change| change.again)
    }

    /// Looks at the file.
    pub(super) fn look(&mut self, now: Moment) -> ProgramState {
        self.judge(now, read(&self.path).as_ref().map(|metadata| (FileStamp::of(metadata), is_executable(metadata))))
    }

    /// Starts the new program once, with `--version`, on a thread of its own, before this process gives its place to it. The thread
    /// calls `tell` with the error if the program does not run; what `tell` was given has to be passed to [`Self::tried`]. If no thread
    /// can be started, the file is looked at again later.
    pub(super) fn try_out(&mut self, now: Moment, tell: impl FnOnce(TrialOutcome) + Send + 'static) {
        let Some((change, of)) = self.change.as_mut().and_then(|change| change.found.map(|of| (change, of))) else { return };
        let (is_over, path) = (Arc::new(AtomicBool::new(false)), self.path.clone());
        let seen = Arc::clone(&is_over);
        match Builder::new().name("trial".to_owned()).spawn(move || tell(try_file(&path, &seen))) {
            Ok(thread) => self.trial = Some(ProgramTrial { of, is_over, thread: Some(thread) }),
            Err(_) => change.look_later(now),
        }
    }

    /// Takes the outcome of the trial. If the program does not run, it is tried again later, and the error says why; it is
    /// `None` if the same file was tried before, or another file took its place during the trial.
    pub(super) fn tried(&mut self, now: Moment, outcome: TrialOutcome) -> Result<(), Option<String>> {
        let Some(of) = self.trial.take().map(|trial| trial.of) else { return Err(None) };
        let Some(change) = self.change.as_mut().filter(|change| change.found == Some(of)) else { return Err(None) };
        let why = match outcome {
            Ok(program) => {
                (self.unfit, self.fit) = (None, Some(program));
                return Ok(());
            }
            Err(why) => why,
        };
        change.look_later(now);
        let is_known = self.unfit.replace(of) == Some(of);
        Err((!is_known).then_some(why))
    }

    /// Decides by what was found at the path: the file, and whether it may be executed.
    fn judge(&mut self, now: Moment, found: Option<(FileStamp, bool)>) -> ProgramState {
        let Some(own) = self.own else { return ProgramState::Same };
        if found.is_some_and(|(stamp, _)| stamp.identity == own) {
            self.change = None;
            return ProgramState::Same;
        }
        let ready = found.filter(|(_, is_executable)| *is_executable).map(|(stamp, _)| stamp);
        let before = self.change;
        if let (Some(before), Some(_)) = (before, ready)
            && before.found == ready
        {
            if before.again <= now && self.trial.is_none() {
                return ProgramState::Replaced;
            }
            return ProgramState::Unsettled;
        }
        let pause = match (before, ready) {
            (_, Some(_)) | (None, None) => SETTLING,
            (Some(before), None) => before.pause.saturating_mul(2).min(LONGEST_PAUSE),
        };
        self.change = Some(ProgramChange { found: ready, pause, again: now.plus(pause) });
        ProgramState::Unsettled
    }
}

impl ProgramChange {
    fn look_later(&mut self, now: Moment) {
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        self.again = now.plus(self.pause);
    }
}

impl Drop for ProgramTrial {
    /// Ends the program that is tried, so that none is left when the service ends.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked told nothing, and nothing more is to be done here.
            let _panicked = thread.join();
        }
    }
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { identity: FileIdentity::of(metadata), bytes: metadata.len(), changed }
    }
}

fn try_file(path: &Path, is_over: &AtomicBool) -> TrialOutcome {
    let program = RunnableProgram::open(path).map_err(|error| error.to_string())?;
    print_version(&program.executable(), is_over).map(|()| program)
}

/// Has a program print its version. The error says why it is no proctor that runs here. If `is_over` becomes true, the program
/// is ended.
fn print_version(program: &Path, is_over: &AtomicBool) -> Result<(), String> {
    let begun = monotonic();
    let is_late = || is_over.load(Ordering::Relaxed) || monotonic().since(begun) >= TRIAL;
    let arguments = [OsString::from("--version")];
    let answer = try_program(program, &arguments, LONGEST_VERSION, GRACE, &is_late);
    let answer = answer.map_err(|error| error.to_string())?;
    match answer.code {
        Some(0) if answer.stdout.starts_with(b"proctor ") => Ok(()),
        Some(0) => Err("`--version` prints another name than `proctor`".to_owned()),
        Some(code) => Err(format!("`--version` ends with {code}")),
        None => Err("`--version` does not end by itself".to_owned()),
    }
}

/// Returns the metadata of the file from which this process was started, and whether another one has replaced it already, or none.
/// `path` is where it was. The kernel names a file `… (deleted)` that has lost its name.
fn running_program(path: &Path) -> (Option<Metadata>, bool) {
    const OWN: &str = "/proc/self/exe";
    let name = fs::read_link(OWN).unwrap_or_default();
    let former = name.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    let is_replaced = former.is_some_and(|former| {
        former == path.as_os_str().as_bytes() || fs::canonicalize(path).is_ok_and(|now| now.as_os_str().as_bytes() == former)
    });
    (if is_replaced { fs::metadata(OWN).ok() } else { read(path) }, is_replaced)
}

fn read(path: &Path) -> Option<Metadata> {
    fs::metadata(path).ok().filter(Metadata::is_file)
}

fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0 && metadata.len() > 0
}

/// Returns the file at a path, and every link of the path: another program may take its place by a change of any of them.
fn links_and_file(path: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::from([fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())]);
    let mut named = vec![path.to_owned()];
    while let Some(path) = named.pop() {
        for ancestor in path.ancestors() {
            if let Ok(target) = fs::read_link(ancestor)
                && found.insert(ancestor.to_owned())
            {
                named.push(ancestor.parent().unwrap_or(Path::new("/")).join(target));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: FileIdentity = FileIdentity { device: 1, inode: 1 };

    fn program() -> OwnProgram {
        OwnProgram {
            path: PathBuf::from("/usr/bin/proctor"),
            own: Some(OWN),
            change: None,
            unfit: None,
            trial: None,
            fit: None,
            _followed: Vec::new(),
        }
    }

    fn file(inode: u64, bytes: u64) -> FileStamp {
        FileStamp { identity: FileIdentity { device: 1, inode }, bytes, changed: (0, 0) }
    }

    #[test]
    fn another_file_counts_when_it_has_stayed_as_it_is_and_can_be_executed() {
        let mut program = program();
        assert_eq!(program.judge(Moment(0), Some((file(1, 9), true))), ProgramState::Same);
        assert_eq!(program.next_moment(), None, "nothing is looked at again");
        assert_eq!(program.judge(Moment(10), Some((file(2, 1), true))), ProgramState::Unsettled);
        assert_eq!(program.next_moment(), Some(Moment(1010)));
        assert_eq!(program.judge(Moment(1010), Some((file(2, 5), true))), ProgramState::Unsettled, "it is still written");
        assert_eq!(program.judge(Moment(1500), Some((file(2, 5), true))), ProgramState::Unsettled, "an event came");
        assert_eq!(program.judge(Moment(2010), Some((file(2, 5), false))), ProgramState::Unsettled, "not executable");
        assert_eq!(program.judge(Moment(5000), Some((file(2, 5), true))), ProgramState::Unsettled);
        assert_eq!(program.judge(Moment(6000), Some((file(2, 5), true))), ProgramState::Replaced);
    }

    #[test]
    fn a_file_that_is_gone_is_looked_for_more_and_more_rarely_and_the_old_one_may_come_back() {
        let mut program = program();
        let mut now = Moment(0);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            assert_eq!(program.judge(now, None), ProgramState::Unsettled);
            let again = program.next_moment().unwrap();
            pauses.push((again.0 - now.0) / 1000);
            now = again;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(program.judge(now, Some((file(1, 9), true))), ProgramState::Same);
        assert_eq!(program.next_moment(), None);
    }

    /// Tries the program out, and returns what the trial told: the error if the program does not run.
    fn outcome(program: &mut OwnProgram) -> TrialOutcome {
        let (tell, told) = std::sync::mpsc::channel();
        program.try_out(Moment(0), move |outcome| tell.send(outcome).expect("the test waits"));
        told.recv().expect("every trial ends")
    }

    #[test]
    fn a_program_that_does_not_run_is_tried_again_and_named_once() {
        let mut program = OwnProgram { path: PathBuf::from("/bin/sh"), ..program() };
        for moment in [0, 1000] {
            program.judge(Moment(moment), Some((file(2, 9), true)));
        }
        let tried = outcome(&mut program);
        let why = program.tried(Moment(1000), tried).expect_err("a shell is no proctor").expect("it is news");
        assert!(why.starts_with("`--version` "), "{why}");
        assert_eq!(program.next_moment(), Some(Moment(3000)));
        assert_eq!(program.judge(Moment(2000), Some((file(2, 9), true))), ProgramState::Unsettled);
        assert_eq!(program.judge(Moment(3000), Some((file(2, 9), true))), ProgramState::Replaced);
        let tried = outcome(&mut program);
        assert_eq!(program.tried(Moment(3000), tried), Err(None));
        assert_eq!(program.next_moment(), Some(Moment(7000)));
        program.path = PathBuf::from("/bin/none");
        program.judge(Moment(7000), Some((file(3, 9), true)));
        let tried = outcome(&mut program);
        assert!(program.tried(Moment(8000), tried).is_err_and(|why| why.is_some()), "another file is news");
    }

    #[test]
    fn nothing_waits_for_a_trial_and_its_outcome_is_that_of_the_file_that_was_tried() {
        let mut program = program();
        let found = Some((file(2, 9), true));
        let begin = |program: &mut OwnProgram| {
            for moment in [0, 1000] {
                program.judge(Moment(moment), found);
            }
            let of = file(2, 9);
            program.trial = Some(ProgramTrial { of, is_over: Arc::default(), thread: None });
        };
        begin(&mut program);
        assert_eq!(program.next_moment(), None, "the end of the trial is the next occasion");
        assert_eq!(program.judge(Moment(5000), found), ProgramState::Unsettled, "it is tried once at a time");
        let fit = || Ok(RunnableProgram::open(Path::new("/bin/sh")).unwrap());
        assert_eq!((program.tried(Moment(5000), fit()), program.fit().is_some()), (Ok(()), true));
        assert_eq!(program.judge(Moment(5000), found), ProgramState::Replaced);
        begin(&mut program);
        assert_eq!(program.judge(Moment(6000), Some((file(3, 9), true))), ProgramState::Unsettled);
        assert_eq!(program.tried(Moment(6000), fit()), Err(None), "another file is there");
        assert_eq!(program.next_moment(), Some(Moment(7000)), "which is tried too");
        begin(&mut program);
        assert_eq!(program.judge(Moment(8000), Some((file(1, 9), true))), ProgramState::Same);
        assert_eq!(program.tried(Moment(8000), fit()), Err(None), "the old one is back");
        assert_eq!(program.next_moment(), None);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test plays the installer of a program")]
    fn the_file_that_was_opened_is_executed_when_another_has_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("proctor");
        fs::copy("/bin/true", &path).unwrap();
        let program = RunnableProgram::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let ended = |program: &RunnableProgram| try_program(&program.executable(), &[], 10, GRACE, &|| false).unwrap().code;
        assert_eq!(ended(&program), Some(0), "it is removed");
        fs::copy("/bin/false", &path).unwrap();
        assert_eq!((ended(&program), program.path()), (Some(0), path.as_path()));
        fs::write(&path, "#!/bin/sh\nexit 3\n").unwrap();
        assert_eq!(ended(&RunnableProgram::open(&path).unwrap()), Some(3), "a script is found by its path");
    }

    #[test]
    fn a_program_of_unknown_identity_is_never_replaced() {
        let mut program = OwnProgram { own: None, ..program() };
        assert_eq!(program.judge(Moment(0), Some((file(2, 9), true))), ProgramState::Same);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test plays the installer of a program")]
    fn the_file_and_all_links_to_it_are_watched() {
        use std::os::unix::fs::symlink;

        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("v1")).unwrap();
        fs::write(at("v1/proctor"), "").unwrap();
        symlink("v1", at("current")).unwrap();
        symlink("current/proctor", at("proctor")).unwrap();
        assert_eq!(links_and_file(&at("proctor")), BTreeSet::from(["current", "proctor", "v1/proctor"].map(at)));
        assert_eq!(links_and_file(&at("v1/proctor")), BTreeSet::from([at("v1/proctor")]));
        symlink("round", at("round")).unwrap();
        assert!(links_and_file(&at("round")).contains(&at("round")), "a link to itself ends");
        assert_eq!(links_and_file(&at("none")), BTreeSet::from([at("none")]));
    }
}
