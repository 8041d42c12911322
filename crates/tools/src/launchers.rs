//! Finds the tool in a command's words: the tool's program, the launchers before it, and the position of its own
//! arguments (E2).

use crate::recognise::{CommandForm, Recognition};
use crate::shell::simple_commands;
use crate::table::{ROWS, ToolRow, row_of};
use proctor_model::{InstalledPackage, Tool, has_word, is_assignment};

/// A program that starts another program with the rest of its arguments, unchanged.
struct Launcher {
    program: &'static str,
    /// The subcommands; one of them must follow the program and its options. If the list is empty, no subcommand is
    /// needed.
    subcommands: &'static [&'static [&'static str]],
    /// Options of the launcher that take the next word as their value.
    valued: &'static str,
    /// Options of the launcher whose value is a Python module to run.
    module: &'static str,
    /// Options of the launcher whose value is a shell script.
    shell: &'static str,
    /// Whether assignments of variables may stand before the program.
    sets_variables: bool,
    /// The number of words between the launcher and the program, for example 1 in `timeout 10 …`.
    operands: usize,
}

const fn launcher(program: &'static str, subcommands: &'static [&'static [&'static str]]) -> Launcher {
    Launcher { program, subcommands, valued: "", module: "", shell: "", sets_variables: false, operands: 0 }
}

const UV_VALUED: &str = "\
    --with --with-editable --with-requirements --python -p --extra --group --only-group --no-group --project --directory \
    --env-file --package --index --index-url --default-index --config-file --from --cache-dir --refresh-package";

const COVERAGE_VALUED: &str = "--concurrency --context --data-file --include --omit --rcfile --source --save-signal";

const COVERAGE_OF_NODE_VALUED: &str = "\
    -c --config -r --reporter --report-dir --reports-dir -o --src -n --include -x --exclude -e --extension --lines \
    --branches --functions --statements -t --temp-dir --temp-directory --cwd --require";

const LAUNCHERS: &[Launcher] = &[
    Launcher { valued: UV_VALUED, module: "-m --module", ..launcher("uv", &[&["run"], &["tool", "run"]]) },
    Launcher { valued: UV_VALUED, ..launcher("uvx", &[]) },
    Launcher { valued: "-C --directory -P --project", ..launcher("poetry", &[&["run"]]) },
    Launcher { valued: "-p --project", ..launcher("pdm", &[&["run"]]) },
    Launcher { valued: "-e --environment --manifest-path", ..launcher("pixi", &[&["run"]]) },
    Launcher { valued: "--spec --python --pip-args", ..launcher("pipx", &[&["run"]]) },
    Launcher { valued: "--python", ..launcher("pipenv", &[&["run"]]) },
    launcher("rye", &[&["run"]]),
    launcher("bundle", &[&["exec"]]),
    launcher("hatch", &[&["run"]]),
    Launcher { valued: COVERAGE_VALUED, module: "-m --module", ..launcher("coverage", &[&["run"]]) },
    Launcher { valued: "-p --package -w --workspace", shell: "-c --call", ..launcher("npx", &[]) },
    Launcher { valued: "-p --package", ..launcher("bunx", &[]) },
    Launcher { valued: "-w --workspace", shell: "-c --call", ..launcher("npm", &[&["exec"], &["x"]]) },
    Launcher { valued: "--filter -F -C --dir", ..launcher("pnpm", &[&["exec"], &["dlx"], &["run"], &[]]) },
    Launcher { valued: "--cwd", ..launcher("yarn", &[&["exec"], &["run"], &[]]) },
    Launcher { valued: COVERAGE_OF_NODE_VALUED, ..launcher("c8", &[]) },
    Launcher { valued: COVERAGE_OF_NODE_VALUED, ..launcher("nyc", &[]) },
    Launcher { sets_variables: true, ..launcher("cross-env", &[]) },
    Launcher { sets_variables: true, ..launcher("cross-env-shell", &[]) },
    Launcher { valued: "-e -v -c", ..launcher("dotenv", &[]) },
    Launcher { valued: "-f --file -e --environments -r --rc-file", ..launcher("env-cmd", &[]) },
    Launcher { valued: "-u --unset -C --chdir", sets_variables: true, ..launcher("env", &[]) },
    Launcher { valued: "-n --adjustment", ..launcher("nice", &[]) },
    Launcher { valued: "-s --signal -k --kill-after", operands: 1, ..launcher("timeout", &[]) },
    launcher("nohup", &[]),
    launcher("time", &[]),
];

