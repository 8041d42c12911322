//! Validates a document against the published JSON Schema. Faults have the messages of the validator ajv, because the
//! examples of the design document seed 004 have them.

use std::sync::LazyLock;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::{Value, json};

use crate::config::nearest;
use crate::spec::specification::scan::member;
use crate::spec::specification::schema::SCHEMA_TEXT;
use proctor_model::{BrokenRule, Problem};

/// A violation of the JSON Schema by a document, without its line and column.
#[derive(Debug)]
pub(super) struct ShapeFault {
    pub(super) problem: Problem,
    /// The JSON pointer to the unknown key; `None` if the fault is of another kind.
    pub(super) unknown: Option<String>,
}

/// How ajv reports a violated keyword: the name of its parameter, and the message, in which `{}` stands for the
/// keyword's value in the schema.
struct Keyword {
    name: &'static str,
    param: &'static str,
    message: &'static str,
}

/// The keywords of JSON Schema whose error message needs only the value that the schema gives the keyword.
const KEYWORDS: &[Keyword] = &[
    Keyword { name: "const", param: "allowedValue", message: "must be equal to constant" },
    Keyword { name: "enum", param: "allowedValues", message: "must be equal to one of the allowed values" },
    Keyword { name: "format", param: "format", message: "must match format {}" },
    Keyword { name: "maximum", param: "limit", message: "must be <= {}" },
    Keyword { name: "maxLength", param: "limit", message: "must NOT have more than {} characters" },
    Keyword { name: "minimum", param: "limit", message: "must be >= {}" },
    Keyword { name: "minItems", param: "limit", message: "must NOT have fewer than {} items" },
    Keyword { name: "minLength", param: "limit", message: "must NOT have fewer than {} characters" },
    Keyword { name: "minProperties", param: "limit", message: "must NOT have fewer than {} properties" },
    Keyword { name: "pattern", param: "pattern", message: "must match pattern {}" },
    Keyword { name: "type", param: "type", message: "must be {}" },
];

/// The parameter `comparison` that ajv reports beside `limit` for the limits of a number.
const COMPARISONS: &[(&str, &str)] = &[("maximum", "<="), ("minimum", ">=")];

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(SCHEMA_TEXT).expect("a test reads the schema"));

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let options = jsonschema::draft7::options().should_validate_formats(true);
    options.build(&SCHEMA).expect("a test builds the validator")
});

/// Returns every violation of the published JSON Schema by a document, in the order of the schema.
pub(super) fn shape_faults(document: &Value) -> Vec<ShapeFault> {
    VALIDATOR.iter_errors(document).flat_map(|error| faults_of(&error)).collect()
}

/// The limit for the memory of one compiled regular expression, in bytes. The same limit holds during runs.
const PATTERN_CAP: usize = 1024 * 1024;

/// Returns what is wrong with a regular expression; `None` if it can be used. Runs use the same engine, which takes
/// linear time and therefore supports neither look-around nor back-references.
pub(super) fn pattern_problem(pattern: &str) -> Option<PatternProblem> {
    if linear().with_draft(Draft::Draft7).build(&json!({ "pattern": pattern })).is_ok() {
        return None;
    }
    let backtracks = jsonschema::draft7::options().build(&json!({ "pattern": pattern })).is_ok();
    Some(if backtracks { PatternProblem::NotLinear } else { PatternProblem::Unreadable })
}

/// Why a regular expression of a specification cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternProblem {
    /// The text is not a regular expression.
    Unreadable,
    /// The expression has look-around or back-references, or is too large, so matching could take unlimited time or
    /// memory.
    NotLinear,
}

/// Returns what is wrong with a JSON Schema; `None` if it can be used.
pub(super) fn schema_problem(schema: &Value) -> Option<String> {
    linear().offline().build(schema).err().map(|error| error.to_string())
}

fn linear() -> ValidationOptions<'static> {
    jsonschema::options().with_pattern_options(PatternOptions::regex().size_limit(PATTERN_CAP))
}

fn faults_of(error: &ValidationError<'_>) -> Vec<ShapeFault> {
    let schema_path = error.schema_path().to_string();
    let asked = SCHEMA.pointer(&schema_path);
    let rule = |params| {
        let (code, schema_path) = ("SCHEMA".to_owned(), format!("#{schema_path}"));
        let keyword = error.kind().keyword();
        let value = shown_value(keyword, asked.unwrap_or(&Value::Null), error.instance());
        Some(BrokenRule { code, schema_path, keyword: keyword.to_owned(), params, value })
    };
    let pointer = error.instance_path().to_string();
    #[expect(clippy::wildcard_enum_match_arm, reason = "most kinds are of keywords that our schema does not have")]
    let (problem, params) = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unknown = unexpected.iter().map(|key| {
                let problem = unknown_key(&pointer, &schema_path, key);
                let rule = rule(json!({ "additionalProperty": key }));
                ShapeFault { problem: Problem { rule, ..problem }, unknown: Some(member(&pointer, key)) }
            });
            return unknown.collect();
        }
        ValidationErrorKind::Required { property } => {
            let message = format!("must have required property '{}'", property.as_str().unwrap_or_default());
            (Problem::new(pointer, message), json!({ "missingProperty": property }))
        }
        ValidationErrorKind::UniqueItems => unique_items(pointer, error.instance()),
        _ => by_table(Problem::new(pointer, error.to_string()), error.kind().keyword(), &schema_path, error.instance()),
    };
    vec![ShapeFault { problem: Problem { rule: rule(params), ..problem }, unknown: None }]
}

