//! Tests of the whole reader: messages, defaults, and arbitrary texts as input.

use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

use crate::config::default_text::REFERENCE;
use crate::config::keys::TABLES;
use crate::config::{ActionSettings, Configuration, WrittenValue, default_text, read};
use proctor_model::{
    BlockOn, ByteSize, CachesMode, CheckOrder, CollectionErrorPolicy, HomeAccess, LimitEnforcement, NetworkAccess, OnChange,
    OnProtectedChange, OnSurvivors, PackageCredentials, ParallelChecks, PolicyCategory, ProtectionMode, Reuse, RoutingSettings,
    SandboxSettings, SystemCallFilter, Tool, World,
};

fn problems(text: &str) -> String {
    let problems = read(text, "proctor.toml").expect_err("the text is wrong");
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn configuration(text: &str) -> Configuration {
    read(text, "proctor.toml").unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// Returns the text of `default.toml` with every commented-out key made active.
fn sample() -> String {
    let is_key =
        |line: &&str| line.starts_with('#') && line[1..].starts_with(|first: char| first.is_ascii_lowercase() || first == '[');
    default_text().lines().map(|line| if is_key(&line) { &line[1..] } else { line }).collect::<Vec<_>>().join("\n")
}

mod schema;

mod messages {
    use super::{assert_snapshot, problems};

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ncommand = \"pytest\"\n  timout = 3\n"), @"
        proctor.toml:4:3: check[1].timout: unknown key `timout`
          did you mean `timeout`?
        ");
    }

    #[test]
    fn a_key_of_another_table_is_sent_home() {
        assert_snapshot!(problems("quiet = \"20ms\"\n[environment]\nfile = \"x\"\n[sandbx]\n[custody]\n"), @"
        proctor.toml:1:1: quiet: unknown key `quiet`
          `quiet` belongs under [watch]
        proctor.toml:3:1: environment.file: unknown key `file`
          did you mean `env_file`?
        proctor.toml:4:2: sandbx: unknown key `sandbx`
          did you mean `sandbox`?
        proctor.toml:5:2: custody: unknown key `custody`
          the keys at the top are: project, check, prerequisite, cleanup, defaults, run, watch, evidence, tasks, queue, service, environment, sandbox, remote, tdd, routing, policy, approval, gate, prove, share, govern, specification
        ");
    }

    #[test]
    fn an_unknown_table_is_answered_with_the_nearest_table() {
        assert_snapshot!(problems("[[checks]]\nname = \"a\"\n[cleanups]\nname = \"b\"\n"), @"
        proctor.toml:1:3: checks: unknown key `checks`
          did you mean `check`?
        proctor.toml:3:2: cleanups: unknown key `cleanups`
          did you mean `cleanup`?
        ");
        assert_snapshot!(problems("checks = [\"a\"]\n"), @"
        proctor.toml:1:1: checks: unknown key `checks`
          `checks` belongs under [gate]
        ");
    }

    #[test]
    fn a_wrong_type_says_what_is_expected_with_an_example() {
        assert_snapshot!(problems("project = 3\n[watch]\nquiet = []\nignore = [\"a\", 1]\nclear = \"yes\"\n[tdd]\nmax_attempts = 1.5\n"), @r#"
        proctor.toml:1:11: project: expected a table, found an integer
          write `[project]`
        proctor.toml:3:9: watch.quiet: expected a duration, found a list
          for example `quiet = "20ms"`
        proctor.toml:4:16: watch.ignore[2]: expected a string, found an integer
          for example `ignore = ["*.log"]`
        proctor.toml:5:9: watch.clear: expected `true` or `false`, found a string
          for example `clear = true`
        proctor.toml:7:16: tdd.max_attempts: expected a whole number, found a float
          for example `max_attempts = 20`
        "#);
    }

    #[test]
    fn a_duplicate_key_is_an_error() {
        assert_snapshot!(problems("[watch]\nclear = true\nclear = false\n"), @"
        proctor.toml:3:1: `clear` is written twice
          keep one of the two
        ");
    }

    #[test]
    fn a_bad_duration_names_the_units_or_the_range() {
        assert_snapshot!(problems("[defaults]\ntimeout = \"5 minutes\"\ngrace = 0\n[watch]\nquiet = -1\nlongest_burst = \"3h\"\n"), @r#"
        proctor.toml:2:11: defaults.timeout: not a duration: a whole number and one of `ms`, `s`, `m`, `h` is expected
          for example `timeout = "5m"`
        proctor.toml:3:9: defaults.grace: a duration from 10ms to 10m is expected
          for example `grace = "5s"`
        proctor.toml:5:9: watch.quiet: not a duration: a whole number and one of `ms`, `s`, `m`, `h` is expected
          for example `quiet = "20ms"`
        proctor.toml:6:17: watch.longest_burst: a duration from 1ms to 1m is expected
          for example `longest_burst = "500ms"`
        "#);
    }

    #[test]
    fn a_queue_of_nobody_and_an_endless_wait_are_refused() {
        assert_snapshot!(problems("[queue]\nmax_parallel = 0\nwait = \"25h\"\nmax_paralel = 2\n"), @r#"
        proctor.toml:2:16: queue.max_parallel: a number from 1 to 1024 is expected
          for example `max_parallel = 4`
        proctor.toml:3:8: queue.wait: a duration from 0s to 24h is expected
          for example `wait = "30m"`
        proctor.toml:4:1: queue.max_paralel: unknown key `max_paralel`
          did you mean `max_parallel`?
        "#);
    }

    #[test]
    fn a_burst_shorter_than_its_quiet_is_refused() {
        assert_snapshot!(problems("[watch]\nquiet = \"2s\"\nlongest_burst = \"1s\"\n"), @"
        proctor.toml:3:17: watch.longest_burst: a burst cannot be cut off before it has been quiet once
          make it at least as long as `quiet`, which is 2s
        ");
    }

    #[test]
    fn what_an_action_cannot_do_without_is_asked_for() {
        assert_snapshot!(problems("[[check]]\ntool = \"pytest\"\n\n[[check]]\nname = \"b\"\n\n[[cleanup]]\nname = \"c\"\n"), @r#"
        proctor.toml:1:1: check[1].name: `name` is missing
          give it one, for example `name = "unit tests"`
        proctor.toml:4:1: check[2].command: `command` is missing
          say what to run, `command = ["pytest", "-q"]`, or only which tool, `tool = "pytest"`
        proctor.toml:7:1: cleanup[1].command: `command` is missing
          say what to run, for example `command = ["make", "deps"]`
        "#);
    }

    #[test]
    fn two_actions_cannot_have_one_name() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ntool = \"tsc\"\n[[cleanup]]\nname = \"a\"\ncommand = \"x\"\n"), @"
        proctor.toml:5:8: cleanup[1].name: `a` is the name of `check[1]` in line 2 already
          give each action a name of its own
        ");
    }

    #[test]
    fn a_command_that_needs_a_shell_has_to_ask_for_one() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ncommand = \"pytest | tee log\"\n[[check]]\nname = \"b\"\ncommand = \"cd web && npx tsc\"\n[[check]]\nname = \"c\"\ncommand = \"CI=1 pytest\"\n"), @r#"
        proctor.toml:3:11: check[1].command: `|` is a pipe and needs a shell, but commands run without one
          add `shell = true`, or write the command as a list of words
        proctor.toml:6:11: check[2].command: `&&` is a list of commands and needs a shell, but commands run without one
          name the directory with `directory = "…"`, or add `shell = true`
        proctor.toml:9:11: check[3].command: `CI=1` is a variable before the command and needs a shell, but commands run without one
          set variables with `environment = { NAME = "…" }`, or add `shell = true`
        "#);
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ncommand = \"! grep -rn debugger src\"\n"), @r#"
        proctor.toml:3:11: check[1].command: `! grep -rn debugger src` turns success into failure and failure into success
          leave out the `!` and write `expected_exit_codes = [1]` (`"expectedExitCodes": [1]`), which are the codes that count as success; what may fail is said with `policy` or `expected_exit_codes`
        "#);
    }

    #[test]
    fn a_pattern_that_hides_failures_is_refused_even_with_a_shell() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\nshell = true\ncommand = \"pytest || true\"\n[[check]]\nname = \"b\"\nshell = true\ncommand = \"pytest | tail -3\"\n[[check]]\nname = \"c\"\ncommand = [\"sh\", \"-c\", \"pytest; exit 0\"]\n"), @"
        proctor.toml:4:11: check[1].command: `|| true` replaces the status of the command that failed
          let the command's own exit status decide: write it alone as a list of words, or move the text into a file that is run; what may fail is said with `policy` or `expected_exit_codes`
        proctor.toml:8:11: check[2].command: `| tail` cuts the output short and may stop the command before its end
          let the command's own exit status decide; what may fail is said with `policy` or `expected_exit_codes`
        proctor.toml:11:11: check[3].command: `; exit 0` ends with the status of the last command, whatever the ones before it did
          join the commands by `&&`, or begin with `set -e` and give each command its own line; what may fail is said with `policy` or `expected_exit_codes`
        ");
    }

    #[test]
    fn an_empty_command_and_an_open_quote_are_refused() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ncommand = []\n[[check]]\nname = \"b\"\ncommand = \" \"\n[[check]]\nname = \"c\"\ncommand = \"pytest -k 'x\"\n"), @r#"
        proctor.toml:3:11: check[1].command: the command is empty
          for example `command = ["pytest", "-q"]`
        proctor.toml:6:11: check[2].command: it is empty
          for example `command = ["pytest", "-q"]`
        proctor.toml:9:11: check[3].command: a quote is not closed
          close it
        "#);
    }

    #[test]
    fn paths_cannot_leave_the_project() {
        assert_snapshot!(problems("[[check]]\nname = \"a\"\ntool = \"pytest\"\ndirectory = \"../x\"\ncoverage = { minimum = 101, report = \"/tmp/c.json\" }\n[[prerequisite]]\nname = \"b\"\ncommand = \"x\"\nwhen_changed = [\"a\", \"../b\"]\ncreates = [\"/etc\"]\n"), @"
        proctor.toml:4:13: check[1].directory: `../x` may leave the project by `..`
          name something below the project's root, relative to it
        proctor.toml:5:24: check[1].coverage.minimum: a percentage from 0 to 100 with at most two decimals is expected
          for example `minimum = 85.5`
        proctor.toml:5:38: check[1].coverage.report: `/tmp/c.json` is an absolute path
          name something below the project's root, relative to it
        proctor.toml:9:22: prerequisite[1].when_changed[2]: `../b` may leave the project by `..`
          name something below the project's root, relative to it
        proctor.toml:10:12: prerequisite[1].creates[1]: `/etc` is an absolute path
          name something below the project's root, relative to it
        ");
    }

    #[test]
    fn files_that_a_check_writes_are_kept_inside_the_project_only() {
        let kept = |writes: &str| problems(&format!("[[check]]\nname = \"a\"\ntool = \"pytest\"\nwrites = {writes}\n"));
        for (writes, expected) in [
            ("[\"a.xml\", \"../x\"]", "4:20: check[1].writes[2]: `../x` may leave the project by `..`"),
            ("[\"/tmp/*\"]", "4:11: check[1].writes[1]: `/tmp/*` is an absolute path"),
            ("[\"./\"]", "4:11: check[1].writes[1]: the project's root as a whole is no pattern"),
            ("[\"a[\"]", "4:11: check[1].writes[1]: not a glob: unclosed character class; missing ']'"),
            ("[\"\"]", "4:11: check[1].writes[1]: "),
        ] {
            assert!(kept(writes).starts_with(&format!("proctor.toml:{expected}")), "{}", kept(writes));
        }
        assert_snapshot!(kept("[]"), @r#"
        proctor.toml:4:10: check[1].writes: an empty list keeps nothing of what the check writes, as no `writes` does
          for example `writes = ["coverage/**"]`
        "#);
    }

    #[test]
    fn a_setting_of_eslint_is_refused_for_tsc() {
        assert_snapshot!(problems("[policy.tsc]\nmax_warnings = 2\nblock_on = \"error-only\"\n"), @r#"
        proctor.toml:2:1: policy.tsc.max_warnings: `max_warnings` is a setting of linters: tsc reports errors only and has no rules by name
          write it under a linter, for example `[policy.eslint]`, or choose a `block_on` for tsc
        proctor.toml:3:12: policy.tsc.block_on: expected one of "errors-always", "errors-only", "errors-and-warnings", "warn-only", "never"
          did you mean `errors-only`?
        "#);
    }

    #[test]
    fn what_the_sandbox_cannot_mean_is_refused() {
        assert_snapshot!(problems("[sandbox]\nmode = \"of\"\nwritable = [\"a\", \"$HOME/x\", \"~other/x\", \"\"]\nsockets = [\"docker.sock\"]\nvisible = \"~/.aws\"\nhome = \"writable\"\nmemory = \"2G\"\nprocesses = 3\nwrite = []\nnetwork = true\nports = []\n"), @r#"
        proctor.toml:2:8: sandbox.mode: expected one of "auto", "require", "off"
          did you mean `off`?
        proctor.toml:3:18: sandbox.writable[2]: `$HOME/x` names a variable, and none is replaced here
          write `~/…` for HOME
        proctor.toml:4:12: sandbox.sockets[1]: `docker.sock` is a relative path
          for example `sockets = ["/run/docker.sock"]`
        proctor.toml:5:11: sandbox.visible: expected a list, found a string
          for example `visible = ["~/.aws"]`
        proctor.toml:6:8: sandbox.home: expected one of "read-only", "overlay"
        proctor.toml:7:10: sandbox.memory: not a size: a whole number and one of `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB` is expected; "off" means no limit
          for example `memory = "4GiB"`
        proctor.toml:8:13: sandbox.processes: a number from 8 to 1000000 is expected; "off" means no limit
          for example `processes = 512`
        proctor.toml:9:1: sandbox.write: unknown key `write`
          did you mean `writable`?
        proctor.toml:10:11: sandbox.network: expected one of "open", "loopback", "off", found a boolean
        proctor.toml:11:1: sandbox.ports: unknown key `ports`
          the keys in [sandbox] are: mode, writable, sockets, visible, home, world, network, memory, processes, max_written, limits, system_call_filter, package_credentials, snapshot, max_snapshot_bytes, caches
        "#);
    }

    #[test]
    fn keys_below_a_header_with_a_syntax_error_are_not_called_unknown() {
        let first_lines = |text: &str| {
            let found = problems(text);
            found.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect::<Vec<_>>()
        };
        for text in ["[[check]\nname = \"a\"\n", "[watch]\nbell = true\n[[check]\nname = \"b\"\ncommand = \"true\"\n"] {
            let found = first_lines(text);
            assert!(found.len() == 1 && found[0].contains("not valid TOML"), "{text}: {found:?}");
        }
        let found = first_lines("[[check]\nname = \"a\"\n[sandbox]\nmode = \"off\"\n[watch]\nbel = true\n");
        assert!(found.len() == 2 && found[1].contains("unknown key `bel`"), "{found:?}");
    }

    #[test]
    fn two_syntax_errors_are_named_at_once() {
        assert_snapshot!(problems("[watch]\nclear =\nbell = true\nnotify = yes\n"), @"
        proctor.toml:2:8: a value is missing
        proctor.toml:4:10: not valid TOML: string values must be quoted, expected literal string
        ");
    }

    #[test]
    fn problems_of_every_kind_come_together_in_the_order_of_the_file() {
        assert_snapshot!(problems("[watch]\nclear = 1\nbel = true\nnotify = \n[[check]]\ntool = \"pytst\"\n[evidence]\nlink = \"a/b\"\n"), @r#"
        proctor.toml:2:9: watch.clear: expected `true` or `false`, found an integer
          for example `clear = true`
        proctor.toml:3:1: watch.bel: unknown key `bel`
          did you mean `bell`?
        proctor.toml:4:10: a value is missing
        proctor.toml:6:8: check[1].tool: expected one of "pytest", "jest", "vitest", "node-test", "cargo-test", "go-test", "tsc", "mypy", "eslint", "ruff", "flake8", "pylint", "prettier", "ty", "pyrefly", "pyright", "oxlint", "biome", "clippy", "pre-commit", "compile", "mocha", "playwright", "bun-test", "deno-test", "ava", "review", "generic"
          did you mean `pytest`?
        proctor.toml:8:8: evidence.link: the link is one visible name in the project's root
          for example `link = "evidence"`
        "#);
    }
}

#[test]
fn the_default_file_says_exactly_the_defaults() {
    assert_eq!(configuration(default_text()), Configuration::default());
    let defaults = Configuration::default();
    assert_eq!(defaults.defaults.timeout, Duration::from_secs(300));
    assert_eq!(defaults.defaults.grace, Duration::from_secs(5));
    assert_eq!((defaults.defaults.idle_timeout, defaults.defaults.max_output), (None, Some(ByteSize(4 << 30))));
    assert_eq!(defaults.defaults.on_survivors, OnSurvivors::Report);
    assert_eq!(defaults.watch.quiet, Duration::from_millis(20));
    assert_eq!(defaults.watch.longest_burst, Duration::from_millis(500));
    assert_eq!(defaults.watch.git_wait, Duration::from_secs(5));
    assert_eq!(defaults.watch.poll, Duration::from_millis(500));
    assert_eq!(defaults.watch.sweep, Some(Duration::from_secs(60)));
    assert_eq!(defaults.watch.hook_wait, Duration::from_secs(30));
    assert_eq!((defaults.watch.on_change, defaults.watch.max_restarts), (OnChange::Restart, 1));
    assert_eq!((defaults.evidence.link.as_str(), defaults.evidence.lock_wait), ("evidence", Duration::from_secs(60)));
    assert_eq!((defaults.queue.max_parallel, defaults.queue.wait), (None, Duration::from_secs(30 * 60)));
    assert_eq!(defaults.service.started, 0);
    assert_eq!(defaults.environment.env_file, None);
    assert_eq!((defaults.sandbox.mode, defaults.sandbox.home), (ProtectionMode::Auto, HomeAccess::ReadOnly));
    assert_eq!((defaults.sandbox.memory, defaults.sandbox.processes), (None, None));
    assert_eq!((defaults.sandbox.snapshot, defaults.sandbox.max_snapshot_bytes), (ProtectionMode::Auto, ByteSize(2 << 30)));
    assert_eq!(defaults.routing, RoutingSettings::default());
    let approval = &defaults.approval;
    assert_eq!((approval.terms.protect.len(), approval.terms.on_protected_change), (0, OnProtectedChange::Show));
    assert_eq!((approval.terms.require_signature, &approval.allowed_signers), (false, &None));
    for tool in Tool::ALL {
        let stated = defaults.policy.of(tool).and_then(|said| said.block_on.clone());
        assert_eq!(stated, tool.default_strategy().map(WrittenValue::unwritten), "{tool:?}");
    }
}

#[test]
fn the_examples_of_the_default_file_are_right_and_say_the_defaults_where_there_are_any() {
    let sample = configuration(&sample());
    let plain = configuration("[[check]]\nname = \"unit tests\"\ncommand = [\"make\", \"check\"]\n");
    let (shown, least) = (&sample.checks[0], &plain.checks[0]);
    assert_eq!(shown.action.command, least.action.command);
    assert_eq!((shown.action.timeout, shown.action.grace), (least.action.timeout, least.action.grace));
    assert_eq!((shown.action.idle_timeout, shown.action.max_output), (least.action.idle_timeout, least.action.max_output));
    assert_eq!((shown.action.on_survivors, &shown.paths), (least.action.on_survivors, &least.paths));
    assert_eq!(shown.policy, least.policy);
    assert_eq!(shown.action.expected_exit_codes.as_ref().map(|codes| codes.value.clone()), Some(vec![0]));
    assert_eq!(sample.watch, plain.watch);
    assert_eq!((sample.prerequisites.len(), sample.cleanup.len()), (2, 1));
    let service = "[[prerequisite]]\nname = \"s\"\ncommand = \"x\"\nservice = true\nready.url = \"http://127.0.0.1:4173/\"\n";
    assert_eq!(sample.prerequisites[1].service, configuration(service).prerequisites[0].service);
    assert_eq!(sample.prerequisites[0].service, None);
}

#[test]
fn every_key_stands_in_the_default_file_with_a_line_of_explanation() {
    let mut table = String::new();
    let (mut previous, mut is_referred) = ("", false);
    let mut explained: Vec<(String, String)> = Vec::new();
    for line in default_text().lines() {
        let live = line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
        if let Some(comment) = line.strip_prefix("# ").filter(|comment| !comment.starts_with("Asked for: ")) {
            is_referred = comment.starts_with(REFERENCE);
        } else if let Some(header) = live.strip_prefix('[') {
            is_referred = false;
            table = header.trim_matches(['[', ']']).to_owned();
        } else if let Some((key, _)) = live.split_once(" = ").filter(|_| !line.starts_with("# ")) {
            let is_explained = previous.starts_with("# ") && previous.len() > 10;
            assert!(is_explained || is_referred, "`{key}` of [{table}] has no explanation");
            explained.push((table.clone(), key.to_owned()));
        }
        previous = line;
    }
    let is_table = |name: &str| TABLES.iter().any(|known| known.name == name);
    let is_inline = |name: &str| name.starts_with("check.") || ["prerequisite.ready", "project.tests"].contains(&name);
    for known in TABLES.iter().filter(|known| !is_inline(&known.name)) {
        for key in known.keys.iter().filter(|key| !is_table(key) && !is_table(&format!("{}.{key}", known.name))) {
            let here = (known.name.clone(), (*key).to_owned());
            assert!(explained.contains(&here), "`{key}` of [{}] is not in default.toml", known.name);
        }
    }
    for (table, key) in [("check", "coverage"), ("check", "policy"), ("prerequisite", "ready"), ("project", "tests")] {
        assert!(explained.contains(&(table.to_owned(), key.to_owned())), "`{key}`");
    }
}

#[test]
fn a_key_of_an_earlier_version_is_read_without_effect() {
    let with = read("[evidence]\narchive_days = 30\n", "proctor.toml").expect("commits have such files");
    assert_eq!(with.evidence, Configuration::default().evidence);
}

#[test]
fn the_sandbox_is_read_as_it_is_written() {
    let text = r#"
        [sandbox]
        mode = "require"
        writable = ["../target", "/data", "~/.cargo/git"]
        sockets = ["/run/docker.sock"]
        visible = ["~/.aws"]
        home = "overlay"
        world = "open"
        network = "loopback"
        memory = "2GiB"
        processes = 512
        max_written = "1GiB"
        limits = "require"
        system_call_filter = "require"
        package_credentials = "prerequisites"
        snapshot = "require"
        max_snapshot_bytes = "1GiB"
        caches = "fresh"
    "#;
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = SandboxSettings {
        mode: ProtectionMode::Require,
        writable: words(&["../target", "/data", "~/.cargo/git"]),
        sockets: words(&["/run/docker.sock"]),
        visible: words(&["~/.aws"]),
        home: HomeAccess::Overlay,
        world: World::Open,
        network: NetworkAccess::Loopback,
        memory: Some(ByteSize(2 << 30)),
        processes: Some(512),
        max_written: Some(ByteSize(1 << 30)),
        limits: LimitEnforcement::Required,
        system_call_filter: SystemCallFilter::Required,
        package_credentials: PackageCredentials::ForPrerequisites,
        snapshot: ProtectionMode::Require,
        max_snapshot_bytes: ByteSize(1 << 30),
        caches: CachesMode::Fresh,
    };
    assert_eq!(configuration(text).sandbox, expected);
}

#[test]
fn everything_that_can_be_said_is_understood() {
    let text = r#"
        [project]
        name = "quotes"
        [[check]]
        name = "unit"
        tool = "pytest"
        command = "pytest -q 'tests/a b'"
        timeout = 90
        environment = { A = "1" }
        paths = ["src/**/*.py"]
        writes = ["./coverage.xml", "htmlcov/"]
        directory = "./api/"
        coverage = { minimum = 85.5, report = "coverage.json" }
        on_survivors = "fail"
        [[check]]
        name = "lint"
        command = ["npx", "eslint", "*.ts"]
        policy = { block_on = "never", max_warnings = 0 }
        [[check]]
        name = "script"
        shell = true
        command = "make a | tee log"
        expected_exit_codes = [0, 3]
        [[prerequisite]]
        name = "deps"
        command = "uv sync"
        when_changed = ["uv.lock"]
        [tdd]
        expected_missing = ["quotes.parser"]
        [routing]
        collection_error = "red-if-missing"
        [watch]
        quiet = "2s"
        git_wait = "0s"
        sweep = "0s"
        [queue]
        max_parallel = 2
        wait = "90s"
        [service]
        started = 0
        [policy]
        linting = "warn-only"
        [approval]
        protect = ["tests/**", "conftest.py"]
        on_protected_change = "human-review"
        require_signature = true
        allowed_signers = "keys/allowed"
    "#;
    let read = configuration(text);
    let [unit, lint, script] = &read.checks[..] else { panic!("three checks") };
    assert_eq!(unit.tool.as_ref().map(|tool| tool.value), Some(Tool::Pytest));
    let argv = |check: &crate::config::Check| check.action.command.as_ref().map(|command| command.value.argv.join("|"));
    assert_eq!(argv(unit).as_deref(), Some("pytest|-q|tests/a b"));
    assert_eq!(unit.action.directory.as_ref().map(|directory| directory.value.as_str()), Some("api"));
    assert_eq!(unit.coverage.as_ref().map(|target| target.value.minimum_basis_points), Some(8550));
    assert_eq!((unit.action.timeout, unit.action.on_survivors), (Duration::from_secs(90), OnSurvivors::Fail));
    assert_eq!(argv(lint).as_deref(), Some("npx|eslint|*.ts"));
    assert_eq!(lint.policy.value.linter_keys(), ["max_warnings"]);
    assert_eq!(lint.policy.value.block_on.as_ref().and_then(|placed| placed.place).map(|place| place.line), Some(18));
    assert_eq!(argv(script).as_deref(), Some("bash|-o|pipefail|-c|make a | tee log"));
    assert_eq!(read.prerequisites[0].once.when_changed, ["uv.lock"]);
    assert_eq!(read.routing.collection_error, CollectionErrorPolicy::RedIfMissing);
    assert_eq!(read.watch.longest_burst, Duration::from_secs(2), "a burst lasts at least as long as its quiet");
    assert_eq!((read.watch.git_wait, read.watch.sweep), (Duration::ZERO, None), "zero is never");
    assert_eq!((read.queue.max_parallel, read.queue.wait), (Some(2), Duration::from_secs(90)));
    assert_eq!(read.service.started, 0);
    assert_eq!(read.policy.for_category(PolicyCategory::Linting).map(|placed| placed.value), Some(BlockOn::WarnOnly));
    assert_eq!(read.approval.terms.protect, ["tests/**", "conftest.py"]);
    assert_eq!(read.approval.terms.on_protected_change, OnProtectedChange::HumanReview);
    assert!(read.approval.terms.require_signature);
    assert_eq!(read.approval.allowed_signers.as_ref().map(|file| file.value.as_str()), Some("keys/allowed"));
}

#[test]
fn when_verdicts_are_reused_and_in_which_order_checks_run_can_be_said_strictly() {
    let check = |name: &str, line: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"make\"\n{line}");
    let defaults = Configuration::default();
    assert_eq!(
        (defaults.run.order, defaults.run.reuse, defaults.run.parallel),
        (CheckOrder::Plan, Reuse::Own, ParallelChecks::Auto)
    );
    let run = "[run]\norder = \"failed-first\"\nreuse = \"watch\"\nparallel = true\n";
    let read = configuration(&(check("a", "") + &check("b", "reuse = \"always\"\n") + &check("c", "reuse = \"off\"\n") + run));
    assert_eq!((read.run.order, read.run.reuse, read.run.parallel), (CheckOrder::FailedFirst, Reuse::Watch, ParallelChecks::On));
    for (written, meant) in [("\"auto\"", ParallelChecks::Auto), ("true", ParallelChecks::On), ("false", ParallelChecks::Off)] {
        assert_eq!(configuration(&format!("[run]\nparallel = {written}\n")).run.parallel, meant);
    }
    assert_snapshot!(problems("[run]\nparallel = \"yes\"\n"), @r#"
    proctor.toml:2:12: run.parallel: expected "auto", true or false
      for example `parallel = "auto"`
    "#);
    assert_eq!(read.checks.iter().map(|check| check.reuse).collect::<Vec<_>>(), [Reuse::Watch, Reuse::Always, Reuse::Off]);
    assert_snapshot!(problems("[run]\norder = \"failed first\"\nreuse = true\nreuze = \"off\"\n[[prerequisite]]\nname = \"p\"\ncommand = \"p\"\nreuse = \"always\"\n"), @r#"
    proctor.toml:2:9: run.order: expected one of "plan", "failed-first"
      did you mean `failed-first`?
    proctor.toml:3:9: run.reuse: expected one of "off", "own", "watch", "always", "attested", found a boolean
    proctor.toml:4:1: run.reuze: unknown key `reuze`
      did you mean `reuse`?
    proctor.toml:8:1: prerequisite[1].reuse: unknown key `reuse`
      `reuse` belongs under [[check]] or [run]
    "#);
}

#[test]
fn limits_of_output_can_be_said_and_switched_off() {
    let text = "[defaults]\nidle_timeout = 90\nmax_output = \"500MB\"\n[[check]]\nname = \"a\"\ncommand = \"a\"\n[[check]]\nname = \"b\"\ncommand = \"b\"\nidle_timeout = \"off\"\nmax_output = \"off\"\n[[cleanup]]\nname = \"c\"\ncommand = \"c\"\nmax_output = \"1KiB\"\n";
    let read = configuration(text);
    let limits = |action: &ActionSettings| (action.idle_timeout, action.max_output);
    let idle = Some(Duration::from_secs(90));
    assert_eq!(limits(&read.checks[0].action), (idle, Some(ByteSize(500_000_000))));
    assert_eq!(limits(&read.checks[1].action), (None, None));
    assert_eq!(limits(&read.cleanup[0]), (idle, Some(ByteSize(1024))));
    assert_snapshot!(problems("[defaults]\nidle_timeout = \"never\"\nmax_output = 4096\n[[check]]\nname = \"a\"\ncommand = \"a\"\nidle_timeout = \"1ms\"\nmax_output = \"4 gigabytes\"\n[[check]]\nname = \"b\"\ncommand = \"b\"\nmax_output = \"10B\"\n"), @r#"
    proctor.toml:2:16: defaults.idle_timeout: not a duration: a whole number and one of `ms`, `s`, `m`, `h` is expected; "off" means no limit
      for example `idle_timeout = "60s"`
    proctor.toml:3:14: defaults.max_output: expected a size, found an integer; "off" means no limit
      for example `max_output = "4GiB"`
    proctor.toml:7:16: check[1].idle_timeout: a duration from 100ms to 24h is expected; "off" means no limit
      for example `idle_timeout = "60s"`
    proctor.toml:8:14: check[1].max_output: not a size: a whole number and one of `B`, `kB`, `MB`, `GB`, `KiB`, `MiB`, `GiB` is expected; "off" means no limit
      for example `max_output = "4GiB"`
    proctor.toml:12:14: check[2].max_output: a size from 1KiB to 1TiB is expected; "off" means no limit
      for example `max_output = "4GiB"`
    "#);
}

#[test]
fn a_text_nobody_wrote_by_hand_is_refused_and_problems_are_not_endless() {
    assert_eq!(read(&"#".repeat((1 << 20) + 1), "proctor.toml").expect_err("too long").len(), 1);
    let many: String = (0..5000).map(|number| format!("key{number} = 1\n")).collect();
    assert_eq!(read(&many, "proctor.toml").expect_err("unknown keys").len(), 100);
}

/// Generates the text of an arbitrary TOML value.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        "[a-z0-9 |&;$*~./-]{0,12}".prop_map(|text| format!("\"{text}\"")),
        any::<f32>().prop_filter("written with a point", |number| number.is_finite()).prop_map(|number| format!("{number:?}")),
        Just("1979-05-27".to_owned()),
        Just("inf".to_owned()),
        Just("\"\\u0000\"".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(("[a-c]", inner), 0..2).prop_map(|pairs| format!(
                "{{{}}}",
                pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
            )),
        ]
    })
}

fn line() -> impl Strategy<Value = String> {
    let keys: Vec<&'static str> = TABLES.iter().flat_map(|known| known.keys.iter().copied()).collect();
    let headers: Vec<String> =
        TABLES.iter().filter(|known| !known.name.is_empty()).map(|known| crate::config::keys::header(&known.name)).collect();
    prop_oneof![
        3 => (prop::sample::select(keys), value()).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => prop::sample::select(headers),
    ]
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in ".*") {
        let _ = read(&text, "proctor.toml");
    }

    #[test]
    fn every_value_is_read_or_refused_with_a_place(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        if let Err(problems) = read(&text, "proctor.toml") {
            assert!(!problems.is_empty());
            for problem in problems {
                let line = problem.position.map_or(0, |position| position.line);
                assert!(line >= 1 && line <= lines.len() + 1, "{problem}");
                assert!(!problem.to_string().contains('\0'));
            }
        }
    }
}
