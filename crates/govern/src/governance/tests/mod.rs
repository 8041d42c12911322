//! Tests of the workflow: the numbered steps of seed document 002 (section 2.5), the decisions B1 to B19 on points that
//! the document leaves open, verdicts and names, and properties that hold in every order of events.

mod names;
mod properties;
mod resolutions;
mod samples;
mod steps;
mod verdicts;
