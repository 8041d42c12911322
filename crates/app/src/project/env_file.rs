//! Reads the file that the setting `env_file` names: lines `NAME=value`, and comments with `#`. `export` before a name
//! and quotes around a value are removed. Escapes and variables in a value are not expanded.

use std::path::Path;

use crate::error::CommandError;
use proctor_evidence::read_regular_text;
use proctor_model::CommandExit;
use proctor_plan::config::FileVariables;

/// The longest file of variables that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the file `name`, which is relative to the project or absolute.
pub(crate) fn read(root: &Path, name: &str) -> Result<FileVariables, CommandError> {
    let text = read_regular_text(&root.join(name), LONGEST).map_err(|error| {
        CommandError::caused(CommandExit::SpecificationWrong, format!("`env_file` names `{name}`, which cannot be read"), &error)
            .hint("create the file, or take `env_file` out of `[environment]` in proctor.toml")
    })?;
    parse(&text).map(FileVariables).map_err(|(line, problem)| {
        CommandError::new(CommandExit::SpecificationWrong, format!("{name}:{line}: {problem}"))
            .hint("write one `NAME=value` on each line; lines that begin with # are comments")
    })
}

/// Replaces the name of a file in the project by the file's real path, if a link on the way leads out of the project. A file outside
/// of the project is asked for, whatever name it has in the project.
pub(crate) fn name_what_a_link_leads_to(root: &Path, name: &mut String) {
    let (Ok(real), Ok(root)) = (root.join(&name).canonicalize(), root.canonicalize()) else { return };
    if Path::new(name).is_relative() && !real.starts_with(root) && !name.split('/').any(|part| part == "..") {
        *name = real.to_string_lossy().into_owned();
    }
}

fn parse(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            // The message does not show the line, because it may be part of a secret with several lines.
            return Err((index + 1, "the line has no `=`".to_owned()));
        };
        let name = name.trim();
        let is_name = !name.is_empty()
            && !name.starts_with(|character: char| character.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if !is_name {
            return Err((index + 1, "what stands before `=` is not a variable's name".to_owned()));
        }
        variables.push((name.to_owned(), unquote(value.trim()).to_owned()));
    }
    Ok(variables)
}

fn unquote(value: &str) -> &str {
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_project_is_named_by_what_it_leads_to() {
        let place = tempfile::tempdir().expect("a directory");
        let place = place.path().canonicalize().expect("it is there");
        let root = place.join("project");
        std::fs::create_dir_all(root.join("inner")).expect("made");
        for file in [place.join("outside"), root.join("inner/file")] {
            std::fs::File::create(file).expect("made");
        }
        for (link, target) in [(".env", "../outside"), ("up", ".."), (".inside", "inner/file")] {
            std::os::unix::fs::symlink(target, root.join(link)).expect("linked");
        }
        let named = |name: &str| {
            let mut name = name.to_owned();
            name_what_a_link_leads_to(&root, &mut name);
            name
        };
        let outside = place.join("outside").display().to_string();
        assert_eq!([named(".env"), named("up/outside")], [outside.clone(), outside]);
        for same in [".inside", "inner/file", "../outside", "/etc/hosts", "missing"] {
            assert_eq!(named(same), same);
        }
    }

    #[test]
    fn lines_are_names_and_values_and_a_wrong_line_is_named() {
        let text = "# a comment\n\nA=1\nexport B = 'two words'\nC=\"x=y\"\n";
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text), Ok(expected.to_vec()));
        assert_eq!(parse("A=1\nnonsense").expect_err("no `=`").0, 2);
        assert_eq!(parse("1A=1").expect_err("no name").0, 1);
    }
}
