//! The sixteen public examples of test specifications (github:forcegage-pvm/codor, `docs/specifications/testing-system/examples`): each
//! loads as it is, with values for its placeholders.
//!
//! The examples have no licence, so none of their prose is here. What decides how they are read is what they say: the same fields,
//! commands, paths, addresses, conditions and limits. Fifteen of them come from three templates, and one was written by hand.

use serde_json::{Value, json};

use crate::common::Project;

/// The template from which an example was made, with what differs.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Tests of an API: the method and the path of its requests.
    Contract(&'static str, &'static str),
    Component,
    Integration,
    /// Tests of an API, not made from a template.
    ByHand,
}

/// The root that the examples of one machine name, and where others have a placeholder.
const WINDOWS: &str = "D:/Dropbox/Repositories/Python/codor/test-case";
const PLACEHOLDER: &str = "${WORKSPACE_ROOT}";

/// An example: the name of its file, its task, and what differs from its template.
#[derive(Clone, Copy)]
pub(crate) struct PublicFile {
    pub(crate) name: &'static str,
    pub(crate) task: &'static str,
    kind: Kind,
    root: &'static str,
    test: &'static str,
    dependencies: &'static [&'static str],
    timeout: u32,
}

const fn row(name: &'static str, task: &'static str, kind: Kind, root: &'static str, test: &'static str) -> PublicFile {
    PublicFile { name, task, kind, root, test, dependencies: &[], timeout: 300_000 }
}

const fn contract(
    name: &'static str,
    task: &'static str,
    (method, path): (&'static str, &'static str),
    test: &'static str,
) -> PublicFile {
    row(name, task, Kind::Contract(method, path), PLACEHOLDER, test)
}

const V1: &str = "/api/v1/quotes";
const QUOTES_GET: &str = "packages/web/__tests__/contracts/quotes-get.test.ts";

pub(crate) const PUBLIC_FILES: &[PublicFile] = &[
    PublicFile {
        timeout: 120_000,
        ..row(
            "T001-integration-schema-validation",
            "T001",
            Kind::Integration,
            WINDOWS,
            "packages/web/__tests__/integration/schema-validation.test.ts",
        )
    },
    row(
        "T002-integration-service-layer",
        "T002",
        Kind::Integration,
        PLACEHOLDER,
        "packages/web/src/services/__tests__/QuoteService.integration.test.ts",
    ),
    row(
        "T003-integration-database-migration",
        "T003",
        Kind::Integration,
        PLACEHOLDER,
        "packages/web/src/database/__tests__/migrations/audit-trail.migration.test.ts",
    ),
    contract(
        "T004-contract-get-quotes",
        "T004",
        ("GET", "/api/quotes"),
        "packages/web/src/api/__tests__/quotes.get.contract.test.ts",
    ),
    row("T004-contract-get-spec", "T004", Kind::Contract("GET", V1), WINDOWS, QUOTES_GET),
    row("T004-quotes-get", "T004", Kind::ByHand, WINDOWS, QUOTES_GET),
    row("T004-test-reorganized", "T004", Kind::Contract("GET", V1), WINDOWS, QUOTES_GET),
    contract(
        "T005-contract-post-quotes",
        "T005",
        ("POST", "/api/quotes"),
        "packages/web/src/api/__tests__/quotes.post.contract.test.ts",
    ),
    PublicFile {
        dependencies: &["T004"],
        ..row(
            "T005-contract-post-spec",
            "T005",
            Kind::Contract("POST", V1),
            WINDOWS,
            "packages/web/__tests__/contracts/quotes-post.test.ts",
        )
    },
    contract(
        "T006-contract-put-quotes",
        "T006",
        ("PUT", "/api/quotes/{id}"),
        "packages/web/src/api/__tests__/quotes.put.contract.test.ts",
    ),
    contract(
        "T007-contract-delete-quotes",
        "T007",
        ("DELETE", "/api/quotes/{id}"),
        "packages/web/src/api/__tests__/quotes.delete.contract.test.ts",
    ),
    PublicFile {
        dependencies: &["T004", "T012"],
        timeout: 5000,
        ..row(
            "T011-component-quote-table",
            "T011",
            Kind::Component,
            WINDOWS,
            "packages/web/src/components/quotes/__tests__/QuoteTable.test.tsx",
        )
    },
    row(
        "T012-component-quote-status-badge",
        "T012",
        Kind::Component,
        PLACEHOLDER,
        "packages/web/src/components/quotes/__tests__/QuoteStatusBadge.test.tsx",
    ),
    PublicFile {
        dependencies: &["T001", "T004"],
        timeout: 30_000,
        ..row(
            "T015-feature-status-management",
            "T015",
            Kind::Component,
            WINDOWS,
            "packages/web/__tests__/features/quote-status-management.test.ts",
        )
    },
    row(
        "T019-component-virtual-scrolling",
        "T019",
        Kind::Component,
        PLACEHOLDER,
        "packages/web/src/components/quotes/__tests__/VirtualQuoteList.test.tsx",
    ),
    row(
        "T023-integration-customer-integration",
        "T023",
        Kind::Integration,
        PLACEHOLDER,
        "packages/web/src/services/__tests__/QuoteCustomerIntegration.test.ts",
    ),
];

