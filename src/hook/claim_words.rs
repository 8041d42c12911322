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
        needs: &["pass", "green", "succe", "verif", "fail", "✅", "✓"],
        claims: &[
            (
                Tests,
                r"(?:(?:all|all\s+of|the|every|entire|full|whole|complete|our|project's|\d+(?:/\d+)?)\s+)*(?:tests|test[- ]?suite|suite|test run)(?:\s*\(\d+(?:/\d+)?\))?(?:\s+(?:is|are|do|does|now|all|still|again|have|has|successfully|cleanly|currently|both|run|runs|ran|and|come|comes|came|back|finally|completely|fully|continues?\s+to))*\s+(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful)",
            ),
            (
                Tests,
                r"all(?:\s+of)?(?:\s+(?:the|our|\d+(?:/\d+)?))*\s+(?:(?:new and existing|existing and new|unit and integration|unit|existing|automated)\s+)?tests(?:\s*\(\d+(?:/\d+)?\)|\s+in\s+the\s+(?:(?:whole|full|entire|test)\s+)*(?:suite|project|repository|repo|workspace))?(?:\s+(?:is|are|do|does|now|all|still|again|have|has|successfully|cleanly|currently|both|run|runs|ran|and|come|comes|came|back|finally|completely|fully|continues?\s+to))*\s+(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful)",
            ),
            (
                Tests,
                r"both\s+(?:the\s+)?(?:new\s+and\s+(?:existing|old)|existing\s+and\s+new|unit\s+and\s+integration)\s+tests(?:\s+(?:are|now|still|all))*\s+(?:pass(?:ed|ing)?|green|succeed)",
            ),
            (
                Tests,
                r"(?:wholesuite|pytest|cargo test|cargo nextest run|npm test|go test|make test)(?:\s+(?:is|now|again|still|finishes|finished|completes))*\s+(?:passes|passed|green|succeeds|succeeded|cleanly)",
            ),
            (
                Tests,
                r"(?:tests|test[- ]?suite|suite)(?:(?:\s*(?::|=|→|->)\s*|\s+[—–-]\s+)(?:all\s+|\d+(?:/\d+)?\s+)*(?:pass(?:es|ed|ing)?|green|ok\b)|\s*[:=→—–-]?\s*[✅✓])",
            ),
            (
                Tests,
                r"(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?pass(?:ed|ing)?\s*(?:,|;|and|/|·|—|\()*\s*(?:0|no|zero)\s+(?:tests?\s+)?(?:fail(?:ed|ures?|ing)?|errors?)",
            ),
            (
                Tests,
                r"^\W*(?:(?:i\s+|we\s+|i've\s+)?(?:re-?)?(?:ran|run)\s+(?:the\s+)?(?:wholesuite|pytest|cargo test|cargo nextest run|npm test|go test|make test)(?:\s+(?:again|locally))?\W+|(?:results?|tests?|test results?)\W+)?(?:[2-9]|[1-9]\d+)\s+(?:tests\s+)?passed",
            ),
            (Tests, r"(?:0|no|zero)\s+(?:test\s+failures|failing\s+tests|failed\s+tests|tests?\s+fail(?:ed|ing|s)?)"),
            (
                Tests,
                r"(?:ran|re-?ran|executed|run)\s+(?:(?:(?:the|all|of|every|our|full|whole|entire|complete)\s+)+(?:tests|test[- ]?suite|suite)|(?:wholesuite|pytest|cargo test|cargo nextest run|npm test|go test|make test))(?:\s+(?:again|locally|once more))?\s*(?:\s|,|;|:|\band\b|—|–|-)*(?:(?:it|they|everything|all|of|them|is|are|was|were|now|tests)\s+)*(?:pass(?:es|ed)?|green|succeed(?:s|ed)?)",
            ),
            (
                Everything,
                r"(?:everything|all\s+(?:the\s+)?(?:checks|tests\s+and\s+checks|tests\s+and\s+(?:lints?|linters?|type\s+checks)|checks\s+and\s+tests)|every\s+(?:check|test))(?:\s+(?:is|are|now|still|have|has|comes|back))*\s+(?:pass(?:es|ed|ing)?|green)",
            ),
            (Everything, r"all(?:\s+(?:is|are|now|still))*\s+green"),
            (
                Everything,
                r"(?:everything|all\s+changes|the\s+(?:fix|change)|all)(?:\s+(?:is|are|was|were|has|have|been|now|tested|and|fully))+\s+verified",
            ),
            (Everything, r"^[\s✅✓*•-]*(?:all\s+)?verified(?:\s*[.!✅✓]+\s*|\s*$)"),
            (Everything, r"verified\s+(?:that\s+)?(?:everything|it\s+all|all\s+of\s+it)\s+(?:works|passes|is\s+green)"),
        ],
        lead: r"(?:and|so|now|that|because|confirmed|verified|done|yes|also|then|as|since|result|results|status|with|finally|great|ok|okay|good|where|again|fixed|i|we|i've|we've|have|are)",
        before: r"\b(?:todo|reported|reports|report|reverted|reverting|stashed|stashing|undid|undoing|mutants?|mutations?|survives?|apparently|presumably|seems?|states|stated|shows|showed|not|never|cannot|unable|without|if|when|once|until|unless|whether|ensure|ensures|make sure|to (?:confirm|verify|check|ensure|see|make|get|keep)|please|should|would|could|may|might|must|will|need|needs|want|wants|expect|expected|hope|hopefully|assume|assuming|believe|think|suppose|supposedly|probably|likely|claim|claims|claimed|said|says|told|according|before|previously|earlier|used to|goal|aim|plan|next|let me|let's|so that|as soon as|how|why|what|where|example|pretend|imagine|prints?|printed|readme|docs?|documentation|comment|string|text|badge|title|only|some|most|many|few|half|none|neither|almost|nearly|run|rerun|check|yesterday|last|upstream|main|doesn't|don't|didn't|isn't|aren't|haven't|hasn't|won't|can't|couldn't|wouldn't|shouldn't|i'll|we'll|you|your|asks?|wants?|criteria|criterion|definition|requires?|mean|means|does|did)\b",
        after: r"^\s*(?:except|apart|other than|besides|only|if|when|once|unless|until|for|under|on|before|should|would|without|aside|minus|yesterday|last|earlier|previously|or|in\s+[^\d\s]|of|because they|but|again (?:when|once|if)|as|there|badge|through|by|to|into|via|along|a|an|the|its|this|half|part|part of|some|none|invalid|in\s+as|is|was|matters?|criteria|criterion|rate|count)\b|\b(?:except|apart from|other than|aside from|unless|if you|once you|when you|excluding|exception|skipp?(?:ed|ing)?|ignored|deselected|but|fail(?:s|ed|ing|ure|ures)?|red|yesterday|upstream|pre-existing|known|later|errors?|errored|timed?\s+out|time\s?outs?|hangs?|hung|deadlocks?|breaks?|broken|broke|crash(?:es|ed)?|flaky|flakes?|individually|isolation|segfaults?|exits?|aborts?|panics?|still open|thinks?|hope|hopefully|told|seems?|seemingly|apparently|presumably|condition|would|should|needs?|needed|must|mutants?|mutations?|surviv\w+|until|unless|unverified|untested|did\s+no|have\s+no|cannot|can't|didn't|haven't|pending|\d+\s+out\s+of|before (?:the|this|my)|not)\b",
        tail: r"now|again|too|completely|fully|locally|successfully|cleanly|here|as well|in total|overall|consistently|today|this time|both|well|in\s+(?:about\s+)?\d[\d.,]*\s*(?:ms|s|secs?|seconds?|m|mins?|minutes?)|\(\s*\d+(?:/\d+)?(?:\s+(?:tests?|passed|passing|in|total))*\s*\)|(?:after|with)\s+(?:this|the|my|these)\s+(?:fix|changes?)",
        goes_on: r"and\s+(?:so\s+)?(?:i|we|i've|it|everything|all|the\s+(?:branch|fix|change|changes|feature|bug|work|task|code|implementation|linter|lint|build|docs|documentation|type)|clippy|lint\w*|coverage|types?|no|ready|this|you|there)|so\s+(?:the|this|it|i|we|you)|including|therefore|ready\s+(?:to|for)|(?:lint\w*|clippy|coverage|types?|build|formatting)\s+(?:is|are|checks?|passes)|(?:i|we)(?:\s+have|'ve)?(?:\s+also)?\s+(?:pushed|committed|updated|added|removed|fixed|renamed|opened)|it\s+is\s+(?:ready|done)|this\s+is\s+(?:ready|done)|you can|the\s+(?:branch|fix|change|changes|feature|bug|work|task|code|implementation|linter|build)",
        label: r"(?:(?:final|test|current|overall)\s+)?(?:results?|status|summary|done|tests?|verification|update|outcome|all\s+good|validation|testing|fixed)|to\s+(?:summari[sz]e|sum\s+up)|in\s+(?:summary|short)|.*\b(?:is|are)\s+(?:now\s+)?(?:done|complete|completed|finished|verified|fixed|ready)(?:\s+and\s+(?:verified|tested|done))?|(?:.*\b(?:and|then)\s+)?(?:i\s+|we\s+|i\'ve\s+)?(?:re-?)?(?:ran|run)\s+(?:(?:the|all|full|whole|entire|complete|of)\s+)*(?:tests|test[- ]?suite|suite|pytest|wholesuite)(?:\s+(?:again|locally|once more))?",
        opening: r"at|in|with|under|on|for|before|after|once|when|if|while|unless|until|without|by|from|given|assuming|as|since|although|though|whenever|during|using|upon|prior|because|provided",
        harmless: r"^\W*(?:in\s+(?:summary|short|total|conclusion)|as\s+(?:a\s+result|expected)|at\s+this\s+point|with\s+(?:that|this|these)(?:\s+in\s+place)?|after\s+that|on\s+top\s+of\s+that),|(?:updated|added|wrote|fixed|extended|rewrote)\s+(?:the\s+|a\s+)?(?:docs?|documentation|readme|comments?|doc\s+comments?)\b|previously\s+(?:failing|broken|red|flaky)|^\W*(?:with|after)\s+(?:this|the|my|these|that|those)\s+(?:fix|fixes|change|changes|update|patch)(?:\s+(?:applied|in place))?,|\bon\s+my\s+(?:machine|side|end)\b|\bas\s+expected\b|(?:\b(?:and|with|has|have|there\s+(?:are|were))\s+)*\b(?:without(?:\s+any)?|any|no|zero|0)\s+(?:tests?\s+)?(?:failed|failures?|failing|errors?|errored|warnings?|timed\s+out|timeouts?|regressions?)\b|(?:and\s+)?nothing\s+(?:fails|failed|broke|breaks|is\s+broken)",
    },
    ClaimLanguage {
        name: "German",
        needs: &["grün", "bestand", "besteh", "durch", "erfolgreich", "fehl", "roten", "verifiziert", "überprüft"],
        claims: &[
            (
                Tests,
                r"(?:(?:alle|die|sämtliche|\d+|unsere|gesamten?|komplette)\s+)*(?:tests|test-?suite|testsuite)(?:\s+(?:sind|ist|laufen|läuft|jetzt|nun|wieder|alle|werden|haben|wurden|erfolgreich|sauber|fehlerfrei|komplett|vollständig))*\s+(?:grün|bestanden|bestehen|besteht|durchgelaufen|durch|erfolgreich|fehlerfrei)",
            ),
            (Everything, r"(?:alles|alle\s+(?:checks|prüfungen))(?:\s+(?:ist|sind|jetzt|nun|wieder))*\s+(?:grün|bestanden)"),
            (Tests, r"(?:keine|0)\s+(?:fehlgeschlagenen?|fehlschlagenden?|roten?)\s+tests?"),
            (Everything, r"(?:alles|die änderung)\s+(?:ist\s+|wurde\s+)?(?:verifiziert|überprüft und grün)"),
        ],
        lead: r"(?:und|jetzt|nun|dass|denn|fertig|ja|sodass|somit|damit|behoben|ergebnis)",
        before: r"\b(?:nicht|nie|kein|keine|ohne|ob|wenn|falls|sobald|bis|sollten?|würden?|könnten?|müssen|muss|wird|werden|bitte|damit|hoffentlich|vermutlich|wahrscheinlich|vorher|zuvor|früher|gestern|ziel|sagt|behauptet|laut|nur|einige|manche|meisten|fast|stelle sicher|meldet|meldete|berichtet|sicherstellen|um|wie|warum|beispiel|als nächstes|erst|glaube|denke|prüfe|sorge|sorgt)\b",
        after: r"^\s*(?:bis auf|außer|abgesehen|nur|wenn|falls|sobald|für|im|in\s+[^\d\s]|sollten?|waren|vorher|oder|werden)\b|\b(?:außer|bis auf|abgesehen|mit ausnahme|ausgenommen|übersprungen|fehlschlägt|schlägt|rot|nicht|sollten?)\b",
        tail: r"jetzt|nun|wieder|lokal|erfolgreich|auch|komplett|fehlerfrei|in\s+\d[\d.,]*\s*(?:s|sek\w*|ms|min\w*)",
        goes_on: r"und\s+(?:der|die|das|ich|wir|es|alles|keine)|also|sodass|damit ist|inklusive|einschließlich",
        label: r"(?:test)?(?:ergebnis(?:se)?|status|stand|fazit|zusammenfassung|fertig|erledigt|behoben|tests?|prüfung)",
        opening: r"bei|beim|im|in|mit|unter|auf|für|vor|nach|wenn|falls|während|bis|ohne|sobald|solange|obwohl|als|am|vom|von|im",
        harmless: r"(?:und\s+)?(?:ohne|keine|null|0)\s+(?:fehler|fehlschläge|fehlgeschlagen)|^\W*(?:mit|nach)\s+(?:dieser|der|meiner)\s+(?:änderung|korrektur),",
    },
    ClaimLanguage {
        name: "French",
        needs: &["passe", "passé", "réussi", "vert", "succès", "échec", "vérifié"],
        claims: &[
            (
                Tests,
                r"(?:(?:tous|toute|l'ensemble|des|les|la|le|\d+|nos)\s+)*(?:tests|suite(?:\s+de\s+tests?)?)(?:\s+(?:sont|est|ont|a|maintenant|désormais|tous|de|nouveau|à|avec))*\s+(?:passent|passés?|passe|réussis|réussi|réussissent|verts?|verte|au vert|succès)",
            ),
            (Everything, r"tout(?:\s+(?:est|maintenant))*\s+(?:passe|vert|au vert|vérifié)"),
            (Tests, r"(?:aucun|0)\s+(?:test\s+en\s+échec|échec\s+de\s+test)"),
        ],
        lead: r"(?:et|donc|que|car|maintenant|terminé|oui|désormais|corrigé|où)",
        before: r"(?:^|\W)(?:ne|n'|pas|jamais|sans|si|quand|lorsque|dès|jusqu'à|devraient?|doivent|doit|pourraient?|veuillez|afin|pour que|j'espère|probablement|avant|hier|objectif|dit|signale|selon|seuls?|certains|quelques|plupart|presque|vérifiez|vérifier|assurer|pourquoi|comment|exemple|je vais|il faut|pense|crois)\W",
        after: r"^\s*(?:sauf|excepté|hormis|à part|seulement|si|quand|pour|par|à|dans|sur|ou|avant|hier)\b|\b(?:sauf|excepté|hormis|à l'exception|à part|ignorés?|échoue|échouent|pas)\b",
        tail: r"maintenant|désormais|localement|de nouveau|à nouveau|avec succès|aussi|en\s+\d[\d.,]*\s*(?:s|secondes?|ms|min\w*)",
        goes_on: r"et\s+(?:le|la|les|je|tout)|donc|y compris",
        label: r"résultats?|statut|état|résumé|bilan|terminé|fait|tests?|vérification|corrigé|c'est fait",
        opening: r"au|aux|à|dans|en|avec|sous|sur|pour|avant|après|quand|lorsque|si|pendant|sans|dès|jusqu'à|une fois|bien que",
        harmless: r"(?:sans|aucune?|0)\s+(?:échecs?|erreurs?)",
    },
    ClaimLanguage {
        name: "Spanish",
        needs: &["pasa", "verde", "superad", "éxito", "exitos", "aprobad", "falla", "verificado"],
        claims: &[
            (
                Tests,
                r"(?:(?:todos|todas|los|las|la|toda|el|\d+|nuestros)\s+)*(?:tests|pruebas|suite(?:\s+de\s+(?:tests|pruebas))?)(?:\s+(?:están|está|ya|ahora|han|ha|todos|todas|se|fueron|en|con|sido))*\s+(?:pasan|pasaron|pasado|pasando|pasa|verdes?|superad[oa]s|exitos[oa]s|éxito|aprobad[oa]s)",
            ),
            (Everything, r"todo(?:\s+(?:está|en|ha|sido))*\s+(?:pasa|verde|verificado)"),
            (Tests, r"(?:ningún|ninguna|0)\s+(?:test|prueba)s?\s+(?:falla|fallid[oa]s?|fallando)"),
        ],
        lead: r"(?:y|así|que|porque|ahora|hecho|listo|sí|ya|corregido)",
        before: r"(?:^|\W)(?:no|nunca|sin|si|cuando|hasta|deberían?|deben|debe|podrían?|por favor|para que|ojalá|espero|probablemente|antes|ayer|objetivo|dice|informa|según|solo|sólo|algunos|algunas|casi|mayoría|verifica|verificar|comprobar|asegurar|cómo|ejemplo|voy a|hay que|creo|una vez)\W",
        after: r"^\s*(?:excepto|salvo|menos|solo|si|cuando|para|por|a|de|o|antes|ayer|en\s+[^\d\s])\b|\b(?:excepto|salvo|menos|a excepción|omitid[oa]s|falla|fallan|no)\b",
        tail: r"ahora|ya|de nuevo|otra vez|localmente|en local|correctamente|también|con éxito|en\s+\d[\d.,]*\s*(?:s|segundos?|ms|min\w*)",
        goes_on: r"y\s+(?:el|la|los|las|he|todo|lo)|así que|incluidas?|incluidos?",
        label: r"resultados?|estado|resumen|hecho|listo|tests?|pruebas|verificación|corregido|terminado",
        opening: r"en|con|bajo|sobre|para|antes|después|cuando|si|mientras|hasta|sin|al|tras|una vez|aunque",
        harmless: r"(?:sin|ningún|0)\s+(?:fallos?|errores|error)",
    },
    ClaimLanguage {
        name: "Portuguese",
        needs: &["passa", "passo", "verde", "aprovad", "sucesso", "sucedid", "falh", "verificado"],
        claims: &[
            (
                Tests,
                r"(?:(?:todos|todas|os|as|a|toda|o|\d+|nossos)\s+)*(?:testes|suíte(?:\s+de\s+testes)?|suite(?:\s+de\s+testes)?)(?:\s+(?:estão|está|já|agora|foram|todos|a|com))*\s+(?:passam|passaram|passou|passando|passar|passa|verdes?|aprovados|sucesso|bem-sucedidos)",
            ),
            (Everything, r"tudo(?:\s+(?:está|em|foi))*\s+(?:passando|passa|verde|verificado)"),
            (Tests, r"(?:nenhum|0)\s+testes?\s+(?:falha|falhou|falhando)"),
        ],
        lead: r"(?:e|que|porque|agora|feito|pronto|sim|já|corrigido)",
        before: r"(?:^|\W)(?:não|nunca|sem|se|quando|até|deveriam?|devem|deve|poderiam?|por favor|para que|espero|provavelmente|antes|ontem|objetivo|diz|relata|segundo|só|apenas|alguns|quase|maioria|verifique|verificar|garantir|como|exemplo|vou|preciso|acho|assim que)\W",
        after: r"^\s*(?:exceto|salvo|menos|só|se|quando|para|por|pelo|pela|de|ou|antes|ontem|em\s+[^\d\s])\b|\b(?:exceto|salvo|menos|com exceção|ignorados?|falha|falham|não)\b",
        tail: r"agora|já|novamente|de novo|localmente|corretamente|também|com sucesso|em\s+\d[\d.,]*\s*(?:s|segundos?|ms|min\w*)",
        goes_on: r"e\s+(?:o|a|os|as|tudo|eu)|portanto|então|incluindo",
        label: r"resultados?|estado|status|resumo|feito|pronto|testes?|verificação|corrigido|concluído",
        opening: r"em|no|na|nos|nas|com|sob|sobre|para|antes|depois|após|quando|se|enquanto|até|sem|ao|embora",
        harmless: r"(?:sem|nenhum|0)\s+(?:falhas?|erros?)",
    },
    ClaimLanguage {
        name: "Italian",
        needs: &["passa", "superat", "verd", "successo", "riusciti", "falli", "verificato"],
        claims: &[
            (
                Tests,
                r"(?:(?:tutti|tutte|i|gli|la|l'intera|\d+|nostri)\s+)*(?:test|suite(?:\s+di\s+test)?)(?:\s+(?:sono|è|ora|adesso|stati|stata|tutti|hanno|con))*\s+(?:passano|passati|passata|passa|superati|superata|verdi|verde|successo|riusciti)",
            ),
            (Everything, r"tutto(?:\s+(?:è|ora))*\s+(?:passa|verde|verificato)"),
            (Tests, r"(?:nessun|0)\s+test\s+(?:fallito|falliti|fallisce)"),
        ],
        lead: r"(?:e|ed|che|perché|ora|adesso|fatto|sì|corretto|quindi)",
        before: r"(?:^|\W)(?:non|mai|senza|se|quando|finché|dovrebbero|dovrebbe|devono|deve|potrebbero|per favore|affinché|spero|probabilmente|prima|ieri|obiettivo|dice|secondo|solo|alcuni|quasi|maggior|verifica|verificare|assicurarsi|come|esempio|bisogna|penso|credo|appena)\W",
        after: r"^\s*(?:tranne|eccetto|salvo|solo|se|quando|per|attraverso|di|o|prima|ieri|in\s+[^\d\s])\b|\b(?:tranne|eccetto|salvo|a eccezione|saltati|fallisce|falliscono|non)\b",
        tail: r"ora|adesso|di nuovo|localmente|in locale|correttamente|anche|con successo|in\s+\d[\d.,]*\s*(?:s|secondi|ms|min\w*)",
        goes_on: r"ed?\s+(?:il|la|lo|i|ho|tutto)|quindi|incluso|inclusi",
        label: r"risultat[oi]|stato|riepilogo|fatto|pronto|test|verifica|corretto|completato",
        opening: r"al|alla|in|nel|nella|con|sotto|su|sul|per|prima|dopo|quando|se|mentre|finché|senza|una volta|benché|nell'\w+",
        harmless: r"(?:senza|nessun|0)\s+(?:errori|errore|fallimenti)",
    },
    ClaimLanguage {
        name: "Dutch",
        needs: &["slagen", "slaagt", "geslaagd", "groen", "falende", "mislukte", "gefaalde", "geverifieerd"],
        claims: &[
            (
                Tests,
                r"(?:(?:alle|de|het|hele|volledige|\d+|onze)\s+)*(?:tests|testen|testsuite)(?:\s+(?:zijn|is|nu|weer|allemaal|lopen))*\s+(?:slagen|slaagt|geslaagd|groen)",
            ),
            (Everything, r"alles(?:\s+(?:is|nu|weer))*\s+(?:groen|geslaagd|geverifieerd)"),
            (Tests, r"(?:geen|0)\s+(?:falende|mislukte|gefaalde)\s+tests?"),
        ],
        lead: r"(?:en|dus|dat|want|nu|klaar|ja|opgelost)",
        before: r"\b(?:niet|nooit|zonder|als|wanneer|zodra|totdat|of|zouden|zou|moeten|moet|kunnen|alsjeblieft|zodat|hopelijk|waarschijnlijk|voorheen|eerder|gisteren|doel|zegt|meldt|volgens|alleen|sommige|meeste|bijna|controleer|zorg|om|hoe|waarom|voorbeeld|zal|zullen|denk)\b",
        after: r"^\s*(?:behalve|op|alleen|als|wanneer|zodra|voor|in\s+[^\d\s]|of|eerder|gisteren)\b|\b(?:behalve|uitgezonderd|overgeslagen|faalt|falen|niet|na)\b",
        tail: r"nu|weer|opnieuw|lokaal|ook|allemaal|succesvol|in\s+\d[\d.,]*\s*(?:s|sec\w*|ms|min\w*)",
        goes_on: r"en\s+(?:de|het|ik|alles)|dus|inclusief",
        label: r"resultaat|resultaten|status|samenvatting|klaar|tests?|verificatie|opgelost|gedaan",
        opening: r"bij|in|met|onder|op|voor|na|als|wanneer|terwijl|tot|zonder|zodra|hoewel|toen",
        harmless: r"(?:zonder|geen|0)\s+(?:fouten|mislukte)",
    },
    ClaimLanguage {
        name: "Polish",
        needs: &["przech", "przesz", "zielon", "zalicz", "pomyśl", "zaw", "zweryf"],
        claims: &[
            (
                Tests,
                r"(?:(?:wszystkie|cały|całe|nasze|\d+)\s+)*(?:testy|testów|zestaw\s+testów)(?:\s+(?:są|teraz|już|zostały|znów|się|wszystkie))*\s+(?:przechodzą|przechodzi|przeszły|przeszło|zielone|zaliczone|pomyślnie)",
            ),
            (Everything, r"wszystko(?:\s+(?:jest|teraz|już))*\s+(?:przechodzi|zielone|zweryfikowane)"),
            (Tests, r"(?:żaden|0)\s+test(?:ów)?\s+nie\s+(?:zawodzi|zawiódł)"),
        ],
        lead: r"(?:i|a|więc|że|bo|teraz|gotowe|tak|już|naprawione)",
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
        claims: &[
            (
                Tests,
                r"(?:(?:все|весь|наши|\d+)\s+)*(?:тесты|тестов|набор\s+тестов)(?:\s+(?:теперь|снова|уже|успешно|все|были))*\s+(?:проходят|проходит|прошли|прошёл|прошел|пройдены|зел[её]ные|успешны|успешно)",
            ),
            (Everything, r"вс[её](?:\s+(?:теперь|снова|уже))*\s+(?:проходит|зел[её]ное|проверено)"),
            (Tests, r"(?:ни\s+один\s+тест\s+не\s+(?:падает|упал)|0\s+упавших\s+тестов|нет\s+упавших\s+тестов)"),
        ],
        lead: r"(?:и|а|что|так|теперь|готово|да|поэтому|исправлено|потому)",
        before: r"(?:^|\W)(?:не|никогда|без|если|когда|пока|должны|должен|могут|может|пожалуйста|чтобы|надеюсь|вероятно|раньше|вчера|цель|говорит|согласно|только|некоторые|большинство|почти|проверь|проверьте|проверить|убедиться|ли|как|почему|пример|будут|думаю)\W",
        after: r"^\s*(?:кроме|за исключением|только|если|когда|для|в\s+[^\d\s]|или|раньше|вчера)(?:\W|$)|(?:^|\W)(?:кроме|за исключением|пропущены|падает|не)(?:\W|$)",
        tail: r"теперь|снова|уже|локально|успешно|тоже|сейчас|за\s+\d[\d.,]*\s*(?:с|сек\w*|мс|мин\w*)",
        goes_on: r"и\s+(?:код|ветка|всё|все|я|мы|можно)|так что|поэтому|включая",
        label: r"результаты?|статус|итоги?|готово|сделано|тесты|проверка|исправлено",
        opening: r"при|в|во|с|со|под|на|для|до|после|когда|если|пока|без|хотя",
        harmless: r"без\s+(?:ошибок|падений)",
    },
    ClaimLanguage {
        name: "Chinese",
        needs: &["通过", "通過", "成功", "绿", "验证", "失败"],
        claims: &[
            (
                Tests,
                r"(?:所有|全部|全部的|所有的|整个|\d+\s*个?)?(?:单元)?(?:测试|測試)(?:用例|套件)?(?:现在|現在|已经|已經|都|全部|均|也)*(?:已)?(?:通过|通過|成功|全绿|变绿)",
            ),
            (Everything, r"(?:全部|一切|所有检查)(?:都|均)?(?:已)?(?:通过|通過|验证|全绿)"),
            (Tests, r"没有(?:任何)?失败的?测试"),
        ],
        lead: "",
        before: r"(?:不|没|沒|未|如果|若|当|當|等|直到|应该|應該|应当|可能|也许|请|請|确保|確保|希望|以便|为了|除了|以外|之前|以前|昨天|目标|據說|据说|根据|只有|部分|大部分|几乎|检查|是否|如何|例如|将|會|会|需要|必须|让|新的?|相关的?|这些|那些|其他|修改的?)",
        after: r"^\s*(?:吗|嗎|率|后|後|之后|的话|的時候|的时候|与否|才|除了|除外|仅|但|为止)|(?:除了|除外|例外|跳过|失败|没有通过|未通过|吗|嗎|再)",
        tail: r"了|啦|。",
        goes_on: r"，|；|,|并且|所以",
        label: r"结果|状态|总结|完成|测试|验证|已修复|测试结果|更新",
        opening: r"在|当|当|如果|对于|使用",
        harmless: r"没有错误",
    },
    ClaimLanguage {
        name: "Japanese",
        needs: &["成功", "通", "パス", "合格", "グリーン", "済み", "失敗"],
        claims: &[
            (
                Tests,
                r"(?:すべて|全て|全部|全)?の?(?:ユニット)?テスト(?:スイート)?(?:は|が|も|を)?(?:すべて|全て|全部|全件|現在|正常に|無事に?)*(?:に)?(?:成功|通過|パス|合格|通り|通って|グリーン)",
            ),
            (Everything, r"(?:すべて|全て|全部)(?:が|は)?(?:グリーン|パスし|成功し|検証済み|確認済み)(?:です|ました|ています)?"),
            (Tests, r"失敗した?テストは(?:ありません|ゼロ)"),
        ],
        lead: "",
        before: r"(?:もし|まで|ば、|たら|前は|以前|昨日|べき|一部|ほとんど|ように|ため|確認して|新しい|新規|関連|この|その|他の|追加した|だけ)",
        after: r"(?:ません|ない|なかった|なら|たら|れば|ば|まで|べき|はず|か[？?]?$|ように|かどうか|除|以外|失敗|でしょう|予定|たい|必要|確認し|と思|場合|時)",
        tail: r"しました|しています|している|した|し、|です|でした|済みです|済み|ました|ています|ている|た|います|りました|となりました|ありません|ゼロです",
        goes_on: r"、|，|,",
        label: r"結果|状態|まとめ|完了|テスト|テスト結果|検証|更新",
        opening: r"もし|以前",
        harmless: r"",
    },
];
