//! Which files of a project decide how it is judged (S7). Pure.

use crate::ignore::RulesFile;
use crate::model::TreePath;
use crate::project::approval::CONFIGURATION_FILE;
use crate::spec::specification::SPECIFICATION_SUFFIX;

/// Returns whether a file decides how the project is judged: `proctor.toml`, a specification, an ignore file, or a file of
/// git itself.
pub fn decides_the_verdict(path: &TreePath) -> bool {
    let (whole, name) = (path.as_bytes(), path.name());
    whole == CONFIGURATION_FILE.as_bytes()
        || name.ends_with(SPECIFICATION_SUFFIX.as_bytes())
        || RulesFile::named(name).is_some()
        || whole.split(|byte| *byte == b'/').any(|part| part == b".git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_specifications_ignore_files_and_git_decide_and_sources_do_not() {
        let path = |text: &str| text.split('/').fold(TreePath::root(), |path, name| path.join(name.as_bytes()));
        for deciding in ["proctor.toml", "a/T1-test-specification.json", "web/.gitignore", ".ignore", ".git", "lib/.git/config"] {
            assert!(decides_the_verdict(&path(deciding)), "{deciding}");
        }
        for other in ["src/calc.py", "web/proctor.toml", "git/config", ".gitattributes"] {
            assert!(!decides_the_verdict(&path(other)), "{other}");
        }
    }
}
