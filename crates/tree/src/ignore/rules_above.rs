//! The rules files of a repository that are written above an input and apply to it.

use std::sync::Arc;

use crate::ignore::pattern::DecidingPattern;
use crate::ignore::rules::{DirectoryRules, RulesFile};
use proctor_model::TreePath;

/// What the rules files from the root of a repository down to the directory that holds an input say about the input.
#[derive(Debug, Clone, Default)]
pub(crate) struct RulesAbove {
    /// The rules files, those of the repository's root first. Their patterns are applied to paths in the input.
    pub(super) rules: Vec<Arc<DirectoryRules>>,
    /// Whether they exclude the input as a whole. As in git, only what is tracked belongs to it then.
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
