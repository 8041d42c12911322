//! Lets every operation by which a command changes the store fail, and kills the command at each of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use proctor_evidence::DurableStep;
use serde_json::Value;

use crate::common::{Extent, KeptEvidence, Output, Project, fake_tool, poll, processes_of, production_lines, source_files};

pub(super) const BOUND: Duration = Duration::from_secs(60);
/// The exit status of a command that was killed, as a shell reports it.
pub(super) const KILLED: i32 = 137;
/// The exit status of a command in which proctor itself failed.
const OWN_FAULT: i32 = 70;
/// The exit status of a command that found the disk full.
const FULL_DISK: i32 = 5;
/// How many operations fail in one project before a new project is used: each verification reads all earlier runs, so old projects are slow.
const MISHAPS_OF_A_PROJECT: usize = 10;
/// Outside of the long tier, every 180th operation goes wrong.
pub(super) const SAMPLE: Extent = Extent::OneIn(180);
/// In the long tier, every fourth operation goes wrong; in the wide tier, each one.
const LONG: Extent = Extent::OneIn(4);
/// The beginning of the line that records a finished durable step.
const DONE: &str = "done ";
/// How records name one of the 256 directories of a git repository's objects. An operation on a new one is left out where two objects
/// happen to share it.
const FAN: &str = "/<fan>";

/// The files that may change the disk directly: the one that defines the operations, the one that records them, and two for tests only.
const MAY_CHANGE: &[&str] = &[
    "crates/evidence/src/attestation/vectors.rs",
    "crates/evidence/src/changes.rs",
    "crates/evidence/src/failure_injection/planned.rs",
    "crates/evidence/src/testing.rs",
];
/// Calls that change something on disk. Other files must not contain them.
const CHANGES: &[&str] = &[
    "DirBuilder",
    "File::create",
    "OpenOptions::new().write",
    "OpenOptions::new().append",
    ".create(true)",
    ".create_new(true)",
    ".set_len(",
    ".set_permissions(",
    ".sync_all()",
    ".sync_data()",
    ".write_all(",
    ".write_all_at(",
    "fs::copy",
    "fs::create_dir",
    "fs::hard_link",
    "fs::remove_",
    "fs::rename",
    "fs::set_permissions",
    "fs::write",
    "renameat",
    " symlink(",
    "::symlink(",
    "unlink",
];

/// How an operation goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The program is killed at the operation. If it is a write, half of it is done.
    Dies,
    /// The operation fails with this error. If it is a write, half of it is done.
    Fails(&'static str),
}

/// A command, and the state of the project in which it is run.
pub(super) struct Scenario {
    pub(super) command: &'static [&'static str],
    /// Brings the project into the state in which the command is run. It may be called several times for the same
    /// project.
    pub(super) prepare: fn(&Project),
    /// Whether each attempt needs a new project that proctor does not know yet.
    pub(super) is_first: bool,
    /// Whether the command is a run that first does something else, such as registering the project. Then only the
    /// operations that a plain run does not have go wrong.
    pub(super) goes_on_as_a_run: bool,
}

const FIRST_RUN: Scenario = Scenario { command: &["run"], prepare: |_| (), is_first: true, goes_on_as_a_run: true };
const NEXT_RUN: Scenario = Scenario { command: &["run"], prepare: |_| (), is_first: false, goes_on_as_a_run: false };
/// A run after a run that was killed when all its files were written, but not yet its line in the ledger.
const RUN_AFTER_A_KILLED_ONE: Scenario = Scenario {
    command: &["run"],
    prepare: |project| die_after(project, DurableStep::DirectorySynced),
    is_first: false,
    goes_on_as_a_run: true,
};
/// A run after a run that was killed immediately after its line in the ledger was written.
const RUN_AFTER_A_COMMITTED_ONE: Scenario = Scenario {
    command: &["run"],
    prepare: |project| die_after(project, DurableStep::LedgerCommitted),
    is_first: false,
    goes_on_as_a_run: true,
};
const ROTATION: Scenario = Scenario { command: &["key", "rotate"], prepare: |_| (), is_first: false, goes_on_as_a_run: false };
const START_OF_A_CYCLE: Scenario = Scenario {
    command: &["tdd", "start"],
    prepare: |project| drop(project.proctor(["tdd", "reset"]).any_status()),
    is_first: false,
    goes_on_as_a_run: false,
};

