//! What a plan amounts to, as one digest: the thing that is approved (S7).

use crate::model::{Digest, Plan, PolicySource};

/// Returns the digest of what a plan runs and how it judges it.
///
/// Notes, descriptions, the project's name, and where something was written are left out: a comment line added to
/// `proctor.toml` changes no plan. The text is RFC 8785 canonical JSON.
pub fn plan_digest(plan: &Plan) -> Digest {
    let mut plan = plan.clone();
    plan.notes.clear();
    plan.project_name.clear();
    for action in plan.prerequisites.iter_mut().chain(&mut plan.steps).chain(&mut plan.cleanup) {
        action.description.clear();
        action.command.display.clear();
        if let Some(policy) = &mut action.policy {
            policy.source = PolicySource::Default;
        }
    }
    let all = (plan.task, plan.prerequisites, plan.steps, plan.cleanup);
    let canonical = serde_json_canonicalizer::to_vec(&all).expect("a plan holds nothing that JSON cannot");
    Digest::of(&canonical)
}
