//! Lint rules for expected values of files and of answers to requests: each is present, possible and used.

use serde_json::Value;

use crate::spec::specification::lint::subject::{Action, Subject};
use crate::spec::specification::raw::{RawFileValidationParameters, RawHttpRequestParameters, RawValidationType};
use crate::spec::specification::shape::{PatternProblem, pattern_problem, schema_problem};
use proctor_model::Problem;

/// Each kind of file validation, its word, and the keys with its expected values. At least one must be present, unless
/// the list is empty.
const OPERANDS: &[(RawValidationType, &str, &[&str])] = &[
    (RawValidationType::Exists, "EXISTS", &[]),
    (RawValidationType::ContentMatch, "CONTENT_MATCH", &["expectedContent", "contentRegex"]),
    (RawValidationType::SchemaValid, "SCHEMA_VALID", &["schema"]),
    (RawValidationType::HashMatch, "HASH_MATCH", &["expectedHash"]),
    (RawValidationType::SizeCheck, "SIZE_CHECK", &["minSize", "maxSize"]),
];

/// Says to which kinds of file validation expected values belong.
fn of_other_kinds(names: &[&str]) -> String {
    let kind_of = |name: &str| OPERANDS.iter().find(|(_, _, names)| names.contains(&name)).map_or("", |(_, word, _)| *word);
    names.iter().map(|name| format!("`{name}` belongs to {}", kind_of(name))).collect::<Vec<_>>().join("; ")
}

/// Returns what is checked about a file. Where a check of several optional values has none of any kind, only its presence is.
pub(in crate::spec) fn checked_kind(file: &RawFileValidationParameters) -> RawValidationType {
    let is_presence = operands_of(file.validation_type).len() > 1 && given_operands(file).is_empty();
    if is_presence { RawValidationType::Exists } else { file.validation_type }
}

/// Notes file validations that, for want of an expected value, look only whether the file is there.
pub(super) fn presence(subject: &Subject<'_>) -> Vec<Problem> {
    let bare = files(subject).filter(|(_, file)| checked_kind(file) != file.validation_type);
    let findings = bare.map(|(action, file)| {
        let needed = operands_of(file.validation_type).join("` or `");
        let message = format!("only looks whether the file is there: it has no `{needed}`, so nothing is compared");
        action.finding("/parameters", message).hint(format!("add `{needed}`, or write EXISTS"))
    });
    findings.collect()
}

/// Reports file validations without an expected value.
pub(super) fn missing(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = files(subject).filter_map(|(action, file)| {
        let needed = operands_of(checked_kind(file));
        let is_there = needed.is_empty() || given_operands(file).iter().any(|name| needed.contains(name));
        let message = format!("nothing says what the file is compared with: `{}` is missing", needed.join("` or `"));
        let hint = match given_operands(file) {
            others if others.is_empty() => {
                "say it, or look only whether the file is there: `\"validationType\": \"EXISTS\"`".to_owned()
            }
            others => format!("{}: write the `validationType` that is meant, or its expected value", of_other_kinds(&others)),
        };
        (!is_there).then(|| action.finding("/parameters", message).hint(hint))
    });
    findings.collect()
}

/// Reports expected values that no file can have.
pub(super) fn impossible(subject: &Subject<'_>) -> Vec<Problem> {
    let mut findings = Vec::new();
    for (action, file) in files(subject) {
        if let Some(hash) = &file.expected_hash
            && !(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            let finding = action.finding("/parameters/expectedHash", "it is no SHA-256");
            findings.push(finding.hint("64 hexadecimal digits are expected, as `sha256sum` prints them"));
        }
        if let (Some(least), Some(most)) = (file.min_size, file.max_size)
            && least > most
        {
            let finding = action.finding("/parameters/minSize", format!("no file has at least {least} and at most {most} bytes"));
            findings.push(finding.hint("make `minSize` the smaller one"));
        }
    }
    findings
}

