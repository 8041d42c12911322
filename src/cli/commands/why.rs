//! `proctor why`: which rule decides whether a path belongs to the project's tree. Needs no run and no daemon.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::arguments::WhyOptions;
use crate::cli::commands::opening;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::setup;
use crate::ignore::{Explanation, RuleSource, Verdict};
use crate::model::{CommandExit, TreePath};
use crate::watch::learn_rules_on_the_way;

/// Carries the command out.
pub(crate) fn execute(options: &WhyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let (configuration, _) = setup::configuration(&root)?;
    let path = path_in_project(&root, &environment.absolute(&options.path))?;
    let mut matcher = opening::matcher(&configuration)?;
    learn_rules_on_the_way(&root, &path, &mut matcher);
    let found = std::fs::symlink_metadata(root.join(path.as_path())).ok();
    let explanation = matcher.explain(&path, found.as_ref().is_some_and(std::fs::Metadata::is_dir));
    if options.json {
        render::bytes(&WhyV1::of(&explanation, found.is_some()).document());
    } else {
        explanation.lines().iter().for_each(|line| render::line(line));
        if found.is_none() {
            render::note("note: nothing has this name now");
        }
    }
    Ok(CommandExit::Proceed)
}

/// Returns the path below the root. Links above the last component are resolved, as far as there is something; the last is not.
fn path_in_project(root: &Path, path: &Path) -> Result<TreePath, CommandError> {
    let resolved = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => resolve(path),
    };
    TreePath::below(root, &resolved).map_err(|error| {
        CommandError::of(CommandExit::Usage, &error)
            .hint(format!("name a path inside `{}`, or another project by --project", root.display()))
    })
}

/// Resolves a directory, or what of it is there.
fn resolve(directory: &Path) -> PathBuf {
    match std::fs::canonicalize(directory) {
        Ok(resolved) => resolved,
        Err(_) => match (directory.parent(), directory.file_name()) {
            (Some(parent), Some(name)) => resolve(parent).join(name),
            _ => directory.to_owned(),
        },
    }
}

/// The document of `--json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WhyV1 {
    schema: &'static str,
    path: String,
    exists: bool,
    belongs: bool,
    decided_at: String,
    rule: Option<RuleV1>,
    lines: Vec<String>,
}

/// The rule that decided.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleV1 {
    source: &'static str,
    written: String,
    line: Option<u32>,
    pattern: String,
}

impl WhyV1 {
    fn of(explanation: &Explanation, exists: bool) -> Self {
        let rule = explanation.rule.as_ref().map(|rule| RuleV1 {
            source: match &rule.source {
                RuleSource::AlwaysOut(_) => "alwaysOut",
                RuleSource::EvidenceLink => "evidenceLink",
                RuleSource::Ignore => "watchIgnore",
                RuleSource::Include => "watchInclude",
                RuleSource::File { .. } => "rulesFile",
            },
            written: Explanation::source(rule),
            line: rule.line,
            pattern: rule.pattern.clone(),
        });
        Self {
            schema: "proctor-why-v1",
            path: explanation.path.to_string(),
            exists,
            belongs: explanation.verdict == Verdict::In,
            decided_at: explanation.decided_at.to_string(),
            rule,
            lines: explanation.lines(),
        }
    }

    fn document(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("its keys are text");
        bytes.push(b'\n');
        bytes
    }
}
