//! Checks that no link of a page is dead: the file exists, and it has the heading that the link names.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::common::repository;
use crate::docs::{Page, pages};

#[test]
fn no_link_is_dead() {
    let pages: BTreeMap<PathBuf, Page> = pages().into_iter().map(|page| (PathBuf::from(&page.path), page)).collect();
    let mut dead = Vec::new();
    let mut count = 0;
    for (path, page) in &pages {
        for target in links(&page.text) {
            count += 1;
            dead.extend(fault(path, &target, &pages).map(|what| format!("{}: `{target}`: {what}", path.display())));
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
    assert!(count > 100, "only {count} links were found");
}

/// Returns what is wrong with a link. None: the link is right, or leads to another site, which is not checked.
fn fault(page: &Path, target: &str, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { page.to_owned() } else { joined(page.parent().unwrap_or(Path::new("")), file) };
    if !repository().join(&path).exists() {
        return Some(format!("there is no `{}`", path.display()));
    }
    let anchor = anchor?;
    let known = pages.get(&path).is_some_and(|page| anchors(&page.text).iter().any(|known| known == anchor));
    (!known).then(|| format!("`{}` has no heading `#{anchor}`", path.display()))
}

fn joined(directory: &Path, relative: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in directory.join(relative).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => assert!(path.pop(), "`{relative}` leads out of the repository"),
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => panic!("`{relative}` is not relative"),
        }
    }
    path
}

/// Returns a page's lines outside of fenced blocks, without the text between backticks.
fn prose(text: &str) -> Vec<String> {
    let mut is_inside = false;
    let outside = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    });
    outside.map(|line| line.split('`').step_by(2).collect()).collect()
}

/// Returns the targets of a page's links, `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text).join("\n");
    lines.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Returns the anchors of a page's headings as web sites make them: lower case, `-` for a space, other signs left out.
fn anchors(text: &str) -> Vec<String> {
    let mut is_inside = false;
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        is_inside ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_inside) else { continue };
        let lower = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = lower.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        let name: String = kept.map(|character| if character == ' ' { '-' } else { character }).collect();
        let earlier = found.iter().filter(|other| **other == name).count();
        found.push(if earlier == 0 { name } else { format!("{name}-{earlier}") });
    }
    found
}

#[test]
fn links_and_headings_are_read_and_dead_ones_found() {
    let text = "# A `b` c\n## A b, c!\n[x](y.md#z)\n```sh\n# no heading\n[no](link)\n```\n`[no](either)` [a\nb](../c)\n";
    assert_eq!(links(text), ["y.md#z", "../c"]);
    assert_eq!(anchors(text), ["a-b-c", "a-b-c-1"]);
    let page = Page { path: "docs/glossary.md".to_owned(), text: text.to_owned() };
    let pages = BTreeMap::from([(PathBuf::from("docs/glossary.md"), page)]);
    let fault_of = |target: &str| fault(Path::new("docs/glossary.md"), target, &pages).is_some();
    assert!(!fault_of("https://example.org/nothing") && !fault_of("#a-b-c") && !fault_of("../README.md"));
    assert!(fault_of("#b") && fault_of("nothing.md") && fault_of("../README.md#nothing"));
}
