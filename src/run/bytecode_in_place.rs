//! Python bytecode of actions that work in the project itself: each attempt gets an empty directory for it.
//!
//! Python takes a compiled module for current if the source has the same time in whole seconds and the same size. So after
//! two saves within one second it could run the module of the first save. Compiled modules of earlier runs are therefore
//! never used: `PYTHONPYCACHEPREFIX` leads to a directory below the attempt's output directory, which is empty when the
//! attempt starts and is removed with the run. On a snapshot, `bytecode` decides which compiled modules a check sees.

use std::ffi::OsStr;
use std::path::Path;

use crate::model::{Action, ActionPhase, PlanNote};
use crate::sandbox::ChildEnvironment;

const VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// The directory of compiled modules, below the attempt's output directory. Python makes it when it needs it.
const DIRECTORY: &str = "python-bytecode";

/// Returns whether an action that works in the project may run bytecode of earlier runs if nobody prevents it. A prerequisite
/// that is no service does not count: it may install packages, and their compiled modules belong beside them.
pub(super) fn may_run_old_bytecode(action: &Action) -> bool {
    match action.phase {
        ActionPhase::Step | ActionPhase::Cleanup => true,
        ActionPhase::Prerequisite => action.service.is_some(),
    }
}

/// Gives an action that works in the project a directory of its own for bytecode. A value of the project or the user is kept;
/// an empty value counts as none, as it does for Python.
pub(super) fn keep_bytecode_apart(environment: &mut ChildEnvironment, output: &Path) {
    let is_set = environment.variables.get(OsStr::new(VARIABLE)).is_some_and(|value| !value.is_empty());
    if !is_set {
        environment.set_own(VARIABLE, output.join(DIRECTORY));
    }
}

/// Returns a note if somebody else set where an action that worked in the project has its bytecode.
pub(super) fn note_of_foreign_bytecode(action: &Action, environment: &ChildEnvironment, output: &Path) -> Option<PlanNote> {
    let value = environment.variables.get(OsStr::new(VARIABLE)).filter(|value| !value.is_empty())?;
    if !may_run_old_bytecode(action) || Path::new(value) == output.join(DIRECTORY) {
        return None;
    }
    let message = format!(
        "`{VARIABLE}` is set, so this check, which works in the project itself, may run Python modules that an earlier run compiled: \
         Python does not tell two saves of the same size within one second apart. Without the variable, proctor gives each check an \
         empty directory"
    );
    Some(PlanNote { subject: action.name.clone(), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::testing::action;
    use crate::sandbox::EnvironmentAdditions;

    fn environment(value: Option<&str>) -> ChildEnvironment {
        let ambient = value.map(|value| (VARIABLE.into(), value.into())).into_iter().collect();
        let settings = EnvironmentAdditions { pass: vec![VARIABLE.to_owned()], ..EnvironmentAdditions::default() };
        ChildEnvironment::build(&ambient, &settings, &action(ActionPhase::Step), Path::new("/out"))
    }

    #[test]
    fn each_attempt_has_an_empty_directory_of_its_own_unless_somebody_set_one() {
        let check = action(ActionPhase::Step);
        let out = Path::new("/out");
        for value in [None, Some("")] {
            let mut environment = environment(value);
            keep_bytecode_apart(&mut environment, out);
            assert_eq!(environment.as_text()[VARIABLE], "/out/python-bytecode");
            assert_eq!(note_of_foreign_bytecode(&check, &environment, out), None);
        }
        let mut environment = environment(Some("/mine"));
        keep_bytecode_apart(&mut environment, out);
        assert_eq!(environment.as_text()[VARIABLE], "/mine");
        let note = note_of_foreign_bytecode(&check, &environment, out).expect("a note");
        assert!(note.message.starts_with("`PYTHONPYCACHEPREFIX` is set"), "{}", note.message);
    }

    #[test]
    fn what_a_prerequisite_installs_keeps_its_bytecode_beside_it() {
        let of = |phase| may_run_old_bytecode(&action(phase));
        assert!(of(ActionPhase::Step) && of(ActionPhase::Cleanup) && !of(ActionPhase::Prerequisite));
    }
}
