//! Reads what ty and Pyrefly print for people. Both are asked by variables, which reach them behind a script too.

use crate::counting::Said;
use crate::gathered::{Gathered, lines};
use crate::interpret::Exited;
use crate::located::{Located, arrow, located};
use proctor_model::{Diagnostic, FindingLevel};

/// The first line of a finding: level, rule and message.
type Head<'t> = (FindingLevel, &'t str, &'t str);

/// Reads the output of `ty check`, whose findings are `error[rule]: message` with ` --> file:line:column` on the next line, or
/// `file:line:column: error[rule] message`. `None` if ty neither names a finding nor says that all checks passed.
pub(super) fn ty(exited: &Exited<'_>) -> Option<Said> {
    let findings = with_arrows(exited, head_of_ty);
    let stdout = || lines(&exited.stdout).map(str::trim);
    let total = stdout().find_map(|line| number_between(line, "Found ", " diagnostic")).unwrap_or(0);
    let is_clean = stdout().any(|line| line == "All checks passed!");
    if findings.is_empty() && total == 0 && !is_clean {
        return None;
    }
    // ty states one number for errors and warnings together.
    let errors = total.saturating_sub(findings.count(FindingLevel::Warning));
    let indexed = exited.stderr.lines().rev().find_map(|line| number_between(line, "Indexed ", " file"));
    let examined = if exited.stderr.contains("No python files found") { Some(0) } else { indexed };
    Some(Said { findings, stated: (errors, 0), examined, remark: None })
}

fn head_of_ty(line: &str) -> Option<Head<'_>> {
    const LEVELS: [(&str, FindingLevel); 3] =
        [("error[", FindingLevel::Error), ("fatal[", FindingLevel::Error), ("warning[", FindingLevel::Warning)];
    let (rest, level) = LEVELS.iter().find_map(|(start, level)| Some((line.strip_prefix(start)?, *level)))?;
    let (rule, message) = rest.split_once(']')?;
    Some((level, rule, message.trim_start_matches(':').trim()))
}

/// Reads the output of `pyrefly check`, whose findings are `ERROR message [rule]` with ` --> file:line:column` on the next line.
/// `None` if Pyrefly does not say how many errors there are.
pub(super) fn pyrefly(exited: &Exited<'_>) -> Option<Said> {
    if exited.stderr.contains("No Python files matched") {
        return Some(Said { examined: Some(0), ..Said::default() });
    }
    let findings = with_arrows(exited, head_of_pyrefly);
    let stated = exited.stderr.lines().rev().find_map(|line| number_between(line.trim(), "INFO ", " error"));
    if findings.is_empty() && stated.is_none() {
        return None;
    }
    let examined = exited.stderr.lines().find_map(|line| number_between(line, "Checking ", " file"));
    let is_basic = exited.stderr.contains("using preset `basic`");
    let remark = is_basic.then(|| {
        "Pyrefly has no configuration here, and its preset `basic` reports few kinds of errors; run `pyrefly init`".to_owned()
    });
    Some(Said { findings, stated: (stated.unwrap_or(0), 0), examined, remark })
}

fn head_of_pyrefly(line: &str) -> Option<Head<'_>> {
    const LEVELS: [(&str, FindingLevel); 2] = [("ERROR ", FindingLevel::Error), ("WARN ", FindingLevel::Warning)];
    let line = line.trim();
    let (rest, level) = LEVELS.iter().find_map(|(start, level)| Some((line.strip_prefix(start)?, *level)))?;
    let (message, rule) = rest.strip_suffix(']')?.rsplit_once(" [")?;
    Some((level, rule, message.trim()))
}

// Gathers findings whose place stands before their head in one line, or behind an arrow below it. A head without either has no place.
fn with_arrows(exited: &Exited<'_>, head: for<'t> fn(&'t str) -> Option<Head<'t>>) -> Gathered {
    let mut findings = Gathered::default();
    let mut waiting: Option<Head<'_>> = None;
    for line in lines(&exited.stdout) {
        let on_one_line = located(line).and_then(|at| Some((head(at.rest)?, at)));
        if let Some(at) = arrow(line) {
            findings_of(waiting.take(), Some(&at), exited).into_iter().for_each(|found| findings.push(found));
        } else if let Some((head, at)) = on_one_line {
            findings_of(Some(head), Some(&at), exited).into_iter().for_each(|found| findings.push(found));
        } else if let Some(next) = head(line) {
            findings_of(waiting.replace(next), None, exited).into_iter().for_each(|found| findings.push(found));
        }
    }
    findings_of(waiting, None, exited).into_iter().for_each(|found| findings.push(found));
    findings
}

fn findings_of(head: Option<Head<'_>>, at: Option<&Located<'_>>, exited: &Exited<'_>) -> Option<Diagnostic> {
    let (severity, rule, message) = head?;
    Some(Diagnostic {
        file: at.map(|at| at.file_in(exited.place)),
        line: at.and_then(Located::line),
        column: at.and_then(|at| at.column).filter(|column| *column > 0),
        severity,
        rule_id: Some(rule.to_owned()),
        message: message.to_owned(),
        ..Diagnostic::default()
    })
}

// Reads the number between two texts in a line, such as 3 in `Found 3 diagnostics`. Thousands are separated by commas.
fn number_between(line: &str, before: &str, behind: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    let (number, _) = rest.split_once(behind)?;
    number.replace(',', "").parse().ok()
}
