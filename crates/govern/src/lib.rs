//! The issue workflow N0–N6: a brief becomes an issue, and a person decides at every gate. [`governance`] decides, [`workflow`] acts.

pub mod governance;
pub mod workflow;
