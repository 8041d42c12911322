//! The documents about past runs and tests. `proctor log`, `history`, `flaky`, `slow` and `diff` print them with `--json`, and routes of
//! the control socket answer with them.
//!
//! `schema` names the form. A form gets a new name if a key changes its meaning or goes; new keys may come.

use proctor_wire::wire;

use proctor_model::{
    FlakyTest, LoggedRun, MatrixTest, NamedTest, ProjectId, ProofRecord, RunComparison, RunTrends, SlowTests, TestPast, Timestamp,
};

/// The runs of a project, newest first: `proctor log --json`, `GET /v1/projects/{id}/runs`.
#[wire(inexact)]
pub struct RunListV1 {
    /// Always `proctor-log-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub runs: Vec<LoggedRun>,
}

/// One run and its files: `GET /v1/projects/{id}/runs/{run}`.
#[wire(inexact)]
pub struct RunDetailsV1 {
    /// Always `proctor-run-details-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub run: LoggedRun,
    /// The names of the files that the run was sealed with; empty if its evidence is not there.
    pub files: Vec<String>,
}

/// The known tests of a project: `GET /v1/projects/{id}/tests`.
#[wire]
pub struct TestListV1 {
    /// Always `proctor-tests-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub tests: Vec<NamedTest>,
}

/// The past of a test: `proctor history TEST --json`, `GET /v1/projects/{id}/tests/{test}`.
#[wire]
pub struct TestPastV1 {
    /// Always `proctor-history-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub past: TestPast,
}

/// The tests that passed and failed on equal trees: `proctor history flaky --json`.
#[wire]
pub struct FlakyTestsV1 {
    /// Always `proctor-flaky-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub flaky: Vec<FlakyTest>,
}

/// The tests that became slower, and the slowest: `proctor history slow --json`.
#[wire]
pub struct SlowTestsV1 {
    /// Always `proctor-slow-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub slow: SlowTests,
}

/// How two runs differ: `proctor history diff --json`, `GET /v1/projects/{id}/compare`.
#[wire]
pub struct ComparisonV1 {
    /// Always `proctor-diff-v1`.
    pub schema: String,
    pub project: ProjectId,
    pub comparison: RunComparison,
}

/// How the tests of a task ended in its last runs: `GET /v1/projects/{id}/matrix`.
#[wire(inexact)]
pub struct MatrixV1 {
    /// Always `proctor-matrix-v1`.
    pub schema: String,
    pub project: ProjectId,
    /// Newest first. Their `failedTests` are empty: the rows say more.
    #[serde(rename = "runs")]
    pub columns: Vec<LoggedRun>,
    /// Tests that passed and failed on equal trees first, then those that fail now, then by id.
    #[serde(rename = "tests")]
    pub rows: Vec<MatrixTest>,
}

/// The durations of the last runs: `GET /v1/projects/{id}/trends`.
#[wire(open)]
pub struct TrendsV1 {
    /// Always `proctor-trends-v1`.
    pub schema: String,
    pub project: ProjectId,
    #[serde(flatten)]
    pub trends: RunTrends,
}

/// What `proctor prove` answered last: `GET /v1/projects/{id}/proof`.
#[wire(open)]
pub struct LastProofV1 {
    /// Always `proctor-last-proof-v1`.
    pub schema: String,
    pub project: ProjectId,
    /// When the answer was stored; null without an answer.
    pub stored: Option<Timestamp>,
    pub answer: Option<ProofRecord>,
}

impl LastProofV1 {
    pub fn new(project: ProjectId, found: Option<(Timestamp, ProofRecord)>) -> Self {
        let (stored, answer) = found.unzip();
        Self { schema: "proctor-last-proof-v1".to_owned(), project, stored, answer }
    }
}

impl RunListV1 {
    pub fn new(project: ProjectId, runs: Vec<LoggedRun>) -> Self {
        Self { schema: "proctor-log-v1".to_owned(), project, runs }
    }
}

impl RunDetailsV1 {
    pub fn new(project: ProjectId, run: LoggedRun, files: Vec<String>) -> Self {
        Self { schema: "proctor-run-details-v1".to_owned(), project, run, files }
    }
}

impl TestListV1 {
    pub fn new(project: ProjectId, tests: Vec<NamedTest>) -> Self {
        Self { schema: "proctor-tests-v1".to_owned(), project, tests }
    }
}

impl TestPastV1 {
    pub fn new(project: ProjectId, past: TestPast) -> Self {
        Self { schema: "proctor-history-v1".to_owned(), project, past }
    }
}

impl FlakyTestsV1 {
    pub fn new(project: ProjectId, flaky: Vec<FlakyTest>) -> Self {
        Self { schema: "proctor-flaky-v1".to_owned(), project, flaky }
    }
}

impl SlowTestsV1 {
    pub fn new(project: ProjectId, slow: SlowTests) -> Self {
        Self { schema: "proctor-slow-v1".to_owned(), project, slow }
    }
}

impl ComparisonV1 {
    pub fn new(project: ProjectId, comparison: RunComparison) -> Self {
        Self { schema: "proctor-diff-v1".to_owned(), project, comparison }
    }
}

impl MatrixV1 {
    pub fn new(project: ProjectId, columns: Vec<LoggedRun>, rows: Vec<MatrixTest>) -> Self {
        Self { schema: "proctor-matrix-v1".to_owned(), project, columns, rows }
    }
}

impl TrendsV1 {
    pub fn new(project: ProjectId, trends: RunTrends) -> Self {
        Self { schema: "proctor-trends-v1".to_owned(), project, trends }
    }
}
