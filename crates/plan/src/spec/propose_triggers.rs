//! Proposes which saves start a check, from which runs its result may be taken, and the order of the checks, for the
//! `proctor.toml` that `proctor init` writes.

use proctor_model::{CheckOrder, Plan, Reuse, ToolClass};
use proctor_tools::proposed_paths;

/// Adds `paths` and `reuse = "watch"` to the checks of a plan whose tools read known kinds of files. Other checks stay as
/// they are: any save starts them. A check that works in a directory of its own is started by such files anywhere: members of a
/// workspace read each other.
pub fn propose_triggers(plan: &mut Plan) {
    for step in &mut plan.steps {
        let paths = proposed_paths(step.tool);
        if !paths.is_empty() {
            step.paths = paths;
            step.reuse = Reuse::Watch;
        }
    }
}

/// Returns the order that is proposed for the checks of a plan. The checks that failed come first where no check can read
/// what another one writes: where only one of them runs tests, and the others look for findings.
pub fn propose_order(plan: &Plan) -> CheckOrder {
    let of_class = |class: ToolClass| plan.steps.iter().filter(|step| step.class == class).count();
    let are_independent = of_class(ToolClass::Test) <= 1 && of_class(ToolClass::Generic) == 0;
    if are_independent && plan.steps.len() > 1 { CheckOrder::FailedFirst } else { CheckOrder::Plan }
}
