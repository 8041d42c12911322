//! Shared by the discovery of all Python tools: virtual environments and sections of configuration files.

use toml::de::DeTable;

use crate::project_files::{ProjectFiles, within};

/// The directories of virtual environments, the usual one first.
pub(crate) const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// Returns whether a file of a package has a section. The section's header must be alone on its line.
pub(crate) fn has_section(files: &dyn ProjectFiles, package: &str, name: &str, section: &str) -> bool {
    let text = files.read(&within(package, name)).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(|line| line.trim() == section)
}

/// Returns whether a package's `pyproject.toml` has a table for a tool.
pub(crate) fn has_pyproject_table(files: &dyn ProjectFiles, package: &str, tool: &str) -> bool {
    let Some(bytes) = files.read(&within(package, "pyproject.toml")) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    let (table, _) = DeTable::parse_recoverable(&text);
    let tools = table.get_ref().get("tool").and_then(|tools| tools.get_ref().as_table());
    tools.and_then(|tools| tools.get(tool)).is_some_and(|found| found.get_ref().is_table())
}
