//! Finds the file of a project whose path is most like the path of a missing file.

use std::path::{Component, Path, PathBuf};

use proctor_plan::config::nearest;

/// At most this many names of a directory are looked at.
const MOST_NAMES: usize = 2000;

/// Returns the path, relative to the project, that is most like a path that does not exist: another name in its directory, or in the
/// nearest directory above it that exists. `None` if no name is like it.
pub(crate) fn nearest_file(root: &Path, path: &Path) -> Option<String> {
    let mut directory = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return None };
        let is_last = parts.peek().is_none();
        let full = root.join(&directory).join(name);
        // A link may lead out of the project, so nothing is listed behind one.
        let is_there = full.symlink_metadata().is_ok_and(|metadata| is_last || metadata.is_dir());
        if is_there {
            directory.push(name);
            continue;
        }
        let wanted = name.to_str()?;
        let names = names_in(&root.join(&directory));
        let same = names.iter().find(|there| there.eq_ignore_ascii_case(wanted)).map(String::as_str);
        let near = same.or_else(|| nearest(wanted, names.iter().map(String::as_str)))?;
        return Some(directory.join(near).to_string_lossy().into_owned());
    }
    None
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes the files of a project, which are not evidence")]
    fn a_missing_file_has_a_neighbour_of_a_like_name() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("src/quotes")).expect("it is ours");
        fs::write(root.path().join("src/quotes/QuoteService.ts"), "x").expect("it is ours");
        let near = |path: &str| nearest_file(root.path(), Path::new(path));
        assert_eq!(near("src/quotes/quoteservice.ts").as_deref(), Some("src/quotes/QuoteService.ts"));
        assert_eq!(near("src/quotes/QuoteServices.ts").as_deref(), Some("src/quotes/QuoteService.ts"));
        assert_eq!(near("src/quote/QuoteService.ts").as_deref(), Some("src/quotes"));
        assert_eq!(near("src/quotes/QuoteService.ts"), None, "it is there");
        assert_eq!(near("nothing/like/it"), None);
        assert_eq!(near("../quotes"), None);
    }
}
