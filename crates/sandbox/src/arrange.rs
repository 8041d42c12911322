//! Decides which rule applies to which path, and returns the list of places whose access is not plain read-only. Pure.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use crate::rules::KERNEL;
use proctor_model::{Access, MountTable, Place, VisibleDirectory, World};

/// The kind of rule that names a place. If two rules name the same path, the rule that comes later in this list
/// applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceRule {
    /// The path is not of the system, so a closed world hides it. It is the weakest rule: whatever has a rule of its own
    /// inside is seen, and nothing else.
    Closed,
    /// The path stays visible inside of a private or hidden place: the files that programs consist of, HOME, the paths
    /// and the table `RUN_TIME_VISIBLE`. It is weaker than the rules for private places, so that a `PATH` with `/tmp` in
    /// it does not make `/tmp` visible.
    Visible,
    /// The paths of `sandbox.visible` and the inputs of the project, which a person has named.
    Named,
    /// HOME becomes an overlay, because the setting `home = "overlay"` says so.
    Overlay,
    Cache,
    RunTime,
    /// A directory for temporary files, which is replaced by a private one. The directory must be writable, wherever it
    /// is.
    Private,
    /// An in-memory file system. It stays in memory even if `TMPDIR` names it, which would otherwise make it a private
    /// directory.
    Memory,
    /// A file or directory with secrets, which is hidden.
    Credential,
    /// Another path at which a mount shows something of a hidden place.
    SecondPath,
    /// The files of git itself, such as the project's hooks and history, and the files that decide how projects are
    /// judged. They stay read-only.
    Git,
    /// The project's root, which is always visible and writable.
    Project,
    /// The paths of `sandbox.writable` and `sandbox.sockets`, which a person has chosen.
    Setting,
    /// Another path at which a mount shows something of the store.
    Store,
}

/// An existing path that a rule names, with the access that the rule gives.
#[derive(Debug, Clone)]
pub(super) struct CandidatePlace {
    pub(super) rule: PlaceRule,
    pub(super) place: Place,
}

impl CandidatePlace {
    /// Returns whether the action sees nothing there of what is on disk.
    pub(super) fn is_empty(&self) -> bool {
        match self.place.access {
            Access::Hidden | Access::Private { .. } | Access::Memory | Access::Layer { .. } => true,
            Access::Writable | Access::ReadOnly | Access::Overlay { .. } | Access::Text { .. } => false,
        }
    }
}

/// What was found on disk for one action. Every path is absolute and without links.
#[derive(Debug, Clone)]
pub(super) struct FoundPlaces {
    pub(super) store: PathBuf,
    /// The mounts that this process sees.
    pub(super) mounts: MountTable,
    /// The other paths at which a mount shows something of the store.
    pub(super) second_stores: Vec<PathBuf>,
    /// What is hidden wherever a mount shows it.
    pub(super) hidden: Vec<PathBuf>,
    /// The other paths at which mounts show something of `hidden`.
    pub(super) second_paths: Vec<PathBuf>,
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) candidates: Vec<CandidatePlace>,
    /// Whether a snapshot may cover the project. A directory inside of the project that a person opened for writing
    /// then needs a mount of its own.
    pub(super) may_be_covered: bool,
    pub(super) world: World,
    /// What is visible outside of the project and may change.
    pub(super) visible: Vec<VisibleDirectory>,
}

impl FoundPlaces {
    /// Returns the path of the store that is this path or contains it: the store's own, or another one at which a mount shows it.
    pub(super) fn store_around(&self, path: &Path) -> Option<&Path> {
        let mut stores = [&self.store].into_iter().chain(&self.second_stores);
        stores.find(|store| path.starts_with(store)).map(PathBuf::as_path)
    }
}

/// Returns the places where an action may do more, or see less, than read the files. Each path occurs once, and a place
/// comes after the places that contain it.
pub(super) fn arrange(survey: &FoundPlaces) -> Vec<Place> {
    let mut candidates: Vec<&CandidatePlace> =
        survey.candidates.iter().filter(|candidate| is_allowed(candidate, survey)).collect();
    candidates.sort_by(|one, other| {
        let key = |candidate: &CandidatePlace| Reverse(candidate.rule);
        one.place.path.cmp(&other.place.path).then_with(|| key(one).cmp(&key(other)))
    });
    candidates.dedup_by(|later, first| later.place.path == first.place.path);
    let mut kept: Vec<&CandidatePlace> = Vec::new();
    for candidate in candidates {
        // Paths are sorted by component, so outer places come first, and the last place that contains the candidate is
        // the nearest.
        let around = kept.iter().rev().find(|outer| candidate.place.path.starts_with(&outer.place.path));
        let is_home = survey.home.as_deref() == Some(&candidate.place.path);
        if is_needed(candidate, around.copied(), survey.may_be_covered) || (candidate.rule == PlaceRule::Closed && is_home) {
            kept.push(candidate);
        }
    }
    kept.into_iter().map(|candidate| candidate.place.clone()).collect()
}

