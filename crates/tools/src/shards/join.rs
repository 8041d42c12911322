//! Joins the results of the shards of a check into one, as if one process had run all tests. Pure.
//!
//! A shard that came to no result (it crashed, hung, or its report proves nothing) decides, as it would if it were the only process.
//! Then failures decide. A success needs a result of every shard, that all lists are the same, and that every test of them was run by exactly
//! one shard.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use serde::Deserialize;

use crate::test_run::{headline, listed};
use proctor_model::{CategoryCode, FurtherTestCounts, Interpretation, TestCounts, TestResults, ToolReport};

/// The result of one shard: what its tool's output and report say, and the list of tests that it wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct ShardOutcome {
    pub interpretation: Interpretation,
    /// The list; [`ToolReport::Missing`] if the shard wrote none.
    pub list: ToolReport,
}

/// What a shard collected, and the positions of what it ran.
#[derive(Debug, Default, Deserialize)]
struct CollectedTests {
    #[serde(default)]
    unit: ListedUnit,
    tests: Vec<String>,
    own: Vec<usize>,
}

/// What a list names: the smallest thing that a tool hands to one process or another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ListedUnit {
    #[default]
    Test,
    File,
    Package,
}

/// What the result of one shard means for the whole check. Of the results of all shards, the one that stands first here decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// proctor stopped the shard.
    Stopped,
    /// The shard came to no result.
    NoResult,
    Failed,
    Passed,
    /// No test of the shard passed or failed, which is right if other shards have tests.
    NothingRan,
}

fn standing_of(category: CategoryCode) -> Standing {
    if category == CategoryCode::Stopped {
        Standing::Stopped
    } else if category == CategoryCode::TestsFailed {
        Standing::Failed
    } else if category == CategoryCode::TestsPassed {
        Standing::Passed
    } else if matches!(category, CategoryCode::NoTestsCollected | CategoryCode::NoTestsExecuted) {
        Standing::NothingRan
    } else {
        Standing::NoResult
    }
}

/// Joins the results of all shards of a check. Returns the result, and the position of the shard whose end and output stand for all.
///
/// # Panics
/// When there is no shard.
pub fn join_shards(shards: &[ShardOutcome]) -> (Interpretation, usize) {
    let standings: Vec<Standing> = shards.iter().map(|shard| standing_of(shard.interpretation.category)).collect();
    let worst = *standings.iter().min().expect("a check has at least one shard");
    let decides = standings.iter().position(|standing| *standing == worst).unwrap_or_default();
    let count = shards.len();
    let joined = match worst {
        Standing::Stopped | Standing::NoResult => without_result(shards, &standings, decides),
        Standing::Failed => sum_of_shards(shards),
        Standing::Passed | Standing::NothingRan => match flaw(shards) {
            Some(reason) => Interpretation { category: CategoryCode::ReportIncomplete, reason, ..sum_of_shards(shards) },
            None => sum_of_shards(shards),
        },
    };
    (Interpretation { shards: u32::try_from(count).ok(), ..joined }, decides)
}

/// Returns the result of the shard that came to none, with what the others say.
fn without_result(shards: &[ShardOutcome], standings: &[Standing], decides: usize) -> Interpretation {
    let decisive = &shards[decides].interpretation;
    // A tool may name its part: `2/4`.
    let words = |place: usize| {
        let (number, of) = (place + 1, shards.len());
        shards[place].interpretation.reason.replace(&format!("{number}/{of}"), "")
    };
    let is_same = |place: usize| shards[place].interpretation.category == decisive.category && words(place) == words(decides);
    if (0..shards.len()).all(is_same) {
        return decisive.clone();
    }
    let others = shards
        .iter()
        .zip(standings)
        .enumerate()
        .filter(|(place, (_, standing))| !is_same(*place) && !matches!(standing, Standing::Passed | Standing::NothingRan));
    let told = others.map(|(place, (one, _))| format!("{}: {}", shard_name(place, shards), one.interpretation.reason));
    let mut joined = decisive.clone();
    joined.warnings.extend(told);
    joined.reason = format!("{}: {}", shard_name(decides, shards), decisive.reason);
    joined
}

fn shard_name(place: usize, shards: &[ShardOutcome]) -> String {
    format!("Shard {} of {}", place + 1, shards.len())
}

