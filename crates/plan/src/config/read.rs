//! Reads the text of `proctor.toml` into a [`Configuration`], or finds all of its problems at once (G4).
//!
//! Reads `[approval]`: how people approve weaker checks, and which files are protected.
//!
//! Reads `[govern]`: the models that draft and review, the editor, the tracker, and limits.

use std::sync::LazyLock;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::WrittenValue;
use crate::config::actions::{CheckContext, check_names, read_checks, read_cleanup, read_defaults, read_prerequisites, read_run};
use crate::config::command::{Shell, command};
use crate::config::default_text::DEFAULT_SETTINGS;
use crate::config::gate::{read_gate, read_share};
use crate::config::paths::{INPUTS, glob, ignore_pattern, inner_file, input, link_name, task_list};
use crate::config::policy::read_policy;
use crate::config::remote::read_remote;
use crate::config::sandbox::{fixed_place, place, read_sandbox};
use crate::config::section::{Document, DocumentState, Section};
use crate::config::settings::{
    ApprovalSettings, Configuration, EnvironmentSettings, EvidenceSettings, GovernSettings, InputSettings, ModelSettings,
    QueueSettings, RunServiceSettings, SpecifiedTasks, TaskSettings, WatchSettings, WatchedTasks,
};
use crate::config::specification::read_specification_settings;
use crate::config::values::{
    WrongValue, boolean, choice, count, duration, duration_text, filled_text, list, size, text, variable_name,
};
use proctor_model::{
    ApprovalTerms, ByteSize, CollectionErrorPolicy, ExpectedFailure, ExportFormat, JudgedSettings, OnChange, OnProtectedChange,
    Problem, RetentionLimits, RoutingSettings, TaskId,
};

/// The file name in problems if the settings are the defaults and no file was read.
const DEFAULT_FILE: &str = "proctor.toml";

/// The longest text that is read, in bytes. A longer file was hardly written by hand, so it is refused.
pub const LONGEST_TEXT: usize = 1 << 20;

const MOST_PROBLEMS: usize = 100;

/// The parsed defaults. A save reads the settings of its project again, so their text is parsed once for a process.
static DEFAULTS: LazyLock<Spanned<DeTable<'static>>> = LazyLock::new(|| DeTable::parse_recoverable(&DEFAULT_SETTINGS).0);

const ON_CHANGE: &[(&str, OnChange)] = &[("restart", OnChange::Restart), ("queue", OnChange::Queue)];

pub(super) const COLLECTION_ERROR: &[(&str, CollectionErrorPolicy)] = &[
    ("human-review", CollectionErrorPolicy::HumanReview),
    ("re-scaffold", CollectionErrorPolicy::ReScaffold),
    ("red-if-missing", CollectionErrorPolicy::RedIfMissing),
];

