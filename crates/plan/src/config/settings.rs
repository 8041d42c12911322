//! The settings of `proctor.toml`, with all defaults filled in.
//!
//! The variables in the file that the setting `env_file` names.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::config::remote::RemoteSettings;
use crate::config::specification::SpecificationSettings;
use crate::config::written_value::WrittenValue;
use proctor_model::{
    ActionDefaults, ApprovalTerms, BlockOn, ByteSize, CheckOrder, CheckStart, CommandLine, CoverageTarget, Digest, ExportFormat,
    GatePolicy, JudgedSettings, NetworkAccess, OnChange, OnSurvivors, ParallelChecks, PolicyCategory, RemoteRun, ReportFile,
    RetentionLimits, Reuse, RoutingSettings, SandboxSettings, Service, Shards, SkipWhileUnchanged, TaskId, Tool,
};

/// All settings of `proctor.toml`. Two configurations are equal if they have the same values, even if the values are
/// written on other lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The file's name as the caller of `read` gave it. Problems that are found later, and the recorded sources of
    /// policies, show this name.
    pub file: String,
    pub project_name: Option<String>,
    pub inputs: InputSettings,
    /// Why no check has to run the project's own test command; `None` if one has to.
    pub no_tests: Option<String>,
    /// `[[check]]`, in the order of the file. If it is empty, checks are discovered from the project's files.
    pub checks: Vec<Check>,
    pub prerequisites: Vec<Prerequisite>,
    pub cleanup: Vec<ActionSettings>,
    pub defaults: ActionDefaults,
    pub run: RunSettings,
    pub watch: WatchSettings,
    pub evidence: EvidenceSettings,
    pub tasks: TaskSettings,
    pub queue: QueueSettings,
    pub service: RunServiceSettings,
    pub environment: EnvironmentSettings,
    pub sandbox: SandboxSettings,
    /// `[remote]`
    pub remote: RemoteSettings,
    pub routing: RoutingSettings,
    pub policy: PolicySettings,
    pub govern: GovernSettings,
    pub specification: SpecificationSettings,
    pub approval: ApprovalSettings,
    /// `[gate]`
    pub gate: GatePolicy,
    /// `tests` of `[prove]`: the files that belong to tests, as patterns of `.gitignore`.
    pub prove_tests: Vec<String>,
    pub share: ShareSettings,
    /// What the user's own configuration allows for this project. The reader of `proctor.toml` leaves it empty, because
    /// a project cannot allow itself anything.
    pub allowed: JudgedSettings,
    /// The socket of the container engine that the user's own configuration allows, not the project's.
    pub engine_socket: Option<String>,
}

/// The files and directories beside the project that its checks may read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputSettings {
    /// `inputs` of `[project]`: relative to the project, below HOME (`~/…`) or absolute, without a slash at the end.
    pub named: Vec<String>,
    /// How many directories lie above the project in its git repository; 0 where it has none. The reader of `proctor.toml` looks at no
    /// disk, so whoever knows where the project lies sets it.
    pub levels_in_repository: usize,
}

impl InputSettings {
    /// Returns the named inputs that do not lie in the project's own repository.
    pub fn outside(&self) -> Vec<String> {
        let leads_out = |name: &&String| {
            let ups = name.split('/').take_while(|part| *part == "..").count();
            ups == 0 || ups > self.levels_in_repository
        };
        self.named.iter().filter(leads_out).cloned().collect()
    }
}

/// `[approval]`: how people approve weaker checks, and which files are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// The terms of approval. Their `signers` are still empty, because the file `allowed_signers` is read later. If
    /// only a signature may approve, `allowed_signers` is set.
    pub terms: ApprovalTerms,
    /// The file with the keys of the people who may approve, relative to the project or absolute; `None` if the setting
    /// is not written.
    pub allowed_signers: Option<WrittenValue<String>>,
}

/// The settings that checks, prerequisites and cleanups have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSettings {
    /// The action's list and its position in the list, counted from 1: `check[2]`.
    pub key_path: String,
    /// The name, unique in the file. Problems with the whole action point to the name's place.
    pub name: WrittenValue<String>,
    /// The command; `None` for a check that names only its `tool`, whose command proctor looks for in the project's
    /// files.
    pub command: Option<WrittenValue<CommandLine>>,
    /// The working directory, relative to the project; `None` if it is not written.
    pub directory: Option<WrittenValue<String>>,
    /// The action's own network; `None` if it is not written. Only checks and prerequisites have the key.
    pub network: Option<NetworkAccess>,
    /// Environment variables that only this action gets.
    pub environment: BTreeMap<String, String>,
    /// The longest time that the action may run, by the wall clock.
    pub timeout: Duration,
    /// The longest time without output; `None` means no limit.
    pub idle_timeout: Option<Duration>,
    /// The most bytes that the action may print, standard output and standard error together; `None` means no limit.
    pub max_output: Option<ByteSize>,
    /// How long stopping the action may take, from the first signal to SIGKILL. `grace` begins only when the action is
    /// stopped, so it may be longer than `timeout`.
    pub grace: Duration,
    /// Exit codes that count as success for a generic command. `None` if not written, which means only 0.
    pub expected_exit_codes: Option<WrittenValue<Vec<i32>>>,
    /// Whether processes that the action leaves behind make the action fail.
    pub on_survivors: OnSurvivors,
}

