//! Decides what a request of a browser gets, by the head of the request alone. Pure.

use crate::page::access::{PageAccess, RawOutput};
use crate::page::assets::{Asset, INDEX, asset};

/// The names by which a browser of this machine may ask.
const HOST_NAMES: &[&str] = &["127.0.0.1", "localhost"];
/// The values of `Sec-Fetch-Site` for a request of the page itself, or of a person.
const OWN_SITES: &[&str] = &["same-origin", "none"];
/// The characters that a part of the page's address may have, beside letters and digits.
const IN_PLACES: &str = "/-_.~%=&?:@+,";
/// The longest part of the page's address that is handed over.
const LONGEST_PLACE: usize = 512;

/// The parts of a request's head that matter. A header that is there several times is wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageRequest<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Whether the request's line names a server, as requests to a proxy do.
    pub names_server: bool,
    /// Whether a body follows.
    pub has_body: bool,
    pub host: SentHeader<'a>,
    pub origin: SentHeader<'a>,
    pub fetch_site: SentHeader<'a>,
    pub fetch_mode: SentHeader<'a>,
    pub fetch_destination: SentHeader<'a>,
    pub authorization: SentHeader<'a>,
}

/// A header of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SentHeader<'a> {
    #[default]
    Absent,
    Once(&'a str),
    /// The request has the header several times, or its value is no text.
    Wrong,
}

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageDecision<'a> {
    File(&'static Asset),
    /// The ticket is exchanged for a token, if it is valid.
    Exchange(&'a str),
    /// The routes of the control socket answer, with what the token gives.
    Route(RawOutput),
    Refused(PageRefusal),
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRefusal {
    /// `Host` names another machine, or the request is made for a proxy.
    OtherHost,
    /// The request comes from a page of another site.
    OtherSite,
    /// The page only reads.
    Method,
    Body,
    /// The request has no valid token.
    Token,
    /// There is no such file of the page.
    NotFound,
}

impl PageRefusal {
    /// Returns what was wrong, and what to do next.
    pub fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::OtherHost => ("the request is for another host", "`proctor open` opens the page"),
            Self::OtherSite => ("the request comes from another site", "`proctor open` opens the page"),
            Self::Method => ("the page only reads: every request is a GET", "change things with the command line"),
            Self::Body => ("a request of the page has no body", "leave it out"),
            Self::Token => (
                "the token is not valid: the service was restarted, or the page was not opened by it",
                "`proctor open` opens it anew",
            ),
            Self::NotFound => ("the page has no such file", "`proctor open` opens the page"),
        }
    }
}

impl<'a> SentHeader<'a> {
    fn is_one_of(self, values: &[&str]) -> bool {
        match self {
            Self::Absent | Self::Wrong => false,
            Self::Once(value) => values.iter().any(|other| value.eq_ignore_ascii_case(other)),
        }
    }

    /// Returns the secret that `Authorization` carries with this scheme.
    fn secret_of(self, scheme: &str) -> Option<&'a str> {
        match self {
            Self::Absent | Self::Wrong => None,
            Self::Once(value) => {
                let (named, secret) = value.split_once(' ')?;
                named.eq_ignore_ascii_case(scheme).then(|| secret.trim())
            }
        }
    }
}

/// Decides what a request gets that came to `port` of loopback.
pub fn decide<'a>(request: &PageRequest<'a>, port: u16, access: &PageAccess) -> PageDecision<'a> {
    match check_sender(request, port) {
        Err(refusal) => PageDecision::Refused(refusal),
        Ok(()) => match request.path {
            "/" => PageDecision::File(&INDEX),
            "/ticket" => match request.authorization.secret_of("Ticket") {
                Some(ticket) => PageDecision::Exchange(ticket),
                None => PageDecision::Refused(PageRefusal::Token),
            },
            path => match path.strip_prefix("/assets/") {
                Some(name) => asset(name).map_or(PageDecision::Refused(PageRefusal::NotFound), PageDecision::File),
                None if let Some(raw_output) =
                    request.authorization.secret_of("Bearer").and_then(|token| access.given_by(token)) =>
                {
                    PageDecision::Route(raw_output)
                }
                None => PageDecision::Refused(PageRefusal::Token),
            },
        },
    }
}

