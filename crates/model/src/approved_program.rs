//! Where the program of a command was when the command was approved (S7).

use serde::{Deserialize, Serialize};

use crate::Digest;

/// What the search for a program found when the command that names it was approved. Later searches prove less: whoever
/// starts proctor chooses its `PATH`, and can so hide a program or put another one in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ApprovedProgram {
    /// There was no such program.
    Absent,
    Found {
        /// The absolute path under which the program was found. Links in it are not resolved.
        path: String,
        /// The digest of the program's bytes; `None` if the file is larger than 64 MiB or could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Digest>,
        /// By which way the program was found; `None` for a program that the command names by a path, and in older lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        way: Option<ProgramWay>,
    },
}

/// By which way the search path led to a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum ProgramWay {
    /// In a directory of the project, or in a virtual environment: relative to the project if it lies there. What is in it is named by
    /// the digest of the environment.
    Environment { name: String },
    /// In what a manager of toolchains has in the user's home directory. Another version of a toolchain is the same way.
    Toolchain { kind: String },
    /// In a directory that only root can write. The path counts.
    System,
    /// In another directory. Path and content count.
    Elsewhere,
}

impl ApprovedProgram {
    /// Returns what an approval without a person records of a program that an earlier approval has already, from what was
    /// recorded and what is found now. Nothing is learned from a later search, because nobody looked at it. `None` means
    /// that nothing is known, so no edit of the command is free.
    pub fn carried(recorded: Option<&Self>, now: Option<&Self>) -> Option<Self> {
        match (recorded, now) {
            // The program is there by now, so a search that does not find it later proves nothing.
            (Some(Self::Absent), Some(Self::Found { .. })) => None,
            (recorded, _) => recorded.cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ApprovedProgram::{Absent, Found};
    use super::*;

    #[test]
    fn a_later_search_teaches_nothing() {
        let found = |path: &str| Found { path: path.to_owned(), content: None, way: None };
        let rows = [
            (None, None, None),
            (None, Some(Absent), None),
            (None, Some(found("/evil")), None),
            (Some(Absent), None, Some(Absent)),
            (Some(Absent), Some(Absent), Some(Absent)),
            (Some(Absent), Some(found("/evil")), None),
            (Some(found("/a")), Some(Absent), Some(found("/a"))),
            (Some(found("/a")), Some(found("/evil")), Some(found("/a"))),
        ];
        for (recorded, now, expected) in rows {
            assert_eq!(ApprovedProgram::carried(recorded.as_ref(), now.as_ref()), expected, "{recorded:?}, {now:?}");
        }
    }

    #[test]
    fn the_form_in_the_ledger_is_short() {
        let found = Found { path: "/usr/bin/make".to_owned(), content: None, way: None };
        let texts = [Absent, found].map(|program| serde_json::to_string(&program).expect("it has a JSON form"));
        assert_eq!(texts, ["\"absent\"", "{\"found\":{\"path\":\"/usr/bin/make\"}}"]);
    }
}
