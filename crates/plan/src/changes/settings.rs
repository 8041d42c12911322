//! Compares configuration files of tools key by key, and tells a setting that switches rules or tests off from another one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::changes::{ChangeKind, ChangedFile, is_program_of_settings, shortened};
use proctor_model::{Tool, has_word};
use proctor_tools::parse_jsonc;

/// The settings of a file: the values by their dotted keys.
type Settings = BTreeMap<String, Value>;

/// Words in the last parts of keys whose value names what is left out: more of it is less that is checked.
const LEFT_OUT: &str = "\
    ignore ignores ignored exclude excludes excluded skip skips omit disable deselect norecursedirs filterwarnings allow required-features";
/// Words beside these that name what is left out of something else than checking.
const OF_OTHERS: &str = "\
    transform watch";
/// The last parts of keys whose list names what is checked: with a shorter list less is checked.
const CHECKED: &str = "\
    select extend-select enable enable_error_code testpaths python_files python_classes python_functions files include \
    packages source testMatch testRegex roots projects deny forbid warn members default-members collectCoverageFrom required_plugins";
/// The last parts of keys of which `true` leaves something out.
const LENIENT: &str = "\
    passWithNoTests exit-zero silent";
/// Words in the names of what is on by default, and checks something.
const CHECKING: &str = "\
    strict check checks no disallow warn require error fail report assert assertions exact enable extra test tests doctest harness autotests";
/// The last parts of keys whose number is a bar: a lower one is passed more easily.
const BARS: &str = "\
    fail_under fail-under branches functions lines statements minimum level target";
/// The last parts of keys that choose tests where they are set.
const CHOOSING: &str = "\
    testpaths files include spec grep fgrep testNamePattern testRegex";
/// The last parts of keys that say how something looks, is made or is told, and nothing of what is checked.
const OF_FORM: &str = "\
    verbose color colors pretty progress cache watch notify parallel sourceMap declaration incremental composite semi singleQuote \
    jsxSingleQuote bracketSpacing bracketSameLine useTabs fix unsafe-fixes show-fixes skip_covered skip_empty skip_gitignore \
    skip-string-normalization skip-magic-trailing-comma noEmit esModuleInterop resolveJsonModule isolatedModules importHelpers \
    experimentalDecorators emitDecoratorMetadata allowSyntheticDefaultImports allowImportingTsExtensions removeComments declarationMap \
    inlineSourceMap inlineSources persistent ignoreDeprecations";
/// Words in the names of such keys.
const OF_TELLING: &str = "\
    show log";
/// The beginnings of keys that say how a package is built and released.
const OF_BUILDS: &str = "\
    tool.setuptools tool.hatch.build tool.hatch.version tool.poetry tool.flit tool.pdm.build tool.uv tool.maturin tool.cibuildwheel \
    tool.semantic_release tool.commitizen tool.bumpversion tool.bumpver tool.towncrier profile.release profile.bench metadata options";
/// The last parts of keys that name a program which starts the tests or builds them.
const STARTING: &str = "\
    runner testRunner rustc rustc-wrapper rustdoc";
/// The last parts of keys whose text is a command.
const COMMANDS: &str = "\
    command commands commands_pre commands_post";
/// Words of a tool's options that leave tests or rules out.
const OPTIONS: &str = "\
    -k -m --deselect --ignore --ignore-glob --co --collect-only --setup-only --setup-plan --exit-zero --no-cov --lf --last-failed --sw \
    --stepwise -A --cap-lints --grep --testNamePattern --passWithNoTests";
/// The plugin of pytest that decides about no test.
const CACHE_OF_PYTEST: &str = "no:cacheprovider";
/// The levels of a rule, from what reports nothing.
const LEVELS: [&str; 4] =
    ["off 0 allow none false null", "warn warning 1 information basic", "error deny forbid 2 true standard", "strict all"];
/// Words of a line by which a file in a form that is not read leaves something out.
const LESS: [&str; 8] = ["skip", "ignore", "exclude", "disable", "enabled: false", "allow", "--tag ~", ": null"];
/// A setting that only one of the commits has in a file.
struct OneSided {
    path: String,
    leaf: String,
    /// The words of the file's name and of the section that can be a tool's.
    tools: BTreeSet<String>,
    value: Value,
}

/// The settings that are gone from files, and those that are new in files: one that stands in another file of its tool has only moved.
pub(super) struct MovedSettings {
    gone: Vec<OneSided>,
    new: Vec<OneSided>,
}

