//! Reads the text of a specification, or finds all of its errors at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::config::SpecificationSettings;
use crate::spec::specification::address::encode_addresses;
use crate::spec::specification::fill::{
    FilledPlaceholder, Filling, OpenPlaceholder, fill, open_placeholders, quote_bare, restore_bare, with_stand_ins,
};
use crate::spec::specification::lacking::{lacking_values, names_with_lines};
use crate::spec::specification::lint::{Subject, lint};
use crate::spec::specification::outline::{OutlinedAction, TaskOutline, outline_actions, outline_tasks};
use crate::spec::specification::raw::RawSpecification;
use crate::spec::specification::scan::{Places, scan};
use crate::spec::specification::shape::{ShapeFault, shape_faults};
use proctor_model::{BrokenRule, Problem, TextPosition};

/// The ending of the names of specification files. proctor looks for tasks only in files with this ending.
pub const SPECIFICATION_SUFFIX: &str = "test-specification.json";

const LONGEST_TEXT: usize = 16 << 20;

const MOST_FAULTS: usize = 500;

/// The key by which files of the format before schema 2.0.0 are recognised.
const OLD_FAMILY: &str = "testPlanVersion";

/// The code of the error about placeholders without a value. A placeholder causes all other faults of the same value.
const PLACEHOLDER: &str = "PLACEHOLDER";

/// The code of the error about a secret at a place that is recorded.
const SECRET_PLACE: &str = "SECRET_PLACE";

/// The code of the note about a character of an address that is sent percent-encoded.
const URL_CHARACTER: &str = "URL_CHARACTER";

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
    /// The placeholders that were filled, by name.
    pub filled: BTreeMap<String, FilledPlaceholder>,
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
    /// The placeholders that were filled, by name, even of a specification with hard faults.
    pub filled: BTreeMap<String, FilledPlaceholder>,
}

impl SpecificationReading {
    fn nothing(fault: Problem) -> Self {
        let (tasks, actions) = (Vec::new(), Vec::new());
        Self { specification: None, tasks, faults: vec![fault], actions, filled: BTreeMap::new() }
    }

    /// Returns the reading of a file whose text could not be read: its only fault says why. `position` is the place of the
    /// first byte that is no UTF-8, if that is why.
    pub fn unreadable(file: &str, reason: &str, position: Option<TextPosition>, hint: &str) -> Self {
        let problem = Problem { rule: Some(plain_rule("UNREADABLE")), ..Problem::new("", reason) };
        Self::nothing(problem.within(file, position).hint(hint))
    }

    /// Returns whether a value has an unfilled placeholder. No other fault of such a value is reported.
    pub fn is_unfilled(&self, pointer: &str) -> bool {
        self.faults.iter().any(|fault| [PLACEHOLDER, SECRET_PLACE].contains(&fault.code()) && fault.is_at(pointer))
    }
}

/// The text of a specification with the positions of its values, from which faults get their line and column.
struct Text<'t> {
    file: &'t str,
    text: &'t str,
    places: Places,
    lines: LineIndex,
}

/// Reads the text of a specification and leaves its placeholders unfilled. Faults refer to the file as `file`.
pub fn read_specification(text: &str, file: &str, surroundings: SpecificationContext<'_>) -> SpecificationReading {
    read_filled_specification(text, file, surroundings, &SpecificationSettings::default())
}

