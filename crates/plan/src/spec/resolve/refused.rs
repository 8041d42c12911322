//! Settings of a check that its tool cannot use.

use super::Resolver;
use crate::config::Check;
use proctor_model::{Action, JudgedBy, Tool, written_below};
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

    /// Reports what a check on a server cannot have: what lies or runs on this machine alone.
    pub(super) fn refuse_elsewhere(&mut self, check: &Check, action: &Action) {
        const HINT: &str = "remove it, or let the check run here: `run = \"local\"`";
        if check.remote.is_none() {
            return;
        }
        if action.tool.judged_by() == JudgedBy::Grammar {
            self.problem(check, "run", "a review runs on this machine".to_owned(), HINT);
        }
        if !self.configuration.inputs.named.is_empty() {
            self.problem(check, "run", "the `inputs` of `[project]` lie beside the tree and are not sent".to_owned(), HINT);
        }
        let services = self.configuration.prerequisites.iter().filter(|prerequisite| prerequisite.service.is_some());
        for service in services.map(|service| service.action.name.value.clone()).collect::<Vec<_>>() {
            let message = format!("the service `{service}` runs on this machine, where a check on a server does not reach it");
            self.problem(check, "run", message, HINT);
        }
        for pattern in check.writes.iter().filter(|pattern| written_below(pattern).is_none()) {
            let message =
                format!("`{pattern}` begins with a wildcard, and a server is told which files and directories come back");
            self.problem(check, "writes", message, "name the file, or the directory: `writes = [\"dist/**\"]`");
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

#[cfg(test)]
mod tests {
    use crate::config;
    use crate::spec::{DiskFiles, plan};

    #[test]
    fn a_check_on_a_server_has_nothing_that_lies_or_runs_on_this_machine_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let resolved = |check: &str, rest: &str| {
            let text = format!(
                "[[check]]\nname = \"a\"\ncommand = [\"make\"]\nrun = \"remote\"\n{check}\n[remote]\nendpoint = \"unix:///s\"\n{rest}"
            );
            let configuration = config::read(&text, "proctor.toml").expect("it can be read");
            plan(&configuration, &DiskFiles::new(directory.path()), "project").map_err(|problems| problems[0].to_string())
        };
        let service = "[[prerequisite]]\nname = \"serve\"\ncommand = [\"serve\"]\nservice = true\nready = { port = 1 }";
        for (check, rest, expected) in [
            ("tool = \"review\"", "", "a review runs on this machine"),
            ("", service, "the service `serve` runs on this machine"),
            ("", "[project]\ninputs = [\"~/data\"]", "are not sent"),
            ("writes = [\"**/*.xml\"]", "", "begins with a wildcard"),
        ] {
            let problem = resolved(check, rest).expect_err(expected);
            assert!(problem.contains(expected), "{expected}: {problem}");
        }
        assert!(resolved("writes = [\"dist/**\"]", "").is_ok());
    }

    #[test]
    fn only_a_result_of_a_known_image_is_reused() {
        let directory = tempfile::tempdir().expect("a directory");
        let is_reused = |run: &str, image: &str| {
            let text = format!(
                "[[check]]\nname = \"a\"\ncommand = [\"make\"]\nreuse = \"always\"\nrun = \"{run}\"\n\
                 [remote]\nendpoint = \"unix:///s\"\nplatform = {{ container-image = \"{image}\" }}"
            );
            let configuration = config::read(&text, "proctor.toml").expect("it can be read");
            let plan = plan(&configuration, &DiskFiles::new(directory.path()), "project").expect("a plan");
            !plan.steps[0].reuse.is_never_in_a_run()
        };
        let image = format!("docker://a@sha256:{}", proctor_model::Digest::of(b"image"));
        assert_eq!(
            [is_reused("remote", &image), is_reused("prefer-remote", &image), is_reused("remote", "docker://a:1")],
            [true, false, false]
        );
        assert!(is_reused("local", "docker://a:1"));
    }
}
