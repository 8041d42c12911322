//! The content without the change, with the names that the change introduces: functions and classes that raise, so that one missing name does
//! not hide all tests of a file. For Python. Pure.

use crate::python::top_level_names;

/// What a stub raises.
const RAISES: &str = "raise NotImplementedError(\"this change introduces it\")";

/// Returns the text of a module without the change, with stubs for what `after` defines and `before` does not. `None` if there is none.
pub fn with_stubs(before: &str, after: &str) -> Option<String> {
    let known: Vec<String> = top_level_names(before).into_iter().map(|(name, _)| name).collect();
    let mut text = before.to_owned();
    let mut has_any = false;
    for (name, kind) in top_level_names(after).into_iter().filter(|(name, _)| !known.contains(name)) {
        let stub = match kind {
            DefinedKind::Function => format!("def {name}(*arguments, **named):\n    {RAISES}\n"),
            // A test may catch the class as an exception or inherit from it.
            DefinedKind::Class => {
                format!("class {name}(Exception):\n    def __init__(self, *arguments, **named):\n        {RAISES}\n")
            }
            DefinedKind::Value => format!("{name} = None\n"),
        };
        text.push_str(&format!("\n\n{stub}"));
        has_any = true;
    }
    has_any.then_some(text)
}

/// What a module defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinedKind {
    Function,
    Class,
    Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_get_stubs_and_known_ones_stay() {
        let before = "RATE = 1\ndef quote(net):\n    return net\n";
        let after = "RATE: int = 2\nLOW = 3\ndef quote(net, vat):\n    return net\nasync def fetch(): pass\nclass Order(Base):\n    def inner(self): pass\nfrom .a import (b as c, d)\n";
        let text = with_stubs(before, after).expect("stubs");
        assert!(text.starts_with(before));
        for part in ["LOW = None", "def fetch(*arguments", "class Order(Exception)", "def c(", "def d("] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("inner") && text.matches("def quote").count() == 1);
        assert_eq!(with_stubs(before, before), None);
    }
}
