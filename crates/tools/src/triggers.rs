//! The files whose change most likely changes a tool's result, by kind of project. `proctor init` proposes them as `paths`.
//!
//! They decide only which saves start a check at once. They are no proof of what a check reads: after any other change the
//! task is stale until the check has run. So they leave out what seldom matters, such as documentation, and are generous
//! otherwise.

use std::collections::BTreeSet;

use crate::leads_out::{ManifestPlace, may_lead_out, members_of_workspace, paths_that_lead_out};
use crate::project_files::{ProjectFiles, within};
use crate::table::row_of;
use proctor_model::Tool;

/// For tools that read Python code and its settings.
pub(super) const PYTHON_SOURCES: &[&str] = &["**/*.{py,pyi,ipynb,toml,cfg,ini,lock}", "**/requirements*.txt"];

/// For the tests of a Python project, which may also read data.
pub(super) const PYTHON_TESTS: &[&str] = &[
    "**/*.{py,pyi,pyx,toml,cfg,ini,lock,json,yaml,yml,csv,sql,xml,html,j2}",
    "**/requirements*.txt",
    "**/{test,tests,testing,fixtures}/**",
];

/// For tools that read JavaScript or TypeScript code and its settings.
pub(super) const SCRIPT_SOURCES: &[&str] =
    &["**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte,astro,json,lock}", "**/{pnpm-lock.yaml,bun.lockb}"];

/// For the tests of a JavaScript or TypeScript project, which may also read data.
pub(super) const SCRIPT_TESTS: &[&str] = &[
    "**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte,json,lock,lockb,snap,css,scss,html,graphql,yaml,yml,csv,sql}",
    "**/{test,tests,__tests__,__mocks__,__snapshots__,fixtures}/**",
];

/// For the tests of a Rust project.
pub(super) const RUST_TESTS: &[&str] =
    &["**/*.{rs,toml,lock,json,yaml,yml,csv,sql,snap,proto}", "**/{tests,testdata,fixtures,benches,examples}/**"];

/// For the tests of a Go project.
pub(super) const GO_TESTS: &[&str] = &["**/*.{go,mod,sum,work,json,yaml,yml,sql,tmpl,proto,s,c,h}", "**/testdata/**"];

/// Returns the globs that `proctor init` proposes as `paths` of a check with this tool: those of its row, and the tool's own
/// configuration files as far as these do not name them. Empty if any change may matter.
pub fn proposed_paths(tool: Tool) -> Vec<String> {
    let triggers = row_of(tool).triggers;
    if triggers.is_empty() {
        return Vec::new();
    }
    let configuration = tool.configuration().iter().filter(|pattern| !triggers.iter().any(|glob| names_ending_of(glob, pattern)));
    triggers.iter().map(ToString::to_string).chain(configuration.map(|pattern| format!("**/{pattern}"))).collect()
}

/// Returns the globs that keep a save in another package from starting a check in `directory`, to follow those of [`proposed_paths`].
/// `packages` are the directories of all checks. Empty where a package may read another one: in a workspace, and where a file of
/// `directory` names a path outside of it.
pub fn paths_of_other_packages(files: &dyn ProjectFiles, directory: &str, packages: &[String]) -> Vec<String> {
    let text = |path: &str| files.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let names_members = |name: &String| {
        (may_lead_out(name) || name == "pnpm-workspace.yaml") && !members_of_workspace(name, &text(name)).is_empty()
    };
    let leads_out = |name: &String| {
        let read = || paths_that_lead_out(name, &text(&within(directory, name)), ManifestPlace::InProject);
        may_lead_out(name) && !read().is_empty()
    };
    let is_outside = |one: &str, other: &str| !one.is_empty() && !format!("{one}/").starts_with(&format!("{other}/"));
    let is_plain = |package: &str| !package.contains(['*', '?', '[', ']', '{', '}', '\\']);
    let is_other = |package: &&String| is_outside(package, directory) && is_outside(directory, package) && is_plain(package);
    let others: BTreeSet<String> = packages.iter().filter(is_other).map(|package| format!("!{package}/**")).collect();
    let may_read = || files.names("").iter().any(names_members) || files.names(directory).iter().any(leads_out);
    if others.is_empty() || may_read() { Vec::new() } else { others.into_iter().collect() }
}

