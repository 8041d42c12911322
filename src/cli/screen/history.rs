//! Makes the lines for people about past runs and tests. Names of tests come from elsewhere: `render` escapes them.

use crate::cli::local_time::LocalTime;
use crate::cli::screen::{counted, result_word};
use crate::cli::style::{Line, Style, Tone};
use proctor_model::{
    CheckCounts, CheckEnd, CheckStreak, ClaimRecord, ComparedTest, DifferingFile, FlakyTest, IsolationLevel, LoggedRun,
    OverallStatus, PastTestResult, ProofState, RenamedTest, RunComparison, RunId, SlowTests, SlowerTest, TaskId, TestCounts,
    TestOutcome, TestPast, Timestamp,
};
use proctor_project::RecordedRun;

/// At most this many tests of one kind are shown; the document of `--json` has all.
const SHOWN: usize = 20;
/// At most this many failed tests or checks are named in the line of a run.
const NAMED: usize = 3;

/// Returns the line about a claim of an agent that a run contradicts.
pub(crate) fn claim_line(time: Timestamp, claim: &ClaimRecord) -> String {
    format!("claim refuted: {} said “{}” · {time}", claim.agent, claim.phrase)
}

/// Returns the line about a run in `proctor log`, which begins with the run's number or id. `logged` is what the index of tests adds to it.
pub(crate) fn log_line(name: &str, run: &RecordedRun, logged: Option<&LoggedRun>, here: &LocalTime) -> String {
    let tree = run.tree_digest.map(|tree| format!("{}…", tree.0.short())).unwrap_or_default();
    let result = result_word(run.status, run.result, run.checks);
    let mut parts = vec![format!("{name:>4}  {result:<11}  tree {tree:<9}")];
    if run.blocking > 0 && run.status.counts() && run.task != TaskId::default_task() {
        parts.push(format!("{} blocking", run.blocking));
    }
    parts.extend(run.checks.filter(|_| run.status.counts()).and_then(CheckCounts::words));
    if let Some(logged) = logged {
        parts.extend(logged.duration.map(|duration| duration_words(duration.0.saturating_mul(1000))));
        match stopped_words(run.status) {
            // The index lists a check that proctor stopped among those that failed, so its names would accuse the code.
            Some(words) => parts.push(words.to_owned()),
            None => parts.extend(result_words(logged)),
        }
    }
    parts.extend(run.by_changed_rules.then(|| "by changed rules".to_owned()));
    parts.extend(run.weaker_isolation.and_then(IsolationLevel::weaker_words));
    let evidence = logged.map(|logged| logged.evidence);
    parts.extend(match (run.pruned, evidence) {
        (Some(why), _) => Some(format!("pruned ({})", why.setting())),
        (None, Some(ProofState::Pruned)) if run.sealed.is_some() => Some("pruned".to_owned()),
        (None, Some(ProofState::Missing)) => Some("evidence missing".to_owned()),
        (None, _) => None,
    });
    parts.push(here.with_age(run.started));
    parts.join("  ")
}

/// Returns what became of a run that was stopped before it had a result; `None` for a run that carried out its checks.
fn stopped_words(status: OverallStatus) -> Option<&'static str> {
    match status {
        OverallStatus::Interrupted => Some("stopped before it had a result"),
        OverallStatus::Superseded => Some("stopped by a newer save"),
        OverallStatus::Success
        | OverallStatus::PartialSuccess
        | OverallStatus::RewroteTree
        | OverallStatus::Failed
        | OverallStatus::SpecificationError
        | OverallStatus::Moved => None,
    }
}

/// Returns what the index of tests knows about the results of a run.
fn result_words(logged: &LoggedRun) -> Vec<String> {
    let mut words: Vec<String> = logged.tests.as_ref().map(counts_words).into_iter().collect();
    words.extend(failed_words(logged));
    let warned = names_words(&logged.warned_checks, logged.warned_checks.len() as u64);
    words.extend(warned.map(|checks| format!("warned: {checks}")));
    words.extend(logged.flaky.then(|| "flaky".to_owned()));
    words
}