/// Programs that run scripts from a project's files. The command line does not show what a script runs.
pub(super) const SCRIPT_RUNNERS: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "tox", "nox", "invoke", "inv", "doit", "ninja", "hatch",
    "pdm", "poe", "rush", "nx", "turbo",
];

/// Commands that scripts put around others.
const WORDS_OF_SHELLS: &[&str] =
    &["[", ":", "cd", "echo", "exit", "export", "false", "printf", "set", "test", "true", "umask", "unset"];

pub(super) const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Options of `python` that take the next word as their value.
pub(super) const PYTHON_VALUED: &str = "-W -X --check-hash-based-pycs";

/// Programs that run a file as node does: node, and those that hand it on to node with a loader for TypeScript.
pub(super) const NODES: &[&str] = &["node", "nodejs", "tsx", "ts-node", "ts-node-esm", "ts-node-transpile-only", "babel-node"];

/// Options of these programs that take the next word as their value.
const NODE_VALUED: &str = "-r --require --import --loader --experimental-loader --env-file --tsconfig -P --project";

/// The tool that a command runs, and the tool's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    /// The recognised tool and how the command reaches it.
    pub(super) recognition: Recognition,
    /// The index of the tool's first own argument in the command. Valid only for [`CommandForm::Direct`].
    pub(super) arguments_from: usize,
    /// The tool's own arguments; empty if the command line does not show them.
    pub(super) arguments: Vec<String>,
}

/// Finds the tool that a command runs, also behind launchers, `python -m` and shells. A command without a tool counts
/// as a plain command.
pub(super) fn locate(argv: &[String]) -> Located {
    let mut at = 0;
    let mut through_script_runner = false;
    // Every iteration returns or increases `at`, so the loop ends at the last word.
    while let Some(word) = argv.get(at) {
        let name = program_name(word);
        if let Some(row) = row_of_call(name, &argv[at + 1..]) {
            return direct(row.tool, argv, at + 1);
        }
        if SHELLS.contains(&name) {
            return in_shell(&argv[at + 1..]);
        }
        at = match step(name, argv, at) {
            Step::Continue(next) => next,
            Step::Done(located) => return *located,
            Step::Unknown => break,
        };
        through_script_runner |= SCRIPT_RUNNERS.contains(&name);
    }
    let runner = argv.get(at).map(|word| program_name(word)).filter(|name| SCRIPT_RUNNERS.contains(name));
    match runner {
        Some(name) => wrapped(Some(format!(
            "what `{name}` runs cannot be seen in its command line; set `tool` if its output should be read"
        ))),
        None if through_script_runner => wrapped(Some(
            "this names a script of the project or a program that is not known; set `tool` if its output should be read"
                .to_owned(),
        )),
        None => no_tool(),
    }
}

/// Finds the only tool that a shell script runs.
pub(super) fn locate_in_script(script: &str) -> Located {
    let mut candidates: Vec<Located> = simple_commands(script)
        .iter()
        .map(|command| locate(command))
        .filter(|found| found.recognition.tool != Tool::default())
        .collect();
    // A script may build the project before it runs the tests. Then the build is only a preparation, and the script
    // counts as a call of the test tool.
    if candidates.iter().any(|found| !found.recognition.tool.gives_way()) {
        candidates.retain(|found| !found.recognition.tool.gives_way());
    }
    // A script may print a tool's version before it runs the tool. The first call checks nothing, so the second one counts.
    let is_at_work = |found: &Located| row_of(found.recognition.tool).no_work.find(&found.arguments).is_none();
    if candidates.iter().any(is_at_work) {
        candidates.retain(is_at_work);
    }
    let (Some(found), true) = (candidates.pop(), candidates.is_empty()) else {
        let note = (!candidates.is_empty()).then(|| {
            "the script runs several tools, so it is judged by its exit code alone; make a check of each of them".to_owned()
        });
        return wrapped(note);
    };
    let recognition = Recognition { form: CommandForm::Wrapped, ..found.recognition };
    Located { recognition, arguments_from: 0, arguments: found.arguments }
}

