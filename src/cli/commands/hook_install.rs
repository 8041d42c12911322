//! `proctor hook install`, `uninstall` and `status`: shows the change of an agent's settings, and makes it.

use std::path::{Path, PathBuf};

use crate::cli::commands::gate_hook;
use crate::cli::commands::hook_place::{SettingsPlace, SettingsScope};
use crate::cli::gate_arguments::GateHook;
use crate::cli::hook_arguments::{HookAgent, HookTarget};
use crate::cli::render;
use proctor_app::hook::{AGENTS, AgentRow, entries_there, install_hooks, off_switch, uninstall_hooks};
use proctor_app::project::setup;
use proctor_app::turn::{HookFiles, SettingsRecord};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

/// The most lines of a file on each side that are compared to show a change.
const MOST_COMPARED: usize = 2_000;
/// The beginning of every command that proctor writes into settings.
const HOOK_COMMAND: &str = "proctor hook run";

pub(super) fn install(target: &HookTarget, environment: &Environment) -> Result<CommandExit, CommandError> {
    if target.agent == Some(HookAgent::Git) {
        return gate_hook::install(GateHook::PrePush, &project_root(environment)?, environment);
    }
    if target.project && !setup::is_in_project(environment)? {
        return Err(CommandError::new(CommandExit::Usage, "there is no project here, so its settings would be nobody's")
            .hint("go into a project, or begin one: `proctor init` or `proctor run`; `--user` writes into your own settings"));
    }
    let places = places(target, environment)?;
    let named = target.agent.is_some();
    let places: Vec<SettingsPlace> = places.into_iter().filter(|place| named || place.is_in_use()).collect();
    if places.is_empty() {
        let words: Vec<&str> = AGENTS.iter().map(|row| row.word).collect();
        return Err(CommandError::new(CommandExit::Usage, "no agent has a directory of settings here")
            .hint(format!("name one: `proctor hook install AGENT`, with {} or git", words.join(", "))));
    }
    let failure = each(&places, "the hooks are not in every place", |place| install_at(place, environment));
    places.iter().for_each(|place| note_doubts(place, environment));
    if program_in_path(environment).is_none() {
        render::note(
            "note: `proctor` is not in the search path, in which the agents look for it: the hooks do nothing until it is",
        );
    }
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

/// Prints a note where hooks that are installed do nothing, or are there twice: an agent runs those of both places, and each answers.
fn note_doubts(place: &SettingsPlace, environment: &Environment) {
    let text_of = |place: &SettingsPlace| place.read().ok().flatten().unwrap_or_default();
    if let Some(key) = off_switch(place.agent, &text_of(place)) {
        render::note(&format!("note: `{key}` in {} switches the hooks off", place.path.display()));
    }
    let other = match place.scope {
        SettingsScope::Project => SettingsPlace::of_user(place.agent, environment),
        SettingsScope::User => project_root(environment).ok().map(|root| SettingsPlace::of_project(place.agent, &root)),
    };
    let has_hooks = |place: &SettingsPlace| entries_there(place.agent, &text_of(place)).is_ok_and(|there| !there.is_empty());
    if let Some(other) = other.filter(|other| other.path != place.path && has_hooks(other)) {
        let (word, scope) = (place.agent.word, other.scope.word());
        render::note(&format!(
            "note: {} has the hooks too, so each event is answered twice and counts twice: `proctor hook uninstall {word} --{scope}`",
            other.path.display()
        ));
    }
}

/// Does something with each place. One that is refused does not keep the others from being done; an error with the exit code of the first
/// one is returned. `summary` is its message where there are several places.
fn each(
    places: &[SettingsPlace],
    summary: &str,
    act: impl Fn(&SettingsPlace) -> Result<(), CommandError>,
) -> Option<CommandError> {
    let mut first = None;
    for place in places {
        match act(place) {
            Ok(()) => {}
            Err(error) if places.len() > 1 => {
                render::error(&error);
                first = first.or(Some(CommandError::new(error.exit(), summary)));
            }
            Err(error) => first = Some(error),
        }
    }
    first
}

fn install_at(place: &SettingsPlace, environment: &Environment) -> Result<(), CommandError> {
    let before = place.read()?;
    let edited = install_hooks(place.agent, before.as_deref()).map_err(|problem| place.problem(&problem))?;
    let text = edited.text.unwrap_or_default();
    let shown = place.path.display();
    if before.as_deref() == Some(text.as_str()) {
        render::line(&format!("{shown} has the hooks for {}", place.agent.shown));
        return Ok(());
    }
    render::line(&format!("{shown}:"));
    show_change(before.as_deref().unwrap_or_default(), &text);
    // The record is written first: what it names and is not there is not removed either.
    let files = HookFiles::of(environment.state_root());
    let mut records = files.settings_records();
    let record = records.entry(place.path.clone()).or_default();
    // What an earlier installation added is not ours any more if its hooks are gone: somebody else wrote the file since.
    let has_hooks =
        before.as_deref().and_then(|text| entries_there(place.agent, text).ok()).is_some_and(|there| !there.is_empty());
    if !has_hooks {
        *record = SettingsRecord::default();
    }
    record.added.extend(edited.added);
    record.directories.extend(place.missing_directories());
    files.write_settings_records(&records).map_err(|error| cannot_record(&error))?;
    place.write(before.as_deref(), Some(&text))?;
    render::line(&format!("{} asks proctor at the end of each turn now", place.agent.shown));
    Ok(())
}

pub(super) fn uninstall(target: &HookTarget, environment: &Environment) -> Result<CommandExit, CommandError> {
    if target.agent == Some(HookAgent::Git) {
        return gate_hook::uninstall(GateHook::PrePush, &project_root(environment)?, environment);
    }
    let mut places = places(target, environment)?;
    if !target.project && !target.user {
        // Without a place, the hooks are taken out of both.
        places.extend(project_places(target.agent, &project_root(environment)?));
    }
    let files = HookFiles::of(environment.state_root());
    // Only what has the hooks is touched.
    let has_hooks = |place: &SettingsPlace| match place.read() {
        Ok(None) => false,
        Ok(Some(text)) => may_have_hooks(place.agent, &text),
        Err(_) => target.agent.is_some(),
    };
    let places: Vec<SettingsPlace> = places.into_iter().filter(has_hooks).collect();
    if places.is_empty() {
        render::line("there are no hooks of proctor here");
        return Ok(CommandExit::Proceed);
    }
    let failure = each(&places, "the hooks are still in some places", |place| uninstall_at(place, &files));
    failure.map_or(Ok(CommandExit::Proceed), Err)
}

/// Returns whether settings have hooks of proctor, or may have them: what cannot be read as settings has none if no command of proctor's is
/// in its text.
fn may_have_hooks(agent: &AgentRow, text: &str) -> bool {
    entries_there(agent, text).map_or_else(|_| text.contains(HOOK_COMMAND), |there| !there.is_empty())
}

fn uninstall_at(place: &SettingsPlace, files: &HookFiles) -> Result<(), CommandError> {
    let Some(before) = place.read()? else { return Ok(()) };
    let mut records = files.settings_records();
    let record = records.remove(&place.path).unwrap_or_default();
    let edited = uninstall_hooks(place.agent, &before, &record.added).map_err(|problem| place.problem(&problem))?;
    let shown = place.path.display();
    if edited.text.as_ref() == Some(&before) {
        render::line(&format!("{shown} has no hooks of proctor"));
        return Ok(());
    }
    render::line(&format!("{shown}:"));
    show_change(&before, edited.text.as_deref().unwrap_or_default());
    place.write(Some(&before), edited.text.as_deref())?;
    if edited.text.is_none() {
        remove_made_directories(&record);
    }
    files.write_settings_records(&records).map_err(|error| cannot_record(&error))?;
    render::line(&format!("{} asks proctor no more", place.agent.shown));
    Ok(())
}

/// Removes the directories that were made for a settings file, as far as they are empty.
fn remove_made_directories(record: &SettingsRecord) {
    for directory in record.directories.iter().rev() {
        let _still_used = std::fs::remove_dir(directory);
    }
}

fn cannot_record(error: &std::io::Error) -> CommandError {
    CommandError::caused(CommandExit::OwnFault, "what is changed in the settings cannot be recorded", error)
        .hint("see whether the store can be written: `proctor doctor`")
}

pub(super) fn status(environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = project_root(environment)?;
    let places = user_places(None, environment).into_iter().chain(project_places(None, &root));
    for place in places {
        let events = place.agent.events.len();
        let text = place.read();
        let switch = text.as_ref().ok().and_then(Option::as_ref).and_then(|text| off_switch(place.agent, text));
        let said = match text.map(|text| text.map(|text| entries_there(place.agent, &text))) {
            Ok(None) => "not installed".to_owned(),
            Ok(Some(Ok(there))) if there.is_empty() => "not installed".to_owned(),
            Ok(Some(Ok(there))) if there.len() == events => match switch {
                Some(key) => format!("installed, but switched off: `{key}` is true"),
                None => "installed".to_owned(),
            },
            Ok(Some(Ok(there))) => {
                let (word, scope) = (place.agent.word, place.scope.word());
                format!("{} of {events} hooks: `proctor hook install {word} --{scope}` adds the others", there.len())
            }
            Ok(Some(Err(problem))) => place.problem(&problem).sentence(),
            Err(error) => error.sentence(),
        };
        render::line(&format!("{:<8} {:<8} {}  {said}", place.agent.word, place.scope.word(), place.path.display()));
    }
    if let Some((path, said)) = gate_hook::standing(GateHook::PrePush, &root, environment) {
        render::line(&format!("{:<8} {:<8} {}  {said}", "git", SettingsScope::Project.word(), path.display()));
    }
    match program_in_path(environment) {
        Some(program) => render::line(&format!("the agents run {}", program.display())),
        None => render::line("`proctor` is not in the search path, in which the agents look for it"),
    }
    Ok(CommandExit::Proceed)
}

fn places(target: &HookTarget, environment: &Environment) -> Result<Vec<SettingsPlace>, CommandError> {
    if target.project {
        return Ok(project_places(target.agent, &project_root(environment)?));
    }
    let places = user_places(target.agent, environment);
    if places.is_empty() {
        return Err(CommandError::new(CommandExit::Usage, "there is no home directory")
            .hint("set HOME to an absolute path, or add `--project`"));
    }
    Ok(places)
}

fn rows(agent: Option<HookAgent>) -> impl Iterator<Item = &'static AgentRow> {
    AGENTS.iter().filter(move |row| agent.is_none_or(|agent| agent.row().is_some_and(|named| named.word == row.word)))
}

