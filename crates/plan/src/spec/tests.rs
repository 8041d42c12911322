//! Tests of whole plans: discovered checks in various projects, refused configurations, and the text of `proctor init`.

use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::{Strategy, any, prop, proptest};

use crate::config::{Configuration, read};
use crate::spec::{
    PlannedBefore, init_text, plan, plan_command, plan_digest, plan_terms, propose_order, propose_triggers, resolve,
};
use proctor_model::{Action, BlockOn, CheckOrder, OnSurvivors, Plan, PlanOrigin, PolicySource, Reuse, Tool, ToolClass};
use proctor_tools::FakeFiles;

fn found(files: &FakeFiles) -> Plan {
    plan(&Configuration::default(), files, "quotes").expect("something is there")
}

type Files = &'static [(&'static str, &'static str)];

/// Returns one line for each step: directory and command, with `*` for a discovered command.
fn commands(plan: &Plan) -> Vec<String> {
    let ours = |action: &Action| if action.command_is_ours { "*" } else { "" };
    let line = |action: &Action| format!("{}{}$ {}", action.directory.display(), ours(action), action.command.display);
    plan.steps.iter().map(line).collect()
}

fn notes(plan: &Plan) -> String {
    plan.notes.iter().map(|note| format!("{}: {}", note.subject, note.message)).collect::<Vec<_>>().join("\n")
}

fn resolved(text: &str, files: &FakeFiles) -> Plan {
    let configuration = read(text, "proctor.toml").unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"));
    plan(&configuration, files, "quotes").unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"))
}

