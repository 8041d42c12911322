//! Settings of every section: how commands end, what is ignored, what is wrong, and what has to be approved.

use crate::recording::scenario::{Scenario, Step, everything, file, latest, play, proctor, scenario, screens, toml};
use crate::recording::tables::CHECKS;

pub(super) fn scenarios() -> Vec<Scenario> {
    let checks = |name: &str, settings: &str| scenario(name, [toml(settings), proctor("run"), everything()]);
    vec![
        checks("ends/exit codes", EXIT_CODES),
        checks("ends/missing program", "[[check]]\nname = \"lost\"\ncommand = [\"no-such-program\", \"--all\"]\n"),
        checks(
            "ends/time limit",
            "[[check]]\nname = \"slow\"\ncommand = [\"sleep\", \"60\"]\ntimeout = \"300ms\"\ngrace = \"2s\"\n",
        ),
        checks("ends/silence", "[[check]]\nname = \"silent\"\ncommand = [\"sleep\", \"60\"]\nidle_timeout = \"300ms\"\n"),
        checks(
            "ends/too much output",
            "[[check]]\nname = \"loud\"\ncommand = [\"fake-tool\", \"--stdout-bytes\", \"100000\"]\nmax_output = \"4KiB\"\n",
        ),
        checks(
            "ends/signal",
            "[[check]]\nname = \"killed\"\ncommand = [\"fake-tool\", \"--stdout\", \"here\\n\", \"--kill-self\", \"9\"]\n",
        ),
        checks("phases/all pass", PHASES),
        checks(
            "phases/prerequisite fails",
            &PHASES.replace("[\"true\"]", "[\"false\"]").replace("[\"echo\", \"ready\"]", "[\"false\"]"),
        ),
        checks("phases/after and retries", AFTER),
        checks("run/in the project", &format!("[sandbox]\nsnapshot = \"off\"\n\n{}", EXIT_CODES)),
        checks("run/without isolation", &format!("[sandbox]\nmode = \"off\"\n\n{}", EXIT_CODES)),
        scenario(
            "policies",
            [
                play("lint/eslint", "eslint/10.15.0/warnings.txt"),
                play("types/tsc", "tsc/5.9.3/findings.txt"),
                toml(POLICIES),
                proctor("run"),
                everything(),
            ],
        ),
        scenario(
            "tree/ignored files",
            [
                toml(format!("{CHECKS}\n[watch]\nignore = [\"*.tmp\"]\ninclude = [\"kept.log\"]\n")),
                file("shop.txt", "good\n"),
                file(".gitignore", "*.log\n/build/\n!important.log\n"),
                file("sub/.gitignore", "*.txt\n!not.txt\n"),
                file("kept.log", "a\n"),
                file("x.log", "a\n"),
                file("important.log", "a\n"),
                file("sub/a.txt", "a\n"),
                file("sub/not.txt", "a\n"),
                file("build/out.bin", "a\n"),
                file("a.tmp", "a\n"),
                proctor("run"),
                proctor("generate tree"),
                ["kept.log", "x.log", "important.log", "sub/a.txt", "sub/not.txt", "build/out.bin", "a.tmp", "nowhere.txt"]
                    .iter()
                    .flat_map(|path| [proctor(&format!("why {path}")), proctor(&format!("why {path} --json"))].concat())
                    .collect(),
                file("x.log", "b\n"),
                proctor("status"),
                file("sub/not.txt", "b\n"),
                everything(),
                screens(),
            ],
        ),
        scenario(
            "reuse",
            [
                toml(format!("[run]\nreuse = \"always\"\n\n{CHECKS}")),
                file("shop.txt", "good\n"),
                proctor("run"),
                proctor("run"),
                everything(),
                proctor("run --check good --json"),
            ],
        ),
        wrong("wrong/unknown keys", "[watch]\nqiet = \"20ms\"\n\n[polcy]\n"),
        wrong(
            "wrong/values",
            "[[check]]\nname = \"a\"\ncommand = \"make test | tail\"\ntimeout = true\n\n[[check]]\nname = \"a\"\ncommand = []\n",
        ),
        wrong("wrong/no toml", "[[check]]\nname = \"a\ncommand = \"true\"\n"),
        wrong(
            "wrong/bounds",
            "[defaults]\ntimeout = \"1ms\"\n\n[sandbox]\nmemory = \"1KiB\"\n\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\nafter = [\"b\"]\n",
        ),
        scenario(
            "wrong/arguments",
            [
                toml(CHECKS),
                proctor("run --check nowhere"),
                proctor("run --task nowhere"),
                proctor("run --colour"),
                proctor("show"),
                proctor("show 99"),
                proctor("show --json"),
                proctor("show --log good"),
                proctor("verify nowhere"),
                proctor("log --since yesterday"),
                proctor("why"),
                proctor("gate --policy-from nowhere.toml"),
                proctor("check nowhere.json"),
                proctor("status --project nowhere"),
                proctor("status --project nowhere --json"),
            ],
        ),
        scenario(
            "approval/first run opens the machine",
            [
                vec![Step::AllowNothing],
                toml(format!("[sandbox]\nmode = \"off\"\n\n[environment]\npass_environment = [\"DATABASE\"]\n\n{CHECKS}")),
                file("shop.txt", "good\n"),
                proctor("run"),
                proctor("approve"),
                proctor("approve --list"),
                everything(),
            ],
        ),
        scenario(
            "approval/weaker plan",
            [
                toml(CHECKS),
                file("shop.txt", "good\n"),
                proctor("run"),
                toml(
                    CHECKS
                        .replace("\"-q\", \"good\"", "\"-q\", \"\"")
                        .replace("name = \"there\"", "name = \"here\"\ntimeout = \"1h\""),
                ),
                proctor("run"),
                proctor("run --json"),
                everything(),
                proctor("approve"),
                proctor("approve --print"),
                screens(),
                toml(CHECKS),
                proctor("run"),
                latest(),
            ],
        ),
        scenario(
            "approval/protected files",
            [
                toml(format!("{CHECKS}\n[approval]\nprotect = [\"tests/**\"]\non_protected_change = \"human-review\"\n")),
                file("shop.txt", "good\n"),
                file("tests/a.txt", "a\n"),
                proctor("run"),
                file("tests/a.txt", "b\n"),
                proctor("run"),
                everything(),
                proctor("approve"),
            ],
        ),
    ]
}

