//! Hides a file or directory at every path at which a mount shows it.
//!
//! A rule names a path. Where a file system is mounted at two places, the same file has a second path, and Landlock and mounts hide
//! paths. So the other paths are found by the kernel's list of mounts, and hidden by places of their own.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};
use proctor_model::{Access, MountTable, Place, SecondPath};

use crate::SandboxError;
use crate::arrange::{CandidatePlace, FoundPlaces, PlaceRule, is_allowed};
use crate::process::find_second_paths;
use crate::rules::RUN_TIME_VISIBLE;

/// Something that an action must not see, and the rule that hides its other paths.
type HiddenObject = (PathBuf, PlaceRule);

/// Hides the other paths of the store.
pub(super) fn hide_second_stores(survey: &mut FoundPlaces) -> Result<(), SandboxError> {
    let store = survey.store.clone();
    let objects = with_mounts(&survey.mounts, store, PlaceRule::Store);
    hide(survey, objects, &[])?;
    let is_store = |candidate: &&CandidatePlace| candidate.rule == PlaceRule::Store;
    survey.second_stores = survey.candidates.iter().filter(is_store).map(|candidate| candidate.place.path.clone()).collect();
    Ok(())
}

/// Hides the other paths of what the candidates hide, except those that are `shown` because a person named them.
pub(super) fn hide_second_paths(survey: &mut FoundPlaces, shown: &[PathBuf]) -> Result<(), SandboxError> {
    let mut objects: Vec<HiddenObject> = Vec::new();
    for candidate in survey.candidates.iter().filter(|candidate| is_allowed(candidate, survey)) {
        let path = candidate.place.path.clone();
        match (&candidate.place.access, candidate.rule) {
            (Access::Hidden, PlaceRule::Credential) => objects.extend(with_mounts(&survey.mounts, path, PlaceRule::SecondPath)),
            // What is mounted in a run-time directory, such as a disk at `/run/media`, may be seen elsewhere.
            (Access::Hidden, PlaceRule::RunTime) => objects.push((path, PlaceRule::SecondPath)),
            (Access::Private { .. } | Access::Memory, _) => objects.push((path, PlaceRule::RunTime)),
            _ => {}
        }
    }
    hide(survey, objects, shown)
}

/// Returns an object, and each mount in it: what is mounted there is a part of it, and lies elsewhere in its own file system.
fn with_mounts(mounts: &MountTable, path: PathBuf, rule: PlaceRule) -> Vec<HiddenObject> {
    let inside: Vec<HiddenObject> = mounts.points_below(&path).map(|point| (point.to_owned(), rule)).collect();
    [(path, rule)].into_iter().chain(inside).collect()
}

fn hide(survey: &mut FoundPlaces, objects: Vec<HiddenObject>, shown: &[PathBuf]) -> Result<(), SandboxError> {
    for (object, rule) in objects {
        refuse_unlisted(&survey.mounts, &object)?;
        for second in find_second_paths(&survey.mounts, &object) {
            if rule == PlaceRule::RunTime {
                // A part of a directory for temporary files that somebody mounted elsewhere is a place of its own.
                if second.shows != object {
                    continue;
                }
            } else {
                survey.second_paths.push(second.path.clone());
                if is_opened(survey, &second, &object, shown) {
                    continue;
                }
                refuse_too_wide(survey, &second, rule)?;
            }
            let place = Place { path: second.path, access: Access::Hidden, identity: (0, 0) };
            survey.candidates.push(CandidatePlace { rule, place });
        }
        if rule != PlaceRule::RunTime {
            survey.hidden.push(object);
        }
    }
    survey.second_paths.sort();
    survey.second_paths.dedup();
    Ok(())
}

/// Returns whether a path is open, because a person named it, or because it shows a part of a hidden directory that actions see at its
/// first path too.
fn is_opened(survey: &FoundPlaces, second: &SecondPath, object: &Path, shown: &[PathBuf]) -> bool {
    if shown.iter().any(|shown| second.path.starts_with(shown)) {
        return true;
    }
    let set = survey.candidates.iter().filter(|candidate| candidate.rule == PlaceRule::Setting && is_allowed(candidate, survey));
    let set = set.map(|candidate| candidate.place.path.as_path());
    let seen = RUN_TIME_VISIBLE.iter().map(Path::new).chain(shown.iter().map(PathBuf::as_path)).chain(set);
    second.shows != object && seen.chain([survey.project.as_path()]).any(|seen| second.shows.starts_with(seen))
}

/// Refuses a path that cannot be hidden, because an action would then see nothing.
fn refuse_too_wide(survey: &FoundPlaces, second: &SecondPath, rule: PlaceRule) -> Result<(), SandboxError> {
    let (path, home) = (second.path.as_path(), survey.home.as_deref());
    let why = if rule == PlaceRule::Store && survey.project.starts_with(path) {
        "the project lies there"
    } else if home == Some(path) || (rule == PlaceRule::Store && home.is_some_and(|home| home.starts_with(path))) {
        "your home directory is there"
    } else if path == Path::new("/") {
        "it is the root of all files"
    } else {
        return Ok(());
    };
    Err(SandboxError::SecondPath { hidden: second.shows.clone(), other: second.path.clone(), why })
}