/// Reads the text of a `proctor.toml`. Problems refer to the file as `file_name`.
///
/// # Errors
///
/// Returns the problems of the text in the order of the file, at most 100. In a line that has a syntax error, only that
/// error is listed. The list is never empty.
pub fn read(text: &str, file_name: &str) -> Result<Configuration, Vec<Problem>> {
    if text.len() > LONGEST_TEXT {
        let problem = Problem::new("", format!("the file is longer than {LONGEST_TEXT} bytes")).within(file_name, None);
        return Err(vec![problem.hint("a configuration of this size is none; see whether it is the right file")]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let state = if errors.is_empty() { DocumentState::Whole } else { DocumentState::Recovered };
    let mut document = Document::new(file_name, text, state);
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        let wrong = syntax_problem(error.message(), text.get(span.clone()).unwrap_or_default());
        document.report("", &span, wrong);
    }
    let configuration = read_top(&mut document, &Section::top(Some(table.get_ref()), DEFAULTS.get_ref()), file_name);
    let problems = without_consequent_problems(without_lost_keys(document.into_problems(), text));
    if problems.is_empty() { Ok(configuration) } else { Err(problems) }
}

impl Default for Configuration {
    fn default() -> Self {
        read("", DEFAULT_FILE).expect("an empty file has no problems")
    }
}

fn read_top(document: &mut Document<'_>, top: &Section<'_>, file_name: &str) -> Configuration {
    top.check_keys(document);
    let project = top.table(document, "project");
    let defaults = read_defaults(top, document);
    let run = read_run(top, document);
    let remote = read_remote(&top.table(document, "remote"), document);
    let configuration = Configuration {
        file: file_name.to_owned(),
        project_name: project.optional(document, "name", filled_text("\"quotes\"")).map(|name| name.value),
        no_tests: read_no_tests(&project, &mut *document),
        inputs: InputSettings { named: project.setting(document, "inputs", list(input, INPUTS)).value, levels_in_repository: 0 },
        checks: read_checks(top, document, CheckContext { defaults, run, remote: &remote }),
        prerequisites: read_prerequisites(top, document, defaults),
        cleanup: read_cleanup(top, document, defaults),
        defaults,
        run,
        watch: read_watch(&top.table(document, "watch"), document),
        evidence: read_evidence(&top.table(document, "evidence"), document),
        tasks: read_tasks(&top.table(document, "tasks"), document),
        queue: read_queue(&top.table(document, "queue"), document),
        service: read_service(&top.table(document, "service"), document),
        environment: read_environment(&top.table(document, "environment"), document),
        sandbox: read_sandbox(&top.table(document, "sandbox"), document),
        remote,
        routing: read_routing(top, document),
        policy: read_policy(top, document),
        approval: read_approval(&top.table(document, "approval"), document),
        gate: read_gate(&top.table(document, "gate"), document),
        prove_tests: top.table(document, "prove").setting(document, "tests", list(ignore_pattern, "[\"spec/**\"]")).value,
        share: read_share(&top.table(document, "share"), document),
        govern: read_govern(&top.table(document, "govern"), document),
        specification: read_specification_settings(&top.table(document, "specification"), document),
        allowed: JudgedSettings::default(),
        engine_socket: None,
    };
    check_names(document, configuration.actions());
    configuration
}

/// Reads `tests` of `[project]`: why no check runs tests of the project.
fn read_no_tests(project: &Section<'_>, document: &mut Document<'_>) -> Option<String> {
    let tests = project.table(document, "tests");
    let reason = tests.optional(document, "none", filled_text(NO_TESTS));
    if project.has("tests") && !tests.has("none") {
        let wrong = WrongValue::new("`none` is missing").hint(format!("write why there are no tests: `none = {NO_TESTS}`"));
        document.report_absent(&tests, "none", wrong);
    }
    reason.map(|reason| reason.value)
}

/// What an error message shows as a reason why there are no tests.
const NO_TESTS: &str = "\"they lie in the repository shop-e2e\"";

/// The word in `watch.tasks` that means every task of every test specification.
const EVERY_TASK: &str = "*";

fn task_name(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = filled_text("\"T117\"")(value)?;
    if name == EVERY_TASK || TaskId::try_from(name.as_str()).is_ok() {
        return Ok(name);
    }
    Err(WrongValue::new(format!("`{name}` is no task"))
        .hint("write `default`, a task's id such as `T117`, or `*` for every task there is"))
}

fn watched_tasks(WrittenValue { value: names, .. }: WrittenValue<Vec<String>>) -> WatchedTasks {
    let specified = match names.as_slice() {
        names if names.iter().any(|name| name == EVERY_TASK) => SpecifiedTasks::Run,
        [only] if only == TaskId::default_task().as_str() => SpecifiedTasks::RunWithoutChecks,
        _ => SpecifiedTasks::NotRun,
    };
    let mut named: Vec<TaskId> = Vec::new();
    for task in names.iter().filter_map(|name| TaskId::try_from(name.as_str()).ok()) {
        if !named.contains(&task) {
            named.push(task);
        }
    }
    WatchedTasks { named, specified }
}

/// The longest `hook_wait`. Agents end a hook after 60 seconds, by the settings that `proctor hook install` writes.
const LONGEST_HOOK_WAIT: Duration = Duration::from_secs(40);

fn read_watch(section: &Section<'_>, document: &mut Document<'_>) -> WatchSettings {
    let millis = Duration::from_millis;
    let quiet = section.setting(document, "quiet", duration(millis(1)..=millis(10_000), "\"20ms\""));
    let mut longest_burst = section.setting(document, "longest_burst", duration(millis(1)..=millis(60_000), "\"500ms\""));
    if longest_burst.value < quiet.value {
        // A `longest_burst` that is written and shorter than `quiet` is an error. If it is only the default, it is
        // raised to `quiet` without an error.
        if let Some(place) = longest_burst.place {
            let wrong = WrongValue::new("a burst cannot be cut off before it has been quiet once");
            let hint = format!("make it at least as long as `quiet`, which is {}", duration_text(quiet.value));
            document.report_at(place, &section.key_path("longest_burst"), wrong.hint(hint));
        }
        longest_burst.value = quiet.value;
    }
    let sweep = section.setting(document, "sweep", duration(Duration::ZERO..=millis(86_400_000), "\"60s\"")).value;
    WatchSettings {
        ignore: section.setting(document, "ignore", list(ignore_pattern, "[\"*.log\"]")).value,
        include: section.setting(document, "include", list(ignore_pattern, "[\".env\"]")).value,
        quiet: quiet.value,
        longest_burst: longest_burst.value,
        git_wait: section.setting(document, "git_wait", duration(Duration::ZERO..=millis(600_000), "\"5s\"")).value,
        poll: section.setting(document, "poll", duration(millis(50)..=millis(3_600_000), "\"500ms\"")).value,
        sweep: Some(sweep).filter(|sweep| !sweep.is_zero()),
        tasks: watched_tasks(section.setting(document, "tasks", list(task_name, "[\"default\", \"T117\"]"))),
        on_change: section.setting(document, "on_change", choice(ON_CHANGE)).value,
        max_restarts: section.setting(document, "max_restarts", count(0..=100, "3")).value,
        clear: section.setting(document, "clear", boolean).value,
        bell: section.setting(document, "bell", boolean).value,
        notify: section.setting(document, "notify", boolean).value,
        hook_wait: section.setting(document, "hook_wait", duration(Duration::ZERO..=LONGEST_HOOK_WAIT, "\"30s\"")).value,
    }
}

fn read_evidence(section: &Section<'_>, document: &mut Document<'_>) -> EvidenceSettings {
    let longest = Duration::from_secs(3600);
    EvidenceSettings {
        link: section.setting(document, "link", link_name).value,
        lock_wait: section.setting(document, "lock_wait", duration(Duration::ZERO..=longest, "\"60s\"")).value,
        limits: RetentionLimits {
            runs: Some(section.setting(document, "keep_runs", count(0..=1_000_000, "1000")).value).filter(|runs| *runs > 0),
            days: Some(section.setting(document, "keep_days", count(0..=36_500, "90")).value).filter(|days| *days > 0),
            bytes: Some(section.setting(document, "max_bytes", size(ByteSize(0)..=ByteSize(1 << 50), "\"10GiB\"")).value)
                .filter(|bytes| bytes.0 > 0),
        },
        also: export_formats(
            section.setting(document, "also", list(choice(&ExportFormat::WORDS), "[\"junit\", \"sarif\"]")).value,
        ),
    }
}

/// Returns each format once.
fn export_formats(written: Vec<ExportFormat>) -> Vec<ExportFormat> {
    ExportFormat::ALL.into_iter().filter(|format| written.contains(format)).collect()
}

fn read_tasks(section: &Section<'_>, document: &mut Document<'_>) -> TaskSettings {
    let file = section.setting(document, "file", task_list).value;
    TaskSettings { file: Some(file).filter(|file| !file.is_empty()) }
}

fn read_queue(section: &Section<'_>, document: &mut Document<'_>) -> QueueSettings {
    let longest = Duration::from_secs(24 * 3600);
    QueueSettings {
        max_parallel: section.optional(document, "max_parallel", count(1..=1024, "4")).map(|placed| placed.value),
        wait: section.setting(document, "wait", duration(Duration::ZERO..=longest, "\"30m\"")).value,
    }
}

fn read_service(section: &Section<'_>, document: &mut Document<'_>) -> RunServiceSettings {
    let nice = section.setting(document, "nice", count(0..=19, "5")).value;
    RunServiceSettings {
        nice: u8::try_from(nice).unwrap_or(u8::MAX),
        started: section.setting(document, "started", count(0..=64, "0")).value,
    }
}

fn read_environment(section: &Section<'_>, document: &mut Document<'_>) -> EnvironmentSettings {
    let variable = |value: &toml::Spanned<toml::de::DeValue<'_>>| {
        let name = filled_text("\"DATABASE_URL\"")(value)?;
        variable_name(&name).map(|()| name)
    };
    let pass_environment = section.setting(document, "pass_environment", list(variable, "[\"DATABASE_URL\"]"));
    let env_file = section.setting(document, "env_file", text("\".env.test\"")).value;
    EnvironmentSettings {
        pass_environment: pass_environment.value,
        env_file: if env_file.is_empty() { None } else { Some(env_file) },
        file_variables: None,
    }
}

