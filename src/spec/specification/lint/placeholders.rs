//! Lint rules for placeholders that a generator has left in: `{{NAME}}`, and `${NAME}` outside of commands.

use serde_json::Value;

use crate::model::Problem;
use crate::spec::specification::lint::paths::ROOT_WORD;
use crate::spec::specification::lint::subject::Subject;
use crate::spec::specification::scan::member;

/// Keys whose values are texts for people: a placeholder there is only noted.
const TEXTS: &[&str] = &[
    "description",
    "title",
    "taskTitle",
    "projectName",
    "generatedBy",
    "author",
    "scenario",
    "suggestedFix",
    "validationPolicyRationale",
    "references",
];

/// Keys with commands. `$` in a command belongs to a shell; another rule reports it if there is no shell. In a connection string
/// `${NAME}` is a variable, and in a script of a browser a part of JavaScript.
const COMMANDS: &[&str] = &["command", "checkCommand", "argv", "connectionString", "script"];

/// Keywords in the templates of Go, which commands such as `go list` and `docker inspect` accept. They are not
/// placeholders.
const TEMPLATE_WORDS: &[&str] = &["else", "end"];

/// The longest name of a placeholder, in bytes. Longer names are taken for ordinary text.
const LONGEST_NAME: usize = 128;

/// Reports placeholders in values that are run or compared.
pub(super) fn in_what_runs(subject: &Subject<'_>) -> Vec<Problem> {
    let found = placeholders(subject).into_iter().filter(|placeholder| !placeholder.is_text);
    let finding = |placeholder: Placeholder| {
        Problem::new(placeholder.pointer, format!("`{}` is a placeholder that nobody replaces", placeholder.written))
            .hint("write what it stands for")
    };
    found.map(finding).collect()
}

/// Notes placeholders in texts for people, which change nothing of a run.
pub(super) fn in_texts(subject: &Subject<'_>) -> Vec<Problem> {
    let found = placeholders(subject).into_iter().filter(|placeholder| placeholder.is_text);
    let finding =
        |placeholder: Placeholder| Problem::new(placeholder.pointer, format!("`{}` is a placeholder", placeholder.written));
    found.map(finding).collect()
}

struct Placeholder {
    pointer: String,
    written: String,
    is_text: bool,
}

fn placeholders(subject: &Subject<'_>) -> Vec<Placeholder> {
    let mut found = Vec::new();
    walk(subject.document, &mut String::new(), Context::default(), &mut found);
    found
}

/// Whether a string is a text for people or a command, found from the keys that lead to it.
#[derive(Clone, Copy, Default)]
struct Context {
    is_text: bool,
    is_command: bool,
}

fn walk(value: &Value, pointer: &mut String, context: Context, found: &mut Vec<Placeholder>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if let Some(written) = placeholder(text, context.is_command) {
                found.push(Placeholder { pointer: pointer.clone(), written, is_text: context.is_text });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(pointer, &index.to_string(), |pointer| walk(item, pointer, context, found));
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                let context = Context {
                    is_text: context.is_text || TEXTS.contains(&key.as_str()),
                    is_command: COMMANDS.contains(&key.as_str()),
                };
                within(pointer, key, |pointer| walk(item, pointer, context, found));
            }
        }
    }
}

fn within(pointer: &mut String, key: &str, look: impl FnOnce(&mut String)) {
    let outer = pointer.len();
    pointer.push_str(&member("", key));
    look(pointer);
    pointer.truncate(outer);
}

fn placeholder(text: &str, is_command: bool) -> Option<String> {
    let first = |open: &str, close: &str, is_meant: fn(&str) -> bool| {
        // Opening braces may overlap: in `{{{NAME}}}` the placeholder begins at the second brace.
        let mut starts = text.match_indices(&open[..1]).map(|(start, _)| &text[start..]);
        starts.find_map(|rest| opened(rest, open, close).filter(|written| is_meant(written))).map(str::to_owned)
    };
    let variable = || if is_command { None } else { first("${", "}", |written| written != ROOT_WORD) };
    first("{{", "}}", |written| !TEMPLATE_WORDS.contains(&written.trim_matches(['{', '}', ' ']))).or_else(variable)
}

/// Returns the placeholder at the beginning of a text. It must end within [`LONGEST_NAME`] bytes after `open`, because the text
/// may be long.
fn opened<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let inner = text.strip_prefix(open)?;
    let inner = inner.get(..inner.floor_char_boundary(LONGEST_NAME)).unwrap_or_default();
    let name = inner.trim_start();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let behind = name.trim_start_matches(|part: char| part.is_ascii_alphanumeric() || part == '_' || part == '.');
    let rest = behind.trim_start().strip_prefix(close)?;
    let end = open.len() + inner.len() - rest.len();
    text.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_what_only_looks_like_them() {
        assert_eq!(placeholder("a {{ NAME }} b", false).as_deref(), Some("{{ NAME }}"));
        assert_eq!(placeholder("{\"a\":{{{LIMIT}}}}", false).as_deref(), Some("{{LIMIT}}"));
        assert_eq!(placeholder("${API_URL}/x", false).as_deref(), Some("${API_URL}"));
        for text in ["{\"a\": {\"b\": {}}}", "{{}}", "{{a b}}", "${WORKSPACE_ROOT}/web", "$PATH", "${", "}}{{"] {
            assert_eq!(placeholder(text, false), None, "{text}");
        }
        for text in ["{{.Dir}}", "{{ .Dir }}", "{{end}}", "{{ else }}", "{{1}}", "${.a}", "{{é}}", "{{a", "{{a}"] {
            assert_eq!(placeholder(text, false), None, "{text}");
        }
        assert_eq!(placeholder("echo ${HOME}", true), None);
        assert_eq!(placeholder("${WORKSPACE_ROOT}/${NAME}", false).as_deref(), Some("${NAME}"));
        assert_eq!(placeholder("{{end}}{{.a}}{{b.c_1}}", true).as_deref(), Some("{{b.c_1}}"));
        assert_eq!(placeholder(&format!("{{{{{}}}}}", "a".repeat(LONGEST_NAME)), false), None);
    }

    /// Without the limit on names, the lint would take minutes on such a text: every opening brace would be followed to
    /// the end.
    #[test]
    fn a_long_text_of_beginnings_is_looked_at_once() {
        for part in ["{", "{{a", "{{ ", "${", "${a", "${ "] {
            assert_eq!(placeholder(&part.repeat((1 << 20) / part.len()), false), None, "{part}");
        }
        assert_eq!(placeholder(&format!("{{{{{}", " ".repeat(1 << 20)), false), None);
    }
}
