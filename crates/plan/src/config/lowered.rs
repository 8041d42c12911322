//! Compares the configuration of a commit with that of a trusted commit: what the commit asks less for, or asks in another way.

use crate::config::judged::{judged_settings, weaker_when};
use crate::config::settings::{ActionSettings, Check, Configuration, Prerequisite};
use proctor_model::{NetworkAccess, ProtectionMode};

/// Returns the names of the settings, checks and prerequisites with which `commit` may be easier to prove than with `trusted`, sorted.
/// Settings that are stricter are not among them, nor are further checks, unless they work in the project itself: like prerequisites,
/// services and clean-ups, those can change what every other check reads.
pub fn lowered(trusted: &Configuration, commit: &Configuration) -> Vec<String> {
    let mut names = Vec::new();
    let (before, now) = (judged_settings(trusted).values, judged_settings(commit).values);
    // The plan does not hold what the gate asks for, so any other wording of it is a matter for the trusted side.
    let is_lowered = |key: &String| match (before.get(key), now.get(key), weaker_when(key)) {
        (Some(before), Some(now), Some(when)) if !key.starts_with("gate.") => when.is_weaker(before, now),
        (before, now, _) => before != now,
    };
    names.extend(before.keys().filter(|key| is_lowered(key)).cloned());
    // Checks that proctor finds by itself, and written ones, cannot be compared.
    match (trusted.checks.is_empty(), commit.checks.is_empty()) {
        (true, false) => names.push("the checks are written, and the trusted commit has them found".to_owned()),
        (false, true) => names.push("the checks are found, and the trusted commit has them written".to_owned()),
        (true, true) | (false, false) => {}
    }
    for check in &trusted.checks {
        let network = |check: &Check, all: &Configuration| check.action.network.unwrap_or(all.sandbox.network);
        let is_as_strict = |other: &Check| network(other, commit) <= network(check, trusted);
        if !commit.checks.iter().any(|other| plain_check(other) == plain_check(check) && is_as_strict(other)) {
            names.push(format!("check `{}`", check.action.name.value));
        }
    }
    for prerequisite in &trusted.prerequisites {
        let network = |one: &Prerequisite, all: &Configuration| {
            one.action.network.unwrap_or(if one.service.is_some() { all.sandbox.network } else { NetworkAccess::Open })
        };
        let is_kept = |other: &Prerequisite| {
            plain_prerequisite(other) == plain_prerequisite(prerequisite)
                && network(other, commit) <= network(prerequisite, trusted)
        };
        if !commit.prerequisites.iter().any(is_kept) {
            names.push(format!("prerequisite `{}`", prerequisite.action.name.value));
        }
    }
    names.extend(new_work_in_project(trusted, commit));
    let others = [
        ("sandbox.network", commit.sandbox.network > trusted.sandbox.network),
        ("policy", trusted.policy != commit.policy),
        ("approval", trusted.approval != commit.approval),
        ("defaults", trusted.defaults != commit.defaults),
        ("tasks.file", trusted.tasks != commit.tasks),
        // These values fill the commands of test specifications, so a command can differ where the specification is the same.
        ("specification.values", trusted.specification.values != commit.specification.values),
        ("evidence.link", trusted.evidence.link != commit.evidence.link),
    ];
    names.extend(others.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()));
    names.sort();
    names.dedup();
    names
}

/// Returns the prerequisites, services, clean-ups and checks of the commit that work in the project, or have files copied to it, and that
/// the trusted side does not have like that. Other wordings of what it has by the same name are among the lowered ones already.
fn new_work_in_project(trusted: &Configuration, commit: &Configuration) -> Vec<String> {
    let name = |action: &ActionSettings| action.name.value.clone();
    let mut names = Vec::new();
    for prerequisite in &commit.prerequisites {
        if !trusted.prerequisites.iter().any(|other| name(&other.action) == name(&prerequisite.action)) {
            let what = if prerequisite.service.is_some() { "service" } else { "prerequisite" };
            names.push(format!("a new {what} `{}`", name(&prerequisite.action)));
        }
    }
    for cleanup in &commit.cleanup {
        match trusted.cleanup.iter().find(|other| name(other) == name(cleanup)) {
            None => names.push(format!("a new clean-up `{}`", name(cleanup))),
            Some(other) if plain_action(other) != plain_action(cleanup) => names.push(format!("clean-up `{}`", name(cleanup))),
            Some(_) => {}
        }
    }
    for check in &commit.checks {
        let is_new = !trusted.checks.iter().any(|other| name(&other.action) == name(&check.action));
        let works_there = check.in_place || commit.sandbox.snapshot == ProtectionMode::Off;
        if is_new && works_there {
            names.push(format!("a new check `{}`, which works in the project itself", name(&check.action)));
        } else if is_new && !check.writes.is_empty() {
            names.push(format!("a new check `{}`, of which files are copied to the project", name(&check.action)));
        }
    }
    names
}

