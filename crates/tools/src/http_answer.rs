//! Judges an HTTP_REQUEST. Either the answer is as required, or it differs, or no answer came (C09, C16, C42).

use serde_json::Value;

use crate::advise::advise_exchange;
use crate::file_validation::{contains, is_match, quoted, sentence};
use crate::json_schema::{SchemaProblem, check_schema};
use proctor_model::{
    CategoryCode, Diagnosis, Exchange, ExchangeOutcome, HealthResult, HttpAnswer, HttpRequest, Interpretation, SystemFault,
};

/// HTTP status 404, the only status that says that an endpoint does not exist.
const NOT_FOUND: u16 = 404;

/// Judges a request that has ended, with or without an answer. Every input has a result. Only an answer that meets all
/// requirements is a success.
pub fn interpret_exchange(request: &HttpRequest, exchange: &Exchange) -> Interpretation {
    let judged = judge_exchange(request, exchange);
    if judged.category == CategoryCode::AnswerValid {
        return judged;
    }
    let advice = advise_exchange(request, exchange, judged.category);
    Interpretation { advice, ..judged }
}

fn judge_exchange(request: &HttpRequest, exchange: &Exchange) -> Interpretation {
    let shown = request.shown();
    match &exchange.outcome {
        ExchangeOutcome::Answered(answer) => judge_answer(request, &shown, answer),
        ExchangeOutcome::Unanswered(fault) => Interpretation {
            error_type: Some(fault.code.clone()),
            causes: causes(fault, exchange.diagnosis.as_ref()),
            ..Interpretation::plain(CategoryCode::NoAnswer, format!("{shown} was not answered: {}", fault.message))
        },
        ExchangeOutcome::Unsendable(why) => {
            Interpretation::plain(CategoryCode::UsageError, format!("{shown} cannot be sent: {why}"))
        }
        ExchangeOutcome::OutOfTime => Interpretation {
            causes: exchange.diagnosis.as_ref().map(observed_causes).unwrap_or_default(),
            ..Interpretation::plain(
                CategoryCode::TimedOut,
                format!("{shown} was not answered in full within {} ms, its time-out", exchange.duration.0),
            )
        },
        ExchangeOutcome::Stopped(reason) => Interpretation::plain(
            CategoryCode::Stopped,
            format!("{shown} was given up because the run was stopped: {}", reason.why()),
        ),
    }
}

fn judge_answer(request: &HttpRequest, shown: &str, answer: &HttpAnswer) -> Interpretation {
    let status = answer.status;
    if !is_expected(request, status) {
        let code = match status {
            NOT_FOUND => CategoryCode::EndpointMissing,
            500..=599 => CategoryCode::ServerError,
            _ => CategoryCode::AnswerInvalid,
        };
        return Interpretation::plain(
            code,
            format!("{shown} was answered with status {status}, not {}", expected_status(request)),
        );
    }
    match wrong_body(request, answer) {
        None => {
            Interpretation::plain(CategoryCode::AnswerValid, format!("{shown} was answered with status {status}, as it must"))
        }
        Some(Wrong::Answer(what)) => Interpretation::plain(
            CategoryCode::AnswerInvalid,
            format!("{shown} was answered with status {status}; its body {what}"),
        ),
        Some(Wrong::Question(what)) => Interpretation::plain(CategoryCode::UsageError, what),
    }
}

/// Returns whether an answer may have this status.
pub(super) fn is_expected(request: &HttpRequest, status: u16) -> bool {
    if request.expected_statuses.is_empty() { (200..300).contains(&status) } else { request.expected_statuses.contains(&status) }
}

/// Returns the statuses that are expected, in words.
pub(super) fn expected_status(request: &HttpRequest) -> String {
    match &request.expected_statuses[..] {
        [] => "200 to 299".to_owned(),
        all => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
    }
}

/// Why an answer does not meet a requirement, and whether the answer or the check is at fault.
enum Wrong {
    Answer(String),
    Question(String),
}

