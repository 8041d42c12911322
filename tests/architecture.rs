//! Fails when a module imports one that it may not know (architecture, Who may import whom).
//!
//! The rule is the table in the documentation of `src/lib.rs`, read from there: a change of it is a change of that page. What no
//! version of the table may allow stands here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::common::{SourceFile, production_lines, repository, source_files};

/// A module and the modules it may import.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// They carry out and cannot see each other: plans and results cross as data.
const DOERS: &[&str] = &["tree", "watch", "process", "evidence", "store"];
/// Texts that may stand in production code only below a path, and why.
const RESERVED: &[(&str, &str, &str)] = &[
    ("tokio::process", "nowhere", "the launcher starts children"),
    ("tokio::signal", "nowhere", "signals come from signal-hook, as events"),
    ("Arc<Mutex<", "nowhere", "a task owns its state, others hold a handle"),
    ("unsafe ", "src/process/", "one module isolates what the compiler cannot check"),
    ("#[allow(", "nowhere", "a lint is silenced by `#[expect(lint, reason = …)]`"),
];
/// How the items begin that must have a doc comment where they are public. Their fields, variants and methods need none.
const ITEMS: &[&str] = &["async fn ", "const ", "enum ", "fn ", "static ", "struct ", "trait ", "type ", "union ", "unsafe "];
/// How long `main.rs` may be: argv to exit code, nothing decided.
const MAIN_LINES: usize = 40;

