//! A verifier in Python that was written from `docs/reference/evidence-format.md` alone agrees with `proctor verify`: on stores, archives,
//! exports and replaced keys, and on what was made of them by every manipulation of evidence.

use std::path::Path;
use std::process::Command;

use proctor_evidence::FaultKind;
use serde_json::Value;

use crate::common::{Extent, python_signatures, repository};
use crate::tamper::exported::{self, Export};
use crate::tamper::rows::ROWS;
use crate::tamper::victim::{Act, Found, Made, Victim};

/// Faults that are about where evidence lies on this machine, about links and about the index. They leave the evidence itself as it is, and a
/// verifier elsewhere does not look for them.
const OF_THE_PLACE: &[FaultKind] = &[
    FaultKind::FileUnreadable,
    FaultKind::SecondName,
    FaultKind::WrongMode,
    FaultKind::WrongOwner,
    FaultKind::Foreign,
    FaultKind::NotAFile,
    FaultKind::LatestWrong,
    FaultKind::NameWrong,
    FaultKind::IndexAhead,
    FaultKind::IndexDiffers,
    FaultKind::IndexDamaged,
    FaultKind::TimeAhead,
    // The private half is nothing that a verifier elsewhere has.
    FaultKind::KeyUnreadable,
    // A person's signature below an approval and the inner records of a run are not a part of the page's steps.
    FaultKind::ApprovalWrong,
];

/// How many manipulations of each table are tried outside of the long tier: one in so many, since each starts two programs.
const SAMPLE: Extent = Extent::OneIn(30);

