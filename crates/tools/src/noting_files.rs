//! What was asked of a project's files. Whatever was made of the answers holds as long as the files answer the same.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::project_files::ProjectFiles;
use proctor_model::Digest;

/// A question about a project's files. The text is a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Content(String),
    Exists(String),
    IsDirectory(String),
    Names(String),
    LevelsAbove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// The digest of the content; `None` if there is nothing that can be read.
    Content(Option<Digest>),
    Holds(bool),
    Names(Vec<String>),
    Levels(usize),
}

/// A project's files, of which what is asked is noted.
pub struct NotingFiles<'f> {
    files: &'f dyn ProjectFiles,
    asked: RefCell<BTreeMap<Question, Answer>>,
}

/// What was asked of a project's files, and what they answered.
#[derive(Debug)]
pub struct AskedFiles(BTreeMap<Question, Answer>);

impl Question {
    fn ask(&self, files: &dyn ProjectFiles) -> Answer {
        match self {
            Self::Content(path) => Answer::Content(files.read(path).map(|content| Digest::of(&content))),
            Self::Exists(path) => Answer::Holds(files.exists(path)),
            Self::IsDirectory(path) => Answer::Holds(files.is_directory(path)),
            Self::Names(directory) => Answer::Names(files.names(directory)),
            Self::LevelsAbove => Answer::Levels(files.levels_above()),
        }
    }
}

impl AskedFiles {
    /// Returns whether the files answer as they did.
    pub fn answer_as_before(&self, files: &dyn ProjectFiles) -> bool {
        self.0.iter().all(|(question, answer)| question.ask(files) == *answer)
    }
}

impl<'f> NotingFiles<'f> {
    /// Returns files that answer as `files` do.
    pub fn of(files: &'f dyn ProjectFiles) -> Self {
        Self { files, asked: RefCell::default() }
    }

    /// Returns what was asked so far.
    pub fn into_asked(self) -> AskedFiles {
        AskedFiles(self.asked.into_inner())
    }

    fn note(&self, question: Question, answer: Answer) {
        self.asked.borrow_mut().insert(question, answer);
    }
}

impl ProjectFiles for NotingFiles<'_> {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let content = self.files.read(path);
        self.note(Question::Content(path.to_owned()), Answer::Content(content.as_deref().map(Digest::of)));
        content
    }

    fn exists(&self, path: &str) -> bool {
        let exists = self.files.exists(path);
        self.note(Question::Exists(path.to_owned()), Answer::Holds(exists));
        exists
    }

    fn is_directory(&self, path: &str) -> bool {
        let is_directory = self.files.is_directory(path);
        self.note(Question::IsDirectory(path.to_owned()), Answer::Holds(is_directory));
        is_directory
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let names = self.files.names(directory);
        self.note(Question::Names(directory.to_owned()), Answer::Names(names.clone()));
        names
    }

    fn levels_above(&self) -> usize {
        let levels = self.files.levels_above();
        self.note(Question::LevelsAbove, Answer::Levels(levels));
        levels
    }
}
