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
pub(crate) fn with_stubs(path: &str, before: &str, after: &str, body: StubBody) -> Option<String> {
    let (language, StubBody(raises, throws)) = (TestLanguage::of(path)?, body);
    let names = |text| match language {
        TestLanguage::Python => Some(top_level_names(text)),
        TestLanguage::Script => tokens_of(text, language).map(|tokens| exported_names(&tokens)),
        TestLanguage::Rust | TestLanguage::Go => None,
    };
    let known = names(before)?;
    let mut new: Vec<(String, DefinedKind)> = Vec::new();
    for (name, kind) in names(after)? {
        // An overloaded function stands there several times.
        if !known.iter().chain(&new).any(|(known, _)| *known == name) {
            new.push((name, kind));
        }
    }
    let is_typed = path.ends_with("ts") || path.ends_with(".tsx");
    let typed = |text: &'static str| if is_typed { text } else { "" };
    let stub = |(name, kind): &(String, DefinedKind)| match (language, kind) {
        (TestLanguage::Python, DefinedKind::Function) => format!("\n\ndef {name}(*arguments, **named):\n    {raises}\n"),
        // A test may catch the class as an exception or inherit from it.
        (TestLanguage::Python, DefinedKind::Class) => {
            format!("\n\nclass {name}(Exception):\n    def __init__(self, *arguments, **named):\n        {raises}\n")
        }
        (TestLanguage::Python, DefinedKind::Value | DefinedKind::Type) => format!("\n\n{name} = None\n"),
        (_, DefinedKind::Type) => {
            format!("\ntype stub_of_{name}<_A = any, _B = any, _C = any> = any;\nexport type {{ stub_of_{name} as {name} }};\n")
        }
        (_, kind) => {
            let (of_any, members) = (typed("..._: any[]"), typed("[key: string]: any; static [key: string]: any; "));
            let value = match kind {
                DefinedKind::Function => format!("function ({of_any}){} {throws}", typed(": any")),
                DefinedKind::Class => format!("class {{ {members}constructor({of_any}) {throws} }}"),
                DefinedKind::Value | DefinedKind::Type => "undefined".to_owned(),
            };
            // The text may have the name already, without exporting it. A class and an enumeration are types too.
            match name.strip_prefix(COMMON) {
                Some(name) => format!("\nmodule.exports.{name} = {value};\n"),
                None => {
                    let of_type = if is_typed { format!("type stub_of_{name} = any;\n") } else { String::new() };
                    let any = typed(": any");
                    format!("\nconst stub_of_{name}{any} = {value};\n{of_type}export {{ stub_of_{name} as {name} }};\n")
                }
            }
        }
    };
    (!new.is_empty()).then(|| before.to_owned() + &new.iter().map(stub).collect::<String>())
}