/// Returns whether a glob of the form `**/*.{a,b}` names the ending of a file. Compiling a glob would take longer than a run may wait.
fn names_ending_of(glob: &str, file: &str) -> bool {
    let endings = glob.strip_prefix("**/*.{").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    file.rsplit_once('.').is_some_and(|(_, ending)| endings.split(',').any(|named| named == ending))
}

#[cfg(test)]
mod tests {
    use globset::{Glob, GlobMatcher};

    use super::*;
    use crate::project_files::fake::FakeFiles;

    #[test]
    fn a_package_is_apart_from_others_unless_a_workspace_or_one_of_its_files_leads_there() {
        let packages = ["api", "web", "web/e2e", "api", "odd[1]"].map(str::to_owned);
        let apart = |files: &[(&str, &str)], directory: &str| {
            let all = [&[("api/pyproject.toml", "[project]\nname = \"api\"\n"), ("web/package.json", "{}")], files].concat();
            paths_of_other_packages(&FakeFiles::of(&all), directory, &packages)
        };
        assert_eq!(apart(&[], "api"), ["!web/**", "!web/e2e/**"]);
        assert_eq!(apart(&[], "web"), ["!api/**"], "what lies in it is no other package");
        assert_eq!(apart(&[], "web/e2e"), ["!api/**"], "nor is what it lies in");
        assert_eq!(apart(&[], ""), [""; 0]);
        for joined in [
            ("package.json", "{\"workspaces\": [\"web\"]}"),
            ("pnpm-workspace.yaml", "packages:\n  - web\n"),
            ("go.work", "use ./api\n"),
            ("Cargo.toml", "[workspace]\nmembers = [\"api\"]\n"),
            ("api/requirements.txt", "-e ../web\n"),
            ("api/tsconfig.json", "{\"references\": [{\"path\": \"../web\"}]}"),
        ] {
            assert_eq!(apart(&[joined], "api"), [""; 0], "{joined:?}");
        }
    }

    fn glob_matcher(glob: &str) -> GlobMatcher {
        Glob::new(glob).expect("the rows hold globs").compile_matcher()
    }

    #[test]
    fn a_configuration_file_is_left_out_exactly_where_a_glob_of_the_row_names_it() {
        for tool in Tool::ALL {
            let triggers = row_of(tool).triggers;
            let is_named = |file: &str| triggers.iter().any(|glob| glob_matcher(glob).is_match(file.replace('*', "x")));
            for file in tool.configuration().iter().filter(|_| !triggers.is_empty()) {
                let is_proposed = proposed_paths(tool).contains(&format!("**/{file}"));
                assert_eq!(is_proposed, !is_named(file), "{tool:?} {file}");
            }
        }
    }

    /// Returns the tools whose checks a change of a file starts by the proposals.
    fn triggered_by(path: &str) -> Vec<&'static str> {
        let has_it = |tool: &Tool| proposed_paths(*tool).iter().any(|glob| glob_matcher(glob).is_match(path));
        Tool::ALL.into_iter().filter(has_it).map(Tool::word).collect()
    }

    #[test]
    fn a_save_triggers_the_tools_that_read_such_files_and_documentation_none() {
        let python = ["pytest", "mypy", "ruff", "flake8", "pylint", "ty", "pyrefly", "pyright"];
        let script = [
            "jest",
            "vitest",
            "node-test",
            "tsc",
            "eslint",
            "oxlint",
            "biome",
            "mocha",
            "playwright",
            "bun-test",
            "deno-test",
            "ava",
        ];
        for (path, expected) in [
            ("shop/cart.py", &python[..]),
            ("requirements-dev.txt", &python),
            ("web/src/table.ts", &script),
            ("web/bun.lockb", &script),
            ("web/.eslintrc", &["eslint"]),
            (".flake8", &["flake8"]),
            ("clock.md", &[]),
            ("src/lib.rs", &["cargo-test", "clippy"]),
            ("cmd/main.go", &["go-test"]),
            (
                "tests/data/expected.txt",
                &[
                    "pytest",
                    "jest",
                    "vitest",
                    "node-test",
                    "cargo-test",
                    "clippy",
                    "mocha",
                    "playwright",
                    "bun-test",
                    "deno-test",
                    "ava",
                ],
            ),
            ("README.md", &[]),
            ("docs/guide/index.rst", &[]),
            ("LICENSE", &[]),
        ] {
            assert_eq!(triggered_by(path), expected, "{path}");
        }
    }
}
