//! `proctor open`: with the service, without it, with a browser and without one, and from `proctor watch`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{OpenedPage, connect, get, newest_run, ticket_files, token};
use crate::common::{Project, poll};
use crate::daemon::{LATE, project, start_serving};
use crate::specification_runs::{project as specified, task};

/// A browser that writes its arguments and its environment's token-like words into a file.
const BROWSER: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$0.tmp\"\ncp \"$1\" \"$0.page\"\nmv \"$0.tmp\" \"$0.arguments\"\n";

/// Reads the file that opens the page.
#[track_caller]
fn read_page(file: PathBuf) -> OpenedPage {
    let text = fs::read_to_string(&file).expect("it is ours");
    let between = |before: &str, after: char| {
        text.split(before)
            .nth(1)
            .and_then(|rest| rest.split(after).next())
            .unwrap_or_else(|| panic!("no {before}: {text}"))
            .to_owned()
    };
    OpenedPage { address: between("url=http://", '/'), ticket: between("#ticket=", '&'), file }
}

fn with_browser(project: Project) -> (Project, PathBuf) {
    let browser = project.root().join("browser");
    fs::write(&browser, BROWSER).expect("it is ours");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it is ours");
    (project.env("BROWSER", &browser), browser)
}

#[test]
fn the_browser_gets_the_file_and_neither_ticket_nor_token_in_an_argument() {
    let (project, browser) = with_browser(project("exit 1"));
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).status(1);
    let opened = project.proctor(["open", "--run", newest_run(&project).as_str()]).success();
    let arguments = fs::read_to_string(browser.with_extension("arguments")).expect("the browser was started");
    let page = read_page(browser.with_extension("page"));
    assert!(arguments.trim().ends_with(".html") && arguments.lines().count() == 1, "{arguments}");
    for text in [&arguments, &opened.stdout, &opened.stderr] {
        assert!(!text.contains(&page.ticket), "{text}");
    }
    assert!(opened.stderr.contains(&format!("http://{}/", page.address)), "{}", opened.stderr);
    let text = fs::read_to_string(&page.file).expect("it is ours");
    assert!(text.contains("&amp;to=/projects/") && text.contains("/runs/exec-"), "{text}");
    let log = project.root().join("state/proctor/logs");
    let logged: String =
        fs::read_dir(log).into_iter().flatten().flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect();
    let bearer = token(&page);
    assert!(!logged.contains(&page.ticket) && !logged.contains(&bearer));
    project.proctor(["open", "--run", "999"]).status(2);
    daemon.interrupt();
    assert_eq!(ticket_files(&project), Vec::<String>::new());
}

#[test]
fn without_a_browser_it_says_where_the_page_is_and_how_to_reach_it() {
    let project = project("true").env("BROWSER", "").env("DISPLAY", "").env("WAYLAND_DISPLAY", "");
    let daemon = start_serving(&project);
    let opened = project.proctor(["open"]).success();
    let file = ticket_files(&project).pop().expect("a file");
    assert!(opened.stderr.contains(&file) && opened.stderr.contains("ssh -L"), "{}", opened.stderr);
    let printed = project.proctor(["open", "--no-browser"]).success().stdout;
    let page = read_page(printed.trim().into());
    assert_eq!(get(&page.address, "/v1/status", &format!("Bearer {}", token(&page))).code, 200);
    daemon.interrupt();
}

