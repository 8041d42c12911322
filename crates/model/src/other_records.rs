//! What the ledger records beside runs: task lists, governance workflows, claims of agents, answers of `proctor prove`, and signing keys.

use std::collections::BTreeMap;

use crate::{CommandExit, Digest, ProjectId, RunId, Sequence, TaskId, Timestamp, ToolchainRecord, TreeDigest};
use proctor_wire::wire;

/// The digest of the lines that proctor wrote between its markers in a task list. If the lines have another digest
/// later, someone else changed them.
#[wire(schema)]
pub struct TaskListRecord {
    /// The file's path, relative to the project.
    pub path: String,
    /// SHA-256 of the lines of proctor's two blocks: the tasks and the debt items.
    pub digest: Digest,
}

/// A change inside proctor's blocks of a task list that proctor did not make and has reverted.
#[wire(schema)]
pub struct ViolationRecord {
    /// The file's path, relative to the project.
    pub path: String,
    pub violation: ViolationKind,
    /// The changed task or debt item. If the change concerns no single item, this is the name of the block or of the
    /// file.
    pub subject: String,
    /// The text that was found, cut to [`ViolationRecord::MOST_CHARACTERS`]; empty if text had been removed.
    pub found: String,
    /// The text that proctor put back, cut to [`ViolationRecord::MOST_CHARACTERS`]; empty if proctor only removed text.
    pub restored: String,
}

/// The kinds of changes to a task list that proctor reverts.
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema)]
pub enum ViolationKind {
    /// A box was ticked without a verdict that allows it.
    UnauthorizedCompletion,
    /// The tick of a complete task was removed.
    CompletionRemoved,
    /// A task was removed from proctor's block of tasks.
    MissingSprintTask,
    /// The text of a task was changed, or a task was invented.
    TaskContentMismatch,
    /// A debt item was removed from proctor's block of debt items.
    MissingDebtDocumentation,
    /// The text of a debt item was changed, or a debt item was invented.
    ClassificationModified,
    /// The lines that mark a block were removed.
    MarkersRemoved,
    /// The file of the task list is gone, though proctor wrote it before.
    TaskListRemoved,
}

impl ViolationRecord {
    /// The most characters of `found` and of `restored` that are stored.
    pub const MOST_CHARACTERS: usize = 400;

    /// Returns one sentence that tells people what was changed and that proctor reverted it.
    pub fn sentence(&self) -> String {
        let Self { path, subject, .. } = self;
        let done = match self.violation {
            ViolationKind::UnauthorizedCompletion => format!("`{subject}` was ticked by hand"),
            ViolationKind::CompletionRemoved => format!("the tick of `{subject}` was taken away"),
            ViolationKind::MissingSprintTask => format!("task `{subject}` was taken out"),
            ViolationKind::TaskContentMismatch => format!("what it says of `{subject}` was changed"),
            ViolationKind::MissingDebtDocumentation => format!("debt `{subject}` was taken out"),
            ViolationKind::ClassificationModified => format!("what it says of debt `{subject}` was changed"),
            ViolationKind::MarkersRemoved => format!("the lines that mark the block `{subject}` were taken out"),
            ViolationKind::TaskListRemoved => "the file was taken away".to_owned(),
        };
        format!("{path}: {done}; it was put back as the last verdict has it")
    }
}

/// Files that a workflow stored in its trail, the directory with its decisions. A record may appear twice: if a process
/// dies after writing it, the next process writes it again.
#[wire(schema, sparse)]
pub struct GovernanceRecord {
    pub workflow: String,
    pub slug: String,
    /// The state in which the workflow continues: `N0` to `N6`.
    pub node: String,
    /// The digest of each stored file, by the file's name in the trail.
    #[kept]
    pub files: BTreeMap<String, Digest>,
    /// The number of the issue; `None` until the issue is filed.
    pub issue: Option<u64>,
}

/// An agent said that the tests pass, and the verdict for the same tree says that they fail. Of the agent's message only the words of the
/// claim are kept.
#[wire(schema)]
pub struct ClaimRecord {
    /// The agent's word on the command line, such as `codex`.
    pub agent: String,
    /// The words of the claim, at most 120 characters.
    pub phrase: String,
    /// SHA-256 of the whole message.
    pub message: Digest,
    pub task: TaskId,
    /// The run whose verdict contradicts the claim.
    pub run_id: RunId,
    /// The digest of the tree that the run tested and that the agent left.
    pub tree_digest: TreeDigest,
}

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

/// The end of a ledger when a key took over. Lines up to this end were signed by the key before, or not at all.
#[wire(Copy, schema)]
pub struct LedgerPosition {
    /// The sequence number of the last line; 0 if the ledger had no line.
    pub sequence: Sequence,
    /// The hash of the last line; if the ledger had no line, the hash of no bytes.
    pub hash: Digest,
}

/// The signed part of a key's record. Its canonical form is compact JSON with the fields in this order.
#[wire(schema)]
pub struct KeyStatement {
    /// The first key has 1, and no number is left out.
    pub number: u32,
    /// The SHA-256 of the public key as securesystemslib writes it.
    pub key_id: Digest,
    /// The public key as a line in OpenSSH's form.
    pub public_key: String,
    /// When the key was made.
    pub made: Timestamp,
    /// The id of the key before; `None` for the first key.
    pub previous: Option<Digest>,
    /// The end of every ledger when the key took over, by the project: the SHA-256 of its id, so that an export does not name
    /// other projects (records of the version `proctor-key-v1` have the id itself).
    pub ledgers: BTreeMap<String, LedgerPosition>,
}

/// The record of a key. A ledger line of kind `keyReplaced` has it without the checkpoints of other projects.
#[wire(schema)]
pub struct KeyRecord {
    /// The version of the format: `proctor-key-v1` or `proctor-key-v2`.
    pub schema: String,
    /// What the signatures sign.
    pub key: KeyStatement,
    /// The key's own signature of the statement, in base64.
    pub signature: String,
    /// The signature of the statement by the key before, in base64. `None` for the first key, and if the key before was lost.
    pub endorsement: Option<String>,
    /// For each project the last checkpoint that the key before signed (C2SP tlog-checkpoint). If that key was lost, the key itself
    /// signed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<ProjectId, String>,
}

impl KeyRecord {
    /// Returns the end of a project's ledger when the key took over; `None` if the project had no ledger then, or a damaged one.
    pub fn took_over_after(&self, project: &ProjectId) -> Option<LedgerPosition> {
        let ledgers = &self.key.ledgers;
        ledgers.get(&ledger_name(project)).or_else(|| ledgers.get(project.as_str())).copied()
    }

    /// Returns the record without the checkpoints of other projects, for readers that are told of this project alone.
    #[must_use]
    pub fn for_project(&self, project: &ProjectId) -> Self {
        let mut record = self.clone();
        record.checkpoints.retain(|of, _| of == project);
        record
    }
}

/// Returns the name of a project in [`KeyStatement::ledgers`]: the SHA-256 of the project's id.
pub fn ledger_name(project: &ProjectId) -> String {
    Digest::of(project.as_str().as_bytes()).hex()
}
