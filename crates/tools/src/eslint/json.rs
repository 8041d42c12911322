//! Reads ESLint's `json` format.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::eslint::{IGNORED, Output};
use crate::gathered::Gathered;
use crate::places::Place;
use proctor_model::{Diagnostic, FindingLevel, Fix};

/// The number that ESLint's JSON uses for a warning. An error is 2, and any unknown number counts as an error too.
const WARNING: u64 = 1;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file_path: String,
    messages: Vec<Message>,
    error_count: Option<u64>,
    warning_count: Option<u64>,
    #[serde(default)]
    suppressed_messages: Vec<IgnoredAny>,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    rule_id: Option<String>,
    severity: u64,
    message: String,
    line: Option<u64>,
    column: Option<u64>,
    end_line: Option<u64>,
    end_column: Option<u64>,
    fix: Option<IgnoredAny>,
    #[serde(default)]
    suggestions: Vec<Suggestion>,
}

#[derive(Deserialize)]
struct Suggestion {
    desc: String,
}

/// Returns the JSON in the output. npm prints its own lines before it, so single lines are searched as well. If nothing looks
/// like ESLint's JSON although JSON was requested, the whole output is returned, so that parsing it gives an error.
pub(super) fn find(stdout: &str, wanted: bool) -> Option<&str> {
    let is_json = |text: &str| text.starts_with("[{\"filePath\"") || text == "[]";
    let found = std::iter::once(stdout).chain(stdout.lines()).map(str::trim).find(|text| is_json(text));
    found.or_else(|| wanted.then(|| stdout.trim()))
}

/// Reads the findings from ESLint's JSON.
pub(super) fn parse(text: &str, place: Place<'_>) -> Result<Output, serde_json::Error> {
    let files: Vec<File> = serde_json::from_str(text)?;
    let suppressed = files.iter().map(|file| file.suppressed_messages.len() as u64).sum();
    let contradiction = files.iter().find_map(File::contradiction);
    let checked = files.iter().filter(|file| !file.is_ignored()).count() as u64;
    let mut diagnostics = Gathered::default();
    files.into_iter().flat_map(|file| of_file(file, place)).for_each(|found| diagnostics.push(found));
    Ok(Output { diagnostics, stated: None, suppressed, files: Some(checked), contradiction })
}

impl File {
    // Returns the difference between ESLint's own counts of a file and the messages that it lists.
    fn contradiction(&self) -> Option<String> {
        let listed = |level: fn(u64) -> bool| self.messages.iter().filter(|message| level(message.severity)).count() as u64;
        let (errors, warnings) = (listed(|severity| severity != WARNING), listed(|severity| severity == WARNING));
        let differs =
            self.error_count.is_some_and(|count| count != errors) || self.warning_count.is_some_and(|count| count != warnings);
        differs.then(|| {
            format!(
                "{} error(s) and {} warning(s) are counted in `{}`, but {errors} and {warnings} are listed",
                self.error_count.unwrap_or(errors),
                self.warning_count.unwrap_or(warnings),
                self.file_path
            )
        })
    }

    // ESLint lists an ignored file that the command names, with this warning as its only message.
    fn is_ignored(&self) -> bool {
        matches!(self.messages.as_slice(), [only] if only.rule_id.is_none() && only.message.starts_with(IGNORED))
    }
}

fn of_file(file: File, place: Place<'_>) -> Vec<Diagnostic> {
    let path = place.within_project(&file.file_path);
    let lines: Vec<&str> = file.source.as_deref().map(|source| source.lines().collect()).unwrap_or_default();
    let source = |line: Option<u64>| {
        let index = usize::try_from(line?.checked_sub(1)?).ok()?;
        lines.get(index).map(|line| (*line).to_owned())
    };
    file.messages.into_iter().map(|message| of_message(source(message.line), path.clone(), message)).collect()
}

fn of_message(source: Option<String>, file: String, message: Message) -> Diagnostic {
    let is_fixable = message.fix.is_some();
    let suggestion =
        message.suggestions.into_iter().next().map(|suggestion| Fix { suggestion: suggestion.desc, automated: false });
    let automated = is_fixable.then(|| Fix { suggestion: "run `eslint --fix`".to_owned(), automated: true });
    Diagnostic {
        file: Some(file),
        line: message.line.filter(|line| *line > 0),
        column: message.column.filter(|column| *column > 0),
        end_line: message.end_line,
        end_column: message.end_column,
        rule_id: message.rule_id,
        severity: if message.severity == WARNING { FindingLevel::Warning } else { FindingLevel::Error },
        message: message.message,
        fixable: Some(is_fixable),
        source,
        fix: automated.or(suggestion),
        ..Diagnostic::default()
    }
}
