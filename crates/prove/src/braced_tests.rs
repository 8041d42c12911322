//! The tests of a file in JavaScript, TypeScript or Go, found by its words alone: no code is run. Pure.

use proctor_model::has_word;

use crate::braces::{Token, end_of_group, joined, tokens_of};
use crate::touched::{TestInText, TestLanguage};

/// The calls that define a test, and those that define a group of tests, in JavaScript.
const TESTS: &str = "test it specify xit fit xtest";
const GROUPS: &str = "describe suite context xdescribe fdescribe";
/// Words behind the dot of such a word with which it is no test.
const NO_TESTS: &str = "\
    after afterAll afterEach before beforeAll beforeEach configure expect extend info mock override scoped setTimeout slow step use";
/// Words behind the dot that may have a condition in the place of a title, and then are no test.
const WITH_CONDITION: &str = "skip fixme fail only todo";

/// Returns the tests of a text; `None` if the text cannot be read. The name of a test in JavaScript has the names of its groups before it,
/// each with ` > ` behind it. All tests whose names are made when the file runs are one, without a name.
pub(crate) fn tests_of(text: &str, language: TestLanguage) -> Option<Vec<TestInText>> {
    let tokens = tokens_of(text, language)?;
    let mut found = Vec::new();
    match language {
        TestLanguage::Script => tests_of_script(&tokens, "", &mut found),
        TestLanguage::Go => tests_of_go(&tokens, &mut found),
        TestLanguage::Python | TestLanguage::Rust => {}
    }
    let (unnamed, mut named): (Vec<_>, Vec<_>) = found.into_iter().partition(|test| test.name.is_empty());
    if !unnamed.is_empty() {
        let text = unnamed.into_iter().map(|test| test.text).collect();
        named.push(TestInText { name: String::new(), text, is_sure: true });
    }
    Some(named)
}

fn tests_of_go(tokens: &[Token], found: &mut Vec<TestInText>) {
    let is_test = |name: &str| {
        let rest = ["Test", "Fuzz", "Example"].iter().find_map(|word| name.strip_prefix(word));
        name != "TestMain" && rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
    };
    for position in (0..tokens.len()).filter(|at| tokens[*at].text == "func") {
        // A method, as a suite has them, is named by what it belongs to.
        let is_method = tokens.get(position + 1).is_some_and(|token| token.text == "(");
        let at = if is_method { end_of_group(tokens, position + 1) } else { position + 1 };
        let Some(name) = tokens.get(at).map(|token| token.text.as_str()).filter(|name| is_test(name)) else { continue };
        let Some(open) = (at..tokens.len()).find(|at| tokens[*at].text == "{") else { continue };
        let text = joined(&tokens[at + 1..end_of_group(tokens, open)]);
        // What an example is to print stands in a comment.
        let is_named = !is_method && !name.starts_with("Example");
        found.push(TestInText { name: if is_named { name.to_owned() } else { String::new() }, text, is_sure: true });
    }
}

fn tests_of_script(tokens: &[Token], above: &str, found: &mut Vec<TestInText>) {
    let mut position = 0;
    while position < tokens.len() {
        let word = tokens[position].text.as_str();
        let is_test = has_word(TESTS, word);
        let is_property = position > 0 && tokens[position - 1].text == ".";
        // Playwright's groups: `test.describe("…"`.
        let next = [1, 2].map(|step| tokens.get(position + step).map_or("", |token| token.text.as_str()));
        let is_group = has_word(GROUPS, word) || (is_test && next == [".", "describe"]);
        let begins = if has_word(GROUPS, word) || !is_group { position } else { position + 2 };
        let open = (!is_property && (is_test || is_group)).then(|| call_with_title(tokens, begins)).flatten();
        let Some(open) = open else {
            position += 1;
            continue;
        };
        let end = end_of_group(tokens, open);
        let title = title_at(&tokens[open..end]);
        let name = title.map(|title| if above.is_empty() { title } else { format!("{above} > {title}") });
        match (is_group, name) {
            (true, Some(name)) => tests_of_script(&tokens[open + 2..end], &name, found),
            (false, Some(name)) => {
                let text = format!("{}\u{1}{}", joined(&tokens[position..=open]), joined(&tokens[(open + 2).min(end)..end]));
                found.push(TestInText { name, text, is_sure: true });
            }
            // Also the tests in a group without a known name have no known name.
            (_, None) => found.push(TestInText { name: String::new(), text: joined(&tokens[position..end]), is_sure: true }),
        }
        position = end;
    }
}

/// Returns where the bracket opens before the title of a test or group: in `it("…"`, `it.only("…"`, `it.each<Row>([…])("…"`. `None` if the
/// word at `start` is no such call.
fn call_with_title(tokens: &[Token], start: usize) -> Option<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let (mut at, mut last) = (start + 1, "");
    while text(at) == "." {
        last = text(at + 1);
        at += 2;
    }
    // TypeScript may say the type of the rows.
    let mut depth = 0_usize;
    while text(at) == "<" || depth > 0 {
        match text(at) {
            "<" => depth += 1,
            // The arrow of a function is none.
            ">" if text(at - 1) != "=" => depth -= 1,
            "" => return None,
            _ => {}
        }
        at += 1;
    }
    // Rows are given in brackets or in a template, and the title behind them.
    let behind = if text(at) == "(" { end_of_group(tokens, at) } else { at + 1 };
    if (text(at) == "(" || text(at).starts_with('"')) && text(behind) == "(" {
        at = behind;
    }
    let is_condition = has_word(WITH_CONDITION, last) && !text(at + 1).starts_with('"');
    (text(at) == "(" && text(at + 1) != ")" && !has_word(NO_TESTS, last) && !is_condition).then_some(at)
}

