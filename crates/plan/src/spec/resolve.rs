//! Turns settings into a plan: every action gets its id, tool, command and policy (E2).

mod refused;

use std::path::PathBuf;

use crate::config::{Check, Configuration, Prerequisite, WrittenValue};
use crate::spec::action::{configured_action, found_command, plain_action};
use crate::spec::approval::{approval_terms, plan_settings};
use crate::spec::circle::circular;
use crate::spec::made::{FilesAfterPrerequisites, recognised};
use crate::spec::network::{unready_service, with_network};
use crate::spec::no_checks::without_checks;
use crate::spec::policy::{policy_notes, resolve_policy};
use crate::spec::review::{hold_behind_reviews, review};
use proctor_model::{
    Action, ActionId, ActionPhase, ApprovalTerms, CommandLine, JudgedBy, OnSurvivors, ParallelChecks, Plan, PlanNote, PlanOrigin,
    PolicyOptions, Problem, ProtectionMode, RemoteRun, Reuse, TaskId, Tool, ToolClass, WithoutServer,
};
use proctor_tools::{
    AskedFiles, FoundCheck, FoundChecks, FoundPolicy, NotingFiles, ProjectFiles, ProposedCheck, RunCommand, command_text,
    find_checks, find_checks_of, may_have_control, remark, tests_not_run, uncovered,
};

/// Makes the plan for the checks of a configuration.
///
/// # Errors
///
/// Returns every problem of the configuration that only the project's files show. It is also an error if there are no
/// checks.
pub fn resolve(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    let mut resolver = Resolver::new(configuration, files);
    let checks = configuration.checks.iter().enumerate();
    let mut steps: Vec<Action> = checks.filter_map(|(index, check)| resolver.step(index + 1, check)).collect();
    if configuration.checks.is_empty() {
        resolver.problems.push(without_checks(configuration, files, &[]));
    }
    hold_behind_reviews(&mut steps, &[]);
    resolver.finish(PlanOrigin::Configured, steps, project_name)
}

/// Makes the plan from checks that are found in the project's files, for a configuration without checks. All other
/// settings of the configuration apply.
///
/// # Errors
///
/// When no checks are found. The hint of the problem says what is missing.
fn discover(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    let mut resolver = Resolver::new(configuration, files);
    let FoundChecks { found, notes } = find_checks(files);
    resolver.notes = notes;
    let mut steps = Vec::new();
    for (index, found) in found.iter().enumerate() {
        let named = (found.name.as_str(), found.tool);
        let plain = plain_action(ActionPhase::Step, index + 1, named, found_command(found), configuration.defaults);
        let directory = PathBuf::from(&found.directory);
        let action = Action { command_is_ours: true, directory, ..plain };
        steps.push(resolver.with_policy(action, None, found.policy.as_ref()));
    }
    if steps.is_empty() {
        resolver.problems.push(without_checks(configuration, files, &resolver.notes));
    }
    resolver.finish(PlanOrigin::Discovered, steps, project_name)
}

/// Makes the plan of a project: from its configured checks, or from discovered checks if none are configured. Notes the project's own test
/// command if no check runs it, and what else no check runs.
///
/// # Errors
///
/// Returns the errors of [`resolve`] for configured checks. For discovered ones, when none are found.
pub fn plan(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    let files = &FilesAfterPrerequisites::of(configuration, files);
    let plan = make(configuration, files, project_name)?;
    Ok(note_what_is_not_run(plan, configuration, files))
}

/// Makes the plan of a project as [`plan`] does, for a comparison of rules: nobody looks for what no check runs.
///
/// # Errors
///
/// The same as of [`plan`].
pub fn plan_of_rules(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    make(configuration, &FilesAfterPrerequisites::of(configuration, files), project_name)
}