/// A `[[check]]`: an action whose result decides the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub action: ActionSettings,
    /// The tool; `None` if proctor recognises the tool from the command.
    pub tool: Option<WrittenValue<Tool>>,
    /// Globs of the files that trigger the check; empty means every file.
    pub paths: Vec<String>,
    /// Globs of the files that are copied from the check's snapshot to the project after the run; empty means that no
    /// file is copied.
    pub writes: Vec<String>,
    /// The names of the checks that must have succeeded before this check starts.
    pub after: WrittenValue<Vec<String>>,
    /// The largest number of times that the check is repeated while it does not succeed.
    pub retries: u8,
    /// When the result of an earlier run may be used instead of running the check.
    pub reuse: Reuse,
    /// Which runs carry the check out.
    pub when: CheckStart,
    /// The file with the prompt for the reviewer of a review; `None` for no prompt.
    pub prompt: Option<WrittenValue<String>>,
    /// Whether `**Ready to merge?** Yes`, with emphasis around the label alone, approves in a review. `None` means yes.
    pub accept_split_emphasis: Option<WrittenValue<bool>>,
    pub coverage: Option<WrittenValue<CoverageTarget>>,
    /// The report that the command writes and that decides the result.
    pub report: Option<WrittenValue<ReportFile>>,
    /// Whether tests that must fail (control tests) are run before the check, to prove that its runner can fail.
    pub control: bool,
    /// Into how many parts the tests are divided; `None` if it is not written.
    pub shards: Option<WrittenValue<Shards>>,
    /// Whether the check runs in the project itself, also where the other checks run on a snapshot.
    pub in_place: bool,
    /// The server that carries the check out; `None` for this machine.
    pub remote: Option<WrittenValue<RemoteRun>>,
    /// The policy settings of this check. They replace the same settings of its tool.
    pub policy: WrittenValue<PolicyOverride>,
}

/// A `[[prerequisite]]`: an action that must succeed before the checks start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prerequisite {
    pub action: ActionSettings,
    /// The conditions under which the prerequisite is skipped because an earlier run has done its work.
    pub once: SkipWhileUnchanged,
    /// The settings of a service, which keeps running while the checks run; `None` for a prerequisite that is done when
    /// its command ends.
    pub service: Option<Service>,
}

/// `[run]`: the order of the checks, whether they run at the same time, and when earlier results are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSettings {
    pub order: CheckOrder,
    /// When an earlier result may be used for a check that has no `reuse` of its own.
    pub reuse: Reuse,
    /// Which checks run at the same time.
    pub parallel: ParallelChecks,
}

/// The tasks that run after a save, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedTasks {
    /// The tasks that `watch.tasks` names, in the order in which they run.
    pub named: Vec<TaskId>,
    /// Whether the tasks of all test specifications run after the named ones.
    pub specified: SpecifiedTasks,
}

/// Whether the tasks of all test specifications run after a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpecifiedTasks {
    /// Only the named tasks run.
    NotRun,
    /// Every task of every specification runs, if the project has no checks of its own. This is the meaning of
    /// `watch.tasks` if it names only `default`, as it does by default.
    RunWithoutChecks,
    /// Every task of every specification runs.
    Run,
}

impl WatchedTasks {
    /// Returns the tasks to run after a save. `specified` are the tasks of all test specifications. If there is no task
    /// at all, the result is the task `default`, which is the project's own checks.
    pub fn among(&self, specified: &[TaskId]) -> Vec<TaskId> {
        let every = specified.iter().filter(|task| self.asks_for_specifications() && !self.named.contains(task));
        let tasks: Vec<TaskId> = self.named.iter().chain(every).cloned().collect();
        if tasks.is_empty() { vec![TaskId::default_task()] } else { tasks }
    }

    /// Returns whether the caller of `among` must first read all specifications to know their tasks.
    pub fn asks_for_specifications(&self) -> bool {
        self.specified == SpecifiedTasks::Run
    }

    /// Returns the tasks to run after a save in a project that has no checks of its own: every task of every
    /// specification, unless the settings name the tasks.
    #[must_use]
    pub fn without_checks(self) -> Self {
        match self.specified {
            SpecifiedTasks::RunWithoutChecks => Self { named: Vec::new(), specified: SpecifiedTasks::Run },
            SpecifiedTasks::NotRun | SpecifiedTasks::Run => self,
        }
    }
}

