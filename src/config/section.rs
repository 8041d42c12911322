//! Reading tables: what is written first, else what `default.toml` says, and every problem on the way.
//!
//! A value that is wrong is reported and then treated as not written, so that one problem never hides the next.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::keys;
use crate::config::nearest::nearest;
use crate::config::placed::Placed;
use crate::config::values::Wrong;
use crate::model::{Problem, TextPosition};

/// The text that is read and what was found wrong with it.
pub(super) struct Document<'t> {
    file: &'t str,
    text: &'t str,
    state: DocumentState,
    problems: Vec<Problem>,
}

/// Whether a text is TOML at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentState {
    /// It is.
    Whole,
    /// It is not, and what the parser made of it may lack what was written.
    Recovered,
}

/// A table of the text, with the same table of `default.toml` behind it.
pub(super) struct Section<'d> {
    /// Its name without positions: `check.coverage`.
    pub(super) table: String,
    /// Its name with positions, counted from 1: `check[2].coverage`.
    pub(super) path: String,
    /// Where its header or its braces stand; none: it is not written.
    pub(super) span: Option<Range<usize>>,
    written: Option<&'d DeTable<'d>>,
    fallback: Option<&'d DeTable<'d>>,
}

impl<'t> Document<'t> {
    /// Returns a document without problems.
    pub(super) fn new(file: &'t str, text: &'t str, state: DocumentState) -> Self {
        Self { file, text, state, problems: Vec::new() }
    }

    /// Returns the problems in the order of the file.
    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.position);
        self.problems.dedup();
        self.problems
    }

    /// Returns the place of a byte offset.
    pub(super) fn place(&self, offset: usize) -> TextPosition {
        TextPosition::of(self.text, offset)
    }

    /// Reports a problem with a range of the text.
    pub(super) fn report(&mut self, key_path: &str, span: &Range<usize>, wrong: Wrong) {
        let span = wrong.element.as_ref().map_or(span, |(_, span)| span).clone();
        self.report_at(self.place(span.start), key_path, wrong);
    }

    /// Reports a problem at a place that is known already.
    pub(super) fn report_at(&mut self, place: TextPosition, key_path: &str, wrong: Wrong) {
        let pointer = match wrong.element {
            Some((element, _)) => format!("{key_path}[{element}]"),
            None => key_path.to_owned(),
        };
        self.problems.push(Problem { pointer, ..*wrong.problem }.within(self.file, Some(place)));
    }

    /// Reports that something is absent; said only of a whole text, since a broken one may have lost it.
    pub(super) fn report_absent(&mut self, section: &Section<'_>, key: &str, wrong: Wrong) {
        if self.state == DocumentState::Whole {
            let span = section.span.clone().unwrap_or(0..0);
            self.report(&section.key_path(key), &span, wrong);
        }
    }
}

impl<'d> Section<'d> {
    /// Returns the top of a document.
    pub(super) fn top(written: Option<&'d DeTable<'d>>, fallback: &'d DeTable<'d>) -> Self {
        Self { table: String::new(), path: String::new(), span: None, written, fallback: Some(fallback) }
    }

    /// Returns the path of one of the section's keys.
    pub(super) fn key_path(&self, key: &str) -> String {
        joined(&self.path, key)
    }

    /// Returns whether it is written, as a table.
    pub(super) fn is_written(&self) -> bool {
        self.written.is_some()
    }

    /// Returns whether a key is written.
    pub(super) fn has(&self, key: &str) -> bool {
        self.written_value(key).is_some()
    }

    /// Reports the keys that do not exist.
    pub(super) fn check_keys(&self, document: &mut Document<'_>) {
        let Some(written) = self.written else { return };
        let known = keys::keys_of(&self.table);
        for key in written.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                document.report(&self.key_path(name), &key.span(), self.unknown(name, known));
            }
        }
    }

    fn unknown(&self, name: &str, known: &[&'static str]) -> Wrong {
        if let Some(wrong) = keys::strange_key(&self.table, name) {
            return wrong;
        }
        let plain = Wrong::new(format!("unknown key `{name}`"));
        let homes = keys::homes_of(name);
        if !homes.is_empty() {
            return plain.hint(format!("`{name}` belongs under {}", homes.join(" or ")));
        }
        if let Some(nearest) = nearest(name, known.iter().copied()) {
            return plain.nearest(Some(nearest));
        }
        let here = if self.table.is_empty() { "at the top".to_owned() } else { format!("in {}", keys::header(&self.table)) };
        plain.hint(format!("the keys {here} are: {}", known.join(", ")))
    }

    /// Reads a key that may be absent.
    pub(super) fn optional<T>(
        &self,
        document: &mut Document<'_>,
        key: &'static str,
        read: impl Fn(&Spanned<DeValue<'_>>) -> Result<T, Wrong>,
    ) -> Option<Placed<T>> {
        debug_assert!(keys::keys_of(&self.table).contains(&key), "`{key}` is not listed in keys.rs");
        if let Some(value) = self.written_value(key) {
            match read(value) {
                Ok(read) => return Some(Placed { value: read, place: Some(document.place(value.span().start)) }),
                Err(wrong) => document.report(&self.key_path(key), &value.span(), wrong.with_key(key)),
            }
        }
        self.fallback.and_then(|fallback| fallback.get(key)).and_then(|value| read(value).ok()).map(Placed::unwritten)
    }

    /// Reports a key that may not stand here, where it does.
    pub(super) fn refuse(&self, document: &mut Document<'_>, key: &str, wrong: Wrong) {
        if let Some(value) = self.written_value(key) {
            document.report(&self.key_path(key), &value.span(), wrong);
        }
    }

    /// Reads a key that has a default.
    pub(super) fn setting<T>(
        &self,
        document: &mut Document<'_>,
        key: &'static str,
        read: impl Fn(&Spanned<DeValue<'_>>) -> Result<T, Wrong>,
    ) -> Placed<T> {
        self.optional(document, key, read).expect("a test reads every setting from default.toml")
    }

    /// Opens a sub-table, whether or not it is written.
    pub(super) fn table(&self, document: &mut Document<'_>, key: &'static str) -> Section<'d> {
        let fallback = self.fallback.and_then(|fallback| fallback.get(key)).and_then(|value| value.get_ref().as_table());
        let (table, path) = (joined(&self.table, key), self.key_path(key));
        let mut section = Section { table, path, span: None, written: None, fallback };
        if let Some(value) = self.written_value(key) {
            section.written = value.get_ref().as_table();
            section.span = Some(value.span());
            if section.written.is_none() {
                let wrong = Wrong::kind("a table", value.get_ref()).hint(format!("write `{}`", keys::header(&section.table)));
                document.report(&section.path, &value.span(), wrong);
            }
            section.check_keys(document);
        }
        section
    }

    /// Opens the elements of a list of tables: `[[check]]`.
    pub(super) fn tables(&self, document: &mut Document<'_>, key: &'static str) -> Vec<Section<'d>> {
        let Some(value) = self.written_value(key) else { return Vec::new() };
        let header = keys::header(key);
        let Some(elements) = value.get_ref().as_array() else {
            let wrong = Wrong::kind("a list of tables", value.get_ref()).hint(format!("write `{header}`, in double brackets"));
            document.report(key, &value.span(), wrong);
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            let path = format!("{key}[{}]", index + 1);
            let Some(written) = element.get_ref().as_table() else {
                let wrong = Wrong::kind("a table", element.get_ref()).hint(format!("write `{header}`"));
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

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
