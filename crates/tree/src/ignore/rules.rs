//! Rules files (`.gitignore` and `.ignore`), compiled.
//!
//! The rules files of a repository that are written above an input and apply to it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::ignore::pattern::{DecidingPattern, PatternList, PatternSource};
use proctor_model::{Digest, TreePath, words};

/// A file whose lines say which paths do not belong to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RulesFile {
    GitIgnore,
    /// `.ignore`, which overrides `.gitignore` of the same directory.
    DotIgnore,
}

/// The rules files of one directory: for each of the two kinds the digest and the compiled patterns, if there is such a
/// file.
#[derive(Debug, Clone)]
pub struct DirectoryRules {
    pub(super) directory: TreePath,
    /// For rules above the root of an input: the path from their directory to the root, with a slash at the end. Otherwise empty.
    pub(super) down_to_root: Vec<u8>,
    git_ignore: Option<RulesText>,
    dot_ignore: Option<RulesText>,
}

/// One rules file: its digest and its patterns.
#[derive(Debug, Clone)]
pub(super) struct RulesText {
    pub(super) digest: Digest,
    pub(super) patterns: PatternList,
}

impl RulesFile {
    /// Returns the kind of rules file with this name; `None` if the name is not that of a rules file.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.name().as_bytes() == name)
    }
}

words! {
    /// Returns the file's name. The kind of rules file that overrides the other comes first.
    pub fn RulesFile::name, ALL: DotIgnore ".ignore", GitIgnore ".gitignore"
}

impl DirectoryRules {
    pub(super) fn new(directory: TreePath) -> Self {
        Self { directory, down_to_root: Vec::new(), git_ignore: None, dot_ignore: None }
    }

    /// Compiles the texts of a directory's rules files. As in git, a line that is not a valid pattern has no effect.
    pub fn parse(directory: TreePath, texts: &[(RulesFile, Vec<u8>)]) -> Self {
        let mut rules = Self::new(directory);
        for (file, text) in texts {
            let origin = PatternSource::File(rules.directory.join(file.name().as_bytes()).to_string());
            let (patterns, _problems) = PatternList::parse(&origin, text);
            *rules.text_mut(*file) = Some(RulesText { digest: Digest::of(text), patterns });
        }
        rules
    }

    /// Returns the digest of the text of one of the rules files; `None` if the directory has no such file.
    pub fn digest_of(&self, file: RulesFile) -> Option<Digest> {
        self.text(file).map(|text| text.digest)
    }

    /// Returns the pattern that decides about a path, and the file that has it. The path is relative to the root.
    pub(super) fn find_deciding(&self, path: &[u8], is_directory: bool) -> Option<(RulesFile, DecidingPattern<'_>)> {
        let prefix = self.directory.as_bytes().len();
        let below = &path[if prefix == 0 { 0 } else { prefix + 1 }..];
        let relative =
            if self.down_to_root.is_empty() { Cow::Borrowed(below) } else { Cow::Owned([&self.down_to_root, below].concat()) };
        let of_file = |file| Some((file, self.text(file)?.patterns.find_deciding(&relative, is_directory)?));
        RulesFile::ALL.into_iter().find_map(of_file)
    }

    pub(super) fn text(&self, file: RulesFile) -> Option<&RulesText> {
        match file {
            RulesFile::GitIgnore => self.git_ignore.as_ref(),
            RulesFile::DotIgnore => self.dot_ignore.as_ref(),
        }
    }

    pub(super) fn text_mut(&mut self, file: RulesFile) -> &mut Option<RulesText> {
        match file {
            RulesFile::GitIgnore => &mut self.git_ignore,
            RulesFile::DotIgnore => &mut self.dot_ignore,
        }
    }
}

/// What the rules files from the root of a repository down to the directory that holds an input say about the input.
#[derive(Debug, Clone, Default)]
pub(crate) struct RulesAbove {
    /// The rules files, those of the repository's root first. Their patterns are applied to paths in the input.
    pub(super) rules: Vec<Arc<DirectoryRules>>,
    /// Whether the rules exclude the input as a whole. As in git, only its tracked files belong to it then.
    pub(crate) excludes: bool,
}

impl RulesAbove {
    /// Reads the rules files above an input, by the input's path from the repository's root. `read` returns the texts of a directory's
    /// rules files, by the path of the directory.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn read<E>(
        path: &[u8],
        is_directory: bool,
        mut read: impl FnMut(&[u8]) -> Result<Vec<(RulesFile, Vec<u8>)>, E>,
    ) -> Result<Self, E> {
        let (mut found, mut excludes) = (Vec::new(), false);
        let starts = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(slash, _)| slash + 1);
        for start in std::iter::once(0).chain(starts) {
            let texts = read(path[..start].strip_suffix(b"/").unwrap_or_default())?;
            if !texts.is_empty() {
                found.push((start, DirectoryRules::parse(TreePath::root(), &texts)));
            }
            let end = path[start..].iter().position(|byte| *byte == b'/').map_or(path.len(), |length| start + length);
            let deciding = |(start, rules): &(usize, DirectoryRules)| {
                let found = rules.find_deciding(&path[*start..end], end < path.len() || is_directory)?.1;
                Some(matches!(found, DecidingPattern::Excluded(_)))
            };
            excludes = found.iter().rev().find_map(deciding) == Some(true);
            // Rules files in an excluded directory put nothing back.
            if excludes {
                break;
            }
        }
        let rules = found.into_iter().map(|(start, mut rules)| {
            rules.down_to_root = [&path[start..], b"/"].concat();
            Arc::new(rules)
        });
        Ok(Self { rules: rules.collect(), excludes })
    }
}
