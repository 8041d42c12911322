//! Changes of installed packages that nobody can tell from a check's own: where an isolation level has no layers, a check that works in
//! the project itself can write to them. No verdict rests on such a file until somebody else has written it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{Metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proctor_evidence::LedgerLookup;
use proctor_evidence::report::ActionResult;
use proctor_model::{ActionPhase, IsolationLevel, OverallStatus, PlanNote, RunLine, TreePath};

/// The most files that a note names.
const NAMED: usize = 3;

/// What earlier runs left in installed packages.
#[derive(Debug, Default)]
pub(crate) struct LeftBefore {
    /// The files that they changed, and that nobody has written or touched since.
    pub(crate) files: BTreeSet<TreePath>,
    /// Whether the process of the last run died, so that nobody looked what its checks had changed.
    pub(crate) last_run_died: bool,
}

impl LeftBefore {
    /// Reads the project's ledger back to the last run that looked.
    pub(crate) fn read(ledger: &LedgerLookup, root: &Path) -> Self {
        let (mut left, mut last_run_died) = (BTreeMap::new(), false);
        let mut note = |more: &BTreeMap<String, String>| {
            for (path, stamp) in more {
                left.entry(path.clone()).or_insert_with(|| stamp.clone());
            }
        };
        for line in ledger.newest().filter_map(Result::ok) {
            match line.body.about_runs() {
                Some(RunLine::Superseded(record)) => note(&record.left_in_environment),
                Some(RunLine::Sealed(record)) => match &record.conditions {
                    Some(conditions) => {
                        note(&conditions.left_in_environment);
                        break;
                    }
                    None if record.overall_status == OverallStatus::Interrupted => last_run_died = true,
                    // An earlier version of proctor did not look.
                    None => break,
                },
                Some(RunLine::Pruned(_)) | None => {}
            }
        }
        let paths = left.into_iter().filter_map(|(path, stamp)| Some((TreePath::try_from(path.as_str()).ok()?, stamp)));
        let files = paths.filter(|(path, stamp)| stamp_of(root, path) == *stamp).map(|(path, _)| path).collect();
        Self { files, last_run_died }
    }
}

/// Returns whether a check that worked in the project itself may have written to installed packages: it had no layers.
pub(crate) fn may_write_environments(results: &[ActionResult]) -> bool {
    let checks = results.iter().filter(|one| one.action.phase == ActionPhase::Step);
    let levels = checks.filter_map(|one| one.executed()?.ended.kept.as_ref().map(|kept| kept.reached.level));
    levels.max().is_some_and(|weakest| weakest > IsolationLevel::Namespace)
}

/// Returns what the ledger keeps of these files: for each path its stamp, by which a later run finds out whether somebody wrote it again.
pub(crate) fn stamps(root: &Path, paths: &BTreeSet<TreePath>) -> BTreeMap<String, String> {
    paths.iter().map(|path| (path.to_string(), stamp_of(root, path))).collect()
}

/// Returns the note about these files; `None` if there are none.
pub(crate) fn note_left(paths: &BTreeSet<TreePath>) -> Option<PlanNote> {
    let first = paths.first()?;
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!(
        "{}{more} changed while checks ran that could write there, so no result counts: make the installed packages anew, or, if the \
         change is meant, `touch {first}`",
        named.join(", ")
    );
    Some(PlanNote { subject: "installed packages".to_owned(), message })
}

/// Returns the device, inode and time of change of a file, or of the directory around a file that is gone.
fn stamp_of(root: &Path, path: &TreePath) -> String {
    let stamp = |found: Metadata| format!("{} {} {} {}", found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
    let full = root.join(path.as_path());
    let around = || full.parent().and_then(|around| symlink_metadata(around).ok()).map(|found| format!("gone {}", stamp(found)));
    symlink_metadata(&full).map(stamp).ok().or_else(around).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays a check and a person")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_stamp_is_another_one_once_somebody_wrote_the_file_again_or_made_it_anew() {
        let root = tempfile::tempdir().expect("a directory");
        let path = TreePath::try_from(".venv/zz.pth").expect("a path");
        fs::create_dir(root.path().join(".venv")).expect("made");
        let gone = stamp_of(root.path(), &path);
        let file = root.path().join(path.as_path());
        fs::write(&file, "x").expect("written");
        let left = stamp_of(root.path(), &path);
        assert_ne!(gone, left);
        assert_eq!(stamp_of(root.path(), &path), left, "nobody wrote it");
        fs::write(root.path().join(".venv/new"), "x").expect("written");
        fs::rename(root.path().join(".venv/new"), &file).expect("renamed");
        assert_ne!(stamp_of(root.path(), &path), left);
    }

    #[test]
    fn the_note_names_the_next_step() {
        assert_eq!(note_left(&BTreeSet::new()), None);
        let paths = BTreeSet::from([TreePath::try_from(".venv/zz.pth").expect("a path")]);
        let note = note_left(&paths).expect("a note");
        assert!(note.message.ends_with("`touch .venv/zz.pth`"), "{}", note.message);
    }
}
