//! What the page is answered: the files that it is made of, and what the control socket says.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{OpenedPage, ask_socket, connect, get, newest_run, open_page, send, ticket_files, token};
use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::daemon::{LATE, project, start_serving};
use crate::history::{
    self,
    End::{Fails, Passes},
};

/// How long it may take until the page hears of a save. On an idle machine it takes some milliseconds.
const HEARD: Duration = Duration::from_secs(5);
const REPORT: &str = "<testsuite name='s' tests='2' failures='1'><testcase classname='tests.test_a' name='test_one'/>\
    <testcase classname='tests.test_a' name='test_two'><failure message='assert 1'/></testcase></testsuite>";

/// A check that stands for pytest: its report, and with it its exit code, is that of the moment.
const TESTS: &str = "\
eval \"set -- $PYTEST_ADDOPTS\"
for word; do
    case $word in --junitxml=*) cp ../shared/now.xml \"${word#--junitxml=}\" ;; esac
done
! grep -q '<failure' ../shared/now.xml
";

fn id_of(project: &Project) -> String {
    ask_socket(project, "GET /v1/projects", "").1["projects"][0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_browser_gets_in_once_and_is_answered_as_the_socket_answers() {
    let project = project("echo printed; exit 1");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).status(1);
    let run = newest_run(&project);
    let page = open_page(&project);
    let mode = fs::metadata(&page.file).expect("it is written").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let text = fs::read_to_string(&page.file).expect("it is ours");
    assert!(text.contains(&format!("url=http://{}/#ticket={}&amp;to=/", page.address, page.ticket)), "{text}");
    let host = format!("host: {}", page.address);
    let index = send(
        &page.address,
        &["GET / HTTP/1.1", &host, "sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"],
    );
    assert!(index.code == 200 && index.body.contains("/assets/"), "{index:?}");
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
        "content-type: text/html",
    ] {
        assert!(index.head.contains(header), "{header}: {}", index.head);
    }
    let asset = index.body.split("/assets/").nth(1).and_then(|rest| rest.split('"').next()).expect("an asset");
    assert_eq!(send(&page.address, &[&format!("GET /assets/{asset} HTTP/1.1"), &host]).code, 200);
    assert_eq!(ticket_files(&project).len(), 1);
    let bearer = format!("Bearer {}", token(&page));
    assert_eq!(ticket_files(&project), Vec::<String>::new(), "the file goes with its ticket");
    let id = id_of(&project);
    let paths = [
        "/v1/projects".to_owned(),
        format!("/v1/projects/{id}/runs"),
        format!("/v1/projects/{id}/runs/{run}"),
        format!("/v1/projects/{id}/runs/{run}/files/execution-report.json"),
        format!("/v1/projects/{id}/runs/{run}/verification"),
        format!("/v1/projects/{id}/phase"),
        format!("/v1/projects/{id}/tests"),
        format!("/v1/projects/{id}/matrix?runs=5"),
        format!("/v1/projects/{id}/trends"),
        format!("/v1/projects/{id}/proof"),
        format!("/v1/projects/{id}/nothing"),
    ];
    for path in paths {
        let (code, expected) = ask_socket(&project, &format!("GET {path}"), "");
        let answer = get(&page.address, &path, &bearer);
        assert_eq!((answer.code, &answer.json()), (code, &expected), "{path}");
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{path}: {}", answer.head);
    }
    // What an action printed is for a person who opens the page at a terminal. Whoever asks the socket judges by the report.
    let details = get(&page.address, &format!("/v1/projects/{id}/runs/{run}"), &bearer).json();
    let mut files = details["files"].as_array().expect("names").iter().filter_map(Value::as_str);
    let log = files.rfind(|name| name.ends_with(".log")).expect("a log").to_owned();
    let path = format!("/v1/projects/{id}/runs/{run}/files/{log}");
    assert_eq!(ask_socket(&project, &format!("GET {path}"), "").0, 403);
    let refused = get(&page.address, &path, &bearer);
    assert_eq!((refused.code, refused.kind()), (403, "refused".to_owned()), "{refused:?}");
    let opened = project.proctor(["open", "--no-browser"]).at_terminal().ended();
    let file = opened.stdout.lines().find(|line| line.ends_with(".html")).unwrap_or_else(|| panic!("no file: {}", opened.stdout));
    let text = fs::read_to_string(file.trim()).expect("the file is ours");
    let ticket =
        text.split("ticket=").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_hexdigit()).next()).expect("a ticket");
    let of_a_person = OpenedPage { address: page.address, ticket: ticket.to_owned(), file: file.trim().into() };
    let shown = get(&of_a_person.address, &path, &format!("Bearer {}", token(&of_a_person)));
    assert!(shown.code == 200 && shown.body.contains("printed"), "{shown:?}");
    daemon.interrupt();
}

