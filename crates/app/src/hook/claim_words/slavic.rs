//! The claims in Polish and Russian.

use crate::hook::ClaimSubject::{Everything, Tests};
use crate::hook::claim_words::ClaimLanguage;

pub(in crate::hook) const POLISH: ClaimLanguage = ClaimLanguage {
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
    before: r"(?:^|\W)(?:nieprawda|oznacza|załóżmy|zakładając|poza|oprócz|pomijając|wyjątkiem|nie|nigdy|bez|jeśli|jeżeli|gdy|kiedy|dopóki|aż|powinny|powinien|muszą|musi|mogą|proszę|aby|żeby|prawdopodobnie|wcześniej|wczoraj|przedtem|cel|mówi|według|tylko|niektóre|większość|prawie|sprawdź|upewnij|czy|jak|dlaczego|przykład|będą|myślę|chyba)\W",
    after: r"^\s*(?:oprócz|poza|tylko|jeśli|gdy|dla|w\s+[^\d\s]|lub|wcześniej|wczoraj)(?:\W|$)|(?:^|\W)(?:oprócz|poza|z wyjątkiem|pominięte|nie)(?:\W|$)",
    tail: r"teraz|już|ponownie|lokalnie|pomyślnie|też|znów|w\s+\d[\d.,]*\s*(?:s|sek\w*|ms|min\w*)",
    goes_on: r"i\s+(?:kod|zmiana|wszystko|można)|więc|włącznie",
    label: r"wyniki?|status|stan|podsumowanie|gotowe|zrobione|testy|weryfikacja|naprawione",
    opening: r"przy|w|we|z|ze|pod|na|dla|przed|po|gdy|kiedy|jeśli|podczas|dopóki|bez|choć|poza|oprócz|pomijając|załóżmy|zakładając",
    clause: r"tak|gotowe|zrobione|super|dobrze|teraz|podsumowując|naprawione|(?:poprawi|naprawi|zmieni|doda|zaktualizowa|usun|przenios|uruchomi)\w*(?:\s.*)?|(?:kod|błąd|zmiana|wszystko|to)(?:\s.*)?|.*(?:gotow[eay]|naprawion\w+|poprawion\w+|zakończon\w+)",
    joins: r"i|a|więc|że|bo",
    partial: r"jednostkowe|^\W*\d+\s+test",
    total: r"wszystkie|cały|całe|żaden|0\s",
    admits: r"nie\s+przechodz(?:i|ą)|nie\s+przesz\w+|zawodz(?:i|ą)|czerwon\w+|nie\s+(?:uruchom|wykona|przetestow)\w*|[1-9]\d*\s+(?:nie|błęd\w+)(?:\W|$)|tylko\s+\S+\s+nie(?:\W|$)|(?:jedyny\w*|jednym)\s+wyjątk\w+|^\W*wyjątk\w*\s*:|^\W*wyjątek\s*:|^\W*(?:oprócz|poza|z\s+wyjątkiem)\s",
    mended: r"(?:żaden|bez|napraw\w+|wcześniej)(?:\W[^.;,:]*|$)",
    corrects: r"korekta|czekaj|jednak|właściwie|nie",
    harmless: r"bez\s+błędów",
};

pub(in crate::hook) const RUSSIAN: ClaimLanguage = ClaimLanguage {
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
    lead: r"(?:исправления|изменения|правки|и|я|а|что|так|теперь|сейчас|готово|да|поэтому|исправлено|потому)",
    before: r"(?:^|\W)(?:неправда|неверно|означает|допустим|предположим|кроме|исключением|исключить|помимо|не|никогда|без|если|когда|пока|должны|должен|могут|может|пожалуйста|чтобы|надеюсь|вероятно|раньше|вчера|цель|говорит|согласно|только|некоторые|большинство|почти|проверь|проверьте|проверить|убедиться|ли|как|почему|пример|будут|думаю)\W",
    after: r"^\s*(?:кроме|за исключением|только|если|когда|для|в\s+[^\d\s]|или|раньше|вчера)(?:\W|$)|(?:^|\W)(?:кроме|за исключением|пропущены|падает|не)(?:\W|$)",
    tail: r"теперь|снова|уже|локально|успешно|тоже|сейчас|за\s+\d[\d.,]*\s*(?:с|сек\w*|мс|мин\w*)",
    goes_on: r"можно|исправление|ошибок\s+нет|код|и\s+(?:код|ветка|всё|все|я|мы|можно)|так что|поэтому|включая",
    label: r"результаты?|статус|итоги?|готово|сделано|тесты|проверка|исправлено",
    opening: r"при|в|во|с|со|под|на|для|до|после|когда|если|пока|без|хотя|кроме|за\s+исключением|помимо|не\s+считая|допустим|предположим",
    clause: r"да|готово|отлично|хорошо|итак|теперь|сейчас|итого|исправлено|сделано|(?:я|мы|исправил\w*|добавил\w*|изменил\w*|обновил\w*|переименовал\w*|поправил\w*|запустил\w*|код|ошибка|всё|это|баг)(?:\s.*)?|.*(?:исправлен\w*|готов\w*|заверш[её]н\w*|сделан\w*)",
    joins: r"и|а|что|поэтому|так",
    partial: r"юнит|^\W*\d+\s|^\W*тест\s",
    total: r"все|весь|ни\s+один|0\s|нет",
    admits: r"пада(?:ет|ют)|не\s+проход(?:ит|ят)|не\s+прош[её]?л\w*|красн(?:ый|ые|ая|ое|ым)|не\s+(?:запуск|запущ|выполн|тестир)\w*|[1-9]\d*\s+(?:нет|не|упал\w*)(?:\W|$)|(?:только|лишь)\s+\S+\s+(?:не|нет)(?:\W|$)|единственн\w+\s+исключени\w+|^\W*исключени[ея]\s*[:—–-]|^\W*(?:кроме|за\s+исключением)\s",
    mended: r"ни\s+один[^.;,:]*|больше\s+не[^.;,:]*|исправ\w+[^.;,:]*|(?:0|нет)\s+упавших|раньше[^.;,:]*",
    corrects: r"поправка|стоп|однако|на\s+самом\s+деле|нет",
    harmless: r"без\s+(?:ошибок|падений)|^\W*в\s+(?:итоге|целом),",
};
