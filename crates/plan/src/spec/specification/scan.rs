//! Finds the position of every value and key in a JSON text by its JSON pointer, and finds duplicate keys.
//!
//! The caller has checked that the text is valid JSON. For any other text the positions are meaningless, but there is
//! no panic.

use std::collections::BTreeMap;

/// The byte offsets of all values and keys in a text, by JSON pointer.
#[derive(Debug, Default)]
pub(super) struct Places {
    values: BTreeMap<String, usize>,
    keys: BTreeMap<String, usize>,
    /// Keys that occur a second time in their object: the JSON pointer, and the byte offset of the second occurrence.
    pub(super) duplicates: Vec<(String, usize)>,
}

struct Scanner<'t> {
    text: &'t str,
    offset: usize,
    pointer: String,
    places: Places,
}

/// Finds the positions of all values and keys in a text.
pub(super) fn scan(text: &str) -> Places {
    let mut scanner = Scanner { text, offset: 0, pointer: String::new(), places: Places::default() };
    scanner.value();
    scanner.places
}

/// Returns the JSON pointer to a member of the object at `pointer`.
pub(super) fn member(pointer: &str, key: &str) -> String {
    let mut longer = pointer.to_owned();
    push_member(&mut longer, key);
    longer
}

fn push_member(pointer: &mut String, key: &str) {
    pointer.push('/');
    for character in key.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

impl Places {
    /// Returns the byte offset of a value. If there is no such value, returns the offset of the nearest value around
    /// it.
    pub(super) fn of_value(&self, pointer: &str) -> usize {
        let mut pointer = pointer;
        loop {
            if let Some(offset) = self.values.get(pointer) {
                return *offset;
            }
            let Some(parent) = pointer.rfind('/') else { return 0 };
            pointer = &pointer[..parent];
        }
    }

    /// Returns the byte offset of a member's key. If there is no such key, returns the offset of the value as
    /// [`Self::of_value`] does.
    pub(super) fn of_key(&self, pointer: &str) -> usize {
        self.keys.get(pointer).copied().unwrap_or_else(|| self.of_value(pointer))
    }

    /// Returns the JSON pointers to the values at these byte offsets.
    pub(super) fn values_at(&self, offsets: &[usize]) -> Vec<String> {
        if offsets.is_empty() {
            return Vec::new();
        }
        let meant = self.values.iter().filter(|(_, offset)| offsets.binary_search(offset).is_ok());
        meant.map(|(pointer, _)| pointer.clone()).collect()
    }

    /// Gives a member and everything below it another name.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        for map in [&mut self.values, &mut self.keys] {
            let is_below =
                |pointer: &String| pointer.strip_prefix(old).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let moved: Vec<String> = map.keys().filter(|pointer| is_below(pointer)).cloned().collect();
            for pointer in moved {
                if let Some(offset) = map.remove(&pointer) {
                    map.insert(format!("{new}{}", &pointer[old.len()..]), offset);
                }
            }
        }
    }
}

impl Scanner<'_> {
    fn value(&mut self) {
        self.skip_space();
        self.places.values.insert(self.pointer.clone(), self.offset);
        match self.byte() {
            Some(b'{') => self.members(b'}'),
            Some(b'[') => self.members(b']'),
            Some(b'"') => self.skip_string(),
            _ => self.skip_while(|byte| !matches!(byte, b',' | b']' | b'}') && !byte.is_ascii_whitespace()),
        }
    }

    fn members(&mut self, end: u8) {
        let outer = self.pointer.len();
        let mut index = 0;
        self.offset += 1;
        loop {
            self.skip_space();
            match self.byte() {
                None => return,
                Some(byte) if byte == end => {
                    self.offset += 1;
                    return;
                }
                Some(b',') => {
                    self.offset += 1;
                    continue;
                }
                Some(_) => {}
            }
            let before = self.offset;
            if end == b'}' {
                self.key();
            } else {
                push_member(&mut self.pointer, &index.to_string());
                index += 1;
            }
            self.value();
            self.pointer.truncate(outer);
            // If nothing was read, skips one byte: invalid JSON must not cause an endless loop.
            self.offset += usize::from(self.offset == before);
        }
    }

    fn key(&mut self) {
        let start = self.offset;
        self.skip_string();
        let written = self.text.get(start..self.offset).unwrap_or_default();
        let key: String = serde_json::from_str(written).unwrap_or_default();
        push_member(&mut self.pointer, &key);
        if self.places.keys.insert(self.pointer.clone(), start).is_some() {
            self.places.duplicates.push((self.pointer.clone(), start));
        }
        self.skip_while(|byte| byte == b':' || byte.is_ascii_whitespace());
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn skip_space(&mut self) {
        self.skip_while(|byte| byte.is_ascii_whitespace());
    }

    fn skip_while(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&is_skipped) {
            self.offset += 1;
        }
    }

    fn skip_string(&mut self) {
        self.offset += 1;
        while let Some(byte) = self.byte() {
            self.offset += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    #[test]
    fn every_value_and_key_has_its_place() {
        let text = r#"{ "a/b": [1, {"c\"d": "x"}], "e": null }"#;
        let places = scan(text);
        let at = |offset: usize| &text[offset..];
        assert!(at(places.of_value("/a~1b")).starts_with("[1"));
        assert!(at(places.of_value("/a~1b/0")).starts_with("1,"));
        assert!(at(places.of_value("/a~1b/1/c\"d")).starts_with("\"x\""));
        assert!(at(places.of_key("/a~1b/1/c\"d")).starts_with("\"c\\\"d\""));
        assert!(at(places.of_key("/e")).starts_with("\"e\""));
        assert!(at(places.of_value("/e/none/of/this")).starts_with("null"));
        assert_eq!(places.of_value("/nothing"), 0);
        assert!(places.duplicates.is_empty());
    }

    #[test]
    fn a_key_that_is_written_twice_is_found_in_its_own_object_alone() {
        let places = scan(r#"{"a": {"b": 1, "\u0062": 2}, "c": {"b": 1}, "a": 3}"#);
        let found: Vec<&str> = places.duplicates.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(found, ["/a/b", "/a"]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[\\[\\]{}\",:a1 \\\\]{0,40}", other in ".*") {
            let _ = (scan(&text), scan(&other));
        }
    }
}
