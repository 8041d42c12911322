//! Tests a snapshot that is mounted over the project: what an action sees, and where its writes go.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use proctor_model::{Access, EnvironmentMount, Place, Sandbox, SnapshotMount, WrittenLayer};

use crate::process::{Bench, stdout_text};

/// A [`Bench`] whose directory contains a project, and a store with a snapshot of the project.
fn bench() -> Bench {
    let mut bench = Bench::new();
    for directory in ["project/.git", "project/.venv/lib", "store/snapshot/base/src", "store/snapshot/cache", "store/out"] {
        fs::create_dir_all(bench.path(directory)).expect("a directory");
    }
    for (file, text) in [
        ("project/a.txt", "saved later"),
        ("project/b.txt", "not digested"),
        ("project/.git/config", "[core]"),
        ("project/.venv/lib/x.py", "installed"),
        ("store/secret", "secret"),
        ("store/snapshot/base/a.txt", "digested"),
        ("store/snapshot/base/src/c.txt", "digested"),
        ("store/snapshot/cache/k.txt", "cached"),
    ] {
        fs::write(bench.path(file), text).expect("a file");
    }
    let place = |name: &str, access| {
        let path = bench.path(name);
        let metadata = fs::metadata(&path).expect("it was made");
        Place { path, access, identity: (metadata.dev(), metadata.ino()) }
    };
    let places = vec![place("project", Access::Writable), place("project/.git", Access::ReadOnly)];
    let sandbox = Sandbox { places, store: bench.path("store"), ..Sandbox::default() };
    let snapshot = SnapshotMount {
        memory: None,
        root: bench.path("project"),
        directory: bench.path("store/snapshot"),
        lower: vec![bench.path("store/snapshot/cache"), bench.path("store/snapshot/base")],
        written: written(&bench, "1"),
        environments: vec![EnvironmentMount {
            path: bench.path("project/.venv"),
            caches: Vec::new(),
            written: written(&bench, "1-venv"),
        }],
    };
    (bench.sandbox, bench.snapshot) = (Some(sandbox), Some(snapshot));
    bench
}

fn written(bench: &Bench, name: &str) -> WrittenLayer {
    let at = |kind: &str| bench.path(&format!("store/snapshot/written/{name}/{kind}"));
    [at("upper"), at("work")].iter().for_each(|path| fs::create_dir_all(path).expect("a directory"));
    WrittenLayer { upper: at("upper"), work: at("work") }
}

fn upper(bench: &Bench, name: &str) -> PathBuf {
    bench.path(&format!("store/snapshot/written/1/upper/{name}"))
}

fn printed(bench: &mut Bench, script: &str) -> String {
    let script = format!("cd {} && {{ {script}; }} 2>&1", bench.text("project"));
    stdout_text(&bench.run_program(Path::new("/bin/sh"), &["-c", &script]))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| error.to_string())
}

#[test]
fn an_action_sees_the_snapshot_and_what_lies_beside_it_as_it_is() {
    let mut bench = bench();
    let seen = printed(&mut bench, "cat a.txt src/c.txt k.txt .venv/lib/x.py .git/config; ls; ls ../store; cat ../store/secret");
    let expected = "digesteddigestedcachedinstalled[core]a.txt\nk.txt\nsrc\ncat: ../store/secret: No such file or directory\n";
    assert_eq!(seen, expected);
}

#[test]
fn what_an_action_writes_stays_in_its_own_layer() {
    let mut bench = bench();
    let seen = printed(
        &mut bench,
        "echo new > a.txt; echo made > made.txt; rm src/c.txt; echo x > .venv/lib/x.py; mkdir -p d/e; echo y > .git/config; \
         git init -q nested 2>/dev/null || mkdir -p nested/.git; cat a.txt .venv/lib/x.py",
    );
    assert!(seen.contains("Read-only file system") && seen.ends_with("new\nx\n"), "{seen}");
    let project = |name: &str| text(&bench.path(&format!("project/{name}")));
    assert_eq!([project("a.txt"), project(".venv/lib/x.py"), project(".git/config")], ["saved later", "installed", "[core]"]);
    assert!(!bench.path("project/made.txt").exists() && !bench.path("project/nested").exists());
    assert_eq!(text(&bench.path("store/snapshot/base/a.txt")), "digested");
    assert_eq!([text(&upper(&bench, "a.txt")), text(&upper(&bench, "made.txt"))], ["new\n", "made\n"]);
    let whiteout = upper(&bench, "src/c.txt").symlink_metadata().expect("a whiteout");
    assert!(whiteout.file_type().is_char_device() && whiteout.rdev() == 0, "{whiteout:?}");
}

#[test]
fn a_parked_keeper_lays_the_snapshot_of_the_run_it_gets() {
    let mut bench = bench();
    bench.another_follows = true;
    assert_eq!(printed(&mut bench, "cat a.txt"), "digested");
    // The snapshot's copy of the tree changes when the keeper for the next action has already been started in advance.
    // The next action must see the change.
    fs::write(bench.path("store/snapshot/base/new"), "second").expect("a file");
    fs::rename(bench.path("store/snapshot/base/new"), bench.path("store/snapshot/base/a.txt")).expect("renamed");
    let snapshot = bench.snapshot.take().expect("a snapshot");
    bench.snapshot = Some(SnapshotMount { written: written(&bench, "2"), environments: Vec::new(), ..snapshot });
    assert_eq!(printed(&mut bench, "cat a.txt; ls .venv"), "secondls: cannot access '.venv': No such file or directory\n");
}

#[test]
fn many_layers_with_long_paths_are_laid() {
    let mut bench = bench();
    let long = "x".repeat(200);
    let mut snapshot = bench.snapshot.take().expect("a snapshot");
    for number in 0..60 {
        let layer = bench.path(&format!("store/snapshot/{number}-{long}"));
        fs::create_dir(&layer).expect("a directory");
        fs::write(layer.join(format!("{number}.txt")), "").expect("a file");
        snapshot.lower.insert(0, layer);
    }
    bench.snapshot = Some(snapshot);
    assert_eq!(printed(&mut bench, "ls [0-9]*.txt | wc -l; cat a.txt"), "60\ndigested");
}
