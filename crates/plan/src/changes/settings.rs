//! Compares configuration files of tools key by key, and tells a setting that switches rules or tests off from another one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::changes::{ChangeKind, ChangedFile, is_program_of_settings, shortened};
use proctor_model::{Tool, has_word};
use proctor_tools::parse_jsonc;

/// The settings of a file: the values by their dotted keys.
type Settings = BTreeMap<String, Value>;

/// The last parts of keys whose list names what is left out: more of it is less that is checked.
const LEFT_OUT: &str = "\
    ignore ignores extend-ignore exclude extend-exclude disable disable_error_code omit exclude_lines exclude_also \
    per-file-ignores norecursedirs collect_ignore testPathIgnorePatterns coveragePathIgnorePatterns \
    modulePathIgnorePatterns excludes skip skips deselect ignored-modules ignored-classes \
    ignorePatterns filterwarnings allow";
/// The last parts of keys whose list names what is checked: with a shorter list less is checked.
const CHECKED: &str = "\
    select extend-select enable enable_error_code testpaths python_files python_classes python_functions files include \
    packages source testMatch roots projects deny forbid warn";
/// The last parts of keys of which `true` leaves something out.
const LENIENT: &str = "\
    ignore_errors ignore_missing_imports skipLibCheck allow_untyped_defs allow_redefinition skip_covered \
    passWithNoTests exit-zero allowJs silent";
/// The last parts of keys that are on by default.
const USUALLY_ON: &str = "\
    harness autotests doctest test";
/// The last parts of keys whose number is a bar: a lower one is passed more easily.
const BARS: &str = "\
    fail_under fail-under branches functions lines statements minimum level";
/// The last parts of keys that choose tests where they are set.
const CHOOSING: &str = "\
    testpaths files include spec grep fgrep testNamePattern";
/// The last parts of keys that say how something looks, is made or is told, and nothing of what is checked.
const OF_FORM: &str = "\
    verbose color colors pretty progress cache watch notify parallel sourceMap declaration incremental composite semi singleQuote \
    jsxSingleQuote bracketSpacing bracketSameLine useTabs";
/// Words of a tool's options that leave tests or rules out.
const OPTIONS: [&str; 12] = [
    "-k",
    "-m",
    "--deselect",
    "--ignore",
    "--ignore-glob",
    "-p",
    "--exit-zero",
    "--no-cov",
    "--maxfail",
    "--lf",
    "-A",
    "--cap-lints",
];
/// Words of a line by which a file in a form that is not read leaves something out.
const LESS: [&str; 8] = ["skip", "ignore", "exclude", "disable", "enabled: false", "allow", "--tag ~", ": null"];
/// The levels of a rule that report nothing.
const OFF: [&str; 6] = ["off", "0", "allow", "none", "false", "null"];
/// The levels of a rule that report something, as words that mean nothing else.
const ON: &str = "\
    error warn warning deny forbid";

/// Returns the settings of a changed file that are others now.
pub(super) fn find_changed_settings(file: &ChangedFile<'_>) -> Vec<(ChangeKind, String)> {
    let Some(read) = reader_of(file.path) else { return changed_lines(file) };
    let settings = |text: Option<&str>| text.map_or(Some(Settings::new()), read);
    let (Some(before), Some(after)) = (settings(file.before), settings(file.after)) else {
        return vec![(ChangeKind::SwitchedOff, "changed, and it cannot be read".to_owned())];
    };
    // Also a file that says nothing can take the place of another one: pytest reads no `pyproject.toml` beside a `pytest.ini`.
    if file.is_there == (false, true) && after.is_empty() {
        return vec![(ChangeKind::Setting, "added, and it says nothing: it may take the place of another file".to_owned())];
    }
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| describe(key, before.get(key), after.get(key)))
        .collect()
}

