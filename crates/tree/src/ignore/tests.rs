//! Tests of the matcher: which rule decides about a path, and whether the path belongs to the tree.

use std::path::PathBuf;

use proptest::prelude::{Strategy, prop_assert_eq, proptest};

use crate::ignore::{
    ALWAYS_OUT, IgnoreDecision, IgnoreVerdict, Matcher, MatcherSettings, NameRule, OwnLink, RuleSource, RulesFile, Selects,
    ShownOutputs, TreeMembership,
};
use proctor_model::TreePath;

fn path(text: &str) -> TreePath {
    TreePath::try_from(text).expect("a clean path")
}

fn matcher(ignore: &[&str], include: &[&str], rules: &[(&str, RulesFile, &str)]) -> Matcher {
    let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    let settings = MatcherSettings {
        ignore: owned(ignore),
        include: owned(include),
        own_link: Some(OwnLink { leads_into: PathBuf::from("/store/evidence") }),
        store: None,
        task_list: None,
        selects: Selects::Tree,
        outputs: ShownOutputs::default(),
        inputs: Vec::new(),
    };
    let mut matcher = Matcher::new(&settings).expect("good patterns");
    for (directory, file, text) in rules {
        assert_eq!(matcher.add_rules(&path(directory), *file, text.as_bytes()), Vec::new());
    }
    matcher
}

fn is_in(matcher: &Matcher, text: &str) -> bool {
    let (text, is_directory) = text.strip_suffix('/').map_or((text, false), |text| (text, true));
    matcher.decide(&path(text), is_directory).verdict == IgnoreVerdict::In
}

#[track_caller]
fn check(matcher: &Matcher, inside: &[&str], outside: &[&str]) {
    for text in inside {
        assert!(is_in(matcher, text), "`{text}` should be in: {:?}", matcher.decide(&path(text.trim_end_matches('/')), false));
    }
    for text in outside {
        assert!(!is_in(matcher, text), "`{text}` should be out");
    }
}

use RulesFile::{DotIgnore, GitIgnore};

#[test]
fn what_no_rule_speaks_of_is_in() {
    check(&matcher(&[], &[], &[]), &["src/a.py", "a", ".github/workflows/ci.yml", ".env", "src/"], &[]);
    assert_eq!(matcher(&[], &[], &[]).decide(&TreePath::root(), true), IgnoreDecision { verdict: IgnoreVerdict::In, rule: None });
}

#[test]
fn rules_apply_below_their_directory_and_the_deeper_one_wins() {
    let rules = [("", GitIgnore, "*.log\n/build/\n"), ("src", GitIgnore, "!keep.log\n/only-here\n")];
    let inside = ["src/keep.log", "src/build/x", "only-here", "src/deep/only-here", "build"];
    check(&matcher(&[], &[], &rules), &inside, &["a.log", "src/a.log", "keep.log", "build/", "build/x", "src/only-here"]);
}

#[test]
fn dot_ignore_beats_git_ignore_of_the_same_directory_and_not_of_a_deeper_one() {
    let rules = [("", GitIgnore, "a\nb\n"), ("", DotIgnore, "!a\nc\n"), ("d", GitIgnore, "!c\n")];
    check(&matcher(&[], &[], &rules), &["a", "d/c"], &["b", "c", "e/c"]);
}

#[test]
fn a_file_below_an_excluded_directory_cannot_be_kept_by_a_rule() {
    let rules = [("", GitIgnore, "build/\n!build/keep\n"), ("build", GitIgnore, "!*\n")];
    check(&matcher(&[], &[], &rules), &[], &["build/keep", "build/x"]);
}

#[test]
fn a_cache_that_ignores_itself_has_nothing_in_the_tree() {
    let rules = [("cache", GitIgnore, "# made by a tool\n*\n")];
    check(&matcher(&[], &[], &rules), &["cache/"], &["cache/.gitignore", "cache/x", "cache/deep/y"]);
}

#[test]
fn settings_beat_rules_files() {
    let rules = [("", GitIgnore, "!a.tmp\n.env\n")];
    check(&matcher(&["*.tmp", "/doc"], &[".env"], &rules), &[".env", "sub/.env", "sub/doc"], &["a.tmp", "doc", "doc/x"]);
}

#[test]
fn an_included_directory_brings_its_contents_with_it() {
    for rule in ["build/\n*.o\n", "build/**\n*.o\n"] {
        let rules = [("", GitIgnore, rule), ("build/gen", GitIgnore, "*.cache\n")];
        let matcher = matcher(&["*.tmp"], &["build/gen"], &rules);
        check(
            &matcher,
            &["build/gen/", "build/gen/a.o", "build/gen/d/a"],
            &["build/x", "build/gen/a.tmp", "build/gen/d/a.cache"],
        );
        assert_eq!(is_in(&matcher, "build/"), rule.starts_with("build/**"), "{rule}");
    }
}

