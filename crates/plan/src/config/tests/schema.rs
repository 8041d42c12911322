//! Makes the JSON Schema of `proctor.toml` for editors: for each key of each table the reader is asked which kinds of values it takes, and
//! which words. The result is committed as `src/cli/schemas/configuration-v1.json`, so that the program need not contain the generator.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use crate::config::keys::TABLES;
use crate::config::{default_text, read};
use proctor_model::Problem;

/// A value of each kind that TOML has and a setting could take, with the schema's word for the kind.
const KINDS: [(&str, &str); 6] = [
    ("\"a.b-c\"", "string"),
    ("7", "integer"),
    ("1.5", "number"),
    ("true", "boolean"),
    ("[\"a.b-c\"]", "array"),
    ("{ A = \"1\" }", "object"),
];

fn is_table(path: &str) -> bool {
    TABLES.iter().any(|known| known.name == path)
}

/// Returns the least text around one setting in which nothing else is wrong.
fn document(table: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}\n");
    let how = if ["url", "port", "command"].contains(&key) { "" } else { "port = 1, " };
    let (outer, line) = match table.split_once('.') {
        Some((outer, "ready")) => (outer, format!("service = true\nready = {{ {how}{key} = {value} }}\n")),
        Some((outer @ ("check" | "prerequisite" | "project"), inner)) => (outer, format!("{inner} = {{ {key} = {value} }}\n")),
        Some(_) | None => (table, line),
    };
    let key = if outer == table { key } else { "" };
    let least = match outer {
        "check" | "prerequisite" | "cleanup" => [("name", "\"n\""), ("command", "\"true\"")]
            .into_iter()
            .filter(|(least, _)| *least != key)
            .map(|(least, value)| format!("{least} = {value}\n"))
            .collect(),
        _ => String::new(),
    };
    let header = if least.is_empty() { format!("[{outer}]\n") } else { format!("[[{outer}]]\n") };
    format!("{header}{least}{line}")
}

/// Returns what the reader says against one value of a setting.
fn against(table: &str, key: &str, value: &str) -> Vec<Problem> {
    let problems = read(&document(table, key, value), "proctor.toml").err().unwrap_or_default();
    let last = |problem: &Problem| {
        let pointer = problem.pointer.rsplit_once('.').map_or(problem.pointer.as_str(), |(_, last)| last).to_owned();
        pointer.split('[').next().unwrap_or_default().to_owned()
    };
    problems.into_iter().filter(|problem| last(problem) == key || problem.pointer.contains(&format!(".{key}["))).collect()
}

fn is_of_wrong_kind(problem: &Problem) -> bool {
    problem.message.starts_with("expected ") && problem.message.contains(", found ")
}

/// Returns the words that a message lists, if they are all that a setting takes.
fn listed(problem: &Problem) -> Option<Vec<&str>> {
    let words = problem.message.strip_prefix("expected one of ").or_else(|| problem.message.strip_prefix("expected "))?;
    let words: Vec<&str> = words.split('"').skip(1).step_by(2).collect();
    (!words.is_empty()).then_some(words)
}

fn of_words(problems: &[Problem], is_element: bool) -> Value {
    let about = problems.iter().filter(|problem| problem.pointer.ends_with(']') == is_element);
    match about.filter(|problem| !is_of_wrong_kind(problem)).find_map(listed) {
        Some(words) => json!({ "type": "string", "enum": words }),
        None => json!({ "type": "string" }),
    }
}

fn of_elements(table: &str, key: &str) -> Value {
    let numbers = against(table, key, "[7]");
    if !numbers.iter().any(is_of_wrong_kind) {
        return json!({ "type": "integer" });
    }
    of_words(&against(table, key, "[\"a.b-c\"]"), true)
}

/// Returns what may stand in the place of one setting.
fn of_key(table: &str, key: &str) -> Value {
    let mut kinds = Vec::new();
    for (value, kind) in KINDS {
        let problems = against(table, key, value);
        // A list or a table of the wrong elements is still one.
        let is_wrong = |problem: &Problem| {
            let is_no_word = kind != "string" && listed(problem).is_some();
            (is_of_wrong_kind(problem) || is_no_word) && !problem.pointer.ends_with(']')
        };
        if problems.iter().any(is_wrong) {
            continue;
        }
        kinds.push(match kind {
            "string" => of_words(&problems, false),
            "array" => json!({ "type": "array", "items": of_elements(table, key) }),
            "number" if !problems.is_empty() => continue,
            _ => json!({ "type": kind }),
        });
    }
    let takes_texts = kinds.iter().any(|kind| kind["type"] == "string");
    if !takes_texts && against(table, key, "\"off\"").is_empty() {
        kinds.push(json!({ "const": "off" }));
    }
    assert!((1..4).contains(&kinds.len()), "`{key}` of [{table}] takes {kinds:?}");
    match <[Value; 1]>::try_from(kinds) {
        Ok([only]) => only,
        Err(several) => json!({ "anyOf": several }),
    }
}

