//! When a save stops a run, proctor drops the run: first it writes a line to the ledger, then it removes the run's
//! directory. The program is killed at each of these operations, and each of them is made to fail.

use std::fs;

use super::places::{BOUND, KILLED, Wrong, bodies, read_record, record};
use crate::common::{Project, WRITES_TO_SHARED, poll, processes_of};

/// A check that records its start and waits while the file `hold` exists.
const CHECK: &str = "#!/bin/sh\necho check >> ../shared/steps\nwhile [ -e ../shared/hold ]; do sleep 0.01; done\n";

#[test]
#[ignore = "long tier"]
fn a_run_that_a_save_stops_may_die_and_fail_wherever_it_is_dropped() {
    let project = project();
    let places = dropping(&supersede(&project, None));
    assert!(places.len() >= 3, "{places:?}");
    for place in &places {
        for wrong in [Wrong::Dies, Wrong::Fails("EIO")] {
            let what = format!("`{place}`, {wrong:?}");
            let before = bodies(&project);
            let passed = supersede(&project, Some((wrong, place)));
            assert!(passed.contains(place), "{what} was never reached: {passed:?}");
            let then = bodies(&project);
            assert_eq!(then[..before.len()], before, "{what}: nothing that was sealed is lost");
            let verified = project.proctor(["verify", "--all"]).any_status();
            assert_eq!(verified.status, 0, "{what}: {}", verified.snapshot());
            let next = project.proctor(["run"]).any_status();
            assert_eq!(next.status, 0, "{what}: the next run: {}", next.snapshot());
            assert_eq!(bodies(&project)[..then.len()], then, "{what}: nothing that was sealed is lost");
            let verified = project.proctor(["verify", "--all"]).any_status();
            assert_eq!(verified.status, 0, "{what}: after the next run: {}", verified.snapshot());
            assert!(!verified.stdout.contains("unfinished"), "{what}: {}", verified.snapshot());
        }
    }
}

/// Lets a save stop a watch's run, with an operation that goes wrong if one is named. Returns the recorded operations.
#[track_caller]
fn supersede(project: &Project, wrong: Option<(Wrong, &str)>) -> Vec<String> {
    let passed = record(project);
    let _none = fs::remove_file(project.shared("steps"));
    fs::write(project.shared("hold"), "").expect("it is ours");
    let invocation = project.proctor(["watch"]).env("PROCTOR_TEST_PASSED", &passed);
    let mut watch = match wrong {
        Some((Wrong::Dies, place)) => invocation.env("PROCTOR_TEST_DIE_AT", place),
        Some((Wrong::Fails(errno), place)) => invocation.env("PROCTOR_TEST_FAIL_AT", format!("{place}:{errno}")),
        None => invocation,
    }
    .watch();
    let steps = || fs::read_to_string(project.shared("steps")).unwrap_or_default().lines().count();
    poll(BOUND, "the check", || (steps() >= 1).then_some(()).ok_or("it has not begun"));
    project.save("a.txt", &format!("{} lines\n", bodies(project).len()));
    watch.wait_for_line("the notice", BOUND, |line| line.ends_with("stopping the checks and starting again"));
    let goes_on = !matches!(wrong, Some((Wrong::Dies, _)));
    if goes_on {
        poll(BOUND, "the next run or an error", || {
            let is_told = watch.text().contains("Failed");
            (steps() >= 2 || is_told).then_some(()).ok_or_else(|| watch.text())
        });
        fs::remove_file(project.shared("hold")).expect("it was held");
        if wrong.is_none() {
            watch.wait_for_line("the verdict", BOUND, |line| line.starts_with("PASSED"));
        }
        watch.interrupt();
    } else {
        let output = watch.ended();
        assert_eq!(output.status, KILLED, "{wrong:?}: {}", output.snapshot());
        fs::remove_file(project.shared("hold")).expect("it was held");
    }
    poll(BOUND, "nobody of the check to be alive", || {
        let alive = processes_of(project.root());
        if alive.is_empty() { Ok(()) } else { Err(format!("{alive:?}")) }
    });
    read_record(&passed)
}

/// Returns the operations that drop the run: from the line in the ledger up to the next run.
fn dropping(passed: &[String]) -> Vec<String> {
    let from_its_line = passed.iter().skip_while(|place| !place.starts_with("write ledger/"));
    from_its_line.take_while(|place| !place.starts_with("create ") && !place.contains("<run>/")).cloned().collect()
}

fn project() -> Project {
    let check = "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n[watch]\nquiet = \"1ms\"\n";
    let project = Project::new().toml(&format!("{WRITES_TO_SHARED}{check}")).file("check.sh", CHECK).file("a.txt", "one\n");
    project.proctor(["run"]).success();
    project
}
