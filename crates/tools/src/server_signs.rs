//! Finds out whether a command that ran into its time limit is a server: by what it printed, or because the plan asks a server
//! right after it. A server does not end, so neither more time nor a faster machine helps it.

use crate::ansi::plain_text;
use crate::file_validation::quoted;
use crate::interpret::Input;
use proctor_model::{Action, ActionKind, Advice, CategoryCode, Interpretation, LimitKind, LimitValue, Plan, Tool};

/// What servers print when they are ready for requests, in lower case.
const READY_WORDS: &[&str] = &[
    "listening on",
    "listening at",
    "listening for",
    "server is running",
    "server running",
    "server started",
    "server listening",
    "running on http",
    "running at http",
    "serving at http",
    "serving http on",
    "serving on http",
    "starting development server at",
    "development server (http",
    "available on:",
    "ready on http",
    "started server on",
    "local:   http",
    "local: http",
    "web server is available at",
    "tomcat started on port",
    "press ctrl+c to quit",
    "quit the server with control-c",
    "use ctrl-c to stop",
    "hit ctrl-c to stop",
];

/// A command that did not end because it is a server.
pub(super) struct GoingServer {
    /// The line by which it said so; `None` if only the plan shows it.
    said: Option<String>,
    /// Whether only the prerequisite behind it shows that it is one.
    is_supposed: bool,
}

/// Returns the server if a command that is no service ran into its time limit because it is one.
pub(super) fn server_that_goes_on(input: &Input<'_>, limit: LimitKind) -> Option<GoingServer> {
    // Tests that hang often print that a server of theirs is ready, and they are no server.
    let is_plain = input.action.tool == Tool::default();
    if limit != LimitKind::Wall || input.action.service.is_some() || !is_plain {
        return None;
    }
    let said = [input.stdout, input.stderr].into_iter().find_map(|stream| ready_line(&plain_text(&stream.shortened())));
    let is_supposed = said.is_none();
    (!is_supposed || input.is_asked_behind).then_some(GoingServer { said, is_supposed })
}

/// Returns whether an action is a prerequisite and the next one asks a server of this machine.
pub fn is_asked_behind(action: &Action, plan: &Plan) -> bool {
    let place = plan.prerequisites.iter().position(|one| one.id == action.id);
    let next = place.and_then(|place| plan.prerequisites.get(place + 1));
    next.is_some_and(|next| match &next.kind {
        ActionKind::HttpRequest(request) => {
            let host = request.url.split_once("://").map_or("", |(_, rest)| rest);
            THIS_MACHINE.iter().any(|own| host.starts_with(own))
        }
        ActionKind::Command
        | ActionKind::CustomScript(_)
        | ActionKind::FileValidation(_)
        | ActionKind::ClientCommand(_)
        | ActionKind::Review(_) => false,
    })
}

/// The beginnings of addresses of this machine, behind their scheme.
const THIS_MACHINE: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

fn ready_line(text: &str) -> Option<String> {
    let is_ready = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        READY_WORDS.iter().any(|words| lower.contains(words))
    };
    text.lines().map(str::trim).find(is_ready).map(str::to_owned)
}

impl GoingServer {
    pub(super) fn interpretation(&self, action: &Action, signal: &str) -> Interpretation {
        let after = match action.limit_value(LimitKind::Wall) {
            Some(LimitValue::Time(time)) => format!(" after {} s", time.as_secs_f64()),
            Some(LimitValue::Size(_)) | None => String::new(),
        };
        let said = self.said.as_deref().map(|line| format!(" (it printed `{}`)", quoted(line))).unwrap_or_default();
        let what = if self.is_supposed { "it seems to be the server that the next prerequisite asks" } else { "it is a server" };
        let reason =
            format!("The command was stopped{after} ({signal}): {what}, which does not end by itself{said}; make it a service");
        let port = self.said.as_deref().and_then(port_in).map_or("its port".to_owned(), |port| port.to_string());
        let advice = Advice::to_do(format!(
            "This command does not end: {what}. Make it a service, which goes on while the checks run: in proctor.toml \
             `service = true` and `ready = {{ port = {port} }}` of a `[[prerequisite]]`; in a specification `proctor.service` of a \
             prerequisite, or `globalConfiguration.devServer`"
        ));
        Interpretation { advice, ..Interpretation::plain(CategoryCode::TimedOut, reason) }
    }
}

/// Returns the port in a line such as `Local: http://localhost:5173/` or `listening on port 3000`.
fn port_in(line: &str) -> Option<u16> {
    let numbers = line.split(|character: char| !character.is_ascii_digit() && character != ':' && character != ' ');
    let with_colon = numbers.clone().filter_map(|part| part.rsplit_once(':').map(|(_, port)| port.trim()));
    let last = numbers.filter_map(|part| part.split_whitespace().next_back());
    with_colon.chain(last).filter(|text| text.len() >= 2).find_map(|text| text.parse::<u16>().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Returned;
    use proctor_model::{ActionEnd, StopStage};

    fn timed_out(tool: Tool, command: &str, limit: LimitKind, stdout: &str) -> Interpretation {
        let end = ActionEnd::TimedOut { limit, stage: StopStage::Sigterm, code: None, signal: None };
        Returned { end, ..Returned::exited(tool, command, 0).saying(stdout, "") }.interpret()
    }

    #[test]
    fn a_server_that_ran_out_of_time_is_called_one() {
        for (command, stdout, port) in [
            ("node start.js", "  VITE v5.4.0  ready in 312 ms\n\n  ➜  Local:   http://localhost:5173/\n", "port = 5173"),
            ("python app.py", " * Running on http://127.0.0.1:5000\n", "port = 5000"),
            ("./api", "server listening on port 8080\n", "port = 8080"),
        ] {
            let told = timed_out(Tool::Generic, command, LimitKind::Wall, stdout);
            assert_eq!(told.category, CategoryCode::TimedOut);
            assert!(
                told.reason.contains("is a server") && !told.reason.contains("raise `timeout`"),
                "{command}: {}",
                told.reason
            );
            assert!(told.advice.fix.as_ref().is_some_and(|fix| fix.contains(port)), "{command}: {:?}", told.advice);
        }
    }

    #[test]
    fn what_only_takes_long_or_says_nothing_of_a_server_is_no_server() {
        for (tool, limit, command, stdout) in [
            (Tool::Generic, LimitKind::Wall, "make test", "running 3 tests\n"),
            (Tool::Generic, LimitKind::Idle, "npm run dev", "listening on port 1\n"),
            (Tool::Jest, LimitKind::Wall, "jest", "Server listening on port 3000\n"),
        ] {
            let told = timed_out(tool, command, limit, stdout);
            assert!(!told.reason.contains("is a server"), "{command}: {}", told.reason);
        }
    }

    #[test]
    fn a_program_of_the_project_is_a_server_where_the_next_prerequisite_asks_one() {
        let end = || ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: None, signal: None };
        let told = |command: &str, is_asked_behind| {
            let returned = Returned { end: end(), ..Returned::exited(Tool::Generic, command, 0).saying("starting\n", "") };
            Returned { is_asked_behind, ..returned }.interpret().reason
        };
        assert!(told("node server.js", true).contains("the server that the next prerequisite asks"));
        assert!(!told("node server.js", false).contains("server that"));
    }
}
