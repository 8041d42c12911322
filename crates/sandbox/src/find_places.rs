//! Finds out which of the paths in the rules exist, what each path is after its links are resolved, and which file
//! (device and inode) is there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::arrange::{CandidatePlace, FoundPlaces, PlaceRule, is_allowed, is_kernel};
use crate::bound_sockets::bound_sockets;
use crate::closed_world::closed_places;
use crate::credentials::{CREDENTIAL_VARIABLES, CREDENTIALS, CredentialGroup, HiddenFrom};
use crate::git_places::git_places;
use crate::hide_second_paths::{hide_second_paths, hide_second_stores};
use crate::path_cache::{Found, PathCache};
use crate::process::{MOUNTS, find_second_paths, read_mounts};
use crate::rules::{CACHE_VARIABLES, MEMORY, OVERLAY_HOME, PRIVATE, PRIVATE_TMPDIR, PathBase, RUN_TIME, RUN_TIME_DOORS};
use crate::visible::{EmptyPlaces, Surroundings, directories_of_packages, visible_paths};
use crate::{MissingDirectories, SandboxError, SandboxRequest};
use proctor_git::find_git_location;
use proctor_model::{
    Access, ActionPhase, HomeAccess, PackageCredentials, Place, ProtectionMode, VisibleDirectory, VisibleKind, World,
};

/// Finds all existing paths that a rule names for one action.
pub(super) fn find_places(request: &SandboxRequest<'_>) -> Result<FoundPlaces, SandboxError> {
    let mut path_cache = PathCache::default();
    let store = canonical(&mut path_cache, request.store)?;
    let project = canonical(&mut path_cache, request.project_root)?;
    if project.starts_with(&store) {
        return Err(SandboxError::ProjectInStore { project, store });
    }
    let home = request.home.filter(|home| home.is_absolute()).and_then(|home| path_cache.real(home));
    let mounts = read_mounts().map_err(|source| SandboxError::Look { path: MOUNTS.into(), source })?;
    let mut survey = FoundPlaces {
        store,
        mounts,
        second_stores: Vec::new(),
        hidden: Vec::new(),
        second_paths: Vec::new(),
        project,
        home,
        candidates: Vec::new(),
        may_be_covered: request.settings.snapshot != ProtectionMode::Off,
        world: request.settings.world,
        visible: Vec::new(),
    };
    hide_second_stores(&mut survey)?;
    let mut looking = PlaceFinder { request, survey, path_cache };
    if request.settings.world == World::Closed {
        looking.close_world()?;
    }
    looking.private_places();
    looking.project();
    looking.run_time();
    looking.credentials();
    looking.overlay();
    looking.caches();
    looking.settings()?;
    let shown = looking.shown();
    hide_second_paths(&mut looking.survey, &shown)?;
    looking.sockets();
    looking.visible();
    Ok(looking.survey)
}

/// The search for places, with what has been found so far.
struct PlaceFinder<'r, 'a> {
    request: &'r SandboxRequest<'a>,
    survey: FoundPlaces,
    path_cache: PathCache,
}

impl PlaceFinder<'_, '_> {
    /// Adds the place if the path exists.
    fn add(&mut self, path: &Path, rule: PlaceRule, access: Access) {
        let found = self.path_cache.found(path);
        self.add_found(found, rule, access);
    }

    fn add_found(&mut self, found: Option<Found>, rule: PlaceRule, access: Access) {
        if let Some((path, identity)) = found {
            self.survey.candidates.push(CandidatePlace { rule, place: Place { path, access, identity } });
        }
    }

    fn close_world(&mut self) -> Result<(), SandboxError> {
        let closed = closed_places(&self.survey.project, self.survey.home.as_deref(), self.request.system);
        let closed = closed.map_err(|source| SandboxError::Look { path: "/".into(), source })?;
        closed.iter().for_each(|path| self.add(path, PlaceRule::Closed, Access::Hidden));
        Ok(())
    }

