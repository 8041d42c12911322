//! What each test is said to do, and what that makes of the change. Pure.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::{CommandExit, words};
use serde::{Serialize, Serializer};

use crate::failure::FailureClass;

/// How one test, or one parameter of it, ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseEnd {
    Passed,
    /// It failed, with the first line of its message.
    Failed(FailureClass, String),
    /// It was skipped, or is expected to fail, with the reason.
    LeftOut(String),
}

/// One run of a tool, as far as it concerns one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenRun {
    /// How each parameter of the test ended, by the name that the tool gives it; empty if the tool did not have the test.
    Cases(BTreeMap<String, CaseEnd>),
    /// Nothing of the test's file could be run, with the first line of the reason. `names_change`: it names something that the change
    /// introduced.
    CannotBegin { names_change: bool, message: String },
    /// The tool itself did not work, with the reason.
    NotRun(String),
}

impl SeenRun {
    /// Returns how each parameter of the test ended; `None` if it could not be run.
    pub(crate) fn cases(&self) -> Option<&BTreeMap<String, CaseEnd>> {
        match self {
            Self::Cases(cases) => Some(cases),
            Self::CannotBegin { .. } | Self::NotRun(_) => None,
        }
    }

    /// Returns whether the tool had the test.
    pub(crate) fn has_cases(&self) -> bool {
        self.cases().is_some_and(|cases| !cases.is_empty())
    }
}

/// What a test does for a change, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProofWord {
    NewlyFails,
    FailsBeforeAndAfter,
    Flaky,
    Proves,
    BySnapshot,
    Notices,
    CannotRunBefore,
    PassesEitherWay,
    NotTried,
    NotFound,
}

words! {
    /// Returns the word of `--json`.
    pub fn ProofWord::word, ALL:
    NewlyFails "newly fails",
    FailsBeforeAndAfter "fails before and after",
    Flaky "flaky",
    Proves "proves it",
    BySnapshot "by a snapshot of this change",
    Notices "notices it",
    CannotRunBefore "cannot run before",
    PassesEitherWay "passes either way",
    NotTried "not tried",
    NotFound "not found"
}

words! {
    /// Returns what a word means for the change.
    pub fn ProofWord::meaning:
    NewlyFails "this change breaks it",
    FailsBeforeAndAfter "not mended",
    Flaky "did not end alike in each run on the same files",
    Proves "proves it",
    BySnapshot "fails only by a recorded file that this change wrote",
    Notices "notices it, asserts nothing that was seen to fail",
    CannotRunBefore "needs the change to run, asserts nothing that was seen to fail",
    PassesEitherWay "tests nothing of this change",
    NotTried "says nothing",
    NotFound "the tool does not run it"
}

impl Serialize for ProofWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("word", self.word()), ("meaning", self.meaning())])
    }
}

/// How strong a word is for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    Proof,
    Weak,
    None,
    /// The test fails with the change, or its result is no result.
    Bad,
}

impl ProofWord {
    /// Returns how strong the word is.
    pub const fn strength(self) -> Strength {
        match self {
            Self::Proves => Strength::Proof,
            Self::Notices | Self::BySnapshot | Self::CannotRunBefore => Strength::Weak,
            Self::PassesEitherWay | Self::NotTried | Self::NotFound => Strength::None,
            Self::NewlyFails | Self::FailsBeforeAndAfter | Self::Flaky => Strength::Bad,
        }
    }
}

/// What is said of one test, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTest {
    pub word: ProofWord,
    /// What was seen, such as `TypeError before`.
    pub seen: String,
}

/// Why a test cannot run before whose own file is source and new.
pub(crate) const NEW_SOURCE: &str = "its file is new source";

