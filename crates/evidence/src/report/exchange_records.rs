//! Builds the records of actions that start no process: a checked file, or a request and its answer.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::build::GENERATED_BY;
use crate::report::build_action::{health_check, resolution};
use crate::report::{
    BodyV1, ExchangeDiagnosticsV1, ExchangeRecordV1, FileRecordV1, FileResultV1, JudgementV1, LookV1, RequestV1, ResponseV1,
    SeenByV1, TextV2, excerpt, looks_like_a_secret,
};
use proctor_model::{
    Action, Digest, DurationMs, EndedAction, Exchange, ExchangeOutcome, FileObservation, FileValidation, HttpAnswer, HttpBody,
    HttpRequest, Interpretation, RunId, StreamExcerpt, SystemFault,
};

/// The `schema` of a [`FileRecordV1`]: the name and version of its format.
pub const FILE_SCHEMA: &str = "proctor-file-v1";
/// The `schema` of an [`ExchangeRecordV1`]: the name and version of its format.
pub const EXCHANGE_SCHEMA: &str = "proctor-http-v1";

/// The facts that the record of a checked file or of a request is built from.
#[derive(Debug, Clone, Copy)]
pub struct ObservationFacts<'a> {
    pub run_id: &'a RunId,
    pub action: &'a Action,
    /// When and how the action ended.
    pub ended: &'a EndedAction,
    /// The interpretation of what was observed.
    pub interpretation: &'a Interpretation,
}

/// Returns the record of a checked file. If the check ended early, the record leaves open whether the file exists.
pub fn file_record(facts: ObservationFacts<'_>, validation: &FileValidation, seen: &FileObservation) -> FileRecordV1 {
    let found = seen.found();
    FileRecordV1 {
        schema: FILE_SCHEMA.to_owned(),
        run_id: facts.run_id.clone(),
        action_id: facts.action.id.clone(),
        action_type: facts.action.kind.action_type(),
        name: facts.action.name.clone(),
        validation_type: validation.check.word().to_owned(),
        result: FileResultV1 {
            file_exists: seen.exists(),
            file_path: seen.path.clone(),
            file_size: found.map(|found| found.bytes),
            last_modified: found.map(|found| found.modified),
            sha256: found.and_then(|found| found.sha256),
            contents: found
                .and_then(|found| found.content.as_deref())
                .filter(|_| facts.action.capture.file_contents)
                .map(text_of),
        },
        judgement: judgement(facts.interpretation),
        timing: LookV1 { start_time: facts.ended.started, end_time: facts.ended.ended, duration: facts.ended.duration },
        authenticity: SeenByV1 { captured_by: GENERATED_BY.to_owned(), timestamp: facts.ended.ended },
    }
}

/// Returns the record of a request; `body_file` is the name of the file with the answer's body.
pub fn exchange_record(
    facts: ObservationFacts<'_>,
    request: &HttpRequest,
    exchange: &Exchange,
    body_file: Option<&str>,
) -> ExchangeRecordV1 {
    ExchangeRecordV1 {
        schema: EXCHANGE_SCHEMA.to_owned(),
        run_id: facts.run_id.clone(),
        action_id: facts.action.id.clone(),
        action_type: facts.action.kind.action_type(),
        name: facts.action.name.clone(),
        request: RequestV1 {
            url: shown_url(&request.url),
            method: request.method.word().to_owned(),
            headers: shown_headers(&request.headers),
            body_excerpt: request.body.as_ref().map(|body| text_of(shown_body(body).as_bytes())),
            timestamp: exchange.sent,
        },
        response: match exchange.answer() {
            Some(answer) => answered(answer, exchange.duration, body_file),
            None => ResponseV1 { error: fault(&exchange.outcome, exchange.duration), ..unanswered(exchange.duration) },
        },
        diagnostics: exchange.diagnosis.as_ref().map(|diagnosis| ExchangeDiagnosticsV1 {
            server_health_check: diagnosis.health.as_ref().map(health_check),
            port_in_use: diagnosis.port.as_ref().map(|port| !port.holders.is_empty()),
            dns_resolution: diagnosis.resolution.as_ref().map(resolution),
        }),
        judgement: judgement(facts.interpretation),
        authenticity: SeenByV1 { captured_by: GENERATED_BY.to_owned(), timestamp: facts.ended.ended },
    }
}

fn unanswered(duration: DurationMs) -> ResponseV1 {
    ResponseV1 { success: false, status_code: None, headers: None, body: None, redirected_to: None, error: None, duration }
}

fn answered(answer: &HttpAnswer, duration: DurationMs, body_file: Option<&str>) -> ResponseV1 {
    ResponseV1 {
        success: true,
        status_code: Some(answer.status),
        headers: Some(shown_headers(&answer.headers)),
        body: Some(BodyV1 {
            file: body_file.map(str::to_owned),
            bytes: answer.body.len() as u64,
            complete: answer.is_complete,
            sha256: Digest::of(&answer.body),
            excerpt: text_of(&answer.body),
        }),
        redirected_to: answer.redirected_to.as_deref().map(shown_url),
        ..unanswered(duration)
    }
}