fn wrong(name: &str, settings: &str) -> Scenario {
    scenario(name, [toml(settings), proctor("run"), proctor("run --json"), everything()])
}

const EXIT_CODES: &str = "[run]\nparallel = false\n\n[[check]]\nname = \"zero\"\ncommand = [\"true\"]\n\n\
    [[check]]\nname = \"one\"\ncommand = [\"fake-tool\", \"--stdout\", \"a line\\nand another\\n\", \"--stderr\", \"an error\\n\", \"--exit\", \"1\"]\n\n\
    [[check]]\nname = \"accepted\"\ncommand = [\"fake-tool\", \"--exit\", \"3\"]\nexpected_exit_codes = [0, 3]\n\n\
    [[check]]\nname = \"script\"\nshell = true\ncommand = \"false | cat && echo never\"\n\n\
    [[check]]\nname = \"bytes\"\ncommand = [\"fake-tool\", \"--raw-bytes\", \"ff00411b5b33316d\", \"--exit\", \"2\"]\n";

const PHASES: &str = "[[prerequisite]]\nname = \"once\"\ncommand = [\"true\"]\n\n\
    [[prerequisite]]\nname = \"prepares\"\ncommand = [\"echo\", \"ready\"]\nwhen_changed = [\"proctor.toml\"]\n\n\
    [[check]]\nname = \"checks\"\ncommand = [\"echo\", \"checked\"]\nenvironment = { SHOP = \"open\" }\n\n\
    [[cleanup]]\nname = \"cleans\"\ncommand = [\"echo\", \"cleaned\"]\n\n\
    [[cleanup]]\nname = \"fails to clean\"\ncommand = [\"false\"]\n";

const AFTER: &str = "[run]\nparallel = false\n\n[[check]]\nname = \"first\"\ncommand = [\"false\"]\nretries = 2\n\n\
    [[check]]\nname = \"second\"\ncommand = [\"true\"]\nafter = [\"first\"]\n\n\
    [[check]]\nname = \"third\"\ncommand = [\"true\"]\n";

const POLICIES: &str = "[run]\nparallel = false\n\n\
    [[check]]\nname = \"counted\"\ncommand = [\"lint/eslint\", \"warn.js\"]\npolicy = { max_warnings = 0 }\n\n\
    [[check]]\nname = \"as errors\"\ncommand = [\"lint/eslint\", \"warn.js\"]\npolicy = { treat_warnings_as_errors = true }\n\n\
    [[check]]\nname = \"types\"\ncommand = [\"types/tsc\", \"--noEmit\"]\n\n\
    [policy]\nlinting = \"warn-only\"\n\n[policy.tsc]\nblock_on = \"never\"\n";
