//! Finds the paths that a project's own files name and that lead out of the file's directory: `extends` of `tsconfig.json`, path
//! dependencies, workspaces. Pure.
//!
//! One rule covers the tools: a text in such a file that begins with `../`, also behind `file:`, `link:` or `-e`, is a path from the file's
//! directory. Whether something is there, and to whom it belongs, is for the caller to find out.

use serde_json::Value;

use proctor_model::Tool;

use crate::jsonc::parse_jsonc;

/// The files that are read, by patterns of their names, in a project and in what it leads to, beside the tools' own configuration.
const MANIFESTS: &[&str] = &[
    "tsconfig*.json",
    "jsconfig*.json",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "requirements*.txt",
    "tox.ini",
    "setup.cfg",
    "biome.json*",
    ".babelrc*",
    "go.work",
    "go.mod",
];

/// The files that are looked for in every directory above a project, up to the repository's root, beside the tools' own configuration.
const CONFIGURATION_ABOVE: &[&str] = &[
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
    "uv.lock",
    "uv.toml",
    ".coveragerc",
    ".editorconfig",
    "biome.json*",
    "babel.config.*",
    ".babelrc*",
    ".browserslistrc",
    "postcss.config.*",
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    ".yarnrc.yml",
    ".npmrc",
    ".pnp.cjs",
    "nx.json",
    "turbo.json",
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "rustfmt.toml",
    "clippy.toml",
    "go.work",
    "go.work.sum",
    ".python-version",
    ".nvmrc",
    ".node-version",
    ".tool-versions",
];

/// Keys whose values name what a tool writes: `outDir` of tsconfig, the target directory of Cargo.
const OUTPUTS: &[&str] = &["outDir", "outFile", "declarationDir", "tsBuildInfoFile", "target-dir", "outdir", "coverageDirectory"];

/// Words that may stand before a path in a text.
const BEFORE_PATHS: &[&str] = &["file:", "link:", "portal:", "path:", "-e ", "-e", "--editable ", "--editable=", "-r ", "-c "];

/// Returns whether a file is read for the paths that it names, by its name.
pub fn may_lead_out(name: &str) -> bool {
    MANIFESTS.iter().any(|pattern| fits(pattern, name)) || (configures_a_tool(name) && !is_program(name))
}

/// Returns whether tools look for a file in the directories above a project, by its path from such a directory.
pub fn is_configuration_above(path: &str) -> bool {
    CONFIGURATION_ABOVE.iter().any(|pattern| fits(pattern, path)) || configures_a_tool(path)
}

fn configures_a_tool(name: &str) -> bool {
    Tool::ALL.into_iter().flat_map(Tool::configuration).any(|pattern| fits(pattern, name))
}

/// Returns whether a file of this name is a program, whose texts name more than paths.
fn is_program(name: &str) -> bool {
    const PROGRAMS: [&str; 7] = ["py", "js", "cjs", "mjs", "ts", "cts", "mts"];
    name.rsplit_once('.').is_some_and(|(_, extension)| PROGRAMS.contains(&extension))
}

/// Returns whether a name fits a pattern, in which `*` at the end or in the middle stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after),
        None => name == pattern,
    }
}

