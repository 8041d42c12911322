//! Tests the notes about what a failed check looked for and could not see.

#![expect(clippy::disallowed_methods, reason = "the tests make what is looked for")]

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use proctor_model::Place;
use tempfile::TempDir;

use super::*;

/// A project `repo/app`, with everything around it hidden but `repo/seen`.
struct Around {
    base: PathBuf,
    root: PathBuf,
    home: PathBuf,
    /// The directory of `PATH`.
    path: PathBuf,
    inputs: Vec<String>,
    sandbox: Sandbox,
    _directory: TempDir,
}

impl Around {
    fn new(files: &[&str]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let base = directory.path().canonicalize().expect("it is there");
        for file in ["repo/app/a.py", "repo/seen/x.py", "home/.gitconfig"].iter().chain(files) {
            let path = base.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a writable directory");
            fs::write(path, "").expect("a writable file");
        }
        let place = |name: &str, access| Place { path: base.join(name), access, identity: (0, 0) };
        let places = vec![place("", Access::Hidden), place("repo/app", Access::Writable), place("repo/seen", Access::ReadOnly)];
        let sandbox =
            Sandbox { places, store: base.join("store"), hidden: Vec::new(), second_paths: Vec::new(), ..Sandbox::default() };
        let (root, home) = (base.join("repo/app"), base.join("home"));
        let path = home.join(".cargo/bin");
        Self { base, root, home, path, inputs: vec!["../base.json".to_owned()], sandbox, _directory: directory }
    }

    fn view<'a>(&'a self, left_out: &'a [LeftOut]) -> ActionView<'a> {
        ActionView {
            search: InputSearch { root: &self.root, home: Some(&self.home), store: &self.sandbox.store },
            directory: &self.root,
            sandbox: &self.sandbox,
            inputs: &self.inputs,
            sockets: &[],
            left_out,
            unwritable: Vec::new(),
            search_path: self.path.as_os_str(),
        }
    }

    fn advice(&self, output: &str, left_out: &[LeftOut]) -> Vec<String> {
        hidden_inputs(&output.replace("BASE", &self.base.display().to_string()), &self.view(left_out))
    }
}

fn left(name: &str, reason: LeftOutReason) -> LeftOut {
    LeftOut { name: name.to_owned(), by: ".venv".to_owned(), reason }
}

#[test]
fn what_was_looked_for_beside_the_project_is_named_with_the_line_to_write() {
    let around = Around::new(&[
        "home/.config/tool/x.toml",
        "repo/shared/deep/conv.py",
        "repo/rates.py",
        "repo/lib/src/wildlib/__init__.py",
        "repo/lib/typed.pyi",
        "repo/web/x.ts",
        "repo/app/src/a.test.js",
    ]);
    symlink(around.base.join("repo/shared"), around.root.join("linked")).expect("a link");
    for (output, expected) in [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'BASE/repo/shared/deep/conv.py'", Some("../shared")),
        ("Error: ENOENT: no such file or directory, open '../shared/deep/conv.py'", Some("../shared")),
        ("error TS5083: Cannot read file 'BASE/repo/rates.py'.", Some("../rates.py")),
        ("E   ModuleNotFoundError: No module named 'rates'", Some("../rates.py")),
        ("E   ModuleNotFoundError: No module named 'wildlib.deep'", Some("../lib")),
        ("warning: unable to access '~/.gitconfig': Permission denied", Some("~/.gitconfig")),
        ("cannot read 'BASE/home/.config/tool/x.toml'", Some("~/.config/tool/x.toml")),
        ("couldn't read `src/../../rates.py`: No such file or directory (os error 2)", Some("../rates.py")),
        ("No such file or directory: 'linked/deep/conv.py'", Some("../shared")),
        ("src/a.test.js(1,19): error TS2307: Cannot find module '../../web/x' or its types.", Some("../web")),
        ("Cannot find module '../../web/x'\nRequire stack:\n- BASE/repo/app/src/a.test.js", Some("../web")),
        ("Failed to resolve import \"../../web/x.ts\" from \"src/a.test.js:3:1\"", Some("../web")),
        ("Cannot find module '../../web/x'\n\n\n\n- BASE/repo/app/src/a.test.js", None),
        ("a.py:1: error: Cannot find implementation or library stub for module named \"typed\"", Some("../lib")),
        ("FileNotFoundError: No such file or directory: 'BASE/repo/seen/y.py'", None),
        ("cannot open 'BASE/repo/seen/x.py'", None),
        ("cannot open 'BASE/repo/app/a.py'", None),
        ("E   ModuleNotFoundError: No module named 'requests'", None),
        ("it is all about ../shared/deep/conv.py", None),
    ] {
        let expected: Vec<String> = expected
            .map(|name| format!("`{name}` is not part of this project, so its checks do not see it: put `inputs = [\"../base.json\", \"{name}\"]` in `[project]`"))
            .into_iter()
            .collect();
        assert_eq!(around.advice(output, &[]), expected, "{output}");
    }
}

