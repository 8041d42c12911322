//! Names the files that git tracks and that belong to no tree because of their names, such as a fixture in `node_modules`.

use proctor_model::{PlanNote, TreePath};
use proctor_tree::TreeIndex;

/// The most files that the note names.
const NAMED: usize = 3;

/// What is known of the tracked files that belong to no tree: the index that was searched, and the note about it.
#[derive(Debug, Default)]
pub(crate) struct TrackedOutside(Option<(TreeIndex, Option<PlanNote>)>);

impl TrackedOutside {
    /// Returns a note about the tracked files of a project that belong to no tree; `None` if there are none. The search is repeated
    /// only if git tracks other files than before.
    pub(crate) fn note(&mut self, index: &TreeIndex) -> Option<PlanNote> {
        let known = self.0.take().filter(|(known, _)| known.root() == index.root() && known.tracks_as(index));
        let note = known.map_or_else(|| describe(&index.tracked_outside()), |(_, note)| note);
        self.0 = Some((index.clone(), note.clone()));
        note
    }
}

fn describe(files: &[TreePath]) -> Option<PlanNote> {
    let named: Vec<String> = files.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = if files.len() > NAMED { ", …" } else { "" };
    let count = match files.len() {
        1 => "1 tracked file belongs".to_owned(),
        several => format!("{several} tracked files belong"),
    };
    let message = format!(
        "{count} to no tree because of the name: {}{more}. No digest covers the content, and checks on a snapshot may not see it \
         (`proctor why PATH` says how they do)",
        named.join(", ")
    );
    (!files.is_empty()).then(|| PlanNote { subject: "tree".to_owned(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_files_are_named_and_all_are_counted() {
        let files =
            ["old.pyc", "t/node_modules/a.js", "t/node_modules/b.js", "x~"].map(|path| TreePath::try_from(path).expect("clean"));
        assert_eq!(describe(&[]), None);
        let one = describe(&files[..1]).expect("a note").message;
        assert!(one.starts_with("1 tracked file belongs to no tree because of the name: `old.pyc`. No digest"), "{one}");
        let all = describe(&files).expect("a note").message;
        let begin =
            "4 tracked files belong to no tree because of the name: `old.pyc`, `t/node_modules/a.js`, `t/node_modules/b.js`, …. ";
        assert!(all.starts_with(begin), "{all}");
    }
}
