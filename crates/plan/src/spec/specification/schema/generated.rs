//! Generates the JSON Schema from the types of the file format, and checks that the committed file is up to date.

use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::spec::specification::raw::{
    RawBrowserParameters, RawCustomScriptParameters, RawDatabaseQueryParameters, RawDockerCommandParameters,
    RawFileValidationParameters, RawHttpRequestParameters, RawSpecification, RawTask, RawTerminalCommandParameters,
};
use proctor_model::{ActionType, JudgedBy, Tool};

/// The schema of `tasks`, whose keys are task ids.
pub(in crate::spec::specification) fn tasks_schema(generator: &mut SchemaGenerator) -> Schema {
    let task = generator.subschema_for::<RawTask>();
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "patternProperties": { "^T[0-9]{3,}$": task },
        "additionalProperties": false,
    })
}

/// Returns the types of actions in schema 2.0.0. The type of reviews is left out, because it is proctor's addition.
fn action_type_words() -> Vec<&'static str> {
    let of_the_format = ActionType::ALL.into_iter().filter(|action_type| *action_type != ActionType::Review);
    of_the_format.map(ActionType::word).collect()
}

/// The schema of an action's `type`: one of the words of schema 2.0.0, even for types that proctor refuses to run.
pub(in crate::spec::specification) fn action_type_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": action_type_words() })
}

/// The schema of `tool`: the same words as in `proctor.toml`, without reviews, which have a key of their own.
pub(in crate::spec::specification) fn tool_schema(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<_> = Tool::ALL
        .into_iter()
        .filter(|tool| tool.judged_by() != JudgedBy::Grammar && !tool.is_of_report())
        .map(Tool::word)
        .collect();
    json_schema!({ "type": "string", "enum": words })
}

/// The schema of a list of types of actions. The list has at least one element, and no element twice.
pub(in crate::spec::specification) fn action_types_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": action_type_schema(generator) })
}

/// Returns the conditions by which an action's type decides the shape of its parameters.
pub(in crate::spec::specification) fn parameters_by_type(generator: &mut SchemaGenerator) -> Value {
    let of_type = |action_type: ActionType, parameters: Schema| {
        json!({
            "if": { "properties": { "type": { "const": action_type.word() } }, "required": ["type"] },
            "then": { "properties": { "parameters": parameters } },
        })
    };
    json!([
        of_type(ActionType::TerminalCommand, generator.subschema_for::<RawTerminalCommandParameters>()),
        of_type(ActionType::FileValidation, generator.subschema_for::<RawFileValidationParameters>()),
        of_type(ActionType::HttpRequest, generator.subschema_for::<RawHttpRequestParameters>()),
        of_type(ActionType::CustomScript, generator.subschema_for::<RawCustomScriptParameters>()),
        of_type(ActionType::DockerCommand, generator.subschema_for::<RawDockerCommandParameters>()),
        of_type(ActionType::DatabaseQuery, generator.subschema_for::<RawDatabaseQueryParameters>()),
        of_type(ActionType::McpBrowserCommand, generator.subschema_for::<RawBrowserParameters>()),
    ])
}

/// Adapts the generated schema to what readers of the format expect: no null for optional values, an `enum` instead of
/// one schema per word, no number formats, and no defaults.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        without_null(object);
        words_as_enumeration(object);
        object.remove("default");
        if object.get("format").is_some_and(|format| format != "date-time" && format != "uri") {
            object.remove("format");
        }
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = object.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            object.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice != &json!({ "type": "null" }));
        if let [choice] = choices.as_slice() {
            let choice = choice.clone();
            object.remove("anyOf");
            // In draft 7 everything beside `$ref` is ignored. So a reference with a description is moved into an
            // `allOf`.
            if object.is_empty() {
                *object = choice.as_object().cloned().unwrap_or_default();
            } else {
                object.insert("allOf".to_owned(), json!([choice]));
            }
        }
    }
}

fn words_as_enumeration(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else { return };
    let words: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(words) = words {
        object.remove("oneOf");
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(words));
    }
}

fn generated_text() -> String {
    let settings = SchemaSettings::draft07().with_transform(Plain);
    let mut schema = settings.into_generator().into_root_schema_for::<RawSpecification>();
    let object = schema.as_object_mut().expect("a root schema is an object");
    object.insert("title".to_owned(), json!("Test specification 2.0.0 with the additions of proctor 1.0.0"));
    let mut value = schema.to_value();
    // Only `maxWarnings` may be null, which means no limit.
    *value.pointer_mut("/definitions/RawLintToolPolicy/properties/maxWarnings/type").expect("it is there") =
        json!(["integer", "null"]);
    // The schema of a priority is that of a severity, so its description must be replaced.
    *value.pointer_mut("/definitions/RawTask/properties/priority/allOf/0/description").expect("it is there") =
        json!("How urgent a task is.");
    let mut text = serde_json::to_string_pretty(&value).expect("a schema is JSON");
    text.push('\n');
    // The names of the Rust types begin with `Raw`, which would tell readers of the schema nothing.
    text.replace("definitions/Raw", "definitions/").replace("\"Raw", "\"")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever changes the types has the file written anew by this test")]
fn the_committed_schema_is_that_of_the_types() {
    let path =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("crates/plan/src/spec/specification/schema-2.0.0.json");
    let generated = generated_text();
    if std::env::var_os("PROCTOR_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &generated).expect("the source tree is writable");
    }
    let committed = std::fs::read_to_string(&path).expect("the schema is part of the repository");
    assert_eq!(committed, generated, "`PROCTOR_UPDATE_SCHEMA=1 cargo test --lib schema` writes it anew");
}
