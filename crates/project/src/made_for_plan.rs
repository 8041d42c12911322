//! What the checks of a plan see of ignored entries, beside those that every plan's checks see. Pure, but for a look for the plan's
//! programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::environment_digest::environments_of_programs;
use proctor_model::{Action, Plan, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::ShownOutputs;

/// What checks see of ignored entries because of their plan.
#[derive(Debug, Default)]
pub struct MadeForPlan {
    /// The outputs that prerequisites make.
    pub(crate) outputs: ShownOutputs,
    /// The environments inside of the project that the plan's programs belong to, as absolute paths.
    pub(crate) environments: BTreeSet<PathBuf>,
}

impl MadeForPlan {
    /// Looks for the environments of the plan's programs. `path_variable` has the directories in which programs are searched.
    pub fn of(plan: &Plan, root: &Path, path_variable: &OsStr) -> Self {
        let environments = environments_of_programs(plan, root, path_variable);
        Self { outputs: outputs_of_plan(plan), environments }
    }
}

impl MadeForPlan {
    /// Adds the outputs that tools' configuration files name. A directory with files of the tree is no output.
    pub fn with_configured(mut self, index: &TreeIndex, outputs: impl Iterator<Item = String>) -> Self {
        let paths = outputs.filter_map(|path| TreePath::try_from(path.as_str()).ok());
        self.outputs.configured = paths.filter(|path| index.lookup(path).is_none()).collect();
        self.outputs.configured.sort();
        self.outputs.configured.dedup();
        self
    }
}

/// Returns the reports of checks, which no check sees, and the ignored outputs that checks see because a prerequisite makes them: what `creates` names, and the products of
/// builds if a prerequisite does not say what it makes.
pub fn outputs_of_plan(plan: &Plan) -> ShownOutputs {
    let reports = plan.steps.iter().filter_map(|step| place_of_report(step).as_deref().and_then(clean_path)).collect();
    let mut outputs = ShownOutputs { reports, ..ShownOutputs::default() };
    for action in plan.prerequisites.iter().filter(|action| action.service.is_none()) {
        let created: Vec<TreePath> =
            action.once.iter().flat_map(|once| &once.creates).filter_map(|path| clean_path(path)).collect();
        outputs.products |= created.is_empty();
        outputs.paths.extend(created);
    }
    outputs
}

/// Returns the file of the project that a check's `report` names, or the directory of a glob.
pub fn place_of_report(action: &Action) -> Option<String> {
    let report = action.report.as_ref().filter(|report| report.in_own_directory().is_none())?;
    Some(report.directory_of_glob().unwrap_or(&report.file).to_owned())
}

fn clean_path(path: &str) -> Option<TreePath> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    TreePath::try_from(path).ok().filter(|path| !path.is_root())
}
