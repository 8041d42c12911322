//! Decides which project of the evidence store a directory belongs to. A directory that belongs to none is registered
//! as a new project, which approves its plan, unless its place was registered before: then what was approved there holds (S7). In doubt
//! a person is asked (architecture, Files on disk).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::approval::{terms_of_registration, unapproved_in};
use crate::checked_index::{UnreadableLedger, apply_written, catch_up, catch_up_all, catch_up_changed, name_unreadable};
use crate::error::ProjectError;
use crate::evidence::{Evidence, lock_within};
use crate::former_identity::{Inheritance, Likeness, former_identities};
use crate::known_commits::keep_first_commit;
use crate::repaired_index::open_index;
use crate::request::{ProjectScope, ProjectSettings};
use crate::same_program::ProgramSearch;
use crate::snapshot_storage::remove_snapshots_of;
use crate::workspace::Workspace;
use proctor_evidence::{self as evidence, ExcludeOutcome, Ledger, LinkOutcome, LinkRepair, Store};
use proctor_git as git;
use proctor_index::{self as store, ProjectDifference, ProjectMatch, ProjectMismatch};
use proctor_model::{
    Asker, Digest, LedgerBody, PROPOSED_MAX_BYTES, Plan, PlanTerms, ProjectId, RegistrationRecord, RootIdentity, Serving,
    ServingRecord,
};
use proctor_sandbox::process::clock;

/// Whether a directory was registered before, was registered just now, or needs a person's decision.
#[derive(Debug)]
pub enum Registration {
    /// The directory was registered before.
    Known(ProjectScope),
    /// The directory was registered just now.
    New {
        scope: ProjectScope,
        /// One-time messages for people.
        notes: Vec<String>,
    },
    /// It is unclear whether the directory is a registered project, so a person must decide.
    Doubtful(ResemblingProject),
}

/// A directory that resembles a registered project.
#[derive(Debug, Clone)]
pub struct ResemblingProject {
    /// The registered project that the directory resembles.
    pub project: ProjectId,
    pub registered_path: String,
    pub path: PathBuf,
}

/// Returns the name of the lock that is held while a project is registered. Whoever holds it keeps new projects from being registered.
pub fn registrar() -> ProjectId {
    ProjectId::mint("registration", 0)
}

/// A person's decision about a doubtful directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityAnswer {
    /// The directory is the registered project.
    Same,
    /// The directory is another project.
    New,
}

