//! Reads `[[check]]`, `[[prerequisite]]`, `[[cleanup]]`, and the defaults of all actions.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::command::{Shell, command};
use crate::config::paths::{glob, inner_file, inner_glob, inner_path};
use crate::config::policy::read_override;
use crate::config::remote::{RemoteSettings, read_place};
use crate::config::section::{Document, Section};
use crate::config::service::read_service;
use crate::config::settings::{ActionSettings, Check, Prerequisite, RunSettings};
use crate::config::values::{
    WrongValue, basis_points, boolean, choice, count, duration, filled_text, list, number, or_off, size, variables,
};
use crate::config::written_value::WrittenValue;
use proctor_model::{
    ActionDefaults, ByteSize, CheckOrder, CheckStart, CoverageTarget, JudgedBy, NetworkAccess, OnSurvivors, ParallelChecks,
    ReportFile, ReportFormat, Reuse, Shards, SkipWhileUnchanged, Tool,
};

/// The tools that `tool` can name.
static TOOLS: LazyLock<Vec<(&str, Tool)>> =
    LazyLock::new(|| Tool::ALL.into_iter().filter(|tool| !tool.is_of_report()).map(|tool| (tool.word(), tool)).collect());

const FORMATS: &[(&str, ReportFormat)] = &[
    ("junit", ReportFormat::Junit),
    ("tap", ReportFormat::Tap),
    ("ctrf", ReportFormat::Ctrf),
    ("trx", ReportFormat::Trx),
    ("sarif", ReportFormat::Sarif),
    ("checkstyle", ReportFormat::Checkstyle),
];

const ON_SURVIVORS: &[(&str, OnSurvivors)] = &[("report", OnSurvivors::Report), ("fail", OnSurvivors::Fail)];

const ORDERS: &[(&str, CheckOrder)] = &[("plan", CheckOrder::Plan), ("failed-first", CheckOrder::FailedFirst)];

const STARTS: &[(&str, CheckStart)] = &[("save", CheckStart::Save), ("ask", CheckStart::Ask)];

/// The words of `reuse`.
const REUSE: &[(&str, Reuse)] = &[
    ("off", Reuse::Off),
    ("own", Reuse::Own),
    ("watch", Reuse::Watch),
    ("always", Reuse::Always),
    ("attested", Reuse::Attested),
];

/// The only value that a check's `snapshot` may have: with `off` the check runs in the project itself. The values
/// `auto` and `require` can be set only for the whole project, in `[sandbox]`.
const IN_PLACE: &[(&str, bool)] = &[("off", true)];

const TIMEOUT_LEAST: Duration = Duration::from_millis(100);
const TIMEOUT_MOST: Duration = Duration::from_secs(24 * 3600);
const OUTPUT_LEAST: ByteSize = ByteSize(1 << 10);
const OUTPUT_MOST: ByteSize = ByteSize(1 << 40);
const GRACE_LEAST: Duration = Duration::from_millis(10);
/// The largest allowed value of a check's `retries`, the same as in specification schema 2.0.0.
const MOST_RETRIES: i64 = 5;
const GRACE_MOST: Duration = Duration::from_secs(10 * 60);

/// Whether an action must have the key `command`. A check may leave the key out if it names a tool whose command
/// proctor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Required,
    OursWithTool,
}

pub(super) fn read_defaults(top: &Section<'_>, document: &mut Document<'_>) -> ActionDefaults {
    let section = top.table(document, "defaults");
    ActionDefaults {
        timeout: section.setting(document, "timeout", duration(TIMEOUT_LEAST..=TIMEOUT_MOST, "\"5m\"")).value,
        idle_timeout: section.setting(document, "idle_timeout", idle_timeout()).value,
        max_output: section.setting(document, "max_output", max_output()).value,
        grace: section.setting(document, "grace", duration(GRACE_LEAST..=GRACE_MOST, "\"5s\"")).value,
        on_survivors: section.setting(document, "on_survivors", choice(ON_SURVIVORS)).value,
    }
}

pub(super) fn read_run(top: &Section<'_>, document: &mut Document<'_>) -> RunSettings {
    let section = top.table(document, "run");
    RunSettings {
        order: section.setting(document, "order", choice(ORDERS)).value,
        reuse: section.setting(document, "reuse", choice(REUSE)).value,
        parallel: section.setting(document, "parallel", parallel_checks).value,
    }
}

