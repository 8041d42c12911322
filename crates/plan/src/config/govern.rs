//! Reads `[govern]`: the models that draft and review, the editor, the tracker, and limits.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::command::{Shell, command};
use crate::config::paths::inner_file;
use crate::config::sandbox::{fixed_place, place};
use crate::config::section::{Document, Section};
use crate::config::settings::{GovernSettings, ModelSettings};
use crate::config::values::{WrongValue, count, duration, filled_text, list, variable_name};

/// Variables with the tracker's credentials. No model gets them, even if the settings pass them on (requirement 11 of
/// seed document 002).
const OF_THE_TRACKER: &[&str] = &["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_CONFIG_DIR"];

pub(super) fn read_govern(section: &Section<'_>, document: &mut Document<'_>) -> GovernSettings {
    let millis = Duration::from_millis;
    GovernSettings {
        editor: section.setting(document, "editor", command(Shell::None)).value.argv,
        tracker: section.setting(document, "tracker", command(Shell::None)).value.argv,
        repo: section.optional(document, "repo", filled_text("\"owner/name\"")).map(|repo| repo.value),
        trail: section.setting(document, "trail", inner_file("\"docs/audit\"")).value,
        max_iterations: section.setting(document, "max_iterations", count(1..=1000, "20")).value,
        max_attempts: section.setting(document, "max_attempts", count(1..=100, "3")).value,
        tool_timeout: section.setting(document, "tool_timeout", duration(millis(100)..=millis(3_600_000), "\"60s\"")).value,
        drafter: read_model(&section.table(document, "drafter"), document),
        reviewer: read_model(&section.table(document, "reviewer"), document),
    }
}

fn read_model(section: &Section<'_>, document: &mut Document<'_>) -> ModelSettings {
    const VISIBLE: &str = "[\"~/.config/model\"]";
    const WRITABLE: &str = "[\"~/.cache/model\"]";
    let millis = Duration::from_millis;
    ModelSettings {
        name: section.setting(document, "name", filled_text("\"Claude\"")).value,
        command: section.optional(document, "command", command(Shell::None)).map(|command| command.value.argv),
        pass_environment: section.setting(document, "pass_environment", list(variable, "[\"MODEL_KEY\"]")).value,
        visible: section.setting(document, "visible", list(fixed_place(VISIBLE), VISIBLE)).value,
        writable: section.setting(document, "writable", list(place(WRITABLE), WRITABLE)).value,
        timeout: section.setting(document, "timeout", duration(millis(100)..=millis(86_400_000), "\"10m\"")).value,
    }
}

fn variable(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = filled_text("\"MODEL_KEY\"")(value)?;
    if OF_THE_TRACKER.contains(&name.as_str()) {
        return Err(WrongValue::new(format!("`{name}` opens the tracker, which no model may reach")).hint("remove it"));
    }
    variable_name(&name).map(|()| name)
}

#[cfg(test)]
mod tests {
    use crate::config::{Configuration, read};

    fn problems(text: &str) -> String {
        let problems = read(text, "proctor.toml").expect_err("the text is wrong");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn without_a_word_the_editor_and_the_tracker_are_the_usual_ones_and_nobody_is_asked() {
        let settings = Configuration::default().govern;
        assert_eq!((settings.editor, settings.tracker), (vec!["code".to_owned(), "--wait".to_owned()], vec!["gh".to_owned()]));
        assert_eq!((settings.drafter.name.as_str(), settings.reviewer.name.as_str()), ("Claude", "Gemini"));
        assert_eq!((settings.drafter.command, settings.reviewer.command, settings.repo), (None, None, None));
        assert_eq!((settings.max_iterations, settings.max_attempts, settings.trail.as_str()), (20, 3, "docs/audit"));
    }

    #[test]
    fn no_model_is_given_what_opens_the_tracker() {
        insta::assert_snapshot!(problems("[govern.drafter]\npass_environment = [\"MODEL_KEY\", \"GH_TOKEN\"]\n"), @"
        proctor.toml:2:34: govern.drafter.pass_environment[2]: `GH_TOKEN` opens the tracker, which no model may reach
          remove it
        ");
    }

    #[test]
    fn the_trail_lies_in_the_project() {
        for path in ["/srv/audit", "../audit", "a/../../b", ""] {
            assert!(problems(&format!("[govern]\ntrail = \"{path}\"\n")).contains("govern.trail"), "{path}");
        }
    }
}
