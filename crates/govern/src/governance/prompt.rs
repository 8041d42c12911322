//! The prompts for the models. The issue template and the review prompt are part of the program, and their digests are
//! pinned, so that no model can change the text by which its work is judged.

use crate::governance::state::DraftBasis;
use proctor_model::Digest;

/// A text that is part of the program, with the digest that the text must have (B11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedText {
    /// The text's name in messages.
    pub name: &'static str,
    pub text: &'static str,
    /// The SHA-256 that the text must have, in hexadecimal. A person who changes the text on purpose changes this
    /// value, too.
    pub sha256: &'static str,
}

/// The issue template. It is part of every prompt for the drafter.
pub const ISSUE_TEMPLATE: PinnedText = PinnedText {
    name: "0101 issue template",
    text: include_str!("issue-template.md"),
    sha256: "0ccb8948d52236acf997a207161a280ed764c995c65b1166cd991c3e4ec8d59f",
};

/// The beginning of every prompt for the reviewer; the draft follows it.
pub const REVIEW_PROMPT: PinnedText = PinnedText {
    name: "0701c issue review prompt",
    text: include_str!("issue-review-prompt.md"),
    sha256: "1e29978f0decc3fa6b5343e5fa3ba97d435ec10d13fac0ecaa83cdc0ba20d752",
};

/// The digest of a pinned text is not the pinned digest, so the text was changed. No model is asked with such a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {name} of this program was changed: its digest is {found}, but {pinned} is pinned")]
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
    /// Returns the text if it has the pinned digest.
    ///
    /// # Errors
    /// When the digests differ.
    pub fn checked(&self) -> Result<&'static str, TamperedPrompt> {
        let found = Digest::of(self.text.as_bytes());
        if found.hex() == self.sha256 {
            Ok(self.text)
        } else {
            Err(TamperedPrompt { name: self.name, found, pinned: self.sha256 })
        }
    }
}

/// Returns the drafter's prompt. For a first draft it has the brief; for another draft it has the person's feedback,
/// the earlier draft and the review of that draft, if there is one (B3). The issue template comes last.
///
/// # Errors
/// When the template does not have its pinned digest.
pub fn draft_prompt(brief: &str, basis: &DraftBasis) -> Result<String, TamperedPrompt> {
    let template = ISSUE_TEMPLATE.checked()?;
    let mut prompt = String::new();
    match basis {
        DraftBasis::Brief => {
            prompt.push_str(DRAFT_TASK);
            section(&mut prompt, "BRIEF", brief);
        }
        DraftBasis::Revision { feedback, draft, verdict } => {
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

/// Returns the reviewer's prompt: the pinned text, then the draft that a person has sent (N4 steps 2 and 3).
///
/// # Errors
/// When the pinned text has another digest than the pinned one.
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
