//! Tests each row of the table of token shapes with its example, and the properties that hold for any text.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use super::{LOOKED, may_hold, redact_cut_end, redact_cut_start, redact_document, redact_text, redact_to_bytes};
use crate::report::redact_shapes::SHAPES;
use crate::report::samples::mixed_run;
use crate::report::tests::report_with_debt;
use crate::report::{ExecutionReportV2, seal_hash, to_bytes};

fn example(position: usize) -> String {
    SHAPES[position].example.concat()
}

/// Returns the table's example of a GitHub token; it stands for tokens of all shapes.
fn token() -> String {
    let position = SHAPES.iter().position(|shape| shape.name == "github token");
    example(position.expect("it is in the table"))
}

#[test]
fn each_shape_is_found_wherever_it_stands_and_nothing_of_it_is_left() {
    for (position, shape) in SHAPES.iter().enumerate() {
        let secret = example(position);
        for text in [secret.clone(), format!("E   {secret}\n"), format!("\"{secret}\", 1"), format!("key={secret};")] {
            let redacted = redact_text(&text);
            assert!(redacted.contains(&format!("[redacted: {}]", shape.name)), "{}: {redacted}", shape.name);
            assert!(!redacted.contains(&secret) && !redacted.contains("abcdefghijklmnop"), "{redacted}");
        }
        assert!(shape.starts.iter().any(|start| secret.contains(start)), "{}", shape.name);
    }
}

/// The quick first pass counts how many characters follow the beginning of a token. It must not want more of them than the
/// shortest token of the shape has.
#[test]
fn the_quick_pass_misses_no_token_however_short() {
    let mut runner = TestRunner::deterministic();
    for looked in LOOKED.iter().filter(|looked| looked.shape.least > 0) {
        let pattern = looked.shape.pattern.replace(r"(?-u:\b)", "");
        let tokens = string_regex(&pattern).expect("a pattern without anchors");
        for _ in 0..64 {
            let token = tokens.new_tree(&mut runner).expect("a token").current();
            assert!(may_hold(looked, token.as_bytes()), "{}: {token}", looked.shape.name);
        }
    }
}

#[test]
fn words_that_only_begin_like_tokens_compile_no_expression() {
    for text in ["npm_config_cache", "sk-learn", "ghp_short", "the variables npm_config_cache, npm_config_registry"] {
        assert!(!LOOKED.iter().any(|looked| may_hold(looked, text.as_bytes())), "{text}");
    }
}

#[test]
fn what_is_no_token_stays() {
    let digest = proctor_model::Digest::of(b"x").hex();
    for text in [
        digest.as_str(),
        "exec-20260304T092959.120Z-000041",
        "https://example.org/a:b@c",
        "see http://localhost:8080/ and https://user@example.org/",
        "ghp_short and AKIA and sk-learn and eyJ.eyJ.",
        "tests/test_a.py::test_b[ghp] FAILED",
        "the bearer of good news is here",
        "task-skeleton-of-a-very-long-name-that-goes-on-and-on-and-on",
    ] {
        assert_eq!(redact_text(text), text);
    }
}

#[test]
fn the_secret_alone_goes_and_what_it_is_known_by_stays() {
    let address = ["postgres://app:", "hush", "@db/quotes"].concat();
    assert_eq!(redact_text(&address), "postgres://app:[redacted: password in an address]@db/quotes");
    let key = ["-----BEGIN RSA ", "PRIVATE KEY-----\nMIIE\nhalf of it was cut"].concat();
    assert_eq!(redact_text(&key), "[redacted: private key]", "one without an end goes to the end");
}

#[test]
fn what_a_cut_leaves_of_a_token_goes_too() {
    let token = token();
    let half = &token[..20];
    assert_eq!(redact_cut_end(format!("key: {half}")), "key: [redacted: a word that was cut]");
    assert_eq!(redact_cut_end("key: value".to_owned()), "key: value");
    assert_eq!(redact_cut_start(format!("{} rest", &token[20..])), "[redacted: a word that was cut] rest");
    assert_eq!(redact_cut_start("rest of it".to_owned()), "rest of it");
}

