//! Every key of `proctor.toml` that `crates/plan/src/config/keys.rs` does not call harmless, tried as a person would write it: a change in
//! either direction is named, and the change that the row asks for first is asked for.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use super::*;
use crate::config::{Asked, Configuration, keys_of_rules, read, row_of};
use crate::spec::{DiskFiles, compare_terms, plan, plan_terms};
use proctor_model::Plan;

const CHECK: &str = "[[check]]\nname = \"tests\"\ncommand = [\"pytest\", \"-q\"]\n";
const LINTER: &str = "[[check]]\nname = \"lint\"\ncommand = [\"eslint\", \"src\"]\n";
const GENERIC: &str = "[[check]]\nname = \"any\"\ncommand = [\"make\", \"check\"]\n";
const REVIEW: &str = "[[check]]\nname = \"review\"\ntool = \"review\"\ncommand = [\"./reviewer\"]\n";
const PREREQUISITE: &str =
    "[[check]]\nname = \"any\"\ncommand = \"make\"\n[[prerequisite]]\nname = \"install\"\ncommand = \"npm ci\"\n";
const SERVICE: &str =
    "[[check]]\nname = \"any\"\ncommand = \"make\"\n[[prerequisite]]\nname = \"serve\"\ncommand = \"serve\"\nservice = true\n";
const SERVER: &str = "[remote]\nendpoint = \"unix:///s\"\n[[check]]\nname = \"tests\"\ncommand = [\"pytest\", \"-q\"]\n";
const CLEANUP: &str = "[[check]]\nname = \"any\"\ncommand = \"make\"\n[[cleanup]]\nname = \"stop\"\ncommand = \"make down\"\n";