/// `[watch]`: which files count as saves, when a burst of saves is over, and what a save starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    /// Patterns in `.gitignore` syntax for files that do not belong to the tree (S5).
    pub ignore: Vec<String>,
    /// Patterns for ignored files that belong to the tree nevertheless (S5).
    pub include: Vec<String>,
    /// A burst of saves is over after this time without a save.
    pub quiet: Duration,
    /// A burst ends after this time even if saves go on.
    pub longest_burst: Duration,
    /// The longest wait for a git operation (a lock, a rebase, a merge) to end; zero means no wait.
    pub git_wait: Duration,
    /// The interval between two polls of directories that cannot be watched.
    pub poll: Duration,
    /// The interval between two scans of the whole tree, which find changes without events; `None` for no scans.
    pub sweep: Option<Duration>,
    pub tasks: WatchedTasks,
    /// What happens to the run that is under way when a file is saved.
    pub on_change: OnChange,
    /// After this number of restarts in a row, the next run goes on to its end even if files are saved.
    pub max_restarts: u32,
    /// Whether the screen is cleared before each run.
    pub clear: bool,
    /// Whether the terminal's bell rings when the verdict changes.
    pub bell: bool,
    /// Whether `notify-send` is called when the verdict changes.
    pub notify: bool,
    /// The longest time that a hook of a coding agent waits for a verdict. Agents end a hook after 60 seconds.
    pub hook_wait: Duration,
}

/// `[evidence]`: the link to the evidence, the project's lock, and how much is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceSettings {
    /// The name of the link to the evidence in the project; empty means no link (S1).
    pub link: String,
    /// The longest time that a run waits for another run of the same project to end (S2).
    pub lock_wait: Duration,
    pub limits: RetentionLimits,
    /// The forms in which each run is also kept, for other tools; each of them once.
    pub also: Vec<ExportFormat>,
}

/// `[tasks]`: the Markdown file in which proctor keeps the list of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSettings {
    /// The file of the task list, relative to the project; `None` if there is no list.
    pub file: Option<String>,
}

/// `[share]`: with whom attestations are shared. Nothing of it is used before a person approved it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShareSettings {
    /// The remote repository to which notes are pushed and from which they are fetched; empty for none.
    pub git: String,
    /// The absolute path of a directory with bundles; empty for none.
    pub directory: String,
}

/// `[queue]`: how many actions run at the same time on this machine, over all projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSettings {
    /// The most actions that run at the same time; `None` means one more than the CPUs that proctor may use,
    /// and one on a machine with one CPU.
    pub max_parallel: Option<u32>,
    /// The longest time that an action waits until it may start.
    pub wait: Duration,
}

/// `[service]`: how a service runs checks, and what it keeps for the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunServiceSettings {
    /// How much later than other programs the actions of runs that saves start get a processor, as nice(1) counts.
    pub nice: u8,
    /// The most commands that are started before their run is requested, over all projects of the service.
    pub started: u32,
}

/// `[environment]`: the variables that checks get in addition to the standard list (E12).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnvironmentSettings {
    /// Names of environment variables that checks get from proctor's own environment.
    pub pass_environment: Vec<String>,
    /// A file of `NAME=value` lines, relative to the project or absolute; `None` for no file.
    pub env_file: Option<String>,
    /// The variables in that file; `None` if there is no such file, or if it cannot be read. The reader of the
    /// configuration reads no other file, so its caller fills this in.
    pub file_variables: Option<FileVariables>,
}

/// `[govern]`: the settings of the issue workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernSettings {
    /// The editor's program and arguments. The names of the files to edit are appended.
    pub editor: Vec<String>,
    /// The program and arguments of the tracker's command-line tool.
    pub tracker: Vec<String>,
    /// The repository for new issues; `None` means the default of the tracker's tool.
    pub repo: Option<String>,
    /// The directory of the issue workflow's records, relative to the project.
    pub trail: String,
    /// After this number of drafts, a person who wants another draft is first asked whether to go on.
    pub max_iterations: u32,
    /// After this number of failed attempts to file the issue, a person who wants another attempt is first asked
    /// whether to go on.
    pub max_attempts: u32,
    /// The time limit for one call of the tracker or of git.
    pub tool_timeout: Duration,
    pub drafter: ModelSettings,
    pub reviewer: ModelSettings,
}

/// `[govern.drafter]` and `[govern.reviewer]`: a model's command and what it has access to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The model's name in texts for people.
    pub name: String,
    /// The program and arguments by which the model is asked; `None` if the settings name no command.
    pub command: Option<Vec<String>>,
    /// Names of the environment variables that the model gets from proctor's own environment.
    pub pass_environment: Vec<String>,
    /// Paths of credentials that the model can still read: absolute, or below HOME.
    pub visible: Vec<String>,
    /// Paths that the model may write to, in addition to its own copy of the project.
    pub writable: Vec<String>,
    /// The time limit for one answer of the model.
    pub timeout: Duration,
}

