//! Tests an index that is damaged, or locked by another process. It must be rebuilt from the ledger, and people must be
//! told.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::common::{KeptEvidence, Project};

/// How long a command may take that waits for the process that has locked the index.
const BOUND: Duration = Duration::from_secs(60);
const RUNS: usize = 6;
/// Every command that uses the index.
const COMMANDS: &[&[&str]] = &[
    &["run"],
    &["log"],
    &["show"],
    &["status"],
    &["service", "list"],
    &["tdd", "show"],
    &["wait", "--fresh"],
    &["verify"],
    &["export", "1", "--to", "out"],
];

#[test]
fn damage_deep_inside_a_table_is_mended_by_whoever_meets_it_and_said() {
    let project = project();
    for _ in 0..RUNS {
        project.proctor(["run"]).success();
    }
    let sound = log(&project);
    let mut met = Vec::new();
    for damage in [Damage::LastPageOfRuns, Damage::AWord] {
        for command in COMMANDS {
            let _absent = fs::remove_dir_all(project.path().join("out"));
            forget_earlier(&project);
            damage.carry_out(&index(&project));
            let output = project.proctor(*command).any_status();
            let what = format!("{damage:?}, {command:?}: {}", output.snapshot());
            if command == &["verify"] {
                assert_eq!(output.status, 6, "it only looks: {what}");
            } else {
                assert!([0, 5].contains(&output.status), "{what}");
            }
            let says =
                output.stderr.contains("the index was damaged; it was set aside as") && output.stderr.contains(".corrupt-1");
            met.extend(says.then_some(command[0]));
            assert_eq!(says, index(&project).with_extension("db.corrupt-1").exists(), "{what}");
            let log = log(&project);
            assert!(log.ends_with(&sound), "{what}\n{log}");
            project.proctor(["verify"]).success();
        }
    }
    for command in ["run", "log", "show", "status"] {
        assert!(met.contains(&command), "`{command}` never met the damage: {met:?}");
    }
}

#[test]
#[ignore = "long tier"]
fn an_index_that_is_held_for_too_long_keeps_no_verdict_back() {
    let project = project();
    project.proctor(["run"]).success();
    let other = Connection::open(index(&project)).expect("it is there");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let output = project.proctor(["run"]).bound(BOUND).success();
    assert!(output.stdout.contains("PASSED"), "{}", output.snapshot());
    assert!(output.stderr.contains("is sealed, but index or links are behind"), "{}", output.snapshot());
    assert!(output.stderr.contains("database is locked"), "{}", output.snapshot());
    project.proctor(["verify"]).success();
    drop(other);
    let next = project.proctor(["run"]).success();
    assert_eq!(next.stderr, "", "{}", next.snapshot());
    project.proctor(["verify"]).success();
    let kept = KeptEvidence::only(&project.root().join("state/proctor"));
    let statuses: Vec<String> = kept.check().into_iter().map(|run| run.status).collect();
    assert_eq!(statuses, ["SUCCESS"; 3]);
    assert_eq!(project.proctor(["log"]).success().stdout.lines().count(), 3);
}

#[test]
fn an_index_that_is_held_for_a_moment_is_waited_for() {
    let project = project();
    project.proctor(["run"]).success();
    let other = Connection::open(index(&project)).expect("it is there");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let run = project.proctor(["run"]).watch();
    let kept = KeptEvidence::only(&project.root().join("state/proctor"));
    crate::common::poll(BOUND, "the run's line of the ledger", || {
        (kept.chained_bodies().len() == 3).then_some(()).ok_or("none yet")
    });
    drop(other);
    let output = run.ended();
    assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{}", output.snapshot());
    project.proctor(["verify"]).success();
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    /// The page of the database with the newest runs is overwritten.
    LastPageOfRuns,
    /// A run's status is replaced by a word that proctor never writes.
    AWord,
}

impl Damage {
    #[track_caller]
    fn carry_out(self, path: &Path) {
        let connection = Connection::open(path).expect("it is there");
        match self {
            Self::AWord => {
                let statement = "UPDATE runs SET status = 'FINE' WHERE sequence = (SELECT max(sequence) FROM runs)";
                assert_eq!(connection.execute(statement, []).expect("nobody else writes"), 1);
            }
            Self::LastPageOfRuns => {
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("nobody else reads");
                let number = |statement: &str| {
                    connection.query_row(statement, [], |row| row.get::<_, u32>(0)).map(u64::from).expect("a number")
                };
                let size = number("PRAGMA page_size");
                let statement = "SELECT pageno FROM dbstat WHERE name = 'runs' AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1";
                let page = number(statement);
                drop(connection);
                let file = OpenOptions::new().write(true).open(path).expect("it is ours");
                let bytes = vec![0xa5; usize::try_from(size).expect("a page is small")];
                file.write_all_at(&bytes, (page - 1) * size).expect("the disk has room");
            }
        }
    }
}

/// Returns what `proctor log` prints, without the age of each run.
pub(super) fn log(project: &Project) -> String {
    let log = project.proctor(["log"]).success().stdout;
    log.lines().filter_map(|line| Some(format!("{}\n", line.rsplit_once("  ")?.0))).collect()
}

fn project() -> Project {
    Project::new().toml("[[check]]\nname = \"check\"\ncommand = [\"/bin/true\"]\n")
}

fn index(project: &Project) -> PathBuf {
    project.root().join("state/proctor/state.db")
}

/// Removes the damaged files that an earlier command has set aside.
fn forget_earlier(project: &Project) {
    for name in ["corrupt-1", "corrupt-1-wal", "corrupt-1-shm"] {
        let _absent = fs::remove_file(index(project).with_extension(format!("db.{name}")));
    }
}