/// Judges a test by its runs without the change and with it. Of several parameters the strongest word counts, and a failure with the change
/// counts before everything.
pub fn judge_test(before: &[SeenRun], after: &[SeenRun]) -> JudgedTest {
    let judged = |word, seen: String| JudgedTest { word, seen };
    let Some(first) = after.first() else { return judged(ProofWord::NotTried, "was not run".to_owned()) };
    let cases = match first {
        SeenRun::NotRun(why) => return judged(ProofWord::NotTried, format!("could not be run: {why}")),
        SeenRun::CannotBegin { message, .. } => {
            let has_passed = |run: &SeenRun| run.cases().is_some_and(|cases| cases.values().any(|end| *end == CaseEnd::Passed));
            let is_new = before.first().is_some_and(has_passed);
            let word = if is_new { ProofWord::NewlyFails } else { ProofWord::FailsBeforeAndAfter };
            return judged(word, format!("cannot begin after: {message}"));
        }
        SeenRun::Cases(cases) if cases.is_empty() => return judged(ProofWord::NotFound, "no such test was run".to_owned()),
        SeenRun::Cases(cases) => cases,
    };
    if is_flaky(before) || is_flaky(after) {
        return judged(ProofWord::Flaky, "passes and fails on the same files".to_owned());
    }
    let of_cases = cases.iter().map(|(name, end)| match judge_case(end, before.first(), name) {
        JudgedTest { word: ProofWord::Proves, .. } if !proves_each_time(before, after, name) => {
            judged(ProofWord::Flaky, "a run more did not end like the first".to_owned())
        }
        other => other,
    });
    of_cases.min_by_key(|judged| judged.word).unwrap_or_else(|| judged(ProofWord::NotFound, String::new()))
}

/// Returns whether every run has the case: by an assertion it failed before, and it passed after.
fn proves_each_time(before: &[SeenRun], after: &[SeenRun], name: &str) -> bool {
    let end = |run: &SeenRun| run.cases()?.get(name).cloned();
    before.iter().all(|run| matches!(end(run), Some(CaseEnd::Failed(FailureClass::Assertion, _))))
        && after.iter().all(|run| end(run) == Some(CaseEnd::Passed))
}

fn judge_case(after: &CaseEnd, before: Option<&SeenRun>, name: &str) -> JudgedTest {
    let judged = |word, seen: String| JudgedTest { word, seen };
    let end_before = before.and_then(SeenRun::cases).and_then(|cases| cases.get(name));
    match (after, end_before) {
        (CaseEnd::Failed(..), Some(CaseEnd::Passed)) => judged(ProofWord::NewlyFails, "passes before, fails after".to_owned()),
        (CaseEnd::Failed(..), _) => judged(ProofWord::FailsBeforeAndAfter, "fails before and after".to_owned()),
        (CaseEnd::LeftOut(why), _) => judged(ProofWord::NotTried, format!("skipped after: {why}")),
        (CaseEnd::Passed, Some(CaseEnd::Passed)) => judged(ProofWord::PassesEitherWay, "passes either way".to_owned()),
        (CaseEnd::Passed, Some(CaseEnd::LeftOut(why))) => judged(ProofWord::NotTried, format!("skipped before: {why}")),
        (CaseEnd::Passed, Some(CaseEnd::Failed(class, message))) => match class {
            FailureClass::Assertion => judged(ProofWord::Proves, "fails before, passes after".to_owned()),
            FailureClass::Snapshot => judged(ProofWord::BySnapshot, "a recorded file differs before".to_owned()),
            FailureClass::OtherError => judged(ProofWord::Notices, format!("{} before", name_of_error(message))),
        },
        (CaseEnd::Passed, None) => match before {
            Some(SeenRun::CannotBegin { names_change: true, message }) => {
                let is_new = message == NEW_SOURCE;
                let seen = if is_new { message.clone() } else { format!("{} before", name_of_error(message)) };
                judged(ProofWord::CannotRunBefore, seen)
            }
            Some(SeenRun::CannotBegin { names_change: false, message }) => {
                judged(ProofWord::NotTried, format!("cannot begin before: {message}"))
            }
            Some(SeenRun::NotRun(why)) => judged(ProofWord::NotTried, format!("could not be run before: {why}")),
            Some(SeenRun::Cases(_)) | None => judged(ProofWord::NotTried, "is not there before".to_owned()),
        },
    }
}

/// Returns the name of an error without its message: `TypeError` for `TypeError: quote() got …`.
fn name_of_error(message: &str) -> &str {
    let name = message.split(':').next().unwrap_or_default().rsplit('.').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_');
    if is_name && name.chars().next().is_some_and(char::is_uppercase) { name } else { "another error" }
}

