//! Tests the reader of the kernel's list, and compares the paths that are found with those of mounts that are made one by one.

use proptest::prelude::{Strategy, prop, proptest};
use proptest::prop_assert;

use super::*;

fn table(lines: &[&str]) -> MountTable {
    MountTable::parse(lines.join("\n").as_bytes())
}

fn seconds(table: &MountTable, path: &str) -> Vec<String> {
    let mut found: Vec<String> =
        table.second_paths(Path::new(path)).iter().map(|second| second.path.display().to_string()).collect();
    found.sort();
    found
}

const ROOT: &str = "22 1 8:1 / / rw - ext4 /dev/a rw";

#[test]
fn a_line_is_read_with_its_escapes_and_another_text_is_left_out() {
    let read = table(&[
        ROOT,
        "31 22 0:30 /a\\134b /with\\040space rw,relatime shared:2 - tmpfs tmpfs rw",
        "a line that is none",
        "1 2",
        "",
    ]);
    assert_eq!(read.mounts.len(), 2);
    let expected = Mount { id: 31, parent: 22, device: (0, 30), root: "/a\\b".into(), point: "/with space".into() };
    assert_eq!(read.mounts[1], expected);
    assert_eq!(unescape(b"a\\9\\12"), OsString::from("a\\9\\12"), "no escape");
    assert_eq!(unescape(b"\\303\\251").as_bytes(), "é".as_bytes());
}

#[test]
fn a_home_that_is_mounted_twice_shows_at_both_places_and_nothing_else_does() {
    let read =
        table(&[ROOT, "30 22 8:2 / /disk rw", "31 22 8:2 /home /home rw", "32 22 8:2 /homes /homes rw", "33 22 8:3 /home /x rw"]);
    assert_eq!(seconds(&read, "/home/u/.ssh"), ["/disk/home/u/.ssh"]);
    assert_eq!(seconds(&read, "/disk/home/u/.ssh"), ["/home/u/.ssh"]);
    assert!(seconds(&read, "/disk/other").is_empty() && seconds(&read, "/etc").is_empty());
}

#[test]
fn the_root_at_another_place_shows_everything_again_but_what_is_mounted_over_it() {
    let read = table(&[ROOT, "30 22 8:1 / /mnt/root rw", "31 22 0:30 / /run rw", "32 30 0:40 / /mnt/root/home/u rw"]);
    assert_eq!(seconds(&read, "/etc/key"), ["/mnt/root/etc/key"]);
    assert!(seconds(&read, "/home/u/.ssh").is_empty(), "another file system lies over it there");
    assert!(seconds(&read, "/run/user").is_empty(), "the directory below the mount is another one");
    let copied_with_all = table(&[ROOT, "31 22 0:30 / /run rw", "33 22 8:1 / /mnt/root rw", "34 33 0:30 / /mnt/root/run rw"]);
    assert_eq!(seconds(&copied_with_all, "/run/user"), ["/mnt/root/run/user"]);
}

#[test]
fn a_part_that_is_mounted_elsewhere_is_found_with_what_it_shows() {
    let read = table(&[ROOT, "30 22 8:1 /home/u/.ssh/id /etc/thing rw", "31 22 8:1 /home/u/.ssh-old /etc/other rw"]);
    let expected = SecondPath { path: "/etc/thing".into(), shows: "/home/u/.ssh/id".into() };
    assert_eq!(read.second_paths(Path::new("/home/u/.ssh")), [expected]);
}

#[test]
fn what_lies_over_a_mount_hides_it_whatever_their_order_in_the_list() {
    // The home was mounted at /a/b, and then another file system over /a.
    let read = table(&["31 30 8:1 /home /a/b rw", "32 30 0:40 / /a rw", "30 1 8:1 / / rw"]);
    assert_eq!(read.holder(Path::new("/a/b/x")).map(|mount| mount.id), Some(32));
    assert!(seconds(&read, "/home/key").is_empty());
    let stacked = table(&[ROOT, "30 22 0:40 / /a rw", "31 30 8:1 /home /a rw"]);
    assert_eq!(stacked.holder(Path::new("/a")).map(|mount| mount.id), Some(31));
    assert_eq!(seconds(&stacked, "/home/key"), ["/a/key"]);
}

