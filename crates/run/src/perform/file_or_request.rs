//! Actions without a process: the check of a file, and a request. They are carried out here and judged in `tools/`.

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::flow::skip_reason;
use crate::followed_file::{FollowedPath, SeenFiles, in_environment_outside};
use crate::health::{Health, HealthCheckBounds, check_port, check_url};
use crate::http_client::{RequestBounds, send};
use crate::perform::{Attempts, Performer, ended_without_process, skipped};
use proctor_evidence::report::{
    ActionDisposition, ActionResult, ExecutedAction, NamedFile, ObservationFacts, ObservationFiles, exchange_record, file_record,
    redact_to_bytes,
};
use proctor_evidence::{ContentRequest, observe_file};
use proctor_model::{
    Action, ActionEnd, ActionKind, CategoryCode, Diagnosis, DurationMs, EndedAction, EvidenceFile, Exchange, ExchangeOutcome,
    FileCheck, FileObservation, FileState, FileValidation, HealthObservation, HealthResult, HttpRequest, Interpretation,
    LimitKind, Observation, Plan, PortObservation, ReadyCheck, Service, StopReason, StopStage, Timestamp,
};
use proctor_plan::config::nearest;
use proctor_project::{Progress, ProjectError};
use proctor_sandbox::process::clock::{self, Monotonic};
use proctor_sandbox::process::read_port_holders;
use proctor_tools::{advise_file, interpret_exchange, interpret_file};

/// The largest file whose content is checked, in bytes. A digest is computed for a file of any size.
const CONTENT_CAP: u64 = 64 * 1024 * 1024;
/// The content of a file with at most this many bytes stays in memory until the run is judged.
const KEPT_CONTENT: u64 = 4 * 1024 * 1024;

impl Performer<'_, '_> {
    /// Carries out an action without a process. It takes no turn in the machine-wide queue, because it hardly uses the
    /// processor.
    pub(super) fn perform_file_or_request(
        &mut self,
        action: &Action,
        attempts: &mut Attempts,
    ) -> Result<ActionResult, ProjectError> {
        if self.requested_stop(action).is_some() {
            return Ok(skipped(action, skip_reason(self.context.request.control)));
        }
        (self.show)(Progress::ActionStarted(Box::new(action.clone())));
        let (started, begun, time_budget) = (clock::now(), clock::monotonic(), self.time_budget(action));
        let (mut observed, interpretation) = match &action.kind {
            ActionKind::FileValidation(validation) => self.validate_file(action, validation, time_budget.timeout),
            ActionKind::HttpRequest(request) => self.send_request(action, request, time_budget.timeout),
            ActionKind::Command | ActionKind::CustomScript(_) | ActionKind::ClientCommand(_) | ActionKind::Review(_) => {
                unreachable!("whoever calls this has asked whether it starts a process")
            }
        };
        let secrets = self.secrets();
        secrets.mask_file(&mut observed);
        let interpretation = secrets.mask_interpretation(interpretation);
        let ended = ended(&interpretation, self.requested_stop(action), started, begun);
        let judgement = self.classify(action, &ended, &interpretation, time_budget);
        let files = self.keep_observation(action, attempts.number(), &ended, &interpretation, &observed)?;
        self.directory.begin_sync();
        let observed = without_large_content(action, observed);
        let earlier = attempts.take();
        let executed = ExecutedAction { observed, earlier, ..ExecutedAction::new(ended, interpretation, judgement) };
        let disposition = ActionDisposition::Executed(Box::new(executed));
        Ok(ActionResult { files, ..ActionResult::new(action.clone(), disposition) })
    }

