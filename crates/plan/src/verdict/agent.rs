//! The fixed words that tell an agent, in a report, what to do about a result (the last table of seed 004).

use proctor_model::AgentAction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum AgentWord {
    /// Nothing has to be done.
    Continue,
    FixCode,
    FixTypes,
    FixSpecification,
    /// Install the missing tool or package.
    InstallTool,
    /// Start the server that does not answer.
    StartServer,
    /// Implement what the tests require.
    ImplementFix,
    /// Add tests, or enable existing ones.
    AddTests,
    /// Make the action faster, or raise its time limit.
    OptimizeOrRaiseTimeout,
    /// Ask a person, who must find or remove the cause.
    AskHuman,
}

impl AgentWord {
    /// Returns the word as it is written in reports.
    pub(in crate::verdict) fn label(self) -> &'static str {
        match self {
            Self::Continue => "CONTINUE",
            Self::FixCode => "FIX_CODE",
            Self::FixTypes => "FIX_TYPES",
            Self::FixSpecification => "FIX_SPECIFICATION",
            Self::InstallTool => "INSTALL_TOOL",
            Self::StartServer => "START_SERVER",
            Self::ImplementFix => "IMPLEMENT_FIX",
            Self::AddTests => "ADD_TESTS",
            Self::OptimizeOrRaiseTimeout => "OPTIMIZE_OR_RAISE_TIMEOUT",
            Self::AskHuman => "ASK_HUMAN",
        }
    }

    /// Returns the action for an agent, with its message. Every word except `Continue` requires the agent to act.
    pub(in crate::verdict) fn action(self, message: impl Into<String>) -> AgentAction {
        AgentAction { required: self != Self::Continue, action: self.label().to_owned(), message: message.into() }
    }
}
