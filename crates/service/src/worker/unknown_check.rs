//! A run that was ordered for a check that is not there. Pure.

use proctor_model::Plan;
use proctor_plan::config::nearest;
use proctor_project::Selection;

/// A name that is no check of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCheck {
    name: String,
    /// The checks of the plan.
    known: Vec<String>,
}

impl UnknownCheck {
    /// Returns the first selected name that is no check of the plan. A run of such a check would run nothing.
    pub(super) fn find(selection: &Selection, plan: &Plan) -> Option<Self> {
        let Selection::Named(names) = selection else { return None };
        let name = names.iter().find(|name| plan.steps.iter().all(|step| step.name != **name))?;
        Some(Self { name: name.clone(), known: plan.steps.iter().map(|step| step.name.clone()).collect() })
    }

    /// Returns the error message.
    pub fn message(&self) -> String {
        format!("there is no check `{}`", self.name)
    }

    /// Returns advice: the name that was probably meant, or all names.
    pub fn hint(&self) -> String {
        match nearest(&self.name, self.known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the checks are {}", self.known.join(", ")),
        }
    }
}
