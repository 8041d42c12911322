//! Reads what the test harness of Rust prints: `running 3 tests`, a line `test NAME ... ok` for each test, the output of the failed
//! ones, and `test result: ok. 3 passed; …`. Each program of tests prints such a block.
//!
//! A program that ends itself, for example by `std::process::exit(0)`, prints no result, and Cargo takes it for a success. So a block
//! without its result is no success.

use std::collections::BTreeMap;

use crate::cargo_test::panics;
use crate::interpret::Exited;
use crate::test_run::{ReadTest, RunFacts, count};
use proctor_model::{TestCounts, TestOutcome};

/// What the harness adds to a test's name for people.
const ADDED: &[&str] = &[" - should panic", " - compile fail", " - compile"];

/// The beginnings of lines by which Cargo says that it starts a program of tests.
const STARTS: &[&str] = &["Running ", "Doc-tests "];

/// A block that was not ended yet.
#[derive(Debug, Default)]
struct Block {
    announced: u64,
    tests: Vec<(String, TestOutcome)>,
    messages: BTreeMap<String, String>,
    /// The names in the list of failures, which is all that the short form of the output names.
    failed: Vec<String>,
    part: Part,
}

/// The counts of a line `test result:`.
#[derive(Debug, PartialEq, Eq)]
struct Totals {
    is_ok: bool,
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
    /// Tests that the command's filter left out.
    filtered_out: u64,
}

/// Where a line of a block stands.
#[derive(Debug, Default)]
enum Part {
    #[default]
    Tests,
    /// The output of the failed test with this name.
    Output(String),
    Failures,
}

/// Reads the blocks of a run.
pub(super) fn read(exited: &Exited<'_>) -> RunFacts {
    let mut facts = RunFacts {
        name: "cargo test",
        // A program of tests may end with any code, and Cargo then ends with it.
        failing_code: exited.code,
        advice: "check the filter and the targets of the command",
        ..RunFacts::default()
    };
    // Tests may print the output of other runs, which is a block inside of a block. Only outer blocks count.
    let mut open: Vec<Block> = Vec::new();
    let mut ended = 0;
    for line in exited.stdout.lines() {
        let is_inner = !open.is_empty();
        if let Some(announced) = running(line) {
            open.push(Block { announced, ..Block::default() });
        } else if let Some(totals) = result(line)
            && open.last().is_some_and(|block| block.announced == totals.sum())
        {
            let block = open.pop().unwrap_or_default();
            if open.is_empty() {
                ended += 1;
                add(block, &totals, exited, &mut facts);
                continue;
            }
        } else if let Some(block) = open.last_mut() {
            block.take(line);
            if open.len() == 1 {
                continue;
            }
        }
        // What an inner block printed belongs to the output of the outer block's test.
        if let Some(outer) = open.first_mut().filter(|_| is_inner) {
            outer.print(line);
        }
    }
    if let Some(block) = open.first() {
        let stopped = if exited.stdout_is_complete { "" } else { ", or its output was too long to be kept" };
        facts.unfinished = Some(format!(
            "a program that announced {} test(s) told no result; look for a call of `std::process::exit`{stopped}",
            block.announced
        ));
        // The failures of a program that did not end are still failures.
        for (name, outcome) in open.iter().flat_map(|block| &block.tests) {
            if *outcome == TestOutcome::Failed {
                facts
                    .run
                    .add(TestOutcome::Failed, ReadTest { title: name.clone(), full_name: name.clone(), ..ReadTest::default() });
            }
        }
    }
    let started = exited.stderr.lines().filter(|line| STARTS.iter().any(|words| line.trim_start().starts_with(words))).count();
    if started > ended && exited.code == 0 && open.is_empty() {
        let silent = started - ended;
        let unproved = format!("{silent} program(s) of tests told no result in the form of Rust's own harness");
        facts.warnings.push(format!("{unproved}, so only their exit code is known"));
        facts.unproved = Some(unproved);
    }
    facts
}

