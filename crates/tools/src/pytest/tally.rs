//! Counts the tests of a report while it is read. Only a bounded number of them is kept: a report may have millions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::BufRead;

use crate::junit::{self, Element, MarkKind};
use crate::places::Place;
use crate::pytest::failures;
use crate::pytest::node_ids::NodeIds;
use crate::xml::XmlError;
use proctor_model::{LISTED_TESTS, TestCounts, TestOutcome};

/// The message of a module that could not be collected.
const COLLECTION_FAILURE: &str = "collection failure";

/// The class and the name under which pytest reports an internal error as a test.
const INTERNAL_ERROR: (&str, &str) = ("pytest", "internal");

/// At most this many elements of one test are kept. The first failed element is kept even beyond this limit.
const LISTED_ELEMENTS: usize = 100;
/// The limit for the names and messages of all tests together that are kept, in bytes.
const KEPT_TEXT: usize = 8 * 1024 * 1024;

/// The content of a report. Elements that belong to one test are counted as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// The tests that are kept, in order of appearance: the first ones of the report, and the failed ones. There are at
    /// most [`LISTED_TESTS`] of either.
    pub(super) tests: Vec<Test>,
    /// The counts of the distinct tests by outcome, whether they are kept or not.
    pub(super) counts: TestCounts,
    /// How many of the failed tests have an error and no failure.
    pub(super) errors: u64,
    /// How many of the skipped tests failed as expected.
    pub(super) expected_failures: u64,
    /// The sum of the `tests` attributes of the report's suites: how many tests pytest says that it ran.
    pub(super) claimed: u64,
    /// The number of tests that were running when the run was interrupted.
    pub(super) nameless: u64,
    /// The number of tests that passed only when they were rerun. A rerun adds an element without `<failure>`, `<error>` or
    /// `<skipped>`, and the suites' `tests` attributes do not count it.
    pub(super) retried: u64,
    /// The number of distinct tests, whether they are kept or not.
    total: u64,
    /// Whether all failed tests are modules that could not be collected.
    only_collection_errors: bool,
}

/// One test: all elements with the same class and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// The test's elements, at least one.
    pub(super) elements: Vec<Element>,
    /// The test's outcome, from all of its elements together.
    pub(super) outcome: TestOutcome,
    /// The test's node id; `None` if it is not known, so that the test has only its name in the report.
    pub(super) node_id: Option<String>,
}

/// What the elements of a test have shown so far, as bits in the place of a hash's lowest bits.
mod seen {
    pub(super) const FAILURE: u64 = 1;
    pub(super) const ERROR: u64 = 1 << 1;
    /// An element without a mark: a test that passed.
    pub(super) const PLAIN: u64 = 1 << 2;
    /// More than one element.
    pub(super) const REPEATED: u64 = 1 << 3;
    /// A failed element that is not a module that could not be collected.
    pub(super) const OTHER_FAILURE: u64 = 1 << 4;
    /// A test that failed and was expected to fail.
    pub(super) const EXPECTED: u64 = 1 << 5;
    /// How many bits there are.
    pub(super) const COUNT: u32 = 6;
    pub(super) const ALL: u64 = (1 << COUNT) - 1;
}

/// A set of tests, by hashes of their names, with what was seen of each. A test takes eight bytes, so that the tests of
/// a report of 64 MiB take less than a third of its size. Two tests with the same hash are counted as one test with the
/// worse outcome; with 58 bits that does not happen by chance.
#[derive(Debug, Default)]
struct SeenTests {
    /// Open addressing: 0 is a free place, and the number of places is a power of two.
    places: Vec<u64>,
    count: usize,
}

/// Counts the elements of a report while it is read, and keeps the tests that the [`Tally`] lists.
#[derive(Debug, Default)]
struct Builder {
    seen: SeenTests,
    tests: Vec<Test>,
    /// The index in `tests` of each kept test.
    kept: HashMap<(String, String), usize>,
    kept_failed: usize,
    text: usize,
    elements: u64,
}

