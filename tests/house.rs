//! Checks every file of the repository against those rules of the house style that a program can check.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{SourceFile, production_lines, program_files, source_files};

/// The most lines of a file (house style S12). Lines of tests are not counted.
const FILE_LINES: usize = 500;
/// Paths where marks of unfinished work are allowed because they are data: generated files, and inputs and outputs of
/// the tools under test.
const UNMARKED: &[&str] = &["Cargo.lock", "package-lock.json", "fixtures/"];

/// Words that mark unfinished work or belong to a private workplace, each with the reason. They are written in two
/// halves, so that this file passes its own check.
const FORBIDDEN_WORDS: &[(&str, &str, &str)] = &[
    ("TO", "DO", "open work lives in the tracker"),
    ("FIX", "ME", "open work lives in the tracker"),
    ("XX", "X", "open work lives in the tracker"),
    ("db", "g!", "what is for a debugging session stays there"),
    ("/wo", "rk/", "the project knows no machine it was written on"),
    ("/fa", "rm/", "the project knows no machine it was written on"),
    ("/tmp/", "wt", "the project knows no machine it was written on"),
    ("artif", "actory", "the project names no package mirror"),
    ("\"res", "olved\":", "a lock file names no package mirror: `npm install --omit-lockfile-registry-resolved`"),
];

#[test]
fn no_forbidden_word_stands_in_a_file() {
    let violations: Vec<String> = source_files("").iter().flat_map(forbidden_words).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn locked_crates_come_from_the_public_registry() {
    let lock = source_files("Cargo.lock").pop().expect("the lock file is part of the repository");
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let others: Vec<&str> = lock.text.lines().filter(|line| line.starts_with("source = ") && *line != public).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn no_code_is_commented_out() {
    let violations: Vec<String> = rust_files().iter().flat_map(commented_out_code).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let counted = |file: &SourceFile| production_lines(&file.text).len();
    let violations: Vec<String> = rust_files()
        .iter()
        .filter(|file| !file.is_test() && counted(file) > FILE_LINES)
        .map(|file| format!("{}: {} lines without tests, {FILE_LINES} are the end", file.path, counted(file)))
        .collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// `.ci/mutants.py` plants these faults, each with the seed of the first schedule of a simulator that found it.
#[test]
fn every_planted_fault_fits_into_the_code_at_one_place() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (simulator, below, least, most) in [
        ("crates/service/src/service/simulator", "crates/service/src", 12, 100_000),
        ("crates/project/src/simulator", "crates", 12, 20_000),
    ] {
        let table = std::fs::read_to_string(repository.join(simulator).join("mutants.json")).expect("the table is there");
        let rows: Vec<serde_json::Value> = serde_json::from_str(&table).expect("a list");
        assert!(rows.len() >= least, "{simulator}: {}", rows.len());
        for row in rows {
            let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("`{key}` is a text in {row}")).to_owned();
            let code = std::fs::read_to_string(repository.join(below).join(text("file"))).expect("the file is there");
            assert_eq!(code.matches(&text("old")).count(), 1, "{}: {}", text("file"), text("what"));
            assert!(row["seed"].as_u64().is_some_and(|seed| (1..=most).contains(&seed)), "{row}");
        }
    }
}

#[test]
fn every_rust_file_says_what_it_owns() {
    let silent: Vec<String> =
        rust_files().into_iter().filter(|file| !file.text.starts_with("//! ")).map(|file| file.path).collect();
    assert!(silent.is_empty(), "these files do not begin with a `//!` that says what they own:\n{}", silent.join("\n"));
}

#[test]
fn no_rust_file_is_forgotten() {
    let files: Vec<SourceFile> = ["src/", "crates/", "tests/"].into_iter().flat_map(source_files).collect();
    let forgotten = forgotten_files(&files);
    assert!(forgotten.is_empty(), "no `mod` leads to:\n{}", forgotten.join("\n"));
}

#[test]
fn tests_stand_apart_from_production_code() {
    let within: Vec<String> = program_files().iter().flat_map(tests_within_items).collect();
    assert!(within.is_empty(), "`cfg(test)` belongs on whole items, never inside one:\n{}", within.join("\n"));
}

#[test]
fn no_snapshot_waits_for_review() {
    let pending: Vec<String> =
        source_files("").into_iter().map(|file| file.path).filter(|path| path.ends_with(".snap.new")).collect();
    assert!(pending.is_empty(), "{}", pending.join("\n"));
}

#[test]
fn every_rule_can_fail() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    for (head, tail, _) in FORBIDDEN_WORDS {
        let found = forbidden_words(&file("src/a.rs", &format!("fine\n// {head}{tail}\n")));
        assert_eq!(found.len(), 1, "{head}{tail}: {found:?}");
        assert!(found[0].starts_with("src/a.rs:2: "), "{found:?}");
    }
    assert_eq!(forbidden_words(&file("src/a.rs", "// MASTODON and exec-ddddXXXX\n")), Vec::<String>::new());

    for code in ["// let x = 1;", "    // do_it(now);", "// if a == b {", "// }", "//use crate::model::Digest;"] {
        assert_eq!(commented_out_code(&file("src/a.rs", &format!("{code}\n"))).len(), 1, "{code}");
    }
    for prose in
        ["// The kernel says so; we believe it;", "// `kill(-1);` would end everything.", "/// let us be clear;", "//! }"]
    {
        assert_eq!(commented_out_code(&file("src/a.rs", &format!("{prose}\n"))), Vec::<String>::new(), "{prose}");
    }

    let files = [
        file("src/lib.rs", "pub mod a;\n"),
        file("src/main.rs", ""),
        file("src/a/mod.rs", "mod known;\n"),
        file("src/a/known.rs", "#[cfg(test)]\nmod tests;\n"),
        file("src/a/known/tests.rs", ""),
        file("src/a/lost.rs", ""),
        file("tests/main.rs", ""),
        file("tests/lost.rs", ""),
    ];
    assert_eq!(forgotten_files(&files), ["src/a/lost.rs", "tests/lost.rs"]);

    assert_eq!(tests_within_items(&file("src/a.rs", "fn f() {\n    #[cfg(test)]\n    g();\n}\n")).len(), 1);
    assert_eq!(tests_within_items(&file("src/a.rs", "#[cfg(test)]\nmod tests;\n")).len(), 0);
}

