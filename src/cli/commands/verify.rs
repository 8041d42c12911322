//! `proctor verify`: checks evidence against its hashes and signatures, and names every fault. Nothing is changed:
//! ledgers and the index are opened only for reading.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::cli::commands::anchored::{self, HeldAnchorV1};
use crate::cli::commands::key::from_evidence_error;
use crate::cli::evidence_arguments::VerifyOptions;
use crate::cli::render;
use crate::cli::screen;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::{
    AcceptedKeys, Anchor, EvidenceFault, FaultKind, KeyRing, LedgerLog, MANIFEST_NAME, Store, VerificationResult,
    VerificationScope, VerifiedKeys, check_store_entries, find_registered_project, find_replaced_link, is_archive_name,
    ledger_file, line_from_the_future, list_projects, name_links, names_a_key, open_regular_file, projects_with_evidence,
    read_key_ring, read_regular_text, sort_by_cause, verify_copy, verify_keys, verify_project, verify_steadily,
};
use proctor_index::IndexReader;
use proctor_model::{ApprovingLine, CommandExit, LedgerLine, ProjectId, TaskId};
use proctor_project::{VerificationDocument, approval_counts, approval_faults, fault_from_difference, fault_from_index_error};
use proctor_sandbox::process::clock;

/// The first bytes of a proof of progress.
const PROGRESS: &[u8] = b"old ";
/// The longest file with a public key that is read, in bytes.
const LONGEST_KEY: u64 = 64 * 1024;

/// The results of all verified projects, runs or files.
#[derive(Debug, Default)]
struct Total {
    projects: Vec<ProjectId>,
    /// The sum over all projects. The ledger lines themselves are not collected: `sum.lines` stays empty, and the field
    /// `lines` has only their number.
    sum: VerificationResult,
    lines: u64,
    /// The ledgers to compare with anchors; empty if there are no anchors.
    logs: Vec<LedgerLog>,
    held: Vec<HeldAnchorV1>,
}

pub(crate) fn execute(options: &VerifyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    anchored::refuse_notes(options)?;
    let named = options.what.as_deref().map(|what| environment.absolute(Path::new(what)));
    let mut total = match named {
        Some(path) if is_special(&path) => return Err(special(&path)),
        Some(path) if is_run(&path) => verify_copied(&path, options, environment)?,
        Some(path) if is_progress(&path) => return Err(progress(&path)),
        Some(_) | None => verify_store_steadily(options, environment)?,
    };
    sort_by_cause(&mut total.sum.faults);
    if options.json {
        let Total { projects, sum, lines, held, .. } = &total;
        render::document(&VerificationDocument { about: (projects, *lines), found: sum, anchors: held });
    } else {
        lines(&total).iter().for_each(render::line);
    }
    Ok(if total.sum.faults.is_empty() { CommandExit::Proceed } else { CommandExit::EvidenceWrong })
}

/// Returns whether a path is a pipe, a socket or a device.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn special(path: &Path) -> CommandError {
    CommandError::new(
        CommandExit::Usage,
        format!("`{}` is a pipe, a socket or a device, and none of them is read", path.display()),
    )
    .hint("save what comes out of it as a file, and name the file")
}

/// Returns whether a path is a run or an exported run: a directory or an archive file.
fn is_run(path: &Path) -> bool {
    path.join(MANIFEST_NAME).is_file() || path.join("run").is_dir() || (is_archive_name(path) && path.is_file())
}