fn add(block: Block, totals: &Totals, exited: &Exited<'_>, facts: &mut RunFacts) {
    let before = facts.run.counts;
    let is_listed = |name: &String| block.tests.iter().any(|(listed, _)| listed == name);
    let unlisted: Vec<_> =
        block.failed.iter().filter(|name| !is_listed(name)).map(|name| (name.clone(), TestOutcome::Failed)).collect();
    let listed_failed = block.tests.iter().filter(|(_, outcome)| *outcome == TestOutcome::Failed).count() as u64;
    // The list of failures also holds what a failed test printed, so it is used only if the lines of the tests do not name them.
    let unlisted = if listed_failed < totals.failed { unlisted } else { Vec::new() };
    for (name, outcome) in block.tests.into_iter().chain(unlisted) {
        let is_failed = outcome == TestOutcome::Failed;
        let message = block.messages.get(&name).cloned().or_else(|| uncaptured(&name, exited)).filter(|_| is_failed);
        let message = message.unwrap_or_default();
        let mut panic = if is_failed { panics::read(&message, exited.place) } else { panics::Panic::default() };
        if let Some((file, line)) = place_of_example(&name).filter(|_| is_failed) {
            (panic.file, panic.line) = (Some(exited.place.within_project(file)), Some(line));
        }
        let mut ancestors: Vec<String> = name.split("::").map(str::to_owned).collect();
        let title = ancestors.pop().unwrap_or_default();
        let full_name = name;
        facts.run.add(
            outcome,
            ReadTest {
                ancestors,
                title,
                full_name,
                file: panic.file,
                line: panic.line,
                error: panic.error,
                message,
                ..ReadTest::default()
            },
        );
    }
    // With `--nocapture` or `--quiet` not every test has a line of its own, so the totals count.
    facts.run.counts = TestCounts {
        passed: before.passed + totals.passed,
        failed: before.failed + totals.failed.max(listed_failed),
        skipped: before.skipped + totals.ignored + totals.measured,
    };
    facts.further.measured += totals.measured;
    facts.further.deselected += totals.filtered_out;
    if totals.is_ok == (totals.failed > 0) {
        facts.contradiction = Some(format!("a result counts {} failed test(s) and says otherwise", totals.failed));
    }
    if totals.failed < listed_failed {
        facts.contradiction = Some(format!("{listed_failed} test(s) failed, but a result counts {}", totals.failed));
    }
}

impl Block {
    fn take(&mut self, line: &str) {
        if line == "failures:" {
            self.part = Part::Failures;
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.part = Part::Output(bare_name(name).to_owned());
        } else {
            match &self.part {
                Part::Tests => self.tests.extend(test(line)),
                Part::Output(_) => self.print(line),
                Part::Failures => self.failed.extend(line.strip_prefix("    ").map(|name| bare_name(name).to_owned())),
            }
        }
    }

    /// Adds a line to the output of the failed test that is being told.
    fn print(&mut self, line: &str) {
        if let Part::Output(name) = &self.part {
            let text = self.messages.entry(name.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
}

impl Totals {
    fn sum(&self) -> u64 {
        self.passed + self.failed + self.ignored + self.measured
    }
}

/// Returns what a test printed on standard error, where `--nocapture` lets it: the lines from its panic on.
fn uncaptured(name: &str, exited: &Exited<'_>) -> Option<String> {
    let heading = format!("thread '{name}' ");
    let mut lines = exited.stderr.lines().skip_while(|line| !line.starts_with(&heading));
    let first = lines.next()?;
    let rest = lines.take_while(|line| !line.starts_with("thread '") && !line.starts_with("error: "));
    Some(std::iter::once(first).chain(rest).map(|line| format!("{line}\n")).collect())
}

/// Returns the place of an example in a comment, whose name is `src/lib.rs - add (line 3)`. Its panic names a line of a generated file.
fn place_of_example(name: &str) -> Option<(&str, u64)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest.strip_suffix(')')?.rsplit_once("(line ")?.1.parse().ok()?;
    Some((file, line))
}

/// Reads `running 3 tests`.
fn running(line: &str) -> Option<u64> {
    let (announced, word) = line.strip_prefix("running ")?.split_once(' ')?;
    matches!(word, "test" | "tests").then(|| count(announced))?
}

/// Reads `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn result(line: &str) -> Option<Totals> {
    let (word, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let of = |name: &str| counts.split("; ").find_map(|part| count(part.trim().strip_suffix(name)?));
    let (passed, failed) = (of("passed")?, of("failed")?);
    Some(Totals {
        is_ok: word == "ok",
        passed,
        failed,
        ignored: of("ignored")?,
        measured: of("measured").unwrap_or_default(),
        filtered_out: of("filtered out").unwrap_or_default(),
    })
}

/// Reads `test tests::adds ... ok`. A status may have a reason or a time after it.
fn test(line: &str) -> Option<(String, TestOutcome)> {
    let (name, status) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let word = status.split([' ', ',']).next().unwrap_or_default();
    let outcome = match word {
        "ok" => TestOutcome::Passed,
        "FAILED" => TestOutcome::Failed,
        "ignored" => TestOutcome::Skipped,
        _ => return None,
    };
    Some((bare_name(name).to_owned(), outcome))
}

fn bare_name(name: &str) -> &str {
    ADDED.iter().find_map(|added| name.strip_suffix(added)).unwrap_or(name)
}
