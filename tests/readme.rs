//! What the README and `--help` say is so: their commands are run, their texts compared.
//!
//! A comment before a fenced block of the README says what the block is:
//!
//! | comment | the block |
//! |---|---|
//! | `<!-- run: NAME -->`, `<!-- run: NAME exit 1 -->` | `sh` commands, run in order of appearance in one copy of the bundled project `quotes` |
//! | `<!-- output: NAME -->` | what the run of that name prints on stdout, but for what differs from run to run |
//! | `<!-- watch: NAME -->` | one `sh` command that goes on; it must come to a verdict, and end when it is interrupted |
//! | `<!-- script: NAME -->` | a script that a test of that name's module takes from here and runs |
//! | `<!-- curl -->` | `sh` commands that ask a service that runs; `daemon::protocol` runs them |
//! | `<!-- test -->` | how the test suite is run; `.ci/run` runs it |
//!
//! Every `proctor` command of every `sh` block, marked or not, must be one that `--help` knows, with options it knows. The helps
//! are `tests/help/*.txt`, written anew by `PROCTOR_UPDATE_HELP=1 cargo test --test integration readme`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Project, proctor, redact, repository};

/// The run that must be there: the main job, from nothing to a verdict.
const MAIN_JOB: &str = "main job";

/// How long a block may take: the bundled project's prerequisites install Python and Node packages.
const INSTALLING_BOUND: Duration = Duration::from_secs(600);

/// Returns the script of this name, for the test that runs it.
pub(crate) fn script(name: &str) -> String {
    let mark = Some(format!("script: {name}"));
    let block = blocks(&readme()).into_iter().find(|block| block.mark == mark);
    block.unwrap_or_else(|| panic!("the README has no block marked `<!-- script: {name} -->`")).text
}

/// A fenced block, with the comment right before it.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    mark: Option<String>,
    language: String,
    text: String,
}

#[test]
fn what_the_readme_runs_runs() {
    let blocks = blocks(&readme());
    let names: Vec<&str> = blocks.iter().filter_map(|block| run_of(block)).map(|(name, _)| name).collect();
    assert!(names.contains(&MAIN_JOB), "the README needs a block marked `<!-- run: {MAIN_JOB} -->`; it has {names:?}");
    let project = Project::bundled("quotes").with_program(proctor()).with_package_index();
    for block in &blocks {
        if let Some((name, status)) = run_of(block) {
            assert_eq!(block.language, "sh", "block `{name}`");
            let output = project
                .command(Path::new("/bin/sh"), ["-euc", &as_installed(&block.text)])
                .bound(INSTALLING_BOUND)
                .status(status);
            if let Some(expected) = blocks.iter().find(|other| other.mark == Some(format!("output: {name}"))) {
                let redactions = project.redactions();
                assert_eq!(redact(&output.stdout, &redactions), redact(&expected.text, &redactions), "output of block `{name}`");
            }
        } else if block.mark.as_deref().is_some_and(|mark| mark.starts_with("watch: ")) {
            let command = format!("exec {}", as_installed(&block.text));
            let mut watch = project.command(Path::new("/bin/sh"), ["-euc", &command]).watch();
            watch.wait_for_verdict();
            let output = watch.interrupt();
            assert!([0, 130].contains(&output.status), "{}", output.snapshot());
        }
    }
}

/// The same commands with the program that was built for the tests, in the copy of the bundled project: a test must neither build
/// a release nor touch the repository's own tree.
fn as_installed(commands: &str) -> String {
    commands.replace("cargo run --release --locked -- ", "proctor ").replace("fixtures/projects/quotes", ".")
}

#[test]
fn every_mark_of_the_readme_is_understood() {
    let blocks = blocks(&readme());
    let runs: BTreeSet<&str> = blocks.iter().filter_map(|block| run_of(block)).map(|(name, _)| name).collect();
    for mark in blocks.iter().filter_map(|block| block.mark.as_deref()) {
        let known = match mark.split_once(": ") {
            Some(("run", _)) => true,
            Some(("watch" | "script", name)) => !name.is_empty(),
            Some(("output", name)) => runs.contains(name),
            Some(_) | None => mark == "test" || mark == "curl",
        };
        assert!(known, "`<!-- {mark} -->` is no mark, or belongs to no run");
    }
    assert!(blocks.iter().any(|block| block.mark.as_deref() == Some("test")), "no block is marked `<!-- test -->`");
}