/// Refuses an object in a mount that the kernel does not list, if its file system is mounted elsewhere too.
fn refuse_unlisted(mounts: &MountTable, object: &Path) -> Result<(), SandboxError> {
    if mounts.holder(Path::new("/")).is_some() || mounts.holder(object).is_some() {
        return Ok(());
    }
    let Ok(metadata) = object.symlink_metadata() else { return Ok(()) };
    let device = (major(metadata.dev()), minor(metadata.dev()));
    match mounts.mounts.iter().find(|mount| mount.device == device) {
        None => Ok(()),
        Some(mount) => Err(SandboxError::SecondPath {
            hidden: object.to_owned(),
            other: mount.point.clone(),
            why: "in a changed root (chroot) nobody can tell where in it",
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use proctor_model::World;

    /// The file `first/secret`, which has the second path `second/secret`: a link to the same file stands for a second mount.
    struct Doubled {
        _directory: tempfile::TempDir,
        root: PathBuf,
        survey: FoundPlaces,
    }

    impl Doubled {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            for name in ["first", "second", "project", "store", "home"] {
                fs::create_dir(root.join(name)).unwrap();
            }
            fs::File::create_new(root.join("first/secret")).unwrap();
            fs::File::create_new(root.join("second/other")).unwrap();
            fs::hard_link(root.join("first/secret"), root.join("second/secret")).unwrap();
            let list = format!("1 0 8:1 / / rw\n2 1 8:2 / {0}/first rw\n3 1 8:2 / {0}/second rw\n", root.display());
            let survey = FoundPlaces {
                store: root.join("store"),
                mounts: MountTable::parse(list.as_bytes()),
                second_stores: Vec::new(),
                hidden: Vec::new(),
                second_paths: Vec::new(),
                project: root.join("project"),
                home: Some(root.join("home")),
                candidates: Vec::new(),
                may_be_covered: false,
                world: World::Open,
                visible: Vec::new(),
            };
            let mut doubled = Self { _directory: directory, root, survey };
            doubled.add("first/secret", PlaceRule::Credential, Access::Hidden);
            doubled
        }

        fn add(&mut self, path: &str, rule: PlaceRule, access: Access) {
            let place = Place { path: self.root.join(path), access, identity: (0, 0) };
            self.survey.candidates.push(CandidatePlace { rule, place });
        }

        /// Returns the places that are hidden, without the directory around them.
        fn hidden(&mut self, shown: &[&str]) -> Vec<PathBuf> {
            let shown: Vec<PathBuf> = shown.iter().map(|path| self.root.join(path)).collect();
            hide_second_paths(&mut self.survey, &shown).unwrap();
            let places = crate::arrange::arrange(&self.survey);
            let hidden = places.iter().filter(|place| place.access == Access::Hidden);
            hidden.map(|place| place.path.strip_prefix(&self.root).unwrap().to_owned()).collect()
        }
    }

    #[test]
    fn the_second_path_of_a_credential_is_hidden_and_nothing_beside_it() {
        let mut doubled = Doubled::new();
        assert_eq!(doubled.hidden(&[]), [Path::new("first/secret"), Path::new("second/secret")]);
        assert_eq!(doubled.survey.second_paths, [doubled.root.join("second/secret")]);
    }

    #[test]
    fn another_file_at_the_second_path_is_not_hidden() {
        let mut doubled = Doubled::new();
        fs::remove_file(doubled.root.join("second/secret")).unwrap();
        fs::File::create_new(doubled.root.join("second/secret")).unwrap();
        assert_eq!(doubled.hidden(&[]), [Path::new("first/secret")]);
    }

    #[test]
    fn without_namespaces_a_second_path_in_a_private_directory_is_hidden_too() {
        let mut doubled = Doubled::new();
        doubled.add("second", PlaceRule::Private, Access::Private { source: "/s".into() });
        assert!(doubled.hidden(&[]).contains(&"second/secret".into()));
    }

    #[test]
    fn what_a_person_opened_and_the_project_stay_open() {
        assert_eq!(Doubled::new().hidden(&["second/secret"]), [Path::new("first/secret")]);
        for rule in [PlaceRule::Setting, PlaceRule::Project] {
            let mut doubled = Doubled::new();
            doubled.add("second/secret", rule, Access::Writable);
            assert_eq!(doubled.hidden(&[]), [Path::new("first/secret")], "{rule:?}");
        }
    }

    #[test]
    fn the_second_path_of_the_store_is_hidden_and_nothing_opens_it() {
        let mut doubled = Doubled::new();
        doubled.survey.candidates.clear();
        doubled.survey.store = doubled.root.join("first/secret");
        hide_second_stores(&mut doubled.survey).unwrap();
        doubled.add("second/secret", PlaceRule::Setting, Access::Writable);
        assert_eq!(doubled.hidden(&[]), [Path::new("second/secret")]);
        assert_eq!(
            doubled.survey.store_around(&doubled.root.join("second/secret/keys")),
            Some(&*doubled.root.join("second/secret"))
        );
    }

    #[test]
    fn a_second_path_that_is_the_home_or_holds_the_project_is_refused() {
        let mut doubled = Doubled::new();
        doubled.survey.home = Some(doubled.root.join("second/secret"));
        let error = hide_second_paths(&mut doubled.survey, &[]).unwrap_err().to_string();
        assert!(error.contains("first/secret`") && error.contains("second/secret` too"), "{error}");
        let mut doubled = Doubled::new();
        doubled.survey.store = doubled.root.join("first/secret");
        doubled.survey.project = doubled.root.join("second/secret/project");
        assert!(hide_second_stores(&mut doubled.survey).unwrap_err().to_string().ends_with("the project lies there"));
    }

    #[test]
    fn in_a_root_that_the_kernel_does_not_list_only_a_file_system_without_a_second_mount_is_accepted() {
        let mut doubled = Doubled::new();
        let device = doubled.root.metadata().unwrap().dev();
        for (number, is_refused) in [(minor(device), true), (minor(device) + 1, false)] {
            let list = format!("2 1 {}:{number} /x /mnt rw\n", major(device));
            doubled.survey.mounts = MountTable::parse(list.as_bytes());
            assert_eq!(hide_second_paths(&mut doubled.survey, &[]).is_err(), is_refused, "{list}");
        }
    }
}
