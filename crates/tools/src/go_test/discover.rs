//! Discovers `go test` by the project's `go.mod`.

use crate::discover::{FoundCheck, FoundChecks, Looked, named, words};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// Looks for a module of Go in one directory of the project, and adds a check for it.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let tool = Tool::GoTest;
    let path = within(package, "go.mod");
    if !files.exists(&path) {
        return Looked::Silent;
    }
    let found = FoundCheck {
        tool,
        name: named(tool.word(), package),
        directory: package.to_owned(),
        package: package.to_owned(),
        argv: words(&["go", "test", "./..."]),
        policy: None,
    };
    findings.add(found, &format!("`{path}` is there"));
    Looked::Spoke
}