#[test]
fn modules_import_only_what_the_table_allows() {
    let graph = table();
    let violations: Vec<String> = source_files("src/").iter().flat_map(|file| forbidden_imports(file, &graph)).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn folders_rows_of_the_table_and_declared_modules_are_the_same() {
    let rows: BTreeSet<String> = table().into_keys().collect();
    let entries = fs::read_dir(repository().join("src")).expect("the source tree can be read").flatten();
    let folders: BTreeSet<String> =
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let declared: BTreeSet<String> = library().lines().filter_map(declared_module).map(str::to_owned).collect();
    assert_eq!(folders, rows, "folders of `src/` (left) and rows of the table in `src/lib.rs` (right)");
    assert_eq!(declared, rows, "modules of `src/lib.rs` (left) and rows of its table (right)");
}

#[test]
fn the_table_keeps_what_no_version_of_it_may_give_up() {
    let graph = table();
    assert!(graph["model"].is_empty(), "`model` is vocabulary and imports nothing");
    for doer in DOERS {
        let seen: Vec<&str> = DOERS.iter().copied().filter(|other| other != doer && graph[*doer].contains(*other)).collect();
        assert!(seen.is_empty(), "`{doer}` must not see {seen:?}");
    }
    for (module, imports) in &graph {
        assert!(module == "cli" || !imports.contains("cli"), "`{module}` must not import `cli`");
        let circle: Vec<&String> = imports.iter().filter(|import| reaches(&graph, import, module)).collect();
        assert!(circle.is_empty(), "`{module}` and {circle:?} may import each other");
    }
}

#[test]
fn reserved_texts_stand_only_where_they_may() {
    let violations: Vec<String> = source_files("src/").iter().flat_map(reserved_texts).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn main_decides_nothing() {
    let main = source_files("src/main.rs").pop().expect("the program has a main");
    let lines = main.text.lines().count();
    assert!(lines <= MAIN_LINES, "`src/main.rs` has {lines} lines, {MAIN_LINES} are enough for argv to exit code");
}

#[test]
fn every_public_item_of_a_module_says_what_it_is() {
    let missing: Vec<String> = source_files("src/").iter().flat_map(items_without_a_comment).collect();
    assert!(missing.is_empty(), "{} public items have no doc comment:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn a_public_item_without_a_comment_is_found_and_one_behind_attributes_is_not() {
    let file = |text: &str| SourceFile { path: "src/tree/mod.rs".to_owned(), text: text.to_owned() };
    let described = "/// A digest.\n#[derive(\n    Debug,\n)]\npub struct Digest(u8);\n";
    assert_eq!(items_without_a_comment(&file(described)), Vec::<String>::new());
    for bare in [
        "pub const fn f() {}\n",
        "/// An index.\nstruct Index;\n\n#[derive(Debug)]\npub enum Other {\n    A,\n}\n",
        "/// An index.\nstruct Index;\npub type Other = Index;\n",
    ] {
        assert_eq!(items_without_a_comment(&file(bare)).len(), 1, "{bare}");
    }
    let others = "pub(crate) struct Inner;\npub use crate::model::Digest;\n\nimpl Digest {\n    pub fn of() {}\n}\n";
    assert_eq!(items_without_a_comment(&file(others)), Vec::<String>::new());
}

#[test]
fn every_kind_of_forbidden_import_is_found() {
    let graph = parse_table(
        "//! hint → burst\n//! # Who may import whom\n//! model → –\n//! ignore → model\n//! tree, watch → model, ignore\n//! cli → everything\n",
    );
    for (path, line, expected) in [
        ("src/tree/sweep.rs", "use crate::watch::Hint;", "`tree` must not import `watch`"),
        ("src/model/mod.rs", "pub use crate::ignore::Rule;", "`model` must not import `ignore`"),
        ("src/ignore/rule.rs", "    crate::tree::digest();", "`ignore` must not import `tree`"),
        ("src/watch/mod.rs", "use super::tree::Digest;", "`super::` leaves the module"),
        ("src/tree/sweep.rs", "use super::super::watch::Hint;", "`super::super` hides where an import goes"),
        ("src/cli/mod.rs", "use crate::{model, tree};", "one `use` for each module"),
        ("src/cli/mod.rs", "use crate::model::*;", "import by name"),
        ("src/other/mod.rs", "use crate::model::Digest;", "`other` is not in the table"),
    ] {
        let file = SourceFile { path: path.to_owned(), text: format!("//! Doc.\n\n{line}\n") };
        let found = forbidden_imports(&file, &graph);
        assert_eq!(found.len(), 1, "{path}: {line}: {found:?}");
        assert!(found[0].starts_with(&format!("{path}:3: ")) && found[0].contains(expected), "{line}: {found:?}");
    }
    for (path, text) in [
        (
            "src/tree/sweep.rs",
            "use crate::ignore::Rule;\nuse crate::model::Digest;\nuse crate::tree::index::Index;\nuse super::Sweep;\n",
        ),
        ("src/cli/mod.rs", "use crate::watch::Hint;\n"),
        ("src/tree/mod.rs", "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::watch::Hint;\n}\n"),
    ] {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(forbidden_imports(&file, &graph), Vec::<String>::new());
    }
    let after = "#[cfg(test)]\nmod tests;\n\nuse crate::watch::Hint;\n";
    let file = SourceFile { path: "src/tree/mod.rs".to_owned(), text: after.to_owned() };
    assert_eq!(forbidden_imports(&file, &graph).len(), 1, "what follows a test module is production code");
}

#[test]
fn a_reserved_text_is_found_and_a_comment_is_not() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    assert_eq!(reserved_texts(&file("src/run/mod.rs", "use tokio::process::Command;\n")).len(), 1);
    assert_eq!(reserved_texts(&file("src/run/mod.rs", "    unsafe { f() }\n")).len(), 1);
    assert_eq!(reserved_texts(&file("src/process/raw.rs", "    unsafe { f() }\n")).len(), 0);
    assert_eq!(reserved_texts(&file("src/run/mod.rs", "//! An unsafe thing; see `tokio::process`.\n")).len(), 0);
}

fn library() -> String {
    fs::read_to_string(repository().join("src/lib.rs")).expect("the library has a root")
}

fn declared_module(line: &str) -> Option<&str> {
    line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')
}

fn table() -> Graph {
    let graph = parse_table(&library());
    assert!(graph.len() > DOERS.len(), "the table was not found in `src/lib.rs`");
    graph
}

/// Reads `a, b → c, d`, with `–` for nothing, `everything` and `everything but x`.
fn parse_table(text: &str) -> Graph {
    let section = text.lines().skip_while(|line| *line != "//! # Who may import whom");
    let rows: Vec<(&str, &str)> = section
        .filter_map(|line| line.strip_prefix("//! ")?.split_once('→'))
        .map(|(left, right)| (left.trim(), right.trim()))
        .collect();
    let everything: BTreeSet<String> = rows.iter().flat_map(|(left, _)| names(left)).collect();
    let allowed = |right: &str| match right.strip_prefix("everything") {
        Some(rest) => {
            let but: BTreeSet<String> = rest.trim().strip_prefix("but ").map(names).unwrap_or_default().into_iter().collect();
            everything.difference(&but).cloned().collect()
        }
        None => names(right).into_iter().filter(|name| name != "–").collect::<BTreeSet<_>>(),
    };
    rows.iter()
        .flat_map(|(left, right)| names(left).into_iter().map(move |name| (name, *right)))
        .map(|(name, right)| {
            let mut imports = allowed(right);
            imports.remove(&name);
            (name, imports)
        })
        .collect()
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

fn reaches(graph: &Graph, from: &str, to: &str) -> bool {
    from == to || graph.get(from).is_some_and(|imports| imports.iter().any(|import| reaches(graph, import, to)))
}

fn forbidden_imports(file: &SourceFile, graph: &Graph) -> Vec<String> {
    let Some((module, name)) = file.path.strip_prefix("src/").and_then(|rest| rest.split_once('/')) else { return Vec::new() };
    if !file.path.ends_with(".rs") || file.is_test() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (number, line) in production_lines(&file.text) {
        let mut report = |what: String| violations.push(format!("{}:{number}: {what}", file.path));
        if line.contains("super::super") {
            report("`super::super` hides where an import goes".to_owned());
        } else if name == "mod.rs" && line.contains("super::") {
            report("`super::` leaves the module; say `crate::`".to_owned());
        }
        if line.trim_start().starts_with("use ") && line.contains("::*")
            || line.trim_start().starts_with("pub use ") && line.contains("::*")
        {
            report("import by name, not by `*`".to_owned());
        }
        for rest in line.split("crate::").skip(1) {
            let used =
                rest.split(|character: char| !(character.is_alphanumeric() || character == '_')).next().unwrap_or_default();
            match graph.get(module) {
                None => report(format!("`{module}` is not in the table of `src/lib.rs`")),
                Some(_) if used.is_empty() => report("write one `use` for each module: `use crate::{…}` hides edges".to_owned()),
                Some(imports) if used != module && !imports.contains(used) => {
                    report(format!("`{module}` must not import `{used}`"))
                }
                Some(_) => {}
            }
        }
    }
    violations
}

fn reserved_texts(file: &SourceFile) -> Vec<String> {
    if file.is_test() {
        return Vec::new();
    }
    let lines = production_lines(&file.text).into_iter().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let found = lines
        .flat_map(|(number, line)| RESERVED.iter().filter(move |(text, _, _)| line.contains(text)).map(move |row| (number, row)));
    found
        .filter(|(_, (_, place, _))| !file.path.starts_with(place))
        .map(|(number, (text, place, why))| format!("{}:{number}: `{}` belongs {place}: {why}", file.path, text.trim()))
        .collect()
}

/// Returns the public items at the top level of a module that have no doc comment.
fn items_without_a_comment(file: &SourceFile) -> Vec<String> {
    if !file.path.ends_with(".rs") || file.is_test() {
        return Vec::new();
    }
    let lines = production_lines(&file.text);
    let is_public = |line: &str| line.strip_prefix("pub ").is_some_and(|rest| ITEMS.iter().any(|item| rest.starts_with(item)));
    let items = lines.iter().enumerate().filter(|(_, (_, line))| is_public(line));
    let bare = items.filter(|(place, _)| !is_described(lines[..*place].iter().map(|(_, line)| *line)));
    bare.map(|(_, (number, line))| format!("{}:{number}: {}", file.path, line.trim_end())).collect()
}

/// Returns whether the lines before an item end with a doc comment, with or without attributes after it.
fn is_described<'text>(before: impl DoubleEndedIterator<Item = &'text str>) -> bool {
    // What is neither attribute nor comment ends the search: an empty line, or the end of another item.
    let is_of_the_item = |line: &&str| line.starts_with("///") || !line.is_empty() && *line != "}" && !line.ends_with(';');
    before.rev().take_while(is_of_the_item).any(|line| line.starts_with("///"))
}
