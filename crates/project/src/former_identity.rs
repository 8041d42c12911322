//! Which registered projects a directory was before, by what the ledgers record (S7). What was approved belongs to a place: a new
//! identity of the place inherits it. The order is a pure function.

use std::cmp::Reverse;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::approval::CONFIGURATION_FILE;
use crate::error::ProjectError;
use crate::registration::RootDirectory;
use proctor_evidence::{self as evidence, EvidenceError, LedgerLookup, Store};
use proctor_git::{GitStorage, ObjectId};
use proctor_index::{self as index, IndexedProject, StoreIndex};
use proctor_model::{
    ApprovalReason, ApprovalRecord, ApprovalTerms, ApprovingLine, CurrentApproval, JudgedSettings, LedgerBody, PlanTerms,
    ProjectId, RegistrationRecord, RootIdentity, TaskId, Timestamp,
};
use proctor_plan::config::FOLLOW;
use proctor_plan::spec::{first_settings, settings_by_rule};

/// How many commits are followed to the first one. What is older has no shared history that anybody could know.
const MOST_COMMITS: usize = 100_000;

/// A project that a directory was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormerIdentity {
    pub(crate) project: ProjectId,
    /// The path that was registered.
    pub(crate) path: String,
    pub(crate) likeness: Likeness,
    registered: Timestamp,
}

/// What a directory has in common with a registered one. What only the ledgers decide comes first: nobody can make another project
/// stand before one that was registered at the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// The path was registered.
    Path,
    /// It is the directory that was registered, under another name.
    Directory,
    /// The main working tree of the repository was registered.
    MainWorkTree,
    /// Another working tree of the repository was registered.
    WorkTree,
    /// A directory in the repository was registered, and no run says which one.
    PerhapsWorkTree,
    /// The same directory of another repository was registered, which has the first commit too: a clone, a fork or its template.
    SharedCommits,
}

impl Likeness {
    /// Returns whether the registered directory itself is meant, and no other one with files of its own.
    pub(crate) fn is_same_place(self) -> bool {
        self <= Self::Directory
    }

    /// Returns whether the project that was registered last comes first. Where files on disk decide, the oldest one does: a project
    /// that is new cannot be made to look older.
    fn is_newest_first(self) -> bool {
        matches!(self, Self::Path | Self::MainWorkTree | Self::WorkTree)
    }
}

/// A directory for which former identities are searched.
#[derive(Debug, Clone)]
struct Place {
    identity: RootIdentity,
    /// When the directory was made; `None` if the file system does not say.
    born: Option<Timestamp>,
    /// The directory in git's working tree; `None` outside of a repository.
    below: Option<String>,
    /// The first commit of what is checked out; `None` without one, and in a shallow clone, which does not have it.
    first_commit: Option<ObjectId>,
}

/// A registration that a ledger records.
#[derive(Debug, Clone)]
struct PastRegistration {
    project: ProjectId,
    root: RootIdentity,
    time: Timestamp,
    /// The directory in git's working tree, as the project's first run recorded it.
    below: Option<String>,
    /// Whether the registered path leads to the place now: by a link, by a mount, or written otherwise.
    leads_to_place: bool,
    /// Whether the registered repository is that of the place.
    is_same_repository: bool,
    /// Whether the registered repository is another one, and has the first commit of the place.
    has_first_commit: bool,
}

/// Returns the directory beside the store in which `proctor gate --run` checks commits out. The projects in it follow from commits, which
/// the gate compares with a trusted one: they inherit nothing, and nothing is inherited from them.
pub fn checkouts_directory(state_root: &Path) -> PathBuf {
    state_root.with_file_name("proctor-commits")
}

