//! Makes `node --test` write a report in the format TAP.
//!
//! Node's own reporter `tap` does not tell of a test that began and never ended, because its file called `process.exit`. So the report
//! comes from a reporter of proctor, which hands every event on to `tap` and adds a comment for each such test. It has no file: node
//! reads its code from the option (`data:`), in every version that has reporters.
//!
//! Discovers `node --test`: a script of `package.json` must run it. Files named `*.test.js` alone say nothing, because most test
//! runners of JavaScript use that name.

use crate::discover::{FoundCheck, FoundChecks, Looked, command_text, name_in_package, words};
use crate::jsonc::scripts;
use crate::prepare::{Preparation, ReportRequest, ReportTask};
use crate::project_files::{ProjectFiles, within};
use crate::recognise::CommandForm;
use crate::recognise_script;
use proctor_model::{Tool, has_word};

/// The report's file name in the output directory of the action.
const TAP_NAME: &str = "report.tap";

/// Options of node, and of tsx, that take the next word as their value. Only words before a file belong to node itself.
const VALUED: &str = "\
    -r --require --import --loader --experimental-loader --env-file -C --conditions --test-reporter \
    --test-reporter-destination --test-name-pattern --test-skip-pattern --test-concurrency --test-timeout --test-shard --tsconfig";

/// The code of the reporter. In a URL neither `?`, `#` nor `%` stand for themselves, so it has none of them. Each of its lines ends
/// where the next one may follow directly.
const REPORTER_CODE: &str = include_str!("reporter.mjs");

const REPORTER: &str = "--test-reporter";
const DESTINATION: &str = "--test-reporter-destination";

/// Returns whether node runs tests with these arguments: `--test` is among its own options.
pub(crate) fn runs_tests(_: &str, arguments: &[String]) -> bool {
    own_options(arguments).any(|word| word == "--test")
}

/// Requests a report in addition to the printed output. A command that chooses its reporters keeps them.
pub(crate) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, output_directory, .. } = *task;
    if located.recognition.tool != action.tool || located.recognition.form != CommandForm::Direct {
        return;
    }
    let path = output_directory.join(TAP_NAME);
    let mut options = vec![format!("{REPORTER}={}", reporter()), format!("{DESTINATION}={}", path.to_string_lossy())];
    let count = |name: &str| own_options(&located.arguments).filter(|word| word.split('=').next() == Some(name)).count();
    match (count(REPORTER), count(DESTINATION)) {
        // Without a reporter of its own the command would print nothing, because the report would be the only output.
        (0, _) => options.extend([format!("{REPORTER}=spec"), format!("{DESTINATION}=stdout")]),
        // One reporter without a destination prints to standard output. With a second reporter that must be said.
        (1, 0) => options.push(format!("{DESTINATION}=stdout")),
        (_, _) => {}
    }
    // Node takes every word after a file as the file's own argument, so the options come first.
    preparation.argv.splice(located.arguments_from..located.arguments_from, options);
    preparation.report = ReportRequest::Ours { path, channel: "argument" };
}

/// Returns the URL of the reporter.
pub(crate) fn reporter() -> String {
    let code: String = REPORTER_CODE.lines().map(str::trim).collect();
    format!("data:text/javascript,{code}")
}

fn own_options(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut skips = false;
    arguments.iter().map(String::as_str).take_while(move |word| {
        let is_own = skips || word.starts_with('-') && *word != "--";
        skips = !skips && has_word(VALUED, word);
        is_own
    })
}

/// Characters with a meaning for the shell. A script that contains one is run by npm, which uses a shell.
const SHELL_CHARACTERS: &[char] =
    &['&', '|', ';', '<', '>', '$', '`', '*', '?', '(', ')', '{', '}', '[', '"', '\'', '\\', '~', '#'];

/// With this option a script never ends, so it cannot be a check.
const WATCHES: &str = "--watch";

/// Looks for a script that runs `node --test` in one directory of the project, and adds a check for it.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let tool = Tool::NodeTest;
    let mut scripts: Vec<_> = scripts(files, package).into_iter().collect();
    scripts.sort_by_key(|(name, _)| (name != "test", !name.contains("test")));
    let runs = |text: &str| recognise_script(text).tool == tool && !text.contains(WATCHES);
    let Some((name, text)) = scripts.into_iter().find(|(_, text)| runs(text)) else { return Looked::Silent };
    let is_plain = text.starts_with("node ") && !text.contains(SHELL_CHARACTERS);
    let argv = if is_plain { text.split_whitespace().map(str::to_owned).collect() } else { words(&["npm", "run", &name]) };
    let reason =
        format!("`{} scripts.{name}` runs `{}`", within(package, "package.json"), command_text(&words(&["node", "--test"])));
    let found = FoundCheck {
        tool,
        name: name_in_package(tool.word(), package),
        directory: package.to_owned(),
        package: package.to_owned(),
        argv,
        policy: None,
    };
    findings.add(found, &reason);
    Looked::Spoke
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reporters_code_is_one_line_of_a_url() {
        let url = reporter();
        assert!(!url.contains(['?', '#', '%', '\n', '\t']), "{url}");
        let may_be_joined = |line: &str| line.ends_with([';', '{', '}']);
        assert!(REPORTER_CODE.lines().all(may_be_joined));
    }
}
