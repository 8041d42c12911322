//! Work that a client program of the machine does for an action: a database query, a command of a container engine, or a
//! session of a browser. The client is started inside the action's isolation, as any command is.
//!
//! Splits an SQL text into its words and signs, without comments and without what is quoted.

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{ActionId, ActionType};

/// What a client program does for an action.
#[wire(written, schema)]
pub enum ClientCall {
    /// A query of a database, and the requirements on its result.
    Query(DatabaseQuery),
    /// A command of a container engine.
    Container(ContainerCommand),
    /// One action of a browser, with the actions before it.
    Browser(BrowserSession),
}

/// A query of a database, and the requirements on its result.
#[wire(open, written, schema)]
pub struct DatabaseQuery {
    pub database: Database,
    /// The SQL of the query.
    pub query: String,
    /// The kind of statement, as the specification says or as the query's first word shows.
    pub kind: QueryKind,
    /// The number of rows that the query must return or change; `None` if any number will do.
    pub expected_rows: Option<u64>,
    /// The JSON Schema that every returned row must satisfy.
    pub row_schema: Option<Value>,
    /// Values by column. At least one returned row must have all of them.
    pub contains_values: Option<Map<String, Value>>,
    /// The time limit for connecting to a server, in milliseconds.
    pub connection_timeout_ms: u64,
}

/// The database that a query goes to.
#[wire(written, schema)]
pub enum Database {
    /// A file of SQLite, which proctor reads itself in a process of its own inside the action's isolation.
    Sqlite {
        /// The file's path, relative to the project, without `.` and `..`.
        path: String,
    },
    /// A database in memory of SQLite, which is empty at the start.
    SqliteInMemory,
    /// A server of PostgreSQL, to which the machine's `psql` connects.
    Postgresql {
        /// The connection string as written: `${NAME}` in it stands for a variable of the action's environment, so that no
        /// secret is in the plan.
        connection: String,
    },
}

/// A kind of database statement.
#[wire(Copy, written, schema)]
pub enum QueryKind {
    /// A statement that returns rows and changes nothing.
    Reads,
    /// A statement that changes rows, the schema or anything else.
    Changes,
}

/// A command of a container engine.
#[wire(open, written, schema)]
pub struct ContainerCommand {
    /// The arguments of the engine's client, beginning with the command, such as `run`.
    pub arguments: Vec<String>,
}

/// One action of a browser. Every action opens a browser of its own, which first repeats the actions since the last page was
/// opened: so an action depends on nothing that another process left.
#[wire(open, written, schema)]
pub struct BrowserSession {
    /// The actions in their order. The last one is the action itself; the others are repeated before it.
    pub steps: Vec<BrowserStep>,
    /// Whether a picture of the page is taken after the last action.
    pub takes_screenshot: bool,
}

/// One thing that a browser does.
#[wire(open, written, schema, sparse)]
pub struct BrowserStep {
    /// The id of the action that asks for it.
    pub id: ActionId,
    pub action: BrowserAction,
    /// The page to open.
    #[serde(rename = "url")]
    pub page: Option<String>,
    /// The CSS selector of the element that is clicked, waited for or read.
    pub selector: Option<String>,
    /// The JavaScript that is evaluated in the page.
    pub script: Option<String>,
    /// The values that are entered into a form, by the name or the CSS selector of the field.
    #[serde(rename = "formData")]
    pub fields: BTreeMap<String, String>,
    /// How long the browser waits for a page or an element, in milliseconds.
    #[serde(rename = "waitTimeout")]
    pub wait_ms: u64,
}

/// The seven things that specification 2.0.0 lets a browser do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BrowserAction {
    Navigate,
    Click,
    FillForm,
    Evaluate,
    Screenshot,
    WaitForSelector,
    GetContent,
}

/// What a client program of a database or a browser showed, for conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientFacts {
    /// The number of rows that a query returned or changed; `None` if it is not known.
    pub rows: Option<u64>,
    /// Whether a browser was opened; `None` for an action without a browser.
    pub initialized: Option<bool>,
}

impl ClientCall {
    /// Returns the type of action in a specification.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Query(_) => ActionType::DatabaseQuery,
            Self::Container(_) => ActionType::DockerCommand,
            Self::Browser(_) => ActionType::McpBrowserCommand,
        }
    }

    /// Returns whether the action leaves a picture of a page.
    pub fn leaves_screenshot(&self) -> bool {
        matches!(self, Self::Browser(session) if session.takes_screenshot)
    }
}

words! {
    /// Returns the name by which reports call what judges the action.
    pub fn ClientCall::report_name(&self): Query "database", Container "container", Browser "browser"
}

/// A part of an SQL text that may say what a statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlPart {
    /// A word that is not quoted, in lower case.
    Word(String),
    /// A text or a name in quotes.
    Quoted,
    /// Any other character that is no blank.
    Sign(char),
}

/// Returns the parts of an SQL text in their order. What is not closed goes to the end of the text.
pub fn sql_parts(text: &str) -> Vec<SqlPart> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            length_of_comment(rest)
        } else if let '\'' | '"' | '`' = first {
            parts.push(SqlPart::Quoted);
            length_of_quoted(rest, first)
        } else if let Some(length) = length_of_dollar_quoted(rest) {
            parts.push(SqlPart::Quoted);
            length
        } else if is_of_word(first) {
            let word = &rest[..rest.find(|character| !is_of_word(character)).unwrap_or(rest.len())];
            parts.push(SqlPart::Word(word.to_lowercase()));
            word.len()
        } else {
            if !first.is_whitespace() {
                parts.push(SqlPart::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    parts
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the length of the comment with which a text begins. The databases differ in whether comments stand in each other, so the
/// first end counts: what follows it is looked at rather than passed over.
fn length_of_comment(text: &str) -> usize {
    text[2..].find("*/").map_or(text.len(), |end| end + 4)
}

/// Returns the length of the quoted part with which a text begins. A doubled quote stands for one.
fn length_of_quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Returns the length of `$tag$…$tag$` with which a text begins; `None` if it begins with something else.
fn length_of_dollar_quoted(text: &str) -> Option<usize> {
    let tag = &text[..text.strip_prefix('$')?.find('$')? + 2];
    tag[1..tag.len() - 1].chars().all(is_of_word).then_some(())?;
    text[tag.len()..].find(tag).map(|end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_quoted_parts_are_no_words() {
        let words = |text: &str| {
            let words = sql_parts(text).into_iter().filter_map(|part| match part {
                SqlPart::Word(word) => Some(word),
                SqlPart::Quoted | SqlPart::Sign(_) => None,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("-- all quotes\nSELECT 1", "select 1"),
            ("/* a -- b */ Select 'it''s; delete' /* c", "select"),
            ("select \"delete\", `update` from $q$ delete $q$ where a = $1", "select from where a 1"),
            ("select é_1", "select é_1"),
            ("-- only", ""),
            ("'not closed", ""),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(sql_parts("a('b')").len(), 4);
    }
}