fn make(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Result<Plan, Vec<Problem>> {
    let make = if configuration.checks.is_empty() { discover } else { resolve };
    make(configuration, files, project_name)
}

/// A plan that was made before, and what it was made of. It is only used for one project.
#[derive(Debug)]
pub struct PlannedBefore {
    configuration: Configuration,
    asked: AskedFiles,
    /// The plan, or what is wrong.
    pub planned: Result<Plan, Vec<Problem>>,
}

impl PlannedBefore {
    /// Makes a plan as [`plan`] does, and keeps what it is made of.
    pub fn make(configuration: &Configuration, files: &dyn ProjectFiles, project_name: &str) -> Self {
        let noting = NotingFiles::of(files);
        let planned = plan(configuration, &noting, project_name);
        Self { configuration: configuration.clone(), asked: noting.into_asked(), planned }
    }

    /// Returns whether the same plan would be made now, but for the lines of the configuration that its notes name.
    pub fn holds(&self, configuration: &Configuration, files: &dyn ProjectFiles) -> bool {
        self.configuration == *configuration && self.asked.answer_as_before(files)
    }
}

/// Makes the plan for one command that is given on the command line. Configured checks do not run; all other settings
/// apply.
///
/// # Errors
///
/// When the command is empty.
pub fn plan_command(
    argv: &[String],
    configuration: &Configuration,
    files: &dyn ProjectFiles,
    project_name: &str,
) -> Result<Plan, Vec<Problem>> {
    const PLACE: &str = "command line";
    if argv.first().is_none_or(String::is_empty) {
        let problem = Problem::new("", "the command is empty").within(PLACE, None);
        return Err(vec![problem.hint("write it behind `--`, for example `proctor watch . -- pytest -q`")]);
    }
    let mut resolver = Resolver::new(configuration, files);
    let command = CommandLine { argv: argv.to_vec(), display: command_text(argv), shell: false };
    let said = recognised(&command, files, "", PLACE);
    let name = said.tool.action_name();
    resolver.note(name, said.note);
    resolver.note(name, remark(said.tool, files, "", &command));
    let action = plain_action(ActionPhase::Step, 1, (name, said.tool), command, configuration.defaults);
    let step = resolver.with_policy(action, None, said.policy.as_ref());
    resolver.finish(PlanOrigin::CommandLine, vec![step], project_name)
}

struct Resolver<'c> {
    configuration: &'c Configuration,
    files: &'c dyn ProjectFiles,
    notes: Vec<PlanNote>,
    problems: Vec<Problem>,
}

impl<'c> Resolver<'c> {
    fn new(configuration: &'c Configuration, files: &'c dyn ProjectFiles) -> Self {
        Self { configuration, files, notes: Vec::new(), problems: Vec::new() }
    }

    fn note(&mut self, subject: &str, message: Option<String>) {
        self.notes.extend(message.map(|message| PlanNote { subject: subject.to_owned(), message }));
    }

    fn problem(&mut self, check: &Check, key: &str, message: String, hint: &str) {
        let problem = Problem::new(format!("{}.{key}", check.action.key_path), message).hint(hint);
        self.problems.push(problem.within(&self.configuration.file, check.action.name.place));
    }

    fn step(&mut self, number: usize, check: &Check) -> Option<Action> {
        let settings = &check.action;
        let said = check.tool.as_ref().map(|tool| tool.value);
        let Some(command) = &settings.command else {
            self.of_report(check, said.unwrap_or_default());
            let tool = said.unwrap_or_default();
            let findings = find_checks_of(tool, self.files);
            let found = self.find_command_of_tool(check, tool, &findings)?;
            let action = configured_action(ActionPhase::Step, number, settings, found.tool, found_command(found));
            let directory = PathBuf::from(&found.directory);
            let action = Action { command_is_ours: true, directory, ..action };
            return Some(self.completed(action, check, found.policy.as_ref()));
        };
        let directory = settings.directory.as_ref().map_or("", |directory| directory.value.as_str());
        let line = command.place.map_or(0, |place| place.line);
        let place = format!("{}:{line}", self.configuration.file);
        let recognised = recognised(&command.value, self.files, directory, &place);
        // With `expected_exit_codes`, a build is judged by its exit code and not as a compilation, and so is a tool that may have a report
        // of its own, or that only a text of the project shows.
        let gives_way = recognised.tool.gives_way() || recognised.tool.allows_report() || recognised.is_behind_a_text;
        let says_itself = settings.expected_exit_codes.is_some() || recognised.is_behind_a_text && check.report.is_some();
        let is_plain = gives_way && says_itself;
        let seen = if is_plain { Tool::default() } else { recognised.tool };
        let of_report = self.of_report(check, seen);
        let tool = of_report.or(said).unwrap_or(seen);
        if of_report.is_none() && said.is_none() {
            self.note(&settings.name.value, recognised.note);
        } else if of_report.is_none() && !seen.gives_way() && seen != tool {
            let (said, seen) = (tool.word(), seen.word());
            self.note(&settings.name.value, Some(format!("the command looks like {seen}, but `tool` says {said}, which holds")));
        }
        self.note(&settings.name.value, remark(tool, self.files, directory, &command.value));
        if !self.files.exists(directory) {
            self.note(&settings.name.value, Some(format!("the directory `{directory}` is not there yet")));
        }
        // A command that equals the discovered one is marked as discovered. `proctor init` writes discovered commands
        // into the file, and that must not change the plan.
        let same = |found: &&FoundCheck| found.tool == tool && found.argv == command.value.argv && found.directory == directory;
        // Only the finder of this tool can find the same command, and no finder finds one that is judged by its exit code.
        let is_of_a_finder = tool.judged_by() != JudgedBy::ExitCode;
        let found = if is_of_a_finder { find_checks_of(tool, self.files) } else { FoundChecks::default() };
        let ours = found.found.iter().find(same);
        let policy = recognised.policy.as_ref().or_else(|| ours.and_then(|found| found.policy.as_ref()));
        let action = configured_action(ActionPhase::Step, number, settings, tool, command.value.clone());
        Some(self.completed(Action { command_is_ours: ours.is_some(), ..action }, check, policy))
    }

