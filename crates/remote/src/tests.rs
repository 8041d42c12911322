//! Has actions carried out by a server that can lie: every answer that is not true is refused, and the same answer without the lie is
//! accepted.

#[expect(clippy::wildcard_enum_match_arm, reason = "most lies are about one thing, and the rest of the answer is true")]
mod lying_server;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use proctor_model::{RemoteCertificates, RemoteServer, Timestamp};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use tempfile::TempDir;

use self::lying_server::{Lie, LyingServer};
use crate::{InputFiles, RemoteEnd, RemoteFault, RemoteOrder, ServerAccess, ask, run};

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
            files: InputFiles { tree: Some(tree), content: self.files.path(), added: &[("plugin.py", "text")] },
            argv: vec!["pytest".to_owned()],
            environment: BTreeMap::new(),
            platform: &BTreeMap::new(),
            directory: "project".to_owned(),
            outputs: vec!["../out".to_owned(), "made".to_owned()],
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
    let seen = server.seen.lock().expect("not poisoned");
    assert!(seen.headers.iter().all(|header| header == "Bearer s3cret") && !seen.headers.is_empty());
    assert!(seen.executed[0].skip_cache_lookup, "an honest run is a run");
}

#[test]
fn no_answer_that_is_not_true_is_accepted() {
    let project = Project::new();
    let tree = project.tree();
    assert!(TAMPERED.len() >= 20);
    for lie in TAMPERED {
        let server = LyingServer::start(*lie);
        let fault = project.run(&server, &tree, &never).expect_err("a lie");
        assert!(matches!(fault, RemoteFault::Untrue(_)), "{lie:?}: {fault}");
        assert_eq!(server.seen.lock().expect("not poisoned").executed.len(), 1, "{lie:?}: a liar is not asked again");
    }
    // A directory that the server does not have is its own word, and is asked for again.
    let server = LyingServer::start(Lie::MissingChild);
    assert!(matches!(project.run(&server, &tree, &never), Err(RemoteFault::Said { .. })));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test changes the tree that it sends")]
fn a_save_sends_what_changed_and_a_second_client_nothing() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::None));
    // It is too large for a message of blobs.
    let large = |project: &Project| fs::write(project.files.path().join("large.bin"), vec![7; 4 << 20]).expect("written");
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
    let tree = project.tree();
    let asked = |server: &LyingServer| server.seen.lock().expect("not poisoned").executed.len();
    for (lie, times) in [(Lie::BusyOnce, 2), (Lie::ForgetsOnce, 2), (Lie::BreaksOnce, 1)] {
        let server = LyingServer::start(lie);
        assert_eq!(project.run(&server, &tree, &never).expect("a result").code, 1, "{lie:?}");
        assert_eq!(asked(&server), times, "{lie:?}");
    }
    let server = LyingServer::start(Lie::BusyAlways);
    let fault = project.run(&server, &tree, &never).expect_err("no room");
    assert!(fault.to_string().contains("the server says: said so"), "{fault}");
    assert_eq!(asked(&server), 3);
}

#[test]
fn a_time_limit_of_the_server_is_an_end_with_what_was_printed() {
    let (project, server) = (Project::new(), LyingServer::start(Lie::Deadline));
    let end = project.run(&server, &project.tree(), &never).expect("an end");
    assert!(end.is_timeout);
    assert_eq!(fs::read(&end.stdout).expect("read"), b"one test\n");
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
    };
    let away = ask(&ServerAccess::read(&settings, &BTreeMap::new(), Path::new("/")).expect("right settings"));
    assert!(matches!(away, Err(RemoteFault::Away(_))), "{away:?}");
}
