//! Reads the text of a specification, or finds all of its errors at once.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::model::{BrokenRule, Problem, TextPosition};
use crate::spec::specification::line_index::LineIndex;
use crate::spec::specification::lint::{Subject, lint};
use crate::spec::specification::outline::{OutlinedAction, TaskOutline, outline_actions, outline_tasks};
use crate::spec::specification::raw::RawSpecification;
use crate::spec::specification::scan::{Places, scan};
use crate::spec::specification::shape::{ShapeFault, shape_faults};

/// The ending of the names of specification files. proctor looks for tasks only in files with this ending.
pub const SPECIFICATION_SUFFIX: &str = "test-specification.json";

const LONGEST_TEXT: usize = 16 << 20;

const MOST_FAULTS: usize = 500;

/// The key by which files of the format before schema 2.0.0 are recognised.
const OLD_FAMILY: &str = "testPlanVersion";

/// The code of the lint rule for placeholders. A placeholder causes all other faults of the same value.
const PLACEHOLDER: &str = "PLACEHOLDER";

/// The project to which a specification belongs. The paths in the specification must stay inside of this project.
#[derive(Debug, Clone, Copy)]
pub struct SpecificationContext<'s> {
    pub project_root: &'s Path,
}

/// A specification without faults that prevent a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Specification {
    /// The file's name as the caller of `read_specification` gave it.
    pub file: String,
    pub raw: RawSpecification,
}

/// The result of reading a specification: either it can be run, or its faults say why not.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecificationReading {
    /// The specification; `None` if the text has a hard fault and cannot be run.
    pub specification: Option<Specification>,
    /// The tasks, sorted by their ids, even of a specification with hard faults.
    pub tasks: Vec<TaskOutline>,
    /// All faults, in the order of the file.
    pub faults: Vec<Problem>,
    /// The actions of all tasks, even of a specification with hard faults.
    pub actions: Vec<OutlinedAction>,
}

impl SpecificationReading {
    fn nothing(fault: Problem) -> Self {
        Self { specification: None, tasks: Vec::new(), faults: vec![fault], actions: Vec::new() }
    }

    /// Returns the reading of a file whose text could not be read: its only fault says why. `position` is the place of the
    /// first byte that is no UTF-8, if that is why.
    pub fn unreadable(file: &str, reason: &str, position: Option<TextPosition>, hint: &str) -> Self {
        let problem = Problem { rule: Some(plain_rule("UNREADABLE")), ..Problem::new("", reason) };
        Self::nothing(problem.within(file, position).hint(hint))
    }
}

/// The text of a specification with the positions of its values, from which faults get their line and column.
struct Text<'t> {
    file: &'t str,
    text: &'t str,
    places: Places,
    lines: LineIndex,
}

/// Reads the text of a specification. Faults refer to the file as `file`.
pub fn read_specification(text: &str, file: &str, surroundings: SpecificationContext<'_>) -> SpecificationReading {
    let mut document = match parse(text, file) {
        Ok(document) => document,
        Err(fault) => return SpecificationReading::nothing(*fault),
    };
    let text = Text { file, text, places: scan(text), lines: LineIndex::new(text) };
    if document.get(OLD_FAMILY).is_some() {
        return SpecificationReading::nothing(text.old_family());
    }
    let tasks = outline_tasks(&document, &|pointer| text.position(text.places.of_key(pointer)));
    let mut faults = text.duplicates();
    let shape = shape_faults(&document);
    shape.iter().filter_map(|fault| fault.unknown.as_deref()).for_each(|pointer| remove(&mut document, pointer));
    faults.extend(shape.into_iter().map(|fault| text.placed_shape(fault)));
    // Unknown keys are reported as faults and then removed, so that the other keys can still be parsed and linted in
    // the same pass.
    let raw = match RawSpecification::deserialize(&document) {
        Ok(raw) => {
            let findings = lint(&Subject::new(&raw, &document, surroundings.project_root));
            faults.extend(findings.into_iter().map(|(row, found)| {
                let schema_path = format!("#/lint/{}", row.code);
                let rule = BrokenRule { schema_path, params: json!({ "source": row.source }), ..plain_rule(row.code) };
                text.placed(Problem { gravity: row.gravity, rule: Some(rule), ..found })
            }));
            Some(raw)
        }
        Err(error) => {
            if faults.is_empty() {
                let message = format!("the document has a value of the wrong kind: {error}");
                let rule = BrokenRule { keyword: "type".to_owned(), ..plain_rule("SCHEMA") };
                faults.push(text.placed(Problem { rule: Some(rule), ..Problem::new("", message) }));
            }
            None
        }
    };
    drop_what_follows(&mut faults);
    faults.sort_by_key(|fault| (fault.position, fault.gravity));
    faults.truncate(MOST_FAULTS);
    let runs = !faults.iter().any(Problem::is_hard);
    let specification = raw.filter(|_| runs).map(|raw| Specification { file: file.to_owned(), raw });
    let actions = outline_actions(&document, &faults);
    SpecificationReading { specification, tasks, faults, actions }
}

