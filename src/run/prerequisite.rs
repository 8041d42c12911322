//! Whether a prerequisite needs to run again: its command, the files it depends on and what it makes, as one digest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::model::{Action, Digest, Once};

/// Larger inputs than this are hashed no further: a lock file is small, and a run must not wait for it.
const INPUT_CAP: u64 = 64 * 1024 * 1024;

/// Returns the digest of everything an unchanged prerequisite may skip on; none when something it makes is not there.
///
/// It covers the command, the content of `when_changed` and the identity (kind, size, modification time) of `creates`.
pub(crate) fn state_digest(root: &Path, action: &Action, once: &Once) -> Option<Digest> {
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for argument in &action.command.argv {
        part(argument.as_bytes());
    }
    part(action.directory.as_os_str().as_encoded_bytes());
    for (name, value) in &action.environment {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    for input in &once.when_changed {
        part(input.as_bytes());
        part(content_digest(&root.join(input)).as_bytes());
    }
    for made in &once.creates {
        let metadata = std::fs::symlink_metadata(root.join(made)).ok()?;
        // A link is looked through for its existence: a virtual environment whose interpreter is gone is not there.
        std::fs::metadata(root.join(made)).ok()?;
        part(made.as_bytes());
        part(format!("{} {} {} {}", metadata.mode(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()).as_bytes());
    }
    Some(Digest::from_hasher(hasher))
}

/// Returns whether the prerequisite last succeeded in exactly this state.
pub(crate) fn is_unchanged(root: &Path, action: &Action, succeeded: &BTreeMap<String, Digest>) -> bool {
    let once = action.once.clone().unwrap_or_default();
    let now = state_digest(root, action, &once);
    now.is_some() && now.as_ref() == succeeded.get(&action.name)
}

fn content_digest(path: &Path) -> String {
    let mut hasher = Sha256::new();
    let read = File::open(path).and_then(|file| {
        let mut buffer = vec![0_u8; 64 * 1024];
        let mut reader = file.take(INPUT_CAP);
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(()),
                count => hasher.update(&buffer[..count]),
            }
        }
    });
    match read {
        Ok(()) => Digest::from_hasher(hasher).hex(),
        Err(error) => format!("unreadable: {:?}", error.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ActionPhase;
    use crate::run::testing::action;

    fn prerequisite(when_changed: &[&str], creates: &[&str]) -> Action {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let mut action = action(ActionPhase::Prerequisite);
        action.once = Some(Once { when_changed: owned(when_changed), creates: owned(creates) });
        action
    }

    fn write(root: &Path, name: &str, text: &str) {
        use std::io::Write as _;
        File::create(root.join(name)).expect("a file").write_all(text.as_bytes()).expect("written");
    }

    fn remembered(root: &Path, action: &Action) -> BTreeMap<String, Digest> {
        let once = action.once.clone().unwrap_or_default();
        [(action.name.clone(), state_digest(root, action, &once).expect("a state"))].into()
    }

    #[test]
    fn it_is_unchanged_until_an_input_what_it_makes_or_the_command_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        write(root, "requirements.txt", "pytest==9");
        write(root, "made", "x");
        let mut action = prerequisite(&["requirements.txt"], &["made"]);
        let known = remembered(root, &action);
        assert!(is_unchanged(root, &action, &known));
        assert!(!is_unchanged(root, &action, &BTreeMap::new()), "it never succeeded");
        write(root, "requirements.txt", "pytest==8");
        assert!(!is_unchanged(root, &action, &known), "an input changed");
        write(root, "requirements.txt", "pytest==9");
        assert!(is_unchanged(root, &action, &known), "content counts, not time");
        std::fs::remove_file(root.join("made")).expect("removed");
        assert!(!is_unchanged(root, &action, &known), "what it makes is gone");
        write(root, "made", "longer");
        assert!(!is_unchanged(root, &action, &known), "what it makes was replaced");
        let known = remembered(root, &action);
        action.command.argv.push("--more".into());
        assert!(!is_unchanged(root, &action, &known), "the command changed");
    }

    #[test]
    fn a_dangling_link_is_not_what_it_should_have_made() {
        let directory = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/nowhere/python", directory.path().join("python")).expect("a link");
        let action = prerequisite(&[], &["python"]);
        assert_eq!(state_digest(directory.path(), &action, &action.once.clone().unwrap_or_default()), None);
    }
}
