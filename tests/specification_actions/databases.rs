//! DATABASE_QUERY: SQLite for real, and PostgreSQL by a client that stands for `psql`. The wide tier has a real server.

use serde_json::{Value, json};

use crate::common::Project;
use crate::specification_actions::{entry, judged, step, with_steps};

fn query(connection: &str, query: &str, more: Value) -> Value {
    let mut parameters = json!({ "connectionString": connection, "query": query });
    let fields = parameters.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    step("DATABASE_QUERY", parameters)
}

/// Returns a project with an empty database in `app.db`.
fn project(steps: &[Value]) -> Project {
    let project = with_steps(Project::new(), steps).toml("");
    // An empty file is an empty database.
    std::fs::write(project.path().join("app.db"), b"").expect("a file");
    project
}

#[test]
fn sqlite_is_queried_inside_of_the_isolation_and_rows_are_compared() {
    let steps = [
        query("sqlite:app.db", "CREATE TABLE quotes (id INTEGER PRIMARY KEY, name TEXT)", json!({ "queryType": "DDL" })),
        query("sqlite:app.db", "INSERT INTO quotes (name) VALUES ('a'), ('b')", json!({ "expectedRowCount": 2 })),
        query(
            "sqlite:///srv/shop/app.db",
            "SELECT * FROM quotes ORDER BY id",
            json!({
                "queryType": "SELECT", "expectedRowCount": 2,
                "validateResults": { "rowSchema": { "required": ["id", "name"] }, "containsValues": { "id": 2, "name": "b" } }
            }),
        ),
        query("sqlite:app.db", "SELECT * FROM quotes", json!({ "expectedRowCount": 3 })),
        query("sqlite:app.db", "SELECT * FROM gone", json!({})),
        query("sqlite:gone.db", "SELECT 1", json!({})),
    ];
    let project = project(&steps);
    let report = project.proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let codes: Vec<String> = (1..=6).map(|number| judged(&report, &format!("STEP.{number}")).0).collect();
    let expected = ["RESULT_VALID", "RESULT_VALID", "RESULT_VALID", "RESULT_INVALID", "CLIENT_FAILED", "CLIENT_FAILED"];
    assert_eq!(codes, expected, "{:#?}", (1..=6).map(|number| judged(&report, &format!("STEP.{number}")).1).collect::<Vec<_>>());
    assert_eq!(judged(&report, "STEP.4").1, "The query returned 2 row(s), expected are 3");
    assert!(judged(&report, "STEP.5").1.contains("no such table: gone"), "{}", judged(&report, "STEP.5").1);
    assert_eq!(std::fs::metadata(project.path().join("app.db")).expect("it is there").len(), 0, "the snapshot is dropped");
    assert!(!project.path().join("gone.db").exists());
    assert_eq!(entry(&report, "STEP.3")["type"], "DATABASE_QUERY");
}

#[test]
fn conditions_know_the_number_of_rows() {
    let mut specification = crate::specification_actions::specification(
        "/srv/shop",
        &[query(":memory:", "SELECT 1 AS one UNION SELECT 2", json!({}))],
    );
    let set = |specification: &mut Value, condition: &str| {
        specification["tasks"]["T200"]["validationCriteria"]["successConditions"] =
            json!([{ "condition": condition, "description": "The rows are counted" }]);
    };
    for (condition, passes) in [
        ("STEP.1.count === 2", true),
        ("STEP.1.count > 2", false),
        ("STEP.1.exitCode === 0 && STEP.1.stdout.includes('\"one\":2')", true),
    ] {
        set(&mut specification, condition);
        let project = crate::specification_actions::with_specification(Project::new(), &specification).toml("");
        let output = project.proctor(["run", "--task", "T200"]).any_status();
        assert_eq!(output.status == 0, passes, "{condition}: {}", output.stdout);
    }
}

/// A client that stands for `psql`: it prints its words and the variables of its connection to a file.
const PSQL: &str = r#"#!/bin/sh
{ printf '%s\n' "$@"; env | grep '^PG' | sort; } > seen
case "$*" in *fail*) echo 'psql: error: connection to server at "db" failed: Connection refused' >&2; exit 2;; esac
echo '{"id": 1}'
cp seen "$PROCTOR_OUT/seen" && cat seen >&2
"#;

