//! Folds the frames of a stack that lie outside of the project: those of the runtime and of installed packages.

use std::borrow::Cow;

use crate::report::failed::cause::{frame, is_installed, is_number};

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Kept,
    /// The first line of a frame that is folded.
    Frame,
    /// Another line of such a frame, or what parts it from the next.
    Part,
}

/// The line that names the place of a frame, as pytest prints it.
struct PytestPlace<'l> {
    file: &'l str,
    /// Whether the source stands below the place. It stands above the place of a frame with a whole function.
    is_above: bool,
}

/// Returns the lines with a count in place of the frames outside of the project. What is printed as an error (`E`) stays. Frames of Python
/// are folded only beside one of the project.
pub(super) fn without_outside_frames<'t>(lines: &[&'t str]) -> Vec<Cow<'t, str>> {
    let mut folds = vec![Fold::Kept; lines.len()];
    let is_relative = |line: &&str| pytest_place(line).is_some_and(|place| !is_library(place.file));
    let has_relative = lines.iter().any(is_relative);
    let is_own = |line: &&str| python_file(line).is_some_and(|file| !is_library(file));
    let has_own = has_relative || lines.iter().any(is_own);
    for (number, line) in lines.iter().enumerate() {
        if is_outside_script(line) {
            folds[number] = Fold::Frame;
        } else if has_own && python_file(line).is_some_and(is_library) {
            fold_below(lines, &mut folds, number, indent(line) + 1);
        } else if let Some(place) = pytest_place(line).filter(|place| has_relative && is_library(place.file)) {
            if place.is_above {
                fold_below(lines, &mut folds, number, 4);
            } else {
                fold_above(lines, &mut folds, number);
            }
        }
    }
    for number in 0..lines.len() {
        let beside = [number.checked_sub(1), Some(number + 1)];
        let is_beside = beside.into_iter().flatten().any(|next| folds.get(next).is_some_and(|fold| *fold != Fold::Kept));
        if is_separator(lines[number]) && is_beside {
            folds[number] = Fold::Part;
        }
    }
    folded(lines, &folds)
}

/// Returns whether a line is one of those by which pytest parts the frames of a traceback: underscores as wide as its terminal.
pub(super) fn is_separator(line: &str) -> bool {
    line.len() > 2 && line.chars().all(|character| matches!(character, '_' | ' '))
}

/// Folds a frame whose source stands below its place: the lines that are indented at least so far.
fn fold_below(lines: &[&str], folds: &mut [Fold], place: usize, least: usize) {
    folds[place] = Fold::Frame;
    let below = lines[place + 1..].iter().take_while(|line| !line.trim().is_empty() && indent(line) >= least);
    let count = below.count();
    folds[place + 1..=place + count].fill(Fold::Part);
}

/// Folds a frame whose function stands above its place.
fn fold_above(lines: &[&str], folds: &mut [Fold], place: usize) {
    let begins = |number: &usize| is_separator(lines[*number]) || pytest_place(lines[*number]).is_some();
    let first = (0..place).rev().find(begins).map_or(0, |before| before + 1);
    for number in first..=place {
        if !lines[number].starts_with("E ") {
            folds[number] = Fold::Part;
        }
    }
    folds[first] = Fold::Frame;
}

fn folded<'t>(lines: &[&'t str], folds: &[Fold]) -> Vec<Cow<'t, str>> {
    let (mut kept, mut number) = (Vec::new(), 0);
    while let Some(fold) = folds.get(number) {
        if *fold == Fold::Kept {
            kept.push(Cow::Borrowed(lines[number]));
            number += 1;
            continue;
        }
        let run: Vec<Fold> = folds[number..].iter().copied().take_while(|fold| *fold != Fold::Kept).collect();
        let count = run.iter().filter(|fold| **fold == Fold::Frame).count();
        let frames = if count == 1 { "frame" } else { "frames" };
        kept.extend((count > 0).then(|| Cow::Owned(format!("    … {count} {frames} outside of the project"))));
        number += run.len();
    }
    kept
}

/// Returns whether a line is a frame of JavaScript in an installed package or the runtime. Some reports leave the word `at` out.
fn is_outside_script(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with("at ") && line.contains("<anonymous>") && frame(line).is_none() {
        return true;
    }
    let place = line.strip_suffix(')').unwrap_or(line).rsplit(['(', ' ']).next().unwrap_or_default();
    let read = || {
        let (rest, column) = place.rsplit_once(':')?;
        let (file, number) = rest.rsplit_once(':')?;
        (is_number(column) && is_number(number)).then_some(file)
    };
    read().is_some_and(|file| file.starts_with("node:") || is_installed(file))
}

