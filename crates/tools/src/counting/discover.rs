//! Discovers these checkers: the project must have a configuration for one, and its program must be installed.
//!
//! One row per checker: how it is asked to say how much it examined, and how its answer is read.

use crate::counting::{Said, clippy, hooks, json, printed};
use crate::discover::{FoundCheck, FoundChecks, Looked, has_section, name_in_package, words};
use crate::interpret::Exited;
use crate::jsonc::scripts;
use crate::linter::{Checker, Home, find_checker};
use crate::option_spelling::subcommand;
use crate::project_files::{ProjectFiles, within};
use crate::shell::commands_outside;
use proctor_model::Tool;

const TY: Checker = Checker {
    tool: Tool::Ty,
    programs: &["ty"],
    home: Home::Environment,
    configurations: &["ty.toml"],
    tables: &["ty"],
    sections: &[],
    arguments: |_, _| &["check"],
};

const PYREFLY: Checker =
    Checker { tool: Tool::Pyrefly, programs: &["pyrefly"], configurations: &["pyrefly.toml"], tables: &["pyrefly"], ..TY };

const PYRIGHT: Checker = Checker {
    tool: Tool::Pyright,
    programs: &["basedpyright", "pyright"],
    home: Home::Either,
    configurations: &["pyrightconfig.json"],
    tables: &["basedpyright", "pyright"],
    sections: &[],
    arguments: |_, _| &[],
};

const OXLINT: Checker = Checker {
    tool: Tool::Oxlint,
    programs: &["oxlint"],
    home: Home::NodeModules,
    configurations: &[".oxlintrc.json", ".oxlintrc.jsonc", "oxlint.config.ts"],
    tables: &[],
    ..PYRIGHT
};

const BIOME: Checker = Checker {
    tool: Tool::Biome,
    programs: &["biome"],
    configurations: &["biome.json", "biome.jsonc"],
    arguments: |files, package| biome_subcommand(files, package),
    ..OXLINT
};

/// Looks for signs of one of these checkers, all but Clippy, in one directory of the project.
pub(crate) fn find(tool: Tool, files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let checker = [TY, PYREFLY, PYRIGHT, OXLINT, BIOME].into_iter().find(|checker| checker.tool == tool);
    find_checker(&checker.expect("the tool table asks for these alone"), files, package, findings)
}

/// Looks for settings of Clippy in one directory of the project. A manifest alone does not say that Clippy is used.
pub(crate) fn find_clippy(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let manifest = "Cargo.toml";
    let configuration = ["clippy.toml", ".clippy.toml"].iter().find(|name| files.exists(&within(package, name)));
    let is_workspace = has_section(files, package, manifest, "[workspace]");
    let section =
        ["[lints.clippy]", "[workspace.lints.clippy]"].iter().find(|section| has_section(files, package, manifest, section));
    let reason = match (configuration, section) {
        _ if !files.exists(&within(package, manifest)) => return Looked::Silent,
        (Some(name), _) => format!("`{}` is there", within(package, name)),
        (None, Some(section)) => format!("`{section}` in `{}` is there", within(package, manifest)),
        (None, None) => return Looked::Silent,
    };
    let argv: &[&str] =
        if is_workspace { &["cargo", "clippy", "--workspace", "--all-targets"] } else { &["cargo", "clippy", "--all-targets"] };
    let name = name_in_package(Tool::Clippy.word(), package);
    let (directory, package, argv) = (package.to_owned(), package.to_owned(), words(argv));
    findings.add(FoundCheck { tool: Tool::Clippy, name, directory, package, argv, policy: None }, &reason);
    Looked::Spoke
}

// Returns the subcommand by which the project's own scripts call Biome. A project may use its linter alone, or its formatter.
fn biome_subcommand(files: &dyn ProjectFiles, package: &str) -> &'static [&'static str] {
    const KNOWN: [&[&str]; 4] = [&["check"], &["ci"], &["lint"], &["format"]];
    let scripts = scripts(files, package);
    let commands: Vec<Vec<String>> = scripts.values().filter_map(|text| commands_outside(text)).flatten().collect();
    let called = commands.iter().filter_map(|words| {
        let at = words.iter().position(|word| word == "biome" || word.starts_with("@biomejs/biome"))?;
        subcommand(&words[at + 1..])
    });
    let called: Vec<&str> = called.collect();
    KNOWN.into_iter().find(|words| called.contains(&words[0])).unwrap_or(KNOWN[0])
}

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
