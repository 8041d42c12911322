//! Carries one plan out.
