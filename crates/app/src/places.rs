//! Where in a project's files the failures and findings of a run are: what an editor marks.

use crate::answers::results;
use proctor_api::AnswerTexts;
use proctor_evidence::report::{ActionResultV2, ExecutionReportV2, FailureSource, ReportedFailure, reported_failures};
use proctor_model::{ActionId, FindingLevel, ResultType};

/// A message or a path is cut after this many characters.
const LONGEST: usize = 1000;

/// A failed test, a finding, or a check that failed as a whole. Its texts are one line each, without control characters and secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedPlace {
    /// The name of the check in the configuration.
    pub check: String,
    pub action_id: ActionId,
    /// The test's id as its tool writes it; `None` if no test failed.
    pub test: Option<String>,
    /// The file, relative to the project if it lies in it; `None` if the tool names none.
    pub file: Option<String>,
    /// The line and the column, counted from 1; `None` if the tool names none.
    pub line: Option<u64>,
    pub column: Option<u64>,
    /// Where a finding ends: line and column, counted from 1.
    pub end: Option<(u64, u64)>,
    pub rule: Option<String>,
    /// Warnings, and what the policy does not let decide, are [`FindingLevel::Warning`].
    pub level: FindingLevel,
    pub message: String,
}

/// Returns the failures and findings of a run in the order of its report. `root` is the absolute path of the project.
pub fn marked_places(report: &ExecutionReportV2, root: &str) -> Vec<MarkedPlace> {
    let texts = AnswerTexts { root };
    let of_action = |result| {
        let failures = reported_failures(result);
        let whole = (failures.is_empty() && has_failed(result)).then(|| whole_check(result, texts));
        failures.iter().map(|failure| place(result, failure, texts)).chain(whole).collect::<Vec<_>>()
    };
    results(report).flat_map(of_action).collect()
}

impl MarkedPlace {
    /// Returns the place as one line that editors read: `path:line:column: error: message`; without a file, `error: message`. `path`
    /// makes the path that is printed.
    pub fn line_for_editors(&self, path: impl Fn(&str) -> String) -> String {
        let place = self.file.as_ref().map(|file| {
            let (line, column) = (self.line.unwrap_or(1), self.column.unwrap_or(1));
            format!("{}:{line}:{column}: ", path(file))
        });
        let level = match self.level {
            FindingLevel::Error => "error",
            FindingLevel::Warning => "warning",
        };
        let subject = self.test.as_ref().unwrap_or(&self.check);
        let rule = self.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        format!("{}{level}: {subject}: {}{rule}", place.unwrap_or_default(), self.message)
    }
}

fn has_failed(result: &ActionResultV2) -> bool {
    result.blocking == Some(true) || result.status.is_some_and(|status| status != ResultType::Success)
}

fn whole_check(result: &ActionResultV2, texts: AnswerTexts<'_>) -> MarkedPlace {
    let reason = result.classification.as_ref().map(|classification| classification.reason.as_str());
    let level = if result.blocking == Some(false) { FindingLevel::Warning } else { FindingLevel::Error };
    MarkedPlace {
        check: result.name.clone(),
        action_id: result.action_id.clone(),
        test: None,
        file: None,
        line: None,
        column: None,
        end: None,
        rule: None,
        level,
        message: texts.line(reason.unwrap_or("it did not succeed"), LONGEST),
    }
}

fn place(result: &ActionResultV2, failure: &ReportedFailure<'_>, texts: AnswerTexts<'_>) -> MarkedPlace {
    let whole = whole_check(result, texts);
    let text = |text: &String| texts.line(text, LONGEST);
    let message = text(&failure.error);
    match failure.source {
        FailureSource::Test(test) => MarkedPlace {
            test: Some(text(&test.test_name)),
            file: test.test_file.as_ref().map(text),
            line: test.line,
            column: test.column,
            message,
            ..whole
        },
        FailureSource::Finding(finding) => MarkedPlace {
            file: finding.file.as_ref().map(text),
            line: finding.line,
            column: finding.column,
            end: finding.end_column.map(|column| (finding.end_line.or(finding.line).unwrap_or(1), column)),
            rule: finding.code.as_ref().or(finding.rule_id.as_ref()).map(text),
            level: if result.blocking == Some(false) { FindingLevel::Warning } else { finding.severity },
            message,
            ..whole
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_line_that_editors_read() {
        let finding = MarkedPlace {
            check: "tsc".to_owned(),
            action_id: ActionId::numbered("STEP", 1),
            test: None,
            file: Some("src/a b.ts".to_owned()),
            line: Some(3),
            column: Some(7),
            end: None,
            rule: Some("TS2304".to_owned()),
            level: FindingLevel::Error,
            message: "cannot find name `x`".to_owned(),
        };
        let line = |place: &MarkedPlace| place.line_for_editors(|file| format!("/p/{file}"));
        assert_eq!(line(&finding), "/p/src/a b.ts:3:7: error: tsc: cannot find name `x` [TS2304]");
        let test = MarkedPlace { test: Some("t.py::a".to_owned()), column: None, rule: None, ..finding.clone() };
        assert_eq!(line(&test), "/p/src/a b.ts:3:1: error: t.py::a: cannot find name `x`");
        let whole = MarkedPlace { file: None, rule: None, level: FindingLevel::Warning, ..finding };
        assert_eq!(line(&whole), "warning: tsc: cannot find name `x`");
    }
}
