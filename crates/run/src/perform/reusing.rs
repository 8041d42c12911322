//! Checks whose result is reused: finds their inputs, and reports that nothing was started.

use std::collections::BTreeMap;
use std::path::Path;

use crate::environment::toolchain_component;
use crate::perform::Performer;
use crate::reuse::{
    CheckInputs, PresentConditions, RelevantTree, ReusableInputs, ReuseContext, earlier_verdict, may_reuse, relevant_tree,
    result_on_this_tree, without_needed_checks,
};
use proctor_evidence::report::{ActionDisposition, ActionResult, ReusedAction};
use proctor_evidence::secret_of_digests;
use proctor_model::{Action, ActionId, Digest};
use proctor_plan::spec::check_digest;
use proctor_project::{
    DigestCertainty, EnvironmentSurvey, ProjectError, Selection, SurveyedEnvironment, ToolchainSurvey, pinned,
};
use proctor_tree::TreeIndex;

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
        self.installed.remember_digests(&mut self.evidence.index, &request.scope.project, &surveyed)?;
        let mut of_checks = BTreeMap::new();
        let secret = secret_of_digests(&self.evidence.store).filter(|_| surveyed.certainty == DigestCertainty::Known);
        let checks = request.plan.steps.iter().filter(|step| !step.reuse.is_never_in_a_run());
        for (check, secret) in checks.zip(secret.into_iter().cycle()) {
            let Some(tree) = relevant_tree(index, &check.paths) else { continue };
            let inputs = CheckInputs {
                check: check_digest(request.plan, check),
                tree,
                environment: surveyed.digest,
                secret,
                variables: &self.environment(check, Path::new("")).variables,
                sandbox: &request.settings.sandbox,
                strongest_isolation: request.settings.strongest_isolation,
                place: self.place.of_check(check),
            };
            of_checks.insert(check.name.clone(), (inputs.digest(), tree));
        }
        let contents = self.toolchains.as_mut().map(ToolchainSurvey::contents).unwrap_or_default().into_iter();
        let toolchains = contents.map(|(path, content)| (toolchain_component(path), content)).collect();
        let on_this_tree = self.results_on_this_tree(&surveyed, &toolchains);
        tracing::debug!("{}: the inputs of {} checks are known", context.run_id, of_checks.len());
        Ok(ReusableInputs { surveyed, toolchains, of_checks, on_this_tree })
    }

    /// Returns the results that checks already have on this tree, and that stand for the checks in this run.
    fn results_on_this_tree(
        &self,
        surveyed: &SurveyedEnvironment,
        toolchains: &BTreeMap<String, Digest>,
    ) -> BTreeMap<ActionId, ReusedAction> {
        let (context, request) = (self.context, self.context.request);
        if surveyed.certainty != DigestCertainty::Known {
            return BTreeMap::new();
        }
        let result = |step: &Action| {
            let run_id = context.on_this_tree.get(&step.id)?;
            let (place, environment, tree) = (self.place.of_check(step), surveyed.digest, context.before);
            let now = PresentConditions { place, environment, toolchains, tree };
            Some((step.id.clone(), result_on_this_tree(&self.evidence.store, request, step, run_id, now)?))
        };
        without_needed_checks(request.plan, request.plan.steps.iter().filter_map(result).collect())
    }

    /// Returns the earlier result that is used for a check; `None` if the check has to be carried out.
    pub(crate) fn earlier_verdict(&self, check: &Action, known: Option<&ReusableInputs>) -> Option<ReusedAction> {
        let known = known?;
        let request = self.context.request;
        if let Some(result) = known.on_this_tree.get(&check.id) {
            return Some(result.clone());
        }
        if !may_reuse(check.reuse, ReuseContext::from_request(request, self.context.tdd.started)) {
            return None;
        }
        let (inputs, tree) = *known.of_checks.get(&check.name)?;
        // `paths` are no proof of what a check reads. Who asks for the missing checks wants a result for this tree.
        let tree = if request.checks == Selection::Missing { RelevantTree::Whole(self.context.before) } else { tree };
        earlier_verdict(self.evidence, request, check, inputs, tree, known, self.context.before)
    }

    /// Uses an earlier result for a check, and reports it to the screen.
    pub(crate) fn reuse(&mut self, check: &Action, verdict: ReusedAction) -> ActionResult {
        let reused = ActionResult::new(check.clone(), ActionDisposition::Reused(Box::new(verdict)));
        self.tell(&reused);
        reused
    }
}
