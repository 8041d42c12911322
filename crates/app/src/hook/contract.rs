//! The contracts of the agents: in which file an agent has its hooks, what it sends for an event, and which answer it understands.
//!
//! Each agent is a row of [`AGENTS`], and each of its events a row in that row. The contracts are from the agents' own documentation
//! and schemas; `fixtures/hooks` has a recorded input for every row.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// What an agent tells, whatever the agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// A session began, or an earlier one was continued.
    SessionStart,
    /// A person sent a prompt: a turn begins.
    Prompt,
    /// The agent wrote a message. Only agents whose `TurnEnd` lacks the last message send this.
    Reply,
    /// The agent wants to end its turn.
    TurnEnd,
    /// A sub-agent wants to end its work.
    SubagentEnd,
    /// A task of the agent's own list is about to be marked as done.
    TaskDone,
}

/// How an event's answer keeps the agent from stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockForm {
    /// `{"decision":"block","reason":…}`
    Block,
    /// `{"decision":"deny","reason":…}`
    Deny,
    /// `{"followup_message":…}`
    Followup,
    /// Exit code 2, with the text on standard error.
    ExitTwo,
    /// The event cannot keep the agent from anything.
    Never,
}

/// How an event's answer gives the agent a line of context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextForm {
    /// `{"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}`
    Specific,
    /// The event takes no context.
    Never,
}

/// How an event's answer tells the person something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PersonForm {
    /// `{"systemMessage":…}`
    SystemMessage,
    /// A line on standard error: the agent has no field for it.
    StandardError,
}

/// An event of an agent: its name, what it means, and which answers it takes.
#[derive(Debug, Clone, Copy)]
pub struct EventRow {
    /// The agent's name for the event, which stands in its settings and in `proctor hook run EVENT`.
    pub name: &'static str,
    pub event: HookEvent,
    pub block: BlockForm,
    pub context: ContextForm,
    pub person: PersonForm,
    /// The field with the message of the agent; empty if the event has none.
    pub message: &'static str,
    /// The time-out that is written into the settings, in seconds. proctor must answer earlier.
    pub timeout_s: u64,
}

/// How an agent's settings list a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryShape {
    /// `{"hooks":[{"type":"command","command":…,"timeout":SECONDS}]}`
    GroupInSeconds,
    /// The same with the time-out in milliseconds.
    GroupInMilliseconds,
    /// `{"command":…}`
    Plain,
    /// `{"type":"command","bash":…,"timeoutSec":SECONDS}`
    Bash,
    /// The whole file is a program in the agent's own language, which asks proctor.
    Plugin,
}

/// An agent: where its settings are, how they list a hook, and how it names what it sends.
#[derive(Debug, Clone, Copy)]
pub struct AgentRow {
    /// The word on the command line.
    pub word: &'static str,
    /// The agent's name for people.
    pub shown: &'static str,
    /// The settings file of a project, relative to the project's root.
    pub project_file: &'static str,
    /// The directory of the user's own settings, relative to the home directory.
    pub user_directory: &'static str,
    /// The environment variable that names another directory for the user's settings; empty if there is none.
    pub directory_variable: &'static str,
    /// The settings file of the user, relative to that directory.
    pub user_file: &'static str,
    /// Whether the settings need `"version": 1`.
    pub versioned: bool,
    pub shape: EntryShape,
    /// The field with the session's id.
    pub session: &'static str,
    /// The field with the directory in which the agent works: a text, or a list of several.
    pub directory: &'static str,
    /// What is printed if there is nothing to say.
    pub silence: &'static str,
    pub events: &'static [EventRow],
}

const fn event(name: &'static str, event: HookEvent, block: BlockForm, context: ContextForm, person: PersonForm) -> EventRow {
    EventRow { name, event, block, context, person, message: "", timeout_s: TURN_TIMEOUT }
}

const fn start(name: &'static str, what: HookEvent, context: ContextForm, person: PersonForm) -> EventRow {
    EventRow { timeout_s: START_TIMEOUT, ..event(name, what, BlockForm::Never, context, person) }
}

const fn end(name: &'static str, what: HookEvent, block: BlockForm, person: PersonForm, message: &'static str) -> EventRow {
    EventRow { message, ..event(name, what, block, ContextForm::Never, person) }
}

/// The time-out of a hook's event at which proctor may wait for a verdict, in seconds. `hook_wait` is at most 40 seconds.
const TURN_TIMEOUT: u64 = 60;
/// The time-out of a hook's event at which proctor only reads, such as the start of a session, in seconds.
const START_TIMEOUT: u64 = 10;

/// The most directories of one agent that are looked at.
const MOST_DIRECTORIES: usize = 16;

