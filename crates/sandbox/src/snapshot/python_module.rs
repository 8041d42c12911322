//! Names of Python modules and of the files that Python compiles them to (PEP 3147, PEP 488). Pure.

use proctor_model::TreePath;

/// The directory, beside a module's source, in which Python looks for the compiled module.
const CACHE_DIRECTORY: &[u8] = b"__pycache__";

/// The most characters of a cache tag that is accepted. Real tags, such as `cpython-311` and
/// `cpython-311-pytest-9.2.0`, have at most about thirty.
const MAX_TAG_BYTES: usize = 64;

/// What pytest writes into its cache tag, between the interpreter's tag and its own version.
const PYTEST: &[u8] = b"-pytest-";

/// A module that Python compiles, at one level of optimization.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonModule {
    pub source: TreePath,
    /// 0, or the level that `python -O` (1) and `python -OO` (2) ask for.
    pub optimization: u8,
}

/// Who compiles a module. Their compiled files have different names, and one does not read the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleCompiler {
    /// The interpreter itself.
    Python,
    /// pytest, which rewrites the `assert` statements of tests first, so that they say what differs.
    Pytest,
}

/// The name by which a compiler tells its compiled files from those of others, such as `cpython-311`, or
/// `cpython-311-pytest-9.2.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheTag(String);

impl CacheTag {
    /// Returns the tag if it can be a part of a file name.
    pub fn new(tag: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        let fits = !tag.is_empty() && tag.len() <= MAX_TAG_BYTES && tag.bytes().all(is_plain);
        fits.then(|| Self(tag.to_owned()))
    }

    /// Returns whether the tag is one of pytest's.
    pub fn is_of_pytest(&self) -> bool {
        self.0.as_bytes().windows(PYTEST.len()).any(|part| part == PYTEST)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl PythonModule {
    /// Returns the module that was compiled to the file at `written`, and who compiles to files of such names; `None` if
    /// neither Python nor pytest gives such a name.
    ///
    /// Which interpreter or which version of pytest wrote the file is not read from the name.
    pub fn compiled_to(written: &TreePath) -> Option<(Self, ModuleCompiler)> {
        let cache = written.parent().filter(|parent| parent.name() == CACHE_DIRECTORY)?;
        let name = written.name().strip_suffix(b".pyc")?;
        let source = |stem: &[u8]| Some(cache.parent()?.join(&[stem, b".py"].concat()));
        // A module's own name has no dot, so its first dot begins the tag.
        let (stem, tag) = name.split_at_checked(name.iter().position(|byte| *byte == b'.')?)?;
        if !stem.is_empty() && tag.windows(PYTEST.len()).any(|part| part == PYTEST) {
            let is_tag = std::str::from_utf8(&tag[1..]).ok().and_then(CacheTag::new).is_some();
            return is_tag.then_some((Self { source: source(stem)?, optimization: 0 }, ModuleCompiler::Pytest));
        }
        let mut parts = name.split(|byte| *byte == b'.');
        let (stem, tag, level, rest) = (parts.next()?, parts.next()?, parts.next(), parts.next());
        let is_tag = std::str::from_utf8(tag).ok().and_then(CacheTag::new).is_some();
        if stem.is_empty() || !is_tag || rest.is_some() {
            return None;
        }
        let optimization = match level {
            None => 0,
            Some(b"opt-1") => 1,
            Some(b"opt-2") => 2,
            Some(_) => return None,
        };
        Some((Self { source: source(stem)?, optimization }, ModuleCompiler::Python))
    }

    /// Returns the path at which Python or pytest looks for the compiled module, relative to the root of the tree.
    pub(super) fn compiled_path(&self, tag: &CacheTag) -> TreePath {
        let name = self.source.name();
        let stem = name.strip_suffix(b".py").unwrap_or(name);
        let level = match self.optimization {
            0 => String::new(),
            level => format!(".opt-{level}"),
        };
        let file = [stem, b".", tag.0.as_bytes(), level.as_bytes(), b".pyc"].concat();
        self.source.parent().unwrap_or_default().join(CACHE_DIRECTORY).join(&file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> TreePath {
        TreePath::try_from(path).expect("a clean path")
    }

    #[test]
    fn a_compiled_file_is_named_as_python_and_pytest_name_it() {
        use ModuleCompiler::{Pytest, Python};
        for (written, tag, source, optimization, compiler) in [
            ("pkg/__pycache__/mod.cpython-311.pyc", "cpython-311", "pkg/mod.py", 0, Python),
            ("__pycache__/top.cpython-313.opt-1.pyc", "cpython-313", "top.py", 1, Python),
            ("a/b/__pycache__/__init__.pypy310.opt-2.pyc", "pypy310", "a/b/__init__.py", 2, Python),
            ("pkg/__pycache__/test_a.cpython-311-pytest-8.3.4.pyc", "cpython-311-pytest-8.3.4", "pkg/test_a.py", 0, Pytest),
            ("__pycache__/conftest.cpython-313-pytest-9.1.dev3.pyc", "cpython-313-pytest-9.1.dev3", "conftest.py", 0, Pytest),
        ] {
            let (module, by) = PythonModule::compiled_to(&path(written)).expect("a module");
            assert_eq!((module.source.clone(), module.optimization, by), (path(source), optimization, compiler));
            assert_eq!(module.compiled_path(&CacheTag::new(tag).expect("a tag")), path(written));
        }
    }

    #[test]
    fn a_file_that_neither_python_nor_pytest_writes_names_no_module() {
        for written in [
            "pkg/__pycache__/test_a.cpython-311-pytest-8.3.4.pyc.77",
            "pkg/__pycache__/.cpython-311-pytest-8.3.4.pyc",
            "pkg/__pycache__/test_a.cpython-311-pytest-8 3.pyc",
            "pkg/__pycache__/mod.cpython-311.opt-3.pyc",
            "pkg/__pycache__/mod.pyc",
            "pkg/__pycache__/.cpython-311.pyc",
            "pkg/__pycache__/mod.cpython-311.pyc.139",
            "pkg/__pycache__/mod.CP 311.pyc",
            "pkg/mod.cpython-311.pyc",
            "mod.pyc",
        ] {
            assert_eq!(PythonModule::compiled_to(&path(written)), None, "{written}");
        }
        assert_eq!([CacheTag::new(""), CacheTag::new("../x"), CacheTag::new(&"a".repeat(65))], [None, None, None]);
    }
}
