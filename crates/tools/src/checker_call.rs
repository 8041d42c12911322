//! Finds the arguments with which a command calls a type checker, directly or through a shell script or a script of
//! `package.json`.
//!
//! Only a command with exactly one call in its own directory can be compared with the project's files. If there may be
//! further calls or another directory, the result is "unclear". Otherwise a call that this module overlooks would count
//! as compared (C24).

use std::collections::BTreeMap;

use crate::jsonc::{LAUNCHERS, RUNNERS, handed_on, script_name, scripts};
use crate::option_spelling::is_same_option;
use crate::project_files::ProjectFiles;
use crate::shell::{command_row, script_of};
use proctor_model::{CommandLine, is_assignment, join_words};

/// The arguments after the type checker's name, in the only call of the checker that a command makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckerCall(pub(super) Vec<String>);

/// The limit for the number of scripts that are followed, because scripts can call each other in a circle.
const MOST_SCRIPTS: u32 = 16;

/// Words that may come before a program's name, in addition to the launchers of `package.json`. `hatch run` is missing
/// on purpose: its argument may be the name of a script that another file defines.
const MORE_LAUNCHERS: &[&str] =
    &["command", "coverage", "nice", "node", "nohup", "poetry", "python", "timeout", "tool", "uv", "uvx"];

/// Launcher options that take the next word as their value.
const VALUED: &[&str] = &["--extra", "--group", "--package", "--python", "--with", "-W", "-X", "-p"];

/// Launcher options that run the program in another directory or in several directories.
const MOVING: &str = "\
    --chdir --cwd --dir --directory --filter --prefix --recursive --workspace --workspace-root --workspaces -C -F -r -w -ws";

/// Words that start the command after them in the same directory, such as `env` and `time`.
const PREFIXES: &[&str] = &["builtin", "command", "cross-env", "env", "exec", "nice", "nohup", "time"];

/// Shell commands that may change the working directory.
const GOING: &[&str] = &[".", "cd", "chdir", "eval", "popd", "pushd", "source"];

/// Programs that run scripts in a way that is not followed here. It cannot be told what a command with such a program
/// runs.
const SCRIPT_RUNNERS: &[&str] = &["lerna", "npm-run-all", "nx", "run-p", "run-s", "turbo"];

/// Commands that never run another program, whatever their arguments.
const IDLE: &[&str] = &["echo", "mkdir", "pip", "pip3", "printf", "rm"];

/// Subcommands of npm, pnpm, yarn and bun that install packages and so never call the type checker.
const INSTALLING: &[&str] = &["add", "ci", "i", "install"];

/// Returns the arguments of the only call of a program in the command's own directory. Returns `None` if the command
/// does not call the program, calls it more than once, or cannot be understood.
pub fn find_arguments(command: &CommandLine, files: &dyn ProjectFiles, directory: &str, program: &str) -> Option<CheckerCall> {
    let mut followed = Followed { scripts: scripts(files, directory), left: MOST_SCRIPTS, commands: Vec::new() };
    followed.command(command.argv.clone())?;
    let mut calls = Vec::new();
    for words in &followed.commands {
        match role_of(words, program) {
            Role::Calls(arguments) => calls.push(CheckerCall(arguments)),
            Role::Other => {}
            Role::Unclear => return None,
        }
    }
    let call = calls.pop()?;
    calls.is_empty().then_some(call)
}

/// All commands that a command leads to, with calls of scripts replaced by the commands in the scripts.
struct Followed {
    scripts: BTreeMap<String, String>,
    left: u32,
    commands: Vec<Vec<String>>,
}

impl Followed {
    fn command(&mut self, words: Vec<String>) -> Option<()> {
        if let Some(script) = script_of(&words) {
            return self.script(script.text);
        }
        let own = without_prefix(&words);
        let Some(name) = script_name(own).filter(|name| self.scripts.contains_key(*name)) else {
            self.commands.push(words);
            return Some(());
        };
        if own.iter().take_while(|word| *word != "--").any(|word| is_moving(word)) {
            return None;
        }
        let more = join_words(handed_on(own).iter().map(String::as_str))?;
        // npm also runs the scripts with the prefixes `pre` and `post`.
        for (name, more) in [(format!("pre{name}"), ""), (name.to_owned(), more.as_str()), (format!("post{name}"), "")] {
            if let Some(text) = self.scripts.get(&name).map(|text| format!("{text} {more}")) {
                self.script(&text)?;
            }
        }
        Some(())
    }

    fn script(&mut self, text: &str) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        command_row(text)?.into_iter().try_for_each(|command| self.command(command.words))
    }
}

