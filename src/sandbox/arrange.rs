//! Decides which rule wins where: from what was found to the list of places. Pure.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use crate::model::{Access, Place};
use crate::sandbox::rules::KERNEL;

/// Which rule names a place. Where two name the same path the later one of this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// What programs are made of, HOME, what `sandbox.visible` and the table of run-time files name: seen although it lies in a place
    /// that is private or hidden. It is the weakest: a `PATH` with `/tmp` in it does not open `/tmp`.
    Visible,
    /// HOME, with `home = "overlay"`.
    Overlay,
    /// A tool's cache.
    Cache,
    /// A run-time directory.
    RunTime,
    /// A directory for temporary files: it is of use only if it can be written to, wherever it is.
    Private,
    /// A file system in memory; with `TMPDIR=/dev/shm` it stays one.
    Memory,
    /// A place with secrets.
    Credential,
    /// Git's own files: hooks and history of the project.
    Git,
    /// The project: whatever else its root is, it is seen and written to.
    Project,
    /// What `sandbox.writable` and `sandbox.sockets` name: a person has said so.
    Setting,
}

/// A place that a rule names and that is there.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) rule: Rule,
    pub(super) place: Place,
}

/// What was found. Every path is absolute and without links.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    pub(super) store: PathBuf,
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) candidates: Vec<Candidate>,
}

/// Returns the places that differ from "there and read-only", each after those it lies in and no two of one path.
pub(super) fn arrange(survey: &Survey) -> Vec<Place> {
    let mut candidates: Vec<&Candidate> = survey.candidates.iter().filter(|candidate| is_allowed(candidate, survey)).collect();
    candidates.sort_by(|one, other| {
        let key = |candidate: &Candidate| Reverse(candidate.rule);
        one.place.path.cmp(&other.place.path).then_with(|| key(one).cmp(&key(other)))
    });
    candidates.dedup_by(|later, first| later.place.path == first.place.path);
    let mut kept: Vec<&Candidate> = Vec::new();
    for candidate in candidates {
        // Paths compare by component, so what a place lies in comes before it, and the last one that does is the nearest.
        let around = kept.iter().rev().find(|outer| candidate.place.path.starts_with(&outer.place.path));
        if is_needed(candidate, around.copied()) {
            kept.push(candidate);
        }
    }
    kept.into_iter().map(|candidate| candidate.place.clone()).collect()
}

/// Returns whether a place may differ at all.
pub(super) fn is_allowed(candidate: &Candidate, survey: &Survey) -> bool {
    let path = candidate.place.path.as_path();
    if path.starts_with(&survey.store) {
        // The store is hidden by whoever carries the list out, and nothing shows a part of it.
        return false;
    }
    let holds_home = || survey.home.as_ref().is_some_and(|home| home.starts_with(path));
    let is_home = || survey.home.as_deref() == Some(path);
    let is_root = path == Path::new("/");
    match candidate.rule {
        Rule::Visible | Rule::Git | Rule::Project | Rule::Setting | Rule::Memory => true,
        Rule::Overlay => !is_root,
        // One that a variable makes too wide would open what lies in it.
        Rule::Cache => !survey.store.starts_with(path) && !holds_home() && !survey.project.starts_with(path) && !is_kernel(path),
        Rule::RunTime => !is_root && !is_home(),
        Rule::Private => !is_root && !is_home() && !path.starts_with(&survey.project),
        // A variable may name HOME itself, or `/etc`'s parent: hiding that would hide everything.
        Rule::Credential => !holds_home(),
    }
}

/// Returns whether a place differs from what the place around it makes of it; none: it lies in nothing but the read-only root.
fn is_needed(candidate: &Candidate, around: Option<&Candidate>) -> bool {
    let Some(around) = around else {
        return match candidate.place.access {
            Access::ReadOnly => false,
            Access::Writable | Access::Hidden | Access::Private { .. } | Access::Overlay { .. } | Access::Memory => true,
        };
    };
    let is_empty = matches!(around.place.access, Access::Hidden | Access::Private { .. } | Access::Memory);
    let is_writable = around.place.access == Access::Writable;
    match candidate.rule {
        // An environment in the project is the project's, and as writable.
        Rule::Visible => is_empty,
        Rule::Overlay | Rule::Project | Rule::Setting => !is_writable,
        // What a variable calls a cache opens neither secrets nor the repository.
        Rule::Cache => !is_writable && around.rule != Rule::Credential && around.rule != Rule::Git,
        Rule::RunTime | Rule::Credential => !is_empty,
        // In an empty place it has to be made, else the variable names nothing.
        Rule::Private => !is_writable,
        Rule::Memory => true,
        Rule::Git => around.place.access != Access::ReadOnly,
    }
}

/// Returns whether a path is one of the kernel's own, or holds one.
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

    fn rule() -> impl Strategy<Value = (Rule, Access)> {
        prop_oneof![
            Just((Rule::Visible, Access::ReadOnly)),
            Just((Rule::Overlay, Access::Overlay { scratch: "/s".into() })),
            Just((Rule::Cache, Access::Writable)),
            Just((Rule::RunTime, Access::Hidden)),
            Just((Rule::Private, Access::Private { source: "/s".into() })),
            Just((Rule::Memory, Access::Memory)),
            Just((Rule::Credential, Access::Hidden)),
            Just((Rule::Git, Access::ReadOnly)),
            Just((Rule::Setting, Access::Writable)),
        ]
    }

    fn candidate(rule: Rule, access: Access, path: PathBuf) -> Candidate {
        Candidate { rule, place: Place { path, access, identity: (0, 0) } }
    }

    fn survey() -> impl Strategy<Value = Survey> {
        let candidates = prop::collection::vec((rule(), path()), 0..12);
        (path(), path(), prop::option::of(path()), candidates)
            .prop_filter("the project is not in the store", |(store, project, ..)| !project.starts_with(store))
            .prop_map(|(store, project, home, candidates)| {
                let others = candidates.into_iter().map(|((rule, access), path)| candidate(rule, access, path));
                let of_project = candidate(Rule::Project, Access::Writable, project.clone());
                Survey { store, project, home, candidates: others.chain([of_project]).collect() }
            })
    }

    /// Returns what a list makes of a path; none: the read-only root.
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
            let is_secret = |candidate: &&Candidate| candidate.rule == Rule::Credential && is_allowed(candidate, &survey);
            for secret in survey.candidates.iter().filter(is_secret) {
                let path = &secret.place.path;
                let is_overruled =
                    survey.candidates.iter().any(|other| other.rule > Rule::Credential && other.place.path == *path);
                let seen = access(&places, path);
                let is_empty = matches!(seen, Some(Access::Hidden | Access::Private { .. } | Access::Memory));
                assert!(is_empty || is_overruled, "{}: {seen:?} in {places:?}", path.display());
            }
        }

        #[test]
        fn every_place_makes_a_difference(survey in survey()) {
            let places = arrange(&survey);
            for (index, place) in places.iter().enumerate() {
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