fn read_routing(top: &Section<'_>, document: &mut Document<'_>) -> RoutingSettings {
    let tdd = top.table(document, "tdd");
    let routing = top.table(document, "routing");
    RoutingSettings {
        max_scaffold_retries: tdd.setting(document, "max_scaffold_retries", count(1..=100, "3")).value,
        max_attempts: tdd.setting(document, "max_attempts", count(1..=1000, "20")).value,
        max_retests: tdd.setting(document, "max_retests", count(1..=100, "5")).value,
        collection_error: routing.setting(document, "collection_error", choice(COLLECTION_ERROR)).value,
        expected_missing: tdd
            .setting(document, "expected_missing", list(filled_text("\"quotes.parser\""), "[\"quotes.parser\"]"))
            .value,
        expected_failing: ExpectedFailure {
            tests: tdd
                .setting(document, "expected_failing", list(filled_text("\"tests/test_new.py\""), "[\"tests/test_new.py\"]"))
                .value,
        },
    }
}

/// Removes problems with keys below a table's header that has a syntax error. The parser takes them for keys of the table above, where they
/// are unknown.
fn without_lost_keys(mut problems: Vec<Problem>, text: &str) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_header =
        |line: usize| line.checked_sub(1).and_then(|place| lines.get(place)).is_some_and(|line| line.starts_with('['));
    let line_of = |problem: &Problem| problem.position.map(|position| position.line);
    let broken: Vec<usize> = problems
        .iter()
        .filter(|problem| problem.pointer.is_empty())
        .filter_map(line_of)
        .filter(|line| is_header(*line))
        .collect();
    let is_lost = |line: usize| {
        let header = (1..line).rev().find(|above| is_header(*above));
        header.is_some_and(|header| broken.contains(&header))
    };
    problems.retain(|problem| problem.pointer.is_empty() || !line_of(problem).is_some_and(is_lost));
    problems
}

