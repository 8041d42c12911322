//! Tells from a program's arguments whether it does what its tool is known for: many programs have subcommands and options that
//! check nothing.

/// Returns whether a program with these arguments does what its tool is known for: `prettier --write`, `ruff clean` and
/// `cargo run` do something else, and judging them by findings would call it a success that they printed none.
pub(super) fn is_a_check(program: &str, arguments: &[String]) -> bool {
    let has = |options: &[&str]| arguments.iter().any(|argument| options.contains(&argument.as_str()));
    let subcommand = arguments.iter().map(String::as_str).find(|argument| !argument.starts_with(['-', '+']));
    match program {
        "prettier" | "prettier.cjs" => has(&["--check", "-c", "--list-different", "-l"]) && !has(&["--write", "-w"]),
        "ruff" => match subcommand {
            Some("check") => true,
            Some("format") => has(&["--check", "--diff"]),
            Some(_) | None => false,
        },
        "vitest" | "vitest.mjs" => !matches!(subcommand, Some("bench" | "init" | "list")),
        "cargo" => matches!(subcommand, Some("build" | "b" | "check" | "c")),
        "go" => matches!(subcommand, Some("build" | "vet")),
        "make" | "gmake" => is_build(arguments),
        _ => true,
    }
}

// What a goal does is not to be seen, so only goals that say so are taken for a build; no goal is the first of the file.
fn is_build(arguments: &[String]) -> bool {
    const VALUED: &[&str] = &["-C", "--directory", "-f", "--file", "--makefile", "-I", "-j", "--jobs", "-l", "-o", "-W"];
    let mut words = arguments.iter().map(String::as_str);
    let mut is_build = true;
    while let Some(word) = words.next() {
        if VALUED.contains(&word) {
            words.next();
        } else if !word.starts_with('-') && !word.contains('=') {
            is_build &= matches!(word, "all" | "build" | "compile");
        }
    }
    is_build
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_of_make_that_say_they_build_are_builds() {
        for (arguments, expected) in [
            ("", true),
            ("-j 8 -C lib all", true),
            ("-j8 CFLAGS=-O2 build", true),
            ("compile", true),
            ("test", false),
            ("build test", false),
            ("lint", false),
        ] {
            let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_a_check("make", &arguments), expected, "{arguments:?}");
        }
    }
}
