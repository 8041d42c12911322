//! Makes the lines for people about runs, from the types of the report. Pure: the module `render` prints the lines.

mod action;
mod agent;
mod failures;
mod failures_of_task;
mod gate;
mod history;
mod project_status;
mod prove;
mod unmet;

use std::path::{Path, PathBuf};

use self::action::show_log_command;
pub(crate) use self::action::{ActionLook, action, attested_check, attested_verdict, counted, service_ready, with_source};
pub(crate) use self::agent::{agent_answer, cycle, cycle_line};
pub(crate) use self::failures::FailuresShown;
pub(crate) use self::failures_of_task::{TaskSummary, summary_lines, summary_words, task_failures, task_heading};
pub(crate) use self::gate::gate_lines;
use self::history::with_run_numbers;
pub(crate) use self::history::{claim_line, comparison_lines, flaky_lines, log_line, past_lines, slow_lines, streak_line};
pub(crate) use self::project_status::{project_lines, project_status};
pub(crate) use self::prove::{base_lines, proof_lines};
pub(crate) use self::unmet::unmet;
use crate::cli::local_time::LocalTime;
use crate::cli::style::{Line, Style, Tone};
pub(crate) use proctor_app::answers::results;
use proctor_app::refusals::resolve_hint;
use proctor_app::run::moved_paths;
use proctor_evidence::report::{
    ActionResultV2, ExecutionReportV2, IsolationV2, SnapshotV2, TestsModifiedV2, WrittenV2, count_checks,
};
use proctor_git::read_git_index;
use proctor_model::{
    ByteSize, CheckCounts, CommandExit, ENGINE_SOCKET_OPEN, HelperDeath, IsolationLevel, NextNode, OverallResult, OverallStatus,
    PersonAsked, Phase, PlanNote, PruneReason, RouteKind, TaskId, TddState, TreeDigest, TreeIssue, TreeIssueKind, TreePath,
    Trigger, TriggerKind, UnapprovedPlan, approve_command, quoted_text,
};
use proctor_project::{ProjectSettings, RecordedRun, decides_the_verdict};
use proctor_service::{WayIntoProject, ignore_advice};

/// At most this many findings of one action are shown. The report has all findings.
const SHOWN_FINDINGS: usize = 5;

pub(crate) fn header(project_name: &str, tree: &TreeDigest, style: Style) -> Line {
    let name = style.paint(Tone::Strong, project_name);
    Line::from(concat!("proctor ", env!("CARGO_PKG_VERSION"), " · ")).and(name).and(format!(" · tree {}…", tree.0.short()))
}

/// Returns the last line of a run: verdict, blocking results, route, an isolation weaker than namespaces, path of the report.
pub(crate) fn verdict(report: &ExecutionReportV2, shown_path: &str, style: Style) -> Line {
    let (word, tone) = verdict_word(report);
    let mut parts = vec![style.paint(tone, word)];
    match report.execution_summary.overall_status {
        OverallStatus::Moved => parts.push(moved(report).into()),
        OverallStatus::Interrupted => parts.push("no verdict".into()),
        // The errors are shown one by one, and nothing was run that could block.
        OverallStatus::SpecificationError => {}
        OverallStatus::RewroteTree => parts.push("the checks rewrote the tree, so this is no proof of it".into()),
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed | OverallStatus::Superseded => {
            parts.extend(blocking_words(report).map(Line::from));
        }
    }
    // What failed comes first. A run without tests is nothing but that.
    if report.validation_criteria_evaluation.overall_result == Some(OverallResult::Passed) {
        parts.extend(report.tests_not_run.as_deref().map(tests_not_run).map(Line::from));
    }
    parts.extend(report.fewer_tests.as_ref().map(|fewer| fewer.to_string().into()));
    if unmet::is_passed_and_incomplete(report) {
        parts.push("not complete".into());
    }
    parts.extend(count_checks(report).words().map(Line::from));
    parts.extend(route(report).map(Line::from));
    parts.extend(report.isolation.as_ref().and_then(weaker_isolation).map(Line::from));
    parts.push(shown_path.into());
    Line::join(parts, " · ")
}

