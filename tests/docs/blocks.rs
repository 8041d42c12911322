//! Reads the fenced blocks of a page, and the comments that mark them.

/// A fenced block, with the text of the comment directly before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) mark: Option<String>,
    pub(crate) language: String,
    pub(crate) text: String,
}

impl Block {
    /// Returns the text of the mark after `word` and a colon. None: the block has another mark, or no mark.
    pub(crate) fn marked_as(&self, word: &str) -> Option<&str> {
        self.mark.as_deref()?.strip_prefix(word)?.strip_prefix(": ")
    }
}

pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            let text = inside.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
            blocks.push(Block { mark: mark.take(), language: language.to_owned(), text });
        } else if let Some(comment) = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            mark = Some(comment.trim().to_owned());
        } else if !line.is_empty() {
            mark = None;
        }
    }
    blocks
}

/// Returns the name and the expected exit status of a block that is to be run.
pub(crate) fn run_of(block: &Block) -> Option<(&str, i32)> {
    let rest = block.marked_as("run")?;
    match rest.rsplit_once(" exit ") {
        Some((name, status)) => Some((name, status.parse().unwrap_or_else(|error| panic!("`{rest}`: {error}")))),
        None => Some((rest, 0)),
    }
}

#[test]
fn blocks_and_their_marks_are_read() {
    let text = "# A\n\n<!-- run: main job exit 1 -->\n```sh\na\nb\n```\n\n<!-- a remark -->\nText.\n```text\nc\n```\n\n1. x\n\n   ```sh\n   d\n   ```\n";
    let block = |mark: Option<&str>, language: &str, text: &str| Block {
        mark: mark.map(str::to_owned),
        language: language.to_owned(),
        text: text.to_owned(),
    };
    let found = blocks(text);
    assert_eq!(
        found,
        [block(Some("run: main job exit 1"), "sh", "a\nb\n"), block(None, "text", "c\n"), block(None, "sh", "d\n")]
    );
    assert_eq!(run_of(&found[0]), Some(("main job", 1)));
    assert_eq!(run_of(&block(Some("run: x"), "sh", "")), Some(("x", 0)));
    assert_eq!(run_of(&found[1]), None);
    assert_eq!(block(Some("file: a/b"), "sh", "").marked_as("file"), Some("a/b"));
}
