//! Settings of a check that its tool cannot use.

use super::Resolver;
use crate::config::Check;
use proctor_model::{Action, JudgedBy, Tool};
use proctor_tools::shard_obstacle;

impl Resolver<'_> {
    /// Reports `shards` of a check whose tests cannot be divided.
    pub(super) fn refuse_shards(&mut self, check: &Check, action: &Action) {
        if check.shards.as_ref().is_none_or(|shards| shards.value.at_most() == 1) {
            return;
        }
        let coverage = check.coverage.as_ref().map(|coverage| coverage.value.clone());
        let action = Action { coverage, ..action.clone() };
        if check.in_place {
            let hint = "remove one of them: side by side in one directory the shards would overwrite each other's files";
            self.problem(check, "shards", "shards need the snapshot, and the check has `snapshot = \"off\"`".to_owned(), hint);
        }
        if let Some(obstacle) = shard_obstacle(&action, self.files) {
            self.problem(check, "shards", obstacle.message, &obstacle.hint);
        }
    }

    /// Reports settings that only a review may have on other checks. On a review, reports settings that would ask the
    /// reviewer more often or turn a failure into a verdict.
    pub(super) fn refuse_of_reviews(&mut self, check: &Check, tool: Tool) {
        let word = tool.word();
        if tool.judged_by() == JudgedBy::Grammar {
            if check.retries > 0 {
                let hint =
                    "remove it: the reviewer is asked again by itself where its output has no verdict, and never otherwise";
                self.problem(check, "retries", "a review is asked once more at most".to_owned(), hint);
            }
            if check.action.expected_exit_codes.is_some() {
                let hint = "remove it: a reviewer that ends with another code than 0 has given no verdict";
                self.problem(check, "expected_exit_codes", format!("{word} is not judged by expected exit codes"), hint);
            }
            return;
        }
        let hint = "remove it, or say `tool = \"review\"`";
        if check.prompt.is_some() {
            self.problem(check, "prompt", format!("{word} has no prompt"), hint);
        }
        if check.accept_split_emphasis.is_some() {
            self.problem(check, "accept_split_emphasis", format!("{word} has no verdict in words"), hint);
        }
    }
}