/// A pruning in a project that has one run more than its settings keep.
const PRUNING: Scenario = Scenario {
    command: &["prune"],
    prepare: |project| {
        project.save("proctor.toml", &format!("{}[evidence]\nkeep_runs = 1\n", check()));
        // The lower limit needs an approval once. In later preparations it is approved already.
        if project.proctor(["run"]).any_status().status == 3 {
            project.approve();
        }
        (0..2).for_each(|_| drop(project.proctor(["run"]).success()));
        // After every 16th run proctor prunes by itself.
        if project.proctor(["prune", "--dry-run"]).success().stdout.starts_with("0 runs") {
            project.proctor(["run"]).success();
        }
        // A pruning writes the reserve of the store where it is missing.
        drop(fs::remove_file(project.root().join("state/proctor/reserve")));
    },
    is_first: false,
    goes_on_as_a_run: false,
};

/// A run after a pruning that was killed while it removed a run's directory.
const RUN_AFTER_A_KILLED_PRUNING: Scenario = Scenario {
    command: &["run"],
    prepare: |project| {
        (PRUNING.prepare)(project);
        let place = "remove <run>/execution-report.json 1";
        let (was_reached, killed) = let_go_wrong(project, &["prune"], Wrong::Dies, place);
        assert!(was_reached, "a pruning never came to `{place}`: {}", killed.snapshot());
        assert_eq!(killed.status, KILLED, "{}", killed.snapshot());
        let begun = project.proctor(["verify", "--json"]).success().json()["unfinished"][0]["kind"].clone();
        assert_eq!(begun, "pruning");
    },
    is_first: false,
    goes_on_as_a_run: true,
};

/// The commands whose operations the tests of this file let go wrong.
const SCENARIOS: [&Scenario; 8] = [
    &FIRST_RUN,
    &NEXT_RUN,
    &RUN_AFTER_A_KILLED_ONE,
    &RUN_AFTER_A_COMMITTED_ONE,
    &RUN_AFTER_A_KILLED_PRUNING,
    &ROTATION,
    &START_OF_A_CYCLE,
    &PRUNING,
];

#[test]
fn each_command_may_die_at_some_of_its_operations() {
    SCENARIOS.iter().for_each(|scenario| scenario.go_wrong_in_projects(SAMPLE, Wrong::Dies));
}

#[test]
fn each_command_may_fail_at_some_of_its_operations() {
    SCENARIOS.iter().for_each(|scenario| scenario.go_wrong_in_projects(SAMPLE, Wrong::Fails("EIO")));
}

#[test]
#[ignore = "long tier"]
fn a_first_run_may_die_at_many_operations() {
    FIRST_RUN.go_wrong_often(Wrong::Dies);
}

#[test]
#[ignore = "long tier"]
fn a_first_run_may_fail_at_many_operations() {
    FIRST_RUN.go_wrong_often(Wrong::Fails("EIO"));
}

#[test]
#[ignore = "long tier"]
fn a_run_may_die_at_many_operations() {
    NEXT_RUN.go_wrong_often(Wrong::Dies);
}

#[test]
#[ignore = "long tier"]
fn a_run_may_fail_at_many_operations() {
    NEXT_RUN.go_wrong_often(Wrong::Fails("EIO"));
}

#[test]
#[ignore = "long tier"]
fn a_run_that_closes_a_killed_one_may_die_and_fail_at_many_operations() {
    RUN_AFTER_A_KILLED_ONE.go_wrong_often(Wrong::Dies);
    RUN_AFTER_A_KILLED_ONE.go_wrong_often(Wrong::Fails("ENOSPC"));
}

#[test]
#[ignore = "long tier"]
fn a_run_that_links_a_committed_one_may_die_and_fail_at_many_operations() {
    RUN_AFTER_A_COMMITTED_ONE.go_wrong_often(Wrong::Dies);
    RUN_AFTER_A_COMMITTED_ONE.go_wrong_often(Wrong::Fails("ENOSPC"));
}

#[test]
#[ignore = "long tier"]
fn a_run_that_ends_a_killed_pruning_may_die_and_fail_at_many_operations() {
    RUN_AFTER_A_KILLED_PRUNING.go_wrong_often(Wrong::Dies);
    RUN_AFTER_A_KILLED_PRUNING.go_wrong_often(Wrong::Fails("EIO"));
}

