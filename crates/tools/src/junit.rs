//! Reads the JUnit XML that pytest and many other test runners write. Unknown attributes and elements are accepted, but the document
//! itself must be valid.
//!
//! This file only reads the structure. What counts and exit code mean together is decided by `pytest/rules.rs` and `reports/`.

use std::io::BufRead;

use crate::xml::{Attributes, XmlError, XmlReader, read_xml};

/// Numbers about a whole JUnit report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReportTotals {
    /// The sum of the suites' `tests` attributes. It is only compared with the elements and never shown (E5).
    pub(super) claimed: u64,
    /// The same sum without the suites that lie in another suite. Some writers count the tests of inner suites in the outer ones too.
    pub(super) claimed_outside: u64,
    /// The number of suites, in other suites too.
    pub(super) suites: u64,
    /// The number of suites without that attribute.
    pub(super) silent: u64,
    /// The sum of the attributes `failures` and `errors` of the suites that lie in no other suite.
    pub(super) claimed_failures: u64,
    /// The number of tests, suites and failures that lie where none can be: a test outside of a suite, a failure of a whole suite.
    pub(super) misplaced: u64,
    /// The number of `<testcase>` elements without a name: tests that were running when the run was interrupted.
    pub(super) nameless: u64,
}

impl ReportTotals {
    /// Refuses a report without a suite, and one with a suite that does not say how many tests it holds. pytest always says it.
    pub(super) fn require_counts(self) -> Result<Self, XmlError> {
        if self.suites == 0 {
            return Err(not_junit("it holds no suite"));
        }
        if self.silent == 0 { Ok(self) } else { Err(not_junit("a suite does not say how many tests it holds")) }
    }
}

/// A `<testcase>` element. A test may have several, for example for a failure and a failed tear-down, or for each
/// rerun.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Element {
    /// `classname`: module and class; empty for collection errors.
    pub(super) class: String,
    pub(super) name: String,
    /// The `file` attribute, which only the xunit1 format has.
    pub(super) file: Option<String>,
    /// The `line` attribute, with which some writers say where the test begins.
    pub(super) line: Option<u64>,
    /// The `time` attribute, in microseconds.
    pub(super) duration: Option<u64>,
    /// The `status` attribute, with which some writers say that a test did not run.
    pub(super) status: Option<String>,
    /// The `<failure>`, `<error>` and `<skipped>` elements inside. A test that simply passed has none.
    pub(super) marks: Vec<Mark>,
}

/// The end of the `type` of a `<skipped>` element for a test that failed and was expected to fail: pytest writes `pytest.xfail`.
const EXPECTED_FAILURE: &str = "xfail";

/// A `<failure>`, `<error>` or `<skipped>` element, or one about an attempt before the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) kind: MarkKind,
    /// The `message` attribute, which sums up the failure in one line or more.
    pub(super) message: String,
    /// The complete text of the element.
    pub(super) text: String,
    /// Whether the test failed and was expected to fail.
    pub(super) is_expected: bool,
}

/// The kinds of a [`Mark`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MarkKind {
    /// The test function failed.
    Failure,
    /// Set-up, tear-down or collection raised an exception.
    Error,
    /// The test was skipped, or it failed as expected.
    Skipped,
    /// The test failed, and passed when it was tried again. Maven, Gradle and nextest write this.
    Retried,
}

/// Reads a report and passes each `<testcase>` element that has a name to `take`, in order. If the report cannot be read
/// completely, the error says why, and the elements that were passed before prove nothing.
pub(super) fn read_each(report: impl BufRead, take: &mut dyn FnMut(Element)) -> Result<ReportTotals, XmlError> {
    let mut builder = Builder { take, totals: ReportTotals::default(), open: Vec::new(), case: None, mark: None };
    read_xml(report, &mut builder)?;
    Ok(builder.totals)
}

fn not_junit(why: &str) -> XmlError {
    XmlError::Unexpected(format!("it is not a JUnit report: {why}"))
}

/// The XML elements that the reader distinguishes while they are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Suites,
    Suite,
    Case,
    Mark,
    Other,
}

struct Builder<'t> {
    take: &'t mut dyn FnMut(Element),
    totals: ReportTotals,
    open: Vec<Open>,
    case: Option<Element>,
    mark: Option<Mark>,
}

impl Builder<'_> {
    fn kind_of(&self, name: &str) -> Result<Open, XmlError> {
        match (self.open.last(), name) {
            (None, "testsuites") => Ok(Open::Suites),
            (None | Some(Open::Suites | Open::Suite), "testsuite") => Ok(Open::Suite),
            (None, _) => Err(not_junit("its root is neither `testsuites` nor `testsuite`")),
            (Some(Open::Suite), "testcase") => Ok(Open::Case),
            (Some(Open::Case), name) if mark_kind(name).is_some() => Ok(Open::Mark),
            (Some(_), _) => Ok(Open::Other),
        }
    }
}