#[test]
fn an_include_that_names_its_way_leads_through_excluded_directories() {
    let rules = [("", GitIgnore, "out/\nvendor/\n"), ("out", GitIgnore, "!*\n")];
    let matcher = matcher(&[], &["out/*/schema.json", "vendor/**/LICENSE", "**/never", "plain"], &rules);
    check(&matcher, &["out/a/schema.json", "vendor/LICENSE", "vendor/x/y/LICENSE"], &["out/schema.json", "out/a/b/schema.json"]);
    check(&matcher, &[], &["out/plain", "out/a/x", "out/a/never", "vendor/x/main.c", "vendor/node_modules/LICENSE"]);
    let root = matcher.root_scope();
    assert_eq!(matcher.membership(&root, &path("out"), true), TreeMembership::Leads);
    let scope = matcher.scope(&path("out/a")).expect("a walk has to look there");
    assert!(!scope.reads_rules());
    assert_eq!(matcher.membership(&scope, &path("out/a/b"), true), TreeMembership::Out);
    assert!(matcher.scope(&path("out/a/b")).is_none());
}

#[test]
fn an_include_without_a_directory_opens_no_excluded_directory() {
    let rules = [("", GitIgnore, "build/\n.env\n")];
    let matcher = matcher(&[], &[".env"], &rules);
    check(&matcher, &[".env", "app/.env"], &["build/.env"]);
    assert_eq!(matcher.membership(&matcher.root_scope(), &path("build"), true), TreeMembership::Out);
}

#[test]
fn what_is_always_out_cannot_be_put_back() {
    let rules = [("", GitIgnore, "!node_modules\n!.git\n")];
    let matcher = matcher(&[], &["node_modules", ".git/config", "a/x.pyc"], &rules);
    check(&matcher, &["a/evidence", "evidences", ".github/x", ".coveragerc"], &["node_modules/", "a/x.pyc"]);
    check(&matcher, &[], &[".git/config", "a/.git", "a/__pycache__/x.py", ".coverage.host.1", "a/.#b", "#a#", "a~", "a.py~"]);
    check(
        &matcher,
        &["#", "~", ".swp", ".pyc"],
        &[".a.py.swp", "4913", "b/x___jb_tmp___", ".goutputstream-9QX", "pytest-cache-files-egd5ptly"],
    );
}

#[test]
fn every_row_of_the_table_keeps_its_own_example_out_and_no_row_hides_another() {
    for row in ALWAYS_OUT {
        let example = match row.name {
            NameRule::Is(name) => name.to_owned(),
            NameRule::Begins(start) => format!("{start}x"),
            NameRule::Ends(end) => format!("x{end}"),
            NameRule::Between(start, end) => format!("{start}x{end}"),
        };
        let rows = ALWAYS_OUT.iter().filter(|other| other.name.matches(example.as_bytes())).count();
        assert_eq!(rows, 1, "{example}");
        assert!(!is_in(&matcher(&[], &[], &[]), &format!("a/{example}")), "{example}");
        assert!(!row.reason.is_empty());
    }
}

#[test]
fn a_decision_names_the_rule_its_line_and_its_text() {
    let rules = [("src", GitIgnore, "# comment\r\n\r\n*.{a}  \n*.b\n*.b\n!x.b\n")];
    let matcher = matcher(&["first", "secret"], &["out/x"], &rules);
    let rule = |text: &str| matcher.decide(&path(text), false).rule.map(|rule| (rule.line, rule.pattern));
    let of = |line: u32, text: &str| Some((Some(line), text.to_owned()));
    assert_eq!(rule("src/x.{a}"), of(3, "*.{a}"));
    assert_eq!(rule("src/y.b"), of(5, "*.b"));
    assert_eq!(rule("src/x.b"), of(6, "!x.b"));
    assert_eq!(rule("secret/deep/file"), of(2, "secret"));
    assert_eq!(rule("src/x.a"), None);
    assert_eq!(rule("a/.git"), Some((None, ".git".to_owned())));
    let source = matcher.decide(&path("src/y.b"), false).rule.map(|rule| rule.source);
    assert_eq!(source, Some(RuleSource::File { directory: path("src"), file: GitIgnore }));
}

