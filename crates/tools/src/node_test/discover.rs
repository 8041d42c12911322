//! Discovers `node --test`: a script of `package.json` must run it. Files named `*.test.js` alone say nothing, because most test
//! runners of JavaScript use that name.

use crate::discover::{FoundCheck, FoundChecks, Looked, command_text, named, words};
use crate::package_json::scripts;
use crate::project_files::{ProjectFiles, within};
use crate::recognise_script;
use proctor_model::Tool;

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
        name: named(tool.word(), package),
        directory: package.to_owned(),
        package: package.to_owned(),
        argv,
        policy: None,
    };
    findings.add(found, &reason);
    Looked::Spoke
}