/// Returns the directories among `places` that are writable only because a variable names them as a cache. What a person opened by
/// `sandbox.writable` is not among them.
pub(super) fn writable_caches(survey: &FoundPlaces, places: &[Place]) -> Vec<PathBuf> {
    let strongest = |path: &Path| survey.candidates.iter().filter(|one| one.place.path == path).map(|one| one.rule).max();
    let is_cache = |place: &&Place| place.access == Access::Writable && strongest(&place.path) == Some(PlaceRule::Cache);
    places.iter().filter(is_cache).map(|place| place.path.clone()).collect()
}

/// Returns whether a rule may change the access to its place. A rule may not do so if the place is too wide, such as
/// `/` named as a cache.
pub(super) fn is_allowed(candidate: &CandidatePlace, survey: &FoundPlaces) -> bool {
    let path = candidate.place.path.as_path();
    if survey.store_around(path).is_some() && (candidate.rule != PlaceRule::Store || path.starts_with(&survey.store)) {
        // The store is always hidden, and no place may open a part of it.
        return false;
    }
    let holds_home = || survey.home.as_ref().is_some_and(|home| home.starts_with(path));
    let is_home = || survey.home.as_deref() == Some(path);
    let is_root = path == Path::new("/");
    match candidate.rule {
        PlaceRule::Closed => !is_root && !path.starts_with(&survey.project),
        // A directory around HOME or the project shows what nobody named.
        PlaceRule::Visible | PlaceRule::Named if survey.world == World::Closed => {
            let is_around_project = survey.project.starts_with(path) && candidate.rule == PlaceRule::Visible;
            !is_root && !holds_home() && !is_around_project
        }
        PlaceRule::Visible
        | PlaceRule::Named
        | PlaceRule::Git
        | PlaceRule::Project
        | PlaceRule::Setting
        | PlaceRule::Memory
        | PlaceRule::SecondPath
        | PlaceRule::Store => true,
        PlaceRule::Overlay => !is_root,
        // If the named directory contains HOME, the project or the store, opening it as a cache would open other files
        // as well.
        PlaceRule::Cache => {
            !survey.store.starts_with(path) && !holds_home() && !survey.project.starts_with(path) && !is_kernel(path)
        }
        PlaceRule::RunTime => !is_root && !is_home(),
        PlaceRule::Private => !is_root && !is_home() && !path.starts_with(&survey.project),
        // A variable for secrets may name HOME itself or `/`. Hiding these directories would hide everything.
        PlaceRule::Credential => !holds_home(),
    }
}

/// Returns whether a place needs other access than the nearest place that contains it. `around` is that place; it is
/// `None` if only the read-only root contains `candidate`.
fn is_needed(candidate: &CandidatePlace, around: Option<&CandidatePlace>, may_be_covered: bool) -> bool {
    let Some(around) = around else {
        return match candidate.place.access {
            Access::ReadOnly => false,
            Access::Writable
            | Access::Hidden
            | Access::Private { .. }
            | Access::Overlay { .. }
            | Access::Memory
            | Access::Layer { .. }
            | Access::Text { .. } => true,
        };
    };
    let is_empty = around.is_empty();
    let is_writable = around.place.access == Access::Writable;
    match candidate.rule {
        // A place inside of the project is already visible with the project, so it needs no rule of its own.
        PlaceRule::Visible | PlaceRule::Named => is_empty,
        PlaceRule::Closed => around.place.access != Access::Hidden,
        PlaceRule::Overlay | PlaceRule::Project => !is_writable,
        PlaceRule::Setting => !is_writable || (may_be_covered && around.rule == PlaceRule::Project),
        // A cache variable must open neither secrets nor the repository.
        PlaceRule::Cache => {
            !is_writable && ![PlaceRule::Credential, PlaceRule::SecondPath, PlaceRule::Git].contains(&around.rule)
        }
        // Without namespaces nothing is private, so a second path in a directory for temporary files has to be hidden there too.
        PlaceRule::SecondPath | PlaceRule::Store => around.place.access != Access::Hidden,
        PlaceRule::RunTime | PlaceRule::Credential => !is_empty,
        // Inside of a place where the action sees nothing of what is on disk, the directory has to be created, because
        // otherwise `TMPDIR` would name a directory that does not exist.
        PlaceRule::Private => !is_writable,
        PlaceRule::Memory => true,
        // A repository whose files git does not own are hidden, is hidden in a closed place anyway.
        PlaceRule::Git if candidate.place.access == Access::Hidden => !is_empty,
        PlaceRule::Git => around.place.access != Access::ReadOnly,
    }
}