#[test]
fn what_is_out_on_the_way_to_an_include_names_the_rule_that_excluded_it() {
    let matcher = matcher(&[], &["out/a/x"], &[("", GitIgnore, "out\n")]);
    let decision = matcher.decide(&path("out/a/y"), false);
    assert_eq!((decision.verdict, decision.rule.map(|rule| rule.pattern)), (IgnoreVerdict::Out, Some("out".to_owned())));
    let decision = matcher.decide(&path("out/a/x"), false);
    assert_eq!(decision.rule.map(|rule| (rule.source, rule.line)), Some((RuleSource::Include, Some(1))));
}

#[test]
fn rules_can_be_replaced_and_forgotten() {
    let mut matcher = matcher(&[], &[], &[("", GitIgnore, "a\n"), ("d", GitIgnore, "b\n"), ("d-e", GitIgnore, "b\n")]);
    check(&matcher, &[], &["a", "d/b", "d-e/b"]);
    matcher.add_rules(&TreePath::root(), GitIgnore, b"c\n");
    check(&matcher, &["a"], &["c", "d/b"]);
    matcher.forget_rules(&path("d"));
    check(&matcher, &["d/b"], &["d-e/b", "c"]);
    matcher.remove_rules(&TreePath::root(), GitIgnore);
    check(&matcher, &["c"], &["d-e/b"]);
}

#[test]
fn a_rules_file_is_read_as_bytes() {
    let mut matcher = matcher(&[], &[], &[]);
    let text = b"\xef\xbb\xbffirst\ncaf\xe9\n[z-a]\nlast";
    let problems = matcher.add_rules(&TreePath::root(), GitIgnore, text);
    assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [3]);
    assert_eq!(problems[0].to_string().split(':').next(), Some("pattern `[z-a]` of `.gitignore`, line 3"));
    check(&matcher, &[], &["first", "last"]);
    let latin = TreePath::try_from(&b"caf\xe9"[..]).expect("a clean path");
    assert_eq!(matcher.decide(&latin, false).verdict, IgnoreVerdict::Out);
}

#[test]
fn a_setting_that_would_do_nothing_is_refused_with_what_to_write() {
    let settings = MatcherSettings {
        ignore: vec!["!x".to_owned(), " ".to_owned(), "ok".to_owned()],
        include: vec!["#x".to_owned(), "/".to_owned(), "a/[z-b]".to_owned()],
        own_link: None,
        store: None,
        task_list: None,
        selects: Selects::Tree,
        outputs: ShownOutputs::default(),
        inputs: Vec::new(),
    };
    let problems = Matcher::new(&settings).expect_err("nothing of this can be used");
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(
        texts[0].contains("`watch.ignore`, line 1: `!` has no meaning here; write the pattern without it in `watch.include`")
    );
    assert!(texts[1].contains("line 2: it is empty") && texts[2].contains("write `\\#`"), "{texts:?}");
    assert!(texts[3].contains("whole project") && texts[4].contains("`a/[z-b]`"), "{texts:?}");
}

fn a_path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abx]|\\.git|build|a\\.o|node_modules", 1..6).prop_map(|parts| parts.join("/"))
}

fn a_pattern() -> impl Strategy<Value = String> {
    ("(!|)", "(/|)", proptest::collection::vec("[abx*]|\\*\\*|build|\\*\\.o", 1..4), "(/|)")
        .prop_map(|(not, start, parts, end)| format!("{not}{start}{}{end}", parts.join("/")))
}

proptest! {
    #[test]
    fn deciding_about_a_path_is_what_a_walk_that_prunes_finds(
        top in proptest::collection::vec(a_pattern(), 0..4),
        deep in proptest::collection::vec(a_pattern(), 0..4),
        include in proptest::collection::vec(a_pattern(), 0..3),
        text in a_path(),
    ) {
        let include: Vec<&str> = include.iter().map(|pattern| pattern.trim_start_matches('!')).collect();
        let include: Vec<&str> = include.into_iter().filter(|pattern| !pattern.trim_matches('/').is_empty()).collect();
        let (top, deep) = (top.join("\n"), deep.join("\n"));
        let matcher = matcher(&[], &include, &[("", GitIgnore, &top), ("a", GitIgnore, &deep), ("a/build", DotIgnore, &deep)]);
        let mut scope = matcher.root_scope();
        let mut walked = TreePath::root();
        let mut membership = TreeMembership::In;
        let parts: Vec<&str> = text.split('/').collect();
        for (depth, part) in parts.iter().enumerate() {
            walked = walked.join(part.as_bytes());
            membership = matcher.membership(&scope, &walked, depth + 1 < parts.len());
            if !membership.is_walked() {
                break;
            }
            matcher.enter(&mut scope, &walked, membership);
        }
        let expected = if membership.belongs() { IgnoreVerdict::In } else { IgnoreVerdict::Out };
        prop_assert_eq!(matcher.decide(&path(&text), false).verdict, expected);
    }
}
