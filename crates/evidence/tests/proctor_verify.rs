//! `proctor-verify` as a stranger runs it: on a store that an earlier version kept, and on what was made of its runs.
#![expect(clippy::disallowed_methods, reason = "a test starts the program and changes evidence as an attacker would")]
#![expect(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_evidence::{Store, export_run, exported_keys, list_projects, list_runs, read_key_ring};

/// The public key of nobody whose evidence is verified here.
const STRANGE_KEY: &str =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

/// What the program printed, and its exit status.
#[derive(Debug)]
struct Answer {
    status: Option<i32>,
    text: String,
}

fn proctor_verify(arguments: &[&Path]) -> Answer {
    let ran = Command::new(env!("CARGO_BIN_EXE_proctor-verify")).args(arguments).output().expect("it starts");
    let text = [ran.stdout, ran.stderr].concat();
    Answer { status: ran.status.code(), text: String::from_utf8(text).expect("it prints text") }
}

fn with_key(path: &Path, key: &Path) -> Answer {
    proctor_verify(&[path, Path::new("--key"), key])
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// A kept store, unpacked in a directory that is removed with it.
struct KeptStore {
    directory: tempfile::TempDir,
    root: PathBuf,
}

impl KeptStore {
    fn unpack() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let packed = File::open(fixture("stores/0.1.0/store.tar.zst")).unwrap();
        let mut entries = tar::Archive::new(zstd::stream::read::Decoder::new(packed).unwrap());
        entries.set_preserve_permissions(true);
        entries.unpack(directory.path()).unwrap();
        let root = directory.path().join("state/proctor");
        Self { directory, root }
    }

    /// Writes a file beside the store.
    fn put(&self, name: &str, text: &str) -> PathBuf {
        let file = self.directory.path().join(name);
        fs::write(&file, text).unwrap();
        file
    }

    /// Writes the store's public keys to a file, as `proctor key export` prints them.
    fn keys(&self) -> PathBuf {
        let ring = read_key_ring(&Store::open_to_read(&self.root)).unwrap();
        self.put("keys.pub", &exported_keys(&ring, false).expect("it has keys"))
    }

    /// Exports a run to a directory, or to a file if the name is that of an archive.
    fn export(&self, name: &str) -> PathBuf {
        let (store, to) = (Store::open(&self.root).unwrap(), self.directory.path().join(name));
        let project = list_projects(&store).unwrap().remove(0);
        let runs = list_runs(&store, &project, None).unwrap();
        let run = runs.iter().find(|run| store.run_directory(&project, &run.task, &run.run_id).is_dir()).expect("a run");
        export_run(&store, &project, (&run.task, &run.run_id), &to, None).unwrap();
        to
    }
}

