//! Compares the tests that runs on two commits' contents recorded. A record says which tests a tool collected, whatever the source files
//! look like: a test that a setting deselects is in no record, and one that was renamed is there under another name.

use std::collections::{BTreeMap, BTreeSet};

use crate::changes::{ChangeKind, GateChange, shortened};
use proctor_model::TestBody;

/// The most tests of each kind that are named one by one.
const MOST_NAMED: usize = 100;

/// A test in the records of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTest {
    /// The tool's own id of the test.
    pub id: String,
    /// The test's file, or the name of its check where the record names no file.
    pub file: String,
    /// The mark of the test's source text; `None` if it is not known.
    pub body: Option<TestBody>,
    /// Whether it passed or failed: it was neither skipped nor expected to fail.
    pub has_run: bool,
}

/// The tests that runs on one commit's content had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTests {
    pub tests: Vec<RecordedTest>,
    /// Whether the records list every test that was collected.
    pub is_complete: bool,
}

impl RecordedTest {
    /// Returns its id without the file.
    fn name(&self) -> &str {
        self.id.strip_prefix(&self.file).and_then(|rest| rest.strip_prefix("::")).unwrap_or(&self.id)
    }

    /// Returns what a test keeps when it is moved to another file, or when a parameter has another value.
    fn title(&self) -> &str {
        let title = self.id.rsplit("::").next().unwrap_or(&self.id);
        title.split_once('[').map_or(title, |(title, _)| title)
    }
}

/// Returns the changes with the tests that ran on the trusted content, and that the judged content's runs did not collect or did not run.
/// A test that ran on the trusted content is gone or left out by the records and not by the source text.
pub fn with_recorded_tests(changes: Vec<GateChange>, before: &RecordedTests, now: &RecordedTests) -> Vec<GateChange> {
    let is_recorded = |change: &GateChange| {
        before.tests.iter().any(|test| test.has_run && test.file == change.file && test.title() == change.what)
    };
    let [gone, skipped] = lost_tests(before, now);
    // A mark that leaves no test of its file out here, as on another system, leaves none out of what was tested.
    let is_run = |file: &str| {
        let lost = gone.iter().chain(&skipped).any(|test| test.file == file);
        !lost && before.tests.iter().any(|test| test.has_run && test.file == file)
    };
    let is_known_better = |change: &GateChange| {
        let is_of_run = change.kind == ChangeKind::TestSkipped && is_run(&change.file);
        now.is_complete && (is_of_run || (change.kind == ChangeKind::TestGone && is_recorded(change)))
    };
    let mut found: Vec<GateChange> = changes.into_iter().filter(|change| !is_known_better(change)).collect();
    found.extend(of_tests(ChangeKind::TestGone, &gone, "ran on the trusted content, and is not collected any more"));
    found.extend(of_tests(ChangeKind::TestSkipped, &skipped, "ran on the trusted content, and is skipped or expected to fail"));
    found.sort();
    found.dedup();
    found
}

/// Returns the tests that ran before, and now are not collected; and those that now are not run. A renamed test is neither.
pub fn lost_tests<'t>(before: &'t RecordedTests, now: &RecordedTests) -> [Vec<&'t RecordedTest>; 2] {
    let present: BTreeMap<&str, bool> = now.tests.iter().fold(BTreeMap::new(), |mut present, test| {
        *present.entry(test.id.as_str()).or_default() |= test.has_run;
        present
    });
    let known: BTreeSet<&str> = before.tests.iter().map(|test| test.id.as_str()).collect();
    let mut fresh: Vec<&RecordedTest> =
        now.tests.iter().filter(|test| test.has_run && !known.contains(test.id.as_str())).collect();
    let ran: BTreeMap<&str, &RecordedTest> =
        before.tests.iter().filter(|test| test.has_run).map(|test| (test.id.as_str(), test)).collect();
    let (mut gone, mut skipped) = (Vec::new(), Vec::new());
    for test in ran.into_values() {
        match present.get(test.id.as_str()) {
            Some(true) => {}
            Some(false) => skipped.push(test),
            None => gone.push(test),
        }
    }
    // A new test stands for one that is gone, and for no second one. The same text says more than the same title.
    let is_same_text = |one: &RecordedTest, other: &RecordedTest| one.body.is_some() && one.body == other.body;
    let is_same_title = |one: &RecordedTest, other: &RecordedTest| one.title() == other.title();
    for is_same in [&is_same_text as &dyn Fn(&RecordedTest, &RecordedTest) -> bool, &is_same_title] {
        gone.retain(|test| match fresh.iter().position(|fresh| is_same(test, fresh)) {
            Some(place) => {
                fresh.swap_remove(place);
                false
            }
            None => true,
        });
    }
    if !now.is_complete {
        gone.clear();
    }
    [gone, skipped]
}

