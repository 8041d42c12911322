//! The record of an answer of `proctor prove`.

use proctor_wire::wire;

use crate::{CommandExit, Digest, Timestamp, TreeDigest};

/// Which tests of a change failed without its source: one content was tried with the change, one without. Both are named by a digest.
#[wire(schema, sparse)]
pub struct ProofRecord {
    /// The name of the commit where the change begins.
    pub base: String,
    /// The name of the commit with the change; `None` for a working tree.
    pub after: Option<String>,
    /// The digest of the tree with the change.
    pub tree_digest: TreeDigest,
    /// SHA-256 over the digest of the tree with the change, and the path, the kind and the text of each file that the content without its
    /// source has otherwise.
    pub without_source: Digest,
    pub plan_digest: Digest,
    /// The word of the answer, such as `PROVED`.
    pub state: String,
    /// The exit code of the answer: 0 if the tests prove the change, or the change has no source.
    pub exit: CommandExit,
    /// The reason of the state, in one sentence.
    pub summary: String,
    /// The tests that the change added or changed, at most [`Self::MOST_TESTS`].
    pub tests: Vec<ProofOfTest>,
    /// How many such tests are not listed.
    pub more_tests: u32,
    /// When the tests had been run; `None` in lines of earlier versions of proctor, which did not record the conditions.
    pub made: Option<Timestamp>,
    /// The digest of the tools and installed packages that decide how tests run.
    pub environment_digest: Option<Digest>,
    /// The open channels by which tests read files that no digest names, as in [`crate::RunConditions::unnamed`].
    pub unnamed: Vec<String>,
}

/// How a test of a change ended with the change and without it.
#[wire(schema)]
pub struct ProofOfTest {
    /// The test's file and name.
    pub test: String,
    /// The result in words, such as `passes either way`.
    pub word: String,
    /// Whether the change added it.
    pub added: bool,
}

impl ProofRecord {
    /// The word of a test that passes with the change and without it.
    pub const PASSES_EITHER_WAY: &'static str = "passes either way";
    /// The most tests that are listed.
    pub const MOST_TESTS: usize = 500;

    /// Returns how many of the added tests pass without the change, and how many were added; `None` if tests are not listed.
    pub fn passing_without(&self) -> Option<(usize, usize)> {
        let added = || self.tests.iter().filter(|test| test.added);
        let passing = added().filter(|test| test.word == Self::PASSES_EITHER_WAY).count();
        (self.more_tests == 0).then(|| (passing, added().count()))
    }

    /// Returns whether the tests prove the change, or nothing needs a test.
    pub fn is_proved(&self) -> bool {
        self.exit == CommandExit::Proceed
    }
}
