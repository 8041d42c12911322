//! Reads the events of `go test -json`: one JSON object in each line, as `go doc test2json` documents them.
//!
//! Discovers `go test` by the project's `go.mod`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::discover::{FoundCheck, FoundChecks, Looked, name_in_package, words};
use crate::expectations::RaisedAt;
use crate::interpret::Exited;
use crate::located::located;
use crate::project_files::{ProjectFiles, within};
use crate::test_run::{ReadTest, RunFacts};
use proctor_model::{TestFailure, TestOutcome, Tool};

/// At most this many bytes of the output of one test or package are kept.
const KEPT_OUTPUT: usize = 64 * 1024;

/// An event. Other fields are not used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    /// The package that is built, in the events `build-output` and `build-fail` of Go 1.24 and newer.
    import_path: Option<String>,
    test: Option<String>,
    /// The duration in seconds.
    elapsed: Option<f64>,
    output: Option<String>,
}

/// What the events say of one test.
#[derive(Debug, Default)]
struct Test {
    outcome: Option<TestOutcome>,
    duration: Option<u64>,
    output: String,
}

/// What the events say of one package.
#[derive(Debug, Default)]
struct Package {
    tests: BTreeMap<String, Test>,
    /// `pass`, `fail` or `skip`; `None` if the package has no end.
    result: Option<String>,
    output: String,
}

/// Reads the events; `None` if there are none.
pub(super) fn read(exited: &Exited<'_>) -> Option<RunFacts> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut builds: BTreeMap<String, String> = BTreeMap::new();
    let mut unread = 0_u64;
    for line in exited.stdout.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            unread += 1;
            continue;
        };
        if let (Some(path), None) = (&event.import_path, &event.package) {
            // The path of a test's package is followed by the name of its program: `shop [shop.test]`.
            let path = path.split(' ').next().unwrap_or_default();
            push(builds.entry(path.to_owned()).or_default(), event.output.as_deref().unwrap_or_default());
            continue;
        }
        let Some(name) = &event.package else { continue };
        packages.entry(name.clone()).or_default().take(event);
    }
    if packages.is_empty() && builds.is_empty() {
        return None;
    }
    let mut facts = RunFacts {
        name: "go test",
        failing_code: 1,
        advice: "check the packages and the pattern of the command; a package without test files has none",
        ..RunFacts::default()
    };
    if unread > 0 {
        facts.contradiction = Some(format!("{unread} of its events cannot be read"));
    }
    let mut cached = 0_u64;
    for (name, package) in packages {
        cached += u64::from(package.output.lines().any(|line| line.starts_with("ok ") && line.contains("(cached)")));
        add(&name, package, &mut builds, exited, &mut facts);
    }
    if cached > 0 {
        facts
            .warnings
            .push(format!("{cached} package(s) did not run: go took their results from its cache; `-count=1` runs them"));
    }
    Some(facts)
}

impl Package {
    fn take(&mut self, event: Event) {
        let output = event.output.as_deref().unwrap_or_default();
        let outcome = match event.action.as_str() {
            "pass" => Some(TestOutcome::Passed),
            "fail" => Some(TestOutcome::Failed),
            "skip" => Some(TestOutcome::Skipped),
            _ => None,
        };
        let Some(name) = event.test else {
            push(&mut self.output, output);
            if outcome.is_some() {
                self.result = Some(event.action);
            }
            return;
        };
        // A benchmark is no test; it tells a time.
        if event.action == "bench" {
            return;
        }
        let test = self.tests.entry(name).or_default();
        push(&mut test.output, output);
        if outcome.is_some() {
            test.outcome = outcome;
            let seconds = event.elapsed.filter(|seconds| seconds.is_finite() && (0.0..1e12).contains(seconds));
            test.duration = seconds.map(|seconds| (seconds * 1e6).round() as u64);
        }
    }
}

fn add(name: &str, package: Package, builds: &mut BTreeMap<String, String>, exited: &Exited<'_>, facts: &mut RunFacts) {
    let Package { tests, result, output } = package;
    let failed = result.as_deref() == Some("fail");
    let is_broken = output.contains("[build failed]") || output.contains("[setup failed]");
    if failed && (is_broken || builds.contains_key(name)) {
        let built = builds.remove(name).unwrap_or_default();
        facts.unloaded.push(unloaded(name, &built, exited));
        return;
    }
    if result.is_none() {
        facts.unfinished = Some(format!("the package `{name}` has no result"));
    }
    // A test with subtests is told too. It counts only if it failed by itself.
    let parents: BTreeSet<&str> = tests.keys().flat_map(|test| ancestors(test)).collect();
    let failing_parents: BTreeSet<&str> = tests
        .iter()
        .filter(|(_, test)| test.outcome == Some(TestOutcome::Failed))
        .flat_map(|(name, _)| ancestors(name))
        .collect();
    let mut any_failed = false;
    for (test_name, test) in &tests {
        let is_parent = parents.contains(test_name.as_str());
        let has_failing_part = failing_parents.contains(test_name.as_str());
        let outcome = match (test.outcome, failed) {
            (Some(outcome), _) => outcome,
            // A test that was running when its package failed: a panic, an exit or the time limit ended it.
            (None, true) => TestOutcome::Failed,
            (None, false) => {
                facts.unfinished = Some(format!("the test `{test_name}` of `{name}` has no result"));
                continue;
            }
        };
        any_failed |= outcome == TestOutcome::Failed;
        if is_parent && (outcome != TestOutcome::Failed || has_failing_part) {
            continue;
        }
        facts.run.add(outcome, of_test(name, test_name, test, outcome, &output));
    }
    let signal = output.lines().find(|line| line.starts_with("signal: "));
    if failed && let Some(signal) = signal {
        facts.signal = Some(format!("{name}: {signal}"));
    }
    if failed && !any_failed && signal.is_none() {
        let error = telling_line(&output).unwrap_or("the package failed although none of its tests did").to_owned();
        let test = ReadTest { title: name.to_owned(), full_name: name.to_owned(), error, message: output, ..ReadTest::default() };
        facts.run.add(TestOutcome::Failed, test);
    } else if any_failed && result.as_deref() == Some("pass") {
        facts.contradiction = Some(format!("the package `{name}` passed although one of its tests failed"));
    }
}