/// A program or package that a launcher was told to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launched {
    /// The launcher: a name of the table of launchers, `npx` also for `npm exec`, `npm` for `npm run`, and `python` for every
    /// `python -m`.
    pub(super) launcher: &'static str,
    /// The name of a program, package, module or script that the launcher was told, without directories and version.
    pub(super) program: String,
    /// Whether the launcher is called in a shell script, where other commands may run too.
    pub(super) is_in_script: bool,
}

/// Returns what the launchers in a command were told to start, the outermost first.
pub(super) fn launched(argv: &[String]) -> Vec<Launched> {
    let mut found = Vec::new();
    note_launched(argv, false, &mut found);
    found
}

fn note_launched(argv: &[String], is_in_script: bool, found: &mut Vec<Launched>) {
    let mut at = 0;
    while let Some(word) = argv.get(at) {
        let name = program_name(word);
        if SHELLS.contains(&name) {
            let script = argv[at + 1..].windows(2).find(|words| words[0].starts_with('-') && words[0].ends_with('c'));
            let commands = script.map(|words| simple_commands(&words[1])).unwrap_or_default();
            return commands.iter().for_each(|command| note_launched(command, true, found));
        }
        if is_python(name) {
            let module = argv[at + 1..].iter().skip_while(|word| word.starts_with('-') && !word.ends_with('m')).nth(1);
            let is_module = argv[at + 1..].iter().find(|word| !word.starts_with('-') || word.ends_with('m'));
            if let Some(module) = module.filter(|_| is_module.is_some_and(|word| word.starts_with('-'))) {
                found.push(Launched { launcher: "python", program: module.clone(), is_in_script });
            }
            return;
        }
        let Step::Continue(next) = step(name, argv, at) else {
            if name == "npm" {
                let words =
                    argv[at + 1..].iter().filter(|word| !word.starts_with('-') && *word != "run" && *word != "run-script");
                let script = words.map(|script| Launched { launcher: "npm", program: script.clone(), is_in_script }).next();
                found.extend(script);
            }
            return;
        };
        let launcher = LAUNCHERS.iter().find(|launcher| launcher.program == name);
        if let (Some(launcher), Some(program)) = (launcher, argv.get(next)) {
            let launcher = if launcher.program == "npm" { "npx" } else { launcher.program };
            found.push(Launched { launcher, program: program_name(program).to_owned(), is_in_script });
        }
        at = next;
    }
}

/// Calls `visit` with every call of a program that a command shows, from the program's name on: of launchers, of what they start, of
/// what `python -m` runs, and of each command in a shell script.
pub(super) fn visit_programs(argv: &[String], visit: &mut dyn FnMut(&[String])) {
    let mut at = 0;
    while let Some(word) = argv.get(at) {
        let name = program_name(word);
        let rest = &argv[at + 1..];
        let call: Vec<String> = [name.to_owned()].into_iter().chain(rest.iter().cloned()).collect();
        visit(&call);
        if SHELLS.contains(&name) {
            let script = rest.windows(2).find(|words| words[0].starts_with('-') && words[0].ends_with('c'));
            let commands = script.map(|words| simple_commands(&words[1])).unwrap_or_default();
            return commands.iter().for_each(|command| visit_programs(command, visit));
        }
        let is_module = |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        let before_module = rest.iter().take_while(|word| !is_module(word) && !word.ends_with(".py")).count();
        if is_python(name) && rest.get(before_module).as_ref().is_some_and(is_module) {
            at += before_module + 2;
            continue;
        }
        at = match step(name, argv, at) {
            Step::Continue(next) => next,
            Step::Done(_) | Step::Unknown => return,
        };
    }
}

