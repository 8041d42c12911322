//! What `proctor prove` answers, for people and programs.

use proctor_model::{Digest, ProofOfTest, ProofRecord, TreeDigest};
use serde::Serialize;

use crate::hunks::TriedPart;
use crate::roles::FileRole;
use crate::touched::is_code;
use crate::words::{ChangeState, ProofWord, Strength};

/// What the tests of a change say of it: the document that `proctor prove --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeProof {
    pub(crate) schema: &'static str,
    #[serde(serialize_with = "ChangeState::as_word")]
    pub state: ChangeState,
    pub(crate) exit_code: u8,
    /// Why the state is what it is, in one sentence.
    pub summary: String,
    /// The name of the project.
    #[serde(skip)]
    pub project: String,
    /// The base as people named it.
    pub base: String,
    /// The name of its commit.
    pub base_commit: String,
    /// The name of the commit with the change; `None` means the working tree.
    pub after_commit: Option<String>,
    /// How many commits the change has.
    pub commits: usize,
    pub files: Vec<ProvedFile>,
    pub tests: Vec<ProvedTest>,
    /// The parts of the source; `None` if it was not asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<TriedPart>>,
    /// What the answer depends on, in sentences.
    pub notes: Vec<String>,
}

/// A changed file, and what it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvedFile {
    pub path: String,
    pub role: FileRole,
    /// Whether it could be source and could belong to tests.
    #[serde(rename = "doubtful")]
    pub is_doubtful: bool,
}

impl ProvedFile {
    /// Returns whether the file is source, or code of which that cannot be ruled out.
    pub(crate) fn may_be_source(&self) -> bool {
        self.role == FileRole::Source || (self.is_doubtful && is_code(&self.path))
    }
}

/// A test that the change added or changed, or that newly passes or fails with it, and what it does for the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvedTest {
    pub file: String,
    #[serde(rename = "test")]
    pub name: String,
    /// The name by which the history of tests has it; the file alone where its tests are not told apart.
    pub id: String,
    /// Whether the change added or changed it.
    #[serde(rename = "touched")]
    pub is_touched: bool,
    #[serde(rename = "added")]
    pub is_added: bool,
    #[serde(flatten)]
    pub word: ProofWord,
    /// What was seen, such as `TypeError before`.
    pub seen: String,
    /// Whether the word counts. A test that its tool perhaps never runs counts only where the tool ran it.
    pub counts: bool,
}

impl ChangeProof {
    /// Returns the state that the tests lead to.
    pub(crate) fn judged(mut self) -> Self {
        let has_source = self.files.iter().any(ProvedFile::may_be_source);
        let words: Vec<(ProofWord, bool)> =
            self.tests.iter().filter(|test| test.counts).map(|test| (test.word, test.is_added)).collect();
        self.state = ChangeState::of(has_source, &words);
        (self.exit_code, self.summary) = (self.state.exit().code(), self.summary());
        self
    }

    /// Returns the record of the answer, without the conditions under which it was made. The two contents are named by their digests: with
    /// the change and without its source.
    pub(crate) fn record(&self, (tree_digest, without_source): (TreeDigest, Digest), plan_digest: Digest) -> ProofRecord {
        let of_test =
            |test: &ProvedTest| ProofOfTest { test: test.id.clone(), word: test.word.word().to_owned(), added: test.is_added };
        ProofRecord {
            base: self.base_commit.clone(),
            after: self.after_commit.clone(),
            tree_digest,
            without_source,
            plan_digest,
            state: self.state.word().to_owned(),
            exit: self.state.exit(),
            summary: self.summary.clone(),
            tests: self.tests.iter().take(ProofRecord::MOST_TESTS).map(of_test).collect(),
            more_tests: self.tests.len().saturating_sub(ProofRecord::MOST_TESTS).try_into().unwrap_or(u32::MAX),
            made: None,
            environment_digest: None,
            unnamed: Vec::new(),
            toolchains: Vec::new(),
            toolchains_looked: None,
        }
    }

    /// Returns how many files of a role the change has.
    pub fn files_of(&self, roles: &[FileRole]) -> usize {
        self.files.iter().filter(|file| roles.contains(&file.role)).count()
    }

    /// Returns in one sentence why the state is what it is.
    fn summary(&self) -> String {
        let counted = || self.tests.iter().filter(|test| test.counts);
        let of = |wanted: Strength| counted().filter(move |test| test.word.strength() == wanted);
        let tests = |count: usize, one: &str, more: &str| match count {
            1 => format!("1 test {one}"),
            _ => format!("{count} tests {more}"),
        };
        let (bad, added) = (of(Strength::Bad).count(), counted().filter(|test| test.is_added).count());
        let vacuous: Vec<_> = of(Strength::None).filter(|test| test.is_added).collect();
        match self.state {
            ChangeState::NoSource => "the change has no source, so nothing needs a test".to_owned(),
            ChangeState::NotProved if bad > 0 => {
                tests(bad, "with the change fails or is flaky", "with the change fail or are flaky")
            }
            ChangeState::NotProved if counted().next().is_none() => {
                "the change has source, and no test was added or changed with it".to_owned()
            }
            ChangeState::NotProved if !vacuous.is_empty() => {
                let passing = vacuous.iter().filter(|test| test.word == ProofWord::PassesEitherWay).count();
                let (count, words) = match passing {
                    0 => (vacuous.len(), ["says nothing", "say nothing"]),
                    _ => (passing, ["passes either way", "pass either way"]),
                };
                let plural = if added == 1 { "" } else { "s" };
                format!("{count} of {added} added test{plural} {}", words[usize::from(count != 1)])
            }
            ChangeState::NotProved => "no test that was changed fails without the change".to_owned(),
            ChangeState::WeakOnly => tests(
                of(Strength::Weak).count(),
                "needs the change and asserts nothing that was seen to fail",
                "need the change and assert nothing that was seen to fail",
            ),
            ChangeState::Proved => tests(
                of(Strength::Proof).count(),
                "fails without the change and passes with it",
                "fail without the change and pass with it",
            ),
        }
    }
}
