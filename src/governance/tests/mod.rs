//! Tests of the workflow's decisions: each numbered step of seed 002 section 2.5, each row that amends one, the texts, the properties.

mod names;
mod properties;
mod resolutions;
mod samples;
mod steps;
mod verdicts;
