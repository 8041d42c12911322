//! Tests the network of a run's own: what its checks reach, that its ports are free, and what is said where it cannot be had. The checks are
//! real programs that open sockets.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::thread;

use proctor_sandbox::process::restricts_tcp;
use serde_json::Value;

use crate::common::{Output, Project, free_port, proctor};
use crate::run::result;

/// Tries the ways out of a network and prints a line for each. Its arguments are a port and an abstract name of the machine.
const TRIES: &str = r#"
import socket, sys
def tried(name, what):
    try:
        what()
        print(name, "reached", flush=True)
    except OSError as error:
        print(name, "denied", type(error).__name__, flush=True)
def own(family, address):
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()
    socket.create_connection(server.getsockname()[:2], 5).close()
def datagram():
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(b"x", ("192.0.2.1", 9))
def abstract():
    socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[2])
tried("own4", lambda: own(socket.AF_INET, "127.0.0.1"))
tried("own6", lambda: own(socket.AF_INET6, "::1"))
tried("machine", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close())
tried("outside", datagram)
tried("abstract", abstract)
"#;

/// What is tried, with what must come of it.
const WAYS: [&str; 5] = ["own4", "own6", "machine", "outside", "abstract"];

fn report(project: &Project) -> Value {
    project.store().report("default")
}

fn channels(project: &Project) -> Vec<String> {
    let report = report(project);
    let channels = report["isolation"]["openChannels"].as_array().expect("a list");
    channels.iter().map(|channel| channel.as_str().expect("a text").to_owned()).collect()
}

fn networks(project: &Project) -> Vec<String> {
    channels(project).into_iter().filter(|channel| channel.starts_with("network")).collect()
}

/// Runs the attempts and returns those that succeeded. A listener and an abstract socket of the machine are there.
fn reached(project: &Project, listener: &TcpListener, name: &str, settings: &str) -> Vec<String> {
    let port = listener.local_addr().expect("it is bound").port();
    project.save("tries.py", TRIES);
    project.save(
        "proctor.toml",
        &format!("[[check]]\nname = \"tries\"\ncommand = [\"python3\", \"tries.py\", \"{port}\", \"{name}\"]\n{settings}"),
    );
    project.proctor(["run"]).success();
    let log = project.proctor(["show", "--log", "STEP.1"]).success().stdout;
    assert_eq!(log.lines().count(), WAYS.len(), "{log}");
    WAYS.iter().filter(|way| log.contains(&format!("{way} reached"))).map(|way| (*way).to_owned()).collect()
}

/// Returns a listener of the machine, and the name of an abstract socket that is there as long as its listener.
fn machine() -> (TcpListener, UnixListener, String) {
    let name = format!("proctor-test-{}-{}", std::process::id(), free_port());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    (TcpListener::bind("127.0.0.1:0").expect("a port"), UnixListener::bind_addr(&address).expect("a name"), name)
}

#[test]
fn a_check_reaches_what_its_network_has_and_nothing_else() {
    let (listener, _abstract, name) = machine();
    let namespaces = |settings: &str| {
        let project = Project::new().env("PROCTOR_TEST_ISOLATION", "namespace");
        let reached = reached(&project, &listener, &name, settings);
        assert_eq!(report(&project)["isolation"]["level"], "namespace");
        (reached, channels(&project))
    };
    let (open, channels) = namespaces("");
    assert!(["own4", "machine"].iter().all(|way| open.contains(&(*way).to_owned())), "{open:?}");
    assert!(channels.contains(&"network".to_owned()), "{channels:?}");
    // Whether the machine has IPv6 is nothing to the check: its own network has.
    let (loopback, channels) = namespaces("[sandbox]\nnetwork = \"loopback\"\n");
    assert_eq!(loopback.iter().filter(|way| *way != "own6").collect::<Vec<_>>(), ["own4"]);
    assert!(channels.iter().all(|channel| !channel.contains("network") && !channel.contains("abstract")), "{channels:?}");
    let (off, _) = namespaces("network = \"off\"\n");
    assert_eq!(off, [""; 0]);
}

