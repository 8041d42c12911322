//! Tests which changes alter a check's inputs.

use std::path::Path;

use super::*;
use proctor_model::{HomeAccess, ProtectionMode, Timestamp, World};
use proctor_project::new_matcher;
use proctor_tree::ignore::MatcherSettings;

fn write(root: &Path, name: &str, text: &str) {
    use std::io::Write as _;
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("it lies in the tree")).expect("a directory");
    std::fs::File::create(path).expect("a file").write_all(text.as_bytes()).expect("written");
}

fn index(root: &Path) -> TreeIndex {
    let settings = MatcherSettings::default();
    TreeIndex::scan(root, &new_matcher(&settings).expect("no patterns"), Timestamp::from_millis(i64::MAX / 2)).expect("a tree")
}

fn globs(paths: &[&str]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn of_the_tree_the_named_files_count_and_those_that_configure_tools() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    for name in ["src/a.py", "src/deep/b.py", "web/a.ts", "conftest.py", "uv.lock"] {
        write(root, name, "1");
    }
    let named = globs(&["src/**/*.py"]);
    let before = relevant_tree(&index(root), &named).expect("it is known");
    let whole = relevant_tree(&index(root), &[]).expect("it is known");
    assert_eq!(whole, RelevantTree::Whole(index(root).digest()));
    for (name, counts) in [
        ("web/a.ts", false),
        ("README.md", false),
        ("src/deep/b.py", true),
        ("conftest.py", true),
        ("uv.lock", true),
        ("src/new.py", true),
    ] {
        write(root, name, "another");
        assert_eq!(relevant_tree(&index(root), &named) != Some(before), counts, "{name}");
        assert_ne!(relevant_tree(&index(root), &[]), Some(whole), "{name}");
        if root.join(name).exists() && !["README.md", "src/new.py"].contains(&name) {
            write(root, name, "1");
        } else {
            std::fs::remove_file(root.join(name)).expect("it is ours");
        }
        assert_eq!(relevant_tree(&index(root), &named), Some(before), "{name}: content counts, not time");
    }
    std::fs::remove_file(root.join("src/a.py")).expect("it is ours");
    write(root, "src/c.py", "1");
    assert_ne!(relevant_tree(&index(root), &named), Some(before), "names count");
}

#[test]
fn paths_that_name_nothing_are_no_inputs() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "pyproject.toml", "");
    assert_eq!(relevant_tree(&index(directory.path()), &globs(&["scr/**"])), None);
    assert!(relevant_tree(&index(directory.path()), &globs(&["*.toml"])).is_some());
}

#[test]
fn everything_a_check_is_given_changes_the_digest_but_its_own_output_directory() {
    let sandbox = proctor_plan::config::read("", "proctor.toml").expect("defaults").sandbox;
    let overlay = SandboxSettings { home: proctor_model::HomeAccess::Overlay, ..sandbox.clone() };
    let variables = |pairs: &[(&str, &str)]| -> BTreeMap<OsString, OsString> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    };
    let (plain, elsewhere) =
        (variables(&[("PATH", "/bin"), ("PROCTOR_OUT", "/a")]), variables(&[("PATH", "/bin"), ("PROCTOR_OUT", "/b")]));
    let narrow = SandboxSettings { max_written: None, ..sandbox.clone() };
    let (other_path, further) = (variables(&[("PATH", "/opt")]), variables(&[("PATH", "/bin"), ("TZ", "UTC")]));
    let digest = |text: &str| Digest::of(text.as_bytes());
    let base = CheckInputs {
        check: digest("check"),
        tree: RelevantTree::Files(digest("tree")),
        environment: digest("environment"),
        secret: digest("secret"),
        variables: &plain,
        sandbox: &sandbox,
        strongest_isolation: IsolationLevel::Namespace,
        place: PlaceOfCheck::Snapshot { inputs: TreeDigest(digest("inputs")) },
    };
    assert_eq!(base.digest(), CheckInputs { variables: &elsewhere, ..base }.digest());
    let others = [
        CheckInputs { check: digest("other"), ..base },
        CheckInputs { tree: RelevantTree::Files(digest("other")), ..base },
        CheckInputs { tree: RelevantTree::Whole(TreeDigest(digest("tree"))), ..base },
        CheckInputs { environment: digest("other"), ..base },
        CheckInputs { secret: digest("other"), ..base },
        CheckInputs { variables: &other_path, ..base },
        CheckInputs { variables: &further, ..base },
        CheckInputs { sandbox: &overlay, ..base },
        CheckInputs { sandbox: &narrow, ..base },
        CheckInputs { strongest_isolation: IsolationLevel::Landlock, ..base },
        CheckInputs { place: PlaceOfCheck::Project, ..base },
        CheckInputs { place: PlaceOfCheck::Snapshot { inputs: TreeDigest(digest("other")) }, ..base },
    ];
    for other in others {
        assert_ne!(base.digest(), other.digest(), "{other:?}");
    }
}

#[test]
fn the_digest_of_inputs_is_the_one_that_earlier_versions_stored() {
    let sandbox = SandboxSettings {
        mode: ProtectionMode::Require,
        writable: vec!["/data".to_owned()],
        sockets: vec!["docker".to_owned()],
        visible: vec!["/opt".to_owned()],
        home: HomeAccess::Overlay,
        world: World::Closed,
        memory: Some(proctor_model::ByteSize(1 << 30)),
        processes: Some(64),
        max_written: Some(proctor_model::ByteSize(4 << 30)),
        limits: proctor_model::LimitEnforcement::WherePossible,
        system_call_filter: proctor_model::SystemCallFilter::WherePossible,
        package_credentials: proctor_model::PackageCredentials::Hidden,
        network: proctor_model::NetworkAccess::Open,
        snapshot: proctor_model::ProtectionMode::Off,
        max_snapshot_bytes: proctor_model::ByteSize(2 << 30),
        caches: proctor_model::CachesMode::Kept,
    };
    let variables = BTreeMap::from([(OsString::from("PATH"), OsString::from("/bin"))]);
    let inputs = CheckInputs {
        check: Digest::of(b"check"),
        tree: RelevantTree::Files(Digest::of(b"tree")),
        environment: Digest::of(b"environment"),
        secret: Digest::of(b"secret"),
        variables: &variables,
        sandbox: &sandbox,
        strongest_isolation: IsolationLevel::Landlock,
        place: PlaceOfCheck::Project,
    };
    assert_eq!(
        sandbox_identity(&sandbox, IsolationLevel::Landlock, PlaceOfCheck::Project).hex(),
        "e0b9f196ff1d1c0b4c9d0e8c9545f2dcc5f42349fa1a420432da1a373799a930"
    );
    assert_eq!(inputs.digest_for("proctor 1.0.0").hex(), "52c11634f00ec07328b6c6c81270b0fe46d7c81f906ea0af521c1d5ce11ffa3e");
}
