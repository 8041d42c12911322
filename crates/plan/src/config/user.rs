//! Reads the user's own configuration, `~/.config/proctor/config.toml`: which settings the user's projects may have
//! without a person being asked (S7), the socket of the container engine that their DOCKER_COMMAND actions may use, and the editor in which
//! the page opens files. The file lies outside of every project, so no project can change it.

use std::collections::BTreeMap;
use std::path::Path;

use globset::GlobBuilder;
use toml::{Table, Value};

use crate::config::judged::{default_of, judged_settings, weaker_when};
use crate::config::read::read;
use crate::config::weaker_when::WeakerWhen;
use proctor_model::{JudgedSettings, Problem, SettingValue, quoted_text};

/// The key of an entry that says which projects the entry is for.
const PROJECTS: &str = "projects";
/// The key of an entry that names the socket of a container engine. No file of a project can set it.
const ENGINE_SOCKET: &str = "engine_socket";
const EXAMPLE: &str =
    "an entry is `[[allow]]` with `projects = [\"~/src/*\"]` and, for example, `sandbox.visible = [\"~/.aws\"]`";
const EDITOR_EXAMPLE: &str = "`vscode`, `cursor`, `zed`, `idea`, or the address of another editor, for example \
                              `subl://open?url=file://{path}&line={line}`";

/// What the user's own configuration allows for one project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserAllowance {
    /// The settings that the project may have without a person being asked.
    pub settings: JudgedSettings,
    /// The absolute path of the container engine's socket, which the clients of DOCKER_COMMAND actions may use; `None` if they may
    /// use none.
    pub engine_socket: Option<String>,
    /// The editor in which the page opens files: one of those that the page knows, or the pattern of an address; `None` if none is named.
    pub editor: Option<String>,
}

/// The editors that `editor` of `[page]` can name.
const EDITORS: [&str; 4] = ["vscode", "cursor", "zed", "idea"];
/// The beginnings of addresses that a browser would show or run itself, so that they open no editor.
const OF_THE_BROWSER: [&str; 11] =
    ["javascript", "data", "blob", "file", "about", "view-source", "http", "https", "ws", "wss", "ftp"];

/// Reads what the user's own configuration allows for the project at `root`. `home` stands for `~` in `projects`.
///
/// # Errors
///
/// When the text is not TOML, has an unknown key, or allows a value that `proctor.toml` could not have.
pub fn read_allowed(text: &str, file_name: &str, root: &Path, home: Option<&Path>) -> Result<UserAllowance, Vec<Problem>> {
    let wrong = |pointer: &str, message: String| vec![Problem::new(pointer, message).within(file_name, None).hint(EXAMPLE)];
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| wrong("", format!("not valid TOML: {}", error.message())))?;
    if let Some(key) = table.keys().find(|key| !["allow", "page"].contains(&key.as_str())) {
        return Err(wrong(key, format!("unknown key `{key}`")));
    }
    let editor = read_editor(table.get("page"))
        .map_err(|message| vec![Problem::new("page", message).within(file_name, None).hint(EDITOR_EXAMPLE)])?;
    let entries = match table.get("allow") {
        None => return Ok(UserAllowance { editor, ..UserAllowance::default() }),
        Some(Value::Array(entries)) => entries.clone(),
        Some(_) => return Err(wrong("allow", "a list of tables is expected".to_owned())),
    };
    let (mut allowed, mut allowed_socket) = (JudgedSettings::default(), None);
    for (index, entry) in entries.into_iter().enumerate() {
        let pointer = format!("allow[{}]", index + 1);
        let Value::Table(mut entry) = entry else { return Err(wrong(&pointer, "a table is expected".to_owned())) };
        let projects = match entry.remove(PROJECTS) {
            Some(Value::Array(patterns)) if !patterns.is_empty() => patterns,
            Some(_) | None => {
                return Err(wrong(&pointer, format!("`{PROJECTS}` is missing: paths of projects, or patterns of them")));
            }
        };
        let socket = match entry.remove(ENGINE_SOCKET) {
            None => None,
            Some(Value::String(path)) if path.starts_with('/') => Some(path),
            Some(_) => {
                let message = "an absolute path is expected, as in `engine_socket = \"/run/docker.sock\"`".to_owned();
                return Err(wrong(&format!("{pointer}.{ENGINE_SOCKET}"), message));
            }
        };
        let mut written = WrittenSettings::default();
        written.add("", &entry).map_err(|message| wrong(&pointer, message))?;
        let mut keys = written.keys.iter().chain(written.patterns.keys());
        if let Some(key) = keys.find(|key| weaker_when(key).is_none() || default_of(key).is_none()) {
            return Err(wrong(&format!("{pointer}.{key}"), format!("`{key}` is no setting that is asked for")));
        }
        let configuration = read(&written.lines, file_name).map_err(|problems| {
            let at = |problem: Problem| Problem::new(format!("{pointer}.{}", problem.pointer), problem.message);
            problems.into_iter().map(|problem| at(problem).within(file_name, None).hint(EXAMPLE)).collect::<Vec<_>>()
        })?;
        let mut is_meant = false;
        for pattern in projects {
            let Value::String(pattern) = pattern else { return Err(wrong(&pointer, format!("`{PROJECTS}` is a list of texts"))) };
            is_meant |= matches_root(&pattern, root, home).map_err(|message| wrong(&pointer, message))?;
        }
        if is_meant {
            allowed_socket = socket.or(allowed_socket);
            let values = judged_settings(&configuration).values.into_iter().filter(|(key, _)| written.keys.contains(key));
            let patterns = written.patterns.into_iter().map(|(key, patterns)| (key, SettingValue::List(patterns)));
            values.chain(patterns).for_each(|(key, value)| allow(&mut allowed, key, value));
        }
    }
    Ok(UserAllowance { settings: allowed, engine_socket: allowed_socket, editor })
}

