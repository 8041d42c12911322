//! The state of a workflow. The state holds everything that is needed to resume the workflow, including the texts that
//! models and people wrote.

use proctor_wire::wire;

use crate::governance::name::{Slug, WorkflowId};
use crate::governance::record::{FiledIssue, TrailEntry, TrailKind, file_name};
use crate::governance::verdict::{IssueFields, IssueVerdict, parse_verdict};

/// The state of a workflow between two events. A checkpoint stores it as JSON, so the JSON keys never change.
#[wire(sparse)]
pub struct WorkflowState {
    /// The text of the issue has a marker with this id. Before an issue is filed, the tracker is searched for the marker.
    pub id: WorkflowId,
    pub slug: Slug,
    /// The name of the brief's file, without a directory.
    pub brief_name: String,
    /// The text of the brief; empty before it is read.
    pub brief: String,
    #[serde(rename = "asked")]
    pub model_names: ModelNames,
    /// The repository in which the issue is filed, fixed when the workflow begins; `None` if the tracker's command line
    /// chooses the repository.
    pub repo: Option<String>,
    /// The configured limits. A person who chooses `continue` at a reached limit gets this many further iterations or
    /// attempts.
    pub limits: WorkflowLimits,
    /// The limits in force. They begin as the configured limits, and rise each time a person chooses `continue` at a
    /// reached limit.
    #[serde(rename = "allowed")]
    pub raised_limits: WorkflowLimits,
    pub counters: WorkflowCounters,
    /// The names and digests of the trail's files, in the order in which they were first written.
    #[kept]
    pub trail: Vec<TrailEntry>,
    pub node: WorkflowNode,
}

/// The values that a new workflow begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStart {
    /// An id that no other workflow has.
    pub id: WorkflowId,
    /// The workflow's name, made by `slug_from_file_name` from the name of the brief's file (N0 step 2).
    pub slug: Slug,
    /// The name of the brief's file, without a directory.
    pub brief_name: String,
    pub model_names: ModelNames,
    /// The repository in which the issue is filed; `None` if the tracker's command line chooses it.
    pub repo: Option<String>,
    pub limits: WorkflowLimits,
}

/// The names of the two models in questions and lists for people, from the configuration.
#[wire]
pub struct ModelNames {
    pub drafter: String,
    pub reviewer: String,
}

/// How often something may happen before a person is asked whether to continue (B9).
#[wire(Copy)]
pub struct WorkflowLimits {
    /// After this number of drafts, the person is asked whether to go on.
    pub iterations: u32,
    /// After this number of failed attempts to file the issue, the person is asked whether to go on.
    pub attempts: u32,
}

/// Counts over the whole life of a workflow (N0 step 6).
#[wire(Copy, Default)]
pub struct WorkflowCounters {
    /// The highest file number in the trail. The next file gets the number after it.
    pub files: u32,
    /// The number of drafts that were shown to a person at N3 (B17).
    pub iterations: u32,
    /// The number of drafts that the drafter has written.
    pub drafts: u32,
    /// The number of reviews that the reviewer has written.
    pub verdicts: u32,
    /// The number of failed attempts to file the issue.
    pub attempts: u32,
}

/// The step that a workflow is at, with the data that this step needs. N0 to N6 are the names of the steps in the
/// workflow's specification (seed document 002).
#[wire(closed)]
pub enum WorkflowNode {
    /// N0: proctor reads the brief and claims the slug. No file of the trail has been written yet.
    LoadBrief(LoadingStep),
    /// N1, steps 1 and 2: proctor checks the editor, the repository and the tracker. No file has been written yet (B1).
    Preflight,
    /// N1, steps 3 and 4: proctor makes the models' copy of the project.
    Sandbox,
    /// N2: the workflow waits for the drafter's answer.
    Draft { basis: DraftBasis },
    /// N3, or N5 if the draft has been reviewed: a person edits the texts and decides.
    Decide {
        subject: DecisionSubject,
        /// The number that begins the names of the files that the person edits, such as 7 for `007-draft-human.md`.
        #[serde(rename = "copies")]
        copy_number: u32,
        phase: DecisionPhase,
    },
    /// N4: the workflow waits for the reviewer's answer.
    Review { subject: DecisionSubject },
    /// N6: proctor files the issue, then moves and commits the trail.
    File {
        subject: DecisionSubject,
        /// Whether the review blocks, and the person confirmed the approval nevertheless.
        overridden: bool,
        filing: FilingStep,
    },
    /// The issue is filed and nothing is left to do.
    Done { issue: FiledIssue },
}