/// Returns how many actions block: for the project's own checks, which ones failed.
fn blocking_words(report: &ExecutionReportV2) -> Option<String> {
    let blocking: Vec<&str> =
        results(report).filter(|result| result.blocking == Some(true)).map(|result| result.name.as_str()).collect();
    match blocking.as_slice() {
        [] => None,
        all if report.test_specification.task_id != TaskId::default_task() => Some(format!("{} blocking", all.len())),
        [one] => Some(format!("{one} failed")),
        [one, other] => Some(format!("{one} and {other} failed")),
        [one, other, third] => Some(format!("{one}, {other} and {third} failed")),
        [one, other, rest @ ..] => Some(format!("{one}, {other} and {} more failed", rest.len())),
    }
}

/// Returns the lines about a run that has no verdict because of proctor's own fault: what happened, and what to do. None for
/// every other run.
pub(crate) fn own_fault(report: &ExecutionReportV2, exit: CommandExit) -> Vec<String> {
    if exit != CommandExit::OwnFault {
        return Vec::new();
    }
    vec![report.validation_criteria_evaluation.reason.clone(), format!("hint: {}", HelperDeath::HINT)]
}

/// Returns the isolation level if it is weaker than namespaces, with the first reason and with the way to mend it.
fn weaker_isolation(isolation: &IsolationV2) -> Option<String> {
    let level = isolation.level.weaker_words()?;
    let switched_off = isolation.obstacles.iter().find(|obstacle| obstacle.contains("sandbox.mode"));
    if isolation.obstacles.iter().any(|obstacle| obstacle == ENGINE_SOCKET_OPEN) {
        return Some(format!("{level}: {ENGINE_SOCKET_OPEN} (your own configuration allows it by `engine_socket`)"));
    }
    // Where a server runs the checks is wanted, so there is nothing to mend.
    if let Some(server) = isolation.obstacles.iter().find(|_| isolation.level == IsolationLevel::Remote) {
        return Some(format!("isolation {server}"));
    }
    let (why, mend) = match (switched_off, isolation.obstacles.first()) {
        (Some(setting), _) => (format!(": {setting}"), "mend: take that setting back"),
        (None, Some(first)) => (format!(": {first}"), "mend: `proctor doctor` says how"),
        (None, None) => (String::new(), "mend: `proctor doctor` says how"),
    };
    Some(format!("{level}{why} ({mend})"))
}

/// Returns one line for each blocking action with failed tests or findings: the command that prints its log. Other actions name it beside
/// their last output. `run` is the number that the command has to name.
pub(crate) fn logs(report: &ExecutionReportV2, run: Option<u64>) -> Vec<String> {
    let look = ActionLook { run, ..ActionLook::of(&report.test_specification.task_id, FailuresShown::None, Style::Plain) };
    let has_log = |result: &&ActionResultV2| {
        let reused = result.reused.as_ref().and_then(|reused| reused.evidence.as_ref());
        failures::has_failures(result) && result.evidence.as_ref().or(reused).is_some()
    };
    let blocking = results(report).filter(|result| result.blocking == Some(true)).filter(has_log);
    blocking.map(|result| format!("  log of {}: `{}`", result.name, show_log_command(result, look))).collect()
}

/// Returns the meaning of a route's node, such as N3, in words.
pub(crate) fn node_words(node: NextNode) -> &'static str {
    match node {
        NextNode::N2 => "N2 re-scaffold the tests",
        NextNode::N3 => "N3 back to implementation",
        NextNode::N4 => "N4 valid RED, implement",
        NextNode::NextPhase => "NEXT_PHASE",
        NextNode::HumanReview => "HUMAN_REVIEW a person decides",
    }
}

/// Returns the notes about files whose content is not in the tree digest: unreadable files, and sockets, pipes or devices.
pub(crate) fn issues(issues: &[TreeIssue]) -> Vec<String> {
    let lines = issues.iter().take(SHOWN_FINDINGS).map(|issue| match issue.kind {
        TreeIssueKind::Unreadable => format!("note: `{}` cannot be read; it counts as unknown in the tree's digest", issue.path),
        TreeIssueKind::Special => {
            format!("note: `{}` is a socket, pipe or device: the tree's digest and the snapshot do not have it", issue.path)
        }
    });
    lines.collect()
}

