//! From a text to a specification, or to everything that is wrong with it at once.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::spec::specification::fault::{Gravity, SpecificationFault};
use crate::spec::specification::invalid::{InvalidAction, invalid_actions};
use crate::spec::specification::line_index::LineIndex;
use crate::spec::specification::lint::{Subject, lint};
use crate::spec::specification::raw::RawSpecification;
use crate::spec::specification::scan::{Places, scan};
use crate::spec::specification::shape::{ShapeFault, shape_faults};

/// What the names of specification files end with.
pub const SPECIFICATION_SUFFIX: &str = "test-specification.json";

/// The longest text that is read, in bytes.
const LONGEST_TEXT: usize = 16 << 20;

/// The most faults that are returned.
const MOST_FAULTS: usize = 500;

/// The key by which the files of the family before schema 2.0.0 are known.
const OLD_FAMILY: &str = "testPlanVersion";

/// The rule whose finding explains all others about the same value.
const PLACEHOLDER: &str = "PLACEHOLDER";

/// What is around a specification.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'s> {
    /// The root of the project the file belongs to.
    pub project_root: &'s Path,
}

/// A specification that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Specification {
    /// The file as it was named to the reader.
    pub file: String,
    /// What it says.
    pub raw: RawSpecification,
}

/// What reading a text came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The specification; none where a fault is hard.
    pub specification: Option<Specification>,
    /// The keys of `tasks`, sorted, also of a specification that cannot be run; empty where there are none.
    pub tasks: Vec<String>,
    /// What is wrong with it, in the order of the file.
    pub faults: Vec<SpecificationFault>,
    /// The actions that hard faults stand in, as far as they can be read.
    pub invalid: Vec<InvalidAction>,
}

impl Reading {
    fn nothing(fault: SpecificationFault) -> Self {
        Self { specification: None, tasks: Vec::new(), faults: vec![fault], invalid: Vec::new() }
    }
}

/// A text and its places.
struct Text<'t> {
    file: &'t str,
    text: &'t str,
    places: Places,
    lines: LineIndex,
}

/// Reads the text of a specification; `file` is how faults name it.
pub fn read_specification(text: &str, file: &str, surroundings: Surroundings<'_>) -> Reading {
    let mut document = match parse(text, file) {
        Ok(document) => document,
        Err(fault) => return Reading::nothing(*fault),
    };
    let text = Text { file, text, places: scan(text), lines: LineIndex::new(text) };
    if document.get(OLD_FAMILY).is_some() {
        return Reading::nothing(text.old_family());
    }
    let tasks = document.get("tasks").and_then(Value::as_object).into_iter().flat_map(|tasks| tasks.keys().cloned()).collect();
    let mut faults = text.duplicates();
    let shape = shape_faults(&document);
    shape.iter().filter_map(|fault| fault.unknown.as_deref()).for_each(|pointer| remove(&mut document, pointer));
    faults.extend(shape.into_iter().map(|fault| text.of_shape(fault)));
    // Keys that are unknown are faults already; without them the rest may still be understood, and judged in the same breath.
    let raw = match RawSpecification::deserialize(&document) {
        Ok(raw) => {
            let findings = lint(&Subject::new(&raw, &document, surroundings.project_root));
            faults.extend(findings.into_iter().map(|(row, finding)| SpecificationFault {
                schema_path: format!("#/lint/{}", row.code),
                params: json!({ "source": row.source }),
                nearest: finding.nearest,
                hint: finding.hint,
                ..text.fault(row.code, row.gravity, &finding.pointer, finding.message)
            }));
            Some(raw)
        }
        Err(error) => {
            if faults.is_empty() {
                faults.push(text.fault(
                    "SCHEMA",
                    Gravity::Hard,
                    "",
                    format!("the document has a value of the wrong kind: {error}"),
                ));
            }
            None
        }
    };
    drop_what_follows(&mut faults);
    faults.sort_by_key(|fault| (fault.line, fault.column, fault.gravity));
    faults.truncate(MOST_FAULTS);
    let runs = !faults.iter().any(SpecificationFault::is_hard);
    let specification = raw.filter(|_| runs).map(|raw| Specification { file: file.to_owned(), raw });
    let invalid = invalid_actions(&document, &faults);
    Reading { specification, tasks, faults, invalid }
}