/// Returns the projects that a directory was before, the one whose approvals count first. The index must be up to date.
///
/// # Errors
/// When the index cannot be read, or the ledger of a project that the directory may have been.
pub(crate) fn former_identities(
    store: &Store,
    index: &StoreIndex,
    directory: &RootDirectory,
) -> Result<Vec<FormerIdentity>, ProjectError> {
    let checkouts = checkouts_directory(store.root());
    let checkouts = checkouts.canonicalize().unwrap_or(checkouts);
    let place = Place::of(directory);
    if Path::new(&place.identity.path).starts_with(&checkouts) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for project in index.projects()? {
        if Path::new(&project.root.path).starts_with(&checkouts) {
            continue;
        }
        let last = place.seen(&project.id, project.root.clone(), (Timestamp::from_millis(i64::MAX), None));
        let may_be_it = likeness(&place, &last).is_some();
        // An earlier registration is known from the ledger only.
        if !may_be_it && project.registered.0 == 1 {
            continue;
        }
        match past_registrations(store, &place, &project) {
            Ok(registrations) => found.extend(registrations),
            Err(error) if may_be_it => return Err(ProjectError::Evidence(error)),
            // It is named where the index is brought up to date.
            Err(_unreadable) => {}
        }
    }
    Ok(in_order(&place, &found))
}

/// Returns the registrations of a project that its ledger records.
fn past_registrations(store: &Store, place: &Place, project: &IndexedProject) -> Result<Vec<PastRegistration>, EvidenceError> {
    let (mut roots, mut below) = (Vec::new(), None);
    for line in evidence::read_lines(store, &project.id, 0)? {
        let (_, line) = line?;
        if let LedgerBody::Registered(record) = line.body {
            let RegistrationRecord { path, device, inode, git_common_directory, .. } = record;
            roots.push((RootIdentity { path, device, inode, git_common_directory }, line.time));
        } else if let LedgerBody::Run(record) = line.body
            && below.is_none()
        {
            below = record.conditions.and_then(|conditions| conditions.directory);
        }
        let has_all = project.root.git_common_directory.is_none() || below.is_some();
        if line.sequence >= project.registered && has_all {
            break;
        }
    }
    Ok(roots.into_iter().map(|(root, time)| place.seen(&project.id, root, (time, below.clone()))).collect())
}

/// Returns the former identities, each project once, the one whose approvals count first.
fn in_order(place: &Place, registrations: &[PastRegistration]) -> Vec<FormerIdentity> {
    let former = |past: &PastRegistration| {
        let likeness = likeness(place, past)?;
        let (project, path) = (past.project.clone(), past.root.path.clone());
        Some(FormerIdentity { project, path, likeness, registered: past.time })
    };
    let mut formers: Vec<FormerIdentity> = registrations.iter().filter_map(former).collect();
    formers.sort_by_key(|former| {
        let is_newest_first = former.likeness.is_newest_first();
        (former.likeness, is_newest_first.then_some(Reverse(former.registered)), former.registered, former.project.clone())
    });
    let mut once: Vec<FormerIdentity> = Vec::new();
    for former in formers {
        if once.iter().all(|known| known.project != former.project) {
            once.push(former);
        }
    }
    once
}

fn likeness(place: &Place, past: &PastRegistration) -> Option<Likeness> {
    let (here, there) = (&place.identity, &past.root);
    if there.path == here.path {
        return Some(Likeness::Path);
    }
    // A directory that is younger than the registration only got the number of one that was removed.
    let has_number = (there.device, there.inode) == (here.device, here.inode);
    if past.leads_to_place || (has_number && place.born.is_none_or(|born| born <= past.time)) {
        return Some(Likeness::Directory);
    }
    let below = place.below.as_ref()?;
    let main = Path::new(here.git_common_directory.as_deref()?).parent()?.join(below);
    // The repository may have been made after the registration.
    let is_main = main == Path::new(&there.path) && (past.is_same_repository || there.git_common_directory.is_none());
    let ends_so = Path::new(&there.path).ends_with(below);
    if !is_main && !past.is_same_repository {
        let is_there = past.has_first_commit && past.below.as_ref().map_or(ends_so, |recorded| recorded == below);
        return is_there.then_some(Likeness::SharedCommits);
    }
    match &past.below {
        Some(recorded) if recorded != below => None,
        _ if is_main => Some(Likeness::MainWorkTree),
        Some(_) => Some(Likeness::WorkTree),
        None => ends_so.then_some(Likeness::PerhapsWorkTree),
    }
}

impl Place {
    fn of(directory: &RootDirectory) -> Self {
        let root = directory.root();
        let made = fs::metadata(root).and_then(|metadata| metadata.created()).ok();
        let since_epoch = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        let born = since_epoch.and_then(|since| i64::try_from(since.as_millis()).ok()).map(Timestamp::from_millis);
        let (below, first_commit) = (crate::directory_in_repository(root), first_commit(root));
        Self { identity: directory.identity().clone(), born, below, first_commit }
    }