    /// Returns the tool of a check that names its own report. Reports a problem if proctor reads the command's own results, or if the
    /// check names another tool.
    fn of_report(&mut self, check: &Check, seen: Tool) -> Option<Tool> {
        let report = check.report.as_ref()?;
        let said = check.tool.as_ref().map(|tool| tool.value);
        let named = said.unwrap_or(seen);
        if !named.gives_way() && !named.allows_report() {
            let word = named.word();
            let hint = "remove `report`; or say `tool = \"generic\"`, if the command is something else";
            self.problem(check, "report", format!("the results of {word} are read without it"), hint);
        }
        Some(if report.value.format.has_findings() { Tool::FindingReport } else { Tool::TestReport })
    }

    /// Finds the command of a check that names only its tool, among the checks that the project's files show. Reports a problem
    /// if there is none, or more than one.
    fn find_command_of_tool<'f>(&mut self, check: &Check, tool: Tool, findings: &'f FoundChecks) -> Option<&'f FoundCheck> {
        let word = tool.word();
        let directory = check.action.directory.as_ref().map(|directory| directory.value.as_str());
        let of_tool: Vec<&FoundCheck> = findings.found.iter().filter(|found| found.tool == tool).collect();
        let wanted: Vec<&FoundCheck> =
            of_tool.iter().copied().filter(|found| directory.is_none_or(|directory| found.package == directory)).collect();
        match wanted[..] {
            [found] => Some(found),
            [] => {
                let missing = findings.notes.iter().find(|note| note.subject == word).map(|note| note.message.clone());
                let nothing = || "write what to run, for example `command = [\"make\", \"check\"]`".to_owned();
                let place = directory.map_or_else(|| "this project".to_owned(), |directory| format!("`{directory}`"));
                self.problem(check, "command", format!("no {word} was found in {place}"), &missing.unwrap_or_else(nothing));
                None
            }
            [..] => {
                let all: Vec<String> = wanted.iter().map(|found| format!("`{}`", command_text(&found.argv))).collect();
                let message = format!("{word} was found in several places: {}", all.join(", "));
                self.problem(check, "command", message, "write one check for each, with its `command` or its `directory`");
                None
            }
        }
    }

    /// Adds to an action the settings that only checks have, and reports settings that the check's tool cannot use.
    fn completed(&mut self, action: Action, check: &Check, found: Option<&FoundPolicy>) -> Action {
        let word = action.tool.word();
        if check.policy.is_written() && action.class != ToolClass::Validation {
            let hint =
                "a policy judges the findings of linters, type checkers and compilers: remove it, or say which `tool` it is";
            self.problem(check, "policy", format!("{word} has no policy"), hint);
        }
        let options = action.tool.findings().map(|findings| findings.options);
        if let (Some(PolicyOptions::None), [key, ..]) = (options, &check.policy.value.linter_keys()[..]) {
            let message = format!("`{key}` is a setting of linters: {word} reports errors only and has no rules by name");
            self.problem(check, &format!("policy.{key}"), message, "choose a `block_on` instead");
        }
        if check.coverage.is_some() && !action.tool.measures_coverage() {
            let hint = "coverage is required of a pytest check: move it there, or say `tool = \"pytest\"`";
            self.problem(check, "coverage", format!("{word} has no coverage"), hint);
        }
        if check.action.expected_exit_codes.is_some() && action.class != ToolClass::Generic {
            let hint = "remove it: a recognised tool says more than its exit code, and another code than 0 is no success of it";
            self.problem(check, "expected_exit_codes", format!("{word} is not judged by expected exit codes"), hint);
        }
        self.refuse_of_reviews(check, action.tool);
        if check.in_place && self.configuration.sandbox.snapshot == ProtectionMode::Require {
            let hint = "remove it, or choose `snapshot = \"auto\"` in `[sandbox]`";
            self.problem(check, "snapshot", "`[sandbox]` requires a snapshot for every check".to_owned(), hint);
        }
        if check.control && !may_have_control(action.tool, &action.command.argv) {
            let hint = "let the command be pytest itself (`pytest`, `python -m pytest`, `uv run pytest`), or remove `control`";
            self.problem(check, "control", "only a command that is pytest itself can have a control".to_owned(), hint);
        }
        self.refuse_shards(check, &action);
        self.refuse_elsewhere(check, &action);
        if check.in_place && self.configuration.sandbox.snapshot == ProtectionMode::Auto {
            let note = "it runs in the project itself and reads what is saved while it runs, because of its `snapshot = \"off\"`";
            self.note(&check.action.name.value, Some(note.to_owned()));
        }
        let coverage = check.coverage.as_ref().map(|coverage| coverage.value.clone());
        let (paths, after) = (check.paths.clone(), self.checks_before(check));
        let writes = check.writes.clone();
        let action = Action {
            paths,
            writes,
            coverage,
            report: check.report.as_ref().map(|report| report.value.clone()),
            after,
            control: check.control,
            shards: check.shards.as_ref().map(|shards| shards.value).filter(|shards| shards.at_most() > 1),
            in_place: check.in_place,
            remote: check.remote.as_ref().map(|remote| Box::new(remote.value.clone())),
            retry_attempts: check.retries,
            ..action
        };
        let action = self.with_policy(action, Some(check), found);
        // Programs of a worker that no digest names may differ at the next run, and so may the machine that runs the check.
        let is_of_unknown_image =
            |run: &RemoteRun| run.server.image_digest().is_none() || run.without_result == WithoutServer::RunHere;
        let reuse = if action.remote.as_deref().is_some_and(is_of_unknown_image) { Reuse::Off } else { action.reuse };
        let action = Action { reuse, ..action };
        if action.tool.judged_by() != JudgedBy::Grammar {
            return action;
        }
        let accept_split_emphasis = check.accept_split_emphasis.as_ref().is_none_or(|accept| accept.value);
        let kind = review(check.prompt.as_ref().map(|prompt| prompt.value.clone()), accept_split_emphasis);
        // A review's verdict is never reused, because it is about the code as it was when the review was made.
        Action { kind, reuse: Reuse::Off, ..action }
    }

    /// Returns the ids of the checks that must end before a check. Checks are numbered in the order of the file.
    fn checks_before(&mut self, check: &Check) -> Vec<ActionId> {
        let checks = &self.configuration.checks;
        let position = |name: &str| checks.iter().position(|other| other.action.name.value == name);
        let mut needed = Vec::new();
        for name in &check.after.value {
            match position(name) {
                Some(index) => needed.push(ActionId::numbered(ActionPhase::Step.prefix(), index + 1)),
                None => {
                    let known: Vec<_> = checks.iter().map(|other| format!("`{}`", other.action.name.value)).collect();
                    let hint = format!("the checks are {}", known.join(", "));
                    self.problem(check, "after", format!("there is no check `{name}`"), &hint);
                }
            }
        }
        let edges = || checks.iter().map(|check| (check.action.name.value.as_str(), texts(&check.after.value))).collect();
        if !check.after.value.is_empty() && circular(edges()).contains(check.action.name.value.as_str()) {
            let hint = "let one of them come after none of the others";
            self.problem(check, "after", "the check would come after itself".to_owned(), hint);
        }
        needed
    }

    fn with_policy(&mut self, action: Action, check: Option<&Check>, found: Option<&FoundPolicy>) -> Action {
        let reuse = check.map_or(self.configuration.run.reuse, |check| check.reuse);
        let when = check.map(|check| check.when).unwrap_or_default();
        let action = with_network(action, check.map(|check| &check.action), self.configuration);
        let check = check.map(|check| &check.policy.value);
        let policy = resolve_policy(action.tool, self.configuration, check, found);
        if let Some(policy) = &policy {
            self.notes.extend(policy_notes(action.tool, self.configuration, &action.name, policy));
        }
        Action { policy, reuse, when, ..action }
    }

    fn finish(mut self, origin: PlanOrigin, steps: Vec<Action>, project_name: &str) -> Result<Plan, Vec<Problem>> {
        let approval = approval_terms(self.configuration, self.files).unwrap_or_else(|problem| {
            self.problems.push(*problem);
            ApprovalTerms::default()
        });
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|problem| problem.position);
            return Err(self.problems);
        }
        let command = |command: &Option<WrittenValue<CommandLine>>| {
            command.as_ref().map(|command| command.value.clone()).expect("the reader insists on the command of such an action")
        };
        let prerequisites = self.configuration.prerequisites.iter().enumerate().map(|(index, prerequisite)| {
            let settings = &prerequisite.action;
            let plain =
                configured_action(ActionPhase::Prerequisite, index + 1, settings, Tool::default(), command(&settings.command));
            with_network(as_said(plain, prerequisite), Some(settings), self.configuration)
        });
        let prerequisites: Vec<Action> = prerequisites.collect();
        if let Some(problem) = unready_service(&prerequisites, self.configuration) {
            return Err(vec![problem]);
        }
        let cleanup = self.configuration.cleanup.iter().enumerate().map(|(index, settings)| {
            let plain = configured_action(ActionPhase::Cleanup, index + 1, settings, Tool::default(), command(&settings.command));
            with_network(plain, Some(settings), self.configuration)
        });
        Ok(Plan {
            task: TaskId::default_task(),
            project_name: self.configuration.project_name.clone().unwrap_or_else(|| project_name.to_owned()),
            origin,
            specification: None,
            prerequisites,
            steps,
            cleanup: cleanup.collect(),
            criteria: None,
            debt: None,
            notes: self.notes,
            tests_not_run: None,
            order: Vec::new(),
            parallel: self.configuration.run.parallel == ParallelChecks::On,
            timeout: None,
            approval,
            settings: plan_settings(self.configuration),
        })
    }
}

