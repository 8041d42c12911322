//! Finds the node ids of the tests in a report: the names that pytest prints and takes on its command line.
//!
//! A JUnit report has `tests.test_a.TestX` where a node id has `tests/test_a.py::TestX`. The way back is not unique, because a dot
//! may stand between two directories, in a directory's name or before a class, and because both names are relative to
//! pytest's `rootdir`, which the report does not name. So the files of the project decide. If no file or more than one fits,
//! there is no node id, and the test keeps the name from the report.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::junit::Element;
use crate::launchers::locate;
use crate::places::Place;
use crate::recognise::CommandForm;
use proctor_model::{Action, Tool};

/// At most this many names are tried to resolve one class name. A class name of ordinary depth needs fewer than ten.
const TRIES: u32 = 200;

/// Options by which a launcher starts the tool in another directory than its own.
const CHANGES_DIRECTORY: &[&str] = &["-C", "--directory", "--chdir", "--cwd", "--dir"];

/// Resolves the names of one report.
pub(super) struct NodeIds<'a> {
    /// The absolute directory in which the command runs. Node ids are relative to it, as on pytest's screen.
    directory: PathBuf,
    /// The absolute paths that pytest was told to search. `None` if neither the command nor the output shows them.
    searched: Option<Vec<PathBuf>>,
    /// The `rootdir` that pytest printed.
    rootdir: Option<PathBuf>,
    names_in: &'a dyn Fn(&Path) -> Vec<String>,
    listings: HashMap<PathBuf, BTreeSet<String>>,
    modules: HashMap<(String, Option<String>), Vec<Module>>,
}

/// A file that a class name may mean, and the classes in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Module {
    file: PathBuf,
    classes: Vec<String>,
}

impl<'a> NodeIds<'a> {
    /// Reads from the command and from the output where the tests are. `names_in` returns the names in a directory.
    pub(super) fn new(action: &Action, place: Place<'_>, stdout: &str, names_in: &'a dyn Fn(&Path) -> Vec<String>) -> Self {
        let directory = place.absolute("");
        let rootdir = printed_rootdir(stdout).map(|path| directory.join(path));
        let mut ids = Self { directory, searched: None, rootdir, names_in, listings: HashMap::new(), modules: HashMap::new() };
        ids.searched = ids.searched_paths(action, place).or_else(|| Some(vec![ids.rootdir.clone()?]));
        ids
    }

    /// Returns the node id of a test, or of a module that could not be collected. `traced` are the files in the test's traceback,
    /// as absolute paths; they decide where the name alone does not.
    pub(super) fn find(&mut self, element: &Element, is_module: bool, traced: &dyn Fn() -> Vec<PathBuf>) -> Option<String> {
        let dotted = if is_module { &element.name } else { &element.class };
        if dotted.is_empty() {
            return None;
        }
        let mut modules = self.modules_named(dotted, element.file.as_deref());
        if modules.len() != 1 {
            let traced = traced();
            modules.retain(|module| traced.contains(&module.file));
            if modules.is_empty() {
                modules = traced.iter().filter_map(|file| self.traced_module(file, dotted)).collect();
                modules.dedup();
            }
        }
        let [module] = modules.as_slice() else { return None };
        let file = relative(&module.file, &self.directory)?;
        if is_module {
            return module.classes.is_empty().then_some(file);
        }
        let classes = module.classes.iter().map(String::as_str);
        Some(std::iter::once(file.as_str()).chain(classes).chain([element.name.as_str()]).collect::<Vec<_>>().join("::"))
    }

    fn modules_named(&mut self, dotted: &str, file: Option<&str>) -> Vec<Module> {
        let key = (dotted.to_owned(), file.map(str::to_owned));
        if let Some(known) = self.modules.get(&key) {
            return known.clone();
        }
        let mut found = Vec::new();
        for searched in self.searched.clone().unwrap_or_default() {
            // pytest may have been called above its `rootdir`.
            let searched = self.rootdir.clone().filter(|rootdir| rootdir.starts_with(&searched)).unwrap_or(searched);
            let bases: Vec<PathBuf> = match &self.rootdir {
                Some(rootdir) => vec![rootdir.clone()],
                None => searched.ancestors().map(Path::to_owned).collect(),
            };
            for base in bases {
                self.search(&searched, &base, dotted, file, &mut found);
            }
        }
        let mut distinct: Vec<Module> = Vec::new();
        for module in found {
            if !distinct.contains(&module) {
                distinct.push(module);
            }
        }
        self.modules.insert(key, distinct.clone());
        distinct
    }

