//! Files of the project's tree that a check changed or removed in its own copy. What becomes of them decides `snapshot`.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proctor_model::{EntryKind, TreePath};
use proctor_sandbox::process::{Layers, WrittenChange, WrittenEntry};
use proctor_sandbox::snapshot::digest_of;
use proctor_tree::TreeIndex;

/// Returns the files and links of the tree that an action removed from its copy, or whose content or permission to execute there is
/// another one. `upper` is the layer with what the action wrote.
pub(super) fn changed_in_tree(tree: &TreeIndex, upper: &Path, entries: &[WrittenEntry]) -> io::Result<Vec<TreePath>> {
    let layer = Layers::new(vec![upper.to_owned()]);
    let mut changed = Vec::new();
    for entry in entries {
        let Some(before) = tree.lookup(&entry.path) else { continue };
        let is_same = match entry.change {
            WrittenChange::WroteFile { .. } => match layer.open_file(&entry.path)? {
                Some((_, mut file)) => has_kind(&file, before.kind)? && Some(digest_of(&mut file)?) == before.digest,
                None => false,
            },
            // What was made again in the directory has an entry of its own.
            WrittenChange::ReplacedDirectory if before.kind == EntryKind::Directory => {
                let is_made_again = |path: &TreePath| entries.iter().any(|other| other.path == *path);
                let mut below = tree.below(&entry.path).filter(|one| one.kind != EntryKind::Directory);
                below.all(|one| is_made_again(&one.path))
            }
            WrittenChange::ReplacedDirectory | WrittenChange::MadeOther | WrittenChange::Removed => false,
        };
        if !is_same {
            changed.push(entry.path.clone());
        }
    }
    Ok(changed)
}

fn has_kind(file: &File, kind: EntryKind) -> io::Result<bool> {
    let is_executable = file.metadata()?.permissions().mode() & 0o100 != 0;
    Ok(match kind {
        EntryKind::Executable => is_executable,
        EntryKind::File => !is_executable,
        EntryKind::Directory | EntryKind::Link => false,
    })
}