    fn validate_file(
        &mut self,
        action: &Action,
        validation: &FileValidation,
        timeout: Duration,
    ) -> (Observation, Interpretation) {
        let begun = clock::monotonic();
        let path = Path::new(&validation.path);
        let root = &self.context.request.scope.root;
        let seen = match self.place.snapshot_for(action) {
            Some(snapshot) => snapshot.files_seen_by(&action.id),
            None => SeenFiles::in_place(root),
        };
        let interrupted = || match self.requested_stop(action) {
            Some(reason) => Some(FileState::Stopped(reason)),
            None => (clock::monotonic().since(begun) >= timeout).then_some(FileState::OutOfTime),
        };
        let content_matters = match &validation.check {
            FileCheck::Exists | FileCheck::SizeCheck { .. } => action.capture.file_contents,
            FileCheck::ContentMatch { .. } | FileCheck::SchemaValid { .. } | FileCheck::HashMatch { .. } => true,
        };
        let reading = if content_matters {
            ContentRequest::Whole { keep: CONTENT_CAP, interrupted: &interrupted }
        } else {
            ContentRequest::MetadataOnly
        };
        let look = match seen.follow(path) {
            Ok(FollowedPath::Entry { directory, path }) => observe_file(&directory, &path, reading),
            Ok(FollowedPath::Missing) => FileState::Missing,
            // In an environment outside of the project only size and time are read: its files are no part of the project.
            Ok(FollowedPath::Outside(why)) => match (content_matters, in_environment_outside(root, path)) {
                (false, Some((directory, path))) => observe_file(&directory, &path, reading),
                (_, Some(_) | None) => FileState::Outside(why),
            },
            Ok(FollowedPath::Circle) => FileState::Refused("the links in its path lead in a circle".to_owned()),
            Err(error) => FileState::Refused(format!("it cannot be read: {error}")),
        };
        let look = match (look, self.place.snapshot_for(action)) {
            (FileState::Missing, Some(snapshot)) => {
                let was_removed = !matches!(snapshot.files_of_tree().follow(path), Ok(FollowedPath::Missing));
                // A link to nothing is nothing, wherever it stands.
                let on_disk = std::fs::metadata(root.join(path)).ok().filter(|_| !was_removed);
                on_disk.map_or(FileState::Missing, |found| FileState::NotInTree { is_directory: found.is_dir() })
            }
            (look, _) => look,
        };
        let seen = FileObservation { path: validation.path.clone(), look };
        let interpretation = interpret_file(validation, &seen);
        if interpretation.category == CategoryCode::FileValid {
            return (Observation::File(seen), interpretation);
        }
        let near = nearest_file(&self.context.request.scope.root, path);
        let advice = advise_file(validation, &seen, near.as_deref());
        (Observation::File(seen), Interpretation { advice, ..interpretation })
    }

    fn send_request(&self, action: &Action, request: &HttpRequest, timeout: Duration) -> (Observation, Interpretation) {
        let (sent, begun) = (clock::now(), clock::monotonic());
        let stopped = || self.requested_stop(action);
        let secrets = self.secrets();
        let filled = secrets.fill_request(request);
        let mut answer = send(&filled, &RequestBounds { timeout, stopped: &stopped });
        answer.outcome = secrets.mask_outcome(answer.outcome, (&request.url, &filled.url));
        let duration = DurationMs::from(clock::monotonic().since(begun));
        let diagnosis = match &answer.outcome {
            ExchangeOutcome::Answered(_) | ExchangeOutcome::Unsendable(_) | ExchangeOutcome::Stopped(_) => None,
            ExchangeOutcome::Unanswered(_) | ExchangeOutcome::OutOfTime => {
                Some(diagnose(self.context.request.plan, answer.resolution.as_ref(), &|| stopped().is_some()))
            }
        };
        let exchange = Exchange { sent, duration, outcome: answer.outcome, diagnosis };
        let interpretation = interpret_exchange(request, &exchange);
        (Observation::Exchange(Box::new(exchange)), interpretation)
    }