/// Reads the text of a specification, and fills its placeholders from `settings`. Faults refer to the file as `file`.
pub fn read_filled_specification(
    text: &str,
    file: &str,
    surroundings: SpecificationContext<'_>,
    settings: &SpecificationSettings,
) -> SpecificationReading {
    let (text, bare) = quote_bare(without_mark(text));
    let text: &str = &text;
    let mut document = match parse(text, file) {
        Ok(document) => document,
        Err(fault) => return SpecificationReading::nothing(*fault),
    };
    let mut text = Text { file, text, places: scan(text), lines: LineIndex::new(text) };
    if document.get(OLD_FAMILY).is_some() {
        return SpecificationReading::nothing(text.old_family());
    }
    let mut faults = text.duplicates();
    let bare = restore_bare(&mut document, &text.places, &bare);
    let filling = fill(&mut document, settings, &bare);
    filling.renamed.iter().for_each(|(old, new)| text.places.rename(old, new));
    let rule = || Some(BrokenRule { schema_path: format!("#/lint/{URL_CHARACTER}"), ..plain_rule(URL_CHARACTER) });
    let encoded = encode_addresses(&mut document).into_iter();
    faults.extend(encoded.map(|note| text.with_position(Problem { rule: rule(), ..note })));
    let tasks = outline_tasks(&document, &|pointer| text.position(text.places.of_key(pointer)));
    let shape = shape_of(&mut document, &filling);
    shape.iter().filter_map(|fault| fault.unknown.as_deref()).for_each(|pointer| remove(&mut document, pointer));
    faults.extend(shape.into_iter().map(|fault| text.placed_shape(fault)));
    let open = open_placeholders(&document, &filling);
    let lacking = text.lacking_values(&open, settings, &filling);
    let unfilled: BTreeSet<&str> = open.iter().filter(|one| !one.is_text).map(|one| one.pointer.as_str()).collect();
    faults.extend(lacking);
    faults.extend(text.misplaced_secrets(&filling));
    // Unknown keys are reported as faults and then removed, so that the other keys can still be parsed and linted in
    // the same pass.
    let raw = match RawSpecification::deserialize(&document) {
        Ok(raw) => {
            let findings = lint(&Subject::new(&raw, &document, surroundings.project_root, &open));
            faults.extend(findings.into_iter().map(|(row, found)| {
                let schema_path = format!("#/lint/{}", row.code);
                let rule = BrokenRule { schema_path, params: json!({ "source": row.source }), ..plain_rule(row.code) };
                text.with_position(Problem { gravity: row.gravity, rule: Some(rule), ..found })
            }));
            Some(raw)
        }
        Err(error) => {
            if faults.is_empty() {
                let message = format!("the document has a value of the wrong kind: {error}");
                let rule = BrokenRule { keyword: "type".to_owned(), ..plain_rule("SCHEMA") };
                faults.push(text.with_position(Problem { rule: Some(rule), ..Problem::new("", message) }));
            }
            None
        }
    };
    // The placeholder causes every other fault of its value, because it is not a valid URL, path or name.
    let is_of_placeholder = |fault: &Problem| unfilled.contains(fault.pointer.as_str()) || filling.is_misplaced(&fault.pointer);
    faults.retain(|fault| [PLACEHOLDER, SECRET_PLACE].contains(&fault.code()) || !is_of_placeholder(fault));
    faults.sort_by_key(|fault| (fault.position, fault.gravity));
    faults.truncate(MOST_FAULTS);
    let runs = !faults.iter().any(Problem::is_hard);
    let filled = filling.filled;
    let specification = raw.filter(|_| runs).map(|raw| Specification { file: file.to_owned(), raw, filled: filled.clone() });
    let actions = outline_actions(&document, &faults);
    SpecificationReading { specification, tasks, faults, actions, filled }
}

/// Returns the document's violations of the schema. Before that, a placeholder that was filled by a number becomes a number
/// where the schema wants one.
fn shape_of(document: &mut Value, filling: &Filling) -> Vec<ShapeFault> {
    let look = |document: &Value| match with_stand_ins(document, filling) {
        Some(shown) => shape_faults(&shown),
        None => shape_faults(document),
    };
    let shape = look(document);
    let is_of_type = |fault: &&ShapeFault| fault.problem.rule.as_ref().is_some_and(|rule| rule.keyword == "type");
    let wrong_types = shape.iter().filter(is_of_type).map(|fault| fault.problem.pointer.as_str());
    if filling.retype(document, wrong_types) { look(document) } else { shape }
}

