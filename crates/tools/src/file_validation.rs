//! Judges a FILE_VALIDATION: compares a file with what the check requires of it (C16). A missing file meets no requirement.

use regex::bytes::RegexBuilder;

use crate::json_schema::{SchemaProblem, check_schema};
use proctor_model::{CategoryCode, FileCheck, FileObservation, FileState, FileValidation, FoundFile, Interpretation};

/// The limit for the memory of one compiled regular expression, in bytes.
const REGEX_CAP: usize = 1024 * 1024;
/// A quoted text is cut off after this many characters.
const QUOTED: usize = 80;

/// Why a validation failed, and whether the file or the check is at fault.
enum Fault {
    /// The file does not meet a requirement.
    File(String),
    /// The requirement itself is invalid, so no file can meet it.
    Question(String),
}

/// Judges a file. Every input has a result. A file that could not be read completely is never a success.
pub fn interpret_file(validation: &FileValidation, seen: &FileObservation) -> Interpretation {
    let path = &seen.path;
    let (category, reason) = match &seen.look {
        FileState::Missing => (CategoryCode::FileMissing, format!("`{path}` does not exist")),
        FileState::NotInTree { is_directory } => (
            CategoryCode::FileNotInTree,
            format!(
                "`{path}` is {} on disk, and not in the tree that is judged; `proctor why {path}` says which rule leaves it out",
                kind_on_disk(*is_directory)
            ),
        ),
        FileState::Outside(why) => (
            CategoryCode::FileOutside,
            format!("`{path}` is not looked at: {why}, outside of the project and its environment; name a file inside of them"),
        ),
        FileState::Refused(why) => (CategoryCode::FileInvalid, format!("`{path}` is not looked into: {why}")),
        FileState::OutOfTime => {
            (CategoryCode::TimedOut, format!("`{path}` could not be read within the time-out; raise it, or check a smaller file"))
        }
        FileState::Stopped(reason) => {
            (CategoryCode::Stopped, format!("The run was stopped while it read `{path}`: {}", reason.why()))
        }
        FileState::Found(found) => match fault(&validation.check, found) {
            None => (CategoryCode::FileValid, format!("`{path}` {}", proven(&validation.check, found))),
            Some(Fault::File(what)) => (CategoryCode::FileInvalid, format!("`{path}` {what}")),
            Some(Fault::Question(what)) => (CategoryCode::UsageError, what),
        },
    };
    Interpretation::plain(category, reason)
}

/// Names what stands on disk at a path that is not in the judged tree.
pub(super) fn kind_on_disk(is_directory: bool) -> &'static str {
    if is_directory { "a directory" } else { "a file" }
}

fn proven(check: &FileCheck, found: &FoundFile) -> String {
    match check {
        FileCheck::Exists => format!("exists ({} bytes)", found.bytes),
        FileCheck::ContentMatch { .. } => "has the content it must have".to_owned(),
        FileCheck::SchemaValid { .. } => "satisfies its schema".to_owned(),
        FileCheck::HashMatch { sha256 } => format!("has the SHA-256 {}", sha256.hex()),
        FileCheck::SizeCheck { .. } => format!("has {} bytes, as it must", found.bytes),
    }
}

fn fault(check: &FileCheck, found: &FoundFile) -> Option<Fault> {
    match check {
        FileCheck::Exists => None,
        FileCheck::ContentMatch { text: None, regex: None } => {
            Some(Fault::Question("CONTENT_MATCH names neither a text nor a regular expression".to_owned()))
        }
        FileCheck::ContentMatch { text, regex } => {
            let content = match content_of(found) {
                Ok(content) => content,
                Err(fault) => return Some(fault),
            };
            let of_text = text.as_ref().filter(|text| !contains(content, text.as_bytes()));
            let missing = of_text.map(|text| Fault::File(format!("does not have the text `{}`", quoted(text))));
            missing.or_else(|| regex.as_ref().and_then(|regex| unmatched(content, regex)))
        }
        FileCheck::SchemaValid { schema } => match content_of(found).map(|content| check_schema(schema, content)) {
            Err(fault) => Some(fault),
            Ok(Ok(())) => None,
            Ok(Err(problem @ SchemaProblem::Schema(_))) => Some(Fault::Question(sentence(&problem))),
            Ok(Err(problem)) => Some(Fault::File(format!("is not valid: {problem}"))),
        },
        FileCheck::HashMatch { sha256 } => match found.sha256 {
            Some(seen) if seen == *sha256 => None,
            Some(seen) => Some(Fault::File(format!("has the SHA-256 {}, not {}", seen.hex(), sha256.hex()))),
            None => Some(Fault::File("was not read".to_owned())),
        },
        FileCheck::SizeCheck { minimum: None, maximum: None } => {
            Some(Fault::Question("SIZE_CHECK names neither a smallest nor a largest size".to_owned()))
        }
        FileCheck::SizeCheck { minimum, maximum } => {
            let small = minimum.filter(|minimum| found.bytes < *minimum).map(|minimum| format!("less than {minimum}"));
            let large = maximum.filter(|maximum| found.bytes > *maximum).map(|maximum| format!("more than {maximum}"));
            small.or(large).map(|wrong| Fault::File(format!("has {} bytes, {wrong}", found.bytes)))
        }
    }
}

