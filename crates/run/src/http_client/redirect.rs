//! Where a redirect leads, and which parts of the request are sent there. Pure.
//!
//! A request's content was meant for the host in the plan, so another host gets nothing that could be a secret.

use ureq::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};

/// The headers that another host may see. Any other header may hold a secret, whatever its name is.
const HARMLESS: &[header::HeaderName] = &[header::ACCEPT, header::ACCEPT_LANGUAGE, header::CACHE_CONTROL, header::USER_AGENT];

/// The headers that describe a body. They are removed when the redirected request has no body any more.
const OF_A_BODY: &[header::HeaderName] =
    &[header::CONTENT_TYPE, header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE];

/// Returns a copy of the request with another body.
pub(super) fn with_body<B>(request: &Request<Vec<u8>>, body: B) -> Request<B> {
    let mut sent = Request::new(body);
    *sent.method_mut() = request.method().clone();
    *sent.uri_mut() = request.uri().clone();
    *sent.headers_mut() = request.headers().clone();
    sent
}

/// Returns the request that an answer redirects to, or why the redirect cannot be followed; `None` if the answer is no
/// redirect, or names no location.
pub(super) fn redirected(
    request: &Request<Vec<u8>>,
    status: StatusCode,
    location: Option<&HeaderValue>,
) -> Option<Result<Request<Vec<u8>>, String>> {
    let keeps_method = match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return None,
    };
    let location = location?;
    if keeps_method && !request.body().is_empty() {
        return Some(Err("the answer redirects a request that has a body".to_owned()));
    }
    let Some(uri) = location.to_str().ok().and_then(|location| joined(request.uri(), location)) else {
        return Some(Err(format!(
            "the answer redirects to what is no address: {}",
            String::from_utf8_lossy(location.as_bytes())
        )));
    };
    let mut next = with_body(request, request.body().clone());
    *next.uri_mut() = uri;
    if !keeps_method && next.method() != Method::HEAD {
        *next.method_mut() = Method::GET;
        next.body_mut().clear();
        OF_A_BODY.iter().for_each(|name| drop(next.headers_mut().remove(name)));
    }
    if origin(next.uri()) != origin(request.uri()) {
        let kept: HeaderMap =
            next.headers().iter().filter(|(name, _)| HARMLESS.contains(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
        *next.headers_mut() = kept;
    }
    Some(Ok(next))
}

/// Returns scheme, host and port of a URL. If a redirect changes one of them, it leads to another server.
fn origin(uri: &Uri) -> (Option<&str>, Option<String>, Option<u16>) {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (uri.scheme_str(), uri.host().map(str::to_ascii_lowercase), Some(uri.port_u16().unwrap_or(usual)))
}

/// Resolves the target of a redirect against the URL of the request (RFC 3986, section 5.2); `None` if the result is
/// not an HTTP address.
fn joined(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    let path = base.path();
    let text = if reference.contains("://") && !reference.starts_with(['/', '?', '.']) {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.is_empty() {
        return Some(base.clone());
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{path}{reference}")
    } else {
        let (written, query) = reference.find('?').map_or((reference, ""), |at| reference.split_at(at));
        let directory = &path[..=path.rfind('/').unwrap_or(0)];
        let whole = if written.starts_with('/') { written.to_owned() } else { format!("{directory}{written}") };
        format!("{scheme}://{authority}{}{query}", without_dots(&whole))
    };
    let uri: Uri = text.parse().ok()?;
    let is_asked = matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty());
    is_asked.then_some(uri)
}

fn without_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_directory = path.ends_with(['/']) || path.ends_with("/.") || path.ends_with("/..");
    for part in path.split('/').filter(|part| !part.is_empty()) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if is_directory && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(uri: &str) -> Request<Vec<u8>> {
        let headers = [
            ("accept", "text/plain"),
            ("authorization", "Bearer x"),
            ("cookie", "a=b"),
            ("x-api-key", "k"),
            ("x-whatever", "w"),
            ("content-type", "text/plain"),
        ];
        let header = |(name, value): (&str, &str)| {
            (name.parse::<header::HeaderName>().expect("a name"), HeaderValue::from_str(value).expect("a value"))
        };
        let mut message = Request::new(b"x".to_vec());
        *message.method_mut() = Method::POST;
        *message.uri_mut() = uri.parse().expect("an address");
        *message.headers_mut() = headers.into_iter().map(header).collect();
        message
    }

    fn names(message: &Request<Vec<u8>>) -> Vec<&str> {
        let mut names: Vec<_> = message.headers().keys().map(header::HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    fn followed(from: &str, status: u16, to: &str) -> Option<Result<Request<Vec<u8>>, String>> {
        let location = HeaderValue::from_str(to).expect("a value");
        redirected(&message(from), StatusCode::from_u16(status).expect("a status"), Some(&location))
    }

    #[test]
    fn another_host_gets_no_header_that_could_be_a_secret() {
        let own = ["accept", "authorization", "cookie", "x-api-key", "x-whatever"];
        for (to, kept) in [
            ("/there", &own[..]),
            ("http://a.example:80/there", &own[..]),
            ("http://A.example/there", &own[..]),
            ("http://b.example/there", &["accept"][..]),
            ("//b.example/there", &["accept"][..]),
            ("http://a.example:8080/there", &["accept"][..]),
            ("https://a.example/there", &["accept"][..]),
            ("http://a.example@b.example/there", &["accept"][..]),
        ] {
            let next = followed("http://a.example/here", 302, to).expect("it redirects").expect("it can be followed");
            assert_eq!(names(&next), kept, "{to}");
            assert_eq!((next.method(), next.body()), (&Method::GET, &Vec::new()), "{to}");
        }
    }

    #[test]
    fn a_reference_is_read_where_it_stands() {
        for (to, expected) in [
            ("there", "http://a.example/b/there"),
            ("../there?x=/../y", "http://a.example/there?x=/../y"),
            ("/./c/../d/", "http://a.example/d/"),
            ("?page=2", "http://a.example/b/c?page=2"),
            ("http://b.example#part", "http://b.example/"),
            ("../../../..", "http://a.example/"),
        ] {
            let next = followed("http://a.example/b/c?page=1", 303, to).expect("it redirects").expect("it can be followed");
            assert_eq!(next.uri().to_string(), expected, "{to}");
        }
        for to in ["ftp://b.example/", "http://", "http://b example/"] {
            let refused = followed("http://a.example/", 302, to).expect("it redirects").expect_err("it cannot be followed");
            assert!(refused.starts_with("the answer redirects to what is no address: "), "{refused}");
        }
    }

    #[test]
    fn a_body_is_never_sent_twice_and_other_answers_redirect_nowhere() {
        for status in [307, 308] {
            let refused = followed("http://a.example/", status, "/there").expect("it redirects");
            assert_eq!(refused.expect_err("it has a body"), "the answer redirects a request that has a body");
        }
        assert!([200, 304, 300, 404].iter().all(|status| followed("http://a.example/", *status, "/there").is_none()));
        assert!(redirected(&message("http://a.example/"), StatusCode::FOUND, None).is_none());
        let mut head = message("http://a.example/");
        *head.method_mut() = Method::HEAD;
        head.body_mut().clear();
        for status in [StatusCode::SEE_OTHER, StatusCode::TEMPORARY_REDIRECT] {
            let next = redirected(&head, status, Some(&HeaderValue::from_static("/there")));
            assert_eq!(next.expect("it redirects").expect("it can be followed").method(), Method::HEAD);
        }
    }
}