#[test]
#[ignore = "long tier"]
fn a_new_key_a_cycle_and_a_pruning_may_die_and_fail_at_many_operations() {
    for scenario in [ROTATION, START_OF_A_CYCLE, PRUNING] {
        scenario.go_wrong_often(Wrong::Dies);
        scenario.go_wrong_often(Wrong::Fails("ENOSPC"));
    }
}

#[test]
#[ignore = "wide tier"]
fn each_command_may_die_and_fail_at_every_operation() {
    SCENARIOS.iter().for_each(|scenario| scenario.go_wrong_everywhere());
}

#[test]
fn every_durable_step_is_passed_by_a_run_and_none_is_without_an_operation_that_may_fail() {
    let project = project();
    let passed = passed_by(&project, NEXT_RUN.command);
    let mut operations = 0;
    let mut steps = Vec::new();
    for line in &passed {
        match line.strip_prefix(DONE) {
            Some(step) => steps.push((step.to_owned(), std::mem::take(&mut operations))),
            None => operations += 1,
        }
    }
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    let all: BTreeSet<&str> = DurableStep::ALL.iter().map(|step| step.name()).collect();
    assert_eq!(names.iter().copied().collect::<BTreeSet<_>>(), all, "steps that were passed (left) and all (right)");
    assert_eq!(names.len(), all.len(), "{names:?}");
    // These steps have no operation immediately before them: the syncs are started long before they are waited for, and SQLite writes the
    // index.
    let may_be_bare = [DurableStep::RunRecordSynced, DurableStep::FilesSynced, DurableStep::IndexUpdated].map(DurableStep::name);
    let bare: Vec<_> = steps.iter().filter(|(name, count)| *count == 0 && !may_be_bare.contains(&name.as_str())).collect();
    assert!(bare.is_empty(), "{bare:?}");
}

/// Each sync waits for the disk. What was written when the checks were over is synced together with report and manifest.
#[test]
fn a_run_syncs_each_file_once_and_the_directories_above_only_if_its_task_is_new() {
    let project = unknown_project();
    let [first, second] = [(), ()].map(|()| passed_by(&project, NEXT_RUN.command));
    let synced = |passed: &[String]| -> Vec<String> {
        let names = passed.iter().filter_map(|line| Some(line.strip_prefix("sync ")?.rsplit_once(' ')?.0.to_owned()));
        names.collect()
    };
    let above = |passed: &[String]| {
        synced(passed).into_iter().filter(|name| !name.contains("<run>") && !name.contains("ledger")).collect()
    };
    let [of_first, of_second]: [Vec<String>; 2] = [above(&first), above(&second)];
    assert!(of_first.len() > 3 && of_first.iter().any(|name| name.ends_with("/evidence")), "{of_first:?}");
    assert_eq!(of_second, ["default/runs"]);
    let mut of_run = synced(&second);
    of_run.sort();
    let (all, is_twice) = (of_run.len(), of_run.windows(2).filter(|pair| pair[0] == pair[1]).collect::<Vec<_>>());
    assert_eq!(is_twice, [["runs/<run>", "runs/<run>"]], "of {all}: {of_run:?}");
    let place = |words: &str| second.iter().position(|line| line.starts_with(words)).expect(words);
    assert!(place("sync <run>/technical-debt-data.json") > place("done manifest-written"), "{second:?}");
}

#[test]
fn nothing_of_evidence_is_changed_but_by_an_operation_that_may_fail() {
    let is_changing = |line: &str| !line.trim_start().starts_with("//") && CHANGES.iter().any(|call| line.contains(call));
    let mut found = Vec::new();
    for file in
        source_files("crates/evidence/src/").iter().filter(|file| !file.is_test() && !MAY_CHANGE.contains(&file.path.as_str()))
    {
        let lines = production_lines(&file.text).into_iter().filter(|(_, line)| is_changing(line));
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", file.path)));
    }
    assert!(found.is_empty(), "these belong into `changes`:\n{}", found.join("\n"));
}

impl Scenario {
    #[track_caller]
    pub(super) fn go_wrong_often(&self, wrong: Wrong) {
        self.go_wrong_in_projects(LONG, wrong);
    }

