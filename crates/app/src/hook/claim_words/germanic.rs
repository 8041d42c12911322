//! The claims in German and Dutch.

use crate::hook::ClaimSubject::{Everything, Tests};
use crate::hook::claim_words::ClaimLanguage;

pub(in crate::hook) const GERMAN: ClaimLanguage = ClaimLanguage {
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
            r"^\W*(?:jetzt|nun|damit|somit|nach\s+(?:der|dem|meiner|dieser)\s+\w+)\s+(?:sind\s+(?:jetzt\s+|wieder\s+|nun\s+)*(?:alle|die|sämtliche)\s+tests(?:\s+<also>)*\s+<pass>|(?:bestehen|laufen)\s+(?:jetzt\s+|wieder\s+|nun\s+)*(?:alle|die|sämtliche)\s+tests(?:\s+<also>)*(?:\s+<pass>)?)",
        ),
        (
            Everything,
            r"(?:alles|alle\s+(?:checks|prüfungen))(?:\s+(?:ist|sind|läuft|jetzt|nun|wieder|komplett))*\s+(?:grün|bestanden|durch|fehlerfrei)",
        ),
        (Tests, r"(?:es\s+gibt\s+)?(?:keine|0)\s+(?:fehlgeschlagenen?|fehlschlagenden?|roten?)\s+tests?(?:\s+mehr)?"),
        (
            Tests,
            r"(?:pytest|wholesuite|cargo\s+test|npm\s+test)\s+läuft\s+(?:(?:jetzt|nun|wieder|sauber|fehlerfrei|komplett)\s+)*durch",
        ),
        (Tests, r"es\s+schlägt\s+kein(?:\s+einziger)?\s+test\s+(?:mehr\s+)?fehl"),
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
    before: r"\b(?:ausgenommen|ausnahme|ausgeschlossen|abgesehen|angenommen|gesetzt|bedeutet|heißt|nicht|nie|kein|keine|ohne|ob|wenn|falls|sobald|bis|sollten?|würden?|könnten?|müssen|muss|wird|werden|bitte|damit|hoffentlich|vermutlich|wahrscheinlich|vorher|zuvor|früher|gestern|ziel|sagt|behauptet|laut|nur|einige|manche|meisten|fast|stelle sicher|meldet|meldete|berichtet|sicherstellen|um|wie|warum|beispiel|als nächstes|erst|glaube|denke|prüfe|sorge|sorgt)\b",
    after: r"^\s*(?:die\s|der\s|bis auf|außer|abgesehen|nur|wenn|falls|sobald|für|im|in\s+[^\d\s]|sollten?|waren|vorher|oder|werden)\b|\b(?:außer|bis auf|abgesehen|mit ausnahme|ausgenommen|übersprungen|fehlschlägt|schlägt|rot|nicht|sollten?)\b",
    tail: r"nach\s+(?:der|dem|meiner|dieser)\s+\w+|jetzt|nun|wieder|weiterhin|durch|alle|ausgeführt|abgeschlossen|durchgeführt|lokal|erfolgreich|auch|komplett|fehlerfrei|in\s+\d[\d.,]*\s*(?:s|sek\w*|ms|min\w*)",
    goes_on: r"ich\s+bin\s+fertig|und\s+(?:der|die|das|ich|wir|es|alles|keine)|(?:der|die)\s+(?:branch|änderung|code|fix|fehler)|alles\s+(?:ist|läuft)|also|sodass|damit ist|inklusive|einschließlich",
    label: r"(?:test)?(?:ergebnis(?:se)?|lauf|status|stand|fazit|zusammenfassung|fertig|erledigt|behoben|tests?|prüfung)",
    opening: r"bei|beim|im|in|mit|unter|auf|für|vor|nach|wenn|falls|während|bis|ohne|sobald|solange|obwohl|als|am|vom|von|im|ausgenommen|außer|bis\s+auf|abgesehen|angenommen|gesetzt|vorausgesetzt|hätte|wäre",
    clause: r"ja|fertig|super|prima|perfekt|gut|sehr\s+gut|jetzt|nun|damit|also|somit|kurz(?:\s+gesagt)?|insgesamt|zusammengefasst|zusammenfassend|erledigt|behoben|(?:ich|wir|es|er|sie|das|der|die|den|alles|nichts|mein|meine|build|lint)(?:\s.*)?|.*\b(?:fertig|behoben|abgeschlossen|erledigt|korrigiert|angepasst|repariert|grün|sauber)",
    joins: r"und|also|sodass|denn|dass|damit",
    partial: r"unit-?tests|^\W*\d+\s+tests",
    total: r"\b(?:alle|sämtliche|gesamten?|0|keine)\b",
    admits: r"\b(?:[1-9]\d*|ein(?:er|e|es)?|zwei|drei|einige|manche|tests?|sie)\s+(?:\w+\s+){0,3}?(?:schl(?:ägt|agen)\s+(?:\w+\s+){0,2}?fehl|fehlgeschlagen|scheitert|scheitern)\b|\b[1-9]\d*\s+(?:fehlschläge|fehler\b|nicht\b|rot\b)|\b(?:ist|sind|bleibt|bleiben)\s+(?:(?:noch|weiterhin|immer|aber)\s+)*(?:rot|kaputt)\b|schlägt\s+(?:noch|weiterhin|immer)|\b(?:nicht|nie)\s+(?:mehr\s+)?(?:ausgeführt|gelaufen|getestet|laufen\s+lassen)\b|^\W*(?:nur|lediglich|bloß)\s+.*\b(?:nicht|rot|fehl)\b|\b(?:einzige|eine[rn]?)\s+ausnahmen?\b|^\W*ausnahmen?\s*:|^\W*(?:außer|bis\s+auf|abgesehen\s+von)\b|(?:\S*tests?\S*|\bquotation)\s+(?:\w+\s+){0,2}?schlägt\s+(?:\w+\s+){0,3}?fehl\b|(?:\S*tests?\S*|\bquotation)\s+(?:\w+\s+)?(?:scheitert|besteht\s+nicht)\b|\beinziger?\s+(?:fehlschlag|fehler)\b|\brot\s+(?:gelassen|(?:ist|bleibt)\s+(?:noch|nur))\b",
    mended: r"\b(?:kein\w*|ohne|vorher|zuvor|anfangs|behob\w*|korrigier\w*|repar\w*)\b[^.;,:]*|\bes\s+schlägt\s+kein[^.;,:]*",
    corrects: r"korrektur|moment|allerdings|jedoch|nein|stimmt\s+nicht",
    harmless: r"(?:und\s+)?(?:ohne|keine|null|0)\s+(?:fehler|fehlschläge|fehlgeschlagen)|^\W*(?:mit|nach)\s+(?:dieser|der|meiner)\s+(?:änderung|korrektur),",
};

