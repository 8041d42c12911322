//! Proposes which files that a check writes are kept (`writes`), for the `proctor.toml` that `proctor init` writes.

use std::path::{Component, Path};

use proctor_model::{Plan, PlanNote};
use proctor_tools::{ProjectFiles, written_files};

/// Adds `writes` to the checks of a plan whose tools write reports or snapshots by the project's own settings. Notes say why.
pub fn propose_writes(plan: &mut Plan, files: &dyn ProjectFiles) {
    let mut notes = Vec::new();
    for step in &mut plan.steps {
        let directory = step.directory.to_string_lossy();
        let patterns = written_files(step.tool, files, &directory, &step.command.argv);
        let mut writes: Vec<String> = patterns.iter().filter_map(|pattern| below(&directory, pattern)).collect();
        writes.sort();
        writes.dedup();
        if !writes.is_empty() {
            let named = writes.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ");
            let message = format!("`writes` keeps {named} in the project, because its settings have it written");
            notes.push(PlanNote { subject: step.name.clone(), message });
            step.writes = writes;
        }
    }
    plan.notes.extend(notes);
}

/// Returns a pattern relative to the project; `None` if it leaves the project, is empty or is no glob, because `writes` allows no
/// such pattern.
fn below(directory: &str, pattern: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for component in Path::new(directory).components().chain(Path::new(pattern).components()) {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let pattern = parts.join("/");
    (!pattern.is_empty() && globset::Glob::new(&pattern).is_ok()).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposed_pattern_stays_inside_the_project() {
        let rows = [
            ("", "./coverage.xml", Some("coverage.xml")),
            ("web", "coverage/**", Some("web/coverage/**")),
            ("web", "../out/**", Some("out/**")),
            ("", "../out/**", None),
            ("web", "/tmp/c.xml", None),
            ("", ".", None),
        ];
        for (directory, pattern, expected) in rows {
            assert_eq!(below(directory, pattern).as_deref(), expected, "{directory} {pattern}");
        }
    }
}