#[test]
fn the_verification_is_what_the_command_says_and_names_a_changed_file() {
    let project = project("echo printed");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let (id, run) = (id_of(&project), newest_run(&project));
    let ask = || ask_socket(&project, &format!("GET /v1/projects/{id}/runs/{run}/verification"), "");
    let printed = project.proctor(["verify", run.as_str(), "--json"]).success().json();
    assert_eq!(ask(), (200, printed.clone()));
    assert_eq!(printed["verified"], true);
    assert_eq!(ask_socket(&project, &format!("GET /v1/projects/{id}/runs/999/verification"), "").0, 404);
    let directory =
        project.store().committed_runs().first().map(|_| project.proctor(["show", "--json"]).success().run_directory());
    let report = directory.expect("a run").join("execution-report.json");
    fs::set_permissions(&report, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&report, "{}").expect("it is ours");
    let (code, found) = ask();
    assert_eq!((code, &found["verified"]), (200, &Value::Bool(false)), "{found}");
    assert_eq!(found, project.proctor(["verify", run.as_str(), "--json"]).status(6).json());
    // Whoever opens the index mends it. The answer names what is wrong with it all the same.
    for (name, text) in [("state.db-wal", ""), ("state.db-shm", ""), ("state.db", "no index")] {
        fs::write(project.root().join("state/proctor").join(name), text).expect("it is ours");
    }
    let kinds = |document: &Value| -> Vec<String> {
        let faults = document["faults"].as_array().expect("a list");
        faults.iter().map(|fault| fault["kind"].as_str().expect("a kind").to_owned()).collect()
    };
    assert!(kinds(&ask().1).contains(&"indexDamaged".to_owned()), "{}", ask().1);
    daemon.interrupt();
}

#[test]
fn the_matrix_and_the_trends_say_how_runs_went() {
    let settings = "[run]\nreuse = \"off\"\n\n[evidence]\nlink = \"\"\n\n[[check]]\nname = \"check\"\ntool = \"pytest\"\ncommand = \"sh tests.sh\"\n";
    let settings = format!("{WRITES_TO_SHARED}\n{settings}");
    let project = Project::new().toml(&settings).file("tests.sh", TESTS).file("a.txt", "one\n");
    let now = project.shared("now.xml");
    let green = REPORT.replace("<failure message='assert 1'/>", "");
    // Red and green on one tree, then red on another one.
    for (text, code, save) in
        [(REPORT, 1, None), (green.as_str(), 0, None), (green.as_str(), 0, Some("two\n")), (REPORT, 1, None)]
    {
        fs::write(&now, text).expect("it is ours");
        if let Some(save) = save {
            project.save("a.txt", save);
        }
        project.proctor(["run"]).status(code);
    }
    let daemon = start_serving(&project);
    let id = id_of(&project);
    let (code, matrix) = ask_socket(&project, &format!("GET /v1/projects/{id}/matrix?task=default&runs=4"), "");
    assert_eq!(code, 200, "{matrix}");
    assert_eq!(matrix["schema"], "proctor-matrix-v1");
    assert_eq!(matrix["runs"].as_array().map(Vec::len), Some(4), "{matrix:#}");
    let tests: Vec<(&str, &str, u64, bool)> = matrix["tests"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|test| {
            let id = test["test"]["id"].as_str().expect("an id");
            (
                id.rsplit([':', '.']).next().unwrap_or_default(),
                test["cells"].as_str().expect("cells"),
                test["flipsOnEqualTrees"].as_u64().expect("a count"),
                test["since"].is_string(),
            )
        })
        .collect();
    assert_eq!(tests, [("test_two", "fppf", 2, true), ("test_one", "pppp", 0, false)], "{matrix:#}");
    let (code, trends) = ask_socket(&project, &format!("GET /v1/projects/{id}/trends"), "");
    assert_eq!((code, &trends["schema"]), (200, &"proctor-trends-v1".into()), "{trends}");
    let results: Vec<&str> = trends["runs"].as_array().expect("runs").iter().filter_map(|run| run["result"].as_str()).collect();
    assert_eq!(results, ["FAILED", "PASSED", "PASSED", "FAILED"], "{trends:#}");
    assert_eq!(trends["timeToGreen"].as_array().map(Vec::len), Some(1), "{trends:#}");
    assert_eq!((&trends["checks"][0]["check"], &trends["checks"][0]["runs"]), (&"check".into(), &4.into()), "{trends:#}");
    assert!(trends["p50Ms"]["default"].is_u64() && trends["p95Ms"]["default"].is_u64(), "{trends:#}");
    for wrong in ["matrix?runs=501", "matrix?tests=x", "trends?runs=2001", "trends?task=%", "compare?from=1", "compare"] {
        assert_eq!(ask_socket(&project, &format!("GET /v1/projects/{id}/{wrong}"), "").0, 400, "{wrong}");
    }
    daemon.interrupt();
}

