//! One thing that is wrong with a specification, in the form validators of JSON Schema report it (seed 004), with its place.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a fault means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Gravity {
    /// Nothing sensible can be run: SPECIFICATION_ERROR.
    Hard,
    /// It runs, and the report says so.
    Soft,
}

/// One thing that is wrong with a specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpecificationFault {
    /// What it means for the run.
    pub gravity: Gravity,
    /// What it is: a row of the lint's table, `SCHEMA` for what the JSON Schema says, `SYNTAX`, `DUPLICATE_KEY`, `FORMAT_VERSION`.
    pub code: String,
    /// The file as it was named to the reader.
    pub file: String,
    /// The line, counted from 1; 0 where it is about the whole file.
    pub line: usize,
    /// The column in characters, counted from 1; 0 with line 0.
    pub column: usize,
    /// JSON pointer to the value it is about; empty for the whole document.
    pub instance_path: String,
    /// Where the rule stands: in the schema of `proctor schema`, or `#/lint/CODE`.
    pub schema_path: String,
    /// The keyword of the schema, or `lint`.
    pub keyword: String,
    /// What the rule asks for, by keyword.
    pub params: Value,
    /// What is wrong: lower case, no final period.
    pub message: String,
    /// The nearest thing that would have been right.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}

impl SpecificationFault {
    /// Returns whether nothing may run.
    pub fn is_hard(&self) -> bool {
        self.gravity == Gravity::Hard
    }
}

impl fmt::Display for SpecificationFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        let word = match self.gravity {
            Gravity::Hard => "error",
            Gravity::Soft => "note",
        };
        write!(formatter, ": {word}[{}]", self.code)?;
        if !self.instance_path.is_empty() {
            write!(formatter, " {}", self.instance_path)?;
        }
        write!(formatter, ": {}", self.message)?;
        if let Some(nearest) = &self.nearest {
            write!(formatter, "\n  did you mean `{nearest}`?")?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  {hint}")?;
        }
        Ok(())
    }
}
