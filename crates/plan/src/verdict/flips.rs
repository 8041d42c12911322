//! Finds checks that failed and passed on one content (P8), and says how often they have to pass in a row before that counts
//! as a proof. Pure.

use std::collections::BTreeSet;

use proctor_model::RunId;

/// How often the tests that passed and failed have to pass in a row: a test that fails every fourth time fails in 11 runs with a
/// probability of 96 %.
const GREENS_OF_TESTS: u32 = 11;
/// How often a check without tests has to pass in a row.
const GREENS_OF_CHECK: u32 = 3;
/// What the first line of a failure says where memory, the network, a service or a program was missing. It says nothing of the content.
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
    /// The ids of the tests that passed.
    pub passed: BTreeSet<String>,
    /// The tests that failed, with the first lines of their failures.
    pub failed: Vec<(String, Option<String>)>,
}

/// That a check failed and passed on one content.
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
}

impl Flip {
    /// Returns in how many runs in a row it has to pass.
    pub fn needed(&self) -> u32 {
        if self.tests.is_empty() { GREENS_OF_CHECK } else { GREENS_OF_TESTS }
    }

    /// Returns how many runs are missing.
    pub fn missing(&self) -> u32 {
        self.needed().saturating_sub(self.greens)
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
    let greens = ends[last + 1..].iter().filter(has_all).count();
    ends.iter().any(|end| end.is_green).then(|| Flip {
        run: ends[*last].run.clone(),
        tests: tests.into_iter().map(str::to_owned).collect(),
        reds: u32::try_from(reds.len()).unwrap_or(u32::MAX),
        greens: u32::try_from(greens).unwrap_or(u32::MAX),
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
        EndOfCheck { run: RunId::new(Timestamp::from_millis(0), number), is_green, is_of_gate: true, passed, failed }
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