/// Every agent whose hooks proctor answers.
pub const AGENTS: &[AgentRow] = &[
    AgentRow {
        word: "claude",
        shown: "Claude Code",
        project_file: ".claude/settings.json",
        user_directory: ".claude",
        directory_variable: "CLAUDE_CONFIG_DIR",
        user_file: "settings.json",
        versioned: false,
        shape: EntryShape::GroupInSeconds,
        session: "session_id",
        directory: "cwd",
        silence: "",
        events: &[
            start("SessionStart", HookEvent::SessionStart, ContextForm::Specific, PersonForm::SystemMessage),
            start("UserPromptSubmit", HookEvent::Prompt, ContextForm::Specific, PersonForm::SystemMessage),
            end("Stop", HookEvent::TurnEnd, BlockForm::Block, PersonForm::SystemMessage, "last_assistant_message"),
            end("SubagentStop", HookEvent::SubagentEnd, BlockForm::Block, PersonForm::SystemMessage, "last_assistant_message"),
            end("TaskCompleted", HookEvent::TaskDone, BlockForm::ExitTwo, PersonForm::StandardError, ""),
            end("TeammateIdle", HookEvent::TaskDone, BlockForm::ExitTwo, PersonForm::StandardError, ""),
        ],
    },
    AgentRow {
        word: "codex",
        shown: "Codex",
        project_file: ".codex/hooks.json",
        user_directory: ".codex",
        directory_variable: "CODEX_HOME",
        user_file: "hooks.json",
        versioned: false,
        shape: EntryShape::GroupInSeconds,
        session: "session_id",
        directory: "cwd",
        silence: "",
        events: &[
            start("SessionStart", HookEvent::SessionStart, ContextForm::Specific, PersonForm::SystemMessage),
            start("UserPromptSubmit", HookEvent::Prompt, ContextForm::Specific, PersonForm::SystemMessage),
            end("Stop", HookEvent::TurnEnd, BlockForm::Block, PersonForm::SystemMessage, "last_assistant_message"),
            end("SubagentStop", HookEvent::SubagentEnd, BlockForm::Block, PersonForm::SystemMessage, "last_assistant_message"),
        ],
    },
    AgentRow {
        word: "gemini",
        shown: "Gemini CLI",
        project_file: ".gemini/settings.json",
        user_directory: ".gemini",
        directory_variable: "",
        user_file: "settings.json",
        versioned: false,
        shape: EntryShape::GroupInMilliseconds,
        session: "session_id",
        directory: "cwd",
        silence: "{}",
        events: &[
            start("SessionStart", HookEvent::SessionStart, ContextForm::Specific, PersonForm::SystemMessage),
            start("BeforeAgent", HookEvent::Prompt, ContextForm::Specific, PersonForm::SystemMessage),
            end("AfterAgent", HookEvent::TurnEnd, BlockForm::Deny, PersonForm::SystemMessage, "prompt_response"),
        ],
    },
    AgentRow {
        word: "cursor",
        shown: "Cursor",
        project_file: ".cursor/hooks.json",
        user_directory: ".cursor",
        directory_variable: "",
        user_file: "hooks.json",
        versioned: true,
        shape: EntryShape::Plain,
        session: "conversation_id",
        directory: "workspace_roots",
        silence: "{}",
        events: &[
            start("beforeSubmitPrompt", HookEvent::Prompt, ContextForm::Never, PersonForm::StandardError),
            EventRow {
                message: "text",
                ..start("afterAgentResponse", HookEvent::Reply, ContextForm::Never, PersonForm::StandardError)
            },
            end("stop", HookEvent::TurnEnd, BlockForm::Followup, PersonForm::StandardError, ""),
        ],
    },
    AgentRow {
        word: "copilot",
        shown: "GitHub Copilot",
        project_file: ".github/hooks/proctor.json",
        user_directory: ".copilot",
        directory_variable: "COPILOT_HOME",
        user_file: "hooks/proctor.json",
        versioned: true,
        shape: EntryShape::Bash,
        session: "sessionId",
        directory: "cwd",
        silence: "",
        events: &[
            start("sessionStart", HookEvent::SessionStart, ContextForm::Never, PersonForm::StandardError),
            start("userPromptSubmitted", HookEvent::Prompt, ContextForm::Never, PersonForm::StandardError),
            end("agentStop", HookEvent::TurnEnd, BlockForm::Block, PersonForm::StandardError, ""),
            end("subagentStop", HookEvent::SubagentEnd, BlockForm::Block, PersonForm::StandardError, ""),
        ],
    },
    AgentRow {
        word: "opencode",
        shown: "OpenCode",
        project_file: ".opencode/plugin/proctor.js",
        user_directory: ".config/opencode",
        directory_variable: "OPENCODE_CONFIG_DIR",
        user_file: "plugin/proctor.js",
        versioned: false,
        shape: EntryShape::Plugin,
        session: "session_id",
        directory: "cwd",
        silence: "",
        // It has no event that keeps it from stopping: the plugin sends the reason as the next prompt.
        events: &[
            start("chat.message", HookEvent::Prompt, ContextForm::Never, PersonForm::SystemMessage),
            end("session.idle", HookEvent::TurnEnd, BlockForm::Block, PersonForm::SystemMessage, "message"),
        ],
    },
];

