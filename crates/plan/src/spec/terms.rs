//! Lists what a plan demands, in the form that approvals record.
//!
//! Computes the digest of a plan, which people approve (S7), and of a single check.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use proctor_model::{
    Action, ActionId, ActionPhase, ActionTerms, ActionWords, Digest, EvidenceCapture, NetworkAccess, OnSurvivors, Plan,
    PlanOrigin, PlanTerms, PolicySource, Reuse, TaskCriteria, ToolPolicy,
};
use proctor_tools::without_runner;

/// An approval records at most this many characters of an action's command. People read them to see what was approved.
pub(super) const SHOWN: usize = 120;
/// What the name of a part begins with if the part is a variable of the environment.
pub(super) const VARIABLE: &str = "environment.";
/// The part that says whether the run goes on without a prerequisite or clean-up. It is about the verdict, and opens nothing.
pub(super) const MAY_FAIL: &str = "continueOnFailure";
/// The value of a part that is on.
const YES: &str = "yes";
/// A pass rate of 100 %, in basis points: the rate of a plan in which every step must pass.
const ALL: u32 = 10_000;

/// Returns what a plan demands: its actions, limits, conditions and approval terms. Comparing the record of an approved
/// plan with the record of a new plan shows where the rules differ. The project's settings are left out:
/// `settings_changes` compares them. What is found of the programs is left out too, because nothing is searched here.
pub fn plan_terms(plan: &Plan) -> PlanTerms {
    let criteria = plan.criteria.as_ref();
    let conditions = |conditions: Option<&Vec<proctor_model::TaskCondition>>| -> Vec<String> {
        conditions.into_iter().flatten().map(|condition| condition.condition.clone()).collect()
    };
    PlanTerms {
        actions: plan.actions().map(|action| (action.id.clone(), action_terms(action, plan))).collect(),
        timeout_ms: plan.timeout.map(millis),
        success: conditions(criteria.map(|criteria| &criteria.success)),
        failure: conditions(criteria.map(|criteria| &criteria.failure)),
        expected_output: criteria.and_then(|criteria| criteria.expected_output.clone()).unwrap_or_default(),
        pass_rate_basis_points: criteria.map(|criteria| {
            let rate = criteria.minimum_pass_rate_basis_points.filter(|_| !criteria.all_steps_must_pass);
            rate.unwrap_or(ALL)
        }),
        expected_failing_tests: criteria
            .and_then(|criteria| criteria.expected_failure.as_ref())
            .map(|expected| expected.tests.clone())
            .unwrap_or_default(),
        required_evidence: criteria.map(|criteria| criteria.required_evidence.clone()).unwrap_or_default(),
        task_status_lock: criteria.is_none_or(|criteria| criteria.task_status_lock),
        judged: criteria.map(digest_of_criteria),
        dependencies: plan.specification.iter().flat_map(|source| source.dependencies.iter().cloned()).collect(),
        strictness: plan.specification.iter().flat_map(|source| source.strictness.iter().cloned()).collect(),
        approval: plan.approval.clone(),
        settings: None,
        in_front: None,
        debt: plan.debt.iter().filter(|debt| debt.enabled).flat_map(|debt| debt.severities.iter().copied()).collect(),
    }
}

/// Returns the digest of those criteria of a task that have no field of their own in `PlanTerms`.
fn digest_of_criteria(criteria: &TaskCriteria) -> Digest {
    let mut rest = criteria.clone();
    rest.success.clear();
    rest.failure.clear();
    (rest.expected_output, rest.minimum_pass_rate_basis_points, rest.expected_failure) = (None, None, None);
    rest.required_evidence.clear();
    (rest.all_steps_must_pass, rest.task_status_lock) = (false, false);
    canonical(&rest)
}

/// How the actions of one plan are matched with those of another plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// Actions are identified by their ids, which come from a test specification.
    Ids,
    /// Actions are identified by their names. The ids of configured checks are numbers, which change when a check is
    /// inserted before them.
    Names,
}

fn naming(plan: &Plan) -> Naming {
    if plan.specification.is_some() { Naming::Ids } else { Naming::Names }
}

fn action_terms(action: &Action, plan: &Plan) -> ActionTerms {
    let naming = naming(plan);
    ActionTerms {
        name: (naming == Naming::Names).then(|| action.name.clone()),
        does: digest_of_action(action, naming),
        does_with_found: (naming == Naming::Names && action.command_is_ours).then(|| {
            // The path of the discovered interpreter may change, for example when `.venv` is created, and the package manager then no
            // longer stands before it. That must not count as a change.
            let mut found = action.clone();
            found.command.argv = without_runner(&action.command.argv).to_vec();
            found.command.argv.first_mut().into_iter().for_each(String::clear);
            digest_of_action(&found, naming)
        }),
        phase: Some(action.phase).filter(|phase| *phase != ActionPhase::Step),
        shards: action.shards,
        in_place: action.in_place,
        network: action.network,
        words: Some(words(action, naming)),
        program: None,
        approved_on: None,
        shown: action.command.display.chars().take(SHOWN).collect(),
        expected_exit_codes: action.expected_exit_codes.clone(),
        timeout_ms: millis(action.timeout),
        idle_timeout_ms: action.idle_timeout.map(millis),
        max_output_bytes: action.max_output.map(|size| size.0),
        policy: action.policy.clone().map(|policy| ToolPolicy { source: PolicySource::Default, ..policy }),
        coverage: action.coverage.clone(),
        retry_attempts: action.retry_attempts,
        on_survivors: action.on_survivors,
        control: action.control,
        paths: if is_found(plan) { Vec::new() } else { action.paths.clone() },
        writes: action.writes.clone(),
        after: Some(action.after.iter().map(|id| name_of(id, plan, naming)).collect()),
        // Whether a save brings a run changes nothing of what a run does.
        reuse: if is_found(plan) || action.reuse.is_never_in_a_run() { Reuse::default() } else { action.reuse },
    }
}

