//! A scenario as data: how its project is made, and which commands are run in it, in one list of steps.

/// One thing that is done to the project, or one command that is run in it.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// Writes a file of the project.
    File { path: String, text: String },
    /// Copies a file of `fixtures/` into the project.
    Fixture { path: String, fixture: String },
    /// Copies a directory of `fixtures/projects` into the project.
    Bundled(&'static str),
    /// Removes a file of the project.
    Remove(&'static str),
    /// Lets the program at this path of the project play a captured output of `fixtures/tools`.
    Play { program: String, captured: String },
    /// Runs git in the project. Names and dates of commits are fixed.
    Git(&'static [&'static str]),
    /// Replaces the first of these texts by the second in a sealed file of the latest run of this task.
    Tamper { task: &'static str, file: &'static str, from: &'static str, to: &'static str },
    /// Replaces the first of these texts by the second in the ledger.
    TamperLedger { from: &'static str, to: &'static str },
    /// Makes settings that open more of the machine need an approval, as on a machine whose user configured nothing.
    AllowNothing,
    /// Runs the program in a directory, relative to the project. What it prints is recorded.
    Proctor { directory: &'static str, arguments: Vec<String> },
    /// Runs the program at a terminal. What it draws is recorded.
    Screen(&'static [&'static str]),
}

/// A project, and what is done in it.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
}

/// Returns a scenario that goes through these lists of steps, one after the other.
pub(super) fn scenario(name: impl Into<String>, steps: impl IntoIterator<Item = Vec<Step>>) -> Scenario {
    Scenario { name: name.into(), steps: steps.into_iter().flatten().collect() }
}

pub(super) fn file(path: impl Into<String>, text: impl Into<String>) -> Vec<Step> {
    vec![Step::File { path: path.into(), text: text.into() }]
}

pub(super) fn toml(text: impl Into<String>) -> Vec<Step> {
    file("proctor.toml", text)
}

pub(super) fn fixture(path: impl Into<String>, fixture: impl Into<String>) -> Vec<Step> {
    vec![Step::Fixture { path: path.into(), fixture: fixture.into() }]
}

pub(super) fn play(program: impl Into<String>, captured: impl Into<String>) -> Vec<Step> {
    vec![Step::Play { program: program.into(), captured: captured.into() }]
}

pub(super) fn git(arguments: &'static [&'static str]) -> Vec<Step> {
    vec![Step::Git(arguments)]
}

/// Commits every file of the project.
pub(super) fn commit() -> Vec<Step> {
    vec![Step::Git(&["add", "--all"]), Step::Git(&["commit", "--quiet", "--message", "a change"])]
}

/// Runs one command of the program.
pub(super) fn proctor(command_line: &str) -> Vec<Step> {
    proctor_in(".", command_line)
}

/// Runs one command of the program in a directory, relative to the project.
pub(super) fn proctor_in(directory: &'static str, command_line: &str) -> Vec<Step> {
    vec![Step::Proctor { directory, arguments: command_line.split_whitespace().map(str::to_owned).collect() }]
}

/// Runs the commands that tell of a project and its latest run.
pub(super) fn everything() -> Vec<Step> {
    everything_in(".")
}

/// Runs the same commands in a directory, relative to the project.
pub(super) fn everything_in(directory: &'static str) -> Vec<Step> {
    const COMMANDS: &[&str] = &[
        "status",
        "status --json",
        "show",
        "show --json",
        "log",
        "log --json",
        "gate",
        "gate --json",
        "check --json",
        "plan",
        "plan --json",
        "why proctor.toml --json",
        "verify",
        "verify --json",
    ];
    COMMANDS.iter().flat_map(|command| proctor_in(directory, command)).collect()
}

/// Runs the commands that tell of the latest run alone, once `everything` was told of an earlier one.
pub(super) fn latest() -> Vec<Step> {
    ["status", "status --json", "show --json", "log --json", "gate --json", "verify"].map(proctor).concat()
}

/// Shows a project and its latest run at a terminal, where the program draws with colours.
pub(super) fn screens() -> Vec<Step> {
    const SCREENS: &[&[&str]] = &[
        &["status"],
        &["show", "--failures", "all"],
        &["log"],
        &["gate"],
        &["check"],
        &["plan"],
        &["why", "proctor.toml"],
        &["verify"],
    ];
    SCREENS.iter().map(|arguments| Step::Screen(arguments)).collect()
}
