//! The SQLite index over what the ledger says.
