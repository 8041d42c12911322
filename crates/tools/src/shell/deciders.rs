//! Finds the deciding commands of a script: those whose failure must make the script fail.
//!
//! An unknown program is treated as a check. Commands that only prepare, test something or clean up are deciding
//! commands only in a script without checks.

use std::collections::BTreeSet;

use crate::shell::commands::without_launchers;
use crate::shell::tree::{InnerScript, PartKind, ScriptPart, Simple, each_part};

/// The purpose of a command, which decides whether its failure matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandPurpose {
    /// The command is an unknown program. It is taken for the purpose of the script, such as a test run.
    Check,
    /// The command tests something and reports the result by its status, like `test` or `grep`.
    Looks,
    /// The command prepares or cleans up.
    Works,
    /// The command always fails, like `false`.
    Fails,
    /// The command prints text, sets variables, or controls the script.
    Idles,
}

/// The place of a command in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandStage {
    Front,
    /// The command runs in the background (`&`), or in a `$(…)` among the words of another command.
    Aside,
}

const LOOKING: &[&str] = &[
    "[",
    "[[",
    "((",
    "let",
    "test",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "cmp",
    "diff",
    "curl",
    "wget",
    "nc",
    "ping",
    "pgrep",
    "pg_isready",
    "which",
    "type",
    "hash",
    "getent",
    "command",
];

const WORKING: &[&str] = &[
    ".",
    "apk",
    "apt",
    "apt-get",
    "awk",
    "basename",
    "brew",
    "bunzip2",
    "bzip2",
    "cat",
    "cd",
    "chmod",
    "chown",
    "cp",
    "cut",
    "date",
    "df",
    "direnv",
    "dirname",
    "dnf",
    "docker",
    "docker-compose",
    "du",
    "eval",
    "find",
    "fold",
    "fuser",
    "gem",
    "git",
    "gunzip",
    "gzip",
    "head",
    "hostname",
    "id",
    "install",
    "jobs",
    "kill",
    "killall",
    "ln",
    "ls",
    "mapfile",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mktemp",
    "mv",
    "nproc",
    "nvm",
    "od",
    "openssl",
    "paste",
    "pip",
    "pip3",
    "pkill",
    "podman",
    "popd",
    "printenv",
    "ps",
    "pushd",
    "pwd",
    "pyenv",
    "read",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "rsync",
    "sed",
    "seq",
    "service",
    "sha256sum",
    "sleep",
    "sort",
    "source",
    "ssh-add",
    "ssh-agent",
    "stat",
    "sync",
    "systemctl",
    "tac",
    "tail",
    "tar",
    "tee",
    "touch",
    "tr",
    "umask",
    "uname",
    "uniq",
    "unzip",
    "virtualenv",
    "wait",
    "wc",
    "whoami",
    "xz",
    "yum",
    "zip",
];

const IDLING: &[&str] = &[
    ":", "true", "echo", "printf", "exit", "return", "break", "continue", "export", "set", "unset", "local", "declare",
    "typeset", "readonly", "shift", "trap", "shopt", "ulimit", "alias", "disown", "getopts", "exec",
];

/// Programs that install a project's dependencies, each with the subcommands that do so.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("npm", INSTALLING),
    ("pnpm", INSTALLING),
    ("yarn", INSTALLING),
    ("bun", INSTALLING),
    ("bundle", INSTALLING),
    ("composer", INSTALLING),
    ("poetry", INSTALLING),
    ("pipenv", INSTALLING),
    ("uv", INSTALLING),
    ("python", &["pip", "venv", "ensurepip"]),
    ("python3", &["pip", "venv", "ensurepip"]),
];

const INSTALLING: &[&str] = &["add", "ci", "i", "install", "lock", "pip", "sync", "venv"];

/// Returns the numbers of the deciding commands: those whose failure must make the script fail.
pub(super) fn deciders(script: &ScriptPart) -> BTreeSet<usize> {
    let mut found = Vec::new();
    collect(script, CommandStage::Front, &mut found);
    let calls = calls(script);
    found.retain(|one| !calls.contains(&one.0));
    let front = |purpose: CommandPurpose| {
        found.iter().filter(move |one| one.1 == purpose && one.2 == CommandStage::Front).map(|one| one.0)
    };
    let aside = found.iter().filter(|one| one.1 == CommandPurpose::Check && one.2 == CommandStage::Aside).map(|one| one.0);
    let is_small = |purpose: CommandPurpose| matches!(purpose, CommandPurpose::Looks | CommandPurpose::Works);
    let last =
        |stages: &[CommandStage]| found.iter().rev().find(|one| is_small(one.1) && stages.contains(&one.2)).map(|one| one.0);
    let looks = front(CommandPurpose::Looks).next().and_then(|_| last(&[CommandStage::Front]));
    let choices: [BTreeSet<usize>; 5] = [
        front(CommandPurpose::Check).collect(),
        looks.into_iter().collect(),
        front(CommandPurpose::Fails).collect(),
        aside.collect(),
        last(&[CommandStage::Front]).or_else(|| last(&[CommandStage::Front, CommandStage::Aside])).into_iter().collect(),
    ];
    choices.into_iter().find(|choice| !choice.is_empty()).unwrap_or_default()
}

