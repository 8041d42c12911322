//! Computes the digest of a plan, which people approve (S7), and of a single check.

use serde::Serialize;

use proctor_model::{Action, Digest, Plan, PolicySource};

/// Returns the digest of the plan's actions and of the rules by which it judges them.
///
/// Notes, descriptions, the project's name and positions in files are left out, so adding a comment line to
/// `proctor.toml` does not change the digest. The hashed text is RFC 8785 canonical JSON.
///
/// Approval terms, strictness settings and the values of placeholders were added later. A plan without them keeps the digest that it had before, so
/// earlier approvals stay valid.
pub fn plan_digest(plan: &Plan) -> Digest {
    let digest = digest_without_approval(plan);
    let strictness = plan.specification.as_ref().map(|source| &source.strictness).filter(|said| !said.is_empty());
    let digest = strictness.map_or(digest, |strictness| canonical(&(digest, strictness)));
    let filled = plan.specification.as_ref().map(|source| &source.filled).filter(|filled| !filled.is_empty());
    let digest = filled.map_or(digest, |filled| canonical(&(digest, filled)));
    if plan.approval.is_default() { digest } else { canonical(&(digest, &plan.approval)) }
}

fn digest_without_approval(plan: &Plan) -> Digest {
    let mut cleanup = essence(&plan.cleanup);
    // A clean-up of `proctor.toml` cannot be told to be continued after. Its digest is the one of the first plans.
    if plan.specification.is_none() {
        cleanup.iter_mut().for_each(|action| action.continue_on_failure = true);
    }
    let all = (&plan.task, essence(&plan.prerequisites), essence(&plan.steps), cleanup);
    let flow = (&plan.order, plan.parallel, plan.timeout);
    match (&plan.criteria, &plan.specification) {
        (None, None) if plan.order.is_empty() && !plan.parallel && plan.timeout.is_none() => canonical(&all),
        (None, None) => canonical(&(all, &plan.order, plan.parallel, plan.timeout)),
        // Conditions, dependencies and debt settings are included, because removing one of them weakens the plan as
        // removing a check does. Titles are left out.
        (criteria, source) => {
            let debt = plan.debt.as_ref();
            let debt = debt.map(|it| (it.enabled, it.routing, it.sprint_max_items, it.sprint_max_critical, &it.severities));
            canonical(&(all, flow, criteria, source.as_ref().map(|source| &source.dependencies), debt))
        }
    }
}

/// Returns the digest of one check: what it runs and how it is judged. The plan's prerequisites are included, because
/// they prepare what the check runs in.
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

    /// New features of plans must not invalidate earlier approvals: a feature that a plan does not use is not part of
    /// its digest.
    #[test]
    fn a_plan_that_says_nothing_of_its_flow_has_the_digest_of_its_actions() {
        let files = DiskFiles::new(Path::new("/nowhere"));
        let plan = plan_command(&["true".to_owned()], &Configuration::default(), &files, "shop").expect("a command is a plan");
        let of_actions = (&plan.task, essence(&plan.prerequisites), essence(&plan.steps), essence(&plan.cleanup));
        assert_eq!(plan_digest(&plan), canonical(&of_actions));
        // Neither the default of `parallel` nor "auto" nor `false` is part of the digest, so earlier approvals stay
        // valid.
        let with = |said: &str| {
            let text = format!("[[check]]\nname = \"tests\"\ncommand = \"make\"\n[run]\n{said}\n");
            let configuration = crate::config::read(&text, "proctor.toml").expect("the settings are right");
            plan_digest(&crate::spec::plan(&configuration, &files, "shop").expect("there is a plan"))
        };
        assert_eq!([with(""), with("parallel = \"auto\"")], [with("parallel = false"); 2]);
        assert_ne!(with("parallel = true"), with("parallel = false"));
        // A clean-up of `proctor.toml` has the digest that it had when it was continued after by default.
        let configuration =
            crate::config::read("[[check]]\nname = \"a\"\ncommand = \"b\"\n[[cleanup]]\nname = \"c\"\ncommand = \"d\"\n", "");
        let mut cleaned = crate::spec::plan(&configuration.expect("it is right"), &files, "shop").expect("there is a plan");
        let digest = plan_digest(&cleaned);
        cleaned.cleanup[0].continue_on_failure = true;
        assert_eq!(plan_digest(&cleaned), digest);
        let ordered = Plan { parallel: true, ..plan.clone() };
        assert_ne!(plan_digest(&ordered), canonical(&of_actions));
    }
}
