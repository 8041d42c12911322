//! `proctor watch` through the program: people and tools change a project while it is watched, and the tests check what
//! the watch does.

mod approvals;
mod copied_files;
mod ending;
mod real_tools;
mod reuse;
mod runs;
mod storms;
mod tasks;
mod terminal;
mod triggers;

use std::fs;
use std::time::Duration;

use proctor_model::Timestamp;
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings, OwnLink, Selects, ShownOutputs};
use serde_json::Value;

use crate::common::{Project, WRITES_TO_SHARED, Watch, poll};

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);

/// How long a test looks for something that must not happen: longer than collecting the saves of one burst, a repetition
/// and a run together.
const A_WHILE: Duration = Duration::from_millis(1500);

/// A check that records its start, waits while the file `hold` exists, and succeeds if `state.txt` contains `ok`.
const CHECK: &str =
    "#!/bin/sh\necho check >> \"../shared/steps\"\nwhile [ -e \"../shared/hold\" ]; do sleep 0.01; done\ngrep -q ok state.txt\n";

/// A project with [`CHECK`] as its only check. `settings` are put last in `proctor.toml`.
#[track_caller]
fn project(settings: &str) -> Project {
    let check = "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n";
    Project::new().toml(&format!("{WRITES_TO_SHARED}{check}{settings}")).file("check.sh", CHECK).file("state.txt", "ok\n")
}

/// Makes every check that begins from now on wait until [`release`].
fn hold(project: &Project) {
    fs::write(project.shared("hold"), "").expect("the directory is ours");
}

/// Lets the waiting checks end.
fn release(project: &Project) {
    fs::remove_file(project.shared("hold")).expect("they were held");
}

/// Returns the lines that the actions have recorded, in order.
fn steps(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.shared("steps")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Waits until `count` steps are recorded, and returns all recorded steps.
#[track_caller]
fn wait_for_steps(project: &Project, count: usize) -> Vec<String> {
    poll(LATE, "the steps", || {
        let steps = steps(project);
        if steps.len() >= count { Ok(steps) } else { Err(format!("{steps:?}")) }
    })
}

/// Returns the digest of the tree as it is on disk now.
#[track_caller]
fn tree_digest(project: &Project) -> String {
    let settings = MatcherSettings {
        ignore: Vec::new(),
        include: Vec::new(),
        own_link: Some(OwnLink { leads_into: project.root().join("state/proctor/evidence") }),
        store: None,
        task_list: None,
        selects: Selects::Tree,
        outputs: ShownOutputs::default(),
        inputs: Vec::new(),
    };
    let matcher = Matcher::new(&settings).expect("no pattern is wrong");
    let index = TreeIndex::scan(&project.path(), &matcher, Timestamp::from_millis(0)).expect("the tree can be read");
    index.digest().to_string()
}

/// Waits for a verdict on the tree as it is now, and returns the ledger's entry for that run.
#[track_caller]
fn wait_for_verdict_on_the_tree(project: &Project, watch: &mut Watch<'_>) -> Value {
    let digest = tree_digest(project);
    poll(LATE, "a verdict on the newest tree", || {
        let verdict = project.store().committed_runs().into_iter().rev().find(|run| run["overallResult"].is_string());
        verdict.filter(|run| run["treeDigest"] == digest.as_str()).ok_or_else(|| watch.text())
    })
}

/// Waits until the watch prints that it waits for changes.
#[track_caller]
fn wait_until_it_watches(watch: &mut Watch<'_>) {
    watch.wait_for_line("idleness", LATE, |line| line.starts_with("watching"));
}

fn status_of(run: &Value) -> &str {
    run["overallStatus"].as_str().unwrap_or_default()
}

/// Returns the report of a run in the ledger. `latest` leads to the run only a moment after its ledger line is written,
/// so the run's own directory is read.
#[track_caller]
fn report_of(project: &Project, run: &Value) -> Value {
    let id = project.store().project_ids().pop().expect("the project is registered");
    let runs = project.root().join("state/proctor/evidence").join(id).join("default/runs");
    let path = runs.join(run["runId"].as_str().expect("an id")).join("execution-report.json");
    serde_json::from_slice(&fs::read(path).expect("a committed run has a report")).expect("a report is JSON")
}

fn run_directories(project: &Project) -> Vec<String> {
    let id = project.store().project_ids().pop().expect("the project is registered");
    let runs = project.root().join("state/proctor/evidence").join(id).join("default/runs");
    let mut names: Vec<_> = fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns the bodies of all lines of the ledger that have this kind.
fn lines_of(project: &Project, kind: &str) -> Vec<Value> {
    let bodies = project.store().ledger().into_iter().map(|mut line| line["body"].take());
    bodies.filter(|body| body["kind"] == kind).collect()
}

/// Expects that no line is added to the ledger for a while.
#[track_caller]
fn expect_no_further_run(project: &Project) {
    let before = project.store().ledger().len();
    let begun = std::time::Instant::now();
    while begun.elapsed() < A_WHILE {
        assert_eq!(project.store().ledger().len(), before, "nothing was to run");
        std::thread::sleep(Duration::from_millis(20));
    }
}
