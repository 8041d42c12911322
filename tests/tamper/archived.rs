//! Tests that `proctor verify` finds manipulations of archived runs, each kept in one file `RUN.tar.zst`.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_evidence::{FaultKind, Ledger, Store, WaitDecision};
use proctor_model::{ArchiveRecord, Asker, Digest, LedgerBody, PackedRun, ProjectId, RunId, TaskId, Timestamp};
use tar::{Builder, EntryType, Header};

use crate::common::Extent;
use crate::tamper::SAMPLE;
use crate::tamper::victim::{Act, Made, Victim, entries, replace, write};

/// A manipulation of a store in which runs are archived.
pub(super) struct Row {
    pub(super) what: &'static str,
    act: fn(&Victim) -> Act,
    pub(super) kind: FaultKind,
    /// A part of the path of the file in which the fault must be named.
    file: &'static str,
}

const fn row(what: &'static str, kind: FaultKind, file: &'static str, act: fn(&Victim) -> Act) -> Row {
    Row { what, act, kind, file }
}

impl Row {
    pub(super) fn act_on(&self, victim: &Victim) -> Act {
        (self.act)(victim)
    }
}

const LOG: &str = "STEP.1-terminal-output.log";

/// Returns an archive by its position: archives are in the order of their runs.
fn archive(victim: &Victim, position: usize) -> PathBuf {
    let mut archives = entries(&victim.task().join("runs"));
    archives.retain(|path| path.to_string_lossy().ends_with(".tar.zst"));
    archives.swap_remove(position)
}

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).expect("it is there")
}

/// Returns the paths and contents of an archive's files.
fn unpack(path: &Path) -> Vec<(String, Vec<u8>)> {
    let plain = zstd::decode_all(bytes(path).as_slice()).expect("it is compressed");
    let mut files = Vec::new();
    for entry in tar::Archive::new(plain.as_slice()).entries().expect("it is tar") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("its content");
        files.push((path, content));
    }
    files
}

/// Packs files into an archive again. `kind` is the type of each entry, so that links can be forged too.
fn pack(path: &Path, files: &[(String, Vec<u8>)], kind: EntryType) {
    let mut tar = Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o600);
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content.as_slice()).expect("memory");
    }
    write(path, &zstd::encode_all(tar.into_inner().expect("memory").as_slice(), 3).expect("memory"));
}

fn pack_again(victim: &Victim, change: impl FnOnce(&mut Vec<(String, Vec<u8>)>)) -> Act {
    let path = archive(victim, 0);
    let mut files = unpack(&path);
    change(&mut files);
    pack(&path, &files, EntryType::Regular);
    Act::Done
}

fn name_of(path: &Path) -> String {
    path.file_name().expect("it has a name").to_string_lossy().into_owned()
}

