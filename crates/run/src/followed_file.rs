//! Finds the file that a file check names, through the symbolic links in its path. A link may lead to any place in the
//! project or in the project's environment (its installed packages), and to no other place: proctor reads such files
//! outside of the isolation that holds commands.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use proctor_model::TreePath;
use proctor_sandbox::process::Layers;
use proctor_tools::OutputSoFar;

/// The most links that are followed for one path, as in the kernel.
const MOST_LINKS: usize = 40;

/// The file in the top directory of every virtual environment.
const VIRTUAL_ENVIRONMENT: &str = "pyvenv.cfg";

/// The directory into which Node's package managers install packages.
const NODE_PACKAGES: &str = "node_modules";

/// The files of a project as an action sees them.
#[derive(Debug)]
pub(crate) struct SeenFiles {
    /// The project's root: absolute, without links.
    root: PathBuf,
    /// What the action sees, except for the directories in `environments`.
    layers: Layers,
    /// Directories of the live project that the action sees with their real content, such as `.venv`.
    environments: Vec<PathBuf>,
}

/// Where the links in a path lead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FollowedPath {
    /// To an entry `path` below `directory`. No part of `path` is a link.
    Entry { directory: PathBuf, path: PathBuf },
    /// To a path where nothing is.
    Missing,
    /// Out of the project and of its environment; the text says which link leads where.
    Outside(String),
    /// Through more links than are followed, as in a circle.
    Circle,
}

impl SeenFiles {
    /// Returns the files of the live project.
    pub(crate) fn in_place(root: &Path) -> Self {
        Self { root: root.to_owned(), layers: Layers::new(vec![root.to_owned()]), environments: Vec::new() }
    }

    /// Returns the files of a snapshot: `directories` lie over each other, the topmost first.
    pub(crate) fn in_snapshot(root: &Path, directories: Vec<PathBuf>, environments: &[PathBuf]) -> Self {
        Self { root: root.to_owned(), layers: Layers::new(directories), environments: environments.to_vec() }
    }

    /// Follows the links in `relative`, a path below the root.
    ///
    /// # Errors
    /// When a directory on the way cannot be read.
    pub(crate) fn follow(&self, relative: &Path) -> io::Result<FollowedPath> {
        let mut waiting: VecDeque<OsString> = names(relative);
        let (mut reached, mut links) = (TreePath::root(), 0);
        while let Some(name) = waiting.pop_front() {
            if name == ".." {
                // `reached` has no links, so its parent is the directory that the kernel would reach too.
                let Some(parent) = reached.parent() else { return Ok(outside(relative, Path::new(".."))) };
                if self.layers_at(&reached).directory_of(&reached)?.is_none() {
                    return Ok(FollowedPath::Missing);
                }
                reached = parent;
                continue;
            }
            let next = reached.join(name.as_bytes());
            let Some(target) = self.layers_at(&next).link(&next)? else {
                reached = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return Ok(FollowedPath::Circle);
            }
            let inside = if target.is_absolute() { target.strip_prefix(&self.root).ok() } else { Some(target.as_path()) };
            let Some(inside) = inside else { return Ok(outside(next.as_path(), &target)) };
            if target.is_absolute() {
                reached = TreePath::root();
            }
            names(inside).into_iter().rev().for_each(|name| waiting.push_front(name));
            if leaves(&reached, inside) {
                return Ok(outside(next.as_path(), &target));
            }
        }
        if reached.is_root() {
            return Ok(FollowedPath::Entry { directory: self.root.clone(), path: PathBuf::new() });
        }
        let directory = self.layers_at(&reached).directory_of(&reached)?.map(Path::to_owned);
        Ok(directory
            .map_or(FollowedPath::Missing, |directory| FollowedPath::Entry { directory, path: reached.as_path().to_owned() }))
    }

    /// Returns the layers that have a path: those of the live project for a path in an environment.
    fn layers_at(&self, path: &TreePath) -> Layers {
        let full = self.root.join(path.as_path());
        if self.environments.iter().any(|environment| full.starts_with(environment)) {
            Layers::new(vec![self.root.clone()])
        } else {
            self.layers.clone()
        }
    }
}