/// Returns the files below a directory whose names end in `ending`, sorted.
fn files_below(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn change_last_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().expect("it is not empty") ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_kept_store_is_verified_and_nothing_in_it_is_changed() {
    let kept = KeptStore::unpack();
    let content = || files_below(&kept.root, "").into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect::<Vec<_>>();
    let before = content();
    let alone = proctor_verify(&[&kept.root]);
    assert_eq!(alone.status, Some(0), "{}", alone.text);
    assert!(alone.text.ends_with("VERIFIED\n") && alone.text.contains("which the store itself names"), "{}", alone.text);
    let vouched = with_key(&kept.root, &kept.keys());
    assert_eq!(vouched.status, Some(0), "{}", vouched.text);
    assert!(vouched.text.contains("which the named keys vouch for"), "{}", vouched.text);
    assert!(before == content(), "the program changed the store");
}

#[test]
fn a_changed_byte_and_a_strange_key_are_faults() {
    let kept = KeptStore::unpack();
    let strange = with_key(&kept.root, &kept.put("strange.pub", STRANGE_KEY));
    assert_eq!(strange.status, Some(6), "{}", strange.text);
    change_last_byte(files_below(&kept.root.join("evidence"), "execution-report.json").last().expect("a run is a directory"));
    let changed = proctor_verify(&[&kept.root]);
    assert_eq!(changed.status, Some(6), "{}", changed.text);
    assert!(changed.text.contains("execution-report.json"), "{}", changed.text);
}

#[test]
fn an_export_is_verified_as_a_directory_and_as_an_archive() {
    let kept = KeptStore::unpack();
    let (keys, strange) = (kept.keys(), kept.put("strange.pub", STRANGE_KEY));
    for name in ["export", "export.tar.zst"] {
        let export = kept.export(name);
        let unnamed = proctor_verify(&[&export]);
        assert_eq!(unnamed.status, Some(2), "{}", unnamed.text);
        assert!(unnamed.text.contains("--key"), "{}", unnamed.text);
        let verified = with_key(&export, &keys);
        assert_eq!(verified.status, Some(0), "{name}: {}", verified.text);
        assert_eq!(with_key(&export, &strange).status, Some(6), "{name}");
        let inner = if export.is_dir() { files_below(&export, "execution-report.json").remove(0) } else { export.clone() };
        change_last_byte(&inner);
        let changed = with_key(&export, &keys);
        assert_eq!(changed.status, Some(6), "{name}: {}", changed.text);
    }
}

#[test]
fn a_link_in_the_place_of_an_exported_file_is_a_fault() {
    let kept = KeptStore::unpack();
    let keys = kept.keys();
    for name in ["ledger.jsonl", "ledger.tlog-proof", "keys.jsonl"] {
        let export = kept.export(&format!("export-{name}"));
        let aside = kept.directory.path().join(name);
        fs::rename(export.join(name), &aside).unwrap();
        std::os::unix::fs::symlink(&aside, export.join(name)).unwrap();
        let answer = with_key(&export, &keys);
        assert_eq!(answer.status, Some(6), "{}", answer.text);
        assert!(answer.text.contains(&format!("{name}: it is no regular file")), "{}", answer.text);
        assert!(!answer.text.contains("issing"), "it is there: {}", answer.text);
    }
}

#[test]
fn a_bundle_is_verified_with_its_key() {
    let vectors = fs::read(fixture("evidence-format/attestations.json")).unwrap();
    let vectors: serde_json::Value = serde_json::from_slice(&vectors).unwrap();
    let text = |pointer: &str| vectors.pointer(pointer).and_then(serde_json::Value::as_str).expect("it is a text").to_owned();
    let directory = tempfile::tempdir().unwrap();
    let (bundle, key) = (directory.path().join("bundle.json"), directory.path().join("key.pub"));
    fs::write(&bundle, text("/bundle")).unwrap();
    fs::write(&key, format!("proctor {}\n", text("/key/ssh"))).unwrap();
    let verified = with_key(&bundle, &key);
    assert_eq!(verified.status, Some(0), "{}", verified.text);
    assert!(verified.text.contains("on git tree") && verified.text.ends_with("VERIFIED\n"), "{}", verified.text);

    fs::write(&bundle, text("/bundle").replacen("\"payload\":\"ey", "\"payload\":\"eA", 1)).unwrap();
    let changed = with_key(&bundle, &key);
    assert_eq!(changed.status, Some(6), "{}", changed.text);
}

#[test]
fn what_cannot_be_answered_is_an_error_with_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let (empty, nothing) = (directory.path(), directory.path().join("nothing"));
    for arguments in [
        vec![],
        vec![nothing.as_path()],
        vec![empty],
        vec![empty, Path::new("--key")],
        vec![empty, Path::new("--keys"), Path::new("x")],
        vec![empty, empty],
    ] {
        let answer = proctor_verify(&arguments);
        assert_eq!(answer.status, Some(2), "{arguments:?}: {}", answer.text);
        assert!(answer.text.starts_with("error: "), "{}", answer.text);
    }
    let (bundle, key) = (empty.join("bundle.json"), empty.join("key.pub"));
    fs::write(&bundle, "{\"schema\":\"proctor-attestation-bundle-v1\",\"envelopes\":[]}").unwrap();
    fs::write(&key, STRANGE_KEY).unwrap();
    let store = empty.join("store");
    Store::open(&store).unwrap();
    for (what, answer) in [("attestation", with_key(&bundle, &key)), ("project", proctor_verify(&[&store]))] {
        assert_eq!(answer.status, Some(2), "{what}: {}", answer.text);
        assert!(answer.text.contains(&format!("has no {what}, so there is nothing to verify")), "{}", answer.text);
    }
    let help = proctor_verify(&[Path::new("--help")]);
    assert_eq!(help.status, Some(0));
    assert!(help.text.starts_with("usage: "), "{}", help.text);
}
