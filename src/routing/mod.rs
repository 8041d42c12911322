//! The exit-code router, the retry limit, the TDD state machine.
