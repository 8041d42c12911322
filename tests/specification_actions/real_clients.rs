//! A real server of PostgreSQL, a real container engine, and a real Chromium (wide tier). `.ci/wide` installs them where they are missing.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Project, free_port, playwright_modules, poll};
use crate::specification_actions::clients::allow;
use crate::specification_actions::{entry, judged, step, with_steps};

pub(crate) const PASSWORD: &str = "p@ss:word/1";

/// A server of PostgreSQL with its data in a temporary directory. It ends when this value is dropped.
pub(crate) struct Server {
    directory: tempfile::TempDir,
    programs: PathBuf,
    pub(crate) port: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let versions = fs::read_dir("/usr/lib/postgresql").map(|entries| entries.flatten().map(|entry| entry.path().join("bin")));
        let programs = versions.ok().and_then(|mut versions| versions.find(|programs| programs.join("initdb").is_file()));
        let programs = programs.expect("no PostgreSQL: `apt-get install postgresql`, which `.ci/wide` does");
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("password"), PASSWORD).expect("a file");
        let server = Self { directory, programs, port: free_port() };
        let (data, password) = (server.path("data"), server.path("password"));
        server.run("initdb", &["--username=app", "--auth=scram-sha-256", &format!("--pwfile={password}"), "--pgdata", &data]);
        let options = format!("-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off", server.port, server.path(""));
        server.run("pg_ctl", &["start", "--wait", "--pgdata", &data, "--log", &server.path("log"), "--options", &options]);
        server
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        assert!(self.status(program, arguments).expect("it is there").success(), "{program} {arguments:?}");
    }

    /// Runs a program of PostgreSQL. It refuses to run as root, so it sees itself as another user; the kernel checks its
    /// accesses by the ids that this test has, so it gets at the data below a directory of this user alone.
    fn status(&self, program: &str, arguments: &[&str]) -> std::io::Result<ExitStatus> {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-user=1000", "--map-group=1000", "--"]).arg(self.programs.join(program)).args(arguments);
        command.current_dir(self.directory.path()).stdin(Stdio::null()).stdout(Stdio::null()).status()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where the server did not start, there is nothing to end; the test has failed by then.
        let _ = self.status("pg_ctl", &["stop", "--mode=immediate", "--pgdata", &self.path("data")]);
    }
}

#[test]
#[ignore = "wide tier"]
fn a_real_server_of_postgresql_is_asked_by_psql() {
    let server = Server::start();
    let connection = format!("postgresql://app:${{DB_PASSWORD}}@127.0.0.1:{}/postgres", server.port);
    let query = |query: &str, more: Value| {
        let mut parameters = json!({ "connectionString": connection, "query": query });
        parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        step("DATABASE_QUERY", parameters)
    };
    let steps = [
        query("CREATE TABLE quotes (id serial PRIMARY KEY, name text, data json); ", json!({ "queryType": "DDL" })),
        query("INSERT INTO quotes (name, data) VALUES ('a', '{\"x\":\n1}'), ('b', NULL)", json!({ "expectedRowCount": 2 })),
        query(
            "SELECT id, name, data FROM quotes ORDER BY id; -- all of them",
            json!({ "expectedRowCount": 2, "validateResults": {
                "rowSchema": { "properties": { "id": { "type": "integer" } } },
                "containsValues": { "id": 1, "name": "a", "data": { "x": 1 } }
            } }),
        ),
        query("UPDATE quotes SET name = 'c'", json!({ "expectedRowCount": 1 })),
        query("SELECT gone FROM quotes", json!({})),
    ];
    let project = with_steps(Project::new(), &steps).toml("[environment]\npass_environment = [\"DB_PASSWORD\"]\n");
    let right = project.env("DB_PASSWORD", PASSWORD);
    let report = right.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let all: Vec<_> = (1..=5).map(|number| judged(&report, &format!("STEP.{number}"))).collect();
    let codes: Vec<&str> = all.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, ["RESULT_VALID", "RESULT_VALID", "RESULT_VALID", "RESULT_INVALID", "CLIENT_FAILED"], "{all:#?}");
    let wrong = right.env("DB_PASSWORD", "another");
    let report = wrong.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert!(code == "NO_ANSWER" && reason.contains("password authentication failed"), "{code} {reason}");
}