fn wrong_body(request: &HttpRequest, answer: &HttpAnswer) -> Option<Wrong> {
    let checks = &request.validate;
    let is_looked_at = checks.json_schema.is_some() || checks.contains_text.is_some() || checks.matches_regex.is_some();
    if is_looked_at && !answer.is_complete {
        return Some(Wrong::Answer(format!("has more than {} bytes, more than are looked through", answer.body.len())));
    }
    if let Some(schema) = &checks.json_schema {
        match check_schema(&Value::Object(schema.clone()), &answer.body) {
            Ok(()) => {}
            Err(problem @ SchemaProblem::Schema(_)) => return Some(Wrong::Question(sentence(&problem))),
            Err(problem) => return Some(Wrong::Answer(format!("is not valid: {problem}"))),
        }
    }
    if let Some(text) = checks.contains_text.as_ref().filter(|text| !contains(&answer.body, text.as_bytes())) {
        return Some(Wrong::Answer(format!("does not have the text `{}`", quoted(text))));
    }
    let regex = checks.matches_regex.as_ref()?;
    match is_match(&answer.body, regex) {
        Ok(true) => None,
        Ok(false) => Some(Wrong::Answer(format!("has no match of `{}`", quoted(regex)))),
        Err(why) => Some(Wrong::Question(why)),
    }
}

/// Returns the likely causes of a missing answer: the results of the diagnosis, or the error message if the diagnosis
/// found nothing.
fn causes(fault: &SystemFault, diagnosis: Option<&Diagnosis>) -> Vec<String> {
    let mut causes = diagnosis.map(observed_causes).unwrap_or_default();
    if causes.is_empty() {
        causes.push(fault.message.clone());
    }
    causes
}

