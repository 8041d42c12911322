//! The protected files of a tree, and their comparison with the approved ones (S7). The digests come from the tree's
//! index, so no file is read here.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::ProjectError;
use crate::request::ProjectScope;
use proctor_evidence::report::TestsModifiedV2;
use proctor_evidence::{BackgroundJob, Store};
use proctor_index::StoreIndex;
use proctor_model::{CurrentApproval, EntryKind, OnProtectedChange, Plan, ProtectedChange, ProtectedFiles};
use proctor_tree::TreeIndex;

/// The most protected files that an approval can list. One ledger line must hold all of them.
const MOST: usize = 50_000;

/// The most changed files that are named in a question to a person. Further changed files are only counted.
const NAMED: usize = 20;

/// The most changed files that the report lists. The count beside the list includes all changed files.
const LISTED: usize = 200;

/// How the protected files of a tested tree compare with the approved ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedFilesStatus {
    pub(crate) approved: ProtectedFiles,
    /// The files in the tested tree.
    pub(crate) now: ProtectedFiles,
    /// The differences between the approved files and the tested ones.
    pub(crate) changes: Vec<ProtectedChange>,
}

/// A search for the protected files of a tree. It runs in the background during the checks, because a large tree must
/// not delay a verdict.
pub struct ProtectedFilesScan {
    globs: Vec<String>,
    now: BackgroundJob<ProtectedFiles>,
}

/// Begins the search for a tree's protected files; `None` if no files are protected.
pub fn begin_protected_scan(store: &Store, plan: &Plan, index: &TreeIndex) -> Option<ProtectedFilesScan> {
    let globs = plan.approval.protect.clone();
    let (job, tree) = (globs.clone(), index.clone());
    (!globs.is_empty()).then(|| ProtectedFilesScan { now: store.background().begin(move || protected_files(&tree, &job)), globs })
}

/// Compares the protected files of a tree with the approved ones. Returns `None` if the task's current approval has
/// no protected files, for example if a command was typed in a project whose own checks never ran.
pub fn protected_files_status(
    index: &StoreIndex,
    scope: &ProjectScope,
    plan: &Plan,
    look: ProtectedFilesScan,
) -> Result<Option<ProtectedFilesStatus>, ProjectError> {
    let held = index.approval(&scope.project, &plan.task)?;
    let now = look.now.wait().expect("a look at an index in memory does not panic");
    Ok(held.and_then(|held| held.protected).map(|approved| seen(&approved, now, &look.globs)))
}

impl ProtectedFilesStatus {
    /// Returns why a person has to approve the changed files before the task continues; `None` if no file changed or
    /// the settings do not ask for it.
    pub fn needs_a_person(&self, plan: &Plan) -> Option<String> {
        let is_asked = plan.approval.on_protected_change == OnProtectedChange::HumanReview;
        let count = self.changes.len();
        let text = || format!("{count} protected file(s) are not what was approved: {}", self.changes[0]);
        (is_asked && count > 0).then(text)
    }

    /// Returns the report's section about the protected files. The section's counts of tests are left empty.
    pub fn to_report(&self, plan: &Plan) -> TestsModifiedV2 {
        TestsModifiedV2 {
            modified: !self.changes.is_empty(),
            protect: plan.approval.protect.clone(),
            approved: self.approved.digest(),
            now: self.now.digest(),
            files: self.now.files.len() as u64,
            changes: self.changes.iter().take(LISTED).cloned().collect(),
            changed_count: self.changes.len() as u64,
            tests: None,
        }
    }
}

pub(crate) fn protected_files(index: &TreeIndex, globs: &[String]) -> ProtectedFiles {
    let covers = covering(globs);
    let files = index.entries().filter(|entry| entry.kind != EntryKind::Directory);
    let covered = files.filter(|entry| covers.is_match(entry.path.as_path()));
    ProtectedFiles { files: covered.filter_map(|entry| Some((entry.path.to_string(), entry.digest?))).collect() }
}

/// Returns the files if an approval can hold that many.
///
/// # Errors
///
/// When there are too many files.
pub(crate) fn approvable(files: ProtectedFiles) -> Result<ProtectedFiles, ProjectError> {
    let count = files.files.len();
    if count > MOST { Err(ProjectError::ProtectedTooMany { count, most: MOST }) } else { Ok(files) }
}

/// Compares the current files with the approved ones. Approved files that are no longer protected are left out.
pub(crate) fn seen(approved: &ProtectedFiles, now: ProtectedFiles, globs: &[String]) -> ProtectedFilesStatus {
    let approved = covered(approved, globs);
    ProtectedFilesStatus { changes: approved.changes_to(&now), approved, now }
}

