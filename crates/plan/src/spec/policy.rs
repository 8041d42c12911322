//! Decides the policy of a check, and records where each part comes from (C20–C25, C30).

use crate::config::{Configuration, PolicyOverride, WrittenValue};
use proctor_model::{BlockOn, PlanNote, PolicySource, Tool, ToolPolicy};
use proctor_tools::FoundPolicy;

/// Returns the policy of a check; `None` for tools without a policy.
///
/// The most specific setting wins, in this order: the check's own, the tool's, the category's (C23), the project's scripts (C30),
/// the tool's default (C20).
pub(super) fn resolve_policy(
    tool: Tool,
    configuration: &Configuration,
    check: Option<&PolicyOverride>,
    found: Option<&FoundPolicy>,
) -> Option<ToolPolicy> {
    let settings = &configuration.policy;
    let (own, category) = (settings.of(tool)?, settings.for_category(tool.policy_category()?));
    let nearest = Nearest { check, own };
    let (block_on, source) = block_on(configuration, nearest, category, found);
    let limit = nearest.written(|said| said.warnings.at_most.as_ref()).map(|placed| placed.value);
    Some(ToolPolicy {
        block_on,
        source,
        treat_warnings_as_errors: nearest.value(|said| said.warnings.as_errors.as_ref()),
        max_warnings: limit.or_else(|| found.and_then(|found| found.max_warnings)),
        ignored_rules: nearest.value(|said| said.rules.ignored.as_ref()),
        error_on_rules: nearest.value(|said| said.rules.as_errors.as_ref()),
    })
}

/// Returns notes about policy settings that have no effect or override the category's (C23, C25).
pub(super) fn policy_notes(tool: Tool, configuration: &Configuration, name: &str, policy: &ToolPolicy) -> Vec<PlanNote> {
    let settings = &configuration.policy;
    let (Some(own), Some(category)) = (settings.of(tool), tool.policy_category()) else { return Vec::new() };
    let (category, key) = (settings.for_category(category), category.key());
    let mut notes = Vec::new();
    let own_word = own.block_on.as_ref().filter(|placed| placed.is_written());
    if let (Some(own), Some(category)) = (own_word, category)
        && own.value != category.value
    {
        let message = format!("its own `block_on` differs from `policy.{key}` and wins");
        notes.push(PlanNote { subject: name.to_owned(), message });
    }
    let counts = matches!(policy.block_on, BlockOn::ErrorsOnly | BlockOn::ErrorsAlways);
    if policy.max_warnings.is_some() && !counts {
        let message = format!("`max_warnings` has no effect under {}", policy.block_on.strategy());
        notes.push(PlanNote { subject: name.to_owned(), message });
    }
    notes
}

#[derive(Clone, Copy)]
struct Nearest<'s> {
    check: Option<&'s PolicyOverride>,
    own: &'s PolicyOverride,
}

impl<'s> Nearest<'s> {
    fn written<T: 's>(self, key: impl Fn(&'s PolicyOverride) -> Option<&'s WrittenValue<T>>) -> Option<&'s WrittenValue<T>> {
        let said = self.check.and_then(&key).or_else(|| key(self.own));
        said.filter(|placed| placed.is_written())
    }

    fn value<T: Clone + Default + 's>(self, key: impl Fn(&'s PolicyOverride) -> Option<&'s WrittenValue<T>>) -> T {
        self.check.and_then(&key).or_else(|| key(self.own)).map(|placed| placed.value.clone()).unwrap_or_default()
    }
}

fn block_on(
    configuration: &Configuration,
    nearest: Nearest<'_>,
    category: Option<&WrittenValue<BlockOn>>,
    found: Option<&FoundPolicy>,
) -> (BlockOn, PolicySource) {
    if let Some(enabled) = nearest.written(|said| said.enabled.as_ref()).filter(|enabled| !enabled.value) {
        return (BlockOn::Never, PolicySource::Disabled(place(configuration, enabled)));
    }
    if let Some(said) = nearest.written(|said| said.block_on.as_ref()).or(category) {
        return (said.value, PolicySource::Configured(place(configuration, said)));
    }
    let default = nearest.own.block_on.as_ref().map(|placed| placed.value).expect("default.toml has one for each tool");
    match found {
        Some(found) => (found.block_on.unwrap_or(default), PolicySource::Configured(found.place.clone())),
        None => (default, PolicySource::Default),
    }
}

