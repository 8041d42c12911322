//! Copies real trees of files. Tests that the copy has the content of the index and nothing else, whatever happened
//! before.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use tempfile::TempDir;

use crate::snapshot::{CopyOutcome, InPlaceReason, ProjectCopy, left_out, obstacle};
use proctor_model::{ByteSize, Timestamp, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings, Selects};

const BOOT: &str = "00000000-0000-0000-0000-000000000001";

/// A project and the directory of its copy.
struct Scene {
    root: TempDir,
    kept: TempDir,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self { root: directory(), kept: directory() };
        files.iter().for_each(|(name, text)| scene.write(name, text));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a path below the root")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn look(&self) -> TreeIndex {
        TreeIndex::scan(self.root.path(), &matcher(), now()).expect("a readable project")
    }

    fn open(&self) -> ProjectCopy {
        ProjectCopy::open(self.kept.path(), self.root.path(), BOOT).expect("a copy")
    }

    fn base(&self) -> PathBuf {
        self.kept.path().join("base")
    }

    fn copied(&self, name: &str) -> String {
        fs::read_to_string(self.base().join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }
}

fn directory() -> TempDir {
    TempDir::new().expect("a temporary directory")
}

fn matcher() -> Matcher {
    Matcher::new(&MatcherSettings::default()).expect("no patterns")
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn path(text: &str) -> TreePath {
    TreePath::try_from(text).expect("a clean path")
}

/// Returns every entry below a directory with its kind and content.
fn contents(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("an entry");
            let below = path.strip_prefix(directory).expect("below").to_owned();
            if metadata.is_dir() {
                waiting.push(path);
                found.push((below, "directory".to_owned()));
            } else if metadata.is_symlink() {
                found.push((below, format!("-> {}", fs::read_link(&path).expect("a link").display())));
            } else {
                let text = fs::read_to_string(&path).expect("a file");
                found.push((below, format!("{:o} {text}", metadata.mode() & 0o100)));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_copy_holds_what_belongs_to_the_tree_and_nothing_else() {
    let scene = Scene::new(&[("src/a.py", "a"), (".gitignore", "*.log\n"), ("x.log", "ignored"), ("run.sh", "#!/bin/sh\n")]);
    fs::set_permissions(scene.path("run.sh"), Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(scene.path("src/a.py"), Permissions::from_mode(0o600)).expect("a mode");
    symlink("src/a.py", scene.path("link")).expect("a link");
    fs::create_dir(scene.path("empty")).expect("a directory");
    let outcome = scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    assert_eq!(outcome, CopyOutcome::Current);
    let names: Vec<_> = contents(&scene.base()).into_iter().map(|(path, text)| format!("{}: {text}", path.display())).collect();
    let expected = [".gitignore: 0 *.log\n", "link: -> src/a.py", "run.sh: 100 #!/bin/sh\n", "src: directory", "src/a.py: 0 a"];
    assert_eq!(names, expected);
    assert_eq!(scene.base().join("src/a.py").metadata().expect("a file").mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_was_saved_after_the_look_is_named_and_taken_with_the_next_look() {
    let scene = Scene::new(&[("a.py", "one"), ("b.py", "one")]);
    let mut copy = scene.open();
    let first = scene.look();
    scene.write("a.py", "two");
    let moved = copy.bring_up_to(&first, now()).expect("a copy");
    assert_eq!(moved, CopyOutcome::Moved([path("a.py")].into()));
    assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!((scene.copied("a.py"), scene.copied("b.py")), ("two".to_owned(), "one".to_owned()));
}

#[test]
fn bytes_that_came_back_are_copied_all_the_same() {
    let scene = Scene::new(&[("a.py", "one")]);
    let mut copy = scene.open();
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    scene.write("a.py", "two");
    let second = scene.look();
    scene.write("a.py", "one");
    // The copy could not take on the content `two`. The project has its old content again, and so must the copy.
    assert_eq!(copy.bring_up_to(&second, now()).expect("a copy"), CopyOutcome::Moved([path("a.py")].into()));
    assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(scene.copied("a.py"), "one");
}

#[test]
fn a_changed_file_is_younger_than_everything_an_earlier_run_has_written() {
    let scene = Scene::new(&[("a.py", "one"), ("b.py", "one")]);
    let past = SystemTime::now() - Duration::from_hours(1);
    let set = |name: &str, time| fs::File::open(scene.path(name)).and_then(|file| file.set_modified(time)).expect("a time");
    set("b.py", past);
    set("a.py", past);
    let mut copy = scene.open();
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    let modified = |name: &str| scene.base().join(name).metadata().expect("a file").modified().expect("a time");
    assert_eq!(modified("b.py"), past, "a first copy keeps the times");
    scene.write("a.py", "two");
    set("a.py", past);
    let run_ended = now();
    copy.bring_up_to(&scene.look(), run_ended).expect("a copy");
    let stamp = modified("a.py").duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    assert_eq!(stamp, run_ended.as_millis().unsigned_abs().into());
    // Equal content is no change, even if the stamps differ.
    scene.write("b.py", "one");
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    assert_eq!(modified("b.py"), past);
}

/// make takes a product for up to date if it is not older than its source.
#[test]
fn files_that_change_between_two_looks_keep_the_order_of_their_times() {
    let scene = Scene::new(&[("source", "one"), ("product", "one"), ("twin", "one"), ("other", "one")]);
    // A second that does not come while the test goes on: what the clock itself sets (a directory's time) is always before it.
    let second = Timestamp::from_millis((now().as_millis() / 1_000 + 600) * 1_000);
    let set = |name: &str, milliseconds: u64| {
        let time = UNIX_EPOCH + Duration::from_millis(second.as_millis().unsigned_abs() + milliseconds);
        fs::File::open(scene.path(name)).and_then(|file| file.set_modified(time)).expect("a time");
    };
    let modified = |name: &str| scene.base().join(name).metadata().expect("a file").modified().expect("a time");
    let mut copy = scene.open();
    let follow = |copy: &mut ProjectCopy, milliseconds| {
        let at = Timestamp::from_millis(second.as_millis() + milliseconds);
        assert_eq!(copy.bring_up_to(&scene.look(), at).expect("a copy"), CopyOutcome::Current);
    };
    ["source", "product", "twin", "other"].iter().for_each(|name| set(name, 1));
    follow(&mut copy, 2);
    // The product was made from a source that was saved again afterwards. The product has the size and the second of the one
    // before, so it gets a later second; the source has another size.
    for (name, text, milliseconds) in [("product", "two", 10), ("twin", "two", 10), ("source", "changed", 20)] {
        scene.write(name, text);
        set(name, milliseconds);
    }
    follow(&mut copy, 30);
    assert!(modified("source") > modified("product"));
    assert_eq!(modified("product"), modified("twin"));
    // The product lies in the future now, and the source is saved before that time comes.
    scene.write("other", "changed");
    follow(&mut copy, 40);
    assert!(modified("other") > modified("source"));
    let mut copy = scene.open();
    assert_eq!(copy.newest().expect("a time").as_millis() / 1_000, second.as_millis() / 1_000 + 1);
    scene.write("source", "saved again");
    follow(&mut copy, 50);
    assert!(modified("source") > modified("other"), "by another process");
}

#[test]
fn a_change_of_permissions_reaches_the_copy() {
    let scene = Scene::new(&[("id", "key"), ("d/a", "one"), ("d/x.log", ""), (".gitignore", "*.log\n")]);
    let set = |name: &str, mode| fs::set_permissions(scene.path(name), Permissions::from_mode(mode)).expect("a mode");
    let mode = |name: &str| scene.base().join(name).metadata().expect("an entry").mode() & 0o777;
    set("id", 0o644);
    let mut copy = scene.open();
    let mut index = scene.look();
    copy.bring_up_to(&index, now()).expect("a copy");
    assert_eq!(mode("id"), 0o644);
    let before = scene.base().join("id").metadata().expect("a file").modified().expect("a time");
    for (wanted, of_directory) in [(0o600, 0o750), (0o640, 0o700)] {
        set("id", wanted);
        set("d", of_directory);
        // An ignored file comes, so the times of the directory change too.
        fs::write(scene.path(&format!("d/{wanted}.log")), "").expect("a file");
        index = index.rescan(&matcher(), now()).expect("a tree");
        assert_eq!(copy.bring_up_to(&index, now()).expect("a copy"), CopyOutcome::Current);
        assert_eq!((mode("id"), mode("d")), (wanted, of_directory));
    }
    // A file that became executable after it was hashed is another one than the digest names.
    set("id", 0o600);
    index = index.rescan(&matcher(), now()).expect("a tree");
    set("id", 0o700);
    copy.bring_up_to(&index, now()).expect("a copy");
    assert_eq!(mode("id") & 0o111, 0, "the digest says that nobody may execute it");
    // Another process knows only the saved index, and content changes in the same look.
    set("id", 0o400);
    set("d", 0o555);
    scene.write("other", "new");
    scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    assert_eq!((mode("id"), mode("d")), (0o400, 0o755), "the owner can always change a directory of the copy");
    set("d", 0o755);
    scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    let after = scene.base().join("id").metadata().expect("a file").modified().expect("a time");
    assert_eq!(after, before, "the content is the same");
}

/// mypy takes a file for unchanged if size and whole second are the same.
#[test]
fn two_contents_of_one_size_never_have_times_in_one_second() {
    let scene = Scene::new(&[("a.py", "one"), ("d/b.py", "one"), ("longer.py", "one")]);
    let mut copy = scene.open();
    let start = now();
    let mut follow = |milliseconds| {
        let at = Timestamp::from_millis(start.as_millis() + milliseconds);
        copy.bring_up_to(&scene.look(), at).expect("a copy");
    };
    let second = |name: &str| {
        let modified = scene.base().join(name).metadata().expect("a file").modified().expect("a time");
        modified.duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
    };
    follow(0);
    let mut last = second("a.py");
    for text in ["two", "six", "ten"] {
        scene.write("a.py", text);
        scene.write("longer.py", &text.repeat(last as usize % 7 + 2));
        follow(1);
        assert!(second("a.py") > last, "{text}");
        last = second("a.py");
    }
    // A file that is removed and made again is told apart too, alone and with its directory.
    let before = second("d/b.py");
    for remove in [fs::remove_file, |path: PathBuf| fs::remove_dir_all(path.parent().expect("a directory"))] {
        let _removed = remove(scene.path("d/b.py"));
        follow(2);
        fs::create_dir_all(scene.path("d")).expect("ours");
        scene.write("d/b.py", "two");
        follow(3);
        assert!(second("d/b.py") > before);
    }
}

/// An object file that somebody built by hand may be newer than the source that is tested, and made from another one.
#[test]
fn a_copied_input_is_older_than_every_source_and_its_changes_are_counted() {
    let scene = Scene::new(&[("a.o", "one"), ("dist/app", "one")]);
    let mut copy = scene.open();
    let is_output = |path: &TreePath| path.as_bytes().starts_with(b"dist");
    let mut follow = || {
        copy.bring_inputs_up_to(&scene.look(), now(), &is_output).expect("a copy");
        let age = |name: &str| {
            let modified = scene.base().join(name).metadata().expect("a file").modified().expect("a time");
            SystemTime::now().duration_since(modified).unwrap_or_default()
        };
        (age("a.o") > Duration::from_hours(39 * 365 * 24), age("dist/app") < Duration::from_hours(1), copy.generation())
    };
    let (is_old, is_new, first) = follow();
    assert!(is_old && is_new);
    scene.write("dist/app", "two");
    assert_eq!(follow(), (true, true, first), "a prerequisite made it anew, and it is newer than every cache");
    scene.write("a.o", "two");
    let (is_old, is_new, second) = follow();
    assert!(is_old && is_new && second != first);
}

/// A file with new content gets a new time, so it needs no count. A removed entry or a link that leads elsewhere has no
/// new time, so the generation must count it.
#[test]
fn the_generation_counts_the_changes_that_have_no_time() {
    let scene = Scene::new(&[("a.py", "one"), ("b.py", "one"), ("d/c.py", "one")]);
    symlink("a.py", scene.path("link")).expect("a link");
    let mut copy = scene.open();
    let mut follow = || {
        copy.bring_up_to(&scene.look(), now()).expect("a copy");
        copy.generation().expect("a generation")
    };
    let first = follow();
    scene.write("a.py", "two");
    scene.write("new/e.py", "one");
    fs::set_permissions(scene.path("b.py"), Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(follow(), first);
    let mut last = first;
    let mut is_counted = |what: &str| {
        let next = follow();
        assert_ne!(next, last, "{what}");
        assert!(next.is_of_same_copy(first), "{what}");
        last = next;
    };
    fs::remove_file(scene.path("b.py")).expect("a file");
    is_counted("removed");
    fs::rename(scene.path("d/c.py"), scene.path("d/moved.py")).expect("a file");
    is_counted("renamed");
    fs::remove_file(scene.path("link")).and_then(|()| symlink("d/moved.py", scene.path("link"))).expect("a link");
    is_counted("a link that leads elsewhere");
    fs::remove_dir_all(scene.path("d")).expect("a directory");
    scene.write("d", "a file");
    is_counted("a directory that became a file");
    let discarded = copy.discard().and_then(|()| copy.bring_up_to(&scene.look(), Timestamp::from_millis(1)));
    assert_eq!(discarded.expect("a copy"), CopyOutcome::Current);
    assert!(!copy.generation().expect("a generation").is_of_same_copy(first));
}

#[test]
fn a_new_boot_makes_the_copy_anew() {
    let scene = Scene::new(&[("a.py", "one")]);
    scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    fs::write(scene.base().join("a.py"), "lost by the disk").expect("a file");
    fs::write(scene.base().join("junk"), "").expect("a file");
    let mut copy = ProjectCopy::open(scene.kept.path(), scene.root.path(), "another boot").expect("a copy");
    assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(contents(&scene.base()), [(PathBuf::from("a.py"), "0 one".to_owned())]);
}

#[test]
fn what_an_earlier_process_began_is_put_right() {
    let scene = Scene::new(&[("a.py", "one"), ("d/b.py", "one")]);
    scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    scene.write("a.py", "two");
    fs::remove_dir_all(scene.path("d")).expect("removed");
    scene.write("new/c.py", "one");
    // An earlier process recorded its next changes, made some of them, and died.
    fs::write(scene.kept.path().join("journal"), b"a.py\0d\0new\0new/c.py\0new/cut-sh").expect("a journal");
    fs::create_dir(scene.base().join("new")).expect("a directory");
    fs::write(scene.base().join("new/c.py"), "half").expect("a file");
    fs::write(scene.kept.path().join("incoming/7"), "half").expect("a file");
    let mut copy = scene.open();
    assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(contents(&scene.base()), contents(scene.root.path()));
    assert_eq!(fs::read_dir(scene.kept.path().join("incoming")).expect("a directory").count(), 0);
}

#[test]
fn a_directory_that_was_removed_and_is_back_is_made_before_its_contents() {
    let scene = Scene::new(&[("a/b", "one")]);
    let mut copy = scene.open();
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    fs::remove_dir_all(scene.path("a")).expect("removed");
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    scene.write("a/a/a", "");
    // The next process knows the index from before the removal, and that `a` may differ from it.
    assert_eq!(scene.open().bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(contents(&scene.base()), contents(scene.root.path()));
}

#[test]
fn a_damaged_index_makes_the_copy_anew() {
    let scene = Scene::new(&[("a.py", "one")]);
    scene.open().bring_up_to(&scene.look(), now()).expect("a copy");
    fs::write(scene.kept.path().join("index"), "damaged").expect("a file");
    fs::write(scene.base().join("junk"), "").expect("a file");
    assert_eq!(scene.open().bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(contents(&scene.base()), contents(scene.root.path()));
}

#[test]
fn a_link_on_the_way_is_never_followed() {
    let outside = directory();
    fs::write(outside.path().join("secret"), "outside").expect("a file");
    let scene = Scene::new(&[("d/a.py", "one")]);
    let mut copy = scene.open();
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    scene.write("d/secret", "outside");
    let index = scene.look();
    fs::remove_dir_all(scene.path("d")).expect("removed");
    symlink(outside.path(), scene.path("d")).expect("a link");
    let CopyOutcome::Moved(moved) = copy.bring_up_to(&index, now()).expect("a copy") else { panic!("it moved") };
    assert!(moved.contains(&path("d/secret")), "{moved:?}");
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    assert_eq!(contents(&scene.base()), contents(scene.root.path()));
}

#[test]
fn what_cannot_have_a_copy_says_why() {
    let scene = Scene::new(&[("a.py", "four")]);
    let large = InPlaceReason::TooLarge { bytes: ByteSize(4), bound: ByteSize(3), largest: (path("a.py"), ByteSize(4)) };
    assert_eq!((obstacle(&scene.look(), ByteSize(4)), obstacle(&scene.look(), ByteSize(3))), (None, Some(large)));
    nix::unistd::mkfifo(&scene.path("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    assert_eq!((obstacle(&scene.look(), ByteSize(4)), left_out(&scene.look())), (None, vec![path("pipe")]));
}

#[test]
fn a_discarded_copy_leaves_nothing_and_is_made_anew() {
    let scene = Scene::new(&[("d/a.py", "one")]);
    let mut copy = scene.open();
    copy.bring_up_to(&scene.look(), now()).expect("a copy");
    copy.discard().expect("removed");
    assert_eq!(contents(&scene.base()), []);
    assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
    assert_eq!(contents(&scene.base()), contents(scene.root.path()));
}

/// Ignored files that checks may read form a separate tree, which has a copy of its own.
#[test]
fn ignored_inputs_are_a_tree_of_their_own() {
    let scene = Scene::new(&[
        (".gitignore", ".env\n*.so\n/data/\n/dist/\n*.egg-info/\n"),
        (".env", "SECRET=1"),
        ("src/.gitignore", "_version.py\n"),
        ("src/_version.py", "1"),
        ("src/a.py", "a"),
        ("src/fast.so", "so"),
        ("src/__pycache__/a.pyc", "planted"),
        ("data/deep/x.csv", "1,2"),
        ("data/node_modules/y.js", "1"),
        ("data/app.log", "line"),
        ("dist/out.js", "built"),
        (".venv/bin/python", "python"),
        ("pkg.egg-info/PKG-INFO", "Name: x"),
        (".git/config", "[core]"),
    ]);
    let inputs =
        Matcher::new(&MatcherSettings { selects: Selects::IgnoredInputs, ..MatcherSettings::default() }).expect("no patterns");
    let index = TreeIndex::scan(scene.root.path(), &inputs, now()).expect("a readable project");
    let copy = scene.open().bring_up_to(&index, now()).expect("a copy");
    assert_eq!(copy, CopyOutcome::Current);
    let files = contents(&scene.base()).into_iter().filter(|(_, text)| text != "directory");
    let names: Vec<String> = files.map(|(path, _)| path.display().to_string()).collect();
    let of_data = ["data/app.log", "data/deep/x.csv", "data/node_modules/y.js"];
    assert_eq!(names[1..4], of_data, "whoever ignores a directory means all of it");
    assert_eq!([&names[..1], &names[4..]].concat(), [".env", "pkg.egg-info/PKG-INFO", "src/_version.py", "src/fast.so"]);
    // An update of named paths finds the same as a full scan.
    scene.write(".env", "SECRET=2");
    scene.write("src/b.py", "b");
    scene.write("data/new.csv", "3");
    let hints = [".env", "src/b.py", "data/new.csv"].map(path).into();
    let applied = index.apply(&hints, &inputs, now()).expect("a readable project");
    assert_eq!(applied.digest(), TreeIndex::scan(scene.root.path(), &inputs, now()).expect("a readable project").digest());
    assert_ne!(applied.digest(), index.digest());
}

#[test]
fn two_processes_that_use_a_copy_in_turn_never_take_the_others_content_for_their_own() {
    let scene = Scene::new(&[("a", "one"), ("b", "one")]);
    let (mut service, mut command) = (scene.open(), scene.open());
    let follow = |copy: &mut ProjectCopy| {
        assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
        contents(&scene.base())
    };
    let first = follow(&mut service);
    scene.write("a", "two");
    scene.write("c", "two");
    follow(&mut command);
    // The project is again as it was when the service copied it. But the command has changed the copy since, and the
    // service must notice that.
    scene.write("a", "one");
    fs::remove_file(scene.path("c")).expect("a file");
    assert_eq!(follow(&mut service), first);
    fs::remove_dir_all(scene.kept.path()).expect("a directory");
    assert_eq!(follow(&mut service), first, "somebody has removed the copy");
}

/// One change to a project, or one event in the process that copies it.
#[derive(Debug, Clone)]
enum Step {
    Write(String, String),
    Remove(String),
    Rename(String, String),
    Link(String, String),
    Execute(String),
    /// The copy is updated to an index that was made before the last step.
    FollowAnOldLook,
    Follow,
    /// Another process opens the copy and goes on with it.
    Reopen,
}

fn name() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn step() -> impl Strategy<Value = Step> {
    let text = prop::sample::select(vec!["", "one", "two"]).prop_map(str::to_owned);
    prop_oneof![
        4 => (name(), text).prop_map(|(name, text)| Step::Write(name, text)),
        2 => name().prop_map(Step::Remove),
        2 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (name(), name()).prop_map(|(at, to)| Step::Link(at, to)),
        1 => name().prop_map(Step::Execute),
        2 => proptest::strategy::Just(Step::FollowAnOldLook),
        2 => proptest::strategy::Just(Step::Follow),
        1 => proptest::strategy::Just(Step::Reopen),
    ]
}

/// Applies a step to the project. A step that is impossible changes nothing.
fn act(scene: &Scene, step: &Step) {
    let _cannot_be_done = match step {
        Step::Write(name, text) => {
            let path = scene.path(name);
            let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            let goes_below = path.parent().is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real == parent));
            if is_link {
                Ok(())
            } else if goes_below || fs::create_dir_all(path.parent().expect("a parent")).is_ok() {
                fs::write(path, text)
            } else {
                Ok(())
            }
        }
        Step::Remove(name) => fs::remove_file(scene.path(name)).or_else(|_| fs::remove_dir_all(scene.path(name))),
        Step::Rename(from, to) => {
            nix::fcntl::renameat(nix::fcntl::AT_FDCWD, &scene.path(from), nix::fcntl::AT_FDCWD, &scene.path(to))
                .map_err(Into::into)
        }
        Step::Link(at, to) => symlink(to, scene.path(at)),
        Step::Execute(name) => fs::set_permissions(scene.path(name), Permissions::from_mode(0o755)),
        Step::FollowAnOldLook | Step::Follow | Step::Reopen => Ok(()),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_a_current_copy_has_the_digest_of_the_index(steps in prop::collection::vec(step(), 1..40)) {
        let scene = Scene::new(&[("a/b", "one")]);
        let mut copy = scene.open();
        let mut old = scene.look();
        for step in &steps {
            act(&scene, step);
            match step {
                Step::FollowAnOldLook => {
                    if copy.bring_up_to(&old, now()).expect("a copy") == CopyOutcome::Current {
                        prop_assert_eq!(digest_of(&scene.base()), old.digest());
                    }
                }
                Step::Follow => {
                    prop_assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
                    prop_assert_eq!(digest_of(&scene.base()), scene.look().digest());
                }
                Step::Reopen => copy = scene.open(),
                Step::Write(..) | Step::Remove(_) | Step::Rename(..) | Step::Link(..) | Step::Execute(_) => old = scene.look(),
            }
        }
        prop_assert_eq!(copy.bring_up_to(&scene.look(), now()).expect("a copy"), CopyOutcome::Current);
        prop_assert_eq!(digest_of(&scene.base()), scene.look().digest());
    }
}

fn digest_of(directory: &Path) -> proctor_model::TreeDigest {
    TreeIndex::scan(directory, &matcher(), now()).expect("a readable directory").digest()
}
