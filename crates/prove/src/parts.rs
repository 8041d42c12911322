//! Divides the source of a change into parts that can be taken back one at a time. Pure.
//!
//! A text of code is divided at the lines that begin a function. Decorators and comments directly above a function belong to it. It ends before
//! the next line that is indented like its first one, or less, and begins with no closing bracket. The functions of a class, a module or an `impl`
//! are parts of their own if the text without the change has it too; a new one is one part. What stands between functions is one part at a time.

use std::collections::BTreeMap;

use proctor_model::has_word;

/// Words that can stand before the one that says what a line begins.
const MODIFIERS: &str = "\
    pub crate super in async const let var extern export default static public private protected abstract override final C unsafe";
const FUNCTIONS: &[&str] = &["def", "fn", "func", "function"];
const CONTAINERS: &[&str] = &["class", "impl", "trait", "mod", "namespace", "struct", "enum", "interface"];
/// Words that stand before a bracket and begin no method.
const NO_METHODS: &[&str] = &["if", "for", "while", "switch", "catch", "return", "match", "with", "super"];

/// A file that differs in more parts is one part.
const MOST_PARTS: usize = 200;

/// A part of a changed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePart {
    /// The name of the function, with those of the classes around it; empty for what stands between functions.
    pub(crate) name: String,
    /// The number of its first line in the text with the change, from 1.
    pub(crate) line: usize,
    /// The text with the change, but for this part.
    pub(crate) text: String,
}

/// Returns the parts in which a text differs from the one before the change. What the change only removed is none. `is_same` says whether two
/// pieces of code differ in layout and comments alone. `None` if there are more parts than anybody has the time to try.
pub(crate) fn parts_of(before: &str, after: &str, is_same: &dyn Fn(&str, &str) -> bool) -> Option<Vec<SourcePart>> {
    let (old, new) = (sections_of(before), sections_of(after));
    let pairs = paired(&old, &new);
    let (mut parts, mut line, mut done) = (Vec::new(), 1, 0);
    for (at, section) in new.iter().enumerate() {
        let put_back = pairs[at].map_or("", |other| old[other].text);
        if at >= done && !is_same(put_back, section.text) {
            // A new class is one part.
            let is_inner = |inner: &&Section<'_>| pairs[at].is_none() && inner.key.starts_with(&format!("{}.", section.key));
            done = at + 1 + new[at + 1..].iter().take_while(is_inner).count();
            let around =
                [&new[..at], &new[done..]].map(|sections| sections.iter().map(|section| section.text).collect::<String>());
            parts.push(SourcePart { name: section.name.clone(), line, text: around.join(put_back) });
            if parts.len() > MOST_PARTS {
                return None;
            }
        }
        line += section.text.matches('\n').count();
    }
    Some(parts)
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

/// Returns for each section of the text with the change the position of the same one without it: the function of this name. What stands
/// between functions is the same if its text is, and else in its order.
fn paired(old: &[Section<'_>], new: &[Section<'_>]) -> Vec<Option<usize>> {
    let mut free: Vec<usize> = (0..old.len()).collect();
    let mut pairs = vec![None; new.len()];
    for has_equal_text in [true, false] {
        for at in (0..new.len()).filter(|at| pairs[*at].is_none()).collect::<Vec<_>>() {
            let one = &new[at];
            let is_like = |other: &Section<'_>| {
                other.key == one.key && (!has_equal_text || !one.name.is_empty() || other.text.trim() == one.text.trim())
            };
            pairs[at] = free.iter().copied().find(|other| is_like(&old[*other]));
            pairs[at].inspect(|other| free.retain(|free| free != other));
        }
    }
    pairs
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
        let Some((name, is_function)) = begun_by(code, !around.is_empty()) else {
            starts.extend(has_ended.then_some((at, String::new(), path)));
            continue;
        };
        if is_function {
            function = Some(depth);
        } else {
            around.push((depth, name.clone()));
        }
        let is_above = |above: &&&str| {
            let is_of_function = ["@", "#", "//", "/*", "*"].iter().any(|mark| above.trim_start().starts_with(mark));
            is_of_function && depth_of(above) >= depth && depth_of(above) <= depth + 1
        };
        let begins = at - lines[..at].iter().rev().take_while(is_above).count();
        while starts.pop_if(|(start, name, _)| *start >= begins && name.is_empty()).is_some() {}
        let full = path + &name;
        let count = seen.entry(full.clone()).or_default();
        *count += 1;
        starts.push((begins, full.clone(), if *count > 1 { format!("{full}#{count}") } else { full }));
    }
    let mut ends: Vec<usize> = starts.iter().skip(1).map(|(start, ..)| *start).collect();
    ends.push(lines.len());
    let position = |line: usize| lines[..line].iter().map(|line| line.len()).sum::<usize>();
    let pieces = starts.into_iter().zip(ends);
    pieces.map(|((start, name, key), end)| Section { name, key, text: &text[position(start)..position(end)] }).collect()
}

