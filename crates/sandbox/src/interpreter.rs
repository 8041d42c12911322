//! Reads the interpreter from the first line of a script.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Returns the program that a script's first line names, such as `node` for `#!/usr/bin/env node`; `None` if the first
/// line names no program, or if the file cannot be read.
pub fn interpreter_of(path: &Path) -> Option<String> {
    let mut head = [0_u8; 256];
    let count = File::open(path).ok()?.read(&mut head).ok()?;
    let line = head[..count].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first.ends_with("/env") { words.find(|word| !word.starts_with('-')).map(str::to_owned) } else { Some(first.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_s_interpreter_is_read_through_env() {
        use std::io::Write as _;
        let directory = tempfile::tempdir().expect("a directory");
        for (text, expected) in [
            ("#!/usr/bin/env node\n", Some("node")),
            ("#!/usr/bin/env -S python3 -I\n", Some("python3")),
            ("#!/bin/sh -e\n", Some("/bin/sh")),
            ("no script", None),
            ("", None),
        ] {
            let path = directory.path().join("tool");
            File::create(&path).expect("a file").write_all(text.as_bytes()).expect("written");
            assert_eq!(interpreter_of(&path).as_deref(), expected, "{text}");
        }
    }
}
