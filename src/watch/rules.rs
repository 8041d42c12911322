//! Reading the rules files of a directory for the matcher.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

use crate::ignore::{Matcher, RulesFile};
use crate::model::TreePath;

/// The same bound as the digest's (`tree/content.rs`): a larger file is no rules file.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// What a look at the rules files of a directory found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RulesNews {
    /// They are as the matcher knows them.
    Same,
    /// The matcher has other rules now, from this file among others.
    Changed(RulesFile),
}

/// Makes the matcher know the rules files of a directory as they are now.
pub(super) fn read_rules(root: &Path, directory: &TreePath, matcher: &mut Matcher) -> RulesNews {
    let mut news = RulesNews::Same;
    for file in RulesFile::ALL {
        let before = matcher.rules_digest(directory, file);
        match read_text(&root.join(directory.as_path()).join(file.name())) {
            // A line that is no pattern changes nothing, as for git.
            Ok(text) => drop(matcher.add_rules(directory, file, &text)),
            // Whatever keeps it from being read keeps the digest from reading it, and there it is named.
            Err(_) => matcher.remove_rules(directory, file),
        }
        if matcher.rules_digest(directory, file) != before {
            news = RulesNews::Changed(file);
        }
    }
    news
}

/// Makes the matcher know the rules files of every directory on the way to a path, as a walk would.
pub fn learn_rules_on_the_way(root: &Path, path: &TreePath, matcher: &mut Matcher) {
    let mut way = Vec::new();
    let mut above = path.parent();
    while let Some(directory) = above {
        above = directory.parent();
        way.push(directory);
    }
    for directory in way.iter().rev() {
        // A directory whose rules do not count is not read, nor is what a walk does not come to.
        if matcher.scope(directory).is_some_and(|scope| scope.reads_rules()) {
            read_rules(root, directory, matcher);
        }
    }
}

fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    let length = file.take(MAX_RULES_BYTES + 1).read_to_end(&mut text)?;
    if length as u64 > MAX_RULES_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
