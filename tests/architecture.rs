//! Fails when code imports what it may not import (architecture, Crates).
//!
//! Which crate may import which is what the crates' manifests say, and cargo refuses anything else. The rules within a crate, and
//! those that hold for every version of the manifests, are in this file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::buffer::Cursor;
use syn::parse::{ParseStream, Parser as _};

use crate::common::{SourceFile, production_code, production_lines, program_files, repository, source_files};

/// A module of a crate, and the other modules of the crate that it may import.
type Module = (&'static str, &'static [&'static str]);

/// What a crate's manifest cannot say: which of the crate's own modules may import which. The first module is the crate's root, which
/// holds all files that lie in no other module of the row. A crate with one module has no row.
const WITHIN: &[(&str, &[Module])] = &[
    ("api", &[("api", &[]), ("page", &["api"])]),
    (
        "app",
        &[
            ("app", &["client", "hook", "project", "gate", "turn"]),
            ("client", &["app"]),
            ("hook", &[]),
            ("project", &["app"]),
            ("gate", &["app", "project"]),
            ("turn", &["app", "hook", "project"]),
        ],
    ),
    ("evidence", &[("evidence", &["report"]), ("report", &[])]),
    ("govern", &[("govern", &[]), ("governance", &[]), ("workflow", &["governance"])]),
    (
        "plan",
        &[
            ("plan", &[]),
            ("condition", &[]),
            ("config", &[]),
            ("review", &[]),
            ("routing", &[]),
            ("spec", &["condition", "config"]),
            ("verdict", &["condition"]),
        ],
    ),
    ("run", &[("run", &[]), ("collaboration", &["run"])]),
    ("sandbox", &[("sandbox", &["process"]), ("process", &[]), ("snapshot", &["process"])]),
    ("service", &[("service", &[]), ("mcp", &[])]),
    ("tools", &[("tools", &["shell"]), ("shell", &[])]),
    ("tree", &[("tree", &["ignore"]), ("ignore", &[]), ("watch", &["ignore"])]),
];
/// Modules that answer somebody else than a person at a terminal. The page reads through the routes of the service alone; what answers an
/// agent calls the functions of `app`, as the commands of a person do. So nothing that is written for one of them can read or change
/// evidence by another way.
const ASKERS: &[&str] = &[
    "crates/api/src/page/",
    "crates/app/src/hook/",
    "crates/service/src/mcp/",
    "src/cli/commands/hook.rs",
    "src/cli/commands/mcp.rs",
];
/// What no asker may import.
const HOLDERS: &[&str] =
    &["proctor_index", "proctor_project", "proctor_run", "proctor_evidence::Store", "proctor_evidence::Ledger"];
/// Crates that cannot see the world: what they judge is handed to them.
const PURE: &[&str] = &["model", "tools", "plan"];
/// What would let a pure crate see or change the world.
const WORLD: &[&str] = &[
    "std::fs",
    "net::TcpStream",
    "net::UdpSocket",
    "process::Command",
    "std::thread",
    "env::var",
    "std::os::unix::net",
    "use nix::",
];
/// The files of pure crates that may see the world, each with the reason.
const PURE_BUT: &[(&str, &str)] = &[
    (
        "crates/model/src/report_file.rs",
        "reads parts of a file that its caller opened, because the file may be larger than memory",
    ),
    ("crates/plan/src/spec/files.rs", "is what reads a project's files for those who plan"),
    ("crates/plan/src/spec/specification/schema/generated.rs", "is compiled for tests alone"),
];
/// Texts that production code may contain only below a path: the text, the path, and the reason.
const RESERVED: &[(&str, &str, &str)] = &[
    ("tokio::process", "nowhere", "the launcher starts children"),
    ("tokio::signal", "nowhere", "signals come from signal-hook, as events"),
    ("Arc<Mutex<", "nowhere", "a task owns its state, others hold a handle"),
    ("unsafe ", "crates/sandbox/src/process/", "one module isolates what the compiler cannot check"),
    ("#[allow(", "nowhere", "a lint is silenced by `#[expect(lint, reason = …)]`"),
];
/// The places that wait for the first of several events: the file, how many such places it has, and the reason. The
/// scheduling has one such place, so the order of events is decided once for every caller of the loop.
const SELECTS: &[(&str, usize, &str)] = &[
    ("crates/remote/src/run.rs", 1, "waits for one action of a server, its time limit or a stop; decides nothing"),
    ("crates/service/src/control/server.rs", 2, "accepts and serves connections until the server stops; decides nothing"),
    ("crates/service/src/control/page_server.rs", 1, "accepts browsers until the process ends; decides nothing"),
    ("crates/service/src/event_loop.rs", 1, "the one loop: whatever arrives first becomes an event"),
    ("crates/service/src/os_signals.rs", 1, "makes one source of the loop out of a pipe for each kind of signal"),
];

/// Macros whose texts are for developers of proctor: assertions, panics, and the log.
const FOR_DEVELOPERS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "unreachable",
    "trace",
    "debug",
    "info",
    "warn",
    "error",
];
/// The beginnings of items that must have a doc comment if they are public. Their fields, variants and methods need
/// none.
const ITEMS: &[&str] = &["async fn ", "const ", "enum ", "fn ", "static ", "struct ", "trait ", "type ", "union ", "unsafe "];
/// The most lines that `main.rs` may have: it only passes arguments on and returns an exit code.
const MAIN_LINES: usize = 40;

#[test]
fn modules_of_a_crate_import_only_what_the_table_allows() {
    let violations: Vec<String> = program_files().iter().flat_map(forbidden_imports).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn the_rows_of_the_table_are_the_crates_own_modules() {
    for (name, modules) in WITHIN {
        for (module, imports) in &modules[1..] {
            let source = repository().join("crates").join(name).join("src");
            let exists = source.join(module).is_dir() || source.join(format!("{module}.rs")).is_file();
            assert!(exists, "the crate `{name}` has no module `{module}`");
            assert!(imports.iter().all(|import| modules.iter().any(|(other, _)| other == import)), "{name}: {imports:?}");
        }
    }
}

#[test]
fn who_answers_agents_and_browsers_cannot_reach_the_evidence() {
    let mut violations = Vec::new();
    for file in program_files().iter().filter(|file| !file.is_test() && ASKERS.iter().any(|asker| file.path.starts_with(asker))) {
        for (number, line) in production_lines(&file.text) {
            let found = HOLDERS.iter().filter(|holder| line.contains(**holder));
            violations.extend(found.map(|holder| format!("{}:{number}: {holder}", file.path)));
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn pure_crates_do_not_see_the_world() {
    let is_pure = |path: &str| PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    let mut may: BTreeSet<&str> = PURE_BUT.iter().map(|(path, _)| *path).collect();
    let mut violations = Vec::new();
    for file in program_files().iter().filter(|file| is_pure(&file.path) && file.path.ends_with(".rs") && !file.is_test()) {
        let lines = production_lines(&file.text).into_iter().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let seen: Vec<usize> =
            lines.filter(|(_, line)| WORLD.iter().any(|world| line.contains(world))).map(|(number, _)| number).collect();
        if !seen.is_empty() && !may.remove(file.path.as_str()) {
            violations.push(format!("{}: lines {seen:?}", file.path));
        }
    }
    assert!(violations.is_empty(), "these files of pure crates see the world:\n{}", violations.join("\n"));
    assert!(may.is_empty(), "{may:?} do not see the world any more");
}

#[test]
fn reserved_texts_stand_only_where_they_may() {
    let violations: Vec<String> = program_files().iter().flat_map(reserved_texts).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn scheduling_waits_in_one_place() {
    let found: BTreeMap<String, usize> =
        program_files().iter().map(|file| (file.path.clone(), selects(file))).filter(|(_, count)| *count > 0).collect();
    let known: BTreeMap<String, usize> = SELECTS.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    assert_eq!(found, known, "`select!` in `src/` (left) and in the table of this test (right)");
}

#[test]
#[ignore = "long tier"]
fn what_people_read_and_what_is_stored_does_not_come_from_debug_output() {
    let files = program_files();
    let found: Vec<String> = production_code(&files)
        .iter()
        .flat_map(|(file, _)| debug_formats(&file.text).into_iter().map(|text| format!("{}: {text}", file.path)))
        .collect();
    assert!(
        found.is_empty(),
        "a rename in the code would change these texts; give the type a `Display` or words:\n{}",
        found.join("\n")
    );
}

#[test]
fn a_text_with_debug_output_is_found_where_it_is_no_assertion_log_or_test() {
    let found = [
        r#"fn f() { format!("{:?}", a) }"#,
        r#"fn f() { let text = format!("{} {a:#?}", b); }"#,
        r##"fn f() { inner(|| write!(out, r#""{0:>5?}""#, a)); }"##,
        r#"#[derive(Error)] #[error("cannot {what:?}")] struct Failure;"#,
        r#"#[cfg(test)] use a::{b}; fn f() { format!("{a:?}"); }"#,
        r#"#[cfg(feature = "test-fakes")] fn f() { format!("{a:?}"); }"#,
    ];
    for text in found {
        assert_eq!(debug_formats(text).len(), 1, "{text}");
    }
    let others = [
        r#"fn f() { assert!(is, "{a:?}"); tracing::info!("{a:?}"); panic!("{a:?}"); }"#,
        r#"fn f() { a.expect(&format!("{a:?}")); }"#,
        r#"/// Writes `{:?}`.
           fn f() { format!("{a} {{:?}} {:>5} {b:?c}"); }"#,
        r#"#[cfg(test)] mod tests { fn f() { format!("{a:?}"); } }"#,
        r#"#[cfg(test)] pub(crate) fn f(a: [u8; 2]) -> u8 { format!("{a:?}"); }"#,
    ];
    for text in others {
        assert_eq!(debug_formats(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn main_decides_nothing() {
    let main = source_files("src/main.rs").pop().expect("the program has a main");
    let lines = main.text.lines().count();
    assert!(lines <= MAIN_LINES, "`src/main.rs` has {lines} lines, {MAIN_LINES} are enough for argv to exit code");
}

#[test]
fn every_public_item_of_a_module_says_what_it_is() {
    let missing: Vec<String> = program_files().iter().flat_map(items_without_a_comment).collect();
    assert!(missing.is_empty(), "{} public items have no doc comment:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn a_public_item_without_a_comment_is_found_and_one_behind_attributes_is_not() {
    let file = |text: &str| SourceFile { path: "crates/tree/src/lib.rs".to_owned(), text: text.to_owned() };
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
    for (path, line, expected) in [
        ("crates/tree/src/sweep.rs", "use crate::watch::Hint;", "`tree` must not import `watch`"),
        ("crates/tree/src/ignore/rule.rs", "    crate::digest();", "`ignore` must not import `tree`"),
        ("crates/tree/src/watch/mod.rs", "use super::tree::Digest;", "`super::` leaves the module"),
        ("crates/tree/src/sweep.rs", "use super::super::watch::Hint;", "`super::super` hides where an import goes"),
        ("src/cli/mod.rs", "use crate::{model::Digest, Tree};", "one `use` for each module"),
        ("src/cli/mod.rs", "use crate::screen::*;", "import by name"),
        ("src/cli/mod.rs", "pub use crate::screen::*;", "import by name"),
        ("crates/evidence/src/report/build.rs", "use crate::Store;", "`report` must not import `evidence`"),
    ] {
        let file = SourceFile { path: path.to_owned(), text: format!("//! Doc.\n\n{line}\n") };
        let found = forbidden_imports(&file);
        assert_eq!(found.len(), 1, "{path}: {line}: {found:?}");
        assert!(found[0].starts_with(&format!("{path}:3: ")) && found[0].contains(expected), "{line}: {found:?}");
    }
    for (path, text) in [
        ("crates/tree/src/sweep.rs", "use crate::ignore::Rule;\nuse crate::index::Index;\nuse super::Sweep;\n"),
        ("src/cli/mod.rs", "use crate::screen::Line;\npub use screen::*;\n"),
        (
            "crates/tree/src/sweep.rs",
            "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::watch::Hint;\n}\n",
        ),
    ] {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(forbidden_imports(&file), Vec::<String>::new());
    }
    let after = "#[cfg(test)]\nmod tests;\n\nuse crate::watch::Hint;\n";
    let file = SourceFile { path: "crates/tree/src/sweep.rs".to_owned(), text: after.to_owned() };
    assert_eq!(forbidden_imports(&file).len(), 1, "what follows a test module is production code");
}

#[test]
fn a_reserved_text_is_found_and_a_comment_is_not() {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    assert_eq!(reserved_texts(&file("crates/run/src/lib.rs", "use tokio::process::Command;\n")).len(), 1);
    assert_eq!(reserved_texts(&file("crates/run/src/lib.rs", "    unsafe { f() }\n")).len(), 1);
    assert_eq!(reserved_texts(&file("crates/sandbox/src/process/raw.rs", "    unsafe { f() }\n")).len(), 0);
    assert_eq!(reserved_texts(&file("crates/run/src/lib.rs", "//! An unsafe thing; see `tokio::process`.\n")).len(), 0);
    assert_eq!(selects(&file("crates/run/src/lib.rs", "//! Its `select!`.\nfn f() {\n    tokio::select! {}\n}\n")), 1);
}

/// Returns how many places of a file wait for the first of several events (`select!`).
fn selects(file: &SourceFile) -> usize {
    let lines = if file.is_test() { Vec::new() } else { production_lines(&file.text) };
    lines.iter().filter(|(_, line)| !line.trim_start().starts_with("//") && line.contains("select!")).count()
}

/// Returns the string literals of a file that print a value by `Debug`. Tests, assertions and logs are left out.
fn debug_formats(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let parser = |input: ParseStream<'_>| {
        input.step(|cursor| {
            collect_debug_formats(*cursor, &mut found);
            let mut end = *cursor;
            while let Some((_, after)) = end.token_tree() {
                end = after;
            }
            Ok(((), end))
        })
    };
    parser.parse_str(text).expect("what was compiled can be parsed");
    found
}

fn collect_debug_formats(tokens: Cursor<'_>, found: &mut Vec<String>) {
    let mut rest = tokens;
    let mut is_test_item = false;
    while !rest.eof() {
        if let Some((inside, after)) = attribute(rest) {
            let words: String = inside.token_stream().to_string().split_whitespace().collect();
            is_test_item |=
                words.starts_with("cfg(test)") || words.starts_with("cfg(any(test,") || words.starts_with("cfg(all(test,");
            if !words.starts_with("doc=") {
                collect_debug_formats(inside, found);
            }
            rest = after;
        } else if let Some(after) = for_developers(rest) {
            rest = after;
        } else if let Some((inside, _, _, after)) = rest.any_group() {
            if is_test_item {
                // The item behind `#[cfg(test)]` ends with its body in braces.
                is_test_item = !rest.token_tree().is_some_and(|(group, _)| group.to_string().starts_with('{'));
            } else {
                collect_debug_formats(inside, found);
            }
            rest = after;
        } else {
            let literal = rest.literal().map(|(literal, _)| literal.to_string());
            found.extend(literal.filter(|literal| prints_by_debug(literal)));
            is_test_item &= rest.punct().is_none_or(|(punct, _)| punct.as_char() != ';');
            rest = rest.token_tree().map_or_else(Cursor::empty, |(_, after)| after);
        }
    }
}

/// Returns the tokens in the brackets of an attribute, and the tokens after the attribute.
fn attribute(tokens: Cursor<'_>) -> Option<(Cursor<'_>, Cursor<'_>)> {
    let (_, rest) = tokens.punct().filter(|(punct, _)| punct.as_char() == '#')?;
    let rest = rest.punct().map_or(rest, |(_, after)| after);
    rest.any_group().map(|(inside, _, _, after)| (inside, after))
}

/// Returns the tokens after an assertion, a panic, a line of the log or the reason of an `expect`. None: the tokens
/// begin with none of these.
fn for_developers(tokens: Cursor<'_>) -> Option<Cursor<'_>> {
    let (name, rest) = tokens.ident()?;
    let is_macro = FOR_DEVELOPERS.iter().any(|known| name == known);
    let rest = if is_macro { rest.punct().filter(|(punct, _)| punct.as_char() == '!')?.1 } else { rest };
    let (_, _, _, after) = rest.any_group().filter(|_| is_macro || name == "expect")?;
    Some(after)
}

/// Returns whether a literal has a placeholder like `{:?}` or `{name:#?}`.
fn prints_by_debug(literal: &str) -> bool {
    let is_name = |text: &str| text.chars().all(|character| character.is_alphanumeric() || character == '_');
    let plain = literal.replace("{{", "");
    let mut places = plain.split('{').skip(1).filter_map(|rest| rest.split_once('}')?.0.split_once(':'));
    literal.ends_with(['"', '#']) && places.any(|(name, form)| is_name(name) && form.ends_with('?'))
}

/// Returns the modules of the crate that a file belongs to, and the file's module; `None` for a crate without a row in [`WITHIN`].
fn module_of(path: &str) -> Option<(&'static [Module], &'static str)> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let (_, modules) = WITHIN.iter().find(|(row, _)| *row == name)?;
    let own = modules[1..].iter().find(|(module, _)| rest.starts_with(&format!("{module}/")) || rest == format!("{module}.rs"));
    Some((modules, own.unwrap_or(&modules[0]).0))
}

fn forbidden_imports(file: &SourceFile) -> Vec<String> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if !file.path.ends_with(".rs") || file.is_test() {
        return Vec::new();
    }
    let within = module_of(&file.path).filter(|_| name != "lib.rs");
    let mut violations = Vec::new();
    for (number, line) in production_lines(&file.text) {
        let mut report = |what: String| violations.push(format!("{}:{number}: {what}", file.path));
        if line.contains("super::super") {
            report("`super::super` hides where an import goes".to_owned());
        } else if name == "mod.rs" && line.contains("super::") {
            report("`super::` leaves the module; say `crate::`".to_owned());
        }
        let is_import = ["use ", "pub use "].iter().any(|start| line.trim_start().starts_with(start));
        // `pub use child::*` hands on the list of a module below, where the names stand.
        let is_list_of_child = line.starts_with("pub use ") && line.matches("::").count() == 1;
        if is_import && line.contains("::*") && !is_list_of_child {
            report("import by name, not by `*`".to_owned());
        }
        for rest in line.split("crate::").skip(1) {
            let used =
                rest.split(|character: char| !(character.is_alphanumeric() || character == '_')).next().unwrap_or_default();
            if used.is_empty() && rest.contains("::") {
                report("write one `use` for each module: paths within `use crate::{…}` hide edges".to_owned());
            } else if let Some((modules, module)) = within {
                let used = modules[1..].iter().find(|(other, _)| *other == used).map_or(modules[0].0, |(other, _)| *other);
                let imports = modules.iter().find(|(other, _)| *other == module).map_or(&[][..], |(_, imports)| *imports);
                if used != module && !imports.contains(&used) {
                    report(format!("`{module}` must not import `{used}`"));
                }
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

/// The types that the outcome of one action passes through, from the wait status to JSON: each with its file, and why
/// it is not the same as the type before it. `docs/design/architecture.md` has the same list.
const FORMS: &[(&str, &str, &str)] = &[
    ("EndedChild", "crates/sandbox/src/process/protocol.rs", "crosses two process borders: keeper, launcher, supervisor"),
    (
        "EndedAction",
        "crates/model/src/process.rs",
        "the supervisor adds what only it knows: its own stops, limits, output, and what never started",
    ),
    ("Interpretation", "crates/model/src/interpretation.rs", "what the tool's output and report say, before anybody doubts it"),
    ("ActionJudgement", "crates/model/src/outcome.rs", "what the judge makes of end and interpretation; nobody judges again"),
    (
        "ActionResult",
        "crates/evidence/src/report/action_result.rs",
        "all of the above for one action, or why it was not run, and the files that it left",
    ),
    (
        "ActionResultV2",
        "crates/evidence/src/report/wire/action.rs",
        "version border: the action in the report, on screens, and in reports of earlier runs",
    ),
    (
        "ExecutionV1",
        "crates/evidence/src/report/wire/record.rs",
        "version border: the end of the process in the action's own record",
    ),
    (
        "JudgementV1",
        "crates/evidence/src/report/wire/exchange.rs",
        "version border: what a look at a file or a server shows, in its own record",
    ),
];
/// The most types that [`FORMS`] may list.
const MOST_FORMS: usize = 8;
/// Types that are parts of a type in [`FORMS`], each with that type. A part is contained in the other type and is not
/// converted into it.
const PARTS: &[(&str, &str)] = &[
    ("LeaderStatus", "EndedChild"),
    ("ActionEnd", "EndedAction"),
    ("Classification", "ActionJudgement"),
    ("ActionDisposition", "ActionResult"),
    ("ExecutedAction", "ActionResult"),
    ("ReusedAction", "ActionResult"),
    ("ActionOutcomeV2", "ActionResultV2"),
    ("AttemptV2", "ActionResultV2"),
];
/// Types that contain one of [`OUTCOME_FACTS`] but are not in [`FORMS`], each with the reason why it is needed.
const BESIDE: &[(&str, &str)] = &[
    ("CategoryRow", "a row of the table of category codes, which is constant"),
    ("PolicyCell", "a cell of the table of policies, which is constant"),
    ("ErrorDetailsV1", "a debt item, of one cause that several actions may have"),
    ("EventV1", "tells a follower of the service the status alone; the report says the rest"),
    ("BackgroundActionEnd", "carries a supervisor's word from its thread to the run's"),
    ("RunVerdict", "counts the results of a run by type"),
    ("RunningService", "holds a supervisor's word until the service is asked for"),
    ("ReadAttempt", "an attempt between reading and judging, of which the shards of a check make one"),
    ("ShardRun", "holds a supervisor's words until the last shard has ended"),
    ("SeenAction", "the names that conditions of a specification have for an outcome"),
];
/// The types that say how an action ended, or what follows from its end.
const OUTCOME_FACTS: &[&str] = &[
    "EndedChild",
    "LeaderStatus",
    "ActionEnd",
    "EndedAction",
    "Interpretation",
    "CategoryCode",
    "ResultType",
    "Classification",
    "Blocking",
];

/// Returns the names of the types that a file defines, each with those of [`OUTCOME_FACTS`] that the type contains. A
/// type behind a `&` is not contained.
fn owned_facts(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
    let mut is_inside = false;
    for (_, line) in production_lines(text) {
        let code = line.split("//").next().unwrap_or_default();
        let unprefixed =
            code.strip_prefix("pub ").or_else(|| code.strip_prefix("pub(").and_then(|rest| Some(rest.split_once(") ")?.1)));
        let item = unprefixed.unwrap_or(code);
        if let Some(rest) = item.strip_prefix("struct ").or_else(|| item.strip_prefix("enum ")) {
            let name: String = rest.chars().take_while(|character| character.is_alphanumeric()).collect();
            found.push((name, BTreeSet::new()));
            is_inside = true;
        }
        if let Some((_, facts)) = found.last_mut().filter(|_| is_inside) {
            let types = code.find([':', '(']).map_or("", |start| &code[start..]);
            facts.extend(owned_names(types).filter(|name| OUTCOME_FACTS.contains(name)).map(str::to_owned));
        }
        is_inside &= !(code.starts_with('}') || code.ends_with(';'));
    }
    found
}

/// Returns the names in a type, without those behind a `&`.
fn owned_names(types: &str) -> impl Iterator<Item = &str> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let words = types.match_indices(is_name).filter(move |(start, _)| !types[..*start].ends_with(is_name));
    words.filter_map(move |(start, _)| {
        let before = types[..start].trim_end();
        let lifetime = before.rfind('\'').filter(|quote| before[quote + 1..].chars().all(is_name));
        let is_borrowed = before[..lifetime.unwrap_or(before.len())].ends_with('&');
        let end = types[start..].find(|character| !is_name(character)).map_or(types.len(), |length| start + length);
        (!is_borrowed).then_some(&types[start..end])
    })
}

#[test]
fn an_outcome_has_at_most_eight_forms_between_wait_status_and_json() {
    assert!(FORMS.len() <= MOST_FORMS, "{} forms: let two that say the same become one", FORMS.len());
    let page = fs::read_to_string(repository().join("docs/design/architecture.md")).expect("the page can be read");
    let files = program_files();
    let defined: BTreeSet<(&str, String)> =
        files.iter().flat_map(|file| owned_facts(&file.text).into_iter().map(|(name, _)| (file.path.as_str(), name))).collect();
    for (form, path, why) in FORMS {
        assert!(defined.contains(&(*path, (*form).to_owned())), "{path} does not define `{form}`");
        assert!(
            why.len() > 20 && page.contains(&format!("| `{form}` | `{path}` |")),
            "{form}: its reason and its row are missing"
        );
    }
    for (part, form) in PARTS {
        assert!(defined.iter().any(|(_, name)| name == part), "`{part}` does not exist");
        assert!(FORMS.iter().any(|(name, _, _)| name == form), "`{part}` is part of `{form}`, which is no form");
    }
}

#[test]
fn whoever_owns_a_fact_of_an_outcome_is_listed() {
    let listed: BTreeSet<&str> = FORMS.iter().map(|(form, _, _)| *form).chain(PARTS.iter().map(|(part, _)| *part)).collect();
    let mut beside: BTreeSet<&str> = BESIDE.iter().map(|(name, _)| *name).collect();
    let mut violations = Vec::new();
    for folder in
        ["crates/plan/src/verdict/", "crates/run/src/", "crates/project/src/", "crates/evidence/src/report/", "crates/api/src/"]
    {
        for file in source_files(folder).iter().filter(|file| file.path.ends_with(".rs") && !file.is_test()) {
            for (name, facts) in owned_facts(&file.text).into_iter().filter(|(_, facts)| !facts.is_empty()) {
                let is_beside = BESIDE.iter().any(|(other, _)| *other == name);
                beside.remove(name.as_str());
                if !is_beside && !listed.contains(name.as_str()) {
                    violations.push(format!(
                        "{}: `{name}` owns {facts:?}: borrow the form that has it, or say in `BESIDE` why not",
                        file.path
                    ));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(beside.is_empty(), "{beside:?} own nothing of an outcome any more");
}

#[test]
fn a_type_that_owns_a_fact_of_an_outcome_is_found_and_one_that_borrows_it_is_not() {
    let text = "pub struct Copy {\n    pub end: ActionEnd, // EndedAction\n}\n\npub(crate) enum Said<'a> {\n    EndedAction,\n    Over(Box<EndedAction>),\n    \
                Seen(&'a Classification),\n}\n\nstruct View<'a> {\n    code: &'a CategoryCode,\n    said: Option<&Interpretation>,\n}\n\
                struct Pair(ResultType, u8);\nfn f(end: ActionEnd) {}\n";
    let found: Vec<(String, Vec<String>)> =
        owned_facts(text).into_iter().map(|(name, facts)| (name, facts.into_iter().collect())).collect();
    let of = |name: &str, facts: &[&str]| (name.to_owned(), facts.iter().map(|&fact| fact.to_owned()).collect::<Vec<_>>());
    assert_eq!(found, [of("Copy", &["ActionEnd"]), of("Said", &["EndedAction"]), of("View", &[]), of("Pair", &["ResultType"])]);
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
    // An empty line, a closing brace or a line that ends with `;` ends the search, because such a line belongs to the
    // item before.
    let is_of_the_item = |line: &&str| line.starts_with("///") || !line.is_empty() && *line != "}" && !line.ends_with(';');
    before.rev().take_while(is_of_the_item).any(|line| line.starts_with("///"))
}
