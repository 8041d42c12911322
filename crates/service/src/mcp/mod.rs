//! A server of the Model Context Protocol on standard input and output: agents ask it about verdicts and failures.
//!
//! The protocol itself (revisions, negotiation, progress, cancellation) is the official SDK's, `rmcp`. This folder owns what proctor adds:
//! the table of tools with their schemas, the texts beside structured answers, and a transport that answers wrong and over-long lines
//! with errors.
//!
//! It may not touch the store, start processes or print: what a tool answers comes from the functions of `proctor-app`, which the command
//! line uses too. No tool approves, resolves, resets or registers anything.
//!
//! Where to look: `tool` has the tools and reads their arguments; `schema` their schemas; `text` the text of an answer; `server` answers
//! requests; `stdio` reads and writes lines;
//! `project_answers` asks the functions that answer.

mod project_answers;
mod schema;
mod server;
mod stdio;
mod text;
mod tool;

pub use project_answers::{ProjectAnswers, ToolAnswers, ToolRefusal};
pub use server::ToolServer;
pub use stdio::{StdioTransport, TransportEnd};
pub use tool::{
    CompareArguments, FailuresArguments, GateArguments, HistoryArguments, OutputArguments, RetestArguments, RunWord,
    TaskArguments, ToolCall, VerdictArguments, WhyArguments,
};