/// Returns an action. Its description is in words of ours; all that runs is the example's.
fn action(id: &str, kind: &str, parameters: Value, timeout: u32, may_fail: bool) -> Value {
    json!({
        "actionId": id, "type": kind, "description": format!("the action {id} of the example"), "parameters": parameters,
        "timeout": timeout, "continueOnFailure": may_fail,
    })
}

impl PublicFile {
    /// Returns the example with this name.
    #[track_caller]
    pub(crate) fn named(name: &str) -> Self {
        *PUBLIC_FILES.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("there is no example `{name}`"))
    }

    /// Returns the name under which a project keeps the example, so that it is found.
    pub(crate) fn path(&self) -> String {
        format!("specs/{}-test-specification.json", self.name)
    }

    /// Returns the natural values of the example's placeholders, as arguments.
    pub(crate) fn values(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Contract(..) if self.root == PLACEHOLDER => vec!["--set", "API_BASE_URL=http://localhost:3000"],
            Kind::Contract(..) | Kind::ByHand => Vec::new(),
            Kind::Integration => vec!["--set", "DATABASE_URL=postgresql://shop@127.0.0.1:5432/postgres"],
            Kind::Component => vec![
                "--set",
                "COMPONENT_PATH=packages/web/src/QuoteTable.tsx",
                "--set",
                "COMPONENT_NAME=QuoteTable",
                "--set",
                "COVERAGE_THRESHOLD=80",
            ],
        }
    }

    fn base(&self) -> &'static str {
        if self.root == PLACEHOLDER { "${API_BASE_URL}" } else { "http://localhost:3000" }
    }

    fn command(&self, command: &str, directory: &str, environment: Value) -> Value {
        let directory = format!("{}{directory}", self.root);
        let mut parameters = json!({ "command": command, "workingDirectory": directory });
        if environment != json!({}) {
            parameters["environment"] = environment;
        }
        parameters
    }

    fn prerequisites(&self) -> Vec<Value> {
        let web = |id, command, environment, timeout| {
            action(id, "TERMINAL_COMMAND", self.command(command, "/packages/web", environment), timeout, false)
        };
        let exists =
            |id, path: &str| action(id, "FILE_VALIDATION", json!({ "filePath": path, "validationType": "EXISTS" }), 5000, false);
        let install = |id| web(id, "npm install", json!({ "NODE_ENV": "test" }), 120_000);
        let database = json!({ "NODE_ENV": "test", "DATABASE_URL": "{{DATABASE_URL}}" });
        let of_database = |id, script: &str, timeout, may_fail| {
            let command = self.command(&format!("npm run db:{script}"), "", database.clone());
            action(id, "TERMINAL_COMMAND", command, timeout, may_fail)
        };
        match self.kind {
            Kind::Contract(..) | Kind::ByHand => vec![
                exists("PREREQ.1", self.test),
                install("PREREQ.2"),
                web("PREREQ.3", "npm run dev", json!({ "NODE_ENV": "development", "PORT": "3000" }), 30_000),
            ],
            Kind::Component => vec![exists("PREREQ.1", "{{COMPONENT_PATH}}"), exists("PREREQ.2", self.test), install("PREREQ.3")],
            Kind::Integration => vec![
                exists("PREREQ.1", self.test),
                install("PREREQ.2"),
                of_database("PREREQ.3", "test:setup", 60_000, false),
                of_database("PREREQ.4", "migrate", 60_000, false),
                of_database("PREREQ.5", "seed:test", 30_000, true),
            ],
        }
    }

    fn steps(&self) -> Vec<Value> {
        let mut steps = Vec::new();
        let mut add = |kind: &str, parameters, timeout, may_fail| {
            let id = format!("STEP.{}", steps.len() + 1);
            steps.push(action(&id, kind, parameters, timeout, may_fail));
        };
        // The template names files from the root, and runs eslint in `packages/web`. The example by hand does not.
        let test = if matches!(self.kind, Kind::ByHand) { "__tests__/contracts/quotes-get.test.ts" } else { self.test };
        let npm_test =
            |more: &str, environment| self.command(&format!("npm test -- {test} {more}"), "/packages/web", environment);
        let is_of_api = matches!(self.kind, Kind::Contract(..) | Kind::ByHand);
        if is_of_api {
            add("FILE_VALIDATION", json!({ "filePath": self.test, "validationType": "CONTENT_MATCH" }), 5000, false);
        }
        let tsc = self.command("npx tsc --noEmit --project tsconfig.json", "/packages/web", json!({}));
        add("TERMINAL_COMMAND", tsc, 60_000, false);
        add("TERMINAL_COMMAND", self.command(&format!("npx eslint {test}"), "/packages/web", json!({})), 30_000, false);
        match self.kind {
            Kind::Contract(..) | Kind::ByHand => {
                add(
                    "TERMINAL_COMMAND",
                    npm_test("--verbose", json!({ "NODE_ENV": "test", "API_URL": self.base() })),
                    60_000,
                    true,
                );
                let (method, path) = if let Kind::Contract(method, path) = self.kind { (method, path) } else { ("GET", V1) };
                let queries: &[&str] = match self.kind {
                    Kind::ByHand => &[
                        "",
                        "?page=1&pageSize=10",
                        "?page=-1&pageSize=9999",
                        "?filters[status]=DRAFT",
                        "?sortBy=createdAt&sortDirection=desc",
                    ],
                    Kind::Contract(..) | Kind::Component | Kind::Integration => {
                        &["", "?page=1&pageSize=10", "?page=-1&pageSize=9999"]
                    }
                };
                for query in queries {
                    let url = format!("{}{path}{query}", self.base());
                    let request = json!({ "url": url, "method": method, "headers": { "Accept": "application/json" } });
                    add("HTTP_REQUEST", request, 10_000, true);
                }
                add("TERMINAL_COMMAND", npm_test("--coverage --coverageReporters=json", json!({})), 60_000, true);
            }
            Kind::Component => {
                add("TERMINAL_COMMAND", npm_test("--verbose", json!({ "NODE_ENV": "test" })), 60_000, true);
                let threshold =
                    "--coverage --coverageReporters=json --coverageThreshold='{\"global\":{\"lines\":{{COVERAGE_THRESHOLD}}}}'";
                add("TERMINAL_COMMAND", npm_test(threshold, json!({})), 60_000, true);
            }
            Kind::Integration => {
                let database = json!({ "NODE_ENV": "test", "DATABASE_URL": "{{DATABASE_URL}}" });
                add("TERMINAL_COMMAND", npm_test("--verbose --runInBand", database.clone()), 120_000, true);
                add("TERMINAL_COMMAND", self.command("npm run db:verify", "", database.clone()), 30_000, true);
                add("TERMINAL_COMMAND", npm_test("--coverage --coverageReporters=json --runInBand", database), 120_000, true);
            }
        }
        steps
    }

    fn cleanup(&self) -> Vec<Value> {
        const KILL: &str = "taskkill /F /FI \"WINDOWTITLE eq npm*\" /T";
        let database = json!({ "NODE_ENV": "test", "DATABASE_URL": "{{DATABASE_URL}}" });
        let cache = ("npm run test:clear-cache", "/packages/web", json!({}), 10_000);
        let commands = match self.kind {
            Kind::Contract(..) | Kind::ByHand => vec![(KILL, "/packages/web", json!({}), 5000), cache],
            Kind::Component => vec![cache],
            Kind::Integration => {
                vec![("npm run db:test:teardown", "", database, 30_000), (KILL, "", json!({}), 10_000), cache]
            }
        };
        let numbered = commands.into_iter().enumerate().map(|(index, (command, directory, environment, timeout))| {
            let id = format!("CLEANUP.{}", index + 1);
            action(&id, "TERMINAL_COMMAND", self.command(command, directory, environment), timeout, true)
        });
        numbered.collect()
    }

    /// Returns the conditions for success and for failure.
    fn conditions(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        match self.kind {
            Kind::Contract(..) | Kind::ByHand => (
                vec![
                    "STEP.4.exitCode === 0 || STEP.4.exitCode === 1",
                    "STEP.2.exitCode === 0",
                    "STEP.3.errorCount === 0",
                    "STEP.5.statusCode >= 200 && STEP.5.statusCode < 500",
                ],
                vec!["PREREQ.3.failed === true", "STEP.2.exitCode !== 0"],
            ),
            Kind::Component => (
                vec!["STEP.3.exitCode === 0 || STEP.3.exitCode === 1", "STEP.1.exitCode === 0", "STEP.2.errorCount === 0"],
                vec!["PREREQ.1.failed === true", "PREREQ.2.failed === true", "STEP.1.exitCode !== 0"],
            ),
            Kind::Integration => (
                vec![
                    "STEP.3.exitCode === 0 || STEP.3.exitCode === 1",
                    "STEP.1.exitCode === 0",
                    "STEP.2.errorCount === 0",
                    "PREREQ.4.exitCode === 0",
                ],
                vec!["PREREQ.1.failed === true", "PREREQ.3.failed === true", "STEP.1.exitCode !== 0"],
            ),
        }
    }

    /// Returns the example.
    pub(crate) fn document(&self) -> Value {
        let is_of_api = matches!(self.kind, Kind::Contract(..) | Kind::ByHand);
        let health = if is_of_api { format!("{}/api/health", self.base()) } else { "http://localhost:3000".to_owned() };
        let mut environment = json!({ "NODE_ENV": "test" });
        let (mut types, mut evidence) =
            (vec!["TERMINAL_COMMAND", "FILE_VALIDATION"], vec!["terminal-output", "test-execution-log"]);
        match self.kind {
            Kind::Contract(..) | Kind::ByHand => {
                environment["API_BASE_URL"] = json!(self.base());
                types.push("HTTP_REQUEST");
                evidence.push("api-responses");
            }
            Kind::Integration => {
                environment["DATABASE_URL"] = json!("{{DATABASE_URL}}");
                types.push("HTTP_REQUEST");
            }
            Kind::Component => {}
        }
        let settings = if matches!(self.kind, Kind::ByHand) {
            json!({
                "TERMINAL_COMMAND": { "defaultShell": "powershell", "defaultTimeout": 60000 },
                "HTTP_REQUEST": { "defaultTimeout": 10000, "followRedirects": true, "validateSSL": true },
            })
        } else {
            let timeout = if matches!(self.kind, Kind::Integration) { 120_000 } else { 60_000 };
            let mut settings = json!({ "terminalCommand": { "shell": "powershell", "timeout": timeout } });
            if !matches!(self.kind, Kind::Component) {
                settings["httpRequest"] = json!({ "timeout": if is_of_api { 10_000 } else { 30_000 } });
            }
            settings
        };
        // The examples that were made for one machine name rules.
        let names_rules = is_of_api && self.root == WINDOWS;
        let (most, ignored): (u32, &[&str]) = if names_rules { (20, &["no-console"]) } else { (10, &[]) };
        let is_of_get = names_rules && self.task == "T004";
        let errors: &[&str] = if is_of_get { &["no-unused-vars", "@typescript-eslint/no-unused-vars"] } else { &[] };
        let printed = match self.kind {
            Kind::Contract(..) | Kind::ByHand => self.test.rsplit('/').next().unwrap_or_default(),
            Kind::Component => "{{COMPONENT_NAME}}",
            Kind::Integration => "integration",
        };
        let described = |conditions: Vec<&str>| -> Vec<Value> {
            conditions
                .into_iter()
                .map(|condition| json!({ "condition": condition, "description": "as the example has it" }))
                .collect()
        };
        let (success, failure) = self.conditions();
        let likely = json!([{
            "scenario": "the address is not answered (404)", "expectedDebtCategory": "API_ENDPOINT_MISSING",
            "expectedSeverity": "CRITICAL", "suggestedFix": "write the handler of this address",
        }]);
        json!({
            "$schema": "../schemas/current-test-task.schema.json",
            "schemaVersion": "2.0.0",
            "metadata": {
                "projectName": "shop", "sprintId": "CURRENT_SPRINT", "taskId": self.task, "taskTitle": "as the example has it",
                "generatedAt": "2025-09-30T10:47:27.035Z", "generatedBy": "template", "references": [],
            },
            "globalConfiguration": {
                "workspaceRoot": self.root, "evidenceDirectory": "evidence",
                "devServer": {
                    "command": "npm run dev", "workingDirectory": format!("{}/packages/web", self.root), "port": 3000,
                    "healthCheckUrl": health, "startupTimeout": 30000,
                },
                "environment": environment,
                "timeout": self.timeout,
                "validationPolicy": {
                    "linting": { "strategy": "BLOCK_ON_ERRORS_ONLY", "tools": { "eslint": {
                        "enabled": true, "blockOn": "ERRORS_ONLY", "maxWarnings": most, "ignoredRules": ignored, "errorOnRules": errors,
                    } } },
                    "typeChecking": { "strategy": "BLOCK_ON_ERRORS_ALWAYS", "tools": { "typescript": {
                        "enabled": true, "blockOn": "ERRORS_ALWAYS", "strictMode": true, "allowImplicitAny": false,
                    } } },
                    "compilation": { "strategy": "BLOCK_ON_ERRORS_ALWAYS" },
                },
            },
            "executionEngine": { "availableActionTypes": types, "executorConfigurations": settings },
            "tasks": { self.task: {
                "taskId": self.task, "title": "as the example has it", "priority": "CRITICAL", "dependencies": self.dependencies,
                "description": "The prose of the example is left out; what runs and what decides is the example's.",
                "testExecution": { "prerequisites": self.prerequisites(), "steps": self.steps(), "cleanup": self.cleanup() },
                "validationCriteria": {
                    "successConditions": described(success), "failureConditions": described(failure),
                    "expectedOutput": { "stdoutContains": ["Test Suites:", "Tests:", printed], "exitCode": 0 },
                },
                "completionCriteria": {
                    "allStepsMustPass": false, "minimumPassRate": 60, "requiredEvidence": evidence, "taskStatusLock": true,
                },
                "technicalDebtExpectations": { "likelyFailures": likely },
            } },
        })
    }
}

