//! What a plan amounts to, as one digest: the thing that is approved (S7); and the same of one of its checks.

use serde::Serialize;

use crate::model::{Action, Digest, Plan, PolicySource};

/// Returns the digest of what a plan runs and how it judges it.
///
/// Notes, descriptions, the project's name, and where something was written are left out: a comment line added to
/// `proctor.toml` changes no plan. The text is RFC 8785 canonical JSON.
///
/// A plan without terms of approval, or of strictness, has the digest it had before there were any.
pub fn plan_digest(plan: &Plan) -> Digest {
    let digest = digest_without_approval(plan);
    let strictness = plan.specification.as_ref().map(|source| &source.strictness).filter(|said| !said.is_empty());
    let digest = strictness.map_or(digest, |strictness| canonical(&(digest, strictness)));
    if plan.approval.is_default() { digest } else { canonical(&(digest, &plan.approval)) }
}

fn digest_without_approval(plan: &Plan) -> Digest {
    let all = (&plan.task, essence(&plan.prerequisites), essence(&plan.steps), essence(&plan.cleanup));
    let flow = (&plan.order, plan.parallel, plan.timeout);
    match (&plan.criteria, &plan.specification) {
        (None, None) if plan.order.is_empty() && !plan.parallel && plan.timeout.is_none() => canonical(&all),
        (None, None) => canonical(&(all, &plan.order, plan.parallel, plan.timeout)),
        // A condition, a dependency or a kind of debt less is a weakening as much as a check less is. Titles are for people.
        (criteria, source) => {
            let debt = plan.debt.as_ref();
            let debt = debt.map(|it| (it.enabled, it.routing, it.sprint_max_items, it.sprint_max_critical, &it.severities));
            canonical(&(all, flow, criteria, source.as_ref().map(|source| &source.dependencies), debt))
        }
    }
}

/// Returns the digest of what one check of a plan runs and how it is judged, likewise; with the plan's prerequisites, which
/// prepare what it runs in.
pub fn check_digest(plan: &Plan, check: &Action) -> Digest {
    canonical(&(&plan.task, essence(&plan.prerequisites), essence(std::slice::from_ref(check))))
}

fn essence(actions: &[Action]) -> Vec<Action> {
    let mut actions = actions.to_vec();
    for action in &mut actions {
        action.description.clear();
        action.command.display.clear();
        if let Some(policy) = &mut action.policy {
            policy.source = PolicySource::Default;
        }
    }
    actions
}

pub(super) fn canonical(value: &impl Serialize) -> Digest {
    Digest::of(&serde_json_canonicalizer::to_vec(value).expect("a plan holds nothing that JSON cannot"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Configuration;
    use crate::spec::{DiskFiles, plan_command};

    /// What was approved stays approved when plans can say more: what they do not say is no part of the digest.
    #[test]
    fn a_plan_that_says_nothing_of_its_flow_has_the_digest_of_its_actions() {
        let files = DiskFiles::new(Path::new("/nowhere"));
        let plan = plan_command(&["true".to_owned()], &Configuration::default(), &files, "shop").expect("a command is a plan");
        let of_actions = (&plan.task, essence(&plan.prerequisites), essence(&plan.steps), essence(&plan.cleanup));
        assert_eq!(plan_digest(&plan), canonical(&of_actions));
        let ordered = Plan { parallel: true, ..plan.clone() };
        assert_ne!(plan_digest(&ordered), canonical(&of_actions));
    }
}
