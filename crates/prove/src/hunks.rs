//! `proctor prove --hunks`: takes the parts of the source of a change back one at a time, and says which test notices it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proctor_app::CommandError;
use proctor_model::{ActionEnd, words};
use proctor_sandbox::process::clock;
use serde::Serialize;

use crate::answer::ProvedTest;
use crate::base::{ends_of, run_check};
use crate::commands::language_of;
use crate::prove::Prover;
use crate::runs::TriedContent;
use crate::touched::TouchedTest;
use crate::words::{CaseEnd, SeenRun, Strength};

/// What the tests say of a part of the source that was taken back alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PartWord {
    /// A test fails without it.
    #[serde(rename = "noticed")]
    Noticed,
    /// Neither a test of the change nor the whole check fails without it.
    #[serde(rename = "no test notices")]
    NoTestNotices,
    /// Without it, the tests cannot be compiled, imported or collected.
    #[serde(rename = "cannot be taken back alone")]
    CannotBeTakenBackAlone,
    #[serde(rename = "not tried")]
    NotTried,
}

words! {
    /// Returns the word for people.
    pub fn PartWord::word:
    Noticed "noticed", NoTestNotices "no test notices", CannotBeTakenBackAlone "cannot be taken back alone", NotTried "not tried"
}

/// A part of the source of a change, and what the tests say of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TriedPart {
    pub file: String,
    /// The name of the function; empty for code between functions, and for a file as a whole.
    pub function: String,
    /// The number of its first line in the file with the change, from 1; `None` for a file as a whole.
    pub line: Option<usize>,
    pub word: PartWord,
    /// The name of a test that notices it, or why it was not tried. Empty if nothing more is to be said.
    pub seen: String,
}

/// Why a part was not tried that has to wait for others.
const OVER: &str = "the budget was used up";

/// What the runs without a part say of it.
type Answer = (PartWord, String);
/// Whether each test worked, by the position of its check and its name; `None` if a check did not end by itself.
type Ends = Option<BTreeMap<(usize, String), bool>>;

impl Prover<'_> {
    /// Tries the parts of the source one at a time until `budget` is used up: first with the tests that fail without the whole source, then
    /// with the whole check.
    pub(crate) fn try_parts(
        &mut self,
        (tests, judged): (&[TouchedTest], &[ProvedTest]),
        budget: Duration,
    ) -> Result<Vec<TriedPart>, CommandError> {
        self.trials.deadline = clock::monotonic().plus(budget);
        let fails_without = |at: &usize| matches!(judged[*at].word.strength(), Strength::Proof | Strength::Weak);
        let wanted: Vec<usize> = (0..judged.len()).filter(fails_without).collect();
        let (mut tried, mut with_change) = (Vec::new(), None);
        for (file, part) in self.change.parts() {
            let mut answer = (PartWord::NotTried, OVER.to_owned());
            if !self.is_over() {
                let content = self.change.part_layer(&file, part.as_ref())?;
                let layer = self.write(&content)?;
                let of_tests = self.tests_without(&layer, (tests, &wanted, judged))?;
                answer = of_tests.map_or_else(|| self.check_without(&layer, &mut with_change), Ok)?;
            }
            // A run that was stopped by the budget says nothing.
            let (word, seen) = if self.is_over() { (PartWord::NotTried, OVER.to_owned()) } else { answer };
            let (function, line) = part.map_or_else(Default::default, |part| (part.name, Some(part.line)));
            tried.push(TriedPart { file, function, line, word, seen });
        }
        self.trials.deadline = None;
        Ok(tried)
    }

    fn is_over(&self) -> bool {
        self.trials.deadline.is_some_and(|deadline| deadline.since(clock::monotonic()).is_zero())
    }

    /// Returns what some of the tests say without a part; `None` if they all pass.
    fn tests_without(
        &mut self,
        layer: &Path,
        (tests, wanted, judged): (&[TouchedTest], &[usize], &[ProvedTest]),
    ) -> Result<Option<Answer>, CommandError> {
        let (mut noticed, mut is_unable) = (None, false);
        self.run_tests(TriedContent { layer, is_before: false, side: None }, tests, wanted, &mut |at, run| match run {
            SeenRun::Cases(cases) if cases.values().any(|end| matches!(end, CaseEnd::Failed(..))) => {
                noticed = noticed.or(Some(at))
            }
            SeenRun::CannotBegin { .. } => is_unable = true,
            SeenRun::Cases(_) | SeenRun::NotRun(_) => {}
        })?;
        let noticed = noticed.map(|at: usize| (PartWord::Noticed, judged[at].id.clone()));
        Ok(noticed.or_else(|| is_unable.then(|| (PartWord::CannotBeTakenBackAlone, String::new()))))
    }

    /// Returns what the whole check says without a part. `with_change` has how its tests end with the whole change.
    fn check_without(&mut self, layer: &Path, with_change: &mut Option<Ends>) -> Result<Answer, CommandError> {
        if with_change.is_none() {
            let after = self.write(&self.change.after_layer()?)?;
            *with_change = Some(self.whole_check(&after)?);
        }
        let without = self.whole_check(layer)?;
        Ok(compared(with_change.as_ref().unwrap_or(&None), &without))
    }

    /// Runs every check whose tests are told apart.
    fn whole_check(&mut self, layer: &Path) -> Result<Ends, CommandError> {
        let mut ends = BTreeMap::new();
        for (at, action) in self.loaded.plan.steps.iter().enumerate().filter(|(_, action)| language_of(action).is_some()) {
            let run = run_check(self, layer, action)?;
            if !matches!(run.end, ActionEnd::Exited { .. }) {
                return Ok(None);
            }
            ends.extend(ends_of(&run).into_iter().map(|(name, works)| ((at, name), works)));
        }
        Ok(Some(ends))
    }
}

