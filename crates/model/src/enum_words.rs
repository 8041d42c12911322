//! The words of enums.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Reads one of these words, and returns its place among them: what `#[wire]` reads an enum without data by.
///
/// # Errors
/// When something else is written, an error that names the words.
pub fn read_word<'de, D: Deserializer<'de>>(deserializer: D, words: &'static [&'static str]) -> Result<usize, D::Error> {
    deserializer.deserialize_str(OneOf(words))
}

struct OneOf(&'static [&'static str]);

impl Visitor<'_> for OneOf {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a word")
    }

    fn visit_str<E: Error>(self, read: &str) -> Result<usize, E> {
        self.0.iter().position(|word| *word == read).ok_or_else(|| E::unknown_variant(read, self.0))
    }
}

/// Gives each variant of an enum its word, by a method with the name and the documentation that stand before the rows. `ALL` adds the
/// list of all variants, `WORDS` the list of all words with their variants, both in the order of the rows. A variant without a row does not
/// compile. `(&self)` after the name is for an enum that is not copied.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis fn $enum:ident::$method:ident: $($variant:ident $word:literal),+) => {
        impl $enum {
            $(#[$doc])*
            $vis const fn $method(self) -> &'static str {
                match self { $(Self::$variant { .. } => $word),+ }
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $enum:ident::$method:ident(&self): $($variant:ident $word:literal),+) => {
        impl $enum {
            $(#[$doc])*
            $vis const fn $method(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $word),+ }
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $enum:ident::$method:ident, ALL $(, $more:ident)?: $($variant:ident $word:literal),+) => {
        $crate::words! { $(#[$doc])* $vis fn $enum::$method $(, $more)?: $($variant $word),+ }
        impl $enum {
            /// Every variant, in the order in which people are shown them.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $enum:ident::$method:ident, WORDS: $($variant:ident $word:literal),+) => {
        $crate::words! { $(#[$doc])* $vis fn $enum::$method: $($variant $word),+ }
        impl $enum {
            /// Every word with its variant, in the order in which people are shown them.
            $vis const WORDS: [(&'static str, Self); [$($word),+].len()] = [$(($word, Self::$variant)),+];
        }
    };
}