/// Returns whether a path is a file with a proof of progress, which earlier versions made, recognised by its first bytes. Its name decides
/// nothing, because a run or a task may have the same name as a file.
fn is_progress(path: &Path) -> bool {
    let mut start = [0; PROGRESS.len()];
    let read = open_regular_file(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *PROGRESS
}

fn progress(path: &Path) -> CommandError {
    CommandError::new(CommandExit::Usage, format!("`{}` is a proof of progress, and none is checked any more", path.display()))
        .hint("with the ledger, `proctor verify --anchor FILE` compares it with the checkpoint that you kept")
}

fn verify_copied(directory: &Path, options: &VerifyOptions, environment: &Environment) -> Result<Total, CommandError> {
    let keys = match &options.key {
        Some(file) => read_keys(&environment.absolute(file))?,
        None => own_keys(directory, environment)?,
    };
    let mut total = Total::default();
    let anchors = anchored::read_named(options, environment, &mut total.sum.faults)?;
    let checked = verify_copy(directory, &keys, &anchors).map_err(|error| from_evidence_error(&error))?;
    total.add(checked);
    total.hold(&anchors);
    Ok(total)
}

fn read_keys(path: &Path) -> Result<AcceptedKeys, CommandError> {
    const HINT: &str = "name the file with the public keys of whoever made the run: `proctor key export` prints them there";
    let text = read_regular_text(path, LONGEST_KEY).map_err(|error| {
        CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", path.display()), &error).hint(HINT)
    })?;
    AcceptedKeys::parse(&text)
        .map_err(|error| CommandError::caused(CommandExit::Usage, format!("`{}` is no key", path.display()), &error).hint(HINT))
}

/// Returns the keys of this user. It is an error if there are none.
fn own_keys(directory: &Path, environment: &Environment) -> Result<AcceptedKeys, CommandError> {
    let store = Store::open_to_read(environment.state_root());
    let ring = read_key_ring(&store).map_err(|error| from_evidence_error(&error))?;
    if ring.keys().is_empty() || !names_a_key(directory, &ring).map_err(|error| from_evidence_error(&error))? {
        let what = format!("`{}` is not signed by a key of yours", directory.display());
        return Err(CommandError::new(CommandExit::Usage, what).hint("name the public key of whoever made it: `--key FILE`"));
    }
    Ok(AcceptedKeys::History(ring))
}

/// Verifies what is in the store while other processes may write to it.
fn verify_store_steadily(options: &VerifyOptions, environment: &Environment) -> Result<Total, CommandError> {
    let verify = || verify_store(options, environment);
    let mut total = verify_steadily(environment.state_root(), verify, |total: &mut Total| &mut total.sum.faults)?;
    name_links(environment.state_root(), &mut total.sum.faults);
    Ok(total)
}

fn verify_store(options: &VerifyOptions, environment: &Environment) -> Result<Total, CommandError> {
    let store = Store::open_to_read(environment.state_root());
    let mut total = Total::default();
    if options.what.is_none() {
        total.sum.faults.extend(check_store_entries(&store));
    }
    let VerifiedKeys { ring: keys, faults, unfinished } = verify_keys(&store).map_err(|error| from_evidence_error(&error))?;
    total.sum.faults.extend(faults);
    total.sum.unfinished.extend(unfinished);
    // The index is made from the ledgers. It is opened before any ledger is read, so every line that the index has
    // applied must be in the ledgers.
    let index = total.look_at_index(&store);
    total.projects = if options.all {
        every_project(&store, index.as_ref(), &keys)?
    } else {
        vec![project(&store, index.as_ref(), options, environment)?]
    };
    let named = options.key.as_deref().map(|file| read_keys(&environment.absolute(file))).transpose()?;
    let anchors = anchored::read_named(options, environment, &mut total.sum.faults)?;
    let is_compared = !anchors.is_empty();
    let threads = proctor_app::processors() as usize;
    for project in total.projects.clone() {
        let subject =
            options.what.as_deref().map_or(Ok(VerificationScope::Everything), |what| subject(&store, &project, what))?;
        let checked = verify_project(&store, &project, &keys, &subject, threads).map_err(|error| from_evidence_error(&error))?;
        if options.what.is_none() {
            total.sum.faults.extend(replaced_link(environment, &store, &project, &checked, &keys));
        }
        total.sum.faults.extend(line_from_the_future(&ledger_file(&store, &project), &checked.lines, clock::now()));
        total.sum.faults.extend(approval_faults(&project, &ledger_file(&store, &project), &checked.lines));
        let differences = index.as_ref().map(|index| index.compare(&project, &checked.lines));
        total.logs.extend(is_compared.then(|| LedgerLog::from_hashes(project.clone(), checked.line_hashes.clone())));
        total.add(checked);
        match differences {
            Some(Ok(differences)) => total.sum.faults.extend(differences.iter().map(fault_from_difference)),
            Some(Err(error)) => total.sum.faults.push(fault_from_index_error(&error)),
            None => {}
        }
    }
    // With a named key, those of the store count as far as they follow from it.
    let accepted = match named {
        None => AcceptedKeys::History(keys),
        Some(named) => named.with_history(&keys).unwrap_or(named),
    };
    total.held = anchored::compare(&anchors, &total.logs, &accepted, &mut total.sum.faults);
    Ok(total)
}

/// Reports what is in the place of a project's link to its evidence, and looks like evidence. A project whose directory or settings cannot
/// be read now has no link to compare.
fn replaced_link(
    environment: &Environment,
    store: &Store,
    project: &ProjectId,
    checked: &VerificationResult,
    keys: &KeyRing,
) -> Option<EvidenceFault> {
    let registered = |line: &LedgerLine| match line.body.approving() {
        Some(ApprovingLine::Registered(record)) => Some(PathBuf::from(&record.path)),
        Some(ApprovingLine::Approved(_)) | None => None,
    };
    let root = checked.lines.iter().rev().find_map(|(_, line)| registered(line))?;
    let (configuration, _) = setup::configuration(environment, &root).ok()?;
    let name = Some(configuration.evidence.link).filter(|name| !name.is_empty())?;
    let detail = find_replaced_link(&root, &name, (&store.project_directory(project), &checked.line_hashes), keys)?;
    Some(EvidenceFault::new(FaultKind::LinkReplaced, root.join(name), detail))
}

/// Returns every project that has a ledger, evidence, or rows in the index, or that a key record knows.
fn every_project(store: &Store, index: Option<&IndexReader>, keys: &KeyRing) -> Result<Vec<ProjectId>, CommandError> {
    let mut projects = list_projects(store).map_err(|error| from_evidence_error(&error))?;
    projects.extend(projects_with_evidence(store).map_err(|error| from_evidence_error(&error))?);
    let indexed = index.and_then(|index| index.projects().ok()).unwrap_or_default();
    projects.extend(indexed.into_iter().filter_map(|project| ProjectId::try_from(project).ok()));
    projects.extend(keys.known_projects());
    projects.sort();
    projects.dedup();
    Ok(projects)
}

fn project(
    store: &Store,
    index: Option<&IndexReader>,
    options: &VerifyOptions,
    environment: &Environment,
) -> Result<ProjectId, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    // A missing or unreadable ledger does not name its project, but the index may.
    let by_index = || index.and_then(|index| index.project_at(&root.to_string_lossy()).ok().flatten());
    let found = match find_registered_project(store, &root) {
        Ok(by_ledger) => by_ledger.or_else(by_index),
        Err(error) => Some(by_index().ok_or_else(|| from_evidence_error(&error))?),
    };
    found.ok_or_else(|| opening::not_registered(environment, &root, "`proctor verify --all` verifies everything there is"))
}

