//! From what a project says to a plan, and from what the checks said to a verdict. Pure: nothing here reads a file, a clock or the
//! environment, but for the project's files that a caller hands in.
//!
//! | module | what it decides |
//! |---|---|
//! | [`config`] | what `proctor.toml` says, or everything that is wrong with it |
//! | [`spec`] | what a test specification says, and which plan follows from configuration, specification and files |
//! | [`condition`] | what a specification's condition means |
//! | [`verdict`] | what the results of a run amount to |
//! | [`routing`] | where the task goes next |
//! | [`changes`] | what of a commit can make it green in another way than the trusted commit |
//! | [`review`] | what a review in free text decided |

pub mod changes;
pub mod condition;
pub mod config;
pub mod review;
pub mod routing;
pub mod spec;
pub mod verdict;
