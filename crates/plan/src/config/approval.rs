//! Reads `[approval]`: how people approve weaker checks, and which files are protected.

use crate::config::paths::glob;
use crate::config::section::{Document, Section};
use crate::config::settings::ApprovalSettings;
use crate::config::values::{WrongValue, boolean, choice, list, text};
use proctor_model::{ApprovalTerms, OnProtectedChange};

const ON_PROTECTED_CHANGE: &[(&str, OnProtectedChange)] =
    &[("show", OnProtectedChange::Show), ("human-review", OnProtectedChange::HumanReview)];

pub(super) fn read_approval(section: &Section<'_>, document: &mut Document<'_>) -> ApprovalSettings {
    let mut require_signature = section.setting(document, "require_signature", boolean);
    let allowed_signers = section.setting(document, "allowed_signers", text("\"allowed_signers\""));
    if require_signature.value && allowed_signers.value.is_empty() {
        if let Some(place) = require_signature.place {
            let wrong = WrongValue::new("nobody could ever approve: there is no file of keys");
            let hint = "name one beside it, for example `allowed_signers = \"allowed_signers\"`";
            document.report_at(place, &section.key_path("require_signature"), wrong.hint(hint.to_owned()));
        }
        require_signature.value = false;
    }
    let terms = ApprovalTerms {
        protect: section.setting(document, "protect", list(glob, "[\"tests/**\", \"conftest.py\"]")).value,
        on_protected_change: section.setting(document, "on_protected_change", choice(ON_PROTECTED_CHANGE)).value,
        require_signature: require_signature.value,
        signers: Vec::new(),
    };
    ApprovalSettings { terms, allowed_signers: Some(allowed_signers).filter(|file| !file.value.is_empty()) }
}