/// Adds the project's own test command if no step runs it, and the settings do not say why, with a note about it and about what else no
/// step runs.
fn note_what_is_not_run(plan: Plan, configuration: &Configuration, files: &dyn ProjectFiles) -> Plan {
    let tests = with_commands(&plan.steps, |commands| tests_not_run(files, commands));
    // A check that is the test command itself is not named a second time.
    let is_of_tests =
        |one: &ProposedCheck| tests.is_some() && one.directory.is_empty() && one.argv.last().is_some_and(|word| word == "test");
    let others: Vec<ProposedCheck> = propose_uncovered(&plan.steps, files).into_iter().filter(|one| !is_of_tests(one)).collect();
    let tests_not_run = tests.filter(|_| configuration.no_tests.is_none());
    let of_tests = tests_not_run.as_deref().map(|place| (PlanNote::TEST_COMMAND, no_check_runs(place)));
    let of_others = (!others.is_empty()).then(|| (PlanNote::NOT_CHECKED, named_commands(&others)));
    let noted = of_tests.into_iter().chain(of_others).map(|(subject, message)| PlanNote { subject: subject.to_owned(), message });
    let notes = plan.notes.into_iter().chain(noted).collect();
    Plan { notes, tests_not_run, ..plan }
}

/// Returns the commands of a project that look like checks and that no step runs.
pub fn propose_uncovered(steps: &[Action], files: &dyn ProjectFiles) -> Vec<ProposedCheck> {
    with_commands(steps, |commands| uncovered(files, commands))
}