fn observed_causes(diagnosis: &Diagnosis) -> Vec<String> {
    let mut causes = Vec::new();
    if let Some(Err(why)) = &diagnosis.resolution {
        causes.push(format!("The host's name has no address: {why}"));
    }
    if let Some(port) = &diagnosis.port {
        let holders = port.holders.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        causes.push(match holders.as_str() {
            "" => format!("Nobody listens on port {}", port.port),
            _ => format!("Port {} is held by {holders}", port.port),
        });
    }
    if let Some(health) = &diagnosis.health {
        let detail = health.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        match health.result {
            HealthResult::Healthy => {
                causes.push(format!("The service at {} is healthy, so only this request is refused", health.target))
            }
            HealthResult::ConnectionRefused | HealthResult::Timeout | HealthResult::Unhealthy => {
                causes.push(format!("The service at {} is not healthy{detail}", health.target));
            }
            HealthResult::NotAttempted => {}
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use proctor_model::{DurationMs, HealthObservation, PortHolder, PortObservation, ResponseChecks, Timestamp};

    fn request() -> HttpRequest {
        HttpRequest::get("http://localhost:3000/api/v1/quotes?token=hush")
    }

    fn exchange(outcome: ExchangeOutcome) -> Exchange {
        Exchange { sent: Timestamp::from_millis(0), duration: DurationMs(100), outcome, diagnosis: None }
    }

    fn answered(status: u16, body: &str) -> Exchange {
        exchange(ExchangeOutcome::Answered(HttpAnswer {
            status,
            headers: BTreeMap::new(),
            body: body.as_bytes().to_vec(),
            is_complete: true,
            redirected_to: None,
        }))
    }

    fn code(request: &HttpRequest, exchange: &Exchange) -> CategoryCode {
        interpret_exchange(request, exchange).category
    }

    fn refused() -> SystemFault {
        SystemFault {
            code: "ECONNREFUSED".to_owned(),
            errno: Some(111),
            syscall: Some("connect".to_owned()),
            address: Some("127.0.0.1".to_owned()),
            port: Some(3000),
            message: "connect ECONNREFUSED 127.0.0.1:3000".to_owned(),
        }
    }

    #[test]
    fn a_status_is_judged_by_what_was_expected() {
        let not_found = HttpRequest { expected_statuses: vec![404, 410], ..request() };
        for (request, status, expected) in [
            (request(), 200, CategoryCode::AnswerValid),
            (request(), 204, CategoryCode::AnswerValid),
            (request(), 301, CategoryCode::AnswerInvalid),
            (request(), 400, CategoryCode::AnswerInvalid),
            (request(), 404, CategoryCode::EndpointMissing),
            (request(), 500, CategoryCode::ServerError),
            (request(), 599, CategoryCode::ServerError),
            (not_found.clone(), 404, CategoryCode::AnswerValid),
            (not_found.clone(), 410, CategoryCode::AnswerValid),
            (not_found, 200, CategoryCode::AnswerInvalid),
        ] {
            assert_eq!(code(&request, &answered(status, "")), expected, "{status}");
        }
    }

    #[test]
    fn a_reason_names_the_request_and_nothing_that_may_be_a_secret() {
        let said = interpret_exchange(&request(), &answered(404, ""));
        assert_eq!(said.reason, "GET http://localhost:3000/api/v1/quotes was answered with status 404, not 200 to 299");
    }

    #[test]
    fn a_body_must_be_all_that_is_asked_of_it() {
        let checks = ResponseChecks {
            json_schema: json!({"type": "array"}).as_object().cloned(),
            contains_text: Some("[".to_owned()),
            matches_regex: Some("\\d+".to_owned()),
        };
        let request = HttpRequest { validate: checks, ..request() };
        assert_eq!(code(&request, &answered(200, "[1]")), CategoryCode::AnswerValid);
        for wrong in ["{\"a\": [1]}", "[]", "1", ""] {
            assert_eq!(code(&request, &answered(200, wrong)), CategoryCode::AnswerInvalid, "{wrong}");
        }
        let ExchangeOutcome::Answered(answer) = answered(200, "[1]").outcome else { panic!("it is an answer") };
        let cut = exchange(ExchangeOutcome::Answered(HttpAnswer { is_complete: false, ..answer }));
        assert_eq!(code(&request, &cut), CategoryCode::AnswerInvalid, "what was not seen whole is no success");
        let wrong = HttpRequest {
            validate: ResponseChecks { matches_regex: Some("(".to_owned()), ..ResponseChecks::default() },
            ..super::HttpRequest::get("http://localhost/")
        };
        assert_eq!(code(&wrong, &answered(200, "")), CategoryCode::UsageError);
    }

    #[test]
    fn what_was_not_answered_is_an_error_with_the_systems_name_and_causes_that_were_seen() {
        let holder = PortHolder { pid: Some(7), argv: vec!["node".to_owned()], user: "dev".to_owned() };
        let health = HealthObservation {
            target: "http://localhost:3000/healthz".to_owned(),
            result: HealthResult::ConnectionRefused,
            detail: Some("nobody listens".to_owned()),
            duration: None,
        };
        let seen = |port| Some(Diagnosis { health: Some(health.clone()), port: Some(port), resolution: None });
        let of = |diagnosis| Exchange { diagnosis, ..exchange(ExchangeOutcome::Unanswered(refused())) };
        let free = interpret_exchange(&request(), &of(seen(PortObservation { port: 3000, holders: Vec::new() })));
        assert_eq!((free.category, free.error_type.as_deref()), (CategoryCode::NoAnswer, Some("ECONNREFUSED")));
        assert_eq!(
            free.causes,
            ["Nobody listens on port 3000", "The service at http://localhost:3000/healthz is not healthy: nobody listens"]
        );
        let held = interpret_exchange(&request(), &of(seen(PortObservation { port: 3000, holders: vec![holder] })));
        assert_eq!(held.causes[0], "Port 3000 is held by `node` (pid 7, user dev)");
        let unseen = interpret_exchange(&request(), &of(None));
        assert_eq!(unseen.causes, ["connect ECONNREFUSED 127.0.0.1:3000"]);
        let lost = Diagnosis { resolution: Some(Err("no such host".to_owned())), ..Diagnosis::default() };
        assert_eq!(interpret_exchange(&request(), &of(Some(lost))).causes, ["The host's name has no address: no such host"]);
    }

    #[test]
    fn a_time_out_a_stop_and_a_request_that_is_none_are_told_apart() {
        for (outcome, expected) in [
            (ExchangeOutcome::OutOfTime, CategoryCode::TimedOut),
            (ExchangeOutcome::Stopped(proctor_model::StopReason::Interrupted), CategoryCode::Stopped),
            (ExchangeOutcome::Unsendable("no host".to_owned()), CategoryCode::UsageError),
        ] {
            assert_eq!(code(&request(), &exchange(outcome.clone())), expected, "{outcome:?}");
        }
    }
}
