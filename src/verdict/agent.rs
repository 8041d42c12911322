//! The closed words for what an agent should do about a result (seed 004, last table).

use crate::model::AgentAction;

/// What to do about a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum AgentWord {
    /// Nothing; go on.
    Continue,
    /// Mend the code.
    FixCode,
    /// Mend the types.
    FixTypes,
    /// Mend the specification or configuration.
    FixSpecification,
    /// Install what is missing.
    InstallTool,
    /// Start what does not answer.
    StartServer,
    /// Implement what the tests demand.
    ImplementFix,
    /// Write tests, or let the ones there run.
    AddTests,
    /// Make it faster or allow it more time.
    OptimizeOrRaiseTimeout,
    /// Let a person look.
    AskHuman,
}

impl AgentWord {
    /// Returns the word as reports spell it.
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

    /// Returns the action with its sentence. Everything but going on is required.
    pub(in crate::verdict) fn action(self, message: impl Into<String>) -> AgentAction {
        AgentAction { required: self != Self::Continue, action: self.label().to_owned(), message: message.into() }
    }
}
