//! Why a path belongs to the tree: which rule decides whether a path belongs to the project's tree. It needs neither a run nor the service.
//! If the service watches the project, the last event of the path is shown as well.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::{opening, setup};
use crate::serving::{self, AT_ONCE, ServedProject};
use proctor_api::{MethodV1, PathEventV1, PathHistoryV1};
use proctor_model::{CommandExit, TreePath};
use proctor_tree::ignore::{Explanation, IgnoreRule, IgnoreVerdict, IgnoredClass, Matcher, RuleSource, VIRTUAL_ENVIRONMENT};
use proctor_tree::watch::learn_rules_on_the_way;

/// Which rule decides about a path, and what the service heard of it.
pub struct Why {
    pub explanation: Explanation,
    /// Whether something has the path's name now.
    pub exists: bool,
    /// What the service heard; `None` if none watches the project.
    heard: Option<PathHistoryV1>,
}

/// Returns which rule decides whether a path belongs to the tree of the project at `root`.
///
/// # Errors
/// When the path is in no project, or the configuration cannot be read.
pub fn why(environment: &Environment, root: &Path, path: &Path) -> Result<Why, CommandError> {
    let (configuration, _) = setup::configuration(environment, root)?;
    let path = path_in_project(root, path)?;
    let mut matcher = opening::matcher(environment, root, &configuration)?;
    learn_rules_on_the_way(root, &path, &mut matcher);
    let found = std::fs::symlink_metadata(root.join(path.as_path())).ok();
    let target = std::fs::read_link(root.join(path.as_path()));
    let explanation = match target {
        Ok(target) if matcher.is_own_link(target.as_os_str().as_bytes()) => matcher.explain_own_link(&path),
        Ok(_) | Err(_) => {
            let explained = matcher.explain(&path, found.as_ref().is_some_and(std::fs::Metadata::is_dir));
            if is_in_virtual_environment(root, &path, &matcher) { explained.in_environment() } else { explained }
        }
    };
    let served = serving::serving(environment, root);
    let heard = served.and_then(|served| read_path_history(environment, &served, &path));
    Ok(Why { explanation, exists: found.is_some(), heard })
}

impl Why {
    /// Returns what the service heard of the path, in words; `None` if none watches the project.
    pub fn heard_line(&self) -> Option<String> {
        self.heard.as_ref().map(heard_line)
    }

    /// Returns the document that `--json` prints.
    pub fn document(&self) -> WhyV1<'_> {
        let last_event = self.heard.as_ref().and_then(|heard| heard.last.clone());
        WhyV1::of(&self.explanation, self.exists, last_event)
    }
}

/// Asks the service for the last file event of a path. A failure prints only a note, because the ignore rules alone
/// already say whether the path belongs to the tree.
fn read_path_history(environment: &Environment, served: &ServedProject, path: &TreePath) -> Option<PathHistoryV1> {
    let request = format!("/v1/projects/{}/heard?path={}", served.project.id, encode_percent(path.as_bytes()));
    match served.client.ask(MethodV1::Get, &request, AT_ONCE) {
        Ok(heard) => Some(heard),
        Err(error) => {
            environment.note(&format!("note: the service does not say what it heard of the path: {error}"));
            None
        }
    }
}

/// Returns whether a path is an ignored virtual environment, or lies in one, whatever its name is. No entry of such a directory belongs
/// to the tree.
fn is_in_virtual_environment(root: &Path, path: &TreePath, matcher: &Matcher) -> bool {
    let around = std::iter::successors(Some(path.clone()), TreePath::parent).filter(|around| !around.is_root());
    around.into_iter().any(|directory| {
        let full = root.join(directory.as_path());
        let Ok(mut entries) = std::fs::read_dir(&full) else { return false };
        let is_out = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.is_ok_and(|entry| {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                matcher.decide(&directory.join(entry.file_name().as_bytes()), is_directory).verdict == IgnoreVerdict::Out
            })
        };
        full.join(VIRTUAL_ENVIRONMENT).is_file() && entries.all(is_out)
    })
}

fn encode_percent(bytes: &[u8]) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    bytes.iter().map(encode).collect()
}

fn heard_line(heard: &PathHistoryV1) -> String {
    let Some(last) = &heard.last else {
        return "the service has heard nothing of it, or too much else since".to_owned();
    };
    let rule = last.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    let outcome = if last.belonged { "it belonged to the tree" } else { "it was left out" };
    let then = if last.belonged { "the tree was looked at" } else { "nothing came of it" };
    format!("the service heard last: {}; {outcome}{rule}, {then}", last.event)
}

/// Returns the path relative to the project's root. Links in the parent directories are resolved, but the last
/// component is not followed: a link is an entry of the tree itself. The path need not exist.
fn path_in_project(root: &Path, path: &Path) -> Result<TreePath, CommandError> {
    let resolved = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => opening::resolve(parent).join(name),
        _ => opening::resolve(path),
    };
    TreePath::below(root, &resolved).map_err(|error| {
        CommandError::of(CommandExit::Usage, &error)
            .hint(format!("name a path inside `{}`, or another project by --project", root.display()))
    })
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyV1<'a> {
    schema: &'static str,
    path: String,
    exists: bool,
    belongs: bool,
    decided_at: String,
    rule: Option<RuleV1<'a>>,
    /// How a check on a snapshot sees the path, if it does not belong to the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
    lines: Vec<String>,
    /// The last event of the path; `None` if no service watches the project or there was no event.
    last_event: Option<PathEventV1>,
}

/// The ignore rule that decided whether the path belongs to the tree.
#[derive(Debug)]
struct RuleV1<'a>(&'a IgnoreRule);

impl Serialize for RuleV1<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rule) = self;
        let source = match &rule.source {
            RuleSource::AlwaysOut(_) => "alwaysOut",
            RuleSource::EvidenceLink => "evidenceLink",
            RuleSource::TaskList => "taskList",
            RuleSource::Store => "store",
            RuleSource::Tracked(_) => "gitTracked",
            RuleSource::Ignore => "watchIgnore",
            RuleSource::Include => "watchInclude",
            RuleSource::File { .. } => "rulesFile",
        };
        let mut fields = serializer.serialize_struct("RuleV1", 4)?;
        fields.serialize_field("source", source)?;
        fields.serialize_field("written", &Explanation::source(rule))?;
        fields.serialize_field("line", &rule.line)?;
        fields.serialize_field("pattern", &rule.pattern)?;
        fields.end()
    }
}

impl<'a> WhyV1<'a> {
    fn of(explanation: &'a Explanation, exists: bool, last_event: Option<PathEventV1>) -> Self {
        Self {
            schema: "proctor-why-v1",
            path: explanation.path.to_string(),
            exists,
            belongs: explanation.verdict == IgnoreVerdict::In,
            decided_at: explanation.decided_at.to_string(),
            rule: explanation.rule.as_ref().map(RuleV1),
            class: explanation.class.map(IgnoredClass::word),
            lines: explanation.lines(),
            last_event,
        }
    }
}
