//! Which files of a project decide how it is judged (S7). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::ignore::RulesFile;
use crate::model::Digest;
use crate::project::approval::CONFIGURATION_FILE;
use crate::spec::specification::SPECIFICATION_SUFFIX;

/// The files of git that decide what a command of git does, as they were before a run. All paths are relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GitFilesBefore {
    /// The contents of git's configuration files and hooks; `None` if there was no such file.
    pub(crate) programs: BTreeMap<String, Option<Digest>>,
    /// The directories of git itself.
    pub(crate) directories: BTreeSet<PathBuf>,
}

/// Returns whether a file decides how the project is judged: `proctor.toml`, a specification, an ignore file, or a file of
/// git itself. The path is relative to the project.
pub fn decides_the_verdict(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    path == CONFIGURATION_FILE.as_bytes()
        || name.ends_with(SPECIFICATION_SUFFIX.as_bytes())
        || RulesFile::named(name).is_some()
        || path.split(|byte| *byte == b'/').any(|part| part == b".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_specifications_ignore_files_and_git_decide_and_sources_do_not() {
        for deciding in ["proctor.toml", "a/T1-test-specification.json", "web/.gitignore", ".ignore", ".git", "lib/.git/config"] {
            assert!(decides_the_verdict(deciding.as_bytes()), "{deciding}");
        }
        for other in ["src/calc.py", "web/proctor.toml", "git/config", ".gitattributes"] {
            assert!(!decides_the_verdict(other.as_bytes()), "{other}");
        }
    }
}