/// A setting: its key, the text before it, the stricter lines and the weaker lines.
struct Row(&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    Row("check.tool", GENERIC, "tool = \"generic\"", "tool = \"tsc\""),
    Row("check.command", "[[check]]\nname = \"a\"\n", "command = \"pytest tests\"", "command = \"pytest tests/easy.py\""),
    Row("check.shell", "[[check]]\nname = \"a\"\ncommand = \"make\"\n", "", "shell = true"),
    Row("check.directory", CHECK, "", "directory = \"sub\""),
    Row("check.environment", CHECK, "", "environment = { PYTEST_ADDOPTS = \"-k nothing\" }"),
    Row("check.timeout", CHECK, "timeout = \"6m\"", "timeout = \"13m\""),
    Row("check.idle_timeout", CHECK, "idle_timeout = \"1m\"", ""),
    Row("check.max_output", CHECK, "max_output = \"1MiB\"", "max_output = \"off\""),
    Row("check.writes", CHECK, "", "writes = [\"src/**\"]"),
    Row("check.retries", CHECK, "", "retries = 5"),
    Row("check.reuse", CHECK, "reuse = \"watch\"", "reuse = \"always\""),
    Row("check.when", CHECK, "", "when = \"ask\""),
    Row("check.prompt", REVIEW, "prompt = \"a.md\"", "prompt = \"b.md\""),
    Row("check.accept_split_emphasis", REVIEW, "accept_split_emphasis = false", ""),
    Row("check.expected_exit_codes", GENERIC, "", "expected_exit_codes = [0, 1, 2]"),
    Row("check.on_survivors", CHECK, "on_survivors = \"fail\"", ""),
    Row("check.control", CHECK, "control = true", ""),
    Row("check.shards", CHECK, "", "shards = 4"),
    Row("check.snapshot", CHECK, "", "snapshot = \"off\""),
    Row(
        "check.coverage.minimum",
        CHECK,
        "coverage = { minimum = 90, report = \"c.json\" }",
        "coverage = { minimum = 80, report = \"c.json\" }",
    ),
    Row(
        "check.coverage.report",
        CHECK,
        "coverage = { minimum = 90, report = \"c.json\" }",
        "coverage = { minimum = 90, report = \"d.json\" }",
    ),
    Row("check.report.file", GENERIC, "report.file = \"out/a.xml\"", "report.file = \"out/b.xml\""),
    Row(
        "check.report.format",
        GENERIC,
        "report = { file = \"out/a\", format = \"tap\" }",
        "report = { file = \"out/a\", format = \"junit\" }",
    ),
    Row("check.policy.enabled", LINTER, "", "policy.enabled = false"),
    Row("check.policy.block_on", LINTER, "", "policy.block_on = \"warn-only\""),
    Row("check.policy.treat_warnings_as_errors", LINTER, "policy.treat_warnings_as_errors = true", ""),
    Row("check.policy.max_warnings", LINTER, "policy.max_warnings = 0", "policy.max_warnings = 9"),
    Row("check.policy.ignored_rules", LINTER, "", "policy.ignored_rules = [\"no-eval\"]"),
    Row("check.policy.error_on_rules", LINTER, "policy.error_on_rules = [\"no-eval\"]", ""),
    Row(
        "prerequisite.command",
        "[[check]]\nname = \"any\"\ncommand = \"make\"\n[[prerequisite]]\nname = \"i\"\n",
        "command = \"npm ci\"",
        "command = \"npm install\"",
    ),
    Row("prerequisite.shell", PREREQUISITE, "", "shell = true"),
    Row("prerequisite.directory", PREREQUISITE, "", "directory = \"web\""),
    Row("prerequisite.environment", PREREQUISITE, "", "environment = { A = \"b\" }"),
    Row("prerequisite.timeout", PREREQUISITE, "timeout = \"6m\"", "timeout = \"13m\""),
    Row("prerequisite.idle_timeout", PREREQUISITE, "idle_timeout = \"1m\"", ""),
    Row("prerequisite.max_output", PREREQUISITE, "max_output = \"1MiB\"", ""),
    Row("prerequisite.expected_exit_codes", PREREQUISITE, "", "expected_exit_codes = [0, 1]"),
    Row("prerequisite.on_survivors", PREREQUISITE, "on_survivors = \"fail\"", ""),
    Row("prerequisite.when_changed", PREREQUISITE, "", "when_changed = [\"package-lock.json\"]"),
    Row("prerequisite.creates", PREREQUISITE, "", "creates = [\"node_modules\"]"),
    Row("prerequisite.service", PREREQUISITE, "", "service = true\nready.port = 1"),
    Row("prerequisite.ready.url", SERVICE, "ready.url = \"http://127.0.0.1:1/a\"", "ready.url = \"http://127.0.0.1:1/b\""),
    Row("prerequisite.ready.port", SERVICE, "ready.port = 1", "ready.port = 2"),
    Row("prerequisite.ready.command", SERVICE, "ready.command = [\"a\"]", "ready.command = [\"true\"]"),
    Row("prerequisite.ready.timeout", SERVICE, "ready.port = 1", "ready.port = 1\nready.timeout = \"1h\""),
    Row("prerequisite.ready.interval", SERVICE, "ready.port = 1", "ready.port = 1\nready.interval = \"1m\""),
    Row("prerequisite.ready.attempt_timeout", SERVICE, "ready.port = 1", "ready.port = 1\nready.attempt_timeout = \"1m\""),
    Row(
        "cleanup.command",
        "[[check]]\nname = \"any\"\ncommand = \"make\"\n[[cleanup]]\nname = \"c\"\n",
        "command = \"make down\"",
        "command = \"make up\"",
    ),
    Row("check.network", CHECK, "[sandbox]\nnetwork = \"loopback\"", "[sandbox]\nnetwork = \"open\""),
    Row("prerequisite.network", PREREQUISITE, "network = \"off\"", "network = \"loopback\""),
    Row("cleanup.shell", CLEANUP, "", "shell = true"),
    Row("cleanup.directory", CLEANUP, "", "directory = \"web\""),
    Row("cleanup.environment", CLEANUP, "", "environment = { A = \"b\" }"),
    Row("cleanup.timeout", CLEANUP, "timeout = \"6m\"", "timeout = \"13m\""),
    Row("cleanup.idle_timeout", CLEANUP, "idle_timeout = \"1m\"", ""),
    Row("cleanup.max_output", CLEANUP, "max_output = \"1MiB\"", ""),
    Row("cleanup.expected_exit_codes", CLEANUP, "", "expected_exit_codes = [0, 1]"),
    Row("cleanup.on_survivors", CLEANUP, "on_survivors = \"fail\"", ""),
    Row("defaults.timeout", CHECK, "", "[defaults]\ntimeout = \"11m\""),
    Row("defaults.idle_timeout", CHECK, "[defaults]\nidle_timeout = \"1m\"", ""),
    Row("defaults.max_output", CHECK, "", "[defaults]\nmax_output = \"off\""),
    Row("defaults.on_survivors", CHECK, "[defaults]\non_survivors = \"fail\"", ""),
    Row("run.reuse", CHECK, "", "[run]\nreuse = \"always\""),
    Row("watch.ignore", CHECK, "", "[watch]\nignore = [\"src/\"]"),
    Row("watch.include", CHECK, "[watch]\ninclude = [\".env\"]", ""),
    Row("evidence.keep_runs", CHECK, "", "[evidence]\nkeep_runs = 1"),
    Row("evidence.keep_days", CHECK, "[evidence]\nkeep_days = 90", "[evidence]\nkeep_days = 1"),
    Row("evidence.max_bytes", CHECK, "", "[evidence]\nmax_bytes = \"1MiB\""),
    Row("environment.pass_environment", CHECK, "", "[environment]\npass_environment = [\"GITHUB_TOKEN\"]"),
    Row("environment.env_file", CHECK, "", "[environment]\nenv_file = \".env\""),
    Row("project.inputs", CHECK, "", "[project]\ninputs = [\"../shared\"]"),
    Row("project.tests.none", CHECK, "", "[project]\ntests = { none = \"there are none\" }"),
    Row("sandbox.mode", CHECK, "", "[sandbox]\nmode = \"off\""),
    Row("sandbox.writable", CHECK, "", "[sandbox]\nwritable = [\"~/.config\"]"),
    Row("sandbox.sockets", CHECK, "", "[sandbox]\nsockets = [\"/run/docker.sock\"]"),
    Row("sandbox.visible", CHECK, "", "[sandbox]\nvisible = [\"~/.ssh\"]"),
    Row("sandbox.home", CHECK, "", "[sandbox]\nhome = \"overlay\""),
    Row("sandbox.world", CHECK, "", "[sandbox]\nworld = \"open\""),
    Row("sandbox.memory", CHECK, "[sandbox]\nmemory = \"1GiB\"", "[sandbox]\nmemory = \"off\""),
    Row("sandbox.processes", CHECK, "[sandbox]\nprocesses = 100", "[sandbox]\nprocesses = 200"),
    Row("sandbox.max_written", CHECK, "", "[sandbox]\nmax_written = \"8GiB\""),
    Row("sandbox.limits", CHECK, "[sandbox]\nlimits = \"require\"", ""),
    Row("sandbox.system_call_filter", CHECK, "", "[sandbox]\nsystem_call_filter = \"off\""),
    Row("sandbox.package_credentials", CHECK, "", "[sandbox]\npackage_credentials = \"prerequisites\""),
    Row("sandbox.snapshot", CHECK, "[sandbox]\nsnapshot = \"require\"", ""),
    Row("sandbox.max_snapshot_bytes", CHECK, "", "[sandbox]\nmax_snapshot_bytes = \"1MiB\""),
    Row("sandbox.caches", CHECK, "[sandbox]\ncaches = \"fresh\"", ""),
    Row("check.run", SERVER, "", "run = \"prefer-remote\""),
    Row("remote.endpoint", CHECK, "", "[remote]\nendpoint = \"unix:///s\""),
    Row("remote.instance", CHECK, "", "[remote]\ninstance = \"main\""),
    Row("remote.headers_from", CHECK, "", "[remote]\nheaders_from = \"BUILD_TOKEN\""),
    Row("remote.ca", CHECK, "", "[remote]\nca = \"ca.pem\""),
    Row(
        "remote.certificate",
        CHECK,
        "[remote]\ncertificate = \"a.pem\"\nkey = \"key.pem\"",
        "[remote]\ncertificate = \"b.pem\"\nkey = \"key.pem\"",
    ),
    Row(
        "remote.key",
        CHECK,
        "[remote]\ncertificate = \"a.pem\"\nkey = \"a.key\"",
        "[remote]\ncertificate = \"a.pem\"\nkey = \"b.key\"",
    ),
    Row("remote.platform", CHECK, "", "[remote]\nplatform = { container-image = \"docker://other\" }"),
    Row("tdd.max_scaffold_retries", CHECK, "", "[tdd]\nmax_scaffold_retries = 100"),
    Row("tdd.max_attempts", CHECK, "", "[tdd]\nmax_attempts = 1000"),
    Row("tdd.max_retests", CHECK, "", "[tdd]\nmax_retests = 100"),
    Row("tdd.expected_missing", CHECK, "", "[tdd]\nexpected_missing = [\"shop\"]"),
    Row("tdd.expected_failing", CHECK, "", "[tdd]\nexpected_failing = [\"tests/test_new.py\"]"),
    Row("routing.collection_error", CHECK, "", "[routing]\ncollection_error = \"red-if-missing\""),
    Row("approval.protect", CHECK, "[approval]\nprotect = [\"tests/**\"]", ""),
    Row("approval.on_protected_change", CHECK, "[approval]\non_protected_change = \"human-review\"", ""),
    Row(
        "approval.require_signature",
        CHECK,
        "[approval]\nrequire_signature = true\nallowed_signers = \"one\"",
        "[approval]\nallowed_signers = \"one\"",
    ),
    Row(
        "approval.allowed_signers",
        CHECK,
        "[approval]\nrequire_signature = true\nallowed_signers = \"one\"",
        "[approval]\nrequire_signature = true\nallowed_signers = \"two\"",
    ),
    Row("policy.linting", LINTER, "[policy]\nlinting = \"errors-and-warnings\"", ""),
    Row("policy.type_checking", "[[check]]\nname = \"t\"\ncommand = \"tsc\"\n", "", "[policy]\ntype_checking = \"never\""),
    Row(
        "policy.compilation",
        "[[check]]\nname = \"t\"\ntool = \"compile\"\ncommand = \"make\"\n",
        "",
        "[policy]\ncompilation = \"never\"",
    ),
    Row("policy.eslint.enabled", LINTER, "", "[policy.eslint]\nenabled = false"),
    Row("policy.eslint.block_on", LINTER, "", "[policy.eslint]\nblock_on = \"never\""),
    Row("policy.eslint.treat_warnings_as_errors", LINTER, "[policy.eslint]\ntreat_warnings_as_errors = true", ""),
    Row("policy.eslint.max_warnings", LINTER, "[policy.eslint]\nmax_warnings = 1", "[policy.eslint]\nmax_warnings = 2"),
    Row("policy.eslint.ignored_rules", LINTER, "", "[policy.eslint]\nignored_rules = [\"no-eval\"]"),
    Row("policy.eslint.error_on_rules", LINTER, "[policy.eslint]\nerror_on_rules = [\"no-eval\"]", ""),
    Row("specification.from_environment", CHECK, "", "[specification]\nfrom_environment = [\"AWS_SECRET_ACCESS_KEY\"]"),
    Row("gate.tasks", CHECK, "[gate]\ntasks = [\"default\", \"T117\"]", "[gate]\ntasks = [\"default\"]"),
    Row("gate.checks", CHECK, "", "[gate]\nchecks = [\"tests\"]"),
    Row("gate.isolation", CHECK, "[gate]\nisolation = \"landlock\"", "[gate]\nisolation = \"process-group\""),
    Row("gate.world", CHECK, "", "[gate]\nworld = \"open\""),
    Row("gate.weakened", CHECK, "", "[gate]\nweakened = \"say\""),
    Row("gate.flaky", CHECK, "", "[gate]\nflaky = \"say\""),
    Row("gate.prove", CHECK, "[gate]\nprove = \"tests\"", ""),
    Row("service.started", CHECK, "", "[service]\nstarted = 4"),
    Row("share.git", CHECK, "", "[share]\ngit = \"origin\""),
    Row("share.directory", CHECK, "", "[share]\ndirectory = \"/mnt/team\""),
    Row("gate.max_age", CHECK, "[gate]\nmax_age = \"2h\"", "[gate]\nmax_age = \"3h\""),
    Row("gate.platforms", CHECK, "[gate]\nplatforms = [\"linux-x86_64\"]", ""),
    Row("gate.fresh_caches", CHECK, "", "[gate]\nfresh_caches = false"),
    Row("gate.ignored_inputs", CHECK, "", "[gate]\nignored_inputs = [\".idea/\", \".vscode/\", \".env\"]"),
    Row("gate.follow", CHECK, "", "[gate]\nfollow = \"origin/main\""),
    Row("gate.signers", CHECK, "", "[gate]\nsigners = \"signers\""),
    Row("govern.editor", CHECK, "", "[govern]\neditor = [\"./editor\"]"),
    Row("govern.tracker", CHECK, "", "[govern]\ntracker = [\"./gh\"]"),
    Row("govern.repo", CHECK, "", "[govern]\nrepo = \"a/b\""),
    Row("govern.max_iterations", CHECK, "", "[govern]\nmax_iterations = 1000"),
    Row("govern.max_attempts", CHECK, "", "[govern]\nmax_attempts = 100"),
    Row("govern.drafter.command", CHECK, "", "[govern.drafter]\ncommand = [\"./drafter\"]"),
    Row("govern.drafter.pass_environment", CHECK, "", "[govern.drafter]\npass_environment = [\"MODEL_KEY\"]"),
    Row("govern.drafter.visible", CHECK, "", "[govern.drafter]\nvisible = [\"~/.ssh\"]"),
    Row("govern.drafter.writable", CHECK, "", "[govern.drafter]\nwritable = [\"~/.config\"]"),
    Row("govern.reviewer.command", CHECK, "", "[govern.reviewer]\ncommand = [\"./reviewer\"]"),
    Row("govern.reviewer.pass_environment", CHECK, "", "[govern.reviewer]\npass_environment = [\"MODEL_KEY\"]"),
    Row("govern.reviewer.visible", CHECK, "", "[govern.reviewer]\nvisible = [\"~/.ssh\"]"),
    Row("govern.reviewer.writable", CHECK, "", "[govern.reviewer]\nwritable = [\"~/.config\"]"),
];

