//! Reads `[specification]`: what fills the placeholders of test specifications. Nothing here reads the environment: whoever
//! loads a project adds which of the named variables are set.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::section::{Document, Section};
use crate::config::values::{WrongValue, filled_text, list, variable_name};
use proctor_model::{quoted_text, words};

/// The shortest value of a variable that fills a placeholder, in bytes. A shorter value could not be told from other text in
/// what a command prints, so it could not be kept out of the evidence.
pub const SHORTEST_SECRET: usize = 4;

/// `[specification]`: the values of the placeholders `{{NAME}}` in test specifications.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SpecificationSettings {
    /// The values by the placeholder's name: those of `--set`, and of `[specification.values]` in `proctor.toml`.
    pub values: BTreeMap<String, PlaceholderValue>,
    /// The names of variables in proctor's own environment that fill the placeholders of the same names. Their values are
    /// secrets: a plan has only the placeholder, and nothing that proctor writes has the value.
    pub from_environment: Vec<String>,
    /// The names in `from_environment` that cannot be used, each with the reason. The reader of `proctor.toml` leaves it empty.
    pub unusable: BTreeMap<String, &'static str>,
}

/// The value of a placeholder, and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceholderValue {
    pub text: String,
    pub source: ValueSource,
}

/// Where the value of a placeholder comes from. The first variant that has the name applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueSource {
    /// `--set NAME=value` on the command line.
    CommandLine,
    /// `from_environment` in `[specification]`: a variable whose value is a secret.
    Environment,
    /// `[specification.values]`.
    Settings,
}

words! {
    /// Returns the source as people call it.
    pub fn ValueSource::words: CommandLine "--set", Environment "from the environment, not recorded",
        Settings "proctor.toml"
}

impl SpecificationSettings {
    /// Returns whether there is no value of any placeholder.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.from_environment.is_empty()
    }

    /// Returns whether a placeholder is filled from the environment. A value of the command line comes first.
    pub fn is_secret(&self, name: &str) -> bool {
        self.from_environment.iter().any(|one| one == name)
            && self.values.get(name).is_none_or(|value| value.source != ValueSource::CommandLine)
    }

    /// Returns the value of a placeholder; `None` if it has none, or if the value is a secret.
    pub fn value(&self, name: &str) -> Option<&PlaceholderValue> {
        self.values.get(name).filter(|_| !self.is_secret(name))
    }

    /// Adds the values of the command line, which come before all others.
    pub fn set(&mut self, given: &[(String, String)]) {
        let source = ValueSource::CommandLine;
        let values = given.iter().map(|(name, text)| (name.clone(), PlaceholderValue { text: text.clone(), source }));
        self.values.extend(values);
    }
}

impl fmt::Debug for SpecificationSettings {
    /// Prints names only: a person may have written a secret among the values.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.values.keys().collect();
        let mut shown = formatter.debug_struct("SpecificationSettings");
        shown.field("values", &names).field("from_environment", &self.from_environment).finish_non_exhaustive()
    }
}

/// Returns whether a text can be the name of a placeholder: a letter or `_`, then letters, digits, `_` and `.`.
pub fn is_placeholder_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|part| part.is_ascii_alphanumeric() || part == '_' || part == '.')
}

pub(super) fn read_specification_settings(section: &Section<'_>, document: &mut Document<'_>) -> SpecificationSettings {
    const VARIABLES: &str = "[\"DATABASE_URL\"]";
    let variable = |value: &Spanned<DeValue<'_>>| {
        let name = filled_text("\"DATABASE_URL\"")(value)?;
        variable_name(&name).map(|()| name)
    };
    SpecificationSettings {
        values: section.optional(document, "values", values).map(|written| written.value).unwrap_or_default(),
        from_environment: section.setting(document, "from_environment", list(variable, VARIABLES)).value,
        unusable: BTreeMap::new(),
    }
}

/// Reads the values. A number or a truth value stands for its text, because a placeholder stands in a text.
fn values(value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, PlaceholderValue>, WrongValue> {
    const EXAMPLE: &str = "{ BASE_URL = \"http://127.0.0.1:3000\", PORT = 3000 }";
    let table = value.get_ref().as_table().ok_or_else(|| WrongValue::kind("a table", value.get_ref()).example(EXAMPLE))?;
    let mut values = BTreeMap::new();
    for (name, value) in table {
        let name: &str = name.get_ref();
        let wrong =
            |problem: WrongValue| WrongValue { element: Some((quoted_text(name), value.span())), ..problem.example(EXAMPLE) };
        if !is_placeholder_name(name) {
            let problem = WrongValue::new(format!("{} is not the name of a placeholder", quoted_text(name)));
            return Err(wrong(problem.hint("use letters, digits, `_` and `.`, not a digit first")));
        }
        let read = value.get_ref();
        let number = read.as_integer().map(|integer| i64::from_str_radix(integer.as_str(), integer.radix()));
        let text = match (read.as_str(), number, read.as_bool()) {
            (Some(text), _, _) if !text.contains('\0') => text.to_owned(),
            (_, Some(Ok(number)), _) => number.to_string(),
            (_, _, Some(flag)) => flag.to_string(),
            (Some(_), _, _) => return Err(wrong(WrongValue::new("a NUL character cannot be part of it"))),
            (None, _, None) => return Err(wrong(WrongValue::kind("a text, a whole number, `true` or `false`", read))),
        };
        values.insert(name.to_owned(), PlaceholderValue { text, source: ValueSource::Settings });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    fn settings(text: &str) -> Result<SpecificationSettings, String> {
        let read = read(text, "proctor.toml").map(|configuration| configuration.specification);
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn values_are_texts_numbers_and_truth_values() {
        let text = "[specification]\nfrom_environment = [\"API_TOKEN\"]\n[specification.values]\nBASE_URL = \"http://a\"\nPORT = 0x10\n\"a.b\" = true\n";
        let read = settings(text).expect("it is right");
        let values: Vec<_> = read.values.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
        assert_eq!(values, [("BASE_URL", "http://a"), ("PORT", "16"), ("a.b", "true")]);
        assert_eq!(read.from_environment, ["API_TOKEN"]);
        assert!(!format!("{read:?}").contains("http"));
        for (text, expected) in [
            ("values = { A = [1] }", "expected a text, a whole number"),
            ("values = { \"a b\" = 1 }", "is not the name of a placeholder"),
            ("values = { A = \"\\u0000\" }", "a NUL character"),
            ("values = 3", "expected a table"),
            ("from_environment = [\"a b\"]", "is not the name of a variable"),
        ] {
            let said = settings(&format!("[specification]\n{text}\n")).expect_err(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn the_command_line_comes_first_then_the_environment_then_the_settings() {
        let mut read =
            settings("[specification]\nvalues = { A = \"file\", B = \"file\" }\nfrom_environment = [\"A\", \"C\"]\n").unwrap();
        assert!(read.is_secret("A") && read.value("A").is_none(), "a variable comes before the file");
        assert_eq!(read.value("B").map(|value| value.text.as_str()), Some("file"));
        read.set(&[("A".to_owned(), "line".to_owned()), ("B".to_owned(), "line".to_owned())]);
        assert!(!read.is_secret("A") && read.is_secret("C"));
        assert_eq!(["A", "B"].map(|name| read.value(name).map(|value| value.text.as_str())), [Some("line"); 2]);
    }
}
