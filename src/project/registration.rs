//! Which project of the store a directory is. A new one is registered, and its plan approved by that (S7); a doubtful one is
//! asked about, never guessed (architecture, Files on disk).

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::evidence::{self, ExcludeOutcome, Ledger, LinkOutcome, Store, WaitDecision};
use crate::model::{Asker, LedgerBody, Plan, ProjectId, RegistrationRecord, RootIdentity, Serving, ServingRecord};
use crate::process::clock;
use crate::project::approval::{terms_of_registration, unapproved_in};
use crate::project::error::RunError;
use crate::project::mended_index::open_index;
use crate::project::request::{Scope, Settings};
use crate::project::workspace::{Workspace, catch_up};
use crate::store::{self, ProjectDifference, ProjectMatch, ProjectMismatch};

/// What registering found.
#[derive(Debug)]
pub enum Registration {
    /// The directory is registered.
    Known(Scope),
    /// It was registered just now; what there is to say about that, once.
    New {
        /// The project.
        scope: Scope,
        /// Lines for people.
        notes: Vec<String>,
    },
    /// It may or may not be a project that is registered: a person must say.
    Doubtful(Doubt),
}

/// A directory that resembles a registered project.
#[derive(Debug, Clone)]
pub struct Doubt {
    /// The project it resembles.
    pub project: ProjectId,
    /// Where that one was.
    pub registered_path: String,
    /// Where this one is.
    pub path: PathBuf,
}

/// What a person says about a doubtful directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// It is the project it resembles.
    Same,
    /// It is another project.
    New,
}

