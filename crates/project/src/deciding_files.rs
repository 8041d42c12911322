//! Which files of a project decide how it is judged (S7). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::approval::CONFIGURATION_FILE;
use proctor_model::Digest;
use proctor_plan::spec::specification::SPECIFICATION_SUFFIX;
use proctor_tree::ignore::RulesFile;

/// The files that decide how a project is judged, as they were before a run. All paths are relative to the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecidingFilesBefore {
    /// The digest of each file's content; `None` if there was no such file.
    pub files: BTreeMap<String, Option<Digest>>,
    /// The directories in which a `.git` is looked for; the project itself is the empty path.
    pub directories: BTreeSet<PathBuf>,
    /// The paths of every `.git` in these directories, and of the `HEAD` of each of them that is itself a repository.
    pub repositories: BTreeSet<PathBuf>,
}

/// Returns whether a file decides how the project is judged: `proctor.toml`, a specification, an ignore file, the file with the
/// keys that may approve (`signers`, the value of the setting `allowed_signers`), or a file of git itself. A `HEAD` is one, because
/// it can make its directory a repository. The paths are relative to the project.
pub fn decides_the_verdict(path: &[u8], signers: Option<&str>) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    path == CONFIGURATION_FILE.as_bytes()
        || name.ends_with(SPECIFICATION_SUFFIX.as_bytes())
        || RulesFile::named(name).is_some()
        || name == b"HEAD"
        || signers.is_some_and(|signers| signers.as_bytes() == path)
        || path.split(|byte| *byte == b'/').any(|part| part == b".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_specifications_ignore_files_and_git_decide_and_sources_do_not() {
        let signers = Some("keys/who");
        for deciding in
            ["proctor.toml", "a/T1-test-specification.json", "web/.gitignore", ".ignore", ".git", "lib/.git/config", "lib/HEAD"]
        {
            assert!(decides_the_verdict(deciding.as_bytes(), signers), "{deciding}");
        }
        assert!(decides_the_verdict(b"keys/who", signers) && !decides_the_verdict(b"keys/who", None));
        for other in ["src/calc.py", "web/proctor.toml", "git/config", ".gitattributes"] {
            assert!(!decides_the_verdict(other.as_bytes(), signers), "{other}");
        }
    }
}
