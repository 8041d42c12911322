//! The report's hash (E13): SHA-256 of the report's RFC 8785 canonical JSON, without the keys for the hash and the
//! signature, which are not known before.

use serde_json::Value;

use crate::report::{ExecutionReportV2, TechnicalDebtV1};
use proctor_model::Digest;

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
mod tests {
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