    /// Looks at a registration from this place: what its paths lead to now.
    fn seen(&self, project: &ProjectId, root: RootIdentity, (time, below): (Timestamp, Option<String>)) -> PastRegistration {
        let leads_to_place =
            root.path == self.identity.path || number_of(&root.path) == Some((self.identity.device, self.identity.inode));
        let repositories = root.git_common_directory.as_ref().zip(self.identity.git_common_directory.as_ref());
        let is_same_repository = repositories
            .is_some_and(|(one, other)| one == other || number_of(one).is_some_and(|number| number_of(other) == Some(number)));
        let has_first_commit = !is_same_repository
            && self.first_commit.zip(root.git_common_directory.as_deref()).is_some_and(|(first, common)| {
                GitStorage::open(Path::new(common), Path::new(common)).is_ok_and(|other| other.peel(first).is_ok())
            });
        PastRegistration { project: project.clone(), root, time, below, leads_to_place, is_same_repository, has_first_commit }
    }
}

/// Returns the first commit of what is checked out, along the first parents; `None` where the repository does not have it.
fn first_commit(root: &Path) -> Option<ObjectId> {
    let (git_directory, common) = proctor_git::find_git_directories(root)?;
    let storage = GitStorage::open(&git_directory, &common).ok().filter(|storage| !storage.lacks_objects_by_design())?;
    let mut commit = storage.head().ok()??;
    for _ in 0..MOST_COMMITS {
        match storage.peel(commit).ok()?.1.commit_parents()?.first() {
            Some(parent) => commit = *parent,
            None => return Some(commit),
        }
    }
    None
}

/// Returns the device and the inode of what a path leads to.
fn number_of(path: &str) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

// What a new identity of a place inherits (S7): what was approved for the project that the place was before. It is written into the new
// ledger as a registration and approvals without a person, so nothing in it opens more of the machine than a first run may.

/// What was approved for a former identity, as a new one records it.
#[derive(Debug)]
pub(crate) struct Inheritance {
    pub(crate) former: FormerIdentity,
    /// The approvals of the tasks, also of the project's own checks.
    pub(crate) approvals: Vec<ApprovalRecord>,
}

impl Inheritance {
    /// Returns what a new identity of a directory inherits; `None` if nothing was approved for what the directory was before. The
    /// index must be up to date.
    ///
    /// # Errors
    /// When the index, or the ledger of a project that the directory may have been, cannot be read.
    pub(crate) fn of(store: &Store, index: &StoreIndex, directory: &RootDirectory) -> Result<Option<Self>, ProjectError> {
        for former in former_identities(store, index, directory)? {
            let tasks = index.approved_tasks(&former.project)?;
            if !tasks.is_empty() {
                return Self::from(store, index, former, tasks).map(Some);
            }
        }
        Ok(None)
    }

    fn from(store: &Store, index: &StoreIndex, former: FormerIdentity, tasks: Vec<TaskId>) -> Result<Self, ProjectError> {
        let held = index.approved_settings(&former.project)?;
        let settings = held.and_then(|held| held.terms.settings).map(|settings| inherited_settings(&settings, former.likeness));
        let ledger = LedgerLookup::open(store, &former.project)?;
        let mut approvals = Vec::new();
        for task in tasks {
            let Some(held) = index.approval(&former.project, &task)? else { continue };
            let CurrentApproval { sequence, plan_digest, terms, protected } = held;
            let mut terms = PlanTerms { settings: settings.clone(), ..terms };
            if former.likeness == Likeness::SharedCommits {
                // Who may approve for another repository may not approve for this one.
                terms.approval = ApprovalTerms { require_signature: false, signers: Vec::new(), ..terms.approval };
            }
            // The tests of another working tree may rightly be others: its first run approves them.
            let protected = protected.filter(|_| former.likeness.is_same_place());
            let line = ledger.find(sequence)?;
            let file = match line.as_ref().and_then(|line| line.body.approving()) {
                Some(ApprovingLine::Approved(record)) => record.file.clone(),
                Some(ApprovingLine::Registered(_)) | None => CONFIGURATION_FILE.to_owned(),
            };
            let is_own = task == TaskId::default_task();
            let reason = if is_own { ApprovalReason::WeakensNothing } else { ApprovalReason::NewTask };
            let (weakened, signature) = (Vec::new(), None);
            approvals.push(ApprovalRecord { task, file, plan_digest, reason, weakened, terms, protected, signature });
        }
        Ok(Self { former, approvals })
    }

