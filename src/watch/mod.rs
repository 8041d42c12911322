//! notify to hints.
