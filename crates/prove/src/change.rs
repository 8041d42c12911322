//! What a change is made of: its files with their roles and texts, and the content without its source.

use std::collections::{BTreeMap, BTreeSet};

use proctor_app::CommandError;
use proctor_model::{Digest, EntryKind, TreeDigest};
use proctor_run::WrittenFile;
use proctor_tree::ignore::Matcher;

use crate::answer::ProvedFile;
use crate::contents::{CopiedTree, FileAt, Files};
use crate::parts::{SourcePart, parts_of};
use crate::roles::{FileRole, PathsOfSides};
use crate::rust::{self, MergedText};
use crate::stubs::{StubBody, with_stubs};
use crate::touched::{ChangedText, TestLanguage, introduced_words};

/// What the text begins with that git has in the place of a file that is stored elsewhere (Git LFS). The working tree has the file.
const STORED_ELSEWHERE: &[u8] = b"version https://git-lfs";
/// The largest file in which tests and names are looked for, in bytes.
const LARGEST_TEXT: usize = 2 << 20;

/// A file of a change.
struct FileOfChange {
    told: ProvedFile,
    before: Option<FileAt>,
    after: Option<FileAt>,
    /// The texts before and after; `None` where there is no file, or it is no text.
    texts: [Option<String>; 2],
}

impl FileOfChange {
    fn is_source(&self) -> bool {
        self.told.role == FileRole::Source
    }

    /// Returns the text with the code before the change and the tests of after it; `None` if the file has no tests in it.
    fn merged(&self) -> Option<MergedText> {
        let [Some(before), Some(after)] = &self.texts else { return None };
        self.told.path.ends_with(".rs").then(|| rust::with_tests_of(before, after)).flatten()
    }

    /// Returns the code before and after the change, without the tests in it.
    fn codes(&self) -> [String; 2] {
        self.texts.each_ref().map(|text| {
            let text = text.as_deref().unwrap_or_default();
            let divided = self.told.path.ends_with(".rs").then(|| rust::divided(text)).flatten();
            divided.map_or_else(|| text.to_owned(), |divided| divided.code)
        })
    }
}

/// A change.
pub(crate) struct Change<'a> {
    pub(crate) work_tree: CopiedTree<'a>,
    files: Vec<FileOfChange>,
    pub(crate) before: Files,
    pub(crate) after: Files,
    /// The paths of source of the whole project.
    pub(crate) source: BTreeSet<String>,
}

impl<'a> Change<'a> {
    /// Compares two contents: before and after. What is known of tests are the files that a setting names and those that tools collected.
    pub(crate) fn between(
        (before, after): (Files, Files),
        (named, collected): (&Matcher, &BTreeSet<String>),
        work_tree: CopiedTree<'a>,
    ) -> Result<Self, CommandError> {
        let all: BTreeSet<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
        let known = PathsOfSides { all: &all, named, collected };
        let mut files = Vec::new();
        for path in all.iter().filter(|path| before.get(**path) != after.get(**path)) {
            let sides = [before.get(*path).copied(), after.get(*path).copied()];
            let mut texts = [None, None];
            for (text, side) in texts.iter_mut().zip(sides) {
                let bytes =
                    side.filter(|side| side.kind != EntryKind::Link).map(|side| work_tree.read(path, side)).transpose()?;
                *text = bytes.filter(|bytes| bytes.len() <= LARGEST_TEXT).and_then(|bytes| String::from_utf8(bytes).ok());
            }
            if texts.iter().flatten().any(|text| text.as_bytes().starts_with(STORED_ELSEWHERE)) {
                continue;
            }
            let role = match (known.role_of(path), &texts) {
                (FileRole::Source, [Some(old), Some(new)]) if path.ends_with(".rs") && rust::only_tests_differ(old, new) => {
                    FileRole::Test
                }
                (role, _) => role,
            };
            let told = ProvedFile { path: (*path).to_owned(), role, is_doubtful: known.is_doubtful(path) };
            files.push(FileOfChange { told, before: sides[0], after: sides[1], texts });
        }
        let source = all.iter().filter(|path| known.role_of(path) == FileRole::Source).map(|path| (*path).to_owned()).collect();
        Ok(Self { work_tree, files, before, after, source })
    }

    /// Returns the files for the answer.
    pub(crate) fn files(&self) -> Vec<ProvedFile> {
        self.files.iter().map(|file| file.told.clone()).collect()
    }

