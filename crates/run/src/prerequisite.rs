//! Decides whether a prerequisite needs to run again. Its command, its inputs and its outputs are combined into one digest.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use proctor_evidence::open_regular_file;
use proctor_model::{Action, Digest};

/// The largest input in bytes whose content is compared, because a run must not wait for ever for a file without end. A
/// prerequisite with a larger input runs every time.
const LARGEST_INPUT: u64 = 4 * 1024 * 1024 * 1024;

/// The inputs of a prerequisite: its command, working directory and own variables, and the content of the files that
/// its setting `when_changed` names, read right before the prerequisite is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrerequisiteInputs(Digest);

/// Returns the current inputs of a prerequisite; `None` if an input cannot be read, because an unknown input never
/// counts as unchanged. The result is also `None` for the prerequisites of a test specification, which run every time.
pub(crate) fn inputs(root: &Path, action: &Action) -> Option<PrerequisiteInputs> {
    let once = action.once.as_ref()?;
    let mut hasher = Sha256::new();
    for argument in &action.command.argv {
        part(&mut hasher, argument.as_bytes());
    }
    part(&mut hasher, action.directory.as_os_str().as_encoded_bytes());
    for (name, value) in &action.environment {
        part(&mut hasher, name.as_bytes());
        part(&mut hasher, value.as_bytes());
    }
    for input in &once.when_changed {
        part(&mut hasher, input.as_bytes());
        part(&mut hasher, content_digest(&root.join(input), LARGEST_INPUT)?.as_bytes());
    }
    Some(PrerequisiteInputs(Digest::from_hasher(hasher)))
}

/// Returns the digest of a prerequisite that succeeded with these inputs. It covers kind, mode, size and modification
/// time of each output; `None` if an output is missing.
pub(crate) fn state_digest(root: &Path, action: &Action, inputs: PrerequisiteInputs) -> Option<Digest> {
    let mut hasher = Sha256::new();
    part(&mut hasher, inputs.0.as_bytes());
    for made in action.once.iter().flat_map(|once| &once.creates) {
        let metadata = std::fs::symlink_metadata(root.join(made)).ok()?;
        // The target of a link must exist: a virtual environment without its interpreter does not count as existing.
        std::fs::metadata(root.join(made)).ok()?;
        part(&mut hasher, made.as_bytes());
        let identity = format!("{} {} {} {}", metadata.mode(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
        part(&mut hasher, identity.as_bytes());
    }
    Some(Digest::from_hasher(hasher))
}

/// Returns whether the command, the inputs and the outputs of a prerequisite are as they were when it last succeeded.
pub(crate) fn is_unchanged(root: &Path, action: &Action, succeeded: &BTreeMap<String, Digest>) -> bool {
    let now = inputs(root, action).and_then(|inputs| state_digest(root, action, inputs));
    now.is_some() && now.as_ref() == succeeded.get(&action.name)
}

fn part(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// Returns the digest of the whole content of a file; `None` if the file cannot be read, or has more than `largest` bytes.
fn content_digest(path: &Path, largest: u64) -> Option<Digest> {
    let mut hasher = Sha256::new();
    let file = open_regular_file(path).ok()?;
    if file.metadata().ok()?.len() > largest {
        return None;
    }
    // The file may grow while it is read.
    let mut reader = file.take(largest.saturating_add(1));
    let mut buffer = vec![0_u8; 64 * 1024];
    let mut length = 0_u64;
    loop {
        match reader.read(&mut buffer).ok()? {
            0 => return (length <= largest).then(|| Digest::from_hasher(hasher)),
            count => {
                length += count as u64;
                hasher.update(&buffer[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing::generic_action as action;
    use proctor_model::{ActionPhase, SkipWhileUnchanged};

    fn prerequisite(when_changed: &[&str], creates: &[&str]) -> Action {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let mut action = action(ActionPhase::Prerequisite);
        action.once = Some(SkipWhileUnchanged { when_changed: owned(when_changed), creates: owned(creates) });
        action
    }

    fn write(root: &Path, name: &str, text: &str) {
        use std::io::Write as _;
        std::fs::File::create(root.join(name)).expect("a file").write_all(text.as_bytes()).expect("written");
    }

    fn remembered(root: &Path, action: &Action) -> BTreeMap<String, Digest> {
        let inputs = inputs(root, action).expect("readable inputs");
        [(action.name.clone(), state_digest(root, action, inputs).expect("a state"))].into()
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
    fn an_input_that_cannot_be_read_is_never_unchanged() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["missing.txt", "."] {
            assert_eq!(inputs(directory.path(), &prerequisite(&[name], &[])), None, "{name}");
        }
    }

    #[test]
    fn a_large_input_is_compared_to_its_last_byte_and_a_larger_one_is_never_unchanged() {
        use std::os::unix::fs::FileExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let file = std::fs::File::create(root.join("packages.tar")).expect("a file");
        // What was hashed once: the first 64 MiB.
        let length = 64 * 1024 * 1024 + 2;
        file.set_len(length).expect("a sparse file");
        let action = prerequisite(&["packages.tar"], &[]);
        let known = remembered(root, &action);
        assert!(is_unchanged(root, &action, &known));
        file.write_all_at(b"x", length - 1).expect("written");
        assert!(!is_unchanged(root, &action, &known), "the last byte changed");
        let path = root.join("packages.tar");
        assert!(content_digest(&path, length).is_some());
        assert_eq!(content_digest(&path, length - 1), None);
        file.set_len(LARGEST_INPUT + 1).expect("a sparse file");
        assert_eq!(inputs(root, &action), None);
    }

    #[test]
    fn an_input_that_changes_while_it_runs_makes_it_run_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        write(root, "requirements.txt", "pytest==9");
        let action = prerequisite(&["requirements.txt"], &[]);
        let before = inputs(root, &action).expect("readable");
        write(root, "requirements.txt", "pytest==10");
        let known = [(action.name.clone(), state_digest(root, &action, before).expect("a state"))].into();
        assert!(!is_unchanged(root, &action, &known));
    }

    #[test]
    fn a_dangling_link_is_not_what_it_should_have_made() {
        let directory = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/nowhere/python", directory.path().join("python")).expect("a link");
        let action = prerequisite(&[], &["python"]);
        let inputs = inputs(directory.path(), &action).expect("it has none");
        assert_eq!(state_digest(directory.path(), &action, inputs), None);
    }
}
