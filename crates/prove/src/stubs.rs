//! The content without the change, with the names that the change introduces: functions and classes that raise, so that one missing name does
//! not hide all tests of a file. For Python, JavaScript and TypeScript. Pure.

use crate::braces::{Token, end_of_group, tokens_of};
use crate::python::top_level_names;
use crate::touched::TestLanguage;

/// What the names begin with that a module of Node gives to `module.exports`.
const COMMON: &str = "module.exports.";

/// What the body of a stub does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StubBody(&'static str, &'static str);

pub(crate) const RAISES: StubBody = StubBody("raise NotImplementedError(\"it is new\")", "{ throw new Error(\"it is new\"); }");
/// A test that expects an error passes if the stub raises one.
pub(crate) const RETURNS_NOTHING: StubBody = StubBody("return None", "{}");

/// Returns the text of a module without the change, with stubs for what `after` defines and `before` does not. `None` if there is none, for
/// another language, and if a text cannot be divided into words.
pub(crate) fn with_stubs(language: TestLanguage, before: &str, after: &str, body: StubBody) -> Option<String> {
    let StubBody(raises, throws) = body;
    let names = |text| match language {
        TestLanguage::Python => Some(top_level_names(text)),
        TestLanguage::Script => tokens_of(text, language).map(|tokens| exported_names(&tokens)),
        TestLanguage::Rust | TestLanguage::Go => None,
    };
    let known = names(before)?;
    let new: Vec<_> = names(after)?.into_iter().filter(|(name, _)| known.iter().all(|(known, _)| known != name)).collect();
    let stub = |(name, kind): &(String, DefinedKind)| match (language, kind) {
        (TestLanguage::Python, DefinedKind::Function) => format!("\n\ndef {name}(*arguments, **named):\n    {raises}\n"),
        // A test may catch the class as an exception or inherit from it.
        (TestLanguage::Python, DefinedKind::Class) => {
            format!("\n\nclass {name}(Exception):\n    def __init__(self, *arguments, **named):\n        {raises}\n")
        }
        (TestLanguage::Python, DefinedKind::Value) => format!("\n\n{name} = None\n"),
        (_, kind) => {
            let value = match kind {
                DefinedKind::Function => format!("function () {throws}"),
                DefinedKind::Class => format!("class {{ constructor() {throws} }}"),
                DefinedKind::Value => "undefined".to_owned(),
            };
            // The text may have the name already, without exporting it.
            match name.strip_prefix(COMMON) {
                Some(name) => format!("\nmodule.exports.{name} = {value};\n"),
                None => format!("\nconst stub_of_{name} = {value};\nexport {{ stub_of_{name} as {name} }};\n"),
            }
        }
    };
    (!new.is_empty()).then(|| before.to_owned() + &new.iter().map(stub).collect::<String>())
}

/// Returns the names that a module of JavaScript or TypeScript exports. Those that it gives to `module.exports` begin with [`COMMON`]. Types
/// are none, and neither is what the text names only by a computation or by a pattern.
fn exported_names(tokens: &[Token]) -> Vec<(String, DefinedKind)> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_name = |at: usize| word(at).starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '$'));
    let kind_of_value = |at: usize| match (word(at), word(end_of_group(tokens, at))) {
        ("class", _) => DefinedKind::Class,
        ("function" | "async", _) | ("(", "=>" | "=" | ":") => DefinedKind::Function,
        _ if word(at + 1).starts_with('=') && is_name(at) => DefinedKind::Function,
        _ => DefinedKind::Value,
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let mut add = |name: usize, before: &str, kind| {
            found.extend(is_name(name).then(|| (format!("{before}{}", word(name)), kind)));
        };
        let behind = at + 1 + usize::from(matches!(word(at + 1), "abstract" | "async"));
        match (word(at), word(behind)) {
            ("export", "default") => {
                let kind = if word(behind + 1) == "class" { DefinedKind::Class } else { DefinedKind::Function };
                add(behind, "", kind);
            }
            ("export", "function") => add(behind + 1 + usize::from(word(behind + 1) == "*"), "", DefinedKind::Function),
            ("export", "class") => add(behind + 1, "", DefinedKind::Class),
            ("export", "const" | "let" | "var") => add(behind + 1, "", kind_of_value(behind + 3)),
            ("export", "{") => {
                let end = end_of_group(tokens, behind) - 1;
                let ends = (behind + 1..=end).filter(|at| *at == end || word(*at) == ",");
                ends.for_each(|end| add(end - 1, "", DefinedKind::Function));
            }
            ("exports", ".") if word(at + 3) == "=" => add(at + 2, COMMON, kind_of_value(at + 4)),
            ("exports", "=") if word(at + 2) == "{" => {
                let mut inner = at + 3;
                while inner < end_of_group(tokens, at + 2) {
                    if matches!(word(inner - 1), "{" | ",") {
                        add(inner, COMMON, DefinedKind::Function);
                    }
                    inner = end_of_group(tokens, inner).max(inner + 1);
                }
            }
            _ => {}
        }
        at = end_of_group(tokens, at).max(at + 1);
    }
    found
}

/// What a module or a script defines.
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
        let text = with_stubs(TestLanguage::Python, before, after, RAISES).expect("stubs");
        assert!(text.starts_with(before));
        for part in ["LOW = None", "def fetch(*arguments", "class Order(Exception)", "def c(", "def d("] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("inner") && text.matches("def quote").count() == 1);
        assert_eq!(with_stubs(TestLanguage::Python, before, before, RAISES), None);
    }

    #[test]
    fn new_exports_of_a_script_get_stubs() {
        let names = |text: &str| {
            let text = with_stubs(TestLanguage::Script, "const known = 1;\nexport const rate = 2;\n", text, RAISES)?;
            assert!(text.starts_with("const known = 1;\nexport const rate = 2;\n"), "{text}");
            let lines =
                text.lines().skip(2).filter_map(|line| line.strip_prefix("const stub_of_").or(line.strip_prefix("module.")));
            Some(lines.map(|line| line.replace(RAISES.1, "!")).collect::<Vec<_>>())
        };
        let text = "import { a } from './a';\nexport const rate = 3;\nexport const low = 5;\nexport const label = (kind) => `${kind}`;\nexport async function fetchAll(a) { export_(); }\nexport class Order extends Base { m() {} }\nexport default function () {}\nconst x = 1, y = 2;\nexport { x as known, y };\nexport type T = { a: string };\nif (a) { exports.inner = 1; }\n";
        let expected = [
            "low = undefined;",
            "label = function () !;",
            "fetchAll = function () !;",
            "Order = class { constructor() ! };",
            "default = function () !;",
            "known = function () !;",
            "y = function () !;",
        ];
        assert_eq!(names(text).expect("stubs"), expected);
        let text = "exports.low = 5;\nexports.quote = (a, b) => a;\nmodule.exports = { one, two: f(a, b), three() {} };\n";
        let expected = [
            "low = undefined;",
            "quote = function () !;",
            "one = function () !;",
            "two = function () !;",
            "three = function () !;",
        ];
        assert_eq!(names(text).expect("stubs"), expected.map(|line| format!("exports.{line}")));
        assert_eq!(names("export const rate = 4;\n"), None);
        assert_eq!(names("export const low = (;\n"), None, "not understood");
        assert_eq!(with_stubs(TestLanguage::Go, "", "func A() {}", RAISES), None);
    }
}
