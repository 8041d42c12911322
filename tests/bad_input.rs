//! Tests wrong input: each mistake must give one clear error with its place, its exit code and the next step.

use std::fs;
use std::path::Path;

use crate::common::{Invocation, Project, fake_tool, proctor};

/// Runs `proctor run` in a project with this `proctor.toml`, and returns its output and exit status.
fn refused(toml: &str) -> String {
    Project::new().toml(toml).proctor(["run"]).status(4).snapshot()
}

#[test]
fn an_unknown_key_is_named_with_the_nearest() {
    insta::assert_snapshot!(refused("[watch]\nqiet = \"20ms\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:2:1: watch.qiet: unknown key `qiet`
        did you mean `quiet`?
      hint: `proctor init --print` shows every setting with its default
    ");
}

/// The program of the tests is the default build, which has no client for servers.
#[test]
#[cfg(not(feature = "remote"))]
fn a_server_is_refused_with_the_name_of_the_feature_that_it_needs() {
    insta::assert_snapshot!(refused("[remote]\nendpoint = \"unix:///run/casd.sock\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:2:12: remote.endpoint: this proctor was built without the feature `remote`, so no check runs on a server
        build it with `cargo build --release --features remote`, or remove `[remote]`
      hint: `proctor init --print` shows every setting with its default
    ");
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_an_example() {
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\ncommand = \"true\"\ntimeout = true\n"), @r#"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:4:11: check[1].timeout: expected a duration, found a boolean
        for example `timeout = "<time>"`
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn all_errors_are_named_at_once() {
    let toml = "[watch]\nquiet = \"soon\"\n\n[[check]]\nname = \"a\"\ncommand = \"make test | tail\"\n\n[[check]]\nname = \"a\"\ncommand = []\n\n[polcy]\n";
    insta::assert_snapshot!(refused(toml), @r#"
    exit status: 4
    --- stderr
    error: the configuration has 5 errors
      proctor.toml:2:9: watch.quiet: not a duration: a whole number and one of `ms`, `s`, `m`, `h` is expected
        for example `quiet = "<time>"`
      proctor.toml:6:11: check[1].command: `| tail` cuts the output short and may stop the command before its end
        let the command's own exit status decide; what may fail is said with `policy` or `expected_exit_codes`
      proctor.toml:9:8: check[2].name: `a` is the name of `check[1]` in line 5 already
        give each action a name of its own
      proctor.toml:10:11: check[2].command: the command is empty
        for example `command = ["pytest", "-q"]`
      proctor.toml:12:2: polcy: unknown key `polcy`
        did you mean `policy`?
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn text_that_is_no_toml_is_named_with_its_place() {
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\ncommand = \"true\"\n"), @r#"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:2:10: not valid TOML: invalid basic string, expected `"`
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn a_command_that_hides_its_failure_is_refused() {
    for command in
        ["make test || true", "make test; exit 0", "make test | tail -5", "make test | tee log || :", "make test; true"]
    {
        let toml = format!("[[check]]\nname = \"a\"\nshell = true\ncommand = \"{command}\"\n");
        let output = Project::new().toml(&toml).proctor(["run"]).status(4);
        assert!(output.stderr.contains("check[1].command"), "{command}: {}", output.snapshot());
    }
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\nshell = true\ncommand = \"make test || true\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:4:11: check[1].command: `|| true` replaces the status of the command that failed
        let the command's own exit status decide: write it alone as a list of words, or move the text into a file that is run; what may fail is said with `policy` or `expected_exit_codes`
      hint: `proctor init --print` shows every setting with its default
    ");
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\nshell = true\ncommand = \"make test; exit 0\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:4:11: check[1].command: `; exit 0` ends with the status of the last command, whatever the ones before it did
        join the commands by `&&`, or begin with `set -e` and give each command its own line; what may fail is said with `policy` or `expected_exit_codes`
      hint: `proctor init --print` shows every setting with its default
    ");
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\nshell = true\ncommand = \"make test | tail -5\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:4:11: check[1].command: `| tail` cuts the output short and may stop the command before its end
        let the command's own exit status decide; what may fail is said with `policy` or `expected_exit_codes`
      hint: `proctor init --print` shows every setting with its default
    ");
}

#[test]
fn a_command_that_needs_a_shell_says_so() {
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\ncommand = \"make lint && make test\"\n"), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:3:11: check[1].command: `&&` is a list of commands and needs a shell, but commands run without one
        add `shell = true`, or write the command as a list of words
      hint: `proctor init --print` shows every setting with its default
    ");
}

#[test]
fn a_failure_in_the_middle_of_a_pipe_is_a_failure() {
    let toml = "[[check]]\nname = \"a\"\nshell = true\ncommand = \"false | cat\"\n";
    Project::new().toml(toml).proctor(["run"]).failure();
}

#[test]
fn a_program_that_is_not_there_is_a_result() {
    let toml = "[[check]]\nname = \"a\"\ncommand = [\"no-such-linter\", \"--all\"]\n\n[[check]]\nname = \"b\"\ncommand = [\"./scripts/check\"]\n";
    let project = Project::new().toml(toml).env("PATH", "/usr/bin:/bin");
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ a                    tool not found <time>
           There is no program `no-such-linter` in the 4 directories of the search path; install it or correct the check's command
      ✗ b                    tool not found <time>
           There is no program `./scripts/check` in <project>/scripts; install it or correct the check's command
    FAILED · a and b failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let step = output.report()["stepExecution"]["results"][0].clone();
    assert_eq!((&step["status"], &step["classification"]["code"]), (&"EXECUTION_ERROR".into(), &"TOOL_NOT_FOUND".into()));
}

#[test]
fn an_interpreter_that_is_not_there_is_a_result() {
    let toml = "[[check]]\nname = \"a\"\ncommand = [\"./check\"]\n\n[[check]]\nname = \"b\"\ncommand = [\"./plain\"]\n";
    let project = Project::new().toml(toml).executable("check", "#!/nowhere/bin/python\n").file("plain", "#!/bin/sh\n");
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ a                    tool not found <time>
           `<project>/check` is there, but `/nowhere/bin/python`, which its first line names, is not; install it or, where a virtual environment was moved or removed, create that anew
      ✗ b                    not started <time>
           `./plain` is there and may not be executed; run `chmod +x` on it or start it through its interpreter
    FAILED · a and b failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
}

#[test]
fn a_directory_of_a_check_that_is_not_there_is_a_result() {
    let toml = "[[check]]\nname = \"a\"\ncommand = [\"true\"]\ndirectory = \"web\"\n";
    let output = Project::new().toml(toml).proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ a                    not started <time>
           The check's directory `<project>/web` does not exist; create it or correct `directory`
      note: a: the directory `web` is not there yet
    FAILED · a failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
}

#[test]
fn a_project_s_directory_must_be_there_and_be_one() {
    let project = Project::new().file("file.txt", "");
    insta::assert_snapshot!(project.proctor(["run", "nowhere"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no directory `nowhere`
      hint: name the directory of a project, or leave it out to use the current one
      hint: one check alone: `proctor run --check nowhere`
    ");
    let deeper = project.proctor(["run", "no/where"]).status(2).stderr;
    assert!(!deeper.contains("--check"), "{deeper}");
    insta::assert_snapshot!(project.proctor(["run", "file.txt"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `file.txt` is not a directory
      hint: name the directory of a project, not a file in it
    ");
    insta::assert_snapshot!(project.proctor(["watch", "nowhere"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no directory `nowhere`
      hint: name the directory of a project, or leave it out to use the current one
    ");
    insta::assert_snapshot!(project.proctor(["log", "nowhere"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no directory `nowhere`
      hint: name the directory of a project, or leave it out to use the current one
    ");
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let project = Project::new().file("proctor.toml/x", "");
    insta::assert_snapshot!(project.proctor(["run"]).status(4).snapshot(), @"
    exit status: 4
    --- stderr
    error: `proctor.toml` cannot be read
      caused by: it is a directory, a pipe, a socket or a device, and only a regular file is read
      hint: make `<project>/proctor.toml` a file you may read, or remove it to have the checks discovered
    ");
    let project = Project::new();
    fs::write(project.path().join("proctor.toml"), b"name = \"gr\xf6sse\"\n").unwrap();
    insta::assert_snapshot!(project.proctor(["run"]).status(4).snapshot(), @"
    exit status: 4
    --- stderr
    error: `proctor.toml` is not UTF-8, first in line 1
      hint: save the file in UTF-8
    ");
}

#[test]
fn a_project_without_checks_is_told_how_to_get_some() {
    let project = Project::new().file("notes.txt", "");
    insta::assert_snapshot!(project.proctor(["run"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      hint: write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
      hint: `proctor init --print` shows every setting with its default
    "#);
    insta::assert_snapshot!(project.proctor(["init"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      hint: write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
      hint: `proctor init --print` shows every setting with its default
    "#);
    let typescript = Project::new().file("tsconfig.json", "{}");
    insta::assert_snapshot!(typescript.proctor(["run"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      hint: write what you type to test it into `proctor.toml`: `[[check]]`, below it `name = "tests"` and `command = "…"`
        tsc: `tsconfig.json` is there, but no `node_modules/.bin/tsc` beside or above it: install the project's packages, or TypeScript with `npm install --save-dev typescript`
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn the_first_file_of_two_packages_keeps_saves_of_one_from_starting_the_other() {
    let project = Project::new()
        .file("api/pyproject.toml", "[tool.pytest.ini_options]\n")
        .file("web/eslint.config.js", "")
        .file("web/node_modules/.bin/eslint", "");
    insta::assert_snapshot!(project.proctor(["init"]).success().snapshot(), @"
    exit status: 0
    --- stdout
    wrote proctor.toml: pytest api, eslint web
    next: `proctor run`, or `proctor watch` to run the checks at each save
    ");
    let text = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    let paths: Vec<&str> = text.lines().filter(|line| line.starts_with("name =") || line.starts_with("paths =")).collect();
    insta::assert_snapshot!(paths.join("\n"), @r#"
    name = "project"
    name = "pytest api"
    paths = ["**/*.{py,pyi,pyx,toml,cfg,ini,lock,json,yaml,yml,csv,sql,xml,html,j2}", "**/requirements*.txt", "**/{test,tests,testing,fixtures}/**", "!web/**"]
    name = "eslint web"
    paths = ["**/*.{js,jsx,mjs,cjs,ts,tsx,mts,cts,vue,svelte,astro,json,lock}", "**/{pnpm-lock.yaml,bun.lockb}", "**/eslint.config.*", "**/.eslintrc*", "**/.eslintignore", "!api/**"]
    "#);
}

#[test]
fn django_and_a_notebook_are_told_their_usual_command() {
    let django = Project::new().file("manage.py", "").file("cart/tests.py", "").file("requirements.txt", "django\n");
    insta::assert_snapshot!(django.proctor(["run"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      hint: write into `proctor.toml` which of these shall run, or another command:
        [[check]]  # `manage.py`
        name = "django"
        command = ["python3", "manage.py", "test"]
      hint: `proctor init --print` shows every setting with its default
    "#);
    let notebook = Project::new().file("analysis.ipynb", "{}");
    insta::assert_snapshot!(notebook.proctor(["run"]).status(4).snapshot(), @r#"
    exit status: 4
    --- stderr
    error: the project has no checks, and none were found in its files
      hint: write into `proctor.toml` which of these shall run, or another command:
        [[check]]  # the notebook `analysis.ipynb`
        name = "analysis"
        command = ["jupyter", "execute", "analysis.ipynb"]
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn a_check_that_does_not_exist_is_answered_with_those_that_do() {
    let toml = "[[check]]\nname = \"unit tests\"\ncommand = [\"true\"]\n\n[[check]]\nname = \"lint\"\ncommand = [\"true\"]\n";
    let project = Project::new().toml(toml);
    insta::assert_snapshot!(project.proctor(["run", "--check", "lnt"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no check `lnt`
      hint: the checks are: unit tests, lint
    ");
    assert!(project.store().project_ids().is_empty(), "nothing was registered or run");
}

#[test]
fn a_run_that_does_not_exist_is_answered_with_where_to_look() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    project.proctor(["run"]).success();
    insta::assert_snapshot!(project.proctor(["show", "99"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no finished run `99`
      hint: `proctor log` lists the runs, `proctor run` makes one
    ");
    insta::assert_snapshot!(project.proctor(["show", "../../etc"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no finished run `../../etc`
      hint: `proctor log` lists the runs, `proctor run` makes one
    ");
}

#[test]
fn a_mistake_names_its_place_and_the_next_step() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    let whole = project.proctor(["run", "/"]).status(2).stderr;
    assert_eq!(
        whole,
        "error: `/` is the whole file system, and no project\n  hint: go to the directory of a project, or name it\n"
    );
    fs::write(project.shared("file"), "").expect("the root is ours");
    let blocked = project.proctor(["run"]).env("XDG_STATE_HOME", project.shared("file")).status(2).stderr;
    assert!(blocked.contains("a file lies where a directory belongs: move it, or point XDG_STATE_HOME to"), "{blocked}");
    fs::write(project.path().join("proctor.toml"), b"[[check]]\nname = \"a\xff\"\n").expect("the project is ours");
    let text = project.proctor(["run"]).status(4).stderr;
    assert!(text.starts_with("error: `proctor.toml` is not UTF-8, first in line 2\n"), "{text}");
}

#[test]
fn a_project_nothing_was_run_in_is_not_registered() {
    let project = Project::new();
    insta::assert_snapshot!(project.proctor(["log"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `<project>` is not registered: nothing was run there
      hint: `proctor run` registers a project and makes its first run
    ");
    insta::assert_snapshot!(project.proctor(["show"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `<project>` is not registered: nothing was run there
      hint: `proctor run` registers a project and makes its first run
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "show"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `<project>` is not registered: nothing was run there
      hint: `proctor run` registers a project and makes its first run
    ");
}

#[test]
fn of_a_project_without_a_run_nothing_was_removed() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    project.proctor(["service", "add"]).success();
    for words in [&["status", "."][..], &["log"], &["wait", "--fresh"]] {
        let said = project.proctor(words).any_status().stderr;
        assert!(!said.contains("was removed"), "{words:?}: {said}");
    }
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_store_that_was_removed_is_named_by_the_link_that_leads_there() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    project.proctor(["run"]).success();
    std::fs::remove_dir_all(project.root().join("state")).expect("it is ours");
    for words in [&["log"][..], &["show"], &["verify"]] {
        let said = project.proctor(words).status(6).stderr;
        assert!(
            said.contains("was removed: `evidence` leads to `") && said.contains("put a copy of the store back"),
            "{words:?}: {said}"
        );
    }
    for words in [&["status", "."][..], &["wait", "--fresh"]] {
        assert!(project.proctor(words).any_status().stderr.contains("was removed: `evidence` leads to `"), "{words:?}");
    }
    project.proctor(["run"]).success();
    assert_eq!(project.proctor(["status", "."]).success().stderr, "", "it began anew");
}

#[test]
fn options_and_commands_that_do_not_exist_are_named() {
    let project = Project::new();
    insta::assert_snapshot!(project.proctor(["run", "--chek", "a"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: unexpected argument '--chek' found

      tip: a similar argument exists: '--check'

    Usage: proctor run --check <NAME> [DIR]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.proctor(["rnu"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no command `proctor rnu`: did you mean `proctor run`?

    Usage: proctor <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.proctor(["run", "--phase", "BLUE"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: invalid value 'BLUE' for '--phase <PHASE>'
      [possible values: RED, GREEN, REFACTOR]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.proctor(["run", "--identity", "other"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: invalid value 'other' for '--identity <WHICH>'
      [possible values: same, new]

    For more information, try '--help'.
    ");
}

#[test]
fn a_task_id_that_is_none_is_named_with_the_rule() {
    insta::assert_snapshot!(Project::new().proctor(["tdd", "show", "../../etc"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `../../etc` is not a task id: 1 to 64 letters, digits, `_`, `-` or `.`, the first of them a letter or digit
      hint: the task of a project's own checks is `default`
    ");
}

#[test]
fn a_pattern_that_is_none_is_named() {
    let check = "[[check]]\nname = \"a\"\ncommand = [\"true\"]\n";
    insta::assert_snapshot!(refused(&format!("{check}[watch]\nignore = [\"*.log\", \"build\\\\\"]\n")), @r#"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:5:20: watch.ignore[2]: not a pattern as .gitignore has them: error parsing glob 'build\': dangling '\'
        for example `ignore = ["*.log"]`
      hint: `proctor init --print` shows every setting with its default
    "#);
    insta::assert_snapshot!(refused(&format!("{check}[watch]\ninclude = [\"a[\"]\n")), @"
    exit status: 4
    --- stderr
    error: the configuration is wrong: pattern `a[` of `watch.include`, line 1: error parsing glob 'a[': unclosed character class; missing ']'
      hint: patterns are written as in .gitignore
    ");
}

#[test]
fn a_link_that_is_no_name_is_named() {
    insta::assert_snapshot!(refused("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n[evidence]\nlink = \".git\"\n"), @r#"
    exit status: 4
    --- stderr
    error: the configuration is wrong
      proctor.toml:5:8: evidence.link: the link is one visible name in the project's root
        for example `link = "evidence"`
      hint: `proctor init --print` shows every setting with its default
    "#);
}

#[test]
fn a_file_of_variables_must_be_there_and_hold_some() {
    let toml = "[[check]]\nname = \"a\"\ncommand = [\"true\"]\n[environment]\nenv_file = \"checks.env\"\n";
    insta::assert_snapshot!(refused(toml), @"
    exit status: 4
    --- stderr
    error: `env_file` names `checks.env`, which cannot be read
      caused by: No such file or directory (os error 2)
      hint: create the file, or take `env_file` out of `[environment]` in proctor.toml
    ");
    let project = Project::new().toml(toml).file("checks.env", "A=1\nB\n");
    insta::assert_snapshot!(project.proctor(["run"]).status(4).snapshot(), @"
    exit status: 4
    --- stderr
    error: checks.env:2: the line has no `=`
      hint: write one `NAME=value` on each line; lines that begin with # are comments
    ");
}

#[test]
fn there_must_be_a_place_for_the_store() {
    let project =
        Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n").env("HOME", "").env("XDG_STATE_HOME", "");
    insta::assert_snapshot!(project.proctor(["run"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: there is no place for the evidence store
      hint: set HOME, or XDG_STATE_HOME to an absolute path
    ");
    let relative = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n").env("XDG_STATE_HOME", "state");
    relative.proctor(["run"]).success();
    assert!(relative.root().join("home/.local/state/proctor").is_dir(), "a relative XDG_STATE_HOME counts as none");
}

/// Returns the invocation of `proctor run` by a shell that limits the size of files to this many kilobytes.
fn run_with_small_files(project: &Project, kilobytes: u32) -> Invocation<'_> {
    let program = proctor().to_str().expect("the path is text");
    project.command(Path::new("/bin/bash"), ["-c", &format!("ulimit -f {kilobytes}; exec '{program}' run </dev/null")])
}

#[test]
fn a_limit_on_file_sizes_is_an_error_with_a_hint_and_checks_still_end_by_its_signal() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = \"dd if=/dev/zero of=big bs=1k count=3000\"\n");
    let output = run_with_small_files(&project, 1).status(70);
    assert!(output.stderr.contains("state.db") && output.stderr.contains("`ulimit -f` limits files"), "{}", output.snapshot());
    // The limit of the checks stays as it is, and so does the signal.
    let output = run_with_small_files(&project, 1500).status(1);
    assert!(output.stdout.contains("SIGXFSZ"), "{}", output.snapshot());
}

#[test]
fn every_command_takes_the_project_as_an_option_and_those_that_took_an_argument_take_both() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = \"true\"\n");
    let commands: [&[&str]; 8] = [
        &["run"],
        &["log"],
        &["status"],
        &["doctor"],
        &["generate", "tree"],
        &["plan"],
        &["prune", "--dry-run"],
        &["approve", "--print"],
    ];
    for words in commands {
        let run = |place: &[&str]| project.proctor(words).arguments(place).directory("..").any_status();
        let (by_option, by_argument) = (run(&["--project", "project"]), run(&["project"]));
        assert_eq!(by_option.status, by_argument.status, "{words:?}: {}", by_option.snapshot());
        assert!(!by_option.stderr.contains("unexpected argument"), "{words:?}: {}", by_option.snapshot());
        let both = run(&["--project", "project", "project"]);
        assert!(both.stderr.contains("cannot be used with"), "{words:?}: {}", both.snapshot());
    }
    for words in [&["show"][..], &["verify"], &["why", "project/proctor.toml"]] {
        project.proctor(words).arguments(["--project", "project"]).directory("..").success();
    }
}
