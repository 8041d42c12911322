//! A watch that runs for long: its descriptors, threads, memory and watches do not grow with the runs.
//!
//! `PROCTOR_SOAK` is the number of runs (30). By hand, 2,000 runs of the release build:
//! `PROCTOR_SOAK=2000 cargo test --release --test integration soak:: -- --nocapture`.

use std::fs;
use std::time::Duration;

use crate::common::{Project, Watch, family_of, poll, status_number};

const LATE: Duration = Duration::from_secs(60);
/// How many runs there are unless `PROCTOR_SOAK` says otherwise.
const RUNS: u32 = 30;
/// After so many runs everything that is made once has been made: caches, threads, the allocator's arenas.
const WARM_UP: u32 = 10;
/// Memory may grow by this for every 500 runs begun. A leak of 2 KiB a run would be found; what stays below is the allocator's own
/// unevenness, since nothing that is kept between runs holds more than the last run.
const KIB_OF_500_RUNS: u64 = 1024;

/// What a process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holding {
    descriptors: Vec<String>,
    threads: u64,
    watches: usize,
    resident_kib: u64,
}

#[test]
fn descriptors_threads_watches_and_memory_do_not_grow_with_the_runs() {
    let runs = std::env::var("PROCTOR_SOAK").map_or(RUNS, |text| text.parse().expect("a number of runs"));
    let project = Project::new()
        .toml("[[check]]\nname = \"check\"\ncommand = [\"/bin/true\"]\n")
        .file("saved.txt", "0\n")
        .file("src/deeper/file.txt", "");
    let mut watch = project.watch(["."]);
    await_run(&project, &mut watch, None);
    for number in 1..=WARM_UP {
        save_and_await(&project, &mut watch, number);
    }
    let family = settled_family(&watch);
    let before: Vec<Holding> = family.iter().map(|id| holding(*id)).collect();
    for number in 1..=runs {
        save_and_await(&project, &mut watch, WARM_UP + number);
    }
    let family_after = settled_family(&watch);
    // The third is the keeper that is parked for the next save, each time another one.
    assert_eq!(family_after[..2], family[..2], "the same processes, and no more");
    let after: Vec<Holding> = family_after.iter().map(|id| holding(*id)).collect();
    let grown = KIB_OF_500_RUNS * u64::from(runs.div_ceil(500));
    for (name, (before, after)) in ["watch", "launcher", "parked keeper"].iter().zip(before.iter().zip(&after)) {
        let counts = |one: &Holding| (one.descriptors.len(), one.threads, one.watches, one.resident_kib);
        println!("{name}: (descriptors, threads, watches, KiB) {:?}, after {runs} runs {:?}", counts(before), counts(after));
        assert_eq!(
            before.descriptors.len(),
            after.descriptors.len(),
            "{name}: {:#?} {:#?}",
            before.descriptors,
            after.descriptors
        );
        assert_eq!((before.threads, before.watches), (after.threads, after.watches), "{name}");
        assert!(
            after.resident_kib <= before.resident_kib + grown,
            "{name}: {} → {} KiB",
            before.resident_kib,
            after.resident_kib
        );
    }
    assert_eq!(watch.interrupt().status, 130);
}

#[track_caller]
fn save_and_await(project: &Project, watch: &mut Watch<'_>, number: u32) {
    let last = latest(project);
    project.save("saved.txt", &format!("{number}\n"));
    await_run(project, watch, last);
}

/// Waits until `latest` leads to another run.
#[track_caller]
fn await_run(project: &Project, watch: &mut Watch<'_>, last: Option<String>) {
    poll(LATE, "a verdict", || latest(project).filter(|run| Some(run) != last.as_ref()).ok_or_else(|| watch.text()));
}

/// Returns the run `latest` leads to.
fn latest(project: &Project) -> Option<String> {
    let id = project.store().project_ids().pop()?;
    let link = project.root().join("state/proctor/evidence").join(id).join("default/latest");
    Some(fs::read_link(link).ok()?.to_string_lossy().into_owned())
}

/// Returns the watch, its launcher and the keeper parked for the next save, once the run is over and nothing else of it is there.
#[track_caller]
fn settled_family(watch: &Watch<'_>) -> Vec<i32> {
    poll(LATE, "the last run to be over", || {
        let family = family_of(watch.id());
        if family.len() == 3 { Ok(family) } else { Err(format!("{family:?}")) }
    })
}

/// Returns what a process holds, once two looks in a row see the same.
#[track_caller]
fn holding(id: i32) -> Holding {
    let mut last = None;
    poll(LATE, "a process at rest", || {
        let now = look_at(id);
        let is_same = last.as_ref() == Some(&now);
        last = Some(now.clone());
        if is_same { Ok(now) } else { Err(format!("{now:?}")) }
    })
}

fn look_at(id: i32) -> Holding {
    let entries = fs::read_dir(format!("/proc/{id}/fd")).expect("it lives").flatten();
    let links = entries.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned()));
    let details = fs::read_dir(format!("/proc/{id}/fdinfo")).expect("it lives").flatten();
    let texts = details.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    Holding {
        descriptors: links.collect(),
        threads: status_number(id, "Threads"),
        watches: texts.map(|text| text.lines().filter(|line| line.starts_with("inotify ")).count()).sum(),
        resident_kib: status_number(id, "VmRSS"),
    }
}
