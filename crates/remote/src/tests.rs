//! Has actions carried out by a server that can lie: every answer that is not true is refused, and the same answer without the lie is
//! accepted.

#[expect(clippy::wildcard_enum_match_arm, reason = "most lies are about one thing, and the rest of the answer is true")]
mod lying_server;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bazel_remote_apis::build::bazel::remote::execution::v2 as reapi;
use proctor_model::{Digest, RemoteCertificates, RemotePackages, RemoteServer, Timestamp, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use tempfile::TempDir;

use self::lying_server::{Lie, LyingServer};
use crate::input_root::{BlobSource, InputRoot, Kept};
use crate::{InputFiles, PROJECT, RemoteEnd, RemoteFault, RemoteOrder, ServerAccess, ask, require_own_path, run};

/// The lies about an answer: none of them may be believed.
const TAMPERED: &[Lie] = &[
    Lie::OtherStdout,
    Lie::ShortStdout,
    Lie::LongStdout,
    Lie::InlineStdout,
    Lie::OtherStderr,
    Lie::InlineReport,
    Lie::OtherReport,
    Lie::ShortReport,
    Lie::NoDigest,
    Lie::NoSha256,
    Lie::NegativeSize,
    Lie::HugeSize,
    Lie::NotAskedFor,
    Lie::LeadsOut,
    Lie::Absolute,
    Lie::Twice,
    Lie::OtherTree,
    Lie::NameWithSlash,
    Lie::NameOfParent,
    Lie::OtherAction,
    Lie::OfAnotherTime,
    Lie::NoResult,
    Lie::NoResponse,
    Lie::OtherType,
    Lie::Garbage,
    Lie::ErrorWithoutReason,
    Lie::OtherOperation,
    Lie::EmptyResult,
    Lie::CodeOfNoProcess,
    Lie::TimesOfNoClock,
    Lie::TwoRoots,
    Lie::GarbageTree,
    Lie::ManyDirectories,
    Lie::DeepDirectories,
    Lie::NegativeSizeInTree,
    Lie::FileAndDirectory,
    Lie::LinkAndFile,
    Lie::LinkWithTwoTargets,
    Lie::LongName,
];

struct Project {
    files: TempDir,
    answers: TempDir,
}

impl Project {
    #[expect(clippy::disallowed_methods, reason = "the test writes the tree that it sends")]
    fn new() -> Self {
        let project = Self { files: TempDir::new().expect("a directory"), answers: TempDir::new().expect("a directory") };
        let root = project.files.path();
        fs::create_dir_all(root.join("a/b")).expect("a directory");
        for (name, text) in [("a/b/deep.py", "deep"), ("a/near.py", "near"), ("top.py", "top")] {
            fs::write(root.join(name), text).expect("written");
        }
        std::os::unix::fs::symlink("top.py", root.join("link.py")).expect("linked");
        project
    }

    fn tree(&self) -> TreeIndex {
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        TreeIndex::scan(self.files.path(), &matcher, Timestamp::from_millis(0)).expect("a tree")
    }

    fn run(
        &self,
        server: &LyingServer,
        tree: &TreeIndex,
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<RemoteEnd, RemoteFault> {
        let order = RemoteOrder {
            files: InputFiles {
                tree: Some(tree),
                content: self.files.path(),
                place: PROJECT,
                installed: &[],
                project: self.files.path(),
                added: &[("plugin.py", "text".to_owned())],
                now: Timestamp::from_millis(0),
            },
            argv: vec!["pytest".to_owned()],
            environment: BTreeMap::new(),
            platform: &BTreeMap::new(),
            directory: "project".to_owned(),
            outputs: ["../out", "made", "top.py", "link.py"].map(str::to_owned).to_vec(),
            timeout: Duration::from_secs(30),
            into: &self.answers.path().join("answer"),
        };
        run(&access(server), &order, is_stopped)
    }
}

fn access(server: &LyingServer) -> ServerAccess {
    let settings = RemoteServer {
        endpoint: format!("grpc://{}", server.address),
        instance: "main".to_owned(),
        headers_from: Some("BUILD_TOKEN".to_owned()),
        certificates: RemoteCertificates::default(),
        platform: BTreeMap::new(),
        environment: RemotePackages::Image,
    };
    let ambient = BTreeMap::from([(OsString::from("BUILD_TOKEN"), OsString::from("s3cret"))]);
    ServerAccess::read(&settings, &ambient, Path::new("/")).expect("right settings")
}

fn never() -> bool {
    false
}

#[test]
fn an_honest_answer_is_read_whole() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::None));
    let end = project.run(&server, &project.tree(), &never).expect("a result");
    assert_eq!((end.code, end.is_timeout), (1, false));
    assert_eq!(fs::read(&end.stdout).expect("read"), b"one test\n");
    assert_eq!(fs::read(&end.stderr).expect("read"), b"warned");
    assert_eq!(fs::read(end.root.join("out/junit.xml")).expect("read"), b"<testsuite tests=\"1\"/>");
    assert_eq!(fs::read(end.root.join("project/made/below/deep.txt")).expect("read"), b"deep");
    assert_eq!(mode(&end, "project/made/below/deep.txt"), 0o755);
    assert_eq!(mode(&end, "out/junit.xml") & 0o111, 0);
    assert_eq!(end.links, ["project/made/new-link"], "a link that was sent is not named");
    assert!(!end.root.join("project/top.py").exists(), "nobody wrote what came back as it was sent");
    let seen = server.seen.lock().expect("not poisoned");
    assert!(seen.headers.iter().all(|header| header == "Bearer s3cret") && !seen.headers.is_empty());
    assert!(seen.executed[0].skip_cache_lookup, "an honest run is a run");
}

