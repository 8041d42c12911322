//! Lint rules for paths: every path must be inside the project.
//!
//! A specification may have been made on another machine, also one with Windows. Its paths below its own `workspaceRoot` mean the
//! same paths below this project's root. `${WORKSPACE_ROOT}` also stands for this project's root.

use crate::spec::specification::lint::subject::Subject;
use crate::spec::specification::raw::RawParameters;
use proctor_model::Problem;

/// The placeholder for the project's root in generated specifications.
pub(in crate::spec) const ROOT_WORD: &str = "${WORKSPACE_ROOT}";

/// The name of the link in the project that leads to the evidence, unless `[evidence] link` names another one.
const EVIDENCE: &str = "evidence";

/// Reports a `workspaceRoot` other than this project's root.
pub(super) fn workspace_elsewhere(subject: &Subject<'_>) -> Vec<Problem> {
    let root = &subject.raw.global_configuration.workspace_root;
    let is_here = std::path::Path::new(root) == subject.project_root;
    let message = format!("`{root}` is not this project");
    let hint = "the project the file lies in is taken for it, and paths below it for paths below the project";
    (!is_here).then(|| Problem::new("/globalConfiguration/workspaceRoot", message).hint(hint)).into_iter().collect()
}

/// Reports paths of directories, files and scripts that leave the project.
pub(super) fn leaving_paths(subject: &Subject<'_>) -> Vec<Problem> {
    let root = &subject.raw.global_configuration.workspace_root;
    let finding = |(pointer, path): (String, &str)| {
        let (message, hint) = match place_below(root, path).err()? {
            Elsewhere::NotBelow => (
                format!("`{path}` does not lie below `globalConfiguration.workspaceRoot`, which is `{root}`"),
                "name a path below it, or one relative to it",
            ),
            Elsewhere::GoesUp => {
                (format!("`{path}` leads out of the project by its `..`"), "name a path that stays in the project")
            }
            Elsewhere::OfWindows => (
                format!(
                    "`{path}` is a path of Windows, and `globalConfiguration.workspaceRoot` is not: `{root}`. So nobody knows where \
                     in the project it lies"
                ),
                "write the path relative to the project, with `/`, or make `workspaceRoot` the root on that Windows machine",
            ),
            Elsewhere::NoPath => {
                (format!("`{}` has a zero byte, which no path has", path.escape_debug()), "name a path without it")
            }
        };
        Some(Problem::new(pointer, message).hint(hint))
    };
    paths(subject).into_iter().filter_map(finding).collect()
}

/// Reports files outside of `allowedDirectories` and scripts outside of `scriptDirectory`.
pub(super) fn not_allowed(subject: &Subject<'_>) -> Vec<Problem> {
    let root = &subject.raw.global_configuration.workspace_root;
    let settings = &subject.raw.execution_engine.executor_configurations;
    let allowed = settings.file_validation.as_ref().and_then(|files| files.allowed_directories.as_ref());
    let scripts = settings.custom_script.as_ref().and_then(|scripts| scripts.script_directory.as_ref());
    let lies_in = |path: &str, directory: &str| match (below(root, path), below(root, directory)) {
        (Some(path), Some(directory)) => path.starts_with(directory.as_slice()),
        (None, _) | (_, None) => false,
    };
    let findings = subject.actions().filter_map(|action| match &action.raw.parameters {
        RawParameters::FileValidation(file) => {
            let is_allowed = allowed?.iter().any(|directory| lies_in(&file.file_path, directory));
            let message = "the file lies in none of `FILE_VALIDATION.allowedDirectories`";
            (!is_allowed).then(|| action.finding("/parameters/filePath", message).hint("add its directory there"))
        }
        RawParameters::CustomScript(script) => {
            let is_allowed = lies_in(&script.script_path, scripts?);
            let message = "the script does not lie in `CUSTOM_SCRIPT.scriptDirectory`";
            (!is_allowed).then(|| action.finding("/parameters/scriptPath", message).hint("name a script of that directory"))
        }
        RawParameters::TerminalCommand(_)
        | RawParameters::HttpRequest(_)
        | RawParameters::DockerCommand(_)
        | RawParameters::DatabaseQuery(_)
        | RawParameters::McpBrowserCommand(_) => None,
    });
    findings.collect()
}