/// Returns the title at the beginning of a call's arguments; `None` if it is made when the file runs.
fn title_at(call: &[Token]) -> Option<String> {
    let inner = call.get(1)?.text.strip_prefix('"')?.strip_suffix('"')?;
    let is_whole = call.get(2).is_some_and(|token| matches!(token.text.as_str(), "," | ")"));
    (is_whole && !inner.contains("${") && !inner.contains('\n'))
        .then(|| inner.replace("\\\"", "\"").replace("\\'", "'").replace("\\`", "`"))
}

/// Returns whether the name that a tool gives to a test in JavaScript can be that of a title with placeholders, such as `row %i` or
/// `adds $a`.
pub(crate) fn fits_title(title: &str, name: &str) -> bool {
    let parts = parts_of_title(title);
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() == 1 {
        return name == first;
    }
    let Some(mut rest) = name.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str())) else {
        return false;
    };
    let is_next = |part: &String| rest.split_once(part.as_str()).inspect(|(_, behind)| rest = *behind).is_some();
    parts[1..parts.len() - 1].iter().all(is_next)
}

/// Returns the parts of a title between its placeholders; a single one if it has none.
fn parts_of_title(title: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = title.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('%', Some(kind)) if "sdifjoOcp#$".contains(*kind) => {
                characters.next();
                parts.push(String::new());
            }
            ('$', Some(next)) if next.is_alphabetic() => {
                while characters.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '.')).is_some() {}
                parts.push(String::new());
            }
            _ => parts.last_mut().into_iter().for_each(|part| part.push(character)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, language: TestLanguage) -> Vec<String> {
        tests_of(text, language).expect("a readable text").into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn tests_are_found_in_each_language() {
        let script = "import { test } from 'x';\ndescribe('quotes', () => {\n  it(\"adds\", async () => { expect(1).toBe(1); });\n  describe.only('deep', () => { it.each([[1, 2]])('row %i', () => {}); it.each`a`(\"b $a\", f) });\n});\ntest.skip(`t`, () => {});\n/x/.test('no');\n// it('not', …)\ntest.skipIf(a)('s', f);\ntest.beforeEach(() => {});\ntest.describe('group', () => { test('inner', f) });\nit.each<[number, Map<a, b>]>([[1]])('typed', f);\nit.effect('other', f);\ntest.skip(({ a }) => a, 'why');\ntest.use({ a: 1 });\n";
        let expected =
            ["quotes > adds", "quotes > deep > row %i", "quotes > deep > b $a", "t", "s", "group > inner", "typed", "other"];
        assert_eq!(names(script, TestLanguage::Script), expected);
        let made =
            "for (const a of [1]) test('a' + a, f);\nit(`b ${a}`, f);\ntest('c', f);\ndescribe(name, () => { it('d', f) });";
        assert_eq!(names(made, TestLanguage::Script), ["c", ""], "names that are made when it runs are one test without a name");
        let go = "package a\nfunc TestAdds(t *testing.T) { x := `}` }\nfunc Testing() {}\nfunc helper() {}\nfunc TestMain(m *testing.M) {}\n";
        assert_eq!(names(go, TestLanguage::Go), ["TestAdds"]);
        assert_eq!(names("func (s *Suite) TestA() {}\nfunc ExampleA() {}\n", TestLanguage::Go), [""]);
    }

    #[test]
    fn layout_makes_no_difference_and_everything_else_does() {
        let one = |text: &str| tests_of(text, TestLanguage::Script).expect("readable").remove(0).text;
        let text = one("it('a', () => {\n  expect(f('x')).toBe(1);\n});");
        assert_eq!(text, one("it(\"other name\", () => {\n    // why\n    expect(\n      f(\"x\"),\n    ).toBe(1)\n})"));
        assert_ne!(text, one("it('a', () => {\n  expect(f('x')).toBe(2);\n});"));
        assert_ne!(text, one("it.skip('a', () => {\n  expect(f('x')).toBe(1);\n});"));
    }

    #[test]
    fn titles_with_placeholders_fit_the_names_that_tools_make_of_them() {
        for (title, name, fits) in [
            ("adds", "adds", true),
            ("adds", "adds 1", false),
            ("row %i of %s", "row 1 of two", true),
            ("row %i of %s", "row 1", false),
            ("costs $price", "costs 7", true),
            ("%s is odd", "3 is odd", true),
            ("100 %", "100 %", true),
            ("a %s a", "a", false),
        ] {
            assert_eq!(fits_title(title, name), fits, "{title} {name}");
        }
    }
}
