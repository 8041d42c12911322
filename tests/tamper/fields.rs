//! Changes every value of every document and of the index, one at a time.

use std::fs;
use std::path::PathBuf;

use rusqlite::types::Value as Cell;
use serde_json::Value;

use crate::common::Extent;
use crate::tamper::victim::{Made, Victim, write};
use crate::tamper::{SAMPLE, all_are_named};

/// Returns another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::from("something"),
        Value::Bool(truth) => Value::from(!truth),
        Value::Number(number) => Value::from(number.as_f64().unwrap_or_default() + 1.0),
        Value::String(text) => {
            let mut characters: Vec<char> = text.chars().collect();
            match characters.last_mut() {
                Some(last) => *last = if *last == '0' { '1' } else { '0' },
                None => characters.push('x'),
            }
            Value::from(characters.into_iter().collect::<String>())
        }
        Value::Array(_) | Value::Object(_) => Value::Null,
    }
}

/// Adds the JSON pointers of all values to `found`, except lists and maps that are not empty.
fn leaves(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            map.iter().for_each(|(key, value)| {
                leaves(value, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found)
            });
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter().enumerate().for_each(|(position, value)| leaves(value, &format!("{pointer}/{position}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            found.push(pointer.to_owned());
        }
    }
}

/// Returns all documents that differ from this one in exactly one value, each with the pointer of that value.
fn every_change(document: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    leaves(document, "", &mut pointers);
    let change = |pointer: String| {
        let mut other = document.clone();
        let value = other.pointer_mut(&pointer).expect("it was just found");
        *value = changed(value);
        (pointer, other)
    };
    pointers.into_iter().map(change).collect()
}

#[track_caller]
fn in_file(extent: Extent, what: &str, path: fn(&Victim) -> PathBuf) {
    let made = Made::get();
    let document = serde_json::from_slice(&fs::read(path(&made.copy())).expect("it is there")).expect("it is JSON");
    let change = |(pointer, value): (String, Value)| {
        let victim = made.copy();
        write(&path(&victim), &serde_json::to_vec_pretty(&value).expect("it is JSON"));
        (format!("{what}{pointer}"), victim)
    };
    all_are_named(extent.of(every_change(&document)).into_iter().map(change).collect());
}

/// Changes a sample of the values of ledger lines, a report, a start record and a key, one value at a time. Each change
/// must be found. The values of the index are changed in the long tier only.
#[test]
fn some_values_of_lines_reports_start_records_and_keys_are_bound() {
    let made = Made::get();
    every_value_is_bound(SAMPLE, || made.copy());
    in_file(SAMPLE, "report", |victim| victim.run(1).join("execution-report.json"));
    in_file(SAMPLE, "run.json", |victim| victim.run(1).join("run.json"));
    in_file(SAMPLE, "key 1", |victim| victim.key_file("key-0001"));
}

#[test]
#[ignore = "long tier"]
fn every_value_of_every_kind_of_line_is_bound() {
    let made = Made::get();
    every_value_is_bound(Extent::All, || made.copy());
}

/// Changes the values of ledger lines that `extent` selects, one at a time. Only the last line of each kind is changed.
#[track_caller]
fn every_value_is_bound(extent: Extent, copy: impl Fn() -> Victim) {
    let mut seen = std::collections::BTreeSet::new();
    let lines = copy().lines();
    let mut changes = Vec::new();
    for (number, line) in lines.iter().enumerate().rev() {
        let document: Value = serde_json::from_str(line).expect("a line is JSON");
        // Only the last line of each kind: the change must be found without the lines after it.
        let is_new = seen.insert(document["body"]["kind"].as_str().expect("it has a kind").to_owned());
        if !is_new {
            continue;
        }
        let mut pointers = Vec::new();
        leaves(&document, "", &mut pointers);
        for pointer in extent.of(pointers) {
            let victim = copy();
            // The text is edited in place, so that only this value differs from the signed line.
            let mut value = document.clone();
            let leaf = value.pointer_mut(&pointer).expect("it was just found");
            let (before, after) = (leaf.clone(), changed(leaf));
            let key = pointer.rsplit('/').next().expect("a pointer has a key");
            let from = format!("\"{key}\":{before}");
            let Some(position) = line.rfind(&from) else { continue };
            let mut edited = lines.clone();
            edited[number].replace_range(position..position + from.len(), &format!("\"{key}\":{after}"));
            victim.write_lines(&edited);
            changes.push((format!("line {} {pointer}", number + 1), victim));
        }
    }
    assert!(extent != Extent::All || changes.len() > 15, "{}", changes.len());
    all_are_named(changes);
}

#[test]
#[ignore = "long tier"]
fn every_value_of_a_report_is_bound() {
    in_file(Extent::All, "report", |victim| victim.run(1).join("execution-report.json"));
}

#[test]
#[ignore = "long tier"]
fn every_value_of_a_start_record_is_bound() {
    in_file(Extent::All, "run.json", |victim| victim.run(1).join("run.json"));
}

#[test]
#[ignore = "long tier"]
fn every_value_of_the_records_of_keys_is_bound() {
    in_file(Extent::All, "key 1", |victim| victim.key_file("key-0001"));
    in_file(Extent::All, "key 2", |victim| victim.key_file("key-0002"));
}

#[test]
#[ignore = "long tier"]
fn every_cell_of_the_index_is_bound() {
    let made = Made::get();
    let tables = ["positions", "projects", "runs", "tdd", "configuration"];
    let mut changes = Vec::new();
    for table in tables {
        let columns: Vec<String> = {
            let victim = made.copy();
            let database = victim.database();
            let statement = database.prepare(&format!("SELECT * FROM {table}")).expect("the table is there");
            statement.column_names().map(str::to_owned).collect()
        };
        for column in columns {
            let victim = made.copy();
            let database = victim.database();
            let cell: Cell = database
                .query_row(&format!("SELECT {column} FROM {table} LIMIT 1"), [], |row| row.get(0))
                .unwrap_or_else(|error| panic!("{table}.{column}: {error}"));
            let other = match cell {
                Cell::Integer(number) => Cell::Integer(number + 1),
                Cell::Text(text) => Cell::Text(format!("{text}0")),
                Cell::Null => Cell::Text("0".to_owned()),
                Cell::Real(_) | Cell::Blob(_) => continue,
            };
            // Only one row is changed, since a column's values may have to be unique. A change that the table refuses is skipped.
            let filter = format!("{column} IS (SELECT {column} FROM {table} LIMIT 1)");
            let update = format!("UPDATE OR REPLACE {table} SET {column} = ?1 WHERE {filter}");
            if database.execute(&update, [other]).is_ok() {
                drop(database);
                changes.push((format!("{table}.{column}"), victim));
            }
        }
    }
    assert!(changes.len() > 20, "{}", changes.len());
    all_are_named(changes);
}