/// Whether a command calls the type checker whose call is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// The command calls the type checker with these arguments.
    Calls(Vec<String>),
    /// The command does not call the type checker.
    Other,
    /// It cannot be decided whether the command calls the type checker.
    Unclear,
}

fn role_of(words: &[String], program: &str) -> Role {
    let Some(first) = without_prefix(words).first().map(|word| name_of(word)) else { return of_mention(words, program, false) };
    if GOING.contains(&first) || words.iter().any(|word| SCRIPT_RUNNERS.contains(&name_of(word))) {
        return Role::Unclear;
    }
    match words.iter().position(|word| name_of(word) == program && !word.contains(char::is_whitespace)) {
        Some(at) if launches(&words[..at]) => {
            let arguments = &words[at + 1..];
            if arguments.iter().any(|word| is_open(word)) { Role::Unclear } else { Role::Calls(arguments.to_vec()) }
        }
        Some(_) | None => match words.iter().position(|word| RUNNERS.contains(&name_of(word))) {
            Some(runner) if words.get(runner + 1).is_none_or(|verb| INSTALLING.contains(&verb.as_str())) => Role::Other,
            Some(_) => Role::Unclear,
            None => of_mention(words, program, IDLE.contains(&first)),
        },
    }
}

/// Judges a command that mentions the program in an unusual place, for example `xargs tsc` or `sh run 'tsc -b'`.
fn of_mention(words: &[String], program: &str, is_idle: bool) -> Role {
    let names_it = |word: &String| word.split(|part: char| !part.is_alphanumeric() && part != '_').any(|part| part == program);
    let runs_more = |word: &String| word.contains("$(") || word.contains('`');
    let is_unclear = words.iter().any(names_it) && (!is_idle || words.iter().any(runs_more));
    if is_unclear { Role::Unclear } else { Role::Other }
}

/// Returns a command without its leading variable assignments and without words such as `exec` that only start another
/// command.
fn without_prefix(words: &[String]) -> &[String] {
    let is_prefix = |word: &String| is_assignment(word) || PREFIXES.contains(&name_of(word));
    let start = words.iter().position(|word| !is_prefix(word)).unwrap_or(words.len());
    &words[start..]
}

/// Returns whether all words only start the program that follows them: they change neither its directory nor its
/// version.
fn launches(words: &[String]) -> bool {
    words.iter().enumerate().all(|(at, word)| {
        let name = name_of(word);
        let is_value = at.checked_sub(1).is_some_and(|before| VALUED.contains(&words[before].as_str()));
        let is_time = word.bytes().all(|byte| byte.is_ascii_digit() || b".smh".contains(&byte)) && !word.is_empty();
        let is_python = name.strip_prefix("python").is_some_and(|version| version.starts_with('3'));
        let is_launcher = LAUNCHERS.contains(&name) || MORE_LAUNCHERS.contains(&name) || is_python;
        // `typescript@5` selects a version that may differ from the project's.
        let is_known = is_launcher || is_assignment(word) || is_time || (is_value && !word.contains('@'));
        is_known || (word.starts_with('-') && !is_moving(word))
    })
}

fn is_moving(word: &str) -> bool {
    let is_option = |option: &str| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    MOVING.split(' ').any(is_option) || word.starts_with("-C")
}

/// Returns whether the shell may expand a word to any other words: it is a variable, or it contains a command substitution.
fn is_open(word: &str) -> bool {
    let is_variable = word.starts_with('$') && (word.ends_with('}') || !word.contains('/'));
    is_variable || word.contains("$(") || word.contains('`')
}

fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