impl SeenTests {
    /// Adds the bits that an element shows to the bits of its test. The hash stands for the test's name.
    fn add(&mut self, hash: u64, bits: u64) {
        if self.count * 4 >= self.places.len() * 3 {
            self.grow();
        }
        // A place that is taken is never 0, because every element sets a bit or the hash is not 0.
        let name = (hash & !seen::ALL).max(seen::ALL + 1);
        let place = self.find(name);
        if self.places[place] == 0 {
            self.count += 1;
            self.places[place] = name | bits;
        } else {
            self.places[place] |= bits | seen::REPEATED;
        }
    }

    fn find(&self, name: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut place = (name >> seen::COUNT) as usize & mask;
        while self.places[place] != 0 && self.places[place] & !seen::ALL != name {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let larger = vec![0; (self.places.len() * 2).max(1024)];
        let smaller = std::mem::replace(&mut self.places, larger);
        for taken in smaller.into_iter().filter(|taken| *taken != 0) {
            let place = self.find(taken & !seen::ALL);
            self.places[place] = taken;
        }
    }

    fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.iter().copied().filter(|taken| *taken != 0).map(|taken| taken & seen::ALL)
    }
}

impl Builder {
    fn take(&mut self, element: Element) {
        self.elements += 1;
        let kinds = || element.marks.iter().map(|mark| mark.kind);
        let (failure, error) = (kinds().any(|kind| kind == MarkKind::Failure), kinds().any(|kind| kind == MarkKind::Error));
        let is_failed = failure || error;
        let is_collection_error = element.is_collection_error();
        let bits = [
            (failure, seen::FAILURE),
            (error, seen::ERROR),
            (element.marks.is_empty(), seen::PLAIN),
            (is_failed && !is_collection_error, seen::OTHER_FAILURE),
            (element.marks.iter().any(|mark| mark.is_expected), seen::EXPECTED),
        ];
        let bits = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum();
        let mut hasher = DefaultHasher::new();
        (&element.class, &element.name).hash(&mut hasher);
        self.seen.add(hasher.finish(), bits);
        self.keep(element, is_failed);
    }

    fn keep(&mut self, element: Element, is_failed: bool) {
        let has_room = if is_failed { self.kept_failed < LISTED_TESTS } else { self.tests.len() < LISTED_TESTS };
        let text = element.text_length();
        let has_room = has_room && self.text + text <= KEPT_TEXT;
        let name = (element.class.clone(), element.name.clone());
        match self.kept.get(&name) {
            // A test that is kept needs its marks, so that its outcome is right, but not every one of its reruns.
            Some(place) => {
                let test = &mut self.tests[*place];
                if test.elements.len() >= LISTED_ELEMENTS && (!is_failed || test.has_failed()) {
                    return;
                }
                test.elements.push(element.shortened(has_room));
            }
            None if has_room => {
                self.kept.insert(name, self.tests.len());
                self.tests.push(Test { elements: vec![element], outcome: TestOutcome::Passed, node_id: None });
            }
            None => return,
        }
        self.text += text;
        self.kept_failed += usize::from(is_failed);
    }

    fn finish(mut self, claimed: u64, nameless: u64) -> Tally {
        for test in &mut self.tests {
            test.outcome = outcome_of(&test.elements);
        }
        let mut counts = TestCounts::default();
        let (mut retried, mut only_collection_errors) = (0, true);
        let (mut errors, mut expected_failures) = (0, 0);
        for bits in self.seen.all() {
            if bits & (seen::FAILURE | seen::ERROR) != 0 {
                counts.failed += 1;
                errors += u64::from(bits & seen::FAILURE == 0);
            } else if bits & seen::PLAIN != 0 {
                counts.passed += 1;
                retried += u64::from(bits & seen::REPEATED != 0);
            } else {
                counts.skipped += 1;
                expected_failures += u64::from(bits & seen::EXPECTED != 0);
            }
            only_collection_errors &= bits & seen::OTHER_FAILURE == 0;
        }
        let retried = if self.elements > claimed { retried } else { 0 };
        let total = self.seen.count as u64;
        let tally = Tally {
            tests: self.tests,
            counts,
            errors,
            expected_failures,
            claimed,
            nameless,
            retried,
            total,
            only_collection_errors,
        };
        // Tests that were only planned did not run. Their elements look like passed tests, so the counts are set to
        // zero.
        if tally.is_plan_only() { Tally { counts: TestCounts::default(), ..tally } } else { tally }
    }
}

