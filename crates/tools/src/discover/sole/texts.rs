//! Reads the one line that a target, a recipe, a task or a script runs. A file with anything that is not known here has no such line.

use std::collections::BTreeMap;

use toml::Value;

use crate::discover::entries::{JUSTFILES, MAKEFILES, first_of, table_at, text_of};
use crate::discover::followed::{OUTSIDE, SCRIPT_LISTS, below};
use crate::discover::sole::is_asking;
use crate::jsonc::{RUNNERS, script_name, scripts};
use crate::project_files::{ProjectFiles, within};

/// At most so many targets are followed.
const MOST_TARGETS: usize = 32;

/// At most so many variables are put in the places of their names, one in the value of the other.
const DEEPEST_VARIABLE: usize = 8;

/// The line of a shell that a text has, and the directory in which it runs.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) line: String,
    pub(super) directory: String,
    /// Words of the call that are put behind the line.
    pub(super) handed_on: Vec<String>,
}

/// Returns the one line that a call runs; `Some(None)` if it runs a text that is more, or is not read; `None` if it names no text.
pub(super) fn text_of_call(call: &[String], files: &dyn ProjectFiles, directory: &str) -> Option<Option<Text>> {
    let words = &call[1..];
    let text = |line: Option<String>| line.map(|line| Text { line, directory: directory.to_owned(), handed_on: Vec::new() });
    match call[0].as_str() {
        "make" | "gmake" => Some(of_make(words, files, directory)),
        "just" => Some(text(one_word(words).and_then(|name| {
            let (_, text) = first_of(files, directory, JUSTFILES)?;
            RecipeFile::of_just(&text)?.sole_line(name)
        }))),
        "poe" => Some(text(one_word(words).and_then(|name| of_poe(name, files, directory)))),
        "pdm" => of_pdm(words, files, directory).map(text),
        name if SCRIPT_LISTS.contains(&name) => Some(text(one_word(words).and_then(|name| script_line(name, files, directory)))),
        name if RUNNERS.contains(&name) => {
            let name = script_name(call)?;
            scripts(files, directory).get(name)?;
            let line = script_line(name, files, directory);
            let behind = call.iter().skip(1).skip_while(|word| *word != name).skip(1).cloned().collect::<Vec<_>>();
            // npm itself takes the words before `--`.
            let is_npm = call[0] == "npm";
            let is_clear = !is_npm || behind.first().is_none_or(|word| word == "--");
            let handed_on = behind.into_iter().skip_while(|word| is_npm && word == "--").collect();
            Some(line.filter(|_| is_clear).map(|line| Text { line, directory: directory.to_owned(), handed_on }))
        }
        _ => None,
    }
}

fn one_word(words: &[String]) -> Option<&str> {
    let [name] = words else { return None };
    Some(name.as_str()).filter(|name| !name.starts_with('-') && !name.contains('='))
}

/// Returns a script of `package.json`. The scripts with `pre` and `post` before its name run too.
fn script_line(name: &str, files: &dyn ProjectFiles, directory: &str) -> Option<String> {
    let mut scripts = scripts(files, directory);
    let is_alone = ["pre", "post"].iter().all(|word| !scripts.contains_key(&format!("{word}{name}")));
    scripts.remove(name).filter(|_| is_alone)
}

fn of_poe(name: &str, files: &dyn ProjectFiles, directory: &str) -> Option<String> {
    let settings = table_at(&text_of(files, &within(directory, "pyproject.toml"))?, &["tool", "poe"])?;
    let is_plain = settings.keys().all(|key| key == "tasks");
    task_line(settings.get("tasks")?.get(name)?).filter(|_| is_plain)
}

/// Returns what `pdm run NAME` runs; `None` if NAME is no script.
fn of_pdm(words: &[String], files: &dyn ProjectFiles, directory: &str) -> Option<Option<String>> {
    let [verb, name, behind @ ..] = words else { return None };
    let scripts = table_at(&text_of(files, &within(directory, "pyproject.toml"))?, &["tool", "pdm", "scripts"])?;
    let script = scripts.get(name).filter(|_| verb == "run")?;
    let further = ["_".to_owned(), format!("pre_{name}"), format!("post_{name}")];
    let is_alone = behind.is_empty() && !further.iter().any(|key| scripts.contains_key(key));
    Some(task_line(script).filter(|_| is_alone))
}

