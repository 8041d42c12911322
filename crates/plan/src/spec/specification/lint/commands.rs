//! Lint rules for commands. A command that needs a shell must name one, no command may hide a failure, and every step
//! must prove something.

use std::collections::BTreeMap;

use crate::spec::specification::lint::subject::{Action, Subject};
use crate::spec::specification::raw::{RawParameters, RawShell, RawTerminalCommandParameters};
use proctor_model::{ActionPhase, Problem, ToolClass, split_words};
use proctor_tools::shell::{
    HiddenFailure, ShellScript, can_only_succeed, hidden_failure, hidden_failure_of_words, script_of, shell_construct,
};
use proctor_tools::{recognise, recognise_script};

/// Programs that always succeed. A step that only runs one of them proves nothing.
const IDLE_PROGRAMS: &[&str] = &["true", ":", "echo", "printf"];

/// The text of a command in a specification: of an action, of a workflow check, or of the development server.
struct CommandText<'s> {
    pointer: String,
    text: &'s str,
    shell: Option<RawShell>,
}

/// Reports commands that need a shell but do not name one.
pub(super) fn needs_shell(subject: &Subject<'_>) -> Vec<Problem> {
    let plain = command_texts(subject).into_iter().filter(|command| command.shell.is_none());
    let findings = plain.filter_map(|command| {
        let construct = shell_construct(command.text)?;
        let written = construct.text.escape_debug();
        let message = format!("`{written}` is {} and needs a shell, but commands run without one", construct.what);
        let hint = "add `\"shell\": \"bash\"` to the parameters, or say the words in `proctor.argv`";
        Some(Problem::new(command.pointer, message).hint(hint))
    });
    findings.collect()
}

/// Reports commands that hide a failure, such as `pytest || true`.
pub(super) fn hides_failure(subject: &Subject<'_>) -> Vec<Problem> {
    let texts = command_texts(subject).into_iter().filter_map(|command| match command.shell {
        Some(_) => Some((command.pointer, hidden_failure(&ShellScript::with_pipefail(command.text))?)),
        // A command may start a shell by itself, and the script for that shell can hide a failure as well.
        None => Some((command.pointer, hidden_failure_of_words(&split_words(command.text)?)?)),
    });
    let words = subject.actions().filter_map(|action| {
        let hidden = hidden_failure_of_words(action.raw.proctor.as_ref()?.argv.as_deref()?)?;
        Some((format!("{}/proctor/argv", action.pointer()), hidden))
    });
    let findings = texts.chain(words).map(|(pointer, HiddenFailure { part, why, instead })| {
        let hint = format!("{instead}; what may fail is said by the validation policy");
        Problem::new(pointer, format!("`{part}` {why}")).hint(hint)
    });
    findings.collect()
}

/// Reports commands with an unclosed quote or without words.
pub(super) fn unclosed_quote(subject: &Subject<'_>) -> Vec<Problem> {
    let plain = command_texts(subject).into_iter().filter(|command| command.shell.is_none());
    let findings = plain.filter_map(|command| match split_words(command.text) {
        None => Some(Problem::new(command.pointer, "a quote is not closed").hint("close it")),
        Some(words) if words.is_empty() => Some(Problem::new(command.pointer, "the command is empty").hint("say what to run")),
        Some(_) => None,
    });
    findings.collect()
}

/// Reports commands for PowerShell and `cmd`, the shells of other systems.
pub(super) fn unsupported_shell(subject: &Subject<'_>) -> Vec<Problem> {
    let foreign = subject.commands().filter(|(_, command)| matches!(command.shell, Some(RawShell::Powershell | RawShell::Cmd)));
    let findings = foreign.map(|(action, _)| {
        action.finding("/parameters/shell", "this shell is not supported").hint("`bash` and `sh` are; most commands need none")
    });
    findings.collect()
}

