//! Finds the paths that a project's own files name and that lead out of the file's directory: `extends` of `tsconfig.json`, path
//! dependencies, workspaces. Pure.
//!
//! One rule covers the tools: a text in such a file that begins with `../`, also behind `file:`, `link:` or `-e`, is a path from the file's
//! directory. Of a program, only what it imports counts. Whether something is there, and to whom it belongs, is for the caller to find out.

use serde_json::Value;

use proctor_model::Tool;

use crate::jsonc::parse_jsonc;

/// The files that are read, by patterns of their names, in a project and in what it leads to, beside the tools' own configuration.
const MANIFESTS: &str = "\
    tsconfig*.json jsconfig*.json package.json Cargo.toml pyproject.toml requirements*.txt tox.ini setup.cfg biome.json* \
    .babelrc* go.work go.mod vite.config.* babel.config.* postcss.config.*";

/// The files that are looked for in every directory above a project, up to the repository's root, beside the tools' own configuration.
const CONFIGURATION_ABOVE: &str = "\
    tox.ini setup.cfg pyproject.toml uv.lock uv.toml .coveragerc .editorconfig biome.json* babel.config.* .babelrc* \
    .browserslistrc postcss.config.* package.json package-lock.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock .yarnrc.yml \
    .npmrc .pnp.cjs nx.json turbo.json Cargo.toml Cargo.lock .cargo/config .cargo/config.toml rustfmt.toml clippy.toml go.work \
    go.work.sum .python-version .nvmrc .node-version .java-version .tool-versions mise.toml .mise.toml";

/// The directories in which that configuration lies, from a directory above the project. The first is that directory itself.
pub const CONFIGURATION_DIRECTORIES: [&str; 2] = ["", ".cargo/"];

/// The endings of programs of JavaScript and TypeScript.
pub const PROGRAM_ENDINGS: [&str; 6] = ["js", "cjs", "mjs", "ts", "cts", "mts"];

/// Keys whose values name what a tool writes: `outDir` of tsconfig, the target directory of Cargo.
const OUTPUTS: &[&str] = &["outDir", "outFile", "declarationDir", "tsBuildInfoFile", "target-dir", "outdir", "coverageDirectory"];

/// Words that may stand before a path in a text.
const BEFORE_PATHS: &[&str] = &["file:", "link:", "portal:", "path:", "-e", "--editable", "-r", "-c"];

/// What stands before the path of a module that a program imports, or of a configuration that it extends.
const BEFORE_IMPORTS: &[&str] = &["from", "import", "import(", "require(", "extends:", "extends: [", "extends:["];

/// Where a manifest lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestPlace {
    InProject,
    /// Beside the project. What the manifest extends or imports from its own directory (`./strict.json`) lies there too.
    Beside,
}

/// Decides by a file's name whether its content may name paths outside of the tree, and so has to be read.
pub fn may_lead_out(name: &str) -> bool {
    MANIFESTS.split(' ').any(|pattern| fits_pattern(pattern, name)) || (configures_a_tool(name) && !name.ends_with(".py"))
}

/// Returns whether tools look for a file in the directories above a project, by its path from such a directory.
pub fn is_configuration_above(path: &str) -> bool {
    CONFIGURATION_ABOVE.split(' ').any(|pattern| fits_pattern(pattern, path)) || configures_a_tool(path)
}

fn configures_a_tool(name: &str) -> bool {
    Tool::ALL.into_iter().flat_map(Tool::configuration).any(|pattern| fits_pattern(pattern, name))
}

/// Returns whether a file of this name is a program of JavaScript or TypeScript, whose texts name more than paths.
pub(crate) fn is_program(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| PROGRAM_ENDINGS.contains(&ending))
}

/// Returns whether a name fits a pattern, in which one `*` stands for any characters.
pub fn fits_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after),
        None => name == pattern,
    }
}

