//! The digest of a working tree and the sweep.
