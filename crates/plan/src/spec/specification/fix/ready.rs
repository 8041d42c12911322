//! Finds out from a specification when a server that one of its prerequisites starts is ready.

use serde_json::{Value, json};

use crate::spec::specification::fix::{DEV_SERVER, text_at};
use crate::spec::specification::lint::is_of_this_machine;
use proctor_model::{HealthUrl, split_words};
use proctor_tools::{ServerKind, script_words, server_kind};

/// The options by which servers are given their port. The value is a port, or an address that ends in one.
const PORT_OPTIONS: &[&str] = &["--port", "-p", "--bind", "-b", "--listen", "-l", "-S", "--http-port", "--server.port"];

/// The words behind which a port, or an address that ends in one, may follow without an option.
const BEFORE_PORT: &[&str] = &["runserver", "http.server"];

/// The ports on which servers listen unless they are told otherwise.
const DEFAULT_PORTS: &[(&str, u16)] = &[
    ("vite", 5173),
    ("next", 3000),
    ("nuxt", 3000),
    ("nuxi", 3000),
    ("astro", 4321),
    ("react-scripts", 3000),
    ("ng", 4200),
    ("nx", 4200),
    ("gatsby", 8000),
    ("storybook", 6006),
    ("symfony", 8000),
    ("vue-cli-service", 8080),
    ("webpack", 8080),
    ("webpack-dev-server", 8080),
    ("http-server", 8080),
    ("json-server", 3000),
    ("serve", 3000),
    ("flask", 5000),
    ("uvicorn", 8000),
    ("gunicorn", 8000),
    ("hypercorn", 8000),
    ("fastapi", 8000),
    ("http.server", 8000),
    ("runserver", 8000),
    ("rails", 3000),
    ("artisan", 8000),
    ("streamlit", 8501),
    ("mkdocs", 8000),
    ("jekyll", 4000),
    ("hugo", 1313),
    ("phx.server", 4000),
    ("bootRun", 8080),
    ("spring-boot:run", 8080),
];

/// By what a server is known to be ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ready {
    /// The address that answers, as it is written in the file: with its placeholders.
    pub(super) url: Option<String>,
    /// The port that accepts connections, as it is written in the file; used without an address.
    port: Option<Value>,
    /// Where the file says so.
    pub(super) why: String,
    /// Whether an action behind the server asks for it.
    pub(super) follows: bool,
}

impl Ready {
    pub(super) fn document(&self) -> Value {
        match (&self.url, &self.port) {
            (Some(url), _) => json!({ "url": url }),
            (None, port) => json!({ "port": port }),
        }
    }

    /// Returns the port of this machine that is asked; `None` if a placeholder stands for it.
    pub(super) fn known_port(&self) -> Option<u16> {
        match (&self.url, &self.port) {
            (Some(url), _) => port_of_url(url),
            (None, port) => port.as_ref().and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()),
        }
    }

    pub(super) fn words(&self) -> String {
        match (&self.url, &self.port) {
            (Some(url), _) => format!("{url} answers"),
            (None, Some(Value::String(port))) => format!("port {port} accepts connections"),
            (None, port) => format!("port {} accepts connections", port.clone().unwrap_or_default()),
        }
    }

    fn at(target: Target, why: String, follows: bool) -> Self {
        match target {
            Target::Url(url) => Self { url: Some(url), port: None, why, follows },
            Target::Port(port) => Self { url: None, port: Some(port), why, follows },
        }
    }
}

enum Target {
    Url(String),
    Port(Value),
}

/// Finds when the server of a prerequisite is ready, or says why that is not known. The task comes with its placeholders filled, and as
/// it is written; `written` is the whole specification as it is written.
pub(super) fn find_ready(
    (task, written_task): (&Value, &Value),
    index: usize,
    written: &Value,
    is_the_dev_server: bool,
    kind: ServerKind,
) -> Result<Ready, String> {
    if is_the_dev_server && let Some(target) = of_dev_server(written) {
        return Ok(Ready::at(target, "as `devServer` says".to_owned(), false));
    }
    let prerequisites =
        |task: &Value| task.pointer("/testExecution/prerequisites").and_then(Value::as_array).cloned().unwrap_or_default();
    let (actions, as_written) = (prerequisites(task), prerequisites(written_task));
    let is_server = |action: &Value| server_kind(text_at(action, "/parameters/command")) == Some(ServerKind::Known);
    // What may be a server is taken for one only if the very next action asks it.
    let asking = if kind == ServerKind::Possible { 1 } else { actions.len() };
    let behind = actions.iter().zip(&as_written).skip(index + 1).take(asking);
    for (action, as_written) in behind.take_while(|(action, _)| !is_server(action)) {
        if let Some(target) = asked(action, as_written) {
            return Ok(Ready::at(target, format!("{} asks it", text_at(action, "/actionId")), true));
        }
    }
    let own = actions.get(index).cloned().unwrap_or_default();
    let command = text_at(&own, "/parameters/command");
    if let Some(port) = as_written.get(index).and_then(|own| port_of(own, written)) {
        return Ok(Ready::at(Target::Port(port), "its command and variables name the port".to_owned(), false));
    }
    let checks =
        |task: &Value| task.pointer("/executionWorkflow/prerequisites").and_then(Value::as_array).cloned().unwrap_or_default();
    for (check, as_written) in checks(task).iter().zip(checks(written_task)) {
        let target = asked_by_command(text_at(check, "/checkCommand"), text_at(&as_written, "/checkCommand"));
        if let Some(target) = target {
            return Ok(Ready::at(target, "the workflow's check asks it".to_owned(), false));
        }
    }
    if kind == ServerKind::Possible {
        return Err("nothing behind it asks a server".to_owned());
    }
    let steps = task.pointer("/testExecution/steps").and_then(Value::as_array).cloned().unwrap_or_default();
    let port = steps.iter().find_map(|step| port_of_url(text_at(step, "/parameters/url")));
    if let Some(port) = port {
        return Ok(Ready::at(Target::Port(json!(port)), "the steps ask this port".to_owned(), false));
    }
    let words = script_words(command);
    let default = words.iter().rev().find_map(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        DEFAULT_PORTS.iter().find(|(program, _)| *program == name).map(|(_, port)| *port)
    });
    default
        .map(|port| Ready::at(Target::Port(json!(port)), "its usual port".to_owned(), false))
        .ok_or_else(|| {
            "the file does not say on which port it listens: add `\"proctor\": {\"version\": \"1.0.0\", \"service\": {\"ready\": {\"port\": 3000}}}` \
             with its port"
                .to_owned()
        })
}

