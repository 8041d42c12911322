//! Tests of C24: the strictness settings of a specification are compared with the project's files.

use std::path::Path;

use serde_json::{Value, json};

use crate::spec::specification::{SpecificationContext, SpecificationReading, read_specification};
use crate::spec::strictness::compare_with_project;
use proctor_tools::FakeFiles;

const ROUNDING: &str = include_str!("../../../../../fixtures/specifications/rounding.json");
const POLICY: &str = "/globalConfiguration/validationPolicy/typeChecking/tools";

/// Reads the sample specification with `command` in `web` as its second step and with this policy for a type checker.
fn read(tool: &str, policy: Value, command: &str, files: &FakeFiles) -> SpecificationReading {
    let mut document: Value = serde_json::from_str(ROUNDING).expect("it is JSON");
    document["tasks"]["T117"]["testExecution"]["steps"][1]["parameters"]["command"] = json!(command);
    let tools = document.pointer_mut(POLICY).and_then(Value::as_object_mut).expect("it has a policy");
    tools.clear();
    tools.insert(tool.to_owned(), policy);
    let project = SpecificationContext { project_root: Path::new("/srv/copy") };
    compare_with_project(read_specification(&document.to_string(), "a.json", project), files)
}

/// Returns the faults about strictness: code, key and message.
fn said(reading: &SpecificationReading) -> Vec<String> {
    let faults = reading.faults.iter().filter(|fault| fault.code().starts_with("STRICTNESS"));
    let line = |fault: &proctor_model::Problem| {
        let key = fault.pointer.rsplit('/').next().unwrap_or_default();
        format!("{} {key}: {}", fault.code(), fault.message)
    };
    faults.map(line).collect()
}

