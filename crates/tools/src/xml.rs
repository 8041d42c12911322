//! Reads XML reports of tools: JUnit, TRX, Checkstyle. The document must be complete and valid.
//!
//! A document is refused if it has a document type or its own entities, ends early or is nested too deeply. A report that cannot be
//! read completely proves nothing.

use std::io::{self, BufRead, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// The largest report that is read (64 MiB). Reports with pytest's default settings are far smaller; a report with
/// `junit_logging = all` may be larger.
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The deepest nesting that is accepted. pytest uses five levels: suites, suite, case, properties, property.
const MAX_DEPTH: usize = 16;

/// The limit for the number of attributes of an element. pytest uses up to eight; finding duplicates takes time
/// proportional to the square of their number.
const MAX_ATTRIBUTES: usize = 64;

/// Why a report cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum XmlError {
    /// The report is larger than [`MAX_BYTES`].
    #[error("it is larger than {} MiB", MAX_BYTES / (1024 * 1024))]
    TooLarge,
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The report is not XML, or it is incomplete.
    #[error("it is not complete XML: {0}")]
    Malformed(String),
    /// The report has a document type or entities of its own, which no tool writes.
    #[error("it has a document type or entities of its own")]
    Entities,
    /// The report is nested more deeply, or an element has more attributes, than in any report of a tool.
    #[error("it is not shaped like a tool's report")]
    TooDeep,
    /// The report is XML, but not of the wanted format. The text says why.
    #[error("{0}")]
    Unexpected(String),
}

/// Takes the parts of an XML document in their order.
pub(super) trait XmlReader {
    /// Takes the beginning of an element. `name` is without its namespace.
    fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), XmlError>;
    /// Takes a part of the text of the element that was opened last and is not closed yet.
    fn text(&mut self, text: &str);
    /// Takes the end of that element.
    fn close(&mut self);
}

/// The attributes of an element, in their order.
pub(super) struct Attributes(Vec<(String, String)>);

impl Attributes {
    fn read(start: &BytesStart<'_>) -> Result<Self, XmlError> {
        let mut pairs = Vec::new();
        for attribute in start.attributes() {
            if pairs.len() == MAX_ATTRIBUTES {
                return Err(XmlError::TooDeep);
            }
            let attribute = attribute.map_err(|error| XmlError::Malformed(error.to_string()))?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| XmlError::Entities)?;
            pairs.push((attribute.key.into_inner().to_owned(), value.into_owned()));
        }
        Ok(Self(pairs))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a document to its end and passes its parts to `take`. If the document cannot be read completely, the error says why, and the
/// parts that were passed before prove nothing.
pub(super) fn read_xml(report: impl BufRead, take: &mut dyn XmlReader) -> Result<(), XmlError> {
    let mut reader = Reader::from_reader(Capped { report, left: MAX_BYTES as u64 });
    let mut buffer = Vec::new();
    let mut place = Place { depth: 0, is_over: false };
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(from_xml)? {
            Event::Start(start) => place.open(&start, take)?,
            Event::Empty(start) => {
                place.open(&start, take)?;
                place.close(take);
            }
            Event::End(_) => place.close(take),
            Event::Text(text) => place.text(&text.xml10_content(), take)?,
            Event::CData(data) => place.text(&data.xml10_content(), take)?,
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|error| XmlError::Malformed(error.to_string()))?;
                match (character, quick_xml::escape::resolve_predefined_entity(&reference)) {
                    (Some(character), _) => place.text(character.encode_utf8(&mut [0; 4]), take)?,
                    (None, Some(text)) => place.text(text, take)?,
                    (None, None) => return Err(XmlError::Entities),
                }
            }
            Event::DocType(_) => return Err(XmlError::Entities),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof if place.depth > 0 => return Err(XmlError::Malformed("it ends inside an element".to_owned())),
            Event::Eof if !place.is_over => return Err(XmlError::Malformed("it has no element".to_owned())),
            Event::Eof => return Ok(()),
        }
    }
}

/// Where in a document the reader is.
struct Place {
    depth: usize,
    /// Whether the root element was closed.
    is_over: bool,
}

impl Place {
    fn open(&mut self, start: &BytesStart<'_>, take: &mut dyn XmlReader) -> Result<(), XmlError> {
        if self.is_over {
            return Err(XmlError::Malformed("there is something after its end".to_owned()));
        }
        if self.depth >= MAX_DEPTH {
            return Err(XmlError::TooDeep);
        }
        self.depth += 1;
        let attributes = Attributes::read(start)?;
        let name = start.name().into_inner();
        take.open(name.rsplit(':').next().unwrap_or(name), &attributes)
    }

    fn close(&mut self, take: &mut dyn XmlReader) {
        self.depth = self.depth.saturating_sub(1);
        self.is_over = self.depth == 0;
        take.close();
    }

    fn text(&self, text: &str, take: &mut dyn XmlReader) -> Result<(), XmlError> {
        if self.depth == 0 && !text.trim().is_empty() {
            return Err(XmlError::Malformed("there is text outside its root".to_owned()));
        }
        if self.depth > 0 {
            take.text(text);
        }
        Ok(())
    }
}

/// Refuses a report that is longer than [`MAX_BYTES`].
struct Capped<R> {
    report: R,
    left: u64,
}

impl<R: BufRead> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Capped<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let available = self.report.fill_buf()?;
        if available.len() as u64 > self.left {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(available)
    }

    fn consume(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count as u64);
        self.report.consume(count);
    }
}

fn from_xml(error: quick_xml::Error) -> XmlError {
    if matches!(&error, quick_xml::Error::Io(error) if error.kind() == io::ErrorKind::FileTooLarge) {
        return XmlError::TooLarge;
    }
    if matches!(error, quick_xml::Error::Encoding(_)) {
        return XmlError::NotUtf8;
    }
    XmlError::Malformed(error.to_string())
}
