//! Tests the 23 scenarios of the governance workflow (seed 002, section 10.1). A test's name begins with the number of
//! its scenario.
//!
//! Each runs at a pseudo-terminal with a real repository. Small scripts play drafter, reviewer, editor and tracker. The tracker's script keeps
//! labels and issues in files and records every call; `real_gh` uses the real `gh` where it is installed.

mod beginning;
mod filing;
mod gates;
mod interrupted;
mod isolation;
mod real_gh;
mod resuming;
mod scene;
mod stand_ins;
