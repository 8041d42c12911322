//! How every command is told which project is meant, and which values the placeholders of its test specifications have.

use std::path::{Path, PathBuf};

use clap::Args;

use proctor_plan::config::is_placeholder_name;

// This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Args)]
pub(crate) struct ProjectPlace {
    /// The same as `--project DIR`
    #[arg(default_value = ".", value_name = "DIR", hide_default_value = true)]
    directory: PathBuf,
    /// The project's directory. For `.`, the nearest directory, here or above, with a proctor.toml or that is registered
    #[arg(long = "project", id = "named_project", value_name = "DIR", conflicts_with = "directory", default_value = ".")]
    named: PathBuf,
}

impl ProjectPlace {
    /// Names a project by its directory.
    pub(crate) fn at(root: &Path) -> Self {
        Self { directory: root.to_owned(), named: root.to_owned() }
    }

    /// Returns the project's directory as the user named it.
    pub(crate) fn path(&self) -> &Path {
        // One of the two is the default, because clap refuses a command line with both.
        if self.directory == Path::new(".") { &self.named } else { &self.directory }
    }
}

// This is no doc comment, because clap would use it as the command's help.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ValueOptions {
    /// Fill the placeholder `{{NAME}}` of test specifications, before `[specification]` of proctor.toml; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE", global = true, value_parser = read_value)]
    pub(crate) set: Vec<(String, String)>,
}

fn read_value(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| "a name and a value are expected, for example `--set PORT=3000`".to_owned())?;
    if !is_placeholder_name(name) {
        return Err(format!("`{}` is not the name of a placeholder: letters, digits, `_` and `.`", name.escape_debug()));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        place: ProjectPlace,
    }

    #[test]
    fn a_project_is_named_by_the_option_or_by_the_argument_and_not_by_both() {
        let path = |words: &[&str]| {
            let words = std::iter::once("proctor").chain(words.iter().copied());
            Command::try_parse_from(words).ok().map(|command| command.place.path().to_owned())
        };
        assert_eq!(path(&[]), Some(PathBuf::from(".")));
        assert_eq!(path(&["shop"]), Some(PathBuf::from("shop")));
        assert_eq!(path(&["--project", "shop"]), Some(PathBuf::from("shop")));
        assert_eq!(path(&["--project", "shop", "shop"]), None);
        assert_eq!(path(&["--project", ".", "shop"]), None);
    }
}

#[cfg(test)]
mod value_arguments_tests {
    use super::*;

    #[test]
    fn a_value_has_a_name_and_may_have_anything_behind_the_first_equals_sign() {
        let read = |text| read_value(text).map_err(|error| error.chars().take(20).collect::<String>());
        assert_eq!(read("URL=http://a?b=c"), Ok(("URL".to_owned(), "http://a?b=c".to_owned())));
        assert_eq!(read("EMPTY="), Ok(("EMPTY".to_owned(), String::new())));
        for text in ["PORT", "=1", "1A=b", "A B=c", "{{A}}=b"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