/// Returns the paths that lead out of the directory of a file, as the file `name` with this text names them. A pattern is cut off before
/// its first `*`.
pub fn paths_that_lead_out(name: &str, text: &str, place: ManifestPlace) -> Vec<String> {
    let parsed = match name.rsplit('.').next() {
        Some("json" | "jsonc" | "eslintrc" | "babelrc") => parse_jsonc(text),
        Some("toml") => toml::from_str(text).ok(),
        _ => None,
    };
    let mut found = Vec::new();
    match parsed {
        Some(value) => collect(&value, place, &mut found),
        None if is_program(name) => found.extend(imports(text, place)),
        None => text
            .split(['"', '\'', ',', '=', '[', ']'])
            .flat_map(str::split_whitespace)
            .for_each(|part| found.extend(to_path(part))),
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the paths of modules that a program imports by a plain text.
fn imports(text: &str, place: ManifestPlace) -> impl Iterator<Item = String> {
    let quotes = text.match_indices(['"', '\'']);
    quotes.filter_map(move |(at, quote)| {
        let before = text[..at].trim_end();
        let path = text[at + 1..].split_once(quote)?.0;
        BEFORE_IMPORTS
            .iter()
            .any(|word| before.ends_with(word))
            .then(|| from_own_directory(path, place).or_else(|| to_path(path)))?
    })
}

/// Returns a path that begins with `./`, if the file that has it lies beside the project.
fn from_own_directory(text: &str, place: ManifestPlace) -> Option<String> {
    (place == ManifestPlace::Beside && text.starts_with("./") && text.len() > 2).then(|| text.to_owned())
}

/// Returns the names of the packages that a `package.json` depends on. A package manager may link them to directories of a workspace.
pub fn dependencies_of_package(text: &str) -> Vec<String> {
    let package = parse_jsonc(text).unwrap_or_default();
    let tables = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    let tables = tables.iter().filter_map(|table| package.get(table)?.as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// Returns the name of the package whose `package.json` has this text.
pub fn name_of_package(text: &str) -> Option<String> {
    parse_jsonc(text)?.get("name")?.as_str().map(str::to_owned)
}

/// Returns the members of the workspace that the file `name` with this text names: patterns of paths from its directory. What is excluded
/// from them begins with `!`.
pub fn members_of_workspace(name: &str, text: &str) -> Vec<String> {
    let parsed = match name {
        "package.json" => parse_jsonc(text),
        "pnpm-workspace.yaml" => return members_of_pnpm(text),
        "go.work" => return text.split_whitespace().filter(|word| word.starts_with("./")).map(str::to_owned).collect(),
        _ => toml::from_str(text).ok(),
    };
    let members = parsed.as_ref().and_then(|value| match name {
        "package.json" => value.pointer("/workspaces/packages").or(value.get("workspaces")),
        "pyproject.toml" => value.pointer("/tool/uv/workspace/members"),
        _ => value.pointer("/workspace/members"),
    });
    let texts = |list: Option<&Value>| -> Vec<String> {
        list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let excluded = parsed.as_ref().and_then(|value| value.pointer("/tool/uv/workspace/exclude"));
    texts(members).into_iter().chain(texts(excluded).into_iter().map(|pattern| format!("!{pattern}"))).collect()
}

/// Returns the list `packages` of a `pnpm-workspace.yaml`. Every form of a list that has each entry in a line, or quoted in one, is read.
fn members_of_pnpm(text: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("packages:"));
    let first = lines.next().and_then(|line| line.strip_prefix("packages:")).unwrap_or_default();
    let list = lines.take_while(|line| line.trim().is_empty() || line.starts_with([' ', '-', '#', ']']));
    let entries = std::iter::once(first).chain(list).flat_map(|line| line.split(" #").next().unwrap_or_default().split(','));
    let plain = entries.map(|entry| entry.trim().trim_start_matches("- ").trim_matches(['"', '\'', '[', ']', ' ']));
    plain.filter(|entry| !entry.is_empty() && !entry.starts_with('#')).map(str::to_owned).collect()
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

fn collect(value: &Value, place: ManifestPlace, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(to_path(text)),
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, place, found)),
        Value::Object(entries) => {
            for (key, entry) in entries.iter().filter(|(key, _)| !OUTPUTS.contains(&key.as_str())) {
                if key == "extends" {
                    let texts =
                        entry.as_array().map_or(std::slice::from_ref(entry), Vec::as_slice).iter().filter_map(Value::as_str);
                    found.extend(texts.filter_map(|text| from_own_directory(text, place)));
                }
                collect(entry, place, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn to_path(text: &str) -> Option<String> {
    let text = text.trim();
    let text = BEFORE_PATHS.iter().find_map(|before| text.strip_prefix(before)).unwrap_or(text).trim_start();
    // Tools have a word for the directory of the file: `<rootDir>`, `${configDir}`.
    let text = text.split_once('/').filter(|(first, _)| first.starts_with(['$', '<'])).map_or(text, |(_, below)| below);
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
            (
                "eslint.config.mjs",
                "import base from \"../eslint.base.mjs\"; // don't\nimport '../side.js'\nconst out = \"../dist\"; import x from './own.mjs'\n",
                &["../eslint.base.mjs", "../side.js"],
            ),
            (
                ".eslintrc.cjs",
                "module.exports = { extends: ['../.eslintrc.base'] , x: require('../y') }",
                &["../.eslintrc.base", "../y"],
            ),
            (".eslintrc.yml", "extends: ../.eslintrc.base.yml\nrules:\n  - ../other\n", &["../.eslintrc.base.yml", "../other"]),
            ("requirements-dev.txt", "-e ../lib\n-r ../base.txt\nrequests==2\n", &["../base.txt", "../lib"]),
            ("pytest.ini", "[pytest]\npythonpath = ../shared\n", &["../shared"]),
            ("mypy.ini", "[mypy]\nmypy_path = $MYPY_CONFIG_FILE_DIR/../stubs\n", &["../stubs"]),
            ("package.json", "{\"jest\": {\"roots\": [\"<rootDir>/../lib\", \"<rootDir>/src\"]}}", &["../lib"]),
            ("tsconfig.json", "{\"extends\": \"..\", \"include\": [\"../*\"]}", &[]),
            ("Cargo.toml", "not toml [", &[]),
        ] {
            assert!(may_lead_out(name), "{name}");
            assert_eq!(paths_that_lead_out(name, text, ManifestPlace::InProject), expected, "{name}");
        }
        for (name, text, expected) in [
            (
                "tsconfig.base.json",
                "{\"extends\": [\"./strict.json\", \"@acme/x\"], \"files\": [\"./a.ts\"]}",
                &["./strict.json"][..],
            ),
            ("eslint.config.js", "import a from './rules/a.js'\nconst b = './b'\n", &["./rules/a.js"]),
        ] {
            assert_eq!(paths_that_lead_out(name, text, ManifestPlace::Beside), expected, "{name}");
        }
        assert!(!may_lead_out("a.json") && !may_lead_out("tsconfig.ts") && !may_lead_out("conftest.py"));
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
        for (name, text) in [
            ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"crates/*\"]\n"),
            ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"app\", \"crates/*\"]\n"),
            ("package.json", "{\"workspaces\": [\"app\", \"crates/*\"]}"),
            ("package.json", "{\"workspaces\": {\"packages\": [\"app\", \"crates/*\"]}}"),
            ("pnpm-workspace.yaml", "# x\npackages:\n  # all\n  - app\n\n  - 'crates/*' # y\ncatalog:\n  a: 1\n"),
            ("pnpm-workspace.yaml", "packages:\n- \"app\"\n- crates/*\nonlyBuiltDependencies:\n- a\n"),
            ("pnpm-workspace.yaml", "packages: [\"app\", 'crates/*']\n"),
        ] {
            assert_eq!(members_of_workspace(name, text), ["app", "crates/*"], "{name}");
        }
        for (name, text) in [
            ("package.json", "{\"workspaces\": [\"app\", \"!no\"]}"),
            ("pnpm-workspace.yaml", "packages:\n  - app\n  - \"!no\"\n"),
            ("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"app\"]\nexclude = [\"no\"]\n"),
        ] {
            assert_eq!(members_of_workspace(name, text), ["app", "!no"], "{name}");
        }
        assert_eq!(members_of_workspace("go.work", "go 1.24\nuse ./app\nuse (\n\t./lib // x\n)\n"), ["./app", "./lib"]);
        assert_eq!(members_of_workspace("Cargo.toml", "[package]\nname = \"a\"\n"), [] as [&str; 0]);
        assert_eq!(name_of_package("{\"name\": \"@acme/core\"}").as_deref(), Some("@acme/core"));
        assert_eq!(dependencies_of_package("{\"dependencies\": {\"@acme/core\": \"*\"}}"), ["@acme/core"]);
    }
}
