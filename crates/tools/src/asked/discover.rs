//! Finds in a project's files the signs of those runners that proctor asks to write a report.

use crate::discover::{FoundChecks, Looked, NODE_RUNNER, NodeRunner};
use crate::project_files::ProjectFiles;
use proctor_model::Tool;

const RUNNERS: &[NodeRunner] = &[
    NodeRunner {
        tool: Tool::Mocha,
        program: "mocha",
        configurations: &[
            ".mocharc.cjs",
            ".mocharc.js",
            ".mocharc.json",
            ".mocharc.jsonc",
            ".mocharc.mjs",
            ".mocharc.yaml",
            ".mocharc.yml",
        ],
        key: Some("mocha"),
        ..NODE_RUNNER
    },
    NodeRunner {
        tool: Tool::Playwright,
        program: "playwright",
        configurations: &[
            "playwright.config.ts",
            "playwright.config.js",
            "playwright.config.mts",
            "playwright.config.mjs",
            "playwright.config.cts",
            "playwright.config.cjs",
        ],
        needs: Some(("test", &["test"])),
        watches: &["--ui", "--debug", "--headed"],
        ..NODE_RUNNER
    },
    NodeRunner {
        tool: Tool::BunTest,
        program: "bun",
        needs: Some(("test", &["test"])),
        watches: &["--watch", "--hot"],
        ..NODE_RUNNER
    },
    NodeRunner {
        tool: Tool::DenoTest,
        program: "deno",
        needs: Some(("test", &["test"])),
        watches: &["--watch", "--watch-hmr"],
        tasks: Some((&["deno.json", "deno.jsonc"], &["deno", "task"])),
        ..NODE_RUNNER
    },
    NodeRunner {
        tool: Tool::Ava,
        program: "ava",
        configurations: &["ava.config.js", "ava.config.mjs", "ava.config.cjs"],
        key: Some("ava"),
        ..NODE_RUNNER
    },
];

/// Looks for signs of a runner in one directory of the project. Adds a check, or a note that says what is missing for one.
pub(crate) fn find(tool: Tool, files: &dyn ProjectFiles, package: &str, findings: &mut FoundChecks) -> Looked {
    RUNNERS.iter().find(|runner| runner.tool == tool).map_or(Looked::Silent, |runner| runner.find(files, package, findings))
}
