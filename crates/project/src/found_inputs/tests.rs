//! Tests what the files of a project lead to.

#![expect(clippy::disallowed_methods, reason = "the tests make the projects that are searched")]

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A repository with a project `app`, and a second checkout of it beside the repository.
struct Beside {
    base: PathBuf,
    _directory: TempDir,
}

impl Beside {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let beside = Self { base: directory.path().canonicalize().expect("it is there"), _directory: directory };
        beside.write("repo/.git/HEAD", "ref: refs/heads/main\n");
        beside.write("repo/.git/worktrees/other/commondir", "../..\n");
        beside.write("other/.git", &format!("gitdir: {}/repo/.git/worktrees/other\n", beside.base.display()));
        beside.write("repo/app/a.py", "");
        files.iter().for_each(|(name, text)| beside.write(name, text));
        beside
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.base.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a writable directory");
        fs::write(path, text.replace("BASE", &self.base.display().to_string())).expect("a writable file");
    }

    fn found(&self, home: &str) -> FoundInputs {
        let (root, home, store) = (self.base.join("repo/app"), self.base.join(home), self.base.join("state/proctor"));
        InputSearch { root: &root, home: Some(&home), store: &store }.find(&[])
    }

    fn taken(&self) -> Vec<String> {
        self.found("home").taken.into_iter().map(|place| place.name).collect()
    }

    fn left_out(&self) -> Vec<(String, LeftOutReason)> {
        self.found("home").left_out.into_iter().map(|left| (left.name, left.reason)).collect()
    }
}

#[test]
fn what_the_files_of_a_project_lead_to_in_its_repository_is_an_input() {
    let beside = Beside::new(&[
        ("repo/app/tsconfig.json", "{\"extends\": \"../tsconfig.base\", \"references\": [{\"path\": \"../lib\"}]}"),
        ("repo/tsconfig.base.json", "{\"extends\": \"./config/strict.json\", \"files\": [\"../../elsewhere.ts\"]}"),
        ("repo/lib/package.json", "{\"dependencies\": {\"deep\": \"file:../deep\"}}"),
        ("repo/config/strict.json", "{}"),
        ("repo/deep/index.js", ""),
        ("repo/unrelated/index.js", ""),
        ("repo/pytest.ini", ""),
        ("repo/.editorconfig", ""),
        ("repo/README.md", ""),
    ]);
    assert_eq!(
        beside.taken(),
        ["../.editorconfig", "../config/strict.json", "../deep", "../lib", "../pytest.ini", "../tsconfig.base.json"]
    );
    assert_eq!(beside.left_out(), []);
    // What is found follows the files.
    beside.write("repo/app/tsconfig.json", "{\"extends\": \"../tsconfig.base.json\"}");
    assert_eq!(beside.taken(), ["../.editorconfig", "../config/strict.json", "../pytest.ini", "../tsconfig.base.json"]);
    fs::remove_file(beside.base.join("repo/pytest.ini")).expect("our file");
    assert_eq!(beside.taken(), ["../.editorconfig", "../config/strict.json", "../tsconfig.base.json"]);
}

#[test]
fn what_lies_elsewhere_is_named_and_not_taken() {
    let beside = Beside::new(&[
        ("repo/app/pyproject.toml", "[tool.uv.sources]\nlib = { path = \"../../lib\" }\nmine = { path = \"../mine\" }\n"),
        ("lib/a.py", ""),
        ("repo/mine/a.py", ""),
        ("repo/app/.venv/lib/python3.13/site-packages/x.pth", "BASE/other/src\n/usr/lib\nimport x\n"),
        ("other/src/a.py", ""),
    ]);
    assert_eq!(beside.taken(), ["../mine"]);
    let expected = [("../../lib", LeftOutReason::Outside), ("../../other/src", LeftOutReason::OtherCheckout)];
    assert_eq!(beside.left_out(), expected.map(|(name, reason)| (name.to_owned(), reason)));
    // What the settings name already needs no note.
    let root = beside.base.join("repo/app");
    let (home, store) = (beside.base.join("home"), beside.base.join("state/proctor"));
    let search = InputSearch { root: &root, home: Some(&home), store: &store };
    let named = [search.place("../../lib").expect("an input"), search.place("../mine").expect("an input")];
    let found = search.find(&named);
    assert_eq!((found.taken.len(), found.left_out.len()), (0, 1));
    // In a repository around HOME, nothing is found by itself.
    beside.write("repo/app/package.json", "{}");
    let around = beside.found("repo/home");
    assert_eq!(around.taken, []);
    assert!(around.left_out.iter().any(|left| left.name == "../mine" && left.reason == LeftOutReason::Outside), "{around:?}");
}

