//! The entries of SARIF for one check: rules and results. A result is the same in the next run if its fingerprint is: it is made from the
//! rule, the file, the message and the line of source code, and not from the line's number, which changes with every line above it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::report::formats::outgoing_run::is_relative;
use crate::report::formats::sarif::{BASE, sentence};
use crate::report::formats::{fails_as_a_whole, failure_texts, failures_of, is_allowed, is_broken, reason, stable_name};
use crate::report::{ActionResultV2, TestRecordV1};
use proctor_model::{Diagnostic, Digest, FindingLevel, RelatedInformation, ResultType, TestFailure};

/// The name of the fingerprint. A fingerprint that is made in another way gets another name.
const FINGERPRINT: &str = "proctor/v1";
/// The most results of a check but the one that says that it failed. Code hosts refuse files with more than 25,000.
const MOST: usize = 24_999;
const TEST_FAILURE: &str = "test-failure";

/// The rules and results of one tool.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) rules: Vec<Value>,
    pub(super) results: Vec<Value>,
    places: BTreeMap<String, usize>,
    /// How often each fingerprint was seen, so that two equal lines of code have two fingerprints.
    seen: BTreeMap<Digest, u32>,
}

/// What a result says, before it has its rule and its fingerprint.
struct Entry<'a> {
    rule: &'a str,
    level: FindingLevel,
    message: &'a str,
    file: Option<&'a str>,
    /// Line, column, last line, column behind the end: each counted from 1.
    region: [Option<u64>; 4],
    /// The line of source code.
    source: Option<&'a str>,
    /// The test's name, for tests.
    test: Option<&'a str>,
    related: &'a [RelatedInformation],
}

impl<'a> Entry<'a> {
    fn new(rule: &'a str, level: FindingLevel, message: &'a str) -> Self {
        Self { rule, level, message, file: None, region: [None; 4], source: None, test: None, related: &[] }
    }
}

pub(super) fn results_of_check(check: &ActionResultV2, tests: Option<&[TestRecordV1]>) -> Results {
    let mut results = Results::default();
    // A finding keeps the level that its tool gave it. What proctor says itself is a warning where the policy allows it.
    let level = if is_allowed(check) { FindingLevel::Warning } else { FindingLevel::Error };
    let rule = check.status.map_or("SKIPPED", ResultType::word);
    let of_check = format!("{}: {}", check.name, reason(check));
    if is_broken(check) {
        results.add(Entry::new(rule, level, &of_check));
    }
    let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
    // If there are too many results, warnings are left out before errors.
    let of = |is_error: bool| findings.iter().filter(move |finding| (finding.severity == FindingLevel::Error) == is_error);
    of(true).for_each(|finding| results.add_finding(finding, &check.tool));
    let failures = failures_of(check);
    let failed = tests.unwrap_or_default().iter().filter(|test| test.status.is_failure());
    failed.for_each(|test| results.add_test(&failures, test, level));
    // Without a list of tests, the report still names those that failed first.
    if tests.is_none() {
        let failures = check.result.as_ref().and_then(|result| result.test_results.as_ref());
        for failure in failures.map(|tests| tests.failures.as_slice()).unwrap_or_default() {
            let message = format!("{}: {}", failure.test_name, failure.error);
            results.add(Entry {
                file: failure.test_file.as_deref(),
                region: [failure.line, failure.column, None, None],
                test: Some(failure.stable_name()),
                ..Entry::new(TEST_FAILURE, level, &message)
            });
        }
    }
    of(false).for_each(|finding| results.add_finding(finding, &check.tool));
    let says_nothing = !results.results.iter().any(|result| result["level"] == "error");
    if says_nothing && !is_broken(check) && fails_as_a_whole(check, tests) {
        results.add(Entry::new(rule, level, &of_check));
    }
    results
}

/// Returns the result for a verdict that no check explains.
pub(super) fn results_of_run(verdict: &str, why: &str) -> Results {
    let mut results = Results::default();
    results.add(Entry::new("verdict", FindingLevel::Error, &format!("{verdict}: {why}")));
    results
}

impl Results {
    fn add_finding(&mut self, finding: &Diagnostic, tool: &str) {
        let rule = finding.rule_id.as_deref().or(finding.code.as_deref()).filter(|rule| !rule.is_empty()).unwrap_or(tool);
        self.add(Entry {
            file: finding.file.as_deref(),
            region: [finding.line, finding.column, finding.end_line, finding.end_column],
            source: finding.source.as_deref(),
            related: &finding.related_information,
            ..Entry::new(rule, finding.severity, &finding.message)
        });
    }

    fn add_test(&mut self, failures: &BTreeMap<&str, &TestFailure>, test: &TestRecordV1, level: FindingLevel) {
        let message = format!("{}: {}", test.full_name, failure_texts(failures, test).0);
        self.add(Entry {
            file: test.location.as_ref().map(|place| place.file.as_str()),
            region: [test.location.as_ref().and_then(|place| place.line), None, None, None],
            test: Some(stable_name(test)),
            ..Entry::new(TEST_FAILURE, level, &message)
        });
    }