/// The message of a test that was running when its process ended: by `os.Exit`, `log.Fatal`, a panic or the time limit.
pub(super) const PROCESS_ENDED: &str = "it has no result; its process ended";

fn of_test(package: &str, name: &str, test: &Test, outcome: TestOutcome, of_package: &str) -> ReadTest {
    let mut parts: Vec<String> = std::iter::once(package).chain(name.split('/')).map(str::to_owned).collect();
    let title = parts.pop().unwrap_or_default();
    let mut read = ReadTest {
        ancestors: parts,
        title,
        full_name: format!("{package} {name}"),
        duration: test.duration,
        ..ReadTest::default()
    };
    if outcome == TestOutcome::Failed {
        let own: Vec<&str> = test.output.lines().filter(|line| !is_frame(line)).collect();
        read.message = own.join("\n");
        let line = telling_line(&read.message).or_else(|| telling_line(of_package).filter(|line| line.starts_with("panic: ")));
        line.unwrap_or(PROCESS_ENDED).clone_into(&mut read.error);
        if test.outcome.is_none() {
            // The output before does not say why the test ended.
            read.message = format!("{}\n{PROCESS_ENDED}", read.message).trim_start().to_owned();
        }
    }
    read
}

/// Returns where a test called `t.Error` or the like, by the name of the file of tests. A call elsewhere has no place.
pub(super) fn raised_at(text: &str) -> Option<RaisedAt> {
    text.lines().find_map(|line| {
        let (file, rest) = line.strip_prefix("    ")?.trim_start().split_once(".go:")?;
        let line = rest.split(':').next()?.parse().ok()?;
        let is_name = file.ends_with("_test") && !file.contains(' ');
        is_name.then(|| RaisedAt { path: format!("{file}.go"), line, column: 1 })
    })
}

/// Returns whether a line only says that a test begins or ends.
fn is_frame(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("=== ") || text.starts_with("--- ")
}

/// Returns the line that says most: a panic, or the first line with a message.
fn telling_line(output: &str) -> Option<&str> {
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty() && !is_frame(line));
    let is_word = |line: &&str| !["FAIL", "PASS", "ok"].iter().any(|word| line.split(['\t', ' ']).next() == Some(*word));
    let says_place = |line: &&str| line.contains("_test.go:");
    lines().find(|line| line.starts_with("panic: ")).or_else(|| lines().find(says_place)).or_else(|| lines().find(is_word))
}

/// Returns the names of the tests of which a test is a part: `TestA` and `TestA/b` for `TestA/b/c`.
fn ancestors(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(end, _)| &name[..end])
}

// Older versions of Go print the errors of a build on standard error, below a line `# PACKAGE`.
fn unloaded(name: &str, built: &str, exited: &Exited<'_>) -> TestFailure {
    let heading = format!("# {name}");
    let is_heading = |line: &&str| line.trim() == heading || line.starts_with(&format!("{heading} ["));
    let printed: Vec<&str> =
        exited.stderr.lines().skip_while(|line| !is_heading(line)).skip(1).take_while(|line| !line.starts_with('#')).collect();
    let message = if built.is_empty() { printed.join("\n") } else { built.to_owned() };
    let lines = || message.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let at = lines().find_map(|line| located(line.trim_start_matches("vet: ")));
    let error = at.as_ref().map(|at| at.rest).or_else(|| lines().next()).unwrap_or("it could not be built; see the log");
    TestFailure {
        test_name: name.to_owned(),
        test_file: at.as_ref().map(|at| at.file_in(exited.place)),
        line: at.as_ref().and_then(|at| at.line()),
        error: error.to_owned(),
        stack: Some(message.clone()).filter(|message| !message.is_empty()),
        ..TestFailure::default()
    }
}

fn push(text: &mut String, more: &str) {
    if text.len() + more.len() <= KEPT_OUTPUT {
        text.push_str(more);
    }
}

/// Looks for a module of Go in one directory of the project, and adds a check for it.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let tool = Tool::GoTest;
    let path = within(package, "go.mod");
    if !files.exists(&path) {
        return Looked::Silent;
    }
    let found = FoundCheck {
        tool,
        name: name_in_package(tool.word(), package),
        directory: package.to_owned(),
        package: package.to_owned(),
        argv: words(&["go", "test", "./..."]),
        policy: None,
    };
    findings.add(found, &format!("`{path}` is there"));
    Looked::Spoke
}