/// A page with a form; sending it shows the name that was entered.
const PAGE: &str = r#"<!doctype html><title>Shop</title><h1>Quotes</h1>
<form onsubmit="event.preventDefault(); setTimeout(() => { const p = document.createElement('p'); p.id = 'done';
p.textContent = 'Hello ' + this.elements.who.value; document.body.append(p); }, 50)"><input name="who"><button>Send</button></form>"#;

/// Answers requests on a port of this machine, until the process ends.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("it listens"));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || -> std::io::Result<()> {
                let mut request = String::new();
                BufReader::new((&client).take(8192)).read_line(&mut request)?;
                let (status, body) = if request.starts_with("GET / ") { ("200 OK", PAGE) } else { ("404 Not Found", "none") };
                let length = body.len();
                write!(
                    &client,
                    "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
            });
        }
    });
    address
}

#[test]
#[ignore = "wide tier"]
fn a_real_chromium_does_all_seven_actions() {
    let found =
        ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].iter().any(|path| Path::new(path).exists());
    assert!(found, "no Chromium: `apt-get install chromium`, which `.ci/wide` does");
    let address = serve();
    let browser = |action: &str, more: Value| {
        let mut parameters = json!({ "action": format!("browser_{action}"), "waitTimeout": 20_000 });
        parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        step("MCP_BROWSER_COMMAND", parameters)
    };
    let steps = [
        browser("navigate", json!({ "url": format!("{address}/") })),
        browser("fill_form", json!({ "formData": { "who": "visitor" } })),
        browser("click", json!({ "selector": "button" })),
        browser("wait_for_selector", json!({ "selector": "#done" })),
        browser("get_content", json!({ "selector": "#done" })),
        browser("evaluate", json!({ "script": "document.title" })),
        browser("screenshot", json!({})),
        browser("wait_for_selector", json!({ "selector": "#never", "waitTimeout": 1000 })),
        browser("navigate", json!({ "url": format!("{address}/gone") })),
        browser("navigate", json!({ "url": format!("http://127.0.0.1:{}/", free_port()) })),
    ];
    let project = with_steps(Project::new().file("package.json", "{}").file(".gitignore", "node_modules\n"), &steps).toml("");
    symlink_packages(&project);
    let report = project.proctor(["run", "--task", "T200", "--json"]).bound(Duration::from_secs(300)).any_status().json();
    let all: Vec<_> = (1..=10).map(|number| judged(&report, &format!("STEP.{number}"))).collect();
    let codes: Vec<&str> = all.iter().map(|(code, _)| code.as_str()).collect();
    let expected: Vec<&str> = ["RESULT_VALID"; 7].into_iter().chain(["RESULT_INVALID", "RESULT_INVALID", "NO_ANSWER"]).collect();
    assert_eq!(codes, expected, "{all:#?}");
    let stdout = |id: &str| entry(&report, id)["result"]["stdout"].as_str().unwrap_or_default().trim().to_owned();
    assert_eq!((stdout("STEP.5").as_str(), stdout("STEP.6").as_str()), ("Hello visitor", "Shop"));
    let picture = fs::read(project.store().run_directory("T200").join("STEP.7-screenshot.png")).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG\r\n"), "{} bytes", picture.len());
    let is_gone = || {
        let own = fs::read_dir("/proc").into_iter().flatten().flatten().find(|process| {
            let environ = fs::read(process.path().join("environ")).unwrap_or_default();
            let root = project.path().display().to_string();
            String::from_utf8_lossy(&environ).contains(&root)
        });
        own.map_or(Ok(()), |process| Err(process.path().display().to_string()))
    };
    poll(Duration::from_secs(10), "the end of every browser", is_gone);
}

fn symlink_packages(project: &Project) {
    let packages = project.path().join("node_modules");
    fs::create_dir(&packages).expect("the project is ours");
    symlink(playwright_modules().join("playwright-core"), packages.join("playwright-core")).expect("the project is ours");
}

/// The service of Podman, which speaks Docker's protocol too, with its images in a temporary directory. It ends when this value is
/// dropped.
pub(super) struct Engine {
    directory: tempfile::TempDir,
    service: Child,
}