/// Returns the sum of all shards.
fn sum_of_shards(shards: &[ShardOutcome]) -> Interpretation {
    let lists: Vec<Option<CollectedTests>> = shards.iter().map(|shard| read_list(&shard.list).ok().flatten()).collect();
    let mut sum = shards.iter().map(|shard| shard.interpretation.clone()).reduce(added).expect("a check has at least one shard");
    let mut seen = BTreeSet::new();
    sum.cases.retain(|case| seen.insert((case.test_file.clone(), case.full_name.clone())));
    let Some(results) = &mut sum.test_results else { return sum };
    // A module that skips itself is no test, and in the report of every shard.
    let of_tests = |list: &&CollectedTests| list.unit == ListedUnit::Test;
    let modules = shards.iter().zip(&lists).filter_map(|(shard, list)| {
        let list = list.as_ref().filter(of_tests)?;
        Some(reported(shard).saturating_sub(list.distinct()))
    });
    let repeated: u64 = modules.clone().sum::<u64>() - modules.max().unwrap_or_default();
    results.counts.skipped = results.counts.skipped.saturating_sub(repeated);
    results.total = results.total.saturating_sub(repeated);
    let deselected = shards.iter().zip(&lists).map(|(shard, list)| {
        let others = list.as_ref().map_or(0, |list| (list.tests.len() - list.own.len().min(list.tests.len())) as u64);
        shard.interpretation.test_results.as_ref().map_or(0, |results| results.further.deselected.saturating_sub(others))
    });
    results.further.deselected = deselected.max().unwrap_or_default();
    let (counts, total) = (results.counts, results.counts.passed + results.counts.failed);
    let skipped = counts.skipped.saturating_sub(results.further.expected_failures);
    if counts.failed > 0 {
        sum.category = CategoryCode::TestsFailed;
        let failed = listed(results.failures.iter().map(headline), counts.failed);
        sum.reason = format!("{} of {total} tests failed: {failed}", counts.failed);
    } else if counts.passed > 0 {
        sum.category = CategoryCode::TestsPassed;
        sum.reason = format!("{} passed, 0 failed, {skipped} skipped", counts.passed);
        if results.further.expected_failures > 0 {
            sum.reason.push_str(&format!(", {} xfailed", results.further.expected_failures));
        }
        sum.reason.push_str(&format!(", in {} shards", shards.len()));
    } else if shards.iter().any(|shard| shard.interpretation.category == CategoryCode::NoTestsExecuted) && counts.skipped > 0 {
        sum.category = CategoryCode::NoTestsExecuted;
        sum.reason =
            format!("No test passed: {} skipped or failed as expected; a run that proves nothing is no success", counts.skipped);
    }
    sum
}

/// Adds two interpretations. The first one's category and reason stay.
fn added(mut sum: Interpretation, one: Interpretation) -> Interpretation {
    sum.test_results = match (sum.test_results.take(), one.test_results) {
        (Some(mut before), Some(now)) => {
            let (counts, more) = (before.counts, now.counts);
            before.counts = TestCounts {
                passed: counts.passed + more.passed,
                failed: counts.failed + more.failed,
                skipped: counts.skipped + more.skipped,
            };
            before.total += now.total;
            before.failures.extend(now.failures);
            before.further = add_further_counts(before.further, now.further);
            Some(before)
        }
        (before, now) => before.or(now),
    };
    sum.cases.extend(one.cases);
    sum.control = sum.control.or(one.control);
    one.warnings.into_iter().for_each(|warning| add_warning(&mut sum.warnings, warning));
    sum
}