impl Workspace {
    /// Finds the project of a directory, registering it where it is new.
    ///
    /// # Errors
    /// When the directory cannot be looked at, or the ledger or index cannot be used.
    pub fn register(
        &mut self,
        root: &Path,
        plan: &Plan,
        settings: &Settings,
        asker: &Asker,
        identity: Option<Identity>,
    ) -> Result<Registration, RunError> {
        let place = RootDirectory::of(root)?;
        if let Some(project) = self.known(&place)? {
            return Ok(Registration::Known(self.scope(project, &place, asker, settings)));
        }
        // Two first runs at once must not register the directory twice.
        let registrar = ProjectId::mint("registration", 0);
        let begun = clock::monotonic();
        let lock = self.store.lock(&registrar, &mut || {
            if clock::monotonic().since(begun) < settings.lock_wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        let _registering = lock.map_err(RunError::Lock)?;
        self.catch_up_all()?;
        match (place.find_in(&self.index)?, identity) {
            (DirectoryOwner::Known(project), _) => Ok(Registration::Known(self.scope(project, &place, asker, settings))),
            (DirectoryOwner::Unknown, _) | (DirectoryOwner::Doubtful(_), Some(Identity::New)) => {
                let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let project = evidence::mint_project_id(&name).map_err(RunError::Evidence)?;
                self.write_registration(project, &place, plan, settings, asker)
            }
            (DirectoryOwner::Doubtful(doubt), Some(Identity::Same)) => {
                self.write_registration(doubt.project, &place, plan, settings, asker)
            }
            (DirectoryOwner::Doubtful(doubt), None) => Ok(Registration::Doubtful(doubt)),
        }
    }

    /// Finds the project of a directory without registering it; none where it is not registered for certain.
    ///
    /// # Errors
    /// When the directory cannot be looked at, or a ledger or the index cannot be read.
    pub fn find_registered(&mut self, root: &Path, asker: &Asker) -> Result<Option<Scope>, RunError> {
        self.catch_up_all()?;
        let place = RootDirectory::of(root)?;
        Ok(self.known(&place)?.map(|project| scope_of(project, &place, asker)))
    }

    fn known(&mut self, place: &RootDirectory) -> Result<Option<ProjectId>, RunError> {
        Ok(match place.find_in(&self.index)? {
            DirectoryOwner::Known(project) => Some(project),
            DirectoryOwner::Doubtful(_) | DirectoryOwner::Unknown => None,
        })
    }

    /// Rebuilds what the index lacks: it may be new, deleted, or behind.
    pub(crate) fn catch_up_all(&mut self) -> Result<(), RunError> {
        for project in evidence::list_projects(&self.store).map_err(RunError::Evidence)? {
            catch_up(&self.store, &mut self.index, &project)?;
        }
        Ok(())
    }

    fn write_registration(
        &mut self,
        project: ProjectId,
        place: &RootDirectory,
        plan: &Plan,
        settings: &Settings,
        asker: &Asker,
    ) -> Result<Registration, RunError> {
        let scope = scope_of(project, place, asker);
        let lock = self.lock(&scope, settings.lock_wait, &|| None, &mut |_| {})?;
        let mut ledger = Ledger::open(&lock).map_err(RunError::Evidence)?;
        let plan_digest = crate::spec::plan_digest(plan);
        let terms = terms_of_registration(&self.index, &scope.project, plan, plan_digest)?;
        let is_approved = terms.is_some() || unapproved_in(&self.index, &scope.project, plan, plan_digest)?.is_none();
        let record = RegistrationRecord {
            project_id: scope.project.clone(),
            path: place.identity.path.clone(),
            device: place.identity.device,
            inode: place.identity.inode,
            git_common_directory: place.identity.git_common_directory.clone(),
            plan_digest,
            terms,
        };
        self.append(&mut ledger, &scope, LedgerBody::Registered(record))?;
        drop(ledger);
        let registered = format!("registered `{}` as {}", place.identity.path, scope.project);
        let mut notes = vec![if is_approved {
            format!("{registered}; its plan is approved by that ({}…)", plan_digest.short())
        } else {
            registered
        }];
        notes.extend(self.link(&scope, settings));
        Ok(Registration::New { scope, notes })
    }

    fn scope(&self, project: ProjectId, place: &RootDirectory, asker: &Asker, settings: &Settings) -> Scope {
        let scope = scope_of(project, place, asker);
        // A link that was removed or that the configuration renamed comes back; what else lies there is left alone.
        let _said_at_registration = self.link(&scope, settings);
        scope
    }

    /// Puts the link to the evidence into the project and names it where git looks (S1).
    /// The link is for convenience: what keeps it from being made is said, and nothing fails for it.
    fn link(&self, scope: &Scope, settings: &Settings) -> Vec<String> {
        let Some(name) = &settings.link else { return Vec::new() };
        let target = self.store.project_directory(&scope.project);
        let mut notes = Vec::new();
        match evidence::link_project(&scope.root, name, &target) {
            Err(error) => notes.push(format!(
                "`{name}` could not be made in the project ({error}): `proctor show` finds the evidence without it"
            )),
            Ok(LinkOutcome::Created) => {
                notes
                    .push(format!("`{name}` in the project links to its evidence; `link = \"\"` in `[evidence]` turns that off"));
                if let Some(git) = evidence::find_git_location(&scope.root) {
                    match evidence::exclude_link(&git, &scope.root, name) {
                        Ok(ExcludeOutcome::Added) => notes.push(format!("`{name}` was added to .git/info/exclude")),
                        Ok(ExcludeOutcome::AlreadyThere | ExcludeOutcome::LeftAlone) => {}
                        Err(error) => notes.push(format!("`{name}` could not be added to .git/info/exclude ({error})")),
                    }
                }
            }
            Ok(LinkOutcome::Obstructed(_)) => notes.push(format!(
                "`{name}` in the project is something else and was left alone: `proctor show` finds the evidence without a link"
            )),
            Ok(LinkOutcome::AlreadyRight | LinkOutcome::Off) => {}
        }
        notes
    }
}

/// Where a directory is, as the ledger records it.
#[derive(Debug, Clone)]
pub(crate) struct RootDirectory {
    root: PathBuf,
    identity: RootIdentity,
}

/// Whose directory it is.
#[derive(Debug)]
pub(crate) enum DirectoryOwner {
    Known(ProjectId),
    Doubtful(Doubt),
    Unknown,
}

impl RootDirectory {
    pub(crate) fn of(root: &Path) -> Result<Self, RunError> {
        let metadata = std::fs::metadata(root).map_err(|source| RunError::Project { path: root.to_owned(), source })?;
        let git = evidence::git_common_directory(root);
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

    pub(crate) fn find_in(&self, index: &store::StoreIndex) -> Result<DirectoryOwner, RunError> {
        let RootIdentity { path, device, inode, git_common_directory } = &self.identity;
        let found = index.find_project(path, *device, *inode, git_common_directory.as_deref()).map_err(RunError::Index)?;
        Ok(match found {
            ProjectMatch::Known(project) => DirectoryOwner::Known(project),
            ProjectMatch::Unknown => DirectoryOwner::Unknown,
            ProjectMatch::Mismatch(mismatches) => {
                let certain = mismatches.iter().find(|mismatch| self.only_gained_or_lost_a_repository(mismatch));
                match (certain, mismatches.first()) {
                    (Some(mismatch), _) => DirectoryOwner::Known(mismatch.project.id.clone()),
                    (None, Some(mismatch)) => DirectoryOwner::Doubtful(Doubt {
                        project: mismatch.project.id.clone(),
                        registered_path: mismatch.project.root.path.clone(),
                        path: self.root.clone(),
                    }),
                    (None, None) => DirectoryOwner::Unknown,
                }
            }
        })
    }

    /// The same directory at the same path in which `git init` was run, or whose `.git` was removed, is no other project.
    fn only_gained_or_lost_a_repository(&self, mismatch: &ProjectMismatch) -> bool {
        let one_has_none = self.identity.git_common_directory.is_none() || mismatch.project.root.git_common_directory.is_none();
        one_has_none && mismatch.differences == [ProjectDifference::GitCommonDirectory]
    }
}

fn scope_of(project: ProjectId, place: &RootDirectory, asker: &Asker) -> Scope {
    Scope { project, root: place.root.clone(), asker: asker.clone() }
}

/// Writes down that the service watches a registered project from here on, or leaves it alone. What is so already is not written again.
///
/// # Errors
/// When another process holds the project for longer than `wait`, or ledger or index cannot be written.
pub fn record_serving(state_root: &Path, scope: &Scope, serving: Serving, wait: Duration) -> Result<(), RunError> {
    let store = Store::open(state_root).map_err(RunError::Evidence)?;
    let mut index = open_index(&store)?.index;
    catch_up(&store, &mut index, &scope.project)?;
    if index.serving(&scope.project).map_err(RunError::Index)? == serving {
        return Ok(());
    }
    let begun = clock::monotonic();
    let lock = store.lock(&scope.project, &mut || {
        if clock::monotonic().since(begun) < wait { WaitDecision::GoOn } else { WaitDecision::GiveUp }
    });
    let lock = lock.map_err(RunError::Lock)?;
    let mut ledger = Ledger::open(&lock).map_err(RunError::Evidence)?;
    catch_up(&store, &mut index, &scope.project)?;
    let body = LedgerBody::Serving(ServingRecord { serving });
    let line = ledger.append(body, &scope.asker, clock::now()).map_err(RunError::Evidence)?;
    index.apply(&scope.project, &[(ledger.length(), line)]).map_err(RunError::Index)
}
