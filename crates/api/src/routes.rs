//! The table of all routes. The router, the page of `proctor generate api` and their tests are made from this table.

use proctor_model::words;

/// A route of the control socket: its method and path, and the texts about it on the page that `proctor generate api` prints.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    pub name: RouteName,
    pub method: MethodV1,
    /// The path; `{id}` stands for a project's id, `{run}` for a run's id or number, `{name}` for a file's name, `{test}` for a test's key.
    pub path: &'static str,
    /// The allowed parameters; any other parameter is an error.
    pub parameters: &'static [ParameterV1],
    /// What the route does, for people.
    pub summary: &'static str,
    /// An example of a request's body; empty if the route takes none.
    pub body: &'static str,
}

/// The routes of the control socket. Clients and the service name a route by this type instead of by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteName {
    /// Returns the states of the verdicts of all watched projects.
    Status,
    Projects,
    /// Makes the service watch a project.
    Add,
    /// Makes the service stop watching a project.
    Remove,
    /// Runs the checks; the answer comes when the run is over.
    Run,
    /// Returns the state of a project's verdict: at once, or as soon as there is a fresh verdict.
    Verdict,
    /// Returns the state of a task's red, green, refactor cycle.
    Phase,
    /// Changes the state of a task's red, green, refactor cycle.
    SetPhase,
    /// Answers a request that an agent makes: to say whether a task has the status that the agent claims, to run a task
    /// once more, or to name the errors in a task's specification.
    Requests,
    /// Always refuses: only a person at a terminal can approve a plan.
    Approval,
    /// Returns the last file event for a path.
    Heard,
    /// Tells of past runs and tests.
    Past(PastRoute),
    /// Verifies the evidence of a run.
    Verification,
    /// Says whether a commit is proved.
    Gate,
    /// Sends events as they happen, until the client disconnects.
    Events,
    /// Opens the page for a browser.
    Page,
}

/// A question about past runs and tests, each with a route of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PastRoute {
    /// Lists the runs of a project.
    Runs,
    /// Describes one run and names its files.
    RunDetails,
    /// Sends a file of a run, or a part of it.
    RunFile,
    /// Lists the known tests of a project.
    Tests,
    /// Tells the past of one test.
    TestPast,
    /// Compares two runs.
    Compare,
    /// Tells how the tests of the last runs ended, run by run.
    Matrix,
    /// Tells how long runs and checks took, and how long a task stayed red.
    Trends,
    /// Returns the last answer of `proctor prove`.
    Proof,
}

/// The HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodV1 {
    Get,
    Post,
    Delete,
}

/// A parameter of a route's query.
#[derive(Debug, Clone, Copy)]
pub struct ParameterV1 {
    pub name: &'static str,
    /// The allowed values, in words for people.
    pub values: &'static str,
    /// The value that is used if the parameter is not given, in words for people.
    pub default: &'static str,
}

/// A route that only reads, without parameters.
const fn get(name: RouteName, path: &'static str) -> Route {
    Route { name, method: MethodV1::Get, path, parameters: &[], summary: "", body: "" }
}

const fn post(name: RouteName, path: &'static str) -> Route {
    Route { method: MethodV1::Post, ..get(name, path) }
}

const fn delete(name: RouteName, path: &'static str) -> Route {
    Route { method: MethodV1::Delete, ..get(name, path) }
}

/// The parameter of a question about all projects that asks about one alone. Other projects then cost nothing.
const ONE_ROOT: &[ParameterV1] =
    &[ParameterV1 { name: "root", values: "a project's directory, percent-encoded", default: "all projects" }];