/// Removes problems in lines that have a syntax error, because the syntax error causes them. Also limits the number of
/// problems.
fn without_consequent_problems(mut problems: Vec<Problem>) -> Vec<Problem> {
    let line = |problem: &Problem| problem.position.map(|position| position.line);
    let mut broken: Vec<Option<usize>> = Vec::new();
    problems.retain(|problem| {
        let is_first = !broken.contains(&line(problem));
        if problem.pointer.is_empty() {
            broken.push(line(problem));
        }
        is_first || !problem.pointer.is_empty()
    });
    problems.retain(|problem| problem.pointer.is_empty() || !broken.contains(&line(problem)));
    problems.truncate(MOST_PROBLEMS);
    problems
}

fn syntax_problem(message: &str, offending: &str) -> WrongValue {
    match message {
        "duplicate key" => WrongValue::new(format!("`{offending}` is written twice")).hint("keep one of the two"),
        "string values must be quoted, expected literal string" if offending.is_empty() => WrongValue::new("a value is missing"),
        _ => WrongValue::new(format!("not valid TOML: {}", message.replace('\n', ", "))),
    }
}

const ON_PROTECTED_CHANGE: &[(&str, OnProtectedChange)] =
    &[("show", OnProtectedChange::Show), ("human-review", OnProtectedChange::HumanReview)];

pub(super) fn read_approval(section: &Section<'_>, document: &mut Document<'_>) -> ApprovalSettings {
    let mut require_signature = section.setting(document, "require_signature", boolean);
    let allowed_signers = section.setting(document, "allowed_signers", text("\"allowed_signers\""));
    if require_signature.value && allowed_signers.value.is_empty() {
        if let Some(place) = require_signature.place {
            let wrong = WrongValue::new("nobody could ever approve: there is no file of keys");
            let hint = "name one beside it, for example `allowed_signers = \"allowed_signers\"`";
            document.report_at(place, &section.key_path("require_signature"), wrong.hint(hint.to_owned()));
        }
        require_signature.value = false;
    }
    let terms = ApprovalTerms {
        protect: section.setting(document, "protect", list(glob, "[\"tests/**\", \"conftest.py\"]")).value,
        on_protected_change: section.setting(document, "on_protected_change", choice(ON_PROTECTED_CHANGE)).value,
        require_signature: require_signature.value,
        signers: Vec::new(),
    };
    ApprovalSettings { terms, allowed_signers: Some(allowed_signers).filter(|file| !file.value.is_empty()) }
}