fn with_commands<T>(steps: &[Action], use_them: impl FnOnce(&[RunCommand<'_>]) -> T) -> T {
    let directories: Vec<_> = steps.iter().map(|step| step.directory.to_string_lossy()).collect();
    let steps = steps.iter().zip(&directories);
    let commands: Vec<RunCommand<'_>> =
        steps.map(|(step, directory)| RunCommand { argv: &step.command.argv, directory, tool: step.tool }).collect();
    use_them(&commands)
}

/// Returns the text about a test command that no check runs.
fn no_check_runs(place: &str) -> String {
    format!(
        "no check runs {place}, so a run proves no commit: write a `[[check]]` that does into `proctor.toml` (`proctor init` proposes it), or \
         why there are none: `tests = {{ none = \"…\" }}` in `[project]`"
    )
}

/// Returns the text about commands that look like checks and are run by none.
fn named_commands(others: &[ProposedCheck]) -> String {
    const NAMED: usize = 5;
    let command = |one: &ProposedCheck| format!("`{}` ({})", command_text(&one.argv), one.because);
    let named: Vec<String> = others.iter().take(NAMED).map(command).collect();
    let more = match others.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("no check runs {}{more}: write a `[[check]]` for what shall be run", named.join(", "))
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Adds to a prerequisite's action the conditions for skipping it. If the prerequisite is a service, which goes on
/// while the checks run, adds the service's settings instead.
fn as_said(plain: Action, prerequisite: &Prerequisite) -> Action {
    match &prerequisite.service {
        None => Action { once: Some(prerequisite.once.clone()), ..plain },
        Some(service) => Action {
            service: Some(service.clone()),
            timeout: service.timeout,
            idle_timeout: None,
            on_survivors: OnSurvivors::Report,
            description: format!("goes on while the checks run: `{}`", plain.command.display),
            ..plain
        },
    }
}