/// Returns the numbers of the commands that call a function of the script. Such a call is no deciding command itself;
/// the commands inside of the function are.
fn calls(script: &ScriptPart) -> BTreeSet<usize> {
    let (mut functions, mut calls) = (BTreeSet::new(), BTreeSet::new());
    each_part(script, &mut |part| {
        if let PartKind::Function { name, .. } = &part.kind {
            functions.insert(name.clone());
        }
    });
    each_part(script, &mut |part| {
        if let PartKind::Simple(simple) = &part.kind
            && simple.words.first().is_some_and(|word| functions.contains(&word.text))
        {
            calls.insert(simple.id);
        }
    });
    calls
}

pub(super) fn purpose_of(simple: &Simple) -> CommandPurpose {
    let own = without_launchers(&simple.words);
    let Some(program) = own.first() else {
        return if simple.scripts.is_empty() { CommandPurpose::Idles } else { CommandPurpose::Works };
    };
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let verbs = INSTALLERS.iter().find(|(program, _)| *program == name).map(|(_, verbs)| *verbs).unwrap_or_default();
    if name == "false" {
        CommandPurpose::Fails
    } else if IDLING.contains(&name) {
        CommandPurpose::Idles
    } else if LOOKING.contains(&name) {
        CommandPurpose::Looks
    } else if WORKING.contains(&name) || own.iter().skip(1).take(2).any(|word| verbs.contains(&word.text.as_str())) {
        CommandPurpose::Works
    } else {
        CommandPurpose::Check
    }
}

fn collect(node: &ScriptPart, stage: CommandStage, found: &mut Vec<(usize, CommandPurpose, CommandStage)>) {
    let mut all = |nodes: &[ScriptPart], stage: CommandStage| nodes.iter().for_each(|node| collect(node, stage, found));
    match &node.kind {
        PartKind::Simple(simple) => collect_simple(simple, stage, found),
        PartKind::Pipeline { parts, .. } | PartKind::AndOr(parts) | PartKind::List(parts) => all(parts, stage),
        PartKind::Background(inner) => collect(inner, CommandStage::Aside, found),
        PartKind::Function { body, .. } => collect(body, stage, found),
        PartKind::Group(inner, outside) | PartKind::Subshell(inner, outside) => {
            all(outside, CommandStage::Aside);
            collect(inner, stage, found);
        }
        PartKind::If { branches, otherwise, outside } => {
            all(outside, CommandStage::Aside);
            for (condition, body) in branches {
                collect(condition, stage, found);
                collect(body, stage, found);
            }
            otherwise.iter().for_each(|otherwise| collect(otherwise, stage, found));
        }
        PartKind::Loop { condition, body, outside, .. } => {
            all(outside, CommandStage::Aside);
            // The condition is the last part of a loop to be evaluated, so it is collected last.
            collect(body, stage, found);
            collect(condition, stage, found);
        }
        PartKind::For { body, outside, .. } => {
            all(outside, CommandStage::Aside);
            collect(body, stage, found);
        }
        PartKind::Case { clauses, outside, .. } => {
            all(outside, CommandStage::Aside);
            clauses.iter().for_each(|clause| collect(&clause.body, stage, found));
        }
    }
}

fn collect_simple(simple: &Simple, stage: CommandStage, found: &mut Vec<(usize, CommandPurpose, CommandStage)>) {
    // In `OUT=$(pytest)` the inner command is run for its own sake; in `tar x $(./names)` it only provides words.
    let inside = if simple.words.is_empty() { stage } else { CommandStage::Aside };
    simple.scripts.iter().for_each(|script| collect(script, inside, found));
    match &simple.inner {
        Some(InnerScript::Shell(script, _) | InnerScript::Eval(script)) => collect(script, stage, found),
        // A trap runs after the deciding commands.
        Some(InnerScript::Trap { .. }) => {}
        None => {
            if simple.words.is_empty() && !simple.scripts.is_empty() {
                return;
            }
            found.push((simple.id, purpose_of(simple), stage));
        }
    }
}