#[test]
fn linked_packages_and_members_of_a_workspace_are_inputs() {
    let beside = Beside::new(&[
        ("repo/app/package.json", "{\"dependencies\": {\"@acme/core\": \"*\", \"plain\": \"1\"}}"),
        ("repo/packages/core/index.js", ""),
        ("repo/node_modules/plain/index.js", ""),
        ("repo/app/Cargo.toml", "[package]\nname = \"app\"\n"),
        ("repo/Cargo.toml", "[workspace]\nmembers = [\"app\", \"crates/*\"]\n"),
        ("repo/crates/one/Cargo.toml", ""),
        ("repo/crates/notes/README.md", ""),
        ("repo/go.work", "go 1.24\nuse (\n\t./app\n\t./go/lib\n\t./go/notes\n)\n"),
        ("repo/go/lib/go.mod", ""),
        ("repo/go/notes/README.md", ""),
    ]);
    fs::create_dir_all(beside.base.join("repo/node_modules/@acme")).expect("a writable directory");
    symlink("../../packages/core", beside.base.join("repo/node_modules/@acme/core")).expect("a link");
    assert_eq!(beside.taken(), ["../Cargo.toml", "../crates/one", "../go/lib", "../go.work", "../packages/core"]);
    // A linked `node_modules` of another checkout leads to that checkout's packages.
    beside.write("other/packages/core/index.js", "");
    fs::remove_file(beside.base.join("repo/node_modules/@acme/core")).expect("our link");
    symlink(beside.base.join("other/packages/core"), beside.base.join("repo/node_modules/@acme/core")).expect("a link");
    assert_eq!(beside.left_out(), [("../../other/packages/core".to_owned(), LeftOutReason::OtherCheckout)]);
}

#[test]
fn packages_of_a_workspace_are_found_before_anything_is_installed() {
    for (file, text) in [
        ("repo/package.json", "{\"workspaces\": [\"packages/*\", \"app\"]}"),
        ("repo/pnpm-workspace.yaml", "packages:\n  - packages/**\n"),
    ] {
        let beside = Beside::new(&[
            ("repo/app/package.json", "{\"dependencies\": {\"@acme/core\": \"workspace:*\"}}"),
            ("repo/packages/core/package.json", "{\"name\": \"@acme/core\", \"dependencies\": {\"deep\": \"*\"}}"),
            ("repo/packages/deep/package.json", "{\"name\": \"deep\"}"),
            ("repo/packages/other/package.json", "{\"name\": \"other\"}"),
            (file, text),
        ]);
        let file = file.replace("repo", "..");
        let mut expected = [file.as_str(), "../packages/core", "../packages/deep"];
        expected.sort_unstable();
        assert_eq!(beside.taken(), expected, "{file}");
        // What is installed decides where it is there.
        beside.write("repo/node_modules/@acme/core/index.js", "");
        assert_eq!(beside.taken(), [file.as_str()], "{file}");
    }
}

#[test]
fn manifests_of_the_members_of_a_project_lead_out_of_it_too() {
    let beside = Beside::new(&[
        ("repo/app/package.json", "{\"workspaces\": [\"packages/*\"]}"),
        (
            "repo/app/packages/one/tsconfig.json",
            "{\"extends\": \"../../../base.json\", \"references\": [{\"path\": \"../two\"}]}",
        ),
        ("repo/app/packages/two/package.json", "{\"dependencies\": {\"a\": \"file:../../../a\"}}"),
        ("repo/app/Cargo.toml", "[workspace]\nmembers = [\"crates/x\"]\n"),
        ("repo/app/crates/x/Cargo.toml", "[dependencies]\nc = { path = \"../../../c\" }\n"),
        ("repo/app/pyproject.toml", "[tool.uv.workspace]\nmembers = [\"libs/*\"]\n"),
        ("repo/app/libs/p/pyproject.toml", "[tool.uv.sources]\nd = { path = \"../../../d\" }\n"),
        ("repo/app/unnamed/tsconfig.json", "{\"extends\": \"../../unnamed.json\"}"),
        ("repo/base.json", "{}"),
        ("repo/unnamed.json", "{}"),
        ("repo/a/index.js", ""),
        ("repo/c/Cargo.toml", ""),
        ("repo/d/d.py", ""),
    ]);
    assert_eq!(beside.taken(), ["../a", "../base.json", "../c", "../d"]);
}

