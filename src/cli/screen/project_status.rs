//! The lines that show a person whether a project's verdicts are still up to date. Pure: nothing is read or printed here.

use crate::cli::screen::{changed_rules, tests_not_run};
use crate::cli::style::{Line, Style, Tone};
use proctor_api::{DoingV1, ProjectStatusV1, ProjectV1, StateV1, TaskStatusV1, VerdictV1, WatchingV1};
use proctor_app::{indented, status};
use proctor_model::{
    CheckStanding, CheckState, CommandExit, Digest, IsolationLevel, OverallResult, PersonAsked, Phase, RouteKind, ServiceTrouble,
    Serving, StaleReason, TaskId, Timestamp, TreeDigest, approve_command, checks_sentence,
};

/// At most this many changed paths are shown.
const SHOWN_PATHS: usize = 5;

/// Returns the lines about a project: one for each task, then the problems.
pub(crate) fn project_status(project: &ProjectStatusV1, now: Timestamp, style: Style) -> Vec<Line> {
    let problem_lines = |problem: &String| indented(problem).into_iter().map(Line::from);
    let of_task = |task: &TaskStatusV1| {
        // A verdict that is fresh and green covers all checks, so there is nothing to tell apart.
        let is_green = task.state == StateV1::Fresh && task.result == Some(OverallResult::Passed);
        let checks = checks_sentence(&task.checks)
            .filter(|_| !is_green)
            .into_iter()
            .flat_map(|sentence| indented(&sentence))
            .map(Line::from);
        let asked = task.person.iter().filter(|person| !person.holds_runs()).flat_map(|person| indented(&person.sentence()));
        let problems: Vec<Line> = task.problems.iter().flat_map(problem_lines).collect();
        let changed = changed_rules(&task.rules_changed, &task.task).map(Line::from);
        std::iter::once(task_line((&project.root, now), task, style))
            .chain(checks)
            .chain(changed)
            .chain(asked.map(Line::from))
            .chain(problems)
            .collect::<Vec<_>>()
    };
    let health = project.health.iter().flat_map(ServiceTrouble::lines).flat_map(|line| indented(&line)).map(Line::from);
    let watch = project.watched_by.map(status::watched_by).map(Line::from);
    let early = project
        .started_early
        .map(|bytes| Line::from(format!("  a command was started early for the next run: {} MB", bytes / 1_000_000)));
    project
        .tasks
        .iter()
        .flat_map(of_task)
        .chain(watch)
        .chain(early)
        .chain(health)
        .chain(project.problems.iter().flat_map(problem_lines))
        .collect()
}

/// Returns the lines about a project in `proctor service list`: its directory and state, then the problems.
pub(crate) fn project_lines(project: &ProjectV1) -> Vec<String> {
    let serving = match project.serving {
        Serving::Served => "served",
        Serving::NotServed => "not served",
    };
    let mut lines = vec![format!("{}  {serving:<10}  {}", project.id, project.root)];
    if let Some(standing) = &project.standing {
        let watching = match standing.watching {
            WatchingV1::Events => Some("watched"),
            WatchingV1::Polling => Some("polled"),
            WatchingV1::NotWatched => None,
        };
        let doing = match standing.doing {
            DoingV1::Idle if standing.person.as_ref().is_some_and(PersonAsked::holds_runs) => Some("waits for a person"),
            DoingV1::Idle => Some("idle"),
            DoingV1::Running => Some("running"),
            DoingV1::Queued => Some("queued"),
            DoingV1::Changing => Some("being opened or left"),
            DoingV1::Closed => Some("could not be opened"),
            DoingV1::Unknown => None,
        };
        let last = |verdict: Option<&VerdictV1>| {
            verdict.map_or_else(|| "no verdict".to_owned(), |verdict| format!("last {}", words(verdict)))
        };
        // Several tasks have a line each.
        let verdict = standing.tasks.is_empty().then(|| last(standing.verdict.as_ref()));
        let parts = [watching.map(str::to_owned), doing.map(str::to_owned), verdict];
        let parts = parts.into_iter().flatten().collect::<Vec<_>>();
        if !parts.is_empty() {
            lines.push(format!("  {}", parts.join(" · ")));
        }
        lines.extend(standing.watched_by.map(status::watched_by));
        lines.extend(standing.tasks.iter().map(|task| format!("  {} · {}", task.task, last(task.verdict.as_ref()))));
        lines.extend(standing.person.iter().flat_map(|person| indented(&person.sentence())));
        lines.extend(standing.health.iter().flat_map(ServiceTrouble::lines).flat_map(|line| indented(&line)));
        lines.extend(standing.problems.iter().flat_map(|problem| indented(problem)));
    }
    lines
}

