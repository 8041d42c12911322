//! The outputs that tools' own configuration files name: compiled files, declarations, coverage reports. Pure.
//!
//! An ignored file that a tool made from earlier sources is no input of a verdict, whatever the project calls its directory. Programs that
//! only a tool can evaluate, such as `vite.config.ts` and `build.gradle`, name what stands as a plain text after a key. A computed text says nothing.

use serde_json::Value;

use crate::jsonc::parse_jsonc;
use crate::leads_out::is_program;
use crate::tsc::joined;

/// What TypeScript replaces by the directory of the configuration that is used, also where another one extends it.
const CONFIGURATION_DIRECTORY: &str = "${configDir}";

/// The options of TypeScript's compiler that name what it writes.
const COMPILER_OUTPUTS: &[&str] = &["outDir", "declarationDir", "outFile", "tsBuildInfoFile"];

/// The tables of `pyproject.toml` with the outputs of coverage.py, each with the key.
const COVERAGE_OUTPUTS: &[(&str, &str)] = &[("html", "directory"), ("xml", "output"), ("json", "output"), ("lcov", "output")];

/// The keys of outputs in programs of JavaScript that configure a tool (`vite.config.ts`). Tools read the first two from the directory that
/// `root` names, so with it they say nothing here.
const PROGRAM_OUTPUTS: &[&str] = &["outDir", "reportsDirectory", "coverageDirectory"];

/// The keys of outputs in Gradle's programs.
const GRADLE_OUTPUTS: &[&str] = &["buildDir", "buildDirectory"];

/// Returns whether a file of this name may name outputs.
pub fn may_name_outputs(name: &[u8]) -> bool {
    is_compiler_configuration(name)
        || std::str::from_utf8(name).is_ok_and(|name| keys_of_program(name).is_some())
        || [&b"package.json"[..], b"pyproject.toml", b"config.toml"].contains(&name)
}

/// Returns the outputs that a configuration file names, as paths relative to the project's root. `path` is that of the file. What lies
/// outside of the project is left out.
pub fn configured_outputs(path: &str, text: &str) -> Vec<String> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let named: Vec<(&str, String)> = match name {
        "package.json" => with_directory(directory, jest_outputs(text)),
        "pyproject.toml" => with_directory(directory, coverage_outputs(text)),
        // Cargo reads paths of `.cargo/config.toml` from the directory around `.cargo`.
        "config.toml" => match directory.strip_suffix(".cargo") {
            Some(around) => with_directory(around, cargo_outputs(text)),
            None => Vec::new(),
        },
        _ if is_compiler_configuration(name.as_bytes()) => with_directory(directory, compiler_outputs(text)),
        _ => with_directory(directory, program_outputs(name, text)),
    };
    named.into_iter().filter_map(|(directory, output)| joined(directory, &output)).filter(|output| !output.is_empty()).collect()
}

fn is_compiler_configuration(name: &[u8]) -> bool {
    let is_named = |start: &[u8]| name.starts_with(start) && name.ends_with(b".json");
    is_named(b"tsconfig") || is_named(b"jsconfig")
}

fn with_directory(directory: &str, outputs: Vec<String>) -> Vec<(&str, String)> {
    outputs.into_iter().map(|output| (directory, output)).collect()
}

fn compiler_outputs(text: &str) -> Vec<String> {
    let settings = parse_jsonc(text).unwrap_or_default();
    let options = COMPILER_OUTPUTS.iter().filter_map(|name| settings.get("compilerOptions")?.get(name)?.as_str());
    let relative = |path: &str| match path.strip_prefix(CONFIGURATION_DIRECTORY) {
        Some(below) => below.trim_start_matches('/').to_owned(),
        None => path.to_owned(),
    };
    options.map(relative).collect()
}

fn jest_outputs(text: &str) -> Vec<String> {
    let package = parse_jsonc(text).unwrap_or_default();
    let directory = package.get("jest").and_then(|jest| jest.get("coverageDirectory")).and_then(Value::as_str);
    directory.map(|path| path.trim_start_matches("<rootDir>/").to_owned()).into_iter().collect()
}

fn keys_of_program(name: &str) -> Option<&'static [&'static str]> {
    if name.starts_with("build.gradle") {
        return Some(GRADLE_OUTPUTS);
    }
    (name.contains(".config.") && is_program(name)).then_some(PROGRAM_OUTPUTS)
}

/// Returns the outputs that a program names by a plain text: `outDir: "x"`, `buildDir = file("x")`, `buildDirectory.set(file("x"))`.
fn program_outputs(name: &str, text: &str) -> Vec<String> {
    let Some(keys) = keys_of_program(name) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().map(str::trim_start).filter(|line| !line.starts_with(['*', '/'])).collect();
    let text = lines.join("\n");
    let has_root = !values_of(&text, "root").is_empty();
    let keys = keys.iter().filter(|key| !has_root || !PROGRAM_OUTPUTS[..2].contains(key));
    let named = keys.flat_map(|key| values_of(&text, key)).filter_map(plain_text);
    named.map(|path| path.trim_start_matches("<rootDir>/").to_owned()).collect()
}

