//! Reads which scripts of which members a call of a package manager, or of a runner of workspaces, asks for.

use crate::discover::entries::value_of;
use crate::discover::followed::below;
use crate::jsonc::{RUNNERS, script_name};

/// Options by which a package manager runs scripts of every member of a workspace.
const EVERY_MEMBER: &[&str] = &["-r", "--recursive", "-ws", "--workspaces"];

/// Options whose value chooses members of a workspace, and those that only nx has.
const MEMBERS: &[&str] = &["-w", "--workspace", "-F", "--filter", "--filter-prod", "--scope"];
const MEMBERS_OF_NX: &[&str] = &["-p", "--projects", "--project"];

/// Options whose value is the directory of `package.json`.
const DIRECTORY: &[&str] = &["--prefix", "-C", "--cwd", "--dir"];

/// Options that choose members of a workspace in a way that is not read.
const UNCLEAR: &[&str] =
    &["--affected", "--changed", "--since", "--include", "--exclude", "--ignore", "--from", "--no-private", "--resume-from"];

/// Other options of package managers and runners of workspaces that take the next word as their value.
const VALUED: &[&str] =
    &["--loglevel", "--script-shell", "--userconfig", "--jobs", "-j", "--concurrency", "--parallel", "--log-order"];

/// Words of a package manager that stand before the name of a script.
const VERBS: &[&str] = &["run", "run-script", "workspace", "workspaces", "foreach"];

/// Scripts behind whose name pnpm goes on to read its own options, if no `run` stands before it.
const OWN_VERBS_OF_PNPM: &[&str] = &["test", "t", "tst", "start", "stop", "restart"];

/// A pattern with more stars than this matches nothing.
const MOST_STARS: usize = 8;

/// A member of a workspace.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) directory: String,
    pub(super) name: String,
}

/// What a call asks of a package manager or of a runner of workspaces.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) directory: Option<String>,
    /// Names, directories and patterns of members.
    pub(super) members: Vec<String>,
    pub(super) is_every: bool,
    /// Whether it means the workspace's root, from wherever it is called.
    pub(super) is_root: bool,
    /// Whether it chooses members in a way that is not read.
    pub(super) is_unclear: bool,
    /// The names of scripts.
    pub(super) names: Vec<String>,
}

/// Whether a choice of members is read to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Certain {
    Yes,
    No,
}