fn parse(text: &str, file: &str) -> Result<Value, Box<SpecificationFault>> {
    let whole = |code: &str, message: String, hint: &str| {
        let text = Text { file, text: "", places: Places::default(), lines: LineIndex::default() };
        let fault = text.fault(code, Gravity::Hard, "", message);
        Box::new(SpecificationFault { line: 0, column: 0, hint: Some(hint.to_owned()), ..fault })
    };
    if text.len() > LONGEST_TEXT {
        let message = format!("the file is longer than {LONGEST_TEXT} bytes");
        return Err(whole("SYNTAX", message, "a specification of this size is none; see whether it is the right file"));
    }
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let fault = whole(
            "SYNTAX",
            format!("not valid JSON: {said}"),
            "mend the text there; JSON has no comments and no trailing commas",
        );
        Box::new(SpecificationFault { line: error.line(), column: error.column(), ..*fault })
    })
}

/// A placeholder is also no URL, no path and no name: one cause is one fault.
fn drop_what_follows(faults: &mut Vec<SpecificationFault>) {
    let placeholders: BTreeSet<String> =
        faults.iter().filter(|fault| fault.code == PLACEHOLDER).map(|fault| fault.instance_path.clone()).collect();
    faults.retain(|fault| fault.code == PLACEHOLDER || !placeholders.contains(&fault.instance_path));
}

fn remove(document: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    if let Some(object) = document.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
}

impl Text<'_> {
    fn fault(&self, code: &str, gravity: Gravity, pointer: &str, message: String) -> SpecificationFault {
        let place = self.lines.place(self.text, self.places.of_value(pointer));
        SpecificationFault {
            gravity,
            code: code.to_owned(),
            file: self.file.to_owned(),
            line: place.line,
            column: place.column,
            instance_path: pointer.to_owned(),
            schema_path: "#".to_owned(),
            keyword: if code == "SCHEMA" { "type".to_owned() } else { "lint".to_owned() },
            params: json!({}),
            message,
            nearest: None,
            hint: None,
        }
    }

    fn of_shape(&self, shape: ShapeFault) -> SpecificationFault {
        let fault = self.fault("SCHEMA", Gravity::Hard, &shape.instance_path, shape.message);
        let place = shape.unknown.map(|pointer| self.lines.place(self.text, self.places.of_key(&pointer)));
        SpecificationFault {
            line: place.map_or(fault.line, |place| place.line),
            column: place.map_or(fault.column, |place| place.column),
            schema_path: shape.schema_path,
            keyword: shape.keyword,
            params: shape.params,
            nearest: shape.nearest,
            hint: shape.hint,
            ..fault
        }
    }

    fn duplicates(&self) -> Vec<SpecificationFault> {
        let faults = self.places.duplicates.iter().map(|(pointer, offset)| {
            let place = self.lines.place(self.text, *offset);
            let message = "the key is written twice in its object, and readers differ in which one they take".to_owned();
            SpecificationFault {
                line: place.line,
                column: place.column,
                keyword: "uniqueKeys".to_owned(),
                hint: Some("keep one of the two".to_owned()),
                ..self.fault("DUPLICATE_KEY", Gravity::Hard, pointer, message)
            }
        });
        faults.collect()
    }

    fn old_family(&self) -> SpecificationFault {
        let pointer = format!("/{OLD_FAMILY}");
        let message = format!("the file is a test plan of the family that is marked by `{OLD_FAMILY}`, not a test specification");
        SpecificationFault {
            schema_path: "#/properties/schemaVersion".to_owned(),
            keyword: "const".to_owned(),
            params: json!({ "allowedValue": "2.0.0" }),
            hint: Some(
                "write it anew in the format that is marked by `\"schemaVersion\": \"2.0.0\"`; `proctor schema` prints its schema"
                    .to_owned(),
            ),
            ..self.fault("FORMAT_VERSION", Gravity::Hard, &pointer, message)
        }
    }
}