    fn private_places(&mut self) {
        let private = |name: &str| Access::Private { source: self.request.scratch.join(name) };
        let mut places: Vec<_> = PRIVATE.iter().map(|(path, name)| (PathBuf::from(path), private(name))).collect();
        let temporary = path_in(self.request.environment, "TMPDIR").filter(|path| path.is_dir());
        // If `TMPDIR` names a directory of the table `PRIVATE`, the table already has a place for it.
        let is_row = |path: &Path| path.canonicalize().is_ok_and(|real| PRIVATE.iter().any(|(row, _)| real == Path::new(row)));
        places.extend(temporary.filter(|path| !is_row(path)).map(|path| (path, private(PRIVATE_TMPDIR))));
        for (path, access) in places {
            self.add(&path, PlaceRule::Private, access);
        }
        for path in MEMORY {
            self.add(Path::new(path), PlaceRule::Memory, Access::Memory);
        }
    }

    fn project(&mut self) {
        let project = self.survey.project.clone();
        self.add(&project, PlaceRule::Project, Access::Writable);
        if !self.is_closed() {
            // A `.git` that git does not recognise is protected too, because it may become a repository at any moment.
            self.add(&project.join(".git"), PlaceRule::Git, Access::ReadOnly);
        }
        for path in self.request.guarded {
            self.add(path, PlaceRule::Git, Access::ReadOnly);
        }
        // The user's own configuration says what projects may ask for. It stays read-only if a setting opens a directory
        // around it.
        for directory in self.bases(PathBase::Config) {
            if self.is_closed() && !self.is_opened(&directory) {
                continue;
            }
            if self.request.missing == MissingDirectories::Create && self.is_opened(&directory) {
                // A directory that is missing could be made by the action.
                let _not_made = std::fs::create_dir(directory.join("proctor"));
            }
            self.add(&directory.join("proctor"), PlaceRule::Git, Access::ReadOnly);
        }
        if self.is_closed() {
            git_places(&project, self.request.references)
                .into_iter()
                .for_each(|(path, access)| self.add(&path, PlaceRule::Git, access));
        } else if let Some(place) = find_git_location(&project) {
            self.add(&place.work_tree.join(".git"), PlaceRule::Git, Access::ReadOnly);
            self.add(&place.common_directory, PlaceRule::Git, Access::ReadOnly);
        }
    }

    fn is_closed(&self) -> bool {
        self.survey.world == World::Closed
    }

    fn run_time(&mut self) {
        for path in RUN_TIME {
            self.add(Path::new(path), PlaceRule::RunTime, Access::Hidden);
        }
        let Some(path) = path_in(self.request.ambient, "XDG_RUNTIME_DIR") else { return };
        if self.is_opened(&path) {
            RUN_TIME_DOORS.split(' ').for_each(|name| self.add(&path.join(name), PlaceRule::RunTime, Access::Hidden));
        } else {
            self.add(&path, PlaceRule::RunTime, Access::Hidden);
        }
    }

    /// Returns whether `sandbox.writable` names a directory that contains the path. The usual run-time directories
    /// cannot be opened by this setting.
    fn is_opened(&mut self, path: &Path) -> bool {
        let Some(path) = self.path_cache.real(path) else { return false };
        let mut named = self.request.settings.writable.iter();
        let is_usual = RUN_TIME.iter().any(|usual| path.starts_with(usual));
        !is_usual
            && named.any(|around| {
                self.expand("writable", around).is_ok_and(|around| path.starts_with(around.canonicalize().unwrap_or(around)))
            })
    }

    fn credentials(&mut self) {
        let are_shown = self.request.action.phase == ActionPhase::Prerequisite
            && self.request.settings.package_credentials == PackageCredentials::ForPrerequisites;
        let applies = |hidden_from: HiddenFrom| match hidden_from {
            HiddenFrom::All => true,
            HiddenFrom::UnlessAllowed => !are_shown,
        };
        let is_closed = self.is_closed();
        let mut secrets = Vec::new();
        for base in PathBase::ALL {
            for directory in self.bases(base) {
                let shown = CREDENTIALS.iter().filter(|group| is_closed && !applies(group.hidden_from));
                let rows = shown.flat_map(CredentialGroup::paths).filter(|(of, _)| *of == base);
                for found in self.path_cache.found_below(&directory, rows.map(|(_, path)| path)) {
                    self.add_found(Some(found), PlaceRule::Named, Access::ReadOnly);
                }
                let groups = CREDENTIALS.iter().filter(|group| applies(group.hidden_from));
                let rows = groups.flat_map(CredentialGroup::paths).filter(|(of, _)| *of == base);
                secrets.extend(self.path_cache.found_below(&directory, rows.map(|(_, path)| path)));
            }
        }
        let shown = self.shown();
        let is_shown = |path: &Path| shown.iter().any(|shown| path.starts_with(shown));
        for secret in secrets.into_iter().filter(|(path, _)| !is_shown(path)) {
            self.add_found(Some(secret), PlaceRule::Credential, Access::Hidden);
        }
        for row in CREDENTIAL_VARIABLES.iter().filter(|row| applies(row.hidden_from)) {
            for path in paths_in(self.request.ambient, row.name, None) {
                let named = if row.below.is_empty() { path } else { path.join(row.below) };
                // A file of the project belongs to the tested tree. Hiding it would mean testing other files than the
                // tree has.
                let is_to_hide = |(path, _): &Found| !path.starts_with(&self.survey.project) && !is_shown(path);
                let secret = self.path_cache.found(&named).filter(is_to_hide);
                self.add_found(secret, PlaceRule::Credential, Access::Hidden);
            }
        }
    }