#[test]
fn commands_of_the_readme_exist() {
    let readme = readme();
    let helps = helps();
    let unknown: Vec<String> = commands(&blocks(&readme)).iter().filter_map(|command| unknown_part(command, &helps)).collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    for name in helps.iter().filter_map(|(path, _)| path.first()) {
        assert!(readme.contains(&format!("proctor {name}")), "the README does not speak of `proctor {name}`");
    }
}

#[test]
fn exit_codes_of_the_readme_are_the_programs() {
    let readme = readme();
    let first_cells = readme.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let numbers =
        first_cells.flat_map(|cell| cell.split([',', '/']).map(|number| number.trim().trim_matches(['*', '`']).parse::<u8>()));
    let listed: BTreeSet<u8> = numbers.flatten().collect();
    assert_eq!(
        listed,
        BTreeSet::from([0, 1, 2, 3, 4, 5, 6, 70, 130, 143]),
        "rows of the README's tables that begin with a number"
    );
}

#[test]
fn helps_are_what_they_were() {
    let directory = repository().join("tests/help");
    let helps = helps();
    let golden = |path: &[String]| {
        directory.join(if path.is_empty() { "proctor.txt".to_owned() } else { format!("{}.txt", path.join("-")) })
    };
    if env::var_os("PROCTOR_UPDATE_HELP").is_some() {
        fs::create_dir_all(&directory).expect("the source tree is writable");
        for (path, help) in &helps {
            fs::write(golden(path), help).expect("the source tree is writable");
        }
    }
    for (path, help) in &helps {
        let file = golden(path);
        let expected = fs::read_to_string(&file).unwrap_or_else(|error| panic!("could not read `{}`: {error}", file.display()));
        assert_eq!(help, &expected, "`proctor {} --help` and `{}` differ", path.join(" "), file.display());
    }
    let known: BTreeSet<PathBuf> = helps.iter().map(|(path, _)| golden(path)).collect();
    let files = fs::read_dir(&directory).expect("the helps are part of the repository").flatten().map(|entry| entry.path());
    let stale: Vec<PathBuf> = files.filter(|file| !known.contains(file)).collect();
    assert!(stale.is_empty(), "no command has these helps: {stale:?}");
}

#[test]
fn the_launcher_is_hidden() {
    let (_, help) = helps().remove(0);
    assert!(!help.contains("__launcher"), "{help}");
}

#[test]
fn blocks_and_their_marks_are_read() {
    let text = "# A\n\n<!-- run: main job exit 1 -->\n```sh\na\nb\n```\n\n<!-- a remark -->\nText.\n```text\nc\n```\n\n1. x\n\n   ```sh\n   d\n   ```\n";
    let block = |mark: Option<&str>, language: &str, text: &str| Block {
        mark: mark.map(str::to_owned),
        language: language.to_owned(),
        text: text.to_owned(),
    };
    let found = blocks(text);
    assert_eq!(
        found,
        [block(Some("run: main job exit 1"), "sh", "a\nb\n"), block(None, "text", "c\n"), block(None, "sh", "d\n")]
    );
    assert_eq!(run_of(&found[0]), Some(("main job", 1)));
    assert_eq!(run_of(&block(Some("run: x"), "sh", "")), Some(("x", 0)));
    assert_eq!(run_of(&found[1]), None);
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let help = |path: &[&str], text: &str| (path.iter().map(|name| (*name).to_owned()).collect(), text.to_owned());
    let helps = [
        help(&[], "Options:\n  -V, --version  Print"),
        help(&["run"], "  -c, --check <NAME>  x"),
        help(&["tdd"], ""),
        help(&["tdd", "start"], ""),
    ];
    let blocks = blocks("```sh\n$ proctor run . --check a # why\nproctor tdd start T && proctor --version\necho proctor\n```\n");
    let found = commands(&blocks);
    assert_eq!(found, [vec!["run", ".", "--check", "a"], vec!["tdd", "start", "T"], vec!["--version"]]);
    assert!(found.iter().all(|command| unknown_part(command, &helps).is_none()));
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for wrong in ["walk", "run --chec a", "tdd begin", "run -x", "--verbose"] {
        assert!(unknown_part(&words(wrong), &helps).is_some(), "{wrong}");
    }
    assert!(unknown_part(&words("run -c a -- --anything"), &helps).is_none());
    assert_eq!(subcommands("Usage: x\n\nCommands:\n  run    Runs\n  help   Print this\n\nOptions:\n  -h\n"), ["run"]);
}

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).expect("the repository has a README.md")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            let text = inside.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
            blocks.push(Block { mark: mark.take(), language: language.to_owned(), text });
        } else if let Some(comment) = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            mark = Some(comment.trim().to_owned());
        } else if !line.is_empty() {
            mark = None;
        }
    }
    blocks
}

