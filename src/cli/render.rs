//! The only module that prints. Results go to standard output; errors and notes go to standard error (G6).
//!
//! No text reaches a terminal as it is. Every function here escapes what a terminal obeys or a person does not see, and
//! writes the control sequences of proctor itself. So a command may pass any text, wherever the text comes from. The one
//! exception is [`raw`], for the bytes of a log that a program reads.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::style::{Line, Tone};
use crate::cli::terminal;
use proctor_app::CommandError;
use proctor_model::{CommandExit, shown_json, shown_line, shown_lines};
use proctor_run::query_sqlite;
use proctor_sandbox::process::{error_columns, output_columns};

/// What can be printed as one line.
pub(crate) trait Printable {
    /// Returns the line with its texts escaped, and with the sequences of its colours.
    fn printed(&self) -> String;
}

impl Printable for str {
    fn printed(&self) -> String {
        shown_line(self).into_owned()
    }
}

impl Printable for String {
    fn printed(&self) -> String {
        self.as_str().printed()
    }
}

impl Printable for Line {
    fn printed(&self) -> String {
        let pieces = self.pieces().iter().map(|piece| match piece.tone {
            Some(tone) => format!("\x1b[{}m{}\x1b[0m", code(tone), shown_line(&piece.text)),
            None => shown_line(&piece.text).into_owned(),
        });
        pieces.collect()
    }
}

/// Returns the number of a tone's colour in a control sequence (ECMA-48, SGR).
fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "32",
        Tone::Bad => "31",
        Tone::Doubtful => "33",
        Tone::Quiet => "2",
        Tone::Strong => "1",
    }
}

/// Prints a line of the result.
pub(crate) fn line(line: &(impl Printable + ?Sized)) {
    write(&format!("{}\n", parted(&line.printed(), output_columns())));
}

/// Returns an escaped text in the characters of the terminal, with line ends where a word would be broken at its edge.
fn parted(printed: &str, columns: Option<usize>) -> String {
    fold(&in_characters(printed, "..."), columns.unwrap_or(usize::MAX), None).into_owned()
}

/// Returns a line with line ends where a word would be broken at the edge of the terminal. What stands in backticks or quotes is not parted,
/// because it is copied, except where a tool printed it: such a line has a bar before it, and so has each part of it. `hang` is the column
/// at which further lines begin, if it is not that of the first.
fn fold(text: &str, columns: usize, hang: Option<usize>) -> Cow<'_, str> {
    let blanks = |text: &str| text.len() - text.trim_start_matches(' ').len();
    let outer = blanks(text);
    let bar = text[outer..].chars().next().filter(|first| matches!(first, '│' | '|')).map_or(0, char::len_utf8);
    let margin = if bar == 0 { outer } else { outer + bar + blanks(&text[outer + bar..]) };
    if columns < NARROWEST || columns_of(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut indent = hang.map_or_else(|| format!("{}  ", &text[..margin]), |hang| " ".repeat(hang));
    while columns_of(&indent) > columns / 2 {
        indent.pop();
    }
    let (mut folded, mut used, mut chunk) = (text[..margin].to_owned(), columns_of(&text[..margin]), String::new());
    let (mut quote, mut is_begun) = (None, true);
    for piece in text[margin..].split_inclusive(' ') {
        chunk.push_str(piece);
        for mark in piece.chars().filter(|character| matches!(character, '`' | '"')) {
            match quote {
                None => quote = Some(mark),
                Some(open) if open == mark => quote = None,
                Some(_) => {}
            }
        }
        if quote.is_some() && bar == 0 {
            continue;
        }
        let word = columns_of(chunk.trim_end());
        if used + word > columns && used > columns_of(&indent) {
            folded.truncate(folded.trim_end().len());
            folded = folded + "\n" + &indent;
            (used, is_begun) = (columns_of(&indent), false);
        }
        // The rest of a gap between columns of a table is not the beginning of a line.
        is_begun |= word > 0;
        if is_begun {
            folded.push_str(&chunk);
            used += columns_of(&chunk);
        }
        chunk.clear();
    }
    Cow::Owned(folded + &chunk)
}

/// A terminal with fewer columns breaks lines itself.
const NARROWEST: usize = 40;

