//! Which paths may have changed since an index was made.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::TreePath;

/// Which paths of a tree may have changed since its index was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TreeHints {
    /// Any path: the whole tree is checked.
    #[default]
    Everything,
    /// Only these paths and, for directories, everything below them. An unnecessary path only costs time. A missing
    /// path leaves the digest wrong until the whole tree is checked again.
    Only(BTreeSet<TreePath>),
}

impl TreeHints {
    /// Returns the hints that name no path: nothing has changed.
    pub fn nothing() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Adds the paths of other hints.
    pub fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Everything, _) => {}
            (Self::Only(_), Self::Everything) => *self = Self::Everything,
            (Self::Only(paths), Self::Only(more)) => paths.extend(more),
        }
    }
}

/// The named paths as a tree, so that each directory knows which of its entries to check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HintedPaths {
    /// Whether the hints name this path itself, and not only paths below it.
    pub(super) is_named: bool,
    /// The hinted paths below this path, by the name of their next component.
    pub(super) below: BTreeMap<Vec<u8>, HintedPaths>,
}

impl HintedPaths {
    /// Arranges paths. What lies beside the tree is left out: inputs are read again each time.
    pub(super) fn of<'paths>(paths: impl IntoIterator<Item = &'paths TreePath>) -> Self {
        let mut top = Self::default();
        for path in paths.into_iter().filter(|path| !path.is_beside()) {
            let names = path.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
            let end = names.fold(&mut top, |touched, name| touched.below.entry(name.to_owned()).or_default());
            end.is_named = true;
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_arranged_by_their_components() {
        let paths = ["a/b", "a", "a-b", ""].map(|text| TreePath::try_from(text).expect("a clean path"));
        let named = |below: Vec<(&str, HintedPaths)>| HintedPaths {
            is_named: true,
            below: below.into_iter().map(|(name, touched)| (name.as_bytes().to_vec(), touched)).collect(),
        };
        let expected = named(vec![("a", named(vec![("b", named(vec![]))])), ("a-b", named(vec![]))]);
        assert_eq!(HintedPaths::of(&paths), expected);
        assert!(!HintedPaths::of(&paths[..1]).is_named);
    }
}