fn task_line((root, now): (&str, Timestamp), task: &TaskStatusV1, style: Style) -> Line {
    let (words, tone) = state(task);
    let name = root.rsplit('/').next().unwrap_or(root);
    let mut parts = vec![style.paint(Tone::Strong, name), task.task.as_str().into(), style.paint(tone, &words)];
    parts.extend(because(task).map(Line::from));
    if let Some(verdict) = task.verdict.as_ref().filter(|_| task.state == StateV1::Fresh) {
        parts.push(tree(verdict.tree.as_ref()).into());
        parts.extend(verdict.tested.map(|tested| tested.to_string().into()));
        let run = || format!("run {}", verdict.run_id.number());
        parts.push(task.known.as_ref().map_or_else(run, |known| known.words_at(root, now)).into());
        parts.extend(waiting_checks(task).map(Line::from));
        parts.extend(task.tests_not_run.as_deref().map(tests_not_run).map(Line::from));
        parts.extend(task.fewer_tests.as_ref().map(|fewer| fewer.to_string().into()));
        parts.extend(verdict.isolation.and_then(IsolationLevel::weaker_words).map(Line::from));
    }
    Line::join(parts, " · ")
}

/// Returns which checks a fresh verdict lacks, because they wait for somebody to ask for them; `None` if it lacks none.
fn waiting_checks(task: &TaskStatusV1) -> Option<String> {
    let waits = |check: &&CheckStanding| check.state != CheckState::Fresh;
    let names: Vec<&str> = task.checks.iter().filter(waits).map(|check| check.name.as_str()).collect();
    let is_lacking = task.result == Some(OverallResult::Passed) && !names.is_empty();
    is_lacking.then(|| format!("without {}: `proctor run --all`", names.join(", ")))
}

fn state(task: &TaskStatusV1) -> (String, Tone) {
    if is_past_review(task) {
        return ("done".to_owned(), Tone::Quiet);
    }
    let (words, tone) = match (task.state, task.result) {
        (StateV1::Fresh, Some(OverallResult::Passed)) if is_not_red_yet(task) => ("not red yet", Tone::Doubtful),
        (StateV1::Fresh, Some(OverallResult::Passed)) => ("fresh PASS", Tone::Good),
        (StateV1::Fresh, Some(OverallResult::Failed) | None) if task.exit_code == CommandExit::Proceed.code() => {
            ("valid RED", Tone::Good)
        }
        (StateV1::Fresh, Some(OverallResult::Failed) | None) => ("fresh FAIL", Tone::Bad),
        (StateV1::Running, _) => ("running", Tone::Doubtful),
        (StateV1::Queued, _) => ("queued", Tone::Doubtful),
        (StateV1::Stale, _) => ("stale", Tone::Doubtful),
        (StateV1::Moved, _) => ("moved", Tone::Doubtful),
        (StateV1::Unstable, _) => ("unstable", Tone::Bad),
        (StateV1::NeedsHuman, _) => ("needs human", Tone::Bad),
        (StateV1::NotApproved, _) => ("not approved", Tone::Bad),
        (StateV1::RootMissing, _) => ("root missing", Tone::Bad),
        (StateV1::ConfigurationWrong, _) => ("configuration wrong", Tone::Bad),
        (StateV1::SpecificationWrong, _) => ("specification error", Tone::Bad),
        (StateV1::NoVerdict, _) => ("no verdict", Tone::Doubtful),
    };
    (words.to_owned(), tone)
}

/// Returns whether the task's tests pass in a started RED phase, by its last run.
fn is_not_red_yet(task: &TaskStatusV1) -> bool {
    let last = task.tdd.as_ref().filter(|tdd| tdd.started && tdd.phase == Phase::Red).and_then(|tdd| tdd.route.as_ref());
    last.is_some_and(|route| route.kind == RouteKind::NotRedYet)
}

