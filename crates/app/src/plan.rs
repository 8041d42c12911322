//! What a run would do, as a document.

use std::time::Duration;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use proctor_model::{Action, Plan, PlanNote, PlanOrigin, TaskId};

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanV1<'p> {
    schema: &'static str,
    task: &'p TaskId,
    project: &'p str,
    origin: &'p PlanOrigin,
    actions: Vec<ActionV1<'p>>,
    /// The project's own test command that no check runs. The key is absent if one runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests_not_run: Option<&'p str>,
    notes: &'p [PlanNote],
}

/// One action of the plan. The values of its environment variables are not shown, because they may be secrets.
#[derive(Debug)]
struct ActionV1<'p>(&'p Action);

impl Serialize for ActionV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(action) = self;
        let optional = usize::from(action.control) + usize::from(!action.writes.is_empty());
        let mut fields = serializer.serialize_struct("ActionV1", 23 + optional)?;
        fields.serialize_field("id", &action.id)?;
        fields.serialize_field("phase", &action.phase)?;
        fields.serialize_field("type", &action.kind.action_type())?;
        fields.serialize_field("name", &action.name)?;
        fields.serialize_field("description", &action.description)?;
        fields.serialize_field("tool", &action.tool)?;
        fields.serialize_field("class", &action.class)?;
        fields.serialize_field("command", &action.command)?;
        fields.serialize_field("directory", &action.directory.display().to_string())?;
        fields.serialize_field("environment", &action.environment.keys().collect::<Vec<_>>())?;
        fields.serialize_field("timeoutMs", &millis(action.timeout))?;
        fields.serialize_field("idleTimeoutMs", &action.idle_timeout.map(millis))?;
        fields.serialize_field("maxOutputBytes", &action.max_output.map(|size| size.0))?;
        fields.serialize_field("graceMs", &millis(action.grace))?;
        fields.serialize_field("paths", &action.paths)?;
        fields.serialize_field("expectedExitCodes", &action.expected_exit_codes)?;
        fields.serialize_field("policy", &action.policy)?;
        fields.serialize_field("reuse", &action.reuse)?;
        fields.serialize_field("isService", &action.service.is_some())?;
        fields.serialize_field("retryAttempts", &action.retry_attempts)?;
        fields.serialize_field("continueOnFailure", &action.continue_on_failure)?;
        fields.serialize_field("after", &action.after)?;
        fields.serialize_field("onSurvivors", &action.on_survivors)?;
        if action.control {
            fields.serialize_field("control", &true)?;
        }
        if !action.writes.is_empty() {
            fields.serialize_field("writes", &action.writes)?;
        }
        fields.end()
    }
}

impl<'p> PlanV1<'p> {
    pub fn of(plan: &'p Plan) -> Self {
        Self {
            schema: "proctor-plan-v1",
            task: &plan.task,
            project: &plan.project_name,
            origin: &plan.origin,
            actions: plan.actions().map(ActionV1).collect(),
            tests_not_run: plan.tests_not_run.as_deref(),
            notes: &plan.notes,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