    /// Returns the texts in which tests may be added or changed.
    pub(crate) fn texts_with_tests(&self) -> Vec<ChangedText> {
        // A file of Rust has source and tests.
        let may_have =
            |file: &&FileOfChange| file.told.role == FileRole::Test || (file.is_source() && file.told.path.ends_with(".rs"));
        let files = self.files.iter().filter(may_have);
        files
            .map(|file| ChangedText { path: file.told.path.clone(), old: file.texts[0].clone(), new: file.texts[1].clone() })
            .collect()
    }

    fn changed_source(&self) -> impl Iterator<Item = &FileOfChange> {
        self.files.iter().filter(|file| file.is_source())
    }

    /// Returns for each file with source and tests the text with the code before the change and the tests of after it.
    pub(crate) fn merged(&self) -> BTreeMap<String, MergedText> {
        self.changed_source().filter_map(|file| Some((file.told.path.clone(), file.merged()?))).collect()
    }

    /// Returns the text with the change of a file that belongs to tests.
    pub(crate) fn text_of_test(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.told.path == path && !file.is_source())?;
        file.texts[1].as_deref()
    }

    /// Returns whether a path is that of a file of source that only the change has.
    pub(crate) fn is_new_source(&self, path: &str) -> bool {
        self.changed_source().any(|file| file.told.path == path && file.before.is_none())
    }

    /// Returns whether another file with the change can have a test that a tool of Rust names alike: it has the same module.
    pub(crate) fn files_like<'p>(&'p self, path: &'p str) -> impl Iterator<Item = (&'p str, FileAt)> {
        let module = rust::names_by_path(path, "");
        let is_like = move |other: &str| other != path && rust::names_by_path(other, "").iter().any(|name| module.contains(name));
        let others = self.after.iter().map(|(other, file)| (other.as_str(), *file));
        others.filter(move |(other, _)| other.ends_with(".rs") && is_like(other))
    }

    /// Returns whether the change has source, or code that may be source.
    pub(crate) fn has_source(&self) -> bool {
        self.files().iter().any(ProvedFile::may_be_source)
    }

    pub(crate) fn writes_recorded(&self) -> bool {
        self.files.iter().any(|file| file.told.role == FileRole::Recorded)
    }

    /// Returns the names that the source of the change introduces: its new words, and the names of its new modules.
    pub(crate) fn introduced(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for file in self.changed_source() {
            let [before, after] = file.codes();
            names.extend(introduced_words(&before, &after));
            if file.before.is_none() {
                names.extend(self.new_parts(&file.told.path).map(str::to_owned));
            }
        }
        // A word that the source had elsewhere before the change is not new.
        let known: BTreeSet<String> = self.changed_source().flat_map(|file| introduced_words("", &file.codes()[0])).collect();
        names.retain(|name| !known.contains(name));
        names
    }

    /// Returns the names of a new file and of the directories above it that are new too.
    fn new_parts<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        let is_new = |directory: &&str| {
            let below = format!("{directory}/");
            !self.before.range(below.clone()..).next().is_some_and(|(other, _)| other.starts_with(&below))
        };
        let directories: Vec<&str> = above.filter(is_new).filter_map(|directory| directory.rsplit('/').next()).collect();
        let stem = path.rsplit('/').next().and_then(|name| name.split('.').next());
        let of_all = ["index", "mod", "lib", "main", "__init__"];
        directories.into_iter().chain(stem).filter(move |part| part.len() > 1 && !of_all.contains(part))
    }

    /// Returns the parts of the source that can be taken back one at a time, each with the path of its file. A file that is no code, or that
    /// the change removed, or that differs in very many functions, is a part without a name.
    pub(crate) fn parts(&self) -> Vec<(String, Option<SourcePart>)> {
        let parts = |file: &FileOfChange| -> Vec<Option<SourcePart>> {
            let [before, Some(after)] = &file.texts else { return vec![None] };
            let Some(language) = TestLanguage::of(&file.told.path).filter(|_| before.is_some() || file.before.is_none()) else {
                return vec![None];
            };
            // The tests of a file of Rust stand behind its code in both texts.
            let merged = [file.merged(), file.told.path.ends_with(".rs").then(|| rust::with_tests_of(after, after)).flatten()];
            let [before, after] = match &merged {
                [Some(before), Some(after)] => [before.text.as_str(), after.text.as_str()],
                _ => [before.as_deref().unwrap_or_default(), after.as_str()],
            };
            let parts = parts_of(before, after, &|one, other| language.is_same_code(one, other));
            parts.map_or_else(|| vec![None], |parts| parts.into_iter().map(Some).collect())
        };
        self.changed_source().flat_map(|file| parts(file).into_iter().map(|part| (file.told.path.clone(), part))).collect()
    }

    /// Returns what the content with the change, but for a part of its source, has otherwise than the working tree.
    pub(crate) fn part_layer(&self, path: &str, part: Option<&SourcePart>) -> Result<ContentLayer, CommandError> {
        let (mut content, mut made) = (self.after.clone(), BTreeMap::new());
        match (part, self.before.get(path), self.after.get(path)) {
            (Some(part), _, Some(file)) => {
                made.insert(path.to_owned(), WrittenFile { kind: file.kind, text: part.text.clone().into_bytes() });
            }
            (_, Some(before), _) => drop(content.insert(path.to_owned(), *before)),
            (_, None, _) => drop(content.remove(path)),
        }
        self.layer(&content, made)
    }

    /// Returns what the content with the change has otherwise than the working tree.
    pub(crate) fn after_layer(&self) -> Result<ContentLayer, CommandError> {
        self.layer(&self.after, BTreeMap::new())
    }

    /// Returns what the content without the source of the change has otherwise than the working tree. With stubs, modules of Python and
    /// of JavaScript have the names that the change introduces; then `None` if there are none.
    pub(crate) fn before_layer(&self, stubs: Option<StubBody>) -> Result<Option<ContentLayer>, CommandError> {
        let mut content = self.after.clone();
        let (mut made, mut has_stub) = (BTreeMap::new(), false);
        for file in self.changed_source() {
            match file.before {
                Some(before) => content.insert(file.told.path.clone(), before),
                None => content.remove(&file.told.path),
            };
            let [before, after] = &file.texts;
            let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
            let stubbed = stubs.filter(|_| file.after.is_some()).and_then(|body| with_stubs(&file.told.path, old, new, body));
            has_stub |= stubbed.is_some();
            let text = stubbed.or_else(|| Some(file.merged()?.text));
            if let Some((text, kind)) = text.zip(file.before.or(file.after).map(|side| side.kind)) {
                made.insert(file.told.path.clone(), WrittenFile { kind, text: text.into_bytes() });
            }
        }
        if stubs.is_some() && !has_stub {
            return Ok(None);
        }
        self.layer(&content, made).map(Some)
    }

    /// Returns what a content has otherwise than the working tree. `made` has the files whose text is neither that of a commit nor that of
    /// the working tree.
    pub(crate) fn layer(&self, content: &Files, made: BTreeMap<String, WrittenFile>) -> Result<ContentLayer, CommandError> {
        let (work_tree, mut differences) = (&self.work_tree.files, BTreeMap::new());
        let paths: BTreeSet<&String> = content.keys().chain(work_tree.keys()).collect();
        for path in paths.into_iter().filter(|path| !made.contains_key(*path) && content.get(*path) != work_tree.get(*path)) {
            let read =
                |file: &FileAt| Ok::<_, CommandError>(WrittenFile { kind: file.kind, text: self.work_tree.read(path, *file)? });
            let file: Option<WrittenFile> = content.get(path).map(read).transpose()?;
            if file.as_ref().is_none_or(|file| !file.text.starts_with(STORED_ELSEWHERE)) {
                differences.insert(path.clone(), file);
            }
        }
        let above = |path: &str| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
        let directories = content.keys().chain(made.keys()).flat_map(|path| above(path)).collect();
        differences.extend(made.into_iter().map(|(path, file)| (path, Some(file))));
        Ok(ContentLayer { differences, directories })
    }
}

/// What one content has otherwise than the working tree.
pub(crate) struct ContentLayer {
    pub(crate) differences: BTreeMap<String, Option<WrittenFile>>,
    /// The directories in which the content has files.
    pub(crate) directories: BTreeSet<String>,
}

impl ContentLayer {
    /// Returns the digest of this content, which differs from the working tree with this digest.
    pub(crate) fn digest_beside(&self, tree: TreeDigest) -> Digest {
        let files = self.differences.iter().map(|(path, file)| {
            let file = file.as_ref().map(|file| {
                let kind = match file.kind {
                    EntryKind::Link => "link",
                    EntryKind::Executable => "executable",
                    EntryKind::File | EntryKind::Directory => "file",
                };
                format!("{kind} {}", Digest::of(&file.text).hex())
            });
            format!("{path}\0{}", file.as_deref().unwrap_or("absent"))
        });
        let lines: Vec<String> = std::iter::once(tree.0.hex()).chain(files).collect();
        Digest::of(lines.join("\0\n").as_bytes())
    }
}