fn refused(text: &str, files: &FakeFiles) -> String {
    let configuration = read(text, "proctor.toml").unwrap_or_else(|problems| panic!("{problems:#?}"));
    let problems = resolve(&configuration, files, "quotes").expect_err("the plan is wrong");
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

const WEB_SCRIPTS: &str = r#"{"scripts": {"lint": "eslint src --ext .ts --max-warnings 0 --fix"}}"#;

/// A project with Python at the root and TypeScript in a directory below.
fn quotes() -> FakeFiles {
    FakeFiles::of(&[
        ("pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"),
        (".venv/bin/python", ""),
        (".venv/bin/pytest", ""),
        ("web/tsconfig.json", "{}"),
        ("web/eslint.config.mjs", ""),
        ("web/package.json", WEB_SCRIPTS),
        ("node_modules/.bin/tsc", ""),
        ("node_modules/.bin/eslint", ""),
    ])
}

/// Test files are searched for in the test directories and in the directories directly below them.
#[test]
fn test_files_are_looked_for_two_levels_deep() {
    for (path, expected) in [("tests/test_a.py", true), ("tests/unit/test_a.py", true), ("tests/unit/deep/test_a.py", false)] {
        let files = FakeFiles::of(&[(path, "")]);
        assert_eq!(plan(&Configuration::default(), &files, "quotes").is_ok(), expected, "{path}");
    }
}

#[test]
fn each_kind_of_project_is_found() {
    let table: &[(Files, &[&str])] = &[
        (&[("pytest.ini", ""), (".venv/bin/python", "")], &["*$ .venv/bin/python -m pytest"]),
        (&[("pyproject.toml", "[tool.pytest.ini_options]"), ("venv/bin/python", "")], &["*$ venv/bin/python -m pytest"]),
        (&[("pyproject.toml", "[tool.pytest]\naddopts=[]"), ("x", "")], &["*$ python3 -m pytest"]),
        (&[("setup.cfg", "[metadata]\n[tool:pytest]\n"), ("poetry.lock", "")], &["*$ poetry run python -m pytest"]),
        (&[("tox.ini", "[pytest]"), ("uv.lock", "")], &["*$ uv run --frozen --offline python -m pytest"]),
        (&[("tests/unit/test_a.py", "")], &["*$ python3 -m pytest"]),
        (&[("test/a_test.py", "")], &["*$ python3 -m pytest"]),
        (&[("test_a.py", "")], &["*$ python3 -m pytest"]),
        (
            &[("api/pyproject.toml", ""), ("api/tests/test_a.py", ""), (".venv/bin/python", "")],
            &["api*$ ../.venv/bin/python -m pytest"],
        ),
        (&[("tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")], &["*$ ./node_modules/.bin/tsc --noEmit -p ."]),
        (&[("web/tsconfig.json", "{}"), ("web/node_modules/.bin/tsc", "")], &["*$ ./web/node_modules/.bin/tsc --noEmit -p web"]),
        (&[("web/tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")], &["*$ ./node_modules/.bin/tsc --noEmit -p web"]),
        (
            &[("a/tsconfig.json", "{}"), ("b/tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")],
            &["*$ ./node_modules/.bin/tsc --noEmit -p a", "*$ ./node_modules/.bin/tsc --noEmit -p b"],
        ),
        (
            &[
                (
                    "tsconfig.json",
                    "{\"files\": [], // a solution\n \"references\": [{\"path\": \"./tsconfig.app.json\"}, {\"path\": \"lib/\"}, {\"path\": \"../x\"},],}",
                ),
                ("node_modules/.bin/tsc", ""),
            ],
            // `../x` lies outside of the project and cannot be read, so it is not known which projects it refers to.
            &["*$ ./node_modules/.bin/tsc -b --force ."],
        ),
        (
            &[
                (
                    "tsconfig.json",
                    "{\"files\": [], \"references\": [{\"path\": \"./tsconfig.app.json\"}, {\"path\": \"lib/\"},],}",
                ),
                ("tsconfig.app.json", "{}"),
                ("lib/tsconfig.json", "{}"),
                ("node_modules/.bin/tsc", ""),
            ],
            &["*$ ./node_modules/.bin/tsc --noEmit -p tsconfig.app.json", "*$ ./node_modules/.bin/tsc --noEmit -p lib"],
        ),
        (
            &[
                ("web/tsconfig.json", "{\"files\": [], \"references\": [{\"path\": \"core\"}, {\"path\": \"app\"}]}"),
                ("web/core/tsconfig.json", "{}"),
                ("web/app/tsconfig.json", "{\"references\": [{\"path\": \"../core\"}]}"),
                ("node_modules/.bin/tsc", ""),
            ],
            &["*$ ./node_modules/.bin/tsc -b --force web"],
        ),
        (&[(".eslintrc.json", "{}"), ("node_modules/.bin/eslint", "")], &["*$ ./node_modules/.bin/eslint ."]),
        (&[("package.json", "{\"eslintConfig\": {}}"), ("node_modules/.bin/eslint", "")], &["*$ ./node_modules/.bin/eslint ."]),
        (
            &[("web/.eslintrc", ""), ("web/package.json", WEB_SCRIPTS), ("node_modules/.bin/eslint", "")],
            &["web*$ ../node_modules/.bin/eslint --ext .ts src"],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "jest --ci --config jest.unit.js"}}"#), ("node_modules/.bin/jest", "")],
            &["*$ ./node_modules/.bin/jest --ci --config jest.unit.js"],
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts": {"test": "NODE_OPTIONS=--experimental-vm-modules jest", "dev": "jest --watch"}}"#,
                ),
                ("node_modules/.bin/jest", ""),
            ],
            &["*$ npm run test"],
        ),
        (&[("package.json", r#"{"jest": {}}"#), ("node_modules/.bin/jest", "")], &["*$ ./node_modules/.bin/jest"]),
        (
            &[("web/package.json", r#"{"scripts": {"test": "vitest"}}"#), ("node_modules/.bin/vitest", "")],
            &["web*$ ../node_modules/.bin/vitest run"],
        ),
        (
            &[
                ("vitest.config.ts", ""),
                ("package.json", r#"{"scripts": {"test": "tsc && vitest run", "unit": "vitest run src"}}"#),
                ("node_modules/.bin/vitest", ""),
            ],
            &["*$ ./node_modules/.bin/vitest run src"],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "vitest --run"}}"#), ("node_modules/.bin/vitest", "")],
            &["*$ ./node_modules/.bin/vitest --run"],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "vitest --coverage"}}"#), ("node_modules/.bin/vitest", "")],
            &["*$ ./node_modules/.bin/vitest run --coverage"],
        ),
        (
            &[("package.json", r#"{"scripts": {"test": "vitest related src/a.ts"}}"#), ("node_modules/.bin/vitest", "")],
            &["*$ ./node_modules/.bin/vitest related src/a.ts"],
        ),
        // The script named `test` is preferred to other scripts with `test` in their names.
        (
            &[("package.json", r#"{"scripts": {"all": "jest --all", "test": "jest --ci"}}"#), ("node_modules/.bin/jest", "")],
            &["*$ ./node_modules/.bin/jest --ci"],
        ),
        (
            &[
                ("package.json", r#"{"scripts": {"all": "jest --all", "unit-test": "jest --ci"}}"#),
                ("node_modules/.bin/jest", ""),
            ],
            &["*$ ./node_modules/.bin/jest --ci"],
        ),
        // A redirection needs a shell, so the script is run by `npm` and not by its own words.
        (
            &[("package.json", r#"{"scripts": {"test": "jest --ci > log"}}"#), ("node_modules/.bin/jest", "")],
            &["*$ npm run test"],
        ),
        // A configuration with files of its own needs the build results of the projects that it refers to, so tsc must
        // build.
        (
            &[("tsconfig.json", r#"{"files": ["a.ts"], "references": [{"path": "lib"}]}"#), ("node_modules/.bin/tsc", "")],
            &["*$ ./node_modules/.bin/tsc -b --force ."],
        ),
        (
            &[
                ("tsconfig.json", r#"{"files": [], "include": ["src"], "references": [{"path": "lib"}]}"#),
                ("node_modules/.bin/tsc", ""),
            ],
            &["*$ ./node_modules/.bin/tsc -b --force ."],
        ),
        (
            &[("pyproject.toml", "[tool.mypy]\nstrict = true\n[tool.ruff]\n"), (".venv/bin/mypy", ""), (".venv/bin/ruff", "")],
            &["*$ .venv/bin/mypy .", "*$ .venv/bin/ruff check ."],
        ),
        (&[("api/mypy.ini", "[mypy]\nfiles = src\n"), ("venv/bin/mypy", "")], &["api*$ ../venv/bin/mypy"]),
        (&[("setup.cfg", "[mypy]\n"), (".venv/bin/mypy", "")], &["*$ .venv/bin/mypy ."]),
        (&[("ruff.toml", ""), (".venv/bin/ruff", "")], &["*$ .venv/bin/ruff check ."]),
    ];
    for (files, expected) in table {
        let plan = found(&FakeFiles::of(files));
        assert_eq!(commands(&plan), *expected, "{files:?}");
        assert_eq!(plan.origin, PlanOrigin::Discovered);
        assert!(!plan.notes.is_empty(), "a reason is given");
    }
}

#[test]
fn what_only_looks_like_a_project_is_none() {
    for files in [
        vec![("readme.md", "")],
        vec![("pyproject.toml", "[tool.black]")],
        vec![("setup.cfg", "# [tool:pytest]")],
        vec![("docs/test_example.py", "")],
        vec![("main.py", ""), ("tests/helpers.py", ""), ("tests/test_data.txt", "")],
        vec![("tsconfig.json", "{}")],
        vec![("eslint.config.js", "")],
        vec![("jest.config.js", "")],
        vec![("package.json", r#"{"scripts": {"test": "vitest --watch"}}"#), ("node_modules/.bin/vitest", "")],
        vec![("package.json", r#"{"devDependencies": {"jest": "30"}}"#), ("node_modules/.bin/jest", "")],
        vec![("pyproject.toml", "[tool.ruff]\n[tool.mypy]")],
        vec![("node_modules/x/tsconfig.json", ""), ("node_modules/.bin/tsc", "")],
        vec![("a/b/tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")],
        vec![(".cache/tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")],
        vec![("node_modules/tsconfig.json", "{}"), ("node_modules/.bin/tsc", "")],
    ] {
        assert!(plan(&Configuration::default(), &FakeFiles::of(&files), "quotes").is_err(), "{files:?}");
    }
}

#[test]
fn what_is_missing_is_said_with_the_next_step() {
    let files =
        FakeFiles::of(&[("tsconfig.json", "{}"), ("web/eslint.config.js", ""), ("ruff.toml", ""), ("jest.config.ts", "")]);
    let problems = plan(&Configuration::default(), &files, "quotes").expect_err("nothing can run");
    assert_snapshot!(problems[0], @r#"
    proctor.toml: check: the project has no checks, and none were found in its files
      write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
      jest: `jest.config.ts` is there, but no `node_modules/.bin/jest` beside or above it: install the project's packages, or jest with `npm install --save-dev jest`
      tsc: `tsconfig.json` is there, but no `node_modules/.bin/tsc` beside or above it: install the project's packages, or TypeScript with `npm install --save-dev typescript`
      eslint: `web/eslint.config.js` is there, but no `node_modules/.bin/eslint` beside or above it: install the project's packages, or eslint with `npm install --save-dev eslint`
      ruff: `ruff.toml` is there, but no `.venv/bin/ruff` beside or above it: install ruff in the project's environment
    "#);
}

#[test]
fn what_lies_in_a_project_without_checks_is_named_with_checks_to_paste() {
    let files = FakeFiles::of(&[
        ("pom.xml", ""),
        ("Makefile", "test: build\n\tmvn test\n"),
        ("package.json", "{\"scripts\": {\"lint\": \"biome check\"}}"),
    ]);
    let problems = plan(&Configuration::default(), &files, "quotes").expect_err("nothing is found by itself");
    assert_snapshot!(problems[0], @r#"
    proctor.toml: check: the project has no checks, and none were found in its files
      write into `proctor.toml` which of these shall run, or another command:
      [[check]]  # `pom.xml`
      name = "maven"
      command = ["mvn", "test"]
      # report = { file = "target/surefire-reports/TEST-*.xml", format = "junit" }
      [[check]]  # the target `test` in `Makefile`
      name = "make test"
      command = ["make", "test"]
      [[check]]  # the script `lint` in `package.json`
      name = "lint"
      command = ["npm", "run", "lint"]
    "#);
    let pasted: String = problems[0].to_string().lines().skip(2).map(|line| format!("{line}\n")).collect();
    let plan = resolved(&pasted, &files);
    assert_eq!(plan.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["maven", "make test", "lint"]);
}

#[test]
fn a_whole_project_is_found_with_reasons_and_policies() {
    let plan = found(&quotes());
    assert_snapshot!(notes(&plan), @"
    pytest: `.venv/bin/python -m pytest` because pytest's table in `pyproject.toml` is there and `.venv` is the environment
    tsc web: `./node_modules/.bin/tsc --noEmit -p web` because `web/tsconfig.json` is there
    eslint web: `../node_modules/.bin/eslint --ext .ts src` because `web/eslint.config.mjs` is there and `web/package.json scripts.lint` calls it so
    ");
    let eslint = plan.steps[2].policy.as_ref().expect("a policy");
    assert_eq!(eslint.block_on, BlockOn::ErrorsAndWarnings);
    assert_eq!(eslint.source, PolicySource::Configured("web/package.json scripts.lint".to_owned()));
    assert_eq!(plan.steps[1].policy.as_ref().map(|policy| policy.block_on), Some(BlockOn::ErrorsAlways));
    assert_eq!(plan.steps[0].policy, None);
    let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["STEP.1", "STEP.2", "STEP.3"]);
}

#[test]
fn tests_of_rust_go_and_node_are_found_by_the_files_that_name_them() {
    let commands = |files: &[(&str, &str)]| {
        let plan = found(&FakeFiles::of(files));
        plan.steps.iter().map(|step| format!("{}: {}", step.name, step.command.display)).collect::<Vec<_>>()
    };
    assert_eq!(commands(&[("Cargo.toml", "[package]\n"), ("src/lib.rs", "")]), ["cargo-test: cargo test"]);
    assert_eq!(commands(&[("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n")]), ["cargo-test: cargo test --workspace"]);
    assert_eq!(commands(&[("server/go.mod", "module example.com/shop\n")]), ["go-test server: go test ./..."]);
    let script = |text: &str| format!("{{\"scripts\": {{\"test\": \"{text}\"}}}}");
    assert_eq!(commands(&[("package.json", &script("node --test test/"))]), ["node-test: node --test test/"]);
    assert_eq!(commands(&[("package.json", &script("CI=1 node --test"))]), ["node-test: npm run test"]);
    for files in [
        vec![("package.json", script("node --test --watch"))],
        vec![("a.test.js", String::new())],
        vec![("Cargo.toml", String::new()), ("pyproject.toml", String::new())],
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert!(plan(&Configuration::default(), &FakeFiles::of(&files), "quotes").is_err(), "{files:?}");
    }
}

#[test]
fn an_environment_that_cannot_run_pytest_is_noted() {
    assert!(notes(&found(&FakeFiles::of(&[("pytest.ini", ""), (".venv/bin/python", "")]))).contains("`.venv` has no pytest"));
    assert!(
        notes(&found(&FakeFiles::of(&[("pytest.ini", ""), ("uv.lock", "")])))
            .contains("run `uv sync --frozen`, or let `proctor init`")
    );
    assert!(notes(&found(&quotes().and("pytest.py", ""))).contains("`pytest.py` hides the real pytest"));
    assert!(!notes(&found(&quotes().and("pytest/test_a.py", ""))).contains("hides"));
}

#[test]
fn settings_without_checks_keep_the_discovered_checks() {
    let text = "[project]\nname = \"other\"\n[defaults]\ntimeout = \"7s\"\n[policy.tsc]\nblock_on = \"never\"\n[[prerequisite]]\nname = \"deps\"\ncommand = \"npm ci\"\nwhen_changed = [\"package-lock.json\"]\n[[cleanup]]\nname = \"end\"\ncommand = \"make end\"\nexpected_exit_codes = [0, 2]\n";
    let plan = plan(&read(text, "proctor.toml").expect("a right text"), &quotes(), "quotes").expect("a plan");
    assert_eq!((plan.origin.clone(), plan.project_name.as_str(), plan.steps.len()), (PlanOrigin::Discovered, "other", 3));
    assert_eq!(plan.steps[0].timeout.as_secs(), 7);
    let tsc = plan.steps[1].policy.as_ref().expect("a policy");
    assert_eq!((tsc.block_on, &tsc.source), (BlockOn::Never, &PolicySource::Configured("proctor.toml:6".to_owned())));
    let prerequisite = &plan.prerequisites[0];
    assert_eq!((prerequisite.id.as_str(), prerequisite.class), ("PREREQ.1", ToolClass::Generic));
    assert_eq!(prerequisite.once.as_ref().map(|once| once.when_changed.len()), Some(1));
    assert_eq!((plan.cleanup[0].id.as_str(), &plan.cleanup[0].expected_exit_codes[..]), ("CLEANUP.1", &[0, 2][..]));
    assert_eq!(plan.cleanup[0].once, None);
}

#[test]
fn no_plan_is_made_again_while_the_files_that_were_asked_answer_the_same() {
    let files = quotes().and("Makefile", "check:\n\ttrue\n").and("web/app.ts", "");
    for text in ["[[check]]\nname = \"make\"\ncommand = [\"make\", \"check\"]\n", ""] {
        let configuration = read(text, "proctor.toml").expect("a right text");
        let made = PlannedBefore::make(&configuration, &files, "quotes");
        assert_eq!(made.planned, plan(&configuration, &files, "quotes"), "{text}");
        let holds = |path: &str, content: &str| made.holds(&configuration, &files.clone().and(path, content));
        assert!(holds("Makefile", "check:\n\ttrue\n"), "{text}: nothing has changed");
        assert!(holds("web/app.ts", "saved"), "{text}: nobody reads a source file");
        assert!(!holds("Makefile", "test:\n\tpytest\n"), "{text}: it says which tests the project has");
        assert!(!holds("pyproject.toml", "[tool.mypy]\n"), "{text}: it names tools");
        let other = read("[run]\nparallel = true\n", "proctor.toml").expect("a right text");
        assert!(!made.holds(&other, &files), "{text}: other settings may have another plan");
    }
}

#[test]
fn a_configured_check_is_recognised_and_a_named_tool_holds() {
    let text = "[[check]]\nname = \"a\"\ncommand = \"uv run pytest -q\"\n[[check]]\nname = \"b\"\ndirectory = \"web\"\ncommand = \"npm run lint\"\n[[check]]\nname = \"c\"\ntool = \"tsc\"\n[[check]]\nname = \"d\"\ncommand = \"make all\"\ntool = \"pytest\"\n[[check]]\nname = \"e\"\ncommand = \"make all\"\n[[check]]\nname = \"f\"\ntool = \"eslint\"\ndirectory = \"web\"\n";
    let plan = resolved(text, &quotes());
    let tools: Vec<(Tool, bool)> = plan.steps.iter().map(|step| (step.tool, step.command_is_ours)).collect();
    assert_eq!(
        tools,
        [
            (Tool::Pytest, false),
            (Tool::Eslint, false),
            (Tool::Tsc, true),
            (Tool::Pytest, false),
            (Tool::Compile, false),
            (Tool::Eslint, true)
        ]
    );
    let lint = plan.steps[1].policy.as_ref().expect("a policy");
    assert_eq!(lint.source, PolicySource::Configured("package.json scripts.lint".to_owned()));
    assert_eq!(commands(&plan)[2], "*$ ./node_modules/.bin/tsc --noEmit -p web");
    assert_eq!(commands(&plan)[5], "web*$ ../node_modules/.bin/eslint --ext .ts src");
}

#[test]
fn what_a_tool_cannot_use_is_refused_and_everything_is_said_at_once() {
    let text = "[[check]]\nname = \"tests\"\ncommand = \"pytest\"\nexpected_exit_codes = [0, 1]\npolicy = { block_on = \"never\" }\n[[check]]\nname = \"types\"\ntool = \"tsc\"\npolicy = { max_warnings = 2 }\n[[check]]\nname = \"other\"\ncommand = \"make\"\ncoverage = { minimum = 80, report = \"c.json\" }\n[[check]]\nname = \"lint\"\ntool = \"eslint\"\ndirectory = \"api\"\n";
    assert_snapshot!(refused(text, &quotes()), @r#"
    proctor.toml:2:8: check[1].policy: pytest has no policy
      a policy judges the findings of linters, type checkers and compilers: remove it, or say which `tool` it is
    proctor.toml:2:8: check[1].expected_exit_codes: pytest is not judged by expected exit codes
      remove it: a recognised tool says more than its exit code, and another code than 0 is no success of it
    proctor.toml:7:8: check[2].policy.max_warnings: `max_warnings` is a setting of linters: tsc reports errors only and has no rules by name
      choose a `block_on` instead
    proctor.toml:11:8: check[3].coverage: compile has no coverage
      coverage is required of a pytest check: move it there, or say `tool = "pytest"`
    proctor.toml:15:8: check[4].command: no eslint was found in `api`
      write what to run, for example `command = ["make", "check"]`
    "#);
}

#[test]
fn a_tool_that_may_have_a_report_gives_way_to_a_report_and_to_expected_exit_codes() {
    let files = FakeFiles::of(&[]);
    let tool = |lines: &str| resolved(&format!("[[check]]\nname = \"one\"\n{lines}\n"), &files).steps[0].tool;
    for (command, known) in [("mocha", Tool::Mocha), ("biome check", Tool::Biome), ("cargo clippy", Tool::Clippy)] {
        let command = format!("command = \"{command}\"");
        assert_eq!(tool(&command), known);
        assert_eq!(tool(&format!("{command}\nexpected_exit_codes = [0, 1]")), Tool::Generic);
        let report = "report = { file = \"r.xml\", format = \"checkstyle\" }";
        assert_eq!(tool(&format!("{command}\n{report}")), Tool::FindingReport);
    }
}

#[test]
fn a_tool_in_several_places_has_to_be_told_apart() {
    let files = quotes().and("shop/tsconfig.json", "{}");
    assert_snapshot!(refused("[[check]]\nname = \"types\"\ntool = \"tsc\"\n", &files), @"
    proctor.toml:2:8: check[1].command: tsc was found in several places: `./node_modules/.bin/tsc --noEmit -p shop`, `./node_modules/.bin/tsc --noEmit -p web`
      write one check for each, with its `command` or its `directory`
    ");
    let plan = resolved("[[check]]\nname = \"types\"\ntool = \"tsc\"\ndirectory = \"shop\"\n", &files);
    assert_eq!(commands(&plan), ["*$ ./node_modules/.bin/tsc --noEmit -p shop"]);
}

#[test]
fn a_configuration_without_checks_is_no_plan_by_itself() {
    assert_snapshot!(refused("", &FakeFiles::of(&[("README.md", "")])), @r#"
    proctor.toml: check: the project has no checks, and none were found in its files
      write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
    "#);
}

#[test]
fn a_project_of_python_without_tests_is_told_where_tests_are_found() {
    assert_snapshot!(refused("", &FakeFiles::of(&[("requirements.txt", "requests\n"), ("app.py", "")])), @r#"
    proctor.toml: check: the project has no checks, and none were found in its files
      `requirements.txt` is there, but no tests: in `tests/test_*.py` they are found by themselves; for another command, write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
    "#);
}

#[test]
fn a_command_of_the_command_line_is_a_plan_of_one_step() {
    let argv = ["npx", "eslint", ".", "--max-warnings", "3"].map(str::to_owned);
    let plan = plan_command(&argv, &Configuration::default(), &quotes(), "quotes").expect("a plan");
    assert_eq!((plan.origin.clone(), plan.steps.len()), (PlanOrigin::CommandLine, 1));
    let step = &plan.steps[0];
    assert_eq!((step.name.as_str(), step.tool, step.command_is_ours), ("eslint", Tool::Eslint, false));
    assert_eq!(step.policy.as_ref().and_then(|policy| policy.max_warnings), Some(3));
    assert!(plan_command(&[], &Configuration::default(), &quotes(), "quotes").is_err());
}

#[test]
fn init_writes_down_what_was_found_with_the_reasons() {
    let plan = found(&quotes());
    assert_snapshot!(init_text(&plan, &plan.notes, CheckOrder::Plan), @r#"
    # What proctor runs when a file is saved, as `proctor init` found it.
    # All settings with their defaults: `proctor init --print`.
    # For completion in an editor: `proctor generate schema configuration > .proctor-schema.json`, and as first
    # line `#:schema ./.proctor-schema.json`.
    #
    # - pytest: `.venv/bin/python -m pytest` because pytest's table in `pyproject.toml` is there and `.venv` is the environment
    # - tsc web: `./node_modules/.bin/tsc --noEmit -p web` because `web/tsconfig.json` is there
    # - eslint web: `../node_modules/.bin/eslint --ext .ts src` because `web/eslint.config.mjs` is there and `web/package.json scripts.lint` calls it so

    [project]
    name = "quotes"

    [[check]]
    name = "pytest"
    tool = "pytest"
    command = [".venv/bin/python", "-m", "pytest"]

    [[check]]
    name = "tsc web"
    tool = "tsc"
    command = ["./node_modules/.bin/tsc", "--noEmit", "-p", "web"]
    # the default for tsc
    policy = { block_on = "errors-always" }

    [[check]]
    name = "eslint web"
    tool = "eslint"
    command = ["../node_modules/.bin/eslint", "--ext", ".ts", "src"]
    directory = "web"
    # so says web/package.json scripts.lint
    policy = { block_on = "errors-and-warnings" }

    # Checks may use the network. This would give each run one of its own, in which only its own services are reached and every port is free.
    #[sandbox]
    #network = "loopback"

    # Evidence is kept for ever. This would limit its size; the newest 50 runs of each task stay in any case.
    #[evidence]
    #max_bytes = "5GiB"
    "#);
}

#[test]
fn init_proposes_which_saves_start_a_check_and_asks_nobody_about_it() {
    let before = found(&quotes());
    let mut plan = before.clone();
    propose_triggers(&mut plan, &quotes());
    let text = init_text(&plan, &[], propose_order(&plan));
    for line in [
        "order = \"failed-first\"",
        "paths = [\"**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte,astro,json,lock}\", \"**/{pnpm-lock.yaml,bun.lockb}\"]",
        "# none of them the verdict is stale",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!((text.matches("paths = [").count(), text.matches("reuse = \"watch\"").count()), (3, 3), "{text}");
    // What proctor does by itself is no rule of the project; what stands in its file is one.
    assert_eq!((plan_digest(&plan), plan_terms(&plan)), (plan_digest(&before), plan_terms(&before)));
    let again = resolved(&text, &quotes());
    plan.origin = PlanOrigin::Configured;
    assert_eq!(plan_digest(&plan), plan_digest(&again), "{text}");
    assert_ne!(plan_digest(&plan), plan_digest(&before));
}

/// A member of a workspace imports others, so a save in one of them may turn its tests red.
#[test]
fn a_check_in_a_directory_is_started_by_saves_anywhere_but_in_packages_that_it_cannot_read() {
    let checks = "[[check]]\nname = \"app\"\ntool = \"eslint\"\ndirectory = \"web\"\n\n\
        [[check]]\nname = \"api\"\ncommand = \"pytest\"\ndirectory = \"api\"\n";
    for (root, of_others) in [("{}", [&["!api/**"][..], &["!web/**"]]), ("{\"workspaces\": [\"web\"]}", [&[], &[]])] {
        let files = quotes().and("web/package.json", "{}").and("package.json", root);
        let mut plan = resolved(checks, &files);
        propose_triggers(&mut plan, &files);
        for (step, of_others) in plan.steps.iter().zip(of_others) {
            let (without, with): (Vec<&str>, Vec<&str>) =
                step.paths.iter().map(String::as_str).partition(|path| path.starts_with('!'));
            assert_eq!(without, of_others, "{}: {root}", step.name);
            assert!(with.len() > 1 && with.iter().all(|path| path.starts_with("**/")), "{with:?}");
        }
    }
}

#[test]
fn failed_checks_come_first_only_where_no_check_can_read_what_another_wrote() {
    let order = |text: &str| propose_order(&resolved(text, &quotes()));
    let check = |name: &str, command: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"{command}\"\n");
    let (tests, lint) = (check("a", "pytest"), check("b", "eslint ."));
    assert_eq!(order(&tests), CheckOrder::Plan, "one check has no order");
    assert_eq!(order(&(tests.clone() + &lint)), CheckOrder::FailedFirst);
    assert_eq!(order(&(tests.clone() + &lint + &check("c", "pytest more"))), CheckOrder::Plan);
    assert_eq!(order(&(tests + &check("c", "make codegen"))), CheckOrder::Plan);
}

#[test]
fn a_digest_is_of_what_runs_and_how_it_is_judged() {
    let text = "[[check]]\nname = \"a\"\ncommand = \"pytest -q\"\n[[check]]\nname = \"b\"\ntool = \"tsc\"\n[policy.tsc]\nblock_on = \"errors-only\"\n";
    let digest = plan_digest(&resolved(text, &quotes()));
    assert_eq!(digest, plan_digest(&resolved(&format!("# a comment\n\n{text}"), &quotes())));
    assert_eq!(digest, plan_digest(&resolved(&text.replace("\"pytest -q\"", "[\"pytest\", \"-q\"]"), &quotes())));
    for (old, new) in [
        ("-q", "-x"),
        ("errors-only", "never"),
        ("name = \"a\"", "name = \"a\"\ntimeout = 3"),
        ("name = \"a\"", "name = \"a\"\nidle_timeout = 3"),
        ("name = \"a\"", "name = \"a\"\nmax_output = \"1MB\""),
        ("name = \"a\"", "name = \"a\"\npaths = [\"*.py\"]"),
        ("name = \"a\"", "name = \"a\"\nenvironment = { A = \"1\" }"),
        ("name = \"a\"", "name = \"a\"\nafter = [\"b\"]"),
        ("name = \"a\"", "name = \"a\"\nretries = 1"),
        ("name = \"a\"", "name = \"a\"\ncontrol = true"),
        ("name = \"a\"", "name = \"a\"\nshards = 2"),
    ] {
        assert_ne!(digest, plan_digest(&resolved(&text.replace(old, new), &quotes())), "{new}");
    }
    // A plan with another order, parallelism or overall time limit has another digest, and these digests differ from
    // each other.
    let plan = resolved(text, &quotes());
    let others = [
        Plan { order: vec![plan.steps[1].id.clone(), plan.steps[0].id.clone()], ..plan.clone() },
        Plan { parallel: true, ..plan.clone() },
        Plan { timeout: Some(Duration::from_secs(60)), ..plan.clone() },
    ];
    let mut digests: Vec<_> = others.iter().map(plan_digest).chain([digest]).collect();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 4);
}

#[test]
fn a_check_keeps_what_is_said_of_it_and_says_what_it_does() {
    let text = "[defaults]\nidle_timeout = 3\non_survivors = \"fail\"\n[[prerequisite]]\nname = \"server\"\ncommand = \"serve\"\nservice = true\nready = { port = 4000 }\n[[check]]\nname = \"a\"\ncommand = \"pytest -q\"\ncontrol = true\n[[check]]\nname = \"b\"\ncommand = \"make b\"\ntool = \"generic\"\n";
    let plan = resolved(text, &quotes());
    assert!(plan.steps[0].control && !plan.steps[1].control);
    assert_eq!((plan.steps[0].idle_timeout, plan.prerequisites[0].idle_timeout), (Some(Duration::from_secs(3)), None));
    assert_eq!(plan.prerequisites[0].service.as_ref().map(|service| service.timeout), Some(plan.prerequisites[0].timeout));
    // Processes that a service leaves behind are only reported and killed, whatever the setting is for other actions.
    assert_eq!((plan.steps[0].on_survivors, plan.prerequisites[0].on_survivors), (OnSurvivors::Fail, OnSurvivors::Report));
    let does: Vec<&str> = plan.prerequisites.iter().chain(&plan.steps).map(|action| action.description.as_str()).collect();
    assert_eq!(does, ["goes on while the checks run: `serve`", "runs the tests: `pytest -q`", "runs: `make b`"]);
}

#[test]
fn terms_of_approval_name_who_may_sign() {
    let text =
        "[approval]\nrequire_signature = true\nallowed_signers = \"signers\"\n[[check]]\nname = \"a\"\ncommand = \"make a\"\n";
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";
    let plan = resolved(text, &quotes().and("signers", &format!("lead@example.org {key}\n")));
    let signers: Vec<&str> = plan.approval.signers.iter().map(|signer| signer.key.as_str()).collect();
    assert_eq!((plan.approval.require_signature, signers), (true, vec![key]));
}

#[test]
fn a_check_comes_after_others_by_their_names_and_never_after_itself() {
    let check = |name: &str, after: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"make {name}\"\nafter = [{after}]\n");
    let plan = resolved(&(check("a", "\"c\"") + &check("b", "") + &check("c", "\"b\"")), &quotes());
    let after: Vec<_> = plan.steps.iter().map(|step| step.after.iter().map(ToString::to_string).collect::<Vec<_>>()).collect();
    assert_eq!(after, [vec!["STEP.3".to_owned()], vec![], vec!["STEP.2".to_owned()]]);
    let wrong = check("a", "\"d\"") + &check("b", "\"c\"") + &check("c", "\"b\"");
    assert_snapshot!(refused(&wrong, &quotes()), @"
    proctor.toml:2:8: check[1].after: there is no check `d`
      the checks are `a`, `b`, `c`
    proctor.toml:6:8: check[2].after: the check would come after itself
      let one of them come after none of the others
    proctor.toml:10:8: check[3].after: the check would come after itself
      let one of them come after none of the others
    ");
}

/// The files from which projects are generated. Each generated project has a random selection of these files.
const PIECES: &[(&str, &str)] = &[
    ("pytest.ini", ""),
    ("tests/test_a.py", ""),
    ("api/pytest.ini", ""),
    (".venv/bin/python", ""),
    ("uv.lock", ""),
    ("tsconfig.json", "{\"files\": [], \"references\": [{\"path\": \"./a \\\"b.json\"}, {\"path\": \"lib\"}]}"),
    ("web/tsconfig.json", "{}"),
    ("we b/tsconfig.json", "{}"),
    ("eslint.config.js", ""),
    ("web/.eslintrc", ""),
    ("package.json", "{\"scripts\": {\"l\": \"eslint 'a b' \\\"c'd\\\" --max-warnings=9\"}}"),
    ("web/package.json", WEB_SCRIPTS),
    ("node_modules/.bin/tsc", ""),
    ("web/node_modules/.bin/eslint", ""),
    ("node_modules/.bin/eslint", ""),
];

/// Returns an action without the source of its policy, which differs between a discovered check and the same check in a
/// file.
fn essence(action: &Action) -> Action {
    let mut action = action.clone();
    if let Some(policy) = &mut action.policy {
        policy.source = PolicySource::Default;
    }
    action
}

/// Coverage and reuse apply only to the check that sets them. A review's verdict is never reused, whatever the settings
/// say.
#[test]
fn coverage_and_reuse_are_those_of_the_check() {
    let text = "[run]\nreuse = \"always\"\n\
                [[check]]\nname = \"tests\"\ncommand = \"pytest\"\ncoverage = { minimum = 85.5, report = \"c.json\" }\n\
                [[check]]\nname = \"review\"\ntool = \"review\"\ncommand = [\"cat\", \"verdict\"]\n";
    let plan = resolved(text, &FakeFiles::default());
    let coverage = plan.steps[0].coverage.as_ref().expect("it is asked for");
    assert_eq!((coverage.minimum_basis_points, coverage.report.as_str()), (8550, "c.json"));
    assert_eq!((plan.steps[0].reuse, plan.steps[1].reuse), (Reuse::Always, Reuse::Off));
}

/// If a check names a tool and its command looks like another tool, the plan has a note about it.
#[test]
fn a_tool_that_differs_from_what_the_command_looks_like_is_noted() {
    for (command, said, expected) in [("tsc", "tsc", 0), ("tsc", "eslint", 1), ("true", "tsc", 0)] {
        let plan =
            resolved(&format!("[[check]]\nname = \"a\"\ntool = \"{said}\"\ncommand = \"{command}\"\n"), &FakeFiles::default());
        assert_eq!(notes(&plan).matches("looks like").count(), expected, "{command}, {said}: {}", notes(&plan));
    }
}

#[test]
fn a_directory_that_is_not_there_yet_is_noted() {
    for (directory, expected) in [("web", 0), ("gone", 1)] {
        let check = format!("[[check]]\nname = \"a\"\ncommand = \"true\"\ndirectory = \"{directory}\"\n");
        let notes = notes(&resolved(&check, &quotes()));
        assert_eq!(notes.matches("is not there yet").count(), expected, "{notes}");
    }
}

/// Generates settings of a check in `proctor.toml`: a random selection of the lines below, in their order.
fn settings() -> impl Strategy<Value = String> {
    let lines = [
        "environment = { A = \"x \\\"y\\\" \\u007f\", B = \"\" }",
        "timeout = \"90s\"",
        "idle_timeout = \"8s\"",
        "max_output = \"off\"",
        "grace = 250",
        "paths = [\"src/**\", \"a\"]",
        "writes = [\"coverage/**\", \"a.xml\"]",
        "reuse = \"always\"",
        "after = [\"c\", \"d\"]",
        "retries = 2",
        "on_survivors = \"fail\"",
        "expected_exit_codes = [0, 7]",
        "directory = \"web\"",
    ];
    prop::sample::subsequence(lines.to_vec(), 0..=lines.len())
        .prop_map(|lines| lines.join("\n").replace("grace = 250", "grace = \"250ms\""))
}

proptest! {
    #[test]
    fn what_init_writes_makes_the_same_plan(there in prop::collection::vec(any::<bool>(), PIECES.len())) {
        let files: Vec<_> = PIECES.iter().zip(&there).filter(|(_, there)| **there).map(|(piece, _)| *piece).collect();
        let files = FakeFiles::of(&files);
        if let Ok(mut plan) = plan(&Configuration::default(), &files, "quotes") {
            propose_triggers(&mut plan, &files);
            let again = resolved(&init_text(&plan, &plan.notes, propose_order(&plan)), &files);
            assert_eq!(plan.steps.iter().map(essence).collect::<Vec<_>>(), again.steps.iter().map(essence).collect::<Vec<_>>());
            // What stands in a file is a rule of the project.
            plan.origin = PlanOrigin::Configured;
            assert_eq!(plan_digest(&plan), plan_digest(&again));
        }
    }

    #[test]
    fn init_loses_nothing_of_any_action(settings in settings(), words in prop::collection::vec("[ -~é\u{7f}]{1,8}", 0..4), limit in any::<u32>()) {
        let mut command = vec!["make".to_owned()];
        command.extend(words);
        let command = serde_json::to_string(&command).expect("texts").replace('\u{7f}', "\\u007f");
        let text = format!(
            "[[check]]\nname = \"a\"\ntool = \"generic\"\ncommand = {command}\n{settings}\n[[check]]\nname = \"b\"\nshell = true\ncommand = \"make a | tee 'x y'\"\n{settings}\n\
             [[check]]\nname = \"v\"\ncommand = \"pytest\"\nshards = {}\n\
             [[check]]\nname = \"c\"\ncommand = \"pytest\"\ncoverage = {{ minimum = 85.05, report = \"c.json\" }}\n\
             [[check]]\nname = \"d\"\ncommand = \"eslint .\"\npolicy = {{ max_warnings = {limit}, ignored_rules = [\"x\"], enabled = {} }}\n\
             [[prerequisite]]\nname = \"p\"\ncommand = \"npm ci\"\ncreates = [\"x\"]\n\
             [[prerequisite]]\nname = \"s\"\ncommand = \"serve\"\nservice = true\ngrace = \"9s\"\nready = {{ url = \"http://localhost:1/\", timeout = \"8s\" }}\n\
             [[prerequisite]]\nname = \"t\"\ncommand = \"serve\"\nservice = true\nready = {{ command = [\"is\", \"it\"], interval = 1 }}\n[[cleanup]]\nname = \"q\"\ncommand = \"true\"\n",
            if limit % 3 == 0 { "\"cores\"".to_owned() } else { (limit % 32 + 1).to_string() },
            limit % 2 == 0
        );
        let plan = resolved(&text, &quotes());
        let again = resolved(&init_text(&plan, &[], CheckOrder::Plan), &quotes());
        assert_eq!(plan_digest(&plan), plan_digest(&again), "{}", init_text(&plan, &[], CheckOrder::Plan));
    }
}

#[test]
fn each_action_has_the_network_of_its_own_key_or_that_of_its_phase() {
    let text = "[[check]]\nname = \"a\"\ncommand = [\"make\", \"a\"]\n\
        [[check]]\nname = \"b\"\ncommand = [\"make\", \"b\"]\nnetwork = \"off\"\n\
        [[prerequisite]]\nname = \"deps\"\ncommand = [\"make\", \"deps\"]\n\
        [[prerequisite]]\nname = \"serve\"\ncommand = [\"make\", \"serve\"]\nservice = true\nready = { port = 4173 }\n\
        [[prerequisite]]\nname = \"seed\"\ncommand = [\"make\", \"seed\"]\nnetwork = \"loopback\"\n\
        [[cleanup]]\nname = \"down\"\ncommand = [\"make\", \"down\"]\n";
    let networks = |text: &str| {
        let plan = resolved(text, &FakeFiles::default());
        plan.actions().map(|action| format!("{} {}", action.name, action.network.word())).collect::<Vec<_>>()
    };
    let closed = format!("{text}[sandbox]\nnetwork = \"loopback\"\n");
    assert_eq!(networks(&closed), ["deps open", "serve loopback", "seed loopback", "a loopback", "b off", "down loopback"]);
    assert_eq!(networks(text), ["deps open", "serve open", "seed loopback", "a open", "b off", "down open"]);
    let digest = |text: &str| plan_digest(&resolved(text, &FakeFiles::default()));
    let plain = "[[check]]\nname = \"a\"\ncommand = [\"make\", \"a\"]\n";
    assert_eq!(digest(plain), digest(&format!("{plain}[sandbox]\nnetwork = \"open\"\n")), "the default adds nothing");
    assert_ne!(digest(plain), digest(&format!("{plain}[sandbox]\nnetwork = \"off\"\n")));
    let json = serde_json::to_string(&resolved(plain, &FakeFiles::default())).expect("a plan is JSON");
    assert!(!json.contains("network"), "{json}");
}