/// Variables with the tracker's credentials. No model gets them, even if the settings pass them on (requirement 11 of
/// seed document 002).
const OF_THE_TRACKER: &[&str] = &["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_CONFIG_DIR"];

pub(super) fn read_govern(section: &Section<'_>, document: &mut Document<'_>) -> GovernSettings {
    let millis = Duration::from_millis;
    GovernSettings {
        editor: section.setting(document, "editor", command(Shell::None)).value.argv,
        tracker: section.setting(document, "tracker", command(Shell::None)).value.argv,
        repo: section.optional(document, "repo", filled_text("\"owner/name\"")).map(|repo| repo.value),
        trail: section.setting(document, "trail", inner_file("\"docs/audit\"")).value,
        max_iterations: section.setting(document, "max_iterations", count(1..=1000, "20")).value,
        max_attempts: section.setting(document, "max_attempts", count(1..=100, "3")).value,
        tool_timeout: section.setting(document, "tool_timeout", duration(millis(100)..=millis(3_600_000), "\"60s\"")).value,
        drafter: read_model(&section.table(document, "drafter"), document),
        reviewer: read_model(&section.table(document, "reviewer"), document),
    }
}

fn read_model(section: &Section<'_>, document: &mut Document<'_>) -> ModelSettings {
    const VISIBLE: &str = "[\"~/.config/model\"]";
    const WRITABLE: &str = "[\"~/.cache/model\"]";
    let millis = Duration::from_millis;
    ModelSettings {
        name: section.setting(document, "name", filled_text("\"Claude\"")).value,
        command: section.optional(document, "command", command(Shell::None)).map(|command| command.value.argv),
        pass_environment: section.setting(document, "pass_environment", list(variable, "[\"MODEL_KEY\"]")).value,
        visible: section.setting(document, "visible", list(fixed_place(VISIBLE), VISIBLE)).value,
        writable: section.setting(document, "writable", list(place(WRITABLE), WRITABLE)).value,
        timeout: section.setting(document, "timeout", duration(millis(100)..=millis(86_400_000), "\"10m\"")).value,
    }
}

fn variable(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = filled_text("\"MODEL_KEY\"")(value)?;
    if OF_THE_TRACKER.contains(&name.as_str()) {
        return Err(WrongValue::new(format!("`{name}` opens the tracker, which no model may reach")).hint("remove it"));
    }
    variable_name(&name).map(|()| name)
}

#[cfg(test)]
mod tests {
    use crate::config::{Configuration, read};

    fn problems(text: &str) -> String {
        let problems = read(text, "proctor.toml").expect_err("the text is wrong");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn without_a_word_the_editor_and_the_tracker_are_the_usual_ones_and_nobody_is_asked() {
        let settings = Configuration::default().govern;
        assert_eq!((settings.editor, settings.tracker), (vec!["code".to_owned(), "--wait".to_owned()], vec!["gh".to_owned()]));
        assert_eq!((settings.drafter.name.as_str(), settings.reviewer.name.as_str()), ("Claude", "Gemini"));
        assert_eq!((settings.drafter.command, settings.reviewer.command, settings.repo), (None, None, None));
        assert_eq!((settings.max_iterations, settings.max_attempts, settings.trail.as_str()), (20, 3, "docs/audit"));
    }

    #[test]
    fn no_model_is_given_what_opens_the_tracker() {
        insta::assert_snapshot!(problems("[govern.drafter]\npass_environment = [\"MODEL_KEY\", \"GH_TOKEN\"]\n"), @"
        proctor.toml:2:34: govern.drafter.pass_environment[2]: `GH_TOKEN` opens the tracker, which no model may reach
          remove it
        ");
    }

    #[test]
    fn the_trail_lies_in_the_project() {
        for path in ["/srv/audit", "../audit", "a/../../b", ""] {
            assert!(problems(&format!("[govern]\ntrail = \"{path}\"\n")).contains("govern.trail"), "{path}");
        }
    }
}
