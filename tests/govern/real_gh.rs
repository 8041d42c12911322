//! Scenarios 100, 110 and 120 with the real `gh`, against a stub of its API on this machine. `gh` speaks plain HTTP to the host
//! `github.localhost`; a proxy setting sends those requests to the stub's port. Without `gh` these tests are left out. `PROCTOR_TEST_GH` may
//! name its program.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::govern::scene::{APPROVE, RECOVER, SEND, Scene, ended, say};

/// The labels and issues of the stub, and how it answers the next request.
#[derive(Debug, Default)]
struct Tracker {
    labels: Vec<String>,
    issues: Vec<Value>,
    /// Answers the next request for a new issue with an error.
    refuses: bool,
    /// Creates the next issue, but closes the connection without an answer.
    loses: bool,
    is_over: bool,
}

/// The stub of the API. Dropping it ends the stub's thread.
struct Api {
    tracker: Arc<Mutex<Tracker>>,
    port: u16,
    serving: Option<JoinHandle<()>>,
}

impl Api {
    fn start(labels: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let tracker = Arc::new(Mutex::new(Tracker { labels, ..Tracker::default() }));
        let shared = Arc::clone(&tracker);
        let serving = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut tracker = shared.lock().expect("no panic");
                if tracker.is_over {
                    return;
                }
                // If the client has closed the connection, the stub goes on with the next one.
                let _gone = answer(&stream, &mut tracker);
            }
        });
        Self { tracker, port, serving: Some(serving) }
    }

    fn set(&self, change: impl FnOnce(&mut Tracker)) {
        change(&mut self.tracker.lock().expect("no panic"));
    }

    fn see<T>(&self, look: impl FnOnce(&Tracker) -> T) -> T {
        look(&self.tracker.lock().expect("no panic"))
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.set(|tracker| tracker.is_over = true);
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(serving) = self.serving.take() {
            serving.join().expect("the stub does not panic");
        }
    }
}

fn answer(stream: &TcpStream, tracker: &mut Tracker) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some((status, document)) = respond(&request, &body, tracker) else { return Ok(()) };
    let text = document.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-OAuth-Scopes: repo, read:org, gist\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    let mut writer = stream;
    writer.write_all((head + &text).as_bytes())
}

