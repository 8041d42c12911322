//! A watch that runs for a long time: its descriptors, threads, memory and inotify watches do not grow with the number
//! of runs.
//!
//! The wide tier takes two minutes, or the number of minutes in `PROCTOR_SOAK_MINUTES`. Half an hour of the release
//! build: `PROCTOR_SOAK_MINUTES=30 cargo test --release --test integration soak:: -- --include-ignored --nocapture`.

mod service;

use std::fs;
use std::time::{Duration, Instant};

use crate::common::{Project, Watch, family_of, poll, status_number};

const LATE: Duration = Duration::from_secs(60);
/// The number of runs outside of the wide tier.
const RUNS: u32 = 30;
/// The minutes that the wide tier takes, unless `PROCTOR_SOAK_MINUTES` says otherwise.
const MINUTES: u64 = 2;
/// After this many runs everything that is made once has been made: caches, threads, the allocator's arenas.
const WARM_UP: u32 = 10;
/// Memory may grow by this much for every 500 runs that have begun. A leak of 2 KiB per run would be more. Smaller
/// growth is the allocator's own unevenness, since nothing that is kept between runs is larger than the last run. The
/// pages of the program's file do not count: a later run may be the first to need one, and the kernel takes them back.
const KIB_OF_500_RUNS: u64 = 1024;
/// So many observations in a row have to be equal before the processes count as being at rest.
const EQUAL_OBSERVATIONS: u32 = 40;

/// The resources that a process uses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holding {
    descriptors: Vec<String>,
    threads: u64,
    watches: usize,
    own_kib: u64,
}

#[test]
#[ignore = "long tier"]
fn descriptors_threads_watches_and_memory_do_not_grow_with_the_runs() {
    soak(|runs| runs == RUNS);
}

#[test]
#[ignore = "wide tier"]
fn in_minutes_of_runs_nothing_grows() {
    let end = Instant::now() + Duration::from_secs(60 * minutes());
    soak(|_| Instant::now() >= end);
}

fn minutes() -> u64 {
    std::env::var("PROCTOR_SOAK_MINUTES").map_or(MINUTES, |text| text.parse().expect("a number of minutes"))
}

/// Saves and waits for the verdict, until `is_enough` accepts the number of runs. Compares the resources of the
/// processes before and after.
#[track_caller]
#[expect(clippy::print_stdout, reason = "a sweep says what it did, for whoever reads its output")]
fn soak(is_enough: impl Fn(u32) -> bool) {
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
    let before = at_rest(&watch);
    let mut runs = 0;
    while !is_enough(runs) {
        runs += 1;
        save_and_await(&project, &mut watch, WARM_UP + runs);
    }
    // The third process is the keeper (the process that starts one action's first process). It is started in advance
    // for the next save. Each run uses up a keeper, so the third process is another one every time.
    assert_eq!(settled_family(&watch)[..2], family[..2], "the same processes, and no more");
    let after = at_rest(&watch);
    let grown = KIB_OF_500_RUNS * u64::from(runs.div_ceil(500));
    for (name, (before, after)) in ["watch", "launcher", "parked keeper"].iter().zip(before.iter().zip(&after)) {
        let counts = |one: &Holding| (one.descriptors.len(), one.threads, one.watches, one.own_kib);
        println!("{name}: (descriptors, threads, watches, KiB) {:?}, after {runs} runs {:?}", counts(before), counts(after));
        assert_eq!(
            before.descriptors.len(),
            after.descriptors.len(),
            "{name}: {:#?} {:#?}",
            before.descriptors,
            after.descriptors
        );
        assert_eq!((before.threads, before.watches), (after.threads, after.watches), "{name}");
        let (kib_before, kib_after) = (before.own_kib, after.own_kib);
        assert!(kib_after <= kib_before + grown, "{name}: {kib_before} → {kib_after} KiB");
    }
    assert_eq!(watch.interrupt().status, 130);
}

#[track_caller]
fn save_and_await(project: &Project, watch: &mut Watch<'_>, number: u32) {
    let last = latest(project);
    project.save("saved.txt", &format!("{number}\n"));
    await_run(project, watch, last);
}

/// Waits until `latest` leads to another run than `last`.
#[track_caller]
fn await_run(project: &Project, watch: &mut Watch<'_>, last: Option<String>) {
    poll(LATE, "a verdict", || latest(project).filter(|run| Some(run) != last.as_ref()).ok_or_else(|| watch.text()));
}

fn latest(project: &Project) -> Option<String> {
    let id = project.store().project_ids().pop()?;
    let link = project.root().join("state/proctor/evidence").join(id).join("default/latest");
    Some(fs::read_link(link).ok()?.to_string_lossy().into_owned())
}

/// Returns the process ids of the watch, its launcher, and the keeper (the process that starts one action's first
/// process) that was started in advance for the next save. Waits until the run is over and no other process of the
/// watch is left.
#[track_caller]
fn settled_family(watch: &Watch<'_>) -> Vec<i32> {
    poll(LATE, "the last run to be over", || {
        let family = family_of(watch.id());
        if family.len() == 3 { Ok(family) } else { Err(format!("{family:?}")) }
    })
}

/// Returns the resources of the watch, the launcher and the keeper that was started in advance. Waits until the last
/// run has released the project's lock and `EQUAL_OBSERVATIONS` in a row are equal.
///
/// `latest` leads to a run a moment before the run's lock is released. Until then the watch holds one descriptor more.
/// A keeper that was started a moment ago has not opened yet what it prepares for the next action. On a busy machine it
/// may not have had the processor between two observations, so two that are equal do not show that it is ready.
#[track_caller]
fn at_rest(watch: &Watch<'_>) -> Vec<Holding> {
    let mut last = None;
    let mut equal = 0;
    poll(LATE, "every process at rest, without the lock of a run", || {
        let now: Vec<Holding> = settled_family(watch).into_iter().filter_map(look_at).collect();
        // The lock that says who watches is held as long as the watch lives.
        let is_of_run = |path: &String| path.contains("/locks/") && !path.ends_with("/locks/watches");
        let is_locked = now.iter().flat_map(|one| &one.descriptors).any(is_of_run);
        equal = if last.as_ref() == Some(&now) { equal + 1 } else { 1 };
        last = Some(now.clone());
        if now.len() == 3 && equal >= EQUAL_OBSERVATIONS && !is_locked { Ok(now) } else { Err(format!("{now:#?}")) }
    })
}

/// Returns the resources that a process uses. None: it has ended.
fn look_at(id: i32) -> Option<Holding> {
    let entries = fs::read_dir(format!("/proc/{id}/fd")).ok()?.flatten();
    let links = entries.filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned()));
    let details = fs::read_dir(format!("/proc/{id}/fdinfo")).ok()?.flatten();
    let texts = details.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    Some(Holding {
        descriptors: links.collect(),
        threads: status_number(id, "Threads"),
        watches: texts.map(|text| text.lines().filter(|line| line.starts_with("inotify ")).count()).sum(),
        own_kib: status_number(id, "RssAnon"),
    })
}