/// The settings that a check takes over from the rest of the file.
#[derive(Clone, Copy)]
pub(super) struct CheckContext<'a> {
    pub(super) defaults: ActionDefaults,
    pub(super) run: RunSettings,
    pub(super) remote: &'a RemoteSettings,
}

pub(super) fn read_checks(top: &Section<'_>, document: &mut Document<'_>, context: CheckContext<'_>) -> Vec<Check> {
    let sections = top.tables(document, "check");
    sections.iter().filter_map(|section| read_check(section, document, context)).collect()
}

pub(super) fn read_prerequisites(top: &Section<'_>, document: &mut Document<'_>, defaults: ActionDefaults) -> Vec<Prerequisite> {
    let sections = top.tables(document, "prerequisite");
    sections.iter().filter_map(|section| read_prerequisite(section, document, defaults)).collect()
}

pub(super) fn read_cleanup(top: &Section<'_>, document: &mut Document<'_>, defaults: ActionDefaults) -> Vec<ActionSettings> {
    let sections = top.tables(document, "cleanup");
    sections.iter().filter_map(|section| read_action(section, document, defaults, Command::Required)).collect()
}

/// Reports a name that several actions have. Names must be unique because reports and the ledger identify actions by
/// them.
pub(super) fn check_names<'s>(document: &mut Document<'_>, actions: impl Iterator<Item = &'s ActionSettings>) {
    let mut seen: BTreeMap<&str, &ActionSettings> = BTreeMap::new();
    // If two actions have the same name, the error is reported at the later action in the file, whichever list the
    // action is in.
    let mut actions: Vec<&ActionSettings> = actions.collect();
    actions.sort_by_key(|action| action.name.place);
    for action in actions {
        let name = action.name.value.as_str();
        let Some(first) = seen.get(name) else {
            seen.insert(name, action);
            continue;
        };
        let line = first.name.place.map_or(0, |place| place.line);
        let wrong = WrongValue::new(format!("`{name}` is the name of `{}` in line {line} already", first.key_path));
        if let Some(place) = action.name.place {
            let hint = "give each action a name of its own";
            document.report_at(place, &format!("{}.name", action.key_path), wrong.hint(hint));
        }
    }
}

fn read_check(section: &Section<'_>, document: &mut Document<'_>, context: CheckContext<'_>) -> Option<Check> {
    let CheckContext { defaults, run, remote } = context;
    let tool = section.optional(document, "tool", choice(&TOOLS));
    // A misspelt value of `tool` is reported already. The missing command is only a consequence, so it is not reported
    // as a second problem.
    let ours = section.has("tool") && tool.as_ref().is_none_or(|tool| tool.value.judged_by() != JudgedBy::ExitCode);
    let action = read_action(section, document, defaults, if ours { Command::OursWithTool } else { Command::Required });
    let paths = section.optional(document, "paths", list(glob, "[\"src/**/*.py\"]"));
    let writes = section.optional(document, "writes", writes).map(|writes| writes.value).unwrap_or_default();
    let after = section.optional(document, "after", list(filled_text("\"types\""), "[\"types\"]"));
    let retries = section.optional(document, "retries", number(0..=MOST_RETRIES, "2")).map_or(0, |placed| placed.value);
    let reuse = section.optional(document, "reuse", choice(REUSE)).map_or(run.reuse, |placed| placed.value);
    let when = section.optional(document, "when", choice(STARTS)).map(|when| when.value).unwrap_or_default();
    let prompt = section.optional(document, "prompt", inner_file("\"docs/review.md\""));
    let accept_split_emphasis = section.optional(document, "accept_split_emphasis", boolean);
    let coverage = read_coverage(section, document);
    let report = read_report(section, document);
    let control = section.optional(document, "control", boolean).is_some_and(|control| control.value);
    let in_place = section.optional(document, "snapshot", choice(IN_PLACE)).is_some_and(|in_place| in_place.value);
    let shards = section.optional(document, "shards", shards);
    let remote = read_place(section, document, remote);
    let policy = read_override(&section.table(document, "policy"), document);
    let network = section.optional(document, "network", choice(&NetworkAccess::WORDS)).map(|network| network.value);
    let action = ActionSettings { network, ..action? };
    let policy = WrittenValue { value: policy, place: action.name.place.filter(|_| section.has("policy")) };
    let after = after.unwrap_or_else(|| WrittenValue { value: Vec::new(), place: None });
    let retries = u8::try_from(retries).expect("the range is checked");
    let paths = paths.map(|paths| paths.value).unwrap_or_default();
    Some(Check {
        action,
        tool,
        paths,
        writes,
        after,
        retries,
        reuse,
        when,
        prompt,
        accept_split_emphasis,
        coverage,
        report,
        control,
        shards,
        in_place,
        remote,
        policy,
    })
}