impl Workspace {
    /// Finds the project of a directory. Registers the directory if it is new, or if it is doubtful and `identity` says
    /// which project it is.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read, or the ledger or index cannot be used.
    pub fn register(
        &mut self,
        root: &Path,
        plan: &Plan,
        settings: &ProjectSettings,
        asker: &Asker,
        identity: Option<IdentityAnswer>,
    ) -> Result<Registration, ProjectError> {
        let Self { evidence, runner, .. } = self;
        let place = RootDirectory::of(root)?;
        if let DirectoryOwner::Known(project) = place.find_checked(&evidence.store, &mut evidence.index)? {
            return Ok(Registration::Known(linked_scope(&evidence.store, project, &place, asker, settings)));
        }
        // This lock keeps two simultaneous first runs from registering the directory twice.
        let registrar = registrar();
        let _registering = lock_within(&evidence.store, &registrar, settings.lock_wait)?;
        let (project, inherited, former) = match (place.find_checked(&evidence.store, &mut evidence.index)?, identity) {
            (DirectoryOwner::Known(project), _) => {
                return Ok(Registration::Known(linked_scope(&evidence.store, project, &place, asker, settings)));
            }
            (DirectoryOwner::Unknown, _) | (DirectoryOwner::Doubtful(_), Some(IdentityAnswer::New)) => {
                let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let project = evidence::mint_project_id(&name)?;
                let inherited = Inheritance::of(&evidence.store, &evidence.index, &place)?;
                let former = inherited.as_ref().map(|inherited| inherited.former.path.clone());
                (project, inherited, former)
            }
            (DirectoryOwner::Doubtful(doubt), Some(IdentityAnswer::Same)) => (doubt.project, None, Some(doubt.registered_path)),
            (DirectoryOwner::Doubtful(doubt), None) => return Ok(Registration::Doubtful(doubt)),
        };
        let scope = scope_of(project, &place, asker);
        let lock = evidence.lock(&scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = Ledger::open(&lock)?;
        let is_first_of_store = evidence.index.projects()?.is_empty();
        let said = match inherited {
            Some(inherited) => write_inherited(evidence, &mut ledger, &scope, &place, plan, inherited)?,
            None => {
                let programs = runner.program_search(&scope, settings);
                write_first(evidence, &mut ledger, &scope, &place, plan, programs)?
            }
        };
        drop(ledger);
        keep_first_commit(&evidence.store, root, former.as_deref());
        let mut notes = vec![format!("registered `{}` as {}{said}", place.identity.path, scope.project)];
        let mut linked = make_link(&evidence.store, &scope, settings);
        if let Some(mended) = mend_link(&evidence.store, &scope, settings) {
            linked = vec![mended];
        }
        if linked.is_empty() {
            let place = settings.link.as_ref().map_or_else(|| "the store".to_owned(), |link| format!("`{link}`"));
            let kept =
                format!("kept for ever: `max_bytes = \"{PROPOSED_MAX_BYTES}\"` in `[evidence]` of proctor.toml limits its size");
            let is_endless = is_first_of_store && settings.limits.bytes.is_none();
            notes.push(if is_endless { format!("evidence in {place}, {kept}") } else { format!("evidence in {place}") });
        }
        notes.extend(linked);
        Ok(Registration::New { scope, notes })
    }

    /// Finds the project of a directory without registering the directory. Returns `None` if the directory belongs to
    /// no registered project, or if that is unclear.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read, or a ledger or the index cannot be read.
    pub fn find_registered(&mut self, root: &Path, asker: &Asker) -> Result<Option<ProjectScope>, ProjectError> {
        let place = RootDirectory::of(root)?;
        Ok(match place.find_checked(&self.evidence.store, &mut self.evidence.index)? {
            DirectoryOwner::Known(project) => Some(scope_of(project, &place, asker)),
            DirectoryOwner::Doubtful(_) | DirectoryOwner::Unknown => None,
        })
    }
}

/// Writes a registration that approves the plan, unless its rules are not those that the project's own ledger has. Returns what is said of that.
fn write_first(
    evidence: &mut Evidence,
    ledger: &mut Ledger,
    scope: &ProjectScope,
    place: &RootDirectory,
    plan: &Plan,
    programs: ProgramSearch<'_>,
) -> Result<String, ProjectError> {
    let plan_digest = proctor_plan::spec::plan_digest(plan);
    let terms = terms_of_registration(&evidence.index, &scope.project, plan, plan_digest, programs)?;
    let is_approved = unapproved_in(&evidence.index, &scope.project, plan, plan_digest)?.is_none();
    evidence.append(ledger, scope, LedgerBody::Registered(place.record(scope, plan_digest, terms)))?;
    // A plan without actions is that of a project without checks of its own: registering it approves nothing.
    Ok(if is_approved && plan.actions().next().is_some() { "; its rules count as approved".to_owned() } else { String::new() })
}

/// Writes approvals that hold what was approved for a former identity, and then a registration that approves nothing. Returns what is
/// said of that.
///
/// The directory belongs to the project from the registration's line on. A process that dies before it leaves approvals of a project
/// that no directory has, and the next run begins anew: no directory is ever registered with a part of what it inherits.
fn write_inherited(
    evidence: &mut Evidence,
    ledger: &mut Ledger,
    scope: &ProjectScope,
    place: &RootDirectory,
    plan: &Plan,
    inherited: Inheritance,
) -> Result<String, ProjectError> {
    inherited.copy_tree(&evidence.store, &scope.project);
    let Inheritance { former, approvals } = inherited;
    for approval in approvals {
        evidence.append(ledger, scope, LedgerBody::Approval(Box::new(approval)))?;
    }
    let plan_digest = proctor_plan::spec::plan_digest(plan);
    evidence.append(ledger, scope, LedgerBody::Registered(place.record(scope, plan_digest, None)))?;
    Ok(if former.likeness == Likeness::SharedCommits {
        format!("; it has the first commit of {} (`{}`), and is judged by what was approved there", former.project, former.path)
    } else {
        format!("; what was approved for {} (`{}`) holds here too", former.project, former.path)
    })
}

fn linked_scope(
    store: &Store,
    project: ProjectId,
    place: &RootDirectory,
    asker: &Asker,
    settings: &ProjectSettings,
) -> ProjectScope {
    let scope = scope_of(project, place, asker);
    // This makes the link to the evidence again if it was removed, or if the configuration gives it another name
    // now. Any other file at the link's path is left alone.
    let _said_at_registration = make_link(store, &scope, settings);
    scope
}

/// Returns whether the project has its link to the evidence.
pub fn has_link(store: &Store, scope: &ProjectScope, settings: &ProjectSettings) -> bool {
    let target = store.project_directory(&scope.project);
    settings.link.as_ref().is_some_and(|name| evidence::is_our_link(&scope.root.join(name), &target))
}

/// Makes the project's link to the evidence again if it was removed or replaced while the checks ran. Whoever follows the documented
/// path would otherwise read what a check wrote there. Returns what a person should know.
pub fn restore_link(store: &Store, scope: &ProjectScope, settings: &ProjectSettings) -> Option<String> {
    let name = settings.link.as_ref()?;
    if !scope.root.is_dir() {
        // The whole project is gone, and the run says so.
        return None;
    }
    let target = store.project_directory(&scope.project);
    Some(match evidence::restore_project_link(store, &scope.root, name, &target) {
        Ok(LinkRepair::NotNeeded) => return None,
        Ok(LinkRepair::Removed) => {
            format!("`{name}` in the project was removed while the checks ran; it links to the evidence again")
        }
        Ok(LinkRepair::WasLink(other)) => format!(
            "`{name}` in the project was replaced by a link to `{}` while the checks ran; it links to the evidence again",
            other.display()
        ),
        Ok(LinkRepair::MovedTo(aside)) => format!(
            "`{name}` in the project was replaced while the checks ran; it links to the evidence again, and what was in its place is \
             now `{}`",
            aside.display()
        ),
        Err(error) => format!(
            "`{name}` in the project was replaced while the checks ran, and is no evidence: {error}; `proctor show` finds the evidence"
        ),
    })
}

/// Makes the project's link to the evidence again if it leads to other evidence when a run begins, so that nobody reads that for the
/// project's. Returns what a person should know.
pub fn mend_link(store: &Store, scope: &ProjectScope, settings: &ProjectSettings) -> Option<String> {
    let name = settings.link.as_ref()?;
    let target = store.project_directory(&scope.project);
    match evidence::mend_project_link(&scope.root, name, &target).transpose()? {
        Ok(other) => Some(format!(
            "`{name}` in the project led to `{}`, which is not its evidence; it links to the evidence again",
            other.display()
        )),
        Err(error) => Some(format!("`{name}` leads to other evidence than the project's: {error}; `proctor show` finds its own")),
    }
}

/// Creates a symbolic link to the evidence in the project's root, and hides it from git (S1). Returns messages for
/// people. The link is a convenience: if it cannot be made, a message says so, and nothing fails.
fn make_link(store: &Store, scope: &ProjectScope, settings: &ProjectSettings) -> Vec<String> {
    let Some(name) = &settings.link else { return Vec::new() };
    let target = store.project_directory(&scope.project);
    let mut notes = Vec::new();
    match evidence::link_project(&scope.root, name, &target) {
        Err(error) => notes
            .push(format!("`{name}` could not be made in the project ({error}): `proctor show` finds the evidence without it")),
        Ok(LinkOutcome::Created) => {
            notes.extend(exclude(&scope.root, name));
        }
        Ok(LinkOutcome::Obstructed(_)) => notes.push(format!(
            "`{name}` in the project is something else and was left alone: `proctor show` finds the evidence without a link"
        )),
        // The repository may have been made after the link.
        Ok(LinkOutcome::AlreadyRight) => notes.extend(exclude(&scope.root, name)),
        Ok(LinkOutcome::Off) => {}
    }
    notes
}

/// Hides the link to the evidence from git, if the project is in a repository. Returns what a person should know.
fn exclude(root: &Path, name: &str) -> Option<String> {
    let git = git::find_git_location(root)?;
    match evidence::exclude_link(&git, root, name) {
        Ok(ExcludeOutcome::Added | ExcludeOutcome::AlreadyThere | ExcludeOutcome::LeftAlone) => None,
        Err(error) => Some(format!("`{name}` could not be added to .git/info/exclude ({error})")),
    }
}

/// A directory with the identity that the ledger records for it.
#[derive(Debug, Clone)]
pub(crate) struct RootDirectory {
    root: PathBuf,
    identity: RootIdentity,
}

/// Which project a directory belongs to, if any.
#[derive(Debug)]
pub(crate) enum DirectoryOwner {
    Known(ProjectId),
    Doubtful(ResemblingProject),
    Unknown,
}

impl DirectoryOwner {
    /// Returns whether an unreadable ledger may be the one of the directory.
    fn may_be(&self, index: &store::StoreIndex, ledger: &UnreadableLedger) -> Result<bool, ProjectError> {
        Ok(match self {
            Self::Known(project) => *project == ledger.project,
            Self::Doubtful(doubt) => doubt.project == ledger.project,
            // Where the line of the registration is lost, nobody can say which directory the ledger is about.
            Self::Unknown => index.project(&ledger.project)?.is_none(),
        })
    }
}

impl RootDirectory {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn identity(&self) -> &RootIdentity {
        &self.identity
    }

