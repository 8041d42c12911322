//! Makes one action of a task, with its time limit, variables, tool and policy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::read_writes_pattern;
use crate::spec::action::plain_action;
use crate::spec::made::recognised;
use crate::spec::review::review;
use crate::spec::specification::{ROOT_WORD, RawAction, RawEvidenceCapture, RawParameters};
use crate::spec::task::client::{browser_command, browser_timeout, container_command, database_query, query_timeout};
use crate::spec::task::kind::{ResolvedAction, custom_script, file_validation, http_request, merged, terminal_command};
use crate::spec::task::policy::task_policy;
use crate::spec::task::server::{as_dev_server, as_service, service};
use crate::spec::task::{Resolver, action_id, in_order};
use proctor_model::{Action, ActionDefaults, ActionKind, ActionPhase, ActionType, CommandLine, EvidenceCapture, Tool};
use proctor_tools::FoundPolicy;

/// The default time limit of a command, in milliseconds (schema 2.0.0).
const COMMAND_TIMEOUT: u64 = 30_000;

/// The default time limit of an HTTP request, in milliseconds (schema 2.0.0).
const REQUEST_TIMEOUT: u64 = 10_000;

/// The limit for an action's name, in characters. A longer description is cut, and the action's id is appended.
const LONGEST_NAME: usize = 100;

/// The tool of an action, and the policy that the action's command implies; `None` if the command implies no policy.
struct Taken {
    tool: Tool,
    found: Option<FoundPolicy>,
}

