//! Writes reports and records as bytes and reads them back. Reading is strict, so that no unknown key is ignored (G4).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::report::build::REPORT_VERSION;
use crate::report::records::RUN_SCHEMA;
use crate::report::{DEBT_SCHEMA, ExecutionReportV2, RunStartV1, TechnicalDebtV1, report_hash, seal_debt_hash};
use proctor_model::{Digest, shown_json};

/// The error for bytes that are not the expected document.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The bytes are not JSON, or have the wrong structure.
    #[error("failed to read the {document}; if nobody edited it, it was written by another version of proctor")]
    Shape {
        /// The kind of document, for example `debt file`.
        document: &'static str,
        /// The parser's message, with line and column.
        source: serde_json::Error,
    },
    /// The document has a version that this program does not know.
    #[error("the {document} is of version `{found}`, and this proctor reads `{known}`; read it with the version that wrote it")]
    Version {
        /// The kind of document, for example `debt file`.
        document: &'static str,
        /// The version that the document names.
        found: String,
        /// The only version that this program reads.
        known: &'static str,
    },
    /// The document has a key or a value that proctor would not have written there.
    #[error("the {document} has something at `{path}` that proctor does not write there; it was edited or is damaged")]
    Foreign {
        /// The kind of document, for example `debt file`.
        document: &'static str,
        /// The position of the unexpected key or value, for example `stepExecution.results[2].classification.note`.
        path: String,
    },
}

/// A kind of document, the key under which it names its version, and the version that is read.
struct Kind {
    document: &'static str,
    version_key: &'static str,
    known: &'static str,
}

const REPORT: Kind = Kind { document: "execution report", version_key: "reportVersion", known: REPORT_VERSION };

/// Returns a report or record in its stored form: indented JSON with a newline at the end. Equal values give equal
/// bytes. Hidden characters stand as JSON's escapes, so that the file can be shown at a terminal.
pub fn to_bytes<Document: Serialize>(document: &Document) -> Vec<u8> {
    let text = serde_json::to_string_pretty(document).expect("the wire types have text keys");
    format!("{}\n", shown_json(&text)).into_bytes()
}

/// Reads an execution report. Its hash is not checked: see [`parse_with_hash`].
pub fn parse(bytes: &[u8]) -> Result<ExecutionReportV2, ReportError> {
    Ok(read(bytes, &REPORT)?.0)
}

/// Reads an execution report and computes its hash. The caller compares it with the hash that the report claims.
pub fn parse_with_hash(bytes: &[u8]) -> Result<(ExecutionReportV2, Digest), ReportError> {
    let (report, value) = read(bytes, &REPORT)?;
    Ok((report, report_hash(value)))
}

/// Reads `run.json`, the record of a run that began. An unknown key or another version is an error.
pub fn parse_run_start(bytes: &[u8]) -> Result<RunStartV1, ReportError> {
    let kind = Kind { document: "start record of the run", version_key: "schema", known: RUN_SCHEMA };
    Ok(read(bytes, &kind)?.0)
}

/// Reads a debt file. It is an error if the hash in the file does not match the file's content.
pub fn parse_debt(bytes: &[u8]) -> Result<TechnicalDebtV1, ReportError> {
    let kind = Kind { document: "debt file", version_key: "schema", known: DEBT_SCHEMA };
    let (debt, _): (TechnicalDebtV1, Value) = read(bytes, &kind)?;
    let is_whole = seal_debt_hash(debt.clone()).authenticity == debt.authenticity;
    let foreign = || ReportError::Foreign { document: kind.document, path: "authenticity.sha256Hash".to_owned() };
    if is_whole { Ok(debt) } else { Err(foreign()) }
}

/// Reads a document strictly, and returns its JSON value too.
fn read<Document: Serialize + DeserializeOwned>(bytes: &[u8], kind: &Kind) -> Result<(Document, Value), ReportError> {
    let document = kind.document;
    let value: Value = serde_json::from_slice(bytes).map_err(|source| ReportError::Shape { document, source })?;
    if let Some(found) = value.get(kind.version_key).and_then(Value::as_str)
        && found != kind.known
    {
        return Err(ReportError::Version { document, found: found.to_owned(), known: kind.known });
    }
    // The bytes are parsed a second time, because the value cannot show a key that occurs twice.
    let read: Document = serde_json::from_slice(bytes).map_err(|source| ReportError::Shape { document, source })?;
    let known = serde_json::to_value(&read).expect("the wire types have text keys");
    // `first_difference` builds a path for every value, so it runs only if there is a difference.
    let difference = if value == known { None } else { first_difference(&value, &known, String::new()) };
    match difference {
        None => Ok((read, value)),
        Some(path) => Err(ReportError::Foreign { document, path }),
    }
}

/// Returns where two values first differ. Types of the model ignore unknown keys, so this comparison is needed to find
/// them.
fn first_difference(found: &Value, known: &Value, path: String) -> Option<String> {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => {
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            let keys = found.keys().chain(known.keys().filter(|key| !found.contains_key(*key)));
            keys.into_iter().find_map(|key| match (found.get(key), known.get(key)) {
                (Some(found), Some(known)) => first_difference(found, known, below(key)),
                (Some(_), None) | (None, Some(_)) | (None, None) => Some(below(key)),
            })
        }
        (Value::Array(found), Value::Array(known)) if found.len() == known.len() => {
            let pairs = found.iter().zip(known).enumerate();
            pairs.into_iter().find_map(|(position, (found, known))| first_difference(found, known, format!("{path}[{position}]")))
        }
        (found, known) => (found != known).then_some(path),
    }
}