    /// Returns the line of the ledger that registers the directory.
    fn record(&self, scope: &ProjectScope, plan_digest: Digest, terms: Option<Box<PlanTerms>>) -> RegistrationRecord {
        let RootIdentity { path, device, inode, git_common_directory } = self.identity.clone();
        RegistrationRecord { project_id: scope.project.clone(), path, device, inode, git_common_directory, plan_digest, terms }
    }

    pub(crate) fn of(root: &Path) -> Result<Self, ProjectError> {
        let metadata = std::fs::metadata(root).map_err(|source| ProjectError::Project { path: root.to_owned(), source })?;
        let git = git::git_common_directory(root);
        Ok(Self {
            root: root.to_owned(),
            identity: RootIdentity {
                path: root.to_string_lossy().into_owned(),
                device: metadata.dev(),
                inode: metadata.ino(),
                git_common_directory: git.map(|path| path.to_string_lossy().into_owned()),
            },
        })
    }

    /// Updates the index and finds the project of the directory. Only rows with a valid seal decide.
    ///
    /// # Errors
    ///
    /// When the index cannot be read, or the ledger of the directory's project, or a ledger of which it is unknown whether it is
    /// the one of this directory. Other ledgers that cannot be read are named in a note.
    pub(crate) fn find_checked(&self, store: &Store, index: &mut store::StoreIndex) -> Result<DirectoryOwner, ProjectError> {
        // In most cases the answer needs the rows of one project, so its seal alone is checked.
        let changed = catch_up_changed(store, index)?;
        let certain = match self.find_in(index)? {
            DirectoryOwner::Known(project) => self.is_checked_owner(store, index, &project)?.then_some(project),
            DirectoryOwner::Doubtful(_) | DirectoryOwner::Unknown => None,
        };
        let (owner, unreadable) = match certain {
            Some(project) => (DirectoryOwner::Known(project), changed),
            None => {
                let unreadable = catch_up_all(store, index)?;
                (self.by_place(self.find_in(index)?, store, index)?, unreadable)
            }
        };
        let mut others = Vec::new();
        for ledger in unreadable {
            if owner.may_be(index, &ledger)? {
                return Err(ledger.error);
            }
            others.push(ledger);
        }
        others.iter().for_each(|ledger| name_unreadable(index, ledger));
        Ok(owner)
    }