/// Interprets the argument WHAT of the command line: a run by its id or number, or else a task.
fn subject(store: &Store, project: &ProjectId, what: &str) -> Result<VerificationScope, CommandError> {
    let known = proctor_evidence::known_runs(store, project).map_err(|error| from_evidence_error(&error))?;
    let number = what.parse::<u64>().ok();
    if let Some((run_id, _)) = known.iter().find(|(run_id, _)| run_id.as_str() == what || number == Some(run_id.number())) {
        return Ok(VerificationScope::Run(run_id.clone()));
    }
    match TaskId::try_from(what) {
        Ok(task) if known.iter().any(|(_, of)| *of == task) => Ok(VerificationScope::Task(task)),
        _ => Err(CommandError::new(CommandExit::Usage, format!("there is no run, task or copied run `{what}`"))
            .hint("`proctor log` lists the runs; a directory must have a `SHA256SUMS` in it")),
    }
}

impl Total {
    fn add(&mut self, checked: VerificationResult) {
        self.lines += checked.lines.len() as u64;
        self.sum.runs += checked.runs;
        self.sum.files += checked.files;
        self.sum.bytes += checked.bytes;
        self.sum.unsigned.extend(checked.unsigned);
        self.sum.archived += checked.archived;
        self.sum.pruned += checked.pruned;
        self.sum.purged += checked.purged;
        self.sum.unfinished.extend(checked.unfinished);
        self.sum.faults.extend(checked.faults);
    }

