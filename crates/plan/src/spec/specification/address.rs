//! Characters in addresses that no URI may have (RFC 3986, 2), such as the braces of `/api/quotes/{id}`: they are sent
//! percent-encoded, as browsers send most of them, and a note names them.

use serde_json::Value;

use crate::spec::specification::fill::placeholders_in;
use crate::spec::specification::scan::member;
use proctor_model::{Gravity, Problem};

/// The keys of addresses, and the object in which each of them has this meaning.
const ADDRESSES: &[(&str, &str)] = &[("parameters", "url"), ("devServer", "healthCheckUrl"), ("ready", "url")];

/// The characters of a URI that are neither letters nor digits. `[` and `]` may stand in the authority only.
const OF_A_URI: &str = "-._~:/?#@!$&'()*+,;=%";

/// Percent-encodes, in every address of a document, the characters behind the authority that no URI may have. Returns a note for each
/// address that is changed.
pub(super) fn encode_addresses(document: &mut Value) -> Vec<Problem> {
    let mut notes = Vec::new();
    visit(document, "", "", &mut notes);
    notes
}

fn visit(value: &mut Value, pointer: &str, key: &str, notes: &mut Vec<Problem>) {
    match value {
        Value::Object(members) => {
            for (name, item) in members {
                let pointer = member(pointer, name);
                if let Value::String(address) = item
                    && ADDRESSES.contains(&(key, name.as_str()))
                {
                    notes.extend(encode(address, pointer));
                } else {
                    visit(item, &pointer, name, notes);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                visit(item, &member(pointer, &index.to_string()), "", notes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn encode(address: &mut String, pointer: String) -> Option<Problem> {
    let authority = address.find("://").map_or(0, |scheme| scheme + "://".len());
    let path = address[authority..].find(['/', '?', '#']).map(|length| authority + length)?;
    let held: Vec<_> =
        placeholders_in(address, false).into_iter().map(|(start, written, _)| start..start + written.len()).collect();
    let mut encoded = String::with_capacity(address.len());
    let mut first = None;
    for (at, character) in address.char_indices() {
        let may_stand = character.is_ascii_alphanumeric() || OF_A_URI.contains(character) || character.is_control();
        if at < path || may_stand || held.iter().any(|held| held.contains(&at)) {
            encoded.push(character);
            continue;
        }
        first.get_or_insert((at, character));
        let mut bytes = [0; 4];
        character.encode_utf8(&mut bytes).bytes().for_each(|byte| encoded.push_str(&format!("%{byte:02X}")));
    }
    let (at, character) = first?;
    let part = part_at(address, path, at);
    let message = format!("`{character}` in `{part}` is no character of a URI, and is sent percent-encoded");
    let problem = Problem { gravity: Gravity::Soft, ..Problem::new(pointer, message) };
    let name = address[at..].strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    let problem = match name.filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')) {
        Some(name) => problem.hint(format!(
            "if a value is meant, write it in place of `{{{name}}}`, or write `{{{{{name}}}}}` and give it by `--set {name}=VALUE`"
        )),
        None => problem,
    };
    *address = encoded;
    Some(problem)
}

/// Returns the part of an address that is shown: its path, or the name of a parameter. A parameter's value may be secret.
fn part_at(address: &str, path: usize, at: usize) -> &str {
    let end = address[path..].find(['?', '#']).map_or(address.len(), |length| path + length);
    if at < end {
        return &address[path..end];
    }
    let start = address[..at].rfind(['?', '#', '&']).map_or(end, |before| before + 1);
    address[start..].split(['=', '&', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the address as it is sent, and the note about it.
    fn sent(address: &str) -> (String, Option<(String, String)>) {
        let mut document = json!({ "tasks": [{ "parameters": { "url": address, "body": { "url": address } } }] });
        let mut notes = encode_addresses(&mut document);
        let parameters = &document["tasks"][0]["parameters"];
        assert_eq!(parameters["body"]["url"], address, "a body is no address");
        let note = notes.pop().map(|note| {
            assert_eq!((note.pointer.as_str(), note.gravity), ("/tasks/0/parameters/url", Gravity::Soft));
            (note.message, note.hint.unwrap_or_default())
        });
        assert!(notes.is_empty(), "one note for an address");
        (parameters["url"].as_str().expect("a text").to_owned(), note)
    }

    #[test]
    fn what_no_uri_may_have_is_encoded_and_named_with_the_part_in_which_it_stands() {
        let (address, note) = sent("http://localhost:3000/api/quotes/{id}?page=1");
        assert_eq!(address, "http://localhost:3000/api/quotes/%7Bid%7D?page=1");
        let (message, hint) = note.expect("a note");
        assert_eq!(message, "`{` in `/api/quotes/{id}` is no character of a URI, and is sent percent-encoded");
        assert!(hint.contains("`--set id=VALUE`"), "{hint}");
        let (address, note) = sent("http://localhost/quotes?key=a&filters[status]=DRAFT&q=ü x#{a}");
        assert_eq!(address, "http://localhost/quotes?key=a&filters%5Bstatus%5D=DRAFT&q=%C3%BC%20x#%7Ba%7D");
        assert_eq!(note.expect("a note").0, "`[` in `filters[status]` is no character of a URI, and is sent percent-encoded");
        let (_, note) = sent("http://localhost/quotes?token={secret}");
        assert_eq!(note.expect("a note").0, "`{` in `token` is no character of a URI, and is sent percent-encoded");
    }

    #[test]
    fn what_a_uri_may_have_and_placeholders_stay() {
        for address in [
            "http://[::1]:3000/a%20b?c=d#e",
            "http://localhost",
            "{{BASE}}/a",
            "http://a/${NAME}/{{ID}}",
            "http://a/b\u{0}",
            "{id}",
        ] {
            assert_eq!(sent(address), (address.to_owned(), None));
        }
    }
}
