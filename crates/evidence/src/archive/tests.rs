//! The archive format: a written archive can be read back, and any other content is refused with its reason.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use tar::{Builder, EntryType, Header};

use crate::archive::{ArchiveBounds, ArchiveFolder, ArchiveMember, ArchiveProblem, ArchiveWriter, read_archive};
use crate::changes::create_file;
use crate::testing::run_id;

const BOUNDS: ArchiveBounds = ArchiveBounds { files: 8, bytes: 1 << 20 };

type PackedFiles = Vec<(ArchiveMember, Vec<u8>)>;

fn top(name: &str) -> ArchiveMember {
    ArchiveMember { folder: ArchiveFolder::Top, name: name.to_owned() }
}

fn pack(files: &PackedFiles) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    let (mut file, run_id) = (create_file(&path).unwrap(), run_id(1));
    let mut writer = ArchiveWriter::begin(&mut file, &path, &run_id).unwrap();
    for (member, content) in files {
        writer.add(member, content.len() as u64, &mut content.as_slice()).unwrap();
    }
    writer.finish().unwrap();
    std::fs::read(&path).unwrap()
}

fn unpack(bytes: &[u8], bounds: ArchiveBounds) -> Result<PackedFiles, ArchiveProblem> {
    let mut files = Vec::new();
    let archived_run = read_archive(bytes, bounds, |member, content| {
        let mut read = Vec::new();
        content.read_to_end(&mut read).map_err(ArchiveProblem::Unreadable)?;
        files.push((member.clone(), read));
        Ok(())
    });
    archived_run.map(|archived_run| assert_eq!(archived_run, run_id(1))).map(|()| files)
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Makes an archive from entries of any path and type, as an attacker could.
fn strange(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (path, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    compress(&tar.into_inner().unwrap())
}

fn with_path(path: &str) -> Vec<u8> {
    strange(&[(path, EntryType::Regular, b"x")])
}

#[test]
fn what_is_packed_is_read_back_and_the_same_files_make_the_same_bytes() {
    let long = "x".repeat(255);
    let files: PackedFiles = vec![
        (top("SHA256SUMS"), b"sums".to_vec()),
        (top("empty"), Vec::new()),
        (ArchiveMember { folder: ArchiveFolder::Run, name: long }, vec![7; 100_000]),
        (ArchiveMember { folder: ArchiveFolder::Run, name: "ü".to_owned() }, b"1".to_vec()),
    ];
    let packed = pack(&files);
    assert_eq!(unpack(&packed, BOUNDS).unwrap(), files);
    assert_eq!(pack(&files), packed);
}

#[test]
fn tar_of_this_machine_unpacks_it_with_its_modes_and_times() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("a.tar.zst");
    // Some machines have tar but no zstd program, so the archive is decompressed here.
    let plain = zstd::decode_all(pack(&vec![(top("SHA256SUMS"), b"sums".to_vec())]).as_slice()).unwrap();
    std::io::Write::write_all(&mut create_file(&archive).unwrap(), &plain).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the format is for this program")]
    let listed = std::process::Command::new("tar").arg("-tvf").arg(&archive).env("TZ", "UTC").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let expected = format!("-rw------- 0/0               4 1970-01-01 00:00 {}/SHA256SUMS\n", run_id(1));
    assert_eq!(listed, expected);
}

#[test]
fn a_file_that_became_shorter_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive");
    let (mut file, run_id) = (create_file(&path).unwrap(), run_id(1));
    let mut writer = ArchiveWriter::begin(&mut file, &path, &run_id).unwrap();
    assert!(writer.add(&top("log"), 5, &mut b"1234".as_slice()).is_err());
}

#[test]
fn a_path_that_leads_anywhere_else_is_refused() {
    let run = run_id(1);
    let elsewhere = [
        "/etc/passwd".to_owned(),
        "../x".to_owned(),
        "x".to_owned(),
        format!("{run}/"),
        format!("{run}/."),
        format!("{run}/.."),
        format!("{run}/.hidden"),
        format!("{run}/../x"),
        format!("{run}/other/x"),
        format!("{run}/run/../x"),
        format!("{run}/run/a/b"),
        format!("/{run}/x"),
        format!("./{run}/x"),
        format!("{run}//x"),
        format!("{run}/a\nb"),
        "no-run/x".to_owned(),
    ];
    for path in &elsewhere {
        assert!(matches!(unpack(&with_path(path), BOUNDS), Err(ArchiveProblem::Path { .. })), "{path:?}");
    }
    let two =
        strange(&[(&format!("{run}/a"), EntryType::Regular, b"x"), (&format!("{}/a", run_id(2)), EntryType::Regular, b"x")]);
    assert!(matches!(unpack(&two, BOUNDS), Err(ArchiveProblem::Path { .. })));
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let path = format!("{}/a", run_id(1));
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::GNUSparse,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
        EntryType::Continuous,
    ] {
        let refused = unpack(&strange(&[(&path, kind, b"")]), BOUNDS);
        assert!(matches!(refused, Err(ArchiveProblem::NotAFile { .. })), "{kind:?}");
    }
}

