//! Discovers `cargo test` by the project's `Cargo.toml`.

use toml::de::DeTable;

use crate::discover::{FoundCheck, FoundChecks, Looked, name_in_package, words};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

const MANIFEST: &str = "Cargo.toml";

/// A manifest beside this file usually builds an extension of Python, whose tests are Python's. Tests of Cargo often cannot be linked
/// there.
const OF_PYTHON: &str = "pyproject.toml";

/// Looks for a manifest of Cargo in one directory of the project, and adds a check for it.
pub(crate) fn find(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let tool = Tool::CargoTest;
    let path = within(package, MANIFEST);
    if !files.exists(&path) {
        return Looked::Silent;
    }
    if files.exists(&within(package, OF_PYTHON)) {
        let message = format!(
            "`{path}` is there beside `{OF_PYTHON}`, as for an extension of Python; write a check if it has tests of Rust"
        );
        findings.note(tool, message);
        return Looked::Spoke;
    }
    let text = files.read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (table, _) = DeTable::parse_recoverable(&text);
    // Without `--workspace`, Cargo leaves out all members but the root's own package.
    let argv: &[&str] = match table.get_ref().contains_key("workspace") {
        true => &["cargo", "test", "--workspace"],
        false => &["cargo", "test"],
    };
    let found = FoundCheck {
        tool,
        name: name_in_package(tool.word(), package),
        directory: package.to_owned(),
        package: package.to_owned(),
        argv: words(argv),
        policy: None,
    };
    findings.add(found, &format!("`{path}` is there"));
    Looked::Spoke
}
