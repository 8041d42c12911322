//! Tests which differences between two plans are named, which are free, and which are asked for first.

use super::*;
use crate::config::read;
use crate::spec::{DiskFiles, plan, plan_terms};

const CHECKS: &str = "[[check]]\nname = \"unit\"\ncommand = [\"pytest\", \"tests\"]\ntimeout = \"1m\"\n\
                      [[check]]\nname = \"lint\"\ncommand = [\"ruff\", \"check\"]\n";

fn terms(text: &str) -> PlanTerms {
    let configuration = read(text, "proctor.toml").unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    let root = tempfile::tempdir().expect("a directory");
    plan_terms(
        &plan(&configuration, &DiskFiles::new(root.path()), "shop").unwrap_or_else(|problems| panic!("{text}: {problems:?}")),
    )
}

fn difference(before: &str, now: &str) -> (Vec<String>, Vec<String>) {
    let found = compare_terms(&terms(before), &terms(now));
    (RuleChange::in_short(&found.opens), RuleChange::in_short(&found.changed))
}

#[test]
fn what_differs_is_named_by_check_and_field_whichever_is_stricter() {
    for (old, new, expected) in [
        ("\"pytest\", \"tests\"", "\"pytest\", \"-q\", \"tests\"", "unit: command"),
        ("\"1m\"", "\"59s\"", "unit: timeout"),
        ("\"1m\"", "\"61s\"", "unit: timeout"),
        ("timeout", "retries = 1\ntimeout", "unit: retries"),
        ("timeout", "shards = \"cores\"\ntimeout", "unit: shards"),
        ("timeout", "idle_timeout = \"1m\"\ntimeout", "unit: idle_timeout"),
        ("timeout", "reuse = \"always\"\ntimeout", "unit: reuse"),
        ("timeout", "after = [\"lint\"]\ntimeout", "unit: after"),
        ("timeout", "environment = { A = \"secret\" }\ntimeout", "unit: environment.A"),
        ("\"unit\"", "\"other\"", "unit: removed"),
    ] {
        let now = CHECKS.replace(old, new);
        assert_eq!(difference(CHECKS, &now), (Vec::new(), vec![expected.to_owned()]), "{new}");
    }
    let found = compare_terms(&terms(CHECKS), &terms(&CHECKS.replace("timeout", "environment = { A = \"secret\" }\ntimeout")));
    assert!(!found.texts().join(" ").contains("secret"), "{found:?}");
}

#[test]
fn a_change_behind_the_recorded_beginning_of_a_command_is_said_to_be_there() {
    let with = |end: &str| CHECKS.replace("\"tests\"", &format!("\"{}\", \"{end}\"", "x".repeat(200)));
    let found = compare_terms(&terms(&with("a")), &terms(&with("b"))).texts().join(" ");
    assert!(found.contains("x… differs in what is not shown here: `proctor plan` prints it whole"), "{found}");
    let found = compare_terms(&terms(CHECKS), &terms(&with("b"))).texts().join(" ");
    assert!(found.contains("x… instead of ") && !found.ends_with('…'), "{found}");
}

#[test]
fn comments_order_and_further_checks_are_free() {
    let (unit, lint) = CHECKS.split_once("[[check]]\nname = \"lint\"").expect("both");
    let lint = format!("[[check]]\nname = \"lint\"{lint}");
    let further = "[[check]]\nname = \"new\"\ncommand = [\"false\"]\nenvironment = { A = \"b\" }\n";
    let saves = CHECKS.replacen("timeout", "paths = [\"a\"]\nreuse = \"own\"\ntimeout", 1);
    for now in
        [format!("# why\n{CHECKS}"), format!("{lint}{unit}"), format!("{further}{CHECKS}"), format!("{CHECKS}{further}"), saves]
    {
        assert_eq!(difference(CHECKS, &now), (Vec::new(), Vec::new()), "{now}");
    }
}

