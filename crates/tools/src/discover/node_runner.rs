//! Discovers a test runner of JavaScript by its configuration file or by a script that runs it. The command is taken from the project's own
//! script.

use crate::discover::{FoundCheck, FoundChecks, Looked, name_in_package, node_program, words};
use crate::jsonc::{package_has, parse_jsonc, scripts};
use crate::project_files::{ProjectFiles, within};
use crate::recognise_script;
use proctor_model::{InstalledPackage, Tool};

/// What in a project's files speaks for a test runner, and how a check calls it.
pub(crate) struct NodeRunner {
    pub(crate) tool: Tool,
    pub(crate) program: &'static str,
    /// The names of configuration files that only this runner has.
    pub(crate) configurations: &'static [&'static str],
    /// The key of `package.json` that holds a configuration of the runner.
    pub(crate) key: Option<&'static str>,
    /// The word that a call needs as its first argument, and the words that may stand for it: without `run`, Vitest goes on to watch.
    pub(crate) needs: Option<(&'static str, &'static [&'static str])>,
    /// The words with which a script keeps running and watches for changes. Such a script never ends, so it cannot be a check.
    pub(crate) watches: &'static [&'static str],
    /// Files with tasks beside the scripts of `package.json`, and the words that run a task.
    pub(crate) tasks: Option<(&'static [&'static str], &'static [&'static str])>,
}

/// A row of a runner that a configuration file or a script of `package.json` speaks for.
pub(crate) const NODE_RUNNER: NodeRunner = NodeRunner {
    tool: Tool::Generic,
    program: "",
    configurations: &[],
    key: None,
    needs: None,
    watches: &["--watch", "-w"],
    tasks: None,
};

/// Characters with a meaning for the shell. A script that contains one is run by npm, which uses a shell.
const SHELL_CHARACTERS: &[char] = &['&', '|', ';', '<', '>', '$', '`', '*', '?', '(', ')', '{', '}', '"', '\'', '\\', '='];

/// A script of a project: where it stands, its text, and the words that run it.
struct Script {
    place: String,
    text: String,
    call: Vec<String>,
}

impl NodeRunner {
    /// Looks for signs of the runner in one directory of the project. Adds a check, or a note that says what is missing for one.
    pub(crate) fn find(&self, files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
        let script = self.script(files, package);
        let configuration = self.configurations.iter().map(|name| within(package, name)).find(|path| files.exists(path));
        let holds_key = |key: &&str| package_has(files, package, key);
        let in_package = || self.key.filter(holds_key).map(|_| within(package, "package.json"));
        let called = script.as_ref().map(|script| script.place.clone());
        let Some(reason) = configuration.or_else(in_package).or(called) else { return Looked::Silent };
        let word = self.program;
        let installed = node_program(files, package, word, package);
        let Some(program) = installed.or_else(|| self.is_own_program().then(|| words(&[word]))) else {
            let name = match self.tool.package() {
                Some(InstalledPackage::Node(name)) => name,
                Some(InstalledPackage::Python(_)) | None => word,
            };
            let advice = format!(
                "`{reason}` is there, but no `node_modules/.bin/{word}` beside or above it: install the project's packages, or {name} with \
                 `npm install --save-dev {name}`"
            );
            findings.note(self.tool, advice);
            return Looked::Spoke;
        };
        let argv = match script {
            Some(script) => {
                self.plain_arguments(&script.text).map_or(script.call, |arguments| self.called_with(program, arguments))
            }
            None => self.called_with(program, Vec::new()),
        };
        let (name, package) = (name_in_package(self.tool.word(), package), package.to_owned());
        let found = FoundCheck { tool: self.tool, name, directory: package.clone(), package, argv, policy: None };
        findings.add(found, &format!("`{reason}` is there"));
        Looked::Spoke
    }

    /// Returns whether the runner is a program that is installed by itself, and not only a package of the project.
    fn is_own_program(&self) -> bool {
        self.tool.package().is_none()
    }

    /// Returns the script that runs the runner once. The script `test` is tried first, then scripts with `test` in their names.
    fn script(&self, files: &dyn ProjectFiles, package: &str) -> Option<Script> {
        let of_package = scripts(files, package).into_iter().map(|(name, text)| {
            let place = format!("{} scripts.{name}", within(package, "package.json"));
            (Script { place, text, call: words(&["npm", "run", &name]) }, name)
        });
        let mut all: Vec<(Script, String)> = of_package.chain(self.tasks(files, package)).collect();
        all.sort_by_key(|(_, name)| (name != "test", !name.contains("test")));
        let watches = |text: &str| text.split_whitespace().any(|word| self.watches.contains(&word));
        let runs = |script: &Script| recognise_script(&script.text).tool == self.tool && !watches(&script.text);
        all.into_iter().map(|(script, _)| script).find(runs)
    }

    fn tasks(&self, files: &dyn ProjectFiles, package: &str) -> Vec<(Script, String)> {
        let Some((names, runs)) = self.tasks else { return Vec::new() };
        let Some(path) = names.iter().map(|name| within(package, name)).find(|path| files.exists(path)) else {
            return Vec::new();
        };
        let text = files.read(&path).and_then(|bytes| String::from_utf8(bytes).ok());
        let tasks = text.and_then(|text| parse_jsonc(&text)?.get("tasks")?.as_object().cloned()).unwrap_or_default();
        let script = |(name, task): (String, serde_json::Value)| {
            let text = task.as_str().or_else(|| task.get("command")?.as_str())?.to_owned();
            let call = runs.iter().map(|word| (*word).to_owned()).chain([name.clone()]).collect();
            Some((Script { place: format!("{path} tasks.{name}"), text, call }, name))
        };
        tasks.into_iter().filter_map(script).collect()
    }

    /// Returns the arguments that a script passes to the runner; `None` if the script does anything else or needs a shell.
    fn plain_arguments(&self, script: &str) -> Option<Vec<String>> {
        let mut words = script.split_whitespace();
        let is_plain = words.next() == Some(self.program) && !script.contains(SHELL_CHARACTERS);
        is_plain.then(|| words.map(str::to_owned).collect())
    }

    fn called_with(&self, program: Vec<String>, arguments: Vec<String>) -> Vec<String> {
        let is_missing = |(_, instead): &(&str, &[&str])| !arguments.iter().any(|argument| instead.contains(&argument.as_str()));
        let first = self.needs.filter(is_missing).map(|(word, _)| word.to_owned());
        program.into_iter().chain(first).chain(arguments).collect()
    }
}
