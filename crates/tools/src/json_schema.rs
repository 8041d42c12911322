//! Checks whether bytes are a JSON document that satisfies a JSON Schema. Nothing is downloaded, and patterns match in
//! linear time.

use jsonschema::PatternOptions;
use serde_json::Value;

use crate::file_validation::shortened;

/// The largest document that is checked, in bytes. Parsed values take about ten times as much memory.
const DOCUMENT_CAP: usize = 8 * 1024 * 1024;
/// An error names at most this many violations.
const NAMED: usize = 5;
/// The text of a violation is cut after this many characters, because some violations quote the whole document.
const WIDTH: usize = 240;
/// The limit for the memory of one compiled pattern of a schema, in bytes.
const PATTERN_CAP: usize = 1024 * 1024;

/// Why a document cannot be checked against a schema, or does not satisfy it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SchemaProblem {
    /// The schema itself is invalid, so no document can be checked with it.
    #[error("the schema is none: {0}")]
    Schema(String),
    #[error("it has more than {DOCUMENT_CAP} bytes, more than is checked against a schema")]
    TooLarge,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it does not satisfy the schema: {0}")]
    Violated(String),
}

/// Checks that a document is JSON of at most `DOCUMENT_CAP` bytes that satisfies a schema.
pub(super) fn check_schema(schema: &Value, document: &[u8]) -> Result<(), SchemaProblem> {
    if document.len() > DOCUMENT_CAP {
        return Err(SchemaProblem::TooLarge);
    }
    let validator = jsonschema::options()
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_CAP))
        // References to other documents are not followed, so nothing is downloaded.
        .offline()
        .build(schema)
        .map_err(|error| SchemaProblem::Schema(bounded(&error.to_string())))?;
    let document: Value =
        serde_json::from_slice(without_mark(document)).map_err(|error| SchemaProblem::NotJson(error.to_string()))?;
    let mut named: Vec<_> = validator
        .iter_errors(&document)
        .take(NAMED + 1)
        .map(|error| {
            let place = error.instance_path().as_str();
            bounded(&format!("{}: {error}", if place.is_empty() { "the document" } else { place }))
        })
        .collect();
    if named.len() > NAMED {
        named.truncate(NAMED);
        named.push("and more".to_owned());
    }
    if named.is_empty() { Ok(()) } else { Err(SchemaProblem::Violated(named.join("; "))) }
}

/// Returns a document without the byte order mark that some programs write in front of it.
pub fn without_mark(document: &[u8]) -> &[u8] {
    document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document)
}

fn bounded(text: &str) -> String {
    shortened(text, WIDTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_told_from_one_that_is_not_what_the_schema_asks_for() {
        let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
        assert_eq!(check_schema(&schema, b"{\"id\": 7}"), Ok(()));
        let problem = |document: &[u8]| check_schema(&schema, document).unwrap_err().to_string();
        assert_eq!(problem(b"{}"), "it does not satisfy the schema: the document: \"id\" is a required property");
        assert_eq!(problem(b"{\"id\": \"7\"}"), "it does not satisfy the schema: /id: \"7\" is not of type \"integer\"");
        assert!(problem(b"{\"id\":").starts_with("it is not JSON: "), "{}", problem(b"{\"id\":"));
        assert!(problem(b"").starts_with("it is not JSON: "));
        assert_eq!(check_schema(&schema, "\u{feff}{\"id\": 7}".as_bytes()), Ok(()), "a byte order mark is passed over");
        assert!(problem("[".repeat(10_000).as_bytes()).starts_with("it is not JSON: recursion limit"));
    }

    #[test]
    fn a_schema_that_is_none_or_lies_elsewhere_is_its_own_problem() {
        for schema in [json!({"type": "integr"}), json!({"pattern": "(a"}), json!({"$ref": "http://example.com/schema.json"})] {
            let problem = check_schema(&schema, b"{}");
            assert!(matches!(problem, Err(SchemaProblem::Schema(_))), "{schema}: {problem:?}");
        }
    }

    #[test]
    fn neither_a_document_nor_a_schema_can_take_unbounded_time_or_space() {
        let slow = json!({"type": "string", "pattern": "^(a+)+$"});
        let document = format!("\"{}b\"", "a".repeat(50_000));
        let problem = check_schema(&slow, document.as_bytes()).unwrap_err().to_string();
        assert!(problem.len() < 400, "{}", problem.len());
        assert!(matches!(check_schema(&json!({"$ref": "#"}), b"{}"), Ok(()) | Err(SchemaProblem::Schema(_))));
        let many = json!({"items": {"type": "string"}});
        let numbers = format!("[{}]", vec!["1"; 1000].join(","));
        assert!(check_schema(&many, numbers.as_bytes()).unwrap_err().to_string().ends_with("; and more"));
        assert_eq!(check_schema(&many, &vec![b' '; DOCUMENT_CAP + 1]), Err(SchemaProblem::TooLarge));
    }
}
