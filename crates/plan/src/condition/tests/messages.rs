//! Tests of the parser: accepted texts, refused texts, and the messages of refusals.

use insta::assert_snapshot;
use serde_json::json;

use super::read;
use crate::condition::{Accessor, Condition, Expression, Segment};

/// Every condition in the design document seed 004, and every form of condition in existing specifications that the
/// grammar supports.
const KNOWN: &[(&str, &str)] = &[
    ("STEP.1.exitCode === 0", "STEP.1.exitCode === 0"),
    ("STEP.3.exitCode === 0", "STEP.3.exitCode === 0"),
    ("STEP.4.exitCode === 0", "STEP.4.exitCode === 0"),
    ("STEP.3.exitCode !== 0", "STEP.3.exitCode !== 0"),
    ("STEP.9.statusCode !== 200", "STEP.9.statusCode !== 200"),
    ("STEP.2.exitCode === 0", "STEP.2.exitCode === 0"),
    ("STEP.3.statusCode >= 200 && STEP.3.statusCode < 300", "STEP.3.statusCode >= 200 && STEP.3.statusCode < 300"),
    ("PREREQ.1.failed === true", "PREREQ.1.failed === true"),
    ("STEP.1.exitCode === 0 || STEP.1.exitCode === 1", "STEP.1.exitCode === 0 || STEP.1.exitCode === 1"),
    ("STEP['1'].body.id === 1", "STEP.1.body.id === 1"),
    ("STEP['2'].stdout.includes('v')", "STEP.2.stdout.includes(\"v\")"),
    ("STEP[\"1\"].body.length > 0", "STEP.1.body.length > 0"),
    ("T001.1.success", "T001.1.success"),
    ("!STEP.1.failed", "!STEP.1.failed"),
    ("!(STEP.1.exitCode == 2)&&STEP.2.errorCount!=0", "!(STEP.1.exitCode === 2) && STEP.2.errorCount !== 0"),
    ("(STEP.1.success || STEP.2.success) && STEP.3.success", "(STEP.1.success || STEP.2.success) && STEP.3.success"),
    ("STEP.1.success || STEP.2.success && STEP.3.success", "STEP.1.success || STEP.2.success && STEP.3.success"),
    ("(STEP.1.success && STEP.2.success) || STEP.3.success", "STEP.1.success && STEP.2.success || STEP.3.success"),
    ("STEP.5.headers['content-type'].includes(\"json\")", "STEP.5.headers[\"content-type\"].includes(\"json\")"),
    ("STEP.5.body['length'] === null", "STEP.5.body[\"length\"] === null"),
    ("STEP.5.body.items[0].name === 'it\\'s \"x\"'", "STEP.5.body.items[0].name === 'it\\'s \"x\"'"),
    ("\n\tSTEP.1.duration<=0.50 ", "STEP.1.duration <= 0.5"),
    ("-1 < STEP.1.exitCode", "-1 < STEP.1.exitCode"),
    ("STEP.5.body._id.$ref === 1", "STEP.5.body._id.$ref === 1"),
    ("STEP.1.stdout === \"a\\u00e9\\n\"", "STEP.1.stdout === \"aé\\n\""),
];

/// Texts that the parser refuses; a snapshot holds the message for each.
const REFUSED: &[&str] = &[
    "",
    "   ",
    "exitCode === 0",
    "stdout.includes(\"ok\")",
    "responseStatus === 201",
    "Array.isArray(STEP['1'].body)",
    "process.exit(0)",
    "STEP.exitCode === 0",
    "STEP[1].exitCode === 0",
    "STEP.1",
    "STEP.1.length > 0",
    "STEP.1234567890.exitCode === 0",
    "STEP.1. === 0",
    "STEP.1.stdout.match(/x/)",
    "STEP.1.stdout.includes(x)",
    "STEP.1.stdout.includes('x'",
    "STEP.1.exitCode = 0",
    "STEP.1.exitCode ===",
    "STEP.1.exitCode === 0 &&",
    "STEP.1.exitCode === 0 & STEP.2.success",
    "STEP.1.success and STEP.2.success",
    "STEP.1.errorCount + 1 === 1",
    "STEP.1.success ? 1 : 0",
    "STEP.1.success STEP.2.success",
    "!STEP.1.exitCode === 0",
    "!!STEP.1.success",
    "0 < STEP.1.exitCode < 2",
    "(STEP.1.success",
    "STEP.1.success)",
    "STEP.1.stdout === 'ok",
    "STEP.1.stdout === 'a\nb'",
    "STEP.1.stdout === \"a\\qb\"",
    "STEP.1.exitCode === 0x1",
    "STEP.1.exitCode === 1e5",
    "STEP.1.exitCode === 007",
    "STEP.1.size === 1234567890123456",
    "STEP.5.body.items[0",
    "STEP.5.body.items[-1]",
    "STEP.5.body.items[1234567890] === 1",
    "STEP.5.body[é] === 1",
    "é === 1",
    "{type: 'ACTION_SUCCESS'}",
];