pub(super) const ROWS: &[Row] = &[
    row("a byte of an archive is changed", FaultKind::ArchiveChanged, ".tar.zst", |it| {
        let mut content = bytes(&archive(it, 0));
        let middle = content.len() / 2;
        content[middle] ^= 1;
        write(&archive(it, 0), &content);
        Act::Done
    }),
    row("an archive is cut", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        let content = bytes(&archive(it, 0));
        write(&archive(it, 0), &content[..content.len() - 9]);
        Act::Done
    }),
    row("an archive is padded", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        write(&archive(it, 0), &[bytes(&archive(it, 0)), b"more".to_vec()].concat());
        Act::Done
    }),
    row("an archive is emptied", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        write(&archive(it, 0), b"");
        Act::Done
    }),
    row("an archive is removed", FaultKind::ArchiveMissing, ".tar.zst", |it| {
        fs::remove_file(archive(it, 0)).expect("ours");
        Act::Done
    }),
    row("an archive becomes a link", FaultKind::NotAFile, ".tar.zst", |it| {
        let (path, aside) = (archive(it, 0), it.root().join("aside"));
        fs::rename(&path, &aside).and_then(|()| symlink(&aside, &path)).expect("ours");
        Act::Done
    }),
    row("an archive becomes a directory", FaultKind::NotAFile, ".tar.zst", |it| {
        let path = archive(it, 0);
        fs::remove_file(&path).and_then(|()| fs::create_dir(&path)).expect("ours");
        Act::Done
    }),
    row("an archive is made writable", FaultKind::WrongMode, ".tar.zst", |it| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(archive(it, 0), mode).expect("ours");
        Act::Done
    }),
    row("an archive gets a second name", FaultKind::SecondName, ".tar.zst", |it| {
        fs::hard_link(archive(it, 0), it.root().join("log/mine")).expect("ours");
        Act::Done
    }),
    row("two archives are swapped", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        let (one, other) = (archive(it, 0), archive(it, 1));
        let content = bytes(&one);
        write(&one, &bytes(&other));
        write(&other, &content);
        Act::Done
    }),
    row("an archive is put there under another id", FaultKind::ArchiveUnnamed, "000099.tar.zst", |it| {
        let copy = it.task().join("runs/exec-20260101T000000.000Z-000099.tar.zst");
        fs::copy(archive(it, 0), copy).expect("ours");
        Act::Done
    }),
    row("an archive is moved to another task", FaultKind::RunMisplaced, "other/runs", |it| {
        let (path, runs) = (archive(it, 0), it.task().with_file_name("other").join("runs"));
        fs::create_dir_all(&runs).and_then(|()| fs::rename(&path, runs.join(name_of(&path)))).expect("ours");
        Act::Done
    }),
    row("a run that is there gets an archive beside it", FaultKind::ArchiveUnnamed, ".tar.zst", |it| {
        let latest = fs::read_link(it.task().join("latest")).expect("there is one");
        let beside = it.task().join(format!("{}.tar.zst", latest.display()));
        fs::copy(archive(it, 0), beside).expect("ours");
        Act::Done
    }),
    row("the directory of an archived run is put back", FaultKind::RunArchived, "runs/exec", |it| {
        let path = archive(it, 0);
        for (name, content) in unpack(&path) {
            let to = path.with_file_name(&name);
            fs::create_dir_all(to.parent().expect("it lies in one")).expect("ours");
            fs::write(to, content).expect("ours");
        }
        Act::Done
    }),
    row("an archive is packed anew with the same files", FaultKind::ArchiveChanged, ".tar.zst", |it| {
        pack_again(it, |files| files.reverse())
    }),
    row("an archive is packed anew with another log", FaultKind::FileChanged, LOG, |it| {
        pack_again(it, |files| {
            let log = files.iter_mut().find(|(name, _)| name.ends_with(LOG)).expect("there is a log");
            log.1 = log.1.iter().map(u8::to_ascii_uppercase).collect();
        })
    }),
    row("an archive is packed anew without a log", FaultKind::FileMissing, LOG, |it| {
        pack_again(it, |files| files.retain(|(name, _)| !name.ends_with(LOG)))
    }),
    row("an archive is packed anew without its manifest", FaultKind::ManifestMissing, "SHA256SUMS", |it| {
        pack_again(it, |files| files.retain(|(name, _)| !name.ends_with("SHA256SUMS")))
    }),
    row("an archive is packed anew with a log of another name", FaultKind::FileUnlisted, "STEP.9.log", |it| {
        pack_again(it, |files| {
            let log = files.iter_mut().find(|(name, _)| name.ends_with(LOG)).expect("there is a log");
            log.0 = log.0.replace(LOG, "STEP.9.log");
        })
    }),
    row("an archive is packed anew with a file more", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        pack_again(it, |files| files.push((files[0].0.replace("SHA256SUMS", "more"), Vec::new())))
    }),
    row("an archive is packed anew with a path that leads out of it", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        pack_again(it, |files| files[0].0 = "../../../../keys/key".to_owned())
    }),
    row("an archive is packed anew with links", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        let files = unpack(&archive(it, 0));
        pack(&archive(it, 0), &files, EntryType::Symlink);
        Act::Done
    }),
    row("an archive is packed anew with very many zeros", FaultKind::ArchiveUnreadable, ".tar.zst", |it| {
        pack_again(it, |files| files[0].1 = vec![0; 1 << 26])
    }),
    row("the ledger is told of another archive, and chained again", FaultKind::LineSignature, "ledger/", |it| {
        replace(&it.ledger(), "\"archiveHash\":\"", "\"archiveHash\":\"0000000000000000");
        let lines: Vec<String> = it.lines().iter().map(|line| shorten_hash(line)).collect();
        it.write_lines(&lines);
        it.chain_again();
        Act::Done
    }),
    row("a line archives the same runs again", FaultKind::ArchiveWrong, "ledger/", |it| {
        let mut lines = it.lines();
        lines.push(lines.last().expect("the last one archives").clone());
        it.write_lines(&lines);
        Act::Done
    }),
];

