//! Finds the writes that the isolation denied in the output of a failed command, and returns the lines for
//! `proctor.toml` that would allow them. Pure.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use proctor_model::{Access, IsolationLevel, Place, Sandbox, SandboxSettings};

/// The most bytes of a line that are searched. Error messages are shorter.
const LONGEST_LINE: usize = 4 * 1024;
/// The most lines with an error text that are searched, and the most places that the advice names.
const MOST_LINES: usize = 64;
const MOST_PLACES: usize = 3;

const READ_ONLY: &str = "read-only file system";
const DENIED: &str = "permission denied";
/// What a program says that makes a file in a directory which is not there for it.
const MISSING: &str = "no such file or directory";

/// Words by which an error message is recognised as one about a directory that could not be created.
const MAKING_A_DIRECTORY: &[&str] = &["mkdir", "cannot create directory"];

/// The quotation marks around a path in an error message: each opening quote with its closing quote.
const QUOTES: &[(char, char)] = &[('\'', '\''), ('‘', '’'), ('"', '"'), ('`', '`')];

/// The kernel's directories. No setting can make them writable.
const KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

/// Where a failed command could write, and what is needed to advise a change of the settings.
pub(crate) struct WriteLimits<'a> {
    /// The isolation level at which the command ran.
    pub(crate) level: IsolationLevel,
    /// The command's view of the file system.
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) project_root: &'a Path,
    /// The command's working directory, against which relative paths in the output are resolved.
    pub(crate) directory: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// The present `[sandbox]` settings; the advice adds to them.
    pub(crate) settings: &'a SandboxSettings,
    pub(crate) is_directory: &'a dyn Fn(&Path) -> bool,
    /// Returns a path without links; `None` if nothing is there.
    pub(crate) without_links: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// A change of the settings that would have allowed a denied write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum MissingPermission {
    /// The directory or file at this path becomes writable.
    Place(PathBuf),
    /// HOME becomes an overlay: where it is empty, and for a file directly in HOME, which cannot be opened without opening all of HOME.
    Home,
}

/// Returns texts as a list that can be pasted into `proctor.toml`.
pub fn list_for_settings<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    let quoted = texts.map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("[{}]", quoted.collect::<Vec<_>>().join(", "))
}

/// Returns advice for the denied writes in `output`: at most one line about `writable` and one about `home`. The result
/// is empty if no write was denied.
pub(crate) fn denied_writes(output: &str, limits: &WriteLimits<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut denied: Vec<(PathBuf, MissingPermission)> = Vec::new();
    for (line, marker) in output.lines().filter_map(|line| message(line, limits.level)).take(MOST_LINES) {
        for path in named_paths(line, marker).iter().map(|path| limits.beyond_links(plain(&limits.directory.join(path)))) {
            let Some(opening) = limits.opening_for(&path, line) else { continue };
            if denied.len() < MOST_PLACES && seen.insert(opening.clone()) {
                denied.push((path, opening));
            }
        }
    }
    [limits.about_places(&denied), limits.about_home(&denied)].into_iter().flatten().collect()
}