/// `[policy]`: when the findings of tools block, for categories and for single tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// The strategies of categories, for tools without a strategy of their own (C23).
    pub categories: BTreeMap<PolicyCategory, WrittenValue<BlockOn>>,
    /// `[policy.eslint]` and the tables of all other tools that a policy judges.
    pub tools: BTreeMap<Tool, PolicyOverride>,
}

impl PolicySettings {
    /// Returns the policy settings of a tool; `None` if the tool has no policy.
    pub fn of(&self, tool: Tool) -> Option<&PolicyOverride> {
        self.tools.get(&tool)
    }

    /// Returns the strategy that the settings give to a category; `None` if they give it no strategy.
    pub fn for_category(&self, category: PolicyCategory) -> Option<&WrittenValue<BlockOn>> {
        self.categories.get(&category)
    }
}

/// The policy settings of a tool, or of a single check. A key of a check replaces the same key of its tool. If neither
/// has the key, C20 and [`PolicySettings`] define its value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyOverride {
    /// Whether the tool's findings count. `false` is the same as `block_on = "never"` (C22).
    pub enabled: Option<WrittenValue<bool>>,
    pub block_on: Option<WrittenValue<BlockOn>>,
    /// How the tool's warnings count; only linters have these settings.
    pub warnings: WarningOverride,
    /// How findings of single rules count; only linters have these settings.
    pub rules: RuleOverride,
}

/// How the warnings of a linter count. A field is `None` if neither the settings nor the defaults have its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WarningOverride {
    /// Whether warnings count as errors (`treat_warnings_as_errors`).
    pub as_errors: Option<WrittenValue<bool>>,
    /// The number of warnings that are allowed. More of them block (`max_warnings`).
    pub at_most: Option<WrittenValue<u32>>,
}

/// How findings of single rules of a linter count. A field is `None` if neither the settings nor the defaults have its
/// key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleOverride {
    /// Rules whose findings are dropped (`ignored_rules`).
    pub ignored: Option<WrittenValue<Vec<String>>>,
    /// Rules whose findings count as errors (`error_on_rules`).
    pub as_errors: Option<WrittenValue<Vec<String>>>,
}

impl Configuration {
    /// Returns the settings of all actions: prerequisites, checks, cleanups.
    pub fn actions(&self) -> impl Iterator<Item = &ActionSettings> {
        let prerequisites = self.prerequisites.iter().map(|prerequisite| &prerequisite.action);
        prerequisites.chain(self.checks.iter().map(|check| &check.action)).chain(&self.cleanup)
    }
}

impl PolicyOverride {
    /// Returns the keys of these settings that are written in `proctor.toml` and have an effect only for linters with named
    /// rules.
    pub fn linter_keys(&self) -> Vec<&'static str> {
        let rows = [
            ("treat_warnings_as_errors", self.warnings.as_errors.as_ref().is_some_and(WrittenValue::is_written)),
            ("max_warnings", self.warnings.at_most.as_ref().is_some_and(WrittenValue::is_written)),
            ("ignored_rules", self.rules.ignored.as_ref().is_some_and(WrittenValue::is_written)),
            ("error_on_rules", self.rules.as_errors.as_ref().is_some_and(WrittenValue::is_written)),
        ];
        rows.into_iter().filter(|(_, written)| *written).map(|(key, _)| key).collect()
    }
}

/// The variables of a file, in the order of its lines. Of two with one name the later one takes effect.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FileVariables(pub Vec<(String, String)>);

impl FileVariables {
    /// Returns a digest of the names and values. An approval holds it, so no value is stored with the approval.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json_canonicalizer::to_vec(&self.0).expect("texts have a JSON form"))
    }
}

impl fmt::Debug for FileVariables {
    /// Prints names only, because values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
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
        let unwritten = || Configuration::default().watch.tasks;
        assert_eq!(unwritten().among(&specified), tasks(&["default"]));
        assert_eq!(unwritten().without_checks().among(&specified), specified, "a project without checks has only tasks");
        assert_eq!(unwritten().without_checks().among(&[]), tasks(&["default"]));
        let written = watched(r#"["default"]"#).expect("it is right").without_checks();
        assert_eq!(written.among(&specified), specified, "the default means the same where it is written");
        let named = watched(r#"["T2"]"#).expect("it is right").without_checks();
        assert_eq!(named.among(&specified), tasks(&["T2"]), "what is named holds");
        let problems = watched(r#"["default", "no task"]"#).expect_err("no id");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].to_string().contains("`no task` is no task"), "{}", problems[0]);
    }
}
