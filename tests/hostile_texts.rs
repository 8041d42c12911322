//! Tests names and messages that try to paint over the screen, to turn a text around, or to hide words, in every place
//! where proctor shows a text of others, and with every command that prints.
//!
//! Every class of characters ([`CLASSES`]) is tried at every place ([`PLACES`]). A test fails if one of the characters
//! reaches an output as itself.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use nix::sys::stat::Mode;

use crate::common::{Output, Project, fake_tool, source_files};

/// The classes of characters: the name of each, and a text with characters of the class.
const CLASSES: &[(&str, &str)] = &[
    ("escape", "\u{1b}[2J\u{1b}[1;1H\u{1b}[32mPASSED\u{1b}[0m"),
    ("title", "\u{1b}]0;PASSED\u{7}"),
    ("c1-sequence", "\u{9b}2J\u{9b}32mPASSED"),
    ("c1-string", "\u{9d}0;PASSED\u{9c}"),
    ("bell", "\u{7}\u{7}"),
    ("backspace", "FAILED\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}PASSED"),
    ("return", "FAILED\rPASSED"),
    ("line-end", "\nPASSED"),
    ("feeds", "\u{b}\u{c}PASSED"),
    ("delete", "\u{7f}\u{7f}"),
    ("other-c1", "\u{80}\u{84}\u{85}\u{8d}\u{90}\u{98}"),
    ("override", "\u{202e}DESSAP\u{202c}\u{2066}\u{2069}"),
    ("marks", "\u{200e}\u{200f}\u{61c}"),
    ("zero-width", "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}"),
    ("soft", "PA\u{ad}SS\u{34f}ED\u{180e}"),
    ("tags", "\u{e0001}\u{e0050}\u{e0041}\u{e0053}\u{e0053}\u{e007f}"),
    ("selectors", "a\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}"),
    ("private", "\u{e000}\u{f8ff}\u{f0000}\u{10fffd}"),
    ("separators", "\u{2028}PASSED\u{2029}"),
    ("fillers", "\u{3164}\u{115f}\u{ffa0}\u{2800}\u{ffff}\u{fdd0}"),
];

/// The places at which a text of each class is tried.
const PLACES: &[&str] = &[
    "a file's name",
    "a name of a test",
    "a message of a test",
    "a file of a finding",
    "a message of a finding",
    "the output of a command",
    "an argument of a process that was left behind",
    "an argument of a command line of proctor",
    "a key or value of a configuration",
    "a name in foreign evidence",
];

/// Returns whether a terminal may obey the character or a person may not see it. The list of characters is written
/// again here, so that the test does not trust the program's own list.
fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    let ranges = [
        (0x00, 0x1f),
        (0x7f, 0x9f),
        (0xad, 0xad),
        (0x34f, 0x34f),
        (0x61c, 0x61c),
        (0x115f, 0x1160),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0x2800, 0x2800),
        (0x3164, 0x3164),
        (0xe000, 0xf8ff),
        (0xfdd0, 0xfdef),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xffa0, 0xffa0),
        (0xfff0, 0xffff),
        (0xe0000, 0x10ffff),
    ];
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

#[track_caller]
fn expect_clean(what: &str, text: &str) {
    for line in text.split('\n') {
        let found: Vec<String> =
            line.chars().filter(|one| is_hidden(*one)).map(|one| format!("U+{:04X}", u32::from(one))).collect();
        assert!(found.is_empty(), "{what} prints {found:?} in the line {}", line.escape_debug());
    }
    // The words after a line end in a text of others must not begin a line of the output.
    assert!(!text.lines().any(|line| line.starts_with("PASSED") && !line.contains('·')), "{what} prints a forged line:\n{text}");
}

#[track_caller]
fn expect_clean_output(what: &str, output: &Output) {
    expect_clean(&format!("{what} (standard output)"), &output.stdout);
    expect_clean(&format!("{what} (standard error)"), &output.stderr);
}