fn depth_of(line: &str) -> usize {
    line.chars().take_while(|character| character.is_whitespace()).count()
}

/// Returns the name of what a line of code begins, and whether that is a function; `None` if it begins neither a function nor a class.
fn begun_by(code: &str, is_inside: bool) -> Option<(String, bool)> {
    let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '#');
    let words: Vec<&str> = code.split(|character| !is_of_word(character)).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|word| !has_word(MODIFIERS, word)).filter(|_| code.starts_with(words[0]))?;
    let (word, (_, rest)) = (words[at], code.split_once(words[at])?);
    let first_of = |text: &str| text.split(|character| !is_of_word(character)).find(|word| !word.is_empty()).map(str::to_owned);
    if FUNCTIONS.contains(&word) {
        // Go has the receiver before the name of a method.
        let behind = rest.strip_prefix(" (").and_then(|rest| rest.split_once(") ")).map_or(rest, |(_, behind)| behind);
        return Some((first_of(behind)?, true));
    }
    if CONTAINERS.contains(&word) {
        return Some((rest.split(['(', '{', ':', ';']).next().unwrap_or_default().trim().to_owned(), false));
    }
    let is_arrow = at > 0 && rest.trim_start().starts_with([':', '=']) && (code.contains("=>") || code.contains("= function"));
    let is_method = is_inside && code.ends_with('{') && rest.starts_with('(') && !NO_METHODS.contains(&word);
    (is_arrow || is_method).then(|| (word.to_owned(), true))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn few_parts(before: &str, after: &str, is_same: &dyn Fn(&str, &str) -> bool) -> Vec<SourcePart> {
        parts_of(before, after, is_same).expect("few parts")
    }

    #[test]
    fn a_file_that_differs_in_very_many_functions_is_one_part() {
        let text: String = (0..=MOST_PARTS).map(|one| format!("def f{one}():\n    return {one}\n\n")).collect();
        assert_eq!(parts_of("", &text, &|one, other| one == other), None);
    }

    fn changed(before: &str, after: &str) -> Vec<(String, usize)> {
        let parts = few_parts(before, after, &|one, other| one.trim() == other.trim());
        parts.into_iter().map(|part| (part.name, part.line)).collect()
    }

    const BEFORE: &str = "import a\n\nRATE = 1\n\n\ndef quote(net):\n    return net\n\n\nclass Order:\n    size = 1\n\n    def total(self):\n        return 1\n\n\nLAST = 2\n";

    #[test]
    fn each_function_that_differs_is_a_part_and_a_new_class_is_one() {
        let braced = "class A {\n  a() {\n    b();\n  }\n}\nf();\n";
        let parts = few_parts("f();\n", braced, &|one, other| one.trim() == other.trim());
        assert_eq!((parts.len(), parts[0].text.as_str()), (1, "f();\n"), "{parts:?}");
        let parts =
            few_parts(&braced.replace("    b();\n", ""), &braced.replace("  }\n}", "  }\n  c() {\n  }\n}"), &|one, other| {
                one == other
            });
        assert!(parts.iter().all(|part| part.text.ends_with("  }\n}\nf();\n")), "{parts:?}");
        let after = BEFORE.replace("return 1", "return 2").replace(
            "\nLAST",
            "\n@cached\ndef label(\n    kind,\n):\n    def inner():\n        return 1\n    return kind\n\n\nclass New:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\n\nLAST",
        );
        let expected = [("Order.total", 13), ("label", 17), ("New", 26)];
        assert_eq!(changed(BEFORE, &after), expected.map(|(name, line)| (name.to_owned(), line)));
        let parts = few_parts(BEFORE, &after, &|one, other| one.trim() == other.trim());
        assert!(parts[0].text.contains("return 1\n\n\n@cached") && parts[0].text.contains("class New"), "{}", parts[0].text);
        assert!(!parts[1].text.contains("cached") && !parts[1].text.contains("kind"), "{}", parts[1].text);
        assert!(!parts[2].text.contains("two") && parts[2].text.contains("LAST"), "{}", parts[2].text);
        assert_eq!(changed(BEFORE, &BEFORE.replace("RATE = 1", "RATE = 2")), [(String::new(), 1)]);
        assert_eq!(changed(BEFORE, &BEFORE.replace("def quote(net):\n    return net\n\n\n", "")), [], "only removed");
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
            prop_assert_eq!(few_parts(&text, &text, &|one, other| one == other), Vec::new());
            let _parts = few_parts(&text, "def a():\n    return 1\n", &|one, other| one == other);
        }
    }
}
