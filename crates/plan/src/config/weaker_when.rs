//! Which change of a setting opens more of the machine to actions, or may make a commit easier to prove (S7).

use proctor_model::SettingValue;

/// The change of a setting for which a person may have to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakerWhen {
    /// The number becomes lower. `off` means that there is no limit, and counts as higher than every number.
    Lower,
    /// The number becomes higher. `off` means that there is no limit, and counts as higher than every number.
    Higher,
    /// The list gets entries.
    Added,
    /// The list loses entries.
    Removed,
    /// The setting becomes anything else.
    Changed,
    /// The content of the file that the setting names becomes another one.
    OtherContent,
    /// The setting becomes a word that comes later in this list.
    Later(&'static [&'static str]),
}

/// The word that stands for a limit that is not set.
pub const NO_LIMIT: &str = "off";

impl WeakerWhen {
    /// Returns whether `now` is weaker than `before`.
    pub fn is_weaker(self, before: &SettingValue, now: &SettingValue) -> bool {
        match self {
            Self::Lower => number(now) < number(before),
            Self::Higher => number(now) > number(before),
            Self::Added => !missing(now, before).is_empty(),
            Self::Removed => !missing(before, now).is_empty(),
            Self::Changed | Self::OtherContent => before != now,
            Self::Later(words) => rank(words, now) > rank(words, before),
        }
    }

    /// Returns the words for the change to which a person must agree, as the explanations in the default text have them.
    pub(super) fn words(self) -> String {
        match self {
            Self::Lower => "a lower value".to_owned(),
            Self::Higher => "a higher value".to_owned(),
            Self::Added => "more entries".to_owned(),
            Self::Removed => "fewer entries".to_owned(),
            Self::Changed => "any change".to_owned(),
            Self::OtherContent => "another content".to_owned(),
            Self::Later(words) => format!("a value that comes later in: {}", words.join(", ")),
        }
    }
}

/// Returns the entries of the list `one` that are missing from the list `other`.
pub fn missing<'a>(one: &'a SettingValue, other: &SettingValue) -> Vec<&'a str> {
    entries(one).iter().filter(|entry| !entries(other).contains(entry)).map(String::as_str).collect()
}

fn entries(value: &SettingValue) -> &[String] {
    match value {
        SettingValue::List(entries) => entries,
        SettingValue::Number(_) | SettingValue::Text(_) => &[],
    }
}

/// Returns the number of a setting. A word, such as `off`, means that there is no limit.
fn number(value: &SettingValue) -> u64 {
    match value {
        SettingValue::Number(number) => *number,
        SettingValue::Text(_) | SettingValue::List(_) => u64::MAX,
    }
}

/// Returns the place of a word in a list whose first word is the strictest. An unknown word counts as the weakest.
fn rank(words: &[&str], value: &SettingValue) -> usize {
    let place = |text: &String| words.iter().position(|word| word == text);
    match value {
        SettingValue::Text(text) => place(text).unwrap_or(words.len()),
        SettingValue::Number(_) | SettingValue::List(_) => words.len(),
    }
}
