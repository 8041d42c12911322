//! Stores that released versions wrote (`fixtures/stores/VERSION`) can still be opened: a change of a format must not
//! make evidence unreadable.
//!
//! `fixtures/stores/make.py` made them: two projects with green, red, timed-out and interrupted runs, an approval, an
//! open TDD cycle, debt in a list of tasks, a rotated key, archived and pruned runs, and anchors.

use std::fs::{self, File};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::time::Duration;

use crate::common::{Project, USER_CONFIGURATION, poll, repository};

/// The directory in which the projects of a kept store lie. A store knows a project by its path, so every test must
/// unpack the store at the same path.
const ROOT: &str = "/tmp/proctor-kept-store";
/// How long a test waits for another test that uses [`ROOT`].
const BOUND: Duration = Duration::from_secs(120);
/// The runs of the project `shop` as `proctor log` listed them when the store was made, newest first: result, and how
/// the run is kept.
const SHOP: [(&str, &str); 9] = [
    ("PASSED", "directory"),
    ("PASSED", "directory"),
    ("PASSED", "pruned (archived)"),
    ("PASSED", "pruned (archived)"),
    ("INTERRUPTED", "pruned (archived)"),
    ("INTERRUPTED", "pruned (archived)"),
    ("PASSED", "pruned (keep_runs)"),
    ("FAILED", "pruned (archived)"),
    ("PASSED", "pruned (keep_runs)"),
];

/// A kept store, unpacked at [`ROOT`]. Two tests cannot use that directory at once: each binds the same abstract socket
/// name, which is free again when the process that bound it ends.
struct KeptStore {
    project: Project,
    _alone: UnixListener,
}

impl KeptStore {
    fn unpack(archive: &Path) -> Self {
        let name = SocketAddr::from_abstract_name(ROOT).expect("the name is short");
        let alone = poll(BOUND, &format!("`{ROOT}` to be used by nobody else"), || UnixListener::bind_addr(&name));
        // A killed test may have left the directory.
        let _nothing_there = fs::remove_dir_all(ROOT);
        let (parent, name) =
            (Path::new(ROOT).parent().expect("it is absolute"), Path::new(ROOT).file_name().expect("it has a name"));
        let directory = tempfile::Builder::new().prefix(name).rand_bytes(0).tempdir_in(parent).expect("nobody else uses it");
        let packed = zstd::stream::read::Decoder::new(File::open(archive).expect("the store is there")).expect("zstd reads it");
        let mut entries = tar::Archive::new(packed);
        entries.set_preserve_permissions(true);
        entries.unpack(directory.path()).expect("the place is ours");
        Self { project: Project::of(directory), _alone: alone }
    }

    /// Returns the runs as `proctor log` lists them, newest first: result, and how the run is kept.
    fn log(&self, project: &str) -> Vec<(String, String)> {
        let shown = self.project.proctor(["log", project]).success().stdout;
        // The age of a run stands last, and before it how the run is kept, if not as a directory.
        let kept = |line: &str| match line.rsplit("  ").nth(1).map(str::trim) {
            Some(last) if last.starts_with("pruned") => last.to_owned(),
            _ => "directory".to_owned(),
        };
        shown.lines().map(|line| (line.split_whitespace().nth(1).unwrap_or_default().to_owned(), kept(line))).collect()
    }
}

#[test]
fn a_store_of_every_released_version_opens_verifies_and_goes_on() {
    let stores = fs::read_dir(repository().join("fixtures/stores")).expect("there are kept stores").flatten();
    let archives: Vec<_> = stores.map(|entry| entry.path().join("store.tar.zst")).filter(|path| path.is_file()).collect();
    assert!(!archives.is_empty(), "no store is kept");
    for archive in archives {
        opens_verifies_and_goes_on(&KeptStore::unpack(&archive));
    }
}