    /// Returns the paths of `sandbox.visible` that exist.
    fn shown(&self) -> Vec<PathBuf> {
        let settings = self.request.settings.visible.iter();
        settings.filter_map(|path| self.expand("visible", path).ok()?.canonicalize().ok()).collect()
    }

    /// Hides the sockets of the machine's daemons, wherever they lie. Those in the project, in directories that a person opened for
    /// writing, and in what the project's actions share stay: they belong to the project, or are open by a person's choice.
    fn sockets(&mut self) {
        let is_opened = |candidate: &&CandidatePlace| {
            candidate.rule == PlaceRule::Setting
                && candidate.place.access == Access::Writable
                && is_allowed(candidate, &self.survey)
        };
        let opened = self.survey.candidates.iter().filter(is_opened);
        let own = [&self.survey.project, &self.survey.store].into_iter().chain(opened.map(|candidate| &candidate.place.path));
        let shared = [Some(self.request.scratch), self.request.own_caches].into_iter().flatten().map(Path::to_owned);
        let own: Vec<PathBuf> = own.cloned().chain(shared).collect();
        let is_own = |path: &Path| own.iter().any(|own| path.starts_with(own));
        for socket in bound_sockets() {
            let Some((real, identity)) = self.path_cache.found(&socket).filter(|(real, _)| !is_own(real)) else { continue };
            for second in find_second_paths(&self.survey.mounts, &real).into_iter().filter(|second| !is_own(&second.path)) {
                self.add_found(Some((second.path, identity)), PlaceRule::SecondPath, Access::Hidden);
            }
            self.add_found(Some((real, identity)), PlaceRule::RunTime, Access::Hidden);
        }
    }

    fn overlay(&mut self) {
        let Some(home) = self.survey.home.clone() else { return };
        if self.request.settings.home == HomeAccess::Overlay {
            let scratch = self.request.scratch.join(OVERLAY_HOME);
            let access = if self.is_closed() { Access::Layer { source: scratch } } else { Access::Overlay { scratch } };
            self.add(&home, PlaceRule::Overlay, access);
        } else if self.is_closed() {
            // Tools write settings when they are first started. No other action sees those.
            let source = self.request.scratch.join(format!("config-{}", self.request.action.id));
            self.add(&home.join(".config"), PlaceRule::Visible, Access::Layer { source });
        }
    }

    fn caches(&mut self) {
        let request = self.request;
        let named = CACHE_VARIABLES.split(' ').filter_map(|name| Some((name, path_in(request.environment, name)?)));
        let mut paths: BTreeSet<PathBuf> = request.own_caches.map(Path::to_owned).into_iter().collect();
        paths.extend(named.filter(|(name, path)| self.may_name(name, path)).map(|(_, path)| path));
        for path in paths {
            self.add(&path, PlaceRule::Cache, Access::Writable);
        }
    }

    /// Returns whether the variable `name` may open `path`. The value of a variable can come from the project's files, and those
    /// open nothing: the path has to be one that the variable names where proctor runs, or lie in a place that the action may
    /// write anyway.
    fn may_name(&mut self, name: &str, path: &Path) -> bool {
        if paths_in(self.request.ambient, name, None).iter().any(|of_user| of_user == path) {
            return true;
        }
        let opened = self.request.settings.writable.iter().filter_map(|written| self.expand("writable", written).ok());
        let own = self.request.own_caches.map(Path::to_owned).into_iter().chain(opened);
        let own: Vec<PathBuf> = own.map(|path| real_path(&path)).chain([self.survey.project.clone()]).collect();
        // The links are resolved first: a check can make a link in the project that leads out of it.
        self.path_cache.real(path).is_some_and(|real| own.iter().any(|own| real.starts_with(own)))
    }