fn place<T>(configuration: &Configuration, placed: &WrittenValue<T>) -> String {
    match placed.place {
        Some(place) => format!("{}:{}", configuration.file, place.line),
        None => configuration.file.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    fn policy(text: &str, tool: Tool, found: Option<&FoundPolicy>) -> ToolPolicy {
        let configuration = read(text, "proctor.toml").expect("a right text");
        let check = configuration.checks.first().map(|check| &check.policy.value);
        resolve_policy(tool, &configuration, check, found).expect("a tool with a policy")
    }

    fn configured(line: usize) -> PolicySource {
        PolicySource::Configured(format!("proctor.toml:{line}"))
    }

    #[test]
    fn the_nearest_word_wins_and_is_named() {
        let zero = FoundPolicy::from_limit(Some(0), "package.json scripts.lint");
        let script = PolicySource::Configured("package.json scripts.lint".to_owned());
        let check = "[policy]\nlinting = \"never\"\n[policy.eslint]\nblock_on = \"warn-only\"\n[[check]]\nname = \"a\"\ntool = \"eslint\"\npolicy = { block_on = \"errors-always\" }\n";
        for (text, found, block_on, source) in [
            ("", None, BlockOn::ErrorsOnly, PolicySource::Default),
            ("", zero.as_ref(), BlockOn::ErrorsAndWarnings, script),
            ("[policy]\nlinting = \"never\"\n", zero.as_ref(), BlockOn::Never, configured(2)),
            (
                "[policy]\nlinting = \"never\"\n[policy.eslint]\nblock_on = \"warn-only\"\n",
                None,
                BlockOn::WarnOnly,
                configured(4),
            ),
            (check, None, BlockOn::ErrorsAlways, configured(8)),
        ] {
            let policy = policy(text, Tool::Eslint, found);
            assert_eq!((policy.block_on, policy.source), (block_on, source), "{text}");
        }
        assert_eq!(policy("", Tool::Tsc, None).block_on, BlockOn::ErrorsAlways);
    }

    #[test]
    fn a_tool_that_is_switched_off_never_blocks_and_says_where() {
        let off = policy("[policy.eslint]\nblock_on = \"errors-always\"\nenabled = false\n", Tool::Eslint, None);
        assert_eq!((off.block_on, off.source), (BlockOn::Never, PolicySource::Disabled("proctor.toml:3".to_owned())));
    }

    #[test]
    fn a_limit_on_warnings_comes_from_the_settings_before_the_script() {
        let script = FoundPolicy::from_limit(Some(7), "package.json scripts.lint");
        let found = policy("", Tool::Eslint, script.as_ref());
        assert_eq!((found.block_on, found.max_warnings), (BlockOn::ErrorsOnly, Some(7)));
        assert_eq!(policy("[policy.eslint]\nmax_warnings = 3\n", Tool::Eslint, script.as_ref()).max_warnings, Some(3));
        assert_eq!(policy("", Tool::Eslint, None).max_warnings, None);
    }

    #[test]
    fn rules_and_warnings_are_those_of_the_check_before_those_of_the_tool() {
        let own = "[policy.eslint]\ntreat_warnings_as_errors = true\nignored_rules = [\"a\"]\nerror_on_rules = [\"b\"]\n";
        let said = policy(own, Tool::Eslint, None);
        assert_eq!(
            (said.treat_warnings_as_errors, said.ignored_rules, said.error_on_rules),
            (true, vec!["a".into()], vec!["b".into()])
        );
        let check = "[[check]]\nname = \"a\"\ntool = \"eslint\"\npolicy = { treat_warnings_as_errors = false, ignored_rules = [\"c\"] }\n";
        let said = policy(&format!("{own}{check}"), Tool::Eslint, None);
        assert_eq!(
            (said.treat_warnings_as_errors, said.ignored_rules, said.error_on_rules),
            (false, vec!["c".into()], vec!["b".into()])
        );
    }

    #[test]
    fn settings_without_effect_are_noted() {
        let text = "[policy]\nlinting = \"never\"\n[policy.eslint]\nblock_on = \"warn-only\"\nmax_warnings = 2\n";
        let configuration = read(text, "proctor.toml").expect("a right text");
        let policy = policy(text, Tool::Eslint, None);
        let notes = policy_notes(Tool::Eslint, &configuration, "lint", &policy);
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert_eq!(policy_notes(Tool::Tsc, &configuration, "types", &policy).len(), 1);
    }
}
