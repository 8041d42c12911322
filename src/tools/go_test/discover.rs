//! Discovers `go test` by the project's `go.mod`.

use crate::model::Tool;
use crate::tools::discover::{FoundCheck, FoundChecks, Looked, named, words};
use crate::tools::project_files::{ProjectFiles, within};

/// Looks for a module of Go in one directory of the project, and adds a check for it.
pub(in crate::tools) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
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
