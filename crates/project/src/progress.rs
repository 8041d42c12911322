//! Progress messages of a run. They are shown on screens, and no verdict depends on them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proctor_evidence::report::ActionResultV2;
use proctor_model::{Action, ActionId, CommandExit, DurationMs, RunId, TaskId, TreeDigest, TreeIssue};
use proctor_tree::TreeIndex;

/// What a run tells while it is under way.
#[derive(Debug, Clone)]
pub enum Progress {
    /// Another process is writing this project's evidence, and the run waits for it.
    WaitingForLock {
        /// The limit on the wait. After this time the run is given up.
        wait: Duration,
    },
    /// As many actions run on this machine as are allowed, and the next action waits for its turn.
    WaitingForSlot {
        /// The number of running actions.
        under_way: usize,
        /// The number of actions that wait in front of the run's next action.
        ahead: usize,
        /// The limit on the wait for a turn. After this time the run is given up.
        wait: Duration,
    },
    /// Runs whose process had died were sealed as INTERRUPTED.
    Recovered {
        runs: Vec<RunId>,
    },
    /// A helper process of proctor died, so the run that ends now has no verdict and is carried out once more.
    HelperDied {
        /// The run that has no verdict.
        run_id: RunId,
        /// The exit code that the run would give a command.
        exit: CommandExit,
        /// What died, as a sentence for people.
        why: String,
    },
    /// A remark that is shown once, such as that a plan was approved automatically.
    Note(String),
    Begun {
        run_id: RunId,
        project_name: String,
        task: TaskId,
        tree: TreeDigest,
        /// Files and directories of the tree whose digests could not be computed.
        issues: Vec<TreeIssue>,
        /// The index of the tree that is tested: every file with its digest.
        index: Box<TreeIndex>,
        /// The report of the task's last run; `None` if there is none. Its files may have been pruned since.
        last_report: Option<Arc<Path>>,
    },
    ActionStarted(Box<Action>),
    /// The process of an action is about to start.
    ProcessPrepared {
        action_id: ActionId,
        /// The log that the action's output is written to while it runs.
        log: Arc<File>,
    },
    /// A service (a prerequisite that runs beside the checks) is ready.
    ServiceReady {
        action: Box<Action>,
        /// How long the service took to become ready.
        after: DurationMs,
    },
    /// An action ended, or was skipped.
    ActionEnded(Box<ActionResultV2>),
    /// The last action is over. Files that checks wrote may be copied to the project from now on.
    ChecksOver,
}
