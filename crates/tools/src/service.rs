//! Judges a service: a prerequisite that keeps running while the checks run. The result depends on whether it became
//! ready in time and ran until it was stopped. Its exit code does not matter.

use crate::ansi::plain_text;
use crate::file_validation::shortened;
use crate::interpret::{Input, interpret};
use crate::signals;
use proctor_model::{
    ActionEnd, Advice, CategoryCode, CommandLine, EndedAction, Interpretation, PortHolder, Service, StopReason, StopStage,
    StreamExcerpt,
};

/// A reason quotes at most this many characters of a log line.
const QUOTED: usize = 200;

/// How far a service got: it became ready, was not ready in time, ended too early, or was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceLife {
    /// The service became ready. After that it was stopped, or it ended by itself.
    Ready,
    /// The service was not ready within its time limit. The text says what the last readiness check found.
    NotReady(String),
    /// The service ended, or could not be started, before it was ready.
    EndedBefore,
    /// The service was stopped before it was ready, because the run was stopped.
    Stopped(StopReason),
}

/// Everything that is known about a service after its end.
#[derive(Debug, Clone, Copy)]
pub struct ServiceInput<'a> {
    /// The facts that are known of any action, service or not.
    pub action: Input<'a>,
    /// The settings that make the action a service.
    pub service: &'a Service,
    /// How far the service got before it ended: ready, not ready in time, ended too early, or stopped.
    pub life: &'a ServiceLife,
    /// The service's port and the processes that still listen on it after the service's end.
    pub held: Option<(u16, &'a [PortHolder])>,
}

/// Judges a service after its end. Every input has a result, and only what was proved is a success (E3).
pub fn interpret_service(input: &ServiceInput<'_>) -> Interpretation {
    match input.action.end {
        ActionEnd::Exited { code } => ended(input, &format!("exit status {code}")),
        ActionEnd::Signalled { signal } => ended(input, &signals::describe(*signal).to_string()),
        ActionEnd::Stopped { reason: StopReason::ChecksOver, stage } => stopped(input, *stage),
        ActionEnd::Stopped { .. } | ActionEnd::TimedOut { .. } | ActionEnd::NotStarted(_) | ActionEnd::Lost { .. } => {
            interpret(&input.action)
        }
    }
}

fn ended(input: &ServiceInput<'_>, how: &str) -> Interpretation {
    let when = match input.life {
        ServiceLife::Ready => "while it was needed",
        ServiceLife::NotReady(_) | ServiceLife::EndedBefore | ServiceLife::Stopped(_) => "before it was ready",
    };
    let mut reason = format!("The service ended by itself {when}: {how}");
    if let Some((port, holders)) = input.held.filter(|(_, holders)| !holders.is_empty()) {
        reason.push_str(&format!("; {}", lower_first(&port_holders_sentence(port, holders))));
    }
    if let Some(line) = last_line(input.action.stderr).or_else(|| last_line(input.action.stdout)) {
        reason.push_str(&format!("; the last it said: {line}"));
    }
    Interpretation::plain(CategoryCode::ServiceEnded, reason)
}

/// How the description of the server that `devServer` of a specification names begins, also where a prerequisite starts it.
pub const DEV_SERVER_DESCRIPTION: &str = "goes on while the steps run: ";