/// The steps of N0.
#[wire(Copy)]
pub enum LoadingStep {
    /// proctor reads the brief.
    Reading,
    /// `workflow/` checks whether the slug made from the brief's file name is free, and locks it.
    #[serde(rename = "looking")]
    CheckingSlug,
    /// The slug from the brief's file name is taken: a person chooses between resuming the workflow that has it,
    /// another slug, and aborting.
    Collision,
    /// A person is asked for another slug.
    Naming,
    /// `workflow/` checks whether the slug that the person typed is free, and locks it.
    #[serde(rename = "lookingAgain")]
    CheckingNewSlug,
}

/// The texts that the drafter is given in addition to the issue template.
#[wire(closed)]
pub enum DraftBasis {
    /// The brief, for the first draft.
    Brief,
    /// A person's feedback on an earlier draft.
    Revision {
        feedback: String,
        /// The text of the earlier draft, as the person left it in the editor.
        draft: String,
        /// The review, as the person left it in the editor; `None` if the draft was not reviewed, or the person deleted the text (B3).
        verdict: Option<String>,
    },
}

/// The draft that a person decides about, and its review.
#[wire]
pub struct DecisionSubject {
    /// The name of the trail's file with the draft as the drafter wrote it.
    pub draft_file: String,
    /// The draft as the person left it in the editor.
    pub draft: String,
    /// The review of the draft; `None` at N3, where the draft has not been reviewed yet.
    pub review: Option<DraftReview>,
}

/// The reviewer's judgement of a draft, with the texts that were its input and its result.
#[wire]
pub struct DraftReview {
    /// The name of the trail's file with the review as the reviewer wrote it.
    pub file: String,
    /// The verdict of the reviewer's own text, before a person could edit it.
    #[serde(rename = "said")]
    pub reviewer_verdict: IssueVerdict,
    /// The review as the person left it in the editor.
    pub text: String,
    /// The text of the draft that the reviewer was given.
    #[serde(rename = "of")]
    pub reviewed_draft: String,
}

/// The steps of a person's decision at N3 and N5.
#[wire(Copy)]
pub enum DecisionPhase {
    /// The editor is open.
    Editing,
    /// The person is asked the question of the gate: what happens to the draft.
    Choosing,
    /// The person has approved, but the review blocks: a second question asks for confirmation (B19).
    Overriding,
    /// The limit of iterations is reached: the person is asked whether to continue (B9).
    #[serde(rename = "limited")]
    AskingForMoreLoops,
    /// The person is asked for feedback to the drafter.
    Feedback,
}

/// The steps of N6.
#[wire(closed)]
pub enum FilingStep {
    /// proctor creates the labels that the tracker does not have.
    Labels(IssueToFile),
    /// proctor creates the issue. This state is stored before the tracker is called: if the process dies before the
    /// answer is stored, a resumed workflow searches the tracker for the issue and creates it only if it is not there.
    Creating(IssueToFile),
    /// The filing failed: a person chooses between a retry, editing the draft and aborting.
    Failed { why: String, next: FilingRetry },
    /// The limit of filing attempts is reached: a person is asked whether to continue (B9).
    #[serde(rename = "tired")]
    AskingForMoreAttempts {
        /// Why the last attempt failed.
        why: String,
        next: FilingRetry,
    },
    /// The issue is in the tracker, and proctor moves the trail to `done/`.
    Moving(FiledIssue),
    /// The trail is in `done/`, and proctor commits it.
    Committing(FiledIssue),
    /// The trail is committed, and proctor removes the models' copy of the project.
    Cleaning(FiledIssue),
}

/// An issue that a person has approved and that is not filed yet.
#[wire]
pub struct IssueToFile {
    pub title: String,
    pub labels: Vec<String>,
    /// The name of the trail's file with the text of the issue.
    pub body_file: String,
}

/// Where filing begins again when a person chooses to retry.
#[wire(closed)]
pub enum FilingRetry {
    /// Read title and labels from the draft again.
    Fields,
    /// Create the missing labels again; title and labels were read.
    Labels(IssueToFile),
    /// Create the issue again; the labels exist.
    Creating(IssueToFile),
}

