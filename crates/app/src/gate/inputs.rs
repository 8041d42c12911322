//! The inputs of a commit: which files beside the project its tree digest names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::gate::errors::from_git_read_error;
use crate::project::{inputs, opening, setup};
use proctor_git::ObjectId;
use proctor_model::{RunId, TreeDigest, TreePath};
use proctor_plan::verdict::{GateJudgement, GateState};
use proctor_project::{CommittedFile, ProjectRepository, StoreReader};
use proctor_tree::InputPlace;
use proctor_tree::ignore::{Matcher, MatcherSettings};

/// The most lists of inputs that runs recorded for which the digest of a commit is computed, beside those that are found now.
const MOST_OTHER_INPUTS: usize = 16;

/// Stands among what the checks of a proof could also read.
const OTHER_VARIABLES: &str = "other variables than they would have here (`PATH`, `TZ` and the like)";

/// Adds the configuration above the project that the commit has and the working tree lacks: tools find it once the commit is checked out.
///
/// # Errors
/// When the commit cannot be read.
pub(super) fn of_commit(
    (environment, repository): (&Environment, &ProjectRepository),
    commit: ObjectId,
    settings: MatcherSettings,
) -> Result<MatcherSettings, CommandError> {
    let read = repository.configuration_above(commit);
    let names = read.map_err(|error| from_git_read_error(&repository.storage, &error))?;
    let search = inputs::search(environment, &repository.root);
    let places = names.iter().filter_map(|name| search.place(name).ok());
    // What is there now and is no input was left out for a reason, which holds for the commit too.
    let new = places.filter(|place| place.path.symlink_metadata().is_err());
    Ok(MatcherSettings { inputs: settings.inputs.iter().cloned().chain(new).collect(), ..settings })
}

/// Returns matchers with the inputs that runs recorded, in place of those of the commit in `settings`. `attested` are those of attestations.
/// What a project's files lead to depends on what is installed, so a run may have seen more than a run would see now. One that lacks an
/// input that the commit has judged another content.
pub(super) fn other_inputs(
    (environment, archive): (&Environment, &mut StoreReader),
    (repository, commit): (&ProjectRepository, ObjectId),
    settings: &MatcherSettings,
    attested: &[Vec<String>],
) -> Result<Vec<Matcher>, CommandError> {
    let root = &repository.root;
    let own = archive.find_project(root)?;
    let others = archive.projects_of_repository(root)?;
    let recorded = archive.recorded_inputs(own.as_ref(), (&others, root))?;
    let search = inputs::search(environment, root);
    let is_committed = |input: &&InputPlace| !matches!(repository.file_of(commit, &input.name), Ok(CommittedFile::Absent));
    let committed: Vec<&InputPlace> =
        settings.inputs.iter().filter(|input| input.in_repository(&repository.below).is_some()).filter(is_committed).collect();
    let names_all =
        |places: &[InputPlace]| committed.iter().all(|input| places.iter().any(|place| input.path.starts_with(&place.path)));
    let mut known: Vec<Vec<InputPlace>> = vec![settings.inputs.clone()];
    for names in recorded.iter().chain(attested) {
        // One that is refused now was not seen by checks, or lies elsewhere than it did.
        let places: Result<Vec<InputPlace>, _> = names.iter().map(|name| search.place(name)).collect();
        let is_other = |places: &Vec<InputPlace>| names_all(places) && !known.iter().any(|known| have_same_names(known, places));
        known.extend(places.ok().filter(is_other));
    }
    let others = known.into_iter().skip(1).take(MOST_OTHER_INPUTS);
    others.map(|inputs| opening::matcher_of(&MatcherSettings { inputs, ..settings.clone() })).collect()
}

fn have_same_names(some: &[InputPlace], others: &[InputPlace]) -> bool {
    let names = |places: &[InputPlace]| places.iter().map(|place| place.name.clone()).collect::<BTreeSet<_>>();
    names(some) == names(others)
}

/// Names the inputs that lie outside of the repository or that it ignores: no commit has their content, so the answer holds for what is
/// there now.
pub(super) fn name_inputs_outside(judgements: &mut [GateJudgement], matcher: &Matcher, below: &TreePath) {
    let is_outside = |input: &&InputPlace| input.in_repository(below).is_none() || input.is_ignored();
    let outside = matcher.inputs().iter().filter(is_outside);
    let outside: Vec<String> = outside.map(|input| input.name.clone()).collect();
    for judged in judgements.iter_mut().filter(|judged| judged.state == GateState::Proved) {
        judged.also_read.extend(outside.iter().cloned());
    }
}

/// Says where the checks of a proof had other variables than checks would have here: no digest of files names these.
pub(super) fn name_variables(
    judgements: &mut [GateJudgement],
    (environment, root, archive): (&Environment, &Path, &mut StoreReader),
    tree: TreeDigest,
) -> Result<(), CommandError> {
    let configuration = setup::configuration(environment, root);
    let here = configuration.and_then(|(configuration, _)| opening::environment_additions(root, &configuration)).ok();
    for judged in judgements.iter_mut().filter(|judged| judged.state == GateState::Proved) {
        let runs: Vec<&RunId> = judged.runs.iter().collect();
        let are_other = here.as_ref().map(|here| archive.had_other_variables((root, here), tree, &runs)).transpose()?;
        judged.also_read.extend(are_other.unwrap_or(true).then(|| OTHER_VARIABLES.to_owned()));
    }
    Ok(())
}