impl WriteLimits<'_> {
    /// Returns where a path of the project really lies: its `node_modules` may be a link to another directory.
    fn beyond_links(&self, path: PathBuf) -> PathBuf {
        let above = || path.ancestors().take_while(|above| above.starts_with(self.project_root) && *above != self.project_root);
        let real = above().find_map(|above| Some(plain(&(self.without_links)(above)?.join(path.strip_prefix(above).ok()?))));
        real.unwrap_or(path)
    }

    /// Returns the change of the settings that would allow the write to `path`; `None` if the write was not denied, or
    /// if no setting can allow it.
    fn opening_for(&self, path: &Path, line: &str) -> Option<MissingPermission> {
        let around = self.sandbox.places.iter().rev().find(|place| path.starts_with(&place.path));
        let is_missing = line.to_ascii_lowercase().contains(MISSING);
        if is_missing && !(self.is_only_closed(around, path) && self.is_new_file(path)) {
            return None;
        }
        match around.map(|place| &place.access) {
            // The read-only places in the project are `.git` and files such as `proctor.toml`. A setting can open each
            // of them only as a whole.
            Some(Access::ReadOnly) if path.starts_with(self.project_root) => {
                return around.map(|place: &Place| MissingPermission::Place(place.path.clone()));
            }
            None | Some(Access::ReadOnly | Access::Text { .. }) => {}
            // Without namespaces a layer is a place that is not there.
            Some(Access::Layer { .. }) if self.level != IsolationLevel::Namespace => {}
            Some(Access::Hidden) if self.is_only_closed(around, path) => {}
            // proctor never advises to open a place with secrets.
            Some(Access::Hidden) => return None,
            Some(Access::Writable | Access::Private { .. } | Access::Overlay { .. } | Access::Memory | Access::Layer { .. }) => {
                return None;
            }
        }
        let is_closed = path.starts_with(&self.sandbox.store) || KERNEL.iter().any(|kernel| path.starts_with(kernel));
        if is_closed || path.to_str().is_none_or(|text| text.contains(char::is_control)) {
            return None;
        }
        // What `writable` opens in an empty HOME is the person's own directory, and what is written there stays.
        let is_in_empty_home = self.level == IsolationLevel::Namespace
            && around.is_some_and(|place| place.access == Access::Hidden && Some(place.path.as_path()) == self.home);
        if is_in_empty_home {
            return Some(MissingPermission::Home);
        }
        let directory = if (self.is_directory)(path) { path } else { path.parent()? };
        if self.can_be_opened(directory) {
            return Some(MissingPermission::Place(directory.to_owned()));
        }
        let is_directory = MAKING_A_DIRECTORY.iter().any(|word| line.contains(word));
        if is_directory && self.can_be_opened(path) {
            return Some(MissingPermission::Place(path.to_owned()));
        }
        (Some(directory) == self.home).then_some(MissingPermission::Home)
    }

    /// Returns whether nothing is at a path and its directory is there: who looked for it may have wanted to make it. Tools look for
    /// their settings in HOME itself, so nothing is said of files there.
    fn is_new_file(&self, path: &Path) -> bool {
        let is_in_home = path.parent() == self.home;
        (self.without_links)(path).is_none() && !is_in_home && path.parent().is_some_and(|around| (self.is_directory)(around))
    }

    /// Returns whether a path is hidden because it is not of the system, and not because of secrets.
    fn is_only_closed(&self, around: Option<&Place>, path: &Path) -> bool {
        around.is_some_and(|place| self.sandbox.closed.contains(&place.path))
            && !self.sandbox.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Returns whether a place is narrow enough to be made writable: not `/`, no directory that contains HOME, and none
    /// that contains the store.
    fn can_be_opened(&self, path: &Path) -> bool {
        let holds_home = self.home.is_some_and(|home| home.starts_with(path));
        path != Path::new("/") && !holds_home && !self.sandbox.store.starts_with(path)
    }

    fn about_places(&self, denied: &[(PathBuf, MissingPermission)]) -> Option<String> {
        let mut entries = self.settings.writable.clone();
        let mut paths = Vec::new();
        for (path, opening) in denied {
            match opening {
                MissingPermission::Place(place) => {
                    let entry = self.as_written(place);
                    if !entries.contains(&entry) {
                        entries.push(entry);
                    }
                    paths.push(format!("`{}`", path.display()));
                }
                MissingPermission::Home => {}
            }
        }
        let line = format!("writable = {}", list_for_settings(entries.iter()));
        (!paths.is_empty()).then(|| {
            format!("{} could not be written to: if the command has to, put `{line}` in `[sandbox]`", paths.join(" and "))
        })
    }

    fn about_home(&self, denied: &[(PathBuf, MissingPermission)]) -> Option<String> {
        let (path, _) = denied.iter().find(|(_, opening)| *opening == MissingPermission::Home)?;
        Some(format!(
            "`{}` could not be written to: if the command has to, `home = \"overlay\"` in `[sandbox]` gives it a HOME of its own to write to",
            path.display()
        ))
    }

    /// Returns a place as `proctor.toml` would name it: relative to the project, with `~` for HOME, or absolute.
    fn as_written(&self, place: &Path) -> String {
        if let Ok(below) = place.strip_prefix(self.project_root) {
            return below.display().to_string();
        }
        match self.home.and_then(|home| place.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => place.display().to_string(),
        }
    }
}

