//! Tests of the doer.