/// Returns whether this is what `proctor review` left. Its task is in no specification, and nobody waits for a fresh verdict of it.
fn is_past_review(task: &TaskStatusV1) -> bool {
    task.task == TaskId::review_task() && task.state == StateV1::Stale && task.outdated == Some(StaleReason::TaskGone)
}

/// Returns the explanation why a task has no fresh verdict; `None` for states that need no explanation here.
fn because(task: &TaskStatusV1) -> Option<String> {
    let text = match task.state {
        StateV1::Fresh | StateV1::ConfigurationWrong | StateV1::SpecificationWrong => return None,
        StateV1::Running | StateV1::Queued => return last_verdict(task),
        StateV1::Stale if each_passed_here(task) => {
            "each check passed on this tree, and no report covers them all: `proctor wait --fresh` writes it".to_owned()
        }
        StateV1::Stale => {
            let what = match task.outdated {
                Some(StaleReason::Tree) | None => "files have changed",
                Some(StaleReason::DigestVersion) => {
                    return last_verdict(task).map(|last| format!("recorded under another digest version; last {last}"));
                }
                Some(StaleReason::Checks) => {
                    return Some(
                        "no run covers every check on this tree: `proctor wait --fresh` runs what is missing".to_owned(),
                    );
                }
                Some(StaleReason::RewroteTree) => {
                    return Some(
                        "the checks passed and rewrote files of the tree, so this is no verdict on it: the run's notes name them"
                            .to_owned(),
                    );
                }
                Some(StaleReason::Plan) => "what is run has changed",
                Some(StaleReason::Toolchain) => {
                    return last_verdict(task).map(|last| format!("installed packages or a toolchain have changed since {last}"));
                }
                Some(StaleReason::TreeAndPlan) => "files and what is run have changed",
                Some(StaleReason::TaskGone) if is_past_review(task) => {
                    return last_verdict(task).map(|last| format!("last review: {last}"));
                }
                Some(StaleReason::TaskGone) => {
                    return last_verdict(task).map(|last| format!("no specification has it any more; last {last}"));
                }
            };
            let now = task.tree.as_ref().map(|now| format!(", now {}", tree(Some(now)))).unwrap_or_default();
            format!("{what} since {}{now}", last_verdict(task)?)
        }
        StateV1::Moved => format!("changed while it was tested: {}", paths(task)),
        StateV1::Unstable => format!("changes whenever it is tested: {}", paths(task)),
        StateV1::NeedsHuman => return task.person.as_ref().map(PersonAsked::sentence),
        StateV1::NotApproved if !task.problems.is_empty() => {
            format!(
                "it asks for more than was approved: `{}` says who may approve it; or take it back",
                approve_command(&task.task)
            )
        }
        StateV1::NotApproved => "nothing was run here yet: `proctor run` registers the project and approves its plan".to_owned(),
        StateV1::RootMissing => "the project's directory is not there".to_owned(),
        StateV1::NoVerdict if task.task == TaskId::default_task() => "nothing was judged yet: `proctor run`".to_owned(),
        StateV1::NoVerdict => format!("nothing was judged yet: `proctor run --task {}`", task.task),
    };
    Some(text)
}

/// Returns whether each check passed on the present tree, in different runs, so that the last verdict is about another tree.
fn each_passed_here(task: &TaskStatusV1) -> bool {
    let passed = |check: &CheckStanding| check.state == CheckState::Fresh && check.result == Some(OverallResult::Passed);
    let is_about_tree = matches!(task.outdated, Some(StaleReason::Tree | StaleReason::Checks) | None);
    is_about_tree && !task.checks.is_empty() && task.checks.iter().all(passed)
}

fn last_verdict(task: &TaskStatusV1) -> Option<String> {
    task.verdict.as_ref().map(words)
}

fn words(verdict: &VerdictV1) -> String {
    let result = match verdict.result {
        Some(OverallResult::Passed) => "PASS",
        Some(OverallResult::Failed) | None => "FAIL",
    };
    let tested = verdict.tested.map(|tested| format!(", {tested}")).unwrap_or_default();
    let weaker = verdict.isolation.and_then(IsolationLevel::weaker_words).map(|words| format!(", {words}")).unwrap_or_default();
    format!("{result} of run {} ({}{tested}{weaker})", verdict.run_id.number(), tree(verdict.tree.as_ref()))
}