fn content_of(found: &FoundFile) -> Result<&[u8], Fault> {
    found.content.as_deref().ok_or_else(|| Fault::File(format!("has {} bytes, more than are looked through", found.bytes)))
}

fn unmatched(content: &[u8], regex: &str) -> Option<Fault> {
    match is_match(content, regex) {
        Ok(true) => None,
        Ok(false) => Some(Fault::File(format!("has no match of `{}`", quoted(regex)))),
        Err(why) => Some(Fault::Question(why)),
    }
}

/// Returns whether the content matches a regular expression, in time proportional to the content's length. The error
/// says why the expression is invalid.
pub(super) fn is_match(content: &[u8], regex: &str) -> Result<bool, String> {
    let compiled = RegexBuilder::new(regex).size_limit(REGEX_CAP).build();
    compiled.map(|compiled| compiled.is_match(content)).map_err(|error| {
        let why = error.to_string();
        let last = why.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        format!("`{}` is no regular expression: {}", quoted(regex), last.trim().trim_start_matches("error: "))
    })
}

pub(super) fn contains(content: &[u8], part: &[u8]) -> bool {
    // The regular expression of a literal text finds it in linear time. The naive search is slower and serves only if compiling
    // fails.
    is_match(content, &literal(part)).unwrap_or_else(|_| content.windows(part.len().max(1)).any(|window| window == part))
}

fn literal(part: &[u8]) -> String {
    format!("(?-u){}", part.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>())
}

/// Returns a text shortened to one line of at most [`QUOTED`] characters; a longer text ends with `…` and cuts no word.
pub(super) fn quoted(text: &str) -> String {
    shortened(text, QUOTED).replace('\n', "\\n")
}

/// Returns at most so many characters of a text, and `…` where it is longer. No word is cut: reports take secrets out by their shape, and a
/// part of a secret has none.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let is_between_words = |character: char| character.is_whitespace() || "\"'`,;<>()[]{}".contains(character);
    let is_whole = text[end..].starts_with(is_between_words);
    let kept = if is_whole { &text[..end] } else { text[..end].trim_end_matches(|character| !is_between_words(character)) };
    format!("{kept}…")
}

