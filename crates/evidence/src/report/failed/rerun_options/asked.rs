//! The options of the runners that are asked for a report.

use crate::report::failed::rerun_options::RunnerOptions;
use proctor_model::Tool;

#[rustfmt::skip]
pub(super) const ASKED: &[RunnerOptions] = &[
    RunnerOptions {
        tool: Tool::Mocha,
        kept_flags: &["--allow-uncaught", "--async-only", "--check-leaks", "--exit", "--full-trace", "--no-config", "-A"],
        kept_valued: &["--config", "--file", "--import", "--loader", "--package", "--require", "--timeout", "--ui", "-r", "-t", "-u"],
        dropped_flags: &["--bail", "--color", "--forbid-only", "--forbid-pending", "--parallel", "--recursive", "-b", "-p"],
        dropped_valued: &[
            "--exclude", "--extension", "--fgrep", "--grep", "--ignore", "--jobs", "--reporter", "--reporter-option", "--retries", "--slow",
            "--spec", "-R", "-f", "-g", "-j", "-s",
        ],
        joins_letters: false,
    },
    RunnerOptions {
        tool: Tool::Playwright,
        kept_flags: &["--ignore-snapshots", "--no-deps"],
        kept_valued: &["--browser", "--config", "--project", "--timeout", "--tsconfig", "-c"],
        dropped_flags: &["--fail-on-flaky-tests", "--forbid-only", "--fully-parallel", "--pass-with-no-tests", "--quiet", "-x"],
        dropped_valued: &[
            "--global-timeout", "--grep", "--grep-invert", "--max-failures", "--output", "--repeat-each", "--reporter", "--retries",
            "--shard", "--trace", "--workers", "-g", "-j",
        ],
        joins_letters: false,
    },
    RunnerOptions {
        tool: Tool::BunTest,
        kept_flags: &["--only", "--smol"],
        kept_valued: &["--conditions", "--config", "--cwd", "--env-file", "--preload", "--timeout", "-c", "-r"],
        dropped_flags: &["--concurrent", "--coverage", "--pass-with-no-tests", "--randomize"],
        dropped_valued: &[
            "--bail", "--coverage-dir", "--coverage-reporter", "--reporter", "--reporter-outfile", "--rerun-each", "--seed",
            "--test-name-pattern", "-t",
        ],
        joins_letters: false,
    },
    RunnerOptions {
        tool: Tool::DenoTest,
        kept_flags: &[
            "--allow-all", "--allow-env", "--allow-ffi", "--allow-import", "--allow-net", "--allow-read", "--allow-run", "--allow-sys",
            "--allow-write", "--cached-only", "--frozen", "--no-check", "--no-lock", "--no-npm", "--no-prompt", "--no-remote",
            "--trace-leaks", "-A", "-E", "-N", "-R", "-S", "-W",
        ],
        kept_valued: &["--cert", "--config", "--env-file", "--import-map", "--location", "--lock", "--preload", "-c"],
        dropped_flags: &["--clean", "--coverage", "--doc", "--fail-fast", "--parallel", "--permit-no-files", "--quiet", "-q"],
        dropped_valued: &["--filter", "--ignore", "--junit-path", "--reporter", "--seed", "--shuffle"],
        joins_letters: false,
    },
];
