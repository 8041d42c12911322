//! The 23 scenarios of the governance workflow (seed 002, section 10.1) under their numbers: at a pseudo-terminal, with a real repository,
//! and with small scripts for drafter, reviewer, editor and tracker. The tracker's is a stub that keeps labels and issues in files and
//! writes down every call; `real_gh` files with the real one where it is installed.

mod beginning;
mod filing;
mod gates;
mod interrupted;
mod isolation;
mod real_gh;
mod resuming;
mod scene;
mod stand_ins;
