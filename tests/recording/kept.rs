//! The recording as a file: one compressed text, with a line before what each scenario and each of its commands printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::common::repository;
use crate::recording::stage::Printed;

/// What scenarios printed, by their names.
pub(super) type Recording = BTreeMap<String, Vec<Printed>>;

const SCENARIO: &str = "=== ";
const COMMAND: &str = "--- ";
/// How many equal lines are shown before and after what differs.
const AROUND: usize = 3;
/// The most lines of each side that are shown of one command.
const MOST_SHOWN: usize = 40;
const LEVEL: i32 = 19;

fn path() -> PathBuf {
    repository().join("tests/recording/recorded.zst")
}

/// Reads the recording of the tests.
#[track_caller]
pub(super) fn read() -> Recording {
    let bytes = fs::read(path()).expect("the recording is part of the tests");
    let text = zstd::decode_all(bytes.as_slice()).expect("the recording is compressed by zstd");
    parse(&String::from_utf8(text).expect("the recording is text"))
}

/// Writes the recording of the tests anew.
#[track_caller]
pub(super) fn write(recording: &Recording) {
    let bytes = zstd::encode_all(text(recording).as_bytes(), LEVEL).expect("memory can be written to");
    fs::write(path(), bytes).expect("the tests can be written to");
}

/// Returns the recording as the text that is kept. No line of an output begins as the lines between them do.
pub(super) fn text(recording: &Recording) -> String {
    let mut text = String::new();
    for (scenario, printed) in recording {
        let _never_fails = writeln!(text, "{SCENARIO}{scenario}");
        for Printed { command, text: output } in printed {
            let _never_fails = write!(text, "{COMMAND}{command}\n{output}");
        }
    }
    text
}

fn parse(text: &str) -> Recording {
    let mut recording = Recording::new();
    let mut scenario = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix(SCENARIO) {
            name.trim_end().clone_into(&mut scenario);
            recording.insert(scenario.clone(), Vec::new());
            continue;
        }
        let printed = recording.get_mut(&scenario).expect("a scenario's name comes first");
        match (line.strip_prefix(COMMAND), printed.last_mut()) {
            (Some(command), _) => printed.push(Printed { command: command.trim_end().to_owned(), text: String::new() }),
            (None, Some(last)) => last.text.push_str(line),
            (None, None) => panic!("a command comes before what it printed: {line}"),
        }
    }
    recording
}

/// Returns the differences between what one scenario printed and what was recorded, one text for each command.
pub(super) fn differences(scenario: &str, recorded: Option<&Vec<Printed>>, printed: &[Printed]) -> Vec<String> {
    let Some(recorded) = recorded else { return vec![format!("{scenario} was never recorded")] };
    let commands = |of: &[Printed]| of.iter().map(|one| one.command.clone()).collect::<Vec<_>>();
    if commands(recorded) != commands(printed) {
        return vec![format!("{scenario} was recorded with other commands")];
    }
    let pairs = recorded.iter().zip(printed).filter(|(recorded, printed)| recorded != printed);
    pairs.map(|(recorded, printed)| difference(scenario, recorded, printed)).collect()
}

/// Shows the lines from the first one that differs to the last one.
fn difference(scenario: &str, recorded: &Printed, printed: &Printed) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (recorded.text.lines().collect(), printed.text.lines().collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most_after = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(most_after).take_while(|(old, new)| old == new).count();
    let mut shown = format!("{scenario}: {}\n@@ line {} @@\n", recorded.command, before + 1);
    let mut show = |mark: &str, lines: &[&str]| {
        for line in lines.iter().take(MOST_SHOWN) {
            let _never_fails = writeln!(shown, "{mark}{line}");
        }
        if lines.len() > MOST_SHOWN {
            let _never_fails = writeln!(shown, "{mark}… {} more lines", lines.len() - MOST_SHOWN);
        }
    };
    show(" ", &old[before.saturating_sub(AROUND)..before]);
    show("-", &old[before..old.len() - after]);
    show("+", &new[before..new.len() - after]);
    show(" ", &new[new.len() - after..(new.len() - after + AROUND).min(new.len())]);
    shown
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let printed = |command: &str, text: &str| Printed { command: command.to_owned(), text: text.to_owned() };
    let commands = vec![printed("proctor run", "exit 1\nout === a\n"), printed("proctor log", "exit 0\n")];
    let recording = Recording::from([("a".to_owned(), commands), ("b".to_owned(), Vec::new())]);
    assert_eq!(parse(&text(&recording)), recording);
}

#[test]
fn a_difference_names_scenario_command_and_lines() {
    let printed = |text: &str| vec![Printed { command: "proctor log".to_owned(), text: text.to_owned() }];
    let (old, new) = (printed("exit 0\nout a\nout b\nout c\n"), printed("exit 0\nout a\nout x\nout c\n"));
    let expected = "here: proctor log\n@@ line 3 @@\n exit 0\n out a\n-out b\n+out x\n out c\n";
    assert_eq!(differences("here", Some(&old), &new), [expected]);
    assert_eq!(differences("here", Some(&old), &old), Vec::<String>::new());
    assert_eq!(differences("there", None, &new), ["there was never recorded"]);
}
