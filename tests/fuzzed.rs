//! Checks the rules of the fuzz targets in `fuzz/` with two kinds of inputs: the inputs with which fuzzing begins, and
//! the inputs that once broke a rule.
//!
//! An input that breaks a rule is put under `fuzz/found/TARGET/`, with a name that says what was wrong. From then on
//! this test tries that input too.

#[path = "../fuzz/properties/attestation.rs"]
mod attestation;
#[path = "../fuzz/properties/condition.rs"]
mod condition;
#[path = "../fuzz/properties/configuration.rs"]
mod configuration;
#[path = "../fuzz/properties/git.rs"]
mod git;
#[path = "../fuzz/properties/interpretation.rs"]
mod interpretation;
#[path = "../fuzz/properties/junit.rs"]
mod junit;
#[path = "../fuzz/properties/pack.rs"]
mod pack;
#[path = "../fuzz/properties/project.rs"]
mod project;
#[path = "../fuzz/properties/specification.rs"]
mod specification;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_model::Tool;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::Index;

use crate::common::repository;

/// A fuzz target: its name, the directories of the inputs with which fuzzing begins, and the function that checks its
/// rules.
struct Target(&'static str, &'static [&'static str], fn(&[u8]));

const TARGETS: &[Target] = &[
    Target("specification", &["fixtures/specifications"], specification::hold),
    Target("attestation", &["fuzz/seeds/attestation"], attestation::hold),
    Target("condition", &["fuzz/seeds/condition"], condition::hold),
    Target("configuration", &["fuzz/seeds/configuration"], configuration::hold),
    Target("git", &["fuzz/seeds/git"], git::hold),
    Target("pack", &["fuzz/seeds/pack"], pack::hold),
    Target("junit", &["fixtures/tools/pytest"], junit::hold),
    Target("pytest", &["fixtures/tools/pytest"], |bytes| interpretation::hold(Some(Tool::Pytest), bytes)),
    Target("tsc", &["fixtures/tools/tsc"], |bytes| interpretation::hold(Some(Tool::Tsc), bytes)),
    Target("eslint", &["fixtures/tools/eslint"], |bytes| interpretation::hold(Some(Tool::Eslint), bytes)),
    Target("tools", &["fixtures/tools"], |bytes| interpretation::hold(None, bytes)),
];

#[test]
fn every_input_that_was_found_or_is_begun_with_keeps_the_rules() {
    for Target(name, seeds, hold) in TARGETS {
        let mut tried = 0;
        for directory in seeds.iter().map(|seed| repository().join(seed)).chain([repository().join("fuzz/found").join(name)]) {
            for path in files_below(&directory) {
                let bytes = fs::read(&path).expect("an input can be read");
                let kept = std::panic::catch_unwind(|| hold(&bytes));
                assert!(kept.is_ok(), "{name}: {} breaks a rule; the panic above says which", path.display());
                tried += 1;
            }
        }
        assert!(tried > 1, "{name}: only {tried} inputs");
    }
}

#[test]
fn every_target_is_tried_here_and_can_be_run() {
    let names = |directory: &str| -> BTreeSet<String> {
        let files = files_below(&repository().join(directory)).into_iter();
        files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    };
    let here: BTreeSet<String> = TARGETS.iter().map(|target| target.0.to_owned()).collect();
    assert_eq!(names("fuzz/fuzz_targets"), here);
    let manifest = fs::read_to_string(repository().join("fuzz/Cargo.toml")).expect("the targets have a manifest");
    for Target(name, seeds, _) in TARGETS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is in no manifest");
        assert!(seeds.iter().all(|seed| repository().join(seed).is_dir()), "{name} begins with nothing");
    }
}

/// The formats that others make and that proctor reads as evidence or as a commit's content.
const OF_OTHERS: &[&str] = &["attestation", "git", "pack"];

/// Returns an input that was made from a good one: bytes are changed, taken out and put in, and its end may be missing.
fn damaged(seed: &[u8], changes: &[(u8, Index, u8)]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (kind, place, byte) in changes {
        let at = place.index(bytes.len() + 1);
        match kind % 6 {
            0 => bytes.truncate(at.max(bytes.len() / 2)),
            1 => bytes.insert(at, *byte),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.extend_from_within(at..),
            _ if at < bytes.len() => bytes[at] ^= byte | 1,
            _ => {}
        }
        bytes.truncate(seed.len() * 4);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_others_change_keeps_the_rules(
        target in any::<Index>(),
        seed in any::<Index>(),
        changes in proptest::collection::vec((any::<u8>(), any::<Index>(), any::<u8>()), 1..6),
    ) {
        let Target(_, seeds, hold) = TARGETS.iter().find(|known| known.0 == *target.get(OF_OTHERS)).expect("it is a target");
        let files: Vec<PathBuf> = seeds.iter().flat_map(|seed| files_below(&repository().join(seed))).collect();
        hold(&damaged(&fs::read(seed.get(&files)).expect("an input can be read"), &changes));
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
