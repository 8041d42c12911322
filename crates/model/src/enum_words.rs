//! The words of enums.

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