#[test]
fn the_version_files_and_configurations_above_a_project_are_inputs() {
    let files = [".nvmrc", ".python-version", ".tool-versions", "mise.toml", "rust-toolchain.toml"];
    let mut texts: Vec<(String, &str)> = files.iter().map(|name| (format!("repo/{name}"), "1")).collect();
    texts.push(("repo/eslint.config.mjs".to_owned(), "import own from './lint/own.mjs'\n"));
    texts.push(("repo/lint/own.mjs".to_owned(), "import './more.mjs'\n"));
    texts.push(("repo/lint/more.mjs".to_owned(), ""));
    texts.push(("repo/app/vitest.config.ts".to_owned(), "import { shared } from '../vitest.shared'\n"));
    texts.push(("repo/vitest.shared.ts".to_owned(), ""));
    let beside = Beside::new(&texts.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>());
    let mut expected: Vec<String> = files.iter().map(|name| format!("../{name}")).collect();
    expected.extend(["../eslint.config.mjs", "../lint/more.mjs", "../lint/own.mjs", "../vitest.shared.ts"].map(str::to_owned));
    expected.sort();
    assert_eq!(beside.taken(), expected);
}

#[test]
fn a_linked_directory_of_packages_leads_to_the_checkout_that_it_belongs_to() {
    let beside =
        Beside::new(&[("repo/app/package.json", "{\"workspaces\": [\"packages/*\"]}"), ("other/packages/core/index.js", "")]);
    for (directory, link, target) in
        [("other/node_modules/@acme", "core", "../../packages/core"), ("repo/app", "node_modules", "../../other/node_modules")]
    {
        fs::create_dir_all(beside.base.join(directory)).expect("a writable directory");
        symlink(target, beside.base.join(directory).join(link)).expect("a link");
    }
    let found = beside.found("home");
    assert_eq!(found.taken, []);
    let left = LeftOut {
        name: "../../other/packages/core".to_owned(),
        by: "@acme/core".to_owned(),
        reason: LeftOutReason::OtherCheckout,
    };
    assert_eq!(found.left_out, [left]);
}

#[test]
fn an_input_with_too_many_files_is_named_and_not_taken() {
    let beside =
        Beside::new(&[("repo/app/package.json", "{\"dependencies\": {\"a\": \"file:../large.bin\"}}"), ("repo/large.bin", "")]);
    let file = fs::OpenOptions::new().write(true).open(beside.base.join("repo/large.bin")).expect("our file");
    file.set_len(MOST_BYTES).expect("a sparse file");
    assert_eq!(beside.taken(), ["../large.bin"]);
    file.set_len(MOST_BYTES + 1).expect("a sparse file");
    assert_eq!(beside.taken(), [] as [&str; 0]);
    assert_eq!(beside.left_out(), [("../large.bin".to_owned(), LeftOutReason::TooLarge)]);
}

#[test]
fn without_git_the_project_is_the_border() {
    let beside = Beside::new(&[
        ("repo/app/pyproject.toml", "[tool.pytest.ini_options]\npythonpath = [\"../shared\"]\n"),
        ("repo/shared/a.py", ""),
        ("repo/pytest.ini", ""),
    ]);
    fs::remove_dir_all(beside.base.join("repo/.git")).expect("ours");
    assert_eq!(beside.taken(), [] as [&str; 0]);
    assert_eq!(beside.left_out(), [("../shared".to_owned(), LeftOutReason::Outside)]);
}

#[test]
fn a_large_directory_that_git_does_not_track_is_not_taken() {
    let beside =
        Beside::new(&[("repo/app/tsconfig.json", "{\"references\": [{\"path\": \"../data\"}, {\"path\": \"../small\"}]}")]);
    beside.write("repo/small/a", "");
    for number in 0..=MOST_FILES {
        beside.write(&format!("repo/data/{}/{number}", number % 7), "");
    }
    assert_eq!(beside.taken(), ["../small"]);
    assert_eq!(beside.left_out(), [("../data".to_owned(), LeftOutReason::TooLarge)]);
}
