//! An action in a specification. The type of the action decides the shape of its parameters.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use crate::model::ActionType;
use crate::spec::specification::raw::extension::RawActionExtension;
use crate::spec::specification::raw::parameters::RawParameters;

/// An action of a task, after its type has decided how its parameters were parsed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "RawActionFields")]
pub struct RawAction {
    /// The action's id, for example `STEP.3`. No other action of the task has the same id.
    pub action_id: String,
    /// What the action does, for people.
    pub description: String,
    /// The command, file, request or script of the action. The variant is the action's type.
    pub parameters: RawParameters,
    /// Which excerpts the report shows for the action; `None` means the defaults.
    pub evidence_capture: Option<RawEvidenceCapture>,
    /// The action's time limit in milliseconds; `None` means the default of its type.
    pub timeout: Option<u64>,
    /// How often the action is repeated after a failure; `None` means 0.
    pub retry_attempts: Option<u32>,
    /// Whether later actions run although this action failed; `None` means that they do not.
    pub continue_on_failure: Option<bool>,
    /// The settings that only proctor has, under the key `proctor`.
    pub proctor: Option<RawActionExtension>,
}

/// An action as it is written.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawActionFields {
    /// The action's id, once in its task.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$")))]
    action_id: String,
    /// The action's type.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_type_schema"))]
    r#type: ActionType,
    /// What it does, for people.
    #[cfg_attr(test, schemars(length(min = 10)))]
    description: String,
    /// What it does; the shape is that of the type.
    #[cfg_attr(test, schemars(extend("type" = "object", "minProperties" = 1)))]
    parameters: Value,
    /// What is kept of it.
    evidence_capture: Option<RawEvidenceCapture>,
    /// Its longest time in milliseconds.
    #[cfg_attr(test, schemars(range(min = 1000, max = 600_000)))]
    timeout: Option<u64>,
    /// How often it is tried again after a failure; 0 unless said.
    #[cfg_attr(test, schemars(range(min = 0, max = 5)))]
    retry_attempts: Option<u32>,
    /// Whether the actions behind it run after its failure; false unless said.
    continue_on_failure: Option<bool>,
    /// What proctor adds to an action.
    proctor: Option<RawActionExtension>,
}

/// What is kept of an action. proctor keeps every byte of a run anyway; what is switched off here is left out of the report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawEvidenceCapture {
    /// Standard output; true unless said.
    pub stdout: Option<bool>,
    /// Standard error; true unless said.
    pub stderr: Option<bool>,
    /// The exit code; true unless said.
    pub exit_code: Option<bool>,
    /// How long it took; true unless said.
    pub duration: Option<bool>,
    /// Pictures; false unless said.
    pub screenshots: Option<bool>,
    /// The page's structure; false unless said.
    pub dom_snapshot: Option<bool>,
    /// Request and answer; false unless said.
    pub request_response: Option<bool>,
    /// The content of the file that is looked at; false unless said.
    pub file_contents: Option<bool>,
}

impl TryFrom<RawActionFields> for RawAction {
    type Error = serde_json::Error;

    fn try_from(fields: RawActionFields) -> Result<Self, serde_json::Error> {
        let of_type = |parameters| RawParameters::of_type(fields.r#type, parameters);
        Ok(Self {
            parameters: of_type(fields.parameters).map_err(serde_json::Error::custom)?,
            action_id: fields.action_id,
            description: fields.description,
            evidence_capture: fields.evidence_capture,
            timeout: fields.timeout,
            retry_attempts: fields.retry_attempts,
            continue_on_failure: fields.continue_on_failure,
            proctor: fields.proctor,
        })
    }
}

#[cfg(test)]
impl schemars::JsonSchema for RawAction {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RawAction".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = RawActionFields::json_schema(generator);
        schema.insert("allOf".to_owned(), crate::spec::specification::schema::parameters_by_type(generator));
        schema
    }
}