/// Returns what a command drew at a terminal without the sequences that proctor itself writes: colours, and the end of
/// a live line.
fn without_own_sequences(drawn: &str) -> String {
    let mut text = drawn.to_owned();
    for own in ["\u{1b}[32m", "\u{1b}[31m", "\u{1b}[33m", "\u{1b}[2m", "\u{1b}[1m", "\u{1b}[0m", "\u{1b}[2K\r"] {
        text = text.replace(own, "");
    }
    // The live line ends with a carriage return of proctor's own.
    text.lines()
        .map(|line| if line.starts_with("  … ") { line.replace('\r', "") } else { line.to_owned() })
        .collect::<Vec<_>>()
        .join("\n")
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A program that plays pytest: it writes a report with a failed test for each class, and leaves a process behind.
fn pytest() -> String {
    let escaped = |text: &str| -> String {
        // XML has no place for most control characters; those that it allows are written as references.
        let allowed = |one: &char| matches!(one, '\t' | '\n' | '\r') || (!matches!(u32::from(*one), 0..=0x1f | 0xfffe | 0xffff));
        text.chars().filter(allowed).map(|one| format!("&#{};", u32::from(one))).collect()
    };
    let cases = CLASSES.iter().map(|(class, text)| {
        let text = escaped(text);
        format!(
            "<testcase classname=\"tests.{class}{text}\" name=\"test_{class}{text}\" time=\"0.1\">\
             <failure message=\"{text} is wrong\">E   AssertionError: {text}</failure></testcase>"
        )
    });
    let cases: String = cases.collect();
    let report = format!("<testsuites><testsuite tests=\"{}\">{cases}</testsuite></testsuites>", CLASSES.len());
    let argument = CLASSES.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" ");
    format!(
        "#!/bin/sh\nfor word in \"$@\"; do case $word in --junitxml=*) cat > \"${{word#--junitxml=}}\" <<'END'\n{report}\nEND\n;; esac; done\n\
         setsid sh -c 'sleep 600' {} >/dev/null 2>&1 </dev/null &\n\
         until tr '\\0' ' ' </proc/$!/cmdline | grep -q 'sleep 600'; do :; done\nexit 1\n",
        shell_quoted(&argument)
    )
}

/// A program that plays tsc.
fn tsc() -> String {
    let lines = CLASSES
        .iter()
        .filter(|(class, _)| *class != "line-end")
        .map(|(class, text)| format!("src/{class}{text}.ts(1,2): error TS2322: Type {text} is not assignable to {class}.\n"));
    format!("#!/bin/sh\ncat <<'END'\n{}END\nexit 2\n", lines.collect::<String>())
}

/// A program of no kind that proctor knows.
fn talker() -> String {
    let lines = CLASSES.iter().map(|(class, text)| format!("{class}: {text}\n")).collect::<String>();
    format!("#!/bin/sh\ncat <<'END' >&2\n{lines}END\nexit 3\n")
}

/// A project in which each text of [`CLASSES`] stands in a file's name and in the output of a check.
fn project() -> Project {
    let toml = "[[check]]\nname = \"tests\"\ncommand = [\"./pytest\", \"-q\"]\n\
                [[check]]\nname = \"types\"\ncommand = [\"./tsc\", \"--noEmit\"]\n[[check]]\nname = \"talk\"\ncommand = [\"./talker\"]\n";
    let mut project = Project::new().with_program(fake_tool()).toml(toml);
    project = project.executable("pytest", &pytest()).executable("tsc", &tsc()).executable("talker", &talker());
    for (class, text) in CLASSES {
        project.save(&format!("src/{class}{text}.py"), "x = 1\n");
    }
    project
}

#[test]
fn only_the_log_of_an_action_is_printed_without_escapes() {
    let callers: Vec<String> =
        source_files("src/cli").into_iter().filter(|file| file.text.contains("render::raw(")).map(|file| file.path).collect();
    assert_eq!(callers, ["src/cli/commands/show.rs"], "`render::raw` is for the bytes of a log, which a program reads");
}

#[test]
fn the_corpus_has_a_text_of_each_class_at_each_place() {
    assert_eq!(CLASSES.len() * PLACES.len(), 200);
    for (class, text) in CLASSES {
        assert!(text.chars().any(is_hidden), "{class}");
    }
}