/// Returns the lines that explain a setting in the default text, as one text.
fn explanation(table: &str, key: &str) -> Option<String> {
    let (mut here, mut lines): (String, Vec<&str>) = (String::new(), Vec::new());
    for line in default_text().lines() {
        let live = line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
        if let Some(comment) = line.strip_prefix("# ") {
            lines.push(comment);
            continue;
        }
        if let Some(header) = live.strip_prefix('[') {
            here = header.trim_matches(['[', ']']).to_owned();
            if here == key && table.is_empty() || here == format!("{table}.{key}") {
                return None;
            }
        } else if here == table && live.split_once(" = ").is_some_and(|(name, _)| name == key) {
            return (!lines.is_empty()).then(|| lines.join(" "));
        }
        lines.clear();
    }
    None
}

fn of_table(name: &str) -> Value {
    let known = TABLES.iter().find(|known| known.name == name).expect("it is listed");
    let mut properties = Map::new();
    for key in &known.keys {
        let path = if name.is_empty() { (*key).to_owned() } else { format!("{name}.{key}") };
        let mut schema = match is_table(&path) {
            true if ["check", "prerequisite", "cleanup"].contains(key) => json!({ "type": "array", "items": of_table(&path) }),
            true => of_table(&path),
            false => of_key(name, key),
        };
        if let Some(explanation) = explanation(name, key) {
            schema["description"] = json!(explanation);
        }
        properties.insert((*key).to_owned(), schema);
    }
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn schema() -> Value {
    let mut schema = of_table("");
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["$id"] = json!("urn:proctor:schema:configuration-v1");
    schema["title"] = json!("Settings of proctor: `proctor.toml`, version 1");
    schema
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(i64::from_str_radix(number.as_str(), number.radix()).expect("it is a number")),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().expect("it is a number")),
        DeValue::Boolean(value) => json!(value),
        DeValue::Datetime(time) => json!(time.to_string()),
        DeValue::Array(elements) => elements.iter().map(|element| to_json(element.get_ref())).collect(),
        DeValue::Table(table) => of_toml(table),
    }
}

fn of_toml(table: &DeTable<'_>) -> Value {
    Value::Object(table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect())
}

fn complaints(text: &str) -> Vec<String> {
    let document = of_toml(DeTable::parse(text).expect("it is TOML").get_ref());
    let validator = jsonschema::validator_for(&schema()).expect("the schema is one");
    validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever changes a setting has the file written anew by this test")]
fn the_committed_schema_is_what_the_reader_says() {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/cli/schemas/configuration-v1.json"));
    let made = serde_json::to_string_pretty(&schema()).expect("a schema is JSON") + "\n";
    if std::env::var_os("PROCTOR_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).expect("the source tree is writable");
    }
    let committed = std::fs::read_to_string(&path).expect("the schema is part of the repository");
    assert_eq!(committed, made, "`PROCTOR_UPDATE_SCHEMA=1 cargo test -p proctor-plan --lib schema` writes it anew");
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    assert_eq!(complaints(&super::sample()), Vec::<String>::new());
    for right in [
        "[[check]]\nname = \"a\"\ncommand = [\"make\", \"check\"]\ntimeout = 90\nreuse = \"always\"\nidle_timeout = \"off\"\n",
        "[[check]]\nname = \"a\"\ncommand = \"make check\"\npolicy = { block_on = \"never\", max_warnings = 0 }\n",
        "[run]\nparallel = true\n[evidence]\nalso = [\"junit\", \"sarif\"]\n[specification]\nvalues = { PORT = 3000, HOST = \"a\" }\n",
        "[policy]\nlinting = \"warn-only\"\n[policy.eslint]\nmax_warnings = 3\n",
    ] {
        assert!(read(right, "proctor.toml").is_ok(), "{right}");
        assert_eq!(complaints(right), Vec::<String>::new(), "{right}");
    }
}

#[test]
fn a_wrong_key_kind_or_word_is_marked() {
    for (wrong, place) in [
        ("[[check]]\nname = \"a\"\ncommand = \"x\"\ntimout = 3\n", "/check/0"),
        ("[watch]\nquiet = true\n", "/watch/quiet"),
        ("[watch]\non_change = \"restarts\"\n", "/watch/on_change"),
        ("[evidence]\nalso = [\"junits\"]\n", "/evidence/also/0"),
        ("[sandbox]\nmode = \"required\"\n", "/sandbox/mode"),
        ("[gate]\nchecks = [1]\n", "/gate/checks/0"),
        ("[sandbx]\n", ""),
    ] {
        assert!(read(wrong, "proctor.toml").is_err(), "{wrong}");
        let complaints = complaints(wrong);
        assert!(complaints.iter().any(|complaint| complaint.starts_with(&format!("{place}: "))), "{wrong} {complaints:?}");
    }
}
