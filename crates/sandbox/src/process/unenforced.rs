//! Which limits of an action are not enforced, and whether the action may run without them. Pure.

use crate::process::cgroup::Cgroup;
use crate::process::protocol::Obstacle;
use proctor_model::{LimitEnforcement, LimitSetting, ResourceLimits, UnenforcedLimit};

/// Returns the limits of an action that are not enforced: all that were asked for, if the action has no cgroup.
///
/// # Errors
/// When the settings require that limits are enforced, and one is not.
pub(super) fn unenforced_limits(
    group: &Result<Cgroup, String>,
    limits: &ResourceLimits,
) -> Result<Vec<UnenforcedLimit>, Obstacle> {
    let unenforced = match group {
        Ok(group) => group.unenforced().to_vec(),
        Err(why) => {
            let memory = limits.memory.map(|_| LimitSetting::Memory);
            let processes = limits.processes.map(|_| LimitSetting::Processes);
            memory.into_iter().chain(processes).map(|setting| UnenforcedLimit { setting, why: why.clone() }).collect()
        }
    };
    match (limits.enforcement, unenforced.first()) {
        (LimitEnforcement::Required, Some(UnenforcedLimit { setting, why })) => Err(Obstacle::Place(format!(
            "`sandbox.limits = \"require\"` wants `sandbox.{}` enforced, and it is not: {why}",
            setting.key()
        ))),
        (LimitEnforcement::Required, None) | (LimitEnforcement::WherePossible, _) => Ok(unenforced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Result<Cgroup, String> {
        Err("no cgroup was delegated".to_owned())
    }

    #[test]
    fn without_a_cgroup_each_limit_that_was_asked_for_is_named_with_the_reason() {
        let memory = ResourceLimits { memory: Some(1), ..ResourceLimits::default() };
        let expected = UnenforcedLimit { setting: LimitSetting::Memory, why: "no cgroup was delegated".to_owned() };
        assert_eq!(unenforced_limits(&refused(), &memory), Ok(vec![expected]));
        assert_eq!(unenforced_limits(&refused(), &ResourceLimits::default()), Ok(Vec::new()));
    }

    #[test]
    fn a_required_limit_that_is_not_enforced_refuses_the_action_and_a_limit_that_was_not_asked_for_does_not() {
        let required = ResourceLimits { enforcement: LimitEnforcement::Required, ..ResourceLimits::default() };
        assert_eq!(unenforced_limits(&refused(), &required), Ok(Vec::new()));
        let refusal = unenforced_limits(&refused(), &ResourceLimits { processes: Some(8), ..required });
        assert!(matches!(&refusal, Err(Obstacle::Place(why)) if why.contains("`sandbox.processes`")), "{refusal:?}");
    }
}