#[test]
fn a_name_twice_too_many_files_too_many_bytes_and_none_at_all_are_refused() {
    let path = |name: usize| format!("{}/f{name}", run_id(1));
    let twice = strange(&[(&path(1), EntryType::Regular, b"x"), (&path(1), EntryType::Regular, b"y")]);
    assert!(matches!(unpack(&twice, BOUNDS), Err(ArchiveProblem::Twice { .. })));
    let paths: Vec<String> = (0..9).map(path).collect();
    let entries: Vec<_> = paths.iter().map(|path| (path.as_str(), EntryType::Regular, b"x".as_slice())).collect();
    assert!(unpack(&strange(&entries[..8]), BOUNDS).is_ok());
    assert!(matches!(unpack(&strange(&entries), BOUNDS), Err(ArchiveProblem::TooMany(8))));
    // An archive of less than 2,000 bytes whose only file unpacks to one byte more than the limit.
    let bomb = strange(&[(&path(1), EntryType::Regular, &vec![0; (1 << 20) + 1])]);
    assert!(bomb.len() < 2_000 && matches!(unpack(&bomb, BOUNDS), Err(ArchiveProblem::TooLarge(_))));
    assert!(matches!(unpack(&strange(&[]), BOUNDS), Err(ArchiveProblem::Empty)));
}

#[test]
fn a_long_name_is_one_path_and_no_more() {
    let (path, long) = (format!("{}/a", run_id(1)), "x".repeat(2000));
    for name in [format!("{path}\0"), format!("../{path}\0"), path.clone(), long.clone() + "\0"] {
        let archive = strange(&[("@", EntryType::GNULongName, name.as_bytes()), ("@", EntryType::Regular, b"x")]);
        assert_eq!(unpack(&archive, BOUNDS).is_ok(), name == format!("{path}\0"), "{name:?}");
    }
    let twice = [("@", EntryType::GNULongName, b"a\0".as_slice()); 2];
    assert!(matches!(unpack(&strange(&twice), BOUNDS), Err(ArchiveProblem::NotAFile { .. })));
    let nothing_behind = strange(&[(&path, EntryType::Regular, b"x"), ("@", EntryType::GNULongName, b"a\0")]);
    assert!(matches!(unpack(&nothing_behind, BOUNDS), Err(ArchiveProblem::Trailing)));
}

#[test]
fn a_cut_archive_and_bytes_behind_its_end_are_refused() {
    let packed = pack(&vec![(top("a"), vec![1; 5000]), (top("b"), b"2".to_vec())]);
    for length in 0..packed.len() {
        assert!(unpack(&packed[..length], BOUNDS).is_err(), "{length} of {}", packed.len());
    }
    let behind = [packed.clone(), b"more".to_vec()].concat();
    assert!(unpack(&behind, BOUNDS).is_err());
    let second_frame = [packed.clone(), packed.clone()].concat();
    assert!(matches!(unpack(&second_frame, BOUNDS), Err(ArchiveProblem::Trailing)));
    let zeros = [packed, compress(&vec![0; 1 << 21])].concat();
    assert!(matches!(unpack(&zeros, BOUNDS), Err(ArchiveProblem::Trailing)));
}

proptest! {
    /// Reading always ends with a result; a changed archive is never read as other content.
    #[test]
    fn a_changed_archive_is_refused_or_is_the_same(at in 0_usize..4000, other in any::<u8>()) {
        let files: PackedFiles = vec![(top("a"), vec![1; 300]), (top("b"), b"2".to_vec())];
        let mut packed = pack(&files);
        let at = at % packed.len();
        packed[at] = other;
        if let Ok(read) = unpack(&packed, BOUNDS) {
            prop_assert_eq!(read, files);
        }
    }

    #[test]
    fn a_tar_of_any_bytes_is_refused_or_read_within_bounds(mut bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        prop_assert!(unpack(&compress(&bytes), BOUNDS).is_err());
        bytes.splice(0..0, zstd::decode_all(pack(&vec![(top("a"), vec![1; 30])]).as_slice()).unwrap().into_iter().take(1024));
        if let Ok(read) = unpack(&compress(&bytes), BOUNDS) {
            prop_assert!(read.len() <= 8);
        }
    }
}

#[test]
fn paths_begin_with_the_run_id() {
    let packed = pack(&vec![(ArchiveMember { folder: ArchiveFolder::Run, name: "b".to_owned() }, b"1".to_vec())]);
    let tar = zstd::decode_all(packed.as_slice()).unwrap();
    let mut tar = tar::Archive::new(tar.as_slice());
    let entry = tar.entries().unwrap().next().unwrap().unwrap();
    assert_eq!(entry.path().unwrap(), Path::new(run_id(1).as_str()).join("run/b"));
}
