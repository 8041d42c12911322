//! Where a verdict comes from that the task's own last run did not give: another sealed run judged exactly the present content.

use std::path::{Component, Path};

use proctor_wire::wire;

use crate::{RunId, Timestamp};

/// Another run than the task's last one, which judged the present content by the present plan, in an environment like the present one.
#[wire(schema, sparse)]
pub struct KnownFrom {
    pub run: RunId,
    /// The root of the checkout in which it was made; `None` for an earlier run of the project itself.
    pub root: Option<String>,
    /// On what the known verdict rests beside equal content; `None` if the environments are equal.
    pub condition: Option<KnownCondition>,
    /// The key that signed that the run passed; `None` for a run of this store. This store has no report of an attested run.
    pub attested: Option<AttestedBy>,
}

/// The key that attested a run of another store.
#[wire(schema)]
pub struct AttestedBy {
    /// The name of the key's owner in the file of signers.
    pub name: String,
    /// When the run's last process had ended.
    pub ended: Timestamp,
}

/// On what a known verdict rests where the environments could not be compared.
#[wire(Copy, Hash, kebab, schema)]
pub enum KnownCondition {
    /// No packages are installed in this checkout. Lock files, tools and platform are equal.
    EqualLockFiles,
    /// Another store's run. Lock files, installed packages, programs and platform are equal; the machine is another one.
    EqualTools,
}

impl KnownFrom {
    /// Returns where the verdict comes from, for people: `known from ../main, run 31`. `here` is the project's own root.
    pub fn words(&self, here: &str) -> String {
        self.words_with_age(here, None)
    }

    /// Returns the same with how long ago an attested run ended: `attested by ci-key, 3 min ago`.
    pub fn words_at(&self, here: &str, now: Timestamp) -> String {
        self.words_with_age(here, Some(now))
    }

    fn words_with_age(&self, here: &str, now: Option<Timestamp>) -> String {
        let from = self.root.as_ref().map(|root| format!("{}, ", relative(Path::new(root), Path::new(here)))).unwrap_or_default();
        let condition = match self.condition {
            Some(KnownCondition::EqualLockFiles) => ", by equal lock files: nothing is installed here",
            Some(KnownCondition::EqualTools) => ", by equal lock files, tools and platform",
            None => "",
        };
        if let Some(AttestedBy { name, ended }) = &self.attested {
            let age = now.map(|now| format!(", {}", ended.age_at(now))).unwrap_or_default();
            return format!("attested by {name}{age}{condition}");
        }
        format!("known from {from}run {}{condition}", self.run.number())
    }
}

/// Returns a path as it is written from a directory, if both lie in the same directory or in neighbours; otherwise as it is.
fn relative(path: &Path, from: &Path) -> String {
    const MOST_UP: usize = 2;
    for (up, above) in from.ancestors().enumerate().take(MOST_UP + 1) {
        // Everything lies below the root of the file system.
        if let (Ok(below), Some(Component::Normal(_))) = (path.strip_prefix(above), above.components().next_back()) {
            return format!("{}{}", "../".repeat(up), below.display());
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    #[test]
    fn a_neighbour_is_named_from_here_and_what_is_far_by_its_whole_path() {
        let run = RunId::new(Timestamp::from_millis(0), 31);
        let known =
            |root: Option<&str>| KnownFrom { run: run.clone(), root: root.map(str::to_owned), condition: None, attested: None };
        let words = |root| known(root).words("/home/a/shop-fix");
        assert_eq!(words(None), "known from run 31");
        assert_eq!(words(Some("/home/a/shop")), "known from ../shop, run 31");
        assert_eq!(words(Some("/home/b/shop")), "known from ../../b/shop, run 31");
        assert_eq!(words(Some("/srv/shop")), "known from /srv/shop, run 31");
        let condition = Some(KnownCondition::EqualLockFiles);
        let words = KnownFrom { condition, ..known(None) }.words("/a");
        assert_eq!(words, "known from run 31, by equal lock files: nothing is installed here");
        let attested = AttestedBy { name: "ci-key".to_owned(), ended: Timestamp::from_millis(0) };
        let known = KnownFrom { condition: Some(KnownCondition::EqualTools), attested: Some(attested), ..known(None) };
        let words = known.words_at("/a", Timestamp::from_millis(180_000));
        assert_eq!(words, "attested by ci-key, 3 min ago, by equal lock files, tools and platform");
    }
}
