//! Lines for people about what failed in an action: the first failure as the tool printed it, and all others grouped by
//! their cause. Pure.

mod cause;
mod excerpt;
mod rerun;

use std::borrow::Cow;
use std::collections::BTreeMap;

use clap::ValueEnum;

use self::cause::Cause;
use crate::model::{Diagnostic, FindingLevel, TestFailure};
use crate::report::ActionResultV2;

/// How much is shown of what failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FailuresShown {
    /// Every failure, each with all that the tool printed about it
    All,
    /// The first failure as the tool printed it, and the others grouped by cause
    #[default]
    First,
    /// Only how many there are
    None,
}

/// At most this many lines list the failures after the first failure.
const LISTED_LINES: usize = 12;

/// A line that lists a failure is cut after this many characters.
const LISTED_WIDTH: usize = 160;

/// The indent of the failures that stand below the head of their group.
const MEMBER_INDENT: &str = "  ";

/// A failed test or a finding, whatever tool it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure<'r> {
    cause: Cause,
    /// The failure as a line of its own: place, name and error.
    line: String,
    /// The name of the test, or the place of the finding.
    name: String,
    /// The first line of the error.
    error: String,
    /// The error as the tool printed it; empty if the tool printed no more than the line.
    printed: Cow<'r, str>,
}

/// Failures with one cause, in the tool's order.
struct Group<'f> {
    members: Vec<&'f Failure<'f>>,
    /// How many members are listed below the head.
    listed: usize,
}

/// Returns the lines about the failed tests and findings of an action; none if the tool reported neither, or if `shown` is
/// `None`.
pub(super) fn failures(result: &ActionResultV2, shown: FailuresShown) -> Vec<String> {
    let failures = found(result);
    let unlisted = unlisted(result);
    match shown {
        FailuresShown::None => Vec::new(),
        FailuresShown::All => all(&failures, unlisted),
        FailuresShown::First => first_and_groups(&failures, unlisted, result),
    }
}

/// Returns whether a tool reported a failed test or a finding.
pub(super) fn has_failures(result: &ActionResultV2) -> bool {
    !found(result).is_empty()
}

fn found(result: &ActionResultV2) -> Vec<Failure<'_>> {
    let Some(outcome) = &result.result else { return Vec::new() };
    let tests = outcome.test_results.as_ref().map(|tests| tests.failures.as_slice()).unwrap_or_default();
    let findings = outcome.diagnostics.findings();
    // Warnings do not block, so they are left out where errors do.
    let errors_only = result.blocking == Some(true) && findings.iter().any(|finding| finding.severity == FindingLevel::Error);
    let findings = findings.iter().filter(|finding| !errors_only || finding.severity == FindingLevel::Error);
    tests.iter().map(of_test).chain(findings.map(of_finding)).collect()
}

/// Returns how many failed tests and errors the report counts but does not list. If it lists none of a kind, that kind counts 0.
fn unlisted(result: &ActionResultV2) -> u64 {
    let Some(outcome) = &result.result else { return 0 };
    let tests = outcome.test_results.as_ref().map_or(0, |tests| {
        let listed = tests.failures.len() as u64;
        if listed == 0 { 0 } else { tests.counts.failed.saturating_sub(listed) }
    });
    let findings = outcome.diagnostics.findings();
    let errors = findings.iter().filter(|finding| finding.severity == FindingLevel::Error).count() as u64;
    let counted = outcome.summary.map_or(0, |summary| summary.errors);
    tests + if findings.is_empty() { 0 } else { counted.saturating_sub(errors) }
}

fn of_test(failure: &TestFailure) -> Failure<'_> {
    let name = &failure.test_name;
    // A test's own name often begins with the file, which then is not named twice.
    let has_file = |file: &String| name.strip_prefix(file).is_some_and(|rest| rest.starts_with("::") || rest.starts_with(' '));
    let named = match (&failure.test_file, failure.line) {
        (Some(file), Some(line)) if has_file(file) => format!("{name}  line {line}"),
        (Some(file), None) if has_file(file) || name == file => name.clone(),
        (Some(file), Some(line)) if name == file => format!("{file}:{line}"),
        (Some(file), Some(line)) => format!("{file}:{line}  {name}"),
        (Some(file), None) => format!("{file}  {name}"),
        (None, _) => name.clone(),
    };
    let error = first_line(&failure.error);
    Failure {
        cause: cause::of_test(failure),
        line: format!("{named}  {error}"),
        name: failure.test_name.clone(),
        printed: Cow::Borrowed(failure.stack.as_deref().unwrap_or_default()),
        error,
    }
}

