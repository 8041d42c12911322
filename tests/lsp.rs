//! Tests `proctor lsp` with messages by hand, and with a real Neovim; and the schema of `proctor.toml` with a real reader of TOML schemas.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Project, Watch, python_plain, repository, taplo_modules};
use crate::docs::{blocks, pages};

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);
const SHOP: &str = "def total(prices):\n    return sum(prices) + 1\n";
const TEST: &str = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2, 3]) == 6\n";
/// Where Debian's package puts Neovim.
const NEOVIM: &str = "/usr/bin/nvim";

fn shop() -> Project {
    let check = format!("[[check]]\nname = \"unit\"\ncommand = \"{} -m pytest -p no:cacheprovider\"\n", python_plain().display());
    Project::new().toml(&check).file("shop.py", SHOP).file("test_shop.py", TEST)
}

fn serve(project: &Project) -> Watch<'_> {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    daemon
}

/// Has the server answer a row of messages, and returns all that it sent. Between two messages the client waits for what it asks for.
#[track_caller]
fn talk(project: &Project, steps: &Value) -> Vec<Value> {
    let script: PathBuf = repository().join("tests/lsp/client.py");
    let words = [script.to_str().expect("a text"), crate::common::proctor().to_str().expect("a text"), &steps.to_string()];
    let said = project.command(Path::new("python3"), words).bound(LATE * 2).success().json();
    said.as_array().expect("a list").clone()
}

fn address(project: &Project, file: &str) -> String {
    format!("file://{}/{file}", project.path().display())
}

#[test]
fn an_editor_is_told_what_failed_and_where_it_is_now() {
    let project = shop();
    project.proctor(["run"]).status(1);
    let uri = address(&project, "test_shop.py");
    let opened = json!({"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": TEST}});
    let moved = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": format!("# one\n{TEST}")}]});
    let said = talk(
        &project,
        &json!([
            ["request", "textDocument/codeLens", {}],
            ["request", "initialize", {"rootUri": address(&project, ""), "capabilities": {}}],
            ["notify", "initialized", {}],
            ["wait", "textDocument/publishDiagnostics"],
            ["notify", "textDocument/didOpen", opened],
            ["wait", "textDocument/publishDiagnostics"],
            ["notify", "textDocument/didChange", moved],
            ["wait", "textDocument/publishDiagnostics"],
            ["request", "textDocument/codeLens", {"textDocument": {"uri": uri}}],
            ["request", "workspace/executeCommand", {"command": "proctor.showLog", "arguments": ["STEP.1"]}],
            ["request", "workspace/executeCommand", {"command": "proctor.run"}],
            ["request", "workspace/executeCommand", {"command": "rm"}],
            ["request", "textDocument/hover", {}],
        ]),
    );
    let marks: Vec<&Value> = said.iter().filter(|one| one["method"] == "textDocument/publishDiagnostics").collect();
    let places: Vec<_> = marks.iter().map(|one| one["params"]["diagnostics"][0]["range"]["start"]["line"].as_u64()).collect();
    assert_eq!(places, [Some(4), Some(4), Some(5)], "{marks:?}");
    assert!(marks.iter().all(|one| one["params"]["uri"] == uri && one["params"]["diagnostics"][0]["severity"] == 1));
    let answers: Vec<&Value> = said.iter().filter(|one| one["method"].is_null()).collect();
    assert_eq!(answers[0]["error"]["code"], -32002, "before `initialize`");
    let titles: Vec<_> = answers[2]["result"].as_array().expect("lenses").iter().map(|lens| &lens["command"]["title"]).collect();
    assert!(titles[0].as_str().is_some_and(|title| title.starts_with("failed ")), "{titles:?}");
    assert_eq!(titles.get(1), Some(&&json!("run alone")), "{titles:?}");
    assert_eq!(answers.iter().filter_map(|one| one["error"]["code"].as_i64()).skip(1).collect::<Vec<_>>(), [-32602, -32601]);
    let is_command = |text: &str| text.starts_with("proctor show ") && text.ends_with(" --log STEP.1");
    assert!(said.iter().any(|one| one["params"]["message"].as_str().is_some_and(is_command)), "{said:?}");
    assert_eq!(project.store().committed_runs().len(), 1, "the server runs nothing itself");
    let shows = json!({"rootUri": address(&project, ""), "capabilities": {"window": {"showDocument": {"support": true}}}});
    let said = talk(
        &project,
        &json!([
            ["request", "initialize", shows],
            ["notify", "initialized", {}],
            ["wait", "textDocument/publishDiagnostics"],
            ["request", "workspace/executeCommand", {"command": "proctor.showLog", "arguments": ["STEP.1"]}],
        ]),
    );
    let shown = said.iter().find(|one| one["method"] == "window/showDocument").expect("the log is shown");
    let log = shown["params"]["uri"].as_str().and_then(|uri| uri.strip_prefix("file://")).expect("an address");
    assert!(fs::read_to_string(log).expect("the log is there").contains("assert 7 == 6"), "{log}");
}

