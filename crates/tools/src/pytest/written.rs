//! Finds the reports that pytest writes into the project by the project's own settings. `proctor init` proposes to keep them.

use toml::de::{DeTable, DeValue};

use crate::project_files::{ProjectFiles, within};
use proctor_model::split_words;

/// A kind of report that pytest-cov writes for `--cov-report=WORD` or `--cov-report=WORD:PATH`.
struct CoverageReport {
    word: &'static str,
    /// The path, unless the option or coverage.py's settings name another.
    path: &'static str,
    /// The key of coverage.py's section `[tool.coverage.WORD]` that names the path.
    key: &'static str,
}

const COVERAGE_REPORTS: &[CoverageReport] = &[
    CoverageReport { word: "xml", path: "coverage.xml", key: "output" },
    CoverageReport { word: "html", path: "htmlcov", key: "directory" },
    CoverageReport { word: "json", path: "coverage.json", key: "output" },
    CoverageReport { word: "lcov", path: "coverage.lcov", key: "output" },
];

/// The report with the sources of the covered files. Without a path, pytest-cov writes beside each source.
const ANNOTATED: &str = "annotate";

/// Files in the format of TOML that have nothing but pytest's settings, in the table `pytest`. pytest prefers them to all other files.
const TOML_FILES: &[&str] = &["pytest.toml", ".pytest.toml"];

/// Files in the format of INI with additional arguments of pytest, and the section that has them.
const INI_FILES: &[(&str, &str)] =
    &[("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")];

/// Files in the format of INI with coverage.py's settings, and the text before the names of their sections.
const COVERAGE_INI_FILES: &[(&str, &str)] = &[(".coveragerc", ""), ("setup.cfg", "coverage:"), ("tox.ini", "coverage:")];

/// The options that name the file of the JUnit report. They are read from the command only: proctor adds its own option
/// to the command, and it replaces an option in pytest's settings.
const JUNIT_OPTIONS: &[&str] = &["--junitxml", "--junit-xml"];

/// Returns the paths of the reports that a command of pytest writes in a directory, relative to that directory.
pub(crate) fn written(files: &dyn ProjectFiles, directory: &str, argv: &[String]) -> Vec<String> {
    let configured = configured_arguments(files, directory);
    let mut paths: Vec<String> = Vec::new();
    for value in values_of(&configured, &["--cov-report"]).into_iter().chain(values_of(argv, &["--cov-report"])) {
        let (word, path) = value.split_once(':').map_or((value, None), |(word, path)| (word, Some(path)));
        if let Some(report) = COVERAGE_REPORTS.iter().find(|report| report.word == word) {
            let path = path.map(str::to_owned).or_else(|| coverage_path(files, directory, report));
            paths.push(path.unwrap_or_else(|| report.path.to_owned()));
        } else if word == ANNOTATED {
            paths.extend(path.map(str::to_owned));
        }
    }
    paths.extend(values_of(argv, JUNIT_OPTIONS).into_iter().map(str::to_owned));
    paths
}

/// Returns the values of an option, written as `OPTION=VALUE` or as two words.
fn values_of<'w>(words: &'w [String], options: &[&str]) -> Vec<&'w str> {
    let value = |(place, word): (usize, &'w String)| match word.split_once('=') {
        Some((option, value)) => options.contains(&option).then_some(value),
        None => words.get(place + 1).filter(|_| options.contains(&word.as_str())).map(String::as_str),
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// Returns the arguments that pytest's settings add to every command.
fn configured_arguments(files: &dyn ProjectFiles, directory: &str) -> Vec<String> {
    let split = |text: String| split_words(&text).unwrap_or_default();
    let arguments = |addopts: Option<&DeValue<'_>>| match addopts {
        Some(DeValue::String(text)) => split(text.to_string()),
        Some(DeValue::Array(list)) => list.iter().filter_map(|word| Some(word.get_ref().as_str()?.to_owned())).collect(),
        Some(_) | None => Vec::new(),
    };
    for name in TOML_FILES {
        let mut words = None;
        with_table(files, directory, (name, "pytest"), |pytest| {
            words = Some(arguments(pytest.get("addopts").map(|value| value.get_ref())));
        });
        if let Some(words) = words {
            return words;
        }
    }
    for (name, section) in INI_FILES {
        if let Some(text) = ini_value(files, directory, name, section, "addopts") {
            return split(text);
        }
    }
    let mut words = Vec::new();
    with_pyproject(files, directory, |tools| {
        let pytest = tools.get("pytest").and_then(|table| table.get_ref().as_table());
        let older = pytest.and_then(|table| table.get("ini_options")).and_then(|table| table.get_ref().as_table());
        let addopts = older.or(pytest).and_then(|table| table.get("addopts")).map(|value| value.get_ref());
        words = arguments(addopts);
    });
    words
}