/// Reports expected values that this kind of file validation does not use.
pub(super) fn idle(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = files(subject).flat_map(|(action, file)| {
        let used = operands_of(file.validation_type);
        let unused = given_operands(file).into_iter().filter(|name| !used.contains(name));
        let finding = |name: &str| {
            action.finding(&format!("/parameters/{name}"), format!("`{name}` is not looked at by this `validationType`"))
        };
        unused.map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

/// Reports regular expressions that are invalid or need more than linear time.
pub(super) fn patterns(subject: &Subject<'_>) -> Vec<Problem> {
    let files =
        files(subject).filter_map(|(action, file)| Some((action, "/parameters/contentRegex", file.content_regex.as_ref()?)));
    let answers = requests(subject).filter_map(|(action, request)| {
        let pattern = request.validate_response.as_ref()?.matches_regex.as_ref()?;
        Some((action, "/parameters/validateResponse/matchesRegex", pattern))
    });
    let wrong = files.chain(answers).filter_map(|(action, place, pattern)| {
        let (message, hint) = match pattern_problem(pattern)? {
            PatternProblem::Unreadable => ("it is no regular expression", "mend it, or compare with a text"),
            PatternProblem::NotLinear => (
                "it looks around or back, or is too large: patterns are matched in linear time, without look-around and back-references",
                "say it without `(?=`, `(?!`, `(?<=`, `(?<!` and `\\1`, or compare with a text",
            ),
        };
        Some(action.finding(place, message).hint(hint))
    });
    wrong.collect()
}

/// Reports JSON Schemas that are invalid or refer to other documents.
pub(super) fn schemas(subject: &Subject<'_>) -> Vec<Problem> {
    let files = files(subject).filter_map(|(action, file)| Some((action, "/parameters/schema", file.schema.clone()?)));
    let answers = requests(subject).filter_map(|(action, request)| {
        let schema = request.validate_response.as_ref()?.json_schema.clone()?;
        Some((action, "/parameters/validateResponse/jsonSchema", schema))
    });
    let rows = subject.queries().filter_map(|(action, query)| {
        Some((action, "/parameters/validateResults/rowSchema", query.validate_results.as_ref()?.row_schema.clone()?))
    });
    let findings = files.chain(answers).chain(rows).filter_map(|(action, place, schema)| {
        let problem = schema_problem(&Value::Object(schema))?;
        Some(action.finding(place, format!("it is no JSON Schema: {problem}")).hint("mend it; `$ref` may only point into itself"))
    });
    findings.collect()
}

/// Reports requests to URLs with a scheme other than `http` and `https`. The scheme of a URL that begins with a secret is known, and
/// looked at, only when the action starts.
pub(super) fn urls(subject: &Subject<'_>) -> Vec<Problem> {
    let is_http = |url: &str| ["http://", "https://", "{{"].iter().any(|begin| url.starts_with(begin));
    let others = requests(subject).filter(|(_, request)| !is_http(&request.url));
    others
        .map(|(action, _)| action.finding("/parameters/url", "only `http` and `https` are spoken").hint("name such an address"))
        .collect()
}

/// Returns the word of a specification for a kind of file validation.
pub(super) fn word_of(kind: RawValidationType) -> &'static str {
    OPERANDS.iter().find(|(row, _, _)| *row == kind).map(|(_, word, _)| *word).unwrap_or_default()
}

fn operands_of(kind: RawValidationType) -> &'static [&'static str] {
    OPERANDS.iter().find(|(row, _, _)| *row == kind).map(|(_, _, names)| *names).unwrap_or_default()
}

fn given_operands(file: &RawFileValidationParameters) -> Vec<&'static str> {
    let all = [
        ("expectedContent", file.expected_content.is_some()),
        ("contentRegex", file.content_regex.is_some()),
        ("schema", file.schema.is_some()),
        ("expectedHash", file.expected_hash.is_some()),
        ("minSize", file.min_size.is_some()),
        ("maxSize", file.max_size.is_some()),
    ];
    all.into_iter().filter(|(_, is_said)| *is_said).map(|(name, _)| name).collect()
}

fn files<'s>(subject: &Subject<'s>) -> impl Iterator<Item = (Action<'s>, &'s RawFileValidationParameters)> {
    subject.actions().filter_map(|action| action.raw.parameters.file().map(|parameters| (action, parameters)))
}

fn requests<'s>(subject: &Subject<'s>) -> impl Iterator<Item = (Action<'s>, &'s RawHttpRequestParameters)> {
    subject.actions().filter_map(|action| action.raw.parameters.request().map(|parameters| (action, parameters)))
}