#[test]
fn conditions_of_specifications_in_use_are_read() {
    for (text, expected) in KNOWN {
        let condition = read(text);
        assert_eq!(condition.to_string(), *expected, "{text}");
        assert_eq!(read(expected), condition, "{text}");
        assert_eq!(condition.text(), *text);
    }
    assert_ne!(read("STEP.1.success"), read("STEP.2.success"));
}

#[test]
fn a_refusal_names_the_place_and_what_to_write() {
    let messages: Vec<String> = REFUSED
        .iter()
        .map(|text| match Condition::parse(text) {
            Ok(condition) => panic!("`{text}` is read as `{condition}`"),
            Err(error) => format!("`{text}`\n  {error}"),
        })
        .collect();
    assert_snapshot!(messages.join("\n"), @r#"
    ``
      the condition is empty; write a comparison, for example `STEP.1.exitCode === 0`
    `   `
      the condition is empty; write a comparison, for example `STEP.1.exitCode === 0`
    `exitCode === 0`
      column 1, at `exitCode`: `exitCode` names no action; write `STEP.1.exitCode` with the id of an action of type TERMINAL_COMMAND or FILE_VALIDATION or HTTP_REQUEST or CUSTOM_SCRIPT or DOCKER_COMMAND or DATABASE_QUERY or MCP_BROWSER_COMMAND
    `stdout.includes("ok")`
      column 1, at `stdout.includes`: `stdout.includes` names no action; write `STEP.1.stdout.includes` with the id of an action of type TERMINAL_COMMAND or CUSTOM_SCRIPT or DOCKER_COMMAND or DATABASE_QUERY or MCP_BROWSER_COMMAND
    `responseStatus === 201`
      column 1, at `responseStatus`: `responseStatus` names no action; a value is an action's: write `STEP.1.exitCode`
    `Array.isArray(STEP['1'].body)`
      column 1, at `Array.isArray`: `Array.isArray` calls a function, and no code is run; a part of an answer that is a list has `.length`: `STEP.1.body.length > 0`
    `process.exit(0)`
      column 1, at `process.exit`: `process.exit` calls a function, and no code is run; a part of an answer that is a list has `.length`: `STEP.1.body.length > 0`
    `STEP.exitCode === 0`
      column 1, at `STEP.exitCode`: an action is a name and a number: write `STEP.1` or `STEP['1']` with the action's number
    `STEP[1].exitCode === 0`
      column 1, at `STEP`: an action is a name and a number: write `STEP.1` or `STEP['1']` with the action's number
    `STEP.1`
      column 1, at `STEP.1`: `STEP.1` is an action; say what of it: `STEP.1.success`
    `STEP.1.length > 0`
      column 1, at `STEP.1.length`: `STEP.1` is an action; say what of it: `STEP.1.success`
    `STEP.1234567890.exitCode === 0`
      column 1, at `STEP.1234567890.exitCode`: `STEP.1234567890` cannot be an action's id: upper-case letters, digits and `_`, a dot, and a number of at most 9 digits
    `STEP.1. === 0`
      column 8, at `===`: the name of a field or part should stand here
    `STEP.1.stdout.match(/x/)`
      column 15, at `match`: `.match(…)` cannot be asked; there are `.includes("…")`, `.startsWith("…")` and `.length`
    `STEP.1.stdout.includes(x)`
      column 24, at `x`: a text in quotes should stand here
    `STEP.1.stdout.includes('x'`
      column 27, at the end: `)` should stand here
    `STEP.1.exitCode = 0`
      column 17, at `=`: the condition ends before this; write `===` to compare
    `STEP.1.exitCode ===`
      column 20, at the end: a value of an action (`STEP.1.exitCode`), a number, a text in quotes, `true`, `false`, `null` or `(` should stand here
    `STEP.1.exitCode === 0 &&`
      column 25, at the end: a value of an action (`STEP.1.exitCode`), a number, a text in quotes, `true`, `false`, `null` or `(` should stand here
    `STEP.1.exitCode === 0 & STEP.2.success`
      column 23, at `&`: the condition ends before this; write `&&` to join
    `STEP.1.success and STEP.2.success`
      column 16, at `and`: the condition ends before this; write `&&` to join
    `STEP.1.errorCount + 1 === 1`
      column 19, at `+`: the condition ends before this; conditions compare, they do not compute
    `STEP.1.success ? 1 : 0`
      column 16, at `?`: the condition ends before this; there is no `? :`, write two conditions
    `STEP.1.success STEP.2.success`
      column 16, at `STEP.2.success`: the condition ends before this; join conditions with `&&` or `||`
    `!STEP.1.exitCode === 0`
      column 18, at `===`: JavaScript reads this as `(!…) === …`; write `!(… === …)` or use the contrary operator
    `!!STEP.1.success`
      column 2, at `!`: a value of an action (`STEP.1.exitCode`), a number, a text in quotes, `true`, `false`, `null` or `(` should stand here
    `0 < STEP.1.exitCode < 2`
      column 21, at `<`: comparisons do not chain; write `a < b && b < c`
    `(STEP.1.success`
      column 16, at the end: `)`, `&&` or `||` should stand here
    `STEP.1.success)`
      column 15, at `)`: the condition ends before this; this parenthesis was never opened
    `STEP.1.stdout === 'ok`
      column 19, at `'`: the text does not end; close it with `'` on the same line
    `STEP.1.stdout === 'a
    b'`
      column 19, at `'`: the text does not end; close it with `'` on the same line
    `STEP.1.stdout === "a\qb"`
      column 21, at `\`: there is no such escape in a text; there are \n \r \t \\ \" \' and \u with four hexadecimal digits
    `STEP.1.exitCode === 0x1`
      column 21, at `0x1`: write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`
    `STEP.1.exitCode === 1e5`
      column 21, at `1e5`: write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`
    `STEP.1.exitCode === 007`
      column 21, at `007`: write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`
    `STEP.1.size === 1234567890123456`
      column 17, at `1234567890123456`: write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`
    `STEP.5.body.items[0`
      column 20, at the end: `]` should stand here
    `STEP.5.body.items[-1]`
      column 19, at `-`: write a position as a number of at most 9 digits, `[0]`, or a name in quotes, `['id']`
    `STEP.5.body.items[1234567890] === 1`
      column 19, at `1234567890`: write a position as a number of at most 9 digits, `[0]`, or a name in quotes, `['id']`
    `STEP.5.body[é] === 1`
      column 13, at `é`: write a position as a number of at most 9 digits, `[0]`, or a name in quotes, `['id']`
    `é === 1`
      column 1, at `é`: a value of an action (`STEP.1.exitCode`), a number, a text in quotes, `true`, `false`, `null` or `(` should stand here
    `{type: 'ACTION_SUCCESS'}`
      a condition is a text, not an object; write `"STEP.1.exitCode === 0"`
    "#);
}

#[test]
fn a_column_counts_characters_and_an_offset_bytes() {
    let error = Condition::parse("STEP.1.stdout === 'é' +").expect_err("nothing computes");
    assert_eq!((error.offset, error.column, error.found.as_deref()), (23, 23, Some("+")));
    let error = Condition::parse(" {type: 'ACTION_SUCCESS'}").expect_err("it is an object");
    assert_eq!(error.offset, 1);
}

#[test]
fn the_object_form_is_answered_with_the_text_to_write() {
    let forms = [
        json!({"type": "ACTION_SUCCESS", "actionId": "STEP.4"}),
        json!({"type": "RESPONSE_STATUS", "expectedValue": 200}),
        json!({"type": "RESPONSE_CONTAINS", "field": "id", "actionId": "STEP.2"}),
        json!({"type": "AND", "conditions": []}),
        json!({"type": "EVENTUALLY"}),
        json!({}),
    ];
    let messages = forms.map(|form| format!("{form}\n  {}", Condition::parse(&form.to_string()).expect_err("it is an object")));
    assert_snapshot!(messages.join("\n"), @r#"
    {"actionId":"STEP.4","type":"ACTION_SUCCESS"}
      a condition is a text, not an object; write `"STEP.4.success === true"`
    {"expectedValue":200,"type":"RESPONSE_STATUS"}
      a condition is a text, not an object; write `"STEP.1.statusCode === 200"` with the status that is expected
    {"actionId":"STEP.2","field":"id","type":"RESPONSE_CONTAINS"}
      a condition is a text, not an object; write `"STEP.2.body.includes('…')"`, or compare a part: `"STEP.2.body.id === 1"`
    {"conditions":[],"type":"AND"}
      a condition is a text, not an object; write the conditions as texts, each for itself or joined by `&&`
    {"type":"EVENTUALLY"}
      a condition is a text, not an object; write `"STEP.1.exitCode === 0"`
    {}
      a condition is a text, not an object; write `"STEP.1.exitCode === 0"`
    "#);
}

#[test]
fn a_condition_is_bounded_in_length_and_depth() {
    let nested = |depth: usize| format!("{}STEP.1.success{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(read(&nested(32)), read("STEP.1.success"));
    let error = Condition::parse(&nested(33)).expect_err("it is too deep");
    assert_snapshot!(error, @"column 33, at `(`: parentheses stand in parentheses more than 32 deep; write several conditions");
    let beside = format!("{:1024}", vec![nested(32); 12].join("&&"));
    assert_eq!(beside.len(), 1024);
    assert_eq!(read(&beside).references().len(), 12);
    let error = Condition::parse(&format!("{beside} ")).expect_err("it is too long");
    assert_snapshot!(error, @"column 1025, at the end: the condition is longer than 1024 bytes; write several conditions, each of them must be met");
    assert!(Condition::parse(&"(".repeat(1024)).is_err());
}

#[test]
fn a_part_named_like_a_question_is_a_part() {
    let condition = read("STEP.5.body.length");
    let Expression::Reference(reference) = condition.expression() else { panic!("{condition:?}") };
    assert_eq!((reference.path.as_slice(), &reference.accessor), (&[][..], &Some(Accessor::Length)));
    let condition = read("STEP.5.body['length'].includes");
    let Expression::Reference(reference) = condition.expression() else { panic!("{condition:?}") };
    assert_eq!(reference.path, [Segment::Name("length".to_owned()), Segment::Name("includes".to_owned())]);
    assert_eq!(reference.accessor, None);
}
