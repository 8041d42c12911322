//! Makes the `proctor.toml` that `proctor init` writes: the discovered checks with the reasons as comments.
//!
//! Proposes which files that a check writes are kept (`writes`), for the `proctor.toml` that `proctor init` writes.

use std::borrow::Cow;
use std::path::{Component, Path};
use std::time::Duration;

use crate::config::{Configuration, duration_text};
use proctor_model::{
    Action, ActionId, ActionPhase, CheckOrder, CommandLine, CoverageTarget, OnSurvivors, PROPOSED_MAX_BYTES, Plan, PlanNote,
    PolicySource, ReadyCheck, ReportFile, Reuse, Service, Shards, SkipWhileUnchanged, Tool, ToolPolicy, quoted_text, shown_line,
};
use proctor_tools::{ProjectFiles, written_files};

/// Returns the text of a `proctor.toml` with the actions of a plan. `notes` are written at its top as comments.
///
/// Reading this text and resolving it with the same project files gives the same actions. The text has no settings other than the
/// project's name, the order of the checks and those of actions.
pub fn init_text(plan: &Plan, notes: &[PlanNote], order: CheckOrder) -> String {
    let mut text = String::from(
        "# What proctor runs when a file is saved, as `proctor init` found it.\n# All settings with their defaults: `proctor init --print`.\n\
         # For completion in an editor: `proctor generate schema configuration > .proctor-schema.json`, and as first\n\
         # line `#:schema ./.proctor-schema.json`.\n",
    );
    if !notes.is_empty() {
        text.push_str("#\n");
    }
    for note in notes {
        for (index, line) in format!("{}: {}", note.subject, note.message).lines().enumerate() {
            text.push_str(&format!("# {} {}\n", if index == 0 { "-" } else { " " }, uncontrolled(line)));
        }
    }
    if plan.steps.iter().any(|step| !step.paths.is_empty()) {
        text.push_str(
            "#\n\
             # A save starts the checks whose `paths` name the file; without `paths`, every save starts the check. After a save that starts\n\
             # none of them the verdict is stale, because a check may read other files too: `proctor wait --fresh` runs what is missing.\n",
        );
    }
    text.push_str(&format!("\n[project]\nname = {}\n", quoted_text(&plan.project_name)));
    if order == CheckOrder::FailedFirst {
        text.push_str("\n[run]\norder = \"failed-first\"\n");
    }
    for (header, actions) in [("prerequisite", &plan.prerequisites), ("check", &plan.steps), ("cleanup", &plan.cleanup)] {
        for action in actions {
            text.push_str(&format!("\n[[{header}]]\n"));
            action_lines(&mut text, action, header == "check");
            flow_lines(&mut text, plan, action);
        }
    }
    text.push_str(
        "\n# Checks may use the network. This would give each run one of its own, in which only its own services are reached and every port is free.\n\
         #[sandbox]\n#network = \"loopback\"\n",
    );
    text.push_str(&format!(
        "\n# Evidence is kept for ever. This would limit its size; the newest 50 runs of each task stay in any case.\n\
         #[evidence]\n#max_bytes = {}\n",
        quoted_text(&PROPOSED_MAX_BYTES.to_string())
    ));
    text
}

