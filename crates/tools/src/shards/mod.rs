//! Divides the tests of a check among several processes, its shards: whether a command can be divided, what its tool is told so that
//! it runs one part, and (`join`) what the results of all parts amount to. What differs from tool to tool is in the tools' folders.

mod join;

use std::collections::BTreeMap;
use std::path::Path;

use crate::launchers::{Located, locate};
use crate::project_files::{ProjectFiles, within};
use crate::recognise::CommandForm;
use crate::table::{ROWS, row_of};
use proctor_model::{Action, Shard, Tool};

pub use join::{ShardOutcome, join_shards};

/// How the tests of a tool are divided. Only a tool can be divided whose every process can be made to list all tests and those of its own:
/// without these lists it would not be known that each test was run.
pub(crate) struct Sharding {
    /// Returns why a command of the tool cannot be divided, for a reason of the tool's own.
    pub(crate) obstacle: fn(&DividedCheck<'_>) -> Option<ShardObstacle>,
    /// Prepares a part.
    pub(crate) prepare: fn(&ShardTask<'_>, &mut ShardPreparation),
    /// The file in which each part lists all tests and those of its own, in the output directory.
    pub(crate) list: &'static str,
}

/// A check whose tests are to be divided.
pub(crate) struct DividedCheck<'a> {
    pub(crate) action: &'a Action,
    pub(crate) located: &'a Located,
    files: &'a dyn ProjectFiles,
}

/// Why the tests of a check cannot be divided, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardObstacle {
    pub message: String,
    pub hint: String,
}

/// What is needed to prepare one part.
pub(crate) struct ShardTask<'a> {
    pub(crate) action: &'a Action,
    pub(crate) arguments_from: usize,
    pub(crate) shard: Shard,
    pub(crate) output_directory: &'a Path,
    /// How long each test took when it last ran, in milliseconds.
    pub(crate) times: &'a [(String, u64)],
}

/// What makes a command run one part of its tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardPreparation {
    /// The command that runs the part. A report is not yet requested in it.
    pub argv: Vec<String>,
    /// Environment variables that are set in addition to those of the action.
    pub environment: Vec<(String, String)>,
    /// Files for the output directory: their names and contents.
    pub files: Vec<(&'static str, String)>,
    /// The file in which the part lists the tests, in the output directory; `None` if it lists none.
    pub list: Option<&'static str>,
}

impl DividedCheck<'_> {
    /// Returns the words of the command and of the variables that a tool reads options from.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        let argv = self.action.command.argv.iter().chain(self.action.environment.values());
        argv.flat_map(|text| text.split_whitespace())
    }

    /// Returns the first of these options that the command or a variable has, with or without a value behind it.
    pub(crate) fn option(&self, options: &[&str]) -> Option<&str> {
        let is_one = |word: &&str| options.iter().any(|option| word.split('=').next() == Some(option));
        self.words().find(is_one)
    }

    /// Returns the words before the tool's own arguments, such as the options of its interpreter.
    pub(crate) fn interpreter_options(&self) -> impl Iterator<Item = &str> {
        self.action.command.argv.iter().take(self.located.arguments_from).map(String::as_str)
    }

    /// Returns the text of a file in the directory of the check, without lines that are comments; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let bytes = self.files.read(&within(&self.action.directory.to_string_lossy(), name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines =
            text.lines().filter(|line| !line.trim_start().starts_with(['#', ';']) && !line.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl ShardObstacle {
    /// Returns the obstacle of a threshold that only the suite as a whole can reach.
    pub(crate) fn threshold(what: &str) -> Self {
        Self {
            message: format!("{what} is a threshold of the whole suite, and each shard sees only its own part"),
            hint: "remove `shards`, or leave the threshold to another check".to_owned(),
        }
    }

    /// Returns the obstacle of a word or a setting for which parts do not mean what the whole means.
    pub(crate) fn because(message: String, what: &str) -> Self {
        Self { message, hint: format!("remove {what} or `shards`") }
    }

    fn not_direct(tool: Tool) -> Self {
        Self {
            message: format!("the command hides how {} is called, so no shard can be asked of it", tool.word()),
            hint: "name the tool's own command in the check, or remove `shards`".to_owned(),
        }
    }
}

impl ShardTask<'_> {
    /// Returns the path of a file in the output directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.output_directory.join(name).to_string_lossy().into_owned()
    }

    /// Returns how long each unit took when it last ran. A unit is what one process or another runs: `unit_of` names that of a test.
    pub(crate) fn times_of<'t>(&'t self, unit_of: impl Fn(&'t str) -> &'t str) -> BTreeMap<&'t str, u64> {
        let mut times = BTreeMap::new();
        for (test, time) in self.times {
            *times.entry(unit_of(test)).or_default() += time;
        }
        times
    }

    /// Returns a plan for a script: a line with the number of the part and of all parts, and for each unit that was timed the number of
    /// its part. What took longest is placed first, always in the part that has the least to do so far.
    pub(crate) fn plan<'t>(&'t self, unit_of: impl Fn(&'t str) -> &'t str) -> String {
        let mut loads = vec![0; self.shard.of as usize];
        let mut times: Vec<(&str, u64)> = self.times_of(unit_of).into_iter().collect();
        times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        let mut plan = format!("{} {}\n", self.shard.number, self.shard.of);
        for (unit, time) in times.into_iter().filter(|(unit, _)| !unit.contains('\n')) {
            let part = (0..loads.len()).min_by_key(|part| loads[*part]).unwrap_or_default();
            loads[part] += time.max(1);
            plan.push_str(&format!("{} {unit}\n", part + 1));
        }
        plan
    }
}

/// Returns why the tests of a check cannot be divided; `None` if they can.
pub fn shard_obstacle(action: &Action, files: &dyn ProjectFiles) -> Option<ShardObstacle> {
    let Some(sharding) = row_of(action.tool).shards else {
        let able = ROWS.iter().filter(|row| row.shards.is_some()).map(|row| row.tool.word()).collect::<Vec<_>>().join(", ");
        let word = action.tool.word();
        let message = format!("{word} cannot list in each shard which tests there are, so nobody could say that all were run");
        return Some(ShardObstacle { message, hint: format!("remove it; it is for {able}") });
    };
    let located = locate(&action.command.argv);
    if action.coverage.is_some() {
        return Some(ShardObstacle::threshold("`coverage`"));
    }
    let check = DividedCheck { action, located: &located, files };
    if located.recognition.tool != action.tool || located.recognition.form != CommandForm::Direct {
        return Some(ShardObstacle::not_direct(action.tool));
    }
    (sharding.obstacle)(&check)
}

/// Prepares one part of a check's tests. `output_directory` must be fresh and absolute. `times` says how long each test took when it
/// last ran, in milliseconds. All parts of a check must be given the same.
pub fn prepare_shard(action: &Action, shard: Shard, output_directory: &Path, times: &[(String, u64)]) -> ShardPreparation {
    let mut preparation = ShardPreparation { argv: action.command.argv.clone(), ..ShardPreparation::default() };
    let Some(sharding) = row_of(action.tool).shards else { return preparation };
    preparation.list = Some(sharding.list);
    let arguments_from = locate(&action.command.argv).arguments_from;
    (sharding.prepare)(&ShardTask { action, arguments_from, shard, output_directory, times }, &mut preparation);
    preparation
}

#[cfg(test)]
mod tests;
