//! One row per checker: how it is asked to say how much it examined, and how its answer is read.

use crate::counting::{Said, clippy, hooks, json, printed};
use crate::interpret::Exited;
use proctor_model::Tool;

/// What proctor knows about one checker.
pub(super) struct Counter {
    pub(super) tool: Tool,
    /// The tool's name, as the reason of a result spells it.
    pub(super) name: &'static str,
    /// What the tool counts, in the singular.
    pub(super) counts: &'static str,
    /// The options that ask for the output that is read; none if variables do, or if the tool says everything by itself.
    pub(super) options: &'static [&'static str],
    /// The variables that ask for it. They reach a tool behind a script too.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The rule by which the tool reports a path that does not exist.
    pub(super) path_rule: Option<&'static str>,
    /// Reads the output; `None` if it is not what the tool was asked for.
    pub(super) read: fn(&Exited<'_>) -> Option<Said>,
}

const fn counter(tool: Tool, name: &'static str, read: fn(&Exited<'_>) -> Option<Said>) -> Counter {
    Counter { tool, name, counts: "file", options: &[], variables: &[], path_rule: None, read }
}

static ROWS: [Counter; 7] = [
    Counter {
        // `full` is also the default. With the level `info`, ty says how many files it indexed.
        variables: &[("TY_OUTPUT_FORMAT", "full"), ("TY_LOG", "ty=info")],
        path_rule: Some("io"),
        ..counter(Tool::Ty, "ty", printed::ty)
    },
    Counter { variables: &[("PYREFLY_VERBOSE", "true")], ..counter(Tool::Pyrefly, "Pyrefly", printed::pyrefly) },
    Counter { options: &["--outputjson"], ..counter(Tool::Pyright, "Pyright", |exited| json::read(exited, &json::PYRIGHT)) },
    Counter { options: &["--format=json"], ..counter(Tool::Oxlint, "oxlint", |exited| json::read(exited, &json::OXLINT)) },
    Counter { options: &["--reporter=json"], path_rule: Some("fs/cantRead"), ..counter(Tool::Biome, "Biome", json::biome) },
    Counter { counts: "target", options: &["--message-format=json"], ..counter(Tool::Clippy, "Clippy", clippy::read) },
    Counter { counts: "hook", ..counter(Tool::PreCommit, "pre-commit", hooks::read) },
];

/// Returns the row of a checker. Panics for any other tool: the tool table hands only these to this folder.
pub(super) fn counter_of(tool: Tool) -> &'static Counter {
    ROWS.iter().find(|row| row.tool == tool).expect("the tool table hands over what has a row here")
}
