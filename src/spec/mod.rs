//! The plan: from the configuration, or discovered.
