//! Tests the report as a whole: golden bytes, round trips, the keys of the design document seed 004, sums, hashes.

mod debt;
mod golden;
mod judged;
mod properties;
mod root_cause;
mod seed_keys;
mod unfilled;

pub(super) use debt::report_with_debt;
