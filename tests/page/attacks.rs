//! Attacks on the page: whoever has no token of this service, or is led here by another site, gets nothing.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::{Answer, get, open_page, send, token};
use crate::common::{Project, WRITES_TO_SHARED, poll};
use crate::daemon::{LATE, project, settings, start_serving};

/// The levels at which a check has the network and still must not see the file with the ticket.
const LEVELS: [&str; 2] = ["namespace", "landlock"];

#[test]
fn who_has_no_token_or_comes_from_elsewhere_gets_nothing() {
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    let (address, used) = (page.address.as_str(), page.ticket.clone());
    let bearer = format!("authorization: Bearer {}", token(&page));
    let host = format!("host: {address}");
    let port = address.rsplit(':').next().expect("a port");
    let wrong = format!("authorization: Bearer {}", "0".repeat(64));
    let ticket_as_token = format!("authorization: Bearer {used}");
    let ticket = format!("authorization: Ticket {used}");
    let rebound = format!("host: evil.example:{port}");
    let local = format!("host: localhost:{port}");
    let absolute = format!("GET http://evil.example:{port}/v1/status HTTP/1.1");
    let status = "GET /v1/status HTTP/1.1";
    assert_eq!(send(address, &[status, &host, &bearer]).code, 200, "the page itself is answered");
    assert_eq!(send(address, &[status, &local, &bearer]).code, 200);
    let attacks: &[(&str, &[&str], u16)] = &[
        ("no token", &[status, &host], 401),
        ("a wrong token", &[status, &host, &wrong], 401),
        ("a ticket for a token", &[status, &host, &ticket_as_token], 401),
        ("two tokens", &[status, &host, &bearer, &wrong], 401),
        ("a used ticket", &["GET /ticket HTTP/1.1", &host, &ticket], 401),
        ("no ticket", &["GET /ticket HTTP/1.1", &host], 401),
        ("a rebound name", &[status, &rebound, &bearer], 403),
        ("a rebound name for the page", &["GET / HTTP/1.1", &rebound], 403),
        ("a rebound name for a ticket", &["GET /ticket HTTP/1.1", &rebound, &ticket], 403),
        ("a name without the port", &[status, "host: 127.0.0.1", &bearer], 403),
        ("two names", &[status, &host, &rebound, &bearer], 403),
        ("a proxy's request", &[&absolute, &host, &bearer], 403),
        ("another origin", &[status, &host, &bearer, "origin: http://evil.example"], 403),
        ("no origin of its own", &[status, &host, &bearer, "origin: null"], 403),
        ("a server beside it", &[status, &host, &bearer, "origin: http://127.0.0.1:8000"], 403),
        ("another site's fetch", &[status, &host, &bearer, "sec-fetch-site: cross-site"], 403),
        ("a site beside it", &[status, &host, &bearer, "sec-fetch-site: same-site"], 403),
        (
            "a frame",
            &["GET / HTTP/1.1", &host, "sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"],
            403,
        ),
        (
            "a script elsewhere",
            &["GET /assets/page.css HTTP/1.1", &host, "sec-fetch-site: cross-site", "sec-fetch-mode: no-cors"],
            403,
        ),
        ("a POST", &["POST /v1/projects HTTP/1.1", &host, &bearer, "content-length: 0"], 405),
        ("a POST for a ticket", &["POST /v1/page HTTP/1.1", &host, &bearer, "content-length: 0"], 405),
        ("a preflight", &["OPTIONS /v1/status HTTP/1.1", &host, "origin: http://evil.example"], 403),
        ("a HEAD", &["HEAD /v1/status HTTP/1.1", &host, &bearer], 405),
        ("a GET for a ticket", &["GET /v1/page HTTP/1.1", &host, &bearer], 405),
        ("a file elsewhere", &["GET /assets/../../../etc/passwd HTTP/1.1", &host], 404),
    ];
    let won: Vec<(&str, Answer)> = attacks
        .iter()
        .map(|(name, head, _)| (*name, send(address, head)))
        .zip(attacks)
        .filter(|((_, answer), (_, _, code))| answer.code != *code)
        .map(|(won, _)| won)
        .collect();
    assert!(won.is_empty(), "{} of {} attacks were not answered as they should be: {won:#?}", won.len(), attacks.len());
    for (name, head, _) in attacks {
        let answer = send(address, head);
        assert!(!answer.head.contains("access-control-allow"), "{name}: {}", answer.head);
        assert!(!answer.body.contains("projects\":"), "{name}: {}", answer.body);
    }
    daemon.interrupt();
}

