//! Lines for people about what failed in an action: the first failure as the tool printed it, and all others grouped by
//! their cause. Pure.

use std::collections::BTreeMap;

use clap::ValueEnum;

use proctor_evidence::report::{
    ActionResultV2, ReportedFailure, cut_line, readable_output, reported_failures, rerun_command, shortened_output,
    unlisted_failures,
};

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

/// What stands before each line that a tool printed.
const BAR: &str = "│";

/// The indent of the failures that stand below the head of their group.
const MEMBER_INDENT: &str = "  ";

/// Failures with one cause, in the tool's order.
struct Group<'f> {
    members: Vec<&'f ReportedFailure<'f>>,
    /// How many members are listed below the head.
    listed: usize,
}

/// Returns the lines about the failed tests and findings of an action; none if the tool reported neither, or if `shown` is
/// `None`.
pub(super) fn failures(result: &ActionResultV2, shown: FailuresShown) -> Vec<String> {
    let failures = reported_failures(result);
    let unlisted = unlisted_failures(result);
    match shown {
        FailuresShown::None => Vec::new(),
        FailuresShown::All => all(&failures, unlisted),
        FailuresShown::First => first_and_groups(&failures, unlisted, result),
    }
}

/// Returns whether a tool reported a failed test or a finding.
pub(super) fn has_failures(result: &ActionResultV2) -> bool {
    !reported_failures(result).is_empty()
}

fn all(failures: &[ReportedFailure<'_>], unlisted: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for failure in failures {
        lines.push(failure.line.clone());
        lines.extend(readable_output(&failure.printed).lines().map(barred));
    }
    if unlisted > 0 {
        lines.push(format!("… and {unlisted} more in the tool's output"));
    }
    lines
}

fn first_and_groups(failures: &[ReportedFailure<'_>], unlisted: u64, result: &ActionResultV2) -> Vec<String> {
    let Some((first, others)) = failures.split_first() else { return Vec::new() };
    let mut lines = Vec::new();
    let listed = if first.printed.is_empty() {
        // There is nothing to show of the first failure but its line, so it is listed like every other failure.
        failures
    } else {
        lines.push(cut(&first.line));
        let printed = readable_output(&first.printed);
        // Many tools print the message first, which stands in the line above, unless that is cut.
        let is_said = |message: &str| message == first.error && lines[0].ends_with(message);
        let rest = printed.split_once('\n').filter(|(message, _)| is_said(message)).map_or(&*printed, |(_, rest)| rest);
        let rest = rest.trim_start_matches('\n');
        lines.extend(shortened_output(rest).iter().map(|line| barred(line)));
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
    lines.extend(first_test.and_then(|test| rerun_command(result, test)).map(|command| format!("run it alone: {command}")));
    lines
}

fn grouped<'f>(failures: &'f [ReportedFailure<'f>]) -> Vec<Group<'f>> {
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

/// Returns a line that a tool printed, with a bar before it.
pub(super) fn barred(line: &str) -> String {
    format!("{BAR} {line}").trim_end().to_owned()
}

/// Returns a line that is cut after [`LISTED_WIDTH`] characters.
fn cut(line: &str) -> String {
    cut_line(line, LISTED_WIDTH)
}

#[cfg(test)]
mod tests;