fn action_lines(text: &mut String, action: &Action, is_check: bool) {
    let defaults = Configuration::default().defaults;
    line(text, "name", quoted_text(&action.name));
    if is_check {
        line(text, "tool", quoted_text(action.tool.word()));
    }
    command_lines(text, &action.command);
    if !action.directory.as_os_str().is_empty() {
        line(text, "directory", quoted_text(&action.directory.to_string_lossy()));
    }
    if !action.environment.is_empty() {
        let variables = action.environment.iter().map(|(name, value)| format!("{name} = {}", quoted_text(value)));
        line(text, "environment", format!("{{ {} }}", variables.collect::<Vec<_>>().join(", ")));
    }
    match &action.service {
        Some(service) => service_lines(text, service),
        None => duration_line(text, "timeout", action.timeout, defaults.timeout),
    }
    if action.service.is_none() && action.idle_timeout != defaults.idle_timeout {
        line(text, "idle_timeout", quoted_text(&action.idle_timeout.map_or_else(|| "off".to_owned(), duration_text)));
    }
    if action.max_output != defaults.max_output {
        line(text, "max_output", quoted_text(&action.max_output.map_or_else(|| "off".to_owned(), |size| size.to_string())));
    }
    duration_line(text, "grace", action.grace, defaults.grace);
    list_line(text, "paths", &action.paths);
    list_line(text, "writes", &action.writes);
    match action.reuse {
        Reuse::Own => {}
        Reuse::Off => line(text, "reuse", quoted_text("off")),
        Reuse::Watch => line(text, "reuse", quoted_text("watch")),
        Reuse::Always => line(text, "reuse", quoted_text("always")),
        Reuse::Attested => line(text, "reuse", quoted_text("attested")),
    }
    if !action.when.is_save() {
        line(text, "when", quoted_text("ask"));
    }
    if let Some(SkipWhileUnchanged { when_changed, creates }) = &action.once {
        list_line(text, "when_changed", when_changed);
        list_line(text, "creates", creates);
    }
    if let Some(CoverageTarget { minimum_basis_points, report }) = &action.coverage {
        let minimum = format!("{}.{:02}", minimum_basis_points / 100, minimum_basis_points % 100);
        line(text, "coverage", format!("{{ minimum = {minimum}, report = {} }}", quoted_text(report)));
    }
    if let Some(ReportFile { file, format }) = &action.report {
        let format = Some(format.word()).filter(|word| !word.is_empty());
        let format = format.map_or_else(String::new, |word| format!(", format = {}", quoted_text(word)));
        line(text, "report", format!("{{ file = {}{format} }}", quoted_text(file)));
    }
    if action.expected_exit_codes != [0] {
        let codes: Vec<String> = action.expected_exit_codes.iter().map(ToString::to_string).collect();
        line(text, "expected_exit_codes", format!("[{}]", codes.join(", ")));
    }
    match (action.on_survivors, defaults.on_survivors) {
        (OnSurvivors::Report, OnSurvivors::Report) | (OnSurvivors::Fail, OnSurvivors::Fail) => {}
        (OnSurvivors::Report, OnSurvivors::Fail) => line(text, "on_survivors", quoted_text("report")),
        (OnSurvivors::Fail, OnSurvivors::Report) => line(text, "on_survivors", quoted_text("fail")),
    }
    if let Some(policy) = &action.policy {
        policy_lines(text, action.tool, policy);
    }
}

/// Writes the lines for the order, the control tests, the snapshot and the retries of a check.
fn flow_lines(text: &mut String, plan: &Plan, action: &Action) {
    let named = |id: &ActionId| plan.steps.iter().find(|step| step.id == *id).map(|step| step.name.clone());
    list_line(text, "after", &action.after.iter().filter_map(named).collect::<Vec<_>>());
    if action.control {
        line(text, "control", "true".to_owned());
    }
    if !action.network.is_open() && action.phase != ActionPhase::Cleanup {
        line(text, "network", quoted_text(action.network.word()));
    }
    match action.shards {
        None => {}
        Some(Shards::Number(number)) => line(text, "shards", number.to_string()),
        Some(Shards::Cores) => line(text, "shards", quoted_text(Shards::CORES)),
    }
    if action.in_place {
        line(text, "snapshot", quoted_text("off"));
    }
    if action.retry_attempts > 0 {
        line(text, "retries", action.retry_attempts.to_string());
    }
}

fn service_lines(text: &mut String, service: &Service) {
    let look = match &service.ready {
        ReadyCheck::Url(url) => format!("url = {}", quoted_text(url.as_str())),
        ReadyCheck::Port(port) => format!("port = {port}"),
        ReadyCheck::Command(command) => format!("command = {}", quoted_list(&command.argv)),
    };
    let durations = [("timeout", service.timeout), ("interval", service.interval), ("attempt_timeout", service.attempt_timeout)];
    let durations = durations.map(|(key, duration)| format!("{key} = {}", quoted_text(&duration_text(duration))));
    line(text, "service", "true".to_owned());
    line(text, "ready", format!("{{ {look}, {} }}", durations.join(", ")));
}

