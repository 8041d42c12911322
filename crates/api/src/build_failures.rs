//! Makes the list of what failed in a run from its sealed report and from what the index of tests knows. Pure.

use crate::failure::{FailingSinceV1, FailureKindV1, FailureV1, FailuresV1, NextStepV1};
use crate::status::{ProjectStatusV1, VerdictV1};
use proctor_evidence::report::{
    ActionResultV2, ExecutionReportV2, FailureSource, ReportedFailure, cut_line, output_ends, plain_text, readable_output,
    redact_text, relative_paths, reported_failures, rerun_command, shortened_output, unlisted_failures,
};
use proctor_model::{
    Classification, FailureName, FailurePast, OverallResult, ProjectId, RunId, has_hidden_characters, shown_line,
};

/// A test's id, a file's name and a rule are cut after this many characters.
const LONGEST_NAME: usize = 500;
/// A message is cut after this many characters.
const LONGEST_MESSAGE: usize = 500;
/// A line of an excerpt is cut after this many characters. Redaction can make a line longer than the tool's own was.
const LONGEST_LINE: usize = 200;
/// A command that is longer than this many bytes is left out.
const LONGEST_COMMAND: usize = 2000;

/// Makes texts of tools and tests fit for an answer: plain text on one line, bounded, without secrets. Paths below the project's root are
/// shown relative to it.
#[derive(Debug, Clone, Copy)]
pub struct AnswerTexts<'a> {
    /// The absolute path of the project's root.
    pub root: &'a str,
}

/// Which failures are told, and how much of each.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailureChoice<'a> {
    pub about: FailureSubject<'a>,
    /// The most bytes of what a tool printed about one failure. `None` for the excerpt that the screen shows.
    pub excerpt_bytes: Option<usize>,
}

/// Which failures are listed: all of the run, or those of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureSubject<'a> {
    /// Everything that failed.
    #[default]
    Run,
    /// One test.
    Test {
        /// The name of the check that runs it.
        check: &'a str,
        /// The test's id, its name in the tool's report, and the names that it had before.
        names: &'a [String],
    },
    /// A check or a file, by its whole name. A file may be named by the end of its path.
    Place(&'a str),
}

/// A failure in a report, before its texts are made fit for an answer.
struct Found<'r> {
    result: &'r ActionResultV2,
    /// `None` for an action that failed as a whole.
    failure: Option<ReportedFailure<'r>>,
}

impl AnswerTexts<'_> {
    /// Returns a text as one line without control characters and secrets, of at most `most` characters. The answer stays on this machine, so
    /// the user's own paths stay in it: somebody who is told to mend a file has to know which.
    pub fn line(&self, text: &str, most: usize) -> String {
        let relative = self.relative(&plain_text(text));
        cut_line(&shown_line(&redact_text(relative.trim_end())), most)
    }

    /// Returns the name of a test, a file or a rule as one line.
    fn name(&self, text: &str) -> String {
        let relative = self.relative(&plain_text(text));
        cut_line(&shown_line(&redact_text(&relative)), LONGEST_NAME)
    }

    fn relative(&self, text: &str) -> String {
        let root = self.root.trim_end_matches('/');
        if root.is_empty() { text.to_owned() } else { relative_paths(text, &format!("{root}/")) }
    }
}

/// Returns the names of the failures of a report that are listed in an answer, in its order.
pub fn failure_names(report: &ExecutionReportV2) -> Vec<FailureName> {
    chosen_failure_names(report, FailureChoice::default())
}

/// Returns the names of the chosen failures of a report that are listed, in its order.
pub fn chosen_failure_names(report: &ExecutionReportV2, choice: FailureChoice<'_>) -> Vec<FailureName> {
    let name = |found: &Found<'_>| FailureName { check: found.result.name.clone(), test: found.test_name() };
    failures_by_choice(report, choice).iter().take(FailuresV1::SHOWN).map(name).collect()
}

/// Returns the chosen failures of a report. `pasts` says of each of the [`chosen_failure_names`], in their order, how it ended in earlier
/// runs; of those behind its end nothing is known.
pub fn build_failures(
    run_id: &RunId,
    report: &ExecutionReportV2,
    pasts: &[FailurePast],
    texts: AnswerTexts<'_>,
    choice: FailureChoice<'_>,
) -> FailuresV1 {
    let found = failures_by_choice(report, choice);
    let is_whole_run = choice.about == FailureSubject::Run;
    // What a report does not list has no name but that of its check.
    let is_counted = |result: &&ActionResultV2| match choice.about {
        FailureSubject::Run => true,
        FailureSubject::Test { .. } => false,
        FailureSubject::Place(place) => result.name == place,
    };
    let unlisted: u64 = blocking(report).filter(is_counted).map(unlisted_failures).sum();
    let is_told = |result: &&ActionResultV2| is_whole_run || found.iter().any(|found| std::ptr::eq(found.result, *result));
    let unknown = FailurePast::default();
    let listed = found.iter().take(FailuresV1::SHOWN).enumerate();
    let failures = listed.map(|(place, found)| found.to_wire(pasts.get(place).unwrap_or(&unknown), texts, choice)).collect();
    FailuresV1 {
        run_id: run_id.clone(),
        total: found.len() as u64 + unlisted,
        failures,
        next: blocking(report).filter(is_told).filter_map(next_step).collect(),
        problem: None,
    }
}