    fn keep_observation(
        &mut self,
        action: &Action,
        attempt: u32,
        ended: &EndedAction,
        interpretation: &Interpretation,
        observed: &Observation,
    ) -> Result<Vec<EvidenceFile>, ProjectError> {
        let facts = ObservationFacts { run_id: &self.context.run_id, action, ended, interpretation };
        let names = ObservationFiles::for_attempt(action, attempt);
        let mut files: Vec<(NamedFile, Vec<u8>)> = Vec::with_capacity(2);
        match (&action.kind, observed, names) {
            (ActionKind::FileValidation(validation), Observation::File(seen), Some(ObservationFiles::File(record))) => {
                files.push((record, redact_to_bytes(file_record(facts, validation, seen))));
            }
            (
                ActionKind::HttpRequest(sent),
                Observation::Exchange(exchange),
                Some(ObservationFiles::Http { request, error, body }),
            ) => {
                let bytes = exchange.answer().map(|answer| &answer.body).filter(|bytes| !bytes.is_empty());
                let body_name = bytes.map(|_| body.name.clone());
                let record = redact_to_bytes(exchange_record(facts, sent, exchange, body_name.as_deref()));
                files.push((if exchange.answer().is_some() { request } else { error }, record));
                files.extend(bytes.map(|bytes| (body, bytes.clone())));
            }
            _ => {}
        }
        let write = |(file, bytes): &(NamedFile, Vec<u8>)| {
            self.directory.write(&file.name, bytes, file.kind, Some(&action.id)).map_err(ProjectError::Evidence)
        };
        files.iter().map(write).collect()
    }
}

/// Returns the result of a file check or a request in the form of a process's end, with exit code 0 if the requirement
/// is met (C66).
fn ended(interpretation: &Interpretation, stopped: Option<StopReason>, started: Timestamp, begun: Monotonic) -> EndedAction {
    let stage = StopStage::Sigterm;
    let code = interpretation.category;
    let end = if matches!(code, CategoryCode::FileValid | CategoryCode::AnswerValid) {
        ActionEnd::Exited { code: 0 }
    } else if code == CategoryCode::TimedOut {
        ActionEnd::TimedOut { limit: LimitKind::Wall, stage, code: None, signal: None }
    } else if code == CategoryCode::Stopped {
        ActionEnd::Stopped { reason: stopped.unwrap_or(StopReason::Interrupted), stage }
    } else {
        ActionEnd::Exited { code: 1 }
    };
    EndedAction { started, duration: DurationMs::from(clock::monotonic().since(begun)), ..ended_without_process(end) }
}

/// Removes the content of a large file from an observation, unless the report shows this content. Conditions judge what was
/// captured, so the answer of a server and the content of every other file stay until the run is judged, whatever
/// `evidenceCapture` says. For a large file, `isValidJSON` and `patternMatches` are unknown then.
fn without_large_content(action: &Action, observed: Observation) -> Observation {
    match observed {
        Observation::File(mut seen) => {
            if let FileState::Found(found) = &mut seen.look
                && !action.capture.file_contents
                && found.bytes > KEPT_CONTENT
            {
                found.content = None;
            }
            Observation::File(seen)
        }
        Observation::Exchange(_) | Observation::Nothing | Observation::Service(_) | Observation::Review(_) => observed,
    }
}

// Finds the file of a project whose path is most like the path of a missing file.

/// At most this many names of a directory are looked at.
const MOST_NAMES: usize = 2000;

/// Returns the path, relative to the project, that is most like a path that does not exist: another name in its directory, or in the
/// nearest directory above it that exists. `None` if no name is like it.
pub(crate) fn nearest_file(root: &Path, path: &Path) -> Option<String> {
    let mut directory = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return None };
        let is_last = parts.peek().is_none();
        let full = root.join(&directory).join(name);
        // A link may lead out of the project, so nothing is listed behind one.
        let is_there = full.symlink_metadata().is_ok_and(|metadata| is_last || metadata.is_dir());
        if is_there {
            directory.push(name);
            continue;
        }
        let wanted = name.to_str()?;
        let names = names_in(&root.join(&directory));
        let same = names.iter().find(|there| there.eq_ignore_ascii_case(wanted)).map(String::as_str);
        let near = same.or_else(|| nearest(wanted, names.iter().map(String::as_str)))?;
        return Some(directory.join(near).to_string_lossy().into_owned());
    }
    None
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

