//! Finds what Jest and Vitest write into the project by the project's own settings: coverage reports and snapshots. `proctor init`
//! proposes to keep them.

use crate::jsonc::{script_name, scripts};
use crate::node_tests::prepare::{JEST_CONFIGURATIONS, VITEST_CONFIGURATIONS};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// The settings of a tool for coverage. Configurations are mostly code, so settings are found by their text: the key, a colon, the
/// value.
struct CoverageSettings {
    configurations: &'static [&'static str],
    /// The key that names the directory of the reports.
    directory: &'static str,
    /// If the configuration contains one of these texts, the tool collects coverage without an option. White space in
    /// the configuration is ignored.
    collects: &'static [&'static str],
}

const JEST: CoverageSettings = CoverageSettings {
    configurations: JEST_CONFIGURATIONS,
    directory: "coverageDirectory",
    collects: &["collectCoverage:true", "\"collectCoverage\":true"],
};

const VITEST: CoverageSettings = CoverageSettings {
    configurations: VITEST_CONFIGURATIONS,
    directory: "reportsDirectory",
    collects: &["coverage:{enabled:true", "enabled:true,provider", "enabled:true,reporter", "enabled:true,reportsDirectory"],
};

/// The directory to which both tools write coverage reports by default, relative to the directory of the command.
const DEFAULT_DIRECTORY: &str = "coverage";

const SNAPSHOTS: &str = "__snapshots__";

/// Snapshot files of Jest and Vitest are not looked for in directories with these names, nor more than [`DEPTH`] levels
/// below the working directory.
const NOT_SEARCHED: &[&str] = &["node_modules", "dist", "build", "coverage"];
const DEPTH: usize = 5;
const MOST_DIRECTORIES: usize = 2_000;

/// Returns what a command of Jest writes in a directory, as patterns relative to that directory.
pub(crate) fn written_by_jest(files: &dyn ProjectFiles, directory: &str, argv: &[String]) -> Vec<String> {
    written(Tool::Jest, &JEST, files, directory, argv)
}

/// Returns what a command of Vitest writes in a directory, as patterns relative to that directory.
pub(crate) fn written_by_vitest(files: &dyn ProjectFiles, directory: &str, argv: &[String]) -> Vec<String> {
    written(Tool::Vitest, &VITEST, files, directory, argv)
}

fn written(tool: Tool, settings: &CoverageSettings, files: &dyn ProjectFiles, directory: &str, argv: &[String]) -> Vec<String> {
    let read = |name: &&str| files.read(&within(directory, name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let configuration = settings.configurations.iter().find_map(read);
    // Jest's settings can also be in `package.json`.
    let configuration = configuration.or_else(|| read(&"package.json").filter(|_| tool == Tool::Jest)).unwrap_or_default();
    let script = script_name(argv).and_then(|name| scripts(files, directory).remove(name)).unwrap_or_default();
    let compact: String = configuration.chars().filter(|character| !character.is_whitespace()).collect();
    let is_option = |word: &str| word == "--coverage" || word == "--coverage.enabled" || word == "--coverage=true";
    let collects = settings.collects.iter().any(|text| compact.contains(text))
        || argv.iter().any(|word| is_option(word))
        || script.split_whitespace().any(is_option);
    let mut patterns = Vec::new();
    if collects {
        let path = text_of_key(&configuration, settings.directory).unwrap_or_else(|| DEFAULT_DIRECTORY.to_owned());
        let path = path.trim_start_matches("<rootDir>/").trim_start_matches("./").trim_end_matches('/').to_owned();
        patterns.push(format!("{path}/**"));
    }
    if has_snapshots(files, directory) {
        patterns.push(format!("**/{SNAPSHOTS}/**"));
    }
    patterns
}

/// Returns the text that stands behind a key, in JavaScript or JSON.
fn text_of_key(configuration: &str, key: &str) -> Option<String> {
    let behind = &configuration[configuration.find(key)? + key.len()..];
    let behind = behind.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start();
    let quote = behind.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    behind[1..].split_once(quote).map(|(text, _)| text.to_owned()).filter(|text| !text.contains('$'))
}

fn has_snapshots(files: &dyn ProjectFiles, directory: &str) -> bool {
    let mut waiting = vec![(directory.to_owned(), 0)];
    let mut listed = 0;
    while let Some((directory, depth)) = waiting.pop() {
        listed += 1;
        if listed > MOST_DIRECTORIES {
            return false;
        }
        for name in files.names(&directory) {
            let path = within(&directory, &name);
            if name.starts_with('.') || NOT_SEARCHED.contains(&name.as_str()) || !files.is_directory(&path) {
                continue;
            }
            if name == SNAPSHOTS {
                return true;
            }
            if depth < DEPTH {
                waiting.push((path, depth + 1));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    type Files = &'static [(&'static str, &'static str)];

    #[test]
    fn coverage_and_snapshots_are_found_where_the_settings_have_them_written() {
        let rows: &[(Tool, Files, &[&str], &[&str])] = &[
            (Tool::Jest, &[("package.json", r#"{"scripts": {"test": "jest --coverage"}, "jest": {}}"#)], &["jest"], &[]),
            (
                Tool::Jest,
                &[("package.json", r#"{"scripts": {"test": "jest --coverage"}, "jest": {}}"#)],
                &["npm", "run", "test"],
                &["coverage/**"],
            ),
            (
                Tool::Jest,
                &[("package.json", r#"{"jest": {"collectCoverage": true, "coverageDirectory": "<rootDir>/out/cov/"}}"#)],
                &["jest"],
                &["out/cov/**"],
            ),
            (Tool::Jest, &[("jest.config.js", "module.exports = { coverageDirectory: 'cov' }")], &["jest"], &[]),
            (
                Tool::Jest,
                &[("jest.config.js", "module.exports = { coverageDirectory: 'cov' }")],
                &["jest", "--coverage"],
                &["cov/**"],
            ),
            (
                Tool::Vitest,
                &[
                    ("vitest.config.ts", "test: { coverage: { enabled: true, reportsDirectory: './html' } }"),
                    ("src/a/__snapshots__/a.test.ts.snap", ""),
                ],
                &["vitest", "run"],
                &["html/**", "**/__snapshots__/**"],
            ),
            (Tool::Vitest, &[("vitest.config.ts", "x"), ("node_modules/a/__snapshots__/a", "")], &["vitest", "run"], &[]),
        ];
        for (tool, found, argv, expected) in rows {
            let find = if *tool == Tool::Jest { written_by_jest } else { written_by_vitest };
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(find(&FakeFiles::of(found), "", &argv), *expected, "{found:?}");
        }
    }
}
