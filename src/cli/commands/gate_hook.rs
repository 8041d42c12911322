//! The hook of git that gates what is pushed: writes it, removes it, and answers it.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use crate::cli::commands::gate::{self, Missing};
use crate::cli::commands::run::RunOutput;
use crate::cli::gate_arguments::{GateHook, GateOptions};
use crate::cli::{environment, render, screen, terminal};
use proctor_app::gate::{AskedFor, GateQuestion, NotesQuestion, no_repository, open_repository};
use proctor_app::project::opening;
use proctor_app::share::approved_share;
use proctor_app::{CommandError, Environment};
use proctor_evidence::read_regular_text;
use proctor_git::{GitReadError, ObjectId, ObjectProblem, find_git_location};
use proctor_model::{CommandExit, words};
use proctor_plan::verdict::worst_state;
use proctor_project::ProjectRepository;

/// The line by which a hook of proctor is known.
const MARK: &str = "# Written by `proctor gate --install`; `proctor gate --uninstall` removes it.";
/// What is appended to the name of a hook that is replaced.
const REPLACED: &str = ".before-proctor";
/// The longest hook that is read, in bytes. A longer one is not proctor's.
const LONGEST_HOOK: u64 = 64 * 1024;
/// The longest configuration of git that is read, in bytes.
const LONGEST_CONFIG: u64 = 1 << 20;
/// The most bytes that are read of what git says is pushed.
const LONGEST_LIST: u64 = 16 << 20;

/// What is pushed, such as a branch or a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PushedReference {
    /// The name of the reference here, such as `refs/heads/main`, or another word for the commit.
    local: String,
    commit: ObjectId,
    /// The full name of the reference on the other side.
    target: String,
}

/// The directory in which git looks for hooks.
struct HooksDirectory {
    path: PathBuf,
    /// Whether other repositories may have their hooks there too.
    is_shared: bool,
}

words! {
    fn GateHook::file_name: PrePush "pre-push"
}

/// Writes the hook.
pub(super) fn install(hook: GateHook, root: &Path, environment: &Environment) -> Result<CommandExit, CommandError> {
    let repository = open_repository(root)?;
    let HooksDirectory { path: directory, is_shared } = hooks_directory(&repository, root, environment)?;
    let path = directory.join(hook.file_name());
    let text = script(environment, &repository);
    let found = read_hook(&path, &repository)?;
    if let Found::Own(before) = &found
        && *before == text
    {
        render::line(&format!("{} is as it must be", path.display()));
        return Ok(CommandExit::Proceed);
    }
    if is_shared {
        let question = format!("{} is outside of this repository, and a hook there gates others too", directory.display());
        ask(&question, "write it there?", "`git config core.hooksPath .git/hooks` gives this repository hooks of its own")?;
    }
    let aside = match found {
        Found::Nothing | Found::Own(_) => None,
        Found::Other => Some(may_replace(&path)?),
    };
    fs::create_dir_all(&directory).map_err(|error| cannot_write(&directory, &error))?;
    // The hook is there as a whole or not at all.
    let new = with_ending(&path, &format!(".{}.new", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o777).open(&new);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| cannot_write(&new, &error))?;
    let moved = aside.map_or(Ok(()), |aside| rename(&path, &aside)).and_then(|()| rename(&new, &path));
    if let Err(error) = moved {
        let _left = fs::remove_file(&new);
        return Err(error);
    }
    render::line(&format!("{} gates what is pushed; `git push --no-verify` leaves it out", path.display()));
    Ok(CommandExit::Proceed)
}

