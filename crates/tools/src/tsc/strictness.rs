//! Finds the strictness of the TypeScript compiler. The sources are its arguments, `tsconfig.json` and the files that
//! it extends, and the default of the installed version.

use serde_json::{Map, Value};

use crate::checker_call::CheckerCall;
use crate::jsonc::parse_jsonc;
use crate::project_files::{ProjectFiles, within};
use crate::strictness::{Strictness, StrictnessRead};
use crate::tsc::is_build;

/// The name of the configuration file in a project's directory.
pub(super) const CONFIGURATION: &str = "tsconfig.json";

/// The longest chain of configurations that extend each other. Without the limit, a circle would never end.
const DEEPEST: usize = 16;

/// The first version of TypeScript that is strict by default.
const STRICT_BY_DEFAULT: u32 = 6;

/// The endings of source files. If source files are named on the command line, tsc ignores `tsconfig.json`.
const SOURCES: &[&str] = &[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx"];

/// The options about strictness that one source sets: the command line, or a configuration file. `None` if the source does
/// not set an option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Said {
    strict: Option<bool>,
    no_implicit_any: Option<bool>,
    no_check: Option<bool>,
}

pub(crate) fn strictness(files: &dyn ProjectFiles, directory: &str, call: &CheckerCall) -> StrictnessRead {
    if is_build(&call.0) {
        return Err("`tsc --build` may build several projects".to_owned());
    }
    if call.0.iter().any(|word| word.starts_with('@')) {
        return Err("its arguments stand in a file".to_owned());
    }
    let own = of_command(call);
    let (said, place) = match called_configuration(files, directory, call)? {
        Some(path) => (own.with_defaults_of(read(files, &path, DEEPEST)?), format!("`{path}`")),
        None => (own, "its command line".to_owned()),
    };
    if said.no_check == Some(true) {
        return Ok(Strictness { strict: false, implicit_any: true, place });
    }
    let strict = match said.strict {
        Some(strict) => strict,
        None => {
            major_version(files, directory).ok_or("the version of TypeScript, and so its default, is not known")?
                >= STRICT_BY_DEFAULT
        }
    };
    // Without its own value, `noImplicitAny` follows `strict`.
    Ok(Strictness { strict, implicit_any: !said.no_implicit_any.unwrap_or(strict), place })
}

impl Said {
    fn with_defaults_of(self, other: Self) -> Self {
        Self {
            strict: self.strict.or(other.strict),
            no_implicit_any: self.no_implicit_any.or(other.no_implicit_any),
            no_check: self.no_check.or(other.no_check),
        }
    }
}

fn of_command(call: &CheckerCall) -> Said {
    Said { strict: call.flag("--strict"), no_implicit_any: call.flag("--noImplicitAny"), no_check: call.flag("--noCheck") }
}

/// Returns whether a call of tsc with a configuration checks no types (`noCheck`): it then reports errors of the syntax only.
pub(super) fn checks_no_types(files: &dyn ProjectFiles, configuration: &str, call: &CheckerCall) -> bool {
    let configured = read(files, configuration, DEEPEST).unwrap_or_default();
    of_command(call).with_defaults_of(configured).no_check == Some(true)
}

/// Returns the configuration file of a call; `None` if the call names source files itself.
pub(super) fn called_configuration(
    files: &dyn ProjectFiles,
    directory: &str,
    call: &CheckerCall,
) -> Result<Option<String>, String> {
    if let Some(project) = call.value(&["-p", "--project"]) {
        let path = joined(directory, project).ok_or_else(|| format!("`{project}` leaves the project"))?;
        return Ok(Some(if files.is_directory(&path) { within(&path, CONFIGURATION) } else { path }));
    }
    if call.0.iter().any(|word| !word.starts_with('-') && SOURCES.iter().any(|ending| word.ends_with(ending))) {
        return Ok(None);
    }
    let found = upward(directory).map(|directory| within(directory, CONFIGURATION)).find(|path| files.exists(path));
    found.map(Some).ok_or_else(|| format!("there is no `{CONFIGURATION}`"))
}

/// Reads a configuration and the configurations that it extends. Its own options override those of extended files. If
/// there are several extended files, the later ones override the earlier ones.
fn read(files: &dyn ProjectFiles, path: &str, depth: usize) -> Result<Said, String> {
    let text = files.read(path).and_then(|bytes| String::from_utf8(bytes).ok());
    let settings = text.and_then(|text| parse_jsonc(&text)).ok_or_else(|| format!("`{path}` cannot be read"))?;
    let mut said = own(settings.get("compilerOptions").and_then(Value::as_object));
    let extended = match settings.get("extends") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    for extended in extended.into_iter().rev() {
        let cannot = || format!("`{extended}`, which `{path}` extends, cannot be found");
        let base = extended_path(files, directory_of(path), extended).ok_or_else(cannot)?;
        let depth = depth.checked_sub(1).ok_or_else(|| format!("`{path}` extends too many configurations"))?;
        said = said.with_defaults_of(read(files, &base, depth)?);
    }
    Ok(said)
}

fn own(options: Option<&Map<String, Value>>) -> Said {
    let option = |name: &str| options.and_then(|options| options.get(name)).and_then(Value::as_bool);
    Said { strict: option("strict"), no_implicit_any: option("noImplicitAny"), no_check: option("noCheck") }
}

/// Returns the path of an extended configuration, which `extends` names by a path or by the name of a package.
fn extended_path(files: &dyn ProjectFiles, directory: &str, extended: &str) -> Option<String> {
    let is_file = |path: &String| files.exists(path) && !files.is_directory(path);
    if extended.starts_with('.') || extended.starts_with('/') {
        let path = joined(directory, extended)?;
        return [path.clone(), format!("{path}.json")].into_iter().find(is_file);
    }
    upward(directory).find_map(|directory| {
        let package = within(directory, &format!("node_modules/{extended}"));
        let named = files.read(&within(&package, "package.json")).and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let named = named.and_then(|manifest| joined(&package, manifest.get("tsconfig")?.as_str()?));
        let places = [Some(package.clone()), Some(format!("{package}.json")), named, Some(within(&package, CONFIGURATION))];
        places.into_iter().flatten().find(is_file)
    })
}

/// Returns the major version of the nearest installed TypeScript.
fn major_version(files: &dyn ProjectFiles, directory: &str) -> Option<u32> {
    let manifest =
        upward(directory).find_map(|directory| files.read(&within(directory, "node_modules/typescript/package.json")))?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    manifest.get("version")?.as_str()?.split('.').next()?.parse().ok()
}

/// Returns a directory and its parents up to the project's root.
fn upward(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory), |directory| (!directory.is_empty()).then(|| directory_of(directory)))
}

pub(super) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Joins a directory and a relative path; `None` if the path is absolute, or if the result is outside the project.
pub(crate) fn joined(directory: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