impl XmlReader for Builder<'_> {
    fn open(&mut self, name: &str, attributes: &Attributes) -> Result<(), XmlError> {
        let kind = self.kind_of(name)?;
        let is_result =
            matches!(name, "testcase" | "testsuite") || matches!(mark_kind(name), Some(MarkKind::Failure | MarkKind::Error));
        self.totals.misplaced += u64::from(kind == Open::Other && is_result);
        match kind {
            Open::Suite => {
                let claimed = attributes.get("tests").map(str::parse::<u64>).transpose();
                let claimed = claimed.map_err(|_| not_junit("a suite says no number of tests"))?;
                self.totals.claimed = self.totals.claimed.saturating_add(claimed.unwrap_or(0));
                self.totals.silent += u64::from(claimed.is_none());
                if !self.open.contains(&Open::Suite) {
                    self.totals.claimed_outside = self.totals.claimed_outside.saturating_add(claimed.unwrap_or(0));
                    let number = |name| attributes.get(name).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
                    let failures = number("failures").saturating_add(number("errors"));
                    self.totals.claimed_failures = self.totals.claimed_failures.saturating_add(failures);
                }
                self.totals.suites += 1;
            }
            Open::Case => {
                self.case = Some(Element {
                    class: attributes.get("classname").unwrap_or_default().to_owned(),
                    name: attributes.get("name").unwrap_or_default().to_owned(),
                    file: attributes.get("file").map(str::to_owned),
                    line: attributes.get("line").and_then(|line| line.parse().ok()),
                    duration: attributes.get("time").and_then(microseconds),
                    status: attributes.get("status").map(str::to_owned),
                    marks: Vec::new(),
                });
            }
            Open::Mark => {
                self.mark = mark_kind(name).map(|kind| Mark {
                    kind,
                    message: attributes.get("message").unwrap_or_default().to_owned(),
                    text: String::new(),
                    is_expected: attributes.get("type").is_some_and(|kind| kind.ends_with(EXPECTED_FAILURE)),
                });
            }
            Open::Suites | Open::Other => {}
        }
        self.open.push(kind);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let (Some(Open::Mark), Some(mark)) = (self.open.last(), &mut self.mark) {
            mark.text.push_str(text);
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Open::Mark) => {
                if let (Some(case), Some(mark)) = (self.case.as_mut(), self.mark.take()) {
                    case.marks.push(mark);
                }
            }
            Some(Open::Case) => match self.case.take() {
                Some(case) if case.name.is_empty() => self.totals.nameless += 1,
                Some(case) => (self.take)(case),
                None => {}
            },
            Some(Open::Suites | Open::Suite | Open::Other) | None => {}
        }
    }
}

fn mark_kind(name: &str) -> Option<MarkKind> {
    match name {
        "failure" => Some(MarkKind::Failure),
        "error" => Some(MarkKind::Error),
        "skipped" => Some(MarkKind::Skipped),
        "flakyFailure" | "flakyError" => Some(MarkKind::Retried),
        _ => None,
    }
}