/// Compares how the tests of all checks end with the whole change and without a part of it.
fn compared(with: &Ends, without: &Ends) -> Answer {
    let not_tried = |why: &str| (PartWord::NotTried, why.to_owned());
    let (Some(with), Some(without)) = (with, without) else { return not_tried("a check did not end") };
    let failed = || without.iter().filter(|(_, works)| !**works).map(|(test, _)| test);
    if let Some((_, name)) = failed().find(|test| with.get(test) == Some(&true)) {
        return (PartWord::Noticed, name.clone());
    }
    let has_lost = with.keys().any(|test| !without.contains_key(test));
    if without.is_empty() {
        not_tried("no check has tests that are told apart")
    } else if failed().any(|test| test.1.is_empty() && with.contains_key(test)) {
        not_tried("a check fails with the change too, and no test of it")
    } else if has_lost || failed().any(|test| !with.contains_key(test)) {
        (PartWord::CannotBeTakenBackAlone, String::new())
    } else {
        (PartWord::NoTestNotices, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_noticed_only_by_a_test_that_passes_with_it() {
        let ends = |tests: &[(&str, bool)]| Some(tests.iter().map(|(name, works)| ((0, (*name).to_owned()), *works)).collect());
        let word = |with: &[(&str, bool)], without: &[(&str, bool)]| compared(&ends(with), &ends(without)).0;
        assert_eq!(compared(&ends(&[("a", true)]), &ends(&[("a", false)])), (PartWord::Noticed, "a".to_owned()));
        assert_eq!(word(&[("a", true), ("b", false)], &[("a", true), ("b", false)]), PartWord::NoTestNotices);
        assert_eq!(word(&[("a", true)], &[("test_a.py", false)]), PartWord::CannotBeTakenBackAlone);
        assert_eq!(word(&[("a", true)], &[("", false)]), PartWord::CannotBeTakenBackAlone);
        assert_eq!(word(&[("a", true)], &[]), PartWord::NotTried);
        assert_eq!(word(&[("", false)], &[("", false)]), PartWord::NotTried);
        assert_eq!(word(&[("a", true), ("b", true)], &[("a", true)]), PartWord::CannotBeTakenBackAlone);
        assert_eq!(compared(&ends(&[("a", true)]), &None).0, PartWord::NotTried);
    }
}
