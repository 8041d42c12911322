//! Adds the line of source code to the first finding of a tool that prints only its place, as tsc, mypy, Flake8 and ESLint do.
//! People see that finding first.

use std::path::Path;

use proctor_model::{FindingLevel, Interpretation};

/// The longest line that is added, in bytes. Longer lines are those of generated files.
const LONGEST: usize = 1000;

/// Adds the line of source code to the first error and to the first finding, unless the tool printed it. `source` returns the text of a
/// file, by its path relative to the project.
pub fn add_source_lines(interpretation: Interpretation, source: &dyn Fn(&Path) -> Option<String>) -> Interpretation {
    let mut interpretation = interpretation;
    let findings = &mut interpretation.diagnostics;
    let first_error = findings.iter().position(|finding| finding.severity == FindingLevel::Error);
    let first = (!findings.is_empty()).then_some(0);
    for place in first.into_iter().chain(first_error) {
        let Some(finding) = findings.get_mut(place).filter(|finding| finding.source.is_none()) else { continue };
        let (Some(file), Some(line)) = (&finding.file, finding.line.and_then(|line| usize::try_from(line).ok())) else {
            continue;
        };
        let path = Path::new(file);
        let text = if path.is_relative() { source(path) } else { None };
        let text = text.as_deref().and_then(|text| text.lines().nth(line.checked_sub(1)?)).map(str::trim_end);
        finding.source = text.filter(|text| !text.trim().is_empty() && text.len() <= LONGEST).map(str::to_owned);
    }
    interpretation
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{CategoryCode, Diagnostic};

    fn finding(file: &str, line: u64, severity: FindingLevel, source: Option<&str>) -> Diagnostic {
        Diagnostic {
            file: Some(file.to_owned()),
            line: Some(line),
            severity,
            source: source.map(str::to_owned),
            ..Diagnostic::default()
        }
    }

    #[test]
    fn the_first_finding_and_the_first_error_have_their_line() {
        use FindingLevel::{Error, Warning};
        let text = |path: &Path| (path == Path::new("a.py")).then(|| "one\n  two  \n\nfour\n".to_owned());
        let lines = |findings: Vec<Diagnostic>| {
            let said = Interpretation { diagnostics: findings, ..Interpretation::plain(CategoryCode::Findings, "found") };
            let findings = add_source_lines(said, &text).diagnostics;
            findings.into_iter().map(|finding| finding.source).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        let all = vec![finding("a.py", 1, Warning, None), finding("a.py", 4, Error, None), finding("a.py", 4, Error, None)];
        assert_eq!(lines(all), [some("one"), some("four"), None]);
        assert_eq!(lines(vec![finding("a.py", 2, Error, None)]), [some("  two")]);
        assert_eq!(lines(vec![finding("a.py", 2, Error, Some("as printed"))]), [some("as printed")]);
        for (file, line) in [("a.py", 3), ("a.py", 9), ("a.py", 0), ("b.py", 1), ("/a.py", 1)] {
            assert_eq!(lines(vec![finding(file, line, Error, None)]), [None], "{file}:{line}");
        }
        assert_eq!(lines(Vec::new()), Vec::<Option<String>>::new());
    }
}