    /// Gives the new identity the approved tree of the former one, so that files cannot leave the tree by a change of identity.
    pub(crate) fn copy_tree(&self, store: &Store, project: &ProjectId) {
        if !self.former.likeness.is_same_place() {
            return;
        }
        let Some(tree) = index::read_tree_index(&store.approved_tree_path(&self.former.project)) else { return };
        if let Err(error) = index::write_tree_index(&store.approved_tree_path(project), &tree) {
            tracing::warn!("the approved tree of the former identity was not saved: {error}");
        }
    }
}

/// Returns the settings that a new identity inherits. One of the same repository inherits that a branch is followed; in another one, the
/// branch of that name is its own.
fn inherited_settings(settings: &JudgedSettings, likeness: Likeness) -> JudgedSettings {
    let mut inherited = without_openings(settings);
    if likeness != Likeness::SharedCommits
        && let Some((followed, held)) = inherited.values.get_mut(FOLLOW).zip(settings.values.get(FOLLOW))
    {
        followed.clone_from(held);
    }
    inherited
}

/// Returns the settings without what opens more of the machine than a first run may. A person is asked about that again: a ledger that
/// has no person's approval of it cannot say that there was one.
fn without_openings(settings: &JudgedSettings) -> JudgedSettings {
    settings_by_rule(&first_settings(settings), settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::SettingValue;
    use proctor_plan::config::{Configuration, judged_settings};

    const GIT: &str = "/p/shop/.git";

    fn identity(path: &str, inode: u64, git: Option<&str>) -> RootIdentity {
        RootIdentity { path: path.to_owned(), device: 1, inode, git_common_directory: git.map(str::to_owned) }
    }

    fn place(path: &str, inode: u64, below: Option<&str>) -> Place {
        let born = Some(Timestamp::from_millis(50));
        Place { identity: identity(path, inode, below.map(|_| GIT)), born, below: below.map(str::to_owned), first_commit: None }
    }

    fn past(name: &str, (path, inode): (&str, u64), git: Option<&str>, time: i64, below: Option<&str>) -> PastRegistration {
        PastRegistration {
            project: ProjectId::try_from(format!("{name}-00000001")).expect("a project id"),
            root: identity(path, inode, git),
            time: Timestamp::from_millis(time),
            below: below.map(str::to_owned),
            leads_to_place: false,
            is_same_repository: git == Some(GIT),
            has_first_commit: git == Some("/fork/.git"),
        }
    }

    #[test]
    fn another_repository_does_not_inherit_that_a_branch_is_followed() {
        let mut settings = judged_settings(&Configuration::default());
        settings.values.insert(FOLLOW.to_owned(), SettingValue::Text("origin/main".to_owned()));
        let places = [Likeness::Path, Likeness::Directory, Likeness::MainWorkTree, Likeness::WorkTree, Likeness::PerhapsWorkTree];
        for likeness in places {
            assert_eq!(inherited_settings(&settings, likeness), settings, "{likeness:?}");
        }
        let fork = inherited_settings(&settings, Likeness::SharedCommits);
        assert_eq!(fork, judged_settings(&Configuration::default()));
    }

    #[track_caller]
    fn check(place: &Place, registrations: &[PastRegistration], expected: &[(&str, Likeness)]) {
        let found = in_order(place, registrations);
        let named = |former: &FormerIdentity| (former.project.as_str().replace("-00000001", ""), former.likeness);
        let expected: Vec<_> = expected.iter().map(|(name, likeness)| ((*name).to_owned(), *likeness)).collect();
        assert_eq!(found.iter().map(named).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_was_registered_at_the_path_counts_first_and_the_newest_of_it() {
        let here = place("/p/shop", 9, Some(""));
        let old = past("old", ("/p/shop", 7), None, 10, None);
        let new = past("new", ("/p/shop", 8), Some(GIT), 20, Some(""));
        // Each was moved over the place of another one, or stands in another working tree.
        let moved = past("moved", ("/p/evil", 9), None, 90, None);
        let side = past("side", ("/w/side", 3), Some(GIT), 90, Some(""));
        let expected =
            [("new", Likeness::Path), ("old", Likeness::Path), ("moved", Likeness::Directory), ("side", Likeness::WorkTree)];
        check(&here, &[moved, side, old, new], &expected);
    }

    #[test]
    fn a_project_that_went_elsewhere_still_counts_where_it_was() {
        let here = place("/p/shop", 9, None);
        let registrations = [past("shop", ("/p/shop", 7), None, 10, None), past("shop", ("/q/shop", 7), None, 20, None)];
        check(&here, &registrations, &[("shop", Likeness::Path)]);
    }

    #[test]
    fn a_directory_is_known_under_another_name_unless_it_is_younger_than_the_registration() {
        let registered = |time| past("shop", ("/p/shop", 7), None, time, None);
        check(&place("/q/shop", 7, None), &[registered(60)], &[("shop", Likeness::Directory)]);
        check(&place("/q/shop", 7, None), &[registered(40)], &[]);
        let unknown = Place { born: None, ..place("/q/shop", 7, None) };
        check(&unknown, &[registered(40)], &[("shop", Likeness::Directory)]);
        // Other letters, a link, a mount: the registered path leads here. The oldest counts, because a link is made at any time.
        let leading = |name, time| PastRegistration { leads_to_place: true, ..past(name, ("/p/SHOP", 1), None, time, None) };
        let expected = [("shop", Likeness::Directory), ("link", Likeness::Directory)];
        check(&place("/p/shop", 7, None), &[leading("link", 20), leading("shop", 10)], &expected);
        check(&place("/elsewhere", 8, None), &[registered(60)], &[]);
    }

    #[test]
    fn of_a_repository_the_same_directory_counts_and_the_main_working_tree_first() {
        let main = past("main", ("/p/shop", 7), Some(GIT), 10, Some(""));
        let side = past("side", ("/w/side", 3), Some(GIT), 90, Some(""));
        let later = past("later", ("/w/later", 4), Some(GIT), 95, Some(""));
        let sub = past("sub", ("/p/shop/sub", 5), Some(GIT), 20, Some("sub"));
        let all = [main.clone(), side.clone(), later, sub.clone()];
        let expected = [("main", Likeness::MainWorkTree), ("later", Likeness::WorkTree), ("side", Likeness::WorkTree)];
        check(&place("/w/new", 9, Some("")), &all, &expected);
        check(&place("/w/new/sub", 9, Some("sub")), &all, &[("sub", Likeness::MainWorkTree)]);
        check(&place("/p/shop/other", 9, Some("other")), &all, &[]);
        // It was registered before there was a repository, and never ran.
        let before = past("main", ("/p/shop", 7), None, 10, None);
        check(&place("/w/new", 9, Some("")), &[before], &[("main", Likeness::MainWorkTree)]);
        // No run says which directory of the repository it is.
        let unknown = |name, path, time| past(name, (path, 6), Some(GIT), time, None);
        let expected =
            [("side", Likeness::WorkTree), ("first", Likeness::PerhapsWorkTree), ("second", Likeness::PerhapsWorkTree)];
        check(&place("/w/new", 9, Some("")), &[unknown("second", "/w/b", 30), unknown("first", "/w/a", 20), side], &expected);
        check(&place("/w/new/sub", 9, Some("sub")), &[unknown("first", "/w/a", 20)], &[]);
        let elsewhere = past("clone", ("/c/shop", 8), Some("/c/shop/.git"), 10, Some(""));
        check(&place("/w/new", 9, Some("")), &[elsewhere], &[]);
        // Another repository with the first commit comes last, and only its same directory.
        let fork = |below| past("fork", ("/fork", 8), Some("/fork/.git"), 10, Some(below));
        check(&place("/w/new", 9, Some("")), &[fork("")], &[("fork", Likeness::SharedCommits)]);
        check(&place("/w/new", 9, Some("")), &[fork("sub")], &[]);
        let both = [fork(""), past("main", ("/p/shop", 7), Some(GIT), 10, Some(""))];
        check(&place("/w/new", 9, Some("")), &both, &[("main", Likeness::MainWorkTree), ("fork", Likeness::SharedCommits)]);
    }
}