/// Adds a warning, unless it is there. Of those that begin with a number, such as `3 warnings`, the numbers are added.
fn add_warning(warnings: &mut Vec<String>, warning: String) {
    let counted = |text: &str| {
        let (number, rest) = text.split_once(' ')?;
        Some((number.parse::<u64>().ok()?, rest.to_owned()))
    };
    if let Some((more, rest)) = counted(&warning) {
        let same = warnings.iter_mut().find_map(|before| Some((counted(before).filter(|(_, words)| *words == rest)?.0, before)));
        match same {
            Some((number, before)) => *before = format!("{} {rest}", number + more),
            None => warnings.push(warning),
        }
    } else if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

fn add_further_counts(before: FurtherTestCounts, now: FurtherTestCounts) -> FurtherTestCounts {
    FurtherTestCounts {
        errors: before.errors + now.errors,
        expected_failures: before.expected_failures + now.expected_failures,
        unexpected_passes: before.unexpected_passes + now.unexpected_passes,
        todo: before.todo + now.todo,
        measured: before.measured + now.measured,
        deselected: before.deselected.max(now.deselected),
        reruns: before.reruns + now.reruns,
        unhandled_errors: before.unhandled_errors + now.unhandled_errors,
    }
}

/// Returns why the shards together do not prove that every test was run once; `None` if they do.
fn flaw(shards: &[ShardOutcome]) -> Option<String> {
    const LOOK: &str =
        "look for tests whose names or number change from one collection to the next, and for hooks that end the process";
    let incomplete = |place: usize, why: String| Some(format!("{} {why}; {LOOK}", shard_name(place, shards)));
    let mut first: Option<(BTreeSet<String>, usize)> = None;
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for (place, shard) in shards.iter().enumerate() {
        let list = match read_list(&shard.list) {
            Ok(Some(list)) => list,
            Ok(None) => return incomplete(place, "wrote no list of the tests that it collected".to_owned()),
            Err(why) => return incomplete(place, format!("wrote a list of tests that cannot be read ({why})")),
        };
        if let Some((own, reported, unit)) = list.unreported(shard) {
            return incomplete(place, format!("was to run {own} {unit}(s), and its report has {reported}"));
        }
        for test in list.own.iter().filter_map(|position| list.tests.get(*position)) {
            if let Some(before) = ran.insert(test.clone(), place).filter(|before| *before != place) {
                return incomplete(place, format!("ran `{test}`, which shard {} ran too", before + 1));
            }
        }
        let all: BTreeSet<String> = list.tests.into_iter().collect();
        match &first {
            None => first = Some((all, place)),
            Some((before, at)) => {
                if let Some(test) = before.symmetric_difference(&all).next() {
                    let (has, lacks) = if all.contains(test) { (place, *at) } else { (*at, place) };
                    return incomplete(has, format!("collected `{test}`, and shard {} did not", lacks + 1));
                }
            }
        }
    }
    let (all, _) = first?;
    let missed = all.iter().find(|test| !ran.contains_key(*test))?;
    Some(format!("No shard ran `{missed}`, which all of them collected; {LOOK}"))
}

fn reported(shard: &ShardOutcome) -> u64 {
    shard.interpretation.test_results.as_ref().map_or(0, |results: &TestResults| results.total)
}

/// Reads the list of a shard; `None` if it wrote none.
fn read_list(list: &ToolReport) -> Result<Option<CollectedTests>, String> {
    let mut text = String::new();
    match (list.reader(), list) {
        (Some(mut reader), _) => reader.read_to_string(&mut text).map_err(|error| error.to_string())?,
        (None, ToolReport::Refused(why)) => return Err(why.clone()),
        (None, _) => return Ok(None),
    };
    if text.starts_with('{') {
        return serde_json::from_str(&text).map(Some).map_err(|error| error.to_string());
    }
    text.lines().try_fold(CollectedTests::default(), CollectedTests::and_line).map(Some)
}

impl CollectedTests {
    /// Adds a line of a list that the programs of the tests wrote one after the other: `own test NAME` or `other package NAME`.
    fn and_line(mut self, line: &str) -> Result<Self, String> {
        let mut words = line.splitn(3, ' ');
        let (whose, unit, name) = (words.next(), words.next(), words.next());
        let unread = || format!("`{}` is no line of it", line.escape_debug());
        self.unit = match unit {
            Some("test") => ListedUnit::Test,
            Some("package") => ListedUnit::Package,
            Some(_) | None => return Err(unread()),
        };
        match whose {
            Some("own") => self.own.push(self.tests.len()),
            Some("other") => {}
            Some(_) | None => return Err(unread()),
        }
        self.tests.push(name.ok_or_else(unread)?.to_owned());
        Ok(self)
    }

    /// Returns how many different tests the shard was to run.
    fn distinct(&self) -> u64 {
        self.own.iter().collect::<BTreeSet<_>>().len() as u64
    }

    /// Returns how much the shard was to run and how much of it is in its report, if that is less.
    fn unreported(&self, shard: &ShardOutcome) -> Option<(u64, u64, &'static str)> {
        let (own, reported, unit) = match self.unit {
            ListedUnit::Test => (self.distinct(), reported(shard), "test"),
            ListedUnit::File => {
                let cases = &shard.interpretation.cases;
                // A long report is not kept whole.
                if (cases.len() as u64) < reported(shard) {
                    return None;
                }
                // Behind a file that is tested in several ways stands which: `a.test.ts [browser]`.
                let file = |name: &String| name.split_once(" [").map_or(name.as_str(), |(file, _)| file).to_owned();
                let own: BTreeSet<_> = self.own.iter().filter_map(|position| self.tests.get(*position)).map(file).collect();
                let cases: BTreeSet<_> = cases.iter().map(|case| &case.test_file).collect();
                (own.len() as u64, cases.len() as u64, "file")
            }
            // A package may have no test that the filter of the command leaves.
            ListedUnit::Package => return None,
        };
        (reported < own).then_some((own, reported, unit))
    }
}