/// Returns whether a program does nothing by itself to a project's files: it starts another one, or is a word of the shell.
pub(super) fn only_starts_others(name: &str) -> bool {
    LAUNCHERS.iter().any(|launcher| launcher.program == name)
        || SHELLS.contains(&name)
        || WORDS_OF_SHELLS.contains(&name)
        || is_python(name)
        || NODES.contains(&name)
}

enum Step {
    Continue(usize),
    Done(Box<Located>),
    Unknown,
}

fn step(name: &str, argv: &[String], at: usize) -> Step {
    if is_python(name) {
        return step_python(argv, at + 1);
    }
    if NODES.contains(&name) {
        return Step::Continue(skip_options(argv, at + 1, NODE_VALUED));
    }
    match LAUNCHERS.iter().find(|launcher| launcher.program == name) {
        Some(launcher) => step_launcher(launcher, argv, at + 1),
        None => Step::Unknown,
    }
}

fn step_launcher(launcher: &Launcher, argv: &[String], start: usize) -> Step {
    let before = skip_options(argv, start, launcher.valued);
    let is_next = |words: &&&[&str]| argv[before..].iter().map(String::as_str).take(words.len()).eq(words.iter().copied());
    let mut at = match launcher.subcommands.iter().find(is_next) {
        Some(words) => before + words.len(),
        None if launcher.subcommands.is_empty() => start,
        None => return Step::Unknown,
    };
    while let Some(word) = argv.get(at).map(String::as_str) {
        if word == "--" {
            at += 1;
            break;
        }
        if has_word(launcher.module, word) {
            return run_module(argv, at + 1);
        }
        if has_word(launcher.shell, word) {
            return Step::Done(Box::new(argv.get(at + 1).map_or_else(|| wrapped(None), |script| locate_in_script(script))));
        }
        if has_word(launcher.valued, word) {
            at += 2;
        } else if word.starts_with('-') || (launcher.sets_variables && is_assignment(word)) {
            at += 1;
        } else {
            break;
        }
    }
    Step::Continue(at + launcher.operands)
}

fn step_python(argv: &[String], start: usize) -> Step {
    let mut at = start;
    while let Some(word) = argv.get(at).map(String::as_str) {
        if has_word(PYTHON_VALUED, word) {
            at += 2;
            continue;
        }
        // Single letters may be joined: `-Im pytest`, `-mpytest`. Everything after `c` or `m` in such a word is that
        // option's value.
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.starts_with('-') && !letters.is_empty()) else {
            if word.starts_with("--") {
                at += 1;
                continue;
            }
            return Step::Continue(at);
        };
        match letters.find(['c', 'm', 'W', 'X']).map(|place| (letters.as_bytes()[place], &letters[place + 1..])) {
            Some((b'm', "")) => return run_module(argv, at + 1),
            Some((b'm', module)) => return module_step(module, argv, at + 1),
            Some((b'c', _)) => return Step::Done(Box::new(no_tool())),
            Some((_, "")) => at += 2,
            Some(_) | None => at += 1,
        }
    }
    Step::Unknown
}

fn run_module(argv: &[String], at: usize) -> Step {
    argv.get(at).map_or(Step::Unknown, |module| module_step(module, argv, at + 1))
}

fn module_step(module: &str, argv: &[String], after: usize) -> Step {
    let is_module = |row: &&ToolRow| matches!(row.tool.package(), Some(InstalledPackage::Python(_)));
    let row = row_of_call(module, &argv[after..]).filter(is_module);
    match (row, module) {
        (Some(row), _) => Step::Done(Box::new(direct(row.tool, argv, after))),
        (None, "coverage") => LAUNCHERS
            .iter()
            .find(|launcher| launcher.program == "coverage")
            .map_or(Step::Unknown, |launcher| step_launcher(launcher, argv, after)),
        (None, _) => Step::Done(Box::new(no_tool())),
    }
}