/// Returns what failed in a run: its checks, and in parentheses the tests.
fn failed_words(logged: &LoggedRun) -> Option<String> {
    let checks = names_words(&logged.failed_checks, logged.failed_checks.len() as u64);
    // Some of the counted tests may be those of a check that only warns.
    let counted = logged.tests.filter(|_| logged.warned_checks.is_empty()).map_or(0, |tests| tests.failed);
    let tests = names_words(&logged.failed_tests, counted.max(logged.failed_tests.len() as u64));
    match (checks, tests) {
        (None, None) => None,
        (Some(checks), None) => Some(format!("failed: {checks}")),
        (Some(checks), Some(tests)) => Some(format!("failed: {checks} ({tests})")),
        (None, Some(tests)) => Some(format!("failed tests: {tests}")),
    }
}

/// Returns the first names and how many more there are; `None` if there are none.
fn names_words(names: &[String], count: u64) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = count.saturating_sub(shown.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

fn counts_words(counts: &TestCounts) -> String {
    let named = [(counts.passed, "passed"), (counts.failed, "failed"), (counts.skipped, "skipped")];
    let words: Vec<String> =
        named.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if words.is_empty() { "no tests".to_owned() } else { words.join(", ") }
}

/// Returns a duration in microseconds for people: `420 µs`, `340 ms`, `1.31 s`, `2 m 05 s`. Where a tool tells milliseconds only, 0 is any time
/// below one.
pub(crate) fn duration_words(microseconds: u64) -> String {
    let millis = microseconds / 1000;
    match millis {
        0 if microseconds == 0 => "under 1 ms".to_owned(),
        0 => format!("{microseconds} \u{b5}s"),
        1..1000 => format!("{millis} ms"),
        1000..120_000 => format!("{}.{:02} s", millis / 1000, millis % 1000 / 10),
        _ => format!("{} m {:02} s", millis / 60_000, millis % 60_000 / 1000),
    }
}

/// Returns the lines of `proctor history`.
pub(crate) fn past_lines(past: &TestPast, style: Style) -> Vec<Line> {
    let test = &past.test;
    let mut lines =
        vec![style.paint(Tone::Strong, &test.id).and(format!(" · {} · {} · key {}", test.task, test.check, test.key))];
    let mut facts = vec![counts_words(&past.counts)];
    facts.extend(past.typical_duration_us.map(|duration| format!("usually {}", duration_words(duration))));
    facts.push(match past.flips_on_equal_trees {
        0 => "never passed and failed on an equal tree".to_owned(),
        1 => "flaky: passed and failed on 1 tree".to_owned(),
        trees => format!("flaky: passed and failed on {trees} trees"),
    });
    lines.push(format!("  {}", facts.join(" · ")).into());
    if let Some(change) = &past.last_change {
        let tree = change.tree.map(|tree| format!(" on tree {}…", tree.0.short())).unwrap_or_default();
        let (from, to) = (change.from.word(), change.to.word());
        lines.push(format!("  last changed from {from} to {to} in run {}{tree}", change.run_id.number()).into());
    }
    if past.runs_without_it > 0 {
        let last = past.last_seen.as_ref().map(|run| format!("in run {}", run.number())).unwrap_or_default();
        lines.push(format!("  last seen {last}; {} since did not have it", counted(past.runs_without_it, "run")).into());
    }
    for name in &past.former_names {
        let run = name.renamed_in.as_ref().map(|run| format!(" until run {}", run.number())).unwrap_or_default();
        lines.push(format!("  was named {}{run}", name.id).into());
    }
    lines.extend(past.results.iter().map(|result| past_result(result, style)));
    lines
}

fn past_result(result: &PastTestResult, style: Style) -> Line {
    let tone = if result.outcome.is_failure() { Tone::Bad } else { Tone::Good };
    let word = format!("{:<7}", result.outcome.word());
    let tree = result.tree.map(|tree| format!("{}…", tree.0.short())).unwrap_or_default();
    let mut parts = vec![format!("tree {tree:<9}")];
    parts.extend(result.duration_us.map(duration_words));
    parts.extend((result.attempt > 1).then(|| format!("attempt {}", result.attempt)));
    parts.extend(result.message.clone());
    parts.extend(match result.evidence {
        ProofState::Kept => None,
        ProofState::Pruned => Some("no longer provable: pruned".to_owned()),
        ProofState::Missing => Some("no longer provable: evidence missing".to_owned()),
    });
    Line::from(format!("  {:>4}  ", result.run_id.number()))
        .and(style.paint(tone, &word))
        .and(format!("  {}", parts.join("  ")))
        .trim_end()
}

/// Returns the lines about a test in `proctor history flaky`.
pub(crate) fn flaky_lines(flaky: &FlakyTest) -> Vec<String> {
    let trees = if flaky.trees == 1 { "1 tree".to_owned() } else { format!("{} trees", flaky.trees) };
    let test = &flaky.test;
    let mut lines = vec![
        format!("{} · {} · {}", test.id, test.check, test.task),
        format!(
            "  {} failed, {} passed on {trees}; last failed in run {} on tree {}…",
            flaky.failed,
            flaky.passed,
            flaky.last_failed.number(),
            flaky.last_tree.0.short()
        ),
    ];
    lines.extend(flaky.message.as_ref().map(|message| format!("  {message}")));
    lines
}

/// Returns the lines of `proctor history slow`.
pub(crate) fn slow_lines(tests: &SlowTests) -> Vec<String> {
    let mut lines = Vec::new();
    if !tests.slower.is_empty() {
        lines.push(format!("slower than before ({}):", tests.slower.len()));
        lines.extend(shown(&tests.slower, slower_line));
    }
    if !tests.slowest.is_empty() {
        lines.push("the slowest:".to_owned());
        let timed = tests.slowest.iter();
        lines.extend(timed.map(|timed| format!("  {:>9}  {}", duration_words(timed.typical_duration_us), timed.test.id)));
    }
    lines
}

fn slower_line(slower: &SlowerTest) -> String {
    let (before, now) = (duration_words(slower.before_us), duration_words(slower.now_us));
    format!("  {}  {before} → {now} since run {}", slower.test.id, slower.before_run.number())
}

/// Returns the lines of `proctor history diff`.
pub(crate) fn comparison_lines(comparison: &RunComparison, style: Style) -> Vec<Line> {
    let trees = match comparison.equal_trees {
        Some(true) => " · equal trees",
        Some(false) => " · different trees",
        None => "",
    };
    let (from, to) = (comparison.from.number(), comparison.to.number());
    let mut lines = vec![Line::from(format!("run {from} → run {to}{trees}"))];
    let status = |status: Option<proctor_model::ResultType>| {
        status.map_or("no result".to_owned(), |status| status.word().to_lowercase().replace('_', " "))
    };
    let changed = |check: &proctor_model::ComparedCheck| {
        Line::from(format!("  {}: {} → {}", check.check, status(check.before), status(check.after)))
    };
    lines.extend(comparison.checks.iter().map(changed));
    let groups = [
        ("newly failing", &comparison.newly_failing, Tone::Bad),
        ("mended", &comparison.mended, Tone::Good),
        ("gone", &comparison.gone, Tone::Doubtful),
        ("new", &comparison.new, Tone::Quiet),
    ];
    for (heading, tests, tone) in groups.into_iter().filter(|(_, tests, _)| !tests.is_empty()) {
        lines.push(style.paint(tone, &format!("{heading} ({}):", tests.len())));
        lines.extend(shown(tests, compared_line).into_iter().map(Line::from));
    }
    if !comparison.changed.is_empty() {
        lines.push(style.paint(Tone::Doubtful, &format!("changed ({}):", comparison.changed.len())));
        lines.extend(shown(&comparison.changed, changed_line).into_iter().map(Line::from));
    }
    if !comparison.renamed.is_empty() {
        lines.push(style.paint(Tone::Quiet, &format!("renamed ({}):", comparison.renamed.len())));
        let renamed = |renamed: &RenamedTest| format!("  {} → {}", renamed.former_id, renamed.test.id);
        lines.extend(shown(&comparison.renamed, renamed).into_iter().map(Line::from));
    }
    if !comparison.slower.is_empty() {
        lines.push(style.paint(Tone::Doubtful, &format!("slower ({}):", comparison.slower.len())));
        lines.extend(shown(&comparison.slower, slower_line).into_iter().map(Line::from));
    }
    if !comparison.not_compared.is_empty() {
        lines.push(style.paint(Tone::Doubtful, &format!("not every test compared ({}):", comparison.not_compared.len())));
        lines.extend(shown(&comparison.not_compared, |check| format!("  {check}")).into_iter().map(Line::from));
    }
    if lines.len() == 1 {
        lines.push("  every check and test ended as before".into());
    }
    if !comparison.changed_files.is_empty() {
        lines.push(format!("files ({}):", comparison.changed_files.len()).into());
        let file = |file: &DifferingFile| format!("  {} {}", file.word(), file.path);
        lines.extend(shown(&comparison.changed_files, file).into_iter().map(Line::from));
    }
    if !comparison.are_all_files_known && comparison.equal_trees != Some(true) {
        lines.push("  other files may differ: the runs do not name them all".into());
    }
    lines
}

fn compared_line(compared: &ComparedTest) -> String {
    let message = compared.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
    format!("  {}{message}", compared.test.id)
}

fn changed_line(compared: &ComparedTest) -> String {
    let word = |outcome: Option<TestOutcome>| outcome.map_or("not there", TestOutcome::word);
    format!("  {}: {} → {}", compared.test.id, word(compared.from), word(compared.to))
}

/// Returns a line for each value, at most [`SHOWN`], and one that says how many are not shown.
fn shown<T>(values: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = values.iter().take(SHOWN).map(line).collect();
    if values.len() > SHOWN {
        lines.push(format!("  {} more; `--json` has them", values.len() - SHOWN));
    }
    lines
}

/// Returns the line about the last runs of a check in `proctor watch`: a block for each run, oldest first, and what they say
/// together. `None` for a check that ran only once, or never failed.
pub(crate) fn streak_line(streak: &CheckStreak, here: &LocalTime, style: Style) -> Option<Line> {
    let is_well = |end: &CheckEnd| matches!(end, CheckEnd::Passed | CheckEnd::Unclear);
    if streak.ends.len() < 2 || streak.ends.iter().all(is_well) {
        return None;
    }
    let mut line = Line::from(format!("  {}  last {} runs: ", streak.check, streak.ends.len()));
    for end in &streak.ends {
        let (block, tone) = match end {
            CheckEnd::Passed => ("▁", Tone::Good),
            CheckEnd::Failed => ("█", Tone::Bad),
            CheckEnd::Warned => ("▂", Tone::Doubtful),
            CheckEnd::Flaky => ("▄", Tone::Doubtful),
            CheckEnd::Unclear => ("·", Tone::Quiet),
        };
        line = line.and(style.paint(tone, block));
    }
    let mut words = Vec::new();
    if let Some((since, runs)) = streak.failing {
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        let least = if streak.is_failing_longer { "at least " } else { "" };
        words.push(format!("failing since {least}{}, {least}{runs}", here.short(since)));
    }
    if streak.flaky > 0 {
        words.push(format!("flaky: {} of the last {} on equal trees", streak.flaky, streak.ends.len()));
    }
    if !words.is_empty() {
        line = line.and(format!("  {}", words.join(" · ")));
    }
    Some(line)
}

// People know runs by their numbers. Ids of runs stay in documents, in paths, and where `--ids` asks for them.

/// Returns a text with `run 12` in place of each id of a run of this project that stands alone. One in a path stays, because the path is
/// opened.
pub(crate) fn with_run_numbers(text: &str) -> String {
    with_numbers_of(text, |_| true)
}

/// The same for the runs that are the project's own. Another project's run with this number would be another run.
pub(crate) fn with_numbers_of(text: &str, is_own: impl Fn(&RunId) -> bool) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '/' | '_');
    let mut numbered = String::with_capacity(text.len());
    for piece in text.split_inclusive(|character| !is_part(character)) {
        let word = piece.trim_end_matches(|character| !is_part(character) || character == '.');
        match RunId::try_from(word) {
            Ok(run) if is_own(&run) => numbered.push_str(&format!("run {}{}", run.number(), &piece[word.len()..])),
            Ok(_) | Err(_) => numbered.push_str(piece),
        }
    }
    numbered
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::Timestamp;

    fn text(line: &Line) -> String {
        line.pieces().iter().map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn a_run_that_was_stopped_says_by_what_and_any_other_run_has_results() {
        assert_eq!(stopped_words(OverallStatus::Interrupted), Some("stopped before it had a result"));
        assert_eq!(stopped_words(OverallStatus::Superseded), Some("stopped by a newer save"));
        assert_eq!([OverallStatus::Failed, OverallStatus::Moved].map(stopped_words), [None, None]);
    }

    #[test]
    fn durations_have_the_unit_that_a_person_would_take() {
        let rows = [
            (0, "under 1 ms"),
            (420, "420 \u{b5}s"),
            (1000, "1 ms"),
            (999_999, "999 ms"),
            (1_310_000, "1.31 s"),
            (125_000_000, "2 m 05 s"),
        ];
        for (microseconds, words) in rows {
            assert_eq!(duration_words(microseconds), words);
        }
    }

    #[test]
    fn a_row_of_blocks_says_since_when_a_check_fails_and_how_often_it_flips() {
        let noon = Timestamp::from_millis(1_772_546_520_000);
        let streak = CheckStreak {
            check: "pytest".to_owned(),
            ends: vec![CheckEnd::Passed, CheckEnd::Flaky, CheckEnd::Unclear, CheckEnd::Failed, CheckEnd::Failed],
            failing: Some((noon, 2)),
            is_failing_longer: false,
            flaky: 1,
        };
        let here = LocalTime::in_utc(noon);
        let line = text(&streak_line(&streak, &here, Style::Plain).unwrap());
        let words = "failing since 14:02, 2 runs · flaky: 1 of the last 5 on equal trees";
        assert_eq!(line, format!("  pytest  last 5 runs: ▁▄·██  {words}"));
        let longer = CheckStreak { is_failing_longer: true, ..streak.clone() };
        let shown = text(&streak_line(&longer, &here, Style::Plain).unwrap());
        assert!(shown.contains("failing since at least 14:02, at least 2 runs"), "{shown}");
        let once = CheckStreak { ends: vec![CheckEnd::Failed], ..streak };
        assert_eq!(streak_line(&once, &here, Style::Plain), None);
        let well = CheckStreak { ends: vec![CheckEnd::Passed, CheckEnd::Unclear], failing: None, flaky: 0, ..once };
        assert_eq!(streak_line(&well, &here, Style::Plain), None, "nothing failed in it");
    }
}

#[cfg(test)]
mod run_numbers_tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_its_number_but_not_in_a_path() {
        let id = "exec-20261130T070859.795Z-000012";
        let text = format!("passed in {id}, {id}. `{id}` (see runs/{id}/report.json)");
        let numbered = format!("passed in run 12, run 12. `run 12` (see runs/{id}/report.json)");
        assert_eq!(with_run_numbers(&text), numbered);
        for whole in ["", "exec-1", "exec-20261130T070859.795Z-000012x", "ä exec-ö"] {
            assert_eq!(with_run_numbers(whole), whole);
        }
    }
}
