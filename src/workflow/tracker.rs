//! The tracker: labels that are missing are made, and an issue is filed unless it is there.

use serde::Deserialize;

use crate::governance::{Event, FiledIssue};
use crate::workflow::drive::Workflow;
use crate::workflow::error::WorkflowError;
use crate::workflow::hands::{ToolEnd, ToolRequest};
use crate::workflow::repository::refusal;

/// So many labels are listed: the command line's own default of 30 makes the others look missing.
const LABELS_LISTED: &str = "1000";

/// So many of the newest issues are looked through for one that an attempt before has filed.
const ISSUES_LISTED: &str = "100";

/// The colour of labels that are made: without one the tracker picks any.
const LABEL_COLOUR: &str = "ededed";

#[derive(Debug, Deserialize)]
struct Label {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Issue {
    number: u64,
    url: String,
    #[serde(default)]
    body: String,
}

impl Workflow<'_> {
    /// Returns what keeps the tracker from being used; none: nothing does.
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

    /// Makes the labels that the tracker does not have (N6 step 2).
    pub(super) fn ensure_labels(&mut self, repo: Option<&str>, labels: &[String]) -> Result<Event, WorkflowError> {
        if labels.is_empty() {
            return Ok(Event::LabelsReady);
        }
        let listed = self.tracker(repo, &["label", "list", "--limit", LABELS_LISTED, "--json", "name"], None)?;
        let known = match listing::<Label>("label list", listed) {
            Ok(known) => known,
            Err(why) => return Ok(Event::TrackerFailed(why)),
        };
        for label in labels.iter().filter(|label| known.iter().all(|known| !known.name.eq_ignore_ascii_case(label))) {
            let end = self.tracker(repo, &["label", "create", "--color", LABEL_COLOUR], Some(label))?;
            if let ToolEnd::Exited { complaint, .. } = &end
                && complaint.contains("already exists")
            {
                continue;
            }
            if let Some(why) = refusal("label create", end) {
                return Ok(Event::TrackerFailed(why));
            }
        }
        Ok(Event::LabelsReady)
    }

    /// Files an issue (N6 steps 3 and 5), unless one with the marker is there: an attempt that seemed to fail has filed it (B8).
    pub(super) fn file_issue(
        &mut self,
        repo: Option<&str>,
        (title, body_file): (&str, &str),
        labels: &[String],
        marker: &str,
    ) -> Result<Event, WorkflowError> {
        let listed = self.tracker(
            repo,
            &["issue", "list", "--state", "all", "--limit", ISSUES_LISTED, "--json", "number,url,body"],
            None,
        )?;
        let issues = match listing::<Issue>("issue list", listed) {
            Ok(issues) => issues,
            Err(why) => return Ok(Event::TrackerFailed(why)),
        };
        if let Some(found) = issues.into_iter().find(|issue| issue.body.contains(marker) && issue.number > 0) {
            self.person.show(&format!("Issue #{} was filed by an earlier attempt", found.number));
            return Ok(Event::IssueFiled { issue: FiledIssue { number: found.number, url: found.url }, already_there: true });
        }
        let mut words = vec!["issue", "create", "--title", title, "--body-file", body_file];
        words.extend(labels.iter().flat_map(|label| ["--label", label]));
        let end = self.tracker(repo, &words, None)?;
        let ToolEnd::Exited { code: 0, output, .. } = &end else {
            let why = refusal("issue create", end).unwrap_or_default();
            return Ok(Event::TrackerFailed(why));
        };
        Ok(match issue_of(output) {
            Some(issue) => Event::IssueFiled { issue, already_there: false },
            // It may be there: a retry looks for it.
            None => Event::TrackerFailed(format!("`issue create` printed no address of an issue: {}", output.trim())),
        })
    }

    /// Runs the tracker's command line; `last` is an argument that may begin with a dash.
    fn tracker(&mut self, repo: Option<&str>, words: &[&str], last: Option<&str>) -> Result<ToolEnd, WorkflowError> {
        let mut argv = self.settings.tracker.clone();
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        argv.extend(repo.into_iter().flat_map(|repo| ["--repo".to_owned(), repo.to_owned()]));
        argv.extend(last.into_iter().flat_map(|last| ["--".to_owned(), last.to_owned()]));
        self.hands.run_tool(&ToolRequest { argv, directory: self.place.root.clone() })
    }
}

fn listing<T: for<'d> Deserialize<'d>>(what: &str, end: ToolEnd) -> Result<Vec<T>, String> {
    match end {
        ToolEnd::Exited { code: 0, output, .. } => {
            serde_json::from_str(&output).map_err(|error| format!("`{what}` printed no list: {error}"))
        }
        other @ (ToolEnd::Exited { .. } | ToolEnd::Failed(_)) => Err(refusal(what, other).unwrap_or_default()),
    }
}

/// Finds the address of an issue in what was printed: the last one counts, and a number of 0 is none.
fn issue_of(output: &str) -> Option<FiledIssue> {
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
        let issue = issue_of("Creating issue in o/r\n\nhttps://tracker.example/o/r/issues/62\n").expect("an address");
        assert_eq!((issue.number, issue.url.as_str()), (62, "https://tracker.example/o/r/issues/62"));
        for nothing in ["", "created", "https://tracker.example/o/r/issues/", "https://tracker.example/o/r/issues/0", "issues/7"]
        {
            assert_eq!(issue_of(nothing), None, "{nothing}");
        }
    }
}