impl Tally {
    /// Reads a report, groups its elements into distinct tests and counts these by outcome.
    pub(super) fn read(report: impl BufRead) -> Result<Self, XmlError> {
        let mut builder = Builder::default();
        let totals = junit::read_each(report, &mut |element| builder.take(element))?.require_counts()?;
        Ok(builder.finish(totals.claimed, totals.nameless))
    }

    /// Finds the node ids of the tests that are kept.
    pub(super) fn name_tests(&mut self, ids: &mut NodeIds<'_>, place: Place<'_>) {
        for test in &mut self.tests {
            let element = test.element();
            if (element.class.as_str(), element.name.as_str()) == INTERNAL_ERROR {
                continue;
            }
            let traced = || failures::traced_files(test, place);
            test.node_id = ids.find(element, test.is_collection_error(), &traced);
        }
    }

    /// Returns the number of distinct tests.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns whether the report lists tests but none of them ran, as with `--setup-plan` and `--setup-only`.
    pub(super) fn is_plan_only(&self) -> bool {
        self.claimed == 0 && self.nameless == 0 && self.total() > 0 && self.counts.failed == 0
    }

    /// Returns whether the run was interrupted: a test was still running, or the report lists more tests than the
    /// suites' `tests` attributes count as finished (E5).
    pub(super) fn is_cut_short(&self) -> bool {
        self.nameless > 0 || self.total() > self.claimed
    }

    /// Returns the modules that could not be collected, which pytest reports as tests.
    pub(super) fn collection_errors(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.is_collection_error())
    }

    /// Returns whether tests failed, and each of them is a module that could not be collected.
    pub(super) fn failed_only_at_collection(&self) -> bool {
        self.counts.failed > 0 && self.only_collection_errors
    }

    /// Returns the tests that failed or had an error, as far as they are kept.
    pub(super) fn failed(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| matches!(test.outcome, TestOutcome::Failed | TestOutcome::Error))
    }

    /// Returns the tests that passed only when they were rerun, as far as they are kept.
    pub(super) fn retried(&self) -> impl Iterator<Item = &Test> {
        let is_retried = |test: &&Test| test.outcome == TestOutcome::Passed && test.elements.len() > 1;
        self.tests.iter().filter(is_retried).take(if self.retried > 0 { LISTED_TESTS } else { 0 })
    }

    /// Returns whether pytest reports an internal error.
    pub(super) fn has_internal_error(&self) -> bool {
        self.failed().any(|test| {
            let element = test.element();
            (element.class.as_str(), element.name.as_str()) == INTERNAL_ERROR
        })
    }
}

fn outcome_of(elements: &[Element]) -> TestOutcome {
    let kinds = || elements.iter().flat_map(|element| &element.marks).map(|mark| mark.kind);
    if kinds().any(|kind| kind == MarkKind::Failure) {
        TestOutcome::Failed
    } else if kinds().any(|kind| kind == MarkKind::Error) {
        TestOutcome::Error
    } else if elements.iter().any(|element| element.marks.is_empty()) {
        TestOutcome::Passed
    } else {
        TestOutcome::Skipped
    }
}

impl Element {
    /// Returns whether the element says that a module could not be collected.
    fn is_collection_error(&self) -> bool {
        self.marks.iter().any(|mark| mark.kind == MarkKind::Error && mark.message == COLLECTION_FAILURE)
    }

    fn text_length(&self) -> usize {
        let marks = self.marks.iter().map(|mark| mark.message.len() + mark.text.len());
        2 * (self.class.len() + self.name.len()) + self.file.as_ref().map_or(0, String::len) + marks.sum::<usize>()
    }

