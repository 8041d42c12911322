//! Finds a setting of npm or pnpm in the project's files that decides how a check ends, whatever the check's tool says.
//!
//! npm starts every script and every program of `npx` with the shell that `.npmrc` names. With `script-shell = /bin/true`, or with
//! `help = true`, the tool is not started at all, and the exit code is 0. A `node-options` that loads a file lets that file end the
//! tool. Tried with npm 11.

use std::path::{Path, PathBuf};

use crate::launchers::{SHELLS, visit_programs};
use proctor_model::{Action, CategoryCode, Interpretation, NPM_SETTINGS_FILES};

/// The programs that read these files.
const PROGRAMS: &[&str] = &["npm", "npx", "pnpm", "pnpx", "yarn"];

/// Settings that a project has no reason to have: they name further files of settings, or have npm print its help.
const EVASIVE: &[&str] = &["globalconfig", "help", "prefix", "usage", "userconfig"];

/// Options of Node that load a module before the program.
const LOADING: &[&str] = &["--experimental-loader", "--import", "--loader", "--require", "-r"];

/// Returns the file and the line of the first such setting that an action's command obeys. `directory` is relative to the project's
/// root, and `read` returns the text of a file of the project.
pub fn deciding_npm_setting(
    action: &Action,
    directory: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Option<(PathBuf, String)> {
    let mut is_obeyed = false;
    visit_programs(&action.command.argv, &mut |call| {
        is_obeyed |= call.first().is_some_and(|name| PROGRAMS.contains(&name.as_str()));
    });
    let directories = is_obeyed.then(|| directory.ancestors()).into_iter().flatten();
    let mut files = directories.flat_map(|directory| NPM_SETTINGS_FILES.iter().map(|name| directory.join(name)));
    files.find_map(|file| {
        let text = read(&file)?;
        let line = text.lines().find(|line| is_deciding(line))?.trim().to_owned();
        Some((file, line))
    })
}

/// Returns a contradiction instead of a success if a setting of npm decided how the check ended.
pub fn judge_npm_setting(said: Interpretation, found: Option<(PathBuf, String)>) -> Interpretation {
    let is_success = matches!(
        said.category,
        CategoryCode::TestsPassed | CategoryCode::Clean | CategoryCode::ExpectedExit | CategoryCode::NothingChecked
    );
    let Some((file, line)) = found.filter(|_| is_success) else { return said };
    let reason = format!(
        "The check succeeded ({}), but `{line}` in `{}` decides how npm starts its programs, so the success is not the tool's; remove it",
        said.reason,
        file.display()
    );
    Interpretation { category: CategoryCode::Inconsistent, reason, error_type: Some("NPM_SETTING".to_owned()), ..said }
}

/// Returns whether a line of a file of settings is such a setting: `key = value` of `.npmrc`, `key: value` of YAML, or `key "value"` of
/// `.yarnrc`.
fn is_deciding(line: &str) -> bool {
    let line = line.trim();
    let Some((key, value)) = line.split_once(['=', ':', ' ']).or(Some((line, "true"))) else { return false };
    let key = kebab_case(unquoted(key).trim_end_matches("[]"));
    let value = unquoted(value.trim_start_matches(['=', ':', ' ']));
    match key.as_str() {
        "script-shell" => !is_shell(value),
        "node-options" => loads_file(value),
        name => EVASIVE.contains(&name) && !matches!(value, "false" | "null" | ""),
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'']).trim()
}

/// Returns a key as `.npmrc` has it; YAML has `scriptShell`.
fn kebab_case(key: &str) -> String {
    let parts = key.chars().map(|letter| match letter {
        'A'..='Z' => format!("-{}", letter.to_ascii_lowercase()),
        other => other.to_string(),
    });
    parts.collect()
}

/// Returns whether a value names a shell of the machine.
fn is_shell(value: &str) -> bool {
    let path = Path::new(value);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let directory = path.parent().unwrap_or(Path::new(""));
    let is_of_machine = ["", "/bin", "/usr/bin", "/usr/local/bin"].iter().any(|known| directory == Path::new(known));
    is_of_machine && SHELLS.contains(&name)
}

/// Returns whether options of Node load a file, and not a package by its name.
fn loads_file(options: &str) -> bool {
    let words: Vec<&str> = options.split([' ', '=', '\t']).map(unquoted).filter(|word| !word.is_empty()).collect();
    let is_file =
        |module: &str| !module.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@') || module.contains(':');
    words.windows(2).any(|pair| LOADING.contains(&pair[0]) && is_file(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proctor_model::Tool;

    fn found(command: &str, directory: &str, file: &str, text: &str) -> Option<String> {
        let action = samples::action(Tool::Generic, command);
        let read = |path: &Path| (path == Path::new(file)).then(|| text.to_owned());
        deciding_npm_setting(&action, Path::new(directory), &read).map(|(file, line)| format!("{}: {line}", file.display()))
    }

    #[test]
    fn a_setting_that_decides_how_a_check_ends_is_found_where_npm_reads_it() {
        for line in [
            "script-shell=/bin/true",
            "\"script-shell\" = \"/bin/true\"",
            "script-shell = ./sh",
            "script-shell[]=/bin/true",
            "userconfig=./evilrc",
            "globalconfig = evilrc",
            "prefix=./pp",
            "help",
            "usage=true",
            "node-options=--require ./evil.js",
            "node-options=\"--max-old-space-size=1 --import=data:text/javascript,process.exit(0)\"",
        ] {
            for command in ["npx tsc --noEmit", "npm run t", "pnpm exec tsc", "sh -c 'cd web && npm test'"] {
                assert_eq!(found(command, "", ".npmrc", line), Some(format!(".npmrc: {line}")), "{command}");
            }
        }
        assert!(found("npx tsc", "packages/web", ".npmrc", "a=b\nscript-shell=/bin/true").is_some());
        assert!(found("npx tsc", "packages/web", "packages/web/.npmrc", "script-shell=/bin/true").is_some());
        assert!(found("pnpm test", "", "pnpm-workspace.yaml", "packages: []\nscriptShell: /bin/true\n").is_some());
        assert!(found("yarn test", "", ".yarnrc", "script-shell \"/bin/true\"\n").is_some());
    }

    #[test]
    fn settings_of_honest_projects_are_left_alone() {
        for line in [
            "; script-shell=/bin/true",
            "# script-shell=/bin/true",
            "script-shell=/bin/bash",
            "script-shell = bash",
            "engine-strict=true",
            "registry=https://registry.example/",
            "//registry.example/:_authToken=${TOKEN}",
            "node-options=--max-old-space-size=8192",
            "node-options=--import tsx",
            "save-prefix=~",
            "help=false",
            "",
        ] {
            assert_eq!(found("npx tsc --noEmit", "", ".npmrc", line), None, "{line}");
        }
        assert_eq!(found("node_modules/.bin/tsc", "", ".npmrc", "script-shell=/bin/true"), None);
    }

    #[test]
    fn only_a_success_is_taken_back() {
        let setting = || Some((PathBuf::from(".npmrc"), "script-shell=/bin/true".to_owned()));
        let judged = |category| judge_npm_setting(Interpretation::plain(category, "found nothing"), setting()).category;
        for success in [CategoryCode::Clean, CategoryCode::TestsPassed, CategoryCode::ExpectedExit] {
            assert_eq!(judged(success), CategoryCode::Inconsistent);
        }
        assert_eq!(judged(CategoryCode::Findings), CategoryCode::Findings);
        let plain = Interpretation::plain(CategoryCode::Clean, "found nothing");
        assert_eq!(judge_npm_setting(plain.clone(), None), plain);
    }
}