impl Engine {
    /// Starts it with one image, `local/shell:1`, which has a shell and the libraries that it needs.
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let configuration = "[containers]\nnetns = \"none\"\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=100:100\"]\n\
            [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\n";
        fs::write(directory.path().join("containers.conf"), configuration).expect("a file");
        let image = directory.path().join("image.tar");
        let files = "tar --create --dereference --absolute-names --file \"$1\" /bin/busybox /bin/sh /bin/cat $(ldd /bin/sh /bin/cat | grep -o '/lib[^ ]*' | sort -u)";
        let packed = Command::new("sh").args(["-c", files, "sh"]).arg(&image).status();
        assert!(packed.expect("a shell").success());
        let mut engine =
            Self { service: Self::podman(directory.path()).args(["--version"]).spawn().expect(NO_ENGINE), directory };
        engine.service.wait().expect("it ends");
        engine.run(&["import", &image.display().to_string(), "local/shell:1"]);
        let address = format!("unix://{}", engine.socket().display());
        engine.service = Self::podman(engine.directory.path())
            .args(["system", "service", "--time", "0", &address])
            .spawn()
            .expect("a process");
        poll(Duration::from_secs(60), "the engine", || UnixStream::connect(engine.socket()).map(drop));
        engine
    }

    fn podman(directory: &Path) -> Command {
        let mut command = Command::new("podman");
        let places = [("--root", "images"), ("--runroot", "state"), ("--tmpdir", "engine")];
        command.args(["--storage-driver", "vfs"]);
        for (option, name) in places {
            command.arg(option).arg(directory.join(name));
        }
        command.env("CONTAINERS_CONF", directory.join("containers.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> String {
        let output = Self::podman(self.directory.path()).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.expect("it is there");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory.path().join("podman.sock")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What cannot be ended any more has ended.
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

const NO_ENGINE: &str = "no podman: `apt-get install podman runc`, which `.ci/wide` does";

fn container(verb: &str, more: &Value) -> Value {
    let mut parameters = json!({ "dockerCommand": verb });
    parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    step("DOCKER_COMMAND", parameters)
}

#[test]
#[ignore = "wide tier"]
fn a_real_container_engine_carries_out_what_a_specification_says() {
    let engine = Engine::start();
    let shell = |script: &str| {
        let command = format!("/bin/sh -c \"{script}\"");
        json!({ "containerOrImage": "local/shell:1", "volumes": ["./data:/data"], "environment": { "WORD": "said" }, "command": command })
    };
    let steps = [
        container("run", &shell("cat /data/shop.txt; echo $WORD; echo made > /data/made.txt")),
        container("run", &shell("echo broken >&2; exit 3")),
        container("run", &json!({ "containerOrImage": "local/none:1" })),
        container("ps", &json!({})),
    ];
    let project = with_steps(Project::new().file("data/shop.txt", "of the project\n"), &steps);
    allow(&project, &engine.socket());
    let output = project.proctor(["run", "--task", "T200"]).any_status();
    let report = project.store().report("T200");
    let said = |step: &str| entry(&report, step)["result"].clone();
    assert_eq!(judged(&report, "STEP.1").0, "RESULT_VALID", "{}\n{:#}", output.snapshot(), said("STEP.1"));
    assert_eq!(said("STEP.1")["stdout"], "of the project\nsaid\n");
    assert_eq!(fs::read_to_string(project.path().join("data/made.txt")).ok().as_deref(), Some("made\n"));
    let (code, reason) = judged(&report, "STEP.2");
    assert_eq!((code.as_str(), said("STEP.2")["exitCode"].as_u64()), ("CLIENT_FAILED", Some(3)), "{reason}");
    assert!(said("STEP.2")["stderr"].as_str().is_some_and(|text| text.contains("broken")), "{:#}", said("STEP.2"));
    assert_eq!(judged(&report, "STEP.3").0, "CLIENT_FAILED", "no such image");
    assert_eq!(judged(&report, "STEP.4").0, "RESULT_VALID");
    assert_eq!(report["isolation"]["level"], "process-group");
    assert_eq!(engine.run(&["ps", "--all", "--quiet"]), "", "no container is left");
}