impl AgentRow {
    /// Returns the row of the agent with this word on the command line.
    pub fn of_word(word: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|row| row.word == word)
    }

    /// Returns the agent's event with this name.
    pub fn event(&self, name: &str) -> Option<&'static EventRow> {
        self.events.iter().find(|row| row.name == name)
    }

    /// Returns the command line of an event. It never changes from version to version: Codex trusts a hook by the hash of its
    /// definition, and asks the person again about another one.
    pub fn command(&self, row: &EventRow) -> String {
        format!("proctor hook run {} --agent {}", row.name, self.word)
    }

    /// Returns the entry of an event in the list of the agent's settings, as JSON on one line.
    pub fn entry(&self, row: &EventRow) -> String {
        let command = Value::from(self.command(row));
        let seconds = row.timeout_s;
        match self.shape {
            EntryShape::GroupInSeconds => {
                format!(r#"{{"hooks": [{{"type": "command", "command": {command}, "timeout": {seconds}}}]}}"#)
            }
            EntryShape::GroupInMilliseconds => {
                format!(r#"{{"hooks": [{{"type": "command", "command": {command}, "timeout": {}}}]}}"#, seconds * 1000)
            }
            EntryShape::Plain => format!(r#"{{"command": {command}}}"#),
            EntryShape::Bash => format!(r#"{{"type": "command", "bash": {command}, "timeoutSec": {seconds}}}"#),
            EntryShape::Plugin => String::new(),
        }
    }
}

/// What an agent sent for an event, as far as proctor reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookInput {
    /// The session's id; empty if the agent sent none.
    pub session: String,
    /// The directories in which the agent works; empty if the agent sent none.
    pub directories: Vec<PathBuf>,
    /// The agent's last message; `None` if the event has none.
    pub message: Option<String>,
    /// What the person wrote; `None` for events other than a prompt.
    pub prompt: Option<String>,
    /// Whether work of the agent goes on in the background, so that the end of the turn is not the end of the work.
    pub in_background: bool,
    /// Whether the turn was stopped by a person or by an error.
    pub is_aborted: bool,
    /// Whether a session goes on in the middle of a turn, after the agent has shortened what it remembers.
    pub is_compaction: bool,
}

/// Reads what an agent sent. Fields that proctor does not know are left alone: agents add some in every version.
///
/// # Errors
/// The reason as a sentence, when the text is no JSON object.
pub fn read_input(agent: &AgentRow, event: &EventRow, text: &str) -> Result<HookInput, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("the input is no JSON: {error}"))?;
    let Value::Object(fields) = value else { return Err("the input is no JSON object".to_owned()) };
    let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let directories = match fields.get(agent.directory) {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).take(MOST_DIRECTORIES).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    let is_filled = |name: &str| fields.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let status = word("status").unwrap_or_default();
    Ok(HookInput {
        session: word(agent.session).unwrap_or_default(),
        directories: directories.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect(),
        message: word(event.message).filter(|_| !event.message.is_empty()),
        prompt: word("prompt").filter(|_| event.event == HookEvent::Prompt),
        in_background: is_filled("background_tasks"),
        is_compaction: event.event == HookEvent::SessionStart && word("source").as_deref() == Some("compact"),
        is_aborted: event.event == HookEvent::TurnEnd && matches!(status.as_str(), "aborted" | "error"),
    })
}

/// What proctor says at an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAnswer {
    Silence,
    /// A line that the agent reads beside the prompt.
    Context(String),
    /// The agent does not stop, and reads this text.
    Block(String),
    /// The person reads this text; the agent stops.
    TellPerson(String),
}

/// What a hook's process prints, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    /// One JSON document, or nothing.
    pub stdout: String,
    pub stderr: String,
    /// 0, or 2 where the agent takes 2 as a block.
    pub exit: u8,
}

/// Forms an answer as an agent reads it. What the event cannot carry is left out or goes to standard error: an agent that forbids
/// other fields would refuse the whole answer.
pub fn form_output(agent: &AgentRow, event: &EventRow, answer: &HookAnswer) -> HookOutput {
    let silence = || HookOutput { stdout: agent.silence.to_owned(), stderr: String::new(), exit: 0 };
    let document = |value: Value| HookOutput { stdout: value.to_string(), ..silence() };
    let on_stderr = |text: &str| HookOutput { stderr: text.to_owned(), ..silence() };
    let one = |name: &str, text: &str| Value::Object(Map::from_iter([(name.to_owned(), Value::from(text))]));
    match answer {
        HookAnswer::Silence => silence(),
        HookAnswer::Context(text) => match event.context {
            ContextForm::Specific => {
                document(json!({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}))
            }
            ContextForm::Never => silence(),
        },
        HookAnswer::Block(text) => match event.block {
            BlockForm::Block => document(json!({"decision": "block", "reason": text})),
            BlockForm::Deny => document(json!({"decision": "deny", "reason": text})),
            BlockForm::Followup => document(one("followup_message", text)),
            BlockForm::ExitTwo => HookOutput { stdout: String::new(), stderr: text.clone(), exit: 2 },
            BlockForm::Never => on_stderr(text),
        },
        HookAnswer::TellPerson(text) => match event.person {
            PersonForm::SystemMessage => document(one("systemMessage", text)),
            PersonForm::StandardError => on_stderr(text),
        },
    }
}

#[cfg(test)]
mod tests;
