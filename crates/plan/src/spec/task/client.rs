//! Makes the actions that a client program carries out: queries of databases, commands of container engines, and actions of a
//! browser.

use serde_json::Value;

use crate::spec::connection::{query_kind, read_connection};
use crate::spec::specification::{
    RawAction, RawBrowserAction, RawBrowserParameters, RawDatabaseQueryConfig, RawDatabaseQueryParameters,
    RawDockerCommandParameters, RawDockerVerb, RawParameters,
};
use crate::spec::task::action_id;
use crate::spec::task::kind::{ResolvedAction, split};
use proctor_model::{
    ActionKind, BrowserAction, BrowserSession, BrowserStep, ClientCall, CommandLine, ContainerCommand, Database, DatabaseQuery,
};
use proctor_tools::command_text;

/// The default time limit for connecting to a database, in milliseconds (schema 2.0.0).
const CONNECTION_TIMEOUT: u64 = 5_000;

/// The default time limit of a query, in milliseconds (schema 2.0.0).
const QUERY_TIMEOUT: u64 = 30_000;

/// The default wait of a browser, in milliseconds (schema 2.0.0).
const BROWSER_WAIT: u64 = 5_000;

/// How much longer than its waits an action of a browser may take, in milliseconds: a browser has to start.
const BROWSER_START: u64 = 30_000;

/// Returns the time limit of a query that sets none: `queryTimeout` for all of it, else the defaults to connect and to answer.
pub(super) fn query_timeout(settings: Option<&RawDatabaseQueryConfig>) -> u64 {
    let whole = settings.and_then(|settings| settings.query_timeout);
    whole.unwrap_or_else(|| connection_timeout(settings) + QUERY_TIMEOUT)
}

fn connection_timeout(settings: Option<&RawDatabaseQueryConfig>) -> u64 {
    settings.and_then(|settings| settings.connection_timeout).unwrap_or(CONNECTION_TIMEOUT)
}

/// Makes a query. `root` is the specification's `workspaceRoot`.
pub(super) fn database_query(
    raw: &RawDatabaseQueryParameters,
    root: &str,
    settings: Option<&RawDatabaseQueryConfig>,
) -> ResolvedAction {
    let database = read_connection(root, &raw.connection_string).expect("the lint refuses other connection strings");
    let (client, place) = match &database {
        Database::Sqlite { path } => ("sqlite", path.as_str()),
        Database::SqliteInMemory => ("sqlite", "in memory"),
        Database::Postgresql { .. } => ("psql", "PostgreSQL"),
    };
    let display = format!("query {place}: {}", raw.query.split_whitespace().collect::<Vec<_>>().join(" "));
    let wanted = raw.validate_results.as_ref();
    let query = DatabaseQuery {
        kind: query_kind(raw.query_type, &raw.query),
        query: raw.query.clone(),
        expected_rows: raw.expected_row_count,
        row_schema: wanted.and_then(|wanted| wanted.row_schema.clone()).map(Value::Object),
        contains_values: wanted.and_then(|wanted| wanted.contains_values.clone()),
        connection_timeout_ms: connection_timeout(settings),
        database,
    };
    resolved(ClientCall::Query(query), client, display)
}

/// Makes a command of a container engine. A container that does not run in the background is removed when it ends.
pub(super) fn container_command(raw: &RawDockerCommandParameters) -> ResolvedAction {
    let is_detached = raw.detached == Some(true);
    let words = raw.command.as_deref().map(split).unwrap_or_default();
    let name = raw.container_or_image.clone();
    let (verb, flags): (&str, &[&str]) = match raw.docker_command {
        RawDockerVerb::Run => ("run", if is_detached { &["--detach"] } else { &["--rm"] }),
        RawDockerVerb::Exec => ("exec", if is_detached { &["--detach"] } else { &[] }),
        RawDockerVerb::Build => ("build", &[]),
        RawDockerVerb::Compose => ("compose", &[]),
        RawDockerVerb::Ps => ("ps", &[]),
        RawDockerVerb::Logs => ("logs", &[]),
        RawDockerVerb::Inspect => ("inspect", &[]),
    };
    let valued = |flag: &str, value: &String| [flag.to_owned(), value.clone()];
    let mut arguments: Vec<String> = [verb].iter().chain(flags).map(|word| (*word).to_owned()).collect();
    let has_container = matches!(raw.docker_command, RawDockerVerb::Run | RawDockerVerb::Exec);
    if has_container {
        let variables = raw.environment.iter().flatten().map(|(name, value)| format!("{name}={value}"));
        arguments.extend(variables.flat_map(|variable| valued("--env", &variable)));
    }
    if raw.docker_command == RawDockerVerb::Run {
        arguments.extend(raw.volumes.iter().flatten().flat_map(|volume| valued("--volume", volume)));
        arguments.extend(raw.ports.iter().flatten().flat_map(|port| valued("--publish", port)));
    }
    match (raw.docker_command, name) {
        // `command` has further options of the build, and the project is what is built.
        (RawDockerVerb::Build, name) => {
            arguments.extend(name.iter().flat_map(|name| valued("--tag", name)));
            arguments.extend(words);
            arguments.push(".".to_owned());
        }
        (_, name) => arguments.extend(name.into_iter().chain(words)),
    }
    let display = format!("container engine: {}", command_text(&arguments));
    resolved(ClientCall::Container(ContainerCommand { arguments }), "docker", display)
}

