//! Where an input lies, and the name by which it is digested.

use std::path::PathBuf;
use std::sync::Arc;

use proctor_model::TreePath;

/// A file or directory beside the tree that checks may read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputPlace {
    /// The name that is digested: relative to the root (`../shared`), below HOME (`~/.gitconfig`) or absolute.
    pub name: String,
    /// Where it lies: absolute, with all links resolved. Nothing need be there.
    pub path: PathBuf,
}

impl InputPlace {
    /// Returns where the input lies in the repository of a project, from the repository's root; `None` if it does not lie in it. `below`
    /// is the project's directory in the repository.
    pub fn in_repository(&self, below: &TreePath) -> Option<TreePath> {
        let mut way: Vec<&[u8]> = below.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        if !self.name.starts_with("../") {
            return None;
        }
        for name in self.name.as_bytes().split(|byte| *byte == b'/') {
            match name {
                b".." => drop(way.pop()?),
                name => way.push(name),
            }
        }
        TreePath::try_from(way.join(&b'/').as_slice()).ok()
    }
}

/// Returns inputs in the order in which they are digested.
pub(super) fn in_order(inputs: &[InputPlace]) -> Arc<[InputPlace]> {
    let mut inputs = inputs.to_vec();
    inputs.sort();
    inputs.dedup_by(|left, right| left.name == right.name);
    inputs.into()
}
