//! The scenarios, in tables by what they are about.

mod projects;
mod repositories;
mod settings;
mod specifications;
mod stores;
mod tools;

use crate::recording::scenario::Scenario;

/// A check that finds a word in a file, and a check that prints that file.
const CHECKS: &str = "[[check]]\nname = \"good\"\ncommand = [\"grep\", \"-q\", \"good\", \"shop.txt\"]\n\n\
    [[check]]\nname = \"there\"\ncommand = [\"cat\", \"shop.txt\"]\n";

/// Returns all scenarios. Their names differ.
pub(super) fn scenarios() -> Vec<Scenario> {
    [
        tools::scenarios(),
        projects::scenarios(),
        settings::scenarios(),
        specifications::scenarios(),
        repositories::scenarios(),
        stores::scenarios(),
    ]
    .concat()
}
