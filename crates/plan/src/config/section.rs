//! Reads the tables of `proctor.toml`. A key that the file leaves out gets its value from `default.toml`. Problems are
//! collected.
//!
//! A wrong value is reported and then treated as if its key were not written, so reading goes on and finds further
//! problems.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::keys;
use crate::config::nearest::nearest;
use crate::config::values::WrongValue;
use crate::config::written_value::WrittenValue;
use proctor_model::{Problem, TextPosition};

/// The text of `proctor.toml` while it is being read, and the problems found in it so far.
pub(super) struct Document<'t> {
    file: &'t str,
    text: &'t str,
    state: DocumentState,
    problems: Vec<Problem>,
}

/// Whether the text of `proctor.toml` is valid TOML. Missing keys are reported only for valid text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentState {
    Whole,
    /// The text has syntax errors, and the parser may have lost some of its keys.
    Recovered,
}

/// A table of `proctor.toml`. Keys that the text leaves out get their values from the same table of `default.toml`.
pub(super) struct Section<'d> {
    /// The table's name without positions in lists: `check.coverage`. `keys.rs` lists the allowed keys under this name.
    pub(super) table: String,
    /// The table's name in error messages, with positions in lists counted from 1: `check[2].coverage`.
    pub(super) path: String,
    /// The byte range of the table's header or braces in the text; `None` if the text does not have the table.
    pub(super) span: Option<Range<usize>>,
    written: Option<&'d DeTable<'d>>,
    fallback: Option<&'d DeTable<'d>>,
}

impl<'t> Document<'t> {
    pub(super) fn new(file: &'t str, text: &'t str, state: DocumentState) -> Self {
        Self { file, text, state, problems: Vec::new() }
    }

    /// Returns the problems in the order of the file, without duplicates.
    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.position);
        self.problems.dedup();
        self.problems
    }

    /// Returns the line and column of a byte offset in the text.
    pub(super) fn place(&self, offset: usize) -> TextPosition {
        TextPosition::of(self.text, offset)
    }

    /// Adds a problem with the value at a byte range. If only one element of the value is wrong, the problem points to
    /// that element.
    pub(super) fn report(&mut self, key_path: &str, span: &Range<usize>, wrong: WrongValue) {
        let span = wrong.element.as_ref().map_or(span, |(_, span)| span).clone();
        self.report_at(self.place(span.start), key_path, wrong);
    }

    /// Adds a problem at a line and column, for callers that do not know the byte range.
    pub(super) fn report_at(&mut self, place: TextPosition, key_path: &str, wrong: WrongValue) {
        let pointer = match wrong.element {
            Some((element, _)) => format!("{key_path}[{element}]"),
            None => key_path.to_owned(),
        };
        self.problems.push(Problem { pointer, ..*wrong.problem }.within(self.file, Some(place)));
    }

    /// Adds the problem that a required key is missing. Does nothing if the text has syntax errors, because the key may
    /// be there and the parser may have lost it.
    pub(super) fn report_absent(&mut self, section: &Section<'_>, key: &str, wrong: WrongValue) {
        if self.state == DocumentState::Whole {
            let span = section.span.clone().unwrap_or(0..0);
            self.report(&section.key_path(key), &span, wrong);
        }
    }
}

impl<'d> Section<'d> {
    /// Returns the top level of `proctor.toml` as a section, with `fallback` as the top level of `default.toml`.
    pub(super) fn top(written: Option<&'d DeTable<'d>>, fallback: &'d DeTable<'d>) -> Self {
        Self { table: String::new(), path: String::new(), span: None, written, fallback: Some(fallback) }
    }

    /// Returns the path of a key in this section: `check[2].timeout`.
    pub(super) fn key_path(&self, key: &str) -> String {
        join_key(&self.path, key)
    }

    /// Returns whether the text has this section. A value of the section's name that is not a table does not count.
    pub(super) fn is_written(&self) -> bool {
        self.written.is_some()
    }

    /// Returns whether the text has this key in this section. A value in `default.toml` does not count.
    pub(super) fn has(&self, key: &str) -> bool {
        self.written_value(key).is_some()
    }

    /// Adds a problem for each key of this section that `keys.rs` does not list.
    pub(super) fn check_keys(&self, document: &mut Document<'_>) {
        let Some(written) = self.written else { return };
        let known = keys::keys_of(&self.table);
        for (key, value) in written {
            let name: &str = key.get_ref();
            if !known.contains(&name) && !keys::is_of_earlier_version(&self.table, name) {
                document.report(&self.key_path(name), &key.span(), self.unknown(name, value.get_ref(), known));
            }
        }
    }

