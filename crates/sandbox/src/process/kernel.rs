//! Reads the kernel settings that determine the possible isolation levels. This module does not evaluate the settings.

use std::fs;
use std::path::Path;

/// Settings of the running kernel, from `/proc/sys` and `/sys`. A setting is `None` if this kernel does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSwitches {
    /// `user.max_user_namespaces`.
    pub max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, which Debian's kernels have.
    pub unprivileged_userns_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu 23.10 and later).
    pub apparmor_restrict_unprivileged_userns: Option<u64>,
    /// The enabled security modules in the kernel's order, separated by commas, such as `capability,landlock,apparmor`.
    pub security_modules: Option<String>,
}

impl KernelSwitches {
    /// Reads the settings of the running kernel.
    pub fn read() -> Self {
        Self::read_below(Path::new("/"))
    }

    fn read_below(root: &Path) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned());
        let number = |path: &str| text(path)?.parse().ok();
        Self {
            max_user_namespaces: number("proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: number("proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restrict_unprivileged_userns: number("proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            security_modules: text("sys/kernel/security/lsm").filter(|text| !text.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_switch_that_is_not_there_is_none() {
        let root = tempfile::tempdir().expect("a directory");
        assert_eq!(KernelSwitches::read_below(root.path()), KernelSwitches::default());
        fs::create_dir_all(root.path().join("proc/sys/user")).expect("a directory");
        let bound = || File::create(root.path().join("proc/sys/user/max_user_namespaces"));
        bound().and_then(|mut file| file.write_all(b"0\n")).expect("a file");
        assert_eq!(KernelSwitches::read_below(root.path()).max_user_namespaces, Some(0));
        bound().and_then(|mut file| file.write_all(b"many\n")).expect("a file");
        assert_eq!(KernelSwitches::read_below(root.path()).max_user_namespaces, None);
    }

    #[test]
    fn the_running_kernel_has_a_bound_on_user_namespaces() {
        assert!(KernelSwitches::read().max_user_namespaces.is_some());
    }
}
