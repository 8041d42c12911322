//! Hides values in the record of a request that look like secrets: in headers, URLs and JSON bodies (E12).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::looks_like_a_secret;
use proctor_model::HttpBody;

/// The text shown instead of a hidden value.
pub(super) const HIDDEN: &str = "[hidden]";

/// Headers that carry credentials although their names do not suggest it.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "authentication-info"];

/// Returns the headers with `[hidden]` in place of every value that is, or looks like, a secret.
pub(super) fn shown_headers(headers: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shown = |(name, value): (&String, &String)| {
        let is_secret = SECRET_HEADERS.contains(&name.to_ascii_lowercase().as_str()) || looks_like_a_secret(name, value);
        (name.clone(), if is_secret { HIDDEN.to_owned() } else { value.clone() })
    };
    headers.iter().map(shown).collect()
}

/// Returns a URL without fragment, with user, password and secret values of the query hidden.
pub(super) fn shown_url(url: &str) -> String {
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
pub(super) fn shown_body(body: &HttpBody) -> String {
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
mod tests {
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