/// Returns a text without the byte order mark that some editors write in front of it. Positions are counted without it too.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
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
    fn with_position(&self, problem: Problem) -> Problem {
        let position = self.position(self.places.of_value(&problem.pointer));
        problem.within(self.file, position)
    }

    /// Adds the file's name and the position of the unknown key or the wrong value.
    fn placed_shape(&self, shape: ShapeFault) -> Problem {
        match shape.unknown {
            Some(pointer) => shape.problem.within(self.file, self.position(self.places.of_key(&pointer))),
            None => self.with_position(shape.problem),
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

    /// Returns the one error about all placeholders without a value: each name with its lines, and how values are given.
    fn lacking_values(&self, open: &[OpenPlaceholder], settings: &SpecificationSettings, filling: &Filling) -> Option<Problem> {
        let open: Vec<&OpenPlaceholder> = open.iter().filter(|one| !one.is_text).collect();
        let first = open.iter().min_by_key(|one| self.places.of_value(&one.pointer))?;
        let names = names_with_lines(&open, |one| self.position(self.places.of_value(&one.pointer)));
        let place = self.places.of_value(&first.pointer);
        let pointers: BTreeSet<&str> = open.iter().map(|one| one.pointer.as_str()).collect();
        let rule = BrokenRule {
            schema_path: format!("#/lint/{PLACEHOLDER}"),
            params: json!({
                "source": "generated files",
                "names": names.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "pointers": pointers,
            }),
            ..plain_rule(PLACEHOLDER)
        };
        let problem = Problem { rule: Some(rule), ..lacking_values(&first.pointer, &names, settings, filling) };
        Some(problem.within(self.file, self.position(place)))
    }

    fn misplaced_secrets(&self, filling: &Filling) -> Vec<Problem> {
        let problems = filling.misplaced_secrets.iter().map(|(pointer, name)| {
            let message = format!("`{name}` is a secret (`from_environment`), and this value is recorded");
            let rule = BrokenRule { schema_path: format!("#/lint/{SECRET_PLACE}"), ..plain_rule(SECRET_PLACE) };
            let problem = Problem { rule: Some(rule), ..Problem::new(pointer, message) };
            self.with_position(problem).hint(format!(
                "a secret may stand in `environment`, in `connectionString`, and in `url`, `headers` and `body` of a request: for a command, write \
                 `\"environment\": {{\"{name}\": \"{{{{{name}}}}}\"}}` and let it read the variable; what is no secret is given by `--set` \
                 or `[specification.values]`"
            ))
        });
        problems.collect()
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
        self.with_position(problem).hint(
            "write it anew in the format that is marked by `\"schemaVersion\": \"2.0.0\"`; `proctor generate schema` prints its schema",
        )
    }
}

// Finds the line and column of a byte offset without counting from the beginning of the text each time.

/// The distance between two known positions in bytes. A look-up reads at most about as many bytes of the text.
const SPACING: usize = 1024;

/// The known positions of a text, one every [`SPACING`] bytes. Lines are counted only from the nearest known position.
#[derive(Debug, Default)]
pub(super) struct LineIndex {
    /// Byte offsets in ascending order with their positions; offset 0 is left out.
    known: Vec<(usize, TextPosition)>,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let mut index = Self::default();
        for offset in (SPACING..text.len()).step_by(SPACING) {
            let offset = text.floor_char_boundary(offset);
            index.known.push((offset, index.place(text, offset)));
        }
        index
    }

    /// Returns the position of a byte offset; the result equals [`TextPosition::of`]. `text` must be the text of this
    /// index.
    pub(super) fn place(&self, text: &str, offset: usize) -> TextPosition {
        let behind = self.known.partition_point(|(known, _)| *known <= offset);
        let Some((start, known)) = behind.checked_sub(1).map(|last| self.known[last]) else {
            return TextPosition::of(text, offset);
        };
        let within = TextPosition::of(&text[start..], offset - start);
        let column = if within.line == 1 { known.column + within.column - 1 } else { within.column };
        TextPosition { line: known.line + within.line - 1, column }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    #[track_caller]
    fn assert_counts(text: &str) {
        let index = LineIndex::new(text);
        for offset in 0..=text.len() + 1 {
            assert_eq!(index.place(text, offset), TextPosition::of(text, offset), "{text:?} {offset}");
        }
    }

    #[test]
    fn a_place_is_the_one_that_counting_from_the_top_gives() {
        for text in ["", "\n", "a", "a\n\nbä\nc", "ü\nü\n", "{\n  \"a\": [\n1,\n2]}\n"] {
            assert_counts(text);
        }
        // Multiples of `SPACING` fall inside a character, directly after a newline, and several times into one line.
        assert_counts(&"a€".repeat(900));
        assert_counts(&format!("{}\n{}\n", "ä".repeat(511), "b".repeat(2100)));
    }

    proptest! {
        #[test]
        fn a_place_in_any_text_is_the_one_that_counting_gives(parts in prop::collection::vec("[a€\n]|[a-z]{200,400}", 0..14)) {
            assert_counts(&parts.concat());
        }
    }

    #[test]
    fn no_place_is_counted_from_further_than_the_spacing() {
        let text = "x".repeat(10 * SPACING);
        let index = LineIndex::new(&text);
        let known: Vec<usize> = index.known.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(known, (1..10).map(|times| times * SPACING).collect::<Vec<_>>());
    }
}
