//! Reading shell: the one place that knows what a script's text means.
//!
//! A text becomes words and operators, these become a tree, and the tree is followed over all the ways a script can end. Nothing is
//! expanded and nothing is run. What is refused as hiding a failure, and why, is the business of whoever asks.

mod builtins;
mod commands;
mod compound;
mod construct;
mod deciders;
mod lexer;
mod loops;
mod machine;
mod masking;
mod parser;
mod script;
#[cfg(test)]
mod tests;
mod tree;
mod value;
mod word;
mod words;

pub use commands::{Joint, ScriptCommand, command_row, commands_outside, simple_commands};
pub use construct::shell_construct;
pub use lexer::Construct;
pub use masking::{HiddenFailure, can_only_succeed, hidden_failure, hidden_failure_of_words};
pub use script::{ShellScript, script_of};
pub use tree::ShellOptions;
pub use words::{is_assignment, join_words, quote_word, split_words};
