//! The paths that git's index names below a project, in one block of memory.

use std::cmp::Ordering;

use proctor_model::TreePath;

/// The tracked paths of a project, relative to its root. Asking about one path is cheap, also among a hundred thousand paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrackedPaths {
    /// All paths one after the other, in ascending order of their bytes, each once.
    names: Box<[u8]>,
    /// Where each path ends in `names`.
    ends: Box<[u32]>,
    /// Whether a path ends with `/`: a sparse index names a directory instead of the files below it.
    has_directories: bool,
}

impl TrackedPaths {
    /// Makes the set of these paths. Returns `None` if they have more than 4 GiB together.
    pub(super) fn new<'names>(names: impl Iterator<Item = &'names [u8]>) -> Option<Self> {
        let mut sorted: Vec<&[u8]> = names.collect();
        sorted.sort_unstable();
        sorted.dedup();
        let (mut names, mut ends) = (Vec::new(), Vec::with_capacity(sorted.len()));
        for name in &sorted {
            names.extend_from_slice(name);
            ends.push(u32::try_from(names.len()).ok()?);
        }
        let has_directories = sorted.iter().any(|name| name.ends_with(b"/"));
        Some(Self { names: names.into_boxed_slice(), ends: ends.into_boxed_slice(), has_directories })
    }

    /// Returns whether git tracks a file or link at this path.
    pub fn contains(&self, path: &[u8]) -> bool {
        let position = self.first_from(path);
        if self.name(position) == Some(path) {
            return true;
        }
        // If the index names a directory as a whole, only git's objects say which of its files are tracked. Normally none
        // of its files is on disk. All files found there count as tracked, because leaving out a tracked file could hide
        // a failure.
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        self.has_directories
            && slashes.map(|(slash, _)| &path[..=slash]).any(|above| self.name(self.first_from(above)) == Some(above))
    }

    /// Returns whether git tracks something below this directory.
    pub fn has_below(&self, directory: &[u8]) -> bool {
        if self.ends.is_empty() {
            return false;
        }
        let below = [directory, b"/"].concat();
        self.name(self.first_from(&below)).is_some_and(|name| name.starts_with(&below)) || self.contains(&below)
    }

    /// Returns the paths that only one of both sets contains, in ascending order.
    pub fn differences(&self, other: &Self) -> Vec<TreePath> {
        let (mut own, mut others) = (0, 0);
        let mut found = Vec::new();
        loop {
            let (name, order) = match (self.name(own), other.name(others)) {
                (None, None) => return found,
                (Some(name), None) => (name, Ordering::Less),
                (None, Some(name)) => (name, Ordering::Greater),
                (Some(name), Some(other)) => (name.min(other), name.cmp(other)),
            };
            own += usize::from(order.is_le());
            others += usize::from(order.is_ge());
            if order.is_ne() {
                let path = name.strip_suffix(b"/").unwrap_or(name);
                found.extend(TreePath::try_from(path));
            }
        }
    }

    /// Returns all paths in ascending order of their bytes.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|position| self.name(position))
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the position of the first path that is not less than this one.
    fn first_from(&self, path: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.name(middle).is_some_and(|name| name < path) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn name(&self, position: usize) -> Option<&[u8]> {
        let end = *self.ends.get(position)? as usize;
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(&self.names[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(names: &[&str]) -> TrackedPaths {
        TrackedPaths::new(names.iter().map(|name| name.as_bytes())).unwrap()
    }

    #[test]
    fn files_and_the_directories_above_them_are_found() {
        let tracked = tracked(&["src/a.py", "a-b", "a/b/c", "a", "a/b/c", "a.b", "sparse/deep/"]);
        for path in ["src/a.py", "a-b", "a", "a/b/c", "a.b", "sparse/deep/x", "sparse/deep/y/z"] {
            assert!(tracked.contains(path.as_bytes()), "{path}");
        }
        for path in ["src", "a/b", "a/b/c/d", "", "b", "sparse/x", "sparse/deeper"] {
            assert!(!tracked.contains(path.as_bytes()), "{path}");
        }
        for directory in ["src", "a", "a/b", "sparse", "sparse/deep", "sparse/deep/y"] {
            assert!(tracked.has_below(directory.as_bytes()), "{directory}");
        }
        for directory in ["a/b/c", "a-b", "sr", "src/a.py", "sparse/other"] {
            assert!(!tracked.has_below(directory.as_bytes()), "{directory}");
        }
        assert!(!TrackedPaths::default().contains(b"a") && !TrackedPaths::default().has_below(b"a"));
    }

    #[test]
    fn differences_are_what_only_one_of_both_has() {
        let differences = |one: &[&str], other: &[&str]| -> Vec<String> {
            tracked(one).differences(&tracked(other)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(differences(&["a", "b", "d"], &["b", "c", "e"]), ["a", "c", "d", "e"]);
        assert_eq!(differences(&["a", "b"], &["a", "b"]), Vec::<String>::new());
        assert_eq!(differences(&[], &["x/"]), ["x"]);
    }
}