    /// Returns the owner, in doubt the project to whose place the directory belongs: one that was moved over the place of another, or
    /// merely resembles it, does not become that place by being the same project as before. A directory that only got the number of one
    /// that was removed is new.
    fn by_place(&self, owner: DirectoryOwner, store: &Store, index: &store::StoreIndex) -> Result<DirectoryOwner, ProjectError> {
        let DirectoryOwner::Doubtful(doubt) = owner else { return Ok(owner) };
        let former = former_identities(store, index, self)?.into_iter().next();
        let owning = former.filter(|former| former.likeness.is_same_place());
        Ok(owning.map_or(DirectoryOwner::Unknown, |former| {
            DirectoryOwner::Doubtful(ResemblingProject { project: former.project, registered_path: former.path, ..doubt })
        }))
    }

    /// Checks the seal of a project's rows, and returns whether the directory is still that project's.
    fn is_checked_owner(&self, store: &Store, index: &mut store::StoreIndex, project: &ProjectId) -> Result<bool, ProjectError> {
        // Rows of a project without a ledger are no rows of proctor.
        if store.ledger_path(project).symlink_metadata().is_err() {
            return Ok(false);
        }
        catch_up(store, index, project)?;
        let has_lines = index.position(project)?.is_some();
        Ok(has_lines && matches!(self.find_in(index)?, DirectoryOwner::Known(owner) if owner == *project))
    }

