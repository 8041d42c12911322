//! Makes the copy of a run that the writers of the formats see: without secrets, absolute paths, and the names of this machine and its
//! user. The writers have nothing else, so a text that is not redacted here is not exported.

use std::collections::BTreeMap;

use crate::report::formats::ExportedRun;
use crate::report::{
    ActionResultV2, DiagnosticsV2, ExecutionReportV2, OutgoingRedactor, TestRecordV1, TestResultsRecordV1, redact_text,
};
use proctor_model::{ActionId, Diagnostic, RelatedInformation, TestFailure};

/// The most characters of a line that are exported. A whole minified file can be in one line of a message.
const LONGEST_LINE: usize = 4000;

/// A run of which nothing names the machine or a person.
#[derive(Debug)]
pub(super) struct OutgoingRun {
    pub(super) report: ExecutionReportV2,
    /// The project's id. It is the name of a directory, so it may name a person and is redacted like any text.
    pub(super) project_id: String,
    pub(super) tests: BTreeMap<ActionId, TestResultsRecordV1>,
}

impl OutgoingRun {
    pub(super) fn of(run: ExportedRun<'_>) -> Self {
        let texts = Texts { redactor: run.redactor, below: run.below };
        let mut report = run.report.clone();
        let project_id = texts.line(report.project.id.as_str());
        report.project.name = Some(texts.line(report.project.name.as_deref().unwrap_or(report.project.id.as_str())));
        texts.change(&mut report.validation_criteria_evaluation.reason);
        let phases = [
            &mut report.prerequisite_execution.results,
            &mut report.step_execution.results,
            &mut report.cleanup_execution.results,
        ];
        phases.into_iter().flatten().for_each(|check| texts.change_check(check));
        let mut tests = run.tests.clone();
        tests.values_mut().flat_map(|record| &mut record.results.test_results).for_each(|test| texts.change_test(test));
        Self { report, project_id, tests }
    }
}

/// Redacts the texts of a run.
struct Texts<'a> {
    redactor: &'a OutgoingRedactor,
    below: Option<&'a str>,
}

impl Texts<'_> {
    fn line(&self, text: &str) -> String {
        let cut = text.char_indices().nth(LONGEST_LINE).map(|(end, _)| end);
        let line = self.redactor.redact_lines(&text[..cut.unwrap_or(text.len())]);
        if cut.is_some() { line + " [the rest of the line is left out]" } else { line }
    }

    fn change(&self, text: &mut String) {
        if text.len() <= LONGEST_LINE {
            return *text = self.redactor.redact_lines(text);
        }
        // A secret with several lines must not be divided before it is recognised.
        let whole = redact_text(text);
        let lines: Vec<String> = whole.split('\n').map(|line| self.line(line)).collect();
        *text = lines.join("\n");
    }

    fn change_each<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.change(text));
    }

    /// Redacts the path of a file, and puts before it where the project lies.
    fn change_file(&self, file: &mut String) {
        self.change(file);
        if let Some(below) = self.below.filter(|_| is_relative(file)) {
            *file = format!("{below}/{file}");
        }
    }

    fn change_check(&self, check: &mut ActionResultV2) {
        self.change_each([&mut check.name, &mut check.tool, &mut check.description, &mut check.command]);
        self.change_each(&mut check.evidence_files);
        self.change_each(check.classification.as_mut().map(|classification| &mut classification.reason));
        let Some(result) = &mut check.result else { return };
        self.change_each(&mut result.signal);
        if let DiagnosticsV2::Findings(findings) = &mut result.diagnostics {
            findings.iter_mut().for_each(|finding| self.change_finding(finding));
        }
        let failures = result.test_results.as_mut().map(|tests| tests.failures.as_mut_slice()).unwrap_or_default();
        failures.iter_mut().for_each(|failure| self.change_failure(failure));
    }

    fn change_finding(&self, finding: &mut Diagnostic) {
        finding.file.iter_mut().for_each(|file| self.change_file(file));
        self.change(&mut finding.message);
        self.change_each([&mut finding.code, &mut finding.rule_id, &mut finding.source].into_iter().flatten());
        self.change_each(finding.fix.as_mut().map(|fix| &mut fix.suggestion));
        for RelatedInformation { file, message, .. } in &mut finding.related_information {
            file.iter_mut().for_each(|file| self.change_file(file));
            self.change(message);
        }
    }

    fn change_failure(&self, failure: &mut TestFailure) {
        self.change_each([&mut failure.test_name, &mut failure.error]);
        failure.test_file.iter_mut().for_each(|file| self.change_file(file));
        let texts = [&mut failure.report_name, &mut failure.expected, &mut failure.received, &mut failure.stack];
        self.change_each(texts.into_iter().flatten());
    }

    fn change_test(&self, test: &mut TestRecordV1) {
        self.change_each([&mut test.full_name, &mut test.title]);
        self.change_each(&mut test.report_name);
        self.change_each(&mut test.ancestor_titles);
        self.change_each(&mut test.failure_messages);
        if let Some(place) = &mut test.location {
            self.change_file(&mut place.file);
        }
    }
}

/// Returns whether a path that was redacted leads to a file of the project.
pub(super) fn is_relative(file: &str) -> bool {
    let is_label = file.starts_with("[redacted: ");
    !file.is_empty() && !file.starts_with('/') && !is_label && !file.split('/').any(|part| part == "..") && !file.contains("://")
}
