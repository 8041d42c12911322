//! A service with 20 projects over a long time, with random saves, kills of the service and full disks: every last content is judged,
//! nothing that was written is lost, and its memory does not grow.
//!
//! Half an hour of the release build: `PROCTOR_SOAK_MINUTES=30 cargo test --release --test integration soak::service --
//! --include-ignored --nocapture`. `PROCTOR_SOAK_SEED` repeats the random choices of an earlier soak.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::{Disk, Project, Watch, poll, status_number};

use super::{LATE, minutes};

const PROJECTS: usize = 20;
/// The service may have this much more memory at the end than after its first start, in KiB.
const GROWN_KIB: u64 = 24 * 1024;
/// The settings of a project. Its check passes if the saved file says so.
const SETTINGS: &str = "[[check]]\nname = \"check\"\ncommand = [\"grep\", \"-q\", \"good\", \"saved.txt\"]\n\n[evidence]\nlink = \"\"\nkeep_runs = 4\n";

/// Random numbers that are the same for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What was done so far.
#[derive(Debug, Default)]
struct Counts {
    saves: u64,
    kills: u64,
    full_disks: u64,
}

#[test]
#[ignore = "wide tier"]
fn random_saves_kills_and_full_disks_lose_nothing_and_every_last_content_is_judged() {
    let seed = std::env::var("PROCTOR_SOAK_SEED").map_or(0x5EED_0F50_A45E_ED01, |text| text.parse().expect("a number"));
    println!("PROCTOR_SOAK_SEED={seed}");
    let mut random = Random(seed);
    let project = Project::new();
    let disk = Disk::mount(project.root().join("state"));
    disk.iter().for_each(Disk::enlarge);
    let directories: Vec<PathBuf> = (0..PROJECTS).map(|number| project.root().join(format!("many/{number}"))).collect();
    let mut daemon = start(&project);
    for directory in &directories {
        fs::create_dir_all(directory).expect("the directory is ours");
        fs::write(directory.join("proctor.toml"), SETTINGS).expect("the directory is ours");
        fs::write(directory.join("saved.txt"), "good 0\n").expect("the directory is ours");
        project.proctor(["service", "add", &directory.display().to_string()]).success();
    }
    let mut last: Vec<bool> = vec![true; PROJECTS];
    wait_for_all(&project, &directories, &last);
    let first = status_number(daemon.id(), "RssAnon");
    let mut most = first;
    let mut ledgers = read_ledgers(&project);
    let mut counts = Counts::default();
    let end = Instant::now() + Duration::from_secs(60 * minutes());
    while Instant::now() < end {
        // Up to 40 saves in quick succession, then an event, then all is judged.
        for _ in 0..=random.below(40) {
            let (number, is_good) = (random.below(PROJECTS as u64) as usize, random.below(2) == 0);
            counts.saves += 1;
            let text = format!("{} {}\n", if is_good { "good" } else { "bad" }, counts.saves);
            fs::write(directories[number].join("saved.txt"), text).expect("the directory is ours");
            last[number] = is_good;
            let _read = daemon.text();
        }
        match (random.below(4), &disk) {
            (0, _) => {
                counts.kills += 1;
                daemon.signal(Signal::SIGKILL);
                drop(daemon.ended());
                daemon = start(&project);
            }
            (1, Some(disk)) => {
                counts.full_disks += 1;
                let filler = disk.place().join("filler");
                assert!(fs::write(&filler, vec![b'x'; 80_000_000]).is_err(), "the disk takes more than it should");
                let number = random.below(PROJECTS as u64) as usize;
                fs::write(directories[number].join("saved.txt"), "good while the disk is full\n").expect("another disk");
                last[number] = true;
                std::thread::sleep(Duration::from_millis(random.below(3_000)));
                fs::remove_file(&filler).expect("it is ours");
            }
            _ => {}
        }
        wait_for_all(&project, &directories, &last);
        most = most.max(status_number(daemon.id(), "RssAnon"));
        let now = read_ledgers(&project);
        for (name, before) in &ledgers {
            let is_kept = now.get(name).is_some_and(|after| after.starts_with(before));
            assert!(is_kept, "the ledger {name} lost a line; PROCTOR_SOAK_SEED={seed}, {counts:?}");
        }
        ledgers = now;
    }
    let runs: usize = ledgers.values().map(|text| text.matches("\"kind\":\"run\"").count()).sum();
    println!("{counts:?}, {runs} runs, own memory {first} KiB at first, {most} KiB at most");
    assert!(most <= first + GROWN_KIB, "{first} → {most} KiB");
    drop(daemon.interrupt());
    project.proctor(["verify", "--all"]).bound(Duration::from_secs(600)).success();
}

#[track_caller]
fn start(project: &Project) -> Watch<'_> {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    daemon
}

/// Waits until every project has a fresh verdict on its last content, and asserts that it is the right one.
#[track_caller]
fn wait_for_all(project: &Project, directories: &[PathBuf], last: &[bool]) {
    for (directory, is_good) in directories.iter().zip(last) {
        let directory = directory.display().to_string();
        let expected = if *is_good { 0 } else { 1 };
        // A full disk ends a wait with 5, at once and until the service has tried again.
        poll(LATE, "a fresh verdict on the last content", || {
            let said = project.proctor(["wait", "--fresh"]).directory(&directory).any_status();
            if said.status == expected { Ok(()) } else { Err(said.snapshot()) }
        });
    }
}

/// Returns the complete lines of every ledger. A line that is still being written is left out.
fn read_ledgers(project: &Project) -> BTreeMap<String, String> {
    let directory = project.root().join("state/proctor/ledger");
    let entries = fs::read_dir(&directory).expect("the store has ledgers").flatten();
    let files = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "jsonl"));
    let complete = |text: String| text[..text.rfind('\n').map_or(0, |end| end + 1)].to_owned();
    files
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("a ledger");
            (entry.file_name().to_string_lossy().into_owned(), complete(text))
        })
        .collect()
}
