//! Where a workflow stands. Everything a restart needs is in it: what models and people wrote included.

use serde::{Deserialize, Serialize};

use crate::governance::fields::Fields;
use crate::governance::name::{Slug, WorkflowId};
use crate::governance::record::FiledIssue;
use crate::governance::trail::{Kind, TrailEntry, file_name};
use crate::governance::verdict::{ReviewWord, read_verdict};

/// A workflow between two events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// Its id, by which the tracker is asked whether it has been filed.
    pub id: WorkflowId,
    /// Its name.
    pub slug: Slug,
    /// The name of the brief's file, without a directory.
    pub brief_name: String,
    /// The brief; empty before it is read.
    pub brief: String,
    /// Who is asked.
    pub asked: Asked,
    /// Where the issue is filed, as it was when the workflow began; none: nobody had said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// By how much a person's "go on" extends a limit.
    pub limits: Limits,
    /// How far the counts may go before a person is asked.
    pub allowed: Limits,
    /// The counts.
    pub counters: Counters,
    /// What is kept, in the order of what happened.
    pub trail: Vec<TrailEntry>,
    /// Where it stands.
    pub node: Node,
}

/// What a workflow begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// A fresh id.
    pub id: WorkflowId,
    /// The name, from the brief's (N0 step 2).
    pub slug: Slug,
    /// The name of the brief's file, without a directory.
    pub brief_name: String,
    /// Who is asked.
    pub asked: Asked,
    /// Where the issue is filed; none: where the tracker's command line says.
    pub repo: Option<String>,
    /// The limits.
    pub limits: Limits,
}

/// How the models are called in what people read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    /// Who drafts.
    pub drafter: String,
    /// Who reviews.
    pub reviewer: String,
}

/// How often something may happen before a person is asked (B9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Drafts that a person has seen.
    pub iterations: u32,
    /// Refusals of the tracker.
    pub attempts: u32,
}

/// What is counted (N0 step 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Counters {
    /// The number of the last file of the trail.
    pub files: u32,
    /// Drafts that came to a person, N3 (B17).
    pub iterations: u32,
    /// Drafts that the drafter gave.
    pub drafts: u32,
    /// Verdicts that the reviewer gave.
    pub verdicts: u32,
    /// Refusals of the tracker.
    pub attempts: u32,
}

/// Where a workflow stands, with what is valid there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Node {
    /// N0: nothing is there yet.
    LoadBrief(Loading),
    /// N1, steps 1 and 2: nothing is there yet, either (B1).
    Preflight,
    /// N1, steps 3 and 4.
    Sandbox,
    /// N2: the drafter is asked.
    Draft {
        /// With what.
        basis: Basis,
    },
    /// N3, and N5 where there is a review: a person has the texts.
    Decide {
        /// The texts.
        subject: Subject,
        /// The number of the files that are edited.
        copies: u32,
        /// How far the person is.
        phase: Phase,
    },
    /// N4: the reviewer is asked.
    Review {
        /// What a person has sent.
        subject: Subject,
    },
    /// N6.
    File {
        /// What a person has approved.
        subject: Subject,
        /// Whether the review blocked it.
        overridden: bool,
        /// How far the filing is.
        filing: Filing,
    },
    /// It is over.
    Done {
        /// What was filed.
        issue: FiledIssue,
    },
}

/// How far N0 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Loading {
    /// The brief is read.
    Reading,
    /// Whether the name is taken is looked at.
    Looking,
    /// It is: a person is asked.
    Collision,
    /// A person is asked for another name.
    Naming,
    /// Whether that one is taken is looked at.
    LookingAgain,
}

/// What a draft is made of, beside the template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Basis {
    /// The brief.
    Brief,
    /// A person's feedback.
    Revision {
        /// What the person wrote.
        feedback: String,
        /// The draft, as the person left it.
        draft: String,
        /// The review, as the person left it; none: there was none, or the person removed it (B3).
        verdict: Option<String>,
    },
}

/// What a person decides about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subject {
    /// The drafter's file.
    pub draft_file: String,
    /// The draft as the person left it last.
    pub draft: String,
    /// The review of it; none at N3.
    pub review: Option<Reviewed>,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reviewed {
    /// The reviewer's file.
    pub file: String,
    /// What the reviewer said, before a person had it.
    pub said: ReviewWord,
    /// The text as the person left it last.
    pub text: String,
    /// The draft that the reviewer was given.
    pub of: String,
}

/// How far a person is with a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The editor is open.
    Editing,
    /// The gate is asked.
    Choosing,
    /// The second question is asked: the review blocks (B19).
    Overriding,
    /// Another loop is asked for (B9).
    Limited,
    /// Feedback is asked for.
    Feedback,
}