#[test]
fn without_the_service_the_command_serves_the_page_from_the_store_until_it_is_stopped() {
    let project = project("cat a.txt; exit 1");
    project.proctor(["run"]).status(1);
    let run = newest_run(&project);
    let mut open = project.proctor(["open", "--no-browser"]).watch();
    let file = open.wait_for_line("the file", LATE, |line| line.ends_with(".html"));
    let page = read_page(file.into());
    let bearer = format!("Bearer {}", token(&page));
    let projects = get(&page.address, "/v1/projects", &bearer).json();
    let id = projects["projects"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(projects["projects"][0]["standing"]["verdict"]["result"], "FAILED", "{projects:#}");
    assert_eq!(projects["projects"][0]["standing"]["watching"], "notWatched", "{projects:#}");
    let status = get(&page.address, "/v1/status", &bearer).json();
    assert_eq!(status["projects"][0]["tasks"][0]["state"], "fresh", "{status:#}");
    assert!(status["service"].is_null(), "the page looks at the files again where no service tells of saves: {status:#}");
    let verdict = get(&page.address, &format!("/v1/projects/{id}/verdict"), &bearer).json();
    assert_eq!(verdict["project"]["tasks"][0]["failures"]["total"], 1, "{verdict:#}");
    let paths = [
        "runs".to_owned(),
        format!("runs/{run}"),
        "matrix".to_owned(),
        "trends".to_owned(),
        format!("runs/{run}/verification"),
        "phase".to_owned(),
    ];
    for path in paths {
        assert_eq!(get(&page.address, &format!("/v1/projects/{id}/{path}"), &bearer).code, 200, "{path}");
    }
    let heard = get(&page.address, &format!("/v1/projects/{id}/heard?path=a.txt"), &bearer);
    assert!(heard.code == 409 && heard.body.contains("only the service"), "{heard:?}");
    for (path, authorization) in [("/v1/status", "Bearer x"), ("/ticket", "Ticket x")] {
        assert_eq!(get(&page.address, path, authorization).code, 401, "{path}");
    }
    // A run of another process reaches the page.
    let mut stream = connect(&page.address);
    let head = format!("GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\n\r\n", page.address);
    stream.write_all(head.as_bytes()).expect("it is written");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("it stays open"));
    assert!(lines.by_ref().take_while(|line| !line.is_empty()).any(|line| line == "content-type: text/event-stream"));
    project.save("a.txt", "two\n");
    project.proctor(["run"]).status(1);
    assert!(lines.any(|line| line == "event: runFinished"), "the run is told");
    let runs = get(&page.address, &format!("/v1/projects/{id}/runs"), &bearer).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs:#}");
    let output = open.interrupt();
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stderr.contains("Ctrl-C ends it"), "{}", output.stderr);
    assert_eq!(ticket_files(&project), Vec::<String>::new());
}

/// Begins to read the events of the page.
#[track_caller]
fn follow_events(page: &OpenedPage, bearer: &str) -> impl Iterator<Item = String> {
    let mut stream = connect(&page.address);
    let head = format!("GET /v1/events HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\n\r\n", page.address);
    stream.write_all(head.as_bytes()).expect("it is written");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("it stays open"));
    assert!(lines.by_ref().take_while(|line| !line.is_empty()).any(|line| line == "content-type: text/event-stream"));
    lines
}

#[test]
fn before_the_first_run_the_page_waits_for_a_new_project_and_is_told_of_its_run() {
    let project = project("true");
    let mut open = project.proctor(["open", "--no-browser"]).watch();
    let file = open.wait_for_line("the file", LATE, |line| line.ends_with(".html"));
    assert!(fs::read_to_string(&file).expect("it is ours").contains("&amp;to=/new\""), "the page waits for a new project");
    let page = read_page(file.into());
    let bearer = format!("Bearer {}", token(&page));
    let mut events = follow_events(&page, &bearer);
    project.proctor(["run"]).success();
    assert!(events.any(|line| line == "event: runFinished"), "the first run of a new project is told");
    assert_eq!(open.interrupt().status, 0);
}