pub(in crate::hook) const DUTCH: ClaimLanguage = ClaimLanguage {
    name: "Dutch",
    needs: &[
        "slagen",
        "slaagt",
        "geslaagd",
        "groen",
        "falende",
        "mislukte",
        "doorlopen",
        "gefaalde",
        "geverifieerd",
        "succesvol",
        "lopen",
    ],
    parts: &[
        ("whole", r"\b(?:(?:alle|de|het|hele|volledige|\d+|onze)\s+)*(?:tests|testen|unit-?tests|testsuite)"),
        ("also", r"(?:zijn|is|nu|weer|allemaal|lopen|nog|steeds|met|succes)"),
        ("pass", r"(?:slagen(?:\s+allemaal)?|succesvol(?:\s+(?:uitgevoerd|afgerond))?|slaagt|geslaagd|groen|doorlopen|afgerond)"),
    ],
    claims: &[
        (Tests, r"<whole>(?:\s+<also>)*\s+<pass>"),
        (Tests, r"<whole>\s+lopen(?:\s+(?:allemaal|nu|weer))*\s+goed"),
        (
            Tests,
            r"^\W*(?:nu|daarmee|na\s+(?:de|deze|mijn)\s+(?:wijziging|correctie|fix|aanpassing))\s+(?:slagen\s+(?:nu\s+|weer\s+)?alle\s+tests|zijn\s+(?:nu\s+|weer\s+)?alle\s+tests\s+(?:weer\s+)?(?:groen|geslaagd))",
        ),
        (Tests, r"tests\s*:\s*(?:allemaal\s+|alle\s+|\d+/\d+\s+)?(?:ok\b|groen|geslaagd)"),
        (Everything, r"alles(?:\s+(?:is|nu|weer))*\s+(?:groen|geslaagd|geverifieerd)"),
        (Tests, r"(?:er\s+zijn\s+)?(?:geen|0)\s+(?:falende|mislukte|gefaalde)\s+tests?(?:\s+meer)?"),
        (Tests, r"wholesuite(?:\s+<also>)*\s+<pass>"),
        (Tests, r"<whole>\s+(?:opnieuw\s+)?(?:gedraaid|uitgevoerd)\W+(?:en\s+)?(?:(?:ze|alles)\s+)*(?:<also>\s+)*<pass>"),
    ],
    lead: r"(?:en|heb|dus|dat|want|nu|klaar|ja|opgelost)",
    before: r"\b(?:uitgezonderd|behalve|betekent|stel|afgezien|niet|nooit|zonder|als|wanneer|zodra|totdat|of|zouden|zou|moeten|moet|kunnen|alsjeblieft|zodat|hopelijk|waarschijnlijk|voorheen|eerder|gisteren|doel|zegt|meldt|volgens|alleen|sommige|meeste|bijna|controleer|zorg|om|hoe|waarom|voorbeeld|zal|zullen|denk)\b",
    after: r"^\s*(?:behalve|op|alleen|als|wanneer|zodra|voor|in\s+[^\d\s]|of|eerder|gisteren)\b|\b(?:behalve|uitgezonderd|overgeslagen|faalt|falen|niet)\b",
    tail: r"na\s+(?:de|het|deze|dit|mijn)\s+\w+|nu|weer|opnieuw|lokaal|ook|allemaal|succesvol|in\s+\d[\d.,]*\s*(?:s|sec\w*|ms|min\w*)",
    goes_on: r"en\s+(?:de|het|ik|alles|klaar)|dus|inclusief",
    label: r"resultaat|resultaten|status|samenvatting|klaar|tests?|verificatie|opgelost|gedaan",
    opening: r"bij|in|met|onder|op|voor|na|als|wanneer|terwijl|tot|zonder|zodra|hoewel|toen|behalve|uitgezonderd|afgezien|los\s+van|buiten|stel|aangenomen",
    clause: r"ja|klaar|prima|mooi|goed|nu|kortom|opgelost|gedaan|(?:ik|we|wij|het|de|dit|dat|alles|er|mijn|niets)(?:\s.*)?|.*\b(?:opgelost|klaar|hersteld|aangepast|afgerond)",
    joins: r"en|dus|dat|want|zodat",
    partial: r"unit-?tests|^\W*\d+\s+test",
    total: r"\b(?:alle|allemaal|hele|volledige|0|geen)\b",
    admits: r"\b(?:faalt|falen|gefaald|mislukt|mislukken)\b|\b[1-9]\d*\s+(?:niet|rood)\b|\b(?:is|zijn|blijft|blijven)\s+(?:nog\s+|steeds\s+)*(?:rood|kapot)\b|\bniet\s+(?:gedraaid|uitgevoerd|getest)\b|^\W*(?:alleen|enkel)\s+.*\bniet\b|\b(?:enige|één|een)\s+uitzondering\b|^\W*uitzondering(?:en)?\s*:|^\W*(?:behalve|uitgezonderd)\b",
    mended: r"\b(?:geen|zonder|eerder|voorheen|opgelost|hersteld|gerepareerd)\b[^.;,:]*",
    corrects: r"correctie|wacht|echter|nee",
    harmless: r"(?:zonder|geen|0)\s+(?:fouten|mislukte)",
};
