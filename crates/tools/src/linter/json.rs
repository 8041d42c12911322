//! Reads the JSON of Ruff, Pylint and mypy.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::gathered::Gathered;
use crate::interpret::Exited;
use crate::linter::printed::pylint_level;
use proctor_model::{Diagnostic, FindingLevel, Fix, RelatedInformation};

#[derive(Deserialize)]
struct RuffItem {
    code: Option<String>,
    filename: String,
    message: String,
    location: RuffPlace,
    end_location: Option<RuffPlace>,
    fix: Option<RuffFix>,
}

#[derive(Deserialize)]
struct RuffPlace {
    row: u64,
    column: u64,
}

#[derive(Deserialize)]
struct RuffFix {
    applicability: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PylintItem {
    path: String,
    line: u64,
    column: u64,
    end_line: Option<u64>,
    end_column: Option<u64>,
    symbol: String,
    message: String,
    #[serde(rename = "message-id")]
    message_id: String,
}

#[derive(Deserialize)]
struct MypyItem {
    file: String,
    line: i64,
    column: i64,
    end_line: Option<u64>,
    end_column: Option<u64>,
    message: String,
    hint: Option<String>,
    code: Option<String>,
    severity: String,
}

/// Reads Ruff's JSON; `None` if the output is no JSON list of Ruff's findings.
pub(super) fn ruff(exited: &Exited<'_>) -> Option<Gathered> {
    let found = list::<RuffItem>(&exited.stdout)?.into_iter().map(|item| {
        let fix = item.fix.map(|fix| {
            let automated = fix.applicability.as_deref() == Some("safe");
            Fix { suggestion: fix.message.unwrap_or_else(|| "run `ruff check --fix`".to_owned()), automated }
        });
        Diagnostic {
            file: Some(exited.place.within_project(&item.filename)),
            line: Some(item.location.row).filter(|line| *line > 0),
            column: Some(item.location.column).filter(|column| *column > 0),
            end_line: item.end_location.as_ref().map(|end| end.row),
            end_column: item.end_location.as_ref().map(|end| end.column),
            rule_id: item.code,
            message: item.message,
            fixable: Some(fix.as_ref().is_some_and(|fix| fix.automated)),
            fix,
            ..Diagnostic::default()
        }
    });
    Some(gathered(found))
}

/// Reads Pylint's JSON; `None` if the output is no JSON list of Pylint's findings.
pub(super) fn pylint(exited: &Exited<'_>) -> Option<Gathered> {
    let found = list::<PylintItem>(&exited.stdout)?.into_iter().map(|item| Diagnostic {
        file: Some(exited.place.within_project(&item.path)),
        line: Some(item.line).filter(|line| *line > 0),
        column: Some(item.column.saturating_add(1)),
        end_line: item.end_line,
        end_column: item.end_column.map(|column| column.saturating_add(1)),
        severity: pylint_level(&item.message_id),
        code: Some(item.message_id),
        rule_id: Some(item.symbol),
        message: item.message,
        ..Diagnostic::default()
    });
    Some(gathered(found))
}

/// Reads mypy's JSON, which has one object per line. `None` if there is no line or if any line is not one of mypy's
/// objects.
pub(super) fn mypy(exited: &Exited<'_>) -> Option<Gathered> {
    let lines = exited.stdout.lines().filter(|line| !line.trim().is_empty());
    let items: Vec<MypyItem> = lines.map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    if items.is_empty() {
        return None;
    }
    let errors = items.into_iter().filter(|item| item.severity == "error");
    let found = errors.map(|item| {
        let related = |message: String| RelatedInformation { message, ..RelatedInformation::default() };
        Diagnostic {
            file: Some(exited.place.within_project(&item.file)),
            line: u64::try_from(item.line).ok().filter(|line| *line > 0),
            column: u64::try_from(item.column).ok().map(|column| column.saturating_add(1)),
            end_line: item.end_line,
            end_column: item.end_column,
            rule_id: item.code,
            severity: FindingLevel::Error,
            message: item.message,
            related_information: item.hint.into_iter().map(related).collect(),
            ..Diagnostic::default()
        }
    });
    Some(gathered(found))
}

fn list<T: DeserializeOwned>(stdout: &str) -> Option<Vec<T>> {
    let text = stdout.trim();
    text.starts_with('[').then(|| serde_json::from_str(text).ok()).flatten()
}

fn gathered(found: impl Iterator<Item = Diagnostic>) -> Gathered {
    let mut diagnostics = Gathered::default();
    found.for_each(|diagnostic| diagnostics.push(diagnostic));
    diagnostics
}
