//! Performs the steps of a scenario in a project of its own, and returns what the program printed.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Output, Project, fake_tool, repository};
use crate::recording::normalise::Names;
use crate::recording::scenario::{Scenario, Step};

/// The length of the path of every project's directory in bytes: sizes of sealed files with paths in them must not depend on the
/// directory for temporary files.
const ROOT_LENGTH: usize = 72;
/// How long a command may take. Runs with thirty checks need a minute on a machine that compiles meanwhile.
const COMMAND_BOUND: Duration = Duration::from_secs(600);
const PREFIX: &str = "proctor-test-recording-";
/// The most bytes that the directory for temporary files may have, so that names below it are still random.
const MOST_OF_TEMPORARY: usize = ROOT_LENGTH - PREFIX.len() - 12;
/// The programs of the machine that a scenario can use: everything of a `PATH` beside what it plays. Each prints the same on every machine.
const PROGRAMS: [&str; 8] = ["bash", "cat", "echo", "false", "git", "grep", "sh", "sleep"];
/// An identity and dates for git, so that the names of commits are always the same.
const GIT: [(&str, &str); 8] = [
    ("GIT_AUTHOR_NAME", "a"),
    ("GIT_AUTHOR_EMAIL", "a@example.org"),
    ("GIT_AUTHOR_DATE", "2026-03-04T09:15:00Z"),
    ("GIT_COMMITTER_NAME", "a"),
    ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ("GIT_COMMITTER_DATE", "2026-03-04T09:15:00Z"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];

/// What one command of a scenario printed, with everything replaced that differs from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) command: String,
    pub(super) text: String,
}

/// Performs a scenario. Returns what its commands printed, in their order.
#[track_caller]
pub(super) fn perform(scenario: &Scenario) -> Vec<Printed> {
    let stage = Stage::new();
    scenario.steps.iter().filter_map(|step| stage.perform(step)).collect()
}

struct Stage {
    project: Project,
}

impl Stage {
    fn new() -> Self {
        let temporary = Some(env::temp_dir()).filter(|path| path.as_os_str().len() <= MOST_OF_TEMPORARY);
        let temporary =
            temporary.unwrap_or_else(|| "/tmp".into()).canonicalize().expect("a directory for temporary files is there");
        let random = ROOT_LENGTH - temporary.as_os_str().len() - "/".len() - PREFIX.len();
        let directory = tempfile::Builder::new().prefix(PREFIX).rand_bytes(random).tempdir_in(&temporary);
        let project = Project::of(directory.expect("a temporary directory can be made"));
        let bin = project.root().join("bin");
        fs::create_dir(&bin).expect("the root is ours");
        for name in PROGRAMS {
            symlink(found(name), bin.join(name)).expect("the root is ours");
        }
        symlink(fake_tool(), bin.join("fake-tool")).expect("the root is ours");
        let project = project.env("PATH", &bin).env("COLUMNS", "80").env("LINES", "24");
        Self { project: GIT.iter().fold(project, |project, (name, value)| project.env(name, value)) }
    }

    #[track_caller]
    fn perform(&self, step: &Step) -> Option<Printed> {
        match step {
            Step::File { path, text } => self.project.save(path, text),
            Step::Fixture { path, fixture } => self.project.save(path, &of_fixtures(fixture)),
            Step::Bundled(name) => self.copy(&repository().join("fixtures/projects").join(name), ""),
            Step::Remove(path) => fs::remove_file(self.path(path)).expect("it is there"),
            Step::Play { program, captured } => self.play(program, captured),
            Step::Git(arguments) => {
                self.project.command(Path::new("git"), ["-c", "init.defaultBranch=main"].iter().chain(*arguments)).success();
            }
            Step::Tamper { task, file, from, to } => {
                replace(&self.project.store().run_directory(task).join(file), from, to);
            }
            Step::TamperLedger { from, to } => replace(&self.project.store().ledger_path(), from, to),
            Step::AllowNothing => {
                fs::remove_dir_all(self.project.root().join("config/proctor")).expect("it is there");
            }
            Step::Proctor { directory, arguments } => {
                let output = self.project.proctor(arguments).directory(directory).bound(COMMAND_BOUND).any_status();
                let place = if *directory == "." { String::new() } else { format!("in {directory}: ") };
                return Some(self.printed(format!("{place}proctor {}", arguments.join(" ")), &output));
            }
            Step::Screen(arguments) => {
                let output = self.project.proctor(*arguments).at_terminal().ended();
                return Some(self.printed(format!("at a terminal: proctor {}", arguments.join(" ")), &output));
            }
        }
        None
    }

