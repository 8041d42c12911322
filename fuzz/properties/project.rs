//! Splits an input into parts, which serve as the files of a project that does not exist on disk.

use std::collections::BTreeMap;

use proctor_plan::spec::ProjectFiles;

/// An input in parts: the text before the first line `<<< NAME >>>`, and the text after each such line. The captured outputs under
/// `fixtures/tools/` have this form, so they can be used as inputs.
pub(crate) struct Parts(BTreeMap<String, Vec<u8>>);

impl Parts {
    /// Splits an input. Parts with the same name are joined.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut parts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut name = String::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let said = std::str::from_utf8(line).ok().and_then(|line| line.trim_end().strip_prefix("<<< ")?.strip_suffix(" >>>"));
            match said {
                // In this form, the line `<<< no line end >>>` means that the part before it does not end with a newline.
                Some("no line end") => drop(parts.entry(name.clone()).or_default().pop()),
                Some(next) => {
                    name = next.to_owned();
                    parts.entry(name.clone()).or_default();
                }
                None => parts.entry(name.clone()).or_default().extend_from_slice(line),
            }
        }
        Self(parts)
    }

    /// Returns the part with this name; none if the input has no such part.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Returns the text before the first line `<<< NAME >>>`; empty if the input begins with such a line.
    pub(crate) fn head(&self) -> &[u8] {
        self.get("").unwrap_or_default()
    }
}

impl ProjectFiles for Parts {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.get(path).filter(|_| !path.is_empty()).map(<[u8]>::to_vec)
    }

    fn exists(&self, path: &str) -> bool {
        self.is_directory(path) || self.0.contains_key(path)
    }

    fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || self.0.keys().any(|name| name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let below = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let rests = self.0.keys().filter_map(|name| name.strip_prefix(&below)?.split('/').next());
        let mut names: Vec<String> = rests.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}
