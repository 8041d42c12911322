//! Divides the source of a change into parts that can be taken back one at a time. Pure.
//!
//! A text of code is divided at the lines that begin a function. Decorators and comments directly above a function belong to it. It ends before
//! the next line that is indented like its first one, or less, and begins with no closing bracket. The functions of a class, a module or an `impl`
//! are parts of their own if the text without the change has it too; a new one is one part. What stands between functions is one part at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Words that can stand before the one that says what a line begins.
const MODIFIERS: &[&str] = &[
    "pub",
    "crate",
    "super",
    "in",
    "async",
    "unsafe",
    "const",
    "let",
    "var",
    "extern",
    "export",
    "default",
    "static",
    "public",
    "private",
    "protected",
    "abstract",
    "override",
    "final",
    "C",
];
const FUNCTIONS: &[&str] = &["def", "fn", "func", "function"];
const CONTAINERS: &[&str] = &["class", "impl", "trait", "mod", "namespace", "struct", "enum", "interface"];
/// Words that stand before a bracket and begin no method.
const NO_METHODS: &[&str] = &["if", "for", "while", "switch", "catch", "return", "match", "with", "super"];

/// A part of a changed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePart {
    /// The name of the function, with those of the classes around it; empty for what stands between functions.
    pub(crate) name: String,
    /// The number of its first line in the text with the change, from 1; for what the change removed, of the line that follows.
    pub(crate) line: usize,
    /// The text with the change, but for this part.
    pub(crate) text: String,
}

/// Returns the parts in which two texts differ, in the order of the text with the change, and behind them what it removed. `is_same` says
/// whether two pieces of code differ in layout and comments alone.
pub(crate) fn parts_of(before: &str, after: &str, is_same: &dyn Fn(&str, &str) -> bool) -> Vec<SourcePart> {
    let (old, new) = (sections_of(before), sections_of(after));
    let pairs = paired(&old, &new);
    let known: BTreeSet<usize> = pairs.iter().copied().flatten().collect();
    let part = |name: &str, range: Range<usize>, put_back: &[Section<'_>]| SourcePart {
        name: name.to_owned(),
        line: 1 + new[..range.start].iter().map(|section| section.text.matches('\n').count()).sum::<usize>(),
        text: [&new[..range.start], put_back, &new[range.end..]].concat().iter().map(|section| section.text).collect(),
    };
    let (mut parts, mut done) = (Vec::new(), 0);
    for (at, section) in new.iter().enumerate() {
        match pairs[at] {
            Some(other) if is_same(old[other].text, section.text) => {}
            Some(other) => parts.push(part(&section.name, at..at + 1, &old[other..=other])),
            None if at < done || is_same("", section.text) => {}
            None => {
                done = end_of_section(&new, at);
                parts.push(part(&section.name, at..done, &[]));
            }
        }
    }
    let mut done = 0;
    for (at, section) in old.iter().enumerate().filter(|(at, _)| !known.contains(at)) {
        if at >= done && !is_same("", section.text) {
            done = end_of_section(&old, at);
            let above = (0..at).rev().find_map(|above| pairs.iter().position(|pair| *pair == Some(above)));
            let place = above.map_or(0, |above| above + 1);
            parts.push(part(&section.name, place..place, &old[at..done]));
        }
    }
    parts
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section<'t> {
    /// As [`SourcePart::name`].
    name: String,
    /// The name, and which one of this name it is; for what stands between functions, the classes around it alone.
    key: String,
    text: &'t str,
}