/// Returns whether a parameter of the test both passed and failed in runs on the same files.
fn is_flaky(runs: &[SeenRun]) -> bool {
    let ended = |is_wanted: fn(&CaseEnd) -> bool| -> BTreeSet<&String> {
        let cases = runs.iter().filter_map(SeenRun::cases).flatten();
        cases.filter(|(_, end)| is_wanted(end)).map(|(name, _)| name).collect()
    };
    !ended(|end| *end == CaseEnd::Passed).is_disjoint(&ended(|end| matches!(end, CaseEnd::Failed(..))))
}

/// What a change's tests say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeState {
    Proved,
    NotProved,
    /// Every added test needs the change or notices it, and at least one asserts nothing that was seen to fail.
    WeakOnly,
    /// The change has no source, so nothing needs a test.
    NoSource,
}

words! {
    /// Returns the word of the state for people and for `--json`.
    pub fn ChangeState::word, ALL: Proved "PROVED", NotProved "NOT PROVED", WeakOnly "WEAK", NoSource "NO SOURCE"
}

impl ChangeState {
    /// Writes the word of the state, for a field of a document.
    pub(crate) fn as_word<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }

    /// Returns the exit code of `proctor prove`.
    pub const fn exit(self) -> CommandExit {
        match self {
            Self::Proved | Self::NoSource => CommandExit::Proceed,
            Self::NotProved => CommandExit::CodeNeedsWork,
            Self::WeakOnly => CommandExit::PersonNeeded,
        }
    }

    /// Judges a change by the words of its tests, each with whether the test was added.
    pub fn of(has_source: bool, tests: &[(ProofWord, bool)]) -> Self {
        let strengths = || tests.iter().map(|(word, is_added)| (word.strength(), *is_added));
        if strengths().any(|(strength, _)| strength == Strength::Bad) {
            return Self::NotProved;
        }
        if !has_source {
            return Self::NoSource;
        }
        if strengths().any(|(strength, is_added)| is_added && strength == Strength::None) {
            return Self::NotProved;
        }
        let has = |wanted: Strength| strengths().any(|(strength, _)| strength == wanted);
        let has_weak_added = strengths().any(|(strength, is_added)| is_added && strength == Strength::Weak);
        match (has(Strength::Proof), has(Strength::Weak), has_weak_added) {
            (true, _, false) => Self::Proved,
            (true, _, true) | (false, true, _) => Self::WeakOnly,
            (false, false, _) => Self::NotProved,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ran(ends: &[(&str, CaseEnd)]) -> SeenRun {
        SeenRun::Cases(ends.iter().map(|(name, end)| ((*name).to_owned(), end.clone())).collect())
    }

    fn failed(class: FailureClass, message: &str) -> CaseEnd {
        CaseEnd::Failed(class, message.to_owned())
    }

    fn word(before: SeenRun, after: SeenRun) -> ProofWord {
        judge_test(&[before], &[after]).word
    }

    #[test]
    fn each_pair_of_outcomes_has_its_word() {
        use FailureClass::{Assertion, OtherError, Snapshot};
        let passed = || ran(&[("a", CaseEnd::Passed)]);
        let with = |class, message| ran(&[("a", failed(class, message))]);
        let skipped = || ran(&[("a", CaseEnd::LeftOut("not here".to_owned()))]);
        let cannot = |names_change| SeenRun::CannotBegin { names_change, message: "ImportError: no `x`".to_owned() };
        for (before, after, expected) in [
            (with(Assertion, "assert 1 == 2"), passed(), ProofWord::Proves),
            (with(OtherError, "TypeError: no"), passed(), ProofWord::Notices),
            (with(Snapshot, "assert [- snapshot]"), passed(), ProofWord::BySnapshot),
            (cannot(true), passed(), ProofWord::CannotRunBefore),
            (cannot(false), passed(), ProofWord::NotTried),
            (passed(), passed(), ProofWord::PassesEitherWay),
            (passed(), with(Assertion, "no"), ProofWord::NewlyFails),
            (with(Assertion, "no"), with(OtherError, "no"), ProofWord::FailsBeforeAndAfter),
            (cannot(true), with(Assertion, "no"), ProofWord::FailsBeforeAndAfter),
            (passed(), cannot(true), ProofWord::NewlyFails),
            (passed(), skipped(), ProofWord::NotTried),
            (skipped(), passed(), ProofWord::NotTried),
            (passed(), ran(&[]), ProofWord::NotFound),
            (SeenRun::NotRun("no".to_owned()), passed(), ProofWord::NotTried),
        ] {
            assert_eq!(word(before.clone(), after.clone()), expected, "{before:?} {after:?}");
        }
        let twice = [with(Assertion, "no"), passed()];
        assert_eq!(judge_test(&twice, &[passed()]).word, ProofWord::Flaky);
        for more in [SeenRun::NotRun("a time limit".to_owned()), cannot(false), skipped(), ran(&[])] {
            let red = with(Assertion, "no");
            assert_eq!(judge_test(&[red.clone(), red.clone()], &[passed(), more.clone()]).word, ProofWord::Flaky, "{more:?}");
            assert_eq!(judge_test(&[red, more.clone()], &[passed(), passed()]).word, ProofWord::Flaky, "{more:?}");
        }
        let seen = judge_test(&[with(OtherError, "TypeError: quote() got …")], &[passed()]).seen;
        assert_eq!(seen, "TypeError before");
        assert_eq!(name_of_error("Cannot find module './a'"), "another error");
    }

    #[test]
    fn one_parameter_that_proves_is_enough_and_one_that_fails_after_decides() {
        let before = ran(&[("a[1]", failed(FailureClass::Assertion, "no")), ("a[2]", CaseEnd::Passed)]);
        let after = ran(&[("a[1]", CaseEnd::Passed), ("a[2]", CaseEnd::Passed)]);
        assert_eq!(word(before.clone(), after), ProofWord::Proves);
        let after = ran(&[("a[1]", CaseEnd::Passed), ("a[2]", failed(FailureClass::Assertion, "no"))]);
        assert_eq!(word(before, after), ProofWord::NewlyFails);
    }

    #[test]
    fn a_change_is_proved_only_if_every_added_test_proves() {
        use ChangeState::{NoSource, NotProved, Proved, WeakOnly};
        use ProofWord::{FailsBeforeAndAfter, Notices, PassesEitherWay, Proves};
        for (has_source, tests, expected) in [
            (true, &[(Proves, true)][..], Proved),
            (true, &[(Proves, true), (PassesEitherWay, true)], NotProved),
            (true, &[(Proves, true), (PassesEitherWay, false)], Proved),
            (true, &[(Proves, false), (Notices, true)], WeakOnly),
            (true, &[(Notices, true)], WeakOnly),
            (true, &[(Notices, false), (PassesEitherWay, false)], WeakOnly),
            (true, &[(PassesEitherWay, false)], NotProved),
            (true, &[], NotProved),
            (true, &[(Proves, true), (FailsBeforeAndAfter, false)], NotProved),
            (false, &[(PassesEitherWay, true)], NoSource),
            (false, &[(FailsBeforeAndAfter, true)], NotProved),
            (false, &[], NoSource),
        ] {
            assert_eq!(ChangeState::of(has_source, tests), expected, "{has_source} {tests:?}");
        }
        let with_word =
            |wanted: Strength| ProofWord::ALL.iter().filter(move |word| word.strength() == wanted).map(|word| word.word());
        assert!(
            with_word(Strength::Bad).eq(proctor_model::ProofRecord::FAILED_WITH)
                && ProofWord::Proves.word() == proctor_model::ProofRecord::PROVES
        );
        let codes: Vec<u8> = ChangeState::ALL.iter().map(|state| state.exit().code()).collect();
        assert_eq!(codes, [0, 1, 3, 0]);
    }

    proptest! {
        /// No added test that proves nothing can be hidden by others.
        #[test]
        fn an_added_test_without_proof_never_leaves_a_change_proved(
            words in proptest::collection::vec((0..ProofWord::ALL.len(), any::<bool>()), 0..6),
            vacuous in 0..ProofWord::ALL.len(),
        ) {
            let mut tests: Vec<(ProofWord, bool)> = words.iter().map(|(at, added)| (ProofWord::ALL[*at], *added)).collect();
            tests.push((ProofWord::ALL[vacuous], true));
            let state = ChangeState::of(true, &tests);
            prop_assert_eq!(state == ChangeState::Proved && ProofWord::ALL[vacuous] != ProofWord::Proves, false);
        }
    }
}