/// Every route of the control socket. The service answers these, and `proctor generate api` describes them.
pub const ROUTES: &[Route] = &[
    Route {
        summary: "How the verdicts of all served projects, or of the one at `root`, stand to their trees as they are now, by a look at what \
                  the watchers heard of. A write that makes no event (through a mapping, or by a name outside of the tree) is in it after \
                  the next sweep; …/verdict looks at the whole tree.",
        parameters: ONE_ROOT,
        ..get(RouteName::Status, "/v1/status")
    },
    Route {
        summary: "Every registered project: whether the service watches it and how, what goes on, and the last verdict by the ledger. \
                  With `root`: the watched project there, if there is one. No tree is looked at.",
        parameters: ONE_ROOT,
        ..get(RouteName::Projects, "/v1/projects")
    },
    Route {
        summary: "Watch a registered project from here on, also after a restart. A directory that is not registered is refused (409): \
                  registering approves a plan, and a request proves nothing about who asks. `proctor service add` registers.",
        body: r#"{"root": "/home/me/shop"}"#,
        ..post(RouteName::Add, "/v1/projects")
    },
    Route {
        summary: "Leave a project alone from here on. Its evidence and its id stay.",
        ..delete(RouteName::Remove, "/v1/projects/{id}")
    },
    Route {
        summary: "Run the checks, or those that are named. Answered when the run is over; one under way is waited for first.",
        body: r#"{"task": "default", "checks": ["pytest"]}"#,
        ..post(RouteName::Run, "/v1/projects/{id}/runs")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "task", values: "a task's id", default: "default" },
            ParameterV1 { name: "wait", values: "fresh, none", default: "none" },
            ParameterV1 { name: "timeout", values: "a duration such as 500ms, 30s or 2m, 1h at most", default: "60s" },
        ],
        summary: "How a project stands, the task that is asked about first. With wait=fresh: answered when that has a verdict for \
                  the tree as it is now; a run is started where none is under way. `failures` of a task says what failed in the run of its \
                  last verdict.",
        ..get(RouteName::Verdict, "/v1/projects/{id}/verdict")
    },
    Route {
        parameters: &[ParameterV1 { name: "task", values: "a task's id", default: "default" }],
        summary: "How the red, green, refactor cycle of a task stands.",
        ..get(RouteName::Phase, "/v1/projects/{id}/phase")
    },
    Route {
        summary: "Change the cycle: verb start or phase (with phase RED, GREEN or REFACTOR), reset, resolve (with to and reason). What \
                  only a person may decide is refused (409) unless the process that asks has a terminal as its standard input.",
        body: r#"{"verb": "start", "task": "default", "phase": "RED"}"#,
        ..post(RouteName::SetPhase, "/v1/projects/{id}/phase")
    },
    Route {
        summary: "What an agent asks. REQUEST_STATUS_UPDATE (with status): what the task amounts to, computed from the sealed report \
                  of the run that is a verdict for the tree as it is now (`restsOnKeptCaches` where a check found a tool's cache of an \
                  earlier run). REQUEST_RETEST: runs the checks; refused (409) where \
                  nothing changed since the last verdict, or the task's budget is spent. FIX_SPECIFICATION: reads the configuration, \
                  or the specification of the task, again and answers with what is still wrong (`errors`), which rules nobody approved (`changes`), and \
                  what a person is asked before anything runs (`person`); with the text of another one (`specification`) or its file \
                  (`path`) about that.",
        body: r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": "COMPLETE"}"#,
        ..post(RouteName::Requests, "/v1/projects/{id}/requests")
    },
    Route {
        summary: "Always refused (409): no request can approve a plan. A person registers a project at a terminal, which approves its \
                  plan: proctor service add, proctor run.",
        ..post(RouteName::Approval, "/v1/projects/{id}/approval")
    },
    Route {
        parameters: &[ParameterV1 {
            name: "path",
            values: "a path in the project, percent-encoded",
            default: "none: it is needed",
        }],
        summary: "What was heard of a path last, whether it belonged to the tree then, and which rule decided.",
        ..get(RouteName::Heard, "/v1/projects/{id}/heard")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "limit", values: "20, a number up to 10000", default: "20" },
            ParameterV1 { name: "task", values: "a task's id", default: "none: runs of every task" },
            ParameterV1 { name: "failed", values: "yes, no", default: "no" },
            ParameterV1 { name: "since", values: "2026-03-04T09:30:00Z, a time", default: "none" },
            ParameterV1 { name: "test", values: "a test's key or whole name, percent-encoded", default: "none" },
        ],
        summary: "The runs, newest first, as `proctor log --json` prints them: verdict, tree, duration, how the tests ended, what failed, \
                  whether a failure is flaky, and whether the evidence is kept. With failed=yes only runs that did not pass; with a test \
                  only runs that had it, and with both only those in which it failed.",
        ..get(RouteName::Past(PastRoute::Runs), "/v1/projects/{id}/runs")
    },
    Route {
        summary: "One run, by id or number, and the names of the files that it was sealed with.",
        ..get(RouteName::Past(PastRoute::RunDetails), "/v1/projects/{id}/runs/{run}")
    },
    Route {
        summary: "A file of a run, byte for byte, after it was compared with its sealed hash: execution-report.json, a log, a record. With \
                  the header `range` (one range of bytes) a part of it (206); a part has 16 MiB at most.",
        ..get(RouteName::Past(PastRoute::RunFile), "/v1/projects/{id}/runs/{run}/files/{name}")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "task", values: "a task's id", default: "none: tests of every task" },
            ParameterV1 { name: "limit", values: "1000, a number up to 10000", default: "1000" },
            ParameterV1 { name: "skip", values: "0, a number", default: "0" },
        ],
        summary: "The known tests, sorted by task, check and id, each with its key.",
        ..get(RouteName::Past(PastRoute::Tests), "/v1/projects/{id}/tests")
    },
    Route {
        parameters: &[ParameterV1 { name: "limit", values: "20, a number up to 10000", default: "20" }],
        summary: "The past of a test, by its key, as `proctor history --json` prints it.",
        ..get(RouteName::Past(PastRoute::TestPast), "/v1/projects/{id}/tests/{test}")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "from", values: "a run's id or number", default: "none: it is needed" },
            ParameterV1 { name: "to", values: "a run's id or number", default: "none: it is needed" },
        ],
        summary: "How two runs of a task differ, as `proctor history diff --json` prints it.",
        ..get(RouteName::Past(PastRoute::Compare), "/v1/projects/{id}/compare")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "task", values: "a task's id", default: "default" },
            ParameterV1 { name: "runs", values: "60, a number up to 500", default: "60" },
            ParameterV1 { name: "tests", values: "2000, a number up to 10000", default: "2000" },
        ],
        summary: "How the tests of a task ended in its last runs. `cells` of a test has a letter for each run, in the order of `runs`: p \
                  passed, f failed, e error, s skipped, x both passed and failed in one run, . not in that run. Tests that passed and \
                  failed on equal trees come first, then those that fail now.",
        ..get(RouteName::Past(PastRoute::Matrix), "/v1/projects/{id}/matrix")
    },
    Route {
        parameters: &[
            ParameterV1 { name: "task", values: "a task's id", default: "none: runs of every task" },
            ParameterV1 { name: "runs", values: "200, a number up to 2000", default: "200" },
        ],
        summary: "How long the last runs and their checks took, how their tests ended, and how long a task stayed red: from the end of \
                  the first run that failed to the end of the next that passed.",
        ..get(RouteName::Past(PastRoute::Trends), "/v1/projects/{id}/trends")
    },
    Route {
        summary: "The last stored answer of `proctor prove`, with a word for each test of the change, and when it was given; null if there is none.",
        ..get(RouteName::Past(PastRoute::Proof), "/v1/projects/{id}/proof")
    },
    Route {
        summary: "Verifies the evidence of a run: hashes, signatures and the ledger. As `proctor verify RUN --json` prints it.",
        ..get(RouteName::Verification, "/v1/projects/{id}/runs/{run}/verification")
    },
    Route {
        parameters: &[ParameterV1 { name: "commit", values: "a commit as git names it, percent-encoded", default: "HEAD" }],
        summary: "Whether a commit is proved by the runs that there are, as `proctor gate --json` prints it. Nothing is run or recorded.",
        ..get(RouteName::Gate, "/v1/projects/{id}/gate")
    },
    Route {
        summary: "Opens the page for a browser of this machine: the service listens on loopback from then on, and answers the routes that \
                  only read to whoever has a token. `ticket` is exchanged for one once, within a minute; `file` is a file of this user \
                  that sends a browser there. `proctor open` asks for it.",
        body: r#"{"to": "/"}"#,
        ..post(RouteName::Page, "/v1/page")
    },
    Route {
        summary: "Server-sent events: runStarted, actionStarted, actionProgress, actionEnded, runFinished, changed, health, added, removed, and end when \
                  nothing follows. Each has an id. With the header `last-event-id` the events since then are sent first; where they are not \
                  kept any more (128 are), or the service was started anew, the first event is missed.",
        ..get(RouteName::Events, "/v1/events")
    },
];

