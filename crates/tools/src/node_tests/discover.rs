//! Discovers Jest and Vitest. The project must have a configuration or a script for the tool, and the program must be
//! installed. The command is taken from the project's own script.

use crate::discover::{FoundCheck, FoundChecks, Looked, named, node_program, words};
use crate::package_json::{package_has, scripts};
use crate::project_files::{ProjectFiles, within};
use crate::recognise_script;
use proctor_model::Tool;

pub(super) const JEST_CONFIGURATIONS: &[&str] =
    &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs", "jest.config.json"];

pub(super) const VITEST_CONFIGURATIONS: &[&str] =
    &["vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs", "vitest.config.cts", "vitest.config.cjs"];

/// The key of `package.json` that holds a Jest configuration.
const JEST_KEY: &str = "jest";

/// Words with which a script keeps running and watches for changes. Such a script never ends, so it cannot be a check.
const WATCHES: &[&str] = &["--watch", "--watchAll", "vitest watch", "vitest dev"];

/// Characters with a meaning for the shell. A script that contains one is run by npm, which uses a shell.
const SHELL_CHARACTERS: &[char] = &['&', '|', ';', '<', '>', '$', '`', '*', '?', '(', ')', '{', '}', '"', '\'', '\\', '='];

/// Looks for signs of Jest in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_jest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(Tool::Jest, JEST_CONFIGURATIONS, files, package, findings)
}

/// Looks for signs of Vitest in one directory of the project. Adds a check, or a note that says what is missing for
/// one.
pub(crate) fn find_vitest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(Tool::Vitest, VITEST_CONFIGURATIONS, files, package, findings)
}

fn find(tool: Tool, configurations: &[&str], files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let script = script_of(tool, files, package);
    let configuration = configurations.iter().map(|name| within(package, name)).find(|path| files.exists(path));
    let in_package = || (tool == Tool::Jest && package_has(files, package, JEST_KEY)).then(|| within(package, "package.json"));
    let called = script.as_ref().map(|(name, _)| format!("{} scripts.{name}", within(package, "package.json")));
    let Some(reason) = configuration.or_else(in_package).or(called) else { return Looked::Silent };
    let word = tool.word();
    let Some(program) = node_program(files, package, word, package) else {
        let advice = format!(
            "`{reason}` is there, but no `node_modules/.bin/{word}` beside or above it: install the project's packages, or {word} with \
             `npm install --save-dev {word}`"
        );
        findings.note(tool, advice);
        return Looked::Spoke;
    };
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

/// Returns the name and the text of the script that runs a tool once. The script `test` is tried first, then scripts
/// with `test` in their names.
fn script_of(tool: Tool, files: &dyn ProjectFiles, package: &str) -> Option<(String, String)> {
    let mut scripts: Vec<_> = scripts(files, package).into_iter().collect();
    scripts.sort_by_key(|(name, _)| (name != "test", !name.contains("test")));
    let runs = |text: &str| recognise_script(text).tool == tool && !WATCHES.iter().any(|words| text.contains(words));
    scripts.into_iter().find(|(_, text)| runs(text))
}

/// Returns the arguments that a script passes to a tool; `None` if the script does anything else or needs a shell.
fn plain_arguments(tool: Tool, script: &str) -> Option<Vec<String>> {
    let mut words = script.split_whitespace();
    let is_plain = words.next() == Some(tool.word()) && !script.contains(SHELL_CHARACTERS);
    is_plain.then(|| words.map(str::to_owned).collect())
}

// At a terminal, Vitest keeps running and watches for changes, unless `run` is given.
fn called_with(tool: Tool, program: Vec<String>, arguments: Vec<String>) -> Vec<String> {
    let ends = tool != Tool::Vitest
        || arguments.iter().any(|argument| argument == "run" || argument == "--run" || argument == "related");
    let run = if ends { None } else { Some("run".to_owned()) };
    program.into_iter().chain(run).chain(arguments).collect()
}