#[test]
fn mounts_in_a_directory_are_found_as_far_as_they_are_seen() {
    let read = table(&[
        ROOT,
        "30 22 8:2 / /s/keys rw",
        "31 22 8:2 / /s/keys-old rw",
        "32 22 8:2 / /s/a/b rw",
        "33 22 8:2 / /s/a rw",
        "34 22 8:4 / /s/one rw",
    ]);
    let points: Vec<&Path> = read.points_below(Path::new("/s")).collect();
    assert_eq!(points, [Path::new("/s/keys"), Path::new("/s/keys-old"), Path::new("/s/a")]);
    assert_eq!(read.points_below(Path::new("/s/keys")).count(), 0);
}

#[test]
fn a_list_without_a_root_or_with_a_circle_ends() {
    let changed_root = table(&["30 22 8:2 / /home rw", "31 30 8:3 / /home/u rw"]);
    assert_eq!(changed_root.holder(Path::new("/etc")), None);
    assert_eq!(changed_root.holder(Path::new("/home/u/x")).map(|mount| mount.id), Some(31));
    let circle = table(&[ROOT, "30 31 8:1 / /a rw", "31 30 8:1 / /a rw", "32 22 8:1 / /a rw", "22 32 8:1 / /a rw"]);
    let _ended = circle.second_paths(Path::new("/a/b"));
}

/// All paths of up to four directories called `a` and `b`.
fn paths() -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::from("/")];
    for index in 0..15 {
        let longer: Vec<PathBuf> = ["a", "b"].map(|name| paths[index].join(name)).into();
        paths.extend(longer);
    }
    paths
}

/// A mount: what is mounted, which is a path that is seen at that time or a new file system, and where.
type Step = (Option<usize>, usize);

/// Makes mounts one after the other, and tells for a path which device and path in it is seen there: that of the latest mount whose mount
/// point holds the path.
struct Mounter {
    mounts: Vec<Mount>,
}

impl Mounter {
    fn make(steps: &[Step]) -> Self {
        let all = paths();
        let mut mounter = Self { mounts: vec![Mount { id: 1, parent: 0, device: (8, 0), root: "/".into(), point: "/".into() }] };
        for (number, (source, target)) in (2..).zip(steps) {
            let point = all[*target].clone();
            let (device, root) = source.map_or(((8, number), "/".into()), |source| mounter.seen(&all[source]));
            let parent = mounter.latest(&point).id;
            mounter.mounts.push(Mount { id: number, parent, device, root, point });
        }
        mounter
    }

    fn latest(&self, path: &Path) -> &Mount {
        self.mounts.iter().rev().find(|mount| path.starts_with(&mount.point)).expect("the root")
    }

    fn seen(&self, path: &Path) -> ((u64, u64), PathBuf) {
        let latest = self.latest(path);
        (latest.device, join(&latest.root, path.strip_prefix(&latest.point).expect("it lies there")))
    }

    fn shows(&self, path: &Path, object: &Path) -> bool {
        let ((device, inside), (of_object, within)) = (self.seen(path), self.seen(object));
        device == of_object && inside.starts_with(within)
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((prop::option::weighted(0.8, 0..31_usize), 1..31_usize), 0..7)
}

proptest! {
    #[test]
    fn every_path_that_shows_an_object_is_found_and_no_other(steps in steps(), object in 1..31_usize) {
        let (mounter, all) = (Mounter::make(&steps), paths());
        let object = &all[object];
        let found = MountTable::new(mounter.mounts.clone()).second_paths(object);
        for path in all.iter().filter(|path| !path.starts_with(object) && mounter.shows(path, object)) {
            prop_assert!(found.iter().any(|second| path.starts_with(&second.path)), "{path:?} of {object:?}: {found:?}");
        }
        for second in &found {
            prop_assert!(mounter.shows(&second.path, object), "{second:?} of {object:?}");
            prop_assert!(second.shows != *object || mounter.seen(&second.path) == mounter.seen(object), "{second:?}");
        }
    }

    #[test]
    fn no_list_makes_the_reader_or_the_search_fail(list in "[0-9 /:a\\\\\n-]{0,200}") {
        let _ended = MountTable::parse(list.as_bytes()).second_paths(Path::new("/a"));
    }
}
