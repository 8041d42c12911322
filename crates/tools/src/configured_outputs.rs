//! The outputs that tools' own configuration files name: compiled files, declarations, coverage reports. Pure.
//!
//! An ignored file that a tool made from earlier sources is no input of a verdict, whatever the project calls its directory. Files of
//! JavaScript that only a tool can evaluate, such as `vite.config.ts`, are not read.

use serde_json::Value;

use crate::jsonc::parse_jsonc;
use crate::tsc::joined;

/// What TypeScript replaces by the directory of the configuration that is used, also where another one extends it.
const CONFIGURATION_DIRECTORY: &str = "${configDir}";

/// The options of TypeScript's compiler that name what it writes.
const COMPILER_OUTPUTS: &[&str] = &["outDir", "declarationDir", "outFile", "tsBuildInfoFile"];

/// The tables of `pyproject.toml` with the outputs of coverage.py, each with the key.
const COVERAGE_OUTPUTS: &[(&str, &str)] = &[("html", "directory"), ("xml", "output"), ("json", "output"), ("lcov", "output")];

/// Returns whether a file of this name may name outputs.
pub fn may_name_outputs(name: &[u8]) -> bool {
    is_compiler_configuration(name) || [&b"package.json"[..], b"pyproject.toml", b"config.toml"].contains(&name)
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
        _ => Vec::new(),
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
        assert!(configured_outputs("tsconfig.json", "{").is_empty());
        assert!(configured_outputs("web/config.toml", "[build]\ntarget-dir = \"x\"\n").is_empty());
    }
}