fn mode(end: &RemoteEnd, path: &str) -> u32 {
    fs::metadata(end.root.join(path)).expect("it came back").permissions().mode() & 0o777
}

#[test]
fn no_answer_that_is_not_true_is_accepted() {
    let project = Project::new();
    let tree = project.tree();
    assert!(TAMPERED.len() >= 39);
    for lie in TAMPERED {
        let server = LyingServer::start(*lie);
        let fault = project.run(&server, &tree, &never).expect_err("a lie");
        assert!(matches!(fault, RemoteFault::Untrue(_)), "{lie:?}: {fault}");
        assert_eq!(server.seen.lock().expect("not poisoned").executed.len(), 1, "{lie:?}: a liar is not asked again");
    }
    // A directory that the server does not have is its own word, and is asked for again. What it takes back is not read.
    for lie in [Lie::MissingChild, Lie::ChildOfOtherSize, Lie::TakesBack, Lie::LongText] {
        let server = LyingServer::start(lie);
        let fault = project.run(&server, &tree, &never).expect_err("no answer");
        assert!(matches!(fault, RemoteFault::Said { .. }) && fault.to_string().len() < 1_000, "{lie:?}: {fault}");
        assert_eq!(server.seen.lock().expect("not poisoned").executed.len(), 1, "{lie:?}");
    }
}

/// Writes a file that is too large for a message of blobs.
#[expect(clippy::disallowed_methods, reason = "the test writes the tree that it sends")]
fn large(project: &Project) {
    fs::write(project.files.path().join("large.bin"), vec![7; 4 << 20]).expect("written");
}

/// A save of one file of 10,000 sends the file, the directories above it, the root and the action; another client sends nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes the tree that it sends")]
fn of_ten_thousand_files_a_save_sends_as_many_blobs_as_it_is_deep() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::None));
    let (root, mut known) = (project.files.path(), project.tree());
    for directory in 0..100 {
        fs::create_dir_all(root.join(format!("p/{directory}"))).expect("a directory");
        for file in 0..100 {
            fs::write(root.join(format!("p/{directory}/{file}.py")), format!("{directory} {file}")).expect("written");
        }
    }
    let mut rescan = || {
        let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
        known = known.rescan(&matcher, Timestamp::from_millis(0)).expect("a tree");
        known.clone()
    };
    let first = project.run(&server, &rescan(), &never).expect("a result").uploaded;
    assert!(first > 10_000, "{first}");
    for (path, depth) in [("top.py", 1), ("a/near.py", 2), ("p/7/7.py", 3)] {
        fs::write(root.join(path), "saved").expect("written");
        let sent = project.run(&server, &rescan(), &never).expect("a result").uploaded;
        assert!((1..=depth + 3).contains(&sent), "{path}: {sent}");
    }
    forget(&server);
    assert_eq!(project.run(&server, &rescan(), &never).expect("a result").uploaded, 0, "another client with the same tree");
}

