//! Finds the references between the TypeScript projects of a `tsconfig.json`.
//!
//! A project with references reads the built declarations (`.d.ts`) of the projects it refers to. They are ignored files, so they
//! may be older than the sources, and a fresh clone does not have them. `tsc -b` builds them from the sources first.

use serde_json::Value;

use crate::checker_call::find_arguments;
use crate::jsonc::parse_jsonc;
use crate::project_files::{ProjectFiles, within};
use crate::tsc::is_build;
use crate::tsc::strictness::{CONFIGURATION, called_configuration, checks_no_types, directory_of, joined};
use proctor_model::CommandLine;

/// The name of the program in commands.
const PROGRAM: &str = "tsc";

/// The projects of a solution file are checked one by one only if they are at most this many.
const MOST_REFERENCES: usize = 32;

/// The projects that a `tsconfig.json` refers to (`references`), by how they can be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProjectReferences {
    None,
    /// The file is a solution file, which has no files of its own, and none of its projects refers to another one. So each of them
    /// can be checked by itself. The paths are relative to the root.
    Independent(Vec<String>),
    /// A project needs the built declarations of another one.
    Built,
}

/// The keys of a `tsconfig.json` about its own files and about other projects.
struct Settings {
    /// The file is a solution file: it lists no files of its own.
    has_no_files: bool,
    /// The projects it refers to, as the file spells them.
    references: Vec<String>,
}

/// Returns the references of the `tsconfig.json` at a path.
pub(super) fn references(files: &dyn ProjectFiles, configuration: &str) -> ProjectReferences {
    let Some(settings) = settings(files, configuration).filter(|settings| !settings.references.is_empty()) else {
        return ProjectReferences::None;
    };
    let directory = directory_of(configuration);
    let projects: Option<Vec<String>> = settings.references.iter().map(|path| joined(directory, path)).collect();
    let refers_to_nothing = |project: &String| {
        let configuration = if files.is_directory(project) { within(project, CONFIGURATION) } else { project.clone() };
        self::settings(files, &configuration).is_some_and(|settings| settings.references.is_empty())
    };
    match projects {
        Some(projects)
            if settings.has_no_files && projects.len() <= MOST_REFERENCES && projects.iter().all(refers_to_nothing) =>
        {
            ProjectReferences::Independent(projects)
        }
        _ => ProjectReferences::Built,
    }
}

/// Returns a remark about a written command that checks less than it seems to, or that needs the output of an earlier
/// build.
pub(crate) fn remark(files: &dyn ProjectFiles, directory: &str, command: &CommandLine) -> Option<String> {
    let call = find_arguments(command, files, directory, PROGRAM)?;
    if is_build(&call.0) {
        return None;
    }
    let configuration = called_configuration(files, directory, &call).ok()??;
    if checks_no_types(files, &configuration, &call) {
        return Some(format!(
            "with `noCheck` in `{configuration}` this command checks no types, only the syntax: remove it, or add `--noCheck false`"
        ));
    }
    let settings = settings(files, &configuration).filter(|settings| !settings.references.is_empty())?;
    Some(if settings.has_no_files {
        format!(
            "`{configuration}` has no files of its own, so this command checks nothing: use `tsc -b`, which checks the projects it refers to"
        )
    } else {
        format!(
            "`{configuration}` has references: this command reads what was built of those projects and does not build it; `tsc -b` builds it first"
        )
    })
}

/// Returns the configuration with which a call of tsc checks nothing: a solution file, which has no files of its own and names only other
/// projects; `None` for a build, and where the call may check something.
pub(super) fn solution_without_build(files: &dyn ProjectFiles, directory: &str, command: &CommandLine) -> Option<String> {
    let call = find_arguments(command, files, directory, PROGRAM)?;
    if is_build(&call.0) {
        return None;
    }
    let configuration = called_configuration(files, directory, &call).ok()??;
    let settings = settings(files, &configuration)?;
    (settings.has_no_files && !settings.references.is_empty()).then_some(configuration)
}

/// Returns the configuration with which a call of tsc checks no types (`noCheck`), only the syntax. `None` where the call checks types,
/// or may check them: a build counts only if every project of it that has files of its own says so.
pub(super) fn unchecked_configuration(files: &dyn ProjectFiles, directory: &str, command: &CommandLine) -> Option<String> {
    let call = find_arguments(command, files, directory, PROGRAM)?;
    if !is_build(&call.0) {
        let configuration = called_configuration(files, directory, &call).ok()??;
        return checks_no_types(files, &configuration, &call).then_some(configuration);
    }
    let is_project = |word: &&String| !word.starts_with('-') && !matches!(word.as_str(), "true" | "false");
    let named = call.0.iter().filter(is_project).map(|path| joined(directory, path)).collect::<Option<Vec<String>>>()?;
    let mut projects = if named.is_empty() { vec![directory.to_owned()] } else { named };
    let mut unchecked = None;
    for place in 0.. {
        let Some(project) = projects.get(place) else { break };
        let configuration = if files.is_directory(project) { within(project, CONFIGURATION) } else { project.clone() };
        let settings = settings(files, &configuration)?;
        if !settings.has_no_files {
            checks_no_types(files, &configuration, &call).then_some(())?;
            unchecked.get_or_insert_with(|| configuration.clone());
        }
        for reference in settings.references {
            let project = joined(directory_of(&configuration), &reference)?;
            if !projects.contains(&project) {
                projects.push(project);
            }
        }
        if projects.len() > MOST_REFERENCES {
            return None;
        }
    }
    unchecked
}

