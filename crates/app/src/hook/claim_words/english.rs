//! The claims in English.

use crate::hook::ClaimSubject::{Everything, Tests};
use crate::hook::claim_words::ClaimLanguage;

pub(in crate::hook) const ENGLISH: ClaimLanguage = ClaimLanguage {
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
        ("tests", r"(?:tests|test\s+cases|test\s+files|test\s+suites|suites|specs)"),
        ("suite", r"(?:test[- ]?suite|suite|test\s+run|test-run)"),
        ("runner", r"(?:wholesuite|pytest|cargo test|cargo nextest run|npm test|go test|make test)"),
        (
            "whole",
            r"(?:(?:(?:all|all\s+of|the|every|entire|full|whole|complete|our|project's|<count>)\s+)*(?:(?:<both>\s+)?<tests>|(?:existing\s+)?<suite>)|(?:the\s+)?(?:full|whole|complete|entire)\s+run)",
        ),
        (
            "where",
            r"(?:\s*\(<count>(?:\s+tests)?\)|\s+in\s+the\s+(?:(?:whole|full|entire|test)\s+)*(?:suite|project|repository|repo|workspace)|\s+(?:in|across)\s+(?:all\s+)?\d+\s+(?:test\s+)?(?:files|suites|modules|packages|crates))",
        ),
        (
            "also",
            r"(?:is|are|was|were|do|does|now|all|still|again|once again|have|has|been|successfully|cleanly|currently|both|run|runs|ran|and|come|comes|came|back|finally|completely|entirely|fully|continues?\s+to|continued\s+to|remains?|remained|stays?|stayed|keeps?|kept|returns?|returned|to|a)",
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
            r"pass(?:es|ed)?(?:\s+now)?\s*,?\s+(?:and|as|so)\s+(?:so\s+)?do(?:es)?\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:others|other\s+tests|everything\s+else|rest(?:\s+of\s+the\s+(?:(?:test\s+)?suite|tests))?)",
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
            r"(?:(?:full|whole|complete|entire|all)\s+)?(?:<tests>|<suite>|test\s+(?:status|results?))(?:(?:\s*(?::|=|→|->)\s*|\s+[—–-]\s+)(?:[✅✓]\s*)?(?:all\s+|\d+(?:/\d+)?\s+)*(?:pass(?:es|ed|ing)?|green|ok\b)|\s*[:=→—–-]?\s*[✅✓](?:\s*(?:all\s+)?pass(?:es|ed|ing)?)?)",
        ),
        (Tests, r"(?:<tests>|suites)\s*:\s*(?:[2-9]|[1-9]\d+)\s+passed\s*,\s*\d+\s+total"),
        (Tests, r"(?:[2-9]|[1-9]\d+)\s+tests\s*,\s*\d+\s+passed"),
        (Tests, r"(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?pass(?:ed|ing)?\s*(?:,|;|and|/|·|—|\()*\s*<no>\s+(?:tests?\s+)?<fail>"),
        (
            Tests,
            r"^\W*(?:(?:(?:i\s+|we\s+|i've\s+)?(?:re-?)?(?:ran|run)\s+(?:the\s+)?)?<runner>(?:\s+(?:again|locally|reports?|reported|shows?|says|gives?))*\W+|(?:results?|tests?|test results?)\W+)(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?passed",
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
        (Tests, r"tests\s+were\s+(?:re-?)?run(?:\s+again)?\s+and\s+(?:they\s+)?(?:have\s+)?all\s+(?:of\s+them\s+)?pass(?:ed)?"),
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
        (Tests, r"<ran>\s+tests\W+(?:and\s+)?(?:they\s+)?all\s+(?:of\s+them\s+)?pass(?:ed)?"),
        (Everything, r"(?:the\s+)?ci(?:\s+(?:is|run|pipeline|build|now|all|fully))*\s+(?:green|passes|passing)"),
        (Everything, r"all(?:\s+(?:is|are|now|still))*\s+green"),
        (Everything, r"^\W*(?:all\s+)?green\s+across\s+the\s+board"),
        (Tests, r"after\s+(?:the|this|my)\s+(?:fix|change)\s+(?:all(?:\s+the)?\s+tests|every\s+test)(?:\s+<also>)*\s+<pass>"),
        (
            Tests,
            r"<ran>\s+the\s+(?:full|whole|entire|complete)\s+(?:<suite>|test\s+suite)\s*[:—–-]\s*[1-9]\d*\s+(?:tests\s+)?passed",
        ),
        (
            Everything,
            r"(?:everything|all\s+changes|the\s+(?:fix|change)|all)(?:\s+(?:is|are|was|were|has|have|been|now|tested|and|fully))+\s+verified",
        ),
        (Everything, r"^[\s✅✓*•-]*(?:all\s+)?verified(?:\s*[.!✅✓]+\s*|\s*$)"),
        (Everything, r"verified\s+(?:that\s+)?(?:everything|it\s+all|all\s+of\s+it)\s+(?:works|passes|is\s+green)"),
    ],
    lead: r"(?:and|by|so|now|that|because|confirmed|confirm|verified|checked|validated|sure|done|yes|also|then|as|since|result|results|status|with|leaving|finally|great|ok|okay|good|where|again|fixed|i|we|i've|we've|have|are)",
    before: r"\b[a-z]{4,}s\s+are\s*$|^\W*(?:please\s+)?(?:confirm|verify|validate)\b|\b(?:was|were)\s+\w+\s+because\b|\b(?:almost|aside|excepted|excepting|excluding|excluded|notwithstanding|far\s+from|be sure|doubts?|no\s+(?:evidence|proof|sign|idea)|todo|reported|reports|report|reverted|reverting|stashed|stashing|undid|undoing|mutants?|mutations?|mutated|survives?|apparently|presumably|seems?|states|stated|shows|showed|not|never|cannot|unable|without|if|when|once|until|unless|whether|ensure|ensures|make sure|make it|to (?:confirm|verify|check|ensure|see|make|get|keep)|please|should|would|could|may|might|must|will|need|needs|want|wants|expect|expected|hope|hopefully|assume|assuming|believe|think|suppose|supposedly|probably|likely|claim|claims|claimed|said|says|told|according|before|previously|earlier|used to|false\s+that|wrong\s+that|untrue\s+that|back\s+then|initially|originally|at\s+first|goal|aim|plan|next|let me|let's|so that|as soon as|how|why|what|where|example|pretend|imagine|prints?|printed|readme|comment|string|badge|title|only|some|most|many|few|half|none|neither|almost|nearly|run|rerun|checks?|yesterday|last|upstream|main|doesn't|don't|didn't|isn't|aren't|haven't|hasn't|won't|can't|couldn't|wouldn't|shouldn't|i'll|we'll|you(?:'ll|'d|'re|\s+(?:said|say|wrote|write|told|tell|see|will|can|could|should|may|might|must|want|need|have|know|expect|claim\w*|mentioned|asked\s+(?:me|us|whether|if)))|your\s+(?:last|earlier|previous|machine|laptop|side|end|branch|claim|report|message|tests?|suite)|asks?|wants?|criteria|criterion|definition|requires?|mean|means|does|did)\b",
    after: r"^\s*(?:\d+\s+tests|so\s+(?:far|long)|again\s+and|except|apart|other than|besides|only|if|when|once|unless|until|for|under|on|before|should|would|without|aside|minus|yesterday|last|earlier|previously|or|in\s+[^\d\s]|of|because they|but|again (?:when|once|if)|as|there|badge|through|by|to|into|via|along|a|an|the|its|this|half|part|part of|some|none|invalid|in\s+as|is|was|matters?|criteria|criterion|rate|count)\b|\b(?:except|apart from|other than|aside from|unless|if you|once you|when you|excluding|excluded|exception|skipp?(?:ed|ing)?|ignored|deselected|but|fail(?:s|ed|ing|ure|ures)?|red|yesterday|upstream|pre-existing|known|later|errors?|errored|timed?\s+out|time\s?outs?|hangs?|hung|deadlocks?|breaks?|broken|broke|crash(?:es|ed)?|flaky|flakes?|individually|isolation|segfaults?|exits?|aborts?|panics?|still open|thinks?|hope|hopefully|told|seems?|seemingly|apparently|presumably|condition|would|should|needs?|needed|must|mutants?|mutations?|surviv\w+|until|unless|unverified|untested|did\s+no|have\s+no|cannot|can't|didn't|haven't|pending|\d+\s+out\s+of|before (?:the|this|my)|not)\b",
    tail: r"[1-9]\d*(?:/\d+)?\s+(?:tests\s+)?passed|[1-9]\d*/\d+|now|again|too|completely|fully|locally|successfully|cleanly|here|as well|in total|overall|consistently|today|this time|both|well|unchanged|any\s*more|in\s+(?:about\s+)?\d[\d.,]*\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?)|\(\s*\d+(?:/\d+)?(?:\s+(?:tests?|passed|passing|in|total))*\s*\)|(?:after|with)\s+(?:this|the|my|these|that)(?:\s+(?:new|latest))?\s+(?:fix|fixes|changes?|patch|update|schema|version|implementation|rename|refactoring)(?:\s+(?:in\s+place|applied))?|after\s+(?:the|this|my|that|these|those)\s+[\w-]+|with\s+the\s+(?:new|upgraded|updated|latest|changed)\s+[\w-]+|after\s+(?:i|we)\s+(?:restored|fixed|changed|updated|added|renamed|moved|rebuilt|applied|mended)\s+(?:the|a|an|my|both|all)\s+[\w-]+(?:\s+[\w-]+)?|in\s+full",
    goes_on: r"nothing\s+else|no\s+other|(?:lint(?:er)?|types|build)\s+(?:is\s+)?(?:clean|green|ok)|and\s+(?:so\s+)?(?:the|i|we|i've|it|its|everything|all|no|nothing|ready|this|you|there|quotation|wholesuite|lint\w*|clippy|coverage|types?|docs?|ci)|so\s+(?:the|this|it|i|we|you)|which|including|thus|therefore|ready\s+(?:to|for)|(?:i|we)(?:\s+have|'ve)?(?:\s+also)?\s+(?:pushed|committed|updated|added|removed|fixed|renamed|opened)|it(?:'s|\s+is)\s+(?:ready|done)|you\s+can|feel\s+free|this\s+is|the\s+(?:branch|fix|change|changes|feature|bug|work|task|code|implementation|linter|build)|(?:lint\w*|clippy|coverage|types?|build|formatting|docs|documentation)\s+(?:is|are|checks?|passes)|(?:tests|build|lint|types|formatting)\s*,\s*\w+|\d+\s+(?:suites?|tests?|files?)|nothing\s+(?:is\s+)?(?:left|more)",
    label: r"|that's\s+it|all\s+good|the\s+change\s+is\s+safe|no\s+regressions|(?:(?:final|test|current|overall)\s+)?(?:results?|status|summary|done|tests?|verification|update|outcome|all\s+good|validation|testing|fixed|confirmed|verified|test\s+run|test\s+suite|unit\s+tests|integration\s+tests)|(?:good|great)\s+news|great|perfect|all\s+set|you\s+can\s+merge(?:\s+(?:it|this))?|<runner>|to\s+(?:summari[sz]e|sum\s+up)|in\s+(?:summary|short)|.*\b(?:is|are)\s+(?:now\s+)?(?:done|complete|completed|finished|verified|fixed|ready)(?:\s+(?:for\s+review|to\s+merge))?(?:\s+and\s+(?:verified|tested|done))?|.*\bworks?(?:\s+(?:now|again|fine))?|the\s+changes?|.*\btests\s+(?:confirm|prove|show)\s+(?:it|this|that)|(?:full\s+|complete\s+|whole\s+)?(?:test\s+)?(?:suite|run)|(?:i've\s+|i\s+)?double[- ]checked|(?:.*\b(?:and|then)\s+)?(?:i\s+|we\s+|i\'ve\s+)?(?:re-?)?(?:ran|run)\s+(?:(?:the|all|full|whole|entire|complete|of)\s+)*(?:tests|test[- ]?suite|suite|pytest|wholesuite)(?:\s+<againword>)*|(?:final|current|overall)\s+state|<runner>\s+is\s+(?:happy|green|clean)|(?:nothing\s+fails\s+)?any\s*more|nothing\s+fails(?:\s+now)?|(?:i|we|i've|we've)\s+(?:have\s+)?(?:verified|confirmed|tested|checked)\s+(?:the|this|my)\s+(?:fix|change|patch|implementation)",
    opening: r"at|in|with|under|on|for|before|after|once|when|if|while|unless|until|without|by|from|given|assuming|as|since|although|though|whenever|during|using|upon|prior|because|provided|apart|aside|excluding|excepting|excepted|except|excepted|besides|other|ignoring|skipping|leaving|bar|barring|minus|modulo|against|save|omitting|disregarding|had|were|outside|beyond|save",
    clause: r"feel\s+free.*|(?:great|cool|nice|perfect|excellent|good|yes|yep|okay|ok|done|finished|fixed|finally|also|now|so|then|thus|therefore|hence|overall|today|consequently|additionally)(?:\s+(?:news|now))?|all\s+(?:good|set)|in\s+(?:summary|short|total|conclusion|brief)|to\s+(?:summari[sz]e|sum\s+up)|as\s+(?:a\s+result|expected)|(?:i|we|i've|we've|it|it's|that|that's|this|they|there|everything|nothing|the|my|our|both|all|no|build|builds|lint\w*|types?|docs|clippy|formatting|coverage)(?:\s.*)?|[\w-]+\s+(?:is|are|was|were|has|have|works?|complete|completed|done|fixed|mended|finished|successful|clean|green|passes)(?:\s.*)?|(?:re-?)?(?:ran|run|fixed|added|updated|renamed|moved|removed|changed|implemented|refactored|mended|rewrote|wrote|cleaned|migrated|upgraded|bumped|replaced|restored|corrected|repaired|resolved)\s.*",
    joins: r"and|so|but|because|since|as|that|where|which|—|–",
    partial: r"^\W*[1-9]\d*\s+tests?\b|^\W*(?:the\s+)?unit\s",
    total: r"\b(?:all|every|each|both|0|no|zero)\b|tests\s*,\s*\d+\s+passed",
    admits: r"\b[1-9]\d*\s+(?:of\s+(?:them|\d+)\s+)?(?:tests?\s+)?(?:(?:is|are|still|now|also|have|has)\s+)*fail(?:s|ed|ing|ures?)?\b|^\W*[1-9]\d*\s+error(?:s|ed)?\b|(?:\b(?:\w*tests?\w*|suite|checks?|one|builds?|ci|quotation|wholesuite)|')\s+(?:[\w-]+\s+){0,2}?fails\b|\bstill\s+(?:fail(?:s|ing)?|red|broken)\b|\b(?:is|are|stays?|remains?)\s+(?:(?:now|still|also)\s+)*(?:red|failing|broken)\b|[❌✗✘]|\b(?:tests|one|two|three|some|several)\s+(?:of\s+(?:them|the\s+\w+)\s+)?(?:also\s+|still\s+)?(?:fail|failed|broke|break|breaks)\b|(?:\b(?:not|never)|n't)\s+(?:(?:yet|actually|been|be)\s+)*(?:run|ran|executed?|tested|re-?run)\b|\b(?:untested|unverified)\b|\bnothing\s+(?:\w+\s+){0,3}?(?:tested|run)\b|\btest_\w+|\b(?:has|have|with)\s+(?:a|one|two|some|several|[1-9]\d*)\s+(?:red|failing|broken)\s+tests?\b|\bas\s+it\s+fails\b|\bred\s+tests?\b|\b(?:them|tests?|one|two|quotation)\s+errors?\s+out\b|\bquotation\s+(?:still\s+needs|needs|remains|hangs|breaks|is\s+(?:the\s+odd|still))\b|\b(?:one|only|sole|single|known)\s+exceptions?\s*(?:\b(?:is|are|being|to)\b|[:,—–(]|\.?\s*$)|^\W*(?:(?:known|remaining)\s+)?exceptions?\s*:|^\W*(?:well\W+)?(?:except|apart\s+from|aside\s+from|other\s+than)\b|\bexcept\s+(?:for\s+)?\S*test\S*|(?:\S*test\S*|\S+::\S+|\bquotation|\bone|\btwo)\s+(?:does|do)(?:n't|\s+not)(?:\s+(?:yet\s+)?pass)?\s*(?:$|[.,:;!—(])|(?:\bnot|n't)\s+(?:yet\s+)?(?:pass|passing|green)\s*(?:yet\s*)?(?:$|[.,:;!—(])|\bthere(?:'s|\s+(?:is|are))\s+(?:still\s+)?(?:an?|one|two|three|some|several|[1-9]\d*)\s+(?:\w+\s+){0,2}?failures?\b|\b(?:remaining|known|open|outstanding|only|sole)\s+(?:test\s+)?failures?\s*(?::|\b(?:is|are)\b)|^\W*failures?\s*:|\b(?:left|leaving|kept)\s+\S+\s+(?:\w+\s+)?(?:red|failing|broken)\b|\b(?:only|just)\s+\S+\s+(?:fails|failed|is\s+red)\b|(?:\S*test\S*|\S+::\S+|\bquotation)\s+(?:(?:still|now|also)\s+)*(?:fails|errors|crashes|times\s+out|hangs|panics)\b",
    mended: r"\b(?:fix(?:ed|es|ing)?|mend\w*|repair\w*|resolv\w*)\s+(?:[\w'-]+\s+){0,5}?fail(?:ing|ed|ures?)\b|\b(?:before|initially|at\s+first|first|previously|earlier|originally)\b[^.;]*\bfail\w*|\b[1-9]\d*\s+(?:tests?\s+)?failed\s+(?:before|at\s+first|initially|earlier|previously|because|until)\b|\bfails?\s+(?:without|if|when|unless|before|until)\b|\b(?:made|makes|let|lets|caused|causes)\s+[^.;,]*\bfail\b|\b(?:no|none|nothing|zero|0)\s+(?:[\w-]+\s+){0,3}?fail\w*|\bfailures?\s*:\s*(?:0|none|no)\b|\b(?:add(?:ed|s|ing)?|wr(?:ote|ites?|iting)|creat(?:ed|es|ing)|introduc(?:ed|es)|renam(?:ed|es)|mov(?:ed|es)|updat(?:ed|es|ing)|extend(?:ed|s)|chang(?:ed|es)|fix(?:ed|es|ing)?|mend(?:ed|s)|repair(?:ed|s)|correct(?:ed|s)|rewr(?:ote|ites)|with|in|via|from|by|ran|run|see)\s+(?:[\w`'/.-]+\s+){0,4}?\S*test_\w+|\btest_\w+\S*\s+failed\s+(?:before|at\s+first|initially|earlier|previously)\b|\btest_\w+\S*\s+(?:(?:now|also|again|still)\s+)*(?:pass(?:es|ed)|covers?|checks?|tests?|asserts?|guards?|is\s+(?:now\s+)?(?:green|fixed|mended|new))\b",
    corrects: r"correction|wait|however|not|actually",
    harmless: r"\(see\s+(?:the\s+)?(?:[\w]+\s+)?(?:output|log|above|below)(?:\s+(?:above|below))?\)|\b(?:did\s+not|didn't)\s+(?:need|have)\s+to\s+(?:change|touch|edit|modify)\b|\s(?:in|across)\s+(?:all\s+)?\d+\s+(?:test\s+)?(?:files|suites|modules|packages|crates)\b|\b(?:before|prior\s+to)\s+(?:finishing|committing|pushing|stopping)\b|(?:,\s*|\band\s+)\b(?:0|no|zero)\s+skipped\b|\bone\s+last\s+time\b|\byou\s+can\s+(?:now\s+)?merge(?:\s+(?:it|this))?|^\W*after\s+(?:updating|fixing|changing|renaming|adding|moving|restoring|applying|rebuilding)\s+[^,]*,|^\W*(?:in\s+(?:summary|short|total|conclusion)|as\s+(?:a\s+result|expected|requested|discussed|agreed|planned|you\s+asked)|at\s+this\s+point|with\s+(?:that|this|these)(?:\s+in\s+place)?|after\s+that|on\s+top\s+of\s+that),|(?:updated|added|wrote|fixed|extended|rewrote)\s+(?:the\s+|a\s+)?(?:docs?|documentation|readme|comments?|doc\s+comments?)\b|previously\s+(?:failing|broken|red|flaky)|(?:^|[;:,])\W*(?:with|after)\s+(?:this|the|my|these|that|those)\s+(?:fix|fixes|change|changes|update|patch)(?:\s+(?:applied|in place))?,|\byou\s+(?:listed|asked\s+for|asked\s+about|mentioned|named|requested|wanted|described|pointed\s+out)\s+(?:is|are|was|were|has|have|now)\b|\bon\s+(?:my|this|the\s+current|the\s+feature)\s+(?:machine|side|end|branch|tree)\b|\bon\s+the\s+first\s+(?:run|try|attempt)\b|\bacross\s+(?:the\s+(?:board|workspace|project|repo|repository|codebase)|all\s+(?:packages|crates|modules|projects))\b|\bboth\s+times\b|\bas\s+expected\b|(?:\b(?:and|with|has|have|there\s+(?:are|were))\s+)*\b(?:without(?:\s+any)?|any|no|zero|0)\s+(?:tests?\s+)?(?:failed|failures?|failing|errors?|errored|warnings?|timed\s+out|timeouts?|regressions?)\b|(?:and\s+)?nothing\s+(?:fails|failed|broke|breaks|is\s+broken)|\b(?:does|do|did)(?:n't|\s+not)\s+break\s+(?:anything|any\s+\w+)|\bto\s+(?:make\s+sure|ensure|verify|confirm|check)\s+(?:that\s+)?(?:nothing|it|this|everything)\s+[^,;]*,\s+and\b|\b<ran>\s+(?:the\s+)?(?:(?:whole|full|entire|complete|test)\s+)*(?:tests|suite|wholesuite)\s+(?:again\s+)?(?:shows?|showed|confirms?|confirmed)\b|\b(?:i|we)(?:\s+have|'ve)?\s+(?:also\s+)?(?:double[- ])?(?:checked|made\s+sure)\b|\bthe\s+last\s+(?:failure|failing\s+test|one|bug|problem)\b|\b(?:all|the\s+\w+)\s+fail(?:ing\s+tests|ures)\s+(?:have\s+been|were|are)\s+fixed\b",
};
