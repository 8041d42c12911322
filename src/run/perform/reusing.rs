//! Checks whose result is reused: finds their inputs, and reports that nothing was started.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::Action;
use crate::project::ProjectError;
use crate::project::{DigestCertainty, EnvironmentSurvey, pinned};
use crate::report::{ActionDisposition, ActionResult, ReusedAction};
use crate::run::perform::Performer;
use crate::run::reuse::{CheckInputs, ReusableInputs, ReuseContext, may_reuse, relevant_tree};
use crate::spec::check_digest;
use crate::tree::TreeIndex;

impl Performer<'_, '_> {
    /// Waits for the survey of the environment (tools, lock files, installed packages), then computes the digest of
    /// each check's inputs. The digest decides later whether an earlier result is used.
    ///
    /// Checks whose inputs are not completely known are left out.
    pub(crate) fn reusable_inputs(
        &mut self,
        survey: EnvironmentSurvey,
        index: &TreeIndex,
    ) -> Result<ReusableInputs, ProjectError> {
        let (context, request) = (self.context, self.context.request);
        let surveyed = survey.finish(pinned(index));
        self.workspace.remember_digests(&request.scope.project, &surveyed)?;
        let mut of_checks = BTreeMap::new();
        let checks = request.plan.steps.iter().filter(|step| !step.reuse.is_off());
        for check in checks.filter(|_| surveyed.certainty == DigestCertainty::Known) {
            let Some(tree) = relevant_tree(index, &check.paths) else { continue };
            let inputs = CheckInputs {
                check: check_digest(request.plan, check),
                tree,
                environment: surveyed.digest,
                variables: &self.environment(check, Path::new("")).variables,
                sandbox: &request.settings.sandbox,
                strongest_isolation: request.settings.strongest_isolation,
                place: self.place.of_check(check),
            };
            of_checks.insert(check.name.clone(), (inputs.digest(), tree));
        }
        tracing::debug!("{}: the inputs of {} checks are known", context.run_id, of_checks.len());
        Ok(ReusableInputs { surveyed, of_checks })
    }

    /// Returns the earlier result that is used for a check; `None` if the check has to be carried out.
    pub(crate) fn earlier_verdict(&self, check: &Action, known: Option<&ReusableInputs>) -> Option<ReusedAction> {
        let known = known?;
        let request = self.context.request;
        if !may_reuse(check.reuse, ReuseContext::from_request(request, self.context.tdd.started)) {
            return None;
        }
        self.workspace.earlier_verdict(request, check, *known.of_checks.get(&check.name)?, known.surveyed.digest)
    }

    /// Uses an earlier result for a check, and reports it to the screen.
    pub(crate) fn reuse(&mut self, check: &Action, verdict: ReusedAction) -> ActionResult {
        let reused = ActionResult::new(check.clone(), ActionDisposition::Reused(Box::new(verdict)));
        self.tell(&reused);
        reused
    }
}
