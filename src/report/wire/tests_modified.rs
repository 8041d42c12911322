//! The protected files beside the verdict, and what became of the tests since (S7).

use serde::{Deserialize, Serialize};

use crate::model::{Digest, ProtectedChange, RunId};

/// How the protected files of the tree that was tested stand to what was approved of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestsModifiedV2 {
    /// Whether any of them is not what was approved.
    pub modified: bool,
    /// The globs that name them.
    pub protect: Vec<String>,
    /// The digest of all of them as they were approved: SHA-256 of the lines `<digest>  <path>`, sorted by path.
    pub approved: Digest,
    /// The digest of all of them as they were tested.
    pub now: Digest,
    /// How many they are now.
    pub files: u64,
    /// The first 200 that are not what was approved, sorted by path.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<ProtectedChange>,
    /// How many are not what was approved.
    pub changed_count: u64,
    /// How the tests were counted in the task's last green run and now; absent where nothing is modified, or there was no such run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tests: Option<TestCountsChangeV2>,
}

/// How the tests of the checks that both runs carried out were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCountsChangeV2 {
    /// The last green run.
    pub since: RunId,
    /// In it.
    pub before: TestCountsV2,
    /// In this run.
    pub now: TestCountsV2,
}

/// Tests, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestCountsV2 {
    /// All of them.
    pub total: u64,
    /// Those that were skipped.
    pub skipped: u64,
    /// Those that failed and were expected to (xfail).
    pub expected_failures: u64,
}