    fn path(&self, path: &str) -> PathBuf {
        self.project.path().join(path)
    }

    fn play(&self, program: &str, captured: &str) {
        self.project.save(&format!("{program}.captured"), &of_fixtures(&format!("tools/{captured}")));
        let up = "../".repeat(program.matches('/').count() + 1);
        let link = self.path(program);
        if !link.is_symlink() {
            symlink(format!("{up}bin/fake-tool"), link).expect("the project is ours");
        }
    }

    fn copy(&self, from: &Path, to: &str) {
        for entry in fs::read_dir(from).expect("a fixture can be read").flatten() {
            let name = entry.file_name().into_string().expect("our file names are UTF-8");
            let to = if to.is_empty() { name } else { format!("{to}/{name}") };
            if entry.file_type().expect("a fixture can be read").is_dir() {
                self.copy(&entry.path(), &to);
            } else {
                self.project.save(&to, &fs::read_to_string(entry.path()).expect("our fixtures are text"));
            }
        }
    }

    fn printed(&self, command: String, output: &Output) -> Printed {
        let mut names = Names::new();
        // An id is the directory's name and a part of a digest of its path. The name stays.
        for id in self.project.store().project_ids() {
            let (name, _) = id.rsplit_once('-').expect("a project's id has two parts");
            names.add(&id, &format!("{name}-<id>"));
        }
        names.add(&self.project.root().to_string_lossy(), "<root>");
        names.add(&fake_tool().to_string_lossy(), "<fake-tool>");
        for name in PROGRAMS {
            let path = found(name).canonicalize().expect("it was just found");
            names.add_whole_value(&path.to_string_lossy(), &format!("<{name}>"));
        }
        let mut text = format!("exit {}\n", output.status);
        for (stream, printed) in [("out", &output.stdout), ("err", &output.stderr)] {
            for line in names.normalise(printed).split_inclusive('\n') {
                let end = if line.ends_with('\n') { "" } else { " (no line end)\n" };
                let _never_fails = write!(text, "{stream} {}{end}", shown(line));
            }
        }
        Printed { command, text }
    }
}

/// Returns a line with control characters written out, so that a difference can be read.
fn shown(line: &str) -> String {
    let is_shown = |character: char| character == '\n' || !character.is_control();
    let written = |character: char| character.escape_default().collect::<String>();
    line.chars().map(|character| if is_shown(character) { character.to_string() } else { written(character) }).collect()
}

fn of_fixtures(path: &str) -> String {
    fs::read_to_string(repository().join("fixtures").join(path)).unwrap_or_else(|error| panic!("`fixtures/{path}`: {error}"))
}

/// Returns the path of a program of the machine.
fn found(name: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("a test has a PATH");
    let places = env::split_paths(&path).map(|directory| directory.join(name));
    places.into_iter().find(|place| place.is_file()).unwrap_or_else(|| panic!("`{name}` is in no directory of PATH"))
}

#[track_caller]
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    assert!(text.contains(from), "{from:?} is not in {text}");
    let permissions = fs::metadata(path).expect("it was just read").permissions();
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(path, text.replacen(from, to, 1)).expect("it is ours");
    fs::set_permissions(path, permissions).expect("it is ours");
}