fn parse(text: &str, file: &str) -> Result<Value, Box<Problem>> {
    let no_json = |message: String, position: Option<TextPosition>| {
        let problem = Problem { rule: Some(plain_rule("SYNTAX")), ..Problem::new("", message) };
        problem.within(file, position)
    };
    if text.len() > LONGEST_TEXT {
        let message = format!("the file is longer than {LONGEST_TEXT} bytes");
        let hint = "a specification of this size is none; see whether it is the right file";
        return Err(Box::new(no_json(message, None).hint(hint)));
    }
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        let position = TextPosition { line: error.line(), column: error.column() };
        let problem = no_json(format!("not valid JSON: {said}"), Some(position).filter(|position| position.line > 0));
        Box::new(problem.hint("mend the text there; JSON has no comments and no trailing commas"))
    })
}

/// Removes other faults of a value with a placeholder: the placeholder causes them, because it is not a valid URL, path
/// or name.
fn drop_what_follows(faults: &mut Vec<Problem>) {
    let placeholders: BTreeSet<String> =
        faults.iter().filter(|fault| fault.code() == PLACEHOLDER).map(|fault| fault.pointer.clone()).collect();
    faults.retain(|fault| fault.code() == PLACEHOLDER || !placeholders.contains(&fault.pointer));
}

fn remove(document: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    if let Some(object) = document.pointer_mut(parent).and_then(Value::as_object_mut) {
        object.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
}

/// Returns a broken rule with this code; all other fields have general values, which callers replace by more exact
/// ones.
fn plain_rule(code: &str) -> BrokenRule {
    let (code, schema_path, keyword) = (code.to_owned(), "#".to_owned(), "lint".to_owned());
    BrokenRule { code, schema_path, keyword, params: json!({}), value: None }
}

impl Text<'_> {
    fn position(&self, offset: usize) -> Option<TextPosition> {
        Some(self.lines.place(self.text, offset))
    }

    /// Adds the file's name and the position of the value that the problem is about.
    fn placed(&self, problem: Problem) -> Problem {
        let position = self.position(self.places.of_value(&problem.pointer));
        problem.within(self.file, position)
    }

    /// Adds the file's name and the position of the unknown key or the wrong value.
    fn placed_shape(&self, shape: ShapeFault) -> Problem {
        match shape.unknown {
            Some(pointer) => shape.problem.within(self.file, self.position(self.places.of_key(&pointer))),
            None => self.placed(shape.problem),
        }
    }

    fn duplicates(&self) -> Vec<Problem> {
        let message = "the key is written twice in its object, and readers differ in which one they take";
        let faults = self.places.duplicates.iter().map(|(pointer, offset)| {
            let rule = BrokenRule { keyword: "uniqueKeys".to_owned(), ..plain_rule("DUPLICATE_KEY") };
            let problem = Problem { rule: Some(rule), ..Problem::new(pointer, message) };
            problem.within(self.file, self.position(*offset)).hint("keep one of the two")
        });
        faults.collect()
    }

    fn old_family(&self) -> Problem {
        let message = format!("the file is a test plan of the family that is marked by `{OLD_FAMILY}`, not a test specification");
        let rule = BrokenRule {
            schema_path: "#/properties/schemaVersion".to_owned(),
            keyword: "const".to_owned(),
            params: json!({ "allowedValue": "2.0.0" }),
            ..plain_rule("FORMAT_VERSION")
        };
        let problem = Problem { rule: Some(rule), ..Problem::new(format!("/{OLD_FAMILY}"), message) };
        self.placed(problem).hint(
            "write it anew in the format that is marked by `\"schemaVersion\": \"2.0.0\"`; `proctor schema` prints its schema",
        )
    }
}