    /// Searches for files below `searched` whose name relative to `base` is `dotted`.
    fn search(&mut self, searched: &Path, base: &Path, dotted: &str, file: Option<&str>, found: &mut Vec<Module>) {
        let Ok(between) = searched.strip_prefix(base) else { return };
        if let Some(file) = file {
            let path = base.join(file);
            if path.starts_with(searched)
                && self.exists(&path)
                && let Some(classes) = classes_after(&dotted_module(Path::new(file)), dotted)
            {
                found.push(Module { file: path, classes });
            }
            return;
        }
        if let Some(classes) = classes_after(&dotted_module(between), dotted)
            && !self.is_directory(searched)
        {
            found.push(Module { file: searched.to_owned(), classes });
        }
        let below = match between.to_string_lossy().replace('/', ".") {
            none if none.is_empty() => Some(dotted),
            between => dotted.strip_prefix(&between).and_then(|rest| rest.strip_prefix('.')),
        };
        if let Some(below) = below {
            let parts: Vec<&str> = below.split('.').collect();
            self.walk(searched, &parts, found, &mut TRIES.clone());
        }
    }

    fn walk(&mut self, directory: &Path, parts: &[&str], found: &mut Vec<Module>, tries: &mut u32) {
        for taken in 1..=parts.len() {
            if *tries == 0 || self.listing(directory).is_empty() {
                return;
            }
            *tries -= 1;
            let (name, rest) = (parts[..taken].join("."), &parts[taken..]);
            let script = format!("{name}.py");
            if self.listing(directory).contains(&script) && rest.iter().all(|part| is_identifier(part)) {
                let classes = rest.iter().map(|part| (*part).to_owned()).collect();
                found.push(Module { file: directory.join(script), classes });
            }
            if !self.listing(directory).contains(&name) {
                continue;
            }
            let path = directory.join(&name);
            if !rest.is_empty() {
                self.walk(&path, rest, found, tries);
            } else if taken > 1 && !self.is_directory(&path) {
                // Tests in other files than Python's, such as the doctests of a text, have the file's whole name.
                found.push(Module { file: path, classes: Vec::new() });
            }
        }
    }

    /// Returns the module of a traceback's file, if the end of the file's path is the beginning of the class name.
    fn traced_module(&mut self, file: &Path, dotted: &str) -> Option<Module> {
        let module = dotted_module(file);
        let ends = dotted.match_indices('.').map(|(dot, _)| dot).chain([dotted.len()]);
        let fits = |end: &usize| module.ends_with(&format!(".{}", &dotted[..*end]));
        let end = ends.filter(fits).max()?;
        let classes = classes_after(&dotted[..end], dotted)?;
        self.exists(file).then(|| Module { file: file.to_owned(), classes })
    }

    /// Returns the paths among pytest's arguments, otherwise the directory in which it runs; `None` if the command does not show
    /// where pytest runs.
    fn searched_paths(&mut self, action: &Action, place: Place<'_>) -> Option<Vec<PathBuf>> {
        let argv = &action.command.argv;
        let located = locate(argv);
        if located.recognition.tool != Tool::Pytest {
            return None;
        }
        let changes_directory = match located.recognition.form {
            CommandForm::Direct => argv.iter().take(located.arguments_from).any(|word| {
                let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
                CHANGES_DIRECTORY.contains(&option)
            }),
            CommandForm::Wrapped => {
                argv.iter().flat_map(|text| text.split_whitespace()).any(|word| word == "cd" || word == "pushd")
            }
        };
        if changes_directory {
            return None;
        }
        let (mut certain, mut possible) = (Vec::new(), Vec::new());
        let mut after_option = false;
        for word in &located.arguments {
            if word.starts_with('-') {
                after_option = !word.contains('=') && !is_flag(word);
                continue;
            }
            let path = place.absolute(word.split_once("::").map_or(word, |(path, _)| path));
            if path == self.directory || self.exists(&path) {
                // The word may be the value of the option before it.
                if after_option { possible.push(path) } else { certain.push(path) }
            }
            after_option = false;
        }
        if certain.is_empty() {
            return Some(vec![self.directory.clone()]);
        }
        certain.extend(possible);
        Some(certain)
    }

    fn exists(&mut self, path: &Path) -> bool {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
        name.to_str().is_some_and(|name| self.listing(parent).contains(name))
    }

    /// Returns whether a path is a directory with anything in it.
    fn is_directory(&mut self, path: &Path) -> bool {
        !self.listing(path).is_empty()
    }