impl MovedSettings {
    pub(super) fn between(files: &[ChangedFile<'_>]) -> Self {
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for file in files {
            let Some([before, after]) = settings_of(file) else { continue };
            for (side, one, other) in [(&mut gone, &before, &after), (&mut new, &after, &before)] {
                let lacking = one.iter().filter(|(key, _)| !other.contains_key(*key));
                side.extend(lacking.map(|(key, value)| OneSided::new(file.path, key, value.clone())));
            }
        }
        Self { gone, new }
    }

    /// Returns whether a setting stands in another file of the same tool, where it asks for no less.
    fn has(&self, path: &str, key: &str, (before, after): (Option<&Value>, Option<&Value>)) -> bool {
        let others = match (before, after) {
            (Some(_), None) => &self.new,
            (None, Some(_)) => &self.gone,
            (Some(_), Some(_)) | (None, None) => return false,
        };
        let here = OneSided::new(path, key, Value::Null);
        let is_here = |other: &&OneSided| other.path != path && other.leaf == here.leaf && !other.tools.is_disjoint(&here.tools);
        let asks_less = |other: &OneSided| switches_off(key, before.or(Some(&other.value)), after.or(Some(&other.value)));
        others.iter().filter(is_here).any(|other| !asks_less(other))
    }
}

impl OneSided {
    fn new(path: &str, key: &str, value: Value) -> Self {
        const OF_NO_TOOL: &str = "tool ini options cfg setup pyproject toml json lint config package report run";
        let (above, leaf) = key.rsplit_once('.').unwrap_or(("", key));
        let tools = path.split(|one: char| !one.is_alphanumeric()).chain(above.split(['.', ':', '-']));
        let tools = tools.map(|word| word.trim_end_matches("rc").trim_end_matches("Config"));
        let tools = tools.filter(|word| !word.is_empty() && !has_word(OF_NO_TOOL, word)).map(str::to_owned).collect();
        Self { path: path.to_owned(), leaf: leaf.to_owned(), tools, value }
    }
}

/// Returns the settings of both commits; `None` if the file configures no tool, or one of them cannot be read.
fn settings_of(file: &ChangedFile<'_>) -> Option<[Settings; 2]> {
    let read = reader_of(file.path)?;
    let settings = |text: Option<&str>| text.map_or(Some(Settings::new()), read);
    Some([settings(file.before)?, settings(file.after)?])
}

/// Returns the settings of a changed file that are others now. `started` has the words of the commands of checks.
pub(super) fn find_changed_settings(
    file: &ChangedFile<'_>,
    started: &BTreeSet<String>,
    moved: &MovedSettings,
) -> Vec<(ChangeKind, String)> {
    if reader_of(file.path).is_none() {
        return changed_lines(file);
    }
    let Some([before, after]) = settings_of(file) else {
        return vec![(ChangeKind::SwitchedOff, "changed, and it cannot be read".to_owned())];
    };
    // Also a file that says nothing can take the place of another one: pytest reads no `pyproject.toml` beside a `pytest.ini`.
    if file.is_there == (false, true) && after.is_empty() {
        return vec![(ChangeKind::Setting, "added, and it says nothing: it may take the place of another file".to_owned())];
    }
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().map(|key| (key, before.get(key), after.get(key))).filter(|(_, before, after)| before != after);
    changed
        .map(|(key, before, after)| {
            let (kind, what) = describe(key, (before, after), started);
            let is_moved = moved.has(file.path, key, (before, after));
            (if is_moved { ChangeKind::Setting } else { kind }, what)
        })
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
        let lines =
            text.unwrap_or_default().lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with(['#', '!']));
        // An item of a list says nothing without the key of the list.
        let mut key = "";
        let named = lines.map(|line| match line.trim() {
            item if item.starts_with("- ") && !item.contains(": ") => format!("{key} {item}"),
            other => {
                key = if other.ends_with(':') { other } else { "" };
                other.to_owned()
            }
        });
        named.map(|line| line.trim().to_owned()).collect()
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

fn describe(key: &str, (before, after): (Option<&Value>, Option<&Value>), started: &BTreeSet<String>) -> (ChangeKind, String) {
    let shown = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), |value| shortened(&value.to_string()));
    let what = format!("{key}: {} → {}", shown(before), shown(after));
    let mut parts = key.rsplit('.');
    let (leaf, above) = (parts.next().unwrap_or(key), parts.next().unwrap_or_default());
    let name = leaf.strip_prefix("pre").or_else(|| leaf.strip_prefix("post")).unwrap_or(leaf);
    // A manager of packages runs those that a command names. Other tools run theirs by other names too.
    let is_unused = key.matches('.').count() == 1 && !started.is_empty() && !started.contains(leaf) && !started.contains(name);
    let is_command = has_word(COMMANDS, leaf) || (has_word("scripts tasks", above) && !is_unused);
    let kind = match () {
        // The program that starts the tests, also where the command of the check is the same.
        () if has_word(STARTING, leaf) => ChangeKind::Command,
        () if is_command && before.is_some() => ChangeKind::Command,
        () if has_word("scripts tasks", above) => ChangeKind::Setting,
        () if switches_off(key, before, after) => ChangeKind::SwitchedOff,
        () => ChangeKind::Setting,
    };
    (kind, what)
}

