//! What somebody says may have changed since the last look.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::TreePath;

/// What may have changed since the last look at a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Hints {
    /// Anything: the whole tree is looked at.
    #[default]
    Everything,
    /// Only these paths and, where one is a directory, what is below it. Naming a path too many costs a look at it; one too few
    /// leaves a wrong digest until the next look at everything.
    Only(BTreeSet<TreePath>),
}

/// The named paths as a tree: what is to be done in one directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    /// The path itself is named.
    pub(super) is_named: bool,
    /// Named paths below it, by their next component.
    pub(super) below: BTreeMap<Vec<u8>, Touched>,
}

impl Touched {
    /// Arranges paths.
    pub(super) fn of<'paths>(paths: impl IntoIterator<Item = &'paths TreePath>) -> Self {
        let mut top = Self::default();
        for path in paths {
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
        let named = |below: Vec<(&str, Touched)>| Touched {
            is_named: true,
            below: below.into_iter().map(|(name, touched)| (name.as_bytes().to_vec(), touched)).collect(),
        };
        let expected = named(vec![("a", named(vec![("b", named(vec![]))])), ("a-b", named(vec![]))]);
        assert_eq!(Touched::of(&paths), expected);
        assert!(!Touched::of(&paths[..1]).is_named);
    }
}
