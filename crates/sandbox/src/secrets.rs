//! Secrets of proctor's own environment that fill the placeholders of a plan: they are filled when an action starts, and
//! masked in everything that the action makes known. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Map, Value};

use proctor_model::{
    ExchangeOutcome, FileObservation, FileState, FoundFile, HttpAnswer, HttpBody, HttpRequest, Interpretation, Observation,
    Survivor, SystemFault, decode_percent, encode_percent,
};

/// The byte that stands for each byte of a secret. The length stays, so positions in a log and its parts stay right.
const MASK: u8 = b'*';

/// The secrets of a run: the variables that `from_environment` in `[specification]` names.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The placeholder `{{NAME}}` and the value of each variable that is set, the longest value first.
    values: Vec<(String, OsString)>,
    /// What is masked, the longest first: the values, each line of a value with several lines, the password in an address, and all of
    /// them as JSON and XML write them.
    masked: Vec<Vec<u8>>,
}

/// A line of a value with several lines is masked also by itself if it has at least this many bytes. Shorter lines, such as a
/// bracket, would mask half of every output.
const LEAST_LINE: usize = 8;

impl fmt::Debug for Secrets {
    /// Prints the placeholders only.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.values.iter().map(|(placeholder, _)| placeholder)).finish()
    }
}

impl Secrets {
    /// Takes the named variables out of an environment.
    pub fn read(ambient: &BTreeMap<OsString, OsString>, names: &[String]) -> Self {
        let value = |name: &String| {
            let value = ambient.get(OsStr::new(name)).filter(|value| !value.is_empty())?;
            Some((format!("{{{{{name}}}}}"), value.clone()))
        };
        let mut values: Vec<_> = names.iter().filter_map(value).collect();
        // A value may contain another one. The longer one is masked first, so that nothing of it remains.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let mut masked: Vec<Vec<u8>> = values.iter().flat_map(|(_, value)| ways_to_write(value)).collect();
        masked.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        masked.dedup();
        Self { values, masked }
    }

    /// Returns whether there is nothing to fill and nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the values as bytes, for those who mask a stream while it is read.
    pub fn bytes(&self) -> Vec<Vec<u8>> {
        self.masked.clone()
    }