fn opens_verifies_and_goes_on(kept: &KeptStore) {
    let project = &kept.project;
    let verified = project.proctor(["verify", "--all"]).success().stdout;
    assert!(
        verified.contains("archived: 5 runs, which this version does not check") && verified.contains("pruned: 2 runs"),
        "{verified}"
    );
    assert!(verified.contains("VERIFIED · 6 runs, "), "{verified}");
    let shop: Vec<_> = SHOP.map(|(result, place)| (result.to_owned(), place.to_owned())).into();
    assert_eq!(kept.log("shop"), shop);
    let anchor = format!("{ROOT}/project/shop.checkpoint");
    project.proctor(["verify", "--project", "shop", "--anchor", &anchor]).success();
    let shown = project.proctor(["show", "--project", "shop", "3"]).success().stdout;
    assert!(
        shown.contains("FAILED") && shown.contains("packed it into a file") && shown.contains("a copy of it is genuine if"),
        "{shown}"
    );

    // The unpacked directory has another inode than the registered one, so a person has to confirm that it is the same
    // project.
    project.proctor(["service", "add", "shop", "--identity", "same"]).success();
    let old = project.proctor(["status", "shop"]).success().stdout;
    assert!(old.starts_with("shop · default · stale · recorded under another digest version; last PASS"), "{old}");
    let run = project.proctor(["run", "shop"]).success();
    assert!(!run.stdout.contains("changed rules"), "an upgrade changes no rule: {}", run.snapshot());
    assert_eq!(kept.log("shop").len(), SHOP.len() + 1);
    let status = project.proctor(["status", "shop"]).success().stdout;
    assert!(status.starts_with("shop · default · fresh PASS"), "{status}");

    project.proctor(["service", "add", "parser", "--identity", "same"]).success();
    let cycle = project.proctor(["tdd", "show", "--project", "parser"]).success().stdout;
    let expected = [
        "default: GREEN · needs human: No exit code (timed out)",
        "  RED      exit 1   → N4",
        "  GREEN    exit 1   → N3",
        "  GREEN    exit -   → HUMAN_REVIEW",
    ];
    assert!(cycle.lines().zip(expected).filter(|(line, start)| line.starts_with(start)).count() == expected.len(), "{cycle}");
    let paused = project.proctor(["run", "parser"]).status(3);
    assert!(paused.stderr.contains("tdd resolve"), "{}", paused.snapshot());
    project.proctor(["verify", "--all"]).success();
}

#[test]
fn a_kept_store_answers_without_its_index() {
    let kept = KeptStore::unpack(&repository().join("fixtures/stores/0.1.0/store.tar.zst"));
    fs::remove_file(kept.project.root().join("state/proctor/state.db")).expect("the index is there");
    assert_eq!(kept.log("shop").len(), SHOP.len());
    kept.project.proctor(["verify", "--all"]).success();
}

#[test]
fn the_tests_of_a_kept_store_have_a_past() {
    let kept = KeptStore::unpack(&repository().join("fixtures/stores/0.1.0/store.tar.zst"));
    let json = |arguments: &[&str]| kept.project.proctor(arguments).success().json();
    let history = json(&["history", "test_nested", "--project", "parser", "--json"]);
    let outcomes: Vec<&str> =
        history["past"]["results"].as_array().expect("a list").iter().filter_map(|one| one["outcome"].as_str()).collect();
    assert_eq!(
        outcomes,
        ["failed", "failed"],
        "the run that hung has no report, and the first one did not have the test: {history}"
    );
    let log = json(&["log", "shop", "--json"]);
    let evidence: Vec<&str> = log["runs"].as_array().expect("a list").iter().filter_map(|run| run["evidence"].as_str()).collect();
    assert_eq!(evidence, ["kept", "kept", "pruned", "pruned", "pruned", "pruned", "pruned", "pruned", "pruned"], "{log}");
    let red = json(&["log", "shop", "--failed", "--json"])["runs"].clone();
    assert_eq!(red.as_array().map(Vec::len), Some(3), "one run is red, and two have no verdict: {red}");
    assert_eq!(red[2]["result"], "FAILED", "of a run that is not read any more the ledger keeps the verdict: {red}");
}

/// A store of an older version has no approved settings. The first command of this version approves the settings that open
/// no more of the machine than the defaults. Settings that open more need an approval, even if they were written before
/// that.
#[test]
fn a_planted_setting_does_not_become_the_approved_one_by_an_upgrade() {
    let kept = KeptStore::unpack(&repository().join("fixtures/stores/0.1.0/store.tar.zst"));
    let project = &kept.project;
    fs::remove_file(project.root().join(USER_CONFIGURATION)).expect("it was just made");
    let file = project.path().join("shop/proctor.toml");
    let settings = fs::read_to_string(&file).expect("the project has settings");
    fs::write(&file, format!("{settings}\n[sandbox]\nmode = \"off\"\nvisible = [\"~/.ssh\"]\n")).expect("it is ours");
    project.proctor(["service", "add", "shop", "--identity", "same"]).success();
    for _ in 0..2 {
        let refused = project.proctor(["run", "shop"]).status(3);
        assert!(refused.stderr.contains("sandbox: mode: \"off\" instead of \"auto\""), "{}", refused.snapshot());
        assert!(refused.stderr.contains("sandbox: visible: "), "{}", refused.snapshot());
    }
    assert_eq!(kept.log("shop").len(), SHOP.len(), "nothing was run");
    fs::write(&file, format!("{settings}\n[sandbox]\nmemory = \"2GiB\"\n")).expect("it is ours");
    let is_named = || project.proctor(["run", "shop"]).success().stdout.contains("judged by changed rules: sandbox: memory");
    assert!(is_named() && is_named(), "the identity was confirmed under other settings");
    fs::write(&file, &settings).expect("it is ours");
    assert!(!is_named(), "an upgrade changes no rule");
    project.proctor(["verify", "--all"]).success();
}
