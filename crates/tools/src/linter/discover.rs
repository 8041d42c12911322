//! Discovers mypy and Ruff. The project must have a configuration for the tool, and its environment must contain the
//! program.

use crate::discover::{
    ENVIRONMENTS, FoundCheck, FoundChecks, Looked, has_pyproject_table, has_section, name_in_package, nearest_with, node_program,
    program,
};
use crate::project_files::{ProjectFiles, within};
use proctor_model::Tool;

/// A tool that checks the whole package in which it is called.
pub(crate) struct Checker {
    pub(crate) tool: Tool,
    /// The names of the tool's programs; the first one that is installed is called.
    pub(crate) programs: &'static [&'static str],
    pub(crate) home: Home,
    /// Files that always count as a configuration of the tool.
    pub(crate) configurations: &'static [&'static str],
    /// The tool's tables in `pyproject.toml`.
    pub(crate) tables: &'static [&'static str],
    /// Files that count as a configuration of the tool only if they contain the section named beside them.
    pub(crate) sections: &'static [(&'static str, &'static str)],
    /// Returns the tool's arguments for the package in a directory.
    pub(crate) arguments: fn(&dyn ProjectFiles, &str) -> &'static [&'static str],
}

/// Where a tool's program is installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A virtual environment of Python.
    Environment,
    NodeModules,
    /// A virtual environment, otherwise `node_modules`.
    Either,
}

const MYPY: Checker = Checker {
    tool: Tool::Mypy,
    programs: &["mypy"],
    home: Home::Environment,
    configurations: &["mypy.ini", ".mypy.ini"],
    tables: &["mypy"],
    sections: &[("setup.cfg", "[mypy]")],
    // If the configuration names its files, no path is passed: a path on the command line would override them.
    arguments: |files, package| if names_mypy_files(files, package) { &[] } else { &["."] },
};

const RUFF: Checker = Checker {
    tool: Tool::Ruff,
    programs: &["ruff"],
    home: Home::Environment,
    configurations: &["ruff.toml", ".ruff.toml"],
    tables: &["ruff"],
    sections: &[],
    arguments: |_, _| &["check", "."],
};

/// Looks for signs of mypy in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_mypy(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(&MYPY, files, package, findings)
}

/// Looks for signs of Ruff in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find_ruff(files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    find(&RUFF, files, package, findings)
}

/// Looks for signs of a checker in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find(checker: &Checker, files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    let word = checker.tool.word();
    let Some(reason) = evidence(checker, files, package) else { return Looked::Silent };
    let Some(mut argv) = checker.programs.iter().find_map(|name| installed(checker.home, files, package, name)) else {
        let (place, advice) = match checker.home {
            Home::Environment | Home::Either => (".venv/bin", format!("install {word} in the project's environment")),
            Home::NodeModules => ("node_modules/.bin", "install the project's packages".to_owned()),
        };
        findings.note(checker.tool, format!("{reason} is there, but no `{place}/{word}` beside or above it: {advice}"));
        return Looked::Spoke;
    };
    argv.extend((checker.arguments)(files, package).iter().map(|argument| (*argument).to_owned()));
    let (name, package) = (name_in_package(word, package), package.to_owned());
    let found = FoundCheck { tool: checker.tool, name, directory: package.clone(), package, argv, policy: None };
    findings.add(found, &format!("{reason} is there"));
    Looked::Spoke
}

// Returns the words by which a command in the package calls a program.
fn installed(home: Home, files: &dyn ProjectFiles, package: &str, name: &str) -> Option<Vec<String>> {
    let of_environment = || {
        let paths = ENVIRONMENTS.iter().map(|environment| format!("{environment}/bin/{name}"));
        let (holder, path) = paths.into_iter().find_map(|path| Some((nearest_with(files, package, &path)?, path)))?;
        let called = program(&holder, &path, package);
        Some(vec![called.strip_prefix("./").unwrap_or(&called).to_owned()])
    };
    let of_node = || node_program(files, package, name, package);
    match home {
        Home::Environment => of_environment(),
        Home::NodeModules => of_node(),
        Home::Either => of_environment().or_else(of_node),
    }
}

fn evidence(checker: &Checker, files: &dyn ProjectFiles, package: &str) -> Option<String> {
    if let Some(name) = checker.configurations.iter().find(|name| files.exists(&within(package, name))) {
        return Some(format!("`{}`", within(package, name)));
    }
    if let Some(table) = checker.tables.iter().find(|table| has_pyproject_table(files, package, table)) {
        return Some(format!("{table}'s table in `{}`", within(package, "pyproject.toml")));
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
