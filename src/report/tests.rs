//! The report as a whole: golden bytes, round trips, the seed's keys, sums, hashes.

pub(super) mod debt;
mod golden;
mod judged;
mod properties;
mod root_cause;
mod seed_keys;
