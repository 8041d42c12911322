//! What a run's reviews mean for the command that asked for it. Pure.

use crate::model::{CommandExit, Observed, ReviewVerdict};
use crate::report::ActionDisposition;
use crate::run::perform::Performed;

/// Returns how a command ends: where a review has no verdict a person is needed, whatever else is to be mended (G5, C3).
pub(crate) fn exit(exit: CommandExit, performed: &[Performed]) -> CommandExit {
    match exit {
        CommandExit::CodeNeedsWork | CommandExit::Proceed if performed.iter().any(is_indeterminate) => CommandExit::PersonNeeded,
        exit => exit,
    }
}

fn is_indeterminate(one: &Performed) -> bool {
    match &one.facts.disposition {
        ActionDisposition::Executed(executed) => match &executed.observed {
            Observed::Review(seen) => seen.verdict == ReviewVerdict::Indeterminate,
            Observed::Nothing | Observed::File(_) | Observed::Exchange(_) | Observed::Service(_) => false,
        },
        ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => false,
    }
}