/// Reads a number of seconds as microseconds; `None` if no test can take that long.
pub(super) fn microseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.parse().ok()?;
    let sensible = seconds.is_finite() && (0.0..1e12).contains(&seconds);
    sensible.then(|| (seconds * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

    use super::*;

    /// A whole report, for tests that look at its elements.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    struct Document {
        claimed: u64,
        elements: Vec<Element>,
        nameless: u64,
    }

    fn read(bytes: &[u8]) -> Result<Document, XmlError> {
        let mut elements = Vec::new();
        let ReportTotals { claimed, nameless, .. } = read_each(bytes, &mut |element| elements.push(element))?;
        Ok(Document { claimed, elements, nameless })
    }

    fn suite(tests: u64, cases: &str) -> String {
        format!(r#"<?xml version="1.0"?><testsuites name="x"><testsuite tests="{tests}">{cases}</testsuite></testsuites>"#)
    }

    #[test]
    fn unknown_attributes_and_elements_are_passed_over() {
        let cases = r#"<properties><property name="a" value="b"/></properties>
            <testcase classname="t.T" name="test_x[a&amp;b]" file="t.py" line="3" time="0.0015" assertions="0">
            <system-out><![CDATA[<failure/>]]></system-out><failure message="a&#10;b" type="x">1 &lt; 2 &#x41;</failure></testcase>"#;
        let document = read(suite(1, cases).as_bytes()).expect("readable");
        let mark = Mark { kind: MarkKind::Failure, message: "a\nb".to_owned(), text: "1 < 2 A".to_owned(), is_expected: false };
        let expected = Element {
            class: "t.T".to_owned(),
            name: "test_x[a&b]".to_owned(),
            file: Some("t.py".to_owned()),
            line: Some(3),
            duration: Some(1500),
            status: None,
            marks: vec![mark],
        };
        assert_eq!(document, Document { claimed: 1, elements: vec![expected], nameless: 0 });
    }

    #[test]
    fn a_bare_suite_and_several_suites_are_read() {
        let bare = r#"<testsuite tests="1"><testcase name="a"/></testsuite>"#;
        assert_eq!(read(bare.as_bytes()).expect("readable").claimed, 1);
        let two = format!("<testsuites>{bare}{bare}</testsuites>");
        let document = read(two.as_bytes()).expect("readable");
        assert_eq!((document.claimed, document.elements.len()), (2, 2));
    }

    #[test]
    fn a_testcase_without_a_name_is_counted_apart() {
        let document = read(suite(1, r#"<testcase name="a"/><testcase time="0.1"/><testcase name=""/>"#).as_bytes());
        let document = document.expect("readable");
        assert_eq!((document.elements.len(), document.nameless), (1, 2));
    }

    #[test]
    fn what_proves_nothing_is_refused() {
        let whole = suite(1, r#"<testcase name="a"/>"#);
        for bad in [
            "",
            "   ",
            "not xml",
            "<html/>",
            r#"<testsuite tests="-1"/>"#,
            r#"<testsuite tests="1"><testcase name="a">"#,
            r#"<testsuite tests="1"><testcase name="a"></testsuite></testcase>"#,
            &whole[..whole.len() - 3],
            &format!("{whole}<testsuite tests=\"9\"/>"),
            &format!("{whole}trailing"),
            r#"<!DOCTYPE x [<!ENTITY a "b">]><testsuite tests="0"/>"#,
            r#"<testsuite tests="1"><testcase name="&own;"/></testsuite>"#,
            r#"<testsuite tests="1"><testcase name="a"><failure>&own;</failure></testcase></testsuite>"#,
            &format!(r#"<testsuite tests="0">{}"#, "<a>".repeat(100)),
            &format!(r#"<testsuite tests="0" {}/>"#, (0..100).map(|n| format!("a{n}=''")).collect::<Vec<_>>().join(" ")),
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(read(b"\xff\xfe"), Err(XmlError::NotUtf8));
        let empty = read_each(&b"<testsuites/>"[..], &mut |_| {}).expect("a run without a test");
        assert!(empty.require_counts().is_err(), "pytest always writes a suite");
        assert!(read(whole.as_bytes()).is_ok(), "the control");
    }

    fn generated_mark() -> impl Strategy<Value = Option<MarkKind>> {
        prop_oneof![
            Just(None),
            Just(Some(MarkKind::Failure)),
            Just(Some(MarkKind::Error)),
            Just(Some(MarkKind::Skipped)),
            Just(Some(MarkKind::Retried))
        ]
    }

    proptest! {
        #[test]
        fn counts_survive_a_round_trip(cases in proptest::collection::vec((generated_mark(), any::<String>(), any::<bool>()), 0..20)) {
            let mut xml = String::new();
            for (number, (mark, text, named)) in cases.iter().enumerate() {
                let printable: String = text.chars().filter(|character| !character.is_control()).collect();
                let escaped = quick_xml::escape::escape(printable.as_str());
                let name = if *named { format!("name=\"t{number}{escaped}\"") } else { String::new() };
                let mark = mark.map_or_else(String::new, |kind| {
                    let tag = match kind { MarkKind::Failure => "failure", MarkKind::Error => "error", MarkKind::Skipped => "skipped", MarkKind::Retried => "flakyFailure" };
                    format!("<{tag} message=\"{escaped}\">{escaped}</{tag}>")
                });
                xml.push_str(&format!("<testcase classname=\"c\" {name}>{mark}</testcase>"));
            }
            let document = read(suite(cases.len() as u64, &xml).as_bytes()).expect("what was escaped is readable");
            let named: Vec<_> = cases.iter().filter(|case| case.2).collect();
            assert_eq!(document.claimed as usize, cases.len());
            assert_eq!(document.nameless as usize, cases.len() - named.len());
            let kinds: Vec<_> = document.elements.iter().map(|element| element.marks.first().map(|mark| mark.kind)).collect();
            assert_eq!(kinds, named.iter().map(|case| case.0).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes);
        }

        #[test]
        fn a_report_that_was_cut_anywhere_is_refused(cut in 1_usize..200) {
            let whole = suite(2, r#"<testcase classname="c" name="a"/><testcase classname="c" name="b"><failure message="m">t</failure></testcase>"#);
            let end = whole.len().saturating_sub(cut);
            assert!(read(&whole.as_bytes()[..end]).is_err());
        }
    }
}
