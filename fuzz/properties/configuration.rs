//! Every text of settings is read or refused with a reason, and settings that were read give a plan or a reason why there is none.

use std::path::Path;

use proctor_model::Problem;
use proctor_plan::config::read;
use proctor_plan::spec::{check_digest, plan, plan_digest};
use proctor_tools::prepare;

use super::project::Parts;

/// Checks that one input is read or refused with a reason, and that settings give a plan or a reason. The input is the
/// settings, then the project's files.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let parts = Parts::of(bytes);
    let Ok(text) = std::str::from_utf8(parts.head()) else { return };
    let configuration = match read(text, "proctor.toml") {
        Ok(configuration) => configuration,
        Err(problems) => return says_why(&problems),
    };
    match plan(&configuration, &parts, "sample") {
        Ok(plan) => {
            let _ = plan_digest(&plan);
            for action in plan.prerequisites.iter().chain(&plan.steps).chain(&plan.cleanup) {
                let _ = check_digest(&plan, action);
                let preparation = prepare(action, Path::new("/out"), Some(Path::new("/project/evidence")));
                assert_eq!(preparation.argv.is_empty(), action.command.argv.is_empty(), "a command stays one");
            }
            serde_json::to_string(&plan).expect("a plan is JSON");
        }
        Err(problems) => says_why(&problems),
    }
}

fn says_why(problems: &[Problem]) {
    assert!(!problems.is_empty(), "what is refused is refused for a reason");
    for problem in problems {
        assert!(!problem.to_string().trim().is_empty());
    }
}