    fn settings(&mut self) -> Result<(), SandboxError> {
        let settings = self.request.settings;
        for written in &settings.writable {
            let path = self.expand("writable", written)?;
            let path = self.checked("writable", &path)?;
            if self.request.missing == MissingDirectories::Create && path.symlink_metadata().is_err() {
                std::fs::create_dir_all(&path).map_err(|source| SandboxError::Missing {
                    key: "writable",
                    path: path.clone(),
                    source,
                })?;
            }
            self.add(&path, PlaceRule::Setting, Access::Writable);
        }
        // A daemon that is not running has no socket, which is no error in the settings. Connecting to a socket needs
        // write permission.
        for written in &settings.sockets {
            let path = self.expand("sockets", written)?;
            let path = self.checked("sockets", &path)?;
            self.add(&path, PlaceRule::Setting, Access::Writable);
        }
        for path in self.request.inputs {
            self.add(path, PlaceRule::Named, Access::ReadOnly);
        }
        for written in &settings.visible {
            let path = real_path(&self.expand("visible", written)?);
            if self.survey.store_around(&path).is_some() {
                return Err(self.opens_store("visible", path));
            }
            self.add(&path, PlaceRule::Named, Access::ReadOnly);
        }
        Ok(())
    }

    /// Returns the path of a setting with its links resolved. It is an error if the action must not have access to this
    /// path.
    fn checked(&self, key: &'static str, path: &Path) -> Result<PathBuf, SandboxError> {
        let path = real_path(path);
        // A directory that contains the store may be opened, because the store stays hidden in it. It may not be opened
        // if it is HOME or contains HOME, or if HOME is unknown.
        let is_too_much = self.survey.home.as_ref().is_none_or(|home| home.starts_with(&path));
        if self.survey.store_around(&path).is_some() || (self.survey.store.starts_with(&path) && is_too_much) {
            return Err(self.opens_store(key, path));
        }
        // A single device may be opened, but not `/dev` as a whole.
        if is_kernel(&path) || path == Path::new("/dev") {
            return Err(SandboxError::Kernel { key, path });
        }
        Ok(path)
    }

    fn opens_store(&self, key: &'static str, path: PathBuf) -> SandboxError {
        let store = self.survey.store_around(&path).unwrap_or(&self.survey.store).to_owned();
        let relation = match (path.starts_with(&store), store.starts_with(&path)) {
            (true, true) => "is it",
            (true, false) => "holds it",
            (false, _) => "lies in it",
        };
        SandboxError::OpensStore { key, path, store, relation }
    }

    fn visible(&mut self) {
        let empty = self.survey.candidates.iter().filter(|candidate| is_allowed(candidate, &self.survey) && candidate.is_empty());
        let (closed, other): (Vec<&CandidatePlace>, _) = empty.partition(|candidate| candidate.rule <= PlaceRule::Visible);
        let paths = |candidates: Vec<&CandidatePlace>| candidates.iter().map(|candidate| candidate.place.path.clone()).collect();
        let empty = EmptyPlaces { closed: paths(closed), other: paths(other) };
        let around = Surroundings { project: &self.survey.project, home: self.survey.home.as_deref(), world: self.survey.world };
        let paths = visible_paths(self.request, &around, &empty, &mut self.path_cache);
        for (path, kind) in paths {
            // Most of the paths that would have to stay visible do not exist.
            let Some((real, identity)) = self.path_cache.found(&path) else { continue };
            if real != path
                && let Some(link) = empty.link_on_the_way(&path)
            {
                // In a closed world a link must not show more than the path that leads through it.
                if empty.is_closed(&link) { self.add_visible(path, identity) } else { self.add_link(link) }
            }
            if empty.hide(&real) {
                self.add_visible(real.clone(), identity);
                self.note_visible(real, kind);
            }
        }
        for path in directories_of_packages(self.request, &mut self.path_cache) {
            self.note_visible(path, Some(VisibleKind::Environment));
        }
    }

