//! The launcher, capture, the stop ladder.
