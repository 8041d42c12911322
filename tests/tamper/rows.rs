//! The manipulations, one row each: the change, the fault that must be found, and the file in which it must be named.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use nix::unistd::{Gid, Uid, chown, geteuid};
use proctor_evidence::FaultKind;

use crate::tamper::victim::{Act, Victim, entries, replace, write};

/// A manipulation of a store.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) act: fn(&Victim) -> Act,
    pub(super) kind: FaultKind,
    /// A part of a path: `verify` must say that the fault lies in the file with this path.
    pub(super) file: &'static str,
}

const fn row(what: &'static str, kind: FaultKind, file: &'static str, act: fn(&Victim) -> Act) -> Row {
    Row { what, act, kind, file }
}

const LOG: &str = "STEP.1-terminal-output.log";
const REPORT: &str = "execution-report.json";
/// A private key that is none of the store's.
const ANOTHER_KEY: &str =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH\n-----END PRIVATE KEY-----\n";

fn mode(path: &Path, mode: u32) -> Act {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    Act::Done
}

fn remove(path: &Path) -> Act {
    fs::remove_file(path).expect("the directory is ours");
    Act::Done
}

fn append(path: &Path, bytes: &[u8]) -> Act {
    let mut content = fs::read(path).expect("it is there");
    content.extend_from_slice(bytes);
    write(path, &content);
    Act::Done
}

fn put(path: &Path, bytes: &[u8]) -> Act {
    write(path, bytes);
    Act::Done
}

fn shorten(path: &Path, by: usize) -> Act {
    let content = fs::read(path).expect("it is there");
    write(path, &content[..content.len() - by]);
    Act::Done
}

fn with_lines(victim: &Victim, change: impl FnOnce(&mut Vec<String>)) -> Act {
    let mut lines = victim.lines();
    change(&mut lines);
    victim.write_lines(&lines);
    Act::Done
}

fn give_away(path: &Path) -> Act {
    if !geteuid().is_root() {
        return Act::NotPossibleHere;
    }
    chown(path, Some(Uid::from_raw(65534)), None::<Gid>).expect("root may");
    Act::Done
}

fn statements(victim: &Victim, position: usize) -> std::path::PathBuf {
    let run = victim.run(position);
    entries(&run).into_iter().find(|path| path.to_string_lossy().ends_with(".intoto.jsonl")).expect("it is signed")
}

fn make(path: &Path) -> Act {
    fs::create_dir(path).expect("the directory is ours");
    mode(path, 0o700)
}

fn link(target: &str, path: &Path) -> Act {
    symlink(target, path).expect("the directory is ours");
    Act::Done
}

/// Moves a part of the store out of it, and puts a link there that leads to it.
fn moved_behind_a_link(victim: &Victim, path: &Path) -> Act {
    let aside = victim.root().with_file_name("moved");
    fs::rename(path, &aside).expect("it is ours");
    symlink(&aside, path).expect("it is ours");
    Act::Done
}

fn copy(from: &Path, to: &Path) -> Act {
    put(to, &fs::read(from).expect("it is there"))
}