/// Returns the line of a task that has nothing but it and a text for people.
fn task_line(task: &Value) -> Option<String> {
    let Value::Table(table) = task else { return task.as_str().map(str::to_owned) };
    let is_plain = table.keys().all(|key| matches!(key.as_str(), "cmd" | "shell" | "help"));
    let line = table.get("cmd").xor(table.get("shell"))?.as_str()?;
    is_plain.then(|| line.to_owned())
}

fn of_make(words: &[String], files: &dyn ProjectFiles, directory: &str) -> Option<Text> {
    let (mut target, mut directory) = (None, directory.to_owned());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-s" | "--silent" | "--no-print-directory" => {}
            "-C" | "--directory" => directory = below(&directory, words.next()?),
            word if word.starts_with('-') || word.contains('=') || target.is_some() => return None,
            word => target = Some(word.to_owned()),
        }
    }
    let (_, text) = first_of(files, &directory, MAKEFILES).filter(|_| directory != OUTSIDE)?;
    let line = RecipeFile::of_make(&text)?.sole_line(&target?)?;
    Some(Text { line, directory, handed_on: Vec::new() })
}

/// The targets of a makefile, or the recipes of a justfile.
#[derive(Debug, Default)]
struct RecipeFile {
    /// `None` stands for a name with several rules.
    recipes: BTreeMap<String, Option<Recipe>>,
    /// The values of variables of make; `None` stands for one that has several.
    variables: BTreeMap<String, Option<String>>,
    is_make: bool,
}

#[derive(Debug, Clone, Default)]
struct Recipe {
    needed: Vec<String>,
    /// Parameters of a recipe of `just` that stand for all further words of the call.
    rest: Vec<String>,
    lines: Vec<String>,
}