/// Removes the hook, if it is proctor's, and puts back the one that it replaced.
pub(super) fn uninstall(hook: GateHook, root: &Path, environment: &Environment) -> Result<CommandExit, CommandError> {
    let repository = open_repository(root)?;
    let path = hooks_directory(&repository, root, environment)?.path.join(hook.file_name());
    match read_hook(&path, &repository)? {
        Found::Nothing => render::line(&format!("there is no {}", path.display())),
        Found::Other => {
            let message = format!("{} is not proctor's alone, so it stays", path.display());
            return Err(CommandError::new(CommandExit::Usage, message).hint("remove it yourself if you do not want it"));
        }
        Found::Own(_) => {
            fs::remove_file(&path).map_err(|error| cannot_write(&path, &error))?;
            let before = replaced(&path);
            if before.symlink_metadata().is_ok() {
                rename(&before, &path)?;
                render::line(&format!("{} is the one of before again", path.display()));
            } else {
                render::line(&format!("{} is removed", path.display()));
            }
        }
    }
    Ok(CommandExit::Proceed)
}

/// Returns where git looks for the hook, and what is there in words; `None` where there is no repository that can be read.
pub(super) fn standing(hook: GateHook, root: &Path, environment: &Environment) -> Option<(PathBuf, &'static str)> {
    let repository = open_repository(root).ok()?;
    let path = hooks_directory(&repository, root, environment).ok()?.path.join(hook.file_name());
    let said = match read_hook(&path, &repository) {
        Ok(Found::Nothing) => "not installed",
        Ok(Found::Own(_)) => "installed",
        Ok(Found::Other) => "not installed: another hook is there",
        Err(_) => "it cannot be read",
    };
    Some((path, said))
}

/// Gates what is pushed, and returns the worst answer.
pub(super) fn answer(options: &GateOptions, root: &Path, environment: &Environment) -> Result<CommandExit, CommandError> {
    let mut text = Vec::new();
    io::stdin().lock().take(LONGEST_LIST + 1).read_to_end(&mut text).map_err(|error| {
        CommandError::caused(CommandExit::Usage, "standard input cannot be read", &error).hint("git runs this in a pre-push hook")
    })?;
    if text.len() as u64 > LONGEST_LIST {
        return Err(CommandError::new(CommandExit::Usage, "git names too many references").hint("push fewer at once"));
    }
    let references = parse(&String::from_utf8_lossy(&text)).map_err(|line| {
        let message = format!("git is expected to name what is pushed, and not `{line}`");
        CommandError::new(CommandExit::Usage, message).hint("a pre-push hook runs this: `proctor gate --install pre-push`")
    })?;
    let repository = open_repository(root)?;
    let share = approved_share(environment, &mut opening::open_archive(environment)?, root)?;
    let style = environment::style(environment);
    let mut states = Vec::new();
    for reference in references {
        if let Err(GitReadError::Object { problem: ObjectProblem::Kind, .. }) = repository.storage.peel(reference.commit) {
            render::note(&format!("{} names no commit, so there is nothing to judge", reference.local));
            continue;
        }
        let revision = reference.commit.hex();
        let branch = reference.local.strip_prefix("refs/heads/");
        let question = GateQuestion {
            revision: &revision,
            asked_for: AskedFor::Push {
                remote: options.remote.as_deref().filter(|remote| !remote.is_empty()),
                target: &reference.target,
                branch: branch.unwrap_or(&revision),
            },
            policy_from: options.policy_from.as_deref(),
            notes: Some(NotesQuestion::unasked(&share)),
        };
        render::line(&format!("{}:", reference.local));
        let missing = if options.run { Missing::of(options) } else { Missing::RunWhereAsked };
        let answer = gate::answer(&question, missing, environment, &repository, RunOutput::Screen)?;
        screen::gate_lines(&answer, style).iter().for_each(render::line);
        states.push(answer.state);
    }
    Ok(if states.is_empty() { CommandExit::Proceed } else { worst_state(states.into_iter()).exit() })
}

/// Parses what git says in a pre-push hook (githooks(5)): one reference a line. What is deleted is left out, and so are notes on
/// commits. The error is the first wrong line.
fn parse(text: &str) -> Result<Vec<PushedReference>, String> {
    let mut references = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [local, commit, remote, known] = words[..] else { return Err(line.to_owned()) };
        let (Some(commit), Some(_)) = (ObjectId::parse(commit), ObjectId::parse(known)) else { return Err(line.to_owned()) };
        let is_deleted = commit.as_bytes().iter().all(|byte| *byte == 0);
        if !is_deleted && !remote.starts_with("refs/notes/") {
            references.push(PushedReference { local: local.to_owned(), commit, target: remote.to_owned() });
        }
    }
    Ok(references)
}

