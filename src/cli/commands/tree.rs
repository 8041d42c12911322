//! `proctor generate tree`: prints the digest of the present tree, and on request its entries. Every file is read anew, without
//! the saved index of file times.

use serde::Serialize;

use crate::cli::generate_arguments::TreeOptions;
use crate::cli::render;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, Digest, EntryKind, TreeDigest, TreeFormat, TreeIssue, TreeIssueKind, is_hidden_character};
use proctor_project::ProjectError;
use proctor_sandbox::process::clock;
use proctor_tree::{TreeEntry, TreeIndex};

/// The document that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TreeDocumentV1 {
    format: TreeFormat,
    root: String,
    digest: TreeDigest,
    files: u64,
    issues: Vec<TreeIssueV1>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<TreeEntryV1>>,
}

/// An entry of the tree, or an input beside it. Bytes of the path that are not plain text are escaped.
#[derive(Serialize)]
struct TreeEntryV1 {
    kind: EntryKind,
    digest: Option<Digest>,
    path: String,
}

#[derive(Serialize)]
struct TreeIssueV1 {
    kind: TreeIssueKind,
    path: String,
}

pub(crate) fn execute(options: &TreeOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let (configuration, _) = setup::configuration(environment, &root)?;
    let matcher = opening::matcher(environment, &root, &configuration)?;
    let index = TreeIndex::scan(&root, &matcher, clock::now()).map_err(ProjectError::Tree)?;
    let issues = index.issues();
    if options.json {
        let document = TreeDocumentV1 {
            format: index.format(),
            root: root.display().to_string(),
            digest: index.digest(),
            files: index.files(),
            issues: issues.iter().map(to_issue).collect(),
            entries: options.list.then(|| entries(&index).collect()),
        };
        render::document(&document);
        return Ok(CommandExit::Proceed);
    }
    if options.list {
        // There may be a hundred thousand entries, so all lines are written at once.
        let lines: String = entries(&index).map(|entry| format!("{}\n", line(&entry))).collect();
        render::text(&lines);
    }
    render::line(&index.digest().to_string());
    if let Some(problem) = index.git_problem() {
        render::note(&format!(
            "note: git's index cannot be used: {problem}; files that a rule ignores are left out, tracked or not"
        ));
    }
    for issue in &issues {
        render::note(&format!("note: `{}` {}", escape(issue.path.as_bytes()), explain(issue.kind)));
    }
    Ok(CommandExit::Proceed)
}

fn to_issue(issue: &TreeIssue) -> TreeIssueV1 {
    TreeIssueV1 { kind: issue.kind, path: escape(issue.path.as_bytes()) }
}

/// Returns every entry of a tree, and then its inputs.
fn entries(index: &TreeIndex) -> impl Iterator<Item = TreeEntryV1> {
    let of_tree = index.entries().map(|TreeEntry { path, kind, digest }| (kind, digest, escape(path.as_bytes())));
    let inputs = index.digested_inputs().map(|(name, kind, digest)| (kind, digest, escape(name.as_bytes())));
    of_tree.chain(inputs).map(|(kind, digest, path)| TreeEntryV1 { kind, digest, path })
}

/// Returns the line of an entry: the letter of its kind, its digest (zeros for an unreadable entry) and its path.
fn line(entry: &TreeEntryV1) -> String {
    let letter = match (entry.kind, entry.digest) {
        (_, None) => 'u',
        (EntryKind::Directory, Some(_)) => 'd',
        (EntryKind::File, Some(_)) => 'f',
        (EntryKind::Executable, Some(_)) => 'x',
        (EntryKind::Link, Some(_)) => 'l',
    };
    let digest = entry.digest.map_or_else(|| "0".repeat(64), |digest| digest.hex());
    format!("{letter} {digest} {}", entry.path)
}

fn explain(kind: TreeIssueKind) -> &'static str {
    match kind {
        TreeIssueKind::Unreadable => "cannot be read: it counts as unreadable, whatever is in it",
        TreeIssueKind::Special => "is a socket, a pipe or a device: it is no part of the digest",
    }
}

/// Escapes backslashes, hidden characters and bytes that are not UTF-8, so that the path is one unambiguous line. Different
/// paths stay different.
fn escape(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                character if is_hidden_character(character) => {
                    let mut bytes = [0; 4];
                    character.encode_utf8(&mut bytes).bytes().for_each(|byte| text.push_str(&hexadecimal(byte)));
                }
                character => text.push(character),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&hexadecimal(*byte)));
    }
    text
}

fn hexadecimal(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_escaped_and_never_become_the_same() {
        for (path, expected) in [
            (&b"src/a b.py"[..], "src/a b.py"),
            ("caf\u{e9}".as_bytes(), "caf\u{e9}"),
            (b"caf\xe9", "caf\\xe9"),
            (b"a\nb\tc\rd", "a\\nb\\tc\\rd"),
            (b"a\\nb", "a\\\\nb"),
            (b"\x1b[2J\x7f", "\\x1b[2J\\x7f"),
            ("\u{85}".as_bytes(), "\\xc2\\x85"),
            ("a\u{202e}".as_bytes(), "a\\xe2\\x80\\xae"),
        ] {
            assert_eq!(escape(path), expected);
        }
    }
}