impl RecipeFile {
    fn of_make(text: &str) -> Option<Self> {
        let mut file = Self { is_make: true, ..Self::default() };
        let mut open = Vec::new();
        for line in joined_lines(text)? {
            if let Some(line) = line.strip_prefix('\t') {
                file.append(&open, line);
                continue;
            }
            let line = line.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, value)) = assignment_of_make(line) {
                let value = Some(value.to_owned()).filter(|_| !file.variables.contains_key(name));
                file.variables.insert(name.to_owned(), value);
                open.clear();
                continue;
            }
            let (names, needed) = line.split_once(':')?;
            let is_plain = !line.contains(['$', '%', '=', ';', '|', '(']) && !needed.starts_with(':') && names.trim() != "";
            if names.trim() == ".PHONY" && is_plain {
                open.clear();
                continue;
            }
            if !is_plain || names.starts_with([' ', '.']) {
                return None;
            }
            let needed: Vec<String> = needed.split_whitespace().map(str::to_owned).collect();
            open = names.split_whitespace().map(str::to_owned).collect();
            open.iter().for_each(|name| file.add(name, Recipe { needed: needed.clone(), ..Recipe::default() }));
        }
        Some(file)
    }

    fn of_just(text: &str) -> Option<Self> {
        let mut file = Self::default();
        let mut open = Vec::new();
        for line in joined_lines(text)? {
            if line.starts_with([' ', '\t']) {
                file.append(&open, line.trim_start());
                continue;
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, _)) = line.split_once(":=") {
                let name = name.trim().trim_start_matches("alias ");
                if name.starts_with("set ") || !is_name(name.trim()) {
                    return None;
                }
                open.clear();
                continue;
            }
            let (head, needed) = line.split_once(':')?;
            let mut head = head.trim_start_matches('@').split_whitespace();
            let name = head.next().filter(|name| is_name(name))?;
            // An empty name stands for a parameter of another kind; the lines of such a recipe are not read.
            let rest = head.map(|word| word.strip_prefix('*').unwrap_or_default().to_owned()).collect();
            let needed = needed.split_whitespace().map(str::to_owned).collect();
            file.add(name, Recipe { needed, rest, lines: Vec::new() });
            open = vec![name.to_owned()];
        }
        Some(file)
    }

    fn add(&mut self, name: &str, recipe: Recipe) {
        let recipe = Some(recipe).filter(|_| !self.recipes.contains_key(name));
        self.recipes.insert(name.to_owned(), recipe);
    }

    fn append(&mut self, open: &[String], line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') && !line.starts_with("#!") {
            return;
        }
        for name in open {
            if let Some(Some(recipe)) = self.recipes.get_mut(name) {
                recipe.lines.push(line.to_owned());
            }
        }
    }

    /// Returns the only line that a target and all that it needs run.
    fn sole_line(&self, name: &str) -> Option<String> {
        let mut lines = Vec::new();
        let mut waiting = vec![name.to_owned()];
        for _ in 0..MOST_TARGETS {
            let Some(name) = waiting.pop() else { break };
            let recipe = self.recipes.get(&name)?.as_ref()?;
            for line in &recipe.lines {
                lines.push(self.expand_line(line.trim_start_matches(['@', ' ']), &recipe.rest)?);
            }
            waiting.extend(recipe.needed.iter().cloned());
        }
        let [line] = lines.as_slice() else { return None };
        // Before a line, `-` ignores its status, and `+` runs it even where nothing is to run.
        let is_plain = waiting.is_empty() && !line.starts_with(['-', '+', '#']);
        is_plain.then(|| line.clone())
    }

    fn expand_line(&self, line: &str, rest: &[String]) -> Option<String> {
        if self.is_make {
            return self.with_variables(line, DEEPEST_VARIABLE);
        }
        let mut line = line.to_owned();
        for name in rest.iter().filter(|name| !name.is_empty()) {
            line = line.replace(&format!("{{{{{name}}}}}"), "").replace(&format!("{{{{ {name} }}}}"), "");
        }
        (!line.contains("{{") && !rest.iter().any(String::is_empty)).then_some(line)
    }

    /// Puts values in the places of variables of make. A variable that the file does not set is empty, apart from `MAKE`.
    fn with_variables(&self, text: &str, left: usize) -> Option<String> {
        let left = left.checked_sub(1)?;
        let (mut expanded, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('$') {
            expanded.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            if let Some(behind) = behind.strip_prefix('$') {
                expanded.push('$');
                rest = behind;
                continue;
            }
            let close = if behind.starts_with('(') { ')' } else { '}' };
            let end = behind.find(close).filter(|_| behind.starts_with(['(', '{']))?;
            let name = Some(&behind[1..end]).filter(|name| is_name(name))?;
            match self.variables.get(name) {
                Some(value) => expanded.push_str(&self.with_variables(value.as_ref()?, left)?),
                None if name == "MAKE" => expanded.push_str("make"),
                None => {}
            }
            rest = &behind[end + 1..];
        }
        Some(expanded + rest)
    }
}

/// Returns the lines of a text, with those that `\` continues as one; `None` if the text names a variable by which a runner is asked for its
/// report.
fn joined_lines(text: &str) -> Option<Vec<String>> {
    let text = text.replace("\r\n", "\n").replace("\\\n", " ");
    (!is_asking(&text)).then(|| text.lines().map(str::to_owned).collect())
}

/// Returns the name and the value of a variable that a line of a makefile sets, if it changes nothing of how make runs lines.
fn assignment_of_make(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let name = name.trim_end_matches([':', '?', '!', '+']).trim();
    let decides = name.starts_with('.') && name != ".DEFAULT_GOAL" || ["SHELL", "MAKE"].iter().any(|word| name.contains(word));
    let is_plain = !line.split('=').next().unwrap_or_default().contains(['+', '!']);
    (is_name(name) && !decides && is_plain).then_some((name, value.trim()))
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_letter)
}