/// Returns the file of a frame as Python prints it: `File "stock.py", line 3, in price`.
fn python_file(line: &str) -> Option<&str> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once('"')?;
    rest.starts_with(", line ").then_some(file)
}

/// Reads `stock.py:3: in price`, `stock.py:3: KeyError` and `stock.py:3:`.
fn pytest_place(line: &str) -> Option<PytestPlace<'_>> {
    let (place, rest) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
    let (file, number) = place.rsplit_once(':')?;
    let is_file = file.ends_with(".py") || file.starts_with("<frozen ");
    let is_place = is_file && is_number(number) && !line.starts_with([' ', '>']) && !line.starts_with("E ");
    is_place.then(|| PytestPlace { file, is_above: rest.starts_with("in ") })
}

/// Returns whether a file is of Python's own library or of an installed package.
fn is_library(file: &str) -> bool {
    is_installed(file) || file.contains("/lib/python3") || file.starts_with("<frozen ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_folded(text: &str, expected: &str) {
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(without_outside_frames(&lines).join("\n"), expected);
    }

    #[test]
    fn of_a_traceback_of_pytest_the_projects_frames_and_the_error_stay() {
        assert_folded(
            "    def test_json():\n>       assert load(\"\") == 1\n\ntest_a.py:5:\n_ _ _ _\ntest_a.py:3: in load\n    return json.loads(t)\n\
             /usr/lib/python3.11/json/__init__.py:346: in loads\n    return decode(s)\n_ _ _ _\n\nself = <Decoder>\n\n    def decode(s):\n\
             >       raise JSONDecodeError\nE       JSONDecodeError: Expecting value\n\n/usr/lib/python3.11/json/decoder.py:355: JSONDecodeError",
            "    def test_json():\n>       assert load(\"\") == 1\n\ntest_a.py:5:\n_ _ _ _\ntest_a.py:3: in load\n    return json.loads(t)\n    \
             … 2 frames outside of the project\nE       JSONDecodeError: Expecting value",
        );
        let collected = "/usr/lib/python3.11/importlib/__init__.py:126: in import_module\n    return _gcd_import(name)\n";
        let own = "test_a.py:1: in <module>\n    import nope\nE   ModuleNotFoundError";
        assert_folded(&format!("{collected}{own}"), &format!("    … 1 frame outside of the project\n{own}"));
        // A test that went to another directory has no relative paths, and a failure of a plugin has no frame of the project.
        let absolute = "/home/ada/shop/test_a.py:3: in load\n    return 1\nE   ValueError";
        assert_folded(absolute, absolute);
        assert_folded(collected.trim_end(), collected.trim_end());
    }

    #[test]
    fn frames_of_python_and_of_scripts_are_counted() {
        assert_folded(
            "Traceback (most recent call last):\n  File \"/home/ada/shop/a.py\", line 2, in <module>\n    json.loads(\"\")\n  \
             File \"/usr/lib/python3.11/json/__init__.py\", line 346, in loads\n    return decode(s)\n           ^^^^^^^^^\n  \
             File \"<frozen codecs>\", line 1, in f\njson.JSONDecodeError: Expecting value",
            "Traceback (most recent call last):\n  File \"/home/ada/shop/a.py\", line 2, in <module>\n    json.loads(\"\")\n    \
             … 2 frames outside of the project\njson.JSONDecodeError: Expecting value",
        );
        let of_tap =
            "price (file:///shop/a.js:1:4)\nTest.run (node:internal/test_runner/test:7:2)\nnode:internal/x:1:2\nasync node:a:1:2";
        assert_folded(of_tap, "price (file:///shop/a.js:1:4)\n    … 3 frames outside of the project");
        assert_folded(
            "Error: no\n    at price (/shop/a.js:3:1)\n    at Module._compile (node:internal/modules/cjs/loader:1:2)\n    \
             at node:internal/main/run:3:4\n    at run (/shop/node_modules/x/i.js:1:1)\nNode.js v20",
            "Error: no\n    at price (/shop/a.js:3:1)\n    … 3 frames outside of the project\nNode.js v20",
        );
    }
}
