//! The command that can be started before the next check is requested, with what it may read of the project until then.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::perform::Performer;
use crate::perform::reports::read_source;
use crate::snapshot::RunSnapshot;
use proctor_evidence::OutputDirectory;
use proctor_model::{Action, ActionId, Digest, EntryKind, TreePath};
use proctor_sandbox::process::{EarlyCommand, LaunchedChild};
use proctor_tools as tools;
use proctor_tree::{NameSearch, NameTopic};

/// The most files of settings that a command started early may find. A project with more of them is started as it is requested.
const MOST_SETTINGS: usize = 100;

/// The settings that a command started early finds in place of the project's.
#[derive(Default)]
struct ShownFiles {
    /// Paths relative to the project's root, and contents.
    files: BTreeMap<String, String>,
    directories: BTreeSet<String>,
}

impl Performer<'_, '_> {
    /// Returns the command that can be started early for the next attempt of a check like this one; `None` if there is none, or if its
    /// settings cannot be shown to it as the check finds them.
    pub(super) fn early_command(&self, action: &Action, child: &LaunchedChild, output: &OutputDirectory) -> Option<EarlyCommand> {
        if !self.runner.preparation.may_start_early() {
            return None;
        }
        let mount = child.isolation.snapshot.as_ref()?;
        let snapshot = self.place.snapshot_for(action)?;
        let argv = child.argv.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
        let variables = child.environment.iter().cloned().collect();
        let named = tools::paths_named_early(&argv, &variables)?;
        let root = &self.context.request.scope.root;
        let shown = shown_files(snapshot, &action.id, root, &child.directory, &named)?;
        let environments: Vec<PathBuf> = mount.environments.iter().map(|environment| environment.path.clone()).collect();
        let start = tools::EarlyStartRequest {
            argv: &argv,
            variables: &variables,
            output: output.path(),
            root,
            environments: &environments,
            named: &named,
        };
        let plan = tools::plan_early_start(&start)?;
        let early = EarlyCommand {
            key: String::new(),
            program: child.program.clone(),
            argv: plan.argv.into_iter().map(OsString::from).collect(),
            environment: plan.environment,
            directory: child.directory.clone(),
            root: root.clone(),
            environments,
            directories: shown.directories.into_iter().collect(),
            files: shown.files.into_iter().chain(plan.files).collect(),
            channel: plan.channel.to_owned(),
            list: plan.list,
        };
        // Whatever the command may depend on is part of it. What it reads outside of the project it compares itself.
        let key = Digest::of(&serde_json::to_vec(&early).ok()?).to_string();
        Some(EarlyCommand { key, ..early })
    }
}

/// Returns every file of settings of the tree, and what the command names in the tree. Of a module only the name counts: it is read when
/// the command has its action.
fn shown_files(snapshot: &RunSnapshot, action: &ActionId, root: &Path, directory: &Path, named: &[String]) -> Option<ShownFiles> {
    const SEARCH: NameSearch =
        NameSearch { topic: NameTopic::TestSettings, is_wanted: |name| tools::PYTEST_SETTINGS_FILES.contains(&name) };
    let mut shown = ShownFiles::default();
    let read = |path: &TreePath| {
        let (base, relative) = snapshot.place_of(action, path.as_path()).ok().flatten()?;
        Some((path.as_path().to_str()?.to_owned(), read_source(&base, &relative)?))
    };
    let settings = snapshot.tree().named(SEARCH);
    if settings.len() > MOST_SETTINGS {
        return None;
    }
    for (path, _) in &settings {
        let (path, text) = read(path)?;
        // The further file that they may name is not shown.
        if tools::settings_may_rewrite_otherwise(text.as_bytes()) {
            return None;
        }
        shown.files.insert(path, text);
    }
    for word in named {
        let Ok(path) = TreePath::below(root, &without_dots(&directory.join(word))) else { continue };
        let Some(entry) = snapshot.tree().lookup(&path) else { continue };
        let text = path.as_path().to_str()?;
        match entry.kind {
            EntryKind::Directory => shown.directories.extend([text.to_owned()]),
            EntryKind::File | EntryKind::Executable if text.ends_with(".py") => {
                shown.files.extend([(text.to_owned(), String::new())])
            }
            EntryKind::File | EntryKind::Executable => shown.files.extend([read(&path)?]),
            EntryKind::Link => return None,
        }
    }
    Some(shown)
}

/// Resolves `.` and `..` by the names alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_path_is_found_however_it_is_written() {
        for (written, plain) in [("/p/./tests", "/p/tests"), ("/p/a/../tests/", "/p/tests"), ("/p", "/p"), ("/p/../../x", "/x")] {
            assert_eq!(without_dots(Path::new(written)), Path::new(plain), "{written}");
        }
    }
}
