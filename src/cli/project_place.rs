//! How every command is told which project is meant.

use std::path::{Path, PathBuf};

use clap::Args;

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