/// Checks what every request needs, whatever it asks for.
fn check_sender(request: &PageRequest<'_>, port: u16) -> Result<(), PageRefusal> {
    let hosts: Vec<String> = HOST_NAMES.iter().map(|name| format!("{name}:{port}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    if request.names_server || !request.host.is_one_of(&hosts) {
        return Err(PageRefusal::OtherHost);
    }
    let origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
    let origins: Vec<&str> = origins.iter().map(String::as_str).collect();
    let is_own_origin = request.origin == SentHeader::Absent || request.origin.is_one_of(&origins);
    let is_own_site = request.fetch_site == SentHeader::Absent || request.fetch_site.is_one_of(OWN_SITES);
    // The file that opens the page, and a link that a person follows, come from elsewhere. They may open the page, and nothing else.
    let is_opening =
        request.path == "/" && request.fetch_mode.is_one_of(&["navigate"]) && request.fetch_destination.is_one_of(&["document"]);
    if !is_own_origin || !(is_own_site || is_opening) {
        return Err(PageRefusal::OtherSite);
    }
    if request.method != "GET" {
        return Err(PageRefusal::Method);
    }
    if request.has_body { Err(PageRefusal::Body) } else { Ok(()) }
}

/// Returns whether a text can be a place in the page, such as `/projects/shop-1a2b/runs/5`.
pub fn is_page_path(place: &str) -> bool {
    let is_known = |character: char| character.is_ascii_alphanumeric() || IN_PLACES.contains(character);
    place.starts_with('/') && place.len() <= LONGEST_PLACE && place.chars().all(is_known)
}

/// Returns the file that sends a browser to the page with a ticket. `place` is where in the page it begins.
pub fn opening_file(address: &str, ticket: &str, place: &str) -> String {
    // A query in the fragment would be read as more parameters.
    let place =
        if is_page_path(place) { place.replace('%', "%25").replace('&', "%26").replace('+', "%2B") } else { "/".to_owned() };
    let target = format!("http://{address}/#ticket={ticket}&amp;to={place}");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>proctor</title>\n<meta http-equiv=\"refresh\" content=\"0;url={target}\">\n\
         <p><a href=\"{target}\" rel=\"noreferrer\">Open the page of proctor</a>. This works once, and for a minute.</p>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::page::{SECRET_BYTES, Secret};

    const PORT: u16 = 4321;

    fn access() -> (PageAccess, String) {
        let (ticket, token) = (Secret::new([1; SECRET_BYTES]), Secret::new([2; SECRET_BYTES]));
        let mut access = PageAccess::default();
        access.add_ticket(&ticket, RawOutput::Refused, Duration::ZERO);
        access.exchange(&ticket.text(), &token, Duration::ZERO);
        (access, format!("Bearer {}", token.text()))
    }

    fn request(path: &str) -> PageRequest<'_> {
        PageRequest { method: "GET", path, host: SentHeader::Once("127.0.0.1:4321"), ..PageRequest::default() }
    }

    #[test]
    fn a_request_needs_the_right_host_site_method_and_token() {
        use PageRefusal::{Body, Method, NotFound, OtherHost, OtherSite, Token};
        use SentHeader::{Absent, Once, Wrong};
        let (access, bearer) = access();
        let good = PageRequest { authorization: Once(&bearer), ..request("/v1/status") };
        let long = format!("Bearer {}", "a".repeat(64));
        let rows: [(PageRequest<'_>, PageDecision<'_>); 28] = [
            (good, PageDecision::Route(RawOutput::Refused)),
            (
                PageRequest { host: Once("localhost:4321"), origin: Once("http://localhost:4321"), ..good },
                PageDecision::Route(RawOutput::Refused),
            ),
            (PageRequest { fetch_site: Once("same-origin"), ..good }, PageDecision::Route(RawOutput::Refused)),
            (PageRequest { fetch_site: Once("none"), ..good }, PageDecision::Route(RawOutput::Refused)),
            (PageRequest { host: Once("evil.example:4321"), ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { host: Once("127.0.0.1:80"), ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { host: Once("127.0.0.1"), ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { host: Once("[::1]:4321"), ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { host: Absent, ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { host: Wrong, ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { names_server: true, ..good }, PageDecision::Refused(OtherHost)),
            (PageRequest { origin: Once("http://evil.example"), ..good }, PageDecision::Refused(OtherSite)),
            (PageRequest { origin: Once("null"), ..good }, PageDecision::Refused(OtherSite)),
            (PageRequest { origin: Once("https://127.0.0.1:4321"), ..good }, PageDecision::Refused(OtherSite)),
            (PageRequest { origin: Once("http://127.0.0.1:8000"), ..good }, PageDecision::Refused(OtherSite)),
            (PageRequest { origin: Wrong, ..good }, PageDecision::Refused(OtherSite)),
            (PageRequest { fetch_site: Once("same-site"), ..good }, PageDecision::Refused(OtherSite)),
            (
                PageRequest { fetch_site: Once("cross-site"), fetch_mode: Once("navigate"), ..good },
                PageDecision::Refused(OtherSite),
            ),
            (PageRequest { method: "POST", ..good }, PageDecision::Refused(Method)),
            (PageRequest { method: "HEAD", ..good }, PageDecision::Refused(Method)),
            (PageRequest { method: "OPTIONS", ..good }, PageDecision::Refused(Method)),
            (PageRequest { has_body: true, ..good }, PageDecision::Refused(Body)),
            (PageRequest { authorization: Absent, ..good }, PageDecision::Refused(Token)),
            (PageRequest { authorization: Wrong, ..good }, PageDecision::Refused(Token)),
            (PageRequest { authorization: Once(&long), ..good }, PageDecision::Refused(Token)),
            (PageRequest { authorization: Once("Basic YTph"), ..good }, PageDecision::Refused(Token)),
            (request("/ticket"), PageDecision::Refused(Token)),
            (request("/assets/../mod.rs"), PageDecision::Refused(NotFound)),
        ];
        for (number, (request, expected)) in rows.into_iter().enumerate() {
            assert_eq!(decide(&request, PORT, &access), expected, "row {number}: {request:?}");
        }
        let ticket = PageRequest { authorization: Once("ticket abc"), ..request("/ticket") };
        assert_eq!(decide(&ticket, PORT, &access), PageDecision::Exchange("abc"));
    }

    #[test]
    fn another_site_may_open_the_page_and_nothing_else() {
        use SentHeader::Once;
        let (access, _) = access();
        let elsewhere = |path, destination| PageRequest {
            fetch_site: Once("cross-site"),
            fetch_mode: Once("navigate"),
            fetch_destination: Once(destination),
            ..request(path)
        };
        assert_eq!(decide(&elsewhere("/", "document"), PORT, &access), PageDecision::File(&INDEX));
        for other in [elsewhere("/", "iframe"), elsewhere("/ticket", "document"), elsewhere("/assets/page.css", "document")] {
            assert_eq!(decide(&other, PORT, &access), PageDecision::Refused(PageRefusal::OtherSite), "{other:?}");
        }
        let fetched = PageRequest { fetch_mode: Once("cors"), ..elsewhere("/", "empty") };
        assert_eq!(decide(&fetched, PORT, &access), PageDecision::Refused(PageRefusal::OtherSite));
    }

    #[test]
    fn the_opening_file_holds_the_ticket_and_no_text_from_elsewhere() {
        let file = opening_file("127.0.0.1:4321", "abc", "/projects/shop-1/runs/5?x=1&y=2");
        assert!(file.contains("url=http://127.0.0.1:4321/#ticket=abc&amp;to=/projects/shop-1/runs/5?x=1%26y=2\""), "{file}");
        for wrong in ["\"><script>", "projects", "/a b", "//\u{202e}", "/a\"", "/<"] {
            assert!(!is_page_path(wrong), "{wrong}");
            assert!(opening_file("127.0.0.1:1", "abc", wrong).contains("to=/\""), "{wrong}");
        }
    }
}