/// Reports steps that cannot fail, such as `echo done`, because they prove nothing.
pub(super) fn proves_nothing(subject: &Subject<'_>) -> Vec<Problem> {
    let steps = subject.commands().filter(|(action, _)| action.phase == ActionPhase::Step);
    let idle = steps.filter(|(action, command)| {
        let words = words_of(action, command);
        match (command.shell, script_of(&words)) {
            (Some(_), _) => can_only_succeed(&ShellScript::with_pipefail(&command.command)),
            (None, Some(script)) => can_only_succeed(&script),
            (None, None) => is_idle_program(&words),
        }
    });
    let findings = idle.map(|(action, command)| {
        action.finding("/parameters/command", format!("`{}` can only succeed: the step proves nothing", command.command))
    });
    findings.collect()
}

fn is_idle_program(words: &[String]) -> bool {
    words.first().is_some_and(|program| IDLE_PROGRAMS.contains(&program.rsplit('/').next().unwrap_or_default()))
}

/// Reports commands that expect exit codes other than 0.
pub(super) fn widened_exit_codes(subject: &Subject<'_>) -> Vec<Problem> {
    let widened = subject.commands().filter_map(|(action, command)| {
        let codes = command.expected_exit_codes.as_deref().unwrap_or_default();
        let more: Vec<String> = codes.iter().filter(|code| **code != 0).map(ToString::to_string).collect();
        (!more.is_empty()).then(|| (class_of(&action, command), more.join(", "), action))
    });
    let findings = widened.map(|(class, codes, action)| match class {
        ToolClass::Generic => action
            .finding("/parameters/expectedExitCodes", format!("exit codes {codes} count as success"))
            .hint("leave out those that mean a failure"),
        ToolClass::Test | ToolClass::Validation => action
            .finding(
                "/parameters/expectedExitCodes",
                format!("exit codes {codes} are let through, but what the tool says decides"),
            )
            .hint("leave `expectedExitCodes` out: the tool's own report and exit code are judged"),
    });
    findings.collect()
}

/// Reports empty lists of expected exit codes, and codes that no process can return.
pub(super) fn impossible_exit_codes(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.commands().filter_map(|(action, command)| {
        let codes = command.expected_exit_codes.as_ref()?;
        let place = "/parameters/expectedExitCodes";
        if codes.is_empty() {
            return Some(action.finding(place, "without any code the action could never succeed").hint("leave it out for [0]"));
        }
        let wrong = codes.iter().find(|code| !(0..=255).contains(*code))?;
        Some(action.finding(place, format!("{wrong} is no exit code")).hint("exit codes are 0 to 255"))
    });
    findings.collect()
}

/// Reports `argv` and `tool` where they cannot apply: both on actions that run no command, `tool` on actions other than
/// steps, and `argv` beside a shell.
pub(super) fn argv_elsewhere(subject: &Subject<'_>) -> Vec<Problem> {
    let mut findings = Vec::new();
    for action in subject.actions() {
        let Some(added) = &action.raw.proctor else { continue };
        let command = action.raw.parameters.command();
        let (shell, is_command) = (command.and_then(|command| command.shell), command.is_some());
        let action_type = action.raw.parameters.action_type();
        for (key, is_said) in [("argv", added.argv.is_some()), ("tool", added.tool.is_some())] {
            if is_said && !is_command {
                let finding =
                    action.finding(&format!("/proctor/{key}"), format!("an action of type `{action_type}` has no `{key}`"));
                findings.push(finding.hint("remove it, or make the action a TERMINAL_COMMAND"));
            }
        }
        if added.tool.is_some() && is_command && action.phase != ActionPhase::Step {
            let finding = action.finding("/proctor/tool", "what a tool says is read of steps only");
            findings.push(finding.hint("remove it: prerequisites and cleanup are judged by their exit codes"));
        }
        if added.argv.is_some() && shell.is_some() {
            let finding = action.finding("/proctor/argv", "words are not read by a shell");
            findings.push(finding.hint("leave out `argv`, or `parameters.shell`"));
        }
    }
    findings
}