/// Returns the place of a file that the links of `relative` lead to, if it lies in an environment outside of the project: a
/// virtual environment, or Node's packages. Nothing but the file's size and time may be read there.
pub(crate) fn in_environment_outside(root: &Path, relative: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = root.join(relative).canonicalize().ok()?;
    let is_environment = |directory: &&Path| {
        directory.file_name().is_some_and(|name| name == NODE_PACKAGES) || directory.join(VIRTUAL_ENVIRONMENT).is_file()
    };
    let environment = real.ancestors().skip(1).find(is_environment)?;
    let path = real.strip_prefix(environment).ok()?.to_owned();
    Some((environment.to_owned(), path))
}

/// Returns the names and `..` of a path, without `/` and `.`.
fn names(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

/// Returns whether the leading `..` of a link's target go above the root, if the link lies in the directory `around`.
fn leaves(around: &TreePath, target: &Path) -> bool {
    let depth = if around.is_root() { 0 } else { around.as_path().components().count() };
    target.components().filter(|part| *part != Component::CurDir).take_while(|part| *part == Component::ParentDir).count() > depth
}

fn outside(link: &Path, target: &Path) -> FollowedPath {
    FollowedPath::Outside(format!("`{}` leads to `{}`", link.display(), target.display()))
}

// Follows the log of a running action, to tell people how far the action is.

/// The most bytes of output that are read at one look. Of more only the end is read.
const MOST_BYTES: u64 = 256 * 1024;

/// The log of a running action, and what its output has said so far.
#[derive(Debug)]
pub struct LogFollower {
    log: Arc<File>,
    /// How many bytes of the log were read.
    read: u64,
    pub output: OutputSoFar,
}

impl LogFollower {
    pub fn new(log: Arc<File>) -> Self {
        Self { log, read: 0, output: OutputSoFar::default() }
    }

    /// Takes in what the log got since the last look. A log that cannot be read says nothing.
    pub fn look(&mut self) {
        let Ok(length) = self.log.metadata().map(|metadata| metadata.len()) else { return };
        if length.saturating_sub(self.read) > MOST_BYTES {
            self.read = length - MOST_BYTES;
            self.output.pass_over();
        }
        let mut bytes = vec![0; usize::try_from(length.saturating_sub(self.read)).unwrap_or_default()];
        if let Ok(count) = self.log.read_at(&mut bytes, self.read) {
            self.output.take(bytes.get(..count).unwrap_or_default());
            self.read += count as u64;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make the files they look for")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn project() -> TempDir {
        let place = TempDir::new().expect("a directory");
        for (path, text) in
            [("p/packages/a/index.js", "a"), ("p/node_modules/.pnpm/b@1/node_modules/b/index.js", "b"), ("other/secret", "s")]
        {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        for (target, link) in [
            (".pnpm/b@1/node_modules/b", "p/node_modules/b"),
            ("../packages/a", "p/node_modules/a"),
            ("../other/secret", "p/out"),
            ("packages/../../other", "p/zigzag"),
            ("/etc/passwd", "p/absolute"),
            ("round", "p/round"),
            ("nothing", "p/dangling"),
        ] {
            symlink(target, place.path().join(link)).expect("a link");
        }
        symlink(place.path().join("p/packages"), place.path().join("p/own")).expect("a link");
        place
    }

    #[test]
    fn links_inside_of_the_project_are_followed_and_others_are_named() {
        let place = project();
        let root = place.path().join("p");
        let seen = SeenFiles::in_place(&root);
        let at = |path: &str| FollowedPath::Entry { directory: root.clone(), path: PathBuf::from(path) };
        let outside = |text: &str| FollowedPath::Outside(text.to_owned());
        for (path, expected) in [
            ("packages/a/index.js", at("packages/a/index.js")),
            ("node_modules/b/index.js", at("node_modules/.pnpm/b@1/node_modules/b/index.js")),
            ("node_modules/a/index.js", at("packages/a/index.js")),
            ("own/a", at("packages/a")),
            ("own/a/index.js/x", FollowedPath::Missing),
            ("", at("")),
            ("none", FollowedPath::Missing),
            ("dangling", FollowedPath::Missing),
            ("round", FollowedPath::Circle),
            ("out", outside("`out` leads to `../other/secret`")),
            ("absolute", outside("`absolute` leads to `/etc/passwd`")),
            ("absolute/none", outside("`absolute` leads to `/etc/passwd`")),
        ] {
            assert_eq!(seen.follow(Path::new(path)).expect("it is read"), expected, "{path}");
        }
        assert!(matches!(seen.follow(Path::new("zigzag/secret")), Ok(FollowedPath::Outside(_))));
    }

    #[test]
    fn an_action_follows_the_links_that_it_sees_in_its_layers() {
        let place = project();
        let (root, top) = (place.path().join("p"), place.path().join("top"));
        fs::create_dir_all(top.join("packages/a")).expect("a directory");
        fs::write(top.join("packages/a/made.js"), "made").expect("a file");
        symlink("packages/a/made.js", top.join("new")).expect("a link");
        let environments = [root.join("node_modules")];
        let copy = place.path().join("copy");
        fs::create_dir(&copy).expect("a directory");
        let seen = SeenFiles::in_snapshot(&root, vec![top.clone(), copy], &environments);
        let follow = |path: &str| seen.follow(Path::new(path)).expect("it is read");
        let made = FollowedPath::Entry { directory: top, path: PathBuf::from("packages/a/made.js") };
        assert_eq!(
            [follow("new"), follow("node_modules/a/made.js")],
            [made, FollowedPath::Entry { directory: place.path().join("top"), path: PathBuf::from("packages/a/made.js") }]
        );
        assert_eq!(follow("packages/a/index.js"), FollowedPath::Missing, "the live project is not looked at");
        assert!(matches!(follow("node_modules/b/index.js"), FollowedPath::Entry { directory, .. } if directory == root));
    }

    #[test]
    fn an_environment_outside_of_the_project_is_recognised_by_what_it_is() {
        let place = project();
        let root = place.path().join("p");
        let environment = place.path().join("environments/one");
        fs::create_dir_all(environment.join("lib")).expect("a directory");
        fs::write(environment.join("lib/a.py"), "1").expect("a file");
        symlink(&environment, root.join(".venv")).expect("a link");
        assert_eq!(in_environment_outside(&root, Path::new(".venv/lib/a.py")), None, "it is no environment yet");
        fs::write(environment.join(VIRTUAL_ENVIRONMENT), "").expect("a file");
        symlink("/bin/sh", environment.join("lib/sh")).expect("a link");
        let real = environment.canonicalize().expect("it is there");
        assert_eq!(in_environment_outside(&root, Path::new(".venv/lib/a.py")), Some((real, PathBuf::from("lib/a.py"))));
        assert_eq!(in_environment_outside(&root, Path::new(".venv/lib/sh")), None, "it leaves the environment again");
        assert_eq!(in_environment_outside(&root, Path::new("out")), None);
    }
}

#[cfg(test)]
mod log_follower_tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_look_takes_in_what_is_new_and_the_end_of_what_is_too_much() {
        let mut file = tempfile::tempfile().unwrap();
        let mut follower = LogFollower::new(Arc::new(file.try_clone().unwrap()));
        file.write_all(b"1..9\nok 1 - a\n").unwrap();
        follower.look();
        file.write_all(b"ok 2 - b\nok 3").unwrap();
        follower.look();
        follower.look();
        assert_eq!(follower.output.progress().words().as_deref(), Some("2 of 9 tests"));
        file.write_all(&vec![b'\n'; 300 * 1024]).unwrap();
        file.write_all(b"ok 7 - g\n").unwrap();
        follower.look();
        assert_eq!(follower.output.progress().words(), None, "how many tests are in the part that was passed over is not known");
        assert_eq!(follower.output.take_ended().last().map(|test| test.name.as_str()), Some("g"));
    }
}
