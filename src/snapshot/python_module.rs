//! Names of Python modules and of the files that Python compiles them to (PEP 3147, PEP 488). Pure.

use crate::model::TreePath;

/// The directory, beside a module's source, in which Python looks for the compiled module.
const CACHE_DIRECTORY: &[u8] = b"__pycache__";

/// The most characters of an interpreter's cache tag that is accepted. Real tags, such as `cpython-311`, have about
/// eleven.
const MAX_TAG_BYTES: usize = 32;

/// A module that Python compiles, at one level of optimization.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonModule {
    pub source: TreePath,
    /// 0, or the level that `python -O` (1) and `python -OO` (2) ask for.
    pub optimization: u8,
}

/// The name by which an interpreter tells its compiled files from those of other interpreters, such as `cpython-311`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheTag(String);

impl CacheTag {
    /// Returns the tag if it can be a part of a file name.
    pub fn new(tag: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        let fits = !tag.is_empty() && tag.len() <= MAX_TAG_BYTES && tag.bytes().all(is_plain);
        fits.then(|| Self(tag.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl PythonModule {
    /// Returns the module that Python compiled to the file at `written`; `None` if Python itself gives no such name, as for
    /// pytest's file `test_a.cpython-311-pytest-8.3.4.pyc`.
    ///
    /// Which interpreter wrote the file is not read from the name.
    pub fn compiled_to(written: &TreePath) -> Option<Self> {
        let cache = written.parent().filter(|parent| parent.name() == CACHE_DIRECTORY)?;
        let mut parts = written.name().strip_suffix(b".pyc")?.split(|byte| *byte == b'.');
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
        Some(Self { source: cache.parent()?.join(&[stem, b".py"].concat()), optimization })
    }

    /// Returns the path at which Python looks for the compiled module, relative to the root of the tree.
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
    fn a_compiled_file_is_named_as_python_names_it() {
        for (written, source, optimization) in [
            ("pkg/__pycache__/mod.cpython-311.pyc", "pkg/mod.py", 0),
            ("__pycache__/top.cpython-313.opt-1.pyc", "top.py", 1),
            ("a/b/__pycache__/__init__.pypy310.opt-2.pyc", "a/b/__init__.py", 2),
        ] {
            let module = PythonModule::compiled_to(&path(written)).expect("a module");
            assert_eq!((module.source.clone(), module.optimization), (path(source), optimization));
            let tag = written.split('/').next_back().and_then(|name| name.split('.').nth(1)).and_then(CacheTag::new);
            assert_eq!(module.compiled_path(&tag.expect("a tag")), path(written));
        }
    }

    #[test]
    fn a_file_that_python_itself_does_not_write_names_no_module() {
        for written in [
            "pkg/__pycache__/test_a.cpython-311-pytest-8.3.4.pyc",
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
        assert_eq!([CacheTag::new(""), CacheTag::new("../x"), CacheTag::new(&"a".repeat(33))], [None, None, None]);
    }
}