    /// Returns the element; without the texts of its marks if there is no room for them.
    fn shortened(mut self, has_room: bool) -> Self {
        if !has_room {
            for mark in &mut self.marks {
                mark.text = String::new();
            }
        }
        self
    }
}

impl Test {
    fn has_failed(&self) -> bool {
        self.elements.iter().flat_map(|element| &element.marks).any(|mark| mark.kind != MarkKind::Skipped)
    }

    /// Returns the test's first element. All elements of a test have the same class and name.
    pub(super) fn element(&self) -> &Element {
        self.elements.first().expect("a group is made with its first element")
    }

    /// Returns the test's node id, or its name in the report if the node id is not known.
    pub(super) fn name(&self) -> String {
        self.node_id.clone().unwrap_or_else(|| self.junit_name())
    }

    /// Returns the test's name in the report: `tests.test_a.TestX::test_y[1]`.
    pub(super) fn junit_name(&self) -> String {
        let element = self.element();
        if element.class.is_empty() { element.name.clone() } else { format!("{}::{}", element.class, element.name) }
    }

    /// Returns whether this entry is a module that could not be collected.
    pub(super) fn is_collection_error(&self) -> bool {
        self.elements.iter().any(Element::is_collection_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(cases: impl Iterator<Item = String>, claimed: u64) -> String {
        format!("<testsuites><testsuite tests=\"{claimed}\">{}</testsuite></testsuites>", cases.collect::<String>())
    }

    #[test]
    fn all_tests_are_counted_and_a_bounded_number_is_kept_with_all_failures() {
        let number = LISTED_TESTS as u64 + 500;
        let case = |number: u64| match number % 5000 {
            4999 => format!("<testcase classname=\"t\" name=\"t{number}\"><failure message=\"m\">x</failure></testcase>"),
            4998 => format!("<testcase classname=\"t\" name=\"t{number}\"><skipped/></testcase>"),
            _ => format!("<testcase classname=\"t\" name=\"t{number}\"/>"),
        };
        let last = "<testcase classname=\"t\" name=\"last\"><error message=\"m\">y</error></testcase>".to_owned();
        let text = report((0..number).map(case).chain([last]), number + 1);
        let tally = Tally::read(text.as_bytes()).expect("readable");
        let failed = number / 5000 + 1;
        assert_eq!((tally.total(), tally.counts.failed, tally.counts.skipped), (number + 1, failed, number / 5000));
        assert_eq!(tally.counts.passed, number + 1 - failed - number / 5000);
        assert_eq!(tally.failed().count() as u64, failed, "the last test of the report is kept, because it failed");
        assert!(tally.tests.len() <= LISTED_TESTS + failed as usize);
        assert!(!tally.is_cut_short() && !tally.failed_only_at_collection());
    }

    #[test]
    fn elements_of_one_test_are_one_test_also_when_it_is_not_kept() {
        let many = (0..LISTED_TESTS + 10).map(|number| format!("<testcase classname=\"t\" name=\"t{number}\"/>"));
        let again = (0..LISTED_TESTS + 10).map(|number| format!("<testcase classname=\"t\" name=\"t{number}\"/>"));
        let tally = Tally::read(report(many.chain(again), 10).as_bytes()).expect("readable");
        assert_eq!((tally.total(), tally.retried), (LISTED_TESTS as u64 + 10, LISTED_TESTS as u64 + 10));
    }

    #[test]
    fn long_texts_of_many_failures_do_not_fill_the_memory() {
        let text = "x".repeat(1024 * 1024);
        let case =
            |number| format!("<testcase classname=\"t\" name=\"t{number}\"><failure message=\"m\">{text}</failure></testcase>");
        let tally = Tally::read(report((0..20).map(case), 20).as_bytes()).expect("readable");
        assert_eq!(tally.counts.failed, 20);
        assert!(tally.failed().count() < 9, "the others are counted only");
    }
}