/// How far the filing is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Filing {
    /// Labels are made that the tracker does not have.
    Labels(Filed),
    /// The issue is made; written down before it is asked for, so that it is looked for when this is met again.
    Creating(Filed),
    /// It could not be done: a person is asked.
    Failed {
        /// Why.
        why: String,
        /// What was to be done.
        next: Attempt,
    },
    /// Another attempt is asked for (B9).
    Tired {
        /// Why the last one failed.
        why: String,
        /// What was to be done.
        next: Attempt,
    },
    /// It is filed: the trail is moved.
    Moving(FiledIssue),
    /// The trail is committed.
    Committing(FiledIssue),
    /// The sandbox is removed.
    Cleaning(FiledIssue),
}

/// What is to be filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filed {
    /// The title.
    pub title: String,
    /// The labels.
    pub labels: Vec<String>,
    /// The file of the trail that is the issue's text.
    pub body_file: String,
}

/// What a retry does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Attempt {
    /// Read title and labels of the draft.
    Fields,
    /// Make the labels.
    Labels(Filed),
    /// Make the issue.
    Creating(Filed),
}

impl State {
    /// Returns a workflow that has not read its brief yet.
    pub fn begin(start: Start) -> Self {
        Self {
            id: start.id,
            slug: start.slug,
            brief_name: start.brief_name,
            brief: String::new(),
            asked: start.asked,
            repo: start.repo,
            limits: start.limits,
            allowed: start.limits,
            counters: Counters::default(),
            trail: Vec::new(),
            node: Node::LoadBrief(Loading::Reading),
        }
    }

    /// Returns the state in which a workflow goes on after a pause or a death: whoever had the texts gets them again, since nobody knows
    /// what became of the files meanwhile.
    pub fn resumed(mut self) -> Self {
        if let Node::Decide { phase: phase @ (Phase::Choosing | Phase::Overriding), .. } = &mut self.node {
            *phase = Phase::Editing;
        }
        self
    }

    /// Returns whether there is something to go on with: a trail.
    pub fn is_resumable(&self) -> bool {
        match self.node {
            Node::LoadBrief(_) | Node::Preflight | Node::Done { .. } => false,
            Node::Sandbox | Node::Draft { .. } | Node::Decide { .. } | Node::Review { .. } | Node::File { .. } => true,
        }
    }

    /// Returns whether an editor or the tracker may still be needed: what comes after the filing needs neither.
    pub fn needs_tools(&self) -> bool {
        let after = |filing: &Filing| matches!(filing, Filing::Moving(_) | Filing::Committing(_) | Filing::Cleaning(_));
        match &self.node {
            Node::File { filing, .. } => !after(filing),
            Node::Done { .. } => false,
            Node::LoadBrief(_)
            | Node::Preflight
            | Node::Sandbox
            | Node::Draft { .. }
            | Node::Decide { .. }
            | Node::Review { .. } => true,
        }
    }

    /// Returns the number of the issue, once it is filed.
    pub fn issue(&self) -> Option<u64> {
        let filed = match &self.node {
            Node::File { filing: Filing::Moving(issue) | Filing::Committing(issue) | Filing::Cleaning(issue), .. } => issue,
            Node::Done { issue } => issue,
            Node::LoadBrief(_)
            | Node::Preflight
            | Node::Sandbox
            | Node::Draft { .. }
            | Node::Decide { .. }
            | Node::Review { .. }
            | Node::File { .. } => return None,
        };
        Some(filed.number)
    }

    /// Returns the node's name in seed 002.
    pub fn node_name(&self) -> &'static str {
        match &self.node {
            Node::LoadBrief(_) => "N0",
            Node::Preflight | Node::Sandbox => "N1",
            Node::Draft { .. } => "N2",
            Node::Decide { subject: Subject { review: None, .. }, .. } => "N3",
            Node::Review { .. } => "N4",
            Node::Decide { .. } => "N5",
            Node::File { .. } | Node::Done { .. } => "N6",
        }
    }
}

impl Subject {
    /// Returns what the review amounts to: the worse of what the reviewer said and what the person left of it. Removing a `BLOCK` from the
    /// text makes no approval of it. None: there is no review.
    pub fn word(&self) -> Option<ReviewWord> {
        self.review.as_ref().map(|review| review.said.max(read_verdict(&review.text)))
    }

    /// Returns the names of the files that a person edits.
    pub(super) fn copies(&self, number: u32) -> (String, Option<String>) {
        let review = self.review.as_ref().map(|_| file_name(number, Kind::VerdictHuman));
        (file_name(number, Kind::DraftHuman), review)
    }
}

impl Filed {
    pub(super) fn new(fields: Fields, body_file: String) -> Self {
        Self { title: fields.title, labels: fields.labels, body_file }
    }
}
