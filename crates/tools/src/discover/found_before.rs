//! What finders found before. A finder asks again only when an answer that it got of the project's files is another one now.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::discover::{Finder, FoundChecks, Looked, packages};
use crate::project_files::ProjectFiles;
use crate::table::ROWS;
use proctor_model::{Digest, Tool};

/// What the finders found before in the files of one project, and what they asked of them.
#[derive(Debug, Default)]
pub struct FoundBefore {
    /// By the place of the tool in the table.
    by_row: BTreeMap<usize, FoundOfTool>,
    finders_run: usize,
}

/// What one finder found.
#[derive(Debug)]
struct FoundOfTool {
    packages: Vec<String>,
    asked: BTreeMap<Question, Answer>,
    found: FoundChecks,
}

/// What a finder asks of a project's files. The text is a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Content(String),
    Exists(String),
    IsDirectory(String),
    Names(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// The digest of the content; `None` if there is nothing that can be read.
    Content(Option<Digest>),
    Holds(bool),
    Names(Vec<String>),
}

/// A project's files, of which what is asked is noted.
struct NotingFiles<'f> {
    files: &'f dyn ProjectFiles,
    asked: RefCell<BTreeMap<Question, Answer>>,
}

impl FoundBefore {
    /// Returns the checks of every tool, in the order in which they run.
    pub fn find_all(&mut self, files: &dyn ProjectFiles) -> FoundChecks {
        self.find_rows(files, |_| true)
    }

    /// Returns the checks of one tool.
    pub fn find_of(&mut self, tool: Tool, files: &dyn ProjectFiles) -> FoundChecks {
        self.find_rows(files, |other| other == tool)
    }

    /// Returns how often a finder has searched the files.
    pub fn finders_run(&self) -> usize {
        self.finders_run
    }

    fn find_rows(&mut self, files: &dyn ProjectFiles, is_wanted: impl Fn(Tool) -> bool) -> FoundChecks {
        let mut all = FoundChecks::default();
        let mut directories = None;
        for (place, row) in ROWS.iter().enumerate().filter(|(_, row)| is_wanted(row.tool)) {
            let Some(find) = row.find else { continue };
            let packages = directories.get_or_insert_with(|| packages(files));
            let before = self.by_row.get(&place).filter(|before| before.holds(packages, files));
            let found = if let Some(before) = before {
                before.found.clone()
            } else {
                self.finders_run += 1;
                let of_tool = FoundOfTool::find(find, packages, files);
                let found = of_tool.found.clone();
                self.by_row.insert(place, of_tool);
                found
            };
            all.found.extend(found.found);
            all.notes.extend(found.notes);
        }
        all
    }
}

impl FoundOfTool {
    fn find(find: Finder, packages: &[String], files: &dyn ProjectFiles) -> Self {
        let noting = NotingFiles { files, asked: RefCell::default() };
        let mut found = FoundChecks::default();
        if find(&noting, "", &mut found) == Looked::Silent {
            for package in packages {
                find(&noting, package, &mut found);
            }
        }
        Self { packages: packages.to_vec(), asked: noting.asked.into_inner(), found }
    }

    /// Returns whether the files answer as they did.
    fn holds(&self, packages: &[String], files: &dyn ProjectFiles) -> bool {
        self.packages == packages && self.asked.iter().all(|(question, answer)| question.ask(files) == *answer)
    }
}

impl Question {
    fn ask(&self, files: &dyn ProjectFiles) -> Answer {
        match self {
            Self::Content(path) => Answer::Content(files.read(path).map(|content| Digest::of(&content))),
            Self::Exists(path) => Answer::Holds(files.exists(path)),
            Self::IsDirectory(path) => Answer::Holds(files.is_directory(path)),
            Self::Names(directory) => Answer::Names(files.names(directory)),
        }
    }
}

impl NotingFiles<'_> {
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
        self.files.levels_above()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::find_checks;
    use crate::project_files::fake::FakeFiles;

    const PROJECT: &[(&str, &str)] =
        &[("pyproject.toml", "[tool.pytest.ini_options]\n"), ("tests/test_a.py", ""), ("src/a.py", "")];

    #[test]
    fn a_finder_runs_again_only_when_what_it_read_has_changed() {
        let (mut before, finders) = (FoundBefore::default(), ROWS.iter().filter(|row| row.find.is_some()).count());
        let files = FakeFiles::of(PROJECT);
        assert_eq!(before.find_all(&files), find_checks(&files));
        assert_eq!(before.finders_run(), finders, "each finder runs once");
        let saved = FakeFiles::of(&[PROJECT, &[("src/a.py", "changed")]].concat());
        assert_eq!(before.find_all(&saved), find_checks(&saved));
        assert_eq!(before.finders_run(), finders, "no finder reads a source file");
        let other = FakeFiles::of(&[PROJECT, &[("pyproject.toml", "[tool.mypy]\n")]].concat());
        assert_eq!(before.find_all(&other), find_checks(&other));
        assert!((finders + 1..2 * finders).contains(&before.finders_run()), "some read it: {}", before.finders_run());
        let run = before.finders_run();
        assert_eq!(before.find_of(Tool::Jest, &other), FoundChecks::default());
        assert_eq!(before.finders_run(), run, "the finder of one tool is the same as that of all");
    }
}
