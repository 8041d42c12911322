//! What a run knows from its beginning to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::guarded_files::GuardedFiles;
use crate::left_behind::LeftBefore;
use proctor_model::{
    Action, ActionId, ChangedRules, Digest, ExpectedFailure, NetworkAccess, Phase, RunId, TddState, Timestamp, TreeDifference,
    TreeDigest, TreeIssue,
};
use proctor_project::{RunRequest, SelectedChecks};
use proctor_sandbox::process::{RunNetwork, clock};
use proctor_tools::ConfiguredFiles;

/// Everything that a run needs from its beginning to its end.
pub(crate) struct RunContext<'a> {
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) run_id: RunId,
    /// The time of the file system's clock before the tree was read. A file with a later time may have been saved during
    /// the run.
    pub(crate) looked: Timestamp,
    pub(crate) started: Timestamp,
    pub(crate) begun: clock::Monotonic,
    /// In which files the tree differs from the one that the task's last run tested; `None` if that tree is not known.
    pub(crate) since_last_run: Option<TreeDifference>,
    pub(crate) issues: Vec<TreeIssue>,
    pub(crate) plan_digest: Digest,
    pub(crate) before: TreeDigest,
    pub(crate) tdd: TddState,
    pub(crate) selected: SelectedChecks,
    /// The checks in the order of execution.
    pub(crate) order: Vec<&'a Action>,
    /// The runs in which checks already had a result on this tree, by check, if the missing checks were asked for.
    pub(crate) on_this_tree: BTreeMap<ActionId, RunId>,
    /// The prerequisites that succeeded in earlier runs, by name. The value is the digest of the prerequisite's command,
    /// inputs and outputs when it last succeeded.
    pub(crate) met: BTreeMap<String, Digest>,
    pub(crate) left_before: LeftBefore,
    /// The files that decide how the project is judged, if an action of the plan works in the project itself.
    pub(crate) guarded: GuardedFiles,
    /// Which rules of the run nobody has approved; `None` if all are approved.
    pub(crate) changed_rules: Option<ChangedRules>,
    /// Whether a configuration in the tree may leave files out of a check that does not say how many files it had.
    pub(crate) configured_files: ConfiguredFiles,
    /// Whether code that pytest loads before the tests may put another session in the place of a check's session.
    pub(crate) may_replace_session: bool,
}

impl RunContext<'_> {
    /// Returns the action that is carried out last.
    pub(crate) fn last_action(&self) -> Option<&Action> {
        let plan = self.request.plan;
        plan.cleanup.last().or_else(|| self.order.last().copied()).or_else(|| plan.prerequisites.last())
    }

    /// Returns whether the checks' inputs must be known before the first check, because a result may be reused in this
    /// run or later. In a started cycle nothing is reused.
    pub(crate) fn needs_check_inputs(&self) -> bool {
        let may_reuse_later = self.request.plan.steps.iter().any(|step| !step.reuse.is_never_in_a_run());
        !self.tdd.started && (may_reuse_later || !self.on_this_tree.is_empty())
    }

    /// Returns the phase in which the run is judged: the requested one, otherwise the task's.
    pub(crate) fn phase(&self) -> Phase {
        self.request.phase.unwrap_or(self.tdd.phase)
    }

    /// Returns the declared failure of the task's tests, if it applies now. Outside of a started cycle it always
    /// applies. In a started cycle it applies in the red phase only: in the other phases the same tests must pass
    /// (C06), whichever phase is requested.
    pub(crate) fn expected_failure(&self) -> Option<&ExpectedFailure> {
        let declared = self.request.plan.criteria.as_ref()?.expected_failure.as_ref();
        declared.filter(|_| !self.tdd.started || (self.tdd.phase == Phase::Red && self.phase() == Phase::Red))
    }

    /// Returns whether the run is a step of a started cycle. A run for another phase than the cycle's gets advice only.
    pub(crate) fn is_step_of_cycle(&self) -> bool {
        self.tdd.started && self.phase() == self.tdd.phase && !self.request.is_typed() && self.changed_rules.is_none()
    }
}

// The networks of a run: one for each kind that an action of it asks for, made when the first such action starts. All actions with the same
// kind share it, so that checks reach the services of their run (E24).

/// A network of the run's own, or why it cannot be made.
type MadeNetwork = Result<Arc<RunNetwork>, String>;

/// The networks that a run has made so far.
#[derive(Debug, Default)]
pub struct RunNetworks(RefCell<BTreeMap<NetworkAccess, MadeNetwork>>);

impl RunNetworks {
    /// Returns the network that an action is to have; `None` for the machine's. `executable` is proctor itself.
    pub(crate) fn of(&self, access: NetworkAccess, executable: &Path) -> Option<MadeNetwork> {
        let make = || RunNetwork::make(executable, access).map(Arc::new);
        (!access.is_open()).then(|| self.0.borrow_mut().entry(access).or_insert_with(make).clone())
    }
}