fn stopped(input: &ServiceInput<'_>, stage: StopStage) -> Interpretation {
    match input.life {
        ServiceLife::Ready => {
            let plain =
                Interpretation::plain(CategoryCode::Served, "The service was ready and went on until the checks were over");
            let late =
                || format!("it did not end within its `grace` ({} s) and was killed", input.action.action.grace.as_secs_f64());
            Interpretation { warnings: (stage == StopStage::Sigkill).then(late).into_iter().collect(), ..plain }
        }
        ServiceLife::NotReady(last) => {
            let is_dev_server = input.action.action.description.starts_with(DEV_SERVER_DESCRIPTION);
            let limit = if is_dev_server { "`startupTimeout` of `devServer`" } else { "`ready.timeout`" };
            let (after, signal) = (input.service.timeout.as_secs_f64(), stage.word());
            let reason =
                format!("The service was not ready after {after} s ({limit}) and was stopped ({signal}); the last look: {last}");
            let advice = if is_dev_server {
                Advice::to_do(format!(
                    "Read the server's log, then correct `healthCheckUrl` or `port` of `devServer`, or raise its `startupTimeout`: {reason}"
                ))
            } else {
                Advice::default()
            };
            Interpretation { advice, ..Interpretation::plain(CategoryCode::ServiceNotReady, reason) }
        }
        ServiceLife::EndedBefore => {
            Interpretation::plain(CategoryCode::ServiceEnded, "The service was not there any more before it was ready")
        }
        ServiceLife::Stopped(reason) => {
            let end = ActionEnd::Stopped { reason: *reason, stage };
            interpret(&Input { end: &end, ..input.action })
        }
    }
}

/// Returns why the command that checks the service's readiness failed; `None` if the service is ready.
pub fn health_of_command(command: &CommandLine, ended: &EndedAction) -> Option<String> {
    let how = match &ended.end {
        ActionEnd::Exited { code: 0 } => return None,
        ActionEnd::Exited { code } => format!("ended with exit status {code}"),
        ActionEnd::Signalled { signal } => format!("was ended by {}", signals::describe(*signal)),
        ActionEnd::TimedOut { .. } => "hit the limit of one look (`ready.attempt_timeout`)".to_owned(),
        ActionEnd::Stopped { .. } => "was stopped".to_owned(),
        ActionEnd::NotStarted(failure) => format!("could not be started ({failure})"),
        ActionEnd::Lost { why } => format!("was lost ({why})"),
    };
    let said = last_line(&ended.captured.stderr).or_else(|| last_line(&ended.captured.stdout));
    let said = said.map(|line| format!(": {line}")).unwrap_or_default();
    Some(format!("`{}` {how}{said}", command.display))
}

