//! Writes reports and records as bytes and reads them back. Reading is strict, so that no unknown key is ignored (G4).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::report::build::REPORT_VERSION;
use crate::report::records::RUN_SCHEMA;
use crate::report::{DEBT_SCHEMA, ExecutionReportV2, RunStartV1, TechnicalDebtV1};
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

// The report's hash (E13): SHA-256 of the report's RFC 8785 canonical JSON, without the keys for the hash and the
// signature, which are not known before.

/// The keys of `authenticity` that the hash does not cover: they are set after it is computed.
const NOT_COVERED: [&str; 2] = ["reportHash", "signature"];

/// Returns the hash of a report, sealed or not.
///
/// RFC 8785 writes numbers as IEEE doubles, so the hash does not distinguish between all whole numbers above 2^53.
pub fn report_hash(report: Value) -> Digest {
    hash_without(report, &NOT_COVERED)
}

/// Returns the debt file with its hash in `authenticity.sha256Hash`, which covers the rest of the file.
pub fn seal_debt_hash(mut debt: TechnicalDebtV1) -> TechnicalDebtV1 {
    let value = serde_json::to_value(&debt).expect("the debt file's types have text keys");
    debt.authenticity.sha256_hash = Some(hash_without(value, &["sha256Hash"]));
    debt
}

fn hash_without(mut covered: Value, keys: &[&str]) -> Digest {
    if let Some(authenticity) = covered.get_mut("authenticity").and_then(Value::as_object_mut) {
        for key in keys {
            authenticity.remove(*key);
        }
    }
    Digest::of(&serde_json_canonicalizer::to_vec(&covered).expect("a JSON value has text keys and finite numbers"))
}

/// Returns the report with its hash in `authenticity.reportHash`.
pub fn seal_hash(mut report: ExecutionReportV2) -> ExecutionReportV2 {
    let value = serde_json::to_value(&report).expect("the report's types have text keys");
    report.authenticity.report_hash = Some(report_hash(value));
    report
}

#[cfg(test)]
mod hash_tests {
    use serde_json::{Value, json};

    use super::report_hash;
    use proctor_model::Digest;

    #[test]
    fn the_canonical_form_is_that_of_rfc_8785() {
        // Example from RFC 8785, 3.2.2 and 3.2.3: numbers, escapes, and the order of keys by UTF-16 code units.
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let canonical = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        let value: Value = serde_json::from_str(input).expect("the RFC's own example");
        assert_eq!(report_hash(value), Digest::of(canonical.as_bytes()));
        let order = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        let canonical = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(report_hash(order), Digest::of(canonical.as_bytes()));
    }

    #[test]
    fn only_the_hash_and_the_signature_are_left_out() {
        let bare = json!({"a": 1, "authenticity": {"executionId": "x"}});
        let sealed = json!({"a": 1, "authenticity": {"executionId": "x", "reportHash": "00", "signature": "s"}});
        assert_eq!(report_hash(bare.clone()), report_hash(sealed.clone()));
        let signed_otherwise = json!({"a": 1, "authenticity": {"executionId": "x", "signatureAlgorithm": "none"}});
        assert_ne!(report_hash(bare.clone()), report_hash(signed_otherwise));
        assert_ne!(report_hash(bare), report_hash(json!({"a": 1, "reportHash": "00", "authenticity": {"executionId": "x"}})));
    }
}
