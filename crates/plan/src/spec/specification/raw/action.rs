//! An action in a specification. The type of the action decides the shape of its parameters.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use crate::spec::specification::raw::extension::RawActionExtension;
use crate::spec::specification::raw::parameters::RawParameters;
use proctor_model::ActionType;

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

/// An action as it stands in the file. The `type` decides how `parameters` are parsed.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawActionFields {
    /// The action's id, for example `STEP.3`. Every action of a task has a different id.
    #[cfg_attr(test, schemars(regex(pattern = "^[A-Z][A-Z0-9_]*\\.[0-9]+$")))]
    action_id: String,
    /// The action's type, which decides the shape of `parameters`.
    #[cfg_attr(test, schemars(schema_with = "crate::spec::specification::schema::action_type_schema"))]
    r#type: ActionType,
    /// What the action does, as a text for people. Reports show it.
    #[cfg_attr(test, schemars(length(min = 10)))]
    description: String,
    /// What the action does, for proctor: its command, file, request or script. The `type` decides the shape.
    #[cfg_attr(test, schemars(extend("type" = "object", "minProperties" = 1)))]
    parameters: Value,
    /// Which parts of the action's result the report shows.
    evidence_capture: Option<RawEvidenceCapture>,
    /// The action's time limit in milliseconds. By default the limit of its type applies.
    #[cfg_attr(test, schemars(range(min = 1000, max = 600_000)))]
    timeout: Option<u64>,
    /// How often the action is repeated at most if it fails. The default is 0.
    #[cfg_attr(test, schemars(range(min = 0, max = 5)))]
    retry_attempts: Option<u32>,
    /// Whether later actions run although this action failed. The default is false.
    continue_on_failure: Option<bool>,
    /// The settings that only proctor has for an action.
    proctor: Option<RawActionExtension>,
}

/// Which parts of an action's result the report shows. The files of evidence are complete in any case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RawEvidenceCapture {
    /// Whether the report shows an excerpt of standard output. The default is true.
    pub stdout: Option<bool>,
    /// Whether the report shows an excerpt of standard error. The default is true.
    pub stderr: Option<bool>,
    /// Whether the report shows the exit code. The report always does; false has no effect, and the lint notes it.
    pub exit_code: Option<bool>,
    /// Whether the report shows how long the action took. The report always does; the lint notes a false.
    pub duration: Option<bool>,
    /// Whether an action of a browser leaves a picture of its page. The lint reports true for other actions. The default is false.
    pub screenshots: Option<bool>,
    /// Whether the structure of a browser's page is recorded. It never is, so the lint reports true.
    pub dom_snapshot: Option<bool>,
    /// Whether the report shows an excerpt of the answer to a request. The default is false.
    pub request_response: Option<bool>,
    /// Whether the report shows an excerpt of the file that the action checks. The default is false.
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
