//! Lint rules for actions that a client program carries out: queries of databases, commands of container engines, and actions
//! of a browser.

use crate::spec::connection::{ConnectionProblem, query_kind, read_connection};
use crate::spec::specification::lint::subject::{Action, Subject, Task};
use crate::spec::specification::raw::{
    RawBrowserAction, RawBrowserParameters, RawDatabaseQueryParameters, RawDockerVerb, RawParameters,
};
use proctor_model::{Problem, QueryKind, split_words};

/// Reports connection strings that name no database that can be queried, or that hold a password.
pub(super) fn connections(subject: &Subject<'_>) -> Vec<Problem> {
    let root = &subject.raw.global_configuration.workspace_root;
    let findings = subject.queries().filter_map(|(action, query)| {
        let (message, hint) = match read_connection(root, &query.connection_string).err()? {
            ConnectionProblem::Unknown => (
                "it names no database that is queried",
                "`sqlite:PATH`, `postgresql://USER:${NAME}@HOST/DATABASE` and `${NAME}` are; for others run their client as a \
                 TERMINAL_COMMAND",
            ),
            ConnectionProblem::LeavesProject => {
                ("the database's file does not lie in the project", "name a path below the project, as in `sqlite:data/app.db`")
            }
            ConnectionProblem::Secret => (
                "a password stands in it, and a specification is no place for one",
                "name a variable of the action, as in `postgresql://app:${DB_PASSWORD}@localhost/app`, and pass it on by `pass_environment` \
                 of proctor.toml; or write `{{DB_PASSWORD}}`, and name it in `from_environment` of `[specification]`",
            ),
            ConnectionProblem::SecretPath => (
                "a secret stands in the path of a file, which is recorded",
                "give the path by `--set` or `[specification.values]`, and not by `from_environment`",
            ),
        };
        Some(action.finding("/parameters/connectionString", message).hint(hint))
    });
    findings.collect()
}

/// Reports requirements on rows of a statement whose rows are not read.
pub(super) fn rows_of_changes(subject: &Subject<'_>) -> Vec<Problem> {
    let changes = subject.queries().filter(|(_, query)| {
        let wants_rows = query.validate_results.as_ref();
        let wants_rows = wants_rows.is_some_and(|wanted| wanted.row_schema.is_some() || wanted.contains_values.is_some());
        wants_rows && query_kind(query.query_type, &query.query) == QueryKind::Changes
    });
    let finding = |(action, _): (Action<'_>, &RawDatabaseQueryParameters)| {
        action
            .finding("/parameters/validateResults", "only the rows that a SELECT returns are compared")
            .hint("compare them in a query of its own behind this one")
    };
    changes.map(finding).collect()
}

/// Reports actions of a browser that lack what they need.
pub(super) fn browser_operands(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = browsers(subject).filter_map(|(action, browser)| {
        let needed = match browser.action {
            RawBrowserAction::BrowserNavigate => browser.url.is_none().then_some("url"),
            RawBrowserAction::BrowserClick | RawBrowserAction::BrowserWaitForSelector => {
                browser.selector.is_none().then_some("selector")
            }
            RawBrowserAction::BrowserFillForm => {
                browser.form_data.as_ref().is_none_or(|data| data.is_empty()).then_some("formData")
            }
            RawBrowserAction::BrowserEvaluate => browser.script.is_none().then_some("script"),
            RawBrowserAction::BrowserScreenshot | RawBrowserAction::BrowserGetContent => None,
        }?;
        Some(action.finding("/parameters", format!("`{needed}` is missing")).hint("say it, or let the browser do something else"))
    });
    findings.collect()
}

/// Reports actions of a browser in which no page is open.
pub(super) fn browsers_without_page(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let mut has_page = false;
        let mut findings = Vec::new();
        for action in task.actions() {
            let RawParameters::McpBrowserCommand(browser) = &action.raw.parameters else { continue };
            has_page |= browser.url.is_some();
            if !has_page {
                let finding = action.finding("/parameters/action", "no page is open here");
                findings.push(finding.hint("give it a `url`, or let a `browser_navigate` come before it"));
            }
        }
        findings
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports pages that are opened by neither `http` nor `https`.
pub(super) fn browser_urls(subject: &Subject<'_>) -> Vec<Problem> {
    let is_http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
    let others = browsers(subject).filter(|(_, browser)| browser.url.as_ref().is_some_and(|url| !is_http(url)));
    let findings = others.map(|(action, _)| {
        action.finding("/parameters/url", "only `http` and `https` are opened").hint("serve the page, and name its address")
    });
    findings.collect()
}

/// Reports commands of a container engine that lack what they need, or whose words cannot be split.
pub(super) fn container_operands(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = subject.actions().filter_map(|action| {
        let RawParameters::DockerCommand(container) = &action.raw.parameters else { return None };
        let needs_name = match container.docker_command {
            RawDockerVerb::Run | RawDockerVerb::Exec | RawDockerVerb::Logs | RawDockerVerb::Inspect => true,
            RawDockerVerb::Build | RawDockerVerb::Compose | RawDockerVerb::Ps => false,
        };
        let needs_command = matches!(container.docker_command, RawDockerVerb::Exec | RawDockerVerb::Compose);
        let name = container.container_or_image.as_deref();
        if needs_name && name.is_none() {
            let finding = action.finding("/parameters", "`containerOrImage` is missing");
            return Some(finding.hint("name the container or the image"));
        }
        if name.is_some_and(|name| name.is_empty() || name.starts_with('-')) {
            let finding = action.finding("/parameters/containerOrImage", "it is no name, because it begins with `-` or is empty");
            return Some(finding.hint("name the container or the image"));
        }
        match container.command.as_deref().map(split_words) {
            None if needs_command => Some(
                action.finding("/parameters", "`command` is missing").hint("say what is run, as in `\"command\": \"up -d\"`"),
            ),
            Some(None) => Some(action.finding("/parameters/command", "a quote is not closed").hint("close it")),
            None | Some(Some(_)) => None,
        }
    });
    findings.collect()
}

fn browsers<'s>(subject: &Subject<'s>) -> impl Iterator<Item = (Action<'s>, &'s RawBrowserParameters)> {
    subject.actions().filter_map(|action| match &action.raw.parameters {
        RawParameters::McpBrowserCommand(browser) => Some((action, browser)),
        RawParameters::TerminalCommand(_)
        | RawParameters::FileValidation(_)
        | RawParameters::HttpRequest(_)
        | RawParameters::CustomScript(_)
        | RawParameters::DockerCommand(_)
        | RawParameters::DatabaseQuery(_) => None,
    })
}