    /// Returns the text with each placeholder of a secret replaced by the secret. What a secret brings along is not filled again.
    pub fn fill<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.fill_by(text, &|_, value| value.to_string_lossy().into_owned())
    }

    /// Returns the URL with its secrets. A secret at the beginning is an address and stays as it is. Anywhere else a secret is one value,
    /// and is percent-encoded: a `/` or `@` of a password would make a host of its rest, and that host would be looked up and shown.
    pub fn fill_url<'t>(&self, url: &'t str) -> Cow<'t, str> {
        let authority = authority_of(url);
        let host = url[authority.clone()].rfind('@').map_or(authority.start, |at| authority.start + at + 1)..authority.end;
        self.fill_by(url, &|place, value| match place {
            0 => value.to_string_lossy().into_owned(),
            // A host may come with its port, and be an address of IPv6.
            place if host.contains(&place) => encode_percent(value.as_bytes(), ":[]"),
            _ => encode_percent(value.as_bytes(), ""),
        })
    }

    /// Fills a text. `write` gets the place of a placeholder in the text, and the secret.
    fn fill_by<'t>(&self, text: &'t str, write: &dyn Fn(usize, &OsStr) -> String) -> Cow<'t, str> {
        let next = |rest: &str| {
            let places = self
                .values
                .iter()
                .filter_map(|(placeholder, value)| Some((rest.find(placeholder.as_str())?, placeholder, value)));
            places
                .min_by_key(|(place, _, _)| *place)
                .map(|(place, placeholder, value)| (place, placeholder.len(), value.as_os_str()))
        };
        let mut filled = String::new();
        let mut rest = text;
        while let Some((place, length, value)) = next(rest) {
            filled.push_str(&rest[..place]);
            filled.push_str(&write(text.len() - rest.len() + place, value));
            rest = &rest[place + length..];
        }
        if rest.len() == text.len() {
            return Cow::Borrowed(text);
        }
        filled.push_str(rest);
        Cow::Owned(filled)
    }

    /// Returns the request with its secrets, as it is sent.
    pub fn fill_request(&self, request: &HttpRequest) -> HttpRequest {
        let text = |text: &str| self.fill(text).into_owned();
        HttpRequest {
            url: self.fill_url(&request.url).into_owned(),
            headers: request.headers.iter().map(|(name, value)| (text(name), text(value))).collect(),
            body: request.body.as_ref().map(|body| match body {
                HttpBody::Text(body) => HttpBody::Text(text(body)),
                HttpBody::Json(document) => HttpBody::Json(self.fill_document(document)),
            }),
            ..request.clone()
        }
    }

    fn fill_document(&self, document: &Value) -> Value {
        match document {
            Value::String(text) => Value::String(self.fill(text).into_owned()),
            Value::Array(values) => Value::Array(values.iter().map(|value| self.fill_document(value)).collect()),
            Value::Object(members) => {
                let filled = members.iter().map(|(key, value)| (key.clone(), self.fill_document(value)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => document.clone(),
        }
    }

    /// Masks every secret in bytes that are whole: in no others can a secret begin before or end after them.
    pub fn mask(&self, bytes: &mut [u8]) {
        for value in &self.masked {
            let places: Vec<usize> = memchr::memmem::find_iter(bytes, value).collect();
            places.into_iter().for_each(|place| bytes[place..place + value.len()].fill(MASK));
        }
    }

    /// Returns a text with every secret masked.
    pub fn mask_text(&self, text: String) -> String {
        if self.is_empty() {
            return text;
        }
        let mut bytes = text.into_bytes();
        self.mask(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Masks every secret in the content of a file that was checked.
    pub fn mask_file(&self, observed: &mut Observation) {
        if let Observation::File(FileObservation { look: FileState::Found(FoundFile { content: Some(content), .. }), .. }) =
            observed
        {
            self.mask(content);
        }
    }

    /// Returns what a tool's output and report mean, with every secret masked that a name, a message or a line of code repeats. What
    /// is masked as bytes may still hold a secret that a report writes in another way, such as `\u0041` in JSON.
    pub fn mask_interpretation(&self, mut said: Interpretation) -> Interpretation {
        if !self.is_empty() {
            said.change_texts(&|text| *text = self.mask_text(std::mem::take(text)));
        }
        said
    }

    /// Masks every secret in the words of the processes that an action has left behind.
    pub fn mask_survivors(&self, survivors: &mut [Survivor]) {
        if !self.is_empty() {
            let words = survivors.iter_mut().flat_map(|survivor| &mut survivor.argv);
            words.for_each(|word| *word = self.mask_text(std::mem::take(word)));
        }
    }

    /// Returns what became of a request, with every secret masked that the server or an error message has repeated. `written` is the
    /// request's URL with its placeholders, and `sent` with its secrets: an error names the first, because the host of the second may
    /// be a part of a secret.
    pub fn mask_outcome(&self, outcome: ExchangeOutcome, (written, sent): (&str, &str)) -> ExchangeOutcome {
        if self.is_empty() {
            return outcome;
        }
        let host = Some(host_of(sent)).filter(|host| written != sent && host.len() >= LEAST_HOST && !written.contains(host));
        let without_host = |text: String| match host {
            Some(host) => text.replace(host, written),
            None => text,
        };
        match outcome {
            ExchangeOutcome::Answered(HttpAnswer { headers, mut body, redirected_to, status, is_complete }) => {
                self.mask(&mut body);
                let headers = headers.into_iter().map(|(name, value)| (name, self.mask_text(value))).collect();
                let redirected_to = redirected_to.map(|address| self.mask_text(address));
                ExchangeOutcome::Answered(HttpAnswer { headers, body, redirected_to, status, is_complete })
            }
            ExchangeOutcome::Unanswered(fault) => ExchangeOutcome::Unanswered(SystemFault {
                message: self.mask_text(without_host(fault.message)),
                address: fault.address.map(|address| self.mask_text(address)),
                ..fault
            }),
            ExchangeOutcome::Unsendable(why) => ExchangeOutcome::Unsendable(self.mask_text(without_host(why))),
            outcome @ (ExchangeOutcome::OutOfTime | ExchangeOutcome::Stopped(_)) => outcome,
        }
    }
}

/// A host is replaced in a message if it has at least this many bytes; a shorter one may stand in any word.
const LEAST_HOST: usize = 3;

/// Returns where the authority of a URL stands, such as `user:password@host:80`.
fn authority_of(url: &str) -> std::ops::Range<usize> {
    let Some(start) = url.find("://").map(|at| at + 3) else { return 0..0 };
    start..url[start..].find(['/', '?', '#']).map_or(url.len(), |length| start + length)
}

fn host_of(url: &str) -> &str {
    let authority = &url[authority_of(url)];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Returns the password in an address such as `postgres://user:password@host/`. A program that gets the address may name it by itself.
fn password_in(address: &str) -> Option<&str> {
    let authority = address.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    (!password.is_empty()).then_some(password)
}

/// Returns the ways in which outputs and reports write a value.
fn ways_to_write(value: &OsStr) -> Vec<Vec<u8>> {
    let lines = value.as_bytes().split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| line.len() >= LEAST_LINE).map(<[u8]>::to_vec);
    let password = value.to_str().and_then(password_in);
    let mut ways: Vec<Vec<u8>> = [value.as_bytes().to_vec()].into_iter().chain(lines).collect();
    ways.extend(password.map(|password| password.as_bytes().to_vec()));
    // A program that takes the address apart has the password itself, of which the address may only have a way to write it.
    ways.extend(password.and_then(decode_percent));
    let texts: Vec<String> = ways.iter().filter_map(|way| String::from_utf8(way.clone()).ok()).collect();
    for text in texts {
        let json = Value::String(text.clone()).to_string();
        ways.push(json.as_bytes()[1..json.len() - 1].to_vec());
        let content = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        ways.push(content.replace('"', "&quot;").into_bytes());
        ways.push(content.into_bytes());
        // Addresses have a value percent-encoded, and programs differ in what they leave as it is: nothing, what JavaScript's
        // `encodeURIComponent` and `encodeURI` leave, and forms with `+` for a blank.
        for kept in ["", "/", "!'()*", ":[]", "!'()*;,/?:@&=+$#"] {
            let encoded = encode_percent(text.as_bytes(), kept);
            ways.push(encoded.replace("%20", "+").into_bytes());
            ways.push(with_small_digits(&encoded).into_bytes());
            ways.push(encoded.into_bytes());
        }
    }
    ways
}

/// Returns a percent-encoded text with small hexadecimal digits, as some programs write them.
fn with_small_digits(encoded: &str) -> String {
    let mut digits_left = 0;
    let small = encoded.chars().map(|character| {
        let is_digit = digits_left > 0;
        digits_left = if character == '%' { 2 } else { digits_left.max(1) - 1 };
        if is_digit { character.to_ascii_lowercase() } else { character }
    });
    small.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(pairs: &[(&str, &str)]) -> Secrets {
        let ambient = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let names: Vec<String> = pairs.iter().map(|(name, _)| (*name).to_owned()).collect();
        Secrets::read(&ambient, &names)
    }

    #[test]
    fn a_secret_is_filled_once_and_masked_wherever_it_is_repeated() {
        let secrets = secrets(&[("TOKEN", "hush{{USER}}"), ("USER", "ann-mary"), ("EMPTY", "")]);
        assert_eq!(secrets.fill("Bearer {{TOKEN}}/{{USER}}/{{EMPTY}}"), "Bearer hush{{USER}}/ann-mary/{{EMPTY}}");
        assert!(matches!(secrets.fill("nothing {{OTHER}}"), Cow::Borrowed(_)));
        assert_eq!(secrets.mask_text("a hush{{USER}} b ann-mary c".to_owned()), "a ************ b ******** c");
        assert!(!format!("{secrets:?}").contains("hush"));
        let mut survivors =
            vec![Survivor { pid: 1, argv: vec!["curl".to_owned(), "-H".to_owned(), "token: ann-mary".to_owned()], age: None }];
        secrets.mask_survivors(&mut survivors);
        assert_eq!(survivors[0].argv[2], "token: ********");
    }

    #[test]
    fn the_password_of_an_address_is_masked_as_it_is_written_and_as_it_is_meant() {
        let secrets = secrets(&[("DATABASE_URL", "postgres://me:s%40cret@db/x")]);
        let said = secrets.mask_text("s%40cret s@cret postgres://me:s%40cret@db/x me".to_owned());
        assert!(!said.contains("cret") && said.ends_with(" me"), "{said}");
    }

    #[test]
    fn a_request_is_sent_with_secrets_and_its_outcome_has_none() {
        let secrets = secrets(&[("TOKEN", "hushhush")]);
        let request = HttpRequest {
            url: "http://a/{{TOKEN}}".to_owned(),
            method: proctor_model::HttpMethod::Post,
            headers: [("Authorization".to_owned(), "Bearer {{TOKEN}}".to_owned())].into(),
            body: Some(HttpBody::Json(serde_json::json!({ "deep": ["{{TOKEN}}", 1] }))),
            expected_statuses: Vec::new(),
            validate: Default::default(),
            follow_redirects: true,
            validate_ssl: true,
        };
        let sent = secrets.fill_request(&request);
        assert_eq!((sent.url.as_str(), sent.headers["Authorization"].as_str()), ("http://a/hushhush", "Bearer hushhush"));
        assert_eq!(sent.body, Some(HttpBody::Json(serde_json::json!({ "deep": ["hushhush", 1] }))));
        let answer = HttpAnswer {
            status: 200,
            headers: [("X-Echo".to_owned(), "hushhush".to_owned())].into(),
            body: b"you said hushhush".to_vec(),
            is_complete: true,
            redirected_to: Some("http://a/hushhush".to_owned()),
        };
        let ExchangeOutcome::Answered(masked) =
            secrets.mask_outcome(ExchangeOutcome::Answered(answer), (&request.url, &sent.url))
        else {
            panic!()
        };
        assert_eq!(masked.body, b"you said ********");
        assert!(!masked.headers["X-Echo"].contains("hush") && !masked.redirected_to.is_some_and(|to| to.contains("hush")));
    }

    #[test]
    fn a_secret_in_a_url_is_one_value_and_no_part_of_it_is_a_host() {
        let secrets = secrets(&[
            ("KEY", "hunter2@long\"part/w0rd x"),
            ("HOST", "localhost:8080"),
            ("BASE", "http://me:pass@secret.example/w0rd@127.0.0.1"),
        ]);
        for (written, sent) in [
            (
                "http://u:{{KEY}}@127.0.0.1/{{KEY}}",
                "http://u:hunter2%40long%22part%2Fw0rd%20x@127.0.0.1/hunter2%40long%22part%2Fw0rd%20x",
            ),
            ("http://{{HOST}}/a?key={{HOST}}", "http://localhost:8080/a?key=localhost%3A8080"),
            ("{{BASE}}/x", "http://me:pass@secret.example/w0rd@127.0.0.1/x"),
            ("http://h/{{OTHER}}", "http://h/{{OTHER}}"),
        ] {
            assert_eq!(secrets.fill_url(written), sent, "{written}");
        }
        for repeated in [
            "hunter2%40long%22part%2Fw0rd%20x",
            "hunter2%40long%22part%2fw0rd%20x",
            "hunter2%40long%22part%2Fw0rd+x",
            "hunter2@long%22part/w0rd%20x",
        ] {
            let masked = secrets.mask_text(format!("GET /{repeated} HTTP"));
            assert_eq!(masked.replace('*', ""), "GET / HTTP", "{repeated}: {masked}");
        }
        // The address is wrong, so that a part of the secret is taken for its host.
        let fault = SystemFault::plain("ENOTFOUND", None, "getaddrinfo ENOTFOUND secret.example: unknown".to_owned());
        let addresses = ("{{BASE}}/x", &*secrets.fill_url("{{BASE}}/x"));
        let ExchangeOutcome::Unanswered(fault) = secrets.mask_outcome(ExchangeOutcome::Unanswered(fault), addresses) else {
            panic!()
        };
        assert_eq!(fault.message, "getaddrinfo ENOTFOUND {{BASE}}/x: unknown");
    }

    #[test]
    fn a_secret_is_masked_as_reports_write_it_and_line_by_line() {
        let secrets = secrets(&[
            ("KEY", "-----BEGIN-----\nMIIE/a\"b<c>&d\nx\n"),
            ("TOKEN", "a&b<\"c"),
            ("URL", "postgres://me:pass-word@db/shop"),
        ]);
        for (written, rest) in [
            ("junit: a&amp;b&lt;&quot;c|", "junit: |"),
            ("junit text: a&amp;b&lt;\"c|", "junit text: |"),
            (r#"json: a&b<\"c|"#, "json: |"),
            (r#"E   MIIE/a"b<c>&d|"#, "E   |"),
            (r#"{"m": "-----BEGIN-----\nMIIE/a\"b<c>&d\nx\n"}"#, r#"{"m": ""}"#),
            ("x stays", "x stays"),
            ("password pass-word of me@db", "password  of me@db"),
        ] {
            let masked = secrets.mask_text(written.to_owned());
            assert_eq!(masked.replace('*', ""), rest, "{masked}");
            assert_eq!(masked.len(), written.len());
        }
    }

    #[test]
    fn no_text_of_an_interpretation_keeps_a_secret() {
        use proctor_model::*;
        let text = || "a hushhush b".to_owned();
        let some = || Some(text());
        let said = Interpretation {
            test_results: Some(TestResults {
                failures: vec![TestFailure {
                    test_name: text(),
                    report_name: some(),
                    test_file: some(),
                    error: text(),
                    expected: some(),
                    received: some(),
                    stack: some(),
                    ..TestFailure::default()
                }],
                ..TestResults::default()
            }),
            diagnostics: vec![Diagnostic {
                file: some(),
                code: some(),
                rule_id: some(),
                message: text(),
                source: some(),
                related_information: vec![RelatedInformation { file: some(), message: text(), ..RelatedInformation::default() }],
                fix: Some(Fix { suggestion: text(), automated: true }),
                ..Diagnostic::default()
            }],
            cases: vec![TestCase {
                title: text(),
                ancestor_titles: vec![text()],
                full_name: text(),
                report_name: some(),
                test_file: some(),
                status: TestOutcome::Passed,
                expected_to_fail: false,
                duration_us: None,
                failure_messages: vec![text()],
                body: None,
            }],
            unlisted: UnlistedFindings {
                by_rule: [((FindingLevel::Error, some()), UnlistedCount { findings: 2, fixable: 1 })].into(),
                files: 1,
            },
            warnings: vec![text()],
            hung: some(),
            missing_modules: vec![text()],
            error_type: some(),
            causes: vec![text()],
            control: Some(ControlObservation { held: true, applicable: None, reason: text() }),
            advice: Advice { fix: some(), expected: some(), received: some() },
            ..Interpretation::plain(CategoryCode::TestsFailed, text())
        };
        let before = format!("{said:?}").matches("hushhush").count();
        let masked = format!("{:?}", secrets(&[("TOKEN", "hushhush")]).mask_interpretation(said));
        assert_eq!((masked.matches("hushhush").count(), masked.matches("a ******** b").count()), (0, before));
        assert!(masked.contains("UnlistedCount { findings: 2, fixable: 1 }"), "{masked}");
    }
}