/// Reads the table `[page]`, whose only key is `editor`.
fn read_editor(page: Option<&Value>) -> Result<Option<String>, String> {
    let table = match page {
        None => return Ok(None),
        Some(Value::Table(table)) => table,
        Some(_) => return Err("a table is expected".to_owned()),
    };
    if let Some(key) = table.keys().find(|key| *key != "editor") {
        return Err(format!("unknown key `{key}`: the one key of `[page]` is `editor`"));
    }
    let opens = |text: &str| {
        text.split_once("://").is_some_and(|(scheme, rest)| {
            let is_scheme = scheme
                .chars()
                .all(|character| character.is_ascii_lowercase() || matches!(character, '0'..='9' | '+' | '.' | '-'));
            let is_named = scheme.starts_with(|first: char| first.is_ascii_lowercase());
            is_scheme
                && is_named
                && !OF_THE_BROWSER.contains(&scheme)
                && rest.contains("{path}")
                && !rest.contains(char::is_whitespace)
        })
    };
    match table.get("editor") {
        None => Ok(None),
        Some(Value::String(text)) if EDITORS.contains(&text.as_str()) || opens(text) => Ok(Some(text.clone())),
        Some(_) => Err("`editor` is no editor that can be opened".to_owned()),
    }
}

/// Adds an allowed value. If two entries allow the same setting, the weaker value counts, or the entries of both lists.
fn allow(allowed: &mut JudgedSettings, key: String, value: SettingValue) {
    let both = match (allowed.values.remove(&key), value) {
        (Some(SettingValue::List(before)), SettingValue::List(more)) => SettingValue::List([before, more].concat()),
        (Some(before), value) if weaker_when(&key).is_some_and(|when| when.is_weaker(&value, &before)) => before,
        (Some(_) | None, value) => value,
    };
    allowed.values.insert(key, both);
}

fn matches_root(pattern: &str, root: &Path, home: Option<&Path>) -> Result<bool, String> {
    let pattern = match (pattern.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", home.display()),
        (Some(_) | None, _) => pattern.to_owned(),
    };
    if !pattern.starts_with('/') {
        return Err(format!(
            "`{pattern}` is a relative path: a project is named by an absolute path, or by one that begins with `~/`"
        ));
    }
    let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| format!("`{pattern}` is no pattern of paths: {error}"))?;
    Ok(Path::new(&pattern) == root || glob.compile_matcher().is_match(root))
}

/// The settings that an entry allows.
#[derive(Default)]
struct WrittenSettings {
    /// The settings with one value, as lines of `proctor.toml`, so that they are read as they would be there.
    lines: String,
    /// The keys of `lines`.
    keys: Vec<String>,
    /// The patterns of the entries that a list may have, by the key of the list.
    patterns: BTreeMap<String, Vec<String>>,
}

impl WrittenSettings {
    fn add(&mut self, prefix: &str, table: &Table) -> Result<(), String> {
        for (key, value) in table {
            if !key.chars().all(|character| character.is_ascii_lowercase() || character == '_') {
                return Err(format!("unknown key {}", quoted_text(key)));
            }
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if let Value::Table(inner) = value {
                self.add(&path, inner)?;
            } else if weaker_when(&path) == Some(WeakerWhen::Added) {
                self.patterns.insert(path.clone(), patterns(&path, value)?);
            } else {
                self.lines.push_str(&format!("{path} = {}\n", inline(value)?));
                self.keys.push(path);
            }
        }
        Ok(())
    }
}

