//! Finds what a new action of a plan may do beyond judging a copy of the project (S7): change the project, or have tools look or
//! write elsewhere by variables. A new check without any of that makes nothing weaker. Pure.

use crate::spec::weakening::{counterpart, label, said};
use crate::spec::word_difference::VARIABLE;
use proctor_model::{ActionId, ActionPhase, ActionTerms, PlanTerms};

/// Returns, in words, what a person must agree to of the actions that only the plan `new` has.
pub(super) fn asked_of_new_actions(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let mut found = writes_of_new_actions(old, new);
    found.extend(new_work_in_project(old, new));
    found.extend(variables_of_new_checks(old, new));
    found
}

/// Returns the actions of `new` that `old` does not have.
fn added<'a>(old: &PlanTerms, new: &'a PlanTerms) -> Vec<(&'a ActionId, &'a ActionTerms)> {
    new.actions.iter().filter(|(id, action)| counterpart(id, action, new, old).is_none()).collect()
}

/// Reports new actions that may change files in the project. A new action without `writes` makes nothing weaker.
fn writes_of_new_actions(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let texts = added(old, new).into_iter().flat_map(|(id, action)| {
        let globs: Vec<_> = action.writes.iter().collect();
        said(&globs, |globs| format!("{}: what it writes to these paths is copied to the project: {globs}", label(id, action)))
    });
    texts.collect()
}

/// Reports new actions that work in the project itself: prerequisites, services, clean-up, and checks without a snapshot.
/// They can change what every later check reads.
fn new_work_in_project(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let texts = added(old, new).into_iter().filter_map(|(id, action)| {
        let what = match action.phase {
            Some(ActionPhase::Prerequisite) => "a new prerequisite",
            Some(ActionPhase::Cleanup) => "a new clean-up",
            Some(ActionPhase::Step) | None if action.in_place => "a new check",
            Some(ActionPhase::Step) | None => return None,
        };
        Some(format!("{}: {what} works in the project itself: {}", label(id, action), action.shown))
    });
    texts.collect()
}

/// Reports new checks that set variables. Variables decide where tools look for code and where they write, so a new one is asked
/// for like a changed one.
fn variables_of_new_checks(old: &PlanTerms, new: &PlanTerms) -> Vec<String> {
    let checks = added(old, new).into_iter().filter(|(_, action)| action.phase.is_none() && !action.in_place);
    let texts = checks.flat_map(|(id, action)| {
        let parts = action.words.iter().flat_map(|words| words.parts.keys());
        let names: Vec<&str> = parts.filter_map(|part| part.strip_prefix(VARIABLE)).collect();
        said(&names, |names| format!("{}: a new check sets these variables: {names}", label(id, action)))
    });
    texts.collect()
}
