//! Says what to do about a failure, with what was seen of it: the request and its answer, the file and its neighbours, the
//! command's own words, the process that holds a port.

use crate::file_validation::{kind_on_disk, quoted, shortened};
use crate::http_answer::{expected_status, is_expected};
use crate::json_schema::check_schema;
use proctor_model::{
    Advice, CategoryCode, Diagnosis, Exchange, ExchangeOutcome, FileCheck, FileObservation, FileState, FileValidation, FoundFile,
    HttpRequest, PortHolder, SystemFault,
};

/// At most this many characters of an answer's body stand in an advice.
const BODY_SHOWN: usize = 200;

/// Returns what to do about a request that was not answered as it must.
pub(super) fn advise_exchange(request: &HttpRequest, exchange: &Exchange, code: CategoryCode) -> Advice {
    let shown = request.shown();
    let expected = expected_status(request);
    match &exchange.outcome {
        ExchangeOutcome::Answered(answer) => {
            let said = body_excerpt(&answer.body);
            let said = if said.is_empty() { "with an empty body".to_owned() } else { format!("and said `{said}`") };
            let status = answer.status;
            let was = format!("it was answered with {status} instead of {expected}, {said}");
            let wants_redirect = request.expected_statuses.iter().any(|status| (300..400).contains(status));
            let fix = if wants_redirect && request.follow_redirects && answer.redirected_to.is_some() {
                format!(
                    "Set `followRedirects` of `executorConfigurations.HTTP_REQUEST` to false, so that the redirect itself is the answer, or \
                     correct `expectedStatus`: the redirect of {shown} was followed, and {was}"
                )
            } else if code == CategoryCode::EndpointMissing {
                format!("Add the route for {} to the server, or correct the address: {was}", request.endpoint())
            } else if code == CategoryCode::ServerError {
                format!("Mend the error in the server that {shown} runs into; the server's log has it: {was}")
            } else if is_expected(request, status) {
                format!("Let {shown} answer with {}: it was answered with {status} {said}", expected_body(request))
            } else {
                format!("Make {shown} answer with {expected}, or correct `expectedStatus`: {was}")
            };
            let is_status = !is_expected(request, status);
            let (expected, received) =
                if is_status { (expected, status.to_string()) } else { (expected_body(request), body_excerpt(&answer.body)) };
            Advice { fix: Some(fix), expected: Some(expected), received: Some(received) }
        }
        ExchangeOutcome::Unanswered(fault) => Advice {
            fix: Some(format!("{}: {}", unanswered(request, fault, exchange.diagnosis.as_ref()), fault.message)),
            expected: Some(expected),
            received: Some(fault.code.clone()),
        },
        ExchangeOutcome::OutOfTime => {
            let limit = exchange.duration.0;
            let place = exchange.diagnosis.as_ref().and_then(|diagnosis| diagnosis.port.as_ref());
            let server = place.and_then(|place| Some(format!("{} (port {})", place.holders.first()?, place.port)));
            let server = server.unwrap_or_else(|| "the server".to_owned());
            Advice::to_do(format!(
                "Find out in the log of {server} what {shown} waits for, or raise the action's `timeout`: no whole answer came within {limit} ms"
            ))
        }
        ExchangeOutcome::Unsendable(_) | ExchangeOutcome::Stopped(_) => Advice::default(),
    }
}

fn unanswered(request: &HttpRequest, fault: &SystemFault, diagnosis: Option<&Diagnosis>) -> String {
    let shown = request.shown();
    if let Some(Err(why)) = diagnosis.and_then(|diagnosis| diagnosis.resolution.as_ref()) {
        return format!("Correct the host in {shown}: its name has no address ({why})");
    }
    match diagnosis.and_then(|diagnosis| diagnosis.port.as_ref()) {
        Some(port) => match port.holders.first() {
            Some(holder) => format!(
                "See in its log why {holder}, which listens on port {}, does not answer {shown}, or correct the address",
                port.port
            ),
            None => format!(
                "Start the server that {shown} asks: nothing listens on port {}; a service among the prerequisites is started before \
                 the steps",
                port.port
            ),
        },
        None => {
            let place = match (&fault.address, fault.port) {
                (Some(address), Some(port)) => format!(" at {address}:{port}"),
                (None, Some(port)) => format!(" on port {port}"),
                (_, None) => String::new(),
            };
            format!("Start the server that {shown} asks{place}, or correct the address")
        }
    }
}