/// Returns the position behind a section and those of the functions in it, if it is a class.
fn end_of_section(sections: &[Section<'_>], at: usize) -> usize {
    let inner = format!("{}.", sections[at].key);
    let is_inner = |section: &&Section<'_>| !sections[at].name.is_empty() && section.key.starts_with(&inner);
    at + 1 + sections[at + 1..].iter().take_while(is_inner).count()
}

/// Returns for each section of the text with the change the position of the same one without it: the function of this name. What stands
/// between functions is the same if its text is, and else in its order.
fn paired(old: &[Section<'_>], new: &[Section<'_>]) -> Vec<Option<usize>> {
    let mut free: BTreeSet<usize> = (0..old.len()).collect();
    let mut pairs = vec![None; new.len()];
    for has_equal_text in [true, false] {
        for (at, section) in new.iter().enumerate().filter(|(at, _)| pairs[*at].is_none()).collect::<Vec<_>>() {
            let is_like = |other: &&usize| {
                let is_named = !section.name.is_empty() || !has_equal_text;
                old[**other].key == section.key && (is_named || old[**other].text.trim() == section.text.trim())
            };
            let found = free.iter().find(is_like).copied();
            pairs[at] = found.inspect(|found| drop(free.remove(found)));
        }
    }
    pairs
}

/// What a line begins.
enum Begun {
    Function(String),
    Container(String),
}

/// Divides a text into its sections. Together they are the text.
fn sections_of(text: &str) -> Vec<Section<'_>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut starts: Vec<(usize, String, String)> = vec![(0, String::new(), String::new())];
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut function: Option<usize> = None;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (depth, code) = (depth_of(line), line.trim());
        // The bracket that closes a function belongs to it, and the one that closes a class to the class.
        let is_closing = code.starts_with([')', ']', '}']);
        if function.map_or(is_closing, |own| depth > own || (is_closing && depth == own)) {
            continue;
        }
        let known = around.len();
        while around.pop_if(|(own, _)| *own > depth || (*own == depth && !is_closing)).is_some() {}
        let has_ended = function.take().is_some() || around.len() < known;
        let path = around.iter().map(|(_, name)| format!("{name}.")).collect::<String>();
        let name = match begun_by(code, !around.is_empty()) {
            Some(Begun::Function(name)) => {
                function = Some(depth);
                name
            }
            Some(Begun::Container(name)) => {
                around.push((depth, name.clone()));
                name
            }
            None if has_ended => {
                starts.push((at, String::new(), path));
                continue;
            }
            None => continue,
        };
        let is_above = |above: &&&str| {
            let is_of_function = ["@", "#", "//", "/*", "*"].iter().any(|mark| above.trim_start().starts_with(mark));
            is_of_function && depth_of(above) >= depth && depth_of(above) <= depth + 1
        };
        let begins = at - lines[..at].iter().rev().take_while(is_above).count();
        while starts.pop_if(|(start, name, _)| *start >= begins && name.is_empty()).is_some() {}
        let full = path + &name;
        let count = seen.entry(full.clone()).or_default();
        *count += 1;
        let key = if *count > 1 { format!("{full}#{count}") } else { full.clone() };
        starts.push((begins, full, key));
    }
    let ends: Vec<usize> = starts.iter().skip(1).map(|(start, ..)| *start).chain([lines.len()]).collect();
    let mut from = 0;
    let mut section = |(_, name, key): (usize, String, String), range: Range<usize>| {
        let length = lines[range].iter().map(|line| line.len()).sum::<usize>();
        from += length;
        Section { name, key, text: &text[from - length..from] }
    };
    starts.into_iter().zip(ends).map(|(start, end)| section(start.clone(), start.0..end)).collect()
}

fn depth_of(line: &str) -> usize {
    line.chars().take_while(|character| character.is_whitespace()).count()
}