/// Returns the errors of the specification for a refused run, each with its place and a hint.
pub(crate) fn specification_errors(report: &ExecutionReportV2) -> Vec<String> {
    let lines = report.specification_errors.iter().flat_map(|error| {
        let place = if error.line > 0 { format!("{}:{}:{}", error.file, error.line, error.column) } else { error.file.clone() };
        let first = format!("  {place}: error[{}] {}: {}", error.code, error.instance_path, error.message);
        let nearest = error.nearest.iter().map(|nearest| format!("    did you mean `{nearest}`?"));
        let hint = error.hint.iter().map(|hint| format!("    {hint}"));
        std::iter::once(first).chain(nearest).chain(hint).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Returns the notes of a run, without those that the person has been told before.
pub(crate) fn notes(report: &ExecutionReportV2, told: &[PlanNote]) -> Vec<String> {
    let new = report.notes.iter().filter(|note| !told.contains(note));
    let mut lines: Vec<_> = new.map(|note| format!("  note: {}: {}", note.subject, with_run_numbers(&note.message))).collect();
    if !report.configuration_changed.is_empty() {
        let paths: Vec<_> = report.configuration_changed.iter().map(|change| change.path.as_str()).collect();
        lines.push(format!("  note: configuration changed since the last run: {}", paths.join(", ")));
    }
    lines.extend(changed_rules(&report.rules_changed, &report.test_specification.task_id));
    lines.extend(report.tests_modified.as_ref().filter(|files| files.modified).map(|files| tests_modified(files, report)));
    lines.extend(report.tree.as_ref().and_then(|tree| tree.snapshot.as_ref()).map(snapshot_lines).unwrap_or_default());
    lines.extend(report.isolation.as_ref().and_then(unenforced_limits_line));
    lines
}

/// Returns the words about a test command that no check runs.
pub(crate) fn tests_not_run(tests: &str) -> String {
    format!("tests not run: {tests}")
}

/// Returns the line about rules that nobody has approved; `None` if all are approved.
pub(crate) fn changed_rules(changed: &[String], task: &TaskId) -> Option<String> {
    let named = changed.join("; ");
    let approve = approve_command(task);
    (!changed.is_empty())
        .then(|| format!("  judged by changed rules: {named} · no proof until a person approves them (`{approve}`)"))
}

/// Returns the line about limits of `[sandbox]` that were not enforced; `None` if all were.
fn unenforced_limits_line(isolation: &IsolationV2) -> Option<String> {
    let first = isolation.unenforced_limits.first()?;
    let names: Vec<String> = isolation.unenforced_limits.iter().map(|limit| format!("`{}`", limit.setting.word())).collect();
    let verb = if names.len() == 1 { "was" } else { "were" };
    Some(format!(
        "  limits: {} of `[sandbox]` {verb} not enforced by the kernel: {}; {}",
        names.join(" and "),
        first.why,
        first.mend
    ))
}

/// Returns the lines about the place in which the checks ran; none if they ran on a snapshot and wrote nothing.
fn snapshot_lines(snapshot: &SnapshotV2) -> Vec<String> {
    let in_place = |reason: &String| format!("  in place: {}: {reason}", who_ran_in_place(snapshot));
    snapshot.reason.iter().map(in_place).chain(written_line(snapshot)).collect()
}

fn who_ran_in_place(snapshot: &SnapshotV2) -> &'static str {
    // Without any snapshot there is no digest of what was copied for the checks.
    match snapshot.inputs {
        None => "the checks ran in the project, not on a snapshot",
        Some(_) => "a check ran in the project, not on the snapshot",
    }
}

/// Returns the line about what the checks wrote on their snapshot; `None` if they wrote nothing.
fn written_line(snapshot: &SnapshotV2) -> Option<String> {
    let count = snapshot.written_count.filter(|count| *count > 0)?;
    let kept = snapshot.kept_count.unwrap_or_default();
    let dropped = count.saturating_sub(kept);
    let named = |is_kept: bool, count: u64| {
        let shown = snapshot.written.iter().filter(|one| one.kept == is_kept).take(SHOWN_FINDINGS).map(written_text);
        let shown: Vec<String> = shown.collect();
        match count.saturating_sub(shown.len() as u64) {
            _ if shown.is_empty() => String::new(),
            0 => format!(": {}", shown.join(", ")),
            more => format!(": {} and {more} more", shown.join(", ")),
        }
    };
    let to_keep = if snapshot.writes_to_keep.is_empty() {
        String::new()
    } else {
        let quoted: Vec<String> = snapshot.writes_to_keep.iter().map(|pattern| quoted_text(pattern)).collect();
        format!("; to keep: writes = [{}]", quoted.join(", "))
    };
    let things = if dropped == 1 { "1 thing, which never reaches" } else { &format!("{dropped} things, which never reach") };
    let dropped = (dropped > 0).then(|| format!("the checks wrote {things} the project{}{to_keep}", named(false, dropped)));
    let kept = (kept > 0).then(|| format!("kept in the project{}", named(true, kept)));
    Some(format!("  snapshot: {}", kept.into_iter().chain(dropped).collect::<Vec<_>>().join("; ")))
}

fn written_text(one: &WrittenV2) -> String {
    match one.bytes {
        Some(bytes) => format!("{} ({})", one.path, ByteSize(bytes)),
        None => one.path.clone(),
    }
}

/// Returns the line about protected files that differ from the approved ones.
fn tests_modified(files: &TestsModifiedV2, report: &ExecutionReportV2) -> String {
    let named: Vec<String> = files.changes.iter().take(SHOWN_FINDINGS).map(ToString::to_string).collect();
    let more = files.changed_count.saturating_sub(named.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let tests = files.tests.as_ref().map_or_else(String::new, |tests| {
        let (before, now) = (tests.before, tests.now);
        let counts = [
            (before.total, now.total, "tests"),
            (before.skipped, now.skipped, "skipped"),
            (before.expected_failures, now.expected_failures, "expected to fail"),
        ];
        let changed = counts.iter().filter(|(before, now, _)| before != now);
        let changed: Vec<String> = changed.map(|(before, now, what)| format!("{now} {what} instead of {before}")).collect();
        if changed.is_empty() { String::new() } else { format!("; {}", changed.join(", ")) }
    });
    let approve = approve_command(&report.test_specification.task_id);
    format!("  note: protected files are not what was approved: {}{more}{tests} · `{approve}`", named.join(", "))
}

/// Returns the number of debt items and the path of the debt file; `None` without debt, and for the project's own checks, of which the
/// screen shows what failed.
pub(crate) fn debt(report: &ExecutionReportV2) -> Option<String> {
    if report.test_specification.task_id == TaskId::default_task() {
        return None;
    }
    let debt = report.technical_debt_generated.as_ref().filter(|debt| debt.items_created > 0)?;
    let named = |parts: &[(u64, &str)]| {
        let some = parts.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, name)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    };
    let (of, to) = (&debt.summary, &debt.routing);
    let severities = named(&[(of.critical, "CRITICAL"), (of.high, "HIGH"), (of.medium, "MEDIUM"), (of.low, "LOW")]);
    let destinations = named(&[
        (to.to_sprint, "for the sprint"),
        (to.to_inventory, "for the inventory"),
        (to.unrouted, "for a person to route"),
    ]);
    let items = if debt.items_created == 1 { "item" } else { "items" };
    Some(format!("debt: {} {items} ({severities}), {destinations} · {}", debt.items_created, debt.debt_data_file))
}

/// Returns the hints after a run during which the tree changed: what to do if the checks themselves write the changed files.
/// A file that decides how the project is judged must not be ignored, so the hint for such a file says to look at it.
pub(crate) fn ignore_hints(report: &ExecutionReportV2, root: &Path, settings: &ProjectSettings) -> Vec<String> {
    let moved = report.tree.as_ref().map(|tree| tree.moved.as_slice()).unwrap_or_default();
    let decides = |path: &&str| decides_the_verdict(path.as_bytes(), settings.allowed_signers.as_deref());
    let deciding: Vec<&str> = moved.iter().map(String::as_str).filter(decides).collect();
    if !deciding.is_empty() {
        let named = deciding.join(", ");
        let decide = if deciding.len() == 1 { "decides" } else { "decide" };
        return vec![format!("hint: {named} {decide} how the project is judged: see what changed it, then run again")];
    }
    let paths: Vec<TreePath> = moved_paths(report).iter().filter_map(|path| TreePath::try_from(path.as_str()).ok()).collect();
    ignore_advice(&paths, read_git_index(root, None).paths(), WayIntoProject::InPlace)
}

/// Returns the path of a report as people see it: the shortest path through the project's evidence link that leads to the report, otherwise
/// the path in the store. The task's latest run is not named in it.
pub(crate) fn report_path(root: &Path, link: Option<&str>, task: &TaskId, report_path: &Path, is_latest: bool) -> String {
    let run = report_path.parent().and_then(Path::file_name).map(|run| Path::new("runs").join(run));
    // A run of some checks is no task's latest.
    let places = is_latest.then(PathBuf::new).into_iter().chain(run).map(|place| place.join("execution-report.json"));
    // If a directory was copied together with its link, the link leads to the other project's evidence.
    let leads_there = |path: &Path| match (path.canonicalize(), report_path.canonicalize()) {
        (Ok(through_link), Ok(direct)) => through_link == direct,
        (Err(_), _) | (_, Err(_)) => false,
    };
    let through_link = places.filter_map(|place| Some(Path::new(link?).join(task.as_str()).join(place)));
    // Whoever stands elsewhere could not open a path that is relative to the project.
    let mut paths = through_link.flat_map(|path| [path.clone(), root.join(path)]);
    paths.find(|path| leads_there(path)).unwrap_or_else(|| report_path.to_owned()).display().to_string()
}

/// The word for a run that passed although no check has a result on the run's own tree.
const UNPROVEN: &str = "UNPROVEN";

/// Returns the word for how a run ended. `checks` says how many checks it proved, if that is known.
fn result_word(status: OverallStatus, result: Option<OverallResult>, checks: Option<CheckCounts>) -> &'static str {
    match (status, result) {
        (OverallStatus::PartialSuccess, Some(OverallResult::Passed)) if checks.is_some_and(CheckCounts::is_nothing_proven) => {
            UNPROVEN
        }
        (OverallStatus::RewroteTree, _)
        | (OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed, Some(OverallResult::Passed)) => {
            "PASSED"
        }
        (OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed, _) => "FAILED",
        (OverallStatus::SpecificationError, _) => "SPECIFICATION ERROR",
        (OverallStatus::Interrupted, _) => "INTERRUPTED",
        (OverallStatus::Superseded, _) => "SUPERSEDED",
        (OverallStatus::Moved, _) => "MOVED",
    }
}

/// Returns the lines about a run whose files were pruned.
pub(crate) fn pruned(run: &RecordedRun, why: PruneReason, here: &LocalTime) -> [String; 3] {
    let manifest = run.sealed.map(|hashes| hashes.manifest.hex()).unwrap_or_default();
    [
        log_line(&run.run_id.number().to_string(), run, None, here),
        format!("  {}, and its files were removed; the ledger keeps its verdict", why.because()),
        format!("  a copy of it is genuine if the SHA-256 of its SHA256SUMS is {manifest}"),
    ]
}

/// Returns the first line of `proctor show`.
pub(crate) fn run_line(run: &RecordedRun, here: &LocalTime) -> String {
    let task = if run.task == TaskId::default_task() { String::new() } else { format!("task {} · ", run.task) };
    format!("run {} · {task}{} · {}", run.run_id.number(), here.with_age(run.started), run.run_id)
}

/// Returns the line that says what started a run; `None` if somebody asked for it.
pub(crate) fn started_by(trigger: Option<&Trigger>) -> Option<String> {
    let trigger = trigger?;
    let what = match trigger.kind {
        TriggerKind::Request => return None,
        TriggerKind::Start => "`proctor watch`",
        TriggerKind::Save => "a save",
        TriggerKind::Moved => "a change during the run before it",
        TriggerKind::Wait => "a command that waits for a verdict",
    };
    let path = trigger.paths.first().map(|path| format!(": {path}")).unwrap_or_default();
    Some(format!("started by {what}{path}"))
}

/// Returns the question under the lines about a plan that is not approved, whose answer a person types on the same line.
pub(crate) fn approval_prompt(unapproved: &UnapprovedPlan) -> String {
    format!("type `{}` to approve this; anything else approves nothing: ", unapproved.name_to_type())
}

/// Returns the hint after a run whose task now waits for a person, or should be looked at by one (R3, R9).
pub(crate) fn pause_hint(report: &ExecutionReportV2) -> Option<String> {
    let tdd = report.tdd.as_ref()?;
    let task = &report.test_specification.task_id;
    if !tdd.started {
        let state = TddState { notice: tdd.notice.clone(), ..TddState::default() };
        return PersonAsked::of_cycle(task, &state).map(|asked| asked.sentence());
    }
    let asks = report.route.as_ref().is_some_and(|route| route.phase == tdd.phase && route.next_node == NextNode::HumanReview);
    asks.then(|| resolve_hint(task))
}

fn verdict_word(report: &ExecutionReportV2) -> (&'static str, Tone) {
    if is_unproven(report) {
        return (UNPROVEN, Tone::Doubtful);
    }
    match (report.execution_summary.overall_status, report.validation_criteria_evaluation.overall_result) {
        (OverallStatus::Moved, _) => ("MOVED", Tone::Doubtful),
        (OverallStatus::Interrupted, _) => ("INTERRUPTED", Tone::Doubtful),
        (OverallStatus::Superseded, _) => ("SUPERSEDED", Tone::Doubtful),
        (OverallStatus::SpecificationError, _) => ("SPECIFICATION ERROR", Tone::Bad),
        (OverallStatus::RewroteTree, _) => ("PASSED", Tone::Doubtful),
        (OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed, Some(OverallResult::Passed)) => {
            ("PASSED", Tone::Good)
        }
        (OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed, _) => ("FAILED", Tone::Bad),
    }
}

fn moved(report: &ExecutionReportV2) -> String {
    match report.tree.as_ref().map(|tree| tree.moved.as_slice()).unwrap_or_default() {
        [] => "the tree changed while the checks ran, no verdict".to_owned(),
        [path] => format!("{path} changed while the checks ran, no verdict"),
        [path, rest @ ..] => format!("{path} and {} more changed while the checks ran, no verdict", rest.len()),
    }
}

/// Returns whether nothing blocks in a run, and no check has a result on the run's own tree.
fn is_unproven(report: &ExecutionReportV2) -> bool {
    let result = report.validation_criteria_evaluation.overall_result;
    result_word(report.execution_summary.overall_status, result, Some(count_checks(report))) == UNPROVEN
}

/// Returns the hint after a run in which no check has a result on the run's own tree.
pub(crate) fn unproven_hint(report: &ExecutionReportV2) -> Option<&'static str> {
    is_unproven(report).then_some("no check was run on this tree: `proctor wait --fresh` runs what is missing")
}