    fn listing(&mut self, directory: &Path) -> &BTreeSet<String> {
        if !self.listings.contains_key(directory) {
            let names = (self.names_in)(directory).into_iter().collect();
            self.listings.insert(directory.to_owned(), names);
        }
        &self.listings[directory]
    }
}

/// Returns the `rootdir` in pytest's header. `-q` leaves the header out.
fn printed_rootdir(stdout: &str) -> Option<&str> {
    let line = stdout.lines().find_map(|line| line.strip_prefix("rootdir: "))?;
    let end = [", inifile", ", configfile", ", testpaths"].iter().filter_map(|next| line.find(next)).min();
    Some(line[..end.unwrap_or(line.len())].trim_end())
}

/// Returns whether an option of pytest is one of the short options that take no value, such as `-q` or `-xvs`.
fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.is_empty() && letters.chars().all(|letter| "qvxsl".contains(letter)))
}

/// Returns a file's path as pytest writes it at the beginning of a class name.
fn dotted_module(file: &Path) -> String {
    let path = file.to_string_lossy();
    path.strip_suffix(".py").unwrap_or(&path).replace('/', ".")
}

/// Returns the classes that follow a module's name in a class name; `None` if the class name belongs to another module.
fn classes_after(module: &str, dotted: &str) -> Option<Vec<String>> {
    let rest = dotted.strip_prefix(module).filter(|_| !module.is_empty())?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let classes: Vec<String> = rest.strip_prefix('.')?.split('.').map(str::to_owned).collect();
    classes.iter().all(|class| is_identifier(class)).then_some(classes)
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(|character| character.is_alphanumeric() || character == '_')
}

