//! What `proctor.toml` says, with every default filled in.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::placed::Placed;
use crate::model::{
    ApprovalTerms, BlockOn, ByteSize, CheckOrder, CommandLine, CoverageTarget, OnChange, OnSurvivors, Once, PolicyCategory,
    RetentionLimits, Reuse, RoutingSettings, Service, TaskId, Tool,
};

/// Everything `proctor.toml` says. Equality is of values, not of the lines they stand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The file as it was named to the reader; later problems and policies' sources name it.
    pub file: String,
    /// `project.name`.
    pub project_name: Option<String>,
    /// `[[check]]`, in the order of the file. Empty: the checks are discovered.
    pub checks: Vec<Check>,
    /// `[[prerequisite]]`, in the order of the file.
    pub prerequisites: Vec<Prerequisite>,
    /// `[[cleanup]]`, in the order of the file.
    pub cleanup: Vec<ActionSettings>,
    /// `[defaults]`.
    pub defaults: ActionDefaults,
    /// `[run]`.
    pub run: RunSettings,
    /// `[watch]`.
    pub watch: WatchSettings,
    /// `[evidence]`.
    pub evidence: EvidenceSettings,
    /// `[tasks]`.
    pub tasks: TaskSettings,
    /// `[queue]`.
    pub queue: QueueSettings,
    /// `[environment]`.
    pub environment: EnvironmentSettings,
    /// `[sandbox]`.
    pub sandbox: SandboxSettings,
    /// `[tdd]` and `[routing]`.
    pub routing: RoutingSettings,
    /// `[policy]`.
    pub policy: PolicySettings,
    /// `[govern]`.
    pub govern: GovernSettings,
    /// `[approval]`.
    pub approval: ApprovalSettings,
}

/// `[approval]`: how it is approved that less is asked for, and which files are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// The signers are not read yet. Where only a signature approves there is a file of keys.
    pub terms: ApprovalTerms,
    /// The file of the keys whose owners may approve, relative to the project or absolute; none: there is none.
    pub allowed_signers: Option<Placed<String>>,
}

/// What holds for every action that does not say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDefaults {
    /// Wall-clock limit of one action.
    pub timeout: Duration,
    /// Longest time without output; none: as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// Most output of both streams together; none: as much as it likes.
    pub max_output: Option<ByteSize>,
    /// Bound of the whole stop ladder (G7).
    pub grace: Duration,
    /// What processes left behind mean (E14).
    pub on_survivors: OnSurvivors,
}

/// What every kind of action can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSettings {
    /// Its position in its list, from 1: `check[2]`.
    pub key_path: String,
    /// Its name, unique in the file. Its place stands for the action's.
    pub name: Placed<String>,
    /// What it runs. None: a check with a `tool`, whose command is ours to find.
    pub command: Option<Placed<CommandLine>>,
    /// Where, relative to the project; none: not said.
    pub directory: Option<Placed<String>>,
    /// Variables for this action alone.
    pub environment: BTreeMap<String, String>,
    /// Wall-clock limit.
    pub timeout: Duration,
    /// Longest time without output; none: as long as it likes.
    pub idle_timeout: Option<Duration>,
    /// Most output of both streams together; none: as much as it likes.
    pub max_output: Option<ByteSize>,
    /// Bound of the whole stop ladder. It may be longer than the time-out: it begins when that ends.
    pub grace: Duration,
    /// Exit codes that count as success for a generic command; none: not said, which means 0 alone.
    pub expected_exit_codes: Option<Placed<Vec<i32>>>,
    /// What processes left behind mean.
    pub on_survivors: OnSurvivors,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What every action has.
    pub action: ActionSettings,
    /// The tool it says it is; none: recognised from the command.
    pub tool: Option<Placed<Tool>>,
    /// Globs that limit what triggers it; empty: everything.
    pub paths: Vec<String>,
    /// The names of the checks it comes after.
    pub after: Placed<Vec<String>>,
    /// How often it is carried out again after an attempt that did not succeed.
    pub retries: u8,
    /// When an earlier verdict may stand for it.
    pub reuse: Reuse,
    /// What a review's reviewer is given: a file of the project; none: nothing.
    pub prompt: Option<Placed<String>>,
    /// Whether emphasis around the label of a review's verdict alone is accepted; none: not said, which means it is.
    pub accept_split_emphasis: Option<Placed<bool>>,
    /// The coverage that is required.
    pub coverage: Option<Placed<CoverageTarget>>,
    /// Whether tests that must fail are run before.
    pub control: bool,
    /// What differs from the tool's policy.
    pub policy: Placed<PolicyOverride>,
}

/// A prerequisite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prerequisite {
    /// What every action has.
    pub action: ActionSettings,
    /// When it need not run again.
    pub once: Once,
    /// What makes it a service; none: it is done when its command ends.
    pub service: Option<Service>,
}

