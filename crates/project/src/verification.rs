//! Verifies the evidence of a run as `proctor verify RUN` does, and makes the document that says what was found.

use std::path::Path;

use nix::unistd::{AccessFlags, access};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::error::ProjectError;
use crate::{approval_counts, approval_faults};
use proctor_evidence::{
    EvidenceFault, FaultKind, Store, UnfinishedWork, VerificationResult, VerificationScope, VerifiedKeys, known_runs,
    ledger_file, line_from_the_future, sort_by_cause, verify_keys, verify_project, verify_steadily,
};
use proctor_index::{IndexDifference, IndexError, IndexReader, RowDifference};
use proctor_model::{ProjectId, RunId};
use proctor_sandbox::process::clock;

/// How many threads hash the files of one run.
const THREADS: usize = 1;

/// Verifies the evidence of a run, named by its id or number: its files, its signatures and its lines in the ledger. Returns what was
/// found, and how many lines of the ledger were read; `None` if there is no such run.
///
/// # Errors
/// When the store cannot be read. What is wrong with the evidence is in the result.
pub fn verify_run(store: &Store, project: &ProjectId, wanted: &str) -> Result<Option<(VerificationResult, u64)>, ProjectError> {
    let known = known_runs(store, project)?;
    let is_wanted = |run_id: &RunId| run_id.as_str() == wanted || wanted.parse() == Ok(run_id.number());
    let Some((run_id, _)) = known.iter().find(|(run_id, _)| is_wanted(run_id)) else { return Ok(None) };
    let verify = || verify_run_once(store, project, run_id);
    let (mut found, lines) = verify_steadily(store.root(), verify, |(found, _)| &mut found.faults)?;
    sort_by_cause(&mut found.faults);
    Ok(Some((found, lines)))
}

fn verify_run_once(store: &Store, project: &ProjectId, run_id: &RunId) -> Result<(VerificationResult, u64), ProjectError> {
    let VerifiedKeys { ring: keys, faults, unfinished } = verify_keys(store)?;
    // The index is opened before the ledger is read, so every line that it has applied must be in the ledger.
    let index = IndexReader::open(&store.index_path(), approval_counts);
    let scope = VerificationScope::Run(run_id.clone());
    let mut found = verify_project(store, project, &keys, &scope, THREADS)?;
    found.faults.extend(faults);
    found.unfinished.extend(unfinished);
    let ledger = ledger_file(store, project);
    found.faults.extend(line_from_the_future(&ledger, &found.lines, clock::now()));
    found.faults.extend(approval_faults(project, &ledger, &found.lines));
    match index.map(|index| index.map(|index| index.compare(project, &found.lines))) {
        Ok(Some(Ok(differences))) => found.faults.extend(differences.iter().map(fault_from_difference)),
        Ok(None) => {}
        // Even for reading, SQLite has to write beside the index. The ledgers say the same.
        Err(_) if access(store.root(), AccessFlags::W_OK).is_err() => {}
        Ok(Some(Err(error))) | Err(error) => found.faults.push(fault_from_index_error(&error)),
    }
    let lines = found.lines.len() as u64;
    found.lines.clear();
    Ok((found, lines))
}

/// Reports a difference between the index and the ledgers.
pub fn fault_from_difference(difference: &IndexDifference) -> EvidenceFault {
    const INDEX: &str = "state.db";
    match difference {
        IndexDifference::Ahead { knows } => {
            EvidenceFault::new(FaultKind::IndexAhead, INDEX, format!("it knows line {}", knows.0))
        }
        IndexDifference::Row { table, kind, row } => {
            let why = match kind {
                RowDifference::Unfounded => "does not follow from the ledger",
                RowDifference::Missing => "follows from the ledger and is not there",
            };
            EvidenceFault::new(FaultKind::IndexDiffers, INDEX, format!("table `{table}`: {row}: {why}"))
        }
    }
}

/// Reports that the index cannot be read.
pub fn fault_from_index_error(error: &IndexError) -> EvidenceFault {
    EvidenceFault::new(FaultKind::IndexDamaged, "state.db", error.to_string())
}

/// What was verified and found: `proctor verify --json`, `GET /v1/projects/{id}/runs/{run}/verification`.
#[derive(Debug)]
pub struct VerificationDocument<'a, H> {
    /// The projects, and how many lines of their ledgers were read.
    pub about: (&'a [ProjectId], u64),
    /// The sum over all projects.
    pub found: &'a VerificationResult,
    /// The anchors that hold.
    pub anchors: &'a [H],
}

impl<H: Serialize> Serialize for VerificationDocument<'_, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { about: (projects, lines), found: sum, anchors: held } = self;
        let faults = sum.faults.iter().map(|EvidenceFault { file, kind, detail }| FaultV1 {
            file,
            detail,
            words: [kind.word(), kind.what(), kind.next()],
        });
        let unfinished = sum.unfinished.iter().map(|UnfinishedWork { file, kind, detail }| FaultV1 {
            file,
            detail,
            words: [kind.word(), kind.what(), kind.next()],
        });
        let mut fields = serializer.serialize_struct("VerificationV1", 14)?;
        fields.serialize_field("schema", "proctor-verify-v1")?;
        fields.serialize_field("verified", &sum.faults.is_empty())?;
        fields.serialize_field("projects", projects)?;
        fields.serialize_field("runs", &sum.runs)?;
        fields.serialize_field("files", &sum.files)?;
        fields.serialize_field("bytes", &sum.bytes)?;
        fields.serialize_field("lines", lines)?;
        fields.serialize_field("unsigned", &sum.unsigned)?;
        fields.serialize_field("archived", &sum.archived)?;
        fields.serialize_field("pruned", &sum.pruned)?;
        fields.serialize_field("purged", &sum.purged)?;
        fields.serialize_field("anchors", held)?;
        fields.serialize_field("unfinished", &unfinished.collect::<Vec<_>>())?;
        fields.serialize_field("faults", &faults.collect::<Vec<_>>())?;
        fields.end()
    }
}

/// A fault, or work that a dead process left unfinished, as an object of the document.
#[derive(Debug)]
struct FaultV1<'a> {
    file: &'a Path,
    detail: &'a str,
    /// The word for the fault's kind, a text that says what is wrong, and a text that says what to do next.
    words: [&'static str; 3],
}

impl Serialize for FaultV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { file, detail, words: [kind, what, next] } = self;
        let mut fields = serializer.serialize_struct("FaultV1", 5)?;
        fields.serialize_field("kind", kind)?;
        // File names need not be UTF-8, but JSON must be.
        fields.serialize_field("file", &file.to_string_lossy())?;
        fields.serialize_field("what", what)?;
        fields.serialize_field("detail", detail)?;
        fields.serialize_field("next", next)?;
        fields.end()
    }
}
