//! Reads `[gate]`: what `proctor gate` asks of a commit; and `[share]`.

use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use crate::config::section::{Document, Section};
use crate::config::settings::ShareSettings;
use crate::config::values::{WrongValue, boolean, choice, duration, filled_text, list, or_off, text};
use proctor_model::{FlakyTests, GatePolicy, IsolationLevel, ProofAsked, TaskId, WeakenedChanges, World};

const LONGEST_AGE: Duration = Duration::from_secs(3650 * 24 * 3600);

pub(super) fn read_gate(section: &Section<'_>, document: &mut Document<'_>) -> GatePolicy {
    let age = or_off(duration(Duration::from_secs(1)..=LONGEST_AGE, "\"72h\""));
    let mut tasks = section.setting(document, "tasks", list(task, "[\"default\", \"T117\"]"));
    if tasks.value.is_empty() {
        if let Some(place) = tasks.place {
            let wrong = WrongValue::new("no task is required, so every commit would be proved");
            document.report_at(place, &section.key_path("tasks"), wrong.hint("name one, for example `tasks = [\"default\"]`"));
        }
        tasks.value = vec![TaskId::default_task()];
    }
    GatePolicy {
        tasks: tasks.value,
        checks: section.setting(document, "checks", list(filled_text("\"unit\""), "[\"unit\", \"types\"]")).value,
        isolation: section.setting(document, "isolation", choice(&IsolationLevel::WORDS)).value,
        world: section.setting(document, "world", choice(&World::WORDS)).value,
        max_age: section.setting(document, "max_age", age).value,
        platforms: section.setting(document, "platforms", list(platform, "[\"linux-x86_64\"]")).value,
        fresh_caches: section.setting(document, "fresh_caches", boolean).value,
        ignored_inputs: section
            .setting(document, "ignored_inputs", list(filled_text("\".env\""), "[\".env\", \"/data/\"]"))
            .value,
        signers: Some(section.setting(document, "signers", file_below).value).filter(|file| !file.is_empty()),
        follow: Some(section.setting(document, "follow", remote_branch).value).filter(|branch| !branch.is_empty()),
        weakened: section.setting(document, "weakened", choice(&WeakenedChanges::WORDS)).value,
        flaky: section.setting(document, "flaky", choice(&FlakyTests::WORDS)).value,
        prove: section.setting(document, "prove", choice(&ProofAsked::WORDS)).value,
    }
}

/// Reads `[share]`: with whom attestations are shared.
pub(super) fn read_share(section: &Section<'_>, document: &mut Document<'_>) -> ShareSettings {
    // What begins with a hyphen is an option of git, and what has a colon or a slash is an address that a person sees nowhere.
    let remote = |value: &Spanned<DeValue<'_>>| {
        let name = text("\"origin\"")(value)?;
        let is_name =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) && !name.starts_with(['-', '.']);
        let wrong = || WrongValue::new(format!("`{name}` is no name of a remote repository")).hint("write `origin`");
        if is_name { Ok(name) } else { Err(wrong()) }
    };
    let directory = |value: &Spanned<DeValue<'_>>| {
        let path = text("\"/mnt/team/proctor\"")(value)?;
        let wrong = || WrongValue::new(format!("`{path}` is no absolute path")).hint("write `/mnt/team/proctor`");
        if path.is_empty() || path.starts_with('/') { Ok(path) } else { Err(wrong()) }
    };
    ShareSettings {
        git: section.setting(document, "git", remote).value,
        directory: section.setting(document, "directory", directory).value,
    }
}

fn task(value: &Spanned<DeValue<'_>>) -> Result<TaskId, WrongValue> {
    let name = filled_text("\"T117\"")(value)?;
    TaskId::try_from(name.as_str())
        .map_err(|_| WrongValue::new(format!("`{name}` is no task")).hint("write `default`, or a task's id such as `T117`"))
}

/// Reads a platform's name: the kernel, a hyphen and the processor.
fn platform(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = filled_text("\"linux-x86_64\"")(value)?;
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match name.split_once('-') {
        Some((system, processor)) if is_word(system) && is_word(processor) => Ok(name),
        _ => Err(WrongValue::new(format!("`{name}` is no platform")).hint("write `linux-x86_64` or `linux-aarch64`")),
    }
}

/// Reads the path of a file in the project, which may be empty.
fn file_below(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let path = text("\"allowed_signers\"")(value)?;
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(WrongValue::new(format!("`{path}` is no file of the project, and the file is read from the trusted commit"))
            .hint("name a file below the project's directory, for example `allowed_signers`"));
    }
    Ok(path)
}

/// Reads the name of a branch of a remote repository, which may be empty.
fn remote_branch(value: &Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    let name = text("\"origin/main\"")(value)?;
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains([' ', '@', '~', '^', ':']);
    if name.is_empty() || (name.contains('/') && name.split('/').all(is_part)) {
        return Ok(name);
    }
    Err(WrongValue::new(format!("`{name}` is no branch of a remote repository")).hint("write `origin/main`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    #[test]
    fn every_setting_is_read_and_no_list_of_tasks_is_empty() {
        let text = "[gate]\ntasks = [\"T117\"]\nchecks = [\"types\"]\nworld = \"open\"\nisolation = \"cgroup\"\nmax_age = \"2h\"\n\
            platforms = [\"linux-x86_64\"]\nfresh_caches = false\nignored_inputs = [\".env\"]\nsigners = \"keys/signers\"\nfollow = \"origin/main\"\nweakened = \"say\"\nflaky = \"say\"\nprove = \"tests\"\n";
        let expected = GatePolicy {
            tasks: vec![TaskId::try_from("T117").unwrap()],
            checks: vec!["types".to_owned()],
            isolation: IsolationLevel::Cgroup,
            world: World::Open,
            max_age: Some(Duration::from_secs(7200)),
            platforms: vec!["linux-x86_64".to_owned()],
            fresh_caches: false,
            ignored_inputs: vec![".env".to_owned()],
            signers: Some("keys/signers".to_owned()),
            follow: Some("origin/main".to_owned()),
            weakened: WeakenedChanges::Say,
            flaky: FlakyTests::Say,
            prove: ProofAsked::Tests,
        };
        assert_eq!(read(text, "proctor.toml").unwrap().gate, expected);
        let defaults = read("", "proctor.toml").unwrap().gate;
        assert_eq!((defaults.tasks, defaults.isolation), (vec![TaskId::default_task()], IsolationLevel::ProcessGroup));
        assert_eq!((defaults.fresh_caches, defaults.signers, defaults.world), (true, None, World::Closed));
        for wrong in [
            "tasks = []",
            "tasks = [\"a b\"]",
            "isolation = \"strong\"",
            "max_age = \"0s\"",
            "signers = []",
            "signers = \"../keys\"",
            "platforms = [\"linux\"]",
            "follow = \"main\"",
            "follow = \"origin/../heads/main\"",
        ] {
            assert!(read(&format!("[gate]\n{wrong}\n"), "proctor.toml").is_err(), "{wrong}");
        }
    }
}
