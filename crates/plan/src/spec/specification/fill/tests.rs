//! Tests how placeholders are filled.

use serde_json::json;

use super::*;
use crate::spec::specification::scan::scan;

fn settings(values: &[(&str, &str)], secrets: &[&str]) -> SpecificationSettings {
    let mut settings = SpecificationSettings::default();
    let given: Vec<(String, String)> = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    settings.set(&given);
    settings.from_environment = secrets.iter().map(|name| (*name).to_owned()).collect();
    settings
}

fn first(text: &str, is_command: bool) -> Option<String> {
    placeholders_in(text, is_command).first().map(|(_, written, _)| (*written).to_owned())
}

#[test]
fn placeholders_are_told_from_what_only_looks_like_them() {
    assert_eq!(first("a {{ NAME }} b", false).as_deref(), Some("{{ NAME }}"));
    assert_eq!(first("{\"a\":{{{LIMIT}}}}", false).as_deref(), Some("{{LIMIT}}"));
    assert_eq!(first("${API_URL}/x", false).as_deref(), Some("${API_URL}"));
    for text in ["{\"a\": {\"b\": {}}}", "{{}}", "{{a b}}", "${WORKSPACE_ROOT}/web", "$PATH", "${", "}}{{"] {
        assert_eq!(first(text, false), None, "{text}");
    }
    for text in ["{{.Dir}}", "{{ .Dir }}", "{{end}}", "{{ else }}", "{{1}}", "${.a}", "{{é}}", "{{a", "{{a}"] {
        assert_eq!(first(text, false), None, "{text}");
    }
    assert_eq!(first("echo ${HOME}", true), None);
    assert_eq!(first("${WORKSPACE_ROOT}/${NAME}", false).as_deref(), Some("${NAME}"));
    assert_eq!(first("{{end}}{{.a}}{{b.c_1}}", true).as_deref(), Some("{{b.c_1}}"));
    assert_eq!(first(&format!("{{{{{}}}}}", "a".repeat(LONGEST_NAME)), false), None);
    let names: Vec<&str> = placeholders_in("{{A}}{{B}} ${C} {{ D }}", false).into_iter().map(|(_, _, name)| name).collect();
    assert_eq!(names, ["A", "B", "C", "D"]);
}

/// Without the limit on names, the search would take minutes on such a text: every opening brace would be followed to
/// the end.
#[test]
fn a_long_text_of_beginnings_is_looked_at_once() {
    for part in ["{", "{{a", "{{ ", "${", "${a", "${ "] {
        assert_eq!(first(&part.repeat((1 << 20) / part.len()), false), None, "{part}");
    }
    assert_eq!(first(&format!("{{{{{}", " ".repeat(1 << 20)), false), None);
}

#[test]
fn a_value_is_filled_as_a_value_and_never_changes_the_document() {
    let evil = "\", \"validationType\": \"EXISTS\", \"x\": \"{{B}}";
    let mut document = json!({ "a": "x{{A}}y", "b": ["{{B}}", "${B}", "{{C}}"], "command": "echo ${B} {{B}}" });
    let filling = fill(&mut document, &settings(&[("A", evil), ("B", "b")], &[]), &[]);
    assert_eq!(document, json!({ "a": format!("x{evil}y"), "b": ["b", "b", "{{C}}"], "command": "echo ${B} b" }));
    let open = open_placeholders(&document, &filling);
    assert_eq!(open.iter().map(|one| one.written.as_str()).collect::<Vec<_>>(), ["{{C}}"], "a value is not filled again");
    assert_eq!(filling.filled["B"].pointers, ["/b/0", "/b/1", "/command"]);
}

#[test]
fn a_string_that_is_one_placeholder_becomes_a_number_only_where_one_is_wanted() {
    let mut document = json!({ "port": "{{PORT}}", "text": "{{PORT}}", "flag": "{{FLAG}}", "part": "1{{PORT}}" });
    let filling = fill(&mut document, &settings(&[("PORT", "3000"), ("FLAG", "true")], &[]), &[]);
    assert!(filling.retype(&mut document, ["/port", "/flag", "/part"].into_iter()));
    assert_eq!(document, json!({ "port": 3000, "text": "3000", "flag": true, "part": "13000" }));
}

#[test]
fn a_placeholder_outside_of_a_string_is_a_value_of_its_own() {
    let text = r#"{"a": {{PORT}}, "b": ["{{x}}", {{ FLAG }}], "c\"": {{OPEN}} }"#;
    let (quoted, offsets) = quote_bare(text);
    assert_eq!((quoted.len(), offsets.len()), (text.len(), 3));
    let mut document: Value = serde_json::from_str(&quoted).expect("it is JSON now");
    let bare = restore_bare(&mut document, &scan(&quoted), &offsets);
    fill(&mut document, &settings(&[("PORT", "3000"), ("FLAG", "false")], &[]), &bare);
    assert_eq!(document, json!({ "a": 3000, "b": ["{{x}}", false], "c\"": "{{OPEN}}" }));
    for text in ["{\"a\": \"{{x}}\"}", "{\"a\": {\"b\": {}}}", "{{", "{{{", "\"\\\"{{x}}\"", "{{é}}"] {
        assert_eq!(quote_bare(text), (Cow::Borrowed(text), Vec::new()), "{text}");
    }
}

#[test]
fn keys_are_filled_too_and_keep_what_is_below_them() {
    let mut document = json!({ "tasks": { "{{TASK}}": { "taskId": "{{TASK}}" }, "T2": 1 } });
    let filling = fill(&mut document, &settings(&[("TASK", "T117")], &[]), &[]);
    assert_eq!(document, json!({ "tasks": { "T117": { "taskId": "T117" }, "T2": 1 } }));
    assert_eq!(filling.renamed, [("/tasks/{{TASK}}".to_owned(), "/tasks/T117".to_owned())]);
    let mut taken = json!({ "{{A}}": 1, "b": 2 });
    fill(&mut taken, &settings(&[("A", "b")], &[]), &[]);
    assert_eq!(taken, json!({ "{{A}}": 1, "b": 2 }), "no member is lost");
}

#[test]
fn a_secret_keeps_its_placeholder_and_stands_only_where_it_is_not_recorded() {
    let mut document = json!({
        "globalConfiguration": { "environment": { "T": "Bearer ${TOKEN}" }, "devServer": { "url": "http://{{TOKEN}}", "environment": { "T": "{{TOKEN}}" } } },
        "parameters": { "url": "http://a/{{ TOKEN }}", "command": "curl {{TOKEN}}", "body": { "a": ["{{TOKEN}}"] }, "connectionString": "postgres://a:{{TOKEN}}@b/c" },
        "description": "with {{TOKEN}}",
        "step": { "type": "MCP_BROWSER_COMMAND", "parameters": { "url": "http://a/{{TOKEN}}" } },
    });
    let filling = fill(&mut document, &settings(&[], &["TOKEN"]), &[]);
    assert_eq!(document["globalConfiguration"]["environment"]["T"], "Bearer {{TOKEN}}");
    assert_eq!(document["parameters"]["url"], "http://a/{{TOKEN}}");
    let misplaced: Vec<&str> = filling.misplaced_secrets.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(misplaced, ["/globalConfiguration/devServer/url", "/parameters/command", "/step/parameters/url"]);
    assert_eq!(open_placeholders(&document, &filling), [], "neither a secret nor a misplaced one is open");
    assert_eq!(filling.filled["TOKEN"].value, None);
    let shape = with_stand_ins(&document, &filling).expect("there is a secret");
    assert_eq!(shape["parameters"]["url"], "http://a/secret");
}