fn rust_files() -> Vec<SourceFile> {
    source_files("").into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

fn forbidden_words(file: &SourceFile) -> Vec<String> {
    let excused = UNMARKED.iter().any(|part| file.path.starts_with(part) || file.path.ends_with(part));
    let mut violations = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for (head, tail, why) in FORBIDDEN_WORDS {
            let word = format!("{head}{tail}");
            // A checksum or the data of a fixture may contain a forbidden word in capitals by chance. One of these
            // words is also a currency code.
            let by_chance = excused && word.bytes().all(|byte| byte.is_ascii_uppercase());
            if !by_chance && contains_word(line, &word) {
                violations.push(format!("{}:{}: `{word}`: {why}", file.path, number + 1));
            }
        }
    }
    violations
}

/// Returns whether `line` contains `word` as a whole word: no letter or digit is directly before or after it.
fn contains_word(line: &str, word: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        let joined_before = word.starts_with(is_word) && line[..at].ends_with(is_word);
        let joined_after = word.ends_with(is_word) && line[at + word.len()..].starts_with(is_word);
        !joined_before && !joined_after
    })
}

fn commented_out_code(file: &SourceFile) -> Vec<String> {
    let numbered = file.text.lines().enumerate();
    let comments = numbered.filter_map(|(number, line)| Some((number + 1, line.trim_start().strip_prefix("//")?)));
    comments
        .filter(|(_, comment)| !comment.starts_with(['/', '!']) && looks_like_code(comment.trim()))
        .map(|(number, comment)| format!("{}:{number}: `{}` looks like code", file.path, comment.trim()))
        .collect()
}

fn looks_like_code(comment: &str) -> bool {
    let statement = comment.ends_with([';', '{']) && ['=', '(', ':'].into_iter().any(|mark| comment.contains(mark));
    !comment.contains('`') && (statement || comment == "}" || comment == "});")
}

/// Returns the files that no chain of `mod` declarations reaches from `tests/main.rs` or a crate's `lib.rs`, `main.rs` or program.
fn forgotten_files(files: &[SourceFile]) -> Vec<String> {
    let is_root = |path: &str| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        directory.ends_with("src/bin")
            || ["lib.rs", "main.rs"].contains(&name) && directory.ends_with("src")
            || path == "tests/main.rs"
            // Cargo makes an executable of each file here.
            || directory.starts_with("crates/") && directory.ends_with("/tests") && directory.matches('/').count() == 2
    };
    let mut known: BTreeSet<String> = files.iter().map(|file| file.path.clone()).filter(|path| is_root(path)).collect();
    let mut waiting: Vec<String> = known.iter().cloned().collect();
    while let Some(path) = waiting.pop() {
        let Some(file) = files.iter().find(|file| file.path == path) else { continue };
        let directory = directory_of_submodules(&path);
        for name in file.text.lines().filter_map(declared_module) {
            let candidates = [format!("{directory}/{name}.rs"), format!("{directory}/{name}/mod.rs")];
            waiting.extend(candidates.into_iter().filter(|candidate| known.insert(candidate.clone())));
        }
    }
    let rust = files.iter().map(|file| file.path.clone()).filter(|path| path.ends_with(".rs"));
    rust.filter(|path| !known.contains(path)).collect()
}

fn directory_of_submodules(path: &str) -> String {
    let path = Path::new(path);
    let is_root = ["mod.rs", "lib.rs", "main.rs"].into_iter().any(|name| path.ends_with(name));
    let directory = if is_root { path.parent().expect("a file lies in a directory").to_owned() } else { path.with_extension("") };
    directory.to_str().expect("our file names are UTF-8").to_owned()
}

fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
}

fn tests_within_items(file: &SourceFile) -> Vec<String> {
    let marked = file.text.lines().enumerate().filter(|(_, line)| line.starts_with(' ') && line.trim() == "#[cfg(test)]");
    marked.map(|(number, _)| format!("{}:{}", file.path, number + 1)).collect()
}