/// `[run]`: which checks a run carries out, in which order, and whether side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSettings {
    /// The order of the checks.
    pub order: CheckOrder,
    /// When an earlier verdict may stand for a check that does not say otherwise.
    pub reuse: Reuse,
    /// Whether checks that do not come after each other go on at the same time.
    pub parallel: bool,
}

/// The tasks that are run on a save, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedTasks {
    /// Those that are named, in this order.
    pub named: Vec<TaskId>,
    /// Whether every task of every test specification is run after them.
    pub every_specified: bool,
}

impl WatchedTasks {
    /// Returns the tasks that are run, given those of all specifications; where there is none, the project's own checks.
    pub fn among(&self, specified: &[TaskId]) -> Vec<TaskId> {
        let every = specified.iter().filter(|task| self.every_specified && !self.named.contains(task));
        let tasks: Vec<TaskId> = self.named.iter().chain(every).cloned().collect();
        if tasks.is_empty() { vec![TaskId::default_task()] } else { tasks }
    }

    /// Returns whether the tasks of the specifications have to be known.
    pub fn asks_for_specifications(&self) -> bool {
        self.every_specified
    }
}

/// `[watch]`: what a save is and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    /// Patterns as in `.gitignore`: not part of the tree (S5).
    pub ignore: Vec<String>,
    /// Patterns that put ignored files back (S5).
    pub include: Vec<String>,
    /// A burst is over when nothing was saved for this long.
    pub quiet: Duration,
    /// A burst that goes on is cut off after this long.
    pub longest_burst: Duration,
    /// The longest an operation of git (a lock, a rebase, a merge) is waited for; zero: not at all.
    pub git_wait: Duration,
    /// How often what cannot be watched is looked at.
    pub poll: Duration,
    /// How often the whole tree is looked at, whatever the events say; none: never.
    pub sweep: Option<Duration>,
    /// The tasks that are run on a save.
    pub tasks: WatchedTasks,
    /// What a save during a run does.
    pub on_change: OnChange,
    /// So many restarts in a row; then one run is let finish.
    pub max_restarts: u32,
    /// Whether the screen is cleared before each run.
    pub clear: bool,
    /// Whether the bell rings at a verdict that changed.
    pub bell: bool,
    /// Whether `notify-send` is called at a verdict that changed.
    pub notify: bool,
}

/// `[evidence]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceSettings {
    /// The name of the link in the project; empty: none (S1).
    pub link: String,
    /// How long a run waits for the project's lock (S2).
    pub lock_wait: Duration,
    /// How much is kept.
    pub limits: RetentionLimits,
}

/// `[tasks]`: the list of tasks that is kept in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    /// The file, relative to the project; none: no list is kept.
    pub file: Option<String>,
}

/// `[queue]`: how many actions go on at once on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSettings {
    /// So many at most; none: as many as there are CPUs.
    pub max_parallel: Option<u32>,
    /// How long an action waits for its turn.
    pub wait: Duration,
}

/// `[environment]`: what checks see beside the allow-list (E12).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentSettings {
    /// Names of variables that are passed on.
    pub pass_environment: Vec<String>,
    /// A file of `NAME=value` lines, relative to the project or absolute; none: no file.
    pub env_file: Option<String>,
}

/// `[sandbox]`: how actions are kept apart, and what they can reach nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether actions are isolated.
    pub mode: SandboxMode,
    /// Paths that may be written to: relative to the project, absolute, or below HOME (`~/…`).
    pub writable: Vec<String>,
    /// Sockets and files of hidden run-time directories that stay reachable: absolute, or below HOME.
    pub sockets: Vec<String>,
    /// Credentials that stay visible: absolute, or below HOME.
    pub visible: Vec<String>,
    /// What becomes of writes to HOME.
    pub home: HomeAccess,
    /// The most memory an action's processes may use together; none: as much as there is.
    pub memory: Option<ByteSize>,
    /// The most processes and threads an action may have at a time; none: as many as the user may.
    pub processes: Option<u32>,
}

/// `[govern]`: the governance workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernSettings {
    /// The editor: program and arguments, the files follow.
    pub editor: Vec<String>,
    /// The tracker's command line.
    pub tracker: Vec<String>,
    /// Where issues are filed; none: where the tracker's command line says.
    pub repo: Option<String>,
    /// The directory of the trails, relative to the project.
    pub trail: String,
    /// Drafts that a person sees before being asked whether to go on.
    pub max_iterations: u32,
    /// Refusals of the tracker, likewise.
    pub max_attempts: u32,
    /// How long one call of the tracker or of git may take.
    pub tool_timeout: Duration,
    /// Who drafts.
    pub drafter: ModelSettings,
    /// Who reviews.
    pub reviewer: ModelSettings,
}

