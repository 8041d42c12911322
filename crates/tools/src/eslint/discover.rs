//! Discovers eslint. The project must have an eslint configuration and an installed eslint program. The command is
//! taken from the project's own scripts.

use crate::discover::{FoundCheck, FoundChecks, FoundPolicy, Looked, name_in_package, node_program};
use crate::eslint::call::eslint_call;
use crate::jsonc::package_has;
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// The file names of eslint configurations.
const CONFIGURATIONS: &[&str] = &[
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    "eslint.config.cts",
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yaml",
    ".eslintrc.yml",
];

/// The key of `package.json` that holds an eslint configuration.
const PACKAGE_KEY: &str = "eslintConfig";

const PROGRAM: &str = "node_modules/.bin/eslint";

/// Looks for signs of eslint in one directory of the project. Adds a check, or a note that says what is missing for
/// one.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let configuration = CONFIGURATIONS.iter().map(|name| within(package, name)).find(|path| files.exists(path));
    let in_package = || package_has(files, package, PACKAGE_KEY).then(|| within(package, "package.json"));
    let Some(configuration) = configuration.or_else(in_package) else { return Looked::Silent };
    let Some(mut argv) = node_program(files, package, "eslint", package) else {
        let advice = format!(
            "`{configuration}` is there, but no `{PROGRAM}` beside or above it: install the project's packages, or eslint with \
             `npm install --save-dev eslint`"
        );
        findings.note(Tool::Eslint, advice);
        return Looked::Spoke;
    };
    let call = eslint_call(files, package);
    // eslint searches for its configuration from the working directory, so it runs in its package.
    let mut reason = format!("`{configuration}` is there");
    let mut policy = None;
    if let Some(call) = &call {
        argv.extend(call.options.iter().chain(&call.paths).cloned());
        policy = FoundPolicy::from_limit(call.max_warnings, &call.place);
        reason.push_str(&format!(" and `{}` calls it so", call.place));
    }
    if call.is_none_or(|call| call.paths.is_empty()) {
        argv.push(".".to_owned());
    }
    let (name, package) = (name_in_package("eslint", package), package.to_owned());
    findings.add(FoundCheck { tool: Tool::Eslint, name, directory: package.clone(), package, argv, policy }, &reason);
    Looked::Spoke
}