    fn unknown(&self, name: &str, value: &DeValue<'_>, known: &[&'static str]) -> WrongValue {
        if let Some(wrong) = keys::strange_key(&self.table, name) {
            return wrong;
        }
        let plain = WrongValue::new(format!("unknown key `{name}`"));
        let nearest = nearest(name, known.iter().copied());
        // The unknown header `[checks]` is a slip for the table `[[check]]`, and not for the key `checks` of another table.
        let is_header = value.is_table() || value.as_array().is_some_and(|list| list.iter().any(|one| one.get_ref().is_table()));
        let homes = if is_header && nearest.is_some() { Vec::new() } else { keys::tables_with_key(name) };
        if !homes.is_empty() {
            return plain.hint(format!("`{name}` belongs under {}", homes.join(" or ")));
        }
        if nearest.is_some() {
            return plain.nearest(nearest);
        }
        let here = if self.table.is_empty() { "at the top".to_owned() } else { format!("in {}", keys::header(&self.table)) };
        plain.hint(format!("the keys {here} are: {}", known.join(", ")))
    }

    /// Reads a key from the text, or else from `default.toml`. Returns `None` if neither has the key. A wrong value in
    /// the text is reported, and the value of `default.toml` is used instead.
    pub(super) fn optional<T>(
        &self,
        document: &mut Document<'_>,
        key: &'static str,
        read: impl Fn(&Spanned<DeValue<'_>>) -> Result<T, WrongValue>,
    ) -> Option<WrittenValue<T>> {
        debug_assert!(keys::keys_of(&self.table).contains(&key), "`{key}` is not listed in keys.rs");
        if let Some(value) = self.written_value(key) {
            match read(value) {
                Ok(read) => return Some(WrittenValue { value: read, place: Some(document.place(value.span().start)) }),
                Err(wrong) => document.report(&self.key_path(key), &value.span(), wrong.with_key(key)),
            }
        }
        self.fallback.and_then(|fallback| fallback.get(key)).and_then(|value| read(value).ok()).map(WrittenValue::unwritten)
    }

    /// Adds a problem if the text has a key that is known but not allowed in this place.
    pub(super) fn refuse(&self, document: &mut Document<'_>, key: &str, wrong: WrongValue) {
        if let Some(value) = self.written_value(key) {
            document.report(&self.key_path(key), &value.span(), wrong);
        }
    }

    /// Reads a key that `default.toml` has, so there is a value even if the text leaves the key out.
    pub(super) fn setting<T>(
        &self,
        document: &mut Document<'_>,
        key: &'static str,
        read: impl Fn(&Spanned<DeValue<'_>>) -> Result<T, WrongValue>,
    ) -> WrittenValue<T> {
        self.optional(document, key, read).expect("a test reads every setting from default.toml")
    }

    /// Opens a sub-table. If the text does not have the sub-table, its keys get the values of `default.toml`.
    pub(super) fn table(&self, document: &mut Document<'_>, key: &'static str) -> Section<'d> {
        let fallback = self.fallback.and_then(|fallback| fallback.get(key)).and_then(|value| value.get_ref().as_table());
        let (table, path) = (join_key(&self.table, key), self.key_path(key));
        let mut section = Section { table, path, span: None, written: None, fallback };
        if let Some(value) = self.written_value(key) {
            section.written = value.get_ref().as_table();
            section.span = Some(value.span());
            if section.written.is_none() {
                let wrong =
                    WrongValue::kind("a table", value.get_ref()).hint(format!("write `{}`", keys::header(&section.table)));
                document.report(&section.path, &value.span(), wrong);
            }
            section.check_keys(document);
        }
        section
    }

    /// Opens the elements of an array of tables, such as `[[check]]`. They have no values in `default.toml`.
    pub(super) fn tables(&self, document: &mut Document<'_>, key: &'static str) -> Vec<Section<'d>> {
        let Some(value) = self.written_value(key) else { return Vec::new() };
        let header = keys::header(key);
        let Some(elements) = value.get_ref().as_array() else {
            let wrong =
                WrongValue::kind("a list of tables", value.get_ref()).hint(format!("write `{header}`, in double brackets"));
            document.report(key, &value.span(), wrong);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let path = format!("{key}[{}]", index + 1);
            let Some(written) = element.get_ref().as_table() else {
                let wrong = WrongValue::kind("a table", element.get_ref()).hint(format!("write `{header}`"));
                document.report(&path, &element.span(), wrong);
                continue;
            };
            let span = Some(element.span());
            let section = Section { table: key.to_owned(), path, span, written: Some(written), fallback: None };
            section.check_keys(document);
            sections.push(section);
        }
        sections
    }

    fn written_value(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.written.and_then(|written| written.get(key))
    }
}

fn join_key(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