impl Resolver<'_> {
    pub(super) fn action(&mut self, phase: ActionPhase, number: usize, raw: &RawAction) -> Action {
        let ResolvedAction { kind, command } = self.done(raw);
        let timeout = self.timeout(raw, &kind);
        let kind = self.review(raw).unwrap_or(kind);
        let directory = self.directory(raw);
        let name = self.name(&raw.description, &raw.action_id);
        let taken = self.tool_of(phase, raw, &name, (&command, &directory));
        let policy = task_policy(taken.tool, self.specification, self.around.configuration, taken.found.as_ref());
        let defaults = ActionDefaults { timeout, ..self.around.configuration.defaults };
        let plain = plain_action(phase, number, (&name, taken.tool), command, defaults);
        let added = raw.proctor.as_ref();
        let action = Action {
            id: action_id(&raw.action_id),
            description: raw.description.clone(),
            directory: PathBuf::from(&directory),
            environment: self.variables(raw),
            policy,
            expected_exit_codes: self.expected_exit_codes(raw),
            kind,
            retry_attempts: raw.retry_attempts.map_or(0, |times| u8::try_from(times).expect("the schema bounds it to 5")),
            continue_on_failure: raw.continue_on_failure == Some(true),
            after: added.iter().flat_map(|added| &added.after).map(|id| action_id(id)).collect(),
            writes: added.iter().flat_map(|added| &added.writes).map(|pattern| writes_pattern(pattern)).collect(),
            capture: raw.evidence_capture.as_ref().map(capture).unwrap_or_default(),
            ..plain
        };
        match (added.and_then(|added| added.service.as_ref()), self.server_of(raw)) {
            (Some(said), _) => as_service(action, service(&said.ready, raw.timeout)),
            (None, Some(server)) => as_dev_server(action, server),
            (None, None) => action,
        }
    }

    fn done(&self, raw: &RawAction) -> ResolvedAction {
        let settings = &self.specification.raw.execution_engine.executor_configurations;
        match &raw.parameters {
            RawParameters::TerminalCommand(command) => {
                let argv = raw.proctor.as_ref().and_then(|added| added.argv.as_ref());
                terminal_command(command, argv.map(|argv| self.with_root(argv)))
            }
            RawParameters::CustomScript(script) => {
                custom_script(script, self.path(&script.script_path), self.with_root(&script.arguments))
            }
            RawParameters::FileValidation(file) => file_validation(file, self.path(&file.file_path)),
            RawParameters::HttpRequest(request) => http_request(request, settings.http_request.as_ref()),
            RawParameters::DockerCommand(container) => container_command(container),
            RawParameters::DatabaseQuery(query) => {
                let root = &self.specification.raw.global_configuration.workspace_root;
                database_query(query, root, settings.database_query.as_ref())
            }
            RawParameters::McpBrowserCommand(browser) => {
                let screenshot = raw.evidence_capture.as_ref().and_then(|capture| capture.screenshots) == Some(true);
                browser_command(&raw.action_id, browser, &self.actions_before(raw), screenshot)
            }
        }
    }

    /// Returns the task's actions that come before one, in the order in which they run.
    fn actions_before(&self, raw: &RawAction) -> Vec<&RawAction> {
        let execution = &self.task.test_execution;
        let phases = [&execution.prerequisites, &execution.steps, &execution.cleanup];
        let ordered = phases.into_iter().flat_map(|actions| in_order(self.task, actions));
        ordered.take_while(|action| action.action_id != raw.action_id).collect()
    }

    /// Returns the review settings of an action; `None` if it is not a review.
    fn review(&self, raw: &RawAction) -> Option<ActionKind> {
        let said = raw.proctor.as_ref().and_then(|added| added.review.as_ref())?;
        let prompt = said.prompt.as_deref().map(|prompt| self.path(prompt));
        Some(review(prompt, said.accept_split_emphasis != Some(false)))
    }

    /// Returns the tool: the one that the action names, otherwise the one that its command is recognised as (E2).
    fn tool_of(&mut self, phase: ActionPhase, raw: &RawAction, name: &str, (command, directory): (&CommandLine, &str)) -> Taken {
        if !self.around.files.exists(directory) {
            self.note(name, format!("the directory `{directory}` is not there yet"));
        }
        if raw.proctor.as_ref().is_some_and(|added| added.review.is_some()) {
            return Taken { tool: Tool::Review, found: None };
        }
        // Only commands of steps are judged by tools, as in `proctor.toml`. Prerequisites and cleanups are judged by their exit
        // codes, so their tool is the default one.
        if phase != ActionPhase::Step || raw.parameters.action_type() != ActionType::TerminalCommand {
            return Taken { tool: Tool::default(), found: None };
        }
        let place = format!("{} {}", self.specification.file, raw.action_id);
        let seen = recognised(command, self.around.files, directory, &place);
        match raw.proctor.as_ref().and_then(|added| added.tool) {
            None => {
                if let Some(note) = seen.note {
                    self.note(name, note);
                }
                Taken { tool: seen.tool, found: seen.policy }
            }
            Some(said) => {
                if !seen.tool.gives_way() && seen.tool != said {
                    let (said, seen) = (said.word(), seen.tool.word());
                    self.note(name, format!("the command looks like {seen}, but `tool` says {said}, which holds"));
                }
                Taken { tool: said, found: seen.policy.filter(|_| said == seen.tool) }
            }
        }
    }

    /// Returns a name that no other action of the task has, because results and the ledger identify actions by name.
    pub(super) fn name(&self, description: &str, id: &str) -> String {
        let words: Vec<&str> = description.split_whitespace().collect();
        let line: String = words.join(" ").chars().filter(|character| !character.is_control()).take(LONGEST_NAME).collect();
        let same = self.described.get(&words).copied().unwrap_or_default();
        if same > 1 || words.is_empty() || words.join(" ").chars().count() > LONGEST_NAME {
            return format!("{line} ({id})").trim().to_owned();
        }
        line
    }

    /// Returns an action's time limit: the one it sets, otherwise the limit of its type, otherwise the limit of the
    /// whole run.
    fn timeout(&self, raw: &RawAction, kind: &ActionKind) -> Duration {
        let settings = &self.specification.raw.execution_engine.executor_configurations;
        let of_type = match &raw.parameters {
            RawParameters::TerminalCommand(_) => self.command_timeout(),
            RawParameters::HttpRequest(_) => {
                let said = settings.http_request.as_ref().and_then(|requests| requests.default_timeout);
                Duration::from_millis(said.unwrap_or(REQUEST_TIMEOUT))
            }
            RawParameters::DatabaseQuery(_) => Duration::from_millis(query_timeout(settings.database_query.as_ref())),
            RawParameters::McpBrowserCommand(_) => {
                browser_timeout(kind).map_or_else(|| self.suite_timeout(), Duration::from_millis)
            }
            RawParameters::CustomScript(_) | RawParameters::FileValidation(_) | RawParameters::DockerCommand(_) => {
                self.suite_timeout()
            }
        };
        raw.timeout.map_or(of_type, Duration::from_millis)
    }

    /// Returns the time limit of a command that sets none.
    pub(super) fn command_timeout(&self) -> Duration {
        let settings = self.specification.raw.execution_engine.executor_configurations.terminal_command.as_ref();
        Duration::from_millis(settings.and_then(|commands| commands.default_timeout).unwrap_or(COMMAND_TIMEOUT))
    }

    fn directory(&self, raw: &RawAction) -> String {
        raw.parameters.command().map(|command| self.path(&command.working_directory)).unwrap_or_default()
    }

    fn variables(&self, raw: &RawAction) -> BTreeMap<String, String> {
        match &raw.parameters {
            RawParameters::TerminalCommand(command) => {
                let of_server = self.server_of(raw).map(|server| &server.environment);
                self.environment(&of_server.map_or_else(|| command.environment.clone(), |all| merged(all, &command.environment)))
            }
            RawParameters::CustomScript(script) => self.environment(&script.environment),
            // A container's own variables are words of the engine's command.
            RawParameters::DockerCommand(_) | RawParameters::DatabaseQuery(_) | RawParameters::McpBrowserCommand(_) => {
                self.environment(&BTreeMap::new())
            }
            // Actions without a process have no environment variables.
            RawParameters::FileValidation(_) | RawParameters::HttpRequest(_) => BTreeMap::new(),
        }
    }

    /// Returns the environment variables that the specification sets for all actions, together with those of one
    /// action.
    pub(super) fn environment(&self, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let merged = merged(&self.specification.raw.global_configuration.environment, own);
        merged.into_iter().map(|(name, value)| (name, self.in_place(&value))).collect()
    }

    fn expected_exit_codes(&self, raw: &RawAction) -> Vec<i32> {
        let said = match &raw.parameters {
            RawParameters::TerminalCommand(command) => command.expected_exit_codes.clone(),
            RawParameters::CustomScript(_)
            | RawParameters::FileValidation(_)
            | RawParameters::HttpRequest(_)
            | RawParameters::DockerCommand(_)
            | RawParameters::DatabaseQuery(_)
            | RawParameters::McpBrowserCommand(_) => None,
        };
        said.unwrap_or_else(|| vec![0])
    }

    fn with_root(&self, words: &[String]) -> Vec<String> {
        words.iter().map(|word| self.in_place(word)).collect()
    }

    /// Replaces `${WORKSPACE_ROOT}` by the path of the project's root.
    fn in_place(&self, text: &str) -> String {
        text.replace(ROOT_WORD, &self.around.project.project_root.to_string_lossy())
    }
}

fn writes_pattern(pattern: &str) -> String {
    read_writes_pattern(pattern).expect("the lint refuses what is no pattern")
}

fn capture(raw: &RawEvidenceCapture) -> EvidenceCapture {
    let usual = EvidenceCapture::default();
    EvidenceCapture {
        stdout: raw.stdout.unwrap_or(usual.stdout),
        stderr: raw.stderr.unwrap_or(usual.stderr),
        request_response: raw.request_response.unwrap_or(usual.request_response),
        file_contents: raw.file_contents.unwrap_or(usual.file_contents),
    }
}
