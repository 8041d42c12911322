//! What models are given, word for word. The two texts are part of the program and pinned by digest: nothing a model can reach changes them.

use crate::governance::state::Basis;
use crate::model::Digest;

/// A text of ours with the digest it must have (B11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedText {
    /// What it is known as.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// Its SHA-256, as written down when it was last changed.
    pub sha256: &'static str,
}

/// The template of an issue, 0101.
pub const ISSUE_TEMPLATE: PinnedText = PinnedText {
    name: "0101 issue template",
    text: include_str!("issue-template.md"),
    sha256: "0ccb8948d52236acf997a207161a280ed764c995c65b1166cd991c3e4ec8d59f",
};

/// The prompt of a review, 0701c.
pub const REVIEW_PROMPT: PinnedText = PinnedText {
    name: "0701c issue review prompt",
    text: include_str!("issue-review-prompt.md"),
    sha256: "1e29978f0decc3fa6b5343e5fa3ba97d435ec10d13fac0ecaa83cdc0ba20d752",
};

/// Says that a pinned text is not the one that was pinned: nobody is asked with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {name} of this program is not the one that was pinned: its digest is {found}, not {pinned}")]
pub struct TamperedPrompt {
    name: &'static str,
    found: Digest,
    pinned: &'static str,
}

const DRAFT_TASK: &str = "Write the draft of an issue in Markdown, and print nothing but the draft. Follow the template: keep every section and \
its order, replace what stands in angle brackets, and keep the line of labels. Say only what the material says; what is missing is an open \
question.";

const REVISION_TASK: &str = "Revise the draft of an issue in Markdown, and print nothing but the whole draft. Do what the feedback says, which a \
person wrote and which goes before everything else. Keep every section of the template and whatever of the draft nobody objects to.";

impl PinnedText {
    /// Returns the text, if it is the one that was pinned.
    ///
    /// # Errors
    /// When its digest is another.
    pub fn checked(&self) -> Result<&'static str, TamperedPrompt> {
        let found = Digest::of(self.text.as_bytes());
        if found.hex() == self.sha256 {
            Ok(self.text)
        } else {
            Err(TamperedPrompt { name: self.name, found, pinned: self.sha256 })
        }
    }
}

/// Returns what the drafter is given: the brief, or the feedback with the draft and the review it answers (B3); and the template.
///
/// # Errors
/// When the template is not the one that was pinned.
pub fn draft_prompt(brief: &str, basis: &Basis) -> Result<String, TamperedPrompt> {
    let template = ISSUE_TEMPLATE.checked()?;
    let mut prompt = String::new();
    match basis {
        Basis::Brief => {
            prompt.push_str(DRAFT_TASK);
            section(&mut prompt, "BRIEF", brief);
        }
        Basis::Revision { feedback, draft, verdict } => {
            prompt.push_str(REVISION_TASK);
            section(&mut prompt, "FEEDBACK", feedback);
            section(&mut prompt, "CURRENT DRAFT", draft);
            if let Some(verdict) = verdict {
                section(&mut prompt, "REVIEW OF THE DRAFT", verdict);
            }
        }
    }
    section(&mut prompt, "TEMPLATE", template);
    Ok(prompt)
}

/// Returns what the reviewer is given: the pinned prompt and the draft a person has sent (N4 steps 2 and 3).
///
/// # Errors
/// When the prompt is not the one that was pinned.
pub fn review_prompt(draft: &str) -> Result<String, TamperedPrompt> {
    let mut prompt = REVIEW_PROMPT.checked()?.to_owned();
    section(&mut prompt, "DRAFT", draft);
    Ok(prompt)
}

fn section(prompt: &mut String, name: &str, text: &str) {
    prompt.push_str("\n\n===== ");
    prompt.push_str(name);
    prompt.push_str(" =====\n\n");
    prompt.push_str(text.trim_end());
    prompt.push('\n');
}
