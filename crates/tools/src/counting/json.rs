//! Reads the JSON of checkers that print one object with a list of findings and the number of files. A [`Shape`] says where in the
//! object each thing stands, so that another tool of this kind is one more shape.

use serde_json::Value;

use crate::counting::Said;
use crate::interpret::Exited;
use crate::launchers::locate;
use proctor_model::{Diagnostic, FindingLevel, Tool};

/// How often the beginning of an object is looked for. A script runner prints a few lines before it.
const MOST_STARTS: usize = 64;

/// Where the parts of a report stand, as JSON pointers. Those of a finding start at the finding.
pub(super) struct Shape {
    findings: &'static str,
    /// The numbers of files; their sum counts.
    examined: &'static [&'static str],
    /// The numbers of errors and of warnings that the report states; empty texts if it states none.
    stated: (&'static str, &'static str),
    file: &'static str,
    line: &'static str,
    column: &'static str,
    /// What is added to a line or column, so that the first one is 1.
    first: u64,
    rule: &'static str,
}

pub(super) const PYRIGHT: Shape = Shape {
    findings: "/generalDiagnostics",
    examined: &["/summary/filesAnalyzed"],
    stated: ("/summary/errorCount", "/summary/warningCount"),
    file: "/file",
    line: "/range/start/line",
    column: "/range/start/character",
    first: 1,
    rule: "/rule",
};

pub(super) const OXLINT: Shape = Shape {
    findings: "/diagnostics",
    examined: &["/number_of_files"],
    stated: ("", ""),
    file: "/filename",
    line: "/labels/0/span/line",
    column: "/labels/0/span/column",
    first: 0,
    rule: "/code",
};

const BIOME: Shape = Shape {
    findings: "/diagnostics",
    examined: &["/summary/changed", "/summary/unchanged"],
    stated: ("/summary/errors", "/summary/warnings"),
    file: "/location/path",
    line: "/location/start/line",
    column: "/location/start/column",
    first: 0,
    rule: "/category",
};

/// Reads Biome's report. Without a path Biome checks its own configuration too, so a count of one file may be the configuration alone.
pub(super) fn biome(exited: &Exited<'_>) -> Option<Said> {
    let said = read(exited, &BIOME)?;
    let has_configuration = || {
        let names = (exited.names_in)(&exited.place.absolute("."));
        names.iter().any(|name| Tool::Biome.configuration().contains(&name.as_str()))
    };
    let arguments = locate(&exited.action.command.argv).arguments;
    let names_path =
        arguments.iter().filter(|word| !word.starts_with('-')).skip(1).any(|word| !matches!(word.as_str(), "." | "./"));
    if said.examined != Some(1) || names_path || !has_configuration() {
        return Some(said);
    }
    let remark = Some("Biome checked one file, which may be its own configuration; see what `files.includes` leaves".to_owned());
    Some(Said { examined: None, remark, ..said })
}

/// Reads a report; `None` if the output has no object with a list of findings. An older version may not say how many files there were.
pub(super) fn read(exited: &Exited<'_>, shape: &Shape) -> Option<Said> {
    let report = objects(&exited.stdout).find(|report| report.pointer(shape.findings).is_some_and(Value::is_array))?;
    let number = |at: &str| report.pointer(at).and_then(Value::as_u64);
    let stated = |at: &str| if at.is_empty() { 0 } else { number(at).unwrap_or(0) };
    let examined = shape.examined.iter().map(|at| number(at)).sum();
    let mut said = Said { stated: (stated(shape.stated.0), stated(shape.stated.1)), examined, ..Said::default() };
    let findings = report.pointer(shape.findings).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    findings.iter().filter_map(|item| finding(item, shape, exited)).for_each(|found| said.findings.push(found));
    Some(said)
}

fn finding(item: &Value, shape: &Shape, exited: &Exited<'_>) -> Option<Diagnostic> {
    let text = |at: &str| item.pointer(at).and_then(Value::as_str);
    let number = |at: &str| item.pointer(at).and_then(Value::as_u64).map(|value| value.saturating_add(shape.first));
    let severity = match text("/severity") {
        Some("error" | "fatal") => FindingLevel::Error,
        Some("warning") => FindingLevel::Warning,
        Some(_) | None => return None,
    };
    Some(Diagnostic {
        file: text(shape.file).filter(|file| !file.is_empty()).map(|file| exited.place.within_project(file)),
        line: number(shape.line).filter(|line| *line > 0),
        column: number(shape.column).filter(|column| *column > 0),
        severity,
        rule_id: text(shape.rule).map(str::to_owned),
        message: text("/message").unwrap_or_default().to_owned(),
        ..Diagnostic::default()
    })
}

// Returns the objects that begin at the beginning of a line.
fn objects(text: &str) -> impl Iterator<Item = Value> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let starts = starts.filter(|at| text[*at..].starts_with('{')).take(MOST_STARTS);
    starts.filter_map(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok())
}