    fn add_visible(&mut self, path: PathBuf, identity: (u64, u64)) {
        let place = Place { path, access: Access::ReadOnly, identity };
        self.survey.candidates.push(CandidatePlace { rule: PlaceRule::Visible, place });
    }

    /// Notes a visible directory that may change, unless it belongs to the project, to its inputs or to a noted directory.
    fn note_visible(&mut self, path: PathBuf, kind: Option<VisibleKind>) {
        let Some(kind) = kind else { return };
        let candidate = CandidatePlace {
            rule: PlaceRule::Visible,
            place: Place { path: path.clone(), access: Access::ReadOnly, identity: (0, 0) },
        };
        let is_named = self.request.inputs.iter().chain([&self.survey.project]).any(|named| path.starts_with(named));
        if !is_named && is_allowed(&candidate, &self.survey) {
            self.survey.visible.push(VisibleDirectory { path, kind });
        }
    }

    /// Makes a link visible, unless its target is hidden, or belongs to the store or to the kernel's directories.
    fn add_link(&mut self, link: PathBuf) {
        let Some((target, identity)) = self.path_cache.found(&link) else { return };
        let touches = |path: &Path| path.starts_with(&target) || target.starts_with(path);
        let is_hidden = |candidate: &CandidatePlace| {
            candidate.place.access == Access::Hidden
                && candidate.rule != PlaceRule::Closed
                && is_allowed(candidate, &self.survey)
                && touches(&candidate.place.path)
        };
        if !touches(&self.survey.store) && !is_kernel(&target) && !self.survey.candidates.iter().any(is_hidden) {
            let place = Place { path: link, access: Access::ReadOnly, identity };
            self.survey.candidates.push(CandidatePlace { rule: PlaceRule::Visible, place });
        }
    }

    /// Returns the directories below which a path from the tables of rules is searched.
    fn bases(&self, base: PathBase) -> Vec<PathBuf> {
        let home = self.survey.home.as_deref();
        let (variable, default) = match base {
            PathBase::Home => return home.map(Path::to_owned).into_iter().collect(),
            PathBase::Config => ("XDG_CONFIG_HOME", ".config"),
            PathBase::Data => ("XDG_DATA_HOME", ".local/share"),
        };
        let usual = home.map(|home| home.join(default));
        let named = path_in(self.request.ambient, variable).filter(|path| Some(path) != usual.as_ref());
        usual.into_iter().chain(named).collect()
    }

    /// Returns a path from the settings as an absolute path: `~` is HOME, and other relative paths start at the
    /// project's root.
    fn expand(&self, key: &'static str, written: &str) -> Result<PathBuf, SandboxError> {
        let Some(below) = written.strip_prefix('~') else { return Ok(self.survey.project.join(written)) };
        let home = self.survey.home.as_ref();
        let home = home.ok_or_else(|| SandboxError::NoHome { key, path: written.to_owned() })?;
        Ok(home.join(below.trim_start_matches('/')))
    }
}

/// Returns the paths in the variable `name`. Relative paths are resolved against `directory`; without a directory they
/// are left out.
pub(super) fn paths_in(variables: &BTreeMap<OsString, OsString>, name: &str, directory: Option<&Path>) -> Vec<PathBuf> {
    let Some(value) = variables.get(OsStr::new(name)) else { return Vec::new() };
    let absolute = |path: PathBuf| match directory {
        Some(directory) => Some(directory.join(path)),
        None => Some(path).filter(|path| path.is_absolute()),
    };
    std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).filter_map(absolute).collect()
}

fn path_in(variables: &BTreeMap<OsString, OsString>, name: &str) -> Option<PathBuf> {
    variables.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn canonical(path_cache: &mut PathCache, path: &Path) -> Result<PathBuf, SandboxError> {
    // The cache stores no errors, so a path that it does not find is looked up again to get the error.
    path_cache
        .real(path)
        .map_or_else(|| path.canonicalize(), Ok)
        .map_err(|source| SandboxError::Look { path: path.to_owned(), source })
}

/// Resolves the links in the part of a path that exists. The rest stays as written.
pub fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let there = path.ancestors().skip(1).find_map(|ancestor| Some((ancestor.canonicalize().ok()?, ancestor)));
    let joined = there.and_then(|(real, ancestor)| Some(real.join(path.strip_prefix(ancestor).ok()?)));
    joined.unwrap_or_else(|| path.to_owned())
}
