//! Edits of a JSON text that keep every other byte: a member or an element more, a member less.

use serde_json::Value;

use crate::spec::specification::fix::TextEdit;
use crate::spec::specification::scan::Places;

/// Returns the edit that adds a member at the end of an object; `None` if there is no such object.
pub(super) fn insert_member(text: &str, places: &Places, object: &str, key: &str, value: &Value) -> Option<TextEdit> {
    insert(text, places, object, &format!("{}: {}", one_line(&Value::from(key)), one_line(value)))
}

/// Returns the edit that adds an element at the end of an array; `None` if there is no such array.
pub(super) fn insert_element(text: &str, places: &Places, array: &str, value: &Value) -> Option<TextEdit> {
    insert(text, places, array, &one_line(value))
}

/// Returns the edit that adds an element, as it is written somewhere else, at the end of an array; `None` if there is no such array.
pub(super) fn insert_written(text: &str, places: &Places, array: &str, written: &str) -> Option<TextEdit> {
    insert(text, places, array, written)
}

fn insert(text: &str, places: &Places, container: &str, written: &str) -> Option<TextEdit> {
    let range = places.range(container)?;
    let inner = text.get(range.start + 1..range.end.checked_sub(1)?)?;
    let last = range.start + 1 + inner.trim_end().len();
    if inner.trim().is_empty() {
        return Some(TextEdit { range: last..last, text: written.to_owned() });
    }
    // The white space in front of the first member is that in front of every member.
    let before = &inner[..inner.len() - inner.trim_start().len()];
    let before = if before.is_empty() && inner.contains(", ") { " " } else { before };
    Some(TextEdit { range: last..last, text: format!(",{before}{written}") })
}

/// Returns the edit that removes a member together with its comma; `None` if there is no such member.
pub(super) fn removal_of_member(text: &str, places: &Places, pointer: &str) -> Option<TextEdit> {
    let value = places.range(pointer)?;
    let start = places.of_key(pointer);
    let behind = &text[value.end..];
    let to_comma = behind.len() - behind.trim_start().len();
    if behind[to_comma..].starts_with(',') {
        let rest = &behind[to_comma + 1..];
        let end = value.end + to_comma + 1 + (rest.len() - rest.trim_start().len());
        return Some(TextEdit { range: start..end, text: String::new() });
    }
    // The last member takes the comma in front of it along, if there is one.
    let before = text[..start].trim_end();
    let start = before.strip_suffix(',').map_or(start, str::len);
    Some(TextEdit { range: start..value.end, text: String::new() })
}

/// Returns a value as JSON on one line, with a space behind each colon and comma.
pub(super) fn one_line(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members =
                members.iter().map(|(key, value)| format!("{}: {}", one_line(&Value::from(key.as_str())), one_line(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) if !values.is_empty() => {
            format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::specification::scan::scan;

    fn edited(text: &str, edit: TextEdit) -> String {
        format!("{}{}{}", &text[..edit.range.start], edit.text, &text[edit.range.end..])
    }

    #[test]
    fn a_member_is_added_as_the_others_are_written() {
        for (text, expected) in [
            ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1,\"k\": { \"x\": [1, 2] }}}"),
            ("{\"a\": {\"b\": 1, \"c\": 2 }}", "{\"a\": {\"b\": 1, \"c\": 2, \"k\": { \"x\": [1, 2] } }}"),
            ("{\"a\":{}}", "{\"a\":{\"k\": { \"x\": [1, 2] }}}"),
            (
                "{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}",
                "{\r\n\t\"a\": {\r\n\t\t\"b\": 1,\r\n\t\t\"k\": { \"x\": [1, 2] }\r\n\t}\r\n}",
            ),
        ] {
            let edit = insert_member(text, &scan(text), "/a", "k", &json!({ "x": [1, 2] })).expect("there is an object");
            let made = edited(text, edit);
            assert_eq!(made, expected);
            assert!(serde_json::from_str::<Value>(&made).is_ok(), "{made}");
        }
        assert_eq!(insert_member("{}", &scan("{}"), "/none", "k", &json!(1)), None);
    }

    #[test]
    fn a_member_is_removed_with_one_comma() {
        for (text, expected) in [
            ("{\"a\": 1, \"b\": {\"c\": 2}, \"d\": 3}", "{\"a\": 1, \"d\": 3}"),
            ("{\n  \"a\": 1,\n  \"b\": [\n  ]\n}", "{\n  \"a\": 1\n}"),
            ("{\"b\": 1}", "{}"),
        ] {
            let edit = removal_of_member(text, &scan(text), "/b").expect("it is there");
            assert_eq!(edited(text, edit), expected);
        }
    }
}