#[test]
fn without_the_service_a_project_with_specifications_alone_stands_as_its_tasks_do() {
    let project = specified(&[task("T117")]);
    project.proctor(["run", "--task", "T117"]).success();
    let mut open = project.proctor(["open", "--no-browser"]).watch();
    let page = read_page(open.wait_for_line("the file", LATE, |line| line.ends_with(".html")).into());
    let status = get(&page.address, "/v1/status", &format!("Bearer {}", token(&page))).json();
    let tasks: Vec<&str> =
        status["projects"][0]["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["task"].as_str()).collect();
    assert_eq!(tasks, ["T117"], "{status:#}");
    assert_eq!(status["projects"][0]["tasks"][0]["state"], "fresh", "{status:#}");
    assert_eq!(open.interrupt().status, 0);
}

#[test]
fn the_service_tells_how_a_project_stands_that_it_does_not_watch_and_when_it_has_a_new_run() {
    let project = project("exit 1");
    let daemon = start_serving(&project);
    let listed = project.proctor(["service", "list", "--json"]).success().json();
    let id = listed["projects"][0]["id"].as_str().expect("an id").to_owned();
    project.proctor(["wait", "--fresh"]).status(1);
    project.proctor(["service", "remove", id.as_str()]).success();
    let page = super::open_page(&project);
    let bearer = format!("Bearer {}", token(&page));
    let listed = get(&page.address, "/v1/projects", &bearer).json();
    assert_eq!(listed["projects"][0]["serving"], "notServed", "{listed:#}");
    assert_eq!(listed["projects"][0]["standing"]["verdict"]["result"], "FAILED", "{listed:#}");
    let mut events = follow_events(&page, &bearer);
    project.save("a.txt", "two\n");
    project.proctor(["run"]).status(1);
    assert!(events.any(|line| line == "event: runFinished"), "the run of another process is told");
    daemon.interrupt();
}

/// Waits until the browser was started, and returns the page that it was started with.
#[track_caller]
fn await_browser(browser: &Path) -> OpenedPage {
    let arguments = browser.with_extension("arguments");
    poll(LATE, "the browser", || arguments.exists().then(|| read_page(browser.with_extension("page"))))
}

#[test]
fn the_key_o_of_a_watch_opens_the_page_at_the_run_on_the_screen_and_ends_with_the_watch() {
    let (project, browser) = with_browser(project("exit 1"));
    let mut watch = project.proctor(["watch"]).at_terminal();
    watch.wait_for("o page", LATE);
    watch.press("o");
    let page = await_browser(&browser);
    let text = fs::read_to_string(&page.file).expect("it is ours");
    assert!(text.contains("/runs/exec-"), "{text}");
    let bearer = format!("Bearer {}", token(&page));
    let listed = get(&page.address, "/v1/projects", &bearer).json();
    let watched_by = listed["projects"][0]["standing"]["watchedBy"].as_u64().expect("the page knows the watch");
    let words = format!("`proctor watch` (process {watched_by}) runs the checks at each save");
    for command in [["status"].as_slice(), &["doctor"], &["service", "list"]] {
        assert!(project.proctor(command).any_status().stdout.contains(&words), "{command:?}");
    }
    assert!(project.proctor(["service", "add"]).success().stdout.contains(&format!("until then {}", words)));
    // Pressed again, the page that is open stays.
    fs::remove_file(browser.with_extension("arguments")).expect("it is ours");
    watch.press("o");
    let again = await_browser(&browser);
    assert_eq!(again.address, page.address);
    for bearer in [bearer, format!("Bearer {}", token(&again))] {
        assert_eq!(get(&page.address, "/v1/projects", &bearer).code, 200);
    }
    watch.press("q");
    watch.ended();
    assert!(!project.proctor(["status"]).success().stdout.contains("proctor watch"), "no lock outlives its watch");
    poll(LATE, "the page to end", || std::net::TcpStream::connect(&page.address).is_err().then_some(()));
    assert_eq!(ticket_files(&project), Vec::<String>::new());
}

#[test]
fn the_key_o_of_a_watch_whose_first_run_goes_on_opens_the_page_of_all_projects() {
    let (project, browser) = with_browser(project("sleep 100"));
    let mut watch = project.proctor(["watch"]).at_terminal();
    watch.wait_for("check", LATE);
    watch.press("o");
    let page = await_browser(&browser);
    let text = fs::read_to_string(&page.file).expect("it is ours");
    assert!(text.contains("&amp;to=/\""), "{text}");
    let projects = get(&page.address, "/v1/projects", &format!("Bearer {}", token(&page))).json();
    assert_eq!(projects["projects"].as_array().map(Vec::len), Some(1), "{projects:#}");
    watch.press("q");
    watch.ended();
}

#[test]
fn the_key_o_of_a_watch_beside_the_service_opens_the_page_of_the_service() {
    let (project, browser) = with_browser(project("exit 1"));
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).status(1);
    let mut watch = project.proctor(["watch"]).at_terminal();
    watch.wait_for("o page", LATE);
    watch.press("o");
    let page = await_browser(&browser);
    watch.wait_for(&format!("http://{}/", page.address), LATE);
    // The service makes the runs that the keys ask for.
    for key in ["r", "f"] {
        watch.press(key);
        watch.wait_for("FAILED", LATE);
        watch.wait_for("watching (r again", LATE);
    }
    assert_eq!(project.store().committed_runs().len(), 3);
    watch.press("l");
    watch.wait_for("log of check, run 3:", LATE);
    watch.press("d");
    watch.wait_for("no run before the last one passed", LATE);
    assert_eq!(get(&page.address, "/v1/projects", &format!("Bearer {}", token(&page))).code, 200);
    watch.press("q");
    watch.ended();
    assert!(std::net::TcpStream::connect(&page.address).is_ok(), "the page is the service's");
    daemon.interrupt();
}