/// Returns the changes that name these tests. Of too many, the last change tells the number.
fn of_tests(kind: ChangeKind, tests: &[&RecordedTest], how: &str) -> Vec<GateChange> {
    let change =
        |test: &&RecordedTest| GateChange { kind, file: test.file.clone(), what: format!("`{}` {how}", shortened(test.name())) };
    let mut named: Vec<GateChange> = tests.iter().take(MOST_NAMED).map(change).collect();
    if let Some(first) = tests.get(MOST_NAMED) {
        let more = tests.len() - MOST_NAMED;
        named.push(GateChange { kind, file: first.file.clone(), what: format!("and {more} more tests {how}") });
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(of: &[(&str, u64, bool)]) -> RecordedTests {
        let test = |(id, body, has_run): &(&str, u64, bool)| RecordedTest {
            id: (*id).to_owned(),
            file: id.split_once("::").map_or("unit", |(file, _)| file).to_owned(),
            body: (*body != 0).then_some(TestBody(*body)),
            has_run: *has_run,
        };
        RecordedTests { tests: of.iter().map(test).collect(), is_complete: true }
    }

    fn compared(before: &[(&str, u64, bool)], now: &[(&str, u64, bool)]) -> Vec<String> {
        with_recorded_tests(Vec::new(), &tests(before), &tests(now)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_test_that_is_not_collected_or_not_run_any_more_is_named() {
        let before = [("a.py::test_a", 1, true), ("a.py::T::test_b", 2, true), ("a.py::test_old", 3, false), ("adds", 0, true)];
        assert_eq!(compared(&before, &before), [""; 0]);
        let found = compared(&before, &[("a.py::test_a", 1, false), ("a.py::test_new", 5, true)]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("a test is gone from `a.py`: `T::test_b` ran"), "{found:?}");
        assert!(found[1].starts_with("a test is gone from `unit`: `adds` ran"), "{found:?}");
        assert!(found[2].starts_with("a test is left out in `a.py`: `test_a` ran"), "{found:?}");
    }

    #[test]
    fn a_test_that_was_renamed_moved_or_given_another_parameter_is_not_gone_and_stands_for_one() {
        for (before, now) in [
            (("a.py::test_a", 1, true), ("a.py::test_z", 1, true)),
            (("a.py::test_a", 1, true), ("b.py::test_a", 2, true)),
            (("a.py::test_a[1]", 1, true), ("a.py::test_a[2]", 2, true)),
        ] {
            assert_eq!(compared(&[before], &[now]), [""; 0], "{before:?} {now:?}");
            assert_eq!(compared(&[before, ("a.py::test_a[9]", 1, true)], &[now]).len(), 1, "{before:?} {now:?}");
            assert_eq!(compared(&[before], &[(now.0, now.1, false)]).len(), 1, "one that is skipped stands for none");
        }
    }

    #[test]
    fn records_decide_about_the_tests_that_ran_and_a_list_that_lacks_tests_says_of_none_that_it_is_gone() {
        let source = |file: &str| GateChange { kind: ChangeKind::TestGone, file: file.to_owned(), what: "test_b".to_owned() };
        let (before, mut now) = (tests(&[("a.py::test_b", 1, true)]), tests(&[("a.py::test_z", 1, true)]));
        let changes = || vec![source("a.py"), source("b.py")];
        assert_eq!(with_recorded_tests(changes(), &before, &now), [source("b.py")]);
        let skipped = tests(&[("a.py::test_b", 1, false)]);
        assert_eq!(
            with_recorded_tests(changes(), &skipped, &now),
            changes(),
            "of a test that did not run the record knows nothing"
        );
        let mark = || vec![GateChange { kind: ChangeKind::TestSkipped, ..source("a.py") }];
        assert_eq!(with_recorded_tests(mark(), &before, &before), [], "it ran all the same");
        assert_eq!(with_recorded_tests(mark(), &before, &skipped).len(), 2);
        assert_eq!(with_recorded_tests(mark(), &skipped, &before), mark(), "it did not run before");
        now.is_complete = false;
        assert_eq!(with_recorded_tests(changes(), &before, &now), changes());
        now.tests.clear();
        assert_eq!(with_recorded_tests(Vec::new(), &before, &now), []);
        let many: Vec<(String, u64, bool)> = (0..150).map(|number| (format!("a.py::test_{number}"), 0, true)).collect();
        let many: Vec<(&str, u64, bool)> = many.iter().map(|(id, body, ran)| (id.as_str(), *body, *ran)).collect();
        let found = compared(&many, &[]);
        assert_eq!(found.len(), MOST_NAMED + 1);
        assert!(found.iter().any(|change| change.contains("and 50 more tests")), "{found:?}");
    }
}
