//! What in a project's files speaks for Jest and Vitest.

use crate::discover::{FoundChecks, Looked, NODE_RUNNER, NodeRunner};
use crate::project_files::ProjectFiles;
use proctor_model::Tool;

pub(super) const JEST_CONFIGURATIONS: &[&str] =
    &["jest.config.js", "jest.config.ts", "jest.config.mjs", "jest.config.cjs", "jest.config.json"];

pub(super) const VITEST_CONFIGURATIONS: &[&str] =
    &["vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs", "vitest.config.cts", "vitest.config.cjs"];

const JEST: NodeRunner = NodeRunner {
    tool: Tool::Jest,
    program: "jest",
    configurations: JEST_CONFIGURATIONS,
    key: Some("jest"),
    watches: &["--watch", "--watchAll"],
    ..NODE_RUNNER
};

// At a terminal, Vitest keeps running and watches for changes, unless `run` is given.
const VITEST: NodeRunner = NodeRunner {
    tool: Tool::Vitest,
    program: "vitest",
    configurations: VITEST_CONFIGURATIONS,
    needs: Some(("run", &["run", "--run", "related"])),
    watches: &["--watch", "watch", "dev"],
    ..NODE_RUNNER
};

/// Looks for signs of Jest in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_jest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    JEST.find(files, package, findings)
}

/// Looks for signs of Vitest in one directory of the project. Adds a check, or a note that says what is missing for
/// one.
pub(crate) fn find_vitest(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    VITEST.find(files, package, findings)
}