/// Reads a number of shards, or the word `cores`.
fn shards(value: &Spanned<DeValue<'_>>) -> Result<Shards, WrongValue> {
    if value.get_ref().as_str() == Some(Shards::CORES) {
        return Ok(Shards::Cores);
    }
    let number = count(1..=Shards::MOST, "4")(value).map_err(|wrong| wrong.hint("or \"cores\": one for each processor"))?;
    Ok(Shards::Number(NonZeroU32::new(number).expect("the range begins with 1")))
}

fn read_prerequisite(section: &Section<'_>, document: &mut Document<'_>, defaults: ActionDefaults) -> Option<Prerequisite> {
    let action = read_action(section, document, defaults, Command::Required);
    let when_changed = section.optional(document, "when_changed", list(inner_file("\"uv.lock\""), "[\"uv.lock\"]"));
    let creates = section.optional(document, "creates", list(inner_file("\".venv\""), "[\".venv\"]"));
    let once = SkipWhileUnchanged {
        when_changed: when_changed.map(|placed| placed.value).unwrap_or_default(),
        creates: creates.map(|placed| placed.value).unwrap_or_default(),
    };
    let service = read_service(section, document);
    let network = section.optional(document, "network", choice(&NetworkAccess::WORDS)).map(|network| network.value);
    Some(Prerequisite { action: ActionSettings { network, ..action? }, once, service })
}

fn read_action(
    section: &Section<'_>,
    document: &mut Document<'_>,
    defaults: ActionDefaults,
    required: Command,
) -> Option<ActionSettings> {
    let name = read_name(section, document);
    let shell = section.optional(document, "shell", boolean).is_some_and(|shell| shell.value);
    let shell = if shell { Shell::Bash } else { Shell::None };
    let command = section.optional(document, "command", command(shell));
    if !section.has("command") && required == Command::Required {
        let wrong = WrongValue::new("`command` is missing");
        document.report_absent(
            section,
            "command",
            wrong.hint(match section.table.as_str() {
                "check" => "say what to run, `command = [\"pytest\", \"-q\"]`, or only which tool, `tool = \"pytest\"`",
                _ => "say what to run, for example `command = [\"make\", \"deps\"]`",
            }),
        );
    }
    let directory = section.optional(document, "directory", inner_path("\"web\""));
    let environment = section.optional(document, "environment", variables);
    let timeout = section.optional(document, "timeout", duration(TIMEOUT_LEAST..=TIMEOUT_MOST, "\"90s\""));
    let idle_timeout = section.optional(document, "idle_timeout", idle_timeout());
    let max_output = section.optional(document, "max_output", max_output());
    let grace = section.optional(document, "grace", duration(GRACE_LEAST..=GRACE_MOST, "\"5s\""));
    let expected_exit_codes = section.optional(document, "expected_exit_codes", expected_exit_codes);
    let on_survivors = section.optional(document, "on_survivors", choice(ON_SURVIVORS));
    Some(ActionSettings {
        key_path: section.path.clone(),
        name: name?,
        command,
        directory,
        network: None,
        environment: environment.map(|placed| placed.value).unwrap_or_default(),
        timeout: timeout.map_or(defaults.timeout, |placed| placed.value),
        idle_timeout: idle_timeout.map_or(defaults.idle_timeout, |placed| placed.value),
        max_output: max_output.map_or(defaults.max_output, |placed| placed.value),
        grace: grace.map_or(defaults.grace, |placed| placed.value),
        expected_exit_codes,
        on_survivors: on_survivors.map_or(defaults.on_survivors, |placed| placed.value),
    })
}

fn read_name(section: &Section<'_>, document: &mut Document<'_>) -> Option<WrittenValue<String>> {
    const LONGEST: usize = 100;
    let name = section.optional(document, "name", |value| {
        let name = filled_text("\"unit tests\"")(value)?;
        let is_name = name.chars().count() <= LONGEST && !name.chars().any(char::is_control) && name.trim() == name;
        let wrong = || WrongValue::new(format!("a name is one line of at most {LONGEST} characters, without spaces around it"));
        if is_name { Ok(name) } else { Err(wrong()) }
    });
    if !section.has("name") {
        let wrong = WrongValue::new("`name` is missing").hint("give it one, for example `name = \"unit tests\"`");
        document.report_absent(section, "name", wrong);
    }
    name
}