#[test]
fn a_wider_network_is_asked_for_first_and_a_narrower_one_is_free() {
    let sandbox = |word: &str| format!("{CHECKS}[sandbox]\nnetwork = \"{word}\"\n");
    let service = |word: &str| {
        let service = "[[prerequisite]]\nname = \"serve\"\ncommand = \"serve\"\nservice = true\nready = { port = 1 }\n";
        format!("{service}{}", sandbox(word))
    };
    let none = || (Vec::new(), Vec::new());
    for (before, now) in [("open", "loopback"), ("open", "off"), ("loopback", "off")] {
        assert_eq!(difference(&sandbox(before), &sandbox(now)), none(), "{before} {now}");
        let wider = vec!["unit: network".to_owned(), "lint: network".to_owned()];
        assert_eq!(difference(&sandbox(now), &sandbox(before)), (wider, Vec::new()), "{now} {before}");
    }
    assert_eq!(difference(&service("open"), &service("loopback")), none());
    assert_eq!(difference(CHECKS, &sandbox("open")), none());
    let of_one = |word: &str| sandbox("loopback").replacen("timeout", &format!("network = \"{word}\"\ntimeout"), 1);
    assert_eq!(difference(&sandbox("loopback"), &of_one("open")), (vec!["unit: network".to_owned()], Vec::new()));
    assert_eq!(difference(&sandbox("loopback"), &of_one("off")), none());
    // A check that comes with a wider network than every check before.
    let further =
        |word: &str| format!("[[check]]\nname = \"e2e\"\ncommand = [\"e2e\"]\nnetwork = \"{word}\"\n{}", sandbox("loopback"));
    assert_eq!(difference(&sandbox("loopback"), &further("open")), (vec!["e2e: added".to_owned()], Vec::new()));
    assert_eq!(difference(&sandbox("loopback"), &further("loopback")), none());
    assert_eq!(difference(&of_one("open"), &further("open")).0, Vec::<String>::new());
}

#[test]
fn what_later_runs_use_is_asked_for_first() {
    let install = "[[prerequisite]]\nname = \"install\"\ncommand = [\"npm\", \"ci\"]\n";
    let cleanup = "[[cleanup]]\nname = \"down\"\ncommand = [\"make\", \"down\"]\n";
    let opens = |before: &str, now: &str| difference(before, now).0;
    assert_eq!(opens(CHECKS, &format!("{install}{CHECKS}")), ["install: added"]);
    assert_eq!(opens(&format!("{install}{CHECKS}"), &format!("{install}{CHECKS}").replace("ci", "i")), ["install: command"]);
    assert_eq!(opens(CHECKS, &format!("{cleanup}{CHECKS}")), ["down: added"]);
    let writes = "[[check]]\nname = \"new\"\ncommand = [\"make\"]\nwrites = [\"out/**\"]\n";
    assert_eq!(opens(CHECKS, &format!("{CHECKS}{writes}")), ["new: added"]);
    assert_eq!(opens(CHECKS, &CHECKS.replace("timeout", "writes = [\"out/**\"]\ntimeout")), ["unit: writes"]);
    assert_eq!(opens(CHECKS, &CHECKS.replace("timeout", "snapshot = \"off\"\ntimeout")), ["unit: snapshot"]);
    // A limit of a prerequisite is a limit like any other, and without it nothing new is done.
    let shorter = format!("{install}timeout = \"1m\"\n{CHECKS}");
    assert_eq!(difference(&format!("{install}{CHECKS}"), &shorter), (Vec::new(), vec!["install: timeout".to_owned()]));
    assert_eq!(difference(&shorter, CHECKS), (Vec::new(), vec!["install: removed".to_owned()]));
}

#[test]
fn an_approval_that_did_not_record_what_a_check_waits_for_is_not_compared_in_that() {
    let now = terms(&CHECKS.replace("timeout", "after = [\"lint\"]\ntimeout"));
    let mut before = now.clone();
    before.actions.values_mut().for_each(|action| action.after = None);
    assert!(compare_terms(&before, &now).is_empty());
}