fn patterns(path: &str, value: &Value) -> Result<Vec<String>, String> {
    let wrong = || format!("`{path}` is a list of texts: the entries that are allowed, or patterns of them");
    let Value::Array(values) = value else { return Err(wrong()) };
    values.iter().map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

fn inline(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => quoted_text(text),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Result<Vec<_>, _>>()?.join(", ")),
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => return Err("a text, a number or a list is expected".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, root: &str) -> Result<JudgedSettings, String> {
        allowance(text, root).map(|allowance| allowance.settings)
    }

    fn allowance(text: &str, root: &str) -> Result<UserAllowance, String> {
        let read = read_allowed(text, "config.toml", Path::new(root), Some(Path::new("/home/me")));
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    const TEXT: &str = "[[allow]]\nprojects = [\"~/src/*\"]\nsandbox.visible = [\"~/.aws\"]\nsandbox.mode = \"off\"\n\
                        [[allow]]\nprojects = [\"/home/me/src/shop\"]\n[allow.sandbox]\nvisible = [\"~/.config/x\"]\nmode = \"auto\"\n";

    #[test]
    fn what_is_allowed_is_allowed_to_the_projects_that_the_pattern_names_and_to_no_other() {
        let shop = allowed(TEXT, "/home/me/src/shop").expect("it is right").values;
        let list = |entries: &[&str]| SettingValue::List(entries.iter().map(|entry| (*entry).to_owned()).collect());
        assert_eq!(shop.get("sandbox.visible"), Some(&list(&["~/.aws", "~/.config/x"])));
        assert_eq!(shop.get("sandbox.mode"), Some(&SettingValue::Text("off".to_owned())), "the weaker of both counts");
        assert_eq!(shop.len(), 2, "nothing but what is written is allowed");
        assert_eq!(allowed(TEXT, "/home/me/src/other").unwrap().values.len(), 2);
        for elsewhere in ["/home/me/src", "/home/me/src/shop/inner", "/srv/src/shop"] {
            assert_eq!(allowed(TEXT, elsewhere).unwrap(), JudgedSettings::default(), "{elsewhere}");
        }
        assert_eq!(allowed("", "/home/me/src/shop").unwrap(), JudgedSettings::default());
    }

    #[test]
    fn the_socket_of_an_engine_is_allowed_to_the_projects_of_its_entry() {
        let text = "[[allow]]\nprojects = [\"~/src/*\"]\nengine_socket = \"/run/docker.sock\"\n";
        let socket = |root| allowance(text, root).expect("it is right").engine_socket;
        assert_eq!(socket("/home/me/src/shop").as_deref(), Some("/run/docker.sock"));
        assert_eq!(socket("/home/me/other"), None);
        assert_eq!(allowed(text, "/home/me/src/shop").unwrap(), JudgedSettings::default(), "it is no setting of a project");
    }

    #[test]
    fn the_editor_of_the_page_is_a_name_or_an_address_that_no_browser_opens_itself() {
        let editor = |value: &str| allowance(&format!("[page]\neditor = \"{value}\"\n"), "/a").map(|allowance| allowance.editor);
        for right in ["vscode", "idea", "subl://open?url=file://{path}&line={line}"] {
            assert_eq!(editor(right), Ok(Some(right.to_owned())));
        }
        for wrong in
            ["emacs", "https://x/{path}", "javascript://{path}", "subl://open", "://{path}", "a b://{path}", "a://{path} b"]
        {
            let said = editor(wrong).expect_err(wrong);
            assert!(said.contains("page: `editor` is no editor") && said.contains("`vscode`"), "{said}");
        }
        assert!(allowance("[page]\neditr = \"zed\"\n", "/a").is_err_and(|said| said.contains("unknown key `editr`")));
    }

    #[test]
    fn a_mistake_is_named_and_allows_nothing() {
        let rows = [
            ("allow = 3", "a list of tables is expected"),
            ("[[alow]]\nprojects = [\"/a\"]", "unknown key `alow`"),
            ("[[allow]]\nsandbox.mode = \"off\"", "`projects` is missing"),
            ("[[allow]]\nprojects = [\"work\"]", "is a relative path"),
            ("[[allow]]\nprojects = [\"/a\"]\nsandbox.mode = \"of\"", "allow[1].sandbox.mode"),
            ("[[allow]]\nprojects = [\"/a\"]\nsandbox.moda = \"off\"", "`sandbox.moda` is no setting"),
            ("[[allow]]\nprojects = [\"/a\"]\nwatch.quiet = \"1s\"", "`watch.quiet` is no setting"),
            ("[[allow]]\nprojects = [\"/a\"]\napproval.require_signature = false", "is no setting that is asked for"),
            ("[[allow]]\nprojects = [\"/a\"]\nengine_socket = \"docker.sock\"", "an absolute path is expected"),
            ("[[allow", "not valid TOML"),
        ];
        for (text, expected) in rows {
            let said = allowed(text, "/a").unwrap_err();
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
