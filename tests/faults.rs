//! Causes crashes and errors at any moment. Afterwards the sealed runs are all there and verify, the interrupted run is
//! closed, and the next run succeeds.

mod daemon;
mod index;
mod places;
mod scenarios;
mod store;
mod superseded;