fn parallel_checks(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<ParallelChecks, WrongValue> {
    match (value.get_ref().as_bool(), value.get_ref().as_str()) {
        (Some(true), _) => Ok(ParallelChecks::On),
        (Some(false), _) => Ok(ParallelChecks::Off),
        (None, Some("auto")) => Ok(ParallelChecks::Auto),
        (None, _) => Err(WrongValue::new("expected \"auto\", true or false").example("\"auto\"")),
    }
}

fn idle_timeout() -> impl Fn(&toml::Spanned<toml::de::DeValue<'_>>) -> Result<Option<Duration>, WrongValue> {
    or_off(duration(TIMEOUT_LEAST..=TIMEOUT_MOST, "\"60s\""))
}

fn max_output() -> impl Fn(&toml::Spanned<toml::de::DeValue<'_>>) -> Result<Option<ByteSize>, WrongValue> {
    or_off(size(OUTPUT_LEAST..=OUTPUT_MOST, "\"4GiB\""))
}

fn expected_exit_codes(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<Vec<i32>, WrongValue> {
    const EXAMPLE: &str = "[0, 2]";
    let codes = list(number(0..=255, EXAMPLE), EXAMPLE)(value)?;
    if codes.is_empty() {
        return Err(WrongValue::new("without any code the action could never succeed").example(EXAMPLE));
    }
    Ok(codes.into_iter().map(|code| i32::try_from(code).expect("the range is checked")).collect())
}

fn writes(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<Vec<String>, WrongValue> {
    const EXAMPLE: &str = "[\"coverage/**\"]";
    let globs = list(inner_glob, EXAMPLE)(value)?;
    if globs.is_empty() {
        return Err(WrongValue::new("an empty list keeps nothing of what the check writes, as no `writes` does").example(EXAMPLE));
    }
    Ok(globs)
}

fn read_coverage(section: &Section<'_>, document: &mut Document<'_>) -> Option<WrittenValue<CoverageTarget>> {
    let coverage = section.table(document, "coverage");
    let minimum = coverage.optional(document, "minimum", basis_points);
    let report = coverage.optional(document, "report", inner_file("\"coverage.json\""));
    for (key, example) in [("minimum", "85.5"), ("report", "\"coverage.json\"")] {
        if section.has("coverage") && !coverage.has(key) {
            let wrong = WrongValue::new(format!("`{key}` is missing")).hint(format!("for example `{key} = {example}`"));
            document.report_absent(&coverage, key, wrong);
        }
    }
    let (minimum, report) = (minimum?, report?);
    let target = CoverageTarget { minimum_basis_points: minimum.value, report: report.value };
    Some(WrittenValue { value: target, place: minimum.place })
}

fn read_report(section: &Section<'_>, document: &mut Document<'_>) -> Option<WrittenValue<ReportFile>> {
    let report = section.table(document, "report");
    let file = report.optional(document, "file", report_file);
    let format = report.optional(document, "format", choice(FORMATS)).map_or(ReportFormat::Tests, |format| format.value);
    if section.has("report") && !report.has("file") {
        let wrong = WrongValue::new("`file` is missing").hint("for example `file = \"test-results/junit.xml\"`");
        document.report_absent(&report, "file", wrong);
    }
    let WrittenValue { value: file, place } = file?;
    Some(WrittenValue { value: ReportFile { file, format }, place })
}

fn report_file(value: &toml::Spanned<toml::de::DeValue<'_>>) -> Result<String, WrongValue> {
    const EXAMPLE: &str = "\"test-results/junit.xml\"";
    let text = filled_text(EXAMPLE)(value)?;
    if let Some(own) = text.strip_prefix(ReportFile::OUT) {
        let is_name = !own.is_empty() && !own.contains('/') && own != "." && own != "..";
        let wrong =
            || WrongValue::new("a report in `$PROCTOR_OUT` is one file directly below it").example("\"$PROCTOR_OUT/junit.xml\"");
        return if is_name { Ok(text) } else { Err(wrong()) };
    }
    let file = inner_glob(value)?;
    let report = ReportFile { file, format: ReportFormat::Tests };
    if report.directory_of_glob() == Some("") {
        let wrong = WrongValue::new("the files of a glob lie in a directory of their own");
        return Err(wrong.example("\"target/surefire-reports/TEST-*.xml\""));
    }
    Ok(report.file)
}