/// `[govern.drafter]` and `[govern.reviewer]`: a model's command, and what it is let have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// What people read.
    pub name: String,
    /// Program and arguments; none: not said.
    pub command: Option<Vec<String>>,
    /// Names of variables that are passed on.
    pub pass_environment: Vec<String>,
    /// Credentials that stay visible: absolute, or below HOME.
    pub visible: Vec<String>,
    /// Paths that may be written to, beside its own copy of the project.
    pub writable: Vec<String>,
    /// How long one answer may take.
    pub timeout: Duration,
}

/// Whether actions are isolated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// As well as the machine can; the report says how.
    Auto,
    /// By namespaces; where they cannot be had, nothing is run.
    Require,
    /// Not at all.
    Off,
}

/// What becomes of writes to HOME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeAccess {
    /// They fail.
    ReadOnly,
    /// They go to a copy that goes with the action.
    Overlay,
}

/// `[policy]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// The strategies of categories, for tools that do not say their own (C23).
    pub categories: BTreeMap<PolicyCategory, Placed<BlockOn>>,
    /// `[policy.eslint]` and its like, for every tool that a policy judges.
    pub tools: BTreeMap<Tool, PolicyOverride>,
}

impl PolicySettings {
    /// Returns what is said of a tool; none for tools that no policy judges.
    pub fn of(&self, tool: Tool) -> Option<&PolicyOverride> {
        self.tools.get(&tool)
    }

    /// Returns the strategy of a category, where it is said.
    pub fn of_category(&self, category: PolicyCategory) -> Option<&Placed<BlockOn>> {
        self.categories.get(&category)
    }
}

/// What is said about one tool's policy, for all its checks or for one. Unsaid in both: see [`PolicySettings`] and C20.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyOverride {
    /// Whether the tool's findings count at all; `false` equals `block_on = "never"` (C22).
    pub enabled: Option<Placed<bool>>,
    /// When findings block.
    pub block_on: Option<Placed<BlockOn>>,
    /// What is said about warnings; only linters have them.
    pub warnings: WarningOverride,
    /// What is said about single rules; only linters have them.
    pub rules: RuleOverride,
}

/// What is said about a linter's warnings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WarningOverride {
    /// Whether they count as errors (`treat_warnings_as_errors`).
    pub as_errors: Option<Placed<bool>>,
    /// More of them than this block (`max_warnings`).
    pub at_most: Option<Placed<u32>>,
}

/// What is said about single rules of a linter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleOverride {
    /// Rules whose findings are dropped (`ignored_rules`).
    pub ignored: Option<Placed<Vec<String>>>,
    /// Rules whose findings count as errors (`error_on_rules`).
    pub as_errors: Option<Placed<Vec<String>>>,
}

impl Configuration {
    /// Returns every action's settings in the order prerequisites, checks, cleanup.
    pub fn actions(&self) -> impl Iterator<Item = &ActionSettings> {
        let prerequisites = self.prerequisites.iter().map(|prerequisite| &prerequisite.action);
        prerequisites.chain(self.checks.iter().map(|check| &check.action)).chain(&self.cleanup)
    }
}

impl PolicyOverride {
    /// Returns the written keys that only a linter with named rules understands.
    pub fn linter_keys(&self) -> Vec<&'static str> {
        let rows = [
            ("treat_warnings_as_errors", self.warnings.as_errors.as_ref().is_some_and(Placed::is_written)),
            ("max_warnings", self.warnings.at_most.as_ref().is_some_and(Placed::is_written)),
            ("ignored_rules", self.rules.ignored.as_ref().is_some_and(Placed::is_written)),
            ("error_on_rules", self.rules.as_errors.as_ref().is_some_and(Placed::is_written)),
        ];
        rows.into_iter().filter(|(_, written)| *written).map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    fn tasks(names: &[&str]) -> Vec<TaskId> {
        names.iter().map(|name| TaskId::try_from(*name).expect("an id")).collect()
    }

    #[test]
    fn what_is_run_on_a_save_is_what_is_named_and_every_task_there_is_behind_a_star() {
        let watched = |list: &str| read(&format!("[watch]\ntasks = {list}\n"), "proctor.toml").map(|read| read.watch.tasks);
        let specified = tasks(&["T1", "T2"]);
        for (list, expected) in [
            ("[]", &["default"][..]),
            (r#"["default"]"#, &["default"]),
            (r#"["T2", "default", "T2"]"#, &["T2", "default"]),
            (r#"["*"]"#, &["T1", "T2"]),
            (r#"["default", "T2", "*"]"#, &["default", "T2", "T1"]),
        ] {
            assert_eq!(watched(list).expect("right").among(&specified), tasks(expected), "{list}");
        }
        assert_eq!(watched(r#"["*"]"#).expect("right").among(&[]), tasks(&["default"]), "there is none");
        assert_eq!(Configuration::default().watch.tasks.among(&specified), tasks(&["default"]));
        let problems = watched(r#"["default", "no task"]"#).expect_err("no id");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].to_string().contains("`no task` is no task"), "{}", problems[0]);
    }
}