fn of_finding(finding: &Diagnostic) -> Failure<'_> {
    let mut place = finding.file.clone().unwrap_or_default();
    for number in [finding.line, finding.column].into_iter().map_while(|number| number) {
        place.push_str(&format!(":{number}"));
    }
    let rule = finding.code.as_ref().or(finding.rule_id.as_ref()).cloned();
    let error = first_line(&finding.message);
    let joined = |parts: [&str; 3]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    // The first line of the message stands in the finding's line.
    let further = finding.message.lines().skip(1).map(str::to_owned);
    let source = finding.source.iter().flat_map(|source| source.lines()).map(|line| format!("> {line}"));
    let related = finding.related_information.iter().map(|related| {
        let place = related.file.as_ref().map(|file| related.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")));
        joined([&place.unwrap_or_default(), &first_line(&related.message), ""])
    });
    let printed = further.chain(source).chain(related).collect::<Vec<_>>().join("\n");
    Failure {
        cause: Cause { kind: rule.clone().unwrap_or_else(|| error.clone()), place: None },
        line: joined([&place, &rule.unwrap_or_default(), &error]),
        name: place,
        printed: Cow::Owned(printed),
        error,
    }
}

fn all(failures: &[Failure<'_>], unlisted: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for failure in failures {
        lines.push(failure.line.clone());
        lines.extend(excerpt::whole(&excerpt::readable(&failure.printed)));
    }
    if unlisted > 0 {
        lines.push(format!("… and {unlisted} more in the tool's output"));
    }
    lines
}

fn first_and_groups(failures: &[Failure<'_>], unlisted: u64, result: &ActionResultV2) -> Vec<String> {
    let Some((first, others)) = failures.split_first() else { return Vec::new() };
    let mut lines = Vec::new();
    let listed = if first.printed.is_empty() {
        // There is nothing to show of the first failure but its line, so it is listed like every other failure.
        failures
    } else {
        lines.push(cut(&first.line));
        lines.extend(excerpt::short(&excerpt::readable(&first.printed)));
        others
    };
    let mut groups = grouped(listed);
    let more = groups.split_off(groups.len().min(LISTED_LINES));
    share_lines(&mut groups);
    for group in &groups {
        let like_the_first = !first.printed.is_empty() && group.members[0].cause == first.cause;
        lines.extend(group_lines(group, like_the_first));
    }
    let hidden = more.iter().map(|group| group.members.len() as u64).sum::<u64>() + unlisted;
    if hidden > 0 {
        lines.push(format!("… and {hidden} more: `--failures all` shows what the report lists"));
    }
    let tests = result.result.as_ref().and_then(|outcome| outcome.test_results.as_ref());
    let first_test = tests.and_then(|tests| tests.failures.first());
    lines.extend(first_test.and_then(|test| rerun::command(result, test)).map(|command| format!("run it alone: {command}")));
    lines
}

fn grouped<'f>(failures: &'f [Failure<'f>]) -> Vec<Group<'f>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = BTreeMap::new();
    for failure in failures {
        let position = *known.entry(&failure.cause).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.members.push(failure),
            None => groups.push(Group { members: vec![failure], listed: 0 }),
        }
    }
    groups
}

/// Distributes the lines that are left after one line for each group's head: every group gets a first further line
/// before any group gets a second.
fn share_lines(groups: &mut [Group<'_>]) {
    let mut free = LISTED_LINES - groups.len();
    let mut is_shared = true;
    while is_shared {
        is_shared = false;
        for group in groups.iter_mut() {
            if free > 0 && group.members.len() > 1 && group.listed < group.members.len() {
                group.listed += 1;
                free -= 1;
                is_shared = true;
            }
        }
    }
}

/// Returns the lines of a group: its only failure, or a head and the failures that have a line below it.
fn group_lines(group: &Group<'_>, like_the_first: bool) -> Vec<String> {
    let (first, count) = (group.members[0], group.members.len());
    if count == 1 {
        return vec![cut(&first.line)];
    }
    let place = first.cause.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
    let has_one_error = group.members.iter().all(|member| member.error == first.error);
    let what = match (has_one_error, first.cause.kind == first.error || first.error.starts_with(&first.cause.kind)) {
        (true, true) => format!("{}{place}", first.error),
        (true, false) => format!("{}: {}{place}", first.cause.kind, first.error),
        (false, _) => format!("{}{place}", first.cause.kind),
    };
    let more = if like_the_first { " more" } else { "" };
    let mut lines = vec![cut(&format!("{count}{more} × {what}"))];
    for (position, member) in group.members.iter().take(group.listed).enumerate() {
        let parts = [member.name.as_str(), if has_one_error { "" } else { &member.error }];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let line = cut(&format!("{MEMBER_INDENT}{}", parts.join("  ")));
        let hidden = count - group.listed;
        let is_last = position + 1 == group.listed;
        lines.push(if is_last && hidden > 0 { format!("{line}  … and {hidden} more") } else { line });
    }
    lines
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns a line that is cut after [`LISTED_WIDTH`] characters.
fn cut(line: &str) -> String {
    excerpt::cut(line, LISTED_WIDTH)
}

#[cfg(test)]
mod tests;