#[test]
fn no_command_prints_a_character_of_others_that_a_terminal_obeys_or_a_person_does_not_see() {
    let project = project();
    let run = project.proctor(["run"]).failure();
    expect_clean_output("run", &run);
    assert!(run.stdout.contains("\\u{9b}2J"), "the texts are shown, with escapes:\n{}", run.stdout);
    for arguments in [
        &["run", "--json"][..],
        &["status"],
        &["status", "--json"],
        &["service", "list"],
        &["service", "list", "--json"],
        &["log"],
        &["show"],
        &["show", "--json"],
        &["plan"],
        &["plan", "--json"],
        &["generate", "tree", "--list"],
        &["generate", "tree", "--list", "--json"],
        &["verify"],
        &["verify", "--all", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["check"],
        &["check", "--json"],
        &["approve"],
        &["init"],
        &["key", "checkpoint"],
        &["key", "show"],
        &["prune", "--dry-run"],
        &["generate", "api"],
        &["tdd", "show", "default"],
    ] {
        let output = project.proctor(arguments).any_status();
        expect_clean_output(&arguments.join(" "), &output);
    }
}

#[test]
fn no_argument_of_a_command_line_comes_back_as_it_is() {
    let project = project();
    project.proctor(["run"]).failure();
    let names: Vec<String> = CLASSES.iter().map(|(class, text)| format!("{class}{text}")).collect();
    let whole = names.join(" ");
    for arguments in [
        vec!["why", &whole],
        vec!["why", &whole, "--json"],
        vec!["show", &whole],
        vec!["show", "--log", &whole],
        vec!["verify", &whole],
        vec!["verify", "--key", &whole],
        vec!["verify", "--anchor", &whole],
        vec!["check", &whole],
        vec!["run", &whole],
        vec!["run", "--task", &whole],
        vec!["run", "--check", &whole],
        vec!["export", &whole],
        vec!["key", "anchor", "--file", &whole],
        vec!["gate", &whole],
        vec!["gate", "--policy-from", &whole],
        vec!["gate", "--from-notes", "--signers", &whole],
        vec!["attest", &whole],
        vec!["attest", "--bundle", &whole],
        vec!["service", "remove", &whole],
        vec!["tdd", "show", &whole],
        vec!["status", &whole],
        vec!["wait", &whole],
        vec!["review", "--prompt", &whole, "--command", "./talker"],
        vec!["approve", "--signature", &whole],
        vec!["request", "complete", &whole],
    ] {
        let output = project.proctor(&arguments).any_status();
        // The parser of arguments names an argument as it is, with its line ends.
        expect_clean_output(&arguments[..arguments.len() - 1].join(" "), &output);
    }
    expect_clean_output("govern", &project.govern(["--brief", &whole]).any_status());
    let existing = CLASSES.iter().map(|(class, text)| format!("src/{class}{text}.py"));
    for name in existing {
        expect_clean_output("why", &project.proctor(["why", &name]).success());
    }
}

#[test]
#[ignore = "long tier"]
fn an_error_in_a_configuration_is_named_without_its_hostile_characters() {
    for (class, text) in CLASSES {
        let escaped: String = text.chars().map(|one| format!("\\U{:08X}", u32::from(one))).collect();
        for toml in [
            format!("\"{escaped}\" = 1\n"),
            format!("[watch]\nquiet = \"{escaped}\"\n"),
            format!("[[check]]\nname = \"{escaped}\"\ncommand = \"true\"\n"),
            format!("[[check]]\nname = \"a\"\ncommand = \"{escaped}nothing\"\n"),
            format!("[policy.\"{escaped}\"]\nblock_on = \"error\"\n"),
        ] {
            let project = Project::new().toml(&toml);
            expect_clean_output(&format!("run with {class} in {toml}"), &project.proctor(["run"]).any_status());
            expect_clean_output("check", &project.proctor(["check"]).any_status());
        }
    }
}

#[test]
fn foreign_evidence_is_verified_without_printing_its_names_as_they_are() {
    let project = project();
    project.proctor(["run"]).failure();
    let copy = project.root().join("copy");
    project.proctor(["export", "--to", copy.to_str().expect("text")]).success();
    for (class, text) in CLASSES {
        fs::write(copy.join("run").join(format!("{class}{text}")), "x").expect("the copy is ours");
        std::os::unix::fs::symlink(format!("{class}{text}"), copy.join("run").join(format!("link-{class}{text}"))).expect("ours");
    }
    let key = project.proctor(["key", "export"]).success().stdout;
    fs::write(project.root().join("key.pem"), key).expect("it is ours");
    let key = project.root().join("key.pem");
    for more in [&[][..], &["--json"]] {
        let arguments = [&["verify", copy.to_str().expect("text"), "--key", key.to_str().expect("text")], more].concat();
        expect_clean_output("verify", &project.proctor(arguments).status(6));
    }
}

#[test]
fn a_terminal_gets_only_the_sequences_of_proctor_and_a_log_is_escaped_there() {
    let project = project();
    let drawn = project.proctor(["run"]).at_terminal().ended();
    expect_clean("run at a terminal", &without_own_sequences(&drawn.stdout));
    assert!(drawn.stdout.contains("\u{1b}[31m"), "it has colours: {}", drawn.stdout);
    for arguments in [&["show"][..], &["show", "--json"], &["show", "--log", "talk"], &["show", "--log", "types"], &["status"]] {
        let drawn = project.proctor(arguments).at_terminal().ended();
        // A log keeps the line ends that the tool printed, so this forged line is no fault.
        let drawn = without_own_sequences(&drawn.stdout).replace("line-end: \nPASSED", "line-end: PASSED");
        expect_clean(&format!("{} at a terminal", arguments.join(" ")), &drawn);
    }
    let raw = project.proctor(["show", "--log", "talk", "--raw"]).at_terminal().ended();
    assert!(raw.stdout.contains("\u{1b}[2J"), "--raw prints the bytes");
    let piped = project.proctor(["show", "--log", "talk"]).success();
    assert!(piped.stdout.contains("escape: \u{1b}[2J"), "a program gets the bytes");
}

#[test]
fn watch_escapes_the_name_of_a_file_that_is_saved() {
    let project = Project::new()
        .with_program(fake_tool())
        .toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\", \"--sleep\", \"400\"]\n");
    let mut watch = project.proctor(["watch"]).at_terminal();
    watch.wait_for("watching", Duration::from_secs(60));
    for (class, text) in CLASSES.iter().take(4) {
        project.save(&format!("{class}{text}.py"), "x = 1\n");
        watch.wait_for("✓", Duration::from_secs(60));
        project.save(&format!("{class}{text}.py"), "x = 2\n");
        watch.wait_for("watching", Duration::from_secs(60));
    }
    watch.press("q");
    let drawn = watch.ended();
    let text = without_own_sequences(&drawn.stdout).replace("\u{1b}[2J\u{1b}[H", "").replace(['\u{7}', '\r'], "");
    expect_clean("watch", &text);
}

