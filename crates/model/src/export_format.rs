//! The forms in which a run is exported for other tools.

/// A form in which a run is exported, so that another tool reads it without help. What is exported is no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExportFormat {
    /// JUnit XML: one suite for each check.
    Junit,
    /// CTRF, the Common Test Report Format: one JSON document with every test.
    Ctrf,
    /// SARIF 2.1.0: the findings of linters and type checkers, and the tests that failed.
    Sarif,
    /// Workflow commands of GitHub Actions: an annotation for each failure and finding.
    Github,
    /// A summary in Markdown, for a comment or a step summary.
    Markdown,
    /// One HTML file that is read without a network and without scripts.
    Html,
}

impl ExportFormat {
    /// The name of each format on the command line and in `also` of `[evidence]`.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("junit", Self::Junit),
        ("ctrf", Self::Ctrf),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
        ("html", Self::Html),
    ];
}

words! {
    /// Returns the name of the file in a run's directory. No file of an action has such a name, because those begin with the action's id.
    pub fn ExportFormat::file_name, ALL: Junit "export.junit.xml", Ctrf "export.ctrf.json", Sarif "export.sarif",
        Github "export.github.txt", Markdown "export.md", Html "export.html"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_word_and_a_file_of_its_own() {
        assert_eq!(ExportFormat::WORDS.map(|(_, format)| format), ExportFormat::ALL);
        let names: std::collections::BTreeSet<_> = ExportFormat::ALL.into_iter().map(ExportFormat::file_name).collect();
        assert_eq!(names.len(), ExportFormat::ALL.len());
    }
}