/// Returns the answer of the API. None: the connection is closed without an answer.
fn respond(request: &str, body: &Value, tracker: &mut Tracker) -> Option<(&'static str, Value)> {
    let ok = |data: Value| Some(("200 OK", json!({ "data": data })));
    let query = body["query"].as_str().unwrap_or_default();
    let page = json!({ "hasNextPage": false, "endCursor": "" });
    if !request.starts_with("POST") {
        return Some(("200 OK", json!({ "login": "person" })));
    }
    if request.contains("/labels") {
        tracker.labels.push(body["name"].as_str().expect("a name").to_owned());
        return Some(("201 Created", json!({ "name": body["name"], "color": body["color"] })));
    }
    if query.contains("viewer{") {
        return ok(json!({ "viewer": { "login": "person" } }));
    }
    if query.contains("query LabelList") {
        let nodes: Vec<Value> = tracker.labels.iter().map(|name| json!({ "id": name, "name": name })).collect();
        return ok(json!({ "repository": { "labels": { "totalCount": nodes.len(), "nodes": nodes, "pageInfo": page } } }));
    }
    if query.contains("query RepositoryResolveMetadataIDs") {
        let names: Vec<&str> = query.split("label(name:\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let found = names.iter().enumerate().map(|(index, name)| (format!("l{index:03}"), json!({ "id": name, "name": name })));
        return ok(json!({ "repository": found.collect::<serde_json::Map<_, _>>() }));
    }
    if query.contains("mutation IssueCreate") {
        if std::mem::take(&mut tracker.refuses) {
            return Some(("502 Bad Gateway", json!({ "message": "Bad Gateway" })));
        }
        let number = tracker.issues.len() + 62;
        let url = format!("http://github.localhost/owner/name/issues/{number}");
        let input = &body["variables"]["input"];
        tracker.issues.push(
            json!({ "number": number, "url": url, "body": input["body"], "title": input["title"], "wanted": input["labelIds"] }),
        );
        if std::mem::take(&mut tracker.loses) {
            return None;
        }
        return ok(json!({ "createIssue": { "issue": { "id": "I", "url": url } } }));
    }
    if query.contains("query IssueList") {
        let issues = json!({ "totalCount": tracker.issues.len(), "nodes": tracker.issues, "pageInfo": page });
        return ok(json!({ "repository": { "hasIssuesEnabled": true, "issues": issues } }));
    }
    let owner = json!({ "login": "owner" });
    ok(
        json!({ "repository": { "id": "R", "name": "name", "owner": owner, "hasIssuesEnabled": true, "viewerPermission": "ADMIN" } }),
    )
}

/// Returns the path of the real `gh`. None: it is not installed.
fn real_gh() -> Option<PathBuf> {
    let named = env::var_os("PROCTOR_TEST_GH").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    named.into_iter().chain(env::split_paths(&path).map(|directory| directory.join("gh"))).find(|path| path.is_file())
}

/// Returns a scene in which `gh` is the real program and speaks to the stub.
fn scene(gh: &PathBuf, api: &Api) -> Scene {
    let scene = Scene::new();
    let stub = scene.project.shared("bin/gh");
    fs::remove_file(&stub).expect("it is there");
    std::os::unix::fs::symlink(gh, &stub).expect("made");
    let directory = scene.project.root().join("config/gh");
    fs::create_dir_all(&directory).expect("made");
    fs::write(directory.join("hosts.yml"), "github.localhost:\n    oauth_token: secret\n    user: person\n").expect("made");
    let Scene { project } = scene;
    let proxy = format!("http://127.0.0.1:{}", api.port);
    Scene { project: project.env("http_proxy", proxy).env("GH_HOST", "github.localhost") }
}

#[test]
fn the_real_gh_makes_labels_and_files_one_issue_whatever_is_lost() {
    let Some(gh) = real_gh() else {
        println!("there is no gh here: nothing was tested");
        return;
    };
    let mut labels: Vec<String> = (0..40).map(|number| format!("label-{number}")).collect();
    labels.push("enhancement".to_owned());
    let api = Api::start(&labels.iter().map(String::as_str).collect::<Vec<_>>());
    let scene = scene(&gh, &api);
    api.set(|tracker| tracker.refuses = true);
    let mut terminal = scene.govern(&["--brief", "ideas/notes.md", "--repo", "owner/name"]);
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "A");
    let shown = say(&mut terminal, RECOVER, "R");
    assert!(shown.contains("502"), "{shown}");
    let output = ended(terminal, 0);
    assert!(output.stdout.contains("http://github.localhost/owner/name/issues/62"), "{}", output.stdout);
    let issue = api.see(|tracker| tracker.issues[0].clone());
    assert_eq!((&issue["title"], &issue["wanted"]), (&"Saved searches".into(), &json!(["enhancement", "search"])));
    assert_eq!(issue["body"].as_str().expect("a text").trim(), scene.read("done/62-notes/006-issue.md").trim());
    assert_eq!(api.see(|tracker| tracker.labels.iter().filter(|label| *label == "search").count()), 1);

    // The issue is created, but the answer is lost. The retry finds the issue.
    scene.project.save("ideas/other.md", "We want shared searches.\n");
    api.set(|tracker| tracker.loses = true);
    let mut terminal = scene.govern(&["--brief", "ideas/other.md", "--repo", "owner/name"]);
    say(&mut terminal, SEND, "S");
    say(&mut terminal, APPROVE, "A");
    say(&mut terminal, RECOVER, "R");
    ended(terminal, 0);
    assert_eq!(api.see(|tracker| tracker.issues.len()), 2);
    assert_eq!(scene.names("done"), ["62-notes", "63-other"]);
}