fn project_places(agent: Option<HookAgent>, root: &Path) -> Vec<SettingsPlace> {
    rows(agent).map(|row| SettingsPlace::of_project(row, root)).collect()
}

fn user_places(agent: Option<HookAgent>, environment: &Environment) -> Vec<SettingsPlace> {
    rows(agent).filter_map(|row| SettingsPlace::of_user(row, environment)).collect()
}

fn project_root(environment: &Environment) -> Result<PathBuf, CommandError> {
    setup::project_root(environment, Path::new("."))
}

/// Returns the program that the agents run, by the search path of this process.
fn program_in_path(environment: &Environment) -> Option<PathBuf> {
    let path = environment.variable("PATH")?;
    std::env::split_paths(path).map(|directory| directory.join("proctor")).find(|program| program.is_file())
}

/// Prints the lines that differ, as `diff` marks them.
fn show_change(before: &str, after: &str) {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if before.len() > MOST_COMPARED || after.len() > MOST_COMPARED {
        render::line("  (the file is too long to show the change)");
        return;
    }
    changed_lines(&before, &after).iter().for_each(render::line);
}

/// Returns the lines that are only in one of two texts, by their longest common subsequence.
fn changed_lines(before: &[&str], after: &[&str]) -> Vec<String> {
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    for (row, old) in before.iter().enumerate().rev() {
        for (column, new) in after.iter().enumerate().rev() {
            let here = row * width + column;
            common[here] = if old == new { common[here + width + 1] + 1 } else { common[here + width].max(common[here + 1]) };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < before.len() || column < after.len() {
        let here = row * width + column;
        if row < before.len() && column < after.len() && before[row] == after[column] {
            (row, column) = (row + 1, column + 1);
        } else if column == after.len() || row < before.len() && common[here + width] >= common[here + 1] {
            lines.push(format!("  - {}", before[row]));
            row += 1;
        } else {
            lines.push(format!("  + {}", after[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_read_have_hooks_only_where_a_command_of_ours_is() {
        let agent = &AGENTS[0];
        for (text, expected) in [
            ("", false),
            ("// mine\n{}", false),
            ("{", false),
            ("{}", false),
            ("// mine\n{\"hooks\": \"proctor hook run Stop\"}", true),
        ] {
            assert_eq!(may_have_hooks(agent, text), expected, "{text}");
        }
        let installed = install_hooks(agent, None).expect("nothing is wrong").text.expect("a text");
        assert!(may_have_hooks(agent, &installed));
        assert!(
            AGENTS
                .iter()
                .flat_map(|agent| agent.events.iter().map(|row| agent.command(row)))
                .all(|command| command.starts_with(HOOK_COMMAND))
        );
    }

    #[test]
    fn the_files_that_the_guide_names_are_what_is_installed_where_no_file_is() {
        let files = [
            ("claude", include_str!("../../../fixtures/hooks/settings/claude.json")),
            ("codex", include_str!("../../../fixtures/hooks/settings/codex.json")),
            ("gemini", include_str!("../../../fixtures/hooks/settings/gemini.json")),
            ("cursor", include_str!("../../../fixtures/hooks/settings/cursor.json")),
            ("copilot", include_str!("../../../fixtures/hooks/settings/copilot.json")),
            ("opencode", include_str!("../../../crates/app/src/hook/opencode.js")),
        ];
        let installed = AGENTS.iter().map(|agent| (agent.word, install_hooks(agent, None).expect("right").text.expect("a text")));
        assert_eq!(installed.collect::<Vec<_>>(), files.map(|(word, text)| (word, text.to_owned())));
    }

    #[test]
    fn a_change_is_shown_by_the_lines_that_differ() {
        let before = ["{", "  \"a\": 1", "}"];
        let after = ["{", "  \"a\": 1,", "  \"b\": 2", "}"];
        assert_eq!(changed_lines(&before, &after), ["  -   \"a\": 1", "  +   \"a\": 1,", "  +   \"b\": 2"]);
        assert_eq!(changed_lines(&[], &["x"]), ["  + x"]);
        assert_eq!(changed_lines(&["x"], &[]), ["  - x"]);
        assert!(changed_lines(&after, &after).is_empty());
    }
}
