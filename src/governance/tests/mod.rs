//! Tests of the workflow's decisions: the numbered steps of seed 002 (section 2.5), the decisions B1 to B19 where the
//! seed leaves something
//! open, verdicts and names, and properties that hold in every order of events.

mod names;
mod properties;
mod resolutions;
mod samples;
mod steps;
mod verdicts;
