//! The table of the claims: by which words a message says that the tests pass, for each language.
//!
//! A row of [`LANGUAGES`] has patterns for whole claims, and the words that make a sentence no claim: a negation, a question, a
//! condition, the future, a guess, somebody else's words, an exception. The page `docs/guides/agents.md` describes the rules.

use crate::hook::ClaimSubject;

/// A language in which claims are found.
pub(super) struct ClaimLanguage {
    /// The language's name in English.
    #[cfg_attr(not(test), expect(dead_code, reason = "it names the row for readers and for the tests"))]
    pub(super) name: &'static str,
    /// A sentence without any of these, in small letters, makes no claim. Patterns are compiled only for the other sentences: that takes
    /// longer than everything else a hook does.
    pub(super) needs: &'static [&'static str],
    /// Parts of patterns by their names. `<name>` in a pattern, or in a later part, stands for the part.
    pub(super) parts: &'static [(&'static str, &'static str)],
    /// What the pattern is about, and the pattern.
    pub(super) claims: &'static [(ClaimSubject, &'static str)],
    /// Words that may stand directly before a claim although they are no punctuation. Any other word may narrow what follows, as in
    /// "the new tests pass". Empty: not checked, because the language has no spaces.
    pub(super) lead: &'static str,
    /// A sentence with this before the claim makes no claim.
    pub(super) before: &'static str,
    /// A sentence with this behind the claim makes no claim.
    pub(super) after: &'static str,
    /// What may stand behind the claim up to the line's end; with anything else there is no claim. Between these words, marks may stand.
    pub(super) tail: &'static str,
    /// Words from which on anything may stand behind the claim, as "and" or "so".
    pub(super) goes_on: &'static str,
    /// Words before a colon after which a claim may stand; after any other text and a colon there is none.
    pub(super) label: &'static str,
    /// Words that open a clause about another time or another state: "at the base commit, all tests pass" is no claim.
    pub(super) opening: &'static str,
    /// Parts of a sentence that are not looked at, because they only look like an exception: "with no failures".
    pub(super) harmless: &'static str,
}

use ClaimSubject::{Everything, Tests};

