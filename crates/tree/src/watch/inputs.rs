//! Watches the inputs of a project: the files and directories beside it by whose content its digest is named too.
//!
//! A save there gives the hint of a save, with the path from the root: `../shared/conv.py`. Where an input cannot be watched, the sweep
//! finds its changes. Every question about the project reads the inputs again, so no answer depends on these events.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ignore::{RulesFile, is_always_out};
use crate::watch::interpret::RawHint;
use crate::watch::worker::Worker;
use proctor_git::find_git_location;
use proctor_model::{TreePath, WatchHint};

/// The most directories of inputs that are watched. In a larger input, the sweep finds what changed in the others.
const MOST_DIRECTORIES: usize = 4096;

impl Worker {
    /// Places the watches of all inputs: of every directory in them, and of the directory that holds each.
    pub(super) fn follow_inputs(&mut self) {
        let paths: Vec<PathBuf> = self.matcher.inputs().iter().map(|input| input.path.clone()).collect();
        let mut left = MOST_DIRECTORIES;
        for path in paths {
            // An editor replaces a file by another one of its name, which only the directory tells. A missing input may come.
            // The directories above it may have rules files that apply to it.
            let repository = find_git_location(&path).map(|location| location.work_tree);
            let holders = path.ancestors().skip(1).skip_while(|holder| !holder.is_dir());
            let is_above = |holder: &Path| repository.as_ref().is_some_and(|repository| holder.starts_with(repository));
            for (_, holder) in holders.enumerate().take_while(|(position, holder)| *position == 0 || is_above(holder)) {
                self.places.watch_besides(holder);
            }
            self.watch_input_below(&path, &mut left);
        }
    }

    fn watch_input_below(&self, top: &Path, left: &mut usize) {
        let mut waiting = vec![top.to_owned()];
        while let Some(directory) = waiting.pop().filter(|_| *left > 0) {
            if !fs::symlink_metadata(&directory).is_ok_and(|metadata| metadata.is_dir()) {
                continue;
            }
            *left -= 1;
            // The watch is placed first, so that no directory that is made meanwhile is missed.
            self.places.watch_besides(&directory);
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            waiting.extend(below.filter(|entry| !is_always_out(entry.file_name().as_encoded_bytes())).map(|entry| entry.path()));
        }
    }

    /// Handles an event beside the project. Returns whether the path concerns an input.
    pub(super) fn note_input(&mut self, hint: &RawHint) -> bool {
        let Some((_, path)) = hint.describe() else { return false };
        let Some(input) = self.matcher.inputs().iter().find(|input| path.starts_with(&input.path)) else {
            // A directory in which a missing input lies may have come or gone, or rules above an input are others now.
            let is_rules_file = path.file_name().is_some_and(|name| RulesFile::named(name.as_encoded_bytes()).is_some());
            let held = if is_rules_file { path.parent().unwrap_or(path) } else { path };
            let holds_input = self.matcher.inputs().iter().any(|input| input.path.starts_with(held));
            let concerns_input = holds_input && (is_rules_file || !self.root.starts_with(path));
            if concerns_input {
                self.follow_inputs();
                self.send_hint(WatchHint::Saved(TreePath::beside(&self.root, path)));
            }
            return concerns_input;
        };
        let below = path.strip_prefix(&input.path).unwrap_or(Path::new(""));
        if below.components().any(|name| is_always_out(name.as_os_str().as_encoded_bytes())) {
            return true;
        }
        let told = TreePath::beside(&self.root, path);
        match hint {
            RawHint::Writing(_) => self.send_hint(WatchHint::Writing(told)),
            RawHint::Vanished(_) => self.send_hint(WatchHint::Removed(told)),
            RawHint::Overflow
            | RawHint::Backend(_)
            | RawHint::Saved(_)
            | RawHint::Created(_)
            | RawHint::Appeared(_)
            | RawHint::Touched(_) => {
                if path.is_dir() {
                    self.follow_inputs();
                }
                self.send_hint(WatchHint::Saved(told));
            }
        }
        true
    }
}