pub(super) const ROWS: &[Row] = &[
    // The following rows manipulate the files of a run.
    row("a log is edited", FaultKind::FileChanged, LOG, |it| replace(&it.run(0).join(LOG), "said", "sung")),
    row("a log is padded", FaultKind::FileChanged, LOG, |it| append(&it.run(0).join(LOG), b" ")),
    row("a log is cut", FaultKind::FileChanged, LOG, |it| shorten(&it.run(0).join(LOG), 1)),
    row("a log is emptied", FaultKind::FileChanged, LOG, |it| put(&it.run(0).join(LOG), b"")),
    row("a log is removed", FaultKind::FileMissing, LOG, |it| remove(&it.run(0).join(LOG))),
    row("a log is renamed", FaultKind::FileUnlisted, "STEP.9.log", |it| {
        fs::rename(it.run(0).join(LOG), it.run(0).join("STEP.9.log")).expect("ours");
        Act::Done
    }),
    row("two logs are swapped", FaultKind::FileChanged, LOG, |it| {
        let (one, other) = (it.run(0).join(LOG), it.run(0).join("STEP.2-terminal-output.log"));
        let bytes = fs::read(&one).expect("it is there");
        copy(&other, &one);
        put(&other, &bytes)
    }),
    row("a log is another run's", FaultKind::FileChanged, "STEP.2-terminal-output.json", |it| {
        copy(&it.run(1).join("STEP.2-terminal-output.json"), &it.run(0).join("STEP.2-terminal-output.json"))
    }),
    row("a log becomes a link", FaultKind::NotAFile, LOG, |it| {
        remove(&it.run(0).join(LOG));
        symlink("/dev/null", it.run(0).join(LOG)).expect("ours");
        Act::Done
    }),
    row("a log becomes a directory", FaultKind::NotAFile, LOG, |it| {
        remove(&it.run(0).join(LOG));
        fs::create_dir(it.run(0).join(LOG)).expect("ours");
        Act::Done
    }),
    row("a log becomes a pipe", FaultKind::NotAFile, LOG, |it| {
        remove(&it.run(0).join(LOG));
        nix::unistd::mkfifo(&it.run(0).join(LOG), nix::sys::stat::Mode::S_IRUSR).expect("ours");
        Act::Done
    }),
    row("a log gets a second name", FaultKind::SecondName, LOG, |it| {
        fs::hard_link(it.run(0).join(LOG), it.root().join("log/mine")).expect("ours");
        Act::Done
    }),
    row("a log is made writable", FaultKind::WrongMode, LOG, |it| mode(&it.run(0).join(LOG), 0o600)),
    row("a log is made readable for all", FaultKind::WrongMode, LOG, |it| mode(&it.run(0).join(LOG), 0o444)),
    row("a log is given to another user", FaultKind::WrongOwner, LOG, |it| give_away(&it.run(0).join(LOG))),
    row("a log can no longer be read", FaultKind::FileUnreadable, LOG, |it| {
        if geteuid().is_root() { Act::NotPossibleHere } else { mode(&it.run(0).join(LOG), 0o000) }
    }),
    row("frames are edited", FaultKind::FileChanged, ".frames", |it| {
        append(&it.run(0).join("STEP.1-terminal-output.frames"), b"\n")
    }),
    row("a record of an action is edited", FaultKind::FilesDisagree, "STEP.1-terminal-output.json", |it| {
        replace(&it.run(0).join("STEP.1-terminal-output.json"), "\"runId\"", "\"runID\"")
    }),
    row("debt is edited", FaultKind::RecordUnreadable, "technical-debt-data.json", |it| {
        replace(&it.run(1).join("technical-debt-data.json"), "{", "{\"note\":1,")
    }),
    row("a file is added", FaultKind::FileUnlisted, "extra.log", |it| put(&it.run(0).join("extra.log"), b"x")),
    row("a hidden file is added", FaultKind::FileUnlisted, ".extra", |it| put(&it.run(0).join(".extra"), b"x")),
    row("a directory is added", FaultKind::NotAFile, "extra", |it| {
        fs::create_dir(it.run(0).join("extra")).expect("ours");
        Act::Done
    }),
    row("a run's directory is opened to all", FaultKind::WrongMode, "runs/exec", |it| mode(&it.run(0), 0o755)),
    row("a run's directory is given away", FaultKind::WrongOwner, "runs/exec", |it| give_away(&it.run(0))),
    // The following rows manipulate a report, a start record or a manifest.
    row("a report's verdict is edited", FaultKind::ReportHash, REPORT, |it| {
        replace(&it.run(1).join(REPORT), "\"overallResult\": \"FAILED\"", "\"overallResult\": \"PASSED\"")
    }),
    row("a report's verdict is another than the ledger's", FaultKind::ReportDisagrees, REPORT, |it| {
        replace(&it.run(1).join(REPORT), "\"overallResult\": \"FAILED\"", "\"overallResult\": \"PASSED\"")
    }),
    row("a report is formatted anew", FaultKind::FileChanged, REPORT, |it| append(&it.run(0).join(REPORT), b"\n")),
    row("a report has a key twice", FaultKind::ReportUnreadable, REPORT, |it| {
        replace(&it.run(0).join(REPORT), "{", "{\"custody\":\"same-user\",")
    }),
    row("a report has a key of its own", FaultKind::ReportUnreadable, REPORT, |it| {
        replace(&it.run(0).join(REPORT), "{", "{\"note\":1,")
    }),
    row("a report is another run's", FaultKind::ReportDisagrees, REPORT, |it| {
        copy(&it.run(0).join(REPORT), &it.run(4).join(REPORT))
    }),
    row("a report's tree is another", FaultKind::ReportDisagrees, REPORT, |it| {
        let report = fs::read_to_string(it.run(0).join(REPORT)).expect("text");
        let (_, rest) = report.split_once("\"before\": \"").expect("it has a tree");
        replace(&it.run(0).join(REPORT), &rest[..64], &"0".repeat(64))
    }),
    row("a report is removed", FaultKind::FileMissing, REPORT, |it| remove(&it.run(0).join(REPORT))),
    row("a start record is edited", FaultKind::RecordDisagrees, "run.json", |it| {
        replace(&it.run(0).join("run.json"), "\"task\": \"default\"", "\"task\": \"other\"")
    }),
    row("a start record is another run's", FaultKind::RecordDisagrees, "run.json", |it| {
        copy(&it.run(1).join("run.json"), &it.run(0).join("run.json"))
    }),
    row("a start record is broken", FaultKind::RecordUnreadable, "run.json", |it| put(&it.run(0).join("run.json"), b"{")),
    row("a manifest is removed", FaultKind::ManifestMissing, "SHA256SUMS", |it| remove(&it.run(0).join("SHA256SUMS"))),
    row("a manifest has a line less", FaultKind::ManifestChanged, "SHA256SUMS", |it| {
        let text = fs::read_to_string(it.run(0).join("SHA256SUMS")).expect("text");
        put(&it.run(0).join("SHA256SUMS"), text.split_once('\n').expect("lines").1.as_bytes())
    }),
    row("a manifest is sorted otherwise", FaultKind::ManifestMalformed, "SHA256SUMS", |it| {
        let text = fs::read_to_string(it.run(0).join("SHA256SUMS")).expect("text");
        let turned: String = text.split_inclusive('\n').rev().collect();
        put(&it.run(0).join("SHA256SUMS"), turned.as_bytes())
    }),
    row("a manifest is another run's", FaultKind::ManifestChanged, "SHA256SUMS", |it| {
        copy(&it.run(1).join("SHA256SUMS"), &it.run(0).join("SHA256SUMS"))
    }),
    row("a log and the manifest are edited together", FaultKind::ManifestChanged, "SHA256SUMS", |it| {
        let (log, manifest) = (it.run(0).join(LOG), it.run(0).join("SHA256SUMS"));
        let old = proctor_model::Digest::of(&fs::read(&log).expect("it is there")).hex();
        put(&log, b"forged");
        replace(&manifest, &old, &proctor_model::Digest::of(b"forged").hex())
    }),
    row("a log, the manifest and the ledger are edited together", FaultKind::LineSignature, "ledger/", |it| {
        put(&it.run(0).join(LOG), b"forged");
        it.seal_again(0);
        Act::Done
    }),
    row("what is attested does not follow", FaultKind::StatementDisagrees, ".intoto.jsonl", |it| {
        put(&it.run(0).join(LOG), b"forged");
        it.seal_again(0);
        Act::Done
    }),
    // The following rows manipulate signatures.
    row("a report's signature is removed", FaultKind::FileMissing, "json.sig", |it| {
        remove(&it.run(0).join("execution-report.json.sig"))
    }),
    row("a report's signature is another run's", FaultKind::SignatureWrong, "json.sig", |it| {
        copy(&it.run(1).join("execution-report.json.sig"), &it.run(0).join("execution-report.json.sig"))
    }),
    row("a report's signature is empty", FaultKind::SignatureWrong, "json.sig", |it| {
        put(&it.run(0).join("execution-report.json.sig"), b"")
    }),
    row("statements are removed", FaultKind::FileMissing, ".intoto.jsonl", |it| remove(&statements(it, 0))),
    row("statements are another run's", FaultKind::StatementDisagrees, ".intoto.jsonl", |it| {
        copy(&statements(it, 1), &statements(it, 0))
    }),
    row("a statement is left out", FaultKind::StatementsWrong, ".intoto.jsonl", |it| {
        let text = fs::read_to_string(statements(it, 0)).expect("text");
        put(&statements(it, 0), format!("{}\n", text.lines().next().expect("two lines")).as_bytes())
    }),
    row("statements are in another order", FaultKind::StatementsWrong, ".intoto.jsonl", |it| {
        let text = fs::read_to_string(statements(it, 0)).expect("text");
        let turned: String = text.split_inclusive('\n').rev().collect();
        put(&statements(it, 0), turned.as_bytes())
    }),
    row("a statement is there twice", FaultKind::StatementsWrong, ".intoto.jsonl", |it| {
        let text = fs::read_to_string(statements(it, 0)).expect("text");
        let first = text.lines().next().expect("two lines");
        put(&statements(it, 0), format!("{text}{first}\n").as_bytes())
    }),
    row("a statement is edited in its envelope", FaultKind::SignatureWrong, ".intoto.jsonl", |it| {
        replace(&statements(it, 0), "\"payload\":\"ey", "\"payload\":\"fy")
    }),
    row("statements name another key", FaultKind::SignatureWrong, ".intoto.jsonl", |it| {
        replace(&statements(it, 0), "\"keyid\":\"", "\"keyid\":\"0")
    }),
    // The following rows manipulate the ledger.
    row("the ledger is removed", FaultKind::LedgerMissing, "ledger/", |it| remove(&it.ledger())),
    row("the ledger is emptied", FaultKind::RunUnnamed, "runs/exec", |it| put(&it.ledger(), b"")),
    row("the ledger becomes a link", FaultKind::NotAFile, "ledger/", |it| {
        let aside = it.root().join("aside");
        fs::rename(it.ledger(), &aside).expect("ours");
        let name = entries(&it.root().join("evidence")).remove(0).file_name().expect("a name").to_string_lossy().into_owned();
        symlink(aside, it.root().join(format!("ledger/{name}.jsonl"))).expect("ours");
        Act::Done
    }),
    row("the ledger gets a second name", FaultKind::SecondName, "ledger/", |it| {
        fs::hard_link(it.ledger(), it.root().join("aside")).expect("ours");
        Act::Done
    }),
    row("the ledger is opened to all", FaultKind::WrongMode, "ledger/", |it| mode(&it.ledger(), 0o644)),
    row("the first line is removed", FaultKind::LineSequence, "ledger/", |it| with_lines(it, |lines| drop(lines.remove(0)))),
    row("a line in the middle is removed", FaultKind::LineChain, "ledger/", |it| with_lines(it, |lines| drop(lines.remove(2)))),
    row("the last line is removed", FaultKind::RunUnnamed, "runs/exec", |it| with_lines(it, |lines| drop(lines.pop()))),
    row("the ledger is put back by some lines", FaultKind::IndexAhead, "state.db", |it| {
        with_lines(it, |lines| lines.truncate(3))
    }),
    row("two lines are swapped", FaultKind::LineSequence, "ledger/", |it| with_lines(it, |lines| lines.swap(1, 2))),
    row("a line is doubled", FaultKind::RunTwice, "ledger/", |it| with_lines(it, |lines| lines.insert(2, lines[1].clone()))),
    row("the last line is doubled", FaultKind::LineSequence, "ledger/", |it| {
        with_lines(it, |lines| lines.push(lines.last().expect("there are lines").clone()))
    }),
    row("the last line is torn", FaultKind::RunUnnamed, "runs/exec", |it| shorten(&it.ledger(), 20)),
    row("the last line loses its newline", FaultKind::RunUnnamed, "runs/exec", |it| shorten(&it.ledger(), 1)),
    row("the last line is torn, and its run is gone", FaultKind::IndexAhead, "state.db", |it| {
        fs::remove_dir_all(it.run(4)).expect("ours");
        shorten(&it.ledger(), 20)
    }),
    row("the last line is overwritten with zeros", FaultKind::RunUnnamed, "runs/exec", |it| {
        let mut bytes = fs::read(it.ledger()).expect("it is there");
        let (start, end) = (bytes.len() - it.lines().pop().expect("there are lines").len(), bytes.len() - 1);
        bytes[start..end].fill(0);
        put(&it.ledger(), &bytes)
    }),
    row("a removed line is covered by the beginning of another", FaultKind::RunUnnamed, "runs/exec", |it| {
        let last = it.lines().pop().expect("there are lines");
        with_lines(it, |lines| drop(lines.pop()));
        append(&it.ledger(), &last.as_bytes()[..last.find("\"asker\"").expect("it has one")])
    }),
    row("a compressed segment of other lines lies beside the ledger", FaultKind::SegmentWrong, "ledger/", |it| {
        let segment = it.ledger().with_extension("jsonl.000000000000-000000000100.zlib");
        put(&segment, b"x")
    }),
    row("something is written behind the last line", FaultKind::LineTorn, "ledger/", |it| append(&it.ledger(), b"{}")),
    row("the last line is there again, without its newline", FaultKind::LineTorn, "ledger/", |it| {
        let last = it.lines().pop().expect("there are lines");
        append(&it.ledger(), last.as_bytes())
    }),
    row("a line is begun that names another one before it", FaultKind::LineTorn, "ledger/", |it| {
        let due = it.lines().len() + 1;
        append(&it.ledger(), format!("{{\"schema\":\"proctor-ledger-v1\",\"sequence\":{due},\"previous\":\"{:064}", 1).as_bytes())
    }),
    row("an empty line is added", FaultKind::LineUnreadable, "ledger/", |it| append(&it.ledger(), b"\n")),
    row("a line of another schema is added", FaultKind::LineUnreadable, "ledger/", |it| {
        append(&it.ledger(), b"{\"schema\":\"x\"}\n")
    }),
    row("a line gets a space", FaultKind::LineSignature, "ledger/", |it| replace(&it.ledger(), "{\"schema\":", "{ \"schema\":")),
    row("a verdict is edited in the last line", FaultKind::LineSignature, "ledger/", |it| {
        with_lines(it, |lines| {
            let last = lines.last_mut().expect("there are lines");
            *last = last.replace("\"overallResult\":\"PASSED\"", "\"overallResult\":\"FAILED\"");
        })
    }),
    row("a verdict is edited and all lines are chained again", FaultKind::LineSignature, "ledger/", |it| {
        let line = it.line_of_run(1);
        with_lines(it, |lines| lines[line] = lines[line].replace("\"overallResult\":\"FAILED\"", "\"overallResult\":\"PASSED\""));
        it.chain_again();
        Act::Done
    }),
    row("a line loses its signature", FaultKind::LineUnsigned, "ledger/", |it| {
        with_lines(it, |lines| {
            let last = lines.last_mut().expect("there are lines");
            let (head, _) = last.rsplit_once(",\"signature\"").expect("it is signed");
            *last = format!("{head}}}");
        })
    }),
    row("a line has the signature of another", FaultKind::LineSignature, "ledger/", |it| {
        with_lines(it, |lines| {
            let signature = lines[0].rsplit_once(",\"signature\"").expect("it is signed").1.to_owned();
            let last = lines.last_mut().expect("there are lines");
            let (head, _) = last.rsplit_once(",\"signature\"").expect("it is signed");
            *last = format!("{head},\"signature\"{signature}");
        })
    }),
    row("a person's approval gets a signature that is none", FaultKind::ApprovalWrong, "ledger/", |it| {
        replace(&it.ledger(), "\"reason\":\"person\"", "\"reason\":\"person\",\"signature\":\"-----BEGIN SSH SIGNATURE-----\"")
    }),
    row("the phase of a cycle is edited", FaultKind::LineSignature, "ledger/", |it| {
        with_lines(it, |lines| {
            let line = lines.iter_mut().find(|line| line.contains("\"kind\":\"phase\"")).expect("a cycle was started");
            *line = line.replacen("\"phase\":\"RED\"", "\"phase\":\"GREEN\"", 1);
        })
    }),
    row("the ledger is another project's", FaultKind::ProjectDisagrees, "ledger/other-00000000.jsonl", |it| {
        copy(&it.ledger(), &it.root().join("ledger/other-00000000.jsonl"))
    }),
    // Runs, files and links that are removed, moved or added.
    row("a run is removed", FaultKind::RunMissing, "runs/exec", |it| {
        fs::remove_dir_all(it.run(0)).expect("ours");
        Act::Done
    }),
    row("a run is copied under another id", FaultKind::RunUnnamed, "000099", |it| {
        let (from, copy) = (it.run(0), it.task().join("runs/exec-20260101T000000.000Z-000099"));
        fs::create_dir(&copy).expect("ours");
        entries(&from).iter().for_each(|file| drop(fs::copy(file, copy.join(file.file_name().expect("a name")))));
        Act::Done
    }),
    row("a run is moved to another task", FaultKind::RunMisplaced, "other/runs", |it| {
        let (run, runs) = (it.run(0), it.task().with_file_name("other").join("runs"));
        fs::create_dir_all(&runs).expect("ours");
        fs::rename(&run, runs.join(run.file_name().expect("a name"))).expect("ours");
        Act::Done
    }),
    row("two runs are swapped", FaultKind::ManifestChanged, "runs/exec", |it| {
        let (one, other, aside) = (it.run(0), it.run(1), it.root().join("aside"));
        fs::rename(&one, &aside).and_then(|()| fs::rename(&other, &one)).and_then(|()| fs::rename(&aside, &other)).expect("ours");
        Act::Done
    }),
    row("a start record lies there without an end", FaultKind::RunUnnamed, "000098", |it| {
        let (from, run) = (it.run(0).join("run.json"), it.task().join("runs/exec-20260101T000000.000Z-000098"));
        fs::create_dir(&run).expect("ours");
        copy(&from, &run.join("run.json"))
    }),
    row("a file lies among the runs", FaultKind::Foreign, "runs/note", |it| put(&it.task().join("runs/note"), b"")),
    row("a file lies beside the runs", FaultKind::Foreign, "default/note", |it| put(&it.task().join("note"), b"")),
    row("a file lies among the tasks", FaultKind::Foreign, "/note", |it| put(&it.task().with_file_name("note"), b"")),
    row("latest leads to an earlier run", FaultKind::LatestWrong, "latest", |it| {
        remove(&it.task().join("latest"));
        let earlier = it.run(0);
        symlink(Path::new("runs").join(earlier.file_name().expect("a name")), it.task().join("latest")).expect("ours");
        Act::Done
    }),
    row("latest is gone", FaultKind::LatestWrong, "latest", |it| remove(&it.task().join("latest"))),
    row("the report beside the runs is a file", FaultKind::Foreign, "default/execution-report.json", |it| {
        put(&it.task().join(REPORT), b"{\"overallResult\":\"PASSED\"}")
    }),
    row("a name beside the runs leads elsewhere", FaultKind::NameWrong, "default/execution-report.json", |it| {
        remove(&it.task().join(REPORT));
        symlink("/dev/null", it.task().join(REPORT)).expect("ours");
        Act::Done
    }),
    row("a name beside the runs is gone", FaultKind::NameWrong, LOG, |it| remove(&it.task().join(LOG))),
    // The following rows manipulate keys.
    row("a private key is opened to all", FaultKind::WrongMode, "private-", |it| mode(&it.private_of(2), 0o644)),
    row("the keys are opened to all", FaultKind::WrongMode, "keys", |it| mode(&it.root().join("keys"), 0o755)),
    row("a private key is another", FaultKind::KeyUnreadable, "private-", |it| put(&it.private_of(2), ANOTHER_KEY.as_bytes())),
    row("a record of a key is removed", FaultKind::KeyMissing, "key-0002.json", |it| remove(&it.key_file("key-0001"))),
    row("a record of a key is broken", FaultKind::KeyUnreadable, "key-0001.json", |it| put(&it.key_file("key-0001"), b"{}")),
    row("a key is said to be older", FaultKind::KeyUnproven, "key-0001.json", |it| {
        replace(&it.key_file("key-0001"), "\"made\": \"20", "\"made\": \"19")
    }),
    row("a key signs since another line", FaultKind::KeyPosition, "ledger/", |it| {
        replace(&it.key_file("key-0002"), "\"sequence\": ", "\"sequence\": 1")
    }),
    row("a key is endorsed by nobody", FaultKind::KeyNotEndorsed, "key-0002.json", |it| {
        replace(&it.key_file("key-0002"), "\"endorsement\": \"", "\"endorsement\": \"AAAA")
    }),
    row("the last key is taken back", FaultKind::LineSignature, "ledger/", |it| remove(&it.key_file("key-0002"))),
    row("a file lies among the keys", FaultKind::Foreign, "keys/note", |it| put(&it.root().join("keys/note"), b"")),
    // The following rows manipulate what belongs to no run.
    row("a file lies in the store", FaultKind::Foreign, "note", |it| put(&it.root().join("note"), b"")),
    row("a directory lies in the store", FaultKind::Foreign, "evidence-2", |it| make(&it.root().join("evidence-2"))),
    row("a link lies in the store", FaultKind::Foreign, "elsewhere", |it| link("/tmp", &it.root().join("elsewhere"))),
    row("a ledger of nobody lies among the ledgers", FaultKind::Foreign, "ledger/x.jsonl", |it| {
        put(&it.root().join("ledger/x.jsonl"), b"")
    }),
    row("a file lies among the ledgers", FaultKind::Foreign, "ledger/note", |it| put(&it.root().join("ledger/note"), b"")),
    row("a backup lies among the ledgers", FaultKind::Foreign, ".jsonl.bak", |it| {
        copy(&it.ledger(), &it.ledger().with_extension("jsonl.bak"))
    }),
    row("a directory is named like a ledger", FaultKind::NotAFile, "ledger/shop-00000000.jsonl", |it| {
        make(&it.root().join("ledger/shop-00000000.jsonl"))
    }),
    row("a file lies among the locks", FaultKind::Foreign, "locks/note", |it| put(&it.root().join("locks/note"), b"")),
    row("a directory lies among the locks", FaultKind::Foreign, "locks/shop-00000000", |it| {
        make(&it.root().join("locks/shop-00000000"))
    }),
    row("a file lies among the projects", FaultKind::Foreign, "evidence/note", |it| put(&it.root().join("evidence/note"), b"")),
    row("a directory of no project lies among the projects", FaultKind::Foreign, "evidence/x", |it| {
        make(&it.root().join("evidence/x"))
    }),
    row("a directory of a task that has no run lies among the tasks", FaultKind::Foreign, "/T9", |it| {
        let task = it.task().with_file_name("T9");
        make(&task);
        make(&task.join("runs"));
        mode(&task.join("runs"), 0o700);
        mode(&task, 0o700)
    }),
    row("a project without a ledger lies among the projects", FaultKind::Foreign, "evidence/shop-00000000", |it| {
        make(&it.root().join("evidence/shop-00000000"))
    }),
    row("a link named like a project leads out of the store", FaultKind::NotAFile, "evidence/evil-00000000", |it| {
        link("/", &it.root().join("evidence/evil-00000000"))
    }),
    row("a project's directory becomes a link", FaultKind::NotAFile, "evidence/", |it| {
        let project = it.task().parent().expect("it lies in a project").to_owned();
        moved_behind_a_link(it, &project)
    }),
    row("a task's directory becomes a link", FaultKind::NotAFile, "/default", |it| {
        let task = it.task();
        moved_behind_a_link(it, &task)
    }),
    row("the directory of the runs becomes a link", FaultKind::NotAFile, "default/runs", |it| {
        let runs = it.task().join("runs");
        moved_behind_a_link(it, &runs)
    }),
    row("a run's directory becomes a link", FaultKind::NotAFile, "runs/exec", |it| {
        let run = it.run(0);
        moved_behind_a_link(it, &run)
    }),
    row("the store is opened to all", FaultKind::WrongMode, ".", |it| mode(&it.root(), 0o777)),
    row("the store can be listed by all", FaultKind::WrongMode, ".", |it| mode(&it.root(), 0o755)),
    row("the evidence is opened to all", FaultKind::WrongMode, "evidence", |it| mode(&it.root().join("evidence"), 0o777)),
    row("the ledgers are opened to all", FaultKind::WrongMode, "ledger", |it| mode(&it.root().join("ledger"), 0o777)),
    row("the locks are opened to all", FaultKind::WrongMode, "locks", |it| mode(&it.root().join("locks"), 0o777)),
    row("the log is opened to all", FaultKind::WrongMode, "log", |it| mode(&it.root().join("log"), 0o777)),
    row("the index is opened to all", FaultKind::WrongMode, "state.db", |it| mode(&it.root().join("state.db"), 0o666)),
    row("a project is opened to all", FaultKind::WrongMode, "evidence/", |it| {
        mode(it.task().parent().expect("it lies in a project"), 0o777)
    }),
    row("a task is opened to all", FaultKind::WrongMode, "default", |it| mode(&it.task(), 0o777)),
    row("the directory of the runs is opened to all", FaultKind::WrongMode, "default/runs", |it| {
        mode(&it.task().join("runs"), 0o777)
    }),
    row("a lock is opened to all", FaultKind::WrongMode, "locks/", |it| {
        mode(&entries(&it.root().join("locks")).remove(0), 0o666)
    }),
    row("a report is opened to all", FaultKind::WrongMode, REPORT, |it| mode(&it.run(0).join(REPORT), 0o777)),
    row("a manifest is opened to all", FaultKind::WrongMode, "SHA256SUMS", |it| mode(&it.run(0).join("SHA256SUMS"), 0o666)),
    row("a record of a key is opened to all", FaultKind::WrongMode, "key-0001", |it| mode(&it.key_file("key-0001"), 0o666)),
    row("a record of a key becomes a link", FaultKind::KeyUnreadable, "key-0001", |it| {
        let record = it.key_file("key-0001");
        moved_behind_a_link(it, &record)
    }),
    row("a record of a key is there twice", FaultKind::KeyUnreadable, "key-0003", |it| {
        copy(&it.key_file("key-0002"), &it.root().join("keys/key-0003.json"))
    }),
    row("a private key of nobody lies among the keys", FaultKind::Foreign, "private-0", |it| {
        put(&it.root().join("keys/private-0000000000000000.pem"), ANOTHER_KEY.as_bytes())
    }),
    row("the last checkpoint of a key is another", FaultKind::KeyLine, "ledger/", |it| {
        replace(&it.key_file("key-0002"), "— proctor", "— practor")
    }),
    row("the last checkpoints of a key are gone", FaultKind::KeyLine, "ledger/", |it| {
        replace(&it.key_file("key-0002"), "\"checkpoints\": {", "\"checkpoints\": {}, \"old\": {")
    }),
    row("the line about a new key is removed", FaultKind::KeyLine, "ledger/", |it| {
        with_lines(it, |lines| lines.retain(|line| !line.contains("\"kind\":\"keyReplaced\"")))
    }),
    row("the line about a new key is removed, and all lines are chained again", FaultKind::KeyLine, "ledger/", |it| {
        with_lines(it, |lines| lines.retain(|line| !line.contains("\"kind\":\"keyReplaced\"")));
        it.chain_again();
        Act::Done
    }),
    row("the line about a new key is about another", FaultKind::KeyLine, "ledger/", |it| {
        with_lines(it, |lines| {
            let line = lines.iter_mut().find(|line| line.contains("\"kind\":\"keyReplaced\"")).expect("the key was replaced");
            *line = line.replacen("\"number\":2", "\"number\":1", 1);
        })
    }),
    row("a project is removed whole with the index", FaultKind::LedgerMissing, "ledger/", |it| {
        let project = it.task().parent().expect("it lies in a project").to_owned();
        fs::remove_dir_all(project).expect("ours");
        remove(&it.ledger());
        ["state.db", "state.db-wal", "state.db-shm"].iter().for_each(|name| drop(fs::remove_file(it.root().join(name))));
        Act::Done
    }),
    row("a line is dated before the one before it", FaultKind::TimeBackwards, "ledger/", |it| {
        with_lines(it, |lines| lines[2] = lines[2].replacen("\"time\":\"20", "\"time\":\"19", 1))
    }),
    row("the last line is dated before the one before it", FaultKind::TimeBackwards, "ledger/", |it| {
        with_lines(it, |lines| {
            let last = lines.last_mut().expect("there are lines");
            *last = last.replacen("\"time\":\"20", "\"time\":\"19", 1);
        })
    }),
    row("the last line is dated ahead", FaultKind::TimeAhead, "ledger/", |it| {
        with_lines(it, |lines| {
            let last = lines.last_mut().expect("there are lines");
            *last = last.replacen("\"time\":\"20", "\"time\":\"29", 1);
        })
    }),
    row("every line is dated ahead", FaultKind::TimeAhead, "ledger/", |it| {
        with_lines(it, |lines| {
            lines.iter_mut().for_each(|line| *line = line.replacen("\"time\":\"20", "\"time\":\"29", 1));
        });
        it.chain_again();
        Act::Done
    }),
    row("a line becomes unreadable", FaultKind::LineUnreadable, "ledger/", |it| {
        with_lines(it, |lines| lines[2] = lines[2].replacen("\"body\"", "\"bodi\"", 1))
    }),
    row("a line gets a key of its own", FaultKind::LineUnreadable, "ledger/", |it| {
        with_lines(it, |lines| lines[2] = lines[2].replacen("\"asker\":{", "\"asker\":{\"note\":1,", 1))
    }),
    row("a line's asker is another", FaultKind::LineSignature, "ledger/", |it| {
        with_lines(it, |lines| lines[1] = lines[1].replacen("\"uid\":", "\"uid\":1", 1))
    }),
    row("a line is by a later key", FaultKind::LineSignature, "ledger/", |it| {
        with_lines(it, |lines| {
            let signature = lines.last().expect("lines").rsplit_once(",\"signature\"").expect("it is signed").1.to_owned();
            let (head, _) = lines[1].rsplit_once(",\"signature\"").expect("it is signed");
            lines[1] = format!("{head},\"signature\"{signature}");
        })
    }),
    // The following rows manipulate the index.
    row("the index has another verdict", FaultKind::IndexDiffers, "state.db", |it| {
        it.sql("UPDATE runs SET result = 'PASSED' WHERE result = 'FAILED'")
    }),
    row("the index has a run less", FaultKind::IndexDiffers, "state.db", |it| it.sql("DELETE FROM runs WHERE sequence = 2")),
    row("the index has another phase", FaultKind::IndexDiffers, "state.db", |it| {
        it.sql("UPDATE tdd SET state = replace(state, 'RED', 'GREEN')")
    }),
    row("the index knows more than there is", FaultKind::IndexAhead, "state.db", |it| {
        it.sql("UPDATE positions SET applied_sequence = 999")
    }),
    row("the index goes on from the wrong place", FaultKind::IndexDiffers, "state.db", |it| {
        it.sql("UPDATE positions SET applied_offset = 1")
    }),
    row("the index is no database", FaultKind::IndexDamaged, "state.db", |it| {
        let _log = fs::remove_file(it.root().join("state.db-wal"));
        put(&it.root().join("state.db"), &[b'x'; 4096])
    }),
];