    /// Lets each operation of the command go wrong in both ways.
    #[track_caller]
    pub(super) fn go_wrong_everywhere(&self) {
        for wrong in [Wrong::Dies, Wrong::Fails("EIO"), Wrong::Fails("ENOSPC")] {
            self.go_wrong_in_projects(Extent::All, wrong);
        }
    }

    /// Lets operations of the command go wrong, at most `MISHAPS_OF_A_PROJECT` of them in one project.
    #[track_caller]
    pub(super) fn go_wrong_in_projects(&self, extent: Extent, wrong: Wrong) {
        let places = self.places();
        assert!(places.len() >= 3, "{places:?}");
        // Where only some operations go wrong, those at which the command fails are not those at which it dies.
        let skipped = match (extent, wrong) {
            (Extent::OneIn(step), Wrong::Fails(_)) => (step / 2).min(places.len() - 1),
            (Extent::OneIn(_), Wrong::Dies) | (Extent::All, _) => 0,
        };
        for some in extent.of(places.into_iter().skip(skipped)).chunks(if self.is_first { 1 } else { MISHAPS_OF_A_PROJECT }) {
            let project = if self.is_first { unknown_project() } else { project() };
            for place in some {
                let mut attempts = 0..if place.contains(FAN) { 10 } else { 1 };
                let reached = attempts.any(|_| {
                    (self.prepare)(&project);
                    self.go_wrong(&project, wrong, place)
                });
                assert!(reached, "`proctor {}`: `{place}` was never reached", self.command.join(" "));
            }
        }
    }

    /// Returns the operations of the command in their order. If the command is a run with additional work, the
    /// operations that a run without that work has too are left out.
    #[track_caller]
    fn places(&self) -> Vec<String> {
        let own = if self.is_first { unknown_project() } else { project() };
        (self.prepare)(&own);
        let mut places = passed_by(&own, self.command);
        if self.goes_on_as_a_run {
            let plain = passed_by(&project(), self.command);
            places.retain(|place| !plain.contains(place));
        }
        places.retain(|place| !place.starts_with(DONE));
        places
    }

    /// Lets one operation of the command go wrong, checks the store, runs again, and checks the store once more. Returns `false` if the
    /// command did not do that operation this time: then nothing was checked.
    #[track_caller]
    fn go_wrong(&self, project: &Project, wrong: Wrong, place: &str) -> bool {
        let what = format!("`proctor {}`, `{place}`, {wrong:?}", self.command.join(" "));
        let before = bodies(project);
        let (was_reached, output) = let_go_wrong(project, self.command, wrong, place);
        if !was_reached {
            assert_eq!(output.status, 0, "{what}: {}", output.snapshot());
            // With one more line in the ledger, the next note has other objects.
            project.proctor(["run"]).success();
            return false;
        }
        let said = output.snapshot();
        match wrong {
            Wrong::Dies => assert_eq!(output.status, KILLED, "{what}: {said}"),
            Wrong::Fails(_) => assert!([0, OWN_FAULT, FULL_DISK].contains(&output.status), "{what}: {said}"),
        }
        if output.status != 0 && matches!(wrong, Wrong::Fails(_)) {
            assert!(output.stderr.contains("error: ") && output.stderr.contains("hint: "), "{what}: {said}");
        }
        poll(BOUND, "nobody of the check to be alive", || {
            let alive = processes_of(project.root());
            if alive.is_empty() { Ok(()) } else { Err(format!("{what}: {alive:?}")) }
        });
        let then = bodies(project);
        assert_eq!(then[..before.len()], before, "{what}: nothing that was sealed is lost");
        let verified = project.proctor(["verify", "--all", "--json"]).any_status();
        assert_eq!(verified.status, 0, "{what}: {said}\n{}", verified.snapshot());
        let begun = verified.json()["unfinished"].clone();
        let is_begun = |kind: &str| begun.as_array().expect("a list").iter().any(|begun| begun["kind"] == kind);
        // Half of a line was written to the ledger. If the ledger has no other line, that half belongs to no known project.
        let is_torn = wrong == Wrong::Dies && place.starts_with("write ledger/") && !place.contains("torn-");
        assert_eq!(is_begun("line"), is_torn && !then.is_empty(), "{what}: {begun}");
        if ["prune", "approve"].contains(&self.command[0]) {
            let again = project.proctor(self.command).any_status();
            assert_eq!(again.status, 0, "{what}: {said}\nonce more: {}", again.snapshot());
        }
        let then = bodies(project);
        let next = project.proctor(["run"]).any_status();
        assert_eq!(next.status, 0, "{what}: {said}\nthe next run: {}", next.snapshot());
        let after = bodies(project);
        assert_eq!(after[..then.len()], then, "{what}: nothing that was sealed is lost");
        let verified = project.proctor(["verify", "--all"]).any_status();
        assert_eq!(verified.status, 0, "{what}: {said}\nafter the next run: {}", verified.snapshot());
        let kept = KeptEvidence::all(&state(project)).into_iter().find(|kept| !kept.chained_bodies().is_empty()).expect("it ran");
        let runs: Vec<&Value> = after.iter().filter(|body| body["kind"] == "run").collect();
        let statuses: BTreeSet<&str> = runs.iter().filter_map(|run| run["overallStatus"].as_str()).collect();
        assert!(statuses.is_subset(&BTreeSet::from(["SUCCESS", "INTERRUPTED"])), "{what}: {statuses:?}");
        assert_eq!(kept.latest().as_deref(), runs.last().and_then(|run| run["runId"].as_str()), "{what}");
        assert_eq!(kept.half_made_links(), Vec::<String>::new(), "{what}");
        true
    }
}

