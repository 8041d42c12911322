//! The rows of the results of tools that ended well and did not look at the project as it is: they had nothing to look at, or they
//! changed it first.

use crate::verdict::category_row::CategoryRow;
use crate::verdict::rows::{FILE_FAILURE, SUCCESS, UNTESTED};
use crate::verdict::wording::AgentWord;
use proctor_model::{CategoryCode, ResultType};

/// The tool says itself that it had nothing to look at.
pub(in crate::verdict) const NOTHING_CHECKED: CategoryRow = CategoryRow {
    code: CategoryCode::NothingChecked,
    result: ResultType::ValidationFailure,
    debt: UNTESTED,
    title: "Nothing Was Checked",
    fix: "Correct the paths of the command, or what the tool's configuration leaves out: {reason}",
    agent: AgentWord::FixSpecification,
    message: "The tool had nothing to check, so it proves nothing. Correct its paths or configuration.",
    causes: &["The paths of the command match nothing", "The tool's configuration excludes every file", "Every test is skipped"],
    recoverable: Some("Correct the paths of the command, or what the tool's configuration leaves out"),
    shows_output: true,
    is_determined_by_inputs: true,
    ..SUCCESS
};

/// The tool changed what it was to look at.
pub(in crate::verdict) const FILES_CHANGED: CategoryRow = CategoryRow {
    code: CategoryCode::FilesChanged,
    result: ResultType::ValidationFailure,
    debt: UNTESTED,
    title: "Files Changed by the Check",
    fix: "Run the command by hand, so that the project's own files are mended, or let it only look (`--check`, without `--fix`, \
          `--write` or `-w`): {reason}",
    agent: AgentWord::FixCode,
    message: "The tool mended its own copy, not the project. Run its command by hand.",
    causes: &["The command mends in place of only looking", "The tool's configuration switches mending on"],
    recoverable: Some("Run the command by hand in the project"),
    shows_output: true,
    ..SUCCESS
};

/// The file is on disk, where the project's ignore rules keep it out of what is judged.
pub(in crate::verdict) const FILE_NOT_IN_TREE: CategoryRow = CategoryRow {
    code: CategoryCode::FileNotInTree,
    title: "File Not in the Judged Tree",
    fix: "Let a step of the task make the file, or add its path to `watch.include` of proctor.toml: {reason}",
    agent: AgentWord::FixSpecification,
    message: "The file is on disk, and not in the tree that is judged. Let a step make it, or include its path.",
    causes: &["The file is ignored, such as what a build makes", "The directory has no file in it"],
    recoverable: Some("Ask `proctor why PATH` which rule leaves the file out"),
    ..FILE_FAILURE
};
