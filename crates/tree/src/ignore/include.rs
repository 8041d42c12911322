//! The patterns of `watch.include`, and which excluded directories may contain matches.

use globset::{GlobBuilder, GlobMatcher};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ignore::pattern::{IgnorePatternProblem, PatternList, PatternSource, problem, to_plain_braces};
use crate::ignore::scope::SurroundingTree;

/// The compiled patterns of `watch.include`.
#[derive(Debug, Clone)]
pub(super) struct IncludeList {
    /// All patterns. In a directory that belongs to the tree, an excluded path that matches one of these patterns is
    /// put back into the tree.
    pub(super) patterns: PatternList,
    /// The patterns that name directories (`secrets/*.env`). In an excluded directory, only these patterns put paths
    /// back.
    with_path: PatternList,
    /// The patterns of `with_path`, split into components.
    ways: Vec<PathPattern>,
}

/// The components of a pattern that names directories.
#[derive(Debug, Clone)]
struct PathPattern(Vec<Component>);

#[derive(Debug, Clone)]
enum Component {
    Named(GlobMatcher),
    AnyDepth,
}

impl IncludeList {
    /// Compiles the patterns of the setting. Patterns that cannot be used are returned as problems.
    pub(super) fn compile(written: &[String]) -> (Self, Vec<IgnorePatternProblem>) {
        let (patterns, mut problems) = compile_setting(&PatternSource::Include, written);
        let mut ways = Vec::new();
        let mut named = Vec::new();
        for (line, text) in (1_u32..).zip(written) {
            match to_path_pattern(text) {
                Ok(None) => {}
                Ok(Some(way)) => {
                    ways.push(way);
                    named.push((line, text.trim()));
                }
                Err(error) if problems.iter().all(|known| known.line != line) => {
                    problems.push(problem(&PatternSource::Include, line, text, error));
                }
                Err(_) => {}
            }
        }
        // The problems that this second compilation finds are dropped: the first one has put them into `problems`
        // already.
        let with_path = PatternList::compile(&PatternSource::Include, named.into_iter()).0;
        (Self { patterns, with_path, ways }, problems)
    }

    /// Returns whether a pattern puts back an excluded path. `ground` says whether the directory of the path belongs to
    /// the tree.
    pub(super) fn puts_back(&self, ground: SurroundingTree, path: &[u8], is_directory: bool) -> bool {
        let list = match ground {
            SurroundingTree::Inside => &self.patterns,
            SurroundingTree::Leading | SurroundingTree::Ignored => &self.with_path,
        };
        !list.is_empty() && list.find_deciding(path, is_directory).is_some()
    }

    /// Returns whether a pattern may match something below an excluded directory. A walk of the project must then enter
    /// the directory.
    pub(super) fn leads_below(&self, directory: &[u8]) -> bool {
        self.ways.iter().any(|way| way.leads_below(directory))
    }
}

impl PathPattern {
    fn leads_below(&self, directory: &[u8]) -> bool {
        let mut components = self.0.iter();
        for name in directory.split(|byte| *byte == b'/') {
            match components.next() {
                None => return false,
                Some(Component::AnyDepth) => return true,
                Some(Component::Named(glob)) if glob.is_match(Path::new(OsStr::from_bytes(name))) => {}
                Some(Component::Named(_)) => return false,
            }
        }
        components.next().is_some()
    }
}

/// Compiles the patterns of `watch.ignore` or `watch.include`. A pattern is returned as a problem if it is empty,
/// begins with `!`, is a comment, or means the whole project. Such a pattern would have no effect, or not the one that
/// its author wants.
pub(super) fn compile_setting(origin: &PatternSource, written: &[String]) -> (PatternList, Vec<IgnorePatternProblem>) {
    let opposite = match origin {
        PatternSource::Ignore => "`watch.include`",
        PatternSource::Include | PatternSource::File(_) => "`watch.ignore`",
    };
    let mut problems = Vec::new();
    let mut usable = Vec::new();
    for (line, text) in (1_u32..).zip(written) {
        let complaint = match text.trim().chars().next() {
            None => Some("it is empty; remove it".to_owned()),
            Some('!') => Some(format!("`!` has no meaning here; write the pattern without it in {opposite}")),
            Some('#') => Some("it would be a comment; write `\\#` for a name that begins with `#`".to_owned()),
            Some(_) if text.trim().trim_matches('/').is_empty() => Some("it means the whole project; name a path".to_owned()),
            Some(_) => None,
        };
        match complaint {
            Some(complaint) => problems.push(problem(origin, line, text, complaint)),
            None => usable.push((line, text.trim())),
        }
    }
    let (list, more) = PatternList::compile(origin, usable.into_iter());
    problems.extend(more);
    (list, problems)
}

/// Splits a pattern that names directories into components. Returns `None` for a pattern that matches at any depth,
/// such as `.env`.
fn to_path_pattern(pattern: &str) -> Result<Option<PathPattern>, String> {
    let trimmed = pattern.trim();
    let inner = trimmed.trim_matches('/');
    if inner.is_empty() || inner.starts_with("**") || !trimmed.trim_end_matches('/').contains('/') {
        return Ok(None);
    }
    let components = inner.split('/').map(to_component).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(PathPattern(components)))
}

fn to_component(text: &str) -> Result<Component, String> {
    if text == "**" {
        return Ok(Component::AnyDepth);
    }
    let glob = GlobBuilder::new(&to_plain_braces(text)).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| Component::Named(glob.compile_matcher())).map_err(|error| error.kind().to_string())
}