/// Returns the files that an automatic approval records. Files that were protected before keep their approved content.
/// Only newly protected files are recorded with their current content.
pub(crate) fn approved_by_rule(held: Option<&CurrentApproval>, now: ProtectedFiles, globs: &[String]) -> ProtectedFiles {
    let known = held.and_then(|held| Some((held.protected.as_ref()?, &held.terms.approval.protect)));
    let Some((approved, before)) = known else { return now };
    let was_protected = covering(before);
    let mut files = covered(approved, globs).files;
    files.retain(|path, _| was_protected.is_match(Path::new(path)));
    files.extend(now.files.into_iter().filter(|(path, _)| !was_protected.is_match(Path::new(path))));
    ProtectedFiles { files }
}

/// Returns the changes in words, for the person who approves them.
pub(crate) fn change_texts(changes: &[ProtectedChange]) -> Vec<String> {
    let mut texts: Vec<String> = changes.iter().take(NAMED).map(|change| change.to_string()).collect();
    texts.extend(changes.len().checked_sub(NAMED + 1).map(|more| format!("{} more files", more + 1)));
    texts
}

fn covered(files: &ProtectedFiles, globs: &[String]) -> ProtectedFiles {
    let covers = covering(globs);
    let files = files.files.iter().filter(|(path, _)| covers.is_match(Path::new(path)));
    ProtectedFiles { files: files.map(|(path, digest)| (path.clone(), *digest)).collect() }
}

/// Builds a matcher from globs. The configuration's reader refuses invalid globs; an invalid glob in a ledger line
/// matches nothing.
fn covering(globs: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs.iter().filter_map(|glob| GlobBuilder::new(glob).literal_separator(true).build().ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing::empty_plan as plan;
    use proctor_model::{Digest, Sequence};
    use proctor_plan::spec::plan_terms;

    fn files(pairs: &[(&str, &str)]) -> ProtectedFiles {
        ProtectedFiles { files: pairs.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect() }
    }

    fn globs(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn held(protect: &[&str], protected: Option<ProtectedFiles>) -> CurrentApproval {
        let mut terms = plan_terms(&plan());
        terms.approval.protect = globs(protect);
        CurrentApproval { sequence: Sequence(1), plan_digest: Digest::of(b"plan"), terms, protected }
    }

    #[test]
    fn a_rule_approves_no_change_of_what_was_protected_and_takes_the_rest_as_it_is() {
        let now = files(&[("tests/a", "2"), ("tests/new", "1"), ("conftest.py", "1")]);
        let (all, before) = (globs(&["tests/**", "conftest.py"]), files(&[("tests/a", "1"), ("tests/gone", "1")]));
        assert_eq!(approved_by_rule(None, now.clone(), &all), now);
        assert_eq!(approved_by_rule(Some(&held(&["tests/**"], None)), now.clone(), &all), now, "nobody has looked so far");
        let kept = approved_by_rule(Some(&held(&["tests/**"], Some(before.clone()))), now.clone(), &all);
        assert_eq!(kept, files(&[("tests/a", "1"), ("tests/gone", "1"), ("conftest.py", "1")]));
        // The approved plan protects no files (`&[]`). So no file counts as protected before, and every file is
        // recorded with its current content.
        let again = approved_by_rule(Some(&held(&[], Some(before))), now.clone(), &all);
        assert_eq!(again, now);
    }

    #[test]
    fn only_what_is_still_protected_can_have_changed() {
        let before = files(&[("tests/a", "1"), ("conftest.py", "1")]);
        let seen = seen(&before, files(&[("tests/a", "2")]), &globs(&["tests/**"]));
        assert_eq!(seen.changes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["tests/a is another"]);
        assert_eq!(seen.needs_a_person(&plan()), None);
        let mut asking = plan();
        asking.approval.on_protected_change = OnProtectedChange::HumanReview;
        assert!(seen.needs_a_person(&asking).is_some_and(|why| why.contains("tests/a is another")));
    }

    #[test]
    fn many_changes_are_named_in_part_and_counted() {
        let many: Vec<(String, Digest)> = (0..25).map(|number| (format!("tests/{number:02}"), Digest::of(b"x"))).collect();
        let changes = ProtectedFiles::default().changes_to(&ProtectedFiles { files: many.into_iter().collect() });
        let texts = change_texts(&changes);
        assert_eq!((texts.len(), texts[20].as_str()), (21, "5 more files"));
        assert_eq!(change_texts(&changes[..20]).len(), 20);
    }
}
