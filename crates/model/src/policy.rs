//! The policy that decides which findings of a validation tool block (design document seed 004; table J3 of the
//! decisions on execution).
//!
//! Reviews: the request to a reviewer, and the reviewer's answers.

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{Digest, DurationMs};

/// When a validation tool's findings block the verdict.
#[wire(Copy, Hash, screaming)]
#[cfg_attr(
    any(test, feature = "testing"),
    derive(schemars::JsonSchema),
    schemars(inline, description = "When the findings of one linter block.")
)]
pub enum BlockOn {
    /// Any error blocks, as CRITICAL; warnings do not, up to `max_warnings`.
    ErrorsAlways,
    /// Errors block, as HIGH; warnings do not, up to `max_warnings`.
    ErrorsOnly,
    /// Errors and warnings block.
    ErrorsAndWarnings,
    /// Nothing blocks, everything is reported.
    WarnOnly,
    /// Findings change nothing: an action with findings counts as a success.
    Never,
}

/// Where a policy was set, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", tag = "kind", content = "place")]
pub enum PolicySource {
    /// No file sets the policy, so the default of the tool's category applies (C20).
    Default,
    /// The position in a configuration file or script of the project, such as `proctor.toml:12` or `package.json
    /// scripts.lint`.
    Configured(String),
    /// The position in the configuration where the tool is switched off, which has the same effect as the strategy
    /// NEVER (C22).
    Disabled(String),
}

/// Which findings of an action's validation tool make the verdict FAILED. The options are applied in the order that C24
/// gives.
#[wire(open, schema)]
pub struct ToolPolicy {
    pub block_on: BlockOn,
    /// Where `block_on` was set.
    pub source: PolicySource,
    /// Whether every warning counts as an error.
    pub treat_warnings_as_errors: bool,
    /// The largest number of warnings that does not block under ERRORS_ONLY and ERRORS_ALWAYS (C25); `None` means that any
    /// number is allowed.
    pub max_warnings: Option<u32>,
    /// Rules whose findings are dropped before findings are counted.
    pub ignored_rules: Vec<String>,
    /// Rules whose findings count as errors, whatever level the tool gives them.
    pub error_on_rules: Vec<String>,
}

words! {
    /// Returns the strategy's word in `proctor.toml`.
    pub fn BlockOn::word, WORDS: ErrorsAlways "errors-always", ErrorsOnly "errors-only",
        ErrorsAndWarnings "errors-and-warnings", WarnOnly "warn-only", Never "never"
}

words! {
    /// Returns the strategy's name in reports, for example `BLOCK_ON_ERRORS_ONLY`, `WARN_ONLY` or `NEVER`.
    pub fn BlockOn::strategy: ErrorsAlways "BLOCK_ON_ERRORS_ALWAYS", ErrorsOnly "BLOCK_ON_ERRORS_ONLY",
        ErrorsAndWarnings "BLOCK_ON_ERRORS_AND_WARNINGS", WarnOnly "WARN_ONLY", Never "NEVER"
}

impl ToolPolicy {
    /// Returns a policy with this strategy; every other option has its default value.
    pub fn plain(block_on: BlockOn, source: PolicySource) -> Self {
        Self {
            block_on,
            source,
            treat_warnings_as_errors: false,
            max_warnings: None,
            ignored_rules: Vec::new(),
            error_on_rules: Vec::new(),
        }
    }
}

/// A review that an action asks for. `Action::command` starts the reviewer.
#[wire(open, written, schema)]
pub struct Review {
    /// What the reviewer gets as standard input.
    pub prompt: Prompt,
    /// Whether `**Ready to merge?** Yes` counts as an approval, although only the label is emphasised.
    pub accept_split_emphasis: bool,
}

/// What a reviewer gets as standard input.
#[wire(written, schema)]
pub enum Prompt {
    /// Empty input, because the reviewer's arguments contain everything.
    Nothing,
    /// The content of a file of the project; the path is relative to the root.
    File(String),
    /// The given bytes. A plan shows only their digest.
    Given {
        #[serde(skip)]
        bytes: Vec<u8>,
        sha256: Digest,
    },
}

/// The verdict of a review (V3: after a rejection the code can be fixed, after an indeterminate review a person is
/// needed).
#[wire(Copy, Hash, upper, schema, named)]
pub enum ReviewVerdict {
    /// The review says an explicit Yes.
    Approved,
    /// The review says an explicit No or With fixes.
    Rejected,
    /// The review says none of Yes, No and With fixes explicitly, so a person must decide.
    Indeterminate,
}

/// The verdict of a review that was carried out, with its reason and all attempts.
#[wire(schema)]
pub struct ReviewObservation {
    pub verdict: ReviewVerdict,
    /// Why the review has this verdict, in words.
    pub reason: String,
    /// How many of this action's reviews ended with a rejection since the action's last approval, this review included.
    pub rejections: u32,
    /// All attempts in order: one, or two if the first answer had no verdict.
    pub attempts: Vec<ReviewAttempt>,
}

/// One attempt to get a verdict from the reviewer.
#[wire(schema, sparse)]
pub struct ReviewAttempt {
    /// The attempt's number; the first attempt has 1.
    pub attempt: u32,
    /// How the output was understood: `APPROVED`, `REJECTED`, or why it has no verdict (`MISSING_FIELD`, `TRANSPORT`,
    /// …).
    pub reading: String,
    /// Why the output was understood in this way, in words.
    pub reason: String,
    /// The exit code; `None` if the reviewer did not exit by itself.
    pub exit_code: Option<i32>,
    #[serde(rename = "durationMs")]
    pub duration: DurationMs,
    /// The digest of the reviewer's argument vector, with a NUL after each word.
    pub argv_sha256: Digest,
    /// The digest of the reviewer's standard input.
    pub prompt_sha256: Digest,
    /// The number of bytes on standard output.
    pub output_bytes: u64,
    /// The digest of standard output; absent if the output is larger than what is kept in memory. The evidence still
    /// has the log's digest.
    pub output_sha256: Option<Digest>,
    /// The beginning and the end of the output, as text for people (E11).
    pub excerpt: String,
    /// The name of the log file in the run's directory; it has the whole output.
    pub evidence: String,
}

impl Prompt {
    /// The largest size of a prompt in bytes.
    pub const CAP: u64 = 16 * 1024 * 1024;

    /// Returns a prompt that consists of these bytes.
    pub fn given(bytes: Vec<u8>) -> Self {
        let sha256 = Digest::of(&bytes);
        Self::Given { bytes, sha256 }
    }
}
