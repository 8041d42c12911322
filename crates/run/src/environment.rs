//! The environment of a run: it is surveyed when the checks begin, and looked at again when they are over.
//!
//! Checks use the directories of installed packages as they are, also on a snapshot. So a change of a deciding file during
//! the checks means that nobody can say with which packages they ran.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::reuse::ReusableInputs;
use proctor_evidence::Store;
use proctor_model::{Digest, TreePath};
use proctor_project::{
    EarlierLook, EnvironmentSurvey, Installed, LookedEnvironments, RunRequest, SeenByChecks, SurveyExtent, SurveyScope,
    SurveyedEnvironment, pinned,
};
use proctor_tree::TreeIndex;

/// The beginning of the names of toolchains among the components of the environment.
pub(crate) const TOOLCHAIN: &str = "toolchain ";

/// What is known about the run's environment during its checks.
pub(crate) enum SurveyProgress {
    /// No check needs the environment, so it is still being surveyed in the background.
    UnderWay(EnvironmentSurvey),
    /// The checks' inputs were computed before the first check.
    Known(Box<ReusableInputs>),
}

/// The environment as it was when the checks began.
pub(crate) struct LookedOnce {
    pub(crate) surveyed: SurveyedEnvironment,
    /// By name of the check, for checks that allow reuse: the digest of all inputs.
    inputs: BTreeMap<String, Digest>,
}

/// The environment of a run, after it was looked at for the second time.
pub(crate) struct LookedTwice {
    /// The environment when the checks began.
    pub(crate) surveyed: SurveyedEnvironment,
    /// By name of the check: the digest of its inputs, if they were the same before and after the checks.
    pub(crate) inputs: BTreeMap<String, Digest>,
    /// The deciding files that changed during the checks.
    pub(crate) moved: Vec<TreePath>,
}

impl SurveyProgress {
    pub(crate) fn inputs(&self) -> Option<&ReusableInputs> {
        match self {
            Self::UnderWay(_) => None,
            Self::Known(inputs) => Some(inputs),
        }
    }

    /// Waits for the survey if it is still under way. Returns the environment, and the digests of the inputs of the
    /// checks that allow reuse.
    pub(crate) fn finish(self, index: &TreeIndex) -> LookedOnce {
        match self {
            Self::UnderWay(survey) => LookedOnce { surveyed: survey.finish(pinned(index)), inputs: BTreeMap::new() },
            Self::Known(inputs) => {
                let ReusableInputs { surveyed, toolchains: _, of_checks, on_this_tree: _ } = *inputs;
                let inputs = of_checks.into_iter().map(|(name, (digest, _))| (name, digest)).collect();
                LookedOnce { surveyed, inputs }
            }
        }
    }
}

/// Returns the name of a toolchain among the components of the environment in a report.
pub(crate) fn toolchain_component(path: &str) -> String {
    format!("{TOOLCHAIN}{path}")
}

/// Begins to survey the whole environment again, in the background, if a later run may reuse results of this one.
pub(crate) fn begin_second_survey(
    installed: &Installed,
    store: &Store,
    ambient: &BTreeMap<OsString, OsString>,
    request: &RunRequest<'_>,
    index: &TreeIndex,
    once: &LookedOnce,
) -> Option<EnvironmentSurvey> {
    let looked = once.surveyed.looked.as_ref();
    let extent = looked.map_or(SurveyExtent::DecidingFiles, LookedEnvironments::extent);
    let shown = looked.and_then(|looked| looked.search.shown());
    (!once.inputs.is_empty()).then(|| {
        let seen = SeenByChecks::new(ambient, request, index, shown);
        let scope = SurveyScope { extent, earlier: EarlierLook::Leave };
        installed.begin_environment_survey(store, &request.scope.project, seen, scope)
    })
}

impl LookedOnce {
    /// Looks at the environment for the second time, and compares it with the first look.
    pub(crate) fn look_again(self, again: Option<EnvironmentSurvey>, index: &TreeIndex) -> LookedTwice {
        let Self { surveyed, inputs } = self;
        let again = again.map(|again| again.finish(pinned(index)));
        let is_same = again.as_ref().is_some_and(|again| again.digest == surveyed.digest);
        let moved = surveyed.looked.as_ref().map(|before| {
            // This thread looks itself, because the background thread may be waiting for the disk.
            let now = again.and_then(|again| again.looked).unwrap_or_else(|| before.look_again());
            now.changed_since(before)
        });
        let inputs = if is_same { inputs } else { BTreeMap::new() };
        LookedTwice { surveyed, inputs, moved: moved.unwrap_or_default() }
    }
}