/// Returns whether a path is one of the kernel's directories, or contains one.
pub(super) fn is_kernel(path: &Path) -> bool {
    KERNEL.iter().any(|kernel| path.starts_with(kernel) || Path::new(kernel).starts_with(path))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop, proptest};
    use proptest::prop_oneof;

    use super::*;

    fn path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "ab"]), 1..5)
            .prop_map(|names| names.iter().fold(PathBuf::from("/"), |path, name| path.join(name)))
    }

    fn rule() -> impl Strategy<Value = (PlaceRule, Access)> {
        prop_oneof![
            Just((PlaceRule::Closed, Access::Hidden)),
            Just((PlaceRule::Visible, Access::ReadOnly)),
            Just((PlaceRule::Named, Access::ReadOnly)),
            Just((PlaceRule::Overlay, Access::Overlay { scratch: "/s".into() })),
            Just((PlaceRule::Cache, Access::Writable)),
            Just((PlaceRule::RunTime, Access::Hidden)),
            Just((PlaceRule::Private, Access::Private { source: "/s".into() })),
            Just((PlaceRule::Memory, Access::Memory)),
            Just((PlaceRule::Credential, Access::Hidden)),
            Just((PlaceRule::SecondPath, Access::Hidden)),
            Just((PlaceRule::Git, Access::ReadOnly)),
            Just((PlaceRule::Setting, Access::Writable)),
        ]
    }

    fn candidate(rule: PlaceRule, access: Access, path: PathBuf) -> CandidatePlace {
        CandidatePlace { rule, place: Place { path, access, identity: (0, 0) } }
    }

    fn survey() -> impl Strategy<Value = FoundPlaces> {
        let candidates = prop::collection::vec((rule(), path()), 0..12);
        let world = prop::sample::select(vec![World::Closed, World::Open]);
        (path(), path(), prop::option::of(path()), candidates, world)
            .prop_filter("the project is not in the store", |(store, project, ..)| !project.starts_with(store))
            .prop_map(|(store, project, home, candidates, world)| {
                let others = candidates.into_iter().map(|((rule, access), path)| candidate(rule, access, path));
                let of_project = candidate(PlaceRule::Project, Access::Writable, project.clone());
                let candidates = others.chain([of_project]).collect();
                let (mounts, none) = (MountTable::default(), Vec::new());
                let (second_stores, hidden, second_paths) = (none.clone(), none.clone(), none);
                FoundPlaces {
                    store,
                    mounts,
                    second_stores,
                    hidden,
                    second_paths,
                    project,
                    home,
                    candidates,
                    may_be_covered: false,
                    world,
                    visible: Vec::new(),
                }
            })
    }

    /// Returns the access that a list of places gives to a path; `None` means that only the read-only root contains it.
    fn access<'p>(places: &'p [Place], path: &Path) -> Option<&'p Access> {
        places.iter().rev().find(|place| path.starts_with(&place.path)).map(|place| &place.access)
    }

    proptest! {
        #[test]
        fn every_place_comes_after_those_it_lies_in_and_no_two_have_one_path(survey in survey()) {
            let places = arrange(&survey);
            for (index, place) in places.iter().enumerate() {
                assert!(places[..index].iter().all(|earlier| !earlier.path.starts_with(&place.path)), "{places:?}");
            }
        }

        #[test]
        fn no_place_shows_a_part_of_the_store(survey in survey()) {
            assert!(arrange(&survey).iter().all(|place| !place.path.starts_with(&survey.store)));
        }

        #[test]
        fn the_project_is_seen_and_written_to(survey in survey()) {
            assert_eq!(access(&arrange(&survey), &survey.project), Some(&Access::Writable));
        }

        #[test]
        fn a_secret_is_seen_only_where_a_stronger_rule_says_so(survey in survey()) {
            let places = arrange(&survey);
            let is_secret = |candidate: &&CandidatePlace| candidate.rule == PlaceRule::Credential && is_allowed(candidate, &survey);
            for secret in survey.candidates.iter().filter(is_secret) {
                let path = &secret.place.path;
                let is_overruled =
                    survey.candidates.iter().any(|other| other.rule > PlaceRule::Credential && other.place.path == *path);
                let seen = access(&places, path);
                let is_empty = matches!(seen, Some(Access::Hidden | Access::Private { .. } | Access::Memory));
                assert!(is_empty || is_overruled, "{}: {seen:?} in {places:?}", path.display());
            }
        }

        #[test]
        fn every_place_makes_a_difference(survey in survey()) {
            let places = arrange(&survey);
            // HOME is there even where everything around it is hidden.
            let others = places.iter().enumerate().filter(|(_, place)| survey.home.as_ref() != Some(&place.path));
            for (index, place) in others {
                let around = access(&places[..index], &place.path);
                let is_same = match around {
                    None => place.access == Access::ReadOnly,
                    Some(around) => *around == place.access && matches!(around, Access::ReadOnly | Access::Writable | Access::Hidden),
                };
                assert!(!is_same, "{} in {places:?}", place.path.display());
            }
        }
    }
}