#[test]
fn a_level_without_namespaces_closes_what_it_can_and_says_the_rest() {
    let (listener, _abstract, name) = machine();
    for (level, network, is_tcp_open) in [
        ("landlock", "loopback", true),
        ("landlock", "off", !restricts_tcp()),
        ("process-group", "loopback", true),
        ("process-group", "off", true),
    ] {
        let project = Project::new().env("PROCTOR_TEST_ISOLATION", level);
        let reached = reached(&project, &listener, &name, &format!("[sandbox]\nnetwork = \"{network}\"\n"));
        assert_eq!(report(&project)["isolation"]["level"], level);
        assert_eq!(reached.contains(&"machine".to_owned()), is_tcp_open, "{level} {network}: {reached:?}");
        let but = if is_tcp_open { "" } else { " but TCP" };
        assert_eq!(networks(&project), [format!("network{but} (`network = \"{network}\"` needs namespaces)")]);
    }
    let project = Project::new()
        .env("PROCTOR_TEST_ISOLATION", "landlock")
        .toml("[[check]]\nname = \"never\"\ncommand = [\"true\"]\n[sandbox]\nmode = \"require\"\nnetwork = \"loopback\"\n");
    project.proctor(["run"]).status(1);
}

/// Runs the checks where no namespace of one kind can be made and all others can.
fn without_namespaces(kind: &str, project: &Project) -> Output {
    let script = format!("echo 0 > /proc/sys/user/max_{kind}_namespaces && exec \"$0\" run --json");
    let program = proctor().to_str().expect("the build directory is UTF-8");
    project.command(Path::new("unshare"), ["-Ur", "sh", "-euc", &script, program]).any_status()
}

#[test]
fn a_network_that_cannot_be_made_is_missing_to_its_action_alone_in_either_order() {
    let check = |network: &str| format!("[[check]]\nname = \"{network}\"\ncommand = [\"true\"]\nnetwork = \"{network}\"\n");
    for order in [["loopback", "open"], ["open", "loopback"]] {
        let checks = order.map(check).concat();
        let project = Project::new().toml(&checks);
        let output = without_namespaces("net", &project);
        assert_eq!(output.status, 0, "{order:?}: {}", output.snapshot());
        let isolation = &report(&project)["isolation"];
        assert_eq!(isolation["level"], "namespace", "{order:?}: {isolation:#}");
        let of_loopback = |channel: &String| {
            channel.contains("`loopback`") && channel.contains("no network of the run's own can be made: a network namespace")
        };
        assert!(networks(&project).iter().any(of_loopback), "{order:?}: {isolation:#}");
        let project = Project::new().toml(&format!("{checks}[sandbox]\nmode = \"require\"\n"));
        let output = without_namespaces("net", &project);
        assert_eq!(output.status, 1, "{order:?}: {}", output.snapshot());
        let report = report(&project).to_string();
        assert!(report.contains("wants `network = \\\"loopback\\\"`"), "{order:?}: {report}");
    }
}

/// A server on a port that the machine has given to somebody else, and a check that asks it.
fn with_server(port: &str, ready: &str) -> String {
    let serve = "import http.server, sys; http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()";
    let ask =
        "import urllib.request, sys; print(urllib.request.urlopen(f'http://127.0.0.1:{sys.argv[1]}/answer.txt').read().decode())";
    format!(
        "[[prerequisite]]\nname = \"server\"\ncommand = [\"python3\", \"-c\", \"{serve}\", \"{port}\"]\nservice = true\nready = {{ {ready} }}\n\
         [[check]]\nname = \"asks\"\ncommand = [\"python3\", \"-c\", \"{ask}\", \"{port}\"]\n[sandbox]\nnetwork = \"loopback\"\n"
    )
}

fn answer(project: &Project) -> String {
    project.proctor(["show", "--log", "STEP.1"]).success().stdout.trim().to_owned()
}

#[test]
fn the_checks_of_a_run_reach_its_services_on_a_port_that_the_machine_has_given_away() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    for ready in [format!("port = {port}"), format!("url = \"http://127.0.0.1:{port}/answer.txt\"")] {
        let project = Project::new().toml(&with_server(&port, &ready)).file("answer.txt", "the own one");
        let output = project.proctor(["run"]).success();
        assert!(!output.stdout.contains("note:"), "{}", output.snapshot());
        assert_eq!(answer(&project), "the own one");
        assert_eq!(networks(&project), [""; 0]);
    }
    // The other way round: where the level has no network of its own, the service is looked for where it is.
    let port = free_port();
    let project = Project::new().toml(&with_server(&port, &format!("port = {port}"))).file("answer.txt", "the own one");
    let project = project.env("PROCTOR_TEST_ISOLATION", "landlock");
    project.proctor(["run"]).success();
    assert_eq!(answer(&project), "the own one");
}

