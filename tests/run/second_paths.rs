//! Tests what a check reads of hidden files by the second path that a mount gives them.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::common::{Output, Project, directory_outside_of_temporary_ones, proctor};

/// The words by which proctor is started: as root of a user namespace, and as another user.
const USERS: [&str; 2] = ["", "unshare --map-user=1000 --map-group=1000"];

/// Mounts everything around the project a second time, with what it holds and with all of the machine, and parts of the store and of HOME.
/// The directory `persisted` is what HOME has as `.gnupg`.
const MOUNTS: &str = "mount --bind \"$ROOT\" whole\n\
                      mount --rbind / all\n\
                      mount --bind \"$ROOT/state/proctor/keys\" part\n\
                      mount --bind \"$ROOT/home/.ssh/id\" file\n\
                      mount --bind persisted \"$ROOT/home/.gnupg\"\n";

/// A project with a key, credentials, and a socket beside the control socket, and a directory in which parts of it are mounted.
struct Doubled {
    project: Project,
    mounted: tempfile::TempDir,
    _daemon: UnixListener,
}

impl Doubled {
    /// Returns `None` if there is no directory outside of `/tmp`: actions have a `/tmp` of their own, so they would not see the mounts.
    fn new(level: &str) -> Option<Self> {
        let project = Project::outside_of_temporary_directories()?.env("PROCTOR_TEST_ISOLATION", level);
        let mounted = directory_outside_of_temporary_ones()?;
        let root = project.root().to_owned();
        let at = |name: &str| mounted.path().join(name);
        for directory in [at("whole"), at("all"), at("part"), at("persisted"), root.join("home/.ssh"), root.join("home/.gnupg")] {
            fs::create_dir_all(directory).expect("it is ours");
        }
        for file in [at("persisted/secring"), root.join("home/.ssh/id"), root.join("runtime/ticket")] {
            fs::write(file, "secret").expect("it is ours");
        }
        fs::write(at("file"), "").expect("it is ours");
        fs::create_dir_all(root.join("runtime/proctor")).expect("it is ours");
        let daemon = UnixListener::bind(root.join("runtime/proctor/daemon.sock")).expect("it is ours");
        let project = project
            .toml("[[check]]\nname = \"attack\"\ncommand = [\"python3\", \"attack.py\"]\n[sandbox]\nsnapshot = \"off\"\n")
            .file(".gitignore", "made\n");
        let doubled = Self { project, mounted, _daemon: daemon };
        doubled.project.save("attack.py", &doubled.attack());
        Some(doubled)
    }

    /// Returns a program that prints a line for each hidden file that it reads or lists and each socket that it reaches.
    fn attack(&self) -> String {
        let (root, mounted) = (self.project.root(), self.mounted.path());
        let all = mounted.join("all").join(root.strip_prefix("/").expect("absolute"));
        let around: Vec<PathBuf> = vec![root.to_owned(), mounted.join("whole"), all];
        let of_around = |name: &str| around.iter().map(|place| place.join(name).display().to_string()).collect::<Vec<_>>();
        let names =
            ["state/proctor/keys", "home/.ssh", "runtime", "state/proctor/keys/*.pem", "home/.ssh/id", "home/.gnupg/secring"];
        let mut files: Vec<String> = names.into_iter().chain(["runtime/ticket"]).flat_map(of_around).collect();
        files.extend(["part/*.pem", "file", "persisted/secring"].map(|name| mounted.join(name).display().to_string()));
        // At its first path, the store shows the output directory of the action.
        files.extend(of_around("state/proctor").into_iter().skip(1));
        let list = |paths: &[String]| serde_json::to_string(paths).expect("texts");
        format!(
            "import glob, os, socket\n\
             def seen(path):\n\
             \x20   try:\n\
             \x20       return os.listdir(path) if os.path.isdir(path) else open(path).read()\n\
             \x20   except OSError:\n\
             \x20       return None\n\
             for path in {}:\n\
             \x20   for found in filter(seen, glob.glob(path)):\n\
             \x20       print('SEEN', found)\n\
             for path in {}:\n\
             \x20   if socket.socket(socket.AF_UNIX).connect_ex(path) == 0:\n\
             \x20       print('REACHED', path)\n\
             for path in ['made', os.environ['PROCTOR_OUT'] + '/made']:\n\
             \x20   open(path, 'w').close()\n\
             print('written')\n",
            list(&files),
            list(&of_around("runtime/proctor/daemon.sock")),
        )
    }

