//! What an action's exit status, output and report mean, as the interpreter of its tool reads them.

use crate::model::{
    Advice, CategoryCode, ClientFacts, ControlObservation, Coverage, Diagnostic, DiagnosticSummary, Examined, TestCase,
    TestResults, UnlistedFindings,
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
            error_type: None,
            causes: Vec::new(),
            examined: None,
            control: None,
            advice: Advice::default(),
            client: None,
        }
    }
}