#[test]
fn a_report_without_tokens_is_byte_for_byte_what_it_was() {
    let report = seal_hash(report_with_debt(&mixed_run()));
    assert_eq!(to_bytes(&redact_document(report.clone())), to_bytes(&report));
    assert_eq!(redact_to_bytes(report.clone()), to_bytes(&report));
}

/// Ids are not redacted, whatever their key is called. The same text in another place is redacted.
#[test]
fn an_actions_id_that_has_a_tokens_shape_stays() {
    let position = SHAPES.iter().position(|shape| shape.name == "aws key id").expect("it is in the table");
    let secret = example(position);
    let id = format!("{secret}.1");
    let mut report = serde_json::to_value(report_with_debt(&mixed_run())).expect("it is ours");
    let ids: Vec<String> = pointers(&report, "").into_iter().filter(|pointer| pointer.ends_with("/actionId")).collect();
    assert!(!ids.is_empty());
    for pointer in &ids {
        *report.pointer_mut(pointer).expect("it was found") = Value::from(id.as_str());
    }
    report["stepExecution"]["results"][0]["name"] = Value::from(format!("x {secret} y"));
    let report: ExecutionReportV2 = serde_json::from_value(report).expect("such an id is one");
    let text = String::from_utf8(to_bytes(&redact_document(report))).expect("JSON is UTF-8");
    assert!(text.contains(&id) && !text.contains(&format!("x {secret} y")));
}

/// Puts a token into every free text of the sample report in turn. The redacted report must be readable, with a label
/// in the token's place.
#[test]
fn wherever_a_report_may_hold_a_token_it_is_taken_out() {
    let report = serde_json::to_value(report_with_debt(&mixed_run())).expect("it is ours");
    let token = token();
    let mut tried = 0;
    for pointer in pointers(&report, "") {
        let mut with_token = report.clone();
        let place = with_token.pointer_mut(&pointer).expect("it was found");
        *place = Value::from(format!("x {token} y"));
        let Ok(document) = serde_json::from_value::<ExecutionReportV2>(with_token) else { continue };
        tried += 1;
        let bytes = to_bytes(&redact_document(document.clone()));
        assert_eq!(redact_to_bytes(document), bytes, "{pointer}");
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        let is_id = ["/id", "/taskId"].iter().any(|id| pointer.ends_with(id));
        assert_eq!(text.contains(&token), is_id, "{pointer}");
    }
    assert!(tried > 100, "only {tried} places hold text");
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        Value::String(_) => vec![at.to_owned()],
        Value::Array(values) => {
            values.iter().enumerate().flat_map(|(number, value)| pointers(value, &format!("{at}/{number}"))).collect()
        }
        Value::Object(entries) => entries
            .iter()
            .flat_map(|(key, value)| pointers(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))))
            .collect(),
    }
}

/// Generates text made of tokens, half tokens, and separators.
fn hostile() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = (0..SHAPES.len()).map(example).collect();
    pieces.extend(SHAPES.iter().flat_map(|shape| shape.starts).map(|start| (*start).to_owned()));
    pieces.extend(
        ["[redacted: github token]", "[redacted: ", "]", "@", ":", "://", "/", "_", "-", ".", "\n", " "].map(str::to_owned),
    );
    pieces.extend(["a".repeat(40), "Z9".repeat(200), "é".to_owned()]);
    vec(select(pieces), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redaction_is_idempotent_and_bounded(text in hostile(), other in any::<String>()) {
        for text in [text, other] {
            let once = redact_text(&text).into_owned();
            prop_assert!(once.len() <= text.len() * 5 + 64, "{} of {}", once.len(), text.len());
            prop_assert_eq!(redact_text(&once), once.as_str());
        }
    }

    #[test]
    fn cuts_are_idempotent_and_bounded(text in hostile()) {
        for cut in [redact_cut_end, redact_cut_start] {
            let once = cut(text.clone());
            prop_assert!(once.len() <= text.len() + 64);
            prop_assert_eq!(cut(once.clone()), once);
        }
    }
}
