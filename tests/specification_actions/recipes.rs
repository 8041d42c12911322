//! The recipes of `docs/guides/recipes.md`, each with the program that it is about where that program is in a test of the wide tier.

use std::fs;

use super::real_clients::{Engine, PASSWORD, Server};
use crate::common::{Project, free_port, repository};

/// Returns what is to be written into `proctor.toml`, by the page's heading.
#[track_caller]
fn recipe(heading: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/guides/recipes.md")).expect("the page is there");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("the page has this recipe");
    let (_, from_block) = section.split_once("```toml\n").expect("it has settings");
    from_block.split_once("```").expect("a block ends").0.to_owned()
}

/// Returns a project with these settings, whose only check is a script.
fn project(settings: &str, script: &str) -> Project {
    let check = "\n[[check]]\nname = \"recipe\"\ncommand = [\"sh\", \"recipe.sh\"]\n";
    Project::new().toml(&(settings.to_owned() + check)).file("recipe.sh", &format!("set -e\n{script}\n"))
}

#[test]
fn every_recipe_is_a_configuration_without_a_mistake() {
    for heading in ["uv, Poetry", "Postgres in Docker", "Testcontainers", "Postgres by its socket", "The network", "A GPU"] {
        let said = project(&recipe(heading), "true").proctor(["check"]).success();
        assert!(said.stderr.is_empty(), "{heading}: {}", said.snapshot());
    }
}

#[test]
fn a_check_sees_devices_and_its_own_network_as_the_recipes_say() {
    let gpu = project(&recipe("A GPU"), "test -c /dev/full\ntest \"$CUDA_VISIBLE_DEVICES\" = 1");
    gpu.env("CUDA_VISIBLE_DEVICES", "1").proctor(["run"]).success();
    project(&recipe("The network"), "test \"$(tail -n +3 /proc/net/dev | wc -l)\" = 1").proctor(["run"]).success();
}

#[test]
#[ignore = "wide tier"]
fn a_check_starts_a_bus_of_its_own() {
    project("", "dbus-run-session -- sh -c 'test -n \"$DBUS_SESSION_BUS_ADDRESS\"'").proctor(["run"]).success();
}

/// The engine speaks Docker's protocol. Its container ignores SIGTERM, as many programs do that are the first of a container.
#[test]
#[ignore = "wide tier"]
fn a_container_with_a_published_port_is_started_for_each_run_and_removed_after_it() {
    let engine = Engine::start();
    let (socket, port) = (engine.socket().display().to_string(), free_port());
    let docker = format!("docker --host unix://{socket}");
    let open = |heading: &str| recipe(heading).replace("/run/docker.sock", &socket).replace("\"docker ", &format!("\"{docker} "));
    let hidden = project("", &format!("{docker} ps")).proctor(["run"]).status(1);
    assert!(hidden.stdout.contains(&format!("sockets = [\"{socket}\"]")), "{}", hidden.snapshot());
    // The tests start a container themselves.
    let starts = format!("{docker} run --rm local/shell:1 /bin/sh -c 'exit 0'");
    project(&open("Testcontainers"), &starts).proctor(["run"]).success();
    let settings = open("Postgres in Docker").replace("5433", &port).replace("run --rm", "run --network bridge --rm");
    let settings = settings.replace("postgres:17", "local/shell:1 /bin/busybox nc -ll -p 5432 -e /bin/busybox echo pong");
    let answer = format!("bash -c 'read answer </dev/tcp/127.0.0.1/{port}; test \"$answer\" = pong'");
    let project = project(&settings.replace("service = true", "service = true\ngrace = \"1s\""), &answer);
    for _ in 0..2 {
        let run = project.proctor(["run"]).success();
        let widest = run.stdout.lines().find(|line| line.contains("is answered by")).map(|line| line.chars().count());
        assert!(widest.is_none_or(|columns| columns < 200), "the command of the container's process is cut: {}", run.snapshot());
        assert_eq!(engine.run(&["ps", "--all", "--quiet"]), "", "no container is left");
    }
}

#[test]
#[ignore = "wide tier"]
fn a_server_of_postgresql_is_reached_by_its_socket() {
    let server = Server::start();
    let directory = server.path("");
    let settings = recipe("Postgres by its socket").replace("/run/postgresql", directory.trim_end_matches('/'));
    let settings = settings.replace("\"PGUSER\"", "\"PGPASSWORD\", \"PGUSER\"");
    let answer = format!("$(PGHOST={directory} PGPORT={} psql --tuples-only --command 'SELECT 6 * 7')", server.port);
    let project = project(&settings, &format!("test \"{answer}\" -eq 42"));
    let project = project.env("PGUSER", "app").env("PGDATABASE", "postgres").env("PGPASSWORD", PASSWORD);
    project.proctor(["run"]).success();
}