/// Returns the lines that a file of settings in a form that is not read has and had not, and those that it has not any more.
fn changed_lines(file: &ChangedFile<'_>) -> Vec<(ChangeKind, String)> {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let is_compared =
        has_word(UNREAD, name) || is_unknown_configuration(name) || is_configuration(name) && !is_program_of_settings(name);
    if !is_compared {
        return Vec::new();
    }
    let lines = |text: Option<&'_ str>| -> BTreeSet<String> {
        let lines = text.unwrap_or_default().lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '!'])).map(str::to_owned).collect()
    };
    let (before, after) = (lines(file.before), lines(file.after));
    let is_less = |line: &&&String| LESS.iter().any(|word| line.to_ascii_lowercase().contains(word));
    let gone: Vec<&String> = before.difference(&after).collect();
    // Of a file of which no tool here knows anything, what changed is listed.
    let is_known = has_word(UNREAD, name) || is_configuration(name);
    let bar = |line: &str| line.split_once([':', '=']).map(|(key, value)| (key.trim().to_owned(), Value::from(value.trim())));
    let old: BTreeMap<String, Value> = gone.iter().filter_map(|line| bar(line)).collect();
    let is_lower = |line: &str| bar(line).is_some_and(|(key, now)| switches_off(&key, old.get(&key), Some(&now)));
    let (less, more): (Vec<&String>, Vec<&String>) =
        after.difference(&before).partition(|line| is_known && (is_less(&line) || is_lower(line)));
    let named = |kind, how, lines: Vec<&String>| {
        let lines: Vec<&str> = lines.into_iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| (kind, format!("{how}: {}", shortened(&lines.join("; ")))))
    };
    let (less, more) = (named(ChangeKind::SwitchedOff, "added", less), named(ChangeKind::Setting, "added", more));
    [less, more, named(ChangeKind::Setting, "removed", gone)].into_iter().flatten().collect()
}

fn describe(key: &str, before: Option<&Value>, after: Option<&Value>) -> (ChangeKind, String) {
    let shown = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), |value| shortened(&value.to_string()));
    let what = format!("{key}: {} → {}", shown(before), shown(after));
    let is_script = key.starts_with("scripts.") || key.starts_with("tool.pdm.scripts.") || key.starts_with("tool.poe.tasks.");
    let kind = match () {
        // The program that starts the tests, also where the command of the check is the same.
        () if key.ends_with(".runner") => ChangeKind::Command,
        () if is_script && before.is_some() => ChangeKind::Command,
        () if switches_off(key, before, after) => ChangeKind::SwitchedOff,
        () => ChangeKind::Setting,
    };
    (kind, what)
}

fn switches_off(key: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let leaf = key.rsplit('.').next().unwrap_or(key);
    let has_more = |more: &BTreeSet<String>, fewer: &BTreeSet<String>| more.difference(fewer).next().is_some();
    let (old, new) = (words(before), words(after));
    let parent = |names: &[&str]| key.split('.').any(|part| names.contains(&part));
    // `per-file-ignores` has a list for each file.
    if has_word(LEFT_OUT, leaf) || parent(&["per-file-ignores", "exclude_lines"]) {
        return has_more(&new, &old);
    }
    if has_word(CHECKED, leaf) {
        // Where nothing is named, the tool's default is checked: naming something narrows it, and no longer naming it may.
        return has_more(&old, &new) || (old.is_empty() && !new.is_empty() && has_word(CHOOSING, leaf));
    }
    if has_word(CHOOSING, leaf) {
        return !new.is_empty() && new != old;
    }
    if has_word("addopts args rustflags", leaf) {
        let is_option =
            |word: &&String| OPTIONS.iter().any(|option| word.as_str() == *option || word.starts_with(&format!("{option}=")));
        return new.difference(&old).any(|word| is_option(&word))
            || old.difference(&new).any(|word| word.contains("strict") || word == "-W");
    }
    let is_of_rule = parent(&["rules", "lints", "linter"]);
    if has_word(OF_FORM, leaf) && !is_of_rule {
        return false;
    }
    let is_level = |value: Option<&Value>| level(value).is_some_and(|level| OFF.contains(&level.as_str()));
    if level(before).is_some_and(|level| has_word(ON, &level)) && is_level(after) {
        return true;
    }
    if is_of_rule {
        return (is_level(after) && !is_level(before)) || (before.is_some() && !is_level(before) && after.is_none());
    }
    if has_word(BARS, leaf) || parent(&["coverageThreshold", "thresholds"]) {
        return number(before).is_some_and(|bar| number(after).is_none_or(|now| now < bar));
    }
    if has_word(USUALLY_ON, leaf) && as_boolean(after) == Some(false) {
        return true;
    }
    if has_word(LENIENT, leaf) {
        return as_boolean(after) == Some(true) && as_boolean(before) != Some(true);
    }
    as_boolean(before) == Some(true) && as_boolean(after) != Some(true)
}