fn command_lines(text: &mut String, command: &CommandLine) {
    match (command.shell, command.argv.last()) {
        (true, Some(script)) => {
            line(text, "shell", "true".to_owned());
            line(text, "command", quoted_text(script));
        }
        (true, None) | (false, _) => line(text, "command", quoted_list(&command.argv)),
    }
}

fn policy_lines(text: &mut String, tool: Tool, policy: &ToolPolicy) {
    let reason = match &policy.source {
        PolicySource::Default => format!("the default for {}", tool.word()),
        PolicySource::Configured(place) => format!("so says {place}"),
        PolicySource::Disabled(place) => format!("switched off by {place}"),
    };
    text.push_str(&format!("# {}\n", uncontrolled(&reason)));
    let mut pairs = vec![format!("block_on = {}", quoted_text(policy.block_on.word()))];
    if policy.treat_warnings_as_errors {
        pairs.push("treat_warnings_as_errors = true".to_owned());
    }
    pairs.extend(policy.max_warnings.map(|limit| format!("max_warnings = {limit}")));
    for (key, rules) in [("ignored_rules", &policy.ignored_rules), ("error_on_rules", &policy.error_on_rules)] {
        if !rules.is_empty() {
            pairs.push(format!("{key} = {}", quoted_list(rules)));
        }
    }
    line(text, "policy", format!("{{ {} }}", pairs.join(", ")));
}

fn line(text: &mut String, key: &str, value: String) {
    text.push_str(&format!("{key} = {value}\n"));
}

fn duration_line(text: &mut String, key: &str, duration: Duration, default: Duration) {
    if duration != default {
        line(text, key, quoted_text(&duration_text(duration)));
    }
}

fn list_line(text: &mut String, key: &str, items: &[String]) {
    if !items.is_empty() {
        line(text, key, quoted_list(items));
    }
}

/// Returns an array of texts as TOML.
pub(super) fn quoted_list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted_text(item)).collect::<Vec<_>>().join(", "))
}

/// Escapes hidden characters. TOML does not allow control characters in comments, and a person would not see other
/// hidden characters.
fn uncontrolled(text: &str) -> Cow<'_, str> {
    shown_line(text)
}

/// Adds `writes` to the checks of a plan whose tools write reports or snapshots by the project's own settings. Notes say why.
pub fn propose_writes(plan: &mut Plan, files: &dyn ProjectFiles) {
    let mut notes = Vec::new();
    for step in &mut plan.steps {
        let directory = step.directory.to_string_lossy();
        let patterns = written_files(step.tool, files, &directory, &step.command.argv);
        let mut writes: Vec<String> = patterns.iter().filter_map(|pattern| below(&directory, pattern)).collect();
        writes.sort();
        writes.dedup();
        if !writes.is_empty() {
            let named = writes.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ");
            let message = format!("`writes` keeps {named} in the project, because its settings have it written");
            notes.push(PlanNote { subject: step.name.clone(), message });
            step.writes = writes;
        }
    }
    plan.notes.extend(notes);
}

/// Returns a pattern relative to the project; `None` if it leaves the project, is empty or is no glob, because `writes` allows no
/// such pattern.
fn below(directory: &str, pattern: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for component in Path::new(directory).components().chain(Path::new(pattern).components()) {
        match component {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let pattern = parts.join("/");
    (!pattern.is_empty() && globset::Glob::new(&pattern).is_ok()).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposed_pattern_stays_inside_the_project() {
        let rows = [
            ("", "./coverage.xml", Some("coverage.xml")),
            ("web", "coverage/**", Some("web/coverage/**")),
            ("web", "../out/**", Some("out/**")),
            ("", "../out/**", None),
            ("web", "/tmp/c.xml", None),
            ("", ".", None),
        ];
        for (directory, pattern, expected) in rows {
            assert_eq!(below(directory, pattern).as_deref(), expected, "{directory} {pattern}");
        }
    }
}