/// Returns the names that a module of JavaScript or TypeScript exports. Those that it gives to `module.exports` begin with [`COMMON`]. What the
/// text names only by a computation or by a pattern is not among them.
fn exported_names(tokens: &[Token]) -> Vec<(String, DefinedKind)> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_name = |at: usize| word(at).starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '$'));
    let kind_of_value = |at: usize| match (word(at), word(end_of_group(tokens, at))) {
        ("class" | "abstract", _) => DefinedKind::Class,
        ("function" | "async", _) | ("(", "=" | ":") => DefinedKind::Function,
        _ if word(at + 1).starts_with('=') && is_name(at) => DefinedKind::Function,
        _ => DefinedKind::Value,
    };
    // Behind the name of a value can stand its type, which may be that of a function.
    let value_of = |name: usize| {
        let assigns = |at: &usize| word(*at) == "=" && word(*at + 1) != ">";
        (name + 1..tokens.len()).take_while(|at| word(*at) != "export").find(assigns).map_or(tokens.len(), |at| at + 1)
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let mut add = |name: usize, before: &str, kind| {
            found.extend(is_name(name).then(|| (format!("{before}{}", word(name)), kind)));
        };
        let behind = at + 1 + usize::from(matches!(word(at + 1), "abstract" | "async"));
        match (word(at), word(behind)) {
            ("export", "default") => {
                let kind = kind_of_value(behind + 1);
                // A name is more often that of a function.
                let is_named = kind == DefinedKind::Value && is_name(behind + 1);
                add(behind, "", if is_named { DefinedKind::Function } else { kind });
            }
            ("export", "function") => add(behind + 1 + usize::from(word(behind + 1) == "*"), "", DefinedKind::Function),
            ("export", "class") => add(behind + 1, "", DefinedKind::Class),
            ("export", "const") if word(behind + 1) == "enum" => add(behind + 2, "", DefinedKind::Value),
            ("export", "const" | "let" | "var") => add(behind + 1, "", kind_of_value(value_of(behind + 1))),
            ("export", "enum" | "namespace") => add(behind + 1, "", DefinedKind::Value),
            ("export", "interface") => add(behind + 1, "", DefinedKind::Type),
            ("export", "type") if word(behind + 1) != "{" => add(behind + 1, "", DefinedKind::Type),
            ("export", "{" | "type") => {
                let open = behind + usize::from(word(behind) == "type");
                let (mut first, end) = (open + 1, end_of_group(tokens, open) - 1);
                for end in (open + 1..=end).filter(|at| *at == end || word(*at) == ",") {
                    let is_type = word(behind) == "type" || (word(first) == "type" && first + 1 < end && word(first + 1) != "as");
                    add(end - 1, "", if is_type { DefinedKind::Type } else { DefinedKind::Function });
                    first = end + 1;
                }
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
    /// A type of TypeScript, which no value has.
    Type,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_get_stubs_and_known_ones_stay() {
        let before = "RATE = 1\ndef quote(net):\n    return net\n";
        let after = "RATE: int = 2\nLOW = 3\ndef quote(net, vat):\n    return net\nasync def fetch(): pass\nclass Order(Base):\n    def inner(self): pass\nfrom .a import (b as c, d)\n";
        let text = with_stubs("vat.py", before, after, RAISES).expect("stubs");
        assert!(text.starts_with(before));
        for part in ["LOW = None", "def fetch(*arguments", "class Order(Exception)", "def c(", "def d("] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("inner") && text.matches("def quote").count() == 1);
        assert_eq!(with_stubs("vat.py", before, before, RAISES), None);
    }

    #[test]
    fn new_exports_of_a_script_get_stubs() {
        let names = |text: &str| {
            let text = with_stubs("vat.js", "const known = 1;\nexport const rate = 2;\n", text, RAISES)?;
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
        let typed = "export function quote(net: number): number;\nexport function quote(net: string): string;\nexport function quote(net: any) { return net }\nexport const label: (kind: string) => string = (kind) => kind;\nexport const enum Kind { Low }\nexport enum Sort { Up }\nexport type Rate<T> = { a: T };\nexport interface Order { total(): number }\nexport abstract class Base<T> { abstract m(): T }\nexport { type Inner, other as more };\nexport type { Outer } from './outer';\nexport default { a: 1 };\nexport declare const ambient: number;\n";
        let tokens = tokens_of(typed, TestLanguage::Script).expect("readable");
        let found: Vec<String> = exported_names(&tokens).iter().map(|(name, kind)| format!("{name} {kind:?}")).collect();
        let expected = "quote Function, quote Function, quote Function, label Function, Kind Value, Sort Value, Rate Type, Order Type, Base Class, \
            Inner Type, more Function, Outer Type, default Value";
        assert_eq!(found.join(", "), expected);
        let stubs = with_stubs("vat.ts", "", typed, RAISES).expect("stubs");
        for part in [
            "const stub_of_quote: any = function (..._: any[]): any { throw",
            "type stub_of_Rate<_A = any, _B = any, _C = any> = any;\nexport type { stub_of_Rate as Rate };",
            "const stub_of_Base: any = class { [key: string]: any; static [key: string]: any; constructor(..._: any[]) {",
            "type stub_of_Kind = any;\nexport { stub_of_Kind as Kind };",
        ] {
            assert!(stubs.contains(part), "{stubs}");
        }
        assert_eq!(stubs.matches("const stub_of_quote").count(), 1, "{stubs}");
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
        assert_eq!(with_stubs("vat.go", "", "func A() {}", RAISES), None);
    }
}
