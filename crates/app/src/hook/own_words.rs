//! The agent's own words in its message: the sentences without code, quoted text, plans and tables.
//!
//! What is left out is replaced by a word that no claim has, so that the words around it do not meet. What the sentences say is for `claims`.

use proctor_model::{Tool, ToolClass};

/// Splits a text into sentences, each with the mark at its end.
pub(super) fn split_sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut sentence = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '。' | '！' => {
                sentences.push(std::mem::take(&mut sentence));
            }
            '？' => {
                sentence.push(character);
                sentences.push(std::mem::take(&mut sentence));
            }
            '.' | '!' | '?' => {
                sentence.push(character);
                // A dot inside of a word, as in a file's name or a number, ends no sentence.
                if characters.peek().is_none_or(|next| next.is_whitespace() || matches!(next, ')' | '*' | '_' | '"')) {
                    sentences.push(std::mem::take(&mut sentence));
                }
            }
            other => sentence.push(other),
        }
    }
    sentences.push(sentence);
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

/// Returns what of a message is the agent's own words: without blocks of code, quoted lines, quoted text, and struck-out text. A word
/// in code marks that stands inside a sentence is kept if it is one word: `` `pytest` passes``.
pub(super) fn own_words(message: &str) -> String {
    let message = message.replace(['’', '‘'], "'").replace("**", "").replace("__", "");
    let mut text = String::with_capacity(message.len());
    let mut fence: Option<&str> = None;
    let mut is_plan = false;
    for line in message.lines() {
        let trimmed = line.trim_start().trim_matches('_');
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            // A box to tick is a plan, unless it is ticked.
            (None, None) if trimmed.starts_with('>') || trimmed.starts_with("- [ ]") || trimmed.starts_with("* [ ]") => {}
            // A heading names what stands below it.
            (None, None) if trimmed.starts_with('#') => is_plan = names_a_plan(trimmed),
            (None, None) => {
                let kept = without_quotes(trimmed);
                let is_item =
                    trimmed.starts_with(['-', '*', '•', '+']) || trimmed.starts_with(|first: char| first.is_ascii_digit());
                if kept.trim_end().ends_with([':', '：']) {
                    is_plan = names_a_plan(&kept);
                } else if !is_item && !kept.trim().is_empty() {
                    is_plan = false;
                }
                // A row of a table is no sentence.
                if !(kept.contains('|') || is_plan && is_item) {
                    text.push_str(&kept);
                }
                text.push('\n');
            }
        }
    }
    text
}

/// Returns whether a heading stands above things that are still to be done or to hold.
fn names_a_plan(heading: &str) -> bool {
    const WORDS: &[&str] = &[
        "plan",
        "todo",
        "to do",
        "next",
        "remaining",
        "acceptance",
        "criteria",
        "goal",
        "definition of done",
        "open",
        "require",
        "checklist",
        "offen",
        "nächste",
        "kriterien",
        "ziel",
        "reste",
        "pendiente",
        "pendente",
        "rimane",
        "下一步",
        "待办",
        "次の",
        "残り",
    ];
    let heading = heading.to_lowercase();
    WORDS.iter().any(|word| heading.contains(word))
}

/// What stands in place of quoted text. It must not let the words around it meet.
pub(super) const QUOTATION: &str = " quotation ";
/// What stands in place of a command in code marks that runs all tests.
pub(super) const WHOLE_SUITE: &str = " wholesuite ";

/// What stands in place of a command in code marks that runs some of the tests.
pub(super) const NARROW_RUN: &str = " narrowrun ";

/// Returns what stands in place of a text in code marks: whether it is a command that runs all tests of a project, or some of them.
fn stand_in(code: &str) -> &'static str {
    const COMMANDS: &[&str] = &[
        "py.test",
        "python -m pytest",
        "python3 -m pytest",
        "uv run pytest",
        "poetry run pytest",
        "python -m unittest",
        "tox",
        "nox",
        "cargo test",
        "cargo nextest run",
        "npm test",
        "npm run test",
        "npm t",
        "yarn test",
        "pnpm test",
        "bun test",
        "npx jest",
        "npx vitest",
        "npx vitest run",
        "vitest run",
        "go test ./...",
        "make test",
        "make check",
        "mvn test",
        "mvn verify",
        "gradle test",
        "./gradlew test",
        "dotnet test",
        "rspec",
        "bundle exec rspec",
        "rake test",
        "rails test",
        "ctest",
        "phpunit",
        "mix test",
        "swift test",
    ];
    const FLAGS: &[&str] = &[
        "-q",
        "-v",
        "-vv",
        "-x",
        "-s",
        "--quiet",
        "--verbose",
        "--workspace",
        "--all",
        "--all-features",
        "--all-targets",
        "--locked",
        "-race",
    ];
    let words: Vec<&str> = code.split_whitespace().filter(|word| !FLAGS.contains(word)).collect();
    let command = words.join(" ");
    let runners = Tool::ALL.into_iter().filter(|tool| tool.class() == ToolClass::Test).map(Tool::word);
    let commands: Vec<&str> = COMMANDS.iter().copied().chain(runners).collect();
    if commands.contains(&command.as_str()) {
        return WHOLE_SUITE;
    }
    let is_run = commands.iter().any(|known| command.strip_prefix(known).is_some_and(|rest| rest.starts_with([' ', ':'])));
    if is_run || command.starts_with("go test ") { NARROW_RUN } else { QUOTATION }
}

/// Leaves out of a line what stands between quotation marks or code marks, up to the end of the line where a mark is not closed.
fn without_quotes(line: &str) -> String {
    const PAIRS: &[(char, char)] = &[('`', '`'), ('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let behind = &rest[character.len_utf8()..];
        let pair = PAIRS.iter().find(|(open, _)| *open == character);
        match pair.and_then(|(_, close)| behind.split_once(*close)) {
            Some((inside, after)) => {
                kept.push_str(if character == '`' { stand_in(inside) } else { QUOTATION });
                rest = after;
            }
            None => {
                kept.push(character);
                rest = behind;
            }
        }
    }
    kept
}