/// Returns the part of the line that is searched, and the position of the error text in it; `None` if the line reports
/// no denied write.
fn message(line: &str, level: IsolationLevel) -> Option<(&str, usize)> {
    let line = &line[..line.floor_char_boundary(LONGEST_LINE)];
    let markers: &[&str] = match level {
        // A hidden directory is not there for the command, so a file cannot be made in it.
        IsolationLevel::Namespace => &[READ_ONLY, MISSING],
        // Landlock reports a denied write as "permission denied", even where the mount is not read-only.
        IsolationLevel::Cgroup | IsolationLevel::Landlock => &[READ_ONLY, DENIED],
        IsolationLevel::ProcessGroup | IsolationLevel::Remote => &[],
    };
    let lower = line.to_ascii_lowercase();
    markers.iter().find_map(|marker| lower.find(marker)).map(|at| (line, at))
}

/// Returns the paths that an error message names: its quoted texts, or without quotes the path before the error text.
fn named_paths(line: &str, marker: usize) -> Vec<&Path> {
    let quoted = quoted(line);
    if !quoted.is_empty() {
        return quoted.into_iter().map(Path::new).collect();
    }
    let before = line[..marker].trim_end().trim_end_matches(':');
    let last = before.rsplit(": ").next().unwrap_or(before);
    // An absolute path may contain spaces; a relative one is the last word.
    let path = match (last.starts_with('/'), last.find(" /")) {
        (true, _) => last,
        (false, Some(at)) => &last[at + 1..],
        (false, None) => last.rsplit(' ').next().unwrap_or(last),
    };
    if path.is_empty() { Vec::new() } else { vec![Path::new(path)] }
}

/// Returns the quoted parts of a line. An apostrophe inside of a word does not begin a quote.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((at, open, close)) = rest
        .char_indices()
        .find_map(|(at, character)| QUOTES.iter().find(|(open, _)| *open == character).map(|(o, c)| (at, *o, *c)))
    {
        let inner = &rest[at + open.len_utf8()..];
        let is_in_a_word = rest[..at].ends_with(char::is_alphanumeric);
        match inner.find(close).filter(|end| !is_in_a_word && *end > 0) {
            Some(end) => {
                found.push(&inner[..end]);
                rest = &inner[end + close.len_utf8()..];
            }
            None => rest = inner,
        }
    }
    found
}