#[test]
fn a_test_that_is_gone_does_not_fail_now() {
    let project = history::project();
    history::run(&project, &[("alpha", "", Passes), ("gone", "", Fails), ("stays", "", Passes)]);
    project.save("a.txt", "two\n");
    history::run(&project, &[("alpha", "", Passes), ("stays", "", Fails)]);
    let daemon = start_serving(&project);
    let id = id_of(&project);
    let (code, matrix) = ask_socket(&project, &format!("GET /v1/projects/{id}/matrix"), "");
    assert_eq!(code, 200, "{matrix}");
    let tests: Vec<(&str, &str, u64)> = matrix["tests"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|test| {
            let (name, cells) = (test["test"]["id"].as_str().expect("an id"), test["cells"].as_str().expect("cells"));
            (name, cells, test["runsWithoutIt"].as_u64().expect("a count"))
        })
        .collect();
    assert_eq!(tests, [("a::stays", "fp", 0), ("a::alpha", "pp", 0), ("a::gone", ".f", 1)], "{matrix:#}");
    daemon.interrupt();
}

#[test]
fn a_run_whose_files_another_program_removed_is_said_to_be_gone() {
    let project = project("exit 1");
    project.proctor(["run"]).status(1);
    let run = newest_run(&project);
    let daemon = start_serving(&project);
    let id = id_of(&project);
    fs::remove_dir_all(project.store().run_directory("default")).expect("it is ours");
    for path in [format!("runs/{run}"), format!("runs/{run}/files/execution-report.json")] {
        let (_, answer) = ask_socket(&project, &format!("GET /v1/projects/{id}/{path}"), "");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.starts_with(&format!("the evidence of run {run} is gone: ")), "{path}: {answer}");
        assert_eq!(answer["error"]["kind"], "evidenceWrong", "{path}: {answer}");
    }
    daemon.interrupt();
}

#[test]
fn a_save_reaches_the_page_and_a_lost_connection_goes_on() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let page = open_page(&project);
    let bearer = token(&page);
    let events = |after: &str| {
        let mut stream = connect(&page.address);
        let head = format!("GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {bearer}\r\n{after}\r\n", page.address);
        stream.write_all(head.as_bytes()).expect("it is written");
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("it stays open"));
        assert_eq!(lines.next().as_deref(), Some("HTTP/1.1 200 OK"));
        assert!(lines.by_ref().take_while(|line| !line.is_empty()).any(|line| line == "content-type: text/event-stream"));
        lines
    };
    let mut lines = events("");
    let saved = Instant::now();
    project.save("a.txt", "two\n");
    let first = lines.find(|line| line.starts_with("event: ")).expect("an event");
    let heard = saved.elapsed();
    assert!(heard < HEARD, "{first} came after {heard:?}");
    let id = lines.find(|line| line.starts_with("id: ")).expect("an id");
    let finished = lines.find(|line| line.starts_with("event: runFinished"));
    assert!(finished.is_some());
    drop(lines);
    let mut again = events(&format!("last-event-id: {}\r\n", &id[4..]));
    assert!(again.any(|line| line.starts_with("event: runFinished")), "what was missed is sent");
    daemon.interrupt();
    poll(LATE, "the stream to end", || again.next().is_none().then_some(()));
}
