//! The recipes of `docs/guides/recipes.md`, each with the program that it is about where that program is in a test of the wide tier.

use std::fs;

use super::real_clients::{Engine, PASSWORD, Server};
use crate::common::{Project, repository};

/// Returns what is to be written into `proctor.toml`, by the page's heading.
#[track_caller]
fn recipe(heading: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/guides/recipes.md")).expect("the page is there");
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).expect("the page has this recipe");
    let (_, from_block) = section.split_once("```toml\n").expect("it has settings");
    from_block.split_once("```").expect("a block ends").0.to_owned()
}

fn check(command: &str) -> String {
    format!("\n[[check]]\nname = \"recipe\"\ncommand = {command:?}\nshell = true\n")
}

#[test]
fn every_recipe_is_a_configuration_without_a_mistake() {
    for heading in ["uv, Poetry", "Postgres in Docker", "Testcontainers", "Postgres by its socket", "The network", "A GPU"] {
        let project = Project::new().toml(&(recipe(heading) + &check("true")));
        let said = project.proctor(["check"]).success();
        assert!(said.stderr.is_empty(), "{heading}: {}", said.snapshot());
    }
}

#[test]
fn a_check_that_uses_a_gpu_or_a_bus_of_its_own_gets_what_the_recipe_says() {
    let gpu = Project::new().toml(&(recipe("A GPU") + &check("test -c /dev/full && test \"$CUDA_VISIBLE_DEVICES\" = 1")));
    gpu.env("CUDA_VISIBLE_DEVICES", "1").proctor(["run"]).success();
    let inner = "test \"$(cat /proc/net/dev | tail -n +3 | wc -l)\" = 1";
    Project::new().toml(&(recipe("The network") + &check(inner))).proctor(["run"]).success();
}

#[test]
#[ignore = "wide tier"]
fn a_check_starts_a_bus_of_its_own() {
    let command = "dbus-run-session -- sh -c 'test -n \"$DBUS_SESSION_BUS_ADDRESS\"'";
    Project::new().toml(&check(command)).proctor(["run"]).success();
}

/// The engine speaks Docker's protocol. It has no network here, so no port of the container is published.
#[test]
#[ignore = "wide tier"]
fn a_container_is_started_for_each_run_and_stopped_after_it() {
    let engine = Engine::start();
    let socket = engine.socket().display().to_string();
    let docker = format!("docker --host unix://{socket}");
    let server = format!("{docker} run --rm local/shell:1 /bin/sh -c 'trap \"exit 0\" TERM; while :; do :; done'");
    let runs = format!("test $({docker} ps --quiet | wc -l) = 1");
    let recipe = recipe("Postgres in Docker");
    let (begin, rest) = recipe.split_once("command = ").expect("it starts a container");
    let (_, end) = rest.split_once('\n').expect("more lines");
    let (end, _) = end.split_once("ready = ").expect("it says when it is ready");
    let ready = format!("ready = {{ command = [\"sh\", \"-c\", {runs:?}], timeout = \"60s\" }}\n");
    let settings = format!("{begin}command = {server:?}\nshell = true\n{end}{ready}");
    let hidden = Project::new().toml(&check(&format!("{docker} ps"))).proctor(["run"]).status(1);
    assert!(hidden.stdout.contains(&format!("sockets = [\"{socket}\"]")), "{}", hidden.snapshot());
    // The tests start a container themselves.
    let starts = check(&format!("{docker} run --rm local/shell:1 /bin/sh -c 'exit 0'"));
    let open = |heading: &str| self::recipe(heading).replace("/run/docker.sock", &socket);
    Project::new().toml(&(open("Testcontainers") + &starts)).proctor(["run"]).success();
    let project = Project::new().toml(&(settings.replace("/run/docker.sock", &socket) + &check(&runs)));
    for _ in 0..2 {
        project.proctor(["run"]).success();
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
    let query =
        format!("test \"$(PGHOST={directory} PGPORT={} psql --tuples-only --command 'SELECT 6 * 7')\" -eq 42", server.port);
    let project = Project::new().toml(&(settings + &check(&query)));
    let project = project.env("PGUSER", "app").env("PGDATABASE", "postgres").env("PGPASSWORD", PASSWORD);
    project.proctor(["run"]).success();
}