/// Returns whether proctor found the plan's checks itself. Which saves start them, and whether their results are reused, is then no
/// rule of the project: no approval holds it.
fn is_found(plan: &Plan) -> bool {
    plan.origin == PlanOrigin::Discovered
}

/// Returns the name by which an action is matched with one of another plan.
fn name_of(id: &ActionId, plan: &Plan, naming: Naming) -> String {
    let named = plan.actions().find(|action| action.id == *id).filter(|_| naming == Naming::Names);
    named.map_or_else(|| id.as_str().to_owned(), |action| action.name.clone())
}

/// Returns the digest of the parts of an action that have no field of their own in `ActionTerms`. Texts for people and
/// the order of actions are left out, because they do not make a verdict easier.
fn digest_of_action(action: &Action, naming: Naming) -> Digest {
    canonical(&what_it_does(action, naming))
}

/// Returns the parts of what an action does. A part that has no value is left out.
fn words(action: &Action, naming: Naming) -> ActionWords {
    let mut rest = what_it_does(action, naming);
    let command = std::mem::take(&mut rest.command.argv);
    let mut parts = BTreeMap::new();
    let value = serde_json::to_value(&rest).expect("an action holds nothing that JSON cannot");
    collect_parts(String::new(), &value, &mut parts);
    if rest.continue_on_failure {
        parts.insert(MAY_FAIL.to_owned(), YES.to_owned());
    }
    // The value of a variable or of a request's header may be a secret, so the ledger has only its digest.
    let may_be_secret = |name: &str| name.starts_with(VARIABLE) || name.contains("headers.");
    for (_, value) in parts.iter_mut().filter(|(name, _)| may_be_secret(name)) {
        *value = Digest::of(value.as_bytes()).hex();
    }
    ActionWords { command, tool: action.tool, rest: canonical(&rest), parts }
}

fn collect_parts(name: String, value: &Value, parts: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                collect_parts(name, value, parts);
            }
            return;
        }
        Value::Null | Value::Bool(false) => return,
        Value::Bool(true) => YES.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => return,
        Value::Array(_) => value.to_string(),
    };
    if !text.is_empty() || name.starts_with(VARIABLE) {
        parts.insert(name, text);
    }
}

/// Returns an action without what [`digest_of_action`] leaves out.
fn what_it_does(action: &Action, naming: Naming) -> Action {
    let mut rest = action.clone();
    if naming == Naming::Names {
        rest.id = ActionId::numbered(rest.phase.prefix(), 0);
        // `proctor init` writes discovered commands into `proctor.toml`. That does not change what is run.
        rest.command_is_ours = false;
    }
    rest.name.clear();
    rest.description.clear();
    rest.command.display.clear();
    rest.expected_exit_codes.clear();
    (rest.timeout, rest.grace) = Default::default();
    (rest.idle_timeout, rest.max_output, rest.policy, rest.coverage) = Default::default();
    rest.retry_attempts = 0;
    rest.on_survivors = OnSurvivors::Report;
    // Whether the other steps run after a failed step does not change the verdict. A run that needs no prerequisite or clean-up is easier
    // to pass.
    rest.continue_on_failure &= rest.phase != ActionPhase::Step;
    rest.after.clear();
    (rest.paths, rest.writes, rest.reuse, rest.control, rest.in_place) = Default::default();
    (rest.network, rest.shards) = (NetworkAccess::Open, None);
    rest.capture = EvidenceCapture::default();
    rest
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

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
    let mut cleanup = compared(&plan.cleanup);
    // A clean-up of `proctor.toml` has no `continueOnFailure`. Its digest is computed without that field, as that of the first plans was.
    if plan.specification.is_none() {
        cleanup.iter_mut().for_each(|action| action.continue_on_failure = true);
    }
    let mut steps = compared(&plan.steps);
    if is_found(plan) {
        steps.iter_mut().for_each(|step| (step.paths, step.reuse) = Default::default());
    }
    let all = (&plan.task, compared(&plan.prerequisites), steps, cleanup);
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
    canonical(&(&plan.task, compared(&plan.prerequisites), compared(std::slice::from_ref(check))))
}

fn compared(actions: &[Action]) -> Vec<Action> {
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
        let of_actions = (&plan.task, compared(&plan.prerequisites), compared(&plan.steps), compared(&plan.cleanup));
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