fn settings(files: &dyn ProjectFiles, configuration: &str) -> Option<Settings> {
    let text = String::from_utf8(files.read(configuration)?).ok()?;
    let settings = parse_jsonc(&text)?;
    let list = |name: &str| settings.get(name).and_then(Value::as_array);
    let references = list("references").map(Vec::as_slice).unwrap_or_default();
    let paths = references.iter().filter_map(|reference| reference.get("path")?.as_str().map(str::to_owned));
    let is_empty = |name: &str| list(name).is_some_and(Vec::is_empty);
    let is_missing = |name: &str| settings.get(name).is_none();
    // Without `files`, tsc takes every file unless `include` says otherwise; with `files`, nothing but what `include` adds.
    let has_no_files =
        (is_empty("files") && (is_missing("include") || is_empty("include"))) || (is_missing("files") && is_empty("include"));
    Some(Settings { has_no_files, references: paths.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeFiles;
    use proctor_model::split_words;

    #[test]
    fn a_solution_file_has_no_files_also_with_an_empty_include() {
        let has_no_files = |own: &str| {
            let text = format!(r#"{{{own} "references": [{{"path": "core"}}]}}"#);
            settings(&FakeFiles::of(&[("tsconfig.json", &text)]), "tsconfig.json").is_some_and(|settings| settings.has_no_files)
        };
        for own in [r#""files": [],"#, r#""files": [], "include": [],"#, r#""include": [],"#] {
            assert!(has_no_files(own), "{own}");
        }
        for own in ["", r#""files": [], "include": ["src"],"#, r#""files": ["a.ts"], "include": [],"#] {
            assert!(!has_no_files(own), "{own}");
        }
    }

    #[test]
    fn a_command_that_checks_no_types_is_noted() {
        let base = r#"{"compilerOptions": {"noCheck": true}}"#;
        let files = FakeFiles::of(&[
            ("web/tsconfig.json", r#"{"extends": "../base.json"}"#),
            ("base.json", base),
            ("plain/tsconfig.json", r#"{"compilerOptions": {"noCheck": false}}"#),
        ]);
        for (command, is_noted) in [
            ("tsc --noEmit -p web", true),
            ("tsc -p web", true),
            ("tsc -p web --noCheck false", false),
            ("tsc -p plain", false),
            ("tsc -p plain --noCheck", true),
            ("tsc -p nowhere", false),
        ] {
            let argv = split_words(command).expect("valid words");
            let command = CommandLine { argv, display: command.to_owned(), shell: false };
            let noted = remark(&files, "", &command);
            assert_eq!(noted.is_some_and(|note| note.contains("`noCheck`")), is_noted, "{}", command.display);
        }
    }

    #[test]
    fn a_build_checks_no_types_only_if_none_of_its_projects_does() {
        let project = |no_check: bool, more: &str| format!(r#"{{"compilerOptions": {{"noCheck": {no_check}}}{more}}}"#);
        let by = |core: bool, app: bool, command: &str| {
            let solution = r#"{"files": [], "references": [{"path": "core"}, {"path": "app/tsconfig.json"}]}"#;
            let (core, app) = (project(core, ""), project(app, r#", "references": [{"path": "../core"}]"#));
            let texts = [("tsconfig.json", solution), ("core/tsconfig.json", &core), ("app/tsconfig.json", &app)];
            let argv = split_words(command).expect("valid words");
            let command = CommandLine { argv, display: command.to_owned(), shell: false };
            unchecked_configuration(&FakeFiles::of(&texts), "", &command)
        };
        assert_eq!(by(true, true, "tsc -b").as_deref(), Some("core/tsconfig.json"));
        assert_eq!(by(true, true, "tsc --build --verbose --force app").as_deref(), Some("app/tsconfig.json"));
        assert_eq!(by(true, true, "tsc -b --noCheck false"), None);
        for (core, app) in [(false, true), (true, false), (false, false)] {
            assert_eq!(by(core, app, "tsc -b"), None, "{core} {app}");
        }
        assert_eq!(by(true, true, "tsc -b nowhere"), None);
    }
}