#[test]
fn postgresql_is_asked_by_the_machines_client_and_its_password_is_in_no_record() {
    let connection = "postgresql://app:${DB_PASSWORD}@db:5433/shop";
    let steps = [
        query(connection, "SELECT id FROM quotes;", json!({ "expectedRowCount": 1 })),
        query(connection, "SELECT fail", json!({})),
        query("postgresql://app:${DB_MISSING}@db/shop", "SELECT 1", json!({})),
    ];
    let quiet = PSQL.replace(
        "cp seen \"$PROCTOR_OUT/seen\" && cat seen >&2\n",
        "grep -c PGPASSWORD=p@ss seen >&2\ngrep -v PGPASSWORD seen >&2\n",
    );
    let project = with_steps(Project::new().executable("bin/psql", &quiet), &steps)
        .toml("[environment]\npass_environment = [\"DB_PASSWORD\"]\n");
    let client = project.path().join("bin/psql");
    let project = project.with_program(&client).env("DB_PASSWORD", "p@ss/word:secret");
    let output = project.proctor(["run", "--task", "T200", "--json"]).any_status();
    let report = output.json();
    assert_eq!(judged(&report, "STEP.1").0, "RESULT_VALID", "{}", judged(&report, "STEP.1").1);
    assert_eq!(judged(&report, "STEP.2").0, "NO_ANSWER");
    assert!(judged(&report, "STEP.2").1.contains("Connection refused"), "{}", judged(&report, "STEP.2").1);
    let (code, reason) = judged(&report, "STEP.3");
    assert!(code == "NOT_STARTED" && reason.contains("`DB_MISSING`") && reason.contains("pass_environment"), "{code} {reason}");
    let directory = project.store().run_directory("T200");
    let mut log = String::new();
    for entry in std::fs::read_dir(&directory).expect("a run") {
        let path = entry.expect("an entry").path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
        assert!(!text.contains("word:secret"), "{}: {text}", path.display());
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("STEP.1") && name.to_string_lossy().ends_with(".log"))
        {
            log = text;
        }
    }
    for part in [
        "PGHOST=db",
        "PGPORT=5433",
        "PGUSER=app",
        "PGDATABASE=shop",
        "ON_ERROR_STOP=1",
        "SELECT to_jsonb(proctor_row) FROM (SELECT id FROM quotes\n) AS proctor_row",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(log.contains("1\n"), "the password was there: {log}");
}

/// A secret of `from_environment` reaches the client alone: whole, or as the whole connection string.
#[test]
fn a_secret_of_the_users_environment_reaches_the_client_and_nothing_else() {
    const SECRET: &str = "p@ss/%41-word:secret";
    const ADDRESS: &str = "postgresql://app:pass-of-address@db:5434/all";
    let steps = [
        query("postgresql://app:{{DB_PASSWORD}}@db:5433/shop", "SELECT 1", json!({ "expectedRowCount": 1 })),
        query("{{DATABASE_URL}}", "SELECT 2", json!({ "expectedRowCount": 1 })),
    ];
    // The client prints what it got, to see that it is masked, and for the password also how long it is.
    let client = "#!/bin/sh\nenv | grep '^PG' | sort >&2\nprintf %s \"$PGPASSWORD\" | wc -c >&2\necho '{\"id\": 1}'\n";
    let project = with_steps(Project::new().executable("bin/psql", client), &steps)
        .toml("[specification]\nfrom_environment = [\"DB_PASSWORD\", \"DATABASE_URL\"]\n");
    let client = project.path().join("bin/psql");
    let allowed = format!(
        "[[allow]]\nprojects = [\"{}\"]\nspecification.from_environment = [\"DB_PASSWORD\", \"DATABASE_URL\"]\n",
        project.path().display()
    );
    std::fs::write(project.root().join("config/proctor/config.toml"), allowed).expect("it is ours");
    let project = project.with_program(&client).env("DB_PASSWORD", SECRET).env("DATABASE_URL", ADDRESS);
    let output = project.proctor(["run", "--task", "T200", "--json"]).any_status();
    let report = output.json();
    for id in ["STEP.1", "STEP.2"] {
        assert_eq!(judged(&report, id).0, "RESULT_VALID", "{}", judged(&report, id).1);
    }
    let directory = project.store().run_directory("T200");
    let files: Vec<(String, String)> = std::fs::read_dir(&directory)
        .expect("a run")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.display().to_string(), String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned()))
        .collect();
    for (name, text) in files.iter().chain([&("screen".to_owned(), output.stdout.clone() + &output.stderr)]) {
        for hidden in [SECRET, ADDRESS, "pass-of-address"] {
            assert!(!text.contains(hidden), "{name}: {text}");
        }
    }
    let log = |id: &str| &files.iter().find(|(name, _)| name.contains(id) && name.ends_with(".log")).expect("a log").1;
    assert!(log("STEP.1").contains("PGHOST=db\nPGPASSWORD=********************\nPGPORT=5433"), "{}", log("STEP.1"));
    assert!(log("STEP.1").contains(&format!("\n{}\n", SECRET.len())), "the password was there: {}", log("STEP.1"));
    assert!(log("STEP.2").contains("PGPASSWORD=***************\nPGPORT=5434"), "{}", log("STEP.2"));
}

#[test]
fn a_missing_client_is_named_with_the_line_that_installs_it() {
    let steps = [query("postgresql://db/shop", "SELECT 1", json!({}))];
    let project = with_steps(Project::new().file("bin/other", ""), &steps).toml("");
    let path = project.path().join("bin");
    let report = project.env("PATH", path).proctor(["run", "--task", "T200", "--json"]).any_status().json();
    let (code, reason) = judged(&report, "STEP.1");
    assert_eq!(code, "TOOL_NOT_FOUND", "{reason}");
    assert!(reason.contains("There is no program `psql`") && reason.contains("apt-get install postgresql-client"), "{reason}");
}