#[test]
fn a_run_is_told_as_lines_that_editors_read() {
    let project = shop();
    let said = project.proctor(["run", "--format", "errorformat"]).status(1);
    assert_eq!(said.stdout, "test_shop.py:5:1: error: test_shop.py::test_total: assert 7 == 6\n");
    let below = project.file("docs/a.md", "");
    let said = below.proctor(["run", "..", "--format", "errorformat"]).directory("docs").status(1);
    let place = below.path().join("test_shop.py").display().to_string();
    assert_eq!(said.stdout, format!("{place}:5:1: error: test_shop.py::test_total: assert 7 == 6\n"));
}

#[test]
#[ignore = "wide tier"]
fn neovim_shows_failures_where_they_are_until_they_are_mended() {
    assert!(Path::new(NEOVIM).exists(), "install Debian's package neovim, in which the language server is tried");
    let project = shop();
    let _daemon = serve(&project);
    project.proctor(["run"]).status(1);
    let script = format!("luafile {}", repository().join("tests/lsp/editor.lua").display());
    let words = ["--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", &script];
    let said =
        project.command(Path::new(NEOVIM), words).env("LSP_PROCTOR", crate::common::proctor()).bound(LATE * 3).any_status();
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
}

#[test]
#[ignore = "wide tier"]
fn taplo_reads_the_schema_of_the_settings() {
    let project = Project::new();
    let schema = project.proctor(["generate", "schema", "configuration"]).success().stdout;
    project.save(".proctor-schema.json", &schema);
    let directive = "#:schema ./.proctor-schema.json\n";
    let lint = |text: &str| {
        project.save("proctor.toml", &format!("{directive}{text}"));
        let program = taplo_modules().join(".bin/taplo");
        project.command(&program, ["lint", "proctor.toml"]).bound(LATE).any_status()
    };
    let right = "[[check]]\nname = \"unit\"\ncommand = [\"make\", \"check\"]\ntimeout = 90\n[sandbox]\nnetwork = \"loopback\"\n";
    let said = lint(right);
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
    // The bundled project's file, one that `init` writes, the one with every setting, and every example of the pages.
    let bundled = fs::read_to_string(repository().join("fixtures/projects/quotes/proctor.toml")).expect("it is there");
    let new = Project::new().file("uv.lock", "name = \"pytest\"\n").file("tests/test_a.py", "");
    new.proctor(["init"]).success();
    let written = fs::read_to_string(new.path().join("proctor.toml")).expect("init wrote it");
    let every = project.proctor(["init", "--print"]).success().stdout;
    let examples = pages().into_iter().flat_map(|page| blocks(&page.text));
    // Others are of `config.toml`, the user's own file.
    let of_projects =
        examples.filter(|block| block.language == "toml" && !block.text.contains("[[allow]]")).map(|block| block.text);
    for text in of_projects.chain([bundled, written, every]) {
        let said = lint(&text);
        assert_eq!(said.status, 0, "{text}{}{}", said.stdout, said.stderr);
    }
    for wrong in ["[watch]\nquiet = true\n", "[sandbox]\nnetwork = \"openn\"\n", "[[check]]\nname = \"a\"\ntimout = 3\n"] {
        let said = lint(wrong);
        assert_eq!(said.status, 1, "{wrong}{}{}", said.stdout, said.stderr);
    }
}