/// Reports an `evidenceDirectory` that is not a directory below the project.
pub(super) fn evidence_leaves(subject: &Subject<'_>) -> Vec<Problem> {
    let directory = &subject.raw.global_configuration.evidence_directory;
    let leaves = relative(subject, directory).is_none_or(|parts| parts.is_empty());
    let message = format!("`{directory}` is no directory below the project");
    let finding =
        || Problem::new("/globalConfiguration/evidenceDirectory", message).hint("name one relative to the project: \"evidence\"");
    leaves.then(finding).into_iter().collect()
}

/// Reports an `evidenceDirectory` that is not the directory where evidence appears.
pub(super) fn evidence_elsewhere(subject: &Subject<'_>) -> Vec<Problem> {
    let directory = &subject.raw.global_configuration.evidence_directory;
    let differs = relative(subject, directory).is_some_and(|parts| !parts.is_empty() && parts != [EVIDENCE]);
    let message = format!("evidence is not kept in `{directory}`, but outside of the project");
    let finding = || {
        Problem::new("/globalConfiguration/evidenceDirectory", message)
            .hint("the link to it is set by `[evidence] link` in proctor.toml")
    };
    differs.then(finding).into_iter().collect()
}

/// Returns the components of a path that must be relative; `None` if it is absolute or leaves the project.
fn relative<'p>(subject: &Subject<'_>, path: &'p str) -> Option<Vec<&'p str>> {
    let is_relative = !is_absolute(path) && !path.starts_with(ROOT_WORD);
    below(&subject.raw.global_configuration.workspace_root, path).filter(|_| is_relative)
}

/// Returns the components of a path relative to the project's root; `None` if the path leaves the project.
pub(in crate::spec) fn below<'p>(root: &str, path: &'p str) -> Option<Vec<&'p str>> {
    place_below(root, path).ok()
}

/// Why a path is not known to lie in the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    /// The path is absolute, and does not begin with the root's components.
    NotBelow,
    /// Its `..` lead out of the project.
    GoesUp,
    /// The path is one of Windows, and the root is none.
    OfWindows,
    /// The path has a NUL byte, which no path may have.
    NoPath,
}

/// Returns the components of a path relative to the root. On Windows `/` and `\` both separate components, and names that
/// differ only in case are the same.
fn place_below<'p>(root: &str, path: &'p str) -> Result<Vec<&'p str>, Elsewhere> {
    let root_of_windows = is_of_windows(root);
    let separators: &[char] = if root_of_windows { &['/', '\\'] } else { &['/'] };
    let clean = |parts: &mut dyn Iterator<Item = &'p str>| {
        let mut clean = Vec::new();
        for part in parts {
            match part {
                "" | "." => {}
                ".." => {
                    clean.pop().ok_or(Elsewhere::GoesUp)?;
                }
                part => clean.push(part),
            }
        }
        Ok(clean)
    };
    if path.contains('\0') {
        return Err(Elsewhere::NoPath);
    }
    if let Some(rest) = path.strip_prefix(ROOT_WORD).filter(|rest| rest.is_empty() || rest.starts_with(separators)) {
        return clean(&mut rest.split(separators));
    }
    if !root_of_windows && (is_of_windows(path) || path.contains('\\')) {
        return Err(Elsewhere::OfWindows);
    }
    if !is_absolute(path) {
        return clean(&mut path.split(separators));
    }
    if is_absolute(root) {
        let is_same = |one: &str, other: &str| if root_of_windows { one.eq_ignore_ascii_case(other) } else { one == other };
        let mut parts = path.split(separators).filter(|part| !part.is_empty() && *part != ".");
        let mut of_root = root.split(separators).filter(|part| !part.is_empty() && *part != ".");
        // A path of another server, `\\server\share`, is no path of this machine with the same words.
        let begin = |path: &str| path.chars().take_while(|character| separators.contains(character)).count().min(2);
        let is_below = begin(root) == begin(path) && of_root.all(|name| parts.next().is_some_and(|part| is_same(name, part)));
        if is_below {
            return clean(&mut parts);
        }
    }
    Err(Elsewhere::NotBelow)
}

/// Returns whether a path is absolute on Linux or names a drive or a server of Windows.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_of_windows(path)
}

