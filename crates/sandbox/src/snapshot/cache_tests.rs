//! Merges what checks write to their caches, also what a hostile check writes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;
use tempfile::TempDir;

use crate::snapshot::{CacheConditions, CacheKey, CacheSource, CopyGeneration, KeptCaches, find_caches};
use proctor_model::{ByteSize, Digest, Timestamp, TreePath};

const LIMIT: ByteSize = ByteSize(1 << 20);

/// A project's kept caches, and the layer that a check writes next.
struct Scene {
    root: TempDir,
    caches: KeptCaches,
    conditions: CacheConditions,
    earlier: Option<Digest>,
}

impl Scene {
    fn new() -> Self {
        let root = TempDir::new().expect("a directory");
        let caches = KeptCaches::new(root.path(), "boot", LIMIT);
        let made = CopyGeneration::new(Timestamp::from_millis(1));
        let conditions = CacheConditions { copies: [made; 2], environments: Digest::of(b"environments") };
        let scene = Self { root, caches, conditions, earlier: Some(Digest::of(b"nothing")) };
        scene.begin();
        scene
    }

    /// Makes the layers empty for the next attempt.
    fn begin(&self) {
        for name in ["upper", "packages"] {
            let _absent = fs::remove_dir_all(self.root.path().join(name));
            fs::create_dir(self.root.path().join(name)).expect("a directory");
        }
    }

    fn upper(&self, name: &str) -> PathBuf {
        self.root.path().join("upper").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.upper(name).parent().expect("a parent")).expect("a directory");
        fs::write(self.upper(name), text).expect("a file");
    }

    fn remove(&self, name: &str) {
        fs::create_dir_all(self.upper(name).parent().expect("a parent")).expect("a directory");
        mknod(&self.upper(name), SFlag::S_IFCHR, Mode::S_IRUSR, 0).expect("a whiteout");
    }

    /// Ends an attempt of the check with this name. Returns why its cache was dropped.
    fn merge_for(&self, check: &str) -> Option<String> {
        let upper = self.upper("");
        let written = find_caches(&upper, &[], &|path| Ok(path.as_bytes() == b"tracked/target")).expect("a layer");
        let packages = self.root.path().join("packages");
        let source = CacheSource {
            upper: &upper,
            written: &written,
            environments: vec![(Path::new("/project/node_modules"), &packages)],
            conditions: &self.conditions,
            earlier: &|| Ok(self.earlier),
        };
        let dropped = self.caches.merge(key(check), &source, now()).expect("a cache that can be removed");
        self.begin();
        dropped
    }

    fn merge(&self) {
        assert_eq!(self.merge_for("check"), None);
    }

    /// Returns what the next attempt of a check sees: the paths of the entries in its cache, with their contents.
    fn seen_by(&self, check: &str) -> Vec<String> {
        let fits = |path: &TreePath| Ok(!path.as_bytes().starts_with(b"gone/"));
        let laid = self.caches.prepare(key(check), &self.conditions, &fits, &|_| Ok(self.earlier)).expect("a usable cache");
        let Some(laid) = laid else { return Vec::new() };
        let places = [laid.project(), laid.in_environment(Path::new("/project/node_modules"))];
        places.into_iter().flatten().flat_map(|place| contents(&place)).collect()
    }

    fn seen(&self) -> Vec<String> {
        self.seen_by("check")
    }

    fn kept(&self) -> usize {
        let listed = fs::read_dir(self.root.path().join("caches")).expect("a directory");
        listed.flatten().filter(|entry| entry.path().is_dir()).count()
    }
}

fn key(check: &str) -> CacheKey {
    CacheKey(Digest::of(check.as_bytes()))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(since.as_millis()).expect("a clock of this age"))
}

