//! A project in a temporary directory, and commands that run in it with a cleared environment (house style T6).

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use tempfile::TempDir;

use crate::common::invocation::Invocation;
use crate::common::leftovers::end_processes_of;
use crate::common::machine::tool_inside;
use crate::common::redact::Redactions;
use crate::common::store::Store;
use crate::common::watch::Watch;

/// The beginning of the name of every temporary directory of a test. `.ci/run` searches for directories with this name
/// that tests have left.
const PREFIX: &str = "proctor-test-";
/// Settings that let a project's actions write to [`Project::shared`]. They must be the first lines of `proctor.toml`.
pub(crate) const WRITES_TO_SHARED: &str = "[sandbox]\nwritable = [\"../shared\"]\n";
/// Settings that let a project's actions write to [`Project::shared`] and run in the project itself, not on a snapshot.
pub(crate) const SHARED_AND_IN_PLACE: &str = "[sandbox]\nwritable = [\"../shared\"]\nsnapshot = \"off\"\n";
/// Settings that let a project's actions run in the project itself, not on a snapshot.
pub(crate) const IN_PLACE: &str = "[sandbox]\nsnapshot = \"off\"\n";
/// The path of the user's own configuration below [`Project::root`].
pub(crate) const USER_CONFIGURATION: &str = "config/proctor/config.toml";
/// The user's own configuration in most tests. It allows every setting that opens more of the machine, so that tests of
/// other things need no approval.
const ALLOWS_THE_WALL: &str = "\
[[allow]]
projects = [\"/**\"]
sandbox = { mode = \"off\", writable = [\"*\"], sockets = [\"*\"], visible = [\"*\"], home = \"overlay\", world = \"open\", snapshot = \"off\", system_call_filter = \"off\" }
environment = { pass_environment = [\"*\"] }
govern.drafter = { pass_environment = [\"*\"], visible = [\"*\"], writable = [\"*\"] }
govern.reviewer = { pass_environment = [\"*\"], visible = [\"*\"], writable = [\"*\"] }
";
/// The system's directories for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Beginnings of the variables that package managers inherit as well, if the test allows it. They match in upper and lower case.
const PACKAGE_INDEX_PREFIXES: &[&str] =
    &["http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_", "requests_ca_", "node_extra_ca_", "pip_", "npm_config_"];

/// Returns the program under test.
pub(crate) fn proctor() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> =
        LazyLock::new(|| tool_inside("proctor").unwrap_or_else(|| env!("CARGO_BIN_EXE_proctor").into()));
    &PROGRAM
}

/// Copies a program by a process of its own. A descriptor by which this process writes would be inherited by what other tests fork meanwhile,
/// and a program that is open for writing cannot be started (`ETXTBSY`).
pub(crate) fn copy_program(program: &Path, to: &Path) {
    let ended = std::process::Command::new("cp").arg(program).arg(to).status().expect("cp starts");
    assert!(ended.success(), "{} was not copied to {}", program.display(), to.display());
}

/// Returns the tool that tests run as a check. Its arguments say how it behaves (house style T4).
///
/// It lies in a directory of its own: a check sees the directory of its program, and proctor hashes it. The build's directory has gigabytes.
pub(crate) fn fake_tool() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| tool_inside("fake-tool").unwrap_or_else(link_fake_tool));
    &PROGRAM
}

/// Links the built tool into a directory of its own, which is called like one where users install programs: a first run approves those. Tests in other processes may do so at the same time.
fn link_fake_tool() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_fake-tool"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fake-tool/.local/bin");
    let linked = directory.join("fake-tool");
    let inode = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    // Another user, who plays a part of a test on a copy of the programs, may link nothing here, and need not.
    if inode(&linked) != inode(built) && fs::create_dir_all(&directory).is_ok() {
        let own = directory.with_file_name(format!("fake-tool.{}", std::process::id()));
        let replaced = fs::hard_link(built, &own).and_then(|()| fs::rename(&own, &linked));
        // Renaming one link of a file to another one leaves both.
        let _gone = fs::remove_file(&own);
        replaced.expect("the build's directory is ours");
    }
    linked
}

/// The programs that the checks of tests start by name.
const PROGRAMS_OF_CHECKS: [&str; 5] = ["git", "node", "npm", "python3", "sh"];

/// Returns the directories of `PATH` that do not lie in HOME, if they have the programs that checks start; otherwise all of them.
///
/// A check sees the toolchains that `PATH` leads to, and proctor hashes them for each store. A version manager in HOME can have gigabytes,
/// and each test has a store of its own.
fn path_without_home() -> Vec<PathBuf> {
    let all: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    let Some(home) = env::var_os("HOME").map(PathBuf::from) else { return all };
    let elsewhere: Vec<PathBuf> = all.iter().filter(|directory| !directory.starts_with(&home)).cloned().collect();
    let has = |program: &&str| elsewhere.iter().any(|directory| directory.join(program).is_file());
    if PROGRAMS_OF_CHECKS.iter().all(has) { elsewhere } else { all }
}

/// Returns the `PATH` of projects. A check's script may start the fake tool.
pub(crate) fn search_path() -> OsString {
    let path = path_without_home().into_iter().chain(fake_tool().parent().map(Path::to_owned));
    env::join_paths(path).expect("no colon in our paths")
}

/// A project, with its own home, state, run-time and temporary directories.
///
/// When it is dropped, the test fails if a process is left that belongs to it.
#[must_use]
pub(crate) struct Project {
    directory: Option<TempDir>,
    root: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

/// Makes a directory outside of `/tmp` and `/var/tmp`. None: there is no other place where every user may make one.
pub(crate) fn directory_outside_of_temporary_ones() -> Option<TempDir> {
    let places = [Path::new("/srv"), Path::new(env!("CARGO_TARGET_TMPDIR"))];
    let mut fit = places.into_iter().filter(|place| !TEMPORARY.iter().any(|temporary| place.starts_with(temporary)));
    fit.find_map(|place| tempfile::Builder::new().prefix(PREFIX).tempdir_in(place).ok())
}

impl Project {
    /// Makes an empty project whose directory is called `project`.
    #[track_caller]
    pub(crate) fn new() -> Self {
        Self::of(tempfile::Builder::new().prefix(PREFIX).tempdir().expect("a temporary directory can be made"))
    }

    /// Makes an empty project outside of `/tmp` and `/var/tmp`: without namespaces, actions may write everywhere below
    /// these two. None: there is no other directory that every user can reach and that the test may write to.
    #[track_caller]
    pub(crate) fn outside_of_temporary_directories() -> Option<Self> {
        directory_outside_of_temporary_ones().map(Self::of)
    }

    /// Makes a project in a new directory, which may hold other files already.
    #[track_caller]
    pub(crate) fn of(directory: TempDir) -> Self {
        let root = directory.path().canonicalize().expect("it was just made");
        let mut environment: BTreeMap<OsString, OsString> = BTreeMap::new();
        environment.insert("PATH".into(), search_path());
        environment.insert("LANG".into(), "C.UTF-8".into());
        environment.insert("PROCTOR_TEST_ROOT".into(), root.clone().into());
        for (name, folder) in [
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_RUNTIME_DIR", "runtime"),
            ("XDG_STATE_HOME", "state"),
        ] {
            let path = root.join(folder);
            fs::create_dir_all(&path).expect("the root is ours");
            fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("it is ours");
            environment.insert(name.into(), path.into());
        }
        fs::create_dir_all(root.join("config/proctor")).expect("the root is ours");
        fs::write(root.join(USER_CONFIGURATION), ALLOWS_THE_WALL).expect("the root is ours");
        for folder in ["project", "shared"] {
            fs::create_dir_all(root.join(folder)).expect("the root is ours");
        }
        Self { directory: Some(directory), root, environment }
    }

    /// Makes a project that is a copy of `fixtures/projects/NAME`.
    #[track_caller]
    pub(crate) fn bundled(name: &str) -> Self {
        let project = Self::new();
        let source = crate::common::repository().join("fixtures/projects").join(name);
        assert!(source.is_dir(), "`fixtures/projects/{name}` does not exist");
        copy_tree(&source, &project.path());
        project
    }

    #[track_caller]
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        self.save(path, text);
        self
    }

    #[track_caller]
    pub(crate) fn executable(self, path: &str, text: &str) -> Self {
        self.save(path, text);
        fs::set_permissions(self.path().join(path), Permissions::from_mode(0o755)).expect("it was just written");
        self
    }

    /// Removes the user's own configuration, so that every setting that opens more of the machine needs an approval.
    #[track_caller]
    pub(crate) fn allowing_nothing(self) -> Self {
        fs::remove_dir_all(self.root.join("config/proctor")).expect("it was just made");
        self
    }

    /// Adds `proctor.toml`.
    #[track_caller]
    pub(crate) fn toml(self, text: &str) -> Self {
        self.file("proctor.toml", text)
    }

    /// Sets an environment variable for every command of this project.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Puts the directory of `program` first in the commands' `PATH`.
    #[track_caller]
    pub(crate) fn with_program(self, program: &Path) -> Self {
        let directory = program.parent().expect("a program lies in a directory").to_owned();
        let path = self.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let joined = env::join_paths([directory].into_iter().chain(env::split_paths(&path))).expect("no colon in our paths");
        self.env("PATH", joined)
    }

    /// Passes on the variables by which package managers reach their index.
    pub(crate) fn with_package_index(mut self) -> Self {
        let wanted = |name: &OsString| {
            let name = name.to_string_lossy().to_lowercase();
            PACKAGE_INDEX_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        self.environment.extend(env::vars_os().filter(|(name, _)| wanted(name)));
        self
    }

    /// Writes a file in place, as an editor without atomic saves does.
    #[track_caller]
    pub(crate) fn save(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        let parent = path.parent().expect("it lies in the project");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("could not make `{}`: {error}", parent.display()));
        fs::write(&path, text).unwrap_or_else(|error| panic!("could not write `{}`: {error}", path.display()));
    }

    /// Runs `proctor approve` at a terminal and types the name that it asks for: a person accepts that the project's checks have become
    /// weaker. Returns what the terminal showed.
    #[track_caller]
    pub(crate) fn approve(&self) -> String {
        let mut terminal = self.proctor(["approve"]).at_terminal();
        let shown = terminal.type_name();
        assert_eq!(terminal.ended().status, 0, "{shown}");
        shown
    }

    /// Returns the project's directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns a path outside of the project: files there do not change the project's tree digest. Actions may write there if the project's
    /// settings begin with [`WRITES_TO_SHARED`].
    pub(crate) fn shared(&self, name: &str) -> PathBuf {
        self.root.join("shared").join(name)
    }

    /// Returns the directory that contains the project and its home, state, run-time and temporary directories.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the store in which proctor keeps this project's evidence.
    pub(crate) fn store(&self) -> Store {
        Store::new(self.root.join("state/proctor"))
    }

    /// Prepares a `proctor` command in the project's directory.
    pub(crate) fn proctor(&self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Invocation<'_> {
        self.command(proctor(), arguments)
    }

    /// Prepares a command of `proctor-govern` in the project's directory.
    pub(crate) fn govern(&self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Invocation<'_> {
        self.command(Path::new(env!("CARGO_BIN_EXE_proctor-govern")), arguments)
    }

    /// Prepares any command in the project's directory, with the environment that `proctor` commands get.
    pub(crate) fn command(&self, program: &Path, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Invocation<'_> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&self.environment).current_dir(self.path());
        Invocation::new(self, command)
    }

    /// Starts `proctor watch` with `arguments`. It is killed when the handle is dropped.
    #[track_caller]
    pub(crate) fn watch(&self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Watch<'_> {
        self.proctor(["watch"]).arguments(arguments).watch()
    }

    /// Returns the texts that are redacted in the output of this project's commands.
    pub(crate) fn redactions(&self) -> Redactions {
        let mut redactions = Redactions::new();
        for (folder, name) in [
            ("project", "<project>"),
            ("home", "<home>"),
            ("state", "<state>"),
            ("runtime", "<runtime>"),
            ("config", "<config>"),
            ("cache", "<cache>"),
            ("tmp", "<tmp>"),
        ] {
            redactions.add(&self.root.join(folder).to_string_lossy(), name);
        }
        redactions.add(&self.root.to_string_lossy(), "<root>");
        for id in self.store().project_ids() {
            redactions.add(&id, "<project-id>");
        }
        redactions
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let left = end_processes_of(&self.root);
        make_removable(&self.root);
        let closed = self.directory.take().map(TempDir::close);
        // A panic during the unwinding of another one aborts the process, and then neither message is seen.
        if !thread::panicking() {
            assert!(left.is_empty(), "processes were left behind (and are killed now): {left:#?}");
            assert!(matches!(closed, Some(Ok(()))), "the temporary directory cannot be removed: {closed:?}");
        }
    }
}

/// Makes every directory below `root` writable. A run may leave read-only directories, which only root could remove otherwise.
fn make_removable(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A directory whose mode cannot be changed cannot be removed either; removing the temporary directory reports that.
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(0o700));
            make_removable(&entry.path());
        }
    }
}

/// Directories that runs leave in the bundled project. They are not copied.
const MADE_BY_RUNS: &[&str] = &[".venv", "node_modules", "evidence"];

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it lies in a temporary directory");
    let is_ours = |entry: &fs::DirEntry| !MADE_BY_RUNS.iter().any(|name| entry.file_name() == *name);
    for entry in fs::read_dir(from).expect("a fixture can be read").flatten().filter(is_ours) {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a fixture can be read").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a fixture can be copied");
        }
    }
}