words! {
    /// Returns the method's name in HTTP.
    pub fn MethodV1::word: Get "GET", Post "POST", Delete "DELETE"
}

impl Route {
    pub fn of(name: RouteName) -> &'static Self {
        ROUTES.iter().find(|route| route.name == name).expect("every name has a row")
    }
}

// The page that `proctor generate api` prints: every route with an example that can be pasted.

const HEAD: &str = "\
# The control socket

`proctor service daemon` speaks HTTP/1.1 and JSON on a Unix socket that only its user may open:

    $XDG_RUNTIME_DIR/proctor/control.sock

Fields, parameters and values that are not known are errors. Every error is
`{\"error\": {\"kind\", \"message\", \"hint\"}}` with a status code that fits: 400 for a wrong request, 404 for a project or
path that is not there, 416 for a range outside of a file, 409 where a person, another environment or a change is needed first, 413 for a body over 64 KiB, 503
where as many wait already as may. `exitCode` is what a command would end with: 0 proceed, 1 the code needs work, 3 a person is needed,
4 the configuration is wrong, 5 no fresh verdict.

`state` is one of fresh, running, queued, stale, moved, unstable, needsHuman, notApproved, rootMissing, configurationWrong,
specificationWrong, noVerdict. Only `fresh` is a verdict for the tree as it is now, and only then `result` is there.
";