/// Returns what is asked of an answer's body.
fn expected_body(request: &HttpRequest) -> String {
    let checks = &request.validate;
    let parts = [
        checks.json_schema.as_ref().map(|_| "a document that satisfies `jsonSchema`".to_owned()),
        checks.contains_text.as_ref().map(|text| format!("the text `{}`", quoted(text))),
        checks.matches_regex.as_ref().map(|regex| format!("a match of `{}`", quoted(regex))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn body_excerpt(body: &[u8]) -> String {
    let read = &body[..body.len().min(BODY_SHOWN * 8)];
    let text = String::from_utf8_lossy(read);
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if read.len() < body.len() && words.len() > 1 {
        // The last word may be cut.
        words.pop();
    }
    shortened(&words.join(" "), BODY_SHOWN)
}

/// Returns what to do about a file that is not as it must be. `nearest` is the path in the project that is most like the path of a
/// missing file.
pub fn advise_file(validation: &FileValidation, seen: &FileObservation, nearest: Option<&str>) -> Advice {
    let path = &seen.path;
    match &seen.look {
        FileState::Missing => {
            let near = nearest.map(|near| format!("; the nearest name that is there is `{near}`")).unwrap_or_default();
            let or = if nearest.is_some() { ", rename that one, or correct `filePath`" } else { ", or correct `filePath`" };
            Advice {
                fix: Some(format!("Create `{path}`{or}{near}")),
                expected: Some("a file".to_owned()),
                received: Some("no file".to_owned()),
            }
        }
        FileState::NotInTree { is_directory } => Advice {
            fix: Some(format!(
                "Let a step of the task make `{path}`, or add it to `watch.include` of proctor.toml: it is {} on disk, and not in the \
                 tree that is judged (`proctor why {path}`)",
                kind_on_disk(*is_directory)
            )),
            expected: Some("a file".to_owned()),
            received: Some(format!("{} that is not in the judged tree", kind_on_disk(*is_directory))),
        },
        FileState::Outside(_) => Advice::to_do(format!(
            "Put the file at `{path}` itself in place of the link, or name in `filePath` a file inside of the project or its environment"
        )),
        FileState::Refused(why) => Advice::to_do(format!("Make `{path}` a file that may be looked into: {why}")),
        FileState::Found(found) => differs(path, &validation.check, found),
        FileState::OutOfTime | FileState::Stopped(_) => Advice::default(),
    }
}

fn differs(path: &str, check: &FileCheck, found: &FoundFile) -> Advice {
    let advice = |what: String, expected: String, received: String| Advice {
        fix: Some(format!("Change `{path}` so that it {what}, or correct what is expected of it: it has {received}")),
        expected: Some(expected),
        received: Some(received),
    };
    match check {
        FileCheck::Exists => Advice::default(),
        FileCheck::ContentMatch { text, regex } => {
            let parts = [
                text.as_ref().map(|text| format!("the text `{}`", quoted(text))),
                regex.as_ref().map(|regex| format!("a match of `{}`", quoted(regex))),
            ];
            let wanted = parts.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            advice(format!("has {wanted}"), wanted, begins(found))
        }
        FileCheck::SchemaValid { schema } => {
            let broken = found.content.as_deref().and_then(|content| check_schema(schema, content).err());
            let broken = broken.map(|problem| format!(" ({problem})")).unwrap_or_default();
            advice(format!("satisfies its `schema`{broken}"), "a document that satisfies `schema`".to_owned(), begins(found))
        }
        FileCheck::HashMatch { sha256 } => {
            let seen = found.sha256.map_or_else(|| "an unknown SHA-256".to_owned(), |seen| format!("the SHA-256 {}", seen.hex()));
            advice(format!("has the SHA-256 {}", sha256.hex()), format!("the SHA-256 {}", sha256.hex()), seen)
        }
        FileCheck::SizeCheck { minimum, maximum } => {
            let wanted = match (minimum, maximum) {
                (Some(minimum), Some(maximum)) => format!("{minimum} to {maximum} bytes"),
                (Some(minimum), None) => format!("at least {minimum} bytes"),
                (None, Some(maximum)) => format!("at most {maximum} bytes"),
                (None, None) => return Advice::default(),
            };
            advice(format!("has {wanted}"), wanted, format!("{} bytes", found.bytes))
        }
    }
}

fn begins(found: &FoundFile) -> String {
    let bytes = found.bytes;
    match found.content.as_deref().map(body_excerpt).filter(|text| !text.is_empty()) {
        Some(text) => format!("{bytes} bytes that begin with `{}`", quoted(&text)),
        None => format!("{bytes} bytes"),
    }
}

/// Returns what to do about a plain command that ended with an exit code that is not expected.
pub(super) fn advise_exit(command: &str, code: i32, expected: &str, (stdout, stderr): (&str, &str)) -> Advice {
    let fix = match telling_line(stderr).or_else(|| telling_line(stdout)) {
        Some(line) => format!("Mend what `{}` complains about: `{}` (exit code {code})", quoted(command), quoted(line)),
        None => format!("Run `{}` by hand and find out why it ends with exit code {code}: it printed nothing", quoted(command)),
    };
    Advice { fix: Some(fix), expected: Some(format!("exit code {expected}")), received: Some(format!("exit code {code}")) }
}

/// Returns the line of an output that says most: the first one that speaks of an error, or else the last one.
fn telling_line(text: &str) -> Option<&str> {
    const WORDS: [&str; 6] = ["error", "fatal", "failed", "cannot", "not found", "exception"];
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let speaks = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        WORDS.iter().any(|word| lower.contains(word))
    };
    text.lines().map(str::trim).find(speaks).or_else(|| lines.next_back())
}

/// Returns what to do about a port that another process holds.
pub(super) fn advise_held_port(port: u16, holders: &[PortHolder]) -> Advice {
    let Some(first) = holders.first() else {
        return Advice::to_do(format!(
            "Find the process that listens on port {port} (`ss -ltnp`) and end it, or use another port"
        ));
    };
    let how = first.pid.map(|pid| format!(" (`kill {pid}`)")).unwrap_or_default();
    Advice::to_do(format!("End {first}{how}, which holds port {port}, or let the service use another port"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proctor_model::{Digest, DurationMs, HttpAnswer, PortObservation, Timestamp};

    fn exchange(outcome: ExchangeOutcome, diagnosis: Option<Diagnosis>) -> Exchange {
        Exchange { sent: Timestamp::from_millis(0), duration: DurationMs(100), outcome, diagnosis }
    }

    fn answered(status: u16, body: &str) -> ExchangeOutcome {
        let (headers, body) = (BTreeMap::new(), body.as_bytes().to_vec());
        ExchangeOutcome::Answered(HttpAnswer { status, headers, body, is_complete: true, redirected_to: None })
    }

    fn request() -> HttpRequest {
        HttpRequest::get("http://localhost:3000/api/v1/quotes")
    }

    fn holder() -> PortHolder {
        PortHolder { pid: Some(9876), user: "me".to_owned(), argv: vec!["node".to_owned(), "server.js".to_owned()] }
    }

    fn fix(advice: Advice) -> String {
        advice.fix.expect("there is something to do")
    }

    #[test]
    fn an_answer_that_is_wrong_is_named_with_its_request_status_and_body() {
        let advice = advise_exchange(
            &request(),
            &exchange(answered(404, "Cannot GET\n /api/v1/quotes"), None),
            CategoryCode::EndpointMissing,
        );
        assert_eq!((advice.expected.as_deref(), advice.received.as_deref()), (Some("200 to 299"), Some("404")));
        let said = fix(advice);
        for part in ["GET /api/v1/quotes", "404 instead of 200 to 299", "`Cannot GET /api/v1/quotes`"] {
            assert!(said.contains(part), "{said}");
        }
        let said = fix(advise_exchange(&request(), &exchange(answered(503, ""), None), CategoryCode::ServerError));
        assert!(said.contains("503") && said.contains("empty body") && said.contains("server's log"), "{said}");
        let mut asks = request();
        asks.validate.contains_text = Some("total".to_owned());
        let advice = advise_exchange(&asks, &exchange(answered(200, "{}"), None), CategoryCode::AnswerInvalid);
        assert_eq!((advice.expected.as_deref(), advice.received.as_deref()), (Some("the text `total`"), Some("{}")));
        assert!(fix(advice).contains("the text `total`"));
        let redirected = HttpRequest { expected_statuses: vec![302], ..request() };
        let ExchangeOutcome::Answered(answer) = answered(200, "") else { panic!("it is an answer") };
        let answer = HttpAnswer { redirected_to: Some("http://localhost:3000/login".to_owned()), ..answer };
        let followed = exchange(ExchangeOutcome::Answered(answer), None);
        let said = fix(advise_exchange(&redirected, &followed, CategoryCode::AnswerInvalid));
        assert!(said.contains("`followRedirects`") && !said.contains("answer with 302"), "{said}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_started_or_looked_into() {
        let fault = || SystemFault {
            code: "ECONNREFUSED".to_owned(),
            errno: Some(111),
            syscall: Some("connect".to_owned()),
            address: Some("127.0.0.1".to_owned()),
            port: Some(3000),
            message: "connect ECONNREFUSED 127.0.0.1:3000".to_owned(),
        };
        let look = |holders| Diagnosis { port: Some(PortObservation { port: 3000, holders }), ..Diagnosis::default() };
        let advised = |diagnosis| {
            fix(advise_exchange(&request(), &exchange(ExchangeOutcome::Unanswered(fault()), diagnosis), CategoryCode::NoAnswer))
        };
        assert!(advised(Some(look(Vec::new()))).contains("nothing listens on port 3000"));
        assert!(advised(Some(look(vec![holder()]))).contains("`node server.js` (pid 9876"));
        assert!(advised(None).contains("at 127.0.0.1:3000"));
        let unknown = Diagnosis { resolution: Some(Err("no such host".to_owned())), ..Diagnosis::default() };
        assert!(advised(Some(unknown)).contains("Correct the host"));
    }

    #[test]
    fn a_file_is_named_with_its_nearest_neighbour_and_with_what_differs() {
        let validation = |check| FileValidation { path: "src/Quote.ts".to_owned(), check };
        let seen = |look| FileObservation { path: "src/Quote.ts".to_owned(), look };
        let said = fix(advise_file(&validation(FileCheck::Exists), &seen(FileState::Missing), Some("src/quote.ts")));
        assert!(said.contains("`src/Quote.ts`") && said.contains("`src/quote.ts`"), "{said}");
        let found = FileState::Found(FoundFile {
            bytes: 7,
            modified: Timestamp::from_millis(0),
            sha256: Some(Digest::of(b"content")),
            content: Some(b"content".to_vec()),
        });
        let sha256 = Digest::of(b"other");
        let advice = advise_file(&validation(FileCheck::HashMatch { sha256 }), &seen(found.clone()), None);
        assert_eq!(advice.expected, Some(format!("the SHA-256 {}", sha256.hex())));
        assert_eq!(advice.received, Some(format!("the SHA-256 {}", Digest::of(b"content").hex())));
        let check = FileCheck::SizeCheck { minimum: Some(64), maximum: None };
        assert!(fix(advise_file(&validation(check), &seen(found.clone()), None)).contains("at least 64 bytes"));
        let check = FileCheck::ContentMatch { text: Some("export".to_owned()), regex: None };
        let schema = FileCheck::SchemaValid { schema: serde_json::json!({ "required": ["id"] }) };
        let document = FoundFile { bytes: 2, modified: Timestamp::from_millis(0), sha256: None, content: Some(b"{}".to_vec()) };
        let said = fix(advise_file(&validation(schema), &seen(FileState::Found(document)), None));
        assert!(said.contains("\"id\" is a required property"), "{said}");
        let said = fix(advise_file(&validation(check), &seen(found), None));
        assert!(said.contains("`export`") && said.contains("`content`"), "{said}");
    }

    #[test]
    fn a_command_is_advised_by_its_own_words() {
        let advice = advise_exit("make test", 2, "0", ("compiling\n", "warning: x\nmake: *** Error 1: no rule\nmake: leaving\n"));
        assert_eq!((advice.expected.as_deref(), advice.received.as_deref()), (Some("exit code 0"), Some("exit code 2")));
        let said = fix(advice);
        assert!(said.contains("`make test`") && said.contains("`make: *** Error 1: no rule`"), "{said}");
        assert!(fix(advise_exit("make", 2, "0", ("last words\n", "\n"))).contains("`last words`"));
        assert!(fix(advise_exit("make", 2, "0", ("", ""))).contains("printed nothing"));
    }

    #[test]
    fn the_process_that_holds_a_port_is_named() {
        let said = fix(advise_held_port(3000, &[holder()]));
        assert!(said.contains("`node server.js`") && said.contains("`kill 9876`") && said.contains("port 3000"), "{said}");
        assert!(fix(advise_held_port(3000, &[])).contains("ss -ltnp"));
    }
}
