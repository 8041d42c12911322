//! Tests of the edits of settings: what is there stays, byte for byte.

use proptest::prelude::*;

use super::*;
use crate::hook::AGENTS;

/// Returns settings as a person could have them: other keys, other hooks, different spacing.
fn settings() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("1".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("-1.5e3".to_owned()),
        Just(r#""a \"quoted\" // text, \\ {[""#.to_owned()),
        Just(r#""ä\u00e4 é""#.to_owned()),
    ];
    let value = scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), space())
                .prop_map(|(list, space)| { format!("[{space}{}{space}]", list.join(&format!(",{space}"))) }),
            (prop::collection::vec(inner, 0..4), space()).prop_map(|(list, space)| {
                let members: Vec<String> =
                    list.iter().enumerate().map(|(at, value)| format!("\"k{at}\":{space}{value}")).collect();
                format!("{{{space}{}{space}}}", members.join(&format!(",{space}")))
            }),
        ]
    });
    let hooks = prop_oneof![
        Just(None),
        Just(Some("{}".to_owned())),
        Just(Some(r#"{ "Stop": [] }"#.to_owned())),
        Just(Some(
            "{\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"make lint\"}]}\n    ]\n  }".to_owned()
        )),
        Just(Some(r#"{"stop":[{"command":"x"}],"AfterAgent":[{"hooks":[]}],"other":[1]}"#.to_owned())),
        Just(Some("{\n\t\t\"agentStop\": [\n\t\t]\n\t}".to_owned())),
    ];
    (prop::collection::vec(value, 0..4), hooks, any::<bool>(), space(), any::<bool>(), any::<prop::sample::Index>()).prop_map(
        |(values, hooks, version, space, newline, place)| {
            let mut members: Vec<String> = values.iter().enumerate().map(|(at, value)| format!("\"key{at}\": {value}")).collect();
            if version {
                members.push("\"version\": 1".to_owned());
            }
            if let Some(hooks) = hooks {
                let at = place.index(members.len() + 1);
                members.insert(at, format!("\"hooks\": {hooks}"));
            }
            format!("{{{space}{}{space}}}{}", members.join(&format!(",{space}")), if newline { "\n" } else { "" })
        },
    )
}

/// Returns the agents whose hooks stand in a file of settings.
fn with_settings() -> Vec<AgentRow> {
    AGENTS.iter().filter(|agent| agent.shape != EntryShape::Plugin).copied().collect()
}

fn space() -> impl Strategy<Value = String> {
    let spaces = ["", " ", "\n", "\n  ", "\n    ", "\n\t", "\r\n  ", " // mine, \"\n  ", "/* [ */", "\n  /* ä\n */\n  // {\n"];
    prop::sample::select(spaces.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn what_is_installed_and_uninstalled_again_leaves_every_byte(text in settings(), agent in prop::sample::select(with_settings())) {
        let installed = install_hooks(&agent, Some(&text)).expect("the settings are right");
        let there = installed.text.clone().expect("a text");
        prop_assert_eq!(entries_there(&agent, &there).expect("right").len(), agent.events.len());
        for comment in ["// mine, \"", "/* [ */", "/* ä\n */\n  // {"] {
            prop_assert_eq!(there.matches(comment).count(), text.matches(comment).count(), "{}", comment);
        }
        let again = install_hooks(&agent, Some(&there)).expect("right");
        prop_assert_eq!(again.text.as_deref(), Some(there.as_str()), "twice is once");
        prop_assert!(again.added.is_empty());
        let removed = uninstall_hooks(&agent, &there, &installed.added).expect("right");
        prop_assert_eq!(removed.text.as_deref(), Some(text.as_str()));
    }

    #[test]
    fn the_other_hooks_of_a_person_who_edits_in_between_stay(text in settings()) {
        let agent = &AGENTS[0];
        let installed = install_hooks(agent, Some(&text)).expect("right");
        let there = installed.text.expect("a text");
        let mine = r#"{"hooks": [{"type": "command", "command": "make lint"}]}"#;
        let settings = ParsedSettings::read(&there).expect("right");
        let list = settings.entries("Stop").expect("a list");
        let edited = settings.with_part(list.range, &elements(list), 2, mine);
        let removed = uninstall_hooks(agent, &edited, &installed.added).expect("right").text.expect("a text");
        prop_assert!(removed.contains(mine));
        prop_assert!(entries_there(agent, &removed).expect("right").is_empty());
    }
}

#[test]
fn comments_stay_where_they_are() {
    let agent = AgentRow::of_word("cursor").expect("a row");
    let text = "// Mine.\n{\n  // The format.\n  \"version\": 1, // always\n  \"other\": 2 // last\n  // end\n}\n";
    let installed = install_hooks(agent, Some(text)).expect("right");
    let there = installed.text.expect("a text");
    assert!(there.contains("  \"other\": 2, // last\n  // end\n  \"hooks\": {\n"), "{there}");
    assert_eq!(uninstall_hooks(agent, &there, &installed.added).expect("right").text.as_deref(), Some(text));
    // What somebody wrote between our entries is theirs.
    let edited = there.replace("\"hooks\": {\n", "\"hooks\": {\n    // by proctor\n");
    let removed = uninstall_hooks(agent, &edited, &installed.added).expect("right").text.expect("a text");
    assert!(
        removed.contains("\"hooks\": {\n    // by proctor") && entries_there(agent, &removed).expect("right").is_empty(),
        "{removed}"
    );
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    for agent in AGENTS {
        let installed = install_hooks(agent, None).expect("right");
        let text = installed.text.expect("a text");
        assert!(text.ends_with('\n') && !text.contains('\t'), "{text}");
        assert_eq!(uninstall_hooks(agent, &text, &installed.added).expect("right").text, None, "{}", agent.word);
    }
}

#[test]
fn a_group_that_somebody_added_a_hook_to_keeps_it() {
    let agent = &AGENTS[0];
    let text = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"proctor hook run Stop --agent claude"},{"type":"command","command":"say"}]}]}}"#;
    let removed = uninstall_hooks(agent, text, &BTreeSet::new()).expect("right").text;
    assert_eq!(removed.as_deref(), Some(r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say"}]}]}}"#));
}

#[test]
fn settings_whose_meaning_is_not_certain_are_refused_with_the_place() {
    let claude = &AGENTS[0];
    let cursor = AgentRow::of_word("cursor").expect("a row");
    let problem = |agent: &AgentRow, text: &str| install_hooks(agent, Some(text)).expect_err(text).to_string();
    assert!(problem(claude, "{\n  // mine\n  a: 1\n}").starts_with("line 3, column 3: it is no JSON: key must be a string"));
    assert!(problem(claude, "{\n  \"a\": 1,\n}").starts_with("line 3, column 1: it is no JSON: trailing comma"));
    assert_eq!(problem(claude, "[]"), "`the file` is a list, and not an object");
    assert_eq!(problem(claude, r#"{"hooks": []}"#), "`hooks` is a list, and not an object");
    assert_eq!(problem(claude, r#"{"hooks": {"Stop": {}}}"#), "`hooks.Stop` is an object, and not a list");
    assert_eq!(problem(claude, r#"{"hooks": {}, "hooks": {}}"#), "the key `hooks` is there twice");
    assert_eq!(problem(cursor, r#"{"version": 2}"#), "`version` is another version, and not 1");
    assert_eq!(problem(claude, "\u{feff}{}"), "it begins with a byte order mark, which JSON does not have");
    for empty in ["", " \n"] {
        assert_eq!(problem(claude, empty), "it is empty, which is no JSON: an object without keys is `{}`", "{empty:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(problem(claude, &format!("{{\"a\":{deep}}}")).contains("recursion limit"));
}

#[test]
fn the_command_lines_are_those_of_every_version() {
    let commands: Vec<String> = AGENTS.iter().flat_map(|agent| agent.events.iter().map(|row| agent.command(row))).collect();
    // A changed line makes Codex ask every person again. Lines may be added, and never changed.
    let kept = include_str!("../../../../../fixtures/hooks/command-lines.txt");
    assert_eq!(commands.join("\n"), kept.trim_end());
}

#[test]
fn settings_that_are_empty_or_have_a_byte_order_mark_are_named_as_such() {
    let agent = &AGENTS[0];
    for text in ["", " \n"] {
        assert_eq!(install_hooks(agent, Some(text)), Err(SettingsProblem::Empty), "{text:?}");
    }
    assert_eq!(install_hooks(agent, Some("\u{feff}{}")), Err(SettingsProblem::ByteOrderMark));
}

#[test]
fn hooks_that_are_switched_off_are_known() {
    let claude = AGENTS.iter().find(|agent| agent.word == "claude").expect("it is in the table");
    let codex = AGENTS.iter().find(|agent| agent.word == "codex").expect("it is in the table");
    assert_eq!(off_switch(claude, "{\"disableAllHooks\": true}"), Some("disableAllHooks"));
    for text in
        ["{\"disableAllHooks\": false}", "{\"disableAllHooks\": \"true\"}", "{\"a\": {\"disableAllHooks\": true}}", "{", "{}"]
    {
        assert_eq!(off_switch(claude, text), None, "{text}");
    }
    assert_eq!(off_switch(codex, "{\"disableAllHooks\": true}"), None);
}

#[test]
fn a_plugin_that_somebody_else_wrote_or_changed_is_neither_replaced_nor_removed() {
    let agent = AgentRow::of_word("opencode").expect("a row");
    assert_eq!(agent.shape, EntryShape::Plugin);
    let again = install_hooks(agent, Some(PLUGIN)).expect("it is ours");
    assert_eq!((again.text.as_deref(), again.added.len()), (Some(PLUGIN), 0));
    assert_eq!(uninstall_hooks(agent, PLUGIN, &BTreeSet::new()).expect("it is ours").text, None);
    assert_eq!(entries_there(agent, PLUGIN).expect("it is ours").len(), agent.events.len());
    for event in agent.events {
        assert!(PLUGIN.contains(&format!("\"{}\"", event.name)), "{}", event.name);
    }
    let appended = format!("{PLUGIN}\nexport const Mine = async () => ({{}})\n");
    let only_first_line = format!("{}\nexport const Proctor = 1\n", PLUGIN.lines().next().expect("a line"));
    for other in ["", "export const Mine = 1\n", &appended, &only_first_line] {
        assert_eq!(install_hooks(agent, Some(other)), Err(SettingsProblem::OtherPlugin), "{other}");
        assert_eq!(
            uninstall_hooks(agent, other, &BTreeSet::from([AddedPart::File])),
            Err(SettingsProblem::OtherPlugin),
            "{other}"
        );
    }
    // `proctor hook uninstall` passes over a file without entries. A changed plugin has them, so it is refused by name.
    assert_eq!(entries_there(agent, &appended).expect("it begins as ours").len(), agent.events.len());
    assert_eq!(entries_there(agent, "export const Mine = 1\n"), Err(SettingsProblem::OtherPlugin));
    assert!(PLUGIN.lines().count() <= 45);
}