#[test]
fn only_loopback_is_listened_on_and_only_when_the_page_was_asked_for() {
    let project = project("true");
    let daemon = start_serving(&project);
    let listening = || {
        let table = fs::read_to_string(format!("/proc/{}/net/tcp", daemon.id())).expect("Linux has it");
        let own = inodes_of(daemon.id());
        let rows = table.lines().skip(1).map(|row| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        rows.filter(|row| row[3] == "0A" && own.contains(&row[9])).map(|row| row[1].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listening(), Vec::<String>::new());
    let page = open_page(&project);
    let port: u16 = page.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    assert_eq!(listening(), [format!("0100007F:{port:04X}")]);
    assert_eq!(open_page(&project).address, page.address, "one listener for all");
    daemon.interrupt();
}

/// Returns the inodes of the sockets that a process has.
fn inodes_of(process: i32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect()
}

#[test]
fn a_check_with_the_network_gets_no_ticket_and_no_answer() {
    for level in LEVELS {
        let project = Project::new()
            .env("PROCTOR_TEST_ISOLATION", level)
            .file("attack.py", include_str!("attack_from_a_check.py"))
            .file("a.txt", "one\n");
        let runtime = project.root().join("runtime/proctor");
        let command = settings(&format!("python3 attack.py {} ../shared/port", runtime.display()));
        // The check may use the network, and the socket is opened to it by the settings.
        let socket = runtime.join("control.sock").display().to_string();
        let project = project.toml(&format!("{WRITES_TO_SHARED}sockets = [{socket:?}]\n{command}"));
        let daemon = start_serving(&project);
        let page = open_page(&project);
        fs::write(project.shared("port"), &page.address).expect("it is ours");
        project.save("a.txt", "two\n");
        project.proctor(["wait", "--fresh", "--timeout", "120s"]).any_status();
        let report = project.proctor(["show", "--json"]).any_status().json();
        let log = project.proctor(["show", "--log", "check"]).any_status().stdout;
        assert_eq!(report["isolation"]["level"], level, "{report:#}");
        assert!(log.contains("reached the page: 401"), "{level}: the attack was made over the network: {log}");
        assert!(log.contains("a ticket from the socket: 403"), "{level}: {log}");
        assert!(log.contains("0 won"), "{level}: {log}");
        assert_eq!(token(&page).len(), 64, "{level}: the ticket was not used up");
        daemon.interrupt();
    }
}

#[test]
fn another_user_cannot_read_the_file_and_has_no_token() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    let nobody = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).uid(65534).gid(65534).current_dir("/").output().expect("it starts");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(nobody("/bin/cat", &[page.file.to_str().expect("a path")]), (false, String::new()));
    let url = format!("http://{}/v1/status", page.address);
    let (_, code) = nobody("/usr/bin/curl", &["-s", "-o", "/dev/null", "-w", "%{http_code}", &url]);
    assert_eq!(code, "401");
    daemon.interrupt();
}

#[test]
fn a_page_that_was_left_open_gives_nothing_after_the_service_was_restarted() {
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    let waiting = open_page(&project);
    let old = token(&page);
    daemon.interrupt();
    assert!(!waiting.file.exists(), "an unused ticket goes with the service");
    // Somebody else listens where the service did. What a page that was left open sends there opens nothing.
    let listener = TcpListener::bind(&page.address).expect("the port is free again");
    let mut left_open = super::connect(&page.address);
    left_open
        .write_all(format!("GET /v1/status HTTP/1.1\r\nauthorization: Bearer {old}\r\n\r\n").as_bytes())
        .expect("it is written");
    let (mut taken, _) = listener.accept().expect("the old page connects");
    let mut bytes = [0; 256];
    let count = taken.read(&mut bytes).expect("it sends");
    let stolen = String::from_utf8_lossy(&bytes[..count])
        .split("Bearer ")
        .nth(1)
        .and_then(|rest| rest.get(..64))
        .expect("a token")
        .to_owned();
    let daemon = crate::daemon::start_serving(&project);
    let anew = open_page(&project);
    assert_ne!(anew.address, page.address);
    assert_eq!(get(&anew.address, "/v1/status", &format!("Bearer {stolen}")).code, 401);
    let answer = get(&anew.address, "/ticket", &format!("Ticket {}", waiting.ticket));
    assert_eq!((answer.code, answer.kind().as_str()), (401, "tokenWrong"));
    assert_eq!(get(&anew.address, "/v1/status", &format!("Bearer {}", token(&anew))).code, 200);
    daemon.interrupt();
}

#[test]
fn a_ticket_and_its_file_are_gone_after_a_minute() {
    let project = project("true");
    let daemon = start_serving(&project);
    let page = open_page(&project);
    poll(LATE + LATE, "the file to go", || (!page.file.exists()).then_some(()));
    assert_eq!(get(&page.address, "/ticket", &format!("Ticket {}", page.ticket)).code, 401);
    daemon.interrupt();
}