/// Returns how many columns a printed text takes, without the sequences of its colours.
fn columns_of(text: &str) -> usize {
    let mut is_sequence = false;
    let shown = text.chars().filter(|character| {
        let is_shown = !is_sequence && *character != '\x1b';
        is_sequence = (is_sequence && *character != 'm') || *character == '\x1b';
        is_shown
    });
    shown.count()
}

/// Prints a text of several lines that a program may read, or a log. Its line ends and tabs are printed as they are.
pub(crate) fn text(text: &str) {
    write(&shown_lines(text));
}

/// Whether what is printed for people has ASCII characters only.
static IS_ASCII: AtomicBool = AtomicBool::new(false);

/// From now on, what is printed for people has ASCII characters only. Documents and logs stay as they are.
pub(crate) fn print_ascii() {
    IS_ASCII.store(true, Ordering::Relaxed);
}

/// The signs of the screens, and what stands for each where only ASCII is shown.
const SIGNS: &[(char, &str)] = &[
    ('·', "-"),
    ('✓', "+"),
    ('✗', "x"),
    ('→', "->"),
    ('│', "|"),
    ('–', "-"),
    ('─', "-"),
    ('›', ">"),
    ('❯', ">"),
    ('×', "x"),
    ('“', "\""),
    ('”', "\""),
    ('‘', "'"),
    ('’', "'"),
    ('▁', "."),
    ('▂', "!"),
    ('▄', "~"),
    ('█', "#"),
];

/// Returns a text in the characters that the terminal shows. `ellipsis` stands for `…`.
fn in_characters<'t>(text: &'t str, ellipsis: &str) -> Cow<'t, str> {
    if IS_ASCII.load(Ordering::Relaxed) && !text.is_ascii() { Cow::Owned(to_ascii(text, ellipsis)) } else { Cow::Borrowed(text) }
}

/// Returns a text in ASCII. A character for which no other one stands is escaped as hidden characters are.
fn to_ascii(text: &str, ellipsis: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == character) {
            Some((_, instead)) => ascii.push_str(instead),
            None if character == '…' => ascii.push_str(ellipsis),
            None if character.is_ascii() => ascii.push(character),
            None => ascii.extend(character.escape_unicode()),
        }
    }
    ascii
}

/// Returns standard output for a protocol whose messages are JSON documents with hidden characters as escapes. Nothing else may be printed
/// while it is in use.
pub(crate) fn protocol_output() -> impl std::io::Write + Send + 'static {
    std::io::stdout()
}

/// Prints a value as one JSON document, for `--json`. Hidden characters stand as JSON's escapes in it.
pub(crate) fn document(value: &impl serde::Serialize) {
    let text = serde_json::to_string_pretty(value).expect("our own values have a JSON form");
    write(&format!("{}\n", shown_json(&text)));
}

/// Prints a JSON document on one line, for a program that reads one. Hidden characters stand as JSON's escapes in it.
pub(crate) fn json_line(document: &str) {
    write(&format!("{}\n", shown_json(document)));
}

/// Prints a stored JSON document, such as a sealed report. To a file or a pipe it goes unchanged, because a program may
/// compare its hash. On a terminal, hidden characters stand as JSON's escapes: the document means the same.
pub(crate) fn stored_document(bytes: &[u8]) {
    if terminal::is_output_terminal() {
        write(&shown_json(&String::from_utf8_lossy(bytes)));
    } else {
        raw(bytes);
    }
}

/// Prints bytes unchanged, whatever a terminal makes of them.
pub(crate) fn raw(bytes: &[u8]) {
    write_bytes(bytes);
}

/// Whether what is printed may be read as the log of a job in GitHub Actions.
static IS_JOB_LOG: AtomicBool = AtomicBool::new(false);

/// From now on, no line that this process prints begins a workflow command, except by [`workflow_commands`]. The names of tests and the
/// messages of tools could otherwise set annotations, masks or groups of the job.
pub(crate) fn guard_job_log() {
    IS_JOB_LOG.store(true, Ordering::Relaxed);
}

/// Prints workflow commands of GitHub Actions, one on each line. Their texts are escaped already.
pub(crate) fn workflow_commands(commands: &str) {
    write_unguarded(commands.as_bytes());
}