/// Returns the paths that lead up from the directory of a file, as the file `name` with this text names them. A pattern is cut off before
/// its first `*`.
pub fn paths_that_lead_out(name: &str, text: &str) -> Vec<String> {
    let parsed = match name.rsplit('.').next() {
        Some("json" | "jsonc" | "eslintrc" | "babelrc") => parse_jsonc(text),
        Some("toml") => toml::from_str(text).ok(),
        _ => None,
    };
    let mut found = Vec::new();
    match parsed {
        Some(value) => collect(&value, &mut found),
        None => text.split(['\n', '"', '\'', ',', '=']).for_each(|part| found.extend(to_path(part))),
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the names of the packages that a `package.json` depends on. A package manager may link them to directories of a workspace.
pub fn dependencies_of_package(text: &str) -> Vec<String> {
    let package = parse_jsonc(text).unwrap_or_default();
    let tables = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let tables = tables.iter().filter_map(|table| package.get(table)?.as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// Returns the members of the Cargo workspace whose manifest has this text: paths from its directory, which may end in `/*`. `None` if it is
/// no workspace.
pub fn members_of_cargo_workspace(text: &str) -> Option<Vec<String>> {
    let manifest: toml::Table = text.parse().ok()?;
    let members = manifest.get("workspace")?.as_table()?.get("members").and_then(toml::Value::as_array);
    Some(members.into_iter().flatten().filter_map(|member| member.as_str().map(str::to_owned)).collect())
}

/// Returns the absolute paths that a file of a Python environment adds to where modules are found: the lines of a `.pth` file, the texts of
/// an editable installation's finder, the address in a `direct_url.json`.
pub fn paths_of_environment_file(name: &str, text: &str) -> Vec<String> {
    let absolute = |path: &str| path.starts_with('/').then(|| path.to_owned());
    if name.ends_with(".pth") {
        return text.lines().map(str::trim).filter_map(absolute).collect();
    }
    if name == "direct_url.json" {
        let value = parse_jsonc(text).unwrap_or_default();
        let is_editable = value.pointer("/dir_info/editable").and_then(Value::as_bool) == Some(true);
        let address = value.get("url").and_then(Value::as_str).and_then(|url| url.strip_prefix("file://"));
        return address.filter(|_| is_editable).and_then(absolute).into_iter().collect();
    }
    text.split(['\'', '"']).filter_map(absolute).filter(|path| !path.contains('\n')).collect()
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(to_path(text)),
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, found)),
        Value::Object(entries) => {
            let read = entries.iter().filter(|(key, _)| !OUTPUTS.contains(&key.as_str()));
            read.for_each(|(_, entry)| collect(entry, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn to_path(text: &str) -> Option<String> {
    let text = text.trim();
    let text = BEFORE_PATHS.iter().find_map(|before| text.strip_prefix(before)).unwrap_or(text).trim_start();
    let plain: Vec<&str> = text.split('/').take_while(|part| !part.contains(['*', '{', '$', '<', '|'])).collect();
    let is_path = text.starts_with("../") && plain.iter().any(|part| !matches!(*part, ".." | "." | ""));
    is_path.then(|| plain.join("/").trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_what_lies_beside_is_found() {
        for (name, text, expected) in [
            (
                "tsconfig.json",
                "{ // base\n \"extends\": \"../tsconfig.base\", \"references\": [{\"path\": \"../lib\"}], \"files\": [\"a.ts\"],\n\
                 \"compilerOptions\": {\"outDir\": \"../dist\", \"paths\": {\"@s/*\": [\"../shared/src/*\"]}}, }",
                &["../lib", "../shared/src", "../tsconfig.base"][..],
            ),
            (
                "package.json",
                "{\"scripts\": {\"test\": \"cd ../x && node\"}, \"dependencies\": {\"a\": \"file:../a\", \"b\": \"link:../../b/\", \"c\": \"^1\"}}",
                &["../../b", "../a"],
            ),
            (
                "Cargo.toml",
                "[dependencies]\nlib = { path = \"../lib\" }\n[target.'cfg(unix)'.dev-dependencies]\nu = { path = \"../u\", version = \"1\" }\n",
                &["../lib", "../u"],
            ),
            (
                "pyproject.toml",
                "[tool.uv.sources]\nlib = { path = \"../lib\", editable = true }\n[tool.poetry.dependencies]\np = {path = \"../p\"}\n\
                 [tool.pytest.ini_options]\npythonpath = [\"../shared\"]\n",
                &["../lib", "../p", "../shared"],
            ),
            ("requirements-dev.txt", "-e ../lib\n-r ../base.txt\nrequests==2\n", &["../base.txt", "../lib"]),
            ("pytest.ini", "[pytest]\npythonpath = ../shared\n", &["../shared"]),
            ("tsconfig.json", "{\"extends\": \"..\", \"include\": [\"../*\"]}", &[]),
            ("Cargo.toml", "not toml [", &[]),
        ] {
            assert!(may_lead_out(name), "{name}");
            assert_eq!(paths_that_lead_out(name, text), expected, "{name}");
        }
        assert!(!may_lead_out("a.json") && !may_lead_out("tsconfig.ts"));
        assert!(
            is_configuration_above("conftest.py")
                && is_configuration_above("eslint.config.mjs")
                && !is_configuration_above("a.py")
        );
    }

    #[test]
    fn files_of_an_environment_name_absolute_paths() {
        assert_eq!(paths_of_environment_file("a.pth", "/r/lib\nimport x; x.y()\nrelative\n"), ["/r/lib"]);
        let finder = "MAPPING: dict[str, str] = {'lib': '/r/lib/src/lib'}\nNAMESPACES = {}\n";
        assert_eq!(paths_of_environment_file("__editable___lib_finder.py", finder), ["/r/lib/src/lib"]);
        let direct = "{\"url\": \"file:///r/lib\", \"dir_info\": {\"editable\": true}}";
        assert_eq!(paths_of_environment_file("direct_url.json", direct), ["/r/lib"]);
        let copied = "{\"url\": \"file:///r/lib\", \"dir_info\": {}}";
        assert_eq!(paths_of_environment_file("direct_url.json", copied), [] as [&str; 0], "it was copied");
    }

    #[test]
    fn what_a_workspace_has_is_read() {
        let text = "[workspace]\nmembers = [\"app\", \"crates/*\"]\n";
        assert_eq!(members_of_cargo_workspace(text), Some(vec!["app".to_owned(), "crates/*".to_owned()]));
        assert_eq!(members_of_cargo_workspace("[package]\nname = \"a\"\n"), None);
        assert_eq!(dependencies_of_package("{\"dependencies\": {\"@acme/core\": \"*\"}}"), ["@acme/core"]);
    }
}
