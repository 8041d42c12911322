//! A process that was killed leaves unfinished files, which are no fault. A manipulation of unfinished files is a
//! fault: nobody can use a crash as an excuse.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_model::Digest;
use serde_json::Value;

use crate::common::{Project, fake_tool, proctor};
use crate::tamper::victim::{entries, write};

/// A project whose pruning was killed, and the number of copies of its store.
struct Killed {
    project: Project,
    copies: u32,
}

/// A copy of the store in which a pruning was killed.
struct Copy {
    state: PathBuf,
}

impl Killed {
    /// Makes the project: two runs were to be pruned, and the process was killed when half of the first one's files were gone.
    #[track_caller]
    fn make() -> Self {
        let check = "[evidence]\nkeep_runs = 2\n[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";
        let project = Project::new().with_program(fake_tool()).toml(check);
        (0..4).for_each(|_| drop(project.proctor(["run"]).success()));
        let died = project.proctor(["prune"]).env("PROCTOR_TEST_DIE_AT", "remove <run>/execution-report.json 1").any_status();
        assert_eq!(died.status, 137, "{}", died.snapshot());
        Self { project, copies: 0 }
    }

    #[track_caller]
    fn copy(&mut self) -> Copy {
        self.copies += 1;
        let state = self.project.root().join(format!("copy-{}", self.copies));
        cp(&self.project.root().join("state"), &state);
        Copy { state }
    }
}

impl Copy {
    fn root(&self) -> PathBuf {
        self.state.join("proctor")
    }

    fn runs(&self) -> PathBuf {
        entries(&self.root().join("evidence")).remove(0).join("default/runs")
    }

    /// Returns the directory of a run by its position among the directories that are left.
    fn run(&self, position: usize) -> PathBuf {
        entries(&self.runs()).swap_remove(position)
    }

    fn ledger(&self) -> PathBuf {
        let is_ledger = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
        entries(&self.root().join("ledger")).into_iter().find(is_ledger).expect("one")
    }

