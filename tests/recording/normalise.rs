//! Replaces what differs from run to run or from machine to machine, and nothing else: digests of contents stay.
//!
//! A text is replaced for one of three reasons, each with a table here: it is a name that the stage knows (a directory, a project's id),
//! it has the shape of something that differs (a time, a duration), or it is the value of a JSON key whose values differ.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Shapes of texts that differ from run to run, and what stands for them. They are replaced in this order.
static SHAPES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // A run's id is its time and its number in the ledger. The number stays.
        (r"exec-\d{8}T\d{6}\.\d{3}Z-(\d{6})", "exec-<time>-$1"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "<time>"),
        // A time on a screen, and how long ago it was.
        (r"\b\d\d:\d\d, \d+ (s|min|h) ago", "<age>"),
        // A duration on a screen. The padding before it depends on its width.
        (r" *\b\d+(\.\d+)? (ms|s|min|h)\b( \d+ s\b)?", " <duration>"),
        // A process, in a message of the program.
        (r"\b(pid|process) \d+", "$1 <pid>"),
        // A time in a row of the store's index, in milliseconds.
        (r"\b1\d{12}\b", "<time>"),
        // The key that signed. Every store has its own.
        (r"\bkey [0-9a-f]{8}\b", "key <key>"),
        // How much is sealed: documents with times in them are as long as these.
        (r"\b\d+ bytes(, \d+ lines? of ledgers| removed)", "<size> bytes$1"),
    ]
    .map(|(shape, name)| (Regex::new(shape).expect("the shapes are correct"), name))
    .into()
});

/// JSON keys whose values differ from run to run or from machine to machine, each with the reason.
const KEYS: &[(&str, &str)] = &[
    ("duration", "a measured time"),
    ("actualDuration", "a measured time"),
    ("digest", "of the environment, with the machine's programs"),
    ("totalDuration", "a measured time"),
    ("variables", "of the environment, with the machine's variables"),
    ("processId", "the program's own process"),
    ("reportHash", "over the whole report, with its times"),
];

/// The parts of a JSON line: indentation, key, value, and the comma.
static MEMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^(\s*)"(\w+)": (.*?)(,?)$"#).expect("the shape of a member is correct"));

/// The programs of a report's environment: what comes before the first one, all of them, and what comes after.
static COMPONENTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?s)("components": \[\n)(.*?)( +\])"#).expect("the shape of the components is correct"));

/// The beginning of a line about an action that is not over yet. How many there are depends on the machine.
const PROGRESS: &str = "  … ";

/// Ends of the names of evidence files that the program writes itself, with times in them: their sizes and digests differ.
const WITH_TIMES: &[&str] = &[".json", ".jsonl", ".frames"];

/// Words of lines about faults of a store. Their digests are those of documents with times in them.
const WORDS_OF_FAULTS: &[&str] =
    &["fileChanged: ", "manifestChanged: ", "reportHash: ", "indexDiffers: ", "\"detail\": ", "the SHA-256 of its SHA256SUMS"];

static DIGEST: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9a-f]{64}").expect("the shape of a digest is correct"));

/// Names that the stage knows, and what stands for each.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<(String, String)>,
}

impl Names {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Replaces `text` by `name`. Earlier texts are replaced first.
    pub(super) fn add(&mut self, text: &str, name: &str) {
        self.names.push((text.to_owned(), name.to_owned()));
    }

    /// Replaces `text` by `name` where it is a whole value of a JSON document.
    pub(super) fn add_whole_value(&mut self, text: &str, name: &str) {
        self.add(&format!("\"{text}\""), &format!("\"{name}\""));
    }

    /// Returns the text with everything replaced that differs.
    pub(super) fn normalise(&self, text: &str) -> String {
        let named = self.names.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        let shaped = SHAPES.iter().fold(named, |text, (shape, name)| shape.replace_all(&text, *name).into_owned());
        let mut file = EvidenceFile::default();
        let shown = shaped.split_inclusive('\n').filter(|line| !line.starts_with(PROGRESS));
        let lines: Vec<String> = shown.map(|line| member(&fault(line), &mut file)).collect();
        with_names_of_components(&lines.concat())
    }
}