/// Returns the text of the hook. It uses this program, or if that is gone, the one that the search path has.
fn script(environment: &Environment, repository: &ProjectRepository) -> String {
    let [before, after] = around_program(repository);
    format!("{before}{}{after}", quoted(environment.program_file().as_os_str()))
}

/// Returns the text of the hook before and after the name of the program.
fn around_program(repository: &ProjectRepository) -> [String; 2] {
    let below = if repository.below.is_root() { OsStr::new(".") } else { repository.below.as_path().as_os_str() };
    let after = format!(
        "\n[ -x \"$program\" ] || program=proctor\nexec \"$program\" gate --pushed --remote=\"$1\" --project ./{}\n",
        quoted(below)
    );
    [format!("#!/bin/sh\n{MARK}\nprogram="), after]
}

/// Returns whether a text is the hook as proctor writes it, with whatever program, and nothing else.
fn is_own(text: &str, [before, after]: &[String; 2]) -> bool {
    let program = text.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
    let inner = program.and_then(|word| word.strip_prefix('\'')?.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace("'\\''", "").contains(['\'', '\n']))
}

/// Returns a text as one word of a shell script.
fn quoted(text: &OsStr) -> String {
    format!("'{}'", String::from_utf8_lossy(text.as_bytes()).replace('\'', "'\\''"))
}

/// What is in the place of a hook.
enum Found {
    Nothing,
    /// A hook that proctor wrote, and to which nothing was added, with its text.
    Own(String),
    Other,
}

fn read_hook(path: &Path, repository: &ProjectRepository) -> Result<Found, CommandError> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(cannot_write(path, &error)),
        Ok(_) => {}
    }
    let text = read_regular_text(path, LONGEST_HOOK).ok();
    Ok(text.filter(|text| is_own(text, &around_program(repository))).map_or(Found::Other, Found::Own))
}

/// Asks whether a hook of somebody else may be replaced, and returns the place in which it is kept.
fn may_replace(path: &Path) -> Result<PathBuf, CommandError> {
    let aside = replaced(path);
    if aside.symlink_metadata().is_ok() {
        let message = format!("{} and {} are both there, and neither is proctor's", path.display(), aside.display());
        return Err(CommandError::new(CommandExit::Usage, message).hint("remove one of them first"));
    }
    let question = format!("{} is there, and not proctor's; it would be kept as {}", path.display(), aside.display());
    ask(&question, "replace it?", "call `proctor gate --pushed --remote=\"$1\"` from the hook that is there")?;
    Ok(aside)
}

/// Asks a person at the terminal. `otherwise` is what to do in place of agreeing.
fn ask(what: &str, question: &str, otherwise: &str) -> Result<(), CommandError> {
    if !terminal::is_input_terminal() {
        let hint = format!("run this at a terminal, which asks; or {otherwise}");
        return Err(CommandError::new(CommandExit::PersonNeeded, what).hint(hint));
    }
    render::note(what);
    render::prompt(&format!("{question} [y/N] "));
    match terminal::read_line().as_deref().map(str::trim) {
        Some("y" | "yes") => Ok(()),
        Some(_) | None => Err(CommandError::new(CommandExit::PersonNeeded, "nothing was changed").hint(otherwise)),
    }
}

