//! What can be done about one failure, made from what was seen of it.

/// The advice for one failure. A field that is empty has the general advice for the failure's category.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advice {
    /// What to do, as one sentence that names what was seen: the request, the file, the process, the values.
    pub fix: Option<String>,
    /// What was asked for, such as `200 to 299` or a hash.
    pub expected: Option<String>,
    /// What was there instead.
    pub received: Option<String>,
}

impl Advice {
    /// Returns an advice that names only what to do.
    pub fn to_do(fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..Self::default() }
    }
}
