//! Reads findings in the XML of Checkstyle, which many linters can write.

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::places::Place;
use crate::reports::Contents;
use crate::xml::{Attributes, XmlError, XmlReader, read_xml};
use proctor_model::{Diagnostic, FindingLevel};

/// Reads a report.
pub(super) fn read(reader: &mut dyn BufRead, place: Place<'_>, contents: &mut Contents) -> Result<(), String> {
    let mut builder = Builder { contents, place, depth: 0, file: None, examined: BTreeSet::new() };
    read_xml(reader, &mut builder).map_err(|error| error.to_string())?;
    let examined = builder.examined.len() as u64;
    contents.examined += examined;
    Ok(())
}

struct Builder<'c, 'p> {
    contents: &'c mut Contents,
    place: Place<'p>,
    depth: usize,
    /// The file whose findings are read.
    file: Option<String>,
    examined: BTreeSet<String>,
}

impl XmlReader for Builder<'_, '_> {
    fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), XmlError> {
        if self.depth == 0 && name != "checkstyle" {
            return Err(XmlError::Unexpected("it is not a report of Checkstyle: its root is not `checkstyle`".to_owned()));
        }
        self.depth += 1;
        let number = |name: &str| attributes.get(name).and_then(|number| number.parse().ok());
        match name {
            "file" => {
                let file = attributes.get("name").map(|file| self.place.within_project(file));
                self.examined.extend(file.clone());
                self.file = file;
            }
            "exception" => self.contents.ends_early("the report says that a file could not be looked at".to_owned()),
            // An error of the severity `info` or `ignore` is no finding.
            "error" if matches!(attributes.get("severity"), Some("info" | "ignore")) => {}
            "error" => self.contents.findings.push(Diagnostic {
                file: self.file.clone(),
                line: number("line"),
                column: number("column"),
                severity: match attributes.get("severity") {
                    Some("warning") => FindingLevel::Warning,
                    Some(_) | None => FindingLevel::Error,
                },
                message: attributes.get("message").unwrap_or_default().to_owned(),
                rule_id: attributes.get("source").map(str::to_owned),
                ..Diagnostic::default()
            }),
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, _text: &str) {}

    fn close(&mut self) {
        self.depth -= 1;
    }
}