fn of_dev_server(written: &Value) -> Option<Target> {
    let url = written.pointer(&format!("{DEV_SERVER}/healthCheckUrl")).and_then(Value::as_str);
    if let Some(url) = url {
        return Some(Target::Url(url.to_owned()));
    }
    written.pointer(&format!("{DEV_SERVER}/port")).cloned().map(Target::Port)
}

/// Returns what an action asks of a server of this machine.
fn asked(action: &Value, written: &Value) -> Option<Target> {
    let url = text_at(action, "/parameters/url");
    if !url.is_empty() {
        let method = text_at(action, "/parameters/method");
        let expected = action.pointer("/parameters/expectedStatus").and_then(Value::as_u64);
        // An address that only answers to another method, or with an error, does not tell that the server is ready.
        if matches!(method, "" | "GET") && expected.is_none_or(|status| (200..400).contains(&status)) {
            return target_of_url(url, text_at(written, "/parameters/url"));
        }
        return port_of_url(url).map(|port| Target::Port(json!(port)));
    }
    asked_by_command(text_at(action, "/parameters/command"), text_at(written, "/parameters/command"))
}

/// Returns the address or port in a command such as `curl -f http://localhost:3000/health` or `npx wait-on tcp:3000`.
fn asked_by_command(command: &str, written: &str) -> Option<Target> {
    let (words, written) = (split_words(command)?, split_words(written).unwrap_or_default());
    for (place, word) in words.iter().enumerate() {
        let word = word.strip_prefix("http-get:").map_or(word.clone(), |rest| format!("http:{rest}"));
        if let Some(rest) = word.strip_prefix("tcp:") {
            return rest.rsplit(':').next()?.parse::<u16>().ok().map(|port| Target::Port(json!(port)));
        }
        if word.contains("://") {
            let as_written = written.get(place).filter(|_| words.len() == written.len());
            return target_of_url(&word, as_written.filter(|text| text.contains("://")).unwrap_or(&word));
        }
        if ["localhost:", "127.0.0.1:"].iter().any(|host| word.starts_with(host)) {
            return target_of_url(&format!("http://{word}"), &format!("http://{word}"));
        }
    }
    let host = words.iter().position(|word| ["localhost", "127.0.0.1"].contains(&word.as_str()))?;
    let port = if words.len() == written.len() { written.get(host + 1)? } else { words.get(host + 1)? };
    port_value(port).map(Target::Port)
}

/// Returns the address if a service may be asked by it, or else its port if it is one of this machine.
fn target_of_url(url: &str, written: &str) -> Option<Target> {
    let is_open = url.contains("{{") || url.contains("${");
    if HealthUrl::try_from(url).is_ok() || is_open {
        return Some(Target::Url(written.trim_start_matches("http-get:").to_owned()));
    }
    port_of_url(url).map(|port| Target::Port(json!(port)))
}

pub(super) fn port_of_url(url: &str) -> Option<u16> {
    if !is_of_this_machine(url) {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map(|(_, port)| port);
    port.map_or(Some(if scheme == "https" { 443 } else { 80 }), |port| port.parse().ok())
}

/// Returns the port that a server's command, its variables or those of all actions name, as it is written.
fn port_of(action: &Value, document: &Value) -> Option<Value> {
    let words = script_words(text_at(action, "/parameters/command"));
    for (place, word) in words.iter().enumerate() {
        let is_before = PORT_OPTIONS.contains(&word.as_str()) || BEFORE_PORT.contains(&word.as_str());
        if let Some(port) = words.get(place + 1).filter(|_| is_before).and_then(|next| port_value(next)) {
            return Some(port);
        }
        if let Some((name, value)) = word.split_once('=')
            && (PORT_OPTIONS.contains(&name) || name == "PORT")
            && let Some(port) = port_value(value)
        {
            return Some(port);
        }
    }
    let variables = [action.pointer("/parameters/environment/PORT"), document.pointer("/globalConfiguration/environment/PORT")];
    variables.into_iter().flatten().filter_map(Value::as_str).find_map(port_value)
}

/// Reads a port, or an address that ends in one. A placeholder stays one: the schema wants a number there, and gets it when the
/// specification is read.
fn port_value(text: &str) -> Option<Value> {
    let last = text.rsplit(':').next()?;
    if last.starts_with("{{") && last.ends_with("}}") {
        return Some(json!(last));
    }
    last.parse::<u16>().ok().filter(|port| *port > 0).map(|port| json!(port))
}