/// Returns the route, which is shown only if a cycle has been started (R2).
fn route(report: &ExecutionReportV2) -> Option<String> {
    let tdd = report.tdd.as_ref().filter(|tdd| tdd.started)?;
    // If the route is for another phase, it is only advice and does not move the task.
    let route = report.route.as_ref().filter(|route| route.phase == tdd.phase)?;
    let words = if route.kind == RouteKind::NotRedYet { "N2 not red yet" } else { node_words(route.next_node) };
    Some(format!("{} → {words}", tdd.phase.word()))
}

/// Returns how a run would be routed in the phase that was asked about; it moves nothing (R6).
pub(crate) fn asked_route(report: &ExecutionReportV2, phase: Phase) -> Option<String> {
    let route = report.route.as_ref().filter(|route| route.phase == phase)?;
    let words = node_words(route.next_node);
    Some(format!("{} → {words}: {}; asked only, so nothing moves", phase.word(), route.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_what_started_it_unless_somebody_asked_for_it() {
        let of = |kind, paths: &[&str]| {
            let paths = paths.iter().map(|path| (*path).to_owned()).collect();
            started_by(Some(&Trigger { kind, paths }))
        };
        assert_eq!(of(TriggerKind::Request, &[]), None);
        assert_eq!(of(TriggerKind::Save, &["src/a.py", "b.py"]).as_deref(), Some("started by a save: src/a.py"));
        assert_eq!(of(TriggerKind::Start, &[]).as_deref(), Some("started by `proctor watch`"));
    }
}