/// A project whose files of keys exist.
#[expect(clippy::disallowed_methods, reason = "the test writes the files of a project, which are not evidence")]
fn project() -> TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (name, key) in [("one", "A"), ("two", "B")] {
        let key = format!("me ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{}\n", key.repeat(43));
        fs::write(root.path().join(name), key).expect("it is ours");
    }
    root
}

fn planned(root: &TempDir, text: &str) -> Plan {
    let configuration: Configuration = read(text, "proctor.toml").unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    plan(&configuration, &DiskFiles::new(root.path()), "shop").unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// Returns where the rules of `now` differ from those of `before`.
fn differing(before: &Plan, now: &Plan) -> RuleDifference {
    let mut found = compare_settings(&before.settings.now, &now.settings.now, &now.settings.allowed);
    found.extend(compare_terms(&plan_terms(before), &plan_terms(now)));
    found
}

#[test]
fn a_change_of_every_setting_is_named_and_asked_for_first_where_its_row_says_so() {
    let root = project();
    let is_asked_first = |key: &str| row_of(key).is_some_and(|(_, asked)| asked != Asked::After);
    for Row(key, before, strict, weak) in ROWS {
        let [strict, weak] = [strict, weak].map(|lines| planned(&root, &format!("{before}{lines}\n")));
        let (there, back) = (differing(&strict, &weak), differing(&weak, &strict));
        // What only the gate reads is named where it is asked for.
        let is_named = !key.starts_with("gate.") || is_asked_first(key);
        // A narrower network is not asked for.
        let is_named_back = is_named && !key.ends_with(".network");
        assert_eq!((!there.is_empty(), !back.is_empty()), (is_named, is_named_back), "{key}: {there:?} {back:?}");
        assert_eq!(!there.opens.is_empty(), is_asked_first(key), "{key}: {there:?}");
    }
}

#[test]
fn every_key_of_a_rule_has_a_row_here() {
    let tried: BTreeSet<&str> = ROWS.iter().map(|Row(key, ..)| *key).collect();
    // The policies of all tools are compared by the same rules, so only the keys of eslint's policy have rows.
    let is_other_tool =
        |key: &str| key.starts_with("policy.") && key.matches('.').count() == 2 && !key.starts_with("policy.eslint.");
    let missing: Vec<String> =
        keys_of_rules().into_iter().filter(|key| !is_other_tool(key) && !tried.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn settings(lines: &str) -> JudgedSettings {
    crate::config::judged_settings(&read(lines, "proctor.toml").expect("it is right"))
}

#[test]
fn without_approved_settings_only_what_opens_the_machine_is_asked_for() {
    let now = settings(
        "[sandbox]\nvisible = [\"~/.ssh\"]\nmode = \"off\"\nsnapshot = \"off\"\n[watch]\nignore = [\"out/\"]\n\
         [environment]\npass_environment = [\"TOKEN\"]\nenv_file = \".env\"\n",
    );
    let before = first_settings(&now);
    let found = compare_settings(&before, &now, &Default::default());
    assert_eq!(found.changed, []);
    assert_eq!(RuleChange::in_short(&found.opens), ["environment: pass_environment", "sandbox: mode, visible"]);
    let recorded = settings_by_rule(&before, &now);
    assert_eq!(recorded.values["sandbox.mode"].to_string(), "\"auto\"", "what was asked for is not approved by a rule");
    assert_eq!(recorded.values["sandbox.snapshot"].to_string(), "\"off\"");
    assert_eq!(recorded.values["watch.ignore"].to_string(), "[\"out/\"]");
}

#[test]
fn what_the_user_allows_is_not_asked_for_and_not_recorded() {
    let (before, now) = (settings(""), settings("[sandbox]\nmode = \"off\"\nvisible = [\"~/.aws/a\", \"~/.ssh\"]\n"));
    let mut allowed = JudgedSettings::default();
    allowed.values.insert("sandbox.mode".to_owned(), SettingValue::Text("off".to_owned()));
    allowed.values.insert("sandbox.visible".to_owned(), SettingValue::List(vec!["~/.aws/*".to_owned()]));
    let asked = compare_settings(&before, &now, &allowed).texts();
    assert_eq!(asked, ["sandbox: visible: [\"~/.aws/a\", \"~/.ssh\"] instead of []"]);
    assert_eq!(settings_by_rule(&before, &now), before);
}

/// `~/.cache/../.config` reads like a directory of `~/.cache`, and is none.
#[test]
fn a_pattern_of_the_user_allows_only_what_lies_where_it_says() {
    let asked = |pattern: &str, entry: &str| {
        let now = settings(&format!("[sandbox]\nwritable = [{entry:?}]\n"));
        let allowed = [("sandbox.writable".to_owned(), SettingValue::List(vec![pattern.to_owned()]))];
        !compare_settings(&settings(""), &now, &JudgedSettings { values: allowed.into() }).is_empty()
    };
    for entry in ["~/.cache/../.config", "~/.cache/x/../../.config", "~/.cache/a/b", "~/.cache/..", "~/.cache/.", "~/.cache/"] {
        assert!(asked("~/.cache/*", entry), "{entry}");
    }
    assert!(asked("~/**", "~/.cache/../.ssh") && asked("/srv/**", "/srv/../etc"));
    for (pattern, entry) in [
        ("~/.cache/*", "~/.cache/pip"),
        ("~/**", "~/.cache/a/b"),
        ("/srv/*", "/srv/x"),
        ("../shared", "../shared"),
        ("*", "/srv/../etc"),
    ] {
        assert!(!asked(pattern, entry), "{pattern} {entry}");
    }
}

#[test]
fn approvals_of_before_a_setting_was_there_hold_its_default_where_it_opens_the_machine() {
    let before = JudgedSettings::default();
    assert!(compare_settings(&before, &settings("[watch]\nignore = [\"src/\"]\n"), &Default::default()).is_empty());
    let found = compare_settings(&before, &settings("[sandbox]\nhome = \"overlay\"\n"), &Default::default());
    assert_eq!(RuleChange::in_short(&found.opens), ["sandbox: home"]);
}

#[test]
fn sizes_are_shown_as_a_person_writes_them() {
    let settings = |key: &str, value: SettingValue| JudgedSettings { values: [(key.to_owned(), value)].into() };
    let off = || SettingValue::Text("off".to_owned());
    let rows = [
        (
            "sandbox.max_snapshot_bytes",
            SettingValue::Number(2 << 30),
            SettingValue::Number(1 << 20),
            "sandbox: max_snapshot_bytes: \"1MiB\" instead of \"2GiB\"",
        ),
        ("sandbox.memory", SettingValue::Number(256 << 20), off(), "sandbox: memory: \"off\" instead of \"256MiB\""),
        ("evidence.max_bytes", off(), SettingValue::Number(1), "evidence: max_bytes: \"1B\" instead of \"off\""),
        ("sandbox.processes", SettingValue::Number(64), off(), "sandbox: processes: \"off\" instead of 64"),
    ];
    for (key, before, now, expected) in rows {
        let found = compare_settings(&settings(key, before), &settings(key, now), &JudgedSettings::default());
        assert_eq!(found.texts(), [expected]);
    }
}