/// Gives a hash its right length again after a manipulation has made it longer.
fn shorten_hash(line: &str) -> String {
    match line.split_once("\"archiveHash\":\"0000000000000000") {
        Some((head, rest)) => format!("{head}\"archiveHash\":\"0000000000000000{}", &rest[16..]),
        None => line.to_owned(),
    }
}

/// Returns a copy of the store in which every run but the last is archived.
fn archived(made: &Made) -> Victim {
    let victim = made.copy();
    archive_runs(&victim);
    victim
}

/// Archives every run but the last, as an earlier version of proctor did: the directory becomes a file that a line of the ledger names.
pub(super) fn archive_runs(victim: &Victim) {
    let store = Store::open(&victim.root()).expect("a copy of a store");
    let project = ProjectId::try_from(name_of(&entries(&victim.root().join("evidence"))[0]).as_str()).expect("a project's id");
    let lock = store.lock(&project, &mut || WaitDecision::GiveUp).expect("nobody else uses the copy");
    let mut ledger = Ledger::open(&lock).expect("a ledger");
    let mut directories = entries(&victim.task().join("runs"));
    directories.retain(|path| path.is_dir());
    directories.pop();
    let runs: Vec<PackedRun> = directories.iter().map(|directory| archive_run(directory)).collect();
    let asker = Asker { pid: 1, uid: 0, executable: None, terminal: None };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = Timestamp::from_millis(i64::try_from(now).expect("it fits"));
    ledger.append(LedgerBody::Archived(ArchiveRecord { runs }), &asker, now).expect("the copy is ours");
    directories.iter().for_each(|directory| fs::remove_dir_all(directory).expect("the copy is ours"));
}

fn archive_run(directory: &Path) -> PackedRun {
    let name = name_of(directory);
    let files: Vec<(String, Vec<u8>)> =
        entries(directory).iter().map(|path| (format!("{name}/{}", name_of(path)), bytes(path))).collect();
    let manifest = files.iter().find(|(path, _)| path.ends_with("/SHA256SUMS")).expect("a sealed run has one");
    let manifest_hash = Digest::of(&manifest.1);
    let archive = directory.with_file_name(format!("{name}.tar.zst"));
    pack(&archive, &files, EntryType::Regular);
    fs::set_permissions(&archive, PermissionsExt::from_mode(0o400)).expect("ours");
    let packed = bytes(&archive);
    PackedRun {
        run_id: RunId::try_from(name.as_str()).expect("a directory is named like its run"),
        task: TaskId::try_from("default").expect("a task's id"),
        manifest_hash,
        archive_hash: Digest::of(&packed),
        archive_bytes: packed.len() as u64,
        files: files.len() as u64,
        bytes: files.iter().map(|(_, content)| content.len() as u64).sum(),
    }
}

#[test]
fn archived_runs_verify() {
    let made = Made::get();
    let victim = archived(&made);
    assert_eq!(victim.verify(), vec![]);
    assert!(archive(&victim, 2).exists());
}

#[test]
fn some_manipulations_of_an_archive_are_named_by_file_and_kind() {
    manipulations_are_named(SAMPLE);
}

#[test]
#[ignore = "long tier"]
fn every_manipulation_of_an_archive_is_named_by_file_and_kind() {
    manipulations_are_named(Extent::All);
}

#[track_caller]
fn manipulations_are_named(extent: Extent) {
    let made = Made::get();
    let archived = archived(&made);
    let mut unseen = Vec::new();
    for row in extent.of(ROWS) {
        let victim = archived.copy();
        (row.act)(&victim);
        let found = victim.verify();
        if !found.iter().any(|found| found.kind == row.kind.word() && found.file.contains(row.file)) {
            unseen.push(format!("{}: {} of `{}` is expected, found {found:#?}", row.what, row.kind.word(), row.file));
        }
    }
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}
