//! Reads paths and patterns, which must be relative to the project and stay inside it.

use std::path::{Component, Path};

use toml::Spanned;
use toml::de::DeValue;

use crate::config::sandbox::place;
use crate::config::values::{WrongValue, filled_text, text};
use proctor_model::Problem;

/// What an error message shows as a list of inputs.
pub(super) const INPUTS: &str = "[\"../shared\", \"~/.gitconfig\"]";

/// Reads the path of a file or directory below the project's root. The result has neither `.` components nor a slash at
/// its end.
pub(super) fn inner_path(example: &'static str) -> impl Fn(&Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    move |value| filled_text(example)(value).and_then(|path| normalised(&path))
}

/// Reads the path of a file below the project's root. The root itself is refused.
pub(super) fn inner_file(example: &'static str) -> impl Fn(&Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    move |value| {
        let path = inner_path(example)(value)?;
        if path.is_empty() { Err(WrongValue::new("the project's root is not a file").example(example)) } else { Ok(path) }
    }
}

/// Reads an input: a file or directory beside the project. The result has no `.` components, no slash at its end, and `..` at its beginning
/// alone.
pub(super) fn input(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let path = place(INPUTS)(value)?;
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." if parts.last().is_some_and(|last| *last != ".." && *last != "~") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let is_absolute = path.starts_with('/');
    let is_whole = parts.iter().all(|part| *part == "..") || parts == ["~"];
    if is_whole && (is_absolute || path.starts_with(['.', '~'])) && (is_absolute || !parts.is_empty()) {
        return Err(WrongValue::new(format!(
            "`{path}` is too much: an input never holds the project, a home or the whole machine"
        ))
        .hint("name the files and directories that the checks read"));
    }
    if parts.contains(&"..") && (is_absolute || parts[0] == "~") {
        return Err(WrongValue::new(format!("`{path}` leads up from where it begins")).example(INPUTS));
    }
    if !is_absolute && !matches!(parts.first(), Some(&(".." | "~"))) {
        return Err(WrongValue::new(format!("`{path}` lies in the project, whose files checks see anyway")).example(INPUTS));
    }
    Ok(format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/")))
}

/// Reads the name of the link to the evidence in the project. An empty name means that no link is made.
pub(super) fn link_name(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    const EXAMPLE: &str = "\"evidence\"";
    let name = text(EXAMPLE)(value)?;
    if name.is_empty() {
        return Ok(name);
    }
    let is_name = !name.starts_with('.') && !name.contains(|character: char| character == '/' || character.is_control());
    if is_name { Ok(name) } else { Err(WrongValue::new("the link is one visible name in the project's root").example(EXAMPLE)) }
}

/// Reads the path of the task list. An empty path means that the project has no task list. Only Markdown files are
/// allowed: the tree digest leaves the task list out, so source code in it could change unnoticed.
pub(super) fn task_list(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    const EXAMPLE: &str = "\"tasks.md\"";
    let path = text(EXAMPLE)(value)?;
    if path.is_empty() {
        return Ok(path);
    }
    let path = normalised(&path)?;
    let is_plain = !path.contains(|character: char| character.is_control());
    if is_plain && Path::new(&path).extension().is_some_and(|extension| extension == "md") {
        return Ok(path);
    }
    Err(WrongValue::new("the task list is a Markdown file below the project's root, with a name that ends in `.md`")
        .example(EXAMPLE))
}

/// Reads a glob for paths that are relative to the project, such as `src/**/*.py`.
pub(super) fn glob(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let pattern = filled_text("\"src/**/*.py\"")(value)?;
    as_glob(pattern)
}

fn as_glob(pattern: String) -> Result<String, WrongValue> {
    match globset::Glob::new(&pattern) {
        Ok(_) => Ok(pattern),
        Err(error) => Err(WrongValue::new(format!("not a glob: {}", error.kind())).hint("for example \"src/**/*.py\"")),
    }
}

/// Reads a glob for paths that are relative to the project and stay inside it, such as `coverage/**`. The result has
/// neither `.` components nor a slash at its end.
pub(super) fn inner_glob(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    as_inner_glob(glob(value)?)
}

/// Reads a pattern for `writes` that is not written in `proctor.toml`, by the same rules as the patterns in that file.
///
/// # Errors
/// When the text is no glob, or its paths can lie outside of the project. The error says so, with a hint.
pub fn read_writes_pattern(text: &str) -> Result<String, Box<Problem>> {
    let read = as_glob(text.to_owned()).and_then(as_inner_glob);
    read.map_err(|wrong| wrong.problem)
}

fn as_inner_glob(pattern: String) -> Result<String, WrongValue> {
    let pattern = normalised(&pattern)?;
    if pattern.is_empty() {
        return Err(WrongValue::new("the project's root as a whole is no pattern").hint("for example \"coverage/**\""));
    }
    Ok(pattern)
}

/// Reads one pattern in the syntax of a line of `.gitignore`.
pub(super) fn ignore_pattern(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let pattern = filled_text("\"*.log\"")(value)?;
    if pattern.contains('\n') {
        return Err(WrongValue::new("a pattern is one line").hint("write each pattern as its own element of the list"));
    }
    match ignore::gitignore::GitignoreBuilder::new("").add_line(None, &pattern) {
        Ok(_) => Ok(pattern),
        Err(error) => Err(WrongValue::new(format!("not a pattern as .gitignore has them: {error}"))),
    }
}

fn normalised(path: &str) -> Result<String, WrongValue> {
    const INSIDE: &str = "name something below the project's root, relative to it";
    let mut parts = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => return Err(WrongValue::new(format!("`{path}` may leave the project by `..`")).hint(INSIDE)),
            Component::RootDir | Component::Prefix(_) => {
                return Err(WrongValue::new(format!("`{path}` is an absolute path")).hint(INSIDE));
            }
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_within_the_project() {
        for bad in ["/etc", "..", "a/../../b", "a/..", "../x"] {
            assert!(normalised(bad).is_err(), "{bad}");
        }
        for (written, plain) in [("web/", "web"), ("./web", "web"), (".", ""), ("a//b", "a/b")] {
            assert_eq!(normalised(written).map_err(|wrong| wrong.problem.message), Ok(plain.to_owned()));
        }
    }
}