/// Returns what a line of code begins; `None` if neither a function nor a class.
fn begun_by(code: &str, is_inside: bool) -> Option<Begun> {
    let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '#');
    if !code.starts_with(|character: char| character.is_alphabetic() || character == '_') {
        return None;
    }
    let words: Vec<&str> = code.split(|character| !is_of_word(character)).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| !MODIFIERS.contains(word))?;
    let (word, next) = (words[at], words.get(at + 1).copied());
    if FUNCTIONS.contains(&word) {
        // Go has the receiver before the name of a method.
        let behind = code.split_once("func (").and_then(|(_, rest)| rest.split_once(") "));
        let name = behind.and_then(|(_, rest)| rest.split(|character| !is_of_word(character)).next()).or(next);
        return Some(Begun::Function(name.unwrap_or("default").to_owned()));
    }
    if CONTAINERS.contains(&word) {
        let rest = code.split_once(word).map_or("", |(_, rest)| rest);
        return Some(Begun::Container(rest.split(['(', '{', ':', ';']).next().unwrap_or_default().trim().to_owned()));
    }
    let (_, behind) = code.split_once(word)?;
    let is_arrow = at > 0 && behind.trim_start().starts_with([':', '=']) && (code.contains("=>") || code.contains("= function"));
    let is_method = is_inside && code.ends_with('{') && behind.starts_with('(') && !NO_METHODS.contains(&word);
    (is_arrow || is_method).then(|| Begun::Function(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changed(before: &str, after: &str) -> Vec<(String, usize)> {
        let parts = parts_of(before, after, &|one, other| one.trim() == other.trim());
        parts.into_iter().map(|part| (part.name, part.line)).collect()
    }

    const BEFORE: &str = "import a\n\nRATE = 1\n\n\ndef quote(net):\n    return net\n\n\nclass Order:\n    size = 1\n\n    def total(self):\n        return 1\n\n\nLAST = 2\n";

    #[test]
    fn each_function_that_differs_is_a_part_and_a_new_class_is_one() {
        let braced = "class A {\n  a() {\n    b();\n  }\n}\nf();\n";
        let parts = parts_of("f();\n", braced, &|one, other| one.trim() == other.trim());
        assert_eq!((parts.len(), parts[0].text.as_str()), (1, "f();\n"), "{parts:?}");
        let parts =
            parts_of(&braced.replace("    b();\n", ""), &braced.replace("  }\n}", "  }\n  c() {\n  }\n}"), &|one, other| {
                one == other
            });
        assert!(parts.iter().all(|part| part.text.ends_with("  }\n}\nf();\n")), "{parts:?}");
        let after = BEFORE.replace("return 1", "return 2").replace(
            "\nLAST",
            "\n@cached\ndef label(\n    kind,\n):\n    def inner():\n        return 1\n    return kind\n\n\nclass New:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\n\nLAST",
        );
        let expected = [("Order.total", 13), ("label", 17), ("New", 26)];
        assert_eq!(changed(BEFORE, &after), expected.map(|(name, line)| (name.to_owned(), line)));
        let parts = parts_of(BEFORE, &after, &|one, other| one.trim() == other.trim());
        assert!(parts[0].text.contains("return 1\n\n\n@cached") && parts[0].text.contains("class New"), "{}", parts[0].text);
        assert!(!parts[1].text.contains("cached") && !parts[1].text.contains("kind"), "{}", parts[1].text);
        assert!(!parts[2].text.contains("two") && parts[2].text.contains("LAST"), "{}", parts[2].text);
        assert_eq!(changed(BEFORE, &BEFORE.replace("RATE = 1", "RATE = 2")), [(String::new(), 1)]);
        let removed = BEFORE.replace("def quote(net):\n    return net\n\n\n", "");
        let part = parts_of(BEFORE, &removed, &|one, other| one.trim() == other.trim());
        assert_eq!((part.len(), part[0].name.as_str(), part[0].text.as_str()), (1, "quote", BEFORE));
    }

    #[test]
    fn functions_are_found_in_each_language() {
        let names = |text: &str| -> Vec<String> {
            sections_of(text).into_iter().map(|section| section.name).filter(|name| !name.is_empty()).collect()
        };
        let rust = "use a;\n\n/// A quote.\n#[must_use]\npub(crate) const fn quote(net: u32) -> u32 {\n    if net > 0 {\n    }\n    net\n}\n\nimpl<T> Order<T> {\n    fn total(&self) {}\n}\n";
        assert_eq!(names(rust), ["quote", "<T> Order<T>", "<T> Order<T>.total"]);
        let script = "export default async function quote(net) {\n  return net;\n}\nexport const label = (kind) => {\n  return kind;\n};\nclass Order {\n  total(a) {\n    if (a) {\n    }\n  }\n  static of() {\n  }\n}\nconst RATE = 2;\n";
        assert_eq!(names(script), ["quote", "label", "Order", "Order.total", "Order.of"]);
        assert_eq!(names("func (o *Order) Total() int {\n\treturn 1\n}\n\nfunc Quote() {\n}\n"), ["Total", "Quote"]);
    }

    proptest! {
        #[test]
        fn sections_are_the_text_and_all_parts_of_no_change_are_none(text in "[a-d \n(){}@#.:]{0,80}(def a\\(\\):\n|class b:\n)?[a-d \n]{0,20}") {
            let joined: String = sections_of(&text).iter().map(|section| section.text).collect();
            prop_assert_eq!(&joined, &text);
            prop_assert_eq!(parts_of(&text, &text, &|one, other| one == other), Vec::new());
            let _parts = parts_of(&text, "def a():\n    return 1\n", &|one, other| one == other);
        }
    }
}