/// Returns how many tests, findings and whole actions failed in a run, listed or not.
pub fn count_failures(report: &ExecutionReportV2) -> u64 {
    failures_by_choice(report, FailureChoice::default()).len() as u64 + blocking(report).map(unlisted_failures).sum::<u64>()
}

/// Returns whether a word is the whole name of a check of the run, or names a file in which something failed.
pub fn is_place(report: &ExecutionReportV2, word: &str) -> bool {
    let subject = FailureSubject::Place(word);
    let steps = report.prerequisite_execution.results.iter().chain(&report.step_execution.results);
    let mut checks = steps.chain(&report.cleanup_execution.results);
    checks.any(|result| result.name == word)
        || failures_by_choice(report, FailureChoice::default()).iter().any(|found| found.is_about(subject))
}

impl FailuresV1 {
    /// Returns the answer about a run whose report cannot be read. `blocking` is the number of results that make its verdict FAILED.
    fn unknown(run_id: &RunId, blocking: u32, problem: String) -> Self {
        Self {
            run_id: run_id.clone(),
            total: u64::from(blocking),
            failures: Vec::new(),
            next: Vec::new(),
            problem: Some(problem),
        }
    }
}

impl ProjectStatusV1 {
    /// Adds to each task what failed in the run of its last verdict. `read` returns the sealed report of a run, and the past of its
    /// [`failure_names`], or why the report cannot be read; it is called only for verdicts that are not known to be good.
    pub fn with_failures(
        mut self,
        mut read: impl FnMut(&ProjectId, &RunId) -> Result<(ExecutionReportV2, Vec<FailurePast>), String>,
    ) -> Self {
        let Some(project) = &self.id else { return self };
        let texts = AnswerTexts { root: &self.root };
        for task in &mut self.tasks {
            let Some(verdict) = task.verdict.as_ref().filter(|verdict| task.failures.is_none() && has_failures(verdict)) else {
                continue;
            };
            task.failures = Some(match read(project, &verdict.run_id) {
                Ok((report, pasts)) => build_failures(&verdict.run_id, &report, &pasts, texts, FailureChoice::default()),
                Err(problem) => FailuresV1::unknown(&verdict.run_id, verdict.blocking, problem),
            });
        }
        self
    }

    /// Returns whether [`Self::with_failures`] has a report to read.
    pub fn lacks_failures(&self) -> bool {
        self.tasks.iter().any(|task| task.failures.is_none() && task.verdict.as_ref().is_some_and(has_failures))
    }
}

fn has_failures(verdict: &VerdictV1) -> bool {
    verdict.blocking > 0 || verdict.result == Some(OverallResult::Failed)
}

/// Returns the results that make the verdict FAILED, in the order of the report.
fn blocking(report: &ExecutionReportV2) -> impl Iterator<Item = &ActionResultV2> {
    let steps = report.prerequisite_execution.results.iter().chain(&report.step_execution.results);
    steps.chain(&report.cleanup_execution.results).filter(|result| result.blocking == Some(true) || is_new_red(result))
}

/// Returns whether a result is tests that are new in a RED phase: it does not block, and keeps the verdict FAILED (R6).
fn is_new_red(result: &ActionResultV2) -> bool {
    let is_red = |found: &Classification| found.is_tdd_red_phase == Some(true) && found.is_expected_failure != Some(true);
    result.classification.as_ref().is_some_and(is_red)
}

fn failures_by_choice<'r>(report: &'r ExecutionReportV2, choice: FailureChoice<'_>) -> Vec<Found<'r>> {
    let of_action = |result| {
        let failures = reported_failures(result);
        let whole = failures.is_empty().then_some(Found { result, failure: None });
        let listed = failures.into_iter().map(move |failure| Found { result, failure: Some(failure) });
        listed.chain(whole).collect::<Vec<_>>()
    };
    let chosen = blocking(report).flat_map(of_action).filter(|found| found.is_about(choice.about));
    let mut found: Vec<Found<'_>> = chosen.collect();
    if found.len() > FailuresV1::SHOWN {
        // Not all are listed: findings of a linter must not hide that a test, or a check as a whole, fails.
        found.sort_by_key(Found::kind_rank);
    }
    found
}

fn next_step(result: &ActionResultV2) -> Option<NextStepV1> {
    let action = result.agent_action.as_ref()?;
    Some(NextStepV1 {
        check: result.name.clone(),
        action_id: result.action_id.clone(),
        action: action.action.clone(),
        message: action.message.clone(),
    })
}