fn in_shell(arguments: &[String]) -> Located {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-o" | "+o" | "-O" => {
                words.next();
            }
            _ if word.starts_with('-') && !word.starts_with("--") && word.ends_with('c') => {
                return words.next().map_or_else(|| wrapped(None), locate_in_script);
            }
            _ if word.starts_with('-') => {}
            _ => break,
        }
    }
    wrapped(Some("what the shell script runs cannot be seen; set `tool` if its output should be read".to_owned()))
}

fn skip_options(argv: &[String], start: usize, valued: &str) -> usize {
    let mut at = start;
    while let Some(word) = argv.get(at).map(String::as_str).filter(|word| word.starts_with('-') && *word != "--") {
        at += if has_word(valued, word) { 2 } else { 1 };
    }
    at.min(argv.len())
}

fn direct(tool: Tool, argv: &[String], from: usize) -> Located {
    let from = from.min(argv.len());
    let recognition = Recognition { tool, class: tool.class(), form: CommandForm::Direct, note: None };
    Located { recognition, arguments_from: from, arguments: argv[from..].to_vec() }
}

fn wrapped(note: Option<String>) -> Located {
    of_no_tool(CommandForm::Wrapped, note)
}

/// Returns the result for a program that is called directly and is not a known tool.
fn no_tool() -> Located {
    of_no_tool(CommandForm::Direct, None)
}

fn of_no_tool(form: CommandForm, note: Option<String>) -> Located {
    let recognition = Recognition { tool: Tool::default(), class: Tool::default().class(), form, note };
    Located { recognition, arguments_from: 0, arguments: Vec::new() }
}

/// Returns the row of the tool that a program with these arguments runs. Several tools may share a program and differ
/// by subcommand. A call that keeps the tool from its checks, such as `--version`, counts as a call of the tool, which
/// is then judged as a usage error.
pub(super) fn row_of_call(program: &str, arguments: &[String]) -> Option<&'static ToolRow> {
    let is_idle = |row: &ToolRow| row.no_work.names_the_tool && row.no_work.find(arguments).is_some();
    let is_call = |row: &&ToolRow| (row.checks)(program, arguments) || is_idle(row);
    ROWS.iter().filter(|row| row.programs.contains(&program)).find(is_call)
}

/// Returns the words that must come before additional arguments so that a script runner passes them to its script. npm
/// needs `--` unless the command already has it; the other runners need nothing. Returns `None` if the command does not
/// run a script.
pub(super) fn hand_on(argv: &[String]) -> Option<&'static [&'static str]> {
    let name = program_name(argv.first()?);
    let mut words = argv[1..].iter().map(String::as_str).filter(|word| !word.starts_with('-') || *word == "--");
    let verb = words.next()?;
    let runs_script = match verb {
        "run" | "run-script" => words.next().is_some_and(|script| script != "--"),
        "test" | "t" | "tst" => true,
        _ => name == "yarn" || name == "pnpm",
    };
    match name {
        "npm" if runs_script => Some(if argv.iter().any(|word| word == "--") { &[] } else { &["--"] }),
        "yarn" | "pnpm" | "bun" if runs_script => Some(&[]),
        "deno" if verb == "task" => Some(&[]),
        _ => None,
    }
}

/// Returns whether arguments after a script reach the tool. They do if the tool is the last command of the script and
/// no bracket, `;`, `&`, `|` or comment follows.
pub(super) fn ends_with(script: &str, tool: Tool) -> bool {
    let last = simple_commands(script).last().map(|command| locate(command));
    let is_open = !script.trim_end().ends_with([')', '}', ';', '&', '|', '`', '#']);
    is_open && last.is_some_and(|found| found.recognition.tool == tool && found.recognition.form == CommandForm::Direct)
}

pub(super) fn is_python(name: &str) -> bool {
    ["python", "pypy"].iter().any(|stem| {
        name.strip_prefix(stem).is_some_and(|version| version.chars().all(|digit| digit.is_ascii_digit() || digit == '.'))
    })
}

// Removes directories and versions: `node_modules/.bin/tsc` is `tsc`, and `eslint@9` is `eslint`.
pub(super) fn program_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    match name.split_once('@') {
        Some((program, _)) if !program.is_empty() => program,
        Some(_) | None => name,
    }
}
