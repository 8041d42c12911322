//! The cause of an action's failure: its first error, and a fingerprint that recognises it in other runs (C48).

use crate::report::build_debt::item::word;
use crate::report::{ActionOutcomeV2, ActionResultV2, OriginalErrorV1};
use proctor_model::{DebtCategory, Diagnostic, Digest, FindingLevel, ResultType, TestFailure};

/// The cause of an action's failure: the first error of the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DebtCause {
    pub(super) error: OriginalErrorV1,
    /// What distinguishes errors with the same message: two commands that exit with 1 have different causes.
    subject: String,
}

impl DebtCause {
    /// Returns the first error in an action's entry of the report. Tests and findings are sorted by file and position,
    /// because tools report them in any order.
    pub(super) fn of(entry: &ActionResultV2) -> Self {
        let result = entry.result.as_ref();
        // After a time-out, the errors found so far are accidental. The exceeded limit is the cause.
        let found = result.filter(|_| entry.status != Some(ResultType::Timeout));
        let test = found.and_then(first_failure).map(Self::from_test);
        let finding = || found.and_then(first_finding).map(Self::from_finding);
        let request = || result.and_then(|result| Self::from_exchange(entry, result));
        test.or_else(finding).or_else(request).unwrap_or_else(|| Self::from_reason(entry))
    }

    /// Returns the fingerprint of the cause. Numbers, addresses and whitespace do not change it.
    pub(super) fn fingerprint(&self, tool: &str, category: DebtCategory) -> Digest {
        let message = normalised(&self.error.message);
        let file = self.error.file.as_deref().unwrap_or_default();
        let error_type = self.error.error_type.as_deref().unwrap_or_default();
        let parts = [tool, &word(&category), error_type, &message, file, &self.subject];
        // NUL separates the parts, so that two different lists of parts never give the same text.
        Digest::of(parts.map(|part| part.replace('\0', " ")).join("\0").as_bytes())
    }

    fn from_test(failure: &TestFailure) -> Self {
        let error = OriginalErrorV1 {
            error_type: exception(&failure.error).map(str::to_owned),
            message: failure.error.clone(),
            expected: failure.expected.clone(),
            received: failure.received.clone(),
            file: failure.test_file.clone(),
            line: failure.line,
        };
        // If the failure names no file, the test's name is used instead of the location. It is the name that earlier versions put
        // into the fingerprint.
        let subject = if error.file.is_some() { String::new() } else { failure.stable_name().to_owned() };
        Self { error, subject }
    }

    fn from_finding(finding: &Diagnostic) -> Self {
        let error = OriginalErrorV1 {
            error_type: finding.code.clone().or_else(|| finding.rule_id.clone()),
            message: finding.message.clone(),
            file: finding.file.clone(),
            line: finding.line,
            ..unknown()
        };
        Self { error, subject: String::new() }
    }

    /// Returns the cause of a failed request. All requests to one address share the cause of a failed connection. A
    /// wrong answer is a separate cause for each command.
    fn from_exchange(entry: &ActionResultV2, result: &ActionOutcomeV2) -> Option<Self> {
        if let Some(error) = &result.error {
            let place = error.address.as_deref().map(|address| format!("{address}:{}", error.port.unwrap_or_default()));
            let message = OriginalErrorV1 {
                error_type: Some(error.code.clone()),
                message: error.message.clone(),
                expected: result.expected.clone(),
                received: result.received.clone(),
                ..unknown()
            };
            return Some(Self { error: message, subject: place.unwrap_or_default() });
        }
        result.status_code?;
        Some(Self { subject: entry.command.clone(), ..Self::from_reason(entry) })
    }

    fn from_reason(entry: &ActionResultV2) -> Self {
        let classification = entry.classification.as_ref();
        let debt = entry.debt_generation.as_ref();
        let result = entry.result.as_ref();
        let path = result.and_then(|result| result.file_path.clone());
        let error = OriginalErrorV1 {
            expected: result.and_then(|result| result.expected.clone()),
            received: result.and_then(|result| result.received.clone()),
            error_type: classification.and_then(|classification| classification.error_type.clone()),
            message: classification.map(|classification| classification.reason.clone()).unwrap_or_default(),
            file: path.or_else(|| debt.and_then(|debt| debt.specific_file.clone())),
            line: debt.and_then(|debt| debt.specific_line),
        };
        Self { error, subject: entry.name.clone() }
    }
}

fn unknown() -> OriginalErrorV1 {
    OriginalErrorV1 { error_type: None, message: String::new(), expected: None, received: None, file: None, line: None }
}

/// Returns the first failure by file, position and name. Parallel tests are reported in any order.
pub(super) fn first_failure(result: &ActionOutcomeV2) -> Option<&TestFailure> {
    let failures = &result.test_results.as_ref()?.failures;
    failures.iter().min_by_key(|failure| (&failure.test_file, failure.line, failure.stable_name()))
}

/// Returns the worst finding; among equals, the first by position.
pub(super) fn first_finding(result: &ActionOutcomeV2) -> Option<&Diagnostic> {
    let place = |finding: &&Diagnostic| {
        let level = finding.severity != FindingLevel::Error;
        (level, finding.file.clone(), finding.line, finding.column, finding.code.clone(), finding.rule_id.clone())
    };
    result.diagnostics.findings().iter().min_by_key(place)
}

/// Returns the exception name at the beginning of a message: `AssertionError: …`.
fn exception(message: &str) -> Option<&str> {
    const ENDINGS: [&str; 5] = ["Error", "Exception", "Failed", "Exit", "Warning"];
    let name = message.split(':').next()?.trim();
    let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
    (is_name && ENDINGS.iter().any(|ending| name.ends_with(ending))).then_some(name)
}

/// Returns a message without the parts that differ between runs: numbers and addresses become `#`, runs of whitespace
/// become one space.
fn normalised(message: &str) -> String {
    let mut words = Vec::new();
    for word in message.split(|it: char| it.is_whitespace() || it.is_control()).filter(|word| !word.is_empty()) {
        let mut short = String::new();
        let is_address = |part: &str| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        for part in word.split_inclusive(|it: char| !it.is_ascii_alphanumeric()) {
            let name = part.trim_end_matches(|it: char| !it.is_ascii_alphanumeric());
            let rest = &part[name.len()..];
            let numberless = name.chars().map(|it| if it.is_ascii_digit() { '#' } else { it });
            let shown: String = if name.starts_with("0x") || is_address(name) { "#".to_owned() } else { numberless.collect() };
            for character in shown.chars().chain(rest.chars()) {
                if character != '#' || !short.ends_with('#') {
                    short.push(character);
                }
            }
        }
        words.push(short);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{exception, normalised};

    #[test]
    fn what_differs_between_two_runs_of_the_same_failure_is_left_out_of_it() {
        for (message, same) in [
            ("assert 2.67 == 2.66", "assert #.# == #.#"),
            ("<Quote at 0x7f3a12>  is\tnot 17", "<Quote at #> is not #"),
            ("took 1032 ms of deadbeef0123", "took # ms of #"),
            ("no route to item12", "no route to item#"),
        ] {
            assert_eq!(normalised(message), same);
        }
        assert_ne!(normalised("a is missing"), normalised("b is missing"));
    }

    #[test]
    fn only_the_name_of_an_exception_is_a_type() {
        assert_eq!(exception("AssertionError: assert 1 == 2"), Some("AssertionError"));
        assert_eq!(exception("quotes.errors.QuoteError"), Some("quotes.errors.QuoteError"));
        assert_eq!(exception("assert False is True"), None);
        assert_eq!(exception("my own Error: x"), None);
    }
}