/// Forgets all of a server, as another client that never saw it.
fn forget(server: &LyingServer) {
    crate::run::with_kept(&access(server), |kept| *kept = Kept::default());
}

/// The directories of installed packages are sent as they lie in the project, without what tools write there.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes the packages that it sends")]
fn installed_packages_lie_in_the_tree_at_its_own_path() {
    let project = Project::new();
    let root = project.files.path();
    for (path, text) in [(".venv/bin/tool", "run"), (".venv/lib/a.py", "a"), (".venv/lib/__pycache__/a.pyc", "compiled")] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        fs::write(path, text).expect("written");
    }
    std::os::unix::fs::symlink("/usr/bin/python3", root.join(".venv/bin/python")).expect("linked");
    fs::create_dir_all(root.join("a/b/node_modules")).expect("a directory");
    let matcher = Matcher::new(&MatcherSettings { ignore: vec![".venv".to_owned()], ..MatcherSettings::default() });
    let tree = TreeIndex::scan(root, &matcher.expect("right"), Timestamp::from_millis(0)).expect("a tree");
    let paths = [".venv", "a/b/node_modules"].map(|path| TreePath::try_from(path).expect("a path"));
    let files = InputFiles {
        tree: Some(&tree),
        content: root,
        place: "srv/shop",
        installed: &paths,
        project: root,
        added: &[],
        now: Timestamp::from_millis(i64::MAX / 2_000_000),
    };
    let mut kept = Kept::default();
    let made = kept.root(files).expect("a root");
    let mut found = Vec::new();
    list(&made, made.name.message(), "", &mut found);
    assert_eq!(
        found,
        [
            "/srv/shop/.venv/bin/python -> /usr/bin/python3",
            "/srv/shop/.venv/bin/tool",
            "/srv/shop/.venv/lib/a.py",
            "/srv/shop/a/b/deep.py",
            "/srv/shop/a/near.py",
            "/srv/shop/link.py -> top.py",
            "/srv/shop/top.py"
        ]
    );
    for (path, is_link, text) in [
        ("srv/shop/.venv/bin/tool", false, Some("run")),
        ("srv/shop/.venv/bin/python", false, None),
        ("srv/shop/a/near.py", false, Some("near")),
        ("srv/shop/link.py", true, Some("top.py")),
        ("srv/shop/link.py", false, None),
        ("srv/shop/new.py", false, None),
        ("out/top.py", false, None),
    ] {
        assert_eq!(files.sent(path, is_link), text.map(|text| Digest::of(text.as_bytes())), "{path}");
    }
    kept.note_sent(&made);
    let again = kept.root(files).expect("a root");
    assert_eq!((again.name, again.blobs.len()), (made.name, 0), "what the server has is not sent again");
    let nowhere = [TreePath::try_from("build/.venv").expect("a path")];
    fs::create_dir_all(root.join("build/.venv")).expect("a directory");
    let fault = kept.root(InputFiles { installed: &nowhere, ..files }).expect_err("no place");
    assert!(fault.to_string().contains("not part of the tree"), "{fault}");
}

#[test]
fn what_proctor_adds_is_a_program_if_it_names_its_interpreter() {
    let added = [("plan.json", "{}".to_owned()), ("shard.sh", "#!/bin/sh\nexec \"$@\"\n".to_owned())];
    let files = InputFiles {
        tree: None,
        content: Path::new("/"),
        place: PROJECT,
        installed: &[],
        project: Path::new("/"),
        added: &added,
        now: Timestamp::from_millis(0),
    };
    let made = Kept::default().root(files).expect("a root");
    let directories = made.blobs.values().filter_map(|source| match source {
        BlobSource::Bytes(bytes) => <reapi::Directory as prost::Message>::decode(&bytes[..]).ok(),
        BlobSource::File(_) => None,
    });
    let out = directories.into_iter().find(|directory| directory.files.len() == 2).expect("the directory `out`");
    assert_eq!(out.files.iter().map(|file| file.is_executable).collect::<Vec<_>>(), [false, true]);
}