/// Returns the words of a value: the items of a list, or those of a text.
fn words(value: Option<&Value>) -> BTreeSet<String> {
    let split = |text: &str| {
        text.split(|one: char| one.is_whitespace() || one == ',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match value {
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
        }
        Some(Value::String(text)) => split(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Null | Value::Object(_)) | None => BTreeSet::new(),
    }
}

/// Returns the level of a rule: its value, or the first item of it.
fn level(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Array(items) => level(items.first()),
        Value::String(text) => Some(text.to_ascii_lowercase()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => Some(other.to_string()),
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text == "max" => Some(f64::INFINITY),
        Value::String(text) => text.trim().trim_end_matches('%').parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn as_boolean(value: Option<&Value>) -> Option<bool> {
    match value? {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Configuration files of several tools, and of tools that proctor does not read.
const FURTHER: &str = "\
    setup.cfg tox.ini .coveragerc .bandit .clippy.toml clippy.toml deny.toml rustfmt.toml biome.json biome.jsonc pyrightconfig.json \
    .c8rc.json .nycrc .nycrc.json .mocharc.json deno.json deno.jsonc .gitattributes .stylelintrc .stylelintrc.json tslint.json \
    turbo.json nx.json angular.json bunfig.toml vitest.workspace.json .golangci.toml .npmrc gradle.properties";
/// Configuration files in forms that are compared line by line.
const UNREAD: &str = "\
    .rspec .rubocop.yml .rubocop_todo.yml .golangci.yml .golangci.yaml pom.xml build.gradle build.gradle.kts phpunit.xml phpunit.xml.dist \
    phpstan.neon detekt.yml .shellcheckrc .swiftlint.yml .pre-commit-config.yaml codecov.yml .codecov.yml .yarnrc.yml";
/// The endings of files of settings whose names begin with a dot.
const OF_DOTFILES: &str = "\
    yml yaml json toml ini cfg conf editorconfig";
/// The keys of a package in `package.json` or `composer.json` that are no settings.
const OF_PACKAGE: &str = "\
    name version description keywords license author contributors repository homepage bugs private main module types exports files bin \
    engines workspaces packageManager dependencies devDependencies peerDependencies optionalDependencies require require-dev autoload \
    autoload-dev authors";

/// Returns what reads the settings of a file of this name; `None` if it configures no tool, or is a program.
fn reader_of(path: &str) -> Option<fn(&str) -> Option<Settings>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "pyproject.toml" => return Some(|text| toml_settings(text, |key| key == "tool")),
        "Cargo.toml" => return Some(settings_of_cargo),
        "config.toml" | "config" if path.trim_end_matches(name).ends_with(".cargo/") => {
            return Some(|text| toml_settings(text, |_| true));
        }
        "package.json" | "composer.json" => {
            return Some(|text| Some(flattened(&parse_jsonc(text)?, |key| !has_word(OF_PACKAGE, key))));
        }
        _ if !is_configuration(name) && !has_word(FURTHER, name) => return None,
        _ => {}
    }
    Some(match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "toml" => |text| toml_settings(text, |_| true),
        "json" | "jsonc" => |text| Some(flattened(&parse_jsonc(text)?, |_| true)),
        "ini" | "cfg" | "properties" | "npmrc" => |text| Some(ini_settings(text)),
        "gitattributes" => |text| Some(patterns(text)),
        ending if ending.ends_with("ignore") => |text| Some(patterns(text)),
        // A file of settings without an ending is in one of two forms.
        _ if name.ends_with("rc") || name.rfind('.') == Some(0) => {
            |text| Some(parse_jsonc(text).map_or_else(|| ini_settings(text), |value| flattened(&value, |_| true)))
        }
        _ => return None,
    })
}

/// Returns whether a file of this name looks like the configuration of a tool of which nothing is known.
fn is_unknown_configuration(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_dotfile = name.starts_with('.') && (has_word(OF_DOTFILES, ending) || ending.ends_with("rc"));
    is_dotfile || [".config.json", ".config.yml", ".config.yaml", ".config.toml"].iter().any(|end| name.ends_with(end))
}

/// Returns whether a file of this name is the configuration of a tool, as the tool's row says.
pub(super) fn is_configuration(name: &str) -> bool {
    let is_named = |pattern: &&str| match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => name == *pattern,
    };
    Tool::ALL.into_iter().any(|tool| tool.configuration().iter().any(&is_named))
}