/// Returns the sentence that says which processes listen on a port.
pub(super) fn port_holders_sentence(port: u16, holders: &[PortHolder]) -> String {
    let named = match holders {
        [] => "another process, which could not be found".to_owned(),
        _ => holders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    format!("Port {port} is held by {named}")
}

/// Returns the port that the output says is already in use; `None` if it does not say so or names no port.
pub fn port_in_use(stdout: &StreamExcerpt, stderr: &StreamExcerpt) -> Option<u16> {
    let lines = [plain_text(&stderr.shortened()), plain_text(&stdout.shortened())];
    let telling = lines.iter().flat_map(|text| text.lines()).filter(|line| {
        let line = line.to_lowercase();
        line.contains("eaddrinuse") || line.contains("already in use")
    });
    telling.filter_map(port_of_line).next()
}

/// Returns the number directly after a colon of a line, searched from the last colon backwards, or else the number
/// after the word `port`; `None` if the line has no such number.
fn port_of_line(line: &str) -> Option<u16> {
    let number = |text: &str| {
        let text = text.trim_start();
        let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
        text[..digits].parse::<u16>().ok().filter(|port| *port != 0)
    };
    let behind_colon =
        line.rsplit(':').take(line.matches(':').count()).find_map(|rest| if rest.starts_with(' ') { None } else { number(rest) });
    let lower = line.to_lowercase();
    behind_colon.or_else(|| lower.match_indices("port ").find_map(|(at, word)| number(&lower[at + word.len()..])))
}

fn last_line(stream: &StreamExcerpt) -> Option<String> {
    let text = plain_text(&stream.shortened());
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(shortened(line, QUOTED))
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::samples::Returned;
    use proctor_model::{ReadyCheck, SpawnFailure};

    fn holder() -> PortHolder {
        PortHolder { pid: Some(7), argv: vec!["vite".into(), "dev".into()], user: "dev".into() }
    }

    fn judged(end: ActionEnd, life: &ServiceLife, stderr: &str, held: &[PortHolder]) -> Interpretation {
        let service = Service {
            ready: ReadyCheck::Port(4173),
            timeout: Duration::from_secs(30),
            interval: Duration::from_millis(100),
            attempt_timeout: Duration::from_secs(5),
        };
        let returned = Returned { end, ..Returned::pytest(0, "") };
        let stderr = StreamExcerpt { total: stderr.len() as u64, head: stderr.as_bytes().to_vec(), tail: Vec::new() };
        returned.with_input(|input| {
            let action = Input { stderr: &stderr, ..*input };
            interpret_service(&ServiceInput { action, service: &service, life, held: Some((4173, held)) })
        })
    }

    #[test]
    fn a_service_that_ends_by_itself_is_no_success_whatever_its_exit_code() {
        for code in [0, 1] {
            let told = judged(ActionEnd::Exited { code }, &ServiceLife::Ready, "bye\n\n", &[]);
            assert_eq!(told.category, CategoryCode::ServiceEnded);
            assert_eq!(
                told.reason,
                format!("The service ended by itself while it was needed: exit status {code}; the last it said: bye")
            );
        }
    }

    #[test]
    fn whoever_holds_its_port_is_named() {
        let told = judged(ActionEnd::Exited { code: 1 }, &ServiceLife::EndedBefore, "EADDRINUSE", &[holder()]);
        assert_eq!(
            told.reason,
            "The service ended by itself before it was ready: exit status 1; port 4173 is held by `vite dev` (pid 7, user dev); the last it said: EADDRINUSE"
        );
        let failure = SpawnFailure::PortHeld { port: 4173, holders: vec![holder()] };
        let told = judged(ActionEnd::NotStarted(failure), &ServiceLife::EndedBefore, "", &[]);
        assert_eq!(told.category, CategoryCode::PortHeld);
        assert!(told.reason.starts_with("Port 4173 is held by `vite dev` (pid 7, user dev); end it"), "{}", told.reason);
    }

    #[test]
    fn one_that_we_stopped_has_served_if_it_was_ready_and_a_late_end_is_noted() {
        let stopped = |stage| ActionEnd::Stopped { reason: StopReason::ChecksOver, stage };
        let told = judged(stopped(StopStage::Sigterm), &ServiceLife::Ready, "", &[]);
        assert_eq!((told.category, told.warnings.len()), (CategoryCode::Served, 0));
        let told = judged(stopped(StopStage::Sigkill), &ServiceLife::Ready, "", &[]);
        assert_eq!((told.category, told.warnings.len()), (CategoryCode::Served, 1));
        let told = judged(stopped(StopStage::Sigterm), &ServiceLife::NotReady("refused".to_owned()), "", &[]);
        assert_eq!(told.category, CategoryCode::ServiceNotReady);
        assert!(told.reason.contains("after 30 s") && told.reason.ends_with("the last look: refused"), "{}", told.reason);
        let told = judged(stopped(StopStage::Sigterm), &ServiceLife::Stopped(StopReason::Interrupted), "", &[]);
        assert_eq!(told.category, CategoryCode::Stopped);
    }

    #[test]
    fn the_port_that_is_in_use_is_read_from_the_log() {
        for (line, port) in [
            ("Error: listen EADDRINUSE: address already in use :::4173", Some(4173)),
            ("listen tcp 127.0.0.1:8080: bind: address already in use", Some(8080)),
            ("Error: Port 5173 is already in use", Some(5173)),
            ("OSError: [Errno 98] Address already in use", None),
            ("listening on :8080", None),
        ] {
            let stream = StreamExcerpt { total: line.len() as u64, head: line.as_bytes().to_vec(), tail: Vec::new() };
            assert_eq!(port_in_use(&StreamExcerpt::default(), &stream), port, "{line}");
        }
    }
}