/// Lists the files and links below a directory of a root, sorted.
fn list(root: &InputRoot, directory: reapi::Digest, path: &str, found: &mut Vec<String>) {
    let name = crate::blob::BlobName::read(Some(&directory), path).expect("a name");
    let Some(BlobSource::Bytes(bytes)) = root.blobs.get(&name) else { panic!("{path} is not sent") };
    let directory: reapi::Directory = prost::Message::decode(&bytes[..]).expect("a directory");
    let names: Vec<&String> = directory.directories.iter().map(|node| &node.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    for node in directory.directories {
        list(root, node.digest.expect("named"), &format!("{path}/{}", node.name), found);
    }
    found.extend(directory.files.iter().map(|node| format!("{path}/{}", node.name)));
    found.extend(directory.symlinks.iter().map(|node| format!("{path}/{} -> {}", node.name, node.target)));
    found.sort();
}

#[test]
fn packages_are_sent_only_where_the_project_lies_at_its_own_path() {
    let answers = TempDir::new().expect("a directory");
    let (into, shop) = (answers.path().join("answer"), Path::new("/srv/shop"));
    let server = LyingServer::start(Lie::RootIsTop);
    for _ in 0..2 {
        require_own_path(&access(&server), &BTreeMap::new(), shop, &into, &never).expect("it lies there");
    }
    assert_eq!(server.seen.lock().expect("not poisoned").executed.len(), 1, "it is asked once");
    let server = LyingServer::start(Lie::RootIsElsewhere);
    let fault = require_own_path(&access(&server), &BTreeMap::new(), shop, &into, &never).expect_err("another path");
    assert!(matches!(fault, RemoteFault::Unfit(_)) && fault.to_string().contains("`/worker/7/srv/shop` there"), "{fault}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test changes the tree that it sends")]
fn a_save_sends_what_changed_and_a_second_client_nothing() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::None));
    large(&project);
    let first = project.run(&server, &project.tree(), &never).expect("a result").uploaded;
    // 4 files, the file of `out`, the directories `a`, `a/b`, `project`, `out` and the root, the command and the action.
    assert_eq!(first, 12);
    assert_eq!(project.run(&server, &project.tree(), &never).expect("a result").uploaded, 0);
    fs::write(project.files.path().join("a/b/deep.py"), "changed").expect("written");
    // The file, three directories above it, the root of the action, and the action itself.
    assert_eq!(project.run(&server, &project.tree(), &never).expect("a result").uploaded, 6);
    let other = Project::new();
    large(&other);
    fs::write(other.files.path().join("a/b/deep.py"), "changed").expect("written");
    assert_eq!(other.run(&server, &other.tree(), &never).expect("a result").uploaded, 0);
}

#[test]
fn a_large_blob_is_sent_compressed_where_the_server_takes_that() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::Zstd));
    large(&project);
    project.run(&server, &project.tree(), &never).expect("a result");
    let large = crate::blob::BlobName::of(&vec![7; 4 << 20]);
    assert!(server.seen.lock().expect("not poisoned").blobs.contains_key(&large));
}

#[test]
fn of_several_shards_with_the_same_files_one_sends_them() {
    let server = LyingServer::start(Lie::None);
    let uploaded = std::thread::scope(|scope| {
        let shard = || {
            let project = Project::new();
            project.run(&server, &project.tree(), &never).expect("a result").uploaded
        };
        let shards: Vec<_> = (0..4).map(|_| scope.spawn(shard)).collect();
        shards.into_iter().map(|shard| shard.join().expect("it ended")).collect::<Vec<_>>()
    });
    assert_eq!(uploaded.iter().filter(|uploaded| **uploaded > 0).count(), 1, "{uploaded:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test changes the tree while it is sent")]
