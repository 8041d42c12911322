//! Stores: many runs, evidence and ledgers that were changed by hand, and what is pruned or archived.

use crate::recording::scenario::{Scenario, Step, everything, file, proctor, scenario, screens, toml};
use crate::recording::tables::CHECKS;

pub(super) fn scenarios() -> Vec<Scenario> {
    let run = || [toml(CHECKS), file("shop.txt", "good\n"), proctor("run")].concat();
    let tamper = |file, from, to| vec![Step::Tamper { task: "default", file, from, to }];
    let tampered = |name: &str, steps: Vec<Step>| scenario(name, [run(), steps, everything(), screens(), proctor("run")]);
    vec![
        tampered("stores/changed log", tamper("STEP.2-terminal-output.log", "good", "evil")),
        tampered("stores/changed report", tamper("execution-report.json", "\"PASSED\"", "\"FAILED\"")),
        tampered("stores/changed manifest", tamper("SHA256SUMS", "STEP.2", "STEP.9")),
        tampered("stores/changed signature", tamper("execution-report.json.sig", "U1NIU0lH", "U1NIU0lI")),
        tampered("stores/changed ledger", vec![Step::TamperLedger { from: "\"PASSED\"", to: "\"FAILED\"" }]),
        scenario(
            "stores/many runs",
            [
                run(),
                file("shop.txt", "bad\n"),
                proctor("run"),
                file("shop.txt", "good again\n"),
                proctor("run --json"),
                file("shop.txt", "bad\n"),
                proctor("run --failures none"),
                everything(),
                proctor("show 2"),
                proctor("show 1 --json"),
                proctor("show --log there"),
                proctor("log --limit 2"),
                proctor("log --failed --json"),
                proctor("log --task default"),
                proctor("verify 3"),
                proctor("verify default --json"),
                proctor("history diff 1"),
                proctor("history flaky --json"),
                proctor("service list"),
            ],
        ),
        scenario(
            "stores/pruned",
            [
                toml(format!("{CHECKS}\n[evidence]\nkeep_runs = 1\n")),
                file("shop.txt", "good\n"),
                proctor("run"),
                proctor("run"),
                proctor("run"),
                proctor("prune"),
                everything(),
                proctor("show 1"),
            ],
        ),
    ]
}
