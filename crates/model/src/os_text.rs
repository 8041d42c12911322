//! Serializes names from the operating system: as text when they are valid UTF-8, otherwise as a list of bytes, so that
//! no name is lost or refused.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a name, for `#[serde(with = "os_text")]` on a path or an `OsString`.
///
/// # Errors
/// When the serializer fails.
pub fn serialize<T: AsRef<OsStr>, S: Serializer>(name: &T, serializer: S) -> Result<S::Ok, S::Error> {
    Borrowed(name.as_ref()).serialize(serializer)
}

/// Reads a name that [`serialize`] wrote.
///
/// # Errors
/// When the value is neither text nor a list of bytes.
pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Owned::deserialize(deserializer).map(|Owned(name)| T::from(name))
}

struct Borrowed<'a>(&'a OsStr);

impl Serialize for Borrowed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => serializer.collect_seq(self.0.as_bytes()),
        }
    }
}

struct Owned(OsString);

impl<'de> Deserialize<'de> for Owned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Owned;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of bytes")
    }

    fn visit_str<E>(self, text: &str) -> Result<Owned, E> {
        Ok(Owned(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Owned, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = list.next_element::<u8>()? {
            bytes.push(byte);
        }
        Ok(Owned(OsString::from_vec(bytes)))
    }
}

/// For `Option`: serializes an optional name, as text or as a list of bytes.
pub mod option {
    use super::{Borrowed, Deserialize, Deserializer, OsStr, OsString, Owned, Serialize, Serializer};

    /// Writes an optional name.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(name: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        name.as_ref().map(|name| Borrowed(name.as_ref())).serialize(serializer)
    }

    /// Reads an optional name that [`serialize`] wrote.
    ///
    /// # Errors
    /// When the value is neither null, text nor a list of bytes.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        let name = Option::<Owned>::deserialize(deserializer)?;
        Ok(name.map(|Owned(name)| T::from(name)))
    }
}

/// For `Vec`: serializes each name of a list, as text or as a list of bytes.
pub mod list {
    use super::{Borrowed, Deserialize, Deserializer, OsStr, OsString, Owned, Serializer};

    /// Writes a list of names in their order.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(names: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(names.iter().map(|name| Borrowed(name.as_ref())))
    }

    /// Reads a list of names that [`serialize`] wrote.
    ///
    /// # Errors
    /// When the value is not a list of names.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let names = Vec::<Owned>::deserialize(deserializer)?;
        Ok(names.into_iter().map(|Owned(name)| T::from(name)).collect())
    }
}

/// For pairs, such as variables with their values: serializes each part as text or as a list of bytes.
pub mod pairs {
    use super::{Borrowed, Deserialize, Deserializer, OsStr, OsString, Owned, Serializer};

    /// Writes pairs of name and value in their order.
    ///
    /// # Errors
    /// When the serializer fails.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(pairs: &[(T, T)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(pairs.iter().map(|(name, value)| (Borrowed(name.as_ref()), Borrowed(value.as_ref()))))
    }

    /// Reads pairs that [`serialize`] wrote.
    ///
    /// # Errors
    /// When the value is not a list of pairs.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(T, T)>, D::Error> {
        let pairs = Vec::<(Owned, Owned)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(Owned(name), Owned(value))| (T::from(name), T::from(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Everything {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(with = "super::option")]
        perhaps: Option<PathBuf>,
        #[serde(with = "super::list")]
        some: Vec<OsString>,
        #[serde(with = "super::pairs")]
        named: Vec<(OsString, OsString)>,
    }

    fn name() -> impl Strategy<Value = OsString> {
        prop_oneof![".*".prop_map(OsString::from), prop::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec)]
    }

    proptest! {
        #[test]
        fn every_name_survives(one in name(), perhaps in prop::option::of(name()), some in prop::collection::vec(name(), 0..4)) {
            let named = some.iter().map(|name| (name.clone(), one.clone())).collect();
            let everything = Everything { one: one.into(), perhaps: perhaps.map(PathBuf::from), some, named };
            let written = serde_json::to_vec(&everything).expect("plain data");
            prop_assert_eq!(serde_json::from_slice::<Everything>(&written).expect("own words"), everything);
        }
    }

    #[test]
    fn text_is_written_as_text() {
        let everything = Everything { one: "/a".into(), perhaps: None, some: vec!["b".into()], named: Vec::new() };
        let written = serde_json::to_string(&everything).expect("plain data");
        assert_eq!(written, r#"{"one":"/a","perhaps":null,"some":["b"],"named":[]}"#);
    }
}
