//! The list of the files that a check looks at: a second call of a tool that does not say it in its check. `tools/` judges the list.
//!
//! The call is made before the check, as a control is, in the same place, environment and isolation.

use std::path::Path;
use std::time::Duration;

use crate::perform::reports::read_source;
use crate::perform::{Attempts, OutputPlaces, Performer, TimeBudget, limits_of};
use proctor_evidence::OutputDirectory;
use proctor_evidence::report::ActionFiles;
use proctor_model::{Action, EvidenceFile, Plan};
use proctor_project::ProjectError;
use proctor_tools::{self as tools, ConfiguredFiles};
use proctor_tree::TreeIndex;

/// The longest time that the call may take. Without a list, the number of files is not known.
const LONGEST: Duration = Duration::from_secs(20);

/// How many files were listed, if that is known, and the files of the call.
pub(super) struct ListingOutcome {
    pub(super) count: Option<u64>,
    pub(super) files: Vec<EvidenceFile>,
}

/// Returns whether a configuration in the tree may leave files out of a check whose files a second call can list.
pub(crate) fn configured_files(plan: &Plan, root: &Path, index: &TreeIndex) -> ConfiguredFiles {
    if !plan.steps.iter().any(tools::may_list_files) {
        return ConfiguredFiles::All;
    }
    let is_narrowing = index.entries().any(|entry| {
        let name = entry.path.name();
        tools::may_narrow_files(name)
            && read_source(root, entry.path.as_path()).is_some_and(|text| tools::narrows_files(name, &text))
    });
    if is_narrowing { ConfiguredFiles::Narrowed } else { ConfiguredFiles::All }
}

impl Performer<'_, '_> {
    /// Lists the files of an action; `None` if nothing leaves files out, or if proctor cannot list the files of the tool.
    pub(super) fn perform_listing(
        &mut self,
        action: &Action,
        time_budget: TimeBudget,
        attempts: &Attempts,
    ) -> Result<Option<ListingOutcome>, ProjectError> {
        let Some(argv) = tools::prepare_listing(action, self.context.configured_files) else { return Ok(None) };
        let attempt = attempts.number();
        let names = ActionFiles::for_listing(action, attempt);
        let output = OutputDirectory::create_for_control(self.lock, &self.context.run_id, &action.id, attempt)?;
        let environment = self.environment(action, output.path());
        let limits = limits_of(action, time_budget.timeout.min(LONGEST));
        let places = OutputPlaces { names: &names, output: &output, is_attempt: false };
        let mut launch = self.prepare_launch(action, limits, argv, attempts, &environment, places)?;
        let ended = self.supervise(action, &mut launch)?;
        self.note_end(action, &ended.end);
        let count = tools::count_listed(action.tool, &ended.end, &ended.captured.stdout, &ended.captured.stderr);
        Ok(Some(ListingOutcome { count, files: self.keep_streams(action, &ended, &names)? }))
    }
}