/// Returns a text of which no line is a workflow command. A runner reads `::command` at the beginning of a line, also behind blanks, and
/// the older form `##[command]` anywhere.
fn without_commands(text: &str) -> String {
    let line = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        let (blanks, rest) = line.split_at(indent);
        let guard = if rest.starts_with("::") { "\\" } else { "" };
        format!("{blanks}{guard}{}", rest.replace("##[", "#\\#["))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether the line on the screen is one of [`live`].
static IS_LIVE: AtomicBool = AtomicBool::new(false);

/// Prints a note for people to standard error.
pub(crate) fn note(note: &(impl Printable + ?Sized)) {
    if IS_LIVE.load(Ordering::Relaxed) {
        end_live();
    }
    write_error(&format!("{}\n", parted(&note.printed(), error_columns())));
}

/// Prints an error with its causes and hints.
pub(crate) fn error(error: &CommandError) {
    error.lines().iter().for_each(note);
}

/// Prints the text that the argument parser returned as an error. For `--help` and `--version` the text is a result;
/// everything else is a usage error.
pub(crate) fn usage(error: &clap::Error) -> CommandExit {
    // To pass an unknown option as a value is not what was meant.
    let is_tip = |part: &&str| part.starts_with("  tip: to pass '");
    let said = error.to_string().split("\n\n").filter(|part| !is_tip(part)).collect::<Vec<_>>().join("\n\n");
    if error.use_stderr() {
        let lines = said.split_inclusive('\n').map(|line| parted(&shown_lines(line), error_columns()));
        write_error(&lines.collect::<String>());
        CommandExit::Usage
    } else {
        let columns = output_columns().unwrap_or(usize::MAX);
        let lines = said.lines().map(|line| fold_help(&in_characters(&shown_lines(line), "..."), columns) + "\n");
        write(&lines.collect::<String>());
        CommandExit::Proceed
    }
}

/// Returns a line of a help page, parted so that its further lines begin below the first, or below the second column of a list.
fn fold_help(line: &str, columns: usize) -> String {
    let margin = line.len() - line.trim_start_matches(' ').len();
    let column = line[margin..].find("  ").map(|gap| line.len() - line[margin + gap..].trim_start_matches(' ').len());
    fold(line, columns, Some(column.unwrap_or(margin))).into_owned()
}

/// Shows a line that the next line replaces.
pub(crate) fn live(line: &(impl Printable + ?Sized)) {
    // The line was cut to the width of the terminal, so it must not become longer.
    write(&format!("{}\r", in_characters(&line.printed(), ".")));
    IS_LIVE.store(true, Ordering::Relaxed);
}

/// Clears the line that [`live`] showed.
pub(crate) fn end_live() {
    IS_LIVE.store(false, Ordering::Relaxed);
    write("\x1b[2K\r");
}

/// Prints a question without ending the line.
pub(crate) fn prompt(text: &str) {
    write_error(&parted(&text.printed(), error_columns()));
}

/// Ends the line of a question that was not answered.
pub(crate) fn end_prompt() {
    write_error("\n");
}

/// Clears the visible part of the screen. Lines that were scrolled away stay, because other programs may have printed
/// them.
pub(crate) fn clear() {
    write("\x1b[2J\x1b[H");
}

pub(crate) fn bell() {
    write("\x07");
}

fn write(text: &str) {
    write_bytes(text.as_bytes());
}

/// Writes to standard output.
fn write_bytes(bytes: &[u8]) {
    if IS_JOB_LOG.load(Ordering::Relaxed) {
        write_unguarded(without_commands(&String::from_utf8_lossy(bytes)).as_bytes());
    } else {
        write_unguarded(bytes);
    }
}

/// Errors are ignored, because the reader may have closed the pipe.
fn write_unguarded(bytes: &[u8]) {
    let mut output = std::io::stdout().lock();
    let _gone = output.write_all(bytes).and_then(|()| output.flush());
}

/// Writes to standard error. Errors are ignored, because there is nowhere to report them.
fn write_error(text: &str) {
    let guarded = IS_JOB_LOG.load(Ordering::Relaxed).then(|| without_commands(text));
    let text = guarded.as_deref().unwrap_or(text);
    let mut output = std::io::stderr().lock();
    let _gone = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Prints the rows of a query of SQLite, one JSON object on each line, for the process that asked for them. Returns the exit code.
pub(crate) fn rows_of_sqlite(arguments: &[String]) -> u8 {
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    match query_sqlite(arguments, &mut output) {
        Ok(()) => 0,
        Err(error) => {
            write_error(&format!("{}\n", shown_line(&error.to_string())));
            error.code()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::style::Style;

    #[test]
    fn a_line_is_parted_between_words_and_never_in_a_command() {
        let line = "  ✓ pytest  reused from run 12  \x1b[2mon tree 5a3f0c21…\x1b[0m: `proctor show 12 --log STEP.1` has it";
        let fold = |text: &str, columns: usize| super::fold(text, columns, None).into_owned();
        assert_eq!(fold(line, 100), line);
        let parted =
            "  ✓ pytest  reused from run 12  \x1b[2mon tree\n    5a3f0c21…\x1b[0m:\n    `proctor show 12 --log STEP.1` has it";
        assert_eq!(fold(line, 42), parted);
        assert_eq!(fold("a                                             b", 40), "a\n  b");
        let listed = "   3  FAILED       tree 132560bc…  failed: unit  02:56, 12 s ago";
        assert_eq!(fold(listed, 50), "   3  FAILED       tree 132560bc…  failed: unit\n     02:56, 12 s ago");
        for whole in ["x".repeat(90), format!("`{}`", "a ".repeat(50)), format!("\"{}\"", "a ".repeat(50))] {
            assert_eq!(fold(&whole, 60), whole);
        }
        let printed = "       │   E  it says \"a few\" words and more";
        assert_eq!(fold(printed, 40), "       │   E  it says \"a few\" words and\n       │     more", "also in quotes");
    }

    #[test]
    fn a_help_page_is_parted_below_its_columns() {
        let listed = "  watch   Run the checks on every save of a file";
        assert_eq!(fold_help(listed, 40), "  watch   Run the checks on every save\n          of a file");
        assert_eq!(fold_help("  -x\u{20}as it is", 40), "  -x as it is");
        let text = "          The directory of the project, or none";
        assert_eq!(fold_help(text, 40), "          The directory of the project,\n          or none");
    }

    #[test]
    fn only_the_colours_of_proctor_are_control_sequences() {
        let hostile = "\x1b[2J\x1b[32mPASSED\x1b[0m\n\u{9b}1A\u{202e}";
        let escaped = "\\u{1b}[2J\\u{1b}[32mPASSED\\u{1b}[0m\\n\\u{9b}1A\\u{202e}";
        assert_eq!(hostile.printed(), escaped);
        let line = Style::Coloured.paint(Tone::Bad, hostile).and(" · ").and(hostile);
        assert_eq!(line.printed(), format!("\x1b[31m{escaped}\x1b[0m · {escaped}"));
        let line = Style::Plain.paint(Tone::Bad, hostile);
        assert_eq!(line.printed(), escaped);
    }

    #[test]
    fn where_only_ascii_is_shown_every_sign_has_another_one_and_a_name_is_escaped() {
        assert_eq!(to_ascii("  ✗ caf\u{e9} · 2 failed … a → b", "..."), "  x caf\\u{e9} - 2 failed ... a -> b");
        assert_eq!(to_ascii("█▁ …", "."), "#. .");
        assert!(SIGNS.iter().all(|(sign, instead)| !sign.is_ascii() && instead.is_ascii()));
        assert_eq!(in_characters("✓", "..."), "✓", "it is not asked for");
    }

    #[test]
    fn no_line_of_a_job_log_is_a_workflow_command() {
        for (printed, guarded) in [
            ("::error::x", "\\::error::x"),
            ("a\n \t\u{a0}::set-output name=a::b\n", "a\n \t\u{a0}\\::set-output name=a::b\n"),
            ("tests/a.py::test_b ##[add-mask]x", "tests/a.py::test_b #\\#[add-mask]x"),
            ("###[group]", "##\\#[group]"),
            ("", ""),
        ] {
            assert_eq!(without_commands(printed), guarded);
            assert_eq!(without_commands(guarded), guarded);
        }
    }
}
