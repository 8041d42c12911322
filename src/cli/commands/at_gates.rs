//! Asks the person at the gates of `proctor-govern`. A gate is a question that only a person answers: the editor opens
//! the texts, and the terminal reads the answer.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::environment;
use crate::cli::render;
use crate::cli::terminal;
use proctor_app::Environment;
use proctor_govern::governance::Slug;
use proctor_govern::workflow::{EditorFailure, Person};
use proctor_sandbox::process::{Control, resolve_program, run_at_terminal};

/// The program name of VS Code. A seed prescribes the message for a missing VS Code (N1 step 1).
const VS_CODE: &str = "code";
const NO_VS_CODE: &str = "VS Code CLI not found. Install VS Code and ensure 'code' is in PATH.";

/// The editor in which the person reads and changes the workflow's texts.
pub(super) struct Editor {
    /// Program and arguments. The names of the files are appended.
    pub(super) command: Vec<String>,
    /// The working directory of the editor: the project's root.
    pub(super) root: PathBuf,
    /// The search path for the program, like a shell's `PATH`.
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

/// Asks the person at this process's terminal. Without a terminal, every question stays unanswered.
pub(super) struct TerminalPerson<'a> {
    editor: Editor,
    /// Whether a person is at the terminal.
    is_present: bool,
    /// Receives signals. A person who sends one has not answered the question.
    control: &'a Control,
}

impl<'a> TerminalPerson<'a> {
    pub(super) fn new(editor: Editor, environment: &Environment, control: &'a Control) -> Self {
        Self { editor, is_present: environment::is_person_present(environment), control }
    }
}

impl Person for TerminalPerson<'_> {
    fn show(&mut self, line: &str) {
        line.split('\n').for_each(render::line);
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        // A line from a file or a pipe does not come from a person, so it is not an answer.
        if !self.is_present || self.control.requested().is_some() {
            return None;
        }
        // Input that was typed or pasted before the question was shown is no answer, so it is discarded.
        terminal::forget_input();
        render::prompt(&format!("{prompt} "));
        let answer = terminal::read_answer(self.control);
        if answer.is_none() {
            render::end_prompt();
        }
        answer
    }

    fn find_editor(&mut self) -> Result<(), EditorFailure> {
        self.editor.program().map(drop)
    }

    fn edit(&mut self, slug: &Slug, files: &[PathBuf]) -> Result<(), EditorFailure> {
        if !self.is_present {
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
