//! Finds the strictness of mypy from its arguments and from its configuration file.

use toml::de::DeTable;

use crate::checker_call::CheckerCall;
use crate::project_files::{ProjectFiles, within};
use crate::strictness::{Strictness, StrictnessRead};

/// The configuration files in mypy's search order, each with the section that mypy reads.
const CONFIGURATIONS: &[(&str, &str)] =
    &[("mypy.ini", "mypy"), (".mypy.ini", "mypy"), ("pyproject.toml", "tool.mypy"), ("setup.cfg", "mypy")];

/// The option that forbids functions without types. mypy treats such functions as if their types were `Any`.
pub(crate) const UNTYPED: &str = "disallow_untyped_defs";

/// Returns the strictness of a call of mypy in a directory. The error names a configuration file that cannot be read.
pub(crate) fn strictness(files: &dyn ProjectFiles, directory: &str, call: &CheckerCall) -> StrictnessRead {
    let named = call.value(&["--config-file"]);
    let (path, section) = match named {
        Some(path) => (Some(within(directory, path)), if path.ends_with(".toml") { "tool.mypy" } else { "mypy" }),
        None => {
            let found = CONFIGURATIONS.iter().find(|(name, section)| has_mypy_settings(files, &within(directory, name), section));
            found.map_or((None, ""), |(name, section)| (Some(within(directory, name)), *section))
        }
    };
    let text = match &path {
        Some(path) => Some(read(files, path).ok_or_else(|| format!("`{path}` cannot be read"))?),
        None => None,
    };
    let option = |name: &str| text.as_deref().and_then(|text| setting(text, section, name));
    let strict = call.has("--strict") || option("strict") == Some(true);
    let allows = call.has("--allow-untyped-defs");
    let disallows = call.has("--disallow-untyped-defs") || option(UNTYPED).unwrap_or(strict);
    let place = path.map_or_else(|| "its command line".to_owned(), |path| format!("`{path}`"));
    Ok(Strictness { strict, implicit_any: allows || !disallows, place })
}

fn read(files: &dyn ProjectFiles, path: &str) -> Option<String> {
    files.read(path).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Returns whether mypy would use a file. Files that other tools share must have mypy's section.
fn has_mypy_settings(files: &dyn ProjectFiles, path: &str, section: &str) -> bool {
    let is_its_own = path.ends_with("mypy.ini");
    read(files, path).is_some_and(|text| is_its_own || section_of(&text, section).is_some())
}

fn setting(text: &str, section: &str, name: &str) -> Option<bool> {
    let value = section_of(text, section)?.into_iter().rev().find(|(key, _)| key == name)?.1;
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns the keys and values of a section, of a TOML table only the boolean values; `None` if there is no such section.
fn section_of(text: &str, section: &str) -> Option<Vec<(String, String)>> {
    if let Some(name) = section.strip_prefix("tool.") {
        let document = DeTable::parse(text).ok()?;
        let table = document.get_ref().get("tool")?.get_ref().as_table()?.get(name)?.get_ref().as_table()?;
        let flag = |value: &toml::de::DeValue<'_>| value.as_bool().map(|flag| flag.to_string());
        return Some(table.iter().filter_map(|(key, value)| Some((key.get_ref().to_string(), flag(value.get_ref())?))).collect());
    }
    let heading = format!("[{section}]");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != heading);
    lines.next()?;
    let own = lines.take_while(|line| !line.starts_with('['));
    let pair = |line: &str| line.split_once(['=', ':']).map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    Some(own.filter(|line| !line.starts_with(['#', ';'])).filter_map(pair).collect())
}