#[test]
fn the_log_for_operators_has_no_hostile_characters() {
    let project = project();
    project.proctor(["run"]).failure();
    project.proctor(["run", "--task", "\u{1b}[2J\nERROR forged \u{202e}"]).status(2);
    let mut logs = Vec::new();
    find_logs(&project.root().join("state"), &mut logs);
    assert!(!logs.is_empty(), "there is a log");
    for log in logs {
        expect_clean(&log, &fs::read_to_string(&log).expect("it is text"));
    }
}

fn find_logs(directory: &Path, logs: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_logs(&path, logs);
        } else if name.starts_with("proctor.") && name.ends_with(".log") {
            logs.push(path.display().to_string());
        }
    }
}

/// Paths that lead to no regular file, or to one that is far too large.
fn odd_files(project: &Project) -> Vec<(&'static str, String)> {
    let at = |name: &str| project.root().join(name);
    nix::unistd::mkfifo(&at("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).expect("it is ours");
    drop(UnixListener::bind(at("socket")).expect("it is ours"));
    File::create(at("sparse")).expect("it is ours").set_len(1 << 40).expect("a file may have holes");
    let text = |name: &str| at(name).to_str().expect("text").to_owned();
    vec![
        ("pipe", text("pipe")),
        ("socket", text("socket")),
        ("sparse", text("sparse")),
        ("endless", "/dev/zero".to_owned()),
        ("directory", text("project")),
    ]
}

#[test]
fn every_command_that_reads_a_named_file_refuses_pipes_devices_and_endless_files_at_once() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    project.proctor(["run"]).success();
    let bound = Duration::from_secs(20);
    for (kind, path) in odd_files(&project) {
        for arguments in [
            vec!["verify", path.as_str()],
            vec!["verify", "--key", &path],
            vec!["verify", "--anchor", &path],
            vec!["key", "anchor", "--file", &path],
            vec!["check", &path],
            vec!["review", "--prompt", &path, "--command", "./x"],
        ] {
            let is_lenient = kind == "directory" && arguments[0] == "verify" && arguments.len() == 2;
            let output = project.proctor(&arguments).bound(bound).any_status();
            assert!(output.status != 0, "{arguments:?}: {}", output.snapshot());
            assert!(output.status < 70, "{arguments:?}: {}", output.snapshot());
            let name = path.rsplit('/').next().unwrap_or_default();
            let said = format!("{}{}", output.stdout, output.stderr);
            assert!(is_lenient || said.contains(name), "{arguments:?} names no file:\n{said}");
        }
        // Without a drafter, the brief is not even opened.
        let governed = project.govern(["--brief", &path]).bound(bound).any_status();
        assert!((1..70).contains(&governed.status), "{}", governed.snapshot());
    }
}

#[test]
fn a_configuration_and_a_file_of_variables_that_are_pipes_are_refused_at_once() {
    let bound = Duration::from_secs(20);
    let project = Project::new();
    nix::unistd::mkfifo(&project.path().join("proctor.toml"), Mode::S_IRUSR | Mode::S_IWUSR).expect("it is ours");
    for command in ["run", "check", "plan", "status"] {
        let said = project.proctor([command]).bound(bound).any_status();
        assert!(format!("{}{}", said.stdout, said.stderr).contains("proctor.toml"), "{command}: {}", said.snapshot());
    }
    let project = Project::new().toml("[environment]\nenv_file = \"vars\"\n[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    nix::unistd::mkfifo(&project.path().join("vars"), Mode::S_IRUSR | Mode::S_IWUSR).expect("it is ours");
    let said = project.proctor(["run"]).bound(bound).any_status();
    assert!(said.stderr.contains("`vars`") && said.stderr.contains("pipe"), "{}", said.snapshot());
}

#[test]
fn a_configuration_of_a_tebibyte_is_refused_at_once() {
    let project = Project::new();
    let toml = File::create(project.path().join("proctor.toml")).expect("it is ours");
    toml.set_len(1 << 40).expect("a file may have holes");
    for command in ["run", "check", "plan", "status"] {
        let said = project.proctor([command]).bound(Duration::from_secs(20)).any_status();
        assert!(said.status != 0 || command == "status", "{command}: {}", said.snapshot());
        assert!(format!("{}{}", said.stdout, said.stderr).contains("proctor.toml"), "{command}: {}", said.snapshot());
    }
}

#[test]
fn a_copy_with_a_file_of_a_tebibyte_is_verified_without_reading_it() {
    let project = Project::new().with_program(fake_tool()).toml("[[check]]\nname = \"a\"\ncommand = [\"fake-tool\"]\n");
    project.proctor(["run"]).success();
    let copy = project.root().join("copy");
    project.proctor(["export", "--to", copy.to_str().expect("text")]).success();
    let report = copy.join("run/execution-report.json");
    for name in [report, copy.join("run/STEP.1-new.log"), copy.join("ledger.jsonl")] {
        fs::remove_file(&name).unwrap_or_default();
        File::create(&name).expect("the copy is ours").set_len(1 << 40).expect("a file may have holes");
        let said = project.proctor(["verify", copy.to_str().expect("text")]).bound(Duration::from_secs(20)).any_status();
        assert!(said.status != 0 && said.status < 128, "{}", said.snapshot());
        fs::remove_file(&name).expect("it is there");
    }
}