impl Asked {
    /// Reads the words behind the program's name, up to `--`. But for npm, what stands behind a script's name are its own arguments.
    pub(super) fn of(program: &str, words: &[String]) -> Self {
        let words = &words[..words.iter().position(|word| word == "--").unwrap_or(words.len())];
        let mut asked = Self::default();
        let mut plain: Vec<&str> = Vec::new();
        let mut targets: Vec<&str> = Vec::new();
        let mut at = 0;
        let of_nx = |options: &'static [&'static str]| if program == "nx" { options } else { &[] };
        while let Some(word) = words.get(at).map(String::as_str) {
            at += 1;
            if program == "pnpm" && matches!(word, "-w" | "--workspace-root") {
                asked.is_root = true;
            } else if EVERY_MEMBER.contains(&word) && !(program == "npm" && word == "-r") {
                asked.is_every = true;
            } else if UNCLEAR.contains(&word.split('=').next().unwrap_or(word)) {
                asked.is_unclear = true;
            } else if let Some((value, taken)) = value_of(words, at - 1, DIRECTORY) {
                asked.directory = Some(value.to_owned());
                at += taken - 1;
            } else if let Some((value, taken)) =
                value_of(words, at - 1, MEMBERS).or_else(|| value_of(words, at - 1, of_nx(MEMBERS_OF_NX)))
            {
                asked.members.extend(value.split(',').map(str::to_owned));
                at += taken - 1;
            } else if let Some((value, taken)) = value_of(words, at - 1, of_nx(&["-t", "--target", "--targets"])) {
                targets.extend(value.split(','));
                at += taken - 1;
            } else if word.starts_with('-') {
                at += usize::from(VALUED.contains(&word));
            } else {
                let is_verb = VERBS.contains(&word) || plain.last() == Some(&"workspace");
                let goes_on =
                    is_verb || program == "npm" || program == "pnpm" && plain.is_empty() && OWN_VERBS_OF_PNPM.contains(&word);
                plain.push(word);
                if RUNNERS.contains(&program) && !goes_on {
                    break;
                }
            }
        }
        asked.read_targets(program, &plain, targets);
        asked
    }

    /// Reads the words that are no options.
    fn read_targets(&mut self, program: &str, plain: &[&str], targets: Vec<&str>) {
        let names = match (program, plain) {
            ("nx", ["run", task, ..]) => {
                let mut parts = task.split(':');
                self.members.extend(parts.next().map(str::to_owned));
                parts.next().into_iter().collect()
            }
            ("nx", ["run-many", ..]) => {
                self.is_every = true;
                targets
            }
            ("nx", ["affected", ..]) => {
                self.is_unclear = true;
                targets
            }
            ("nx", [target, member @ ..]) => {
                self.members.extend(member.first().map(|member| (*member).to_owned()));
                self.is_unclear |= member.is_empty();
                vec![*target]
            }
            ("turbo" | "lerna", names) => {
                self.is_every = true;
                names.iter().copied().filter(|name| *name != "run").collect()
            }
            ("yarn", ["workspace", member, names @ ..]) => {
                self.members.push((*member).to_owned());
                script_of(program, names).into_iter().collect()
            }
            ("yarn", ["workspaces", "foreach", names @ ..] | ["workspaces", names @ ..]) => {
                self.is_every = true;
                script_of(program, names).into_iter().collect()
            }
            (_, names) => script_of(program, names).into_iter().collect(),
        };
        self.names = names.into_iter().map(str::to_owned).collect();
    }

    /// Returns the workspace members that the call surely means, and whether these are all; `None` if the call is unclear.
    pub(super) fn chosen<'m>(&self, all: &'m [Member], place: &str) -> Option<(Vec<&'m Member>, Certain)> {
        if self.is_unclear {
            return None;
        }
        let mut certain = Certain::Yes;
        let mut chosen: Vec<&Member> = Vec::new();
        let mut left_out: Vec<&Member> = Vec::new();
        for pattern in &self.members {
            let (is_out, pattern) = pattern.strip_prefix('!').map_or((false, pattern.as_str()), |pattern| (true, pattern));
            // `...NAME` and `NAME...` choose its neighbours too, `NAME^...` only these, and `[COMMIT]` what has changed.
            let name = pattern.trim_start_matches("...").trim_end_matches("...");
            let is_read = name == pattern;
            if name.contains(['^', '[']) || is_out && !is_read {
                return None;
            }
            let found: Vec<&Member> = all.iter().filter(|member| member.is_meant(name, place)).collect();
            if !is_read || found.is_empty() && !is_out {
                certain = Certain::No;
            }
            if is_out { left_out.extend(found) } else { chosen.extend(found) }
        }
        if self.members.iter().all(|pattern| pattern.starts_with('!')) {
            chosen = all.iter().collect();
        }
        chosen.retain(|member| !left_out.iter().any(|other| other.directory == member.directory));
        Some((chosen, certain))
    }
}

impl Member {
    /// Returns whether a name, a directory relative to `place`, or a pattern of these means the member.
    fn is_meant(&self, pattern: &str, place: &str) -> bool {
        let directory = below(place, pattern.trim_matches(['{', '}']));
        matches(&pattern.replace('*', "**"), &self.name) || matches(&directory, &self.directory)
    }
}

/// Returns the script that a package manager runs with these words.
fn script_of<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    let call: Vec<String> = [program].iter().chain(words).map(|word| (*word).to_owned()).collect();
    let name = script_name(&call)?;
    words.iter().copied().find(|word| *word == name)
}

/// Returns whether a pattern matches a text: `**` stands for any characters, and `*` for any but `/`.
fn matches(pattern: &str, text: &str) -> bool {
    if pattern.matches('*').count() > MOST_STARS {
        return false;
    }
    let Some((before, behind)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    let (behind, is_any) = behind.strip_prefix('*').map_or((behind, false), |behind| (behind, true));
    let reach = if is_any { rest.len() } else { rest.find('/').unwrap_or(rest.len()) };
    (0..=reach).filter(|end| rest.is_char_boundary(*end)).any(|end| matches(behind, &rest[end..]))
}