fn a_file_that_is_not_what_the_tree_names_is_not_sent() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::None));
    let tree = project.tree();
    fs::write(project.files.path().join("top.py"), "pot").expect("written");
    let fault = project.run(&server, &tree, &never).expect_err("another content");
    assert!(matches!(fault, RemoteFault::Input(_)), "{fault}");
    assert!(server.seen.lock().expect("not poisoned").executed.is_empty());
}

#[test]
fn what_may_pass_is_asked_again_within_a_bound() {
    let project = Project::new();
    let asked = |server: &LyingServer| server.seen.lock().expect("not poisoned").executed.len();
    large(&project);
    let tree = project.tree();
    for (lie, times) in [
        (Lie::BusyOnce, 2),
        (Lie::ForgetsOnce, 2),
        (Lie::BreaksOnce, 1),
        (Lie::RestartsOnce, 1),
        (Lie::AwayOnce, 1),
        (Lie::FullOnce, 1),
        (Lie::HalfOnce, 1),
        (Lie::VanishesOnce, 2),
        (Lie::AbortsOnce, 2),
        (Lie::InternalOnce, 2),
        (Lie::ReadFailsOnce, 1),
    ] {
        let server = LyingServer::start(lie);
        assert_eq!(project.run(&server, &tree, &never).expect("a result").code, 1, "{lie:?}");
        assert_eq!(asked(&server), times, "{lie:?}");
    }
    let server = LyingServer::start(Lie::BusyAlways);
    let fault = project.run(&server, &tree, &never).expect_err("no room");
    assert!(fault.to_string().contains("the server says: said so"), "{fault}");
    assert_eq!(asked(&server), 3);
    let server = LyingServer::start(Lie::ReadFailsAlways);
    let fault = project.run(&server, &tree, &never).expect_err("unreadable");
    assert!(fault.to_string().contains("the server says: said so"), "{fault}");
    assert_eq!(asked(&server), 1, "what ended is not carried out again");
}

#[test]
fn a_time_limit_of_the_server_is_an_end_with_what_was_printed() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::Deadline));
    let end = project.run(&server, &project.tree(), &never).expect("an end");
    assert!(end.is_timeout);
    assert_eq!(fs::read(&end.stdout).expect("read"), b"one test\n");
    let end = project.run(&LyingServer::start(Lie::DeadlineWithoutResult), &project.tree(), &never).expect("an end");
    assert!(end.is_timeout && fs::read(&end.stdout).expect("read").is_empty());
}

#[test]
fn a_stop_cancels_the_operation_there() {
    let project = Project::new();
    let tree = project.tree();
    // The operation has a name here only when its first word has come, so the stop comes later each time until that is so.
    let is_cancelled = [1_u32, 10, 100, 1000].into_iter().any(|patience| {
        let (server, looks) = (LyingServer::start(Lie::NeverEnds), AtomicU32::new(0));
        let has_begun = || !server.seen.lock().expect("not poisoned").executed.is_empty();
        let is_stopped = || has_begun() && looks.fetch_add(1, Ordering::SeqCst) >= patience;
        let fault = project.run(&server, &tree, &is_stopped).expect_err("stopped");
        assert!(matches!(fault, RemoteFault::Stopped), "{fault}");
        server.seen.lock().expect("not poisoned").cancelled == ["operations/1"]
    });
    assert!(is_cancelled);
}

#[test]
fn a_server_says_what_it_can_do() {
    assert!(ask(&access(&LyingServer::start(Lie::None))).is_ok());
    let unfit = ask(&access(&LyingServer::start(Lie::Unfit))).expect_err("no SHA-256");
    assert!(unfit.to_string().contains("SHA-256"), "{unfit}");
    let settings = RemoteServer {
        endpoint: "grpc://127.0.0.1:1".to_owned(),
        instance: String::new(),
        headers_from: None,
        certificates: RemoteCertificates::default(),
        platform: BTreeMap::new(),
        environment: RemotePackages::Image,
    };
    let away = ask(&ServerAccess::read(&settings, &BTreeMap::new(), Path::new("/")).expect("right settings"));
    assert!(matches!(away, Err(RemoteFault::Away(_))), "{away:?}");
}