/// Makes an action of a browser. `before` are the actions of the task that come before it, in the order in which they run.
pub(super) fn browser_command(id: &str, raw: &RawBrowserParameters, before: &[&RawAction], screenshot: bool) -> ResolvedAction {
    let own = step(id, raw);
    let mut steps: Vec<BrowserStep> = Vec::new();
    for action in before {
        if let RawParameters::McpBrowserCommand(browser) = &action.parameters {
            // A page that is opened anew depends on nothing that the browser did before.
            if browser.url.is_some() {
                steps.clear();
            }
            steps.push(step(&action.action_id, browser));
        }
    }
    if own.page.is_some() {
        steps.clear();
    }
    // Neither a picture nor the text of a page changes anything, so there is nothing to repeat.
    steps.retain(|step| step.page.is_some() || !matches!(step.action, BrowserAction::Screenshot | BrowserAction::GetContent));
    let what = [own.page.as_deref(), own.selector.as_deref()].into_iter().flatten().next().unwrap_or_default().to_owned();
    let takes_screenshot = screenshot || own.action == BrowserAction::Screenshot;
    let display = format!("browser {} {what}", word(own.action)).trim_end().to_owned();
    steps.push(own);
    resolved(ClientCall::Browser(BrowserSession { steps, takes_screenshot }), "node", display)
}

/// Returns the time limit of an action of a browser that sets none, in milliseconds. Repeated actions take their time too.
pub(super) fn browser_timeout(kind: &ActionKind) -> Option<u64> {
    let ActionKind::ClientCommand(call) = kind else { return None };
    let ClientCall::Browser(session) = &**call else { return None };
    Some(BROWSER_START + session.steps.iter().map(|step| step.wait_ms).sum::<u64>())
}

fn step(id: &str, raw: &RawBrowserParameters) -> BrowserStep {
    BrowserStep {
        id: action_id(id),
        action: match raw.action {
            RawBrowserAction::BrowserNavigate => BrowserAction::Navigate,
            RawBrowserAction::BrowserClick => BrowserAction::Click,
            RawBrowserAction::BrowserFillForm => BrowserAction::FillForm,
            RawBrowserAction::BrowserEvaluate => BrowserAction::Evaluate,
            RawBrowserAction::BrowserScreenshot => BrowserAction::Screenshot,
            RawBrowserAction::BrowserWaitForSelector => BrowserAction::WaitForSelector,
            RawBrowserAction::BrowserGetContent => BrowserAction::GetContent,
        },
        page: raw.url.clone(),
        selector: raw.selector.clone(),
        script: raw.script.clone(),
        fields: raw.form_data.clone().unwrap_or_default(),
        wait_ms: raw.wait_timeout.unwrap_or(BROWSER_WAIT),
    }
}

fn word(action: BrowserAction) -> &'static str {
    match action {
        BrowserAction::Navigate => "navigate",
        BrowserAction::Click => "click",
        BrowserAction::FillForm => "fill form",
        BrowserAction::Evaluate => "evaluate",
        BrowserAction::Screenshot => "screenshot",
        BrowserAction::WaitForSelector => "wait for",
        BrowserAction::GetContent => "get content",
    }
}

/// Returns an action of a client. Its command names the client; the arguments are made when it is started.
fn resolved(call: ClientCall, client: &str, display: String) -> ResolvedAction {
    let command = CommandLine { argv: vec![client.to_owned()], display, shell: false };
    ResolvedAction { kind: ActionKind::ClientCommand(Box::new(call)), command }
}