fn is_verified(arguments: &[&Path]) -> bool {
    let mut command = Command::new(python_signatures());
    command.arg(repository().join("tests/evidence_format/verify.py"));
    let output = command.args(arguments).output().expect("Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => true,
        Some(6) => false,
        other => panic!("{other:?}: {said}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn is_store_verified(victim: &Victim) -> bool {
    is_verified(&[Path::new("store"), &victim.root()])
}

/// Returns why the two disagree about a store, if they do.
fn disagreement(what: &str, victim: &Victim) -> Option<String> {
    let found = victim.verify();
    let is_of_place = |fault: &Found| OF_THE_PLACE.iter().any(|kind| kind.word() == fault.kind);
    let (ours, theirs) = (found.iter().all(is_of_place), is_store_verified(victim));
    // Where the evidence was moved behind a link or is another kind of file, the page says that it is not followed.
    let is_undecided = ours && !found.is_empty();
    (ours != theirs && !is_undecided).then(|| format!("{what}: proctor {ours}, the page's verifier {theirs}: {found:#?}"))
}

fn they_agree_on_stores(extent: Extent) {
    let made = Made::get();
    let untouched = made.copy();
    assert!(is_store_verified(&untouched), "an untouched store");
    let mut wrong = Vec::new();
    for row in extent.of(ROWS) {
        let victim = made.copy();
        if (row.act)(&victim) == Act::Done {
            wrong.extend(disagreement(row.what, &victim));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn they_agree_on_exports(extent: Extent) {
    let (_project, exports) = exported::make();
    let is_verified =
        |export: &Export| is_verified(&[Path::new("export"), &export.path(""), &export.directory.path().join("keys")]);
    assert!(is_verified(&exported::copied(&exports)), "an untouched export");
    let mut wrong = Vec::new();
    for row in extent.of(exported::ROWS) {
        let export = exported::copied(&exports);
        row.act_on(&export);
        if is_verified(&export) {
            wrong.push(row.what);
        }
    }
    assert!(wrong.is_empty(), "verified by the page's verifier: {wrong:?}");
}

#[test]
fn an_independent_verifier_agrees_on_some_stores() {
    they_agree_on_stores(SAMPLE);
}

#[test]
#[ignore = "long tier"]
fn an_independent_verifier_agrees_on_every_store() {
    they_agree_on_stores(Extent::All);
}

#[test]
#[ignore = "long tier"]
fn an_independent_verifier_knows_every_name_of_a_store_and_every_key_of_a_record_and_reads_no_endless_file() {
    let made = Made::get();
    let victim = made.copy();
    for directory in ["hooks", "agents"] {
        std::fs::create_dir(victim.root().join(directory)).expect("it is ours");
    }
    for file in ["checkpoints.db", "checkpoints.db-wal", "examination-1", "state.db-shm-aside"] {
        std::fs::write(victim.root().join(file), "").expect("it is ours");
    }
    assert_eq!((victim.verify().len(), is_store_verified(&victim)), (0, true));
    for name in ["hook", "agents.db", "examinations"] {
        let victim = made.copy();
        std::fs::write(victim.root().join(name), "").expect("it is ours");
        assert_eq!((victim.verify().len(), is_store_verified(&victim)), (1, false), "{name}");
    }
    let record = victim.root().join("keys/key-0001.json");
    let text = std::fs::read_to_string(&record).expect("it is there");
    let put = |text: &str| {
        std::fs::remove_file(&record).expect("it is ours");
        std::fs::write(&record, text).expect("it is ours");
    };
    for (from, to) in [("{", "{\"other\":1,"), ("\"key\": {", "\"key\": {\"other\":1,")] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        put(&changed);
        assert!(!victim.verify().is_empty() && !is_store_verified(&victim), "{to}");
    }
    put(&text);
    assert!(is_store_verified(&victim));
    let endless = std::fs::File::options().write(true).open(&record).expect("it is ours");
    endless.set_len(1 << 40).expect("it takes no room");
    assert!(!victim.verify().is_empty() && !is_store_verified(&victim));
}

#[test]
fn an_independent_verifier_agrees_on_some_exports() {
    they_agree_on_exports(SAMPLE);
}

#[test]
#[ignore = "long tier"]
fn an_independent_verifier_agrees_on_every_export() {
    they_agree_on_exports(Extent::All);
}

#[test]
fn an_independent_verifier_follows_replaced_keys_by_any_one_of_them() {
    let (project, exports) = exported::make();
    let file = exports.path().join("one.tar.zst");
    project.proctor(["export", "--output", file.to_str().expect("it is text")]).success();
    for number in ["1", "2", "3"] {
        let key = exports.path().join(format!("key-{number}"));
        let printed = project.proctor(["key", "export", "--number", number]).success().stdout;
        std::fs::write(&key, printed).expect("it is ours");
        for export in ["export", "earlier", "later", "one.tar.zst"] {
            assert!(is_verified(&[Path::new("export"), &exports.path().join(export), &key]), "{export} by key {number}");
        }
        assert!(!is_verified(&[Path::new("export"), &exports.path().join("other"), &key]), "another project's");
    }
}

/// Notes and bundles, and what was made of them: the vectors say what proctor says of each.
#[test]
fn an_independent_reader_of_attestations_agrees_on_every_vector() {
    let vectors = std::fs::read_to_string(repository().join("fixtures/evidence-format/attestations.json")).expect("it is there");
    let vectors: Value = serde_json::from_str(&vectors).expect("it is JSON");
    let place = tempfile::tempdir().expect("a temporary directory");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let key = place.path().join("key");
    std::fs::write(&key, text(&vectors["key"]["ssh"])).expect("it is ours");
    let tree = text(&vectors["gitTree"]);
    let words = |kind: &str, content: &Value, tree: &str| -> (Vec<String>, bool) {
        let file = place.path().join("attested");
        std::fs::write(&file, text(content)).expect("it is ours");
        let mut command = Command::new(python_signatures());
        command.arg("-B").arg(repository().join("tests/evidence_format/attestations.py")).arg(kind).args([&file, &key]).arg(tree);
        let output = command.output().expect("Python starts");
        assert!(matches!(output.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).expect("words");
        (said.lines().map(str::to_owned).collect(), output.status.success())
    };
    let all = ["claim", "acceptance", "summary"].map(str::to_owned).to_vec();
    assert_eq!(words("note", &vectors["note"], &tree), (all.clone(), true));
    assert_eq!(words("bundle", &vectors["bundle"], &tree), (all, true));
    let (others, _) = words("note", &vectors["note"], &"3".repeat(40));
    assert!(others.iter().all(|word| word == "another-tree"), "{others:?}");
    let list = |name: &str| vectors[name].as_array().expect("a list").clone();
    let (refused, bundles) = (list("refused"), list("refusedBundles"));
    assert!(refused.len() > 15 && bundles.len() > 4);
    for one in refused {
        assert_eq!(words("note", &one["line"], &tree), (vec![text(&one["word"])], false), "{}", one["what"]);
    }
    for one in bundles {
        assert_eq!(words("bundle", &one["text"], &tree), (vec!["no-bundle".to_owned()], false), "{}", one["what"]);
    }
}

#[test]
fn the_independent_verifiers_have_at_most_two_hundred_lines() {
    for name in ["verify.py", "attestations.py"] {
        let text = std::fs::read_to_string(repository().join("tests/evidence_format").join(name)).expect("it is there");
        assert!(text.lines().count() <= 200, "{name}: {}", text.lines().count());
    }
}
