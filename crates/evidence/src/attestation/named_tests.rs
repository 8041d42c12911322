//! The names of a run's tests, as the run's signed statements have them.

use crate::names::statements_name;
use crate::signing::{Envelope, Statement};
use crate::{EvidenceError, PublicKey, SealedFileProblem, SealedFiles, Store, read_key_ring};
use proctor_model::{ProjectId, RunRecord};

/// The names of a run's tests. Empty for a run whose evidence was removed, and for runs of proctor 0.1.0, which named no tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedTests {
    statement: Option<Statement>,
}

impl NamedTests {
    /// Returns whether the check did not succeed, and did not make the run fail either.
    pub fn is_warned(&self, check: &str) -> bool {
        self.statement.as_ref().is_some_and(|statement| statement.warns_of(check))
    }

    /// Returns the tests of a check that passed, that failed without making the check fail, and that made it fail. The check is named by
    /// its id and name, for example `STEP.1 pytest`.
    pub fn of_check(&self, check: &str) -> [Vec<String>; 3] {
        self.statement.as_ref().map(|statement| statement.tests_of(check)).unwrap_or_default()
    }
}

/// Reads the names of a run's tests.
///
/// # Errors
/// When the run's signed statements cannot be read, or are not as they were sealed.
pub fn named_tests(store: &Store, project: &ProjectId, record: &RunRecord) -> Result<NamedTests, EvidenceError> {
    let keys: Vec<PublicKey> = read_key_ring(store)?.keys().iter().map(|key| key.public().clone()).collect();
    let name = statements_name(&record.run_id);
    let opened = SealedFiles::open(store, project, &record.task, &record.run_id, record.manifest_hash);
    let bytes = match opened.and_then(|files| if files.has(&name) { files.read(&name).map(Some) } else { Ok(None) }) {
        Err(EvidenceError::NotAsSealed { problem: SealedFileProblem::Missing, .. }) => None,
        read => read?,
    };
    let first = bytes.as_deref().and_then(|bytes| bytes.split(|byte| *byte == b'\n').next());
    let envelope = first.and_then(Envelope::parse);
    let opened = envelope.and_then(|envelope| keys.iter().find_map(|key| envelope.open(key)));
    Ok(NamedTests { statement: opened.and_then(|signed| Statement::parse(&signed.payload)) })
}
