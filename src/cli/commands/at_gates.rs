//! The person at the gates of `proctor govern`: an editor, and what is typed at the terminal.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::render;
use crate::cli::terminal;
use crate::governance::Slug;
use crate::process::{Control, resolve_program, run_at_terminal};
use crate::workflow::{EditorFailure, Person};

/// The editor of VS Code, whose absence has words of its own (N1 step 1).
const VS_CODE: &str = "code";
const NO_VS_CODE: &str = "VS Code CLI not found. Install VS Code and ensure 'code' is in PATH.";

/// The person's editor.
pub(super) struct Editor {
    /// Program and arguments, the files follow.
    pub(super) command: Vec<String>,
    /// Where it is started.
    pub(super) root: PathBuf,
    /// Where it is looked for, as a shell would.
    pub(super) path: OsString,
}

impl Editor {
    fn program(&self) -> Result<PathBuf, EditorFailure> {
        let name = self.command.first().map(String::as_str).unwrap_or_default();
        resolve_program(name, &self.root, &self.path).map_err(|_| {
            EditorFailure(match name {
                VS_CODE => NO_VS_CODE.to_owned(),
                other => format!("the editor `{other}` was not found; `editor` of `[govern]` in proctor.toml names it"),
            })
        })
    }
}

/// The person at this process's terminal. Where there is none, nobody answers.
pub(super) struct AtTerminal<'a> {
    editor: Editor,
    /// Hears the signals: whoever sends one is not answering.
    control: &'a Control,
}

impl<'a> AtTerminal<'a> {
    pub(super) fn new(editor: Editor, control: &'a Control) -> Self {
        Self { editor, control }
    }
}

impl Person for AtTerminal<'_> {
    fn show(&mut self, line: &str) {
        render::line(line);
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        // A line from a file or a pipe is nobody's answer.
        if !terminal::is_input_terminal() || self.control.requested().is_some() {
            return None;
        }
        // Neither is what was typed or pasted before there was a question: it was about something else.
        terminal::forget_input();
        render::prompt(&format!("{prompt} "));
        let answer = terminal::read_answer(self.control);
        if answer.is_none() {
            render::prompt("\n");
        }
        answer
    }

    fn find_editor(&mut self) -> Result<(), EditorFailure> {
        self.editor.program().map(drop)
    }

    fn edit(&mut self, slug: &Slug, files: &[PathBuf]) -> Result<(), EditorFailure> {
        if !terminal::is_input_terminal() {
            return Err(EditorFailure(format!("the draft of '{slug}' waits for a person, and nobody is at a terminal")));
        }
        if self.control.requested().is_some() {
            return Err(EditorFailure("it was interrupted before the editor was opened".to_owned()));
        }
        let Editor { command, root, .. } = &self.editor;
        let program = self.editor.program()?;
        let own = command.iter().skip(1).cloned();
        let arguments: Vec<String> = own.chain(files.iter().map(|file| file.to_string_lossy().into_owned())).collect();
        match run_at_terminal(&program, &arguments, root, self.control) {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(EditorFailure(format!("the editor `{}` ended with {status}", command.join(" ")))),
            Err(error) => Err(EditorFailure(format!("the editor `{}` cannot be started: {error}", command.join(" ")))),
        }
    }
}