impl CheckerCall {
    /// Returns the value of an option. Upper and lower case, and one and two dashes, are the same as for tsc, but not in the form
    /// `--name=value`. If the option is repeated, the last value counts.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let joined = |word: &str| names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('=').map(str::len));
        let mut found = None;
        for (index, word) in self.0.iter().enumerate() {
            if names.iter().any(|name| is_same_option(word, name)) {
                found = self.0.get(index + 1).map(String::as_str);
            } else if let Some(length) = joined(word) {
                found = Some(&word[word.len() - length..]);
            }
        }
        found
    }

    /// Returns the value of a flag: `false` if the next word is `false`, otherwise `true`; `None` without the flag. If
    /// the flag is repeated, its last place counts.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let position = self.0.iter().rposition(|word| is_same_option(word, name))?;
        Some(self.0.get(position + 1).is_none_or(|value| value != "false"))
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|other| other == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeFiles;
    use proctor_model::split_words;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_call_is_what_stands_behind_the_program() {
        let package = r#"{"scripts": {"types": "tsc -p app"}}"#;
        let files = FakeFiles::of(&[("web/package.json", package)]);
        for (line, expected) in [
            ("npx --no-install tsc --noEmit --strict", Some("--noEmit --strict")),
            ("node_modules/.bin/tsc", Some("")),
            ("npm run types -- --strict", Some("-p app --strict")),
            ("npm run types", Some("-p app")),
            ("make types", None),
        ] {
            assert_eq!(of(line, &files), expected.map(|call| CheckerCall(words(call))), "{line}");
        }
    }

    #[test]
    fn one_dash_and_two_begin_the_same_option() {
        let call = CheckerCall(words("-Project app -noCheck --STRICT false"));
        assert_eq!(
            (call.value(&["-p", "--project"]), call.flag("--noCheck"), call.flag("--strict")),
            (Some("app"), Some(true), Some(false))
        );
    }

    #[test]
    fn what_runs_beside_a_call_in_the_same_directory_hides_it_not() {
        let package = r#"{"scripts": {
            "types": "tsc -p app", "all": "npm run gen && npm run types", "gen": "mkdir -p out; cp a.ts out", "tsc": "tsc -p web"
        }}"#;
        let files = FakeFiles::of(&[("web/package.json", package)]);
        for (script, expected) in [
            ("NODE_ENV=test npx tsc -p app 2>&1 | tee log", "-p app"),
            ("echo tsc; mkdir -p out && tsc -p app > out/log", "-p app"),
            ("npm ci && npx -p typescript tsc -p app", "-p app"),
            ("npm run all", "-p app"),
            ("CI=1 yarn types --strict", "-p app --strict"),
            ("npm run types -- --strict && ls", "-p app --strict"),
            ("npm run tsc", "-p web"),
            ("sh -c 'tsc -p app'", "-p app"),
            ("tsc -p app --tsBuildInfoFile \"$PROCTOR_OUT/info\"", "-p app --tsBuildInfoFile $PROCTOR_OUT/info"),
        ] {
            let line = join_words(["bash", "-o", "pipefail", "-c", script]).expect("it has no NUL");
            assert_eq!(of(&line, &files), Some(CheckerCall(words(expected))), "{script}");
        }
    }

    #[test]
    fn what_may_be_several_calls_or_one_elsewhere_is_not_to_be_seen() {
        let package = r#"{"scripts": {
            "types": "cd app && tsc", "both": "tsc && tsc -p app", "pretwice": "tsc -p app", "twice": "tsc", "again": "npm run again",
            "plain": "tsc"
        }}"#;
        let files = FakeFiles::of(&[("package.json", package), ("web/package.json", package)]);
        for line in [
            "npm run types",
            "npm run both",
            "npm run twice",
            "npm run again",
            "npm run plain --prefix app",
            "pnpm -C app tsc",
            "yarn --cwd=app tsc",
            "npx -p typescript@5 tsc",
            "env -C app tsc",
            "docker exec web tsc",
            "bash -c 'cd app && node_modules/.bin/tsc'",
            "bash -c '(cd app; tsc)'",
            "bash -c 'tsc && npm run plain'",
            "bash -c 'tsc && yarn --silent plain'",
            "bash -c 'tsc && env -C app npm run plain'",
            "bash -c 'tsc\ntsc -p app'",
            "bash -c 'for p in a b; do tsc -p $p; done'",
            "bash -c 'tsc $FLAGS'",
            "bash -c 'tsc \"${FLAGS:-a/b}\"'",
            "bash -c 'tsc $(flags)'",
            "bash -c 'tsc && xargs tsc -p'",
            "bash -c 'tsc && echo `tsc -p app`'",
            "bash -c 'tsc && eval $MORE'",
            "bash -c 'tsc && npx run-s types'",
            "bash -c 'A=$(tsc -p app) && tsc'",
        ] {
            assert_eq!(of(line, &files), None, "{line}");
        }
    }

    fn of(line: &str, files: &FakeFiles) -> Option<CheckerCall> {
        let argv = split_words(line).expect("words");
        find_arguments(&CommandLine { argv, display: line.to_owned(), shell: false }, files, "web", "tsc")
    }

    #[test]
    fn an_option_has_the_last_value_it_is_given_joined_or_apart() {
        let value = |call: &str| CheckerCall(words(call)).value(&["-p", "--project"]).map(str::to_owned);
        assert_eq!(value("--project=web -x"), Some("web".to_owned()));
        assert_eq!(value("-p one --project two"), Some("two".to_owned()));
        assert_eq!(value("--PROJECT one"), Some("one".to_owned()));
        assert_eq!(value("--projects=web"), None);
        assert_eq!(value("-p"), None);
        assert_eq!(
            (CheckerCall(words("--strict false")).flag("--strict"), CheckerCall(words("--strict -x")).flag("--strict")),
            (Some(false), Some(true))
        );
    }
}