fn replaced(path: &Path) -> PathBuf {
    with_ending(path, REPLACED)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

#[expect(clippy::disallowed_methods, reason = "a hook is no evidence; it is put aside, and put back")]
fn rename(from: &Path, to: &Path) -> Result<(), CommandError> {
    fs::rename(from, to).map_err(|error| cannot_write(to, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read or written", path.display()), error)
        .hint("see who may write there: `ls -ld` shows it")
}

/// Returns the directory in which git looks for hooks (githooks(5)): `core.hooksPath` of the repository, the user or the machine, or
/// else `hooks` of the repository. Configuration files that others include are not read.
fn hooks_directory(
    repository: &ProjectRepository,
    root: &Path,
    environment: &Environment,
) -> Result<HooksDirectory, CommandError> {
    let home = environment.variable("HOME").map(PathBuf::from);
    let of_user = match environment.variable("GIT_CONFIG_GLOBAL") {
        Some(named) => vec![PathBuf::from(named)],
        None => {
            let base = environment.variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            let base = base.or_else(|| home.as_ref().map(|home| home.join(".config")));
            base.map(|base| base.join("git/config"))
                .into_iter()
                .chain(home.as_ref().map(|home| home.join(".gitconfig")))
                .collect()
        }
    };
    let of_machine = (!environment.has("GIT_CONFIG_NOSYSTEM"))
        .then(|| environment.variable("GIT_CONFIG_SYSTEM").map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from));
    let others: Vec<String> =
        of_machine.into_iter().chain(of_user).filter_map(|path| read_regular_text(&path, LONGEST_CONFIG).ok()).collect();
    let Some(location) = find_git_location(root) else { return Err(no_repository(root)) };
    let named = repository.storage.hooks_path(&others);
    let is_of_others = named.is_some() && repository.storage.hooks_path(&[]).is_none();
    let path = match named {
        None => location.common_directory.join("hooks"),
        Some(named) => match (named.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            // A relative path is one from the directory in which git runs hooks, the root of the working tree.
            _ => location.work_tree.join(&named),
        },
    };
    let own = [location.work_tree, location.common_directory];
    let is_inside =
        |directory: &PathBuf| directory.canonicalize().is_ok_and(|directory| real_place(&path).starts_with(directory));
    let is_shared = is_of_others || !own.iter().any(is_inside);
    Ok(HooksDirectory { path, is_shared })
}

/// Returns where a directory is, or will be, with all links resolved; an empty path if a link leads to nothing, or the path goes up in what
/// is not there yet.
fn real_place(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    let real = there.and_then(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    match real {
        Some((above, below)) if !below.components().any(|part| part == Component::ParentDir) => above.join(below),
        Some(_) | None => PathBuf::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_pushed_is_read_and_what_is_deleted_and_notes_are_left_out() {
        let (one, none) = ("1".repeat(40), "0".repeat(40));
        let text = format!(
            "refs/heads/a {one} refs/heads/b {none}\n(delete) {none} refs/heads/c {one}\nrefs/notes/x {one} refs/notes/x {none}\n\
             HEAD~1 {one} refs/tags/v1 {none}\nHEAD {one} refs/for/main {none}\n\n"
        );
        let names: Vec<String> = parse(&text).expect("it is right").into_iter().map(|reference| reference.local).collect();
        assert_eq!(names, ["refs/heads/a", "HEAD~1", "HEAD"]);
        for wrong in ["refs/heads/a", "a b c d", &format!("a {one} refs/heads/a"), &format!("a {one} b {one} c")] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn a_hook_to_which_somebody_added_something_is_not_ours() {
        let around = ["#!/bin/sh\nprogram=".to_owned(), "\nexec \"$program\"\n".to_owned()];
        let hook = |program: &str| is_own(&format!("{}{program}{}", around[0], around[1]), &around);
        assert!(hook("'/bin/a b'") && hook(&quoted(OsStr::new("/it's/here"))));
        for wrong in ["'/bin/a'; make lint '", "'/bin/a'\nmake 'lint'", "/bin/a", "'/bin/a' # mine"] {
            assert!(!hook(wrong), "{wrong}");
        }
        assert!(!is_own(&format!("{}'a'{}make lint\n", around[0], around[1]), &around));
    }

    #[test]
    fn a_path_is_one_word_of_the_script() {
        assert_eq!(quoted(OsStr::new("a b'c$(d)")), "'a b'\\''c$(d)'");
    }
}