/// Returns the settings of a package of Cargo. Its name, version and dependencies are none.
fn settings_of_cargo(text: &str) -> Option<Settings> {
    let mut settings = toml_settings(text, |key| has_word("lints profile workspace package lib test", key))?;
    settings.retain(|key, _| !key.starts_with("package.") || key.starts_with("package.auto"));
    Some(settings)
}

fn toml_settings(text: &str, is_wanted: fn(&str) -> bool) -> Option<Settings> {
    let document: toml::Table = text.parse().ok()?;
    Some(flattened(&serde_json::to_value(document).ok()?, is_wanted))
}

/// Returns the values below the wanted keys, by their dotted keys.
fn flattened(value: &Value, is_wanted: fn(&str) -> bool) -> Settings {
    let mut settings = Settings::new();
    // The whole file is a list of what is checked.
    if value.is_array() {
        flatten("files", value, &mut settings);
    }
    for (key, value) in value.as_object().into_iter().flatten().filter(|(key, _)| is_wanted(key)) {
        flatten(key, value, &mut settings);
    }
    settings
}

fn flatten(key: &str, value: &Value, settings: &mut Settings) {
    match value {
        Value::Object(table) => table.iter().for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, settings)),
        // Tables in a list, such as the overrides of mypy, are distinguished by their place.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(place, value)| flatten(&format!("{key}.{place}"), value, settings));
        }
        Value::Array(_) | Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {
            settings.insert(key.to_owned(), value.clone());
        }
    }
}

/// Reads the form of Python's `configparser`: sections, `key = value`, and continued lines that are indented.
fn ini_settings(text: &str) -> Settings {
    let (mut settings, mut section, mut last) = (Settings::new(), String::new(), None::<String>);
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with(char::is_whitespace)
            && let Some(Value::String(value)) = last.as_ref().and_then(|key| settings.get_mut(key))
        {
            value.push('\n');
            value.push_str(bare);
        } else if let Some(name) = bare.strip_prefix('[').and_then(|bare| bare.strip_suffix(']')) {
            (section, last) = (name.to_owned(), None);
        } else {
            let (key, value) = bare.split_once(['=', ':']).unwrap_or((bare, ""));
            let key = format!("{section}.{}", key.trim());
            settings.insert(key.clone(), Value::String(value.trim().to_owned()));
            last = Some(key);
        }
    }
    settings
}

/// Reads a file of patterns: the list of its lines, which leave files out.
fn patterns(text: &str) -> Settings {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Settings::from([("ignore".to_owned(), Value::Array(lines.map(|line| Value::String(line.to_owned())).collect()))])
}
