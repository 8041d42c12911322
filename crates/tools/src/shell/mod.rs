//! Reads shell scripts. This is the only folder that knows the meaning of a script's text.
//!
//! A text is split into words and operators, and these are parsed into a list of commands. Nothing is expanded or run. Callers
//! decide which scripts are refused because their exit status may hide a failure.

mod commands;
mod construct;
mod lexer;
mod masking;
mod parser;
mod script;
#[cfg(test)]
mod tests;
mod tree;
mod word;

pub use commands::{Joint, ScriptCommand, command_row, commands_outside, simple_commands};
pub use construct::shell_construct;
pub use lexer::Construct;
pub use masking::{HiddenFailure, can_only_succeed, hidden_failure, hidden_failure_of_words};
pub use script::{ShellScript, script_of};
pub use tree::ShellOptions;