fn switches_off(key: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let leaf = key.rsplit('.').next().unwrap_or(key);
    let has_more = |more: &BTreeSet<String>, fewer: &BTreeSet<String>| more.difference(fewer).next().is_some();
    let (old, new) = (words(before), words(after));
    let (was_true, is_true) = (as_boolean(before) == Some(true), as_boolean(after) == Some(true));
    let is_false = as_boolean(after) == Some(false);
    let parent = |names: &[&str]| key.split('.').any(|part| names.contains(&part));
    let is_of_rule = parent(&["rules", "lints", "linter"]);
    let is_of_build =
        OF_BUILDS.split(' ').any(|start| key.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
    let parts = parts_of(leaf);
    let has_part = |list: &str| has_word(list, leaf) || parts.iter().any(|part| has_word(list, part));
    if is_of_build || ((has_word(OF_FORM, leaf) || has_part(OF_TELLING)) && !is_of_rule) {
        return false;
    }
    // `per-file-ignores` has a list for each file.
    if (has_part(LEFT_OUT) && !has_part(OF_OTHERS) && !is_of_rule) || parent(&["per-file-ignores", "exclude_lines"]) {
        return match as_boolean(after.or(before)) {
            Some(_) => is_true && !was_true,
            None => {
                has_more(&new, &old) || (leaf == "filterwarnings" && old.difference(&new).any(|word| word.starts_with("error")))
            }
        };
    }
    if has_word(CHECKED, leaf) {
        // Where nothing is named, the tool's default is checked: naming something narrows it, and no longer naming it may.
        return has_more(&old, &new) || (old.is_empty() && !new.is_empty() && has_word(CHOOSING, leaf));
    }
    if has_word(CHOOSING, leaf) {
        return !new.is_empty() && new != old;
    }
    if leaf == "extends" {
        return has_more(&old, &new) && new.len() < old.len();
    }
    if has_word("addopts args rustflags extra-args extra_args", leaf) {
        return weakens_options(before, after);
    }
    if is_of_rule || leaf == "typeCheckingMode" || parts.first().is_some_and(|part| part == "report") {
        return match (rank(before), rank(after)) {
            (Some(before), Some(after)) => after < before,
            (_, Some(0)) => true,
            (old, _) => before.is_some() && after.is_none() && old != Some(0),
        };
    }
    let (old, new) = (level(before), level(after));
    if old.as_ref().is_some_and(|old| has_word("error warn warning deny forbid", old)) && rank(after) == Some(0) {
        return true;
    }
    if has_word(BARS, leaf) || parent(&["coverageThreshold", "thresholds"]) {
        return number(before).is_some_and(|bar| number(after).is_none_or(|now| now < bar));
    }
    if has_word(LENIENT, leaf) {
        return is_true && !was_true;
    }
    let is_skipped = new.as_deref() == Some("skip") && new != old;
    is_skipped
        || (was_true && (is_false || after.is_none()))
        || (is_false && as_boolean(before) != Some(false) && has_part(CHECKING))
}

/// Returns whether options of a tool leave tests or rules out that were not left out, or do not ask for as much.
fn weakens_options(before: Option<&Value>, after: Option<&Value>) -> bool {
    let ([old, new], name) =
        ([before, after].map(words_in_order), |word: &str| word.split('=').next().unwrap_or(word).to_owned());
    let [plugins_before, plugins] = [&old, &new].map(|words| {
        words
            .windows(2)
            .filter(|pair| pair[0] == "-p" && pair[1] != CACHE_OF_PYTEST)
            .map(|pair| pair[1].clone())
            .collect::<Vec<_>>()
    });
    let bar = |words: &[String]| words.iter().find_map(|word| word.split_once("fail-under=")?.1.parse::<f64>().ok());
    let asks_more = |word: &String| word.contains("strict") || word == "-W" || word.starts_with("error");
    new.iter().any(|word| has_word(OPTIONS, &name(word)) && !old.contains(word))
        || plugins.iter().any(|plugin| !plugins_before.contains(plugin))
        || old.iter().any(|word| asks_more(word) && !new.contains(word))
        || bar(&old).is_some_and(|old| bar(&new).is_none_or(|new| new < old))
}

/// Returns the words of a name in any case: `per-file-ignores`, `testPathIgnorePatterns`.
fn parts_of(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for one in name.chars() {
        if one.is_uppercase() || !one.is_alphanumeric() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| one.is_alphanumeric()) {
            part.extend(one.to_lowercase());
        }
    }
    parts
}

/// Returns the words of a value: the items of a list, or those of a text.
fn words(value: Option<&Value>) -> BTreeSet<String> {
    words_in_order(value).into_iter().collect()
}

fn words_in_order(value: Option<&Value>) -> Vec<String> {
    let split = |text: &str| {
        text.split(|one: char| one.is_whitespace() || one == ',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    match value {
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
        }
        Some(Value::String(text)) => split(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Null | Value::Object(_)) | None => Vec::new(),
    }
}

/// Returns the place of a rule's level in [`LEVELS`].
fn rank(value: Option<&Value>) -> Option<usize> {
    let level = level(value)?;
    LEVELS.iter().position(|levels| has_word(levels, &level))
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
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
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
        // Tables in a list, such as the overrides of mypy, are distinguished by their names, or else by their places.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (place, value) in items.iter().enumerate() {
                let name = ["name", "module", "files", "id"]
                    .iter()
                    .find_map(|key| value.get(*key))
                    .map(|name| shortened(&name.to_string()));
                flatten(&format!("{key}.{}", name.unwrap_or_else(|| place.to_string())), value, settings);
            }
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
