//! The protected files of a tree, and how they stand to what was approved of them (S7). The digests are those of the tree's index: no
//! file is read for it.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::evidence::BackgroundJob;
use crate::model::{EntryKind, HeldApproval, OnProtectedChange, Plan, ProtectedChange, ProtectedFiles};
use crate::project::error::ProjectError;
use crate::project::request::Scope;
use crate::project::workspace::Workspace;
use crate::report::TestsModifiedV2;
use crate::tree::TreeIndex;

/// No approval holds more protected files: a line of the ledger has to hold all of them.
const MOST: usize = 50_000;

/// How many changed files are named to whoever approves; the others are counted.
const NAMED: usize = 20;

/// How many changed files the report lists; the count beside them is of all.
const LISTED: usize = 200;

/// The protected files of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProtectedSeen {
    /// As they were approved.
    pub(crate) approved: ProtectedFiles,
    /// As they are in the tree that was tested.
    pub(crate) now: ProtectedFiles,
    /// How they differ.
    pub(crate) changes: Vec<ProtectedChange>,
}

/// A look at the protected files of a tree that goes on in the background while the checks run: a large tree must not delay a verdict.
pub(crate) struct ProtectedLook {
    globs: Vec<String>,
    now: BackgroundJob<ProtectedFiles>,
}

impl Workspace {
    /// Begins to look for the protected files of a tree; none where there are none.
    pub(crate) fn begin_protected(&self, plan: &Plan, index: &TreeIndex) -> Option<ProtectedLook> {
        let globs = plan.approval.protect.clone();
        let (job, tree) = (globs.clone(), index.clone());
        (!globs.is_empty())
            .then(|| ProtectedLook { now: self.store.background().begin(move || protected_files(&tree, &job)), globs })
    }

    /// Returns how the protected files of a tree stand to what was approved of them; none where nothing was: the command was typed in a
    /// project whose own checks nobody has run yet.
    pub(crate) fn protected_seen(
        &self,
        scope: &Scope,
        plan: &Plan,
        look: ProtectedLook,
    ) -> Result<Option<ProtectedSeen>, ProjectError> {
        let held = self.index.approval(&scope.project, &plan.task).map_err(ProjectError::Index)?;
        let now = look.now.wait().expect("a look at an index in memory does not panic");
        Ok(held.and_then(|held| held.protected).map(|approved| seen(&approved, now, &look.globs)))
    }
}

impl ProtectedSeen {
    /// Returns why a person has to look before anything goes on; none: nobody has.
    pub(crate) fn needs_a_person(&self, plan: &Plan) -> Option<String> {
        let is_asked = plan.approval.on_protected_change == OnProtectedChange::HumanReview;
        let count = self.changes.len();
        let text = || format!("{count} protected file(s) are not what was approved: {}", self.changes[0]);
        (is_asked && count > 0).then(text)
    }

    /// Returns what the report says of them, but for the tests.
    pub(crate) fn to_report(&self, plan: &Plan) -> TestsModifiedV2 {
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

/// Returns the files of a tree that globs name.
pub(crate) fn protected_files(index: &TreeIndex, globs: &[String]) -> ProtectedFiles {
    let covers = covering(globs);
    let files = index.entries().filter(|entry| entry.kind != EntryKind::Directory);
    let covered = files.filter(|entry| covers.is_match(entry.path.as_path()));
    ProtectedFiles { files: covered.filter_map(|entry| Some((entry.path.to_string(), entry.digest?))).collect() }
}

/// Returns the files, where an approval can hold as many.
///
/// # Errors
/// When they are too many.
pub(crate) fn approvable(files: ProtectedFiles) -> Result<ProtectedFiles, ProjectError> {
    let count = files.files.len();
    if count > MOST { Err(ProjectError::ProtectedTooMany { count, most: MOST }) } else { Ok(files) }
}

/// Returns how files stand to what was approved of those that are still protected.
pub(crate) fn seen(approved: &ProtectedFiles, now: ProtectedFiles, globs: &[String]) -> ProtectedSeen {
    let approved = covered(approved, globs);
    ProtectedSeen { changes: approved.changes_to(&now), approved, now }
}

/// Returns what is approved of the files as they are now when nobody was asked: what was approved stays as it was, and only files that
/// were not protected before are taken as they are.
pub(crate) fn approved_by_rule(held: Option<&HeldApproval>, now: ProtectedFiles, globs: &[String]) -> ProtectedFiles {
    let known = held.and_then(|held| Some((held.protected.as_ref()?, &held.terms.approval.protect)));
    let Some((approved, before)) = known else { return now };
    let was_protected = covering(before);
    let mut files = covered(approved, globs).files;
    files.retain(|path, _| was_protected.is_match(Path::new(path)));
    files.extend(now.files.into_iter().filter(|(path, _)| !was_protected.is_match(Path::new(path))));
    ProtectedFiles { files }
}

/// Returns the changes in words, each as something that is approved by whoever approves.
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

/// The configuration's reader refuses what is no glob; what a line of a ledger says may be anything, and names nothing then.
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
    use crate::model::{Digest, Sequence};
    use crate::project::testing::plan;
    use crate::spec::plan_terms;

    fn files(pairs: &[(&str, &str)]) -> ProtectedFiles {
        ProtectedFiles { files: pairs.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect() }
    }

    fn globs(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn held(protect: &[&str], protected: Option<ProtectedFiles>) -> HeldApproval {
        let mut terms = plan_terms(&plan());
        terms.approval.protect = globs(protect);
        HeldApproval { sequence: Sequence(1), plan_digest: Digest::of(b"plan"), terms, protected }
    }

    #[test]
    fn a_rule_approves_no_change_of_what_was_protected_and_takes_the_rest_as_it_is() {
        let now = files(&[("tests/a", "2"), ("tests/new", "1"), ("conftest.py", "1")]);
        let (all, before) = (globs(&["tests/**", "conftest.py"]), files(&[("tests/a", "1"), ("tests/gone", "1")]));
        assert_eq!(approved_by_rule(None, now.clone(), &all), now);
        assert_eq!(approved_by_rule(Some(&held(&["tests/**"], None)), now.clone(), &all), now, "nobody has looked so far");
        let kept = approved_by_rule(Some(&held(&["tests/**"], Some(before.clone()))), now.clone(), &all);
        assert_eq!(kept, files(&[("tests/a", "1"), ("tests/gone", "1"), ("conftest.py", "1")]));
        // What was not protected in between is taken anew.
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