/// Returns the check without its place in the file, and without its network, of which only a wider one asks less.
fn plain_check(check: &Check) -> Check {
    Check { action: plain_action(&check.action), ..check.clone() }
}

fn plain_prerequisite(prerequisite: &Prerequisite) -> Prerequisite {
    Prerequisite { action: plain_action(&prerequisite.action), ..prerequisite.clone() }
}

fn plain_action(action: &ActionSettings) -> ActionSettings {
    ActionSettings { key_path: String::new(), network: None, ..action.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    const TRUSTED: &str = "[[check]]\nname = \"a\"\ncommand = [\"true\"]\n[[check]]\nname = \"b\"\ncommand = [\"make\", \"b\"]\n\
        timeout = \"5m\"\n[sandbox]\nmode = \"require\"\n";

    fn names(change: impl Fn(&str) -> String) -> Vec<String> {
        let read = |text: &str| read(text, "proctor.toml").expect("a right text");
        lowered(&read(TRUSTED), &read(&change(TRUSTED)))
    }

    #[test]
    fn what_a_commit_asks_less_for_is_named() {
        for (from, to, expected) in [
            ("[\"make\", \"b\"]", "[\"true\"]", &["check `b`"][..]),
            ("\"5m\"", "\"1h\"", &["check `b`"]),
            ("\"require\"", "\"auto\"", &["sandbox.mode"]),
            ("[sandbox]", "[gate]\nchecks = [\"a\"]\n[sandbox]", &["gate.checks"]),
            ("[sandbox]", "[sandbox]\nnetwork = \"loopback\"", &[]),
            ("timeout", "network = \"off\"\ntimeout", &[]),
            ("[sandbox]", "[policy]\nlinting = \"never\"\n[sandbox]", &["policy"]),
            ("[sandbox]", "[specification.values]\nFLAGS = \"--collect-only\"\n[sandbox]", &["specification.values"]),
            ("[sandbox]", "[tasks]\nfile = \"notes/other.md\"\n[sandbox]", &["tasks.file"]),
        ] {
            assert_eq!(names(|text| text.replace(from, to)), expected, "{to}");
        }
        let closed = TRUSTED.replace("[sandbox]", "[sandbox]\nnetwork = \"off\"");
        let read = |text: &str| read(text, "proctor.toml").expect("a right text");
        assert_eq!(lowered(&read(&closed), &read(TRUSTED)), ["check `a`", "check `b`", "sandbox.network"]);
        let one = closed.replace("timeout", "network = \"loopback\"\ntimeout");
        assert_eq!(lowered(&read(&closed), &read(&one)), ["check `b`"]);
        assert_eq!(
            names(|_| String::new()),
            ["check `a`", "check `b`", "sandbox.mode", "the checks are found, and the trusted commit has them written"]
        );
        let written = lowered(&read(""), &read("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n"));
        assert_eq!(written, ["the checks are written, and the trusted commit has them found"]);
    }

    #[test]
    fn what_works_in_the_project_is_named_where_it_is_new() {
        let prerequisite = "[[prerequisite]]\nname = \"p\"\ncommand = [\"make\", \"p\"]\n";
        let cleanup = "[[cleanup]]\nname = \"c\"\ncommand = [\"make\", \"c\"]\n";
        let check = "[[check]]\nname = \"d\"\ncommand = [\"make\", \"d\"]\n";
        for (added, expected) in [
            (prerequisite.to_owned(), "a new prerequisite `p`"),
            (format!("{prerequisite}service = true\nready = {{ port = 4173 }}\n"), "a new service `p`"),
            (cleanup.to_owned(), "a new clean-up `c`"),
            (format!("{check}snapshot = \"off\"\n"), "a new check `d`, which works in the project itself"),
            (format!("{check}writes = [\"d/**\"]\n"), "a new check `d`, of which files are copied to the project"),
        ] {
            assert_eq!(names(|text| format!("{added}{text}")), [expected], "{added}");
        }
        let read = |text: &str| read(text, "proctor.toml").expect("a right text");
        assert_eq!(lowered(&read(cleanup), &read(&cleanup.replace("\"c\"]", "\"d\"]"))), ["clean-up `c`"]);
        assert_eq!(
            lowered(&read(&format!("{prerequisite}{cleanup}")), &read(&format!("{cleanup}{prerequisite}"))),
            Vec::<String>::new()
        );
        let in_place = "[sandbox]\nsnapshot = \"off\"\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\n";
        assert_eq!(
            lowered(&read(in_place), &read(&format!("{in_place}{check}"))),
            ["a new check `d`, which works in the project itself"]
        );
    }

    #[test]
    fn a_further_check_another_order_and_comments_lower_nothing() {
        let further = "[[check]]\nname = \"c\"\ncommand = [\"false\"]\n";
        assert_eq!(names(|text| format!("# why\n{further}{text}")), Vec::<String>::new());
        assert_eq!(names(str::to_owned), Vec::<String>::new());
    }
}
