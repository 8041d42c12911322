//! Which environments of a project a survey reads, and what it does with what an earlier one saved.

use super::every_file::SurveyExtent;

/// Which environments of a project are read, and how.
pub struct SurveyScope {
    /// Which files of the environments are read.
    pub extent: SurveyExtent,
    pub earlier: EarlierLook,
}

/// What becomes of the saved digests of an earlier look, if the checks run in the project itself. There a check may change what it is
/// judged by, and if proctor dies meanwhile, nobody looks after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierLook {
    /// They are replaced before the run is over, so that the next run can find out what this one's checks changed.
    Replace,
    /// The run before died, and what differs from them is named.
    Compare,
    Leave,
}
