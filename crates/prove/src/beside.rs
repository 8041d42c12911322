//! Tests that nobody touched, as far as the runs of the touched ones tell of them: those that newly pass or fail belong to the answer. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::answer::ProvedTest;
use crate::words::{CaseEnd, JudgedTest, ProofWord, SeenRun, Strength, judge_test};

/// The tests beside the touched ones, by the position of their check and the name that its tool gives them.
#[derive(Default)]
pub(crate) struct OtherTests(BTreeMap<(usize, String), OtherTest>);

#[derive(Default)]
struct OtherTest {
    file: String,
    /// The positions of the touched tests that ran with it for the first time.
    group: Vec<usize>,
    /// Its runs without the change and with it.
    runs: [Vec<SeenRun>; 2],
}

/// How a test ended that nobody touched: its name, its file and its end.
pub(crate) type OtherEnd = (String, String, CaseEnd);

impl OtherTests {
    /// Adds what one run of a check tells of others than the touched tests `group`. `side` is 0 without the change and 1 with it.
    pub(crate) fn add(&mut self, (check, group): (usize, &[usize]), side: usize, ends: Vec<OtherEnd>) {
        let mut seen = BTreeMap::new();
        for (name, file, end) in ends {
            let run = SeenRun::Cases(BTreeMap::from([(name.clone(), end)]));
            let twice = || SeenRun::NotRun("more than one test of the run has this name".to_owned());
            seen.entry(name).and_modify(|(_, known)| *known = twice()).or_insert((file, run));
        }
        for (name, (file, run)) in seen {
            let first = || OtherTest { file, group: group.to_vec(), ..OtherTest::default() };
            self.0.entry((check, name)).or_insert_with(first).runs[side].push(run);
        }
    }

    fn judged(&self) -> impl Iterator<Item = (&String, &OtherTest, JudgedTest)> {
        self.0.iter().map(|((_, name), other)| (name, other, judge_test(&other.runs[0], &other.runs[1])))
    }

    /// Returns the positions of the touched tests with which those ran that are about to prove the change.
    pub(crate) fn beside_proving(&self) -> BTreeSet<usize> {
        let proving = self.judged().filter(|(_, _, judged)| judged.word == ProofWord::Proves);
        proving.flat_map(|(_, other, _)| other.group.iter().copied()).collect()
    }

    /// Returns those that prove the change or that it breaks, and how many more fail without it. `runs` is how often a test that proves it ran on
    /// each side.
    pub(crate) fn in_answer(&self, runs: usize) -> (Vec<ProvedTest>, usize) {
        let is_weak = |judged: &JudgedTest| judged.word.strength() == Strength::Weak;
        let weak = self.judged().filter(|(_, _, judged)| is_weak(judged)).count();
        let belongs = |other: &OtherTest, word: ProofWord| {
            let was_run_again = || other.runs.iter().all(|seen| seen.len() == runs);
            word == ProofWord::NewlyFails || (word == ProofWord::Proves && was_run_again())
        };
        let told = self.judged().filter(|(_, other, judged)| belongs(other, judged.word));
        let tests = told.map(|(name, other, JudgedTest { word, seen })| ProvedTest {
            name: name.strip_prefix(&format!("{}::", other.file)).unwrap_or(name).to_owned(),
            file: other.file.clone(),
            id: name.clone(),
            is_touched: false,
            is_added: false,
            word,
            seen,
            counts: true,
        });
        (tests.collect(), weak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;

    #[test]
    fn only_a_test_that_proves_the_change_each_time_or_is_broken_by_it_belongs_to_the_answer() {
        let failed = |class| CaseEnd::Failed(class, "no".to_owned());
        let red = || failed(FailureClass::Assertion);
        let one = |name: &str, end| (name.to_owned(), "a.test.js".to_owned(), end);
        let add = |others: &mut OtherTests, side, red: bool| {
            let (mended, broken) = if red {
                (failed(FailureClass::Assertion), CaseEnd::Passed)
            } else {
                (CaseEnd::Passed, failed(FailureClass::OtherError))
            };
            let weak = if red { failed(FailureClass::OtherError) } else { CaseEnd::Passed };
            let twice = [one("twice", mended.clone()), one("twice", mended.clone())];
            let ends = [one("mended", mended), one("broken", broken), one("weak", weak), one("same", CaseEnd::Passed)];
            others.add((0, &[3]), side, ends.into_iter().chain(twice).collect());
        };
        let mut others = OtherTests::default();
        add(&mut others, 0, true);
        add(&mut others, 1, false);
        assert_eq!(others.beside_proving(), BTreeSet::from([3]));
        let words = |others: &OtherTests, runs| {
            let (tests, weak) = others.in_answer(runs);
            (tests.into_iter().map(|test| (test.name, test.word)).collect::<Vec<_>>(), weak)
        };
        let broken = ("broken".to_owned(), ProofWord::NewlyFails);
        assert_eq!(words(&others, 2), (vec![broken.clone()], 1), "it was not run again");
        add(&mut others, 0, true);
        add(&mut others, 1, false);
        assert_eq!(words(&others, 2), (vec![broken.clone(), ("mended".to_owned(), ProofWord::Proves)], 1));
        others.add((0, &[3]), 1, vec![one("mended", red())]);
        others.add((0, &[3]), 0, vec![one("mended", red())]);
        assert_eq!(words(&others, 3), (vec![broken], 1), "it is flaky");
    }
}
