//! Reads `[sandbox]`. Nothing here looks at the disk: code that isolates an action finds out later whether the paths
//! exist.

use toml::Spanned;
use toml::de::DeValue;

use crate::config::section::{Document, Section};
use crate::config::values::{WrongValue, choice, count, filled_text, list, or_off, size};
use proctor_model::{
    ByteSize, CachesMode, HomeAccess, LimitEnforcement, NetworkAccess, PackageCredentials, ProtectionMode, SandboxSettings,
    SystemCallFilter, World,
};

pub(super) const CACHES: &[(&str, CachesMode)] = &[("kept", CachesMode::Kept), ("fresh", CachesMode::Fresh)];

/// The smallest allowed limits of memory and of written bytes. With less memory, the interpreter of a script does not even start.
const MEMORY_LEAST: ByteSize = ByteSize(16 << 20);
const MEMORY_MOST: ByteSize = ByteSize(1 << 40);

pub(super) const LIMITS: &[(&str, LimitEnforcement)] =
    &[("auto", LimitEnforcement::WherePossible), ("require", LimitEnforcement::Required)];

pub(super) const SYSTEM_CALL_FILTER: &[(&str, SystemCallFilter)] =
    &[("auto", SystemCallFilter::WherePossible), ("require", SystemCallFilter::Required), ("off", SystemCallFilter::Off)];

pub(super) const PACKAGE_CREDENTIALS: &[(&str, PackageCredentials)] =
    &[("hidden", PackageCredentials::Hidden), ("prerequisites", PackageCredentials::ForPrerequisites)];

const SNAPSHOT_LEAST: ByteSize = ByteSize(1 << 20);
const SNAPSHOT_MOST: ByteSize = ByteSize(1 << 40);

pub(super) fn read_sandbox(section: &Section<'_>, document: &mut Document<'_>) -> SandboxSettings {
    const WRITABLE: &str = "[\"~/.cargo/git\"]";
    const SOCKETS: &str = "[\"/run/docker.sock\"]";
    const VISIBLE: &str = "[\"~/.aws\"]";
    SandboxSettings {
        mode: section.setting(document, "mode", choice(&ProtectionMode::WORDS)).value,
        writable: section.setting(document, "writable", list(place(WRITABLE), WRITABLE)).value,
        sockets: section.setting(document, "sockets", list(fixed_place(SOCKETS), SOCKETS)).value,
        visible: section.setting(document, "visible", list(place(VISIBLE), VISIBLE)).value,
        home: section.setting(document, "home", choice(&HomeAccess::WORDS)).value,
        world: section.setting(document, "world", choice(&World::WORDS)).value,
        network: section.setting(document, "network", choice(&NetworkAccess::WORDS)).value,
        memory: section.setting(document, "memory", or_off(size(MEMORY_LEAST..=MEMORY_MOST, "\"4GiB\""))).value,
        processes: section.setting(document, "processes", or_off(count(8..=1_000_000, "512"))).value,
        max_written: section.setting(document, "max_written", or_off(size(MEMORY_LEAST..=MEMORY_MOST, "\"4GiB\""))).value,
        limits: section.setting(document, "limits", choice(LIMITS)).value,
        system_call_filter: section.setting(document, "system_call_filter", choice(SYSTEM_CALL_FILTER)).value,
        package_credentials: section.setting(document, "package_credentials", choice(PACKAGE_CREDENTIALS)).value,
        snapshot: section.setting(document, "snapshot", choice(&ProtectionMode::WORDS)).value,
        max_snapshot_bytes: section
            .setting(document, "max_snapshot_bytes", size(SNAPSHOT_LEAST..=SNAPSHOT_MOST, "\"2GiB\""))
            .value,
        caches: section.setting(document, "caches", choice(CACHES)).value,
    }
}

/// Reads a path that is relative to the project, absolute, or below HOME (`~/…`).
pub(super) fn place(example: &'static str) -> impl Fn(&Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    move |value| {
        let path = filled_text(example)(value)?;
        if path.starts_with('$') {
            return Err(
                WrongValue::new(format!("`{path}` names a variable, and none is replaced here")).hint("write `~/…` for HOME")
            );
        }
        if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
            return Err(WrongValue::new(format!("`{path}` names another user's home")).hint("write an absolute path"));
        }
        Ok(path)
    }
}

/// Reads a path that is absolute or below HOME.
pub(super) fn fixed_place(example: &'static str) -> impl Fn(&Spanned<DeValue<'_>>) -> Result<String, WrongValue> {
    move |value| {
        let path = place(example)(value)?;
        if path.starts_with(['/', '~']) {
            Ok(path)
        } else {
            Err(WrongValue::new(format!("`{path}` is a relative path")).example(example))
        }
    }
}