/// The keywords whose rule says all that is wrong with a value. Others are about texts that may hold a secret.
const ABOUT_THE_VALUE: [&str; 5] = ["const", "enum", "maximum", "minimum", "pattern"];

/// The longest wrong text that is repeated, in bytes.
const LONGEST_SHOWN: usize = 100;

/// The types in place of which a text is repeated: `"200"` stands there for a number. In place of an object or a list a text may hold
/// a secret, such as a header.
const SHORT_TYPES: [&str; 3] = ["integer", "number", "boolean"];

/// Returns the wrong value, if it can be repeated in a message. `asked` is the keyword's value in the schema.
fn shown_value(keyword: &str, asked: &Value, value: &Value) -> Option<Value> {
    let is_short = |asked: &Value| asked.as_str().is_some_and(|asked| SHORT_TYPES.contains(&asked) || asked == "null");
    let wants_short = match asked {
        Value::Array(kinds) => kinds.iter().all(is_short),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => is_short(asked),
    };
    let is_shown = match value {
        Value::String(text) => {
            let may_be = ABOUT_THE_VALUE.contains(&keyword) || (keyword == "type" && wants_short && !text.contains("{{"));
            may_be && text.len() <= LONGEST_SHOWN
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => ABOUT_THE_VALUE.contains(&keyword) || keyword == "type",
        Value::Array(_) | Value::Object(_) => false,
    };
    is_shown.then(|| value.clone())
}

fn unknown_key(pointer: &str, schema_path: &str, key: &str) -> Problem {
    let object = schema_path.strip_suffix("/additionalProperties").unwrap_or(schema_path);
    let properties = SCHEMA.pointer(&format!("{object}/properties")).and_then(Value::as_object);
    let known = properties.into_iter().flatten().map(|(name, _)| name.as_str());
    let hint = known.clone().next().map(|_| format!("known here: {}", known.clone().collect::<Vec<_>>().join(", ")));
    let patterns = SCHEMA.pointer(&format!("{object}/patternProperties")).and_then(Value::as_object);
    let pattern = patterns.and_then(|patterns| patterns.keys().next());
    // Ids of tasks are the only keys that a pattern describes.
    let hint = hint.or_else(|| pattern.map(|pattern| format!("a key here matches `{pattern}`, as `T001` and `T117` do")));
    let problem = Problem::new(pointer, format!("must NOT have additional properties: `{key}` is unknown"));
    Problem { hint, ..problem.nearest(nearest(key, known)) }
}

fn unique_items(pointer: String, items: &Value) -> (Problem, Value) {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let second = (0..items.len()).find(|index| items[..*index].contains(&items[*index])).unwrap_or_default();
    let first = items.iter().position(|item| Some(item) == items.get(second)).unwrap_or_default();
    let message = format!("must NOT have duplicate items (items ## {first} and {second} are identical)");
    (Problem::new(pointer, message), json!({ "i": second, "j": first }))
}

fn by_table(plain: Problem, keyword: &str, schema_path: &str, instance: &Value) -> (Problem, Value) {
    let Some(keyword) = KEYWORDS.iter().find(|row| row.name == keyword) else { return (plain, json!({})) };
    let asked = SCHEMA.pointer(schema_path).cloned().unwrap_or_default();
    let shown = match &asked {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        Value::String(word) if keyword.name == "type" => word.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => asked.to_string(),
    };
    let words = || asked.as_array().into_iter().flatten().filter_map(Value::as_str);
    let (near, hint) = match keyword.name {
        "enum" => (
            nearest(instance.as_str().unwrap_or_default(), words()).map(str::to_owned),
            Some(format!("one of {}", words().collect::<Vec<_>>().join(", "))),
        ),
        "const" => (None, Some(format!("it is {shown}"))),
        _ => (None, None),
    };
    let mut params = json!({ keyword.param: &asked });
    if let Some((_, comparison)) = COMPARISONS.iter().find(|(name, _)| *name == keyword.name) {
        params["comparison"] = json!(comparison);
    }
    (Problem { message: keyword.message.replace("{}", &shown), nearest: near, hint, ..plain }, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_repeated_where_a_number_is_wanted_and_where_it_may_hold_a_secret_it_is_not() {
        let shown = |asked: Value, text: &str| shown_value("type", &asked, &json!(text)).is_some();
        assert!(shown(json!("integer"), "200") && shown(json!(["integer", "null"]), "abc"));
        assert!(!shown(json!("object"), "Authorization: Bearer x") && !shown(json!(["integer", "string"]), "x"));
        assert!(!shown(json!("integer"), "{{TOKEN}}"));
    }

    #[test]
    fn a_pattern_may_be_long_and_not_large() {
        assert_eq!(pattern_problem("^[a-z]{500}$"), None);
        assert_eq!(pattern_problem("^([a-z]{100}){1000}$"), Some(PatternProblem::NotLinear));
        assert_eq!(pattern_problem("(?=a)"), Some(PatternProblem::NotLinear));
        assert_eq!(pattern_problem("("), Some(PatternProblem::Unreadable));
    }

    #[test]
    fn a_schema_is_right_or_says_what_is_wrong_with_it() {
        assert_eq!(schema_problem(&json!({ "type": "object", "required": ["total"] })), None);
        assert!(schema_problem(&json!({ "type": "objekt" })).is_some_and(|problem| problem.contains("objekt")));
    }
}
