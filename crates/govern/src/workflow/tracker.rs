//! Uses the issue tracker by its command line: creates missing labels, and files an issue unless an earlier attempt has
//! filed it.

use serde::Deserialize;

use crate::governance::{FiledIssue, WorkflowEvent};
use crate::workflow::error::WorkflowError;
use crate::workflow::interfaces::{ToolEnd, ToolRequest};
use crate::workflow::repository::failure_reason;
use crate::workflow::runner::WorkflowRunner;

/// How many labels the tracker is asked to list. By default `gh` lists only 30, and all further labels would look
/// missing.
const LABELS_LISTED: &str = "1000";

/// How many of the newest issues are searched for the issue that an earlier attempt may have filed.
const ISSUES_LISTED: &str = "100";

/// The colour of new labels. If no colour is given, the tracker picks a random one.
const LABEL_COLOUR: &str = "ededed";

#[derive(Debug, Deserialize)]
struct ListedLabel {
    name: String,
}

#[derive(Debug, Deserialize)]
struct ListedIssue {
    number: u64,
    url: String,
    #[serde(default)]
    body: String,
}

impl WorkflowRunner<'_> {
    /// Returns why the tracker cannot be used, as a sentence for people; `None` if it can be used.
    pub(super) fn check_tracker(&mut self) -> Result<Option<String>, WorkflowError> {
        let name = self.settings.tracker.join(" ");
        Ok(match self.tracker(None, &["auth", "status"], None)? {
            ToolEnd::Exited { code: 0, .. } => None,
            ToolEnd::Exited { complaint, .. } => Some(format!(
                "`{name}` is not logged in: run `{name} auth login`, then begin again ({})",
                complaint.lines().next().unwrap_or("it says nothing").trim()
            )),
            ToolEnd::Failed(why) => Some(format!(
                "the tracker's command line cannot be used: {why}; install it and run `{name} auth login`, or see why \
                     `{name} auth status` does not answer"
            )),
        })
    }

    /// Creates the labels in `labels` that the tracker does not have yet (N6 step 2).
    pub(super) fn ensure_labels(&mut self, repo: Option<&str>, labels: &[String]) -> Result<WorkflowEvent, WorkflowError> {
        if labels.is_empty() {
            return Ok(WorkflowEvent::LabelsReady);
        }
        let listed = self.tracker(repo, &["label", "list", "--limit", LABELS_LISTED, "--json", "name"], None)?;
        let known = match parse_listing::<ListedLabel>("label list", listed) {
            Ok(known) => known,
            Err(why) => return Ok(WorkflowEvent::TrackerFailed(why)),
        };
        for label in labels.iter().filter(|label| known.iter().all(|known| !known.name.eq_ignore_ascii_case(label))) {
            let end = self.tracker(repo, &["label", "create", "--color", LABEL_COLOUR], Some(label))?;
            if let ToolEnd::Exited { complaint, .. } = &end
                && complaint.contains("already exists")
            {
                continue;
            }
            if let Some(why) = failure_reason("label create", end) {
                return Ok(WorkflowEvent::TrackerFailed(why));
            }
        }
        Ok(WorkflowEvent::LabelsReady)
    }

    /// Files an issue (N6 steps 3 and 5), unless the tracker already has an issue whose body contains `marker`: then an
    /// earlier attempt that seemed to fail has filed it (B8).
    pub(super) fn file_issue(
        &mut self,
        repo: Option<&str>,
        (title, body_file): (&str, &str),
        labels: &[String],
        marker: &str,
    ) -> Result<WorkflowEvent, WorkflowError> {
        let listed = self.tracker(
            repo,
            &["issue", "list", "--state", "all", "--limit", ISSUES_LISTED, "--json", "number,url,body"],
            None,
        )?;
        let issues = match parse_listing::<ListedIssue>("issue list", listed) {
            Ok(issues) => issues,
            Err(why) => return Ok(WorkflowEvent::TrackerFailed(why)),
        };
        if let Some(found) = issues.into_iter().find(|issue| issue.body.contains(marker) && issue.number > 0) {
            self.person.show(&format!("Issue #{} was filed by an earlier attempt", found.number));
            return Ok(WorkflowEvent::IssueFiled {
                issue: FiledIssue { number: found.number, url: found.url },
                already_there: true,
            });
        }
        let mut words = vec!["issue", "create", "--title", title, "--body-file", body_file];
        words.extend(labels.iter().flat_map(|label| ["--label", label]));
        let end = self.tracker(repo, &words, None)?;
        let ToolEnd::Exited { code: 0, output, .. } = &end else {
            let why = failure_reason("issue create", end).unwrap_or_default();
            return Ok(WorkflowEvent::TrackerFailed(why));
        };
        Ok(match find_issue_address(output) {
            Some(issue) => WorkflowEvent::IssueFiled { issue, already_there: false },
            // The issue may have been created although no address was printed. A retry searches for the issue by its
            // marker.
            None => WorkflowEvent::TrackerFailed(format!("`issue create` printed no address of an issue: {}", output.trim())),
        })
    }

    /// Runs the tracker's command line. The argument `last` is passed after `--`, so it may begin with a dash.
    fn tracker(&mut self, repo: Option<&str>, words: &[&str], last: Option<&str>) -> Result<ToolEnd, WorkflowError> {
        let mut argv = self.settings.tracker.clone();
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        argv.extend(repo.into_iter().flat_map(|repo| ["--repo".to_owned(), repo.to_owned()]));
        argv.extend(last.into_iter().flat_map(|last| ["--".to_owned(), last.to_owned()]));
        self.host.run_tool(&ToolRequest { argv, directory: self.project.root.clone() })
    }
}

fn parse_listing<T: for<'d> Deserialize<'d>>(what: &str, end: ToolEnd) -> Result<Vec<T>, String> {
    match end {
        ToolEnd::Exited { code: 0, output, .. } => {
            serde_json::from_str(&output).map_err(|error| format!("`{what}` printed no list: {error}"))
        }
        other @ (ToolEnd::Exited { .. } | ToolEnd::Failed(_)) => Err(failure_reason(what, other).unwrap_or_default()),
    }
}

/// Returns the last address of an issue in a text; `None` if there is none. An issue with the number 0 does not count.
fn find_issue_address(output: &str) -> Option<FiledIssue> {
    let word = output.split_whitespace().rev().find(|word| word.starts_with("http") && word.contains("/issues/"))?;
    let (_, rest) = word.rsplit_once("/issues/")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    Some(FiledIssue { number, url: word.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_address_and_never_made_up() {
        let issue = find_issue_address("Creating issue in o/r\n\nhttps://tracker.example/o/r/issues/62\n").expect("an address");
        assert_eq!((issue.number, issue.url.as_str()), (62, "https://tracker.example/o/r/issues/62"));
        for nothing in ["", "created", "https://tracker.example/o/r/issues/", "https://tracker.example/o/r/issues/0", "issues/7"]
        {
            assert_eq!(find_issue_address(nothing), None, "{nothing}");
        }
    }
}
