//! Finds checks that failed and passed on one content (P8), and says how often they have to pass in a row before that counts
//! as a proof. Pure.

use std::collections::BTreeSet;

use proctor_model::RunId;

/// How often the tests that passed and failed have to pass in a row: a test that fails every fourth time fails in 11 runs with a
/// probability of 96 %.
const GREENS_OF_TESTS: u32 = 11;
/// How often a check without tests has to pass in a row.
const GREENS_OF_CHECK: u32 = 3;
/// How many of the runs have to be of all tests, where those that passed and failed never failed alone: they may fail only beside others.
const GREENS_BESIDE_OTHERS: u32 = 3;
/// Words in the first line of a failure for want of memory, the network, a service or a program. Such a failure is not about the content.
const OF_THE_MACHINE: &str = "\
    MemoryError|Cannot allocate memory|out of memory|ENOMEM|No space left on device|ENOSPC|Too many open files|EMFILE|\
    ConnectionRefusedError|Connection refused|ECONNREFUSED|ConnectionResetError|ECONNRESET|ENOTFOUND|EAI_AGAIN|\
    Name or service not known|name resolution|Network is unreachable|ENETUNREACH|No route to host|\
    command not found|ModuleNotFoundError|Cannot find module";

/// How a check ended in one run. A check that could not be carried out, or took too long, has no such end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndOfCheck {
    pub run: RunId,
    pub is_green: bool,
    /// Whether `proctor gate --run` made the run, on a checkout.
    pub is_of_gate: bool,
    /// Whether only the tests ran that passed and failed.
    pub is_alone: bool,
    /// The ids of the tests that passed.
    pub passed: BTreeSet<String>,
    /// The tests that failed, with the first lines of their failures.
    pub failed: Vec<(String, Option<String>)>,
}

/// A check that failed and passed on one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The last run in which it failed.
    pub run: RunId,
    /// The tests that failed; empty for a check without tests.
    pub tests: Vec<String>,
    /// In how many runs it failed.
    pub reds: u32,
    /// In how many runs in a row it passed since, with all of these tests: of a check with tests those that `proctor gate --run` made. Whoever
    /// runs everything again until it is green has no proof by that.
    pub greens: u32,
    /// How many of these runs were of all tests.
    pub greens_beside_others: u32,
    /// Whether it failed in a run of these tests alone.
    pub has_failed_alone: bool,
}

impl Flip {
    /// Returns in how many runs in a row it has to pass.
    pub fn needed(&self) -> u32 {
        if self.tests.is_empty() { GREENS_OF_CHECK } else { GREENS_OF_TESTS }
    }

    /// Returns how many of these runs have to be of all tests.
    pub fn needed_beside_others(&self) -> u32 {
        if self.tests.is_empty() || self.has_failed_alone { 0 } else { GREENS_BESIDE_OTHERS }
    }

    /// Returns how many runs of all tests are missing.
    pub fn missing_beside_others(&self) -> u32 {
        self.needed_beside_others().saturating_sub(self.greens_beside_others)
    }

    /// Returns how many runs are missing.
    pub fn missing(&self) -> u32 {
        self.needed().saturating_sub(self.greens).max(self.missing_beside_others())
    }
}

/// Returns whether a check failed and passed, from its ends in runs on one content, oldest first.
pub fn find_flip(ends: &[EndOfCheck]) -> Option<Flip> {
    let reds: Vec<(usize, Vec<&str>)> =
        ends.iter().enumerate().filter_map(|(place, end)| Some((place, counted_failures(end)?))).collect();
    let (last, _) = reds.last()?;
    let tests: BTreeSet<&str> = reds.iter().flat_map(|(_, tests)| tests.iter().copied()).collect();
    let has_all = |end: &&EndOfCheck| {
        end.is_green && (end.is_of_gate || tests.is_empty()) && tests.iter().all(|test| end.passed.contains(*test))
    };
    let greens: Vec<&EndOfCheck> = ends[last + 1..].iter().filter(has_all).collect();
    let count = |found: usize| u32::try_from(found).unwrap_or(u32::MAX);
    ends.iter().any(|end| end.is_green).then(|| Flip {
        run: ends[*last].run.clone(),
        tests: tests.into_iter().map(str::to_owned).collect(),
        reds: count(reds.len()),
        greens: count(greens.len()),
        greens_beside_others: count(greens.iter().filter(|end| !end.is_alone).count()),
        has_failed_alone: reds.iter().any(|(place, _)| ends[*place].is_alone),
    })
}