/// Returns whether a path begins with a drive (`C:`) or a server (`\\server`) of Windows.
fn is_of_windows(path: &str) -> bool {
    let mut characters = path.chars();
    let drive = characters.next().is_some_and(|letter| letter.is_ascii_alphabetic()) && characters.next() == Some(':');
    drive || path.starts_with('\\')
}

/// Returns every path of the specification that must be inside the project, with its JSON pointer.
fn paths<'s>(subject: &Subject<'s>) -> Vec<(String, &'s str)> {
    let of_actions = subject.actions().filter_map(|action| {
        let (key, path) = match &action.raw.parameters {
            RawParameters::TerminalCommand(command) => ("workingDirectory", &command.working_directory),
            RawParameters::FileValidation(file) => ("filePath", &file.file_path),
            RawParameters::CustomScript(script) => ("scriptPath", &script.script_path),
            RawParameters::HttpRequest(_)
            | RawParameters::DockerCommand(_)
            | RawParameters::DatabaseQuery(_)
            | RawParameters::McpBrowserCommand(_) => return None,
        };
        Some((format!("{}/parameters/{key}", action.pointer()), path.as_str()))
    });
    let prompts = subject.actions().filter_map(|action| {
        let prompt = action.raw.proctor.as_ref()?.review.as_ref()?.prompt.as_deref()?;
        Some((format!("{}/proctor/review/prompt", action.pointer()), prompt))
    });
    let server = subject.raw.global_configuration.dev_server.as_ref().and_then(|server| server.working_directory.as_deref());
    let server = server.map(|path| ("/globalConfiguration/devServer/workingDirectory".to_owned(), path));
    of_actions.chain(prompts).chain(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_below_the_root_it_was_written_for() {
        assert_eq!(below("/srv/app", "/srv/app/web/src"), Some(vec!["web", "src"]));
        assert_eq!(below("/srv/app/", "/srv/app"), Some(vec![]));
        assert_eq!(below("/srv/app", "web/./a/../b"), Some(vec!["web", "b"]));
        assert_eq!(below("C:/app", "C:/app/web"), Some(vec!["web"]));
        assert_eq!(below(ROOT_WORD, "${WORKSPACE_ROOT}/web"), Some(vec!["web"]));
    }

    #[test]
    fn a_path_that_leaves_the_root_is_none() {
        for path in ["/srv/application", "/etc/passwd", "..", "a/../../b", "/srv/app/../b", "D:/x", "a\\b", "a\0b"] {
            assert_eq!(below("/srv/app", path), None, "{path}");
        }
        assert_eq!(place_below("/srv/app", "/etc/passwd"), Err(Elsewhere::NotBelow));
        assert_eq!(place_below("/srv/app", "a/../../b"), Err(Elsewhere::GoesUp));
        assert_eq!(place_below("/srv/app", "a\0b"), Err(Elsewhere::NoPath));
        for path in [r"D:\x", "D:/x", r"a\b", r"\\server\share"] {
            assert_eq!(place_below("/srv/app", path), Err(Elsewhere::OfWindows), "{path}");
        }
    }

    #[test]
    fn s5_a_path_of_windows_means_the_same_path_below_this_project() {
        let root = r"D:\...\packages\web";
        for (path, expected) in [
            (r"D:\...\packages\web\src", Some(vec!["src"])),
            (r"D:\...\packages\web", Some(vec![])),
            (r"D:\...\packages\web\", Some(vec![])),
            (r"d:\...\Packages\WEB\src\App.tsx", Some(vec!["src", "App.tsx"])),
            ("D:/.../packages/web/src", Some(vec!["src"])),
            (r"src\quotes/route.ts", Some(vec!["src", "quotes", "route.ts"])),
            (r".\src\..\test", Some(vec!["test"])),
            (r"${WORKSPACE_ROOT}\src", Some(vec!["src"])),
            (r"D:\...\packages\web\..\api", None),
            (r"D:\...\packages\webapp", None),
            (r"D:\...\packages", None),
            (r"E:\...\packages\web\src", None),
            (r"\\D:\...\packages\web\src", None),
            (r"\...\packages\web\src", None),
            ("/packages/web/src", None),
            (r"..\api", None),
        ] {
            assert_eq!(below(root, path), expected, "{path}");
        }
        assert_eq!(below(r"\\server\share\web", r"\\server\share\web\src"), Some(vec!["src"]));
        assert_eq!(below(r"\\server\share\web", r"\server\share\web\src"), None);
    }
}