/// Returns the page as Markdown.
pub fn routes_page() -> String {
    ROUTES.iter().fold(HEAD.to_owned(), |page, route| page + "\n" + &section(route))
}

fn section(route: &Route) -> String {
    let mut lines = vec![format!("## {} {}", route.method.word(), route.path), String::new(), route.summary.to_owned()];
    for parameter in route.parameters {
        lines.push(format!("  {}: {} (default: {})", parameter.name, parameter.values, parameter.default));
    }
    lines.extend([String::new(), format!("    {}", example(route)), String::new()]);
    lines.join("\n")
}

fn example(route: &Route) -> String {
    let method = if route.method == MethodV1::Get { String::new() } else { format!(" -X {}", route.method.word()) };
    let stream = if route.path.ends_with("/events") { " -N" } else { "" };
    let body = if route.body.is_empty() { String::new() } else { format!(" -d '{}'", route.body) };
    let query: Vec<String> =
        route.parameters.iter().map(|parameter| format!("{}={}", parameter.name, first_value(parameter.values))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let path = route.path.replace("{id}", "$ID").replace("{run}", "42").replace("{name}", "execution-report.json");
    let path = path.replace("{test}", "$KEY");
    format!(
        "curl -s{stream} --unix-socket \"$XDG_RUNTIME_DIR/proctor/control.sock\"{method}{body} \"http://proctor{path}{query}\""
    )
}

/// Returns an example of a parameter's value. If the route table describes the allowed values in words, the example is
/// fixed here.
fn first_value(values: &str) -> &str {
    match values {
        "a task's id" => "default",
        "a path in the project, percent-encoded" => "src/app.py",
        "a project's directory, percent-encoded" => "/home/me/shop",
        "a run's id or number" => "42",
        "a test's key or whole name, percent-encoded" => "$KEY",
        _ if values.starts_with("a duration") => "60s",
        _ => values.split(',').next().unwrap_or(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_row_and_no_two_rows_are_asked_alike() {
        let names = [
            RouteName::Status,
            RouteName::Projects,
            RouteName::Add,
            RouteName::Remove,
            RouteName::Run,
            RouteName::Verdict,
            RouteName::Phase,
            RouteName::SetPhase,
            RouteName::Requests,
            RouteName::Approval,
            RouteName::Heard,
            RouteName::Past(PastRoute::Runs),
            RouteName::Past(PastRoute::RunDetails),
            RouteName::Past(PastRoute::RunFile),
            RouteName::Past(PastRoute::Tests),
            RouteName::Past(PastRoute::TestPast),
            RouteName::Past(PastRoute::Compare),
            RouteName::Past(PastRoute::Matrix),
            RouteName::Past(PastRoute::Trends),
            RouteName::Past(PastRoute::Proof),
            RouteName::Verification,
            RouteName::Gate,
            RouteName::Page,
            RouteName::Events,
        ];
        assert_eq!(ROUTES.len(), names.len());
        for name in names {
            let row = Route::of(name);
            let alike = ROUTES.iter().filter(|route| (route.method, route.path) == (row.method, row.path)).count();
            assert_eq!(alike, 1, "{name:?}");
        }
    }
}

#[cfg(test)]
mod routes_page_tests {
    use super::*;

    #[test]
    fn every_route_has_a_section_with_an_example_that_asks_it() {
        let page = routes_page();
        for route in ROUTES {
            assert!(page.contains(&format!("## {} {}\n", route.method.word(), route.path)), "{}", route.path);
        }
        assert!(page.contains("\"http://proctor/v1/projects/$ID/verdict?task=default&wait=fresh&timeout=60s\""));
        assert!(page.contains("-X POST -d '{\"task\": \"default\", \"checks\": [\"pytest\"]}'"));
    }
}