    fn add(&mut self, entry: Entry<'_>) {
        // One place is kept for a result that says that the check failed.
        if self.results.len() >= MOST && entry.level == FindingLevel::Warning || self.results.len() > MOST {
            return;
        }
        let index = match self.places.get(entry.rule) {
            Some(index) => *index,
            None => {
                self.rules.push(json!({"id": entry.rule}));
                self.places.insert(entry.rule.to_owned(), self.rules.len() - 1);
                self.rules.len() - 1
            }
        };
        let level = match entry.level {
            FindingLevel::Error => "error",
            FindingLevel::Warning => "warning",
        };
        let mut result = json!({
            "ruleId": entry.rule, "ruleIndex": index, "level": level, "message": {"text": sentence(entry.message)},
            "partialFingerprints": {FINGERPRINT: self.fingerprint(&entry)},
        });
        let mut location = json!({});
        if let Some(physical) = physical_location(entry.file, entry.region, entry.source) {
            location["physicalLocation"] = physical;
        }
        if let Some(test) = entry.test {
            location["logicalLocations"] = json!([{"fullyQualifiedName": test, "kind": "function"}]);
        }
        if location.as_object().is_some_and(|parts| !parts.is_empty()) {
            result["locations"] = json!([location]);
        }
        let related: Vec<Value> = entry.related.iter().filter_map(related_location).collect();
        if !related.is_empty() {
            result["relatedLocations"] = json!(related);
        }
        self.results.push(result);
    }

    fn fingerprint(&mut self, entry: &Entry<'_>) -> String {
        // The message of a failed test has values that differ from run to run, such as a time.
        let what = entry.test.unwrap_or(entry.message);
        let source = entry.source.map(str::trim).unwrap_or_default();
        let mut bytes = Vec::new();
        for part in [entry.rule, entry.file.unwrap_or_default(), what, source] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        let digest = Digest::of(&bytes);
        let count = self.seen.entry(digest).or_default();
        *count += 1;
        format!("{}:{count}", digest.hex())
    }
}

fn related_location(related: &RelatedInformation) -> Option<Value> {
    let physical = physical_location(related.file.as_deref(), [related.line, related.column, None, None], None)?;
    Some(json!({"physicalLocation": physical, "message": {"text": sentence(&related.message)}}))
}

/// Returns a place in a file of the project; `None` if the file lies elsewhere or is not known.
fn physical_location(file: Option<&str>, region: [Option<u64>; 4], source: Option<&str>) -> Option<Value> {
    let file = file.filter(|file| is_relative(file))?;
    let mut location = json!({"artifactLocation": {"uri": uri(file), "uriBaseId": BASE}});
    // The format counts from 1; tools that know no place write 0.
    let [line, column, end_line, end_column] =
        region.map(|number| number.filter(|number| (1..=u64::from(u32::MAX >> 1)).contains(number)));
    if let Some(line) = line {
        let mut region = json!({"startLine": line});
        if let Some(column) = column {
            region["startColumn"] = json!(column);
        }
        let end_line = end_line.filter(|end| *end >= line);
        if let Some(end) = end_line {
            region["endLine"] = json!(end);
        }
        // An end before the beginning would make the whole document invalid.
        let is_behind =
            |end: &u64| end_line.is_some_and(|end_line| end_line > line) || column.is_some_and(|column| *end >= column);
        if let Some(end) = end_column.filter(is_behind) {
            region["endColumn"] = json!(end);
        }
        if let Some(source) = source.filter(|source| !source.is_empty()) {
            region["snippet"] = json!({"text": source});
        }
        location["region"] = region;
    }
    Some(location)
}

/// Returns a relative path as a relative reference of RFC 3986. A colon in the first part would make it a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.trim_start_matches("./").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_becomes_a_relative_reference() {
        for (path, expected) in [
            ("src/a b.ts", "src/a%20b.ts"),
            ("./a.py", "a.py"),
            ("c:x.py", "c%3Ax.py"),
            ("tests/test_[1]#?.py", "tests/test_%5B1%5D%23%3F.py"),
            ("100%.py", "100%25.py"),
            ("\u{e4}.py", "%C3%A4.py"),
        ] {
            assert_eq!(uri(path), expected);
        }
        for elsewhere in ["/etc/passwd", "../x.py", "a/../../x", "[redacted: path]", "https://x/y", ""] {
            assert_eq!(physical_location(Some(elsewhere), [Some(1), None, None, None], None), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_region_begins_at_1_and_does_not_end_before_its_beginning() {
        let region = |region: [u64; 4]| physical_location(Some("a"), region.map(Some), None).map(|place| place["region"].clone());
        assert_eq!(region([0, 3, 1, 1]), Some(Value::Null));
        assert_eq!(region([5, 0, 4, 2]), Some(json!({"startLine": 5})));
        assert_eq!(region([5, 7, 5, 3]), Some(json!({"startLine": 5, "startColumn": 7, "endLine": 5})));
        assert_eq!(region([5, 7, 6, 3]), Some(json!({"startLine": 5, "startColumn": 7, "endLine": 6, "endColumn": 3})));
    }

    #[test]
    fn a_finding_that_moved_keeps_its_fingerprint_and_two_equal_ones_have_two() {
        let finding = |line| Diagnostic {
            file: Some("a.ts".to_owned()),
            line: Some(line),
            rule_id: Some("no-var".to_owned()),
            message: "Unexpected var".to_owned(),
            source: Some("  var x = 1".to_owned()),
            ..Diagnostic::default()
        };
        let prints = |lines: &[u64]| {
            let mut results = Results::default();
            lines.iter().for_each(|line| results.add_finding(&finding(*line), "eslint"));
            results.results.iter().map(|result| result["partialFingerprints"][FINGERPRINT].clone()).collect::<Vec<_>>()
        };
        let before = prints(&[3, 9]);
        assert_ne!(before[0], before[1]);
        assert_eq!(before, prints(&[13, 19]));
    }
}