/// Replaces the programs of a report's environment by their sorted names: their digests depend on the machine, and they are listed by
/// paths whose order depends on it. Toolchains outside of the stage are the machine's own.
fn with_names_of_components(text: &str) -> String {
    let named = |parts: &Captures<'_>| {
        let mut names: Vec<&str> =
            parts[2].lines().filter(|line| line.contains("\"name\"") && !line.contains("toolchain /")).collect();
        names.sort_unstable();
        format!("{}{}\n{}", &parts[1], names.join("\n"), &parts[3])
    };
    COMPONENTS.replace_all(text, named).into_owned()
}

/// Returns a line with its digests replaced if it is about a fault of a store.
fn fault(line: &str) -> Cow<'_, str> {
    let is_about_a_fault = WORDS_OF_FAULTS.iter().any(|words| line.contains(words));
    if is_about_a_fault { DIGEST.replace_all(line, "<digest>") } else { Cow::Borrowed(line) }
}

/// The file of a report's list of evidence files to which the lines belong that are read.
#[derive(Debug, Default)]
struct EvidenceFile {
    name: String,
    kind: String,
}

impl EvidenceFile {
    /// Returns whether size and digest differ from run to run. A `bytes` that belongs to no file is the size of a whole store.
    fn differs(&self) -> bool {
        self.name.is_empty() || WITH_TIMES.iter().any(|end| self.name.ends_with(end)) && self.kind != "tool-report"
    }
}

/// Returns a line of a JSON document with its value replaced if it differs from run to run or from machine to machine.
fn member(line: &str, file: &mut EvidenceFile) -> String {
    let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
    let Some(parts) = MEMBER.captures(content) else { return line.to_owned() };
    let (key, value) = (&parts[2], &parts[3]);
    match key {
        "name" => value.trim_matches('"').clone_into(&mut file.name),
        "kind" => value.trim_matches('"').clone_into(&mut file.kind),
        _ => {}
    }
    let is_of_file = file.differs() && matches!(key, "bytes" | "sha256");
    let differs = is_of_file || KEYS.iter().any(|(name, _)| *name == key) && !value.starts_with(['{', '[']);
    if differs { format!("{}\"{key}\": <differs>{}{end}", &parts[1], &parts[4]) } else { line.to_owned() }
}

#[test]
fn times_names_and_documents_of_a_run_are_replaced_and_contents_stay() {
    let mut names = Names::new();
    names.add("/tmp/x", "<root>");
    let content = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for (text, expected) in [
        ("run exec-20260304T091500.000Z-000002 at 2026-03-04T09:15:00.000Z\n", "run exec-<time>-000002 at <time>\n"),
        ("  ✓ STEP.1    good       done            0.04 s\n", "  ✓ STEP.1    good       done <duration>\n"),
        ("  … STEP.1    good  1 s\nPASSED · /tmp/x/report\n", "PASSED · <root>/report\n"),
        (
            "VERIFIED · 1 run, 13 files, 29939 bytes, 2 lines of ledgers\n",
            "VERIFIED · 1 run, 13 files, <size> bytes, 2 lines of ledgers\n",
        ),
        ("tree e3b0c442… · at most 5m\n", "tree e3b0c442… · at most 5m\n"),
        ("  \"duration\": 168,\n", "  \"duration\": <differs>,\n"),
        ("  fileChanged: its SHA-256 is DIGEST\n", "  fileChanged: its SHA-256 is <digest>\n"),
        ("\"name\": \"a.log\",\n\"sha256\": \"DIGEST\"\n", "\"name\": \"a.log\",\n\"sha256\": \"DIGEST\"\n"),
        ("\"name\": \"a.frames\",\n\"sha256\": \"DIGEST\"\n", "\"name\": \"a.frames\",\n\"sha256\": <differs>\n"),
    ] {
        let whole = |text: &str| text.replace("DIGEST", content);
        assert_eq!(names.normalise(&whole(text)), whole(expected));
    }
}