/// Reports environment variables with a name or value that no process can have.
pub(super) fn environment_names(subject: &Subject<'_>) -> Vec<Problem> {
    let global = &subject.raw.global_configuration;
    let all = ("/globalConfiguration/environment".to_owned(), &global.environment);
    let server = global.dev_server.as_ref();
    let server = server.map(|server| ("/globalConfiguration/devServer/environment".to_owned(), &server.environment));
    let of_actions = subject.actions().filter_map(|action| {
        let environment = match &action.raw.parameters {
            RawParameters::TerminalCommand(command) => &command.environment,
            RawParameters::CustomScript(script) => &script.environment,
            RawParameters::FileValidation(_)
            | RawParameters::HttpRequest(_)
            | RawParameters::DockerCommand(_)
            | RawParameters::DatabaseQuery(_)
            | RawParameters::McpBrowserCommand(_) => return None,
        };
        Some((format!("{}/parameters/environment", action.pointer()), environment))
    });
    std::iter::once(all)
        .chain(server)
        .chain(of_actions)
        .flat_map(|(pointer, environment)| wrong_names(&pointer, environment))
        .collect()
}

fn wrong_names(pointer: &str, environment: &BTreeMap<String, String>) -> Vec<Problem> {
    let is_wrong = |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    let wrong = environment.iter().filter(|(name, value)| is_wrong(name, value));
    let finding = |(name, _): (&String, &String)| {
        let message = format!("`{}` cannot be a variable", name.escape_debug());
        Problem::new(pointer, message).hint("a name is not empty and has no `=`, and neither name nor value has a NUL")
    };
    wrong.map(finding).collect()
}

/// Returns every text that is run: commands of actions, checks of the workflow, and the development server's command.
fn command_texts<'s>(subject: &Subject<'s>) -> Vec<CommandText<'s>> {
    let own_words = |action: &Action<'_>| action.raw.proctor.as_ref().is_some_and(|added| added.argv.is_some());
    let actions = subject.commands().filter(|(action, _)| !own_words(action)).map(|(action, command)| CommandText {
        pointer: format!("{}/parameters/command", action.pointer()),
        text: &command.command,
        shell: command.shell,
    });
    let checks = subject.tasks().flat_map(|task| {
        let workflow = task.raw.execution_workflow.as_ref();
        let prerequisites = workflow.map(|workflow| workflow.prerequisites.as_slice()).unwrap_or_default();
        prerequisites.iter().enumerate().filter_map(move |(index, prerequisite)| {
            let pointer = task.pointer(&format!("/executionWorkflow/prerequisites/{index}/checkCommand"));
            Some(CommandText { pointer, text: prerequisite.check_command.as_deref()?, shell: None })
        })
    });
    let server = subject.raw.global_configuration.dev_server.as_ref().and_then(|server| server.command.as_deref());
    let server =
        server.map(|text| CommandText { pointer: "/globalConfiguration/devServer/command".to_owned(), text, shell: None });
    actions.chain(checks).chain(server).collect()
}

fn words_of(action: &Action<'_>, command: &RawTerminalCommandParameters) -> Vec<String> {
    let argv = action.raw.proctor.as_ref().and_then(|added| added.argv.clone());
    argv.or_else(|| split_words(&command.command)).unwrap_or_default()
}

/// Returns the class of a step's tool: the tool that the step names, or the one that its command is recognised as.
/// Actions that are no steps are generic.
pub(super) fn class_of(action: &Action<'_>, command: &RawTerminalCommandParameters) -> ToolClass {
    if action.phase != ActionPhase::Step {
        return ToolClass::Generic;
    }
    if let Some(tool) = action.raw.proctor.as_ref().and_then(|added| added.tool) {
        return tool.class();
    }
    let recognition =
        if command.shell.is_some() { recognise_script(&command.command) } else { recognise(&words_of(action, command)) };
    recognition.tool.class()
}