#[test]
fn a_service_is_found_where_it_is_when_a_network_can_be_made_and_the_level_has_none() {
    let port = free_port();
    let project =
        Project::new().toml(&with_server(&port.to_string(), &format!("port = {port}"))).file("answer.txt", "the own one");
    let output = without_namespaces("pid", &project);
    assert_eq!(output.status, 0, "{}", output.snapshot());
    assert_ne!(report(&project)["isolation"]["level"], "namespace");
    assert_eq!(answer(&project), "the own one");
    assert_eq!(networks(&project), ["network (`network = \"loopback\"` needs namespaces)"]);
}

#[test]
fn a_service_that_is_not_ready_in_its_network_is_said_to_be_refused_there() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let toml = format!(
        "[[prerequisite]]\nname = \"server\"\ncommand = [\"sleep\", \"600\"]\nservice = true\nready = {{ port = {port}, timeout = \"300ms\" }}\n\
         [[check]]\nname = \"never\"\ncommand = [\"true\"]\n[sandbox]\nnetwork = \"loopback\"\n"
    );
    let project = Project::new().toml(&toml);
    let output = project.proctor(["run"]).failure();
    let reason = result(&output.report(), "PREREQ.1")["classification"]["reason"].to_string();
    assert!(reason.contains(&format!("127.0.0.1:{port}: nobody listens")), "a stranger's answer does not count: {reason}");
}

/// Runs two projects with the same port at the same time, `rounds` times, and returns how many runs did not pass.
fn collisions(rounds: usize) -> usize {
    let port = free_port();
    let projects: Vec<Project> = ["one", "two"]
        .map(|name| Project::new().toml(&with_server(&port, &format!("port = {port}"))).file("answer.txt", name))
        .into();
    let run = |project: &Project, name: &str| {
        let output: Output = project.proctor(["run"]).any_status();
        usize::from(output.status != 0 || answer(project) != name)
    };
    thread::scope(|scope| {
        let both: Vec<_> = projects
            .iter()
            .zip(["one", "two"])
            .map(|(project, name)| scope.spawn(move || (0..rounds).map(|_| run(project, name)).sum::<usize>()))
            .collect();
        both.into_iter().map(|one| one.join().expect("no panic")).sum()
    })
}

#[test]
fn two_projects_with_one_port_run_side_by_side() {
    assert_eq!(collisions(5), 0);
}

#[test]
#[ignore = "wide tier"]
fn two_projects_with_one_port_never_collide() {
    assert_eq!(collisions(100), 0);
}

#[test]
fn a_check_that_looked_outside_gets_the_line_and_prerequisites_have_the_network() {
    let (listener, _abstract, _) = machine();
    let port = listener.local_addr().expect("it is bound").port();
    let connect = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    let project = Project::new().toml(&format!(
        "[[prerequisite]]\nname = \"deps\"\ncommand = [\"python3\", \"-c\", \"{connect}\"]\n\
         [[check]]\nname = \"asks\"\ncommand = [\"python3\", \"-c\", \"{connect}\"]\n[sandbox]\nnetwork = \"loopback\"\n"
    ));
    let output = project.proctor(["run"]).failure();
    assert_eq!(result(&output.report(), "PREREQ.1")["status"], "SUCCESS");
    let expected = "note: asks: `network = \"loopback\"` hides what it looked for (a connection was refused): if the command needs it, put `network = \"open\"` in its `[[check]]`, or in `[sandbox]`";
    assert!(output.stdout.contains(expected), "{}", output.snapshot());
    assert_eq!(networks(&project), ["network of `deps`"]);
}

#[test]
fn a_wider_network_is_asked_for_before_anything_runs_and_a_narrower_one_is_not() {
    let check = "[[check]]\nname = \"any\"\ncommand = [\"true\"]\n";
    let project = Project::new().toml(check);
    project.proctor(["run"]).success();
    project.save("proctor.toml", &format!("{check}network = \"loopback\"\n"));
    let output = project.proctor(["run"]).success();
    assert!(!output.stdout.contains("changed rules"), "{}", output.snapshot());
    project.save("proctor.toml", check);
    let output = project.proctor(["run"]).status(3);
    assert!(
        format!("{}{}", output.stdout, output.stderr).contains("any: network: open instead of loopback"),
        "{}",
        output.snapshot()
    );
}

#[test]
fn a_service_in_no_network_that_is_ready_by_its_port_is_refused_before_it_is_waited_for() {
    let toml = with_server("4173", "port = 4173").replace("network = \"loopback\"", "network = \"off\"");
    let output = Project::new().toml(&toml).proctor(["run"]).any_status();
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(output.status != 0 && said.contains("`server` is ready when port 4173 answers"), "{said}");
}