impl WorkflowState {
    /// Returns the state of a workflow that has not read its brief yet.
    pub fn begin(start: WorkflowStart) -> Self {
        Self {
            id: start.id,
            slug: start.slug,
            brief_name: start.brief_name,
            brief: String::new(),
            model_names: start.model_names,
            repo: start.repo,
            limits: start.limits,
            raised_limits: start.limits,
            counters: WorkflowCounters::default(),
            trail: Vec::new(),
            node: WorkflowNode::LoadBrief(LoadingStep::Reading),
        }
    }

    /// Returns the state in which a workflow continues after a pause or a crash.
    ///
    /// If the person was asked at N3 or N5 what happens to the draft, the editor opens once more before the question:
    /// the files may have changed in the meantime.
    pub fn resumed(mut self) -> Self {
        if let WorkflowNode::Decide { phase: phase @ (DecisionPhase::Choosing | DecisionPhase::Overriding), .. } = &mut self.node
        {
            *phase = DecisionPhase::Editing;
        }
        self
    }

    /// Returns whether the workflow has a trail and is not over. Only such a workflow has a checkpoint, from which it
    /// can be resumed.
    pub fn is_resumable(&self) -> bool {
        match self.node {
            WorkflowNode::LoadBrief(_) | WorkflowNode::Preflight | WorkflowNode::Done { .. } => false,
            WorkflowNode::Sandbox
            | WorkflowNode::Draft { .. }
            | WorkflowNode::Decide { .. }
            | WorkflowNode::Review { .. }
            | WorkflowNode::File { .. } => true,
        }
    }

    /// Returns whether the editor or the tracker may still be needed. The steps after the issue is filed need neither.
    pub fn needs_tools(&self) -> bool {
        self.issue().is_none()
    }

    /// Returns the number of the issue; `None` before the issue is filed.
    pub fn issue(&self) -> Option<u64> {
        let filed = match &self.node {
            WorkflowNode::File {
                filing: FilingStep::Moving(issue) | FilingStep::Committing(issue) | FilingStep::Cleaning(issue),
                ..
            } => issue,
            WorkflowNode::Done { issue } => issue,
            WorkflowNode::LoadBrief(_)
            | WorkflowNode::Preflight
            | WorkflowNode::Sandbox
            | WorkflowNode::Draft { .. }
            | WorkflowNode::Decide { .. }
            | WorkflowNode::Review { .. }
            | WorkflowNode::File { .. } => return None,
        };
        Some(filed.number)
    }

    /// Returns the name of the node in the workflow's specification (seed document 002): `N0` to `N6`.
    pub fn node_name(&self) -> &'static str {
        match &self.node {
            WorkflowNode::LoadBrief(_) => "N0",
            WorkflowNode::Preflight | WorkflowNode::Sandbox => "N1",
            WorkflowNode::Draft { .. } => "N2",
            WorkflowNode::Decide { subject: DecisionSubject { review: None, .. }, .. } => "N3",
            WorkflowNode::Review { .. } => "N4",
            WorkflowNode::Decide { .. } => "N5",
            WorkflowNode::File { .. } | WorkflowNode::Done { .. } => "N6",
        }
    }
}

impl DecisionSubject {
    /// Returns the verdict of the review; `None` if the draft has not been reviewed. The reviewer's own text and the
    /// text as the person edited it both have a verdict, and the more severe verdict counts. So a person who deletes a
    /// `BLOCK` in the editor does not turn the review into an approval.
    pub fn verdict(&self) -> Option<IssueVerdict> {
        self.review.as_ref().map(|review| review.reviewer_verdict.max(parse_verdict(&review.text)))
    }

    /// Returns the names of the trail's files that a person edits: the file of the draft, and the file of the review if
    /// there is a review.
    pub(super) fn copy_names(&self, number: u32) -> (String, Option<String>) {
        let review = self.review.as_ref().map(|_| file_name(number, TrailKind::VerdictHuman));
        (file_name(number, TrailKind::DraftHuman), review)
    }
}

impl IssueToFile {
    pub(super) fn new(fields: IssueFields, body_file: String) -> Self {
        Self { title: fields.title, labels: fields.labels, body_file }
    }
}
