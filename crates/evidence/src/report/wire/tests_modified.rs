//! The report's section about protected files, and how the number of tests changed (S7).

use proctor_wire::wire;

use proctor_model::{Digest, ProtectedChange, RunId};

/// The comparison of the protected files in the tested tree with the approved ones.
#[wire(schema, sparse)]
pub struct TestsModifiedV2 {
    /// Whether any protected file differs from the approved one.
    pub modified: bool,
    /// The globs of the protected files.
    #[kept]
    pub protect: Vec<String>,
    /// The digest of the protected files as they were approved: SHA-256 of the lines `<digest>  <path>`, sorted by
    /// path.
    pub approved: Digest,
    /// The digest of the protected files in the tested tree, computed in the same way.
    pub now: Digest,
    /// The number of protected files in the tested tree.
    pub files: u64,
    /// The first 200 files that differ, sorted by path.
    pub changes: Vec<ProtectedChange>,
    /// How many protected files differ, including those that `changes` does not list.
    pub changed_count: u64,
    /// The number of tests in the task's last PASSED run and in this run; absent if nothing differs, or there was no
    /// such run.
    pub tests: Option<TestCountsChangeV2>,
}

/// How many tests two runs had, counted over the checks that both carried out.
#[wire(schema)]
pub struct TestCountsChangeV2 {
    /// The last run of the task with the verdict PASSED.
    pub since: RunId,
    /// The counts of tests in the run `since`.
    pub before: TestCountsV2,
    /// The counts of tests in this run.
    pub now: TestCountsV2,
}

/// How many tests a run had, by outcome.
#[wire(Copy, Default, schema)]
pub struct TestCountsV2 {
    pub total: u64,
    pub skipped: u64,
    /// Tests that failed as expected (xfail).
    pub expected_failures: u64,
}
