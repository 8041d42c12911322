//! The option `--set`, which gives values to placeholders of test specifications.

use clap::Args;

use proctor_plan::config::is_placeholder_name;

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
