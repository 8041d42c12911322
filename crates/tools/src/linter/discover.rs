//! Discovers mypy and Ruff. The project must have a configuration for the tool, and its environment must contain the
//! program.

use crate::discover::{
    ENVIRONMENTS, FoundCheck, FoundChecks, Looked, has_pyproject_table, has_section, named, nearest_with, program,
};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// A tool that checks the whole package in which it is called.
struct Checker {
    tool: Tool,
    /// Files that always count as a configuration of the tool.
    configurations: &'static [&'static str],
    /// Files that count as a configuration of the tool only if they contain the section named beside them.
    sections: &'static [(&'static str, &'static str)],
    /// Returns the tool's arguments for the package in a directory.
    arguments: fn(&dyn ProjectFiles, &str) -> &'static [&'static str],
}

const MYPY: Checker = Checker {
    tool: Tool::Mypy,
    configurations: &["mypy.ini", ".mypy.ini"],
    sections: &[("setup.cfg", "[mypy]")],
    // If the configuration names its files, no path is passed: a path on the command line would override them.
    arguments: |files, package| if names_mypy_files(files, package) { &[] } else { &["."] },
};

const RUFF: Checker =
    Checker { tool: Tool::Ruff, configurations: &["ruff.toml", ".ruff.toml"], sections: &[], arguments: |_, _| &["check", "."] };

/// Looks for signs of mypy in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_mypy(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(&MYPY, files, package, findings)
}

/// Looks for signs of Ruff in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_ruff(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(&RUFF, files, package, findings)
}

fn find(checker: &Checker, files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let word = checker.tool.word();
    let Some(reason) = evidence(checker, files, package) else { return Looked::Silent };
    let paths = ENVIRONMENTS.iter().map(|environment| format!("{environment}/bin/{word}"));
    let installed = paths.into_iter().find_map(|path| Some((nearest_with(files, package, &path)?, path)));
    let Some((holder, path)) = installed else {
        let advice = format!(
            "{reason} is there, but no `.venv/bin/{word}` beside or above it: install {word} in the project's environment"
        );
        findings.note(checker.tool, advice);
        return Looked::Spoke;
    };
    let called = program(&holder, &path, package);
    let called = called.strip_prefix("./").unwrap_or(&called).to_owned();
    let arguments = (checker.arguments)(files, package).iter().map(|argument| (*argument).to_owned());
    let argv = std::iter::once(called).chain(arguments).collect();
    let (name, package) = (named(word, package), package.to_owned());
    let found = FoundCheck { tool: checker.tool, name, directory: package.clone(), package, argv, policy: None };
    findings.add(found, &format!("{reason} is there"));
    Looked::Spoke
}

fn evidence(checker: &Checker, files: &dyn ProjectFiles, package: &str) -> Option<String> {
    let word = checker.tool.word();
    if let Some(name) = checker.configurations.iter().find(|name| files.exists(&within(package, name))) {
        return Some(format!("`{}`", within(package, name)));
    }
    if has_pyproject_table(files, package, word) {
        return Some(format!("{word}'s table in `{}`", within(package, "pyproject.toml")));
    }
    let (name, section) = checker.sections.iter().find(|(name, section)| has_section(files, package, name, section))?;
    Some(format!("`{section}` in `{}`", within(package, name)))
}

fn names_mypy_files(files: &dyn ProjectFiles, package: &str) -> bool {
    const KEYS: &[&str] = &["files", "packages", "modules"];
    ["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"].iter().any(|name| {
        let text = files.read(&within(package, name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut lines = text.lines().map(str::trim).skip_while(|line| !matches!(*line, "[mypy]" | "[tool.mypy]")).skip(1);
        let in_section = lines.by_ref().take_while(|line| !line.starts_with('['));
        let mut keys = in_section.filter_map(|line| line.split_once('=').map(|(key, _)| key.trim().to_owned()));
        keys.any(|key| KEYS.contains(&key.as_str()))
    })
}
