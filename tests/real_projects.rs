//! Suites of real projects, most of which write into their own tree: proctor judges them on a snapshot as the tool by itself does.
//!
//! Each project is built twice, in fresh directories. In the first one its suite is run by hand. In the second one proctor runs it: twice as it
//! is, once with a broken file, and once with the file as it was. The verdicts have the counts of the run by hand, none is MOVED, and the
//! project's directory stays as it was.
//!
//! The sources come from the Python package index and the npm registry, at fixed versions, once for each build directory.

mod first_runs;
mod javascript;
mod python;
mod repositories;
mod shop;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Output, Project};

/// The time limit of one run. The longest suite takes about ten seconds by itself.
const BOUND: Duration = Duration::from_secs(300);

/// A suite of a real project, and how to break the project.
struct Suite<'suite> {
    /// Builds the project in a fresh directory.
    make: &'suite dyn Fn() -> Project,
    /// The command that runs the suite by hand, in the project's directory.
    by_hand: &'suite [&'suite str],
    /// The least number of tests that pass. It shows that the counts were read; 0 for a tool that counts none.
    least: u64,
    /// A file that the suite tests, and the text in it that is replaced by another one, so that the suite fails.
    breaks: (&'suite str, &'suite str, &'suite str),
}

impl Suite<'_> {
    #[track_caller]
    fn is_judged(&self) {
        let (project, _) = self.is_judged_as_by_hand();
        drop(project);
    }

    /// Judges the project as the documentation of this module says. Returns the project and the report of the last run.
    #[track_caller]
    fn is_judged_as_by_hand(&self) -> (Project, Value) {
        let expected = {
            let project = (self.make)();
            counts(&run_by_hand(&project, self.by_hand).status(0))
        };
        assert!(expected.passed >= self.least && expected.failed == 0, "{expected:?}");
        let project = (self.make)();
        let listing = Listing::of(&project);
        for round in ["first", "warm"] {
            self.passes(&project, expected, round);
            listing.expect_again(&project, round);
        }
        let (path, from, to) = self.breaks;
        let whole = fs::read_to_string(project.path().join(path)).expect("a file of the project");
        assert!(whole.contains(from), "`{path}` has no `{from}`");
        project.save(path, &whole.replacen(from, to, 1));
        let broken = project.proctor(["run"]).bound(BOUND).any_status();
        assert_eq!((broken.status, status(&broken)), (1, "FAILED".to_owned()), "{}", broken.snapshot());
        project.save(path, &whole);
        let report = self.passes(&project, expected, "mended");
        (project, report)
    }

    #[track_caller]
    fn passes(&self, project: &Project, expected: Counts, round: &str) -> Value {
        let output = project.proctor(["run"]).bound(BOUND).any_status();
        let report = output.report();
        assert_eq!((output.status, status(&output)), (0, "SUCCESS".to_owned()), "{round}: {}", output.snapshot());
        assert_eq!(report["tree"]["snapshot"]["tested"], "snapshot", "{round}: {}", output.snapshot());
        assert_eq!(reported(&report), expected, "{round}: {}", output.snapshot());
        report
    }
}

fn run_by_hand<'project>(project: &'project Project, command: &[&str]) -> crate::common::Invocation<'project> {
    let (program, arguments) = command.split_first().expect("a program's name");
    project.command(Path::new(program), arguments).env("NO_COLOR", "1").bound(BOUND)
}

fn status(output: &Output) -> String {
    output.report()["executionSummary"]["overallStatus"].as_str().expect("a status").to_owned()
}

/// How many tests passed, failed and were skipped. A test that is expected to fail and does counts as skipped, as in a JUnit report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Returns the sum of what the checks of a run counted.
fn reported(report: &Value) -> Counts {
    let results = report["stepExecution"]["results"].as_array().expect("a list of checks");
    let of = |key: &str| results.iter().filter_map(|one| one["result"]["testResults"][key].as_u64()).sum();
    Counts { passed: of("passed"), failed: of("failed"), skipped: of("skipped") }
}