    /// Sets the anchors that hold to all `anchors`. Does nothing if any fault was found.
    fn hold(&mut self, anchors: &[Anchor]) {
        if self.sum.faults.is_empty() {
            self.held = anchors.iter().filter_map(anchored::from_anchor).collect();
        }
    }

    fn look_at_index(&mut self, store: &Store) -> Option<IndexReader> {
        match IndexReader::open(&store.index_path(), approval_counts) {
            Ok(index) => index,
            // Even for reading, SQLite has to write beside the index. It is no evidence, and the ledgers say the same.
            Err(_) if !is_writable(store.root()) => {
                render::note("note: nothing may be written in the store, so the index was not compared with the ledgers");
                None
            }
            Err(error) => {
                self.sum.faults.push(fault_from_index_error(&error));
                None
            }
        }
    }
}

fn is_writable(directory: &Path) -> bool {
    nix::unistd::access(directory, nix::unistd::AccessFlags::W_OK).is_ok()
}

fn lines(total: &Total) -> Vec<String> {
    let Total { sum, lines, held, .. } = total;
    let VerificationResult { runs, files, bytes, unsigned, archived, pruned, purged, faults, .. } = sum;
    let counted = screen::counted;
    let what = format!(
        "{}, {}, {}, {} of ledgers",
        counted(*runs, "run"),
        counted(*files, "file"),
        counted(*bytes, "byte"),
        counted(*lines, "line")
    );
    let mut text = Vec::new();
    for fault in faults {
        text.push(format!("{}: {}", fault.file.display(), fault.kind.what()));
        text.push(format!("  {}: {}", fault.kind.word(), fault.detail));
        text.push(format!("  next: {}", fault.kind.next()));
    }
    text.extend(
        unsigned.iter().map(|run_id| format!("{run_id}: unsigned (made before the first key of which there is a record)")),
    );
    text.extend((*archived > 0).then(|| format!("archived: {}", screen::counted(*archived, "run"))));
    let gone = [("pruned", pruned - purged, ""), ("purged", *purged, " of a removed project")];
    for (word, runs, whose) in gone.into_iter().filter(|(_, runs, _)| *runs > 0) {
        text.push(format!("{word}: {}{whose}, as the ledger says, which keeps the verdicts", screen::counted(runs, "run")));
    }
    text.extend(anchored::lines(held));
    for begun in &total.sum.unfinished {
        text.push(format!("{}: unfinished: {}", begun.file.display(), begun.kind.what()));
        text.push(format!("  {}: {}", begun.kind.word(), begun.detail));
        text.push(format!("  next: {}", begun.kind.next()));
    }
    text.push(if faults.is_empty() {
        format!("VERIFIED · {what}")
    } else {
        format!("{} · {what}", counted(faults.len() as u64, "FAULT").replace("FAULTs", "FAULTS"))
    });
    text
}