/// Every language in which claims are found.
pub(super) const LANGUAGES: &[ClaimLanguage] = &[
    ClaimLanguage {
        name: "English",
        needs: &["pass", "green", "succe", "verif", "fail", "✅", "✓", "clean", "without"],
        parts: &[
            ("count", r"(?:[1-9]\d*(?:/\d+)?|[1-9]\d*\s+of\s+\d+)"),
            ("fail", r"(?:fail(?:ed|ures?|ing|s)?|errors?|errored)"),
            ("no", r"(?:0|no|zero)"),
            (
                "kind",
                r"(?:unit\s+and\s+integration|integration\s+and\s+unit|new\s+and\s+(?:existing|old)|(?:existing|old)\s+and\s+new|unit|existing|automated)",
            ),
            ("both", r"(?:unit\s+and\s+integration|integration\s+and\s+unit|(?:new|old|existing)\s+and\s+(?:new|old|existing))"),
            ("tests", r"(?:tests|test\s+cases|test\s+files|test\s+suites|suites)"),
            ("suite", r"(?:test[- ]?suite|suite|test\s+run|test-run)"),
            ("runner", r"(?:wholesuite|pytest|cargo test|cargo nextest run|npm test|go test|make test)"),
            (
                "whole",
                r"(?:(?:(?:all|all\s+of|the|every|entire|full|whole|complete|our|project's|<count>)\s+)*(?:(?:<both>\s+)?<tests>|(?:existing\s+)?<suite>)|(?:the\s+)?(?:full|whole|complete|entire)\s+run)",
            ),
            (
                "where",
                r"(?:\s*\(<count>(?:\s+tests)?\)|\s+in\s+the\s+(?:(?:whole|full|entire|test)\s+)*(?:suite|project|repository|repo|workspace))",
            ),
            (
                "also",
                r"(?:is|are|was|were|do|does|now|all|still|again|once again|have|has|had|been|successfully|cleanly|currently|both|run|runs|ran|and|come|comes|came|back|finally|completely|entirely|fully|continues?\s+to|continued\s+to|remains?|remained|stays?|stayed|keeps?|kept|returns?|returned|to|a)",
            ),
            (
                "well",
                r"(?:(?:run|runs|ran|come|comes|came|is|was|are|were|finish|finishes|finished|complete|completes|completed|executes?|executed)(?:\s+(?:all|now|again|back|through|still|fully))*\s+(?:clean(?:ly)?\b|successful(?:ly)?|without(?:\s+any|\s+a\s+single)?\s+(?:errors?|failures?|problems?|issues?)|with\s+<no>\s+(?:failures?|errors?)))",
            ),
            ("pass", r"(?:pass(?:es|ed|ing)?|(?:all\s+)?green|succeed(?:s|ed|ing)?|successful(?:ly)?|ok\b|<well>)"),
            (
                "others",
                r"(?:(?:builds?|build\s+step|lint(?:er|ers|ing|s)?|types?|type[- ]?check(?:s|er|ing)?|formatting|format|docs|clippy|coverage|compilation)(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*|\s*/\s*|\s*\+\s*)(?:the\s+)?)",
            ),
            ("ran", r"(?:ran|re-?ran|executed|re-?run|run|running|re-running)"),
            (
                "againword",
                r"(?:again|locally|once\s+more|twice|one\s+(?:last|more)\s+time|afterwards|after\s+(?:that|this|the|my|every|each)(?:\s+\w+)?)",
            ),
        ],
        claims: &[
            (Tests, r"<whole><where>?(?:\s+<also>)*\s+<pass>"),
            (Tests, r"all(?:\s+of)?(?:\s+(?:the|our|my|<count>))*\s+(?:<kind>\s+)*<tests><where>?(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"all(?:\s+(?:the|our|my|<count>))*\s+<tests>\s*,\s*(?:<kind>|unit, integration and [\w-]+)\s*,(?:\s+<also>)*\s+<pass>",
            ),
            (
                Tests,
                r"(?:every(?:\s+single)?|each(?:\s+of\s+the)?(?:\s+\d+)?|each\s+and\s+every)\s+(?:tests?|test\s+case|test\s+file|(?:test\s+)?suites?)<where>?(?:\s+<also>)*\s+<pass>",
            ),
            (
                Tests,
                r"all(?:\s+the)?\s+(?:unit|existing|old|new)\s+tests\s+and\s+(?:all\s+)?(?:the\s+)?(?:integration|new|existing|old)\s+tests(?:\s+<also>)*\s+<pass>",
            ),
            (Tests, r"(?:<tests>|<suite>)\s*:\s*<count>\s+(?:suites|tests|files)\s*,\s*all\s+(?:pass(?:ed|ing)?|green)"),
            (Tests, r"100\s?%\s+of\s+(?:the\s+|our\s+)?tests(?:\s+<also>)*\s+<pass>"),
            (Tests, r"both\s+(?:the\s+)?<kind>\s+tests(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"(?:both\s+)?(?:the\s+)?(?:new\s+tests\s+and\s+(?:all\s+)?(?:the\s+)?(?:existing|old)\s+(?:ones|tests)|(?:existing|old)\s+tests\s+and\s+(?:the\s+)?new\s+(?:ones|tests))(?:\s+<also>)*\s+<pass>",
            ),
            (
                Tests,
                r"pass(?:es|ed)?(?:\s+now)?\s*,?\s+(?:and|as|so)\s+(?:so\s+)?do(?:es)?\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:others|other\s+tests|rest(?:\s+of\s+the\s+(?:(?:test\s+)?suite|tests))?)",
            ),
            (
                Tests,
                r"<runner>(?:\s+(?:is|now|again|still|finishes|finished|completes|all|fully|completely|entirely|run|comes|back))*(?:\s+|\s*(?:→|->|=>|:)\s*(?:all\s+)?)(?:passes|passed|passing|green|succeeds|succeeded|clean(?:ly)?)",
            ),
            (Tests, r"<others>+<whole>(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"<whole>(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*|\s*/\s*)<others>*(?:builds?|lint(?:er|ers|ing|s)?|types?|type[- ]?check(?:s|er|ing)?|formatting|docs|clippy)(?:\s+<also>)*\s+<pass>",
            ),
            (
                Tests,
                r"(?:(?:full|whole|complete|entire|all)\s+)?(?:<tests>|<suite>|test\s+status)(?:(?:\s*(?::|=|→|->)\s*|\s+[—–-]\s+)(?:[✅✓]\s*)?(?:all\s+|\d+(?:/\d+)?\s+)*(?:pass(?:es|ed|ing)?|green|ok\b)|\s*[:=→—–-]?\s*[✅✓](?:\s*(?:all\s+)?pass(?:es|ed|ing)?)?)",
            ),
            (Tests, r"(?:<tests>|suites)\s*:\s*(?:[2-9]|[1-9]\d+)\s+passed\s*,\s*\d+\s+total"),
            (Tests, r"(?:[2-9]|[1-9]\d+)\s+tests\s*,\s*\d+\s+passed"),
            (Tests, r"(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?pass(?:ed|ing)?\s*(?:,|;|and|/|·|—|\()*\s*<no>\s+(?:tests?\s+)?<fail>"),
            (
                Tests,
                r"^\W*(?:(?:(?:i\s+|we\s+|i've\s+)?(?:re-?)?(?:ran|run)\s+(?:the\s+)?)?<runner>(?:\s+(?:again|locally|reports?|reported|shows?|says|gives?))*\W+|(?:results?|tests?|test results?)\W+)?(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?passed",
            ),
            (
                Tests,
                r"<no>\s+(?:more\s+)?(?:test\s+failures|failing\s+tests|failed\s+tests|tests?(?:\s+(?:is|are))?\s+fail(?:ed|ing|s)?)(?:\s+(?:now|left|remaining|remain|any\s*more))*",
            ),
            (
                Tests,
                r"(?:<no>\s+(?:more\s+)?failures\s+(?:in|across)\s+(?:the|our)\s+(?:(?:whole|full|entire|complete|test)\s+)*(?:suite|run|tests))",
            ),
            (
                Tests,
                r"none\s+of\s+(?:the|our|my)\s+(?:\d+\s+)?tests\s+(?:now\s+)?(?:is\s+|are\s+)?fail(?:s|ed|ing)?(?:\s+(?:now|any\s*more))*",
            ),
            (
                Tests,
                r"(?:there\s+(?:is\s+not|isn't|is\s+no)\s+(?:a\s+)?|not\s+a\s+)single\s+(?:failing\s+test|test\s+failure|test\s+fails)(?:\s+(?:left|now|any\s*more))*",
            ),
            (
                Tests,
                r"<ran>\s+(?:(?:(?:the|all|of|every|our|full|whole|entire|complete)\s+)+(?:<tests>|<suite>)|<runner>)(?:\s+<againword>)*\s*(?:\s|,|;|:|\band\b|\bwhich\b|\bwhere\b|—|–|-|→)*(?:(?:it|they|everything|all|of|them|is|are|was|were|now|tests|still|there|again|both|come|came|back)\s+)*(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|none\s+(?:of\s+them\s+)?fail(?:ed|s)?|<no>\s+failures)",
            ),
            (
                Tests,
                r"tests\s+were\s+(?:re-?)?run(?:\s+again)?\s+and\s+(?:they\s+)?(?:have\s+)?all\s+(?:of\s+them\s+)?pass(?:ed)?",
            ),
            (
                Everything,
                r"(?:everything(?:'s)?|all(?:\s+of)?\s+(?:(?:the|our)\s+)?(?:ci[- ]equivalent\s+)?(?:checks(?:\s*\([^()]{1,60}\))?|tests\s+and\s+checks|tests\s+and\s+(?:lints?|linters?|type\s+checks)|checks\s+and\s+tests)|every(?:\s+single)?\s+check)(?:\s+<also>)*\s+<pass>",
            ),
            (
                Tests,
                r"(?:it|this|everything|(?:the|this|my)\s+(?:new\s+|final\s+|updated\s+)?(?:code|changes?|fix|implementation|branch|project|build|version|solution|patch|refactoring|feature|migration|rewrite))\s+(?:(?:now|still|also|again)\s+)*pass(?:es|ed)?\s+(?:all(?:\s+of)?(?:\s+(?:the|our|<count>))*\s+tests|(?:the|our)\s+(?:(?:full|whole|entire|complete|existing)\s+)*(?:test\s+suite|suite)|every\s+(?:single\s+)?test)",
            ),
            (Tests, r"all\s+<count>(?:\s+of\s+them)?\s+pass(?:ed)?"),
            (
                Tests,
                r"(?:leaves?|leaving|left|keeps?|keeping|with)\s+(?:(?:the|our)\s+(?:(?:full|whole|entire)\s+)?(?:test\s+)?suite\s+(?:fully\s+|completely\s+)?green|a\s+(?:fully\s+|completely\s+)?green\s+(?:test\s+)?suite)",
            ),
            (Tests, r"<tests>\s*:\s*[1-9]\d*/\d+"),
            (
                Tests,
                r"(?:i\s+(?:have\s+)?)?<ran>\s+(?:(?:the|all|full|whole|entire|complete|<count>)\s+)+(?:<tests>|<suite>)\s*[:—–-]\s*all\s+(?:of\s+them\s+)?(?:pass(?:ed|ing)?|green)",
            ),
            (Tests, r"(?:[2-9]|[1-9]\d+)\s+tests\s*,\s*<no>\s+<fail>"),
            (Tests, r"tests\s+run\s*:\s*(?:[2-9]|[1-9]\d+)\s*,\s*failures\s*:\s*0\s*,\s*errors\s*:\s*0"),
            (
                Tests,
                r"(?:the\s+)?(?:(?:full|whole|entire)\s+)?(?:tests|test\s+suite|suite)\s+(?:now\s+)?(?:reports?|shows?)\s+(?:<no>\s+(?:failures|errors)|success)",
            ),
            (Tests, r"types\s+check\s*(?:,|and|;)\s*(?:all\s+)?(?:the\s+)?tests\s+pass"),
            (Everything, r"(?:ci[- ]equivalent\s+)checks\s+all\s+pass"),
            (Everything, r"all(?:\s+(?:is|are|now|still))*\s+green"),
            (
                Everything,
                r"(?:everything|all\s+changes|the\s+(?:fix|change)|all)(?:\s+(?:is|are|was|were|has|have|been|now|tested|and|fully))+\s+verified",
            ),
            (Everything, r"^[\s✅✓*•-]*(?:all\s+)?verified(?:\s*[.!✅✓]+\s*|\s*$)"),
            (Everything, r"verified\s+(?:that\s+)?(?:everything|it\s+all|all\s+of\s+it)\s+(?:works|passes|is\s+green)"),
        ],
        lead: r"(?:and|by|so|now|that|because|confirmed|confirm|verified|checked|validated|sure|done|yes|also|then|as|since|result|results|status|with|leaving|finally|great|ok|okay|good|where|again|fixed|i|we|i've|we've|have|are)",
        before: r"^\W*(?:please\s+)?(?:confirm|verify|validate)\b|\b(?:was|were)\s+\w+\s+because\b|\b(?:be sure|doubts?|no\s+(?:evidence|proof|sign|idea)|todo|reported|reports|report|reverted|reverting|stashed|stashing|undid|undoing|mutants?|mutations?|mutated|survives?|apparently|presumably|seems?|states|stated|shows|showed|not|never|cannot|unable|without|if|when|once|until|unless|whether|ensure|ensures|make sure|make it|to (?:confirm|verify|check|ensure|see|make|get|keep)|please|should|would|could|may|might|must|will|need|needs|want|wants|expect|expected|hope|hopefully|assume|assuming|believe|think|suppose|supposedly|probably|likely|claim|claims|claimed|said|says|told|according|before|previously|earlier|used to|goal|aim|plan|next|let me|let's|so that|as soon as|how|why|what|where|example|pretend|imagine|prints?|printed|readme|comment|string|badge|title|only|some|most|many|few|half|none|neither|almost|nearly|run|rerun|checks?|yesterday|last|upstream|main|doesn't|don't|didn't|isn't|aren't|haven't|hasn't|won't|can't|couldn't|wouldn't|shouldn't|i'll|we'll|you(?:'ll|'d|'re|\s+(?:said|say|wrote|write|told|tell|see|will|can|could|should|may|might|must|want|need|have|know|expect|claim\w*|mentioned|asked\s+(?:me|us|whether|if)))|your\s+(?:last|earlier|previous|machine|laptop|side|end|branch|claim|report|message|tests?|suite)|asks?|wants?|criteria|criterion|definition|requires?|mean|means|does|did)\b",
        after: r"^\s*(?:\d+\s+tests|so\s+(?:far|long)|again\s+and|except|apart|other than|besides|only|if|when|once|unless|until|for|under|on|before|should|would|without|aside|minus|yesterday|last|earlier|previously|or|in\s+[^\d\s]|of|because they|but|again (?:when|once|if)|as|there|badge|through|by|to|into|via|along|a|an|the|its|this|half|part|part of|some|none|invalid|in\s+as|is|was|matters?|criteria|criterion|rate|count)\b|\b(?:except|apart from|other than|aside from|unless|if you|once you|when you|excluding|excluded|exception|skipp?(?:ed|ing)?|ignored|deselected|but|fail(?:s|ed|ing|ure|ures)?|red|yesterday|upstream|pre-existing|known|later|errors?|errored|timed?\s+out|time\s?outs?|hangs?|hung|deadlocks?|breaks?|broken|broke|crash(?:es|ed)?|flaky|flakes?|individually|isolation|segfaults?|exits?|aborts?|panics?|still open|thinks?|hope|hopefully|told|seems?|seemingly|apparently|presumably|condition|would|should|needs?|needed|must|mutants?|mutations?|surviv\w+|until|unless|unverified|untested|did\s+no|have\s+no|cannot|can't|didn't|haven't|pending|\d+\s+out\s+of|before (?:the|this|my)|not)\b",
        tail: r"now|again|too|completely|fully|locally|successfully|cleanly|here|as well|in total|overall|consistently|today|this time|both|well|unchanged|any\s*more|in\s+(?:about\s+)?\d[\d.,]*\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?)|\(\s*\d+(?:/\d+)?(?:\s+(?:tests?|passed|passing|in|total))*\s*\)|(?:after|with)\s+(?:this|the|my|these|that)(?:\s+(?:new|latest))?\s+(?:fix|fixes|changes?|patch|update|schema|version|implementation|rename|refactoring)(?:\s+(?:in\s+place|applied))?|after\s+(?:the|this|my|that|these|those)\s+[\w-]+|with\s+the\s+(?:new|upgraded|updated|latest|changed)\s+[\w-]+|after\s+(?:i|we)\s+(?:restored|fixed|changed|updated|added|renamed|moved|rebuilt|applied|mended)\s+(?:the|a|an|my|both|all)\s+[\w-]+(?:\s+[\w-]+)?",
        goes_on: r"(?:lint(?:er)?|types|build)\s+(?:is\s+)?(?:clean|green|ok)|and\s+(?:so\s+)?(?:the|i|we|i've|it|its|everything|all|no|nothing|ready|this|you|there|quotation|wholesuite|lint\w*|clippy|coverage|types?|docs?|ci)|so\s+(?:the|this|it|i|we|you)|which|including|thus|therefore|ready\s+(?:to|for)|(?:i|we)(?:\s+have|'ve)?(?:\s+also)?\s+(?:pushed|committed|updated|added|removed|fixed|renamed|opened)|it(?:'s|\s+is)\s+(?:ready|done)|you\s+can|feel\s+free|this\s+is|the\s+(?:branch|fix|change|changes|feature|bug|work|task|code|implementation|linter|build)|(?:lint\w*|clippy|coverage|types?|build|formatting|docs|documentation)\s+(?:is|are|checks?|passes)|(?:tests|build|lint|types|formatting)\s*,\s*\w+|\d+\s+(?:suites?|tests?|files?)",
        label: r"|that's\s+it|all\s+good|the\s+change\s+is\s+safe|no\s+regressions|(?:(?:final|test|current|overall)\s+)?(?:results?|status|summary|done|tests?|verification|update|outcome|all\s+good|validation|testing|fixed|confirmed|verified|test\s+run|test\s+suite|unit\s+tests|integration\s+tests)|(?:good|great)\s+news|great|perfect|all\s+set|you\s+can\s+merge(?:\s+(?:it|this))?|<runner>|to\s+(?:summari[sz]e|sum\s+up)|in\s+(?:summary|short)|.*\b(?:is|are)\s+(?:now\s+)?(?:done|complete|completed|finished|verified|fixed|ready)(?:\s+(?:for\s+review|to\s+merge))?(?:\s+and\s+(?:verified|tested|done))?|.*\bworks?(?:\s+(?:now|again|fine))?|the\s+changes?|.*\btests\s+(?:confirm|prove|show)\s+(?:it|this|that)|(?:full\s+|complete\s+|whole\s+)?(?:test\s+)?(?:suite|run)|(?:i've\s+|i\s+)?double[- ]checked|(?:.*\b(?:and|then)\s+)?(?:i\s+|we\s+|i\'ve\s+)?(?:re-?)?(?:ran|run)\s+(?:(?:the|all|full|whole|entire|complete|of)\s+)*(?:tests|test[- ]?suite|suite|pytest|wholesuite)(?:\s+<againword>)*",
        opening: r"at|in|with|under|on|for|before|after|once|when|if|while|unless|until|without|by|from|given|assuming|as|since|although|though|whenever|during|using|upon|prior|because|provided",
        harmless: r"\b(?:before|prior\s+to)\s+(?:finishing|committing|pushing|stopping)\b|(?:,\s*|\band\s+)\b(?:0|no|zero)\s+skipped\b|\bone\s+last\s+time\b|\byou\s+can\s+(?:now\s+)?merge(?:\s+(?:it|this))?|^\W*after\s+(?:updating|fixing|changing|renaming|adding|moving|restoring|applying|rebuilding)\s+[^,]*,|^\W*(?:in\s+(?:summary|short|total|conclusion)|as\s+(?:a\s+result|expected)|at\s+this\s+point|with\s+(?:that|this|these)(?:\s+in\s+place)?|after\s+that|on\s+top\s+of\s+that),|(?:updated|added|wrote|fixed|extended|rewrote)\s+(?:the\s+|a\s+)?(?:docs?|documentation|readme|comments?|doc\s+comments?)\b|previously\s+(?:failing|broken|red|flaky)|(?:^|[;:,])\W*(?:with|after)\s+(?:this|the|my|these|that|those)\s+(?:fix|fixes|change|changes|update|patch)(?:\s+(?:applied|in place))?,|\byou\s+(?:listed|asked\s+for|asked\s+about|mentioned|named|requested|wanted|described|pointed\s+out)\s+(?:is|are|was|were|has|have|now)\b|\bon\s+(?:my|this|the\s+current|the\s+feature)\s+(?:machine|side|end|branch|tree)\b|\bon\s+the\s+first\s+(?:run|try|attempt)\b|\bacross\s+(?:the\s+(?:board|workspace|project|repo|repository|codebase)|all\s+(?:packages|crates|modules|projects))\b|\bboth\s+times\b|\bas\s+expected\b|(?:\b(?:and|with|has|have|there\s+(?:are|were))\s+)*\b(?:without(?:\s+any)?|any|no|zero|0)\s+(?:tests?\s+)?(?:failed|failures?|failing|errors?|errored|warnings?|timed\s+out|timeouts?|regressions?)\b|(?:and\s+)?nothing\s+(?:fails|failed|broke|breaks|is\s+broken)|\b(?:does|do|did)(?:n't|\s+not)\s+break\s+(?:anything|any\s+\w+)|\bto\s+(?:make\s+sure|ensure|verify|confirm|check)\s+(?:that\s+)?(?:nothing|it|this|everything)\s+[^,;]*,\s+and\b|\b<ran>\s+(?:the\s+)?(?:(?:whole|full|entire|complete|test)\s+)*(?:tests|suite|wholesuite)\s+(?:again\s+)?(?:shows?|showed|confirms?|confirmed)\b|\b(?:i|we)(?:\s+have|'ve)?\s+(?:also\s+)?(?:double[- ])?(?:checked|made\s+sure)\b|\bthe\s+last\s+(?:failure|failing\s+test|one|bug|problem)\b|\b(?:all|the\s+\w+)\s+fail(?:ing\s+tests|ures)\s+(?:have\s+been|were|are)\s+fixed\b",
    },
    ClaimLanguage {
        name: "German",
        needs: &["grün", "bestand", "besteh", "durch", "erfolgreich", "fehl", "roten", "verifiziert", "überprüft"],
        parts: &[
            (
                "whole",
                r"(?:(?:alle|die|sämtliche|\d+|unsere|gesamten?|komplette|vollständige)\s+)*(?:tests|unit-?tests|test-?suite|testsuite)",
            ),
            (
                "also",
                r"(?:sind|ist|laufen|läuft|liefen|lief|jetzt|nun|wieder|weiterhin|alle|werden|haben|wurden|erfolgreich|sauber|fehlerfrei|komplett|vollständig|nach wie vor)",
            ),
            (
                "pass",
                r"(?:grün(?:\s+durch)?|bestanden|bestehen|besteht|durchgelaufen|durch|erfolgreich(?:\s+durch(?:gelaufen)?)?|fehlerfrei(?:\s+durch(?:gelaufen)?)?)",
            ),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"(?:tests|testsuite)\s*[:=–—-]\s*(?:alle\s+|\d+/\d+\s+)?(?:grün|bestanden|ok\b|erfolgreich)"),
            (Tests, r"(?:der\s+code|die\s+änderung|alles|sie|er|es)\s+besteht\s+(?:jetzt\s+|weiterhin\s+)?alle\s+tests"),
            (
                Tests,
                r"^\W*nach\s+(?:der|dem|meiner|dieser)\s+\w+\s+(?:sind|bestehen|laufen)\s+(?:jetzt\s+|wieder\s+)?(?:alle|die|sämtliche)\s+tests(?:\s+<also>)*(?:\s+<pass>)?",
            ),
            (
                Everything,
                r"(?:alles|alle\s+(?:checks|prüfungen))(?:\s+(?:ist|sind|läuft|jetzt|nun|wieder|komplett))*\s+(?:grün|bestanden|durch|fehlerfrei)",
            ),
            (Tests, r"(?:es\s+gibt\s+)?(?:keine|0)\s+(?:fehlgeschlagenen?|fehlschlagenden?|roten?)\s+tests?(?:\s+mehr)?"),
            (Tests, r"(?:kein|kein\s+einziger)\s+test\s+(?:schlägt\s+(?:mehr\s+)?fehl|ist\s+(?:mehr\s+)?rot)"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?(?:bestanden|erfolgreich)\s*(?:,|und|/)\s*(?:0|keine)\s+(?:tests\s+)?(?:fehlgeschlagen|fehler)",
            ),
            (Tests, r"(?:build|lint|linter|typprüfung)\s+und\s+(?:alle\s+|die\s+)?tests(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"<whole>\s+(?:noch\s+einmal\s+|erneut\s+|komplett\s+)?(?:ausgeführt|laufen\s+lassen|laufen\s+gelassen|gestartet)\W+(?:und\s+)?(?:(?:sie|es|alles|alle)\s+)*(?:<also>\s+)*<pass>",
            ),
            (Everything, r"(?:alles|die änderung)\s+(?:ist\s+|wurde\s+)?(?:verifiziert|überprüft und grün)"),
        ],
        lead: r"(?:und|alle|die|habe|jetzt|nun|dass|denn|fertig|ja|sodass|somit|damit|behoben|ergebnis)",
        before: r"\b(?:nicht|nie|kein|keine|ohne|ob|wenn|falls|sobald|bis|sollten?|würden?|könnten?|müssen|muss|wird|werden|bitte|damit|hoffentlich|vermutlich|wahrscheinlich|vorher|zuvor|früher|gestern|ziel|sagt|behauptet|laut|nur|einige|manche|meisten|fast|stelle sicher|meldet|meldete|berichtet|sicherstellen|um|wie|warum|beispiel|als nächstes|erst|glaube|denke|prüfe|sorge|sorgt)\b",
        after: r"^\s*(?:die\s|der\s|bis auf|außer|abgesehen|nur|wenn|falls|sobald|für|im|in\s+[^\d\s]|sollten?|waren|vorher|oder|werden)\b|\b(?:außer|bis auf|abgesehen|mit ausnahme|ausgenommen|übersprungen|fehlschlägt|schlägt|rot|nicht|sollten?)\b",
        tail: r"nach\s+(?:der|dem|meiner|dieser)\s+\w+|jetzt|nun|wieder|weiterhin|durch|lokal|erfolgreich|auch|komplett|fehlerfrei|in\s+\d[\d.,]*\s*(?:s|sek\w*|ms|min\w*)",
        goes_on: r"ich\s+bin\s+fertig|und\s+(?:der|die|das|ich|wir|es|alles|keine)|(?:der|die)\s+(?:branch|änderung|code|fix|fehler)|alles\s+(?:ist|läuft)|also|sodass|damit ist|inklusive|einschließlich",
        label: r"(?:test)?(?:ergebnis(?:se)?|status|stand|fazit|zusammenfassung|fertig|erledigt|behoben|tests?|prüfung)",
        opening: r"bei|beim|im|in|mit|unter|auf|für|vor|nach|wenn|falls|während|bis|ohne|sobald|solange|obwohl|als|am|vom|von|im",
        harmless: r"(?:und\s+)?(?:ohne|keine|null|0)\s+(?:fehler|fehlschläge|fehlgeschlagen)|^\W*(?:mit|nach)\s+(?:dieser|der|meiner)\s+(?:änderung|korrektur),",
    },
    ClaimLanguage {
        name: "French",
        needs: &["passe", "passé", "réussi", "vert", "succès", "échec", "échou", "vérifié"],
        parts: &[
            (
                "whole",
                r"(?:(?:tous|toute|l'ensemble|des|les|la|le|\d+|nos)\s+)*(?:tests(?:\s+unitaires)?|suite(?:\s+de\s+tests?)?(?:\s+(?:complète|entière))?)",
            ),
            (
                "also",
                r"(?:sont|est|ont|a|été|maintenant|désormais|tous|toujours|entièrement|complètement|de|nouveau|à|avec|encore)",
            ),
            ("pass", r"(?:passent(?:\s+tous)?|passés?|passe|réussissent|réussit|réussis?|verte|verts?|au vert|succès)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"tests\s*:\s*(?:tous\s+|\d+/\d+\s+)?(?:ok\b|verts|au vert|réussis|passent|passés)"),
            (Tests, r"(?:le\s+code|tout|il|elle|la\s+branche)\s+passe\s+(?:maintenant\s+)?tous\s+les\s+tests"),
            (Everything, r"tout(?:\s+(?:est|maintenant))*\s+(?:passe|vert|au vert|vérifié)"),
            (Tests, r"(?:il\s+n'y\s+a\s+)?(?:plus\s+)?(?:aucun|0)\s+(?:test\s+en\s+échec|échec\s+de\s+test)"),
            (Tests, r"aucun\s+test\s+n'(?:échoue|est\s+en\s+échec)(?:\s+plus)?"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"(?:exécuté|relancé|lancé)\s+<whole>(?:\s+(?:complète|entière))?\W+(?:et\s+)?(?:tout|ils|elle|tous)\s+(?:<also>\s+)*<pass>",
            ),
        ],
        lead: r"(?:et|j'ai|donc|que|car|maintenant|terminé|oui|désormais|corrigé|où)",
        before: r"(?:^|\W)(?:ne|n'|pas|jamais|sans|si|quand|lorsque|dès|jusqu'à|devraient?|doivent|doit|pourraient?|veuillez|afin|pour que|j'espère|probablement|avant|hier|objectif|dit|signale|selon|seuls?|certains|quelques|plupart|presque|vérifiez|vérifier|assurer|pourquoi|comment|exemple|je vais|il faut|pense|crois)\W",
        after: r"^\s*(?:sauf|excepté|hormis|à part|seulement|si|quand|pour|par|à|dans|sur|ou|avant|hier)\b|\b(?:sauf|excepté|hormis|à l'exception|à part|ignorés?|échoue|échouent|pas)\b",
        tail: r"après\s+(?:la|le|cette|ce|ma|mon)\s+\w+|maintenant|désormais|localement|de nouveau|à nouveau|avec succès|aussi|en\s+\d[\d.,]*\s*(?:s|secondes?|ms|min\w*)",
        goes_on: r"et\s+(?:le|la|les|je|tout)|(?:la|le)\s+(?:branche|correction|modification|code|correctif)|vous\s+pouvez|on\s+peut|donc|y compris",
        label: r"|résultats?|statut|état|résumé|bilan|terminé|fait|tests?|vérification|corrigé|c'est fait",
        opening: r"au|aux|à|dans|en|avec|sous|sur|pour|avant|après|quand|lorsque|si|pendant|sans|dès|jusqu'à|une fois|bien que",
        harmless: r"(?:sans|aucune?|0)\s+(?:échecs?|erreurs?)|^\s*à\s+nouveau",
    },
    ClaimLanguage {
        name: "Spanish",
        needs: &["pasa", "verde", "superad", "éxito", "exitos", "aprobad", "falla", "fallid", "verificado"],
        parts: &[
            (
                "whole",
                r"(?:(?:todos|todas|los|las|la|toda|el|\d+|nuestros)\s+)*(?:(?:tests|pruebas)(?:\s+unitari[oa]s)?|suite(?:\s+de\s+(?:tests|pruebas))?(?:\s+completa)?)",
            ),
            ("also", r"(?:están|está|ya|ahora|han|ha|todos|todas|se|fueron|en|con|sido|siguen|sigue)"),
            ("pass", r"(?:pasan|pasaron|pasado|pasando|pasa|pasó|verdes?|superad[oa]s|exitos[oa]s|éxito|aprobad[oa]s)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"(?:tests|pruebas)\s*:\s*(?:todas?\s+|todos\s+|\d+/\d+\s+)?(?:ok\b|en\s+verde|pasan|superad[oa]s)"),
            (Tests, r"(?:el\s+código|todo|la\s+rama)\s+pasa\s+(?:ahora\s+)?(?:todos\s+los\s+tests|todas\s+las\s+pruebas)"),
            (Everything, r"(?:está\s+)?todo(?:\s+(?:está|en|ha|sido))*\s+(?:pasa|verde|verificado)"),
            (Tests, r"(?:ningún|ninguna|0)\s+(?:test|prueba)s?\s+(?:falla|fallid[oa]s?|fallando)(?:\s+ya)?"),
            (Tests, r"ya\s+no\s+hay\s+(?:tests|pruebas)\s+(?:fallid[oa]s|fallando|que\s+fallen)"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (
                Tests,
                r"(?:ejecuté|ejecutado|corrí|corrido|lancé|lanzado)\s+<whole>\W+(?:y\s+)?(?:(?:todo|todas|todos|ellas|ellos)\s+)*(?:<also>\s+)*<pass>",
            ),
        ],
        lead: r"(?:y|he|así|que|porque|ahora|hecho|listo|sí|ya|corregido)",
        before: r"(?:^|\W)(?:no|nunca|sin|si|cuando|hasta|deberían?|deben|debe|podrían?|por favor|para que|ojalá|espero|probablemente|antes|ayer|objetivo|dice|informa|según|solo|sólo|algunos|algunas|casi|mayoría|verifica|verificar|comprobar|asegurar|cómo|ejemplo|voy a|hay que|creo|una vez)\W",
        after: r"^\s*(?:excepto|salvo|menos|solo|si|cuando|para|por|a|de|o|antes|ayer|en\s+[^\d\s])\b|\b(?:excepto|salvo|menos|a excepción|omitid[oa]s|falla|fallan|no)\b",
        tail: r"(?:tras|después\s+de)\s+(?:el|la|este|esta|mi)\s+\w+|ahora|ya|de nuevo|otra vez|localmente|en local|correctamente|también|con éxito|en\s+\d[\d.,]*\s*(?:s|segundos?|ms|min\w*)",
        goes_on: r"y\s+(?:el|la|los|las|he|todo|lo|listo|lista|se\s+puede)|así que|incluidas?|incluidos?",
        label: r"resultados?|estado|resumen|hecho|listo|tests?|pruebas|verificación|corregido|terminado",
        opening: r"en|con|bajo|sobre|para|antes|después|cuando|si|mientras|hasta|sin|al|tras|una vez|aunque",
        harmless: r"(?:sin|ningún|0)\s+(?:fallos?|errores|error)",
    },
    ClaimLanguage {
        name: "Portuguese",
        needs: &["passa", "passo", "verde", "aprovad", "sucesso", "sucedid", "falh", "verificado"],
        parts: &[
            (
                "whole",
                r"(?:(?:todos|todas|os|as|a|toda|o|\d+|nossos)\s+)*(?:testes(?:\s+unitários)?|su[íi]te(?:\s+de\s+testes)?(?:\s+completa)?)",
            ),
            ("also", r"(?:estão|está|já|agora|foram|todos|a|com|continuam|continua)"),
            ("pass", r"(?:passam|passaram|passou|passando|passar|passa|verdes?|aprovados|sucesso|bem-sucedidos)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"testes\s*:\s*(?:todos\s+|\d+/\d+\s+)?(?:ok\b|verdes|passaram|passam|passando)"),
            (Everything, r"(?:está\s+)?tudo(?:\s+(?:está|em|foi))*\s+(?:passando|passou|passa|verde|verificado)"),
            (Tests, r"(?:nenhum|0)\s+testes?\s+(?:está\s+)?(?:falhando|falhou|falha)(?:\s+mais)?"),
            (Tests, r"não\s+há\s+mais\s+testes\s+(?:falhando|com\s+falha)"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (Tests, r"(?:executei|rodei)\s+<whole>\W+(?:e\s+)?(?:(?:tudo|todos|eles|ela|está)\s+)*(?:<also>\s+)*<pass>"),
        ],
        lead: r"(?:e|que|porque|agora|feito|pronto|sim|já|corrigido)",
        before: r"(?:^|\W)(?:não|nunca|sem|se|quando|até|deveriam?|devem|deve|poderiam?|por favor|para que|espero|provavelmente|antes|ontem|objetivo|diz|relata|segundo|só|apenas|alguns|quase|maioria|verifique|verificar|garantir|como|exemplo|vou|preciso|acho|assim que)\W",
        after: r"^\s*(?:exceto|salvo|menos|só|se|quando|para|por|pelo|pela|de|ou|antes|ontem|em\s+[^\d\s])\b|\b(?:exceto|salvo|menos|com exceção|ignorados?|falha|falham|não)\b",
        tail: r"(?:depois\s+d|após\s+)(?:a|o|esta|este)\s+\w+|agora|já|novamente|de novo|localmente|corretamente|também|com sucesso|em\s+\d[\d.,]*\s*(?:s|segundos?|ms|min\w*)",
        goes_on: r"e\s+(?:o|a|os|as|tudo|eu)|portanto|então|incluindo",
        label: r"resultados?|estado|status|resumo|feito|pronto|testes?|verificação|corrigido|concluído",
        opening: r"em|no|na|nos|nas|com|sob|sobre|para|antes|depois|após|quando|se|enquanto|até|sem|ao|embora",
        harmless: r"(?:sem|nenhum|0)\s+(?:falhas?|erros?)",
    },
    ClaimLanguage {
        name: "Italian",
        needs: &["passa", "superat", "verd", "successo", "riusciti", "falli", "verificato"],
        parts: &[
            (
                "whole",
                r"(?:(?:tutti|tutte|i|gli|la|l'intera|\d+|nostri)\s+)*(?:test(?:\s+unitari)?|suite(?:\s+di\s+test)?(?:\s+completa)?)",
            ),
            ("also", r"(?:sono|è|ora|adesso|stati|stata|tutti|hanno|con|ancora)"),
            ("pass", r"(?:passano|passati|passata|passa|superati|superata|verdi|verde|successo|riusciti)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"test\s*:\s*(?:tutti\s+|\d+/\d+\s+)?(?:ok\b|verdi|superati|passati|passano)"),
            (Everything, r"tutto(?:\s+(?:è|ora))*\s+(?:passa|verde|verificato)"),
            (Tests, r"(?:nessun|0)\s+test\s+(?:fallito|falliti|fallisce)(?:\s+più)?"),
            (Tests, r"non\s+ci\s+sono\s+più\s+test\s+(?:falliti|che\s+falliscono)"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (Tests, r"(?:eseguito|lanciato)\s+<whole>\W+(?:ed?\s+)?(?:(?:tutto|tutti)\s+(?:i\s+test\s+)?)?(?:<also>\s+)*<pass>"),
        ],
        lead: r"(?:e|ed|ho|che|perché|ora|adesso|fatto|sì|corretto|quindi)",
        before: r"(?:^|\W)(?:non|mai|senza|se|quando|finché|dovrebbero|dovrebbe|devono|deve|potrebbero|per favore|affinché|spero|probabilmente|prima|ieri|obiettivo|dice|secondo|solo|alcuni|quasi|maggior|verifica|verificare|assicurarsi|come|esempio|bisogna|penso|credo|appena)\W",
        after: r"^\s*(?:tranne|eccetto|salvo|solo|se|quando|per|attraverso|di|o|prima|ieri|in\s+[^\d\s])\b|\b(?:tranne|eccetto|salvo|a eccezione|saltati|fallisce|falliscono|non)\b",
        tail: r"dopo\s+(?:la|il|questa|questo|l')\s*\w+|ora|adesso|tutti|di nuovo|localmente|in locale|correttamente|anche|con successo|in\s+\d[\d.,]*\s*(?:s|secondi|ms|min\w*)",
        goes_on: r"ed?\s+(?:il|la|lo|i|ho|tutto)|quindi|incluso|inclusi",
        label: r"risultat[oi]|stato|riepilogo|fatto|pronto|test|verifica|corretto|completato",
        opening: r"al|alla|in|nel|nella|con|sotto|su|sul|per|prima|dopo|quando|se|mentre|finché|senza|una volta|benché|nell'\w+",
        harmless: r"(?:senza|nessun|0)\s+(?:errori|errore|fallimenti)|^\s*di\s+nuovo",
    },
    ClaimLanguage {
        name: "Dutch",
        needs: &["slagen", "slaagt", "geslaagd", "groen", "falende", "mislukte", "doorlopen", "gefaalde", "geverifieerd"],
        parts: &[
            ("whole", r"(?:(?:alle|de|het|hele|volledige|\d+|onze)\s+)*(?:tests|testen|unit-?tests|testsuite)"),
            ("also", r"(?:zijn|is|nu|weer|allemaal|lopen|nog|steeds|met|succes)"),
            ("pass", r"(?:slagen(?:\s+allemaal)?|slaagt|geslaagd|groen|doorlopen|afgerond)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"tests\s*:\s*(?:allemaal\s+|alle\s+|\d+/\d+\s+)?(?:ok\b|groen|geslaagd)"),
            (Everything, r"alles(?:\s+(?:is|nu|weer))*\s+(?:groen|geslaagd|geverifieerd)"),
            (Tests, r"(?:er\s+zijn\s+)?(?:geen|0)\s+(?:falende|mislukte|gefaalde)\s+tests?(?:\s+meer)?"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (Tests, r"<whole>\s+(?:opnieuw\s+)?(?:gedraaid|uitgevoerd)\W+(?:en\s+)?(?:(?:ze|alles)\s+)*(?:<also>\s+)*<pass>"),
        ],
        lead: r"(?:en|heb|dus|dat|want|nu|klaar|ja|opgelost)",
        before: r"\b(?:niet|nooit|zonder|als|wanneer|zodra|totdat|of|zouden|zou|moeten|moet|kunnen|alsjeblieft|zodat|hopelijk|waarschijnlijk|voorheen|eerder|gisteren|doel|zegt|meldt|volgens|alleen|sommige|meeste|bijna|controleer|zorg|om|hoe|waarom|voorbeeld|zal|zullen|denk)\b",
        after: r"^\s*(?:behalve|op|alleen|als|wanneer|zodra|voor|in\s+[^\d\s]|of|eerder|gisteren)\b|\b(?:behalve|uitgezonderd|overgeslagen|faalt|falen|niet)\b",
        tail: r"na\s+(?:de|het|deze|dit|mijn)\s+\w+|nu|weer|opnieuw|lokaal|ook|allemaal|succesvol|in\s+\d[\d.,]*\s*(?:s|sec\w*|ms|min\w*)",
        goes_on: r"en\s+(?:de|het|ik|alles|klaar)|dus|inclusief",
        label: r"resultaat|resultaten|status|samenvatting|klaar|tests?|verificatie|opgelost|gedaan",
        opening: r"bij|in|met|onder|op|voor|na|als|wanneer|terwijl|tot|zonder|zodra|hoewel|toen",
        harmless: r"(?:zonder|geen|0)\s+(?:fouten|mislukte)",
    },
    ClaimLanguage {
        name: "Polish",
        needs: &["przech", "przesz", "zielon", "zalicz", "pomyśl", "powodz", "sukces", "zaw", "zweryf"],
        parts: &[
            ("whole", r"(?:(?:wszystkie|cały|całe|nasze|\d+)\s+)*(?:(?:testy|testów)(?:\s+jednostkowe)?|zestaw\s+testów)"),
            ("also", r"(?:są|teraz|już|zostały|znów|się|wszystkie|nadal)"),
            (
                "pass",
                r"(?:przechodzą|przechodzi|przeszły|przeszło|zielone|zaliczone|pomyślnie|zakończył[oy](?:\s+się)?\s+(?:powodzeniem|sukcesem))",
            ),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"testy\s*:\s*(?:wszystkie\s+|\d+/\d+\s+)?(?:ok\b|zielone|zaliczone|przechodzą)"),
            (Everything, r"wszystko(?:\s+(?:jest|teraz|już))*\s+(?:przechodzi|zielone|zweryfikowane)"),
            (Tests, r"(?:żaden|0)\s+test(?:ów)?\s+(?:już\s+)?nie\s+(?:zawodzi|zawiódł)"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (Tests, r"uruchomi(?:łem|łam)\s+<whole>\W+(?:i\s+)?(?:(?:wszystko|one)\s+)*(?:<also>\s+)*<pass>"),
        ],
        lead: r"(?:zmianie|poprawce|i|a|więc|że|bo|teraz|gotowe|tak|już|naprawione)",
        before: r"(?:^|\W)(?:nie|nigdy|bez|jeśli|jeżeli|gdy|kiedy|dopóki|aż|powinny|powinien|muszą|musi|mogą|proszę|aby|żeby|prawdopodobnie|wcześniej|wczoraj|przedtem|cel|mówi|według|tylko|niektóre|większość|prawie|sprawdź|upewnij|czy|jak|dlaczego|przykład|będą|myślę|chyba)\W",
        after: r"^\s*(?:oprócz|poza|tylko|jeśli|gdy|dla|w\s+[^\d\s]|lub|wcześniej|wczoraj)(?:\W|$)|(?:^|\W)(?:oprócz|poza|z wyjątkiem|pominięte|nie)(?:\W|$)",
        tail: r"teraz|już|ponownie|lokalnie|pomyślnie|też|znów|w\s+\d[\d.,]*\s*(?:s|sek\w*|ms|min\w*)",
        goes_on: r"i\s+(?:kod|zmiana|wszystko|można)|więc|włącznie",
        label: r"wyniki?|status|stan|podsumowanie|gotowe|zrobione|testy|weryfikacja|naprawione",
        opening: r"przy|w|we|z|ze|pod|na|dla|przed|po|gdy|kiedy|jeśli|podczas|dopóki|bez|choć",
        harmless: r"bez\s+błędów",
    },
    ClaimLanguage {
        name: "Russian",
        needs: &["проход", "прош", "пройден", "зел", "успешн", "пада", "упа", "провер"],
        parts: &[
            ("whole", r"(?:(?:все|весь|наши|\d+)\s+)*(?:юнит-)?(?:тесты|теста|тестов|тест|набор\s+тестов)"),
            ("also", r"(?:теперь|снова|уже|успешно|все|были|они|он|опять)"),
            ("pass", r"(?:проходят|проходит|прошли|прошёл|прошел|пройдены|пройден|зел[её]ны[ей]|успешны|успешно)"),
        ],
        claims: &[
            (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
            (Tests, r"тесты\s*:\s*(?:все\s+|\d+/\d+\s+)?(?:ок\b|ok\b|зел[её]ные|пройдены|проходят)"),
            (Everything, r"вс[её](?:\s+(?:теперь|снова|уже))*\s+(?:проходит|зел[её]ное|проверено)"),
            (Everything, r"все\s+проверки(?:\s+<also>)*\s+<pass>"),
            (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
            (Tests, r"(?:запустила?|прогнала?)\s+<whole>\W+(?:и\s+)?(?:<also>\s+)*<pass>"),
            (Tests, r"(?:ни\s+один\s+тест\s+(?:больше\s+)?не\s+(?:падает|упал)|0\s+упавших\s+тестов|нет\s+упавших\s+тестов)"),
        ],
        lead: r"(?:исправления|изменения|правки|и|я|а|что|так|теперь|готово|да|поэтому|исправлено|потому)",
        before: r"(?:^|\W)(?:не|никогда|без|если|когда|пока|должны|должен|могут|может|пожалуйста|чтобы|надеюсь|вероятно|раньше|вчера|цель|говорит|согласно|только|некоторые|большинство|почти|проверь|проверьте|проверить|убедиться|ли|как|почему|пример|будут|думаю)\W",
        after: r"^\s*(?:кроме|за исключением|только|если|когда|для|в\s+[^\d\s]|или|раньше|вчера)(?:\W|$)|(?:^|\W)(?:кроме|за исключением|пропущены|падает|не)(?:\W|$)",
        tail: r"теперь|снова|уже|локально|успешно|тоже|сейчас|за\s+\d[\d.,]*\s*(?:с|сек\w*|мс|мин\w*)",
        goes_on: r"можно|исправление|ошибок\s+нет|код|и\s+(?:код|ветка|всё|все|я|мы|можно)|так что|поэтому|включая",
        label: r"результаты?|статус|итоги?|готово|сделано|тесты|проверка|исправлено",
        opening: r"при|в|во|с|со|под|на|для|до|после|когда|если|пока|без|хотя",
        harmless: r"без\s+(?:ошибок|падений)",
    },
    ClaimLanguage {
        name: "Chinese",
        needs: &["通过", "通過", "成功", "绿", "验证", "失败"],
        parts: &[],
        claims: &[
            (
                Tests,
                r"(?:所有|全部|全部的|所有的|整个|\d+\s*个?)?(?:单元)?(?:测试|測試)(?:用例|套件)?(?:现在|現在|已经|已經|都|全部|均|也|能|可以|又)*(?:已)?(?:通过|通過|成功|全绿|变绿)",
            ),
            (Tests, r"(?:测试|測試)(?:结果)?[:：]\s*(?:\d+/\d+\s*)?(?:全部|全)?(?:通过|通過|绿)"),
            (Everything, r"(?:全部|一切|所有检查)(?:都|均)?(?:已)?(?:通过|通過|验证|全绿)"),
            (Tests, r"没有(?:任何)?失败的?测试"),
        ],
        lead: "",
        before: r"(?:不|没|沒|未|如果|若|当|當|等|直到|应该|應該|应当|可能|也许|请|請|确保|確保|希望|以便|为了|除了|以外|之前|以前|昨天|目标|據說|据说|根据|只有|部分|大部分|几乎|检查|是否|如何|例如|将|會|会|需要|必须|让|(?:^|[^重])新的?|相关的?|这些|那些|其他|修改的)",
        after: r"^\s*(?:吗|嗎|率|后|後|之后|的话|的時候|的时候|与否|才|除了|除外|仅|但|为止)|(?:除了|除外|例外|跳过|失败|没有通过|未通过|吗|嗎|再)",
        tail: r"了|啦|。",
        goes_on: r"，|；|,|并且|所以",
        label: r"结果|状态|总结|完成|测试|验证|已修复|测试结果|更新",
        opening: r"在|当|当|如果|对于|使用",
        harmless: r"(?:[，,]\s*)?没有(?:任何)?(?:错误|失败)",
    },
    ClaimLanguage {
        name: "Japanese",
        needs: &["成功", "通", "パス", "合格", "グリーン", "済み", "失敗"],
        parts: &[],
        claims: &[
            (
                Tests,
                r"(?:すべて|全て|全部|全)?の?(?:単体|ユニット)?テスト(?:スイート)?(?:は|が|も|を)?(?:すべて|全て|全部|全件|現在|正常に|無事に?)*(?:に)?(?:成功|通過|パス|合格|通り|通って|グリーン)",
            ),
            (Tests, r"テスト(?:結果)?[:：]\s*(?:\d+/\d+\s*)?(?:全件|すべて|全て)?(?:成功|パス|グリーン)"),
            (Everything, r"(?:すべて|全て|全部)(?:が|は)?(?:グリーン|パスし|成功し|検証済み|確認済み)(?:です|ました|ています)?"),
            (Tests, r"失敗した?テストは(?:ありません|ゼロ)"),
        ],
        lead: "",
        before: r"(?:もし|まで|ば、|たら|前は|以前|昨日|べき|一部|ほとんど|ように|ため|確認して|新しい|新規|関連|この|その|他の|追加した|だけ|除いて|以外)",
        after: r"(?:ません|ない|なかった|なら|たら|れば|ば|まで|べき|はず|か[？?]?$|ように|かどうか|除|以外|失敗|でしょう|予定|たい|必要|確認し|と思|場合|時)",
        tail: r"になりました|になっています|しました|しています|している|した|し、|です|でした|済みです|済み|ました|ています|ている|た|います|りました|となりました|ありません|ゼロです",
        goes_on: r"、|，|,",
        label: r"結果|状態|まとめ|完了|テスト|テスト結果|検証|更新",
        opening: r"もし|以前",
        harmless: r"",
    },
];