/// The tool that a step names is used, whatever the step's command looks like.
#[test]
fn c24_a_step_is_of_the_tool_that_it_names() {
    let files = FakeFiles::of(&[("web/tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#)]);
    for (named, command, expected) in [("tsc", "make types", true), ("generic", TSC, false)] {
        let mut document: Value = serde_json::from_str(ROUNDING).expect("it is JSON");
        let step = &mut document["tasks"]["T117"]["testExecution"]["steps"][1];
        step["parameters"]["command"] = json!(command);
        step["proctor"] = json!({ "version": "1.0.0", "tool": named });
        let tools = document.pointer_mut(POLICY).and_then(Value::as_object_mut).expect("it has a policy");
        tools.clear();
        tools.insert("typescript".to_owned(), json!({ "strictMode": true }));
        let project = SpecificationContext { project_root: Path::new("/srv/copy") };
        let reading = compare_with_project(read_specification(&document.to_string(), "a.json", project), &files);
        let is_looked_at = said(&reading).iter().any(|line| line.contains("not to be seen"));
        assert_eq!(is_looked_at, expected, "{named}: {:?}", said(&reading));
    }
}

type Files = Vec<(&'static str, &'static str)>;

const TSC: &str = "npx --no-install tsc --noEmit";

#[test]
fn c24_what_tsc_is_set_to_is_what_the_specification_must_say() {
    const VERSION: (&str, &str) = ("node_modules/typescript/package.json", r#"{"version": "5.9.3"}"#);
    const NEWER: (&str, &str) = ("node_modules/typescript/package.json", r#"{"version": "6.0.2"}"#);
    let config = |text| ("web/tsconfig.json", text);
    // The files, the command, and the resulting values of `strict` and `noImplicitAny`.
    let rows: Vec<(Files, String, bool, bool)> = vec![
        (vec![config(r#"{"compilerOptions": {"strict": true}}"#)], TSC.to_owned(), true, true),
        (vec![config(r#"{"compilerOptions": {"strict": true, "noImplicitAny": false}} // why"#)], TSC.to_owned(), true, false),
        (vec![config(r#"{"compilerOptions": {"strict": true, "noCheck": true}}"#)], TSC.to_owned(), false, false),
        (vec![config(r#"{"compilerOptions": {"strict": true}}"#)], format!("{TSC} --noCheck"), false, false),
        (vec![config("{}"), VERSION], TSC.to_owned(), false, false),
        (vec![config("{}"), NEWER], TSC.to_owned(), true, true),
        (vec![config("{}")], format!("{TSC} --strict"), true, true),
        (vec![config(r#"{"compilerOptions": {"strict": true}}"#)], format!("{TSC} --outDir out"), true, true),
        (vec![config(r#"{"compilerOptions": {"strict": true}}"#)], format!("{TSC} --strict false --noImplicitAny"), false, true),
        (vec![("web/app/tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#)], format!("{TSC} -p app"), true, true),
        (vec![("tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#)], TSC.to_owned(), true, true),
        (
            vec![
                ("tsconfig.base.json", r#"{"compilerOptions": {"strict": true}}"#),
                config(r#"{"extends": "../tsconfig.base"}"#),
            ],
            TSC.to_owned(),
            true,
            true,
        ),
        (
            vec![
                ("node_modules/@tsconfig/strictest/tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#),
                ("web/loose.json", r#"{"compilerOptions": {"noImplicitAny": false}}"#),
                config(r#"{"extends": ["@tsconfig/strictest", "./loose.json"]}"#),
            ],
            TSC.to_owned(),
            true,
            false,
        ),
        (vec![("tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#)], TSC.to_owned(), true, true),
        (vec![config(r#"{"compilerOptions": {"strict": true}}"#), VERSION], format!("{TSC} src/a.ts"), false, false),
        (
            vec![
                ("web/package.json", r#"{"scripts": {"types": "tsc -p conf"}}"#),
                ("web/conf/tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#),
            ],
            "npm run types".to_owned(),
            true,
            true,
        ),
    ];
    for (files, command, strict, no_implicit_any) in rows {
        let files = FakeFiles::of(&files);
        let same = json!({ "strictMode": strict, "allowImplicitAny": !no_implicit_any });
        let reading = read("typescript", same, &command, &files);
        assert_eq!((said(&reading), reading.specification.is_some()), (Vec::new(), true), "{files:?} {command}");
        let other = json!({ "strictMode": !strict, "allowImplicitAny": no_implicit_any });
        let reading = read("typescript", other, &command, &files);
        let found = said(&reading);
        assert_eq!((found.len(), reading.specification.is_some()), (2, false), "{found:?}");
        assert!(found.iter().all(|line| line.starts_with("STRICTNESS_DIFFERS ")), "{found:?}");
    }
}

#[test]
fn c24_a_difference_names_both_words_and_the_way_out() {
    let files = FakeFiles::of(&[("web/tsconfig.json", r#"{"compilerOptions": {"strict": false}}"#)]);
    let reading = read("typescript", json!({ "strictMode": true }), TSC, &files);
    let fault = reading.faults.iter().find(|fault| fault.is_hard()).expect("they differ");
    assert_eq!(fault.rule.as_ref().expect("it has a name").schema_path, "#/lint/STRICTNESS_DIFFERS");
    insta::assert_snapshot!(fault.to_string(), @r#"
    a.json:1:1040: error[STRICTNESS_DIFFERS] /globalConfiguration/validationPolicy/typeChecking/tools/typescript/strictMode: `strictMode` is true here, and false in the project: `web/tsconfig.json` decides
      set `strict` in the project, or say `"strictMode": false`
    "#);
}

#[test]
fn c24_what_cannot_be_read_is_said_with_its_reason() {
    let rows = [
        (TSC.to_owned(), vec![], "there is no `tsconfig.json`"),
        (format!("{TSC} -p conf.json"), vec![], "`web/conf.json` cannot be read"),
        (format!("{TSC} -b"), vec![], "`tsc --build` may build several projects"),
        (TSC.to_owned(), vec![("web/tsconfig.json", "{}")], "the version of TypeScript, and so its default, is not known"),
        (TSC.to_owned(), vec![("web/tsconfig.json", r#"{"extends": "./tsconfig.json"}"#)], "extends too many"),
        (
            TSC.to_owned(),
            vec![("web/tsconfig.json", r#"{"extends": "gone"}"#)],
            "`gone`, which `web/tsconfig.json` extends, cannot be found",
        ),
        (format!("{TSC} -p ../../x"), vec![], "`../../x` leaves the project"),
        ("true".to_owned(), vec![], "no step runs tsc"),
    ];
    for (command, files, why) in rows {
        let reading = read("typescript", json!({ "strictMode": true }), &command, &FakeFiles::of(&files));
        let found = said(&reading);
        assert!(found.len() == 1 && found[0].starts_with("STRICTNESS_UNCHECKED strictMode: "), "{found:?}");
        assert!(found[0].contains(why) && reading.specification.is_some(), "{found:?}");
    }
}

#[test]
fn c24_what_mypy_is_set_to_is_compared_too() {
    for (files, command, strict, untyped) in [
        (vec![("web/mypy.ini", "[mypy]\nstrict = True\n")], "mypy .", true, false),
        (vec![("web/pyproject.toml", "[tool.mypy]\nstrict = true\ndisallow_untyped_defs = false\n")], "mypy .", true, true),
        (
            vec![("web/setup.cfg", "[flake8]\n[mypy]\ndisallow_untyped_defs: yes\n[other]\nstrict = True\n")],
            "python -m mypy .",
            false,
            false,
        ),
        (vec![], "mypy --strict .", true, false),
        (
            vec![("web/mypy.ini", "[mypy]\nstrict = True\n"), ("web/other.ini", "[mypy]\n")],
            "mypy --config-file other.ini .",
            false,
            true,
        ),
    ] {
        let files = FakeFiles::of(&files);
        let same = json!({ "strictMode": strict, "allowImplicitAny": untyped });
        assert_eq!(said(&read("mypy", same, command, &files)), Vec::<String>::new(), "{command}");
        let other = json!({ "strictMode": !strict, "allowImplicitAny": !untyped });
        assert_eq!(said(&read("mypy", other, command, &files)).len(), 2, "{command}");
    }
}

/// The setting is compared only with a single call of the type checker in the step's own directory. For other commands
/// the note "not compared" stays, because an unknown strictness must not count as agreement.
#[test]
fn c24_several_calls_or_one_in_another_directory_are_not_to_be_seen() {
    const STRICT: &str = r#"{"compilerOptions": {"strict": true}}"#;
    const LOOSE: &str = r#"{"compilerOptions": {"strict": false}}"#;
    const PACKAGE: &str = r#"{"scripts": {"types": "cd app && tsc --noEmit", "both": "tsc -p . && tsc -p app"}}"#;
    let files = [("web/tsconfig.json", STRICT), ("web/app/tsconfig.json", LOOSE), ("web/package.json", PACKAGE)];
    let files = FakeFiles::of(&files);
    for (parameters, argv, is_seen) in [
        (json!({ "command": "cd app && npx tsc --noEmit", "shell": "bash" }), Value::Null, false),
        (json!({ "command": "tsc -p . && tsc -p app", "shell": "bash" }), Value::Null, false),
        (json!({ "command": "npx tsc &&\nnpx tsc -p app", "shell": "sh" }), Value::Null, false),
        (json!({ "command": "npm run types" }), Value::Null, false),
        (json!({ "command": "npm run both" }), Value::Null, false),
        (json!({ "command": "node_modules/.bin/tsc" }), json!(["bash", "-c", "cd app && node_modules/.bin/tsc"]), false),
        (json!({ "command": "pnpm -C app tsc" }), Value::Null, false),
        (json!({ "command": "timeout 60 npx tsc --noEmit" }), Value::Null, true),
        (json!({ "command": "mkdir -p out && CI=1 npx tsc --noEmit 2>&1 | tee out/log", "shell": "bash" }), Value::Null, true),
    ] {
        let mut document: Value = serde_json::from_str(ROUNDING).expect("it is JSON");
        let step = &mut document["tasks"]["T117"]["testExecution"]["steps"][1];
        step["parameters"] = parameters.clone();
        step["parameters"]["workingDirectory"] = json!("web");
        step["proctor"] = json!({ "version": "1.0.0", "tool": "tsc" });
        if argv != Value::Null {
            step["proctor"]["argv"] = argv;
        }
        let tools = document.pointer_mut(POLICY).and_then(Value::as_object_mut).expect("it has a policy");
        tools.clear();
        tools.insert("typescript".to_owned(), json!({ "strictMode": true }));
        let project = SpecificationContext { project_root: Path::new("/srv/copy") };
        let reading = compare_with_project(read_specification(&document.to_string(), "a.json", project), &files);
        let expected = if is_seen { Vec::new() } else { vec![true] };
        let unseen: Vec<bool> =
            said(&reading).iter().map(|line| line.ends_with("how STEP.2 calls tsc is not to be seen")).collect();
        assert_eq!(unseen, expected, "{parameters}: {:?} {:?}", said(&reading), reading.faults);
    }
}
