//! `proctor hook run`: reads what an agent says, and prints the answer.

use std::io::Read as _;

use crate::cli::render;
use proctor_app::turn::{answer_event, find_event, unusable};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

/// The longest input that is read, in bytes. An agent's last message is in it.
const LONGEST_INPUT: u64 = 8 << 20;

/// Answers an event of an agent. An error means that nothing is known, and blocks nothing.
pub(super) fn execute(event: &str, agent: &str, environment: &Environment) -> Result<CommandExit, CommandError> {
    let asked = find_event(event, agent)?;
    let output = answer_event(environment, asked, read_standard_input());
    if !output.stdout.is_empty() {
        render::json_line(&output.stdout);
    }
    output.stderr.lines().for_each(render::note);
    Ok(if output.exit == 0 { CommandExit::Proceed } else { CommandExit::Usage })
}

fn read_standard_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::caused(CommandExit::Usage, "standard input cannot be read", &error))?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(unusable(format!("the input is longer than {LONGEST_INPUT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| unusable("the input is not UTF-8".to_owned()))
}