#[test]
fn each_of_the_sixteen_public_examples_loads_as_it_is() {
    assert_eq!(PUBLIC_FILES.len(), 16);
    for file in PUBLIC_FILES {
        // An example may depend on the task of another one, which then lies beside it.
        let needed = file.dependencies.iter().filter_map(|task| PUBLIC_FILES.iter().find(|other| other.task == *task));
        let files: Vec<&PublicFile> = needed.chain([file]).collect();
        let project = Project::new().file("packages/web/package.json", "{}");
        files.iter().for_each(|file| project.save(&file.path(), &file.document().to_string()));
        let values: Vec<&str> = files.iter().flat_map(|file| file.values()).collect();
        let checked = project.proctor([&["check"], values.as_slice()].concat()).any_status();
        assert_eq!(checked.status, 0, "{}: {}", file.name, checked.snapshot());
        let of_api = matches!(file.kind, Kind::Contract(..) | Kind::ByHand);
        let has_brace = matches!(file.kind, Kind::Contract(_, "/api/quotes/{id}") | Kind::ByHand);
        for (note, is_there) in
            [("DEV_SERVER_AS_PREREQUISITE", of_api), ("FILE_OPERAND_NONE", of_api), ("URL_CHARACTER", has_brace)]
        {
            let is_said = checked.stdout.lines().any(|line| line.starts_with(&file.path()) && line.contains(note));
            assert_eq!(is_said, is_there, "{}: {note}: {}", file.name, checked.snapshot());
        }
        let plan = project.proctor([&["plan", "--task", file.task, "--json"], values.as_slice()].concat()).status(0).json();
        let actions = plan["actions"].as_array().expect("a list").iter();
        let ids: Vec<&Value> = actions.filter(|action| action["isService"] == true).map(|action| &action["id"]).collect();
        let expected = if of_api { "PREREQ.3" } else { "SERVER.1" };
        assert_eq!(ids, [expected], "{}: one server", file.name);
    }
}