/// Returns the name and the expected exit status of a block that is to be run.
fn run_of(block: &Block) -> Option<(&str, i32)> {
    let rest = block.mark.as_deref()?.strip_prefix("run: ")?;
    match rest.rsplit_once(" exit ") {
        Some((name, status)) => Some((name, status.parse().unwrap_or_else(|error| panic!("`{rest}`: {error}")))),
        None => Some((rest, 0)),
    }
}

/// Returns the words after `proctor` of every command of the `sh` blocks.
fn commands(blocks: &[Block]) -> Vec<Vec<String>> {
    let lines = blocks.iter().filter(|block| block.language == "sh").flat_map(|block| block.text.lines());
    let parts = lines.flat_map(|line| line.split(" #").next().unwrap_or_default().split(['|', '&', ';']));
    let words = parts.map(|part| part.split_whitespace().skip_while(|word| *word == "$").map(str::to_owned).collect::<Vec<_>>());
    words.filter(|words| words.first().is_some_and(|word| word == "proctor")).map(|words| words[1..].to_vec()).collect()
}

/// Says which part of a command no help knows.
fn unknown_part(command: &[String], helps: &[(Vec<String>, String)]) -> Option<String> {
    let fits = |path: &Vec<String>| command.starts_with(path);
    let (path, help) = helps.iter().filter(|(path, _)| fits(path)).max_by_key(|(path, _)| path.len())?;
    let rest = &command[path.len()..];
    let has_subcommands = helps.iter().any(|(other, _)| other.len() == path.len() + 1 && other.starts_with(path));
    if has_subcommands && rest.first().is_some_and(|word| !word.starts_with('-')) {
        return Some(format!("`proctor {}`: there is no such command", command.join(" ")));
    }
    let options = rest.iter().take_while(|word| *word != "--").filter(|word| word.starts_with('-'));
    let known: BTreeSet<&str> = help.split(|character: char| character.is_whitespace() || ",=[]<>".contains(character)).collect();
    let unknown = options.map(|word| word.split('=').next().unwrap_or_default()).find(|option| !known.contains(option))?;
    Some(format!("`proctor {}`: there is no option `{unknown}`", command.join(" ")))
}

/// Returns the help of the program and of every command that one of them lists; the program's comes first.
fn helps() -> Vec<(Vec<String>, String)> {
    let project = Project::new();
    let mut helps: Vec<(Vec<String>, String)> = Vec::new();
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let help = project.proctor(path.iter().map(String::as_str).chain(["--help"])).success().stdout;
        waiting.extend(subcommands(&help).into_iter().map(|name| path.iter().cloned().chain([name]).collect()));
        helps.push((path, help));
    }
    assert!(helps.len() > 1, "`proctor --help` lists no command:\n{}", helps[0].1);
    helps
}

fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    let names = listed.filter(|line| !line.starts_with("    ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}
