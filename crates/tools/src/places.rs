//! Converts the paths that tools print into paths relative to the project.
//!
//! Adds the line of source code to the first finding of a tool that prints only its place, as tsc, mypy, Flake8 and ESLint do.
//! People see that finding first.

use std::path::{Component, Path, PathBuf};

use proctor_model::{FindingLevel, Interpretation};

/// The directories to which a tool's relative paths refer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The absolute path of the project's root.
    pub(super) root: &'a Path,
    /// The action's directory, relative to the root.
    pub(super) directory: &'a Path,
}

impl Place<'_> {
    /// Returns `path` relative to the project. A path outside the project becomes absolute.
    pub(super) fn within_project(&self, path: &str) -> String {
        let absolute = self.absolute(path);
        let root = normalise(self.root);
        absolute.strip_prefix(&root).unwrap_or(&absolute).to_string_lossy().into_owned()
    }

    /// Returns a path relative to the action's directory, if it lies inside that directory; otherwise the path as it is. The path
    /// comes from [`Place::within_project`].
    pub(super) fn within_directory<'p>(&self, path: &'p str) -> &'p str {
        Path::new(path).strip_prefix(self.directory).ok().and_then(Path::to_str).unwrap_or(path)
    }

    /// Returns the absolute form of a path that is relative to the action's directory.
    pub(super) fn absolute(&self, path: &str) -> PathBuf {
        normalise(&self.root.join(self.directory).join(path))
    }

    /// Returns whether a path belongs to the project itself and not to an installed package. The path comes from
    /// [`Place::within_project`].
    pub(super) fn is_own(path: &str) -> bool {
        !path.starts_with('/') && !path.split('/').any(|part| part == "site-packages" || part == "node_modules")
    }
}

// Only the text of the path is changed, because this module reads no files. The result is shown to people and never opened.
fn normalise(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(component),
        }
    }
    clean
}

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

    #[test]
    fn paths_in_the_project_become_relative_and_others_absolute() {
        let place = Place { root: Path::new("/project"), directory: Path::new("web") };
        assert_eq!(place.within_project("src/a.ts"), "web/src/a.ts");
        assert_eq!(place.within_project("../lib/b.ts"), "lib/b.ts");
        assert_eq!(place.within_project("/project/web/./c.ts"), "web/c.ts");
        assert_eq!(place.within_project("../../usr/lib/x.py"), "/usr/lib/x.py");
        assert!(!Place::is_own(&place.within_project("../venv/site-packages/x.py")));
        assert!(Place::is_own("web/c.ts"));
    }

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