    /// Runs proctor in the project, or in another directory that shows it, after the mounts were made.
    fn run_mounted(&self, mounts: &str, user: &str, directory: &Path) -> Output {
        let script = format!("cd \"$AT\"\n{mounts}cd \"$DIRECTORY\"\nexec {user} \"$0\" run");
        let program = proctor().to_str().expect("the build directory is UTF-8");
        let unshare = self.project.command(Path::new("unshare"), ["-Urm", "sh", "-euc", &script, program]);
        unshare.env("ROOT", self.project.root()).env("AT", self.mounted.path()).env("DIRECTORY", directory).any_status()
    }

    fn log(&self) -> String {
        self.project.proctor(["show", "--log", "STEP.1"]).success().stdout
    }

    fn level(&self) -> String {
        self.project.store().report("default")["isolation"]["level"].as_str().unwrap_or_default().to_owned()
    }
}

fn lines<'l>(log: &'l str, word: &str) -> Vec<&'l str> {
    log.lines().filter(|line| line.starts_with(word)).collect()
}

#[test]
fn no_second_path_shows_the_key_a_credential_or_a_socket() {
    for level in ["namespace", "landlock"] {
        for user in USERS {
            let Some(doubled) = Doubled::new(level) else { return };
            // This run makes the key.
            doubled.project.proctor(["run"]).success();
            let run = doubled.run_mounted(MOUNTS, user, &doubled.project.path());
            assert_eq!(run.status, 0, "{level}, {user}: {}", run.snapshot());
            let log = doubled.log();
            assert_eq!(lines(&log, "SEEN"), [""; 0], "{level}, {user}: {log}");
            assert!(log.lines().any(|line| line == "written"), "an honest check works as before: {level}, {user}: {log}");
            // Where Landlock restricts no connections, the first path is reached too, and the service refuses actions.
            let is_open = log.contains(&format!("REACHED {}", doubled.project.root().display()));
            assert!(!is_open || level == "landlock", "{log}");
            assert!(is_open || lines(&log, "REACHED").is_empty(), "{level}, {user}: {log}");
            assert_eq!(doubled.level(), level);
        }
    }
}

#[test]
fn without_a_wall_each_second_path_shows_what_the_attack_looks_for() {
    let Some(doubled) = Doubled::new("process-group") else { return };
    doubled.project.proctor(["run"]).success();
    let run = doubled.run_mounted(MOUNTS, USERS[0], &doubled.project.path());
    let log = doubled.log();
    // Four files and three directories at three paths, the store at two, and three files beside them. `.gnupg` was mounted last, at one path.
    assert_eq!((run.status, lines(&log, "SEEN").len(), lines(&log, "REACHED").len()), (0, 24, 3), "{}\n{log}", run.snapshot());
}

#[test]
fn a_project_is_tested_by_its_second_path_and_sees_nothing_hidden() {
    for level in ["namespace", "landlock"] {
        let Some(doubled) = Doubled::new(level) else { return };
        let mounts = "mount --bind \"$ROOT\" whole\nmount --bind persisted \"$ROOT/home/.gnupg\"\n";
        let run = doubled.run_mounted(mounts, USERS[1], &doubled.mounted.path().join("whole/project"));
        assert_eq!(run.status, 0, "{level}: {}", run.snapshot());
        let log = fs::read_to_string(doubled.project.path().join("made"));
        assert!(log.is_ok(), "{level}: the project was not written to: {}", run.snapshot());
        let report = run.report();
        let said = report["stepExecution"]["results"][0].to_string();
        assert!(said.contains("written") && !said.contains("SEEN"), "{level}: {report:#}");
    }
}

#[test]
fn a_second_path_that_cannot_be_hidden_starts_nothing_and_both_paths_are_named() {
    let Some(doubled) = Doubled::new("namespace") else { return };
    fs::create_dir_all(doubled.project.root().join("runtime/home")).expect("it is ours");
    // HOME is a part of the run-time directory.
    let run = doubled.run_mounted("mount --bind \"$ROOT/runtime/home\" \"$ROOT/home\"\n", USERS[0], &doubled.project.path());
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(run.status != 0 && !doubled.project.path().join("made").exists(), "{}", run.snapshot());
    for text in
        ["runtime/home` is hidden from commands", "/home` too, which cannot be hidden: your home directory is there", "unmount"]
    {
        assert!(said.contains(text), "{text}: {said}");
    }
}
