//! What `proctor prove` answers, for people and programs.

use proctor_model::{Digest, ProofOfTest, ProofRecord, TreeDigest};
use serde::Serialize;

use crate::hunks::TriedPart;
use crate::roles::FileRole;
use crate::touched::is_code;
use crate::words::{ChangeState, ProofWord, Strength};

/// What the tests of a change say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeProof {
    pub state: ChangeState,
    /// The name of the project.
    pub project: String,
    /// The base as people named it, and the name of its commit.
    pub base: (String, String),
    /// The name of the commit with the change; `None` means the working tree.
    pub after: Option<String>,
    /// How many commits the change has.
    pub commits: usize,
    pub files: Vec<ProvedFile>,
    pub tests: Vec<ProvedTest>,
    /// The parts of the source; `None` if it was not asked for them.
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

/// A test that the change added or changed, and what it does for the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedTest {
    pub file: String,
    pub name: String,
    /// The name that its tool gives it and that the history of tests has; `None` where that is its file and name.
    pub known_as: Option<String>,
    pub is_added: bool,
    pub word: ProofWord,
    /// What was seen, such as `TypeError before`.
    pub seen: String,
    /// Whether the word counts. A test that its tool perhaps never runs counts only where the tool ran it.
    pub counts: bool,
}

impl ProvedTest {
    /// Returns the name by which the history of tests has it; the file alone where its tests are not told apart.
    pub fn id(&self) -> String {
        match &self.known_as {
            Some(name) => name.clone(),
            None if self.name.is_empty() => self.file.clone(),
            None => format!("{}::{}", self.file, self.name),
        }
    }
}

impl ChangeProof {
    /// Returns the state that the tests lead to.
    pub(crate) fn judged(mut self) -> Self {
        let has_source = self.files.iter().any(ProvedFile::may_be_source);
        let words: Vec<(ProofWord, bool)> =
            self.tests.iter().filter(|test| test.counts).map(|test| (test.word, test.is_added)).collect();
        self.state = ChangeState::of(has_source, &words);
        self
    }

    /// Returns the record of the answer, without the conditions under which it was made. The two contents are named by their digests: with
    /// the change and without its source.
    pub(crate) fn record(&self, (tree_digest, without_source): (TreeDigest, Digest), plan_digest: Digest) -> ProofRecord {
        let of_test =
            |test: &ProvedTest| ProofOfTest { test: test.id(), word: test.word.word().to_owned(), added: test.is_added };
        ProofRecord {
            base: self.base.1.clone(),
            after: self.after.clone(),
            tree_digest,
            without_source,
            plan_digest,
            state: self.state.word().to_owned(),
            exit: self.state.exit(),
            summary: self.summary(),
            tests: self.tests.iter().take(ProofRecord::MOST_TESTS).map(of_test).collect(),
            more_tests: self.tests.len().saturating_sub(ProofRecord::MOST_TESTS).try_into().unwrap_or(u32::MAX),
            made: None,
            environment_digest: None,
            unnamed: Vec::new(),
        }
    }

    /// Returns how many files of a role the change has.
    pub fn files_of(&self, roles: &[FileRole]) -> usize {
        self.files.iter().filter(|file| roles.contains(&file.role)).count()
    }

    /// Returns in one sentence why the state is what it is.
    pub fn summary(&self) -> String {
        let counted = || self.tests.iter().filter(|test| test.counts);
        let of = |wanted: Strength| counted().filter(move |test| test.word.strength() == wanted);
        let added = counted().filter(|test| test.is_added).count();
        let tests = |count: usize| format!("{count} test{}", if count == 1 { "" } else { "s" });
        let verb = |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
        let bad = of(Strength::Bad).count();
        let vacuous: Vec<_> = of(Strength::None).filter(|test| test.is_added).collect();
        let weak = of(Strength::Weak).count();
        match self.state {
            ChangeState::NoSource => "the change has no source, so nothing needs a test".to_owned(),
            ChangeState::NotProved if bad > 0 => {
                format!("{} with the change {}", tests(bad), verb(bad, "fails or is flaky", "fail or are flaky"))
            }
            ChangeState::NotProved if counted().next().is_none() => {
                "the change has source, and no test was added or changed with it".to_owned()
            }
            ChangeState::NotProved if !vacuous.is_empty() => {
                let passing = vacuous.iter().filter(|test| test.word == ProofWord::PassesEitherWay).count();
                let (count, what) = match passing {
                    0 => (vacuous.len(), verb(vacuous.len(), "says nothing", "say nothing")),
                    passing => (passing, verb(passing, "passes either way", "pass either way")),
                };
                format!("{count} of {added} added test{} {what}", if added == 1 { "" } else { "s" })
            }
            ChangeState::NotProved => "no test that was changed fails without the change".to_owned(),
            ChangeState::WeakOnly => {
                format!(
                    "{} the change and {} nothing that was seen to fail",
                    format_args!("{} {}", tests(weak), verb(weak, "needs", "need")),
                    verb(weak, "asserts", "assert")
                )
            }
            ChangeState::Proved => {
                let proving = of(Strength::Proof).count();
                format!(
                    "{} {} without the change and {} with it",
                    tests(proving),
                    verb(proving, "fails", "fail"),
                    verb(proving, "passes", "pass")
                )
            }
        }
    }
}

/// The document that `proctor prove --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeProofV1<'a> {
    schema: &'static str,
    state: &'static str,
    exit_code: u8,
    summary: String,
    base: &'a str,
    base_commit: &'a str,
    /// The commit with the change; null means the working tree.
    after_commit: Option<&'a str>,
    commits: usize,
    files: &'a [ProvedFile],
    tests: Vec<ProvedTestV1<'a>>,
    /// Present with `--hunks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<&'a [TriedPart]>,
    notes: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProvedTestV1<'a> {
    file: &'a str,
    test: &'a str,
    /// The name in the history of tests.
    id: String,
    added: bool,
    word: &'static str,
    seen: &'a str,
    meaning: &'static str,
    /// Whether the word decides.
    counts: bool,
}

impl<'a> ChangeProofV1<'a> {
    /// Returns the document of an answer.
    pub fn of(proof: &'a ChangeProof) -> Self {
        let tests = proof.tests.iter().map(|test| ProvedTestV1 {
            file: &test.file,
            test: &test.name,
            id: test.id(),
            added: test.is_added,
            word: test.word.word(),
            seen: &test.seen,
            meaning: test.word.meaning(),
            counts: test.counts,
        });
        Self {
            schema: "proctor-change-proof-v1",
            state: proof.state.word(),
            exit_code: proof.state.exit().code(),
            summary: proof.summary(),
            base: &proof.base.0,
            base_commit: &proof.base.1,
            after_commit: proof.after.as_deref(),
            commits: proof.commits,
            files: &proof.files,
            tests: tests.collect(),
            parts: proof.parts.as_deref(),
            notes: &proof.notes,
        }
    }
}