/// Returns what stands behind a key of a program: the rest of the text after `:`, `=` or `.set(`.
fn values_of<'text>(text: &'text str, key: &str) -> Vec<&'text str> {
    let is_part_of_name = |character: char| character.is_alphanumeric() || character == '_' || character == '$';
    let starts = text.match_indices(key).filter(|(at, _)| !text[..*at].ends_with(is_part_of_name));
    let values = starts.filter_map(|(at, _)| {
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
        [":", "=", ".set("].iter().find_map(|sign| rest.strip_prefix(sign)).map(str::trim_start)
    });
    values.collect()
}

/// Returns the plain text with which a value begins, also in `file(…)`; `None` if it is computed.
fn plain_text(value: &str) -> Option<&str> {
    let value = value.strip_prefix("file(").unwrap_or(value);
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    let (text, rest) = value[1..].split_once(quote)?;
    let is_whole = !rest.trim_start().starts_with(['+', '.']);
    (is_whole && !text.contains(['$', '\n', '\\'])).then_some(text)
}

fn coverage_outputs(text: &str) -> Vec<String> {
    let Ok(settings) = text.parse::<toml::Table>() else { return Vec::new() };
    let coverage = settings.get("tool").and_then(|tool| tool.get("coverage"));
    let outputs = COVERAGE_OUTPUTS.iter().filter_map(|(table, key)| coverage?.get(table)?.get(key)?.as_str());
    outputs.map(str::to_owned).collect()
}

fn cargo_outputs(text: &str) -> Vec<String> {
    let Ok(settings) = text.parse::<toml::Table>() else { return Vec::new() };
    let directory = settings.get("build").and_then(|build| build.get("target-dir")).and_then(toml::Value::as_str);
    directory.map(str::to_owned).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_outputs_relative_to_itself() {
        let rows = [
            (
                "base/tsconfig.json",
                r#"{"compilerOptions": {"outDir": "./out", /* x */ "tsBuildInfoFile": "../info"}}"#,
                &["base/out", "info"][..],
            ),
            ("tsconfig.build.json", r#"{"compilerOptions": {"declarationDir": "${configDir}/types"}}"#, &["types"]),
            ("web/package.json", r#"{"jest": {"coverageDirectory": "<rootDir>/reports"}}"#, &["web/reports"]),
            (
                "pyproject.toml",
                "[tool.coverage.html]\ndirectory = \"site\"\n[tool.coverage.xml]\noutput = \"c.xml\"\n",
                &["site", "c.xml"],
            ),
            ("a/.cargo/config.toml", "[build]\ntarget-dir = \"made\"\n", &["a/made"]),
            ("vite.config.ts", "export default defineConfig({ build: { outDir: 'made', // x\n emptyOutDir: true } })", &["made"]),
            ("web/vitest.config.mts", "test: { coverage: { 'reportsDirectory': \"../reports\" } }", &["reports"]),
            ("jest.config.js", "module.exports = {\n  coverageDirectory: '<rootDir>/cover',\n}", &["cover"]),
            ("build.gradle", "buildDir = file('made')\n", &["made"]),
            ("lib/build.gradle.kts", "layout.buildDirectory.set(file(\"made\"))\n", &["lib/made"]),
            ("build.gradle.kts", "layout.buildDirectory = file(\"made\")\n", &["made"]),
            (".cargo/config.toml", "[build]\ntarget-dir = \"made\"\n", &["made"]),
        ];
        for (path, text, expected) in rows {
            assert!(may_name_outputs(path.rsplit('/').next().expect("a name").as_bytes()), "{path}");
            assert_eq!(configured_outputs(path, text), expected, "{path}");
        }
    }

    #[test]
    fn what_lies_outside_or_is_the_project_itself_is_no_output() {
        for path in ["../elsewhere", "/tmp/out", ".", ""] {
            let text = format!("{{\"compilerOptions\": {{\"outDir\": {path:?}}}}}");
            assert!(configured_outputs("tsconfig.json", &text).is_empty(), "{path}");
        }
        for (path, text) in [
            ("vite.config.ts", "root: 'src', build: { outDir: 'made' }"),
            (
                "vite.config.ts",
                "build: { outDir: `made` }, x: { outDir: out }, y: { outDir: 'a' + b }, myoutDir: 'c', z: outDirs",
            ),
            ("vite.config.ts", "// outDir: 'made'\n /* outDir: 'x' */\n * outDir: 'y'\n"),
            ("build.gradle", "buildDir = \"${rootDir}/x\"\nbuildDir = file(\"a$b\")\n"),
            ("vite.config.ts", "outDir: '../elsewhere'"),
        ] {
            assert_eq!(configured_outputs(path, text), [] as [&str; 0], "{text}");
        }
        assert!(configured_outputs("tsconfig.json", "{").is_empty());
        assert!(configured_outputs("web/config.toml", "[build]\ntarget-dir = \"x\"\n").is_empty());
    }
}