/// Returns the tests whose failures count; `None` if the check passed, or failed for reasons of the machine alone.
fn counted_failures(end: &EndOfCheck) -> Option<Vec<&str>> {
    let is_of_machine = |message: &Option<String>| {
        message.as_ref().is_some_and(|message| OF_THE_MACHINE.split('|').any(|word| message.contains(word)))
    };
    let counted: Vec<&str> =
        end.failed.iter().filter(|(_, message)| !is_of_machine(message)).map(|(test, _)| test.as_str()).collect();
    (!end.is_green && (end.failed.is_empty() || !counted.is_empty())).then_some(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Timestamp;

    fn end(number: u64, failed: &[(&str, &str)], is_green: bool) -> EndOfCheck {
        let failed: Vec<_> = failed.iter().map(|(test, why)| ((*test).to_owned(), Some((*why).to_owned()))).collect();
        let all = ["a", "b"].map(str::to_owned);
        let passed = all.into_iter().filter(|test| failed.iter().all(|(other, _)| other != test)).collect();
        EndOfCheck {
            run: RunId::new(Timestamp::from_millis(0), number),
            is_green,
            is_of_gate: true,
            is_alone: false,
            passed,
            failed,
        }
    }

    #[test]
    fn what_failed_and_passed_has_to_pass_in_a_row_since_the_last_failure() {
        let (green, red) = (|number| end(number, &[], true), |number| end(number, &[("a", "AssertionError")], false));
        assert_eq!(find_flip(&[green(1), green(2)]), None);
        assert_eq!(find_flip(&[red(1), red(2)]), None);
        let flip = find_flip(&[green(1), red(2), green(3), red(4), green(5), green(6)]).unwrap();
        assert_eq!((flip.run.number(), flip.tests.as_slice(), flip.reds, flip.greens), (4, &["a".to_owned()][..], 2, 2));
        assert_eq!((flip.needed(), flip.missing()), (11, 9));
        // A run in which the test did not pass, because it was skipped or left out, is none of them.
        let mut without = green(7);
        without.passed.remove("a");
        assert_eq!(find_flip(&[red(1), green(2), without]).unwrap().greens, 1);
        // A run that somebody made is none of them, and takes none away.
        let own = EndOfCheck { is_of_gate: false, ..green(7) };
        assert_eq!(find_flip(&[red(1), green(2), own, green(3)]).unwrap().greens, 2);
        // A check without tests.
        let flip = find_flip(&[end(1, &[], false), green(2), green(3), green(4)]).unwrap();
        assert_eq!((flip.needed(), flip.missing(), flip.tests.len()), (3, 0, 0));
    }

    #[test]
    fn tests_that_never_failed_alone_have_to_pass_beside_the_others_too() {
        let alone = |number, is_green: bool| {
            let failed: &[(&str, &str)] = if is_green { &[] } else { &[("a", "AssertionError")] };
            EndOfCheck { is_alone: true, ..end(number, failed, is_green) }
        };
        let missing = |ends: &[EndOfCheck]| find_flip(ends).map(|flip| (flip.missing(), flip.missing_beside_others())).unwrap();
        let red = end(1, &[("a", "AssertionError")], false);
        let eleven: Vec<EndOfCheck> = (2..13).map(|number| alone(number, true)).collect();
        assert_eq!(missing(&[std::slice::from_ref(&red), &eleven[..]].concat()), (3, 3));
        let whole: Vec<EndOfCheck> = (13..16).map(|number| end(number, &[], true)).collect();
        assert_eq!(missing(&[std::slice::from_ref(&red), &eleven[..8], &whole[..]].concat()), (0, 0));
        assert_eq!(missing(&[&[red, alone(2, false)], &eleven[..]].concat()), (0, 0), "they fail alone");
    }

    #[test]
    fn a_failure_of_the_machine_does_not_count() {
        let green = end(9, &[], true);
        for why in
            ["E   ConnectionRefusedError: [Errno 111] Connection refused", "MemoryError", "sh: 1: redis-cli: command not found"]
        {
            assert_eq!(find_flip(&[end(1, &[("a", why)], false), green.clone()]), None, "{why}");
        }
        let mixed = end(1, &[("a", "MemoryError"), ("b", "assert 1 == 2")], false);
        assert_eq!(find_flip(&[mixed, green]).unwrap().tests, ["b"]);
    }
}
