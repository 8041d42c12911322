//! The target of the attacks: a store with evidence and a key, a home with secrets, a project, and a process that plays the daemon.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use proctor_model::{Access, Place, Sandbox};
use tempfile::NamedTempFile;

use crate::common::{Supervised, User, poll};

const EVIDENCE: &str = "{\"verdict\":\"FAILED\"}\n";
const BOUND: Duration = Duration::from_secs(20);

/// Directories as the program itself lays them out, and a process that plays the daemon.
#[must_use]
pub(super) struct Victim {
    pub(super) supervised: Supervised,
    pub(super) daemon: Child,
    /// The pipe to the process that plays the daemon. That process ends when the pipe is closed.
    stdin: Option<ChildStdin>,
    abstract_name: String,
    /// A file in the machine's `/tmp`. An isolated action sees its own `/tmp` instead.
    others_file: NamedTempFile,
    user: User,
}

impl Victim {
    #[track_caller]
    pub(super) fn new(user: User) -> Self {
        let supervised = Supervised::new(user);
        let (home, project, store) = (supervised.path("home"), supervised.path("project"), store_of(&supervised));
        for directory in [
            home.join(".ssh"),
            home.join(".aws"),
            home.join(".cache"),
            home.join(".config"),
            project.join("src"),
            project.join("mount-point"),
            store.join("evidence"),
            store.join("key"),
            store.join("run"),
            store.join("output/own"),
            store.join("output/other"),
            supervised.path("private-tmp"),
        ] {
            fs::create_dir_all(directory).expect("our own directory");
        }
        for (path, text) in [
            (home.join(".ssh/id_ed25519"), "secret"),
            (home.join(".aws/credentials"), "secret"),
            (home.join(".npmrc"), "secret"),
            (project.join("src/main.py"), "print()\n"),
            (project.join("package.json"), "{}"),
            (store.join("evidence/1.json"), EVIDENCE),
            (store.join("key/signing.key"), "secret"),
        ] {
            fs::write(path, text).expect("our own directory");
        }
        fs::hard_link(store.join("evidence/1.json"), project.join("linked.json")).expect("one file system");
        user.own(&home);
        user.own(&project);
        user.own(&supervised.path("private-tmp"));
        let others_file = tempfile::Builder::new().prefix("proctor-").tempfile_in("/tmp").expect("`/tmp` is for everybody");
        fs::write(others_file.path(), "secret").expect("our own file");
        user.own(others_file.path());
        let abstract_name = format!("proctor-victim-{}-{}", std::process::id(), user.number());
        let mut command = user.command(supervised.tool());
        command.arg("__victim").arg(store.join("key/signing.key")).arg(store.join("run/control.sock")).arg(&abstract_name);
        command.current_dir(&store).stdin(Stdio::piped()).stdout(fs::File::create(supervised.path("ready")).expect("our own"));
        // A child that another thread forked meanwhile may still have the tool's file open for writing (`ETXTBSY`).
        let mut daemon = poll(BOUND, "the victim to start", || match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => Err(error.to_string()),
            started => Ok(started.expect("the victim starts")),
        });
        let stdin = daemon.stdin.take();
        poll(BOUND, "the victim to be ready", || {
            fs::read_to_string(supervised.path("ready")).ok().filter(|said| said == "ready\n")
        });
        Self { supervised, daemon, stdin, abstract_name, others_file, user }
    }

    /// Returns the arguments of `fake-tool __attack`.
    pub(super) fn arguments(&self) -> Vec<String> {
        let store = store_of(&self.supervised);
        let namespace = fs::metadata("/proc/self/ns/pid").expect("a namespace").ino();
        let text = |path: PathBuf| path.to_str().expect("our own paths are text").to_owned();
        let options = [
            ("evidence", text(store.join("evidence"))),
            ("key", text(store.join("key/signing.key"))),
            ("socket", text(store.join("run/control.sock"))),
            ("abstract-name", self.abstract_name.clone()),
            ("daemon", self.daemon.id().to_string()),
            ("outer-namespace", namespace.to_string()),
            ("project", text(self.supervised.path("project"))),
            ("home", text(self.supervised.path("home"))),
            ("others-file", text(self.others_file.path().to_owned())),
            ("output", text(self.output())),
            ("other-output", text(store.join("output/other"))),
        ];
        let pairs = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
        ["__attack".to_owned()].into_iter().chain(pairs).collect()
    }

    /// Returns the output directory of the action.
    pub(super) fn output(&self) -> PathBuf {
        store_of(&self.supervised).join("output/own")
    }

    /// Returns the sandbox that a run in this project would give to an action.
    pub(super) fn sandbox(&self) -> Sandbox {
        let home = self.supervised.path("home");
        let place = |path: &Path, access| {
            let found = fs::metadata(path).expect("it was made");
            Place { path: path.to_owned(), access, identity: (found.dev(), found.ino()) }
        };
        let source = self.supervised.path("private-tmp");
        let mut places = vec![
            place(Path::new("/tmp"), Access::Private { source }),
            place(&self.supervised.path("project"), Access::Writable),
            place(Path::new("/dev/shm"), Access::Memory),
        ];
        let secrets = [".ssh", ".aws", ".npmrc"].map(|name| home.join(name));
        let hidden = [PathBuf::from("/run")].into_iter().chain(secrets);
        places.extend(hidden.map(|path| place(&path, Access::Hidden)));
        Sandbox { places, store: store_of(&self.supervised), ..Sandbox::default() }
    }

    /// Makes two files in another thread after the attacks have started: one in the project, and one in a new directory
    /// of the home. Attacks of group F try to read them; the table says at which levels they must succeed.
    pub(super) fn make_late_files(&self) -> JoinHandle<()> {
        let (home, project, user) = (self.supervised.path("home"), self.supervised.path("project"), self.user);
        thread::spawn(move || {
            poll(BOUND, "the attacks to begin", || project.join("started").exists().then_some(()));
            fs::create_dir(home.join("late")).expect("our own directory");
            fs::write(home.join("late/file"), "late").expect("our own directory");
            user.own(&home.join("late"));
            fs::write(project.join("late.new"), "late").expect("our own directory");
            user.own(&project.join("late.new"));
            fs::rename(project.join("late.new"), project.join("late.txt")).expect("our own directory");
        })
    }

    /// Returns what the attacks have changed and not restored. Each attack restores its changes, so there must be none.
    pub(super) fn damage(&mut self) -> Vec<String> {
        let mut damage = Vec::new();
        let store = store_of(&self.supervised);
        for (path, text) in [("evidence/1.json", EVIDENCE), ("key/signing.key", "secret")] {
            let found = fs::read_to_string(store.join(path)).unwrap_or_default();
            if found != text {
                damage.push(format!("`{path}` is now `{found}`"));
            }
        }
        let names = fs::read_dir(store.join("evidence")).expect("our own directory").count();
        if names != 1 {
            damage.push(format!("{names} files are in the evidence's directory"));
        }
        if !matches!(self.daemon.try_wait(), Ok(None)) {
            damage.push("the daemon is gone".to_owned());
        }
        damage
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The process that plays the daemon is killed, because an attack may have stopped it, and a stopped process
        // would not end by itself.
        let _ended = self.daemon.kill().and_then(|()| self.daemon.wait());
    }
}

fn store_of(supervised: &Supervised) -> PathBuf {
    supervised.path("home/.local/state/proctor")
}