fn paths(task: &TaskStatusV1) -> String {
    let shown = task.paths.iter().take(SHOWN_PATHS).cloned().collect::<Vec<_>>().join(", ");
    match task.paths.len().saturating_sub(SHOWN_PATHS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn tree(digest: Option<&TreeDigest>) -> String {
    digest.map_or_else(|| "tree unknown".to_owned(), |TreeDigest(digest)| format!("tree {}…", Digest::short(digest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{OverallStatus, RunId, TestedPlace, Timestamp};

    fn task(state: StateV1, result: Option<OverallResult>) -> TaskStatusV1 {
        let tree = Some(TreeDigest(Digest::of(b"tree")));
        let verdict = VerdictV1 {
            run_id: RunId::new(Timestamp::from_millis(0), 12),
            tree,
            tested: Some(TestedPlace::Snapshot),
            plan: None,
            status: OverallStatus::Success,
            result: Some(OverallResult::Passed),
            blocking: 0,
            ended: None,
            isolation: None,
            report: String::new(),
        };
        TaskStatusV1 {
            task: TaskId::default_task(),
            state,
            result,
            exit_code: 5,
            tree,
            plan: None,
            outdated: Some(StaleReason::Tree),
            paths: vec!["a.log".to_owned()],
            verdict: Some(verdict),
            checks: Vec::new(),
            problems: Vec::new(),
            rules_changed: Vec::new(),
            person: None,
            tdd: None,
            tests_not_run: None,
            fewer_tests: None,
            known: None,
            failures: None,
        }
    }

    #[test]
    fn checks_that_each_passed_on_this_tree_are_not_called_changed() {
        let check = |name: &str, state, result| CheckStanding {
            name: name.to_owned(),
            state,
            result: Some(result),
            tree: None,
            run_id: None,
            files_since: None,
        };
        let passed = |name| check(name, CheckState::Fresh, OverallResult::Passed);
        let mut both = task(StateV1::Stale, None);
        both.checks = vec![passed("web"), passed("py")];
        assert!(because(&both).is_some_and(|text| text.starts_with("each check passed on this tree")), "{:?}", because(&both));
        for other in [
            check("py", CheckState::Fresh, OverallResult::Failed),
            check("py", CheckState::Stale, OverallResult::Passed),
            check("py", CheckState::NoResult, OverallResult::Passed),
        ] {
            both.checks[1] = other;
            assert!(because(&both).is_some_and(|text| text.starts_with("files have changed since")), "{:?}", because(&both));
        }
    }

    #[test]
    fn a_review_of_before_is_called_that_and_another_removed_task_is_stale() {
        let gone = |id: TaskId| TaskStatusV1 { task: id, outdated: Some(StaleReason::TaskGone), ..task(StateV1::Stale, None) };
        let line = |id: TaskId| task_line(("shop", Timestamp::from_millis(0)), &gone(id), Style::Plain).to_string();
        assert_eq!(line(TaskId::review_task()), "shop · review · done · last review: PASS of run 12 (tree dc9c5edb…, snapshot)");
        let other = TaskId::try_from("T1").expect("a task's id");
        assert!(line(other).starts_with("shop · T1 · stale · no specification has it any more; last PASS"));
    }

    #[test]
    fn a_line_says_the_state_and_why() {
        let rows = [
            (StateV1::Fresh, Some(OverallResult::Passed), "shop · default · fresh PASS · tree dc9c5edb… · snapshot · run 12"),
            (StateV1::Fresh, Some(OverallResult::Failed), "shop · default · fresh FAIL · tree dc9c5edb… · snapshot · run 12"),
            (StateV1::Running, None, "shop · default · running · PASS of run 12 (tree dc9c5edb…, snapshot)"),
            (
                StateV1::Stale,
                None,
                "shop · default · stale · files have changed since PASS of run 12 (tree dc9c5edb…, snapshot), now tree dc9c5edb…",
            ),
            (StateV1::Unstable, None, "shop · default · unstable · changes whenever it is tested: a.log"),
            (StateV1::ConfigurationWrong, None, "shop · default · configuration wrong"),
            (StateV1::SpecificationWrong, None, "shop · default · specification error"),
        ];
        for (state, result, expected) in rows {
            assert_eq!(task_line(("shop", Timestamp::from_millis(0)), &task(state, result), Style::Plain).to_string(), expected);
        }
    }
}