#[test]
fn the_store_and_what_holds_the_project_are_never_proposed() {
    let around = Around::new(&["store/ledger"]);
    for output in ["No such file or directory: 'BASE/store/ledger'", "No such file or directory: 'BASE/repo'", "cannot open '/'"]
    {
        assert_eq!(around.advice(output, &[]), [] as [&str; 0], "{output}");
    }
}

#[test]
fn an_environment_of_another_checkout_is_named_with_the_command() {
    let around = Around::new(&["repo/app/uv.lock"]);
    let left_out = [left("../../main/src", LeftOutReason::OtherCheckout)];
    let advice = around.advice("ModuleNotFoundError: No module named 'calc'", &left_out);
    let expected = "`.venv` leads to `../../main/src`, another checkout, whose code checks do not see: install in this one with `uv sync --frozen`";
    assert_eq!(advice, [expected]);
    assert_eq!(around.advice("AssertionError: 1 != 2", &left_out), [] as [&str; 0]);
}

#[test]
fn a_package_that_is_installed_above_is_named_with_the_command() {
    let around = Around::new(&["repo/node_modules/@acme/core/i.js", "repo/app/package-lock.json"]);
    let expected = "`@acme/core` lies in `../node_modules`, not of this checkout: install in this one with `npm ci`";
    assert_eq!(around.advice("Error: Cannot find module '@acme/core/deep'", &[]), [expected]);
    assert_eq!(around.advice("Error: Cannot find module '@acme/other'", &[]), [] as [&str; 0]);
}

#[test]
fn another_checkout_is_never_proposed_as_an_input() {
    let around = Around::new(&["repo/.git/HEAD", "repo/other/calc.py"]);
    let write = |name: &str, text: String| {
        fs::create_dir_all(around.base.join(name).parent().expect("a parent")).expect("a writable directory");
        fs::write(around.base.join(name), text).expect("a writable file");
    };
    let outputs = ["ModuleNotFoundError: No module named 'calc'", "No such file or directory: 'BASE/repo/other/calc.py'"];
    for output in outputs {
        assert_eq!(around.advice(output, &[]).len(), 1, "it is a directory like any other");
    }
    write("repo/.git/worktrees/other/commondir", "../..\n".to_owned());
    write("repo/other/.git", format!("gitdir: {}/repo/.git/worktrees/other\n", around.base.display()));
    let expected = "`calc` lies in `../other`, not of this checkout: install in this one with \
                    `python3 -m venv .venv && .venv/bin/pip install -e .`";
    assert_eq!(around.advice(outputs[0], &[]), [expected]);
    assert_eq!(around.advice(outputs[1], &[]), [] as [&str; 0]);
}

#[test]
fn a_program_of_a_toolchain_that_nothing_selects_is_named() {
    let around = Around::new(&["home/.cargo/bin/cargo"]);
    let advice = around.advice("sh: 1: cargo: not found", &[]);
    let expected = format!(
        "`cargo` lies in `{}`, a toolchain that nothing in this project selects",
        around.base.join("home/.cargo/bin").display()
    );
    assert!(advice.len() == 1 && advice[0].starts_with(&expected), "{advice:?}");
    assert_eq!(around.advice("sh: 1: rustc: not found", &[]), [] as [&str; 0]);
}

#[test]
fn a_hidden_socket_is_named() {
    let around = Around::new(&[]);
    let path = around.base.join("docker.sock");
    let _listener = UnixListener::bind(&path).expect("a short path");
    let advice =
        around.advice("Cannot connect to the Docker daemon at unix://BASE/docker.sock. Is the docker daemon running?", &[]);
    let path = path.display();
    assert_eq!(
        advice,
        [format!("the socket `{path}` is hidden: if the command needs it, put `sockets = [\"{path}\"]` in `[sandbox]`")]
    );
    assert_eq!(around.advice("connect ENOENT BASE/none.sock", &[]), [] as [&str; 0]);
}

#[test]
fn a_note_that_proposes_more_has_said_what_another_one_proposes() {
    let note = |inputs: &str| format!("x: put `inputs = {inputs}` in `[project]`");
    for (one, other, is_said) in [
        (r#"["../lib"]"#, r#"["../lib"]"#, true),
        (r#"["a", "../lib"]"#, r#"["../lib/src"]"#, true),
        (r#"["../lib/src"]"#, r#"["../lib"]"#, false),
        (r#"["../lib"]"#, r#"["../library"]"#, false),
    ] {
        assert_eq!(proposes_inputs_of(&note(one), &note(other)), is_said, "{one} {other}");
    }
    assert!(!proposes_inputs_of(&note(r#"["../lib"]"#), "a note about something else"));
}

#[test]
fn what_could_not_be_written_to_is_no_input() {
    let around = Around::new(&["home/.cache/tool/x"]);
    let output = "FileNotFoundError: [Errno 2] No such file or directory: 'BASE/home/.cache/tool/x'";
    assert_eq!(around.advice(output, &[]).len(), 1);
    let place = around.base.join("home/.cache/tool").display().to_string();
    let view = ActionView { unwritable: vec![&place], ..around.view(&[]) };
    assert_eq!(hidden_inputs(&output.replace("BASE", &around.base.display().to_string()), &view), [""; 0]);
}