/// Runs a command in which an operation goes wrong. Returns whether the command came to that operation, and what it printed.
#[track_caller]
fn let_go_wrong(project: &Project, command: &[&str], wrong: Wrong, place: &str) -> (bool, Output) {
    let passed = record(project);
    let invocation = project.proctor(command).env("PROCTOR_TEST_PASSED", &passed).bound(BOUND);
    let output = match wrong {
        Wrong::Dies => invocation.env("PROCTOR_TEST_DIE_AT", place),
        Wrong::Fails(errno) => invocation.env("PROCTOR_TEST_FAIL_AT", format!("{place}:{errno}")),
    }
    .any_status();
    (read_record(&passed).iter().any(|line| line == place), output)
}

/// Runs a command and returns the operations and durable steps that it recorded.
#[track_caller]
fn passed_by(project: &Project, command: &[&str]) -> Vec<String> {
    let passed = record(project);
    project.proctor(command).env("PROCTOR_TEST_PASSED", &passed).success();
    read_record(&passed)
}

/// Returns the path of the file in which a command records its operations. An older file is removed.
pub(super) fn record(project: &Project) -> PathBuf {
    let path = project.root().join("passed");
    let _absent = fs::remove_file(&path);
    path
}

#[track_caller]
pub(super) fn read_record(path: &PathBuf) -> Vec<String> {
    fs::read_to_string(path).expect("the command passed something").lines().map(str::to_owned).collect()
}

/// Returns the bodies of all lines of the project's ledger; an empty list if there is no ledger.
#[track_caller]
pub(super) fn bodies(project: &Project) -> Vec<Value> {
    let mut bodies: Vec<_> = KeptEvidence::all(&state(project)).iter().map(KeptEvidence::chained_bodies).collect();
    // A registration that went wrong before its first line leaves an empty ledger whose project id is not used.
    bodies.retain(|bodies| !bodies.is_empty());
    assert!(bodies.len() <= 1, "one project has one ledger: {bodies:?}");
    bodies.pop().unwrap_or_default()
}

fn unknown_project() -> Project {
    Project::new().toml(&check())
}

pub(super) fn check() -> String {
    format!("[[check]]\nname = \"check\"\ncommand = [{:?}, \"--stdout\", \"fine\"]\n", fake_tool())
}

fn project() -> Project {
    let project = unknown_project();
    project.proctor(["run"]).success();
    project
}

#[track_caller]
fn die_after(project: &Project, step: DurableStep) {
    let output = project.proctor(["run"]).env("PROCTOR_TEST_DIE_AFTER", step.name()).any_status();
    assert_eq!(output.status, KILLED, "{step:?} was never reached:\n{}", output.snapshot());
}

fn state(project: &Project) -> PathBuf {
    project.root().join("state/proctor")
}
