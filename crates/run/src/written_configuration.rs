//! Files that decide how checks work, such as `conftest.py`, and that a check of the run wrote before another check saw them.
//! They are no part of the tree, so the report must name them: a later check can remove them again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proctor_model::{Action, PlanNote, TreePath};
use proctor_project::is_pinned;
use proctor_sandbox::process::WrittenEntry;

/// The most files that a note names. Further files are only counted.
const NAMED: usize = 3;

/// The configuration files that checks of a run wrote, and the notes about checks that saw them.
#[derive(Debug, Default)]
pub(crate) struct WrittenConfiguration {
    /// By the layer in which they lie: the check that wrote the files, and the files.
    layers: BTreeMap<PathBuf, (String, Vec<TreePath>)>,
    notes: Vec<PlanNote>,
}

impl WrittenConfiguration {
    /// Notes the configuration files that an action wrote to its layer. Removing such a file, or replacing it by a
    /// link, counts as writing it.
    pub(crate) fn note_written(&mut self, action: &Action, layer: PathBuf, entries: &[WrittenEntry]) {
        let paths = entries.iter().map(|entry| &entry.path).filter(|path| is_pinned(path.name()));
        let paths: Vec<TreePath> = paths.cloned().collect();
        if !paths.is_empty() {
            self.layers.insert(layer, (action.name.clone(), paths));
        }
    }

    /// Notes that an action wrote or removed files that decide how the project is judged. It did so on its snapshot.
    pub(crate) fn note_deciding(&mut self, action: &Action, paths: &[&TreePath]) {
        if paths.is_empty() {
            return;
        }
        let message = format!(
            "it wrote or removed {}, which decides how the project is judged: on the snapshot only, so nothing of it reaches the project",
            named(paths)
        );
        self.note_all(vec![PlanNote { subject: action.name.clone(), message }]);
    }

    /// Notes the ignored sockets, pipes, devices and unreadable entries that the snapshot of the run does not have.
    pub(crate) fn note_left_out(&mut self, paths: &[TreePath]) {
        if !paths.is_empty() {
            let named = named(&paths.iter().collect::<Vec<_>>());
            let message = format!("checks do not see {named}: sockets, pipes, devices and what cannot be read are not copied");
            self.note_all(vec![PlanNote { subject: "snapshot".to_owned(), message }]);
        }
    }

    /// Adds notes to those of the run. Another attempt of the same action gives the same notes, so they may be there already.
    pub(crate) fn note_all(&mut self, notes: Vec<PlanNote>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Notes that an action sees these layers of earlier actions.
    pub(crate) fn note_seen(&mut self, action: &Action, seen: &[PathBuf]) {
        let others = seen.iter().filter_map(|layer| self.layers.get(layer)).filter(|(writer, _)| *writer != action.name);
        let note = |(writer, paths): &(String, Vec<TreePath>)| {
            let message = format!(
                "the check `{writer}` wrote or removed {} before this one: what decides how a check works was not as it is in the tree",
                named(&paths.iter().collect::<Vec<_>>())
            );
            PlanNote { subject: action.name.clone(), message }
        };
        let notes = others.map(note).collect();
        self.note_all(notes);
    }

    /// Takes the notes for the report.
    pub(crate) fn take_notes(&mut self) -> Vec<PlanNote> {
        std::mem::take(&mut self.notes)
    }
}

/// Returns the first of some paths in words, and how many more there are.
pub(crate) fn named(paths: &[&TreePath]) -> String {
    let more = paths.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named: Vec<_> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    format!("{}{more}", named.join(", "))
}
