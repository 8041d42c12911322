//! Every captured output of every tool: a scenario for each version of a tool, with a check for each output.

use std::fmt::Write as _;
use std::fs;

use crate::common::repository;
use crate::recording::scenario::{Scenario, Step, play, proctor, scenario, toml};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for tool in names_in("tools") {
        for version in names_in(&format!("tools/{tool}")).into_iter().filter(|name| name != "README.md") {
            scenarios.push(of_version(&tool, &version));
        }
    }
    scenarios
}

fn of_version(tool: &str, version: &str) -> Scenario {
    // The checks run one by one, so that the lines about them come in one order.
    let mut settings = "[run]\nparallel = false\n".to_owned();
    let mut steps: Vec<Vec<Step>> = Vec::new();
    for output in names_in(&format!("tools/{tool}/{version}")) {
        let captured = format!("{tool}/{version}/{output}");
        let text = fs::read_to_string(repository().join("fixtures/tools").join(&captured)).expect("a captured output is text");
        let command = text.lines().find_map(|line| line.strip_prefix("command ")).expect("a captured output names its command");
        let name = output.trim_end_matches(".txt");
        let words: Vec<&str> = command.split(' ').collect();
        let program = format!("play/{name}/{}", words[0]);
        steps.push(play(&program, &captured));
        let words: Vec<String> = [program].into_iter().chain(words[1..].iter().map(|word| (*word).to_owned())).collect();
        let _never_fails = write!(settings, "\n[[check]]\nname = \"{name}\"\ntool = \"{tool}\"\ncommand = {words:?}\n");
        if text.contains("<<< coverage >>>") {
            settings.push_str("coverage = { minimum = 90, report = \"coverage.json\" }\n");
        }
    }
    steps.push(toml(settings));
    let commands = ["run", "show --json", "show --failures all", "status --json", "plan --json", "verify"];
    steps.extend(commands.map(proctor));
    scenario(format!("tools/{tool}/{version}"), steps)
}

/// Returns the names in a directory of `fixtures/`, sorted.
fn names_in(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join("fixtures").join(directory)).expect("the fixtures can be read").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().expect("our file names are UTF-8")).collect();
    names.sort();
    names
}
