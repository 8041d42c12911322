//! The arguments of the commands about past runs and tests. The doc comments are the help texts (house style H1).

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::project_place::ProjectPlace;

/// List the runs of a project, newest first
///
/// Each line has the run's number, the verdict, the tree, the run's duration, its tests, and what failed. `flaky` says that every
/// failure that made the run red passed on an equal tree.
///
/// Examples:
///   proctor log --failed --since 2d
///   proctor log --test test_login --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LogOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// How many runs to list
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = read_count)]
    pub(crate) limit: u32,
    /// Only runs that did not pass; with --test, only those in which the test failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only runs with this test: its id, its key, or a part of its id that no other test has
    #[arg(long, value_name = "ID")]
    pub(crate) test: Option<String>,
    /// Only runs that began then or later: a time such as 2026-03-04T09:30:00Z, a day such as 2026-03-04, or an age such as 90m, 12h or 7d
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs of this task: `default` is the project's own checks
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Begin each line with the run's id in place of its number
    #[arg(long, conflicts_with = "json")]
    pub(crate) ids: bool,
    /// Print one JSON document (`proctor-log-v1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell the past of a test: its results, its durations, when it last changed, and how often it flipped on an equal tree
///
/// TEST is the tool's own id, the name in its report, the test's key, or a part of an id that no other test has.
///
/// Examples:
///   proctor history tests/test_cart.py::test_total
///   proctor history test_total --limit 50 --json
///   proctor history flaky
///   proctor history slow
///   proctor history diff 41 42
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HistoryOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<HistoryVerb>,
    /// The test
    #[arg(value_name = "TEST", required = true)]
    pub(crate) test: Option<String>,
    /// How many results to list
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = read_count)]
    pub(crate) limit: u32,
    /// Only a test of this task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print one JSON document (`proctor-history-v1`)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryVerb {
    Flaky(FlakyOptions),
    Slow(SlowOptions),
    Diff(DiffOptions),
}

impl HistoryOptions {
    /// Returns whether one JSON document is asked for.
    pub(crate) fn is_json(&self) -> bool {
        match &self.verb {
            None => self.json,
            Some(HistoryVerb::Flaky(options)) => options.json,
            Some(HistoryVerb::Slow(options)) => options.json,
            Some(HistoryVerb::Diff(options)) => options.json,
        }
    }
}

/// Name the tests that passed and failed on equal trees
///
/// A test is flaky if the same files gave two results, in two runs or in two attempts of one. The last 1000 results of each check are read.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FlakyOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Print one JSON document (`proctor-flaky-v1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Name the tests that became slower, and those that take the longest
///
/// The median of a test's last 10 durations is compared with that of 20 earlier ones, at several times in the past. A test is named if it
/// takes half as long again and 10 ms more, and longer than nine of ten earlier durations.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SlowOptions {
    #[command(flatten)]
    pub(crate) place: ProjectPlace,
    /// Print one JSON document (`proctor-slow-v1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare two runs: tests that newly fail, were mended, are gone, are new, or are slower by more than their durations vary
///
/// Without RUN the last two runs are compared; one RUN is compared with the newest run of its task. A check that was left out of one of
/// the runs says nothing about its tests.
///
/// Examples:
///   proctor history diff
///   proctor history diff --since-green
///   proctor history diff 41 42
///   proctor history diff 41 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DiffOptions {
    /// The earlier run, by id or number
    #[arg(value_name = "RUN")]
    pub(crate) from: Option<String>,
    /// The later run, by id or number; the newest run of the same task otherwise
    #[arg(value_name = "RUN")]
    pub(crate) to: Option<String>,
    /// Compare the newest run with the last one before it that passed: what was changed between green and red
    #[arg(long, conflicts_with = "from")]
    pub(crate) since_green: bool,
    /// The project's directory
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) project: PathBuf,
    /// Print one JSON document (`proctor-diff-v1`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads a number of things, from 1 on.
pub(crate) fn read_count(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "write a whole number from 1 on, such as 50".to_owned())
}
