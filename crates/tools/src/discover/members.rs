//! The members of a workspace, which the package managers npm, Yarn, pnpm and uv read from the files in its root.

use crate::discover::directories_in;
use crate::leads_out::members_of_workspace;
use crate::project_files::{ProjectFiles, within};

/// Returns the directories of the workspace's members; empty if the project's root is the root of no workspace.
pub(super) fn members(files: &dyn ProjectFiles) -> Vec<String> {
    let read = |name| String::from_utf8(files.read(name)?).ok().map(|text| members_of_workspace(name, &text));
    let patterns: Vec<String> =
        ["package.json", "pnpm-workspace.yaml", "pyproject.toml"].into_iter().filter_map(read).flatten().collect();
    let (excluded, included): (Vec<&str>, Vec<&str>) =
        patterns.iter().map(String::as_str).partition(|text| text.starts_with('!'));
    let matching = |patterns: &[&str]| -> Vec<String> { patterns.iter().flat_map(|pattern| expand(files, pattern)).collect() };
    let excluded = matching(&excluded);
    matching(&included).into_iter().filter(|member| !excluded.contains(member)).collect()
}

/// Returns the directories that a pattern matches. `*` and `**` stand for one directory of any name.
fn expand(files: &dyn ProjectFiles, pattern: &str) -> Vec<String> {
    let parts = pattern.trim_start_matches('!').split('/').filter(|part| !part.is_empty() && *part != ".");
    let mut found = vec![String::new()];
    for part in parts {
        found = match part {
            ".." => Vec::new(),
            "*" | "**" => found.iter().flat_map(|directory| directories_in(files, directory)).collect(),
            name => found.iter().map(|directory| within(directory, name)).filter(|path| files.is_directory(path)).collect(),
        };
    }
    found.retain(|directory| !directory.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::fake::FakeFiles;

    #[test]
    fn each_package_manager_names_the_members_of_its_workspace() {
        for (file, text) in [
            ("package.json", r#"{"workspaces": ["packages/*", "tools/lint", "!packages/old"]}"#),
            ("package.json", r#"{"workspaces": {"packages": ["./packages/a/", "packages/b", "tools/lint"]}}"#),
            (
                "pnpm-workspace.yaml",
                "catalog:\n  - x\npackages:\n  # ours\n  - 'packages/*'\n  - tools/lint\n  - '!packages/old'\nonly: 1\n",
            ),
            ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"packages/*\", \"tools/lint\"]\nexclude = [\"packages/old\"]\n"),
        ] {
            let files =
                ["packages/a/x", "packages/b/x", "packages/old/x", "packages/file", "packages/node_modules/x", "tools/lint/x"];
            let files = files.into_iter().fold(FakeFiles::of(&[(file, text)]), |files, path| files.and(path, ""));
            assert_eq!(members(&files), ["packages/a", "packages/b", "tools/lint"], "{text}");
        }
        for text in ["", "{", r#"{"workspaces": "packages"}"#, r#"{"workspaces": ["../x", "", "none"]}"#] {
            assert_eq!(members(&FakeFiles::of(&[("package.json", text), ("a/x", "")])), [""; 0], "{text}");
        }
    }
}
