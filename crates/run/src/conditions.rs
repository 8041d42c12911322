//! What the results of a run may depend on beside the tree.

use std::collections::BTreeMap;

use crate::check_place::CheckPlace;
use proctor_model::{CachesSeen, IgnoredFiles, RunConditions, ToolchainRecord};
use proctor_project::{RunRequest, checked_out_commit, directory_in_repository, ignored_in_project, outputs_of_plan};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::ShownOutputs;

/// The ignored files that checks could read in the project itself, before any check ran.
#[derive(Debug)]
pub(crate) enum IgnoredBefore {
    /// No check works in the project, as far as it was known then.
    NotLooked,
    /// With whether there were caches among them; `None` if they could not be listed.
    Listed(Option<(IgnoredFiles, CachesSeen)>),
}

impl IgnoredBefore {
    /// Lists the ignored files if a check works in the project itself.
    pub(crate) fn look(request: &RunRequest<'_>, place: &CheckPlace, index: &TreeIndex) -> Self {
        if request.is_typed() {
            // A typed command proves nothing of the task's checks.
            return Self::Listed(None);
        }
        let is_any_in_place = !place.is_snapshot() || request.plan.steps.iter().any(|step| step.in_place);
        if is_any_in_place { Self::Listed(in_project(request, index)) } else { Self::NotLooked }
    }

    /// Returns what the results of the run may depend on beside the tree.
    pub(crate) fn conditions(
        self,
        request: &RunRequest<'_>,
        place: &CheckPlace,
        index: &TreeIndex,
        toolchains: Vec<ToolchainRecord>,
        other_programs: Vec<String>,
    ) -> RunConditions {
        let (ignored, caches) = match (self, place.seen_beside_the_tree()) {
            (Self::NotLooked, Some((ignored, caches))) => (Some(ignored), Some(caches)),
            // The snapshot was given up during the run. What was there before the run is not known.
            (Self::NotLooked, None) => (in_project(request, index).map(|(ignored, _)| ignored), None),
            (Self::Listed(None), _) => (None, None),
            (Self::Listed(Some((ignored, in_project))), place) => {
                let caches = match place {
                    Some((_, CachesSeen::Kept)) => CachesSeen::Kept,
                    Some((_, CachesSeen::Fresh)) | None => in_project,
                };
                (Some(ignored), Some(caches))
            }
        };
        let ignored = ignored.map(|ignored| with_those_of_inputs(ignored, request, index));
        let platform = RunConditions::platform_here();
        let directory = directory_in_repository(&request.scope.root);
        let (rewritten, restored) = place.rewritten().map(|files| (files.rewritten(), files.restored())).unwrap_or_default();
        RunConditions {
            platform,
            directory,
            ignored,
            caches,
            rewritten,
            restored,
            unnamed: Vec::new(),
            left_in_environment: BTreeMap::new(),
            toolchains,
            inputs: Some(index.digested_inputs().map(|(name, _, _)| name.to_owned()).collect()),
            toolchains_looked: None,
            other_programs,
            rules_changed: None,
            tests_not_run: request.plan.tests_not_run.clone(),
            head: checked_out_commit(&request.scope.root),
            fewer_tests: None,
        }
    }
}

/// Adds what rules ignore in the inputs beside the project: checks can read it, and no digest names it.
fn with_those_of_inputs(mut ignored: IgnoredFiles, request: &RunRequest<'_>, index: &TreeIndex) -> IgnoredFiles {
    let own_link = request.settings.matcher.own_link.as_ref();
    for (name, input) in index.input_directories() {
        match ignored_in_project(input, &ShownOutputs::default(), None, own_link) {
            Some((found, _)) => {
                let paths = found.paths.iter().chain(&found.others);
                ignored.others.extend(paths.map(|path| format!("{name}/{path}")));
            }
            None => ignored.others.push(format!("{name}/")),
        }
    }
    ignored
}

fn in_project(request: &RunRequest<'_>, index: &TreeIndex) -> Option<(IgnoredFiles, CachesSeen)> {
    let settings = request.settings;
    let own_link = settings.matcher.own_link.as_ref();
    ignored_in_project(index, &outputs_of_plan(request.plan), settings.task_list.as_deref(), own_link)
}
