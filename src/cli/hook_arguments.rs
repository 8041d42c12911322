//! The arguments of `proctor hook`. The doc comments are the help texts (house style H1).

use clap::{Args, Subcommand, ValueEnum};

use proctor_app::hook::{AGENTS, AgentRow};

/// Keep a coding agent from ending its turn with failing checks
///
/// `install` adds hooks to an agent's settings. At the end of a turn the agent is kept from stopping only if files changed in the turn and
/// something fails that did not before, or if its last message contradicts the verdict; once for each failure.
///
/// Examples:
///   proctor hook install
///   proctor hook install claude --project
///   proctor hook status
///   proctor hook uninstall
///   proctor hook report
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HookOptions {
    #[command(subcommand)]
    pub(crate) verb: HookVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookVerb {
    /// Add the hooks to the settings of an agent; everything that is there stays
    ///
    /// Without AGENT the hooks are added for every agent that has a directory of settings. `git` is the hook of `proctor gate --install
    /// pre-push`. Comments are kept. Settings that are no JSON otherwise, links, read-only or another user's are refused
    /// and not changed.
    #[command(verbatim_doc_comment)]
    Install(HookTarget),
    /// Show in which settings the hooks are
    Status,
    /// Take out the hooks again, and nothing else
    #[command(verbatim_doc_comment)]
    Uninstall(HookTarget),
    /// Answer an agent; the settings that `install` writes run this
    ///
    /// The agent's JSON document is read from standard input, and the answer is written as this agent reads it. An error is never a
    /// block: it is a line on standard error, and the exit code is 0.
    #[command(verbatim_doc_comment)]
    Run {
        /// The event, as the agent calls it
        #[arg(value_name = "EVENT")]
        event: String,
        /// The agent: claude, codex, gemini, cursor, copilot or opencode
        #[arg(long, value_name = "AGENT")]
        agent: String,
    },
    /// Count turns, blocks and refuted claims
    Report {
        /// Count every project, and not only the one of the current directory
        #[arg(long)]
        all: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

// Whose settings, and which of them. This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Args)]
pub(crate) struct HookTarget {
    /// The agent
    #[arg(value_enum, value_name = "AGENT")]
    pub(crate) agent: Option<HookAgent>,
    /// In the settings of the project, which is searched for in the current directory and above
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
    /// In your own settings, for all projects; this is the default
    #[arg(long)]
    pub(crate) user: bool,
}

/// An agent on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookAgent {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    #[value(name = "opencode")]
    OpenCode,
    /// No agent: git's hook before a push
    Git,
}

impl HookAgent {
    /// Returns the agent's row; `None` for git.
    pub(crate) fn row(self) -> Option<&'static AgentRow> {
        let value = self.to_possible_value()?;
        AGENTS.iter().find(|row| row.word == value.get_name())
    }
}

impl HookOptions {
    /// Returns whether an agent started the command.
    pub(crate) fn is_run(&self) -> bool {
        matches!(self.verb, HookVerb::Run { .. })
    }

    /// Returns whether the command prints one JSON document.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.verb, HookVerb::Report { json: true, .. })
    }
}
