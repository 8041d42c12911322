//! The record of an answer of `proctor prove`.

use proctor_wire::wire;

use crate::{CommandExit, Digest, Timestamp, ToolchainRecord, TreeDigest};

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
    /// The toolchains and installed packages that the tests could see, as in [`crate::RunConditions::toolchains`].
    pub toolchains: Vec<ToolchainRecord>,
    /// When the look at them began; `None` in lines of earlier versions of proctor, which did not look.
    pub toolchains_looked: Option<Timestamp>,
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
    /// The word of a test that proves the change.
    pub const PROVES: &'static str = "proves it";
    /// The words of tests that failed with the change.
    pub const FAILED_WITH: [&'static str; 3] = ["newly fails", "fails before and after", "flaky"];
    /// The most tests that are listed.
    pub const MOST_TESTS: usize = 500;

    /// Returns how many of the added tests pass without the change, and how many were added; `None` if tests are not listed.
    pub fn passing_without(&self) -> Option<(usize, usize)> {
        let added = || self.tests.iter().filter(|test| test.added);
        let passing = added().filter(|test| test.word == Self::PASSES_EITHER_WAY).count();
        (self.more_tests == 0).then(|| (passing, added().count()))
    }

    /// Returns whether two answers are about the same contents, by the same rules and in the same environment.
    pub fn is_about_contents_of(&self, other: &Self) -> bool {
        let key = |record: &Self| (record.tree_digest, record.without_source, record.plan_digest, record.environment_digest);
        key(self) == key(other)
    }

    /// Returns a test of which this answer says otherwise than one that says that the tests prove the change.
    pub fn says_otherwise(&self, proved: &Self) -> Option<&ProofOfTest> {
        let proves = |name: &str| proved.tests.iter().any(|test| test.test == name && test.word == Self::PROVES);
        let is_other = |test: &&ProofOfTest| match test.word.as_str() {
            Self::PASSES_EITHER_WAY => proves(&test.test),
            word => Self::FAILED_WITH.contains(&word),
        };
        self.tests.iter().find(is_other)
    }

    /// Returns whether the tests prove the change, or nothing needs a test.
    pub fn is_proved(&self) -> bool {
        self.exit == CommandExit::Proceed
    }
}