impl Found<'_> {
    fn test_name(&self) -> Option<String> {
        match self.failure.as_ref()?.source {
            FailureSource::Test(test) => Some(test.stable_name().to_owned()),
            FailureSource::Finding(_) => None,
        }
    }

    /// Returns the place in a list that does not have all: tests go first, then actions that failed as a whole, then findings.
    fn kind_rank(&self) -> u8 {
        match self.failure.as_ref().map(|failure| failure.source) {
            Some(FailureSource::Test(_)) => 0,
            None => 1,
            Some(FailureSource::Finding(_)) => 2,
        }
    }

    fn is_about(&self, subject: FailureSubject<'_>) -> bool {
        let source = self.failure.as_ref().map(|failure| failure.source);
        match (subject, source) {
            (FailureSubject::Run, _) => true,
            (FailureSubject::Test { check, names }, Some(FailureSource::Test(test))) => {
                let of_test = [Some(&test.test_name), test.report_name.as_ref()];
                self.result.name == check && of_test.into_iter().flatten().any(|name| names.contains(name))
            }
            (FailureSubject::Test { .. }, Some(FailureSource::Finding(_)) | None) => false,
            (FailureSubject::Place(place), source) => {
                let file = match source {
                    Some(FailureSource::Test(test)) => test.test_file.as_deref(),
                    Some(FailureSource::Finding(finding)) => finding.file.as_deref(),
                    None => None,
                };
                let ends_with_place =
                    |file: &str| file.strip_suffix(place).is_some_and(|above| above.is_empty() || above.ends_with('/'));
                self.result.name == place || file.is_some_and(ends_with_place)
            }
        }
    }

    fn to_wire(&self, past: &FailurePast, texts: AnswerTexts<'_>, choice: FailureChoice<'_>) -> FailureV1 {
        let since = past.row.as_ref().map(|row| FailingSinceV1 {
            run: row.first.number(),
            run_id: row.first.clone(),
            started: row.started,
            runs: row.runs,
            at_least: row.is_longer,
        });
        let whole = FailureV1 {
            kind: FailureKindV1::Action,
            check: self.result.name.clone(),
            action_id: self.result.action_id.clone(),
            command: Some(self.result.command.clone()).filter(|command| is_fit(command)),
            test: None,
            file: None,
            line: None,
            rule: None,
            message: String::new(),
            since,
            flaky: past.flaky_since.is_some(),
            flaky_since: past.flaky_since,
            rerun: None,
            excerpt: Vec::new(),
        };
        let Some(failure) = &self.failure else {
            let reason = self.result.classification.as_ref().map(|classification| classification.reason.as_str());
            let output = output_ends(self.result);
            return FailureV1 {
                message: texts.line(reason.unwrap_or("it failed"), LONGEST_MESSAGE),
                excerpt: output.iter().map(|line| texts.line(line, LONGEST_LINE)).collect(),
                ..whole
            };
        };
        let readable = readable_output(&failure.printed);
        let printed = match choice.excerpt_bytes {
            None => shortened_output(&readable),
            Some(most) => first_lines(&readable, most),
        };
        let message = texts.line(&failure.error, LONGEST_MESSAGE);
        let excerpt = printed.iter().map(|line| texts.line(line, LONGEST_LINE)).collect();
        match failure.source {
            FailureSource::Test(test) => FailureV1 {
                kind: FailureKindV1::Test,
                test: Some(texts.name(&test.test_name)),
                file: test.test_file.as_deref().map(|file| texts.name(file)),
                line: test.line,
                message,
                rerun: rerun_command(self.result, test).filter(|command| is_fit(command)),
                excerpt,
                ..whole
            },
            FailureSource::Finding(finding) => FailureV1 {
                kind: FailureKindV1::Finding,
                file: finding.file.as_deref().map(|file| texts.name(file)),
                line: finding.line,
                rule: finding.code.as_ref().or(finding.rule_id.as_ref()).map(|rule| texts.name(rule)),
                message,
                // The past of the whole check says nothing about one of its findings.
                since: None,
                flaky: false,
                flaky_since: None,
                excerpt,
                ..whole
            },
        }
    }
}

/// Returns the first lines of a text that have no more than `most` bytes together.
fn first_lines(text: &str, most: usize) -> Vec<String> {
    let mut left = most;
    let fits = |line: &&str| {
        let fits = line.len() < left;
        left = left.saturating_sub(line.len() + 1);
        fits
    };
    text.lines().take_while(fits).map(str::to_owned).collect()
}

/// Returns whether a command can be shown without a change. A command that was cut or redacted would run something else.
fn is_fit(command: &str) -> bool {
    command.len() <= LONGEST_COMMAND && !has_hidden_characters(command) && redact_text(command) == command
}

#[cfg(test)]
mod tests;