/// Returns the path that coverage.py's settings name for a report.
fn coverage_path(files: &dyn ProjectFiles, directory: &str, report: &CoverageReport) -> Option<String> {
    let of_ini = COVERAGE_INI_FILES
        .iter()
        .find_map(|(name, before)| ini_value(files, directory, name, &format!("{before}{}", report.word), report.key));
    let mut found = of_ini;
    with_pyproject(files, directory, |tools| {
        let coverage = tools.get("coverage").and_then(|table| table.get_ref().as_table());
        let section = coverage.and_then(|table| table.get(report.word)).and_then(|table| table.get_ref().as_table());
        let path = section.and_then(|table| table.get(report.key)).and_then(|value| value.get_ref().as_str());
        found = found.take().or_else(|| path.map(str::to_owned));
    });
    found
}

fn with_pyproject(files: &dyn ProjectFiles, directory: &str, read: impl FnOnce(&DeTable<'_>)) {
    with_table(files, directory, ("pyproject.toml", "tool"), read);
}

/// Calls `read` with a table at the top of a file, if the file has it.
fn with_table(files: &dyn ProjectFiles, directory: &str, (name, top): (&str, &str), read: impl FnOnce(&DeTable<'_>)) {
    let Some(bytes) = files.read(&within(directory, name)) else { return };
    let text = String::from_utf8_lossy(&bytes);
    let (table, _) = DeTable::parse_recoverable(&text);
    if let Some(table) = table.get_ref().get(top).and_then(|table| table.get_ref().as_table()) {
        read(table);
    }
}

/// Returns the value of a key in a section of a file in the format of INI. Lines that begin with a space continue the value.
fn ini_value(files: &dyn ProjectFiles, directory: &str, name: &str, section: &str, key: &str) -> Option<String> {
    let bytes = files.read(&within(directory, name))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = text.lines().skip_while(|line| line.trim() != format!("[{section}]")).skip(1);
    let first = lines.by_ref().take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim_end() == key).then(|| value.trim().to_owned())
    })?;
    let is_continued = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    let rest = lines.take_while(is_continued).map(|line| line.trim().to_owned());
    Some(std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    type Files = &'static [(&'static str, &'static str)];

    #[test]
    fn reports_are_found_in_every_file_that_can_name_them() {
        let rows: &[(Files, &[&str])] = &[
            (
                &[("pytest.ini", "[pytest]\naddopts = -q --cov-report=xml\n    --cov-report html:docs/cov\nx = 1\n")],
                &["coverage.xml", "docs/cov"],
            ),
            (
                &[("tox.ini", "[tox]\naddopts = --cov-report=xml\n[pytest]\naddopts=--cov-report=json:out/c.json\n")],
                &["out/c.json"],
            ),
            (
                &[("setup.cfg", "[tool:pytest]\naddopts = --cov-report=html\n[coverage:html]\ndirectory = cov_html\n")],
                &["cov_html"],
            ),
            (
                &[(
                    "pyproject.toml",
                    "[tool.pytest.ini_options]\naddopts = \"--cov --cov-report=xml --cov-report=term-missing --junitxml=j.xml\"\n\
                     [tool.coverage.xml]\noutput = \"out/coverage.xml\"\n",
                )],
                &["out/coverage.xml"],
            ),
            (&[("pyproject.toml", "[tool.pytest]\naddopts = [\"--cov-report\", \"lcov\"]\n")], &["coverage.lcov"]),
            (
                &[
                    ("pytest.toml", "[pytest]\naddopts = [\"--cov-report=xml\", \"--cov-report=annotate:notes\"]\n"),
                    ("pytest.ini", "[pytest]\naddopts = --cov-report=html\n"),
                ],
                &["coverage.xml", "notes"],
            ),
            (&[(".pytest.toml", "[pytest]\naddopts = [\"--cov-report=annotate\", \"--cov-report=json\"]\n")], &["coverage.json"]),
            (&[("pyproject.toml", "[tool.coverage.xml]\noutput = \"out/coverage.xml\"\n")], &[]),
            (&[("pytest.ini", "[pytest]\n[other]\naddopts = --cov-report=xml\n")], &[]),
        ];
        for (found, expected) in rows {
            assert_eq!(written(&FakeFiles::of(found), "", &[]), *expected, "{found:?}");
        }
        let argv = ["pytest", "--junitxml", "junit.xml", "--cov-report=xml:c.xml"].map(str::to_owned);
        assert_eq!(written(&FakeFiles::of(&[]), "", &argv), ["c.xml", "junit.xml"]);
    }
}
