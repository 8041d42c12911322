//! One file per tool: recognise, prepare, interpret.
