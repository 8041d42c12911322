//! Tests of the contracts with a recorded input for every event of every agent.

use std::path::Path;

use super::*;

fn recorded(agent: &AgentRow, event: &EventRow) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join(format!("fixtures/hooks/{}/{}.json", agent.word, event.name));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn row(agent: &str, event: &str) -> (&'static AgentRow, &'static EventRow) {
    let agent = AgentRow::of_word(agent).expect("a row");
    (agent, agent.event(event).expect("an event"))
}

#[test]
fn every_field_of_every_recorded_input_is_read() {
    for agent in AGENTS {
        for event in agent.events {
            let case = format!("{} {}", agent.word, event.name);
            let input = read_input(agent, event, &recorded(agent, event)).expect(&case);
            assert!(!input.session.is_empty(), "{case}");
            let several = if agent.word == "cursor" { &["/home/me/shop", "/home/me/till"][..] } else { &["/home/me/shop"] };
            assert_eq!(input.directories, several.iter().map(PathBuf::from).collect::<Vec<_>>(), "{case}");
            assert_eq!(input.message.is_some(), !event.message.is_empty(), "{case}");
            assert!(input.message.is_none_or(|message| message.ends_with("All tests pass.")), "{case}");
            assert_eq!(input.prompt.as_deref(), (event.event == HookEvent::Prompt).then_some("Fix the rounding."), "{case}");
            assert!(!input.in_background && !input.is_aborted, "{case}");
        }
    }
}

#[test]
fn background_work_and_an_aborted_turn_are_read() {
    let (claude, stop) = row("claude", "Stop");
    let text = recorded(claude, stop).replace("\"background_tasks\": []", "\"background_tasks\": [{\"id\": \"b1\"}]");
    assert!(read_input(claude, stop, &text).expect("right").in_background);
    let (cursor, stop) = row("cursor", "stop");
    for status in ["aborted", "error"] {
        let text = recorded(cursor, stop).replace("completed", status);
        assert!(read_input(cursor, stop, &text).expect("right").is_aborted, "{status}");
    }
}

#[test]
fn an_input_that_is_no_object_is_an_error_and_fields_of_other_types_are_left_out() {
    let (codex, stop) = row("codex", "Stop");
    for wrong in ["", "[]", "\"Stop\"", "{", "null"] {
        assert!(read_input(codex, stop, wrong).is_err(), "{wrong}");
    }
    let odd = r#"{"session_id": 7, "cwd": {}, "last_assistant_message": null, "background_tasks": "x"}"#;
    assert_eq!(read_input(codex, stop, odd), Ok(HookInput::default()));
    let (cursor, stop) = row("cursor", "stop");
    assert_eq!(read_input(cursor, stop, r#"{"workspace_roots": []}"#), Ok(HookInput::default()));
}

#[test]
fn each_answer_has_exactly_the_form_that_the_event_takes() {
    let block = HookAnswer::Block("why".to_owned());
    let tell = HookAnswer::TellPerson("note".to_owned());
    let context = HookAnswer::Context("line".to_owned());
    let form = |agent: &str, event: &str, answer: &HookAnswer| {
        let (agent, event) = row(agent, event);
        let output = form_output(agent, event, answer);
        (output.stdout, output.stderr, output.exit)
    };
    let out = |stdout: &str| (stdout.to_owned(), String::new(), 0);
    for (agent, event) in [("claude", "Stop"), ("claude", "SubagentStop"), ("codex", "Stop"), ("codex", "SubagentStop")] {
        assert_eq!(form(agent, event, &block), out(r#"{"decision":"block","reason":"why"}"#));
        assert_eq!(form(agent, event, &tell), out(r#"{"systemMessage":"note"}"#));
        assert_eq!(form(agent, event, &HookAnswer::Silence), out(""));
        assert_eq!(form(agent, event, &context), out(""), "the end of a turn takes no context");
    }
    for event in ["TaskCompleted", "TeammateIdle"] {
        assert_eq!(form("claude", event, &block), (String::new(), "why".to_owned(), 2));
        assert_eq!(form("claude", event, &tell), (String::new(), "note".to_owned(), 0));
    }
    let line = |event: &str| format!(r#"{{"hookSpecificOutput":{{"additionalContext":"line","hookEventName":"{event}"}}}}"#);
    for (agent, event) in [("claude", "SessionStart"), ("codex", "UserPromptSubmit"), ("gemini", "BeforeAgent")] {
        let (stdout, _, _) = form(agent, event, &context);
        let value: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(value, serde_json::from_str::<Value>(&line(event)).expect("JSON"));
    }
    assert_eq!(form("gemini", "AfterAgent", &block), out(r#"{"decision":"deny","reason":"why"}"#));
    assert_eq!(form("gemini", "AfterAgent", &HookAnswer::Silence), out("{}"));
    assert_eq!(form("cursor", "stop", &block), out(r#"{"followup_message":"why"}"#));
    assert_eq!(form("cursor", "stop", &tell), ("{}".to_owned(), "note".to_owned(), 0));
    assert_eq!(form("cursor", "beforeSubmitPrompt", &context), out("{}"));
    assert_eq!(form("copilot", "agentStop", &block), out(r#"{"decision":"block","reason":"why"}"#));
    assert_eq!(form("copilot", "sessionStart", &context), out(""));
}

#[test]
fn no_answer_has_a_field_that_the_agent_forbids() {
    let answers = [
        HookAnswer::Silence,
        HookAnswer::Context("line".to_owned()),
        HookAnswer::Block("why".to_owned()),
        HookAnswer::TellPerson("note".to_owned()),
    ];
    for agent in AGENTS {
        for event in agent.events {
            for answer in &answers {
                let output = form_output(agent, event, answer);
                let allowed: &[&str] = match (agent.word, event.event) {
                    ("cursor", _) => &["followup_message"],
                    // Codex refuses an answer with any other field; what it takes at the end of a turn has no `hookSpecificOutput`.
                    (_, HookEvent::TurnEnd) => &["decision", "reason", "systemMessage"],
                    _ => &["decision", "reason", "systemMessage", "hookSpecificOutput"],
                };
                if output.stdout.is_empty() {
                    continue;
                }
                let value: Value = serde_json::from_str(&output.stdout).expect("one JSON document");
                let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
                assert!(keys.iter().all(|key| allowed.contains(&key.as_str())), "{} {}: {keys:?}", agent.word, event.name);
            }
        }
    }
}
