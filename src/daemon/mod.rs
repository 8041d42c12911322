//! The scheduling engine and what performs its effects.
