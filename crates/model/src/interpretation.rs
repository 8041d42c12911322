//! What an action's exit status, output and report mean, as the interpreter of its tool reads them.

use crate::{
    Advice, CategoryCode, ClientFacts, ControlObservation, Coverage, Diagnostic, DiagnosticSummary, Examined, Fix,
    RelatedInformation, TestCase, TestFailure, TestResults, UnlistedFindings,
};

/// What a tool's exit status, output and report mean. Every judgement of the action is based on this.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// The category code to which the tool's exit status, output and report lead. The judgement replaces it if another
    /// fact contradicts it.
    pub category: CategoryCode,
    /// What the tool reported or did, in words for people, with names and numbers.
    pub reason: String,
    /// The counts and failures of the test report; `None` if no test report was read.
    pub test_results: Option<TestResults>,
    /// Every test in the report, to be stored as evidence.
    pub cases: Vec<TestCase>,
    /// The tool's errors and warnings, before the policy is applied.
    pub diagnostics: Vec<Diagnostic>,
    /// The findings that are counted but not in `diagnostics`, because the tool reported too many.
    pub unlisted: UnlistedFindings,
    /// The tool's own totals, used when its output was cut and `diagnostics` may be incomplete.
    pub counts_override: Option<DiagnosticSummary>,
    /// The test coverage; `None` if it was not measured.
    pub coverage: Option<Coverage>,
    /// Warnings that do not change the result but that people should see: pytest's warning count, XPASS, reruns.
    pub warnings: Vec<String>,
    /// After a limit: what had not ended when the action was stopped, as a sentence without a full stop; `None` if the
    /// tool does not say it.
    pub hung: Option<String>,
    /// The modules that could not be imported when tests were collected, as the report names them (R7).
    pub missing_modules: Vec<String>,
    /// Whether a missing module is the cause of every error in collecting tests (R7).
    pub only_missing_modules: bool,
    /// How the tool was asked for its report. `argument`: proctor added one. `own`: the command had one. `inherited`: by a variable.
    pub report_channel: Option<&'static str>,
    /// In how many processes the tests ran, if a check has `shards`.
    pub shards: Option<u32>,
    /// A name of the error that is more exact than the category code, such as `ECONNREFUSED`; `None` if none is known.
    pub error_type: Option<String>,
    /// Possible causes of the failure that proctor observed; if empty, reports show the usual causes for the category code.
    pub causes: Vec<String>,
    /// The kind and the number of things that the tool looked at; `None` if neither is known.
    pub examined: Option<Examined>,
    /// The result of the check's control, a run of tests that must fail; `None` if the check has no control.
    pub control: Option<ControlObservation>,
    /// What to do about this failure; empty where nothing more is known than its category.
    pub advice: Advice,
    /// What a client program showed; `None` for every other action.
    pub client: Option<ClientFacts>,
}

impl Interpretation {
    /// Returns an interpretation with only a category code and a reason; all other fields are empty.
    pub fn plain(category: CategoryCode, reason: impl Into<String>) -> Self {
        Self {
            category,
            reason: reason.into(),
            test_results: None,
            cases: Vec::new(),
            diagnostics: Vec::new(),
            unlisted: UnlistedFindings::default(),
            counts_override: None,
            coverage: None,
            warnings: Vec::new(),
            hung: None,
            missing_modules: Vec::new(),
            only_missing_modules: false,
            report_channel: None,
            shards: None,
            error_type: None,
            causes: Vec::new(),
            examined: None,
            control: None,
            advice: Advice::default(),
            client: None,
        }
    }
}

impl Interpretation {
    /// Hands every text to `change`: names, messages, code and paths that come from the tool's output or report, and the sentences
    /// that quote them.
    pub fn change_texts(&mut self, change: &dyn Fn(&mut String)) {
        // Every field is named here, so that a new one cannot be forgotten.
        let Self {
            category: _,
            reason,
            test_results,
            cases,
            diagnostics,
            unlisted,
            counts_override: _,
            coverage: _,
            warnings,
            hung,
            missing_modules,
            only_missing_modules: _,
            report_channel: _,
            shards: _,
            error_type,
            causes,
            examined: _,
            control,
            advice,
            client: _,
        } = self;
        change(reason);
        let Advice { fix, expected, received } = advice;
        [hung, error_type, fix, expected, received].into_iter().flatten().for_each(change);
        [warnings, missing_modules, causes].into_iter().flatten().for_each(change);
        if let Some(ControlObservation { reason, held: _, applicable: _ }) = control {
            change(reason);
        }
        if let Some(TestResults { failures, counts: _, further: _, total: _ }) = test_results {
            failures.iter_mut().for_each(|failure| change_failure(failure, change));
        }
        cases.iter_mut().for_each(|case| change_case(case, change));
        diagnostics.iter_mut().for_each(|found| change_diagnostic(found, change));
        let by_rule = std::mem::take(&mut unlisted.by_rule).into_iter().map(|((level, mut rule), count)| {
            rule.iter_mut().for_each(change);
            ((level, rule), count)
        });
        for (rule, count) in by_rule {
            let sum = unlisted.by_rule.entry(rule).or_default();
            (sum.findings, sum.fixable) = (sum.findings + count.findings, sum.fixable + count.fixable);
        }
    }
}

fn change_failure(failure: &mut TestFailure, change: &dyn Fn(&mut String)) {
    let TestFailure { test_name, report_name, test_file, error, expected, received, stack, line: _, column: _ } = failure;
    [test_name, error].into_iter().for_each(change);
    [report_name, test_file, expected, received, stack].into_iter().flatten().for_each(change);
}

fn change_case(case: &mut TestCase, change: &dyn Fn(&mut String)) {
    let TestCase {
        title,
        ancestor_titles,
        full_name,
        report_name,
        test_file,
        status: _,
        expected_to_fail: _,
        duration_us: _,
        failure_messages,
        body: _,
    } = case;
    [title, full_name].into_iter().for_each(change);
    [report_name, test_file].into_iter().flatten().for_each(change);
    [ancestor_titles, failure_messages].into_iter().flatten().for_each(change);
}

fn change_diagnostic(found: &mut Diagnostic, change: &dyn Fn(&mut String)) {
    let Diagnostic {
        file,
        line: _,
        column: _,
        end_line: _,
        end_column: _,
        length: _,
        code,
        rule_id,
        severity: _,
        message,
        fixable: _,
        source,
        related_information,
        fix,
    } = found;
    change(message);
    [file, code, rule_id, source].into_iter().flatten().for_each(change);
    for RelatedInformation { file, line: _, column: _, message } in related_information {
        change(message);
        file.iter_mut().for_each(change);
    }
    if let Some(Fix { suggestion, automated: _ }) = fix {
        change(suggestion);
    }
}