/// Returns in wire form why a request got no answer; `None` if it was answered.
pub(super) fn fault(outcome: &ExchangeOutcome, took: DurationMs) -> Option<SystemFault> {
    match outcome {
        ExchangeOutcome::Answered(_) => None,
        ExchangeOutcome::Unanswered(fault) => Some(fault.clone()),
        ExchangeOutcome::Unsendable(why) => Some(SystemFault::plain("UNSENDABLE", None, why.clone())),
        ExchangeOutcome::OutOfTime => {
            Some(SystemFault::plain("TIMEOUT", None, format!("there was no whole answer within {} ms", took.0)))
        }
        ExchangeOutcome::Stopped(reason) => {
            Some(SystemFault::plain("STOPPED", None, format!("it was given up because the run was stopped: {}", reason.why())))
        }
    }
}

fn judgement(interpretation: &Interpretation) -> JudgementV1 {
    JudgementV1 { code: interpretation.category, reason: interpretation.reason.clone() }
}

/// Returns the first and last 4 KiB of the bytes as plain text.
pub(super) fn text_of(bytes: &[u8]) -> TextV2 {
    let excerpt = excerpt(&StreamExcerpt { total: bytes.len() as u64, head: bytes.to_vec(), tail: Vec::new() });
    TextV2 { text: excerpt.text, shown: excerpt.shown }
}

// Hides values in the record of a request that look like secrets: in headers, URLs and JSON bodies (E12).

/// The text shown instead of a hidden value.
const HIDDEN: &str = "[hidden]";

/// Headers that carry credentials although their names do not suggest it.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "authentication-info"];

/// Returns the headers with `[hidden]` in place of every value that is, or looks like, a secret.
fn shown_headers(headers: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shown = |(name, value): (&String, &String)| {
        let is_secret = SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str()) || looks_like_a_secret(name, value);
        (name.clone(), if is_secret { HIDDEN.to_owned() } else { value.clone() })
    };
    headers.iter().map(shown).collect()
}

/// Returns a URL without fragment, with user, password and secret values of the query hidden.
fn shown_url(url: &str) -> String {
    let (url, _fragment) = url.split_once('#').unwrap_or((url, ""));
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let place = match place.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let host = authority.rsplit_once('@').map_or(authority.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
            format!("{scheme}://{host}{path}")
        }
        None => place.to_owned(),
    };
    let Some(query) = query else { return place };
    let shown = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if looks_like_a_secret(name, value) => format!("{name}={HIDDEN}"),
        Some(_) | None => pair.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

/// Returns the body of a request with secret values hidden. A plain text is shown unchanged, because its parts have no
/// names.
fn shown_body(body: &HttpBody) -> String {
    match body {
        HttpBody::Text(text) => text.clone(),
        HttpBody::Json(document) => shown_document(document).to_string(),
    }
}

fn shown_document(document: &Value) -> Value {
    match document {
        Value::Object(members) => {
            let shown = members.iter().map(|(name, value)| {
                let is_secret = looks_like_a_secret(name, value.as_str().unwrap_or_default());
                (name.clone(), if is_secret { Value::String(HIDDEN.to_owned()) } else { shown_document(value) })
            });
            Value::Object(shown.collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(shown_document).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => document.clone(),
    }
}

#[cfg(test)]
mod hidden_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_that_carry_credentials_are_named_and_not_shown() {
        let headers = [
            ("Authorization", "Bearer hush"),
            ("cookie", "session=hush"),
            ("Set-Cookie", "session=hush"),
            ("X-Api-Key", "hush"),
            ("X-CSRF-Token", "hush"),
            ("Referer", "http://me:hush@example.com/"),
            ("Accept", "application/json"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
        let shown = shown_headers(&headers);
        assert_eq!(shown.len(), headers.len());
        assert_eq!(shown["Accept"], "application/json");
        assert!(!format!("{shown:?}").contains("hush"), "{shown:?}");
    }

    #[test]
    fn a_url_shows_neither_a_password_nor_a_token() {
        for (url, shown) in [
            ("http://localhost:3000/api?page=2", "http://localhost:3000/api?page=2"),
            ("https://me:hush@example.com/x", "https://[hidden]@example.com/x"),
            (
                "http://localhost/x?access_token=hush&page=2&api-key=hush#hush",
                "http://localhost/x?access_token=[hidden]&page=2&api-key=[hidden]",
            ),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }

    #[test]
    fn a_document_shows_no_value_whose_name_is_a_secrets() {
        let body = HttpBody::Json(json!({"user": "dev", "password": "hush", "nested": [{"apiToken": "hush", "id": 1}]}));
        assert_eq!(
            serde_json::from_str::<Value>(&shown_body(&body)).expect("it is JSON"),
            json!({"user": "dev", "password": "[hidden]", "nested": [{"apiToken": "[hidden]", "id": 1}]})
        );
    }
}
