//! Jest and Vitest: a configuration or a script that runs them, and the program the project itself installed; called as the
//! project's own script calls it.

use crate::model::Tool;
use crate::tools::discover::{FoundCheck, FoundChecks, Looked, named, nearest_with, program, words};
use crate::tools::package_json::{package_has, scripts};
use crate::tools::project_files::{ProjectFiles, within};
use crate::tools::recognise_script;

const JEST_CONFIGURATIONS: &[&str] =
    &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs", "jest.config.json"];

const VITEST_CONFIGURATIONS: &[&str] =
    &["vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs", "vitest.config.cts", "vitest.config.cjs"];

/// The key of `package.json` that is a Jest configuration.
const JEST_KEY: &str = "jest";

/// A script with one of these goes on until it is stopped, which is not what a check does.
const WATCHES: &[&str] = &["--watch", "--watchAll", "vitest watch", "vitest dev"];

/// What a shell would read in a word; a script with it is left to npm and its shell.
const SHELL_CHARACTERS: &[char] = &['&', '|', ';', '<', '>', '$', '`', '*', '?', '(', ')', '{', '}', '"', '\'', '\\', '='];

/// Looks for Jest in one directory.
pub(in crate::tools) fn find_jest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(Tool::Jest, JEST_CONFIGURATIONS, files, package, findings)
}

/// Looks for Vitest in one directory.
pub(in crate::tools) fn find_vitest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(Tool::Vitest, VITEST_CONFIGURATIONS, files, package, findings)
}

fn find(tool: Tool, configurations: &[&str], files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let script = script_of(tool, files, package);
    let configuration = configurations.iter().map(|name| within(package, name)).find(|path| files.exists(path));
    let in_package = || (tool == Tool::Jest && package_has(files, package, JEST_KEY)).then(|| within(package, "package.json"));
    let called = script.as_ref().map(|(name, _)| format!("{} scripts.{name}", within(package, "package.json")));
    let Some(reason) = configuration.or_else(in_package).or(called) else { return Looked::Silent };
    let word = tool.word();
    let path = format!("node_modules/.bin/{word}");
    let Some(holder) = nearest_with(files, package, &path) else {
        let advice = format!(
            "`{reason}` is there, but no `{path}` beside or above it: install the project's packages, or {word} with \
             `npm install --save-dev {word}`"
        );
        findings.note(tool, advice);
        return Looked::Spoke;
    };
    let program = program(&holder, &path, package);
    let argv = match script {
        Some((name, text)) => plain_arguments(tool, &text)
            .map_or_else(|| words(&["npm", "run", &name]), |arguments| called_with(tool, program, arguments)),
        None => called_with(tool, program, Vec::new()),
    };
    let (name, package) = (named(word, package), package.to_owned());
    let found = FoundCheck { tool, name, directory: package.clone(), package, argv, policy: None };
    findings.add(found, &format!("`{reason}` is there"));
    Looked::Spoke
}

/// Returns the script that runs a tool and ends: the one named `test`, else the first.
fn script_of(tool: Tool, files: &dyn ProjectFiles, package: &str) -> Option<(String, String)> {
    let mut scripts: Vec<_> = scripts(files, package).into_iter().collect();
    scripts.sort_by_key(|(name, _)| (name != "test", !name.contains("test")));
    let runs = |text: &str| recognise_script(text).tool == tool && !WATCHES.iter().any(|words| text.contains(words));
    scripts.into_iter().find(|(_, text)| runs(text))
}

/// Returns what a script hands to a tool, where it does nothing else and needs no shell.
fn plain_arguments(tool: Tool, script: &str) -> Option<Vec<String>> {
    let mut words = script.split_whitespace();
    let is_plain = words.next() == Some(tool.word()) && !script.contains(SHELL_CHARACTERS);
    is_plain.then(|| words.map(str::to_owned).collect())
}

// Vitest goes on and waits for changes where it finds a terminal; `run` says that it is to end.
fn called_with(tool: Tool, program: String, arguments: Vec<String>) -> Vec<String> {
    let ends = tool != Tool::Vitest
        || arguments.iter().any(|argument| argument == "run" || argument == "--run" || argument == "related");
    let run = if ends { None } else { Some("run".to_owned()) };
    std::iter::once(program).chain(run).chain(arguments).collect()
}