    /// Runs `proctor verify`. Returns the kinds of unfinished work and the kinds of faults; checks that the exit code says whether there are
    /// faults.
    #[track_caller]
    fn verify(&self) -> (Vec<String>, Vec<String>) {
        let mut command = Command::new(proctor());
        command.args(["verify", "--all", "--json"]).env("XDG_STATE_HOME", &self.state).current_dir(&self.state);
        let output = command.output().expect("proctor starts");
        let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
        let kinds = |key: &str| {
            let list = document[key].as_array().expect("a list").iter();
            list.map(|one| one["kind"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
        };
        let faults = kinds("faults");
        assert_eq!(output.status.code(), Some(if faults.is_empty() { 0 } else { 6 }), "{document}");
        (kinds("unfinished"), faults)
    }
}

#[track_caller]
fn cp(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", "-T"]).arg(from).arg(to).status().expect("coreutils are there");
    assert!(copied.success());
}

/// A manipulation of a store in which a pruning was killed.
struct Leftover {
    what: &'static str,
    act: fn(&Copy),
    /// How many runs must be named as unfinished.
    unfinished: usize,
    /// How many faults must be found.
    faults: usize,
}

const LEFTOVERS: &[Leftover] = &[
    Leftover { what: "nothing", act: |_| (), unfinished: 2, faults: 0 },
    Leftover { what: "a file is removed", act: |it| remove(&it.run(1).join("run.json")), unfinished: 2, faults: 0 },
    Leftover {
        what: "only manifests are left",
        act: |it| {
            let files = [it.run(0), it.run(1)].map(|run| entries(&run)).concat();
            files.iter().filter(|file| !file.ends_with("SHA256SUMS")).for_each(|file| remove(file));
        },
        unfinished: 2,
        faults: 0,
    },
    Leftover {
        what: "nothing is left in one",
        act: |it| entries(&it.run(1)).iter().for_each(|file| remove(file)),
        unfinished: 2,
        faults: 0,
    },
    Leftover { what: "a directory is gone", act: |it| fs::remove_dir_all(it.run(0)).expect("ours"), unfinished: 1, faults: 0 },
    Leftover { what: "a file is edited", act: |it| write(&it.run(1).join("run.json"), b"{}"), unfinished: 1, faults: 1 },
    Leftover { what: "a file is added", act: |it| write(&it.run(1).join("note"), b"green"), unfinished: 1, faults: 1 },
    Leftover {
        what: "a directory is added",
        act: |it| fs::create_dir(it.run(1).join("note")).expect("ours"),
        unfinished: 1,
        faults: 1,
    },
    Leftover { what: "the manifest is removed first", act: |it| remove(&it.run(1).join("SHA256SUMS")), unfinished: 1, faults: 1 },
    Leftover {
        what: "a file and the manifest are edited together",
        act: |it| {
            let (file, manifest) = (it.run(1).join("run.json"), it.run(1).join("SHA256SUMS"));
            let old = Digest::of(&fs::read(&file).expect("it is there")).hex();
            write(&file, b"{}");
            let text = fs::read_to_string(&manifest).expect("text").replace(&old, &Digest::of(b"{}").hex());
            write(&manifest, text.as_bytes());
        },
        unfinished: 1,
        faults: 1,
    },
    Leftover {
        what: "a file is opened to all",
        act: |it| fs::set_permissions(it.run(1).join("run.json"), Permissions::from_mode(0o444)).expect("ours"),
        unfinished: 1,
        faults: 1,
    },
    Leftover {
        what: "a file gets a second name",
        act: |it| fs::hard_link(it.run(1).join("run.json"), it.state.join("aside")).expect("ours"),
        unfinished: 1,
        faults: 1,
    },
    Leftover {
        what: "one is the other",
        act: |it| {
            let (one, other) = (it.run(0), it.run(1));
            fs::remove_dir_all(&one).expect("ours");
            cp(&other, &one);
        },
        unfinished: 1,
        faults: 1,
    },
];

fn remove(path: &Path) {
    fs::remove_file(path).expect("ours");
}

#[test]
fn what_a_killed_pruning_left_is_unfinished_and_what_somebody_makes_of_it_is_a_fault() {
    let mut killed = Killed::make();
    for leftover in LEFTOVERS {
        let copy = killed.copy();
        (leftover.act)(&copy);
        let expected = (vec!["pruning".to_owned(); leftover.unfinished], vec!["runPruned".to_owned(); leftover.faults]);
        assert_eq!(copy.verify(), expected, "{}", leftover.what);
    }
}

#[test]
fn what_was_pruned_and_is_put_back_behind_a_later_line_is_a_fault_as_is_a_ledger_that_is_cut_to_cover_it() {
    let mut killed = Killed::make();
    let (saved, copy) = (killed.copy(), killed.copy());
    let put_back = |name: &Path| cp(&saved.runs().join(name), &copy.runs().join(name));
    let name = saved.run(1).file_name().map(PathBuf::from).expect("it has a name");
    killed.project.proctor(["run"]).env("XDG_STATE_HOME", &copy.state).success();
    assert_eq!(copy.verify(), (vec![], vec![]));
    put_back(&name);
    assert_eq!(copy.verify(), (vec![], vec!["runPruned".to_owned()]));
    // The lines after the pruning's line are removed, so that the pruning seems to be unfinished again. The removal
    // must be found.
    let text = fs::read_to_string(copy.ledger()).expect("text");
    let end = text.trim_end().rfind('\n').expect("there are lines") + 1;
    write(&copy.ledger(), &text.as_bytes()[..end]);
    let (unfinished, faults) = copy.verify();
    assert_eq!(unfinished, ["pruning"]);
    assert!(["runUnnamed", "indexAhead"].iter().all(|kind| faults.iter().any(|found| found == kind)), "{faults:?}");
}

#[test]
fn the_beginning_of_a_line_is_unfinished_however_much_of_it_there_is() {
    let mut killed = Killed::make();
    let copy = killed.copy();
    killed.project.proctor(["run"]).env("XDG_STATE_HOME", &copy.state).success();
    // The ledger's last line is now about a cycle and not about a run. No run's directory shows that the line was
    // written, so only the line itself can show that it is incomplete.
    killed.project.proctor(["tdd", "start"]).env("XDG_STATE_HOME", &copy.state).success();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let _none = fs::remove_file(copy.root().join(name));
    }
    let whole = fs::read(copy.ledger()).expect("it is there");
    let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("there are lines") + 1;
    for length in [1, 2, 30, 60, 120, 200, whole.len() - start - 2, whole.len() - start - 1] {
        write(&copy.ledger(), &whole[..start + length]);
        assert_eq!(copy.verify(), (vec!["line".to_owned()], vec![]), "{length} bytes of {}", whole.len() - start);
    }
    let said = killed.project.proctor(["run"]).env("XDG_STATE_HOME", &copy.state).success();
    assert!(said.stderr.contains("the ledger's last line was torn; it was cut off and kept as"), "{}", said.stderr);
    assert_eq!(copy.verify(), (vec![], vec![]));
}