pub(super) fn sentence(problem: &SchemaProblem) -> String {
    let text = problem.to_string();
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use proctor_model::{Digest, Timestamp};

    #[test]
    fn a_text_is_never_cut_inside_of_a_word() {
        let token = format!("ghp_{}", "a".repeat(32));
        let said = quoted(&format!("curl --silent --header 'Authorization: {token}' https://me:{token}@example.org/{token}"));
        assert!(said.starts_with("curl --silent") && said.contains(&token) && said.ends_with("…"), "{said}");
        for before in 0..90 {
            let said = quoted(&format!("{} {token} and what comes then", "a ".repeat(before / 2)));
            assert_eq!(said.contains("ghp_"), said.contains(&token), "{said}");
        }
        assert_eq!(quoted(&token.repeat(3)), "…");
        assert_eq!(quoted("two\nlines"), "two\\nlines");
    }

    const TEXT: &[u8] = b"export class QuoteService {\n  total(): number { return 42 }\n}\n";

    fn found(content: Option<&[u8]>, bytes: u64) -> FileState {
        FileState::Found(FoundFile {
            bytes,
            modified: Timestamp::from_millis(0),
            sha256: content.map(Digest::of),
            content: content.map(<[u8]>::to_vec),
        })
    }

    fn judge(check: FileCheck, look: FileState) -> (CategoryCode, String) {
        let path = "src/quote.ts".to_owned();
        let judged = interpret_file(&FileValidation { path: path.clone(), check }, &FileObservation { path, look });
        (judged.category, judged.reason)
    }

    fn checks() -> Vec<FileCheck> {
        vec![
            FileCheck::Exists,
            FileCheck::ContentMatch { text: Some("QuoteService".to_owned()), regex: Some("total\\(\\): \\w+".to_owned()) },
            FileCheck::SchemaValid { schema: json!({}) },
            FileCheck::HashMatch { sha256: Digest::of(TEXT) },
            FileCheck::SizeCheck { minimum: Some(1), maximum: None },
        ]
    }

    #[test]
    fn a_file_that_is_not_there_satisfies_no_check() {
        for check in checks() {
            let word = check.word();
            for (look, expected) in [
                (FileState::Missing, CategoryCode::FileMissing),
                (FileState::NotInTree { is_directory: false }, CategoryCode::FileNotInTree),
                (FileState::Outside("`a` leads to `/b`".to_owned()), CategoryCode::FileOutside),
                (FileState::Refused("it is not a regular file".to_owned()), CategoryCode::FileInvalid),
            ] {
                let (category, reason) = judge(check.clone(), look);
                assert_eq!(category, expected, "{word}: {reason}");
            }
            assert_eq!(judge(check.clone(), FileState::OutOfTime).0, CategoryCode::TimedOut, "{word}");
        }
    }

    #[test]
    fn each_check_is_told_from_its_opposite() {
        let of = |content: &[u8]| found(Some(content), content.len() as u64);
        for (check, other) in [
            (checks()[1].clone(), &b"export class Quote {}"[..]),
            (FileCheck::ContentMatch { text: None, regex: Some("^export".to_owned()) }, b"import"),
            (checks()[3].clone(), b"export"),
            (FileCheck::SizeCheck { minimum: Some(10), maximum: Some(100) }, b"short"),
            (FileCheck::SizeCheck { minimum: None, maximum: Some(100) }, &[b'x'; 101]),
        ] {
            assert_eq!(judge(check.clone(), of(TEXT)).0, CategoryCode::FileValid, "{check:?}");
            assert_eq!(judge(check.clone(), of(other)).0, CategoryCode::FileInvalid, "{check:?}");
        }
        let schema = FileCheck::SchemaValid { schema: json!({"type": "object"}) };
        assert_eq!(judge(schema.clone(), of(b"{}")).0, CategoryCode::FileValid);
        for wrong in [&b"[]"[..], b"", b"{"] {
            assert_eq!(judge(schema.clone(), of(wrong)).0, CategoryCode::FileInvalid, "{wrong:?}");
        }
        let exists = format!("`src/quote.ts` exists ({} bytes)", TEXT.len());
        assert_eq!(judge(FileCheck::Exists, of(TEXT)), (CategoryCode::FileValid, exists));
    }

    #[test]
    fn what_was_not_read_is_not_believed() {
        for check in checks().into_iter().filter(|check| !matches!(check, FileCheck::Exists | FileCheck::SizeCheck { .. })) {
            assert_eq!(judge(check.clone(), found(None, 1 << 40)).0, CategoryCode::FileInvalid, "{check:?}");
        }
    }

    #[test]
    fn a_question_that_cannot_be_asked_is_the_specifications_fault() {
        for check in [
            FileCheck::ContentMatch { text: None, regex: None },
            FileCheck::ContentMatch { text: None, regex: Some("(".to_owned()) },
            FileCheck::ContentMatch { text: None, regex: Some("a{1000}{1000}".to_owned()) },
            FileCheck::SchemaValid { schema: json!({"type": 3}) },
            FileCheck::SizeCheck { minimum: None, maximum: None },
        ] {
            let (category, reason) = judge(check.clone(), found(Some(TEXT), 61));
            assert_eq!(category, CategoryCode::UsageError, "{check:?}: {reason}");
        }
    }

    #[test]
    fn a_text_is_found_as_it_is_and_never_read_as_an_expression() {
        assert!(contains(b"a.b", b"a.b") && !contains(b"axb", b"a.b"));
        assert!(contains(b"\xff\x00z", b"\x00z") && contains(b"x", b"") && !contains(b"", b"x"));
    }
}