/// Returns a path without `.` and `..`. Links are not resolved, because the command may have seen other files than
/// proctor does.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_plan::config::Configuration;

    const HOME: &str = "/home/ada";
    const PROJECT: &str = "/home/ada/src/shop";

    fn place(path: &str, access: Access) -> Place {
        Place { path: path.into(), access, identity: (0, 0) }
    }

    fn sandbox() -> Sandbox {
        let places = vec![
            place("/home/ada/.aws", Access::Hidden),
            place("/home/ada/.cache", Access::Writable),
            place(PROJECT, Access::Writable),
            place("/home/ada/src/shop/.git", Access::ReadOnly),
            place("/tmp", Access::Private { source: "/s".into() }),
            place("/home/ada/.config", Access::Layer { source: "/s/config".into() }),
        ];
        Sandbox { places, store: "/home/ada/.local/state/proctor".into(), ..Sandbox::default() }
    }

    fn hints_at(level: IsolationLevel, configured: &[&str], output: &str) -> Vec<String> {
        let mut settings = Configuration::default().sandbox;
        settings.writable = configured.iter().map(ToString::to_string).collect();
        let limits = WriteLimits {
            level,
            sandbox: &sandbox(),
            project_root: Path::new(PROJECT),
            directory: Path::new(PROJECT),
            home: Some(Path::new(HOME)),
            settings: &settings,
            is_directory: &|path| [HOME, "/data", "/data/sub", "/"].map(Path::new).contains(&path),
            without_links: &|path| {
                let linked = path.strip_prefix(Path::new(PROJECT).join("node_modules")).ok()?;
                linked.as_os_str().is_empty().then(|| PathBuf::from("/data/node_modules"))
            },
        };
        denied_writes(output, &limits)
    }

    #[test]
    fn a_layer_takes_writes_in_namespaces_alone() {
        let said = |level, why| hints_at(level, &[], &format!("touch: cannot touch '/home/ada/.config/x': {why}"));
        assert!(said(IsolationLevel::Namespace, "Read-only file system").is_empty());
        let refused = said(IsolationLevel::Landlock, "Permission denied");
        assert!(refused.iter().any(|hint| hint.contains("writable = [\"~/.config\"]")), "{refused:?}");
    }

    fn hints(output: &str) -> Vec<String> {
        hints_at(IsolationLevel::Namespace, &[], output)
    }

    #[test]
    fn a_write_below_a_link_of_the_project_names_the_directory_behind_the_link() {
        let output = format!("Error: EROFS: read-only file system, mkdir '{PROJECT}/node_modules/.vite-temp'");
        let said = hints(&output);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(r#"writable = ["/data/node_modules"]"#), "{said:?}");
        assert!(hints(&format!("Error: EROFS: read-only file system, mkdir '{PROJECT}/other/x'")).is_empty());
    }

    #[test]
    fn what_real_tools_print_names_the_line_to_add() {
        // Output of CPython 3.11, Node 20.20, npm 10, bash 5, dash, coreutils 9 and git 2 on a file system that was
        // mounted read-only. Only the paths were changed.
        for (output, path, line) in [
            ("OSError: [Errno 30] Read-only file system: '/data/p.txt'", "/data/p.txt", "\"/data\""),
            ("OSError: [Errno 30] Read-only file system: '/data/sub' -> '/data/sub/2'", "/data/sub", "\"/data/sub\""),
            ("Error: EROFS: read-only file system, open '/data/n.txt'", "/data/n.txt", "\"/data\""),
            ("Error: EROFS: read-only file system, mkdir '/data/nd'", "/data/nd", "\"/data\""),
            (
                "npm error rofs EROFS: read-only file system, open '/data/package-lock.json'",
                "/data/package-lock.json",
                "\"/data\"",
            ),
            ("bash: line 1: /data/b.txt: Read-only file system", "/data/b.txt", "\"/data\""),
            ("sh: 1: cannot create /data/s.txt: Read-only file system", "/data/s.txt", "\"/data\""),
            ("cp: cannot create regular file '/data/file': Read-only file system", "/data/file", "\"/data\""),
            ("mkdir: cannot create directory ‘/data/m’: Read-only file system", "/data/m", "\"/data\""),
            ("touch: cannot touch '/data/with space/t': Read-only file system", "/data/with space/t", "\"/data/with space\""),
            ("tee: /data/tee: Read-only file system", "/data/tee", "\"/data\""),
            (
                "mv: inter-device move failed: 'file' to '/data/file'; unable to remove target: Read-only file system",
                "/data/file",
                "\"/data\"",
            ),
            (
                "fatal: Unable to create '/data/r/.git/index.lock': Read-only file system",
                "/data/r/.git/index.lock",
                "\"/data/r/.git\"",
            ),
            (
                "error: could not lock config file .git/config: Read-only file system",
                "/home/ada/src/shop/.git/config",
                "\".git\"",
            ),
            ("fatal: cannot mkdir ../other/x: Read-only file system", "/home/ada/src/other/x", "\"~/src/other\""),
            ("OSError: [Errno 30] Read-only file system: '/home/ada/.tool/state'", "/home/ada/.tool/state", "\"~/.tool\""),
        ] {
            let expected =
                format!("`{path}` could not be written to: if the command has to, put `writable = [{line}]` in `[sandbox]`");
            assert_eq!(hints(output), [expected], "{output}");
        }
    }

    #[test]
    fn what_cannot_be_made_in_a_hidden_directory_names_the_directory_and_in_an_empty_home_a_layer_over_it() {
        let sandbox = Sandbox {
            places: vec![place("/data", Access::Hidden), place("/home/ada", Access::Hidden), place(PROJECT, Access::Writable)],
            closed: vec!["/data".into(), "/home/ada".into()],
            ..sandbox()
        };
        let settings = Configuration::default().sandbox;
        let limits = WriteLimits {
            level: IsolationLevel::Namespace,
            sandbox: &sandbox,
            project_root: Path::new(PROJECT),
            directory: Path::new(PROJECT),
            home: Some(Path::new(HOME)),
            settings: &settings,
            is_directory: &|path| [HOME, "/data/sub"].map(Path::new).contains(&path),
            without_links: &|path| (path == Path::new("/data/sub/old")).then(|| path.to_owned()),
        };
        let said = denied_writes("bash: line 1: /data/sub/new: No such file or directory", &limits);
        assert!(said.len() == 1 && said[0].contains("`writable = [\"/data/sub\"]`"), "{said:?}");
        let said = denied_writes("OSError: [Errno 30] Read-only file system: '/home/ada/.config/tool'", &limits);
        assert!(said.len() == 1 && said[0].contains("`home = \"overlay\"`"), "{said:?}");
        // A file that is there was looked for, and one in a directory that is not there could not be made without isolation either.
        for path in ["/data/sub/old", "/data/other/new", "/home/ada/.toolrc"] {
            assert_eq!(
                denied_writes(&format!("cat: {path}: No such file or directory"), &limits),
                Vec::<String>::new(),
                "{path}"
            );
        }
        let said = denied_writes(
            "OSError: [Errno 13] Permission denied: '/home/ada/.config/tool'",
            &WriteLimits { level: IsolationLevel::Landlock, ..limits },
        );
        assert!(said.len() == 1 && said[0].contains("`writable = [\"~/.config\"]`"), "there are no layers: {said:?}");
    }

    #[test]
    fn a_file_in_home_itself_asks_for_a_copy_of_it_and_a_directory_for_itself() {
        let file = hints("OSError: [Errno 30] Read-only file system: '/home/ada/.toolrc'");
        insta::assert_snapshot!(file.join("\n"), @"`/home/ada/.toolrc` could not be written to: if the command has to, `home = \"overlay\"` in `[sandbox]` gives it a HOME of its own to write to");
        let directory = hints("mkdir: cannot create directory ‘/home/ada/.tool’: Read-only file system");
        assert!(directory[0].contains("`writable = [\"~/.tool\"]`"), "{directory:?}");
    }

    #[test]
    fn one_line_names_everything_with_what_is_configured_and_no_more_than_three_places() {
        let output: String =
            (0..9).map(|number| format!("cp: cannot create regular file '/data{number}/x': Read-only file system\n")).collect();
        let found = hints_at(IsolationLevel::Namespace, &["~/.cargo/git"], &output.repeat(3));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`writable = [\"~/.cargo/git\", \"/data0\", \"/data1\", \"/data2\"]`"), "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_denied_or_cannot_be_allowed() {
        for output in [
            "OSError: [Errno 30] Read-only file system: '/home/ada/src/shop/x'",
            "OSError: [Errno 30] Read-only file system: '/tmp/x'",
            "OSError: [Errno 30] Read-only file system: '/home/ada/.aws/credentials'",
            "OSError: [Errno 30] Read-only file system: '/home/ada/.local/state/proctor/keys/x'",
            "OSError: [Errno 30] Read-only file system: '/home/ada/.local/state/x'",
            "tee: /sys/fs/cgroup/x: Read-only file system",
            "OSError: [Errno 30] Read-only file system: '/x'",
            "PermissionError: [Errno 13] Permission denied: '/data/x'",
            "it's a read-only file system, isn't it",
            "Read-only file system",
            "",
        ] {
            assert_eq!(hints(output), Vec::<String>::new(), "{output}");
        }
    }

    #[test]
    fn landlock_denies_with_another_word_and_without_isolation_nothing_is_ours() {
        for output in [
            "PermissionError: [Errno 13] Permission denied: '/data/x'",
            "Error: EACCES: permission denied, open '/data/x'",
            "bash: line 1: /data/x: Permission denied",
        ] {
            for level in [IsolationLevel::Landlock, IsolationLevel::Cgroup] {
                assert!(hints_at(level, &[], output)[0].contains("`writable = [\"/data\"]`"), "{output}");
            }
            assert_eq!(hints_at(IsolationLevel::ProcessGroup, &[], output), Vec::<String>::new());
        }
    }

    #[test]
    fn a_path_is_written_so_that_it_can_be_read_back() {
        let found = hints("OSError: [Errno 30] Read-only file system: '/data/a\"b\\c/x'");
        assert!(found[0].contains(r#"`writable = ["/data/a\"b\\c"]`"#), "{found:?}");
    }

    proptest::proptest! {
        #[test]
        fn no_output_is_too_strange(output in "([a-z'‘’\"`/ .:\\\\]{0,8}([Rr]ead-only file system)?\n?){0,8}") {
            assert!(hints(&output).len() <= 3);
        }
    }
}