/// Returns a path relative to a directory, with `..` where it lies outside; `None` if it is not Unicode.
fn relative(path: &Path, directory: &Path) -> Option<String> {
    let shared = directory.ancestors().find(|ancestor| path.starts_with(ancestor))?;
    let up = directory.strip_prefix(shared).ok()?.components().count();
    let below = path.strip_prefix(shared).ok()?.to_str()?;
    Some("../".repeat(up) + below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Resolves `class` and `name` in a project with these files.
    struct Project {
        command: &'static str,
        directory: &'static str,
        stdout: &'static str,
        files: &'static [&'static str],
    }

    const PLAIN: Project = Project { command: "pytest -q", directory: "", stdout: "", files: &[] };

    impl Project {
        fn find(&self, element: &Element, is_module: bool, traced: &[&str]) -> Option<String> {
            let action = samples::action(Tool::Pytest, self.command);
            let names = |directory: &Path| {
                let below = |file: &&str| Path::new("/home/p").join(file).strip_prefix(directory).ok().map(Path::to_owned);
                let first = |path: PathBuf| path.components().next().map(|name| name.as_os_str().to_string_lossy().into_owned());
                self.files.iter().filter_map(below).filter_map(first).collect()
            };
            let place = Place { root: Path::new("/home/p"), directory: Path::new(self.directory) };
            let traced = || traced.iter().map(|file| Path::new("/home/p").join(file)).collect();
            NodeIds::new(&action, place, self.stdout, &names).find(element, is_module, &traced)
        }

        fn test(&self, class: &str, name: &str) -> Option<String> {
            self.find(&Element { class: class.to_owned(), name: name.to_owned(), ..Element::default() }, false, &[])
        }
    }

    #[test]
    fn a_class_name_becomes_the_file_and_the_classes_in_it() {
        let project = Project {
            files: &["tests/test_a.py", "tests/v1.0/test_b.py", "docs/index.rst", "src/m.py", "tests/test_ä.py"],
            ..PLAIN
        };
        for (class, name, expected) in [
            ("tests.test_a", "test_x", Some("tests/test_a.py::test_x")),
            ("tests.test_a", "test_x[a::b/c.py-[0]]", Some("tests/test_a.py::test_x[a::b/c.py-[0]]")),
            ("tests.test_a.TestX.TestIn", "test_y", Some("tests/test_a.py::TestX::TestIn::test_y")),
            ("tests.v1.0.test_b", "test_x[\\xe9]", Some("tests/v1.0/test_b.py::test_x[\\xe9]")),
            ("tests.test_ä.TestÖ", "test_ü[ß]", Some("tests/test_ä.py::TestÖ::test_ü[ß]")),
            ("docs.index.rst", "index.rst", Some("docs/index.rst::index.rst")),
            ("src.m", "m.add", Some("src/m.py::m.add")),
            ("tests.test_gone", "test_x", None),
            ("tests.test_a.not a class", "test_x", None),
            ("tests", "test_x", None),
            ("", "test_x", None),
            ("../p", "test_x", None),
        ] {
            assert_eq!(project.test(class, name).as_deref(), expected, "{class}");
        }
    }

    #[test]
    fn a_module_that_could_not_be_collected_is_its_file() {
        let project = Project { files: &["tests/test_a.py", "tests/__init__.py"], ..PLAIN };
        let module = |name: &str| {
            let element = Element { name: name.to_owned(), ..Element::default() };
            project.find(&element, true, &[])
        };
        assert_eq!(module("tests.test_a").as_deref(), Some("tests/test_a.py"));
        assert_eq!(module("tests.test_a.TestX"), None);
        assert_eq!(module("tests"), None);
    }

    #[test]
    fn the_name_is_relative_to_rootdir_and_the_node_id_to_the_checks_directory() {
        let files: &[&str] = &["tests/test_a.py", "back/tests/test_a.py", "back/test_b.py"];
        for (command, directory, stdout, class, expected) in [
            ("pytest -q", "back", "", "tests.test_a", Some("tests/test_a.py::t")),
            ("pytest -q", "back", "", "back.tests.test_a", Some("tests/test_a.py::t")),
            ("pytest -q", "back", "", "p.back.tests.test_a", Some("tests/test_a.py::t")),
            ("pytest -q back/tests", "", "", "tests.test_a", Some("back/tests/test_a.py::t")),
            ("pytest back/tests/test_a.py::t", "", "", "tests.test_a", Some("back/tests/test_a.py::t")),
            ("pytest back/test_b.py", "", "", "test_b.TestX", Some("back/test_b.py::TestX::t")),
            ("pytest ../tests", "back", "", "tests.test_a", Some("../tests/test_a.py::t")),
            ("pytest --cov back", "", "", "tests.test_a", Some("tests/test_a.py::t")),
            ("pytest -n 4 back", "", "", "tests.test_a", Some("back/tests/test_a.py::t")),
            (
                "pytest back",
                "",
                "rootdir: /home/p/back, configfile: pytest.ini\n",
                "tests.test_a",
                Some("back/tests/test_a.py::t"),
            ),
            ("pytest -k x", "", "rootdir: /home/p/back\n", "tests.test_a", Some("back/tests/test_a.py::t")),
            // Nothing shows where pytest runs.
            ("make test", "", "", "tests.test_a", None),
            ("make test", "", "rootdir: /home/p/back\n", "tests.test_a", Some("back/tests/test_a.py::t")),
            ("uv run --directory back pytest", "", "", "tests.test_a", None),
        ] {
            let project = Project { command, directory, stdout, files };
            assert_eq!(project.test(class, "t").as_deref(), expected, "{command} {directory} {class}");
        }
    }

    #[test]
    fn where_two_files_fit_only_the_traceback_decides() {
        let files: &[&str] = &["a/b.py", "a.b.py"];
        let project = Project { files, ..PLAIN };
        let element = Element { class: "a.b".to_owned(), name: "t".to_owned(), ..Element::default() };
        assert_eq!(project.find(&element, false, &[]), None);
        assert_eq!(project.find(&element, false, &["a.b.py"]).as_deref(), Some("a.b.py::t"));
        let wrapped = Project { command: "make test", files: &["back/tests/test_a.py"], ..PLAIN };
        let element = Element { class: "tests.test_a.TestX".to_owned(), name: "t".to_owned(), ..Element::default() };
        let traced = wrapped.find(&element, false, &["back/tests/test_a.py", "conftest.py"]);
        assert_eq!(traced.as_deref(), Some("back/tests/test_a.py::TestX::t"));
        assert_eq!(wrapped.find(&element, false, &["tests/test_a.py"]), None, "the traceback names a file that is not there");
    }

    #[test]
    fn the_file_in_the_report_decides_if_it_is_there() {
        let project = Project { files: &["a/b.py", "a.b.py"], ..PLAIN };
        let element = |file: &str| {
            let element =
                Element { class: "a.b.T".to_owned(), name: "t".to_owned(), file: Some(file.to_owned()), ..Element::default() };
            project.find(&element, false, &[])
        };
        assert_eq!(element("a/b.py").as_deref(), Some("a/b.py::T::t"));
        assert_eq!(element("a.b.py").as_deref(), Some("a.b.py::T::t"));
        assert_eq!(element("c.py"), None);
    }
}
