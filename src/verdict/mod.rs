//! Classification, policy, completion, debt.
