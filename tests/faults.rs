//! Something goes wrong at any moment: after it, what was sealed is there and verifies, what was begun is closed, and the next run is green.

mod daemon;
mod index;
mod places;
mod scenarios;
mod store;
mod superseded;
