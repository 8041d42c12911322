//! The wire shape of the report, building it, canonical JSON.
