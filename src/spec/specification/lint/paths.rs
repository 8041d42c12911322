//! Lint rules for paths: every path must be inside the project.
//!
//! A specification may have been made on another machine. Its paths below its own `workspaceRoot` mean the same paths
//! below this project's root. `${WORKSPACE_ROOT}` also stands for this project's root.

use crate::model::Problem;
use crate::spec::specification::lint::subject::Subject;
use crate::spec::specification::raw::RawParameters;

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
    let leaving = paths(subject).into_iter().filter(|(_, path)| below(root, path).is_none());
    let finding = |(pointer, path): (String, &str)| {
        Problem::new(pointer, format!("`{path}` does not lie below `globalConfiguration.workspaceRoot`"))
            .hint("name a path below it, or one relative to it")
    };
    leaving.map(finding).collect()
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
    let leaves = relative(directory).is_none_or(|parts| parts.is_empty());
    let message = format!("`{directory}` is no directory below the project");
    let finding =
        || Problem::new("/globalConfiguration/evidenceDirectory", message).hint("name one relative to the project: \"evidence\"");
    leaves.then(finding).into_iter().collect()
}

/// Reports an `evidenceDirectory` that is not the directory where evidence appears.
pub(super) fn evidence_elsewhere(subject: &Subject<'_>) -> Vec<Problem> {
    let directory = &subject.raw.global_configuration.evidence_directory;
    let differs = relative(directory).is_some_and(|parts| !parts.is_empty() && parts != [EVIDENCE]);
    let message = format!("evidence is not kept in `{directory}`, but outside of the project");
    let finding = || {
        Problem::new("/globalConfiguration/evidenceDirectory", message)
            .hint("the link to it is set by `[evidence] link` in proctor.toml")
    };
    differs.then(finding).into_iter().collect()
}

/// Returns the components of a path relative to the project's root; `None` if the path leaves the project.
pub(in crate::spec) fn below<'p>(root: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let rest = path.strip_prefix(ROOT_WORD).or_else(|| path.strip_prefix(root.trim_end_matches('/')));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => relative(rest.trim_start_matches('/')),
        Some(_) | None => relative(path),
    }
}

/// Returns the components of a relative path; `None` if it is absolute, is a Windows path, or leaves its starting
/// directory.
fn relative(path: &str) -> Option<Vec<&str>> {
    let is_foreign = path.contains('\\') || path.split('/').next().is_some_and(|first| first.ends_with(':'));
    if path.starts_with('/') || is_foreign || path.contains('\0') {
        return None;
    }
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts)
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
    }
}