/// Returns the counts of the last line that counts tests: `3 passed, 1 skipped in 0.1s` of pytest, `Tests  3 passed | 1 skipped (4)` of Vitest,
/// `Tests:  1 skipped, 3 passed, 4 total` of Jest. No such line: nothing was counted.
fn counts(output: &Output) -> Counts {
    let others = ["Snapshots", "Test Files", "Test Suites"];
    let lines = output.stdout.lines().chain(output.stderr.lines());
    let counting = lines.filter(|line| !others.iter().any(|other| line.trim_start().starts_with(other)));
    counting.map(counts_of_line).rfind(|counts| *counts != Counts::default()).unwrap_or_default()
}

fn counts_of_line(line: &str) -> Counts {
    let words: Vec<&str> = line.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut counts = Counts::default();
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else { continue };
        match pair[1] {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" | "xfailed" | "ignored" => counts.skipped += number,
            _ => {}
        }
    }
    counts
}

/// Everything in a project's directory: kind, permissions, and the content with its time for a file.
///
/// The link to the evidence, and git's list of what it excludes, which proctor names that link in, are left out.
struct Listing(BTreeMap<String, String>);

impl Listing {
    fn of(project: &Project) -> Self {
        let mut entries = BTreeMap::new();
        let mut waiting = vec![project.path()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).expect("a directory of the project").flatten() {
                let path = entry.path();
                let name = path.strip_prefix(project.path()).expect("it is below").display().to_string();
                let metadata = path.symlink_metadata().expect("an entry of the project");
                let content = if metadata.is_symlink() {
                    format!("link to {}", fs::read_link(&path).expect("a link").display())
                } else if metadata.is_dir() {
                    waiting.push(path);
                    format!("directory {:o}", metadata.permissions().mode())
                } else {
                    let mut hasher = DefaultHasher::new();
                    fs::read(&path).expect("a file of the project").hash(&mut hasher);
                    let time = (metadata.mtime(), metadata.mtime_nsec());
                    format!("file {:o} {} {:x} {time:?}", metadata.permissions().mode(), metadata.len(), hasher.finish())
                };
                entries.insert(name, content);
            }
        }
        entries.retain(|name, content| !(name == "evidence" && content.starts_with("link")) && name != ".git/info/exclude");
        Self(entries)
    }

    #[track_caller]
    fn expect_again(&self, project: &Project, round: &str) {
        let now = Self::of(project);
        let names = self.0.keys().chain(now.0.keys());
        let differ: Vec<_> = names.filter(|name| self.0.get(*name) != now.0.get(*name)).collect();
        assert!(differ.is_empty(), "after the {round} run: {differ:?}");
    }
}

/// Runs a command that prepares a project, and expects it to work.
#[track_caller]
fn prepare(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Copies the contents of a directory into the project, with links, times and permissions.
#[track_caller]
pub(crate) fn copy_into(project: &Project, from: &Path, to: &str) {
    let target = project.path().join(to);
    fs::create_dir_all(&target).expect("the project is ours");
    prepare(Command::new("cp").arg("-a").arg(from.join(".")).arg(target));
}

/// Runs git in a directory, with the name and address of a made-up author.
#[track_caller]
fn git(directory: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    prepare(Command::new("git").args(settings).args(arguments).current_dir(directory).env("GIT_CONFIG_NOSYSTEM", "1"));
}

#[test]
fn the_counts_of_a_run_by_hand_are_read() {
    let all = |passed, failed, skipped| Counts { passed, failed, skipped };
    assert_eq!(counts_of_line("= 2434 passed, 24 skipped, 31000 deselected, 1 xfailed in 14.04s ="), all(2434, 0, 25));
    assert_eq!(counts_of_line("      Tests  1 failed | 3 passed | 1 skipped (5)"), all(3, 1, 1));
    assert_eq!(counts_of_line("Tests:       1 skipped, 3 passed, 4 total"), all(3, 0, 1));
}
