//! Run directories, manifest, ledger, locks.
