//! `proctor.toml`: raw, then resolved; each value knows where it came from.