// Examines why a server did not answer: the addresses of its name, the processes on its port, the health of the
// service.

/// The time limit of one examination. It is short, because the examination only adds detail to a known failure.
const LOOK: Duration = Duration::from_secs(2);

/// Looks up why a request failed: the addresses of the host, the processes on its port, and the service that should
/// listen there. `resolution` is the result of the request's own name lookup.
fn diagnose(plan: &Plan, resolution: Option<&Result<Vec<SocketAddr>, String>>, is_stopped: &dyn Fn() -> bool) -> Diagnosis {
    let addresses = resolution.and_then(|resolution| resolution.as_ref().ok());
    let here = addresses.and_then(|all| all.iter().find(|address| address.ip().to_canonical().is_loopback()));
    let port = here.map(|address| PortObservation { port: address.port(), holders: read_port_holders(address.port()) });
    let service = port.as_ref().and_then(|seen| service_at(plan, seen.port));
    Diagnosis {
        health: service.and_then(|service| look_at(service, is_stopped)),
        port,
        resolution: resolution.map(|resolution| match resolution {
            Ok(all) => Ok(all.iter().map(|address| address.ip().to_string()).collect()),
            Err(why) => Err(why.clone()),
        }),
    }
}

/// Returns the plan's service whose readiness check uses this port.
fn service_at(plan: &Plan, port: u16) -> Option<&Service> {
    plan.prerequisites.iter().filter_map(|action| action.service.as_ref()).find(|service| service.ready.port() == Some(port))
}

fn look_at(service: &Service, is_stopped: &dyn Fn() -> bool) -> Option<HealthObservation> {
    let (ready, begun) = (&service.ready, clock::monotonic());
    let look = HealthCheckBounds { network: None, timeout: service.attempt_timeout.min(LOOK), is_stopped };
    let (target, health) = match ready {
        ReadyCheck::Url(url) => (url.as_str().to_owned(), check_url(url, &ready.addresses(), &look)),
        ReadyCheck::Port(port) => (format!("port {port}"), check_port(&ready.addresses(), &look)),
        // A readiness command would have to be isolated like an action. That is too much work for additional detail.
        ReadyCheck::Command(_) => return None,
    };
    let duration = Some(DurationMs::from(clock::monotonic().since(begun)));
    let (result, detail) = match health {
        Health::Healthy => (HealthResult::Healthy, None),
        Health::Unhealthy(why) => (health_result_from(&why), Some(why)),
    };
    Some(HealthObservation { target, result, detail, duration })
}

/// Returns the kind of failure that a message of [`crate::health`] describes. It is recognised by words of the
/// message, so both places must change together.
fn health_result_from(why: &str) -> HealthResult {
    if why.contains("nobody listens") {
        HealthResult::ConnectionRefused
    } else if why.contains("did not answer within") || why.contains("timed out") {
        HealthResult::Timeout
    } else {
        HealthResult::Unhealthy
    }
}

#[cfg(test)]
mod nearest_file_tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the files of a project, which are not evidence")]
    fn a_missing_file_has_a_neighbour_of_a_like_name() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("src/quotes")).expect("it is ours");
        fs::write(root.path().join("src/quotes/QuoteService.ts"), "x").expect("it is ours");
        let near = |path: &str| nearest_file(root.path(), Path::new(path));
        assert_eq!(near("src/quotes/quoteservice.ts").as_deref(), Some("src/quotes/QuoteService.ts"));
        assert_eq!(near("src/quotes/QuoteServices.ts").as_deref(), Some("src/quotes/QuoteService.ts"));
        assert_eq!(near("src/quote/QuoteService.ts").as_deref(), Some("src/quotes"));
        assert_eq!(near("src/quotes/QuoteService.ts"), None, "it is there");
        assert_eq!(near("nothing/like/it"), None);
        assert_eq!(near("../quotes"), None);
    }
}
