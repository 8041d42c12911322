//! Measures the service's answers: `cargo bench --bench service`.
//!
//! One service watches a project of `PROCTOR_BENCH_FILES` files (default: 1,000), of which the newest verdict is fresh. Measured are `status`
//! and `wait --fresh` as commands and as requests on the socket, the look that a fresh answer needs, and 1,000 clients that wait at
//! once. Times are milliseconds. A command's time includes the start of its process, which the row `--version` shows alone.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench starts, measures and prints")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tempfile::TempDir;

const ROUNDS: usize = 200;
const FILES: usize = 1_000;
const WAITING: usize = 1_000;
/// How long a client waits for its answer.
const LATE: Duration = Duration::from_secs(60);

/// A service with one project, both below a directory of their own.
struct Service {
    root: TempDir,
    process: Child,
}

fn main() {
    let number = |name: &str, default: usize| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    let (rounds, files) = (number("PROCTOR_BENCH_ROUNDS", ROUNDS), number("PROCTOR_BENCH_FILES", FILES));
    let service = Service::start(files);
    println!("{rounds} rounds, a project of {files} files, milliseconds");
    println!("{:<44} {:>8} {:>8} {:>8}", "", "median", "p95", "lowest");
    let id = service.project_id();
    let verdict = |wait: &str| format!("GET /v1/projects/{id}/verdict{wait}");
    row("command `--version`", rounds, || service.command(&["--version"]));
    row("command `status`", rounds, || service.command(&["status"]));
    row("command `wait --fresh`", rounds, || service.command(&["wait", "--fresh"]));
    row("request for the status", rounds, || drop(service.ask(&verdict(""))));
    row("request for a fresh verdict, with its look", rounds, || drop(service.ask(&verdict("?wait=fresh&timeout=1m"))));
    let begun = Instant::now();
    let answered = service.ask_all(&verdict("?wait=fresh&timeout=1m"), WAITING);
    println!("{WAITING} clients at once: {answered} answered in {:.0} ms", milliseconds(begun.elapsed()));
}

fn row(name: &str, rounds: usize, mut act: impl FnMut()) {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            act();
            milliseconds(begun.elapsed())
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!("{name:<44} {:>8.2} {:>8.2} {:>8.2}", at(0.5), at(0.95), at(0.0));
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Service {
    fn start(files: usize) -> Self {
        // The files must be on a disk, so their directory is beside the build.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory can be made");
        let project = root.path().join("project/src");
        fs::create_dir_all(&project).expect("the directory is ours");
        for number in 0..files {
            let directory = project.join((number / 100).to_string());
            fs::create_dir_all(&directory).expect("the directory is ours");
            fs::write(directory.join(format!("{number}.txt")), format!("{number}\n")).expect("the directory is ours");
        }
        let settings = "[[check]]\nname = \"check\"\ncommand = [\"true\"]\n\n[evidence]\nlink = \"\"\n";
        fs::write(root.path().join("project/proctor.toml"), settings).expect("the directory is ours");
        // The path of a socket is limited to 108 bytes, and the build's directory may be long.
        fs::create_dir(root.path().join("r")).expect("the directory is ours");
        let mut process =
            proctor(root.path(), &["service", "daemon"]).stderr(Stdio::piped()).spawn().expect("the service starts");
        let said = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut lines = said.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("listening on")), "the service has ended");
        std::thread::spawn(move || lines.for_each(drop));
        let service = Self { root, process };
        service.command(&["service", "add"]);
        service.command(&["wait", "--fresh"]);
        service
    }

    fn command(&self, arguments: &[&str]) {
        let status = proctor(self.root.path(), arguments).stderr(Stdio::null()).status().expect("it starts");
        assert!(status.success(), "proctor {}: {status}", arguments.join(" "));
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.root.path().join("r/proctor/control.sock")).expect("the service listens");
        stream.set_read_timeout(Some(LATE)).expect("a time limit");
        stream
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        send(&mut stream, request);
        receive(stream)
    }

    /// Sends a request from many clients at once, and returns how many were answered with a fresh verdict.
    fn ask_all(&self, request: &str, clients: usize) -> usize {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("our limit");
        let needed = u64::try_from(clients).expect("a small number") + 256;
        setrlimit(Resource::RLIMIT_NOFILE, needed.max(soft).min(hard), hard).expect("it may be raised");
        let mut streams: Vec<UnixStream> = (0..clients).map(|_| self.connect()).collect();
        streams.iter_mut().for_each(|stream| send(stream, request));
        streams.into_iter().map(receive).filter(|answer| answer.contains("\"state\":\"fresh\"")).count()
    }

    fn project_id(&self) -> String {
        let answer = self.ask("GET /v1/projects");
        let id = answer.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        id.unwrap_or_else(|| panic!("no project: {answer}")).to_owned()
    }
}

fn send(stream: &mut UnixStream, request: &str) {
    let text = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("it is written");
}

fn receive(mut stream: UnixStream) -> String {
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    assert!(read.is_ok() && answer.starts_with("HTTP/1.1 200"), "{read:?}: {answer}");
    answer
}

/// Returns a command of proctor in the project, with state, configuration and socket below `root`.
fn proctor(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_proctor")));
    let at = |name: &str| root.join(name);
    command.args(arguments).current_dir(at("project")).stdin(Stdio::null()).stdout(Stdio::null()).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", at("home")).env("XDG_STATE_HOME", at("state"));
    command.env("XDG_CONFIG_HOME", at("config")).env("XDG_CACHE_HOME", at("cache")).env("XDG_RUNTIME_DIR", at("r"));
    command
}

impl Drop for Service {
    fn drop(&mut self) {
        // A service that has ended already needs no end.
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}
