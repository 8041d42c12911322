//! Which files that checks write may be copied to the project (`writes` of a check). Pure.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::approval::CONFIGURATION_FILE;
use proctor_model::TreePath;
use proctor_plan::spec::specification::SPECIFICATION_SUFFIX;
use proctor_tree::ignore::{IgnoredClass, RulesFile, class_of};

/// Directories of version control. What is written there can be executed outside of the sandbox, for example a hook.
const VERSION_CONTROL: &[&[u8]] = &[b".git", b".hg", b".jj", b".svn"];

/// What may be done with a file that a check wrote and that `writes` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepDecision {
    Copy,
    /// The file is not copied, and nothing says so: `writes = ["src/**"]` does not mean the bytecode below `src`.
    /// Bytecode that was written while tests ran must not be executed by a later run.
    Drop,
    /// The file is not copied, for this reason.
    Refuse(&'static str),
    /// The file is not copied. Only the report's list of written files gives this reason, and no note does: tools put
    /// such files into their own directories, as coverage.py does with `htmlcov/.gitignore`.
    RefuseQuietly(&'static str),
}

/// The patterns of one check's `writes`. A pattern also stands for everything below the directories that it matches.
#[derive(Debug)]
pub struct KeptPaths(GlobSet);

impl KeptPaths {
    pub fn new(writes: &[String]) -> Self {
        let mut set = GlobSetBuilder::new();
        for pattern in writes {
            for glob in [pattern.clone(), format!("{pattern}/**")] {
                // The configuration's reader refuses what is no glob.
                if let Ok(glob) = GlobBuilder::new(&glob).literal_separator(true).build() {
                    set.add(glob);
                }
            }
        }
        Self(set.build().unwrap_or_default())
    }

    pub fn contains(&self, path: &TreePath) -> bool {
        self.0.is_match(path.as_path())
    }
}

/// Decides whether a file that a check wrote and that `writes` names may be copied to the project. `link` is the name
/// of the link to the evidence, `task_list` the path of the task list, `signers` that of the file with the keys that may approve.
pub fn decide_keep(path: &TreePath, link: Option<&str>, task_list: Option<&str>, signers: Option<&str>) -> KeepDecision {
    let names = || path.as_bytes().split(|byte| *byte == b'/');
    let is = |name: &str| path.as_bytes() == name.as_bytes();
    let top = names().next().unwrap_or_default();
    if names().any(|name| VERSION_CONTROL.contains(&name)) {
        KeepDecision::Refuse("it is data of version control, which no check may change")
    } else if names().any(|name| class_of(name) == IgnoredClass::Environment) {
        KeepDecision::Refuse("it belongs to installed packages, which no check may change")
    } else if path.name() == CONFIGURATION_FILE.as_bytes() {
        KeepDecision::Refuse("it is proctor's configuration, which no check may change")
    } else if RulesFile::named(path.name()).is_some() {
        KeepDecision::RefuseQuietly("it says what is ignored, which no check may change")
    } else if path.name().ends_with(SPECIFICATION_SUFFIX.as_bytes()) {
        KeepDecision::Refuse("it is a test specification, which no check may change")
    } else if link.is_some_and(|link| top == link.as_bytes()) {
        KeepDecision::Refuse("evidence is shown there, which no check may change")
    } else if task_list.is_some_and(is) {
        KeepDecision::Refuse("it is the task list, which only proctor changes")
    } else if signers.is_some_and(is) {
        KeepDecision::Refuse("it says whose signatures approve, which no check may change")
    } else if names().any(|name| name == b"__pycache__") || path.name().ends_with(b".pyc") || path.name().ends_with(b".pyo") {
        KeepDecision::Drop
    } else {
        KeepDecision::Copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::try_from(text).expect("a clean path")
    }

    #[test]
    fn a_pattern_is_of_the_whole_path_and_stands_for_everything_below_a_directory() {
        let kept = |writes: &[&str]| {
            let kept = KeptPaths::new(&writes.iter().map(ToString::to_string).collect::<Vec<_>>());
            move |name: &str| kept.contains(&path(name))
        };
        let reports = kept(&["coverage.xml", "htmlcov", "**/__snapshots__/**", "out/*.json"]);
        for name in ["coverage.xml", "htmlcov/index.html", "htmlcov/a/b.css", "web/src/__snapshots__/a.snap", "out/a.json"] {
            assert!(reports(name), "{name}");
        }
        for name in ["web/coverage.xml", "htmlcov2/a", "out/b/a.json", "__snapshots__.txt"] {
            assert!(!reports(name), "{name}");
        }
        assert!(!kept(&[])("coverage.xml") && kept(&["**"])("a/b"));
    }

    #[test]
    fn what_decides_about_runs_is_refused_and_bytecode_is_dropped() {
        let decide = |name: &str| decide_keep(&path(name), Some("evidence"), Some("docs/tasks.md"), Some("keys/who"));
        for refused in [
            ".git/hooks/pre-commit",
            "sub/.git",
            ".jj/config",
            "web/node_modules/a.js",
            ".venv/bin/python",
            "proctor.toml",
            "sub/proctor.toml",
            "keys/who",
            "docs/shop-test-specification.json",
            "evidence/default/report.json",
            "evidence",
            "docs/tasks.md",
        ] {
            assert!(matches!(decide(refused), KeepDecision::Refuse(_)), "{refused}");
        }
        assert!([".gitignore", "sub/.ignore"].map(decide).iter().all(|one| matches!(one, KeepDecision::RefuseQuietly(_))));
        assert_eq!(["a/__pycache__/b.cpython-311.pyc", "a.pyc"].map(decide), [KeepDecision::Drop; 2]);
        let copied = ["coverage.xml", ".coverage", "target/app", "sub/evidence/a", "tasks.md", ".github/a.yml"];
        assert_eq!(copied.map(decide), [KeepDecision::Copy; 6]);
    }
}