fn contents(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).expect("a directory").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path.strip_prefix(directory).expect("below").display().to_string();
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_symlink() {
                found.push(format!("{name} -> {}", fs::read_link(&path).expect("a link").display()));
            } else {
                assert!(kind.is_file(), "{name}");
                found.push(format!("{name}={}", fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_check_finds_its_own_cache_again_and_no_other_check_sees_it() {
    let scene = Scene::new();
    scene.write(".mypy_cache/a", "1");
    scene.write("web/.eslintcache", "1");
    scene.write("a.txt", "no cache");
    scene.write("tracked/target/a", "of the tree");
    fs::create_dir(scene.root.path().join("packages/.vite")).expect("a directory");
    fs::write(scene.root.path().join("packages/.vite/deps"), "1").expect("a file");
    fs::write(scene.root.path().join("packages/planted.js"), "1").expect("a file");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/a=1", "web/.eslintcache=1", ".vite/deps=1"]);
    assert_eq!(scene.seen_by("another"), Vec::<String>::new());
    scene.write(".mypy_cache/b", "2");
    scene.remove("web/.eslintcache");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/a=1", ".mypy_cache/b=2", ".vite/deps=1"]);
    assert!(
        !scene
            .root
            .path()
            .join("caches")
            .read_dir()
            .expect("a directory")
            .flatten()
            .any(|one| one.path().join("project/web").exists())
    );
}

#[test]
fn a_hostile_check_gets_nothing_but_files_directories_and_links() {
    let scene = Scene::new();
    let outside = TempDir::new().expect("a directory");
    fs::write(outside.path().join("secret"), "outside").expect("a file");
    scene.write(".mypy_cache/d/x", "kept");
    scene.write(".mypy_cache/pipe", "kept");
    scene.merge();
    // A kept directory is replaced by a link that leads outside, and files by special files.
    scene.write(".mypy_cache/a\nname", "text");
    symlink(outside.path(), scene.upper(".mypy_cache/d")).expect("a link");
    mkfifo(&scene.upper(".mypy_cache/pipe"), Mode::S_IRWXU).expect("a pipe");
    let _socket = UnixListener::bind(scene.upper(".mypy_cache/socket")).expect("a socket");
    scene.write(".mypy_cache/locked/x", "locked");
    fs::set_permissions(scene.upper(".mypy_cache/locked"), Permissions::from_mode(0o000)).expect("a mode");
    scene.write(".mypy_cache/run", "tool");
    fs::set_permissions(scene.upper(".mypy_cache/run"), Permissions::from_mode(0o6755)).expect("a mode");
    symlink(outside.path(), scene.upper(".ruff_cache")).expect("a link");
    scene.merge();
    let link = |name: &str| format!("{name} -> {}", outside.path().display());
    let expected = [
        ".mypy_cache/a\nname=text".to_owned(),
        link(".mypy_cache/d"),
        ".mypy_cache/locked/x=locked".to_owned(),
        ".mypy_cache/run=tool".to_owned(),
        link(".ruff_cache"),
    ];
    assert_eq!(scene.seen(), expected);
    let run = scene.root.path().join("caches").join(&key("check").0.hex()[..32]).join("project/.mypy_cache/run");
    assert_eq!(fs::metadata(run).expect("a file").mode() & 0o7777, 0o755);
    // `.mypy_cache/d` is a link in the kept cache now, and the next attempt writes to a directory of this name.
    scene.write(".mypy_cache/d/y", "2");
    scene.write(".ruff_cache/y", "2");
    scene.merge();
    assert!(scene.seen().contains(&".mypy_cache/d/y=2".to_owned()));
    assert_eq!(contents(outside.path()), ["secret=outside"]);
}

#[test]
fn a_cache_that_is_too_large_or_too_deep_is_dropped_and_the_reason_is_told() {
    let scene = Scene::new();
    scene.write(".mypy_cache/a", "1");
    scene.merge();
    scene.write(".mypy_cache/large", &"x".repeat(2 << 20));
    assert_eq!(scene.merge_for("check").as_deref(), Some("it is larger than allowed"));
    assert_eq!(scene.seen(), Vec::<String>::new());
    scene.write(&format!(".mypy_cache/{}x", "d/".repeat(100)), "");
    assert_eq!(scene.merge_for("check").as_deref(), Some("its directories are nested too deeply"));
    assert_eq!(scene.kept(), 0);
}

#[test]
fn the_caches_that_were_used_least_recently_go_first() {
    let scene = Scene::new();
    for check in ["one", "two", "three"] {
        scene.write(".mypy_cache/a", &"x".repeat(400 << 10));
        assert_eq!(scene.merge_for(check), None);
    }
    let record = |check: &str| scene.root.path().join("caches").join(&key(check).0.hex()[..32]).join("record");
    let an_hour_ago = SystemTime::now() - Duration::from_hours(1);
    fs::File::options().write(true).open(record("two")).and_then(|file| file.set_modified(an_hour_ago)).expect("a time");
    scene.caches.remove_surplus(now()).expect("caches");
    assert_eq!(["one", "two", "three"].map(|check| scene.seen_by(check).len()), [1, 0, 1]);
    let in_two_months = Timestamp::from_millis(now().as_millis() + 60 * 24 * 3_600_000);
    scene.caches.remove_surplus(in_two_months).expect("caches");
    assert_eq!(scene.kept(), 0);
}

#[test]
fn a_change_that_a_process_began_and_a_cache_of_another_boot_are_never_used() {
    let scene = Scene::new();
    let record = scene.root.path().join("caches").join(&key("check").0.hex()[..32]).join("record");
    scene.write(".mypy_cache/a", "1");
    scene.merge();
    fs::remove_file(&record).expect("a record");
    assert_eq!((scene.seen(), scene.kept()), (Vec::new(), 0));
    scene.write(".mypy_cache/b", "2");
    scene.merge();
    fs::remove_file(&record).expect("a record");
    scene.write(".mypy_cache/c", "3");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/c=3"], "the cache that was left without a record is gone");
    fs::write(&record, "damaged").expect("a file");
    assert_eq!(scene.seen(), Vec::<String>::new());
    scene.write(".mypy_cache/a", "1");
    scene.merge();
    let later = KeptCaches::new(scene.root.path(), "another boot", LIMIT);
    later.remove_surplus(now()).expect("caches");
    assert_eq!(scene.kept(), 0);
}

#[test]
fn a_cache_goes_with_the_directory_around_it() {
    let scene = Scene::new();
    scene.write("gone/.mypy_cache/a", "1");
    scene.write("web/deep/.mypy_cache/a", "1");
    scene.write(".mypy_cache/a", "1");
    scene.merge();
    // The tree has no directory `gone` any more, and the check removes `web`.
    assert_eq!(scene.seen(), [".mypy_cache/a=1", "web/deep/.mypy_cache/a=1"]);
    scene.remove("web");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/a=1"]);
}

#[test]
fn a_cache_of_a_tool_that_compares_times_is_kept_only_while_every_change_has_a_time() {
    let mut scene = Scene::new();
    let fill = |scene: &Scene| {
        scene.write("target/a", "1");
        scene.write(".mypy_cache/a", "1");
        scene.write("web/app.tsbuildinfo", "1");
        scene.merge();
        assert_eq!(scene.seen(), [".mypy_cache/a=1", "target/a=1", "web/app.tsbuildinfo=1"]);
    };
    fill(&scene);
    assert!(KeptCaches::newest(scene.root.path()).expect("a time") > now().min(Timestamp::from_millis(0)));
    scene.conditions.copies[0] = scene.conditions.copies[0].after_removal();
    assert_eq!(scene.seen(), [".mypy_cache/a=1"], "an entry of the tree was removed");
    fill(&scene);
    scene.conditions.environments = Digest::of(b"other packages");
    assert_eq!(scene.seen(), [".mypy_cache/a=1"]);
    fill(&scene);
    scene.earlier = Some(Digest::of(b"other files of earlier checks"));
    assert_eq!(scene.seen(), [".mypy_cache/a=1"]);
    fill(&scene);
    scene.write("web/dist/a.js", "a product");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/a=1", "target/a=1"], "the products would be missing");
    scene.write("target/a", "1");
    let tomorrow = SystemTime::now() + Duration::from_hours(24);
    fs::File::open(scene.upper("target/a")).and_then(|file| file.set_modified(tomorrow)).expect("a time");
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/a=1"], "a saved file would be older");
    fill(&scene);
    scene.conditions.copies[1] = CopyGeneration::new(Timestamp::from_millis(2));
    assert_eq!((scene.seen(), scene.kept()), (Vec::new(), 0), "a new copy has the times of the project's files");
}

#[test]
fn the_time_of_copying_is_later_than_every_kept_file() {
    let scene = Scene::new();
    scene.write("target/a", "1");
    let modified = fs::metadata(scene.upper("target/a")).and_then(|metadata| metadata.modified()).expect("a time");
    scene.merge();
    let newest = KeptCaches::newest(scene.root.path()).expect("a time");
    assert!(SystemTime::UNIX_EPOCH + Duration::from_millis(newest.as_millis().unsigned_abs()) > modified);
}

/// `pytest --last-failed` would otherwise run only the tests that failed in the last run.
#[test]
fn what_a_tool_remembers_of_tests_is_never_kept() {
    let scene = Scene::new();
    let record = scene.root.path().join("caches").join(&key("check").0.hex()[..32]).join("record");
    let write = || {
        ["lastfailed", "nodeids"].iter().for_each(|name| scene.write(&format!(".pytest_cache/v/cache/{name}"), "1"));
        ["lastfailed", "stepwise", "nodeids"].iter().for_each(|name| scene.write(&format!(".mypy_cache/v/cache/{name}"), "1"));
        fs::create_dir_all(scene.root.path().join("packages/.cache/jest")).expect("a directory");
        fs::write(scene.root.path().join("packages/.cache/jest/perf-cache-1f"), "1").expect("a file");
    };
    write();
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/v/cache/nodeids=1"]);
    write();
    scene.merge();
    assert_eq!(scene.seen(), [".mypy_cache/v/cache/nodeids=1"]);
    // Earlier versions of proctor kept such files. Their records have another number of the rules, or none.
    let text = fs::read_to_string(&record).expect("a record");
    assert!(text.contains("\"format\":2,"), "{text}");
    fs::write(&record, text.replace("\"format\":2,", "\"format\":1,")).expect("a record");
    assert_eq!(scene.seen(), Vec::<String>::new());
}