    fn find_in(&self, index: &store::StoreIndex) -> Result<DirectoryOwner, ProjectError> {
        let RootIdentity { path, device, inode, git_common_directory } = &self.identity;
        let found = index.find_project(path, *device, *inode, git_common_directory.as_deref())?;
        Ok(match found {
            ProjectMatch::Known(project) => DirectoryOwner::Known(project),
            ProjectMatch::Unknown => DirectoryOwner::Unknown,
            ProjectMatch::Mismatch(mismatches) => {
                let gained = mismatches.iter().find(|mismatch| self.only_gained_or_lost_a_repository(mismatch));
                // At the place of another registered project, a person decides which of them it is.
                let certain = gained
                    .or_else(|| mismatches.first().filter(|_| mismatches.len() == 1 && self.is_linked_from(&mismatches[0])));
                match (certain, mismatches.first()) {
                    (Some(mismatch), _) => DirectoryOwner::Known(mismatch.project.id.clone()),
                    (None, Some(mismatch)) => DirectoryOwner::Doubtful(ResemblingProject {
                        project: mismatch.project.id.clone(),
                        registered_path: mismatch.project.root.path.clone(),
                        path: self.root.clone(),
                    }),
                    (None, None) => DirectoryOwner::Unknown,
                }
            }
        })
    }

    /// Returns whether the only difference is that a `.git` was created or removed. The directory is then still the
    /// same project.
    fn only_gained_or_lost_a_repository(&self, mismatch: &ProjectMismatch) -> bool {
        let one_has_none = self.identity.git_common_directory.is_none() || mismatch.project.root.git_common_directory.is_none();
        one_has_none && mismatch.differences == [ProjectDifference::GitCommonDirectory]
    }

    /// Returns whether the directory was moved, and whoever moved it left a link at the registered path that leads to it.
    fn is_linked_from(&self, mismatch: &ProjectMismatch) -> bool {
        let RootIdentity { path, device, inode, git_common_directory } = &mismatch.project.root;
        let is_link = Path::new(path).is_symlink();
        let is_it = std::fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (*device, *inode));
        let is_same = (*device, *inode) == (self.identity.device, self.identity.inode);
        let git = git_common_directory.as_ref().map(std::fs::canonicalize).transpose();
        let has_same_git = git.is_ok_and(|git| git.as_deref() == self.identity.git_common_directory.as_deref().map(Path::new));
        is_link && is_it && is_same && has_same_git
    }
}

fn scope_of(project: ProjectId, place: &RootDirectory, asker: &Asker) -> ProjectScope {
    ProjectScope { project, root: place.root.clone(), asker: asker.clone() }
}

/// Records in the ledger that the service watches a registered project, or no longer watches it. Nothing is done if
/// the ledger already records this state. The snapshots of a project that is no longer watched are removed.
///
/// # Errors
///
/// When another process locks the project's evidence for longer than `wait`, or the ledger or the index cannot be
/// written.
pub fn record_serving(state_root: &Path, scope: &ProjectScope, serving: Serving, wait: Duration) -> Result<(), ProjectError> {
    let store = Store::open(state_root)?;
    // A project can be left alone on a full disk too.
    let _reserve = store.use_reserve()?;
    let mut index = open_index(&store)?.index;
    catch_up(&store, &mut index, &scope.project)?;
    if index.serving(&scope.project)? == serving {
        return Ok(());
    }
    let lock = lock_within(&store, &scope.project, wait)?;
    let mut ledger = Ledger::open(&lock)?;
    catch_up(&store, &mut index, &scope.project)?;
    let body = LedgerBody::Serving(ServingRecord { serving });
    let line = ledger.append(body, &scope.asker, clock::now())?;
    apply_written(&store, &mut index, &scope.project, &[(ledger.length(), line)])?;
    match serving {
        Serving::Served => Ok(()),
        // A project that is no longer watched needs no snapshots. Its next run would make them again.
        Serving::NotServed => remove_snapshots_of(&lock),
    }
}
