//! What the table of tools says about one tool.

use crate::{
    BlockOn, EvidenceNames, FindingFacts, InstalledPackage, JudgedBy, NameRule, OneTest, PolicyCategory, Tool, ToolClass,
};

impl Tool {
    /// Returns whether proctor knows the tool. Of any other command only the exit code is known.
    pub fn is_known(self) -> bool {
        self != Self::Generic
    }

    /// Returns whether the check's `report` makes the tool, so that `tool` in `proctor.toml` cannot name it.
    pub const fn is_of_report(self) -> bool {
        matches!(self, Self::TestReport | Self::FindingReport)
    }

    /// Returns the word by which `proctor.toml` and messages name the tool.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns the tool's name in reports, which the design document seed 004 fixes: `typescript` for tsc.
    pub fn report_name(self) -> &'static str {
        self.row().report_name
    }

    /// Returns the name of an action that runs the tool, for actions that the user did not name.
    pub fn action_name(self) -> &'static str {
        match self.row().judged_by {
            JudgedBy::ExitCode => "command",
            JudgedBy::Output | JudgedBy::Grammar => self.word(),
        }
    }

    /// Returns which evidence decides the result of an action that runs the tool.
    pub fn judged_by(self) -> JudgedBy {
        self.row().judged_by
    }

    /// Returns whether a command that resembles this tool counts as this tool only if nothing else says what the
    /// command is.
    pub fn gives_way(self) -> bool {
        self.row().gives_way
    }

    /// Returns what the tool does with the code, for example `runs the tests`.
    pub fn does(self) -> &'static str {
        self.row().does
    }

    /// Returns the facts about a validation tool's findings; `None` for other tools.
    pub fn findings(self) -> Option<&'static FindingFacts> {
        self.row().findings.as_ref()
    }

    /// Returns the names of the evidence files of actions that run the tool.
    pub fn evidence_names(self) -> EvidenceNames {
        self.row().evidence
    }

    /// Returns the package that brings the tool; `None` if the tool is no package.
    pub fn package(self) -> Option<InstalledPackage> {
        self.row().package
    }

    /// Returns the names of the tool's programs in the `bin` directory of a Python installation. Such a program runs
    /// with the packages of that installation.
    pub fn beside_python(self) -> &'static [&'static str] {
        self.row().beside_python
    }

    /// Returns the option without which the tool writes files beside its findings; `None` if it never does.
    pub fn writes_without(self) -> Option<&'static str> {
        self.row().writes_without
    }

    /// Returns whether the tool shows on standard output which tests have ended.
    pub fn shows_progress_on_stdout(self) -> bool {
        self.row().shows_progress_on_stdout
    }

    /// Returns how the tool's command line names one test; `None` if the tool runs no tests, or cannot name one.
    pub fn one_test(self) -> Option<OneTest> {
        self.row().one_test
    }

    /// Returns the words with which a command calls the tool, where they are more than the tool's own word.
    pub fn calls(self) -> &'static [&'static [&'static str]] {
        self.row().calls
    }

    /// Returns patterns for the names of files that can change the tool's results without a change to the source.
    pub fn configuration(self) -> &'static [&'static str] {
        self.row().configuration
    }

    /// Returns the names of files that the tool creates in a project by itself, each with a description.
    pub const fn leftovers(self) -> &'static [(NameRule, &'static str)] {
        self.row().leftovers
    }

    /// Returns whether a check with this tool can demand that the tests cover at least a given percentage of the code.
    pub fn measures_coverage(self) -> bool {
        self.row().measures_coverage
    }

    /// Returns whether the tool loads the plugins of other installed packages without being told to.
    pub fn loads_plugins(self) -> bool {
        self.row().loads_plugins
    }

    pub fn class(self) -> ToolClass {
        self.row().class
    }

    /// Returns the policy category of the tool; `None` if no policy applies to the tool.
    pub fn policy_category(self) -> Option<PolicyCategory> {
        self.row().policy.map(|(category, _)| category)
    }

    /// Returns the default strategy for the tool's findings (C20); `None` if no policy applies to the tool.
    pub fn default_strategy(self) -> Option<BlockOn> {
        self.row().policy.map(|(_, block_on)| block_on)
    }

    /// Returns whether a check with this tool may name a report of its own.
    pub fn allows_report(self) -> bool {
        self.row().allows_report
    }
}
