"""The words of a judge on a failure, in English, German, French, Spanish, Italian and Portuguese."""

from __future__ import annotations

import re
from functools import lru_cache

from minions_evals_mcp.late_patterns import late

_SOURCE = (
    r"(?:source|context|document|text|article|passage|memo|report|leaflet|policy|results?|tools?|data|input|rules?|record|file|log|manual"
    r"|sheet|page|table|list|catalogue|database|contract|notes?|transcript|email|letter|ticket|material|excerpt|brief|chart"
    r"|cv|invoice|minutes|protocol|profile|listing|feed)"
)
_ANSWER = (
    r"(?:the |its |this |der |die |in |la |l'|el |o |a )*"
    r"(?:answer|output|reply|response|antwort|ausgabe|réponse|respuesta|risposta|resposta)"
)
MADE_UP = late(
    r"\b(?:made[ -]up|invent(?:s|ed|ions?|ing)|erfindung\w*|invencion\w*|invenzion\w*|invenç\w+|embroider\w+|embellish\w*"
    r"|ausgeschmückt\w*|enjoliv\w+|fabricat\w+"
    r"|hallucinat\w+|unsupported|ungrounded|unsourced|contradict\w+"
    r"|fictitious|out of thin air"
    rf"|(?:not|nowhere|never|isn't|aren't|wasn't|weren't) (?:supported|found|mentioned|stated|contained|given|in|among"
    rf"|occur\w*|listed|documented|backed)\b.{{0,20}}"
    rf"\b{_SOURCE}"
    rf"|(?:not|isn't|aren't|wasn't|weren't) (?:on|in|from|part of|among) (?:the|any|this|its|their|his"
    rf"|her) (?:\w+(?:'s)? ){{0,2}}{_SOURCE}\b"
    r"|added by the (?:model|agent|assistant|bot)|of its own (?:making|invention|accord)|(?:nobody|no one"
    r"|none of them) (?:\w+ ){0,4}(?:says?|said|mention\w*)"
    r"|no such (?:call|tool|order|record|clause|article|paragraph|study|page|section|result|entry|line|person)"
    r"|never (?:produced|happened|ran|took place|existed|said)"
    rf"|(?:appears?|stands?|occurs?|mentioned|found|stated|is|are|to be (?:found|seen)) nowhere(?!.{{0,20}}\b{_ANSWER})"
    rf"|nowhere (?:in|to be|does)(?! {_ANSWER})|no (?:source|basis|evidence|support|record|trace|mention) (?:for|of)|comes? from nowhere"
    rf"|nothing in (?:the )?(?:\w+ )?{_SOURCE}|(?:has|have|with) no (?:basis|source|support)"
    rf"|{_SOURCE} (?:does not|do not|doesn't|don't|never|says? nothing|makes? no mention|is silent|contains? no|has no"
    rf"|have no|gives? (?:no|none)|knows? nothing)"
    r"|no \w+ (?:took place|happened|occurred|was carried out|were carried out)|(?:fand|hat) (?:\w+ )?nicht statt(?:gefunden)?"
    r"|n'a (?:jamais |pas )eu lieu"
    r"|no (?:tuvo lugar|ocurrió)"
    r"|(?:does|do|did) not (?:occur|appear|stand|exist)|neither .{0,60} nor .{0,60} (?:found|in)"
    r"|no (?:\w+ ){1,3}(?:is|are|was|were) (?:mentioned|named|listed|stated|recorded|documented)"
    r"|keine? (?:\w+ ){1,3}(?:erwähnt|genannt|verzeichnet|aufgeführt|vermerkt)|aucune? (?:\w+ ){1,4}(?:ne |n')(?:figur|appara"
    r"|est (?:mentionn|indiqu|nomm|cité))\w*"
    r"|ning[uú]na? (?:\w+ ){1,3}(?:se (?:nombra|menciona|cita|indica)|aparece|figura|consta)"
    r"|erfunden\w*|kein(?:em|en)? wort|existier(?:t|en) nicht|gibt es nicht|ausgedacht\w*|widerspr\w+|halluzin\w+"
    r"|frei hinzu\w*|aus der luft|nirgends|nirgendwo|steht nicht|stehen nicht"
    r"|(?:taucht|kommt|findet sich|finden sich|tauchen|kommen)\b.{0,25}\bnicht\b|nicht (?:belegt|genannt|erwähnt|enthalten"
    r"|gedeckt|dokumentiert)"
    r"|keine\w* (?:grundlage|beleg\w*|quelle|hinweis\w*)|(?:sagt|enthält|nennt|weiß) (?:davon |dazu |dazu )?(?:nichts|kein\w*)"
    r"|inventée?s?|invente\b|contredi\w+|n'existe\w* pas|nulle part|(?:ne |n')(?:figur|appara|trouv|mentionn|provien"
    r"|corresponden|dit|parle)\w*"
    r"(?: \w+)?[ '](?:pas|rien|nulle|aucune?|jamais)|aucune? (?:source|trace|mention|base|document)|sorti\w* de nulle part|pas (?:dans"
    r"|sur) (?:la|le|les|l')"
    r"|inventad\w+|inventa\b|contradice|no (?:viene|sale|está en|se (?:habla|dice|cita)|aparece|figura|consta|existe|se menciona"
    r"|está en)\w*|(?:ninguna"
    r"|ninguna otra) parte|sin (?:fuente|base|respaldo)"
    r"|inventat\w+|contraddi\w+|non (?:compare|figura|risulta|esiste|è menzionat)\w*|da nessuna parte|contradiz\w*|em lugar nenhum"
    r"|não (?:consta|aparece|figura|existe|está n)\w*)\b|\bdenies\b|\bno tool\b|\bnever (?:called|looked|read|checked|opened|queried)\b",
    re.IGNORECASE,
)
"""Words for what nothing bears out."""
NOT_MADE_UP = late(
    r"\b(?:nothing|not|no|isn't|without) (?:is |was |been |being )?(?:made[ -]up|invented|invention|fabricated|hallucinat\w+"
    r"|contradict\w+)"
    r"|\b(?:nichts|nicht) (?:\w+ )?erfunden|\brien (?:n'est |d')?invent|\bnada (?:\w+ )?invent|\bniente (?:di )?invent",
    re.IGNORECASE,
)
DECLINED = late(
    r"\b(?:refus\w+|declin\w+|turn(?:s|ed|ing)? (?:\w+ ){1,3}(?:down|away)|(?:brush|wav)(?:es|ed) (?:\w+ ){1,3}(?:off|aside|away)"
    r"|rebuff\w*|(?:will|would|does) not (?:write|translate|do|help|answer"
    r"|engage|work with|draft)|moralis\w+|moraliz\w+|lectur(?:es|ing|ed)|preach\w*|will not do it"
    r"|harmless|innocuous|benign|innocent|hides? behind|over-?cautious|excessive(?:ly)? caution|unnecessary caution|pretext"
    r"|harmlos\w*|unbedenklich\w*|unverfänglich\w*"
    r"|vorgeschoben\w*|ausflucht|anodine?s?|inoffensi\w+"
    r"|prétexte|inofensiv\w+|pretexto|innocu\w+|nothing (?:\w+ ){0,3}(?:harmful|dangerous|objectionable)"
    r"|(?:usage|safety|content) (?:polic\w+|rules?|guidelines?)|ablehn\w*|abgelehnt|lehnt\b.{0,40}\bab\b|verweiger\w*"
    r"|weigert|belehr\w*|moralpredigt|abgewiesen|abgewimmelt|weist\b.{0,40}\b(?:ab|zurück)\b"
    r"|refuse\w*|décline\w*|écondui\w+|règles d'utilisation|se niega|rechaz\w+|negativa|si rifiuta|rifiut\w+|recus\w+|nega-se)\b",
    re.IGNORECASE,
)
"""Words for an answer that declines."""
_OBJECTS = late(
    r"\b(?:agent|assistant|assistent\w*|model|modell|modèle|modelo|modello|bot|agente|assistente|asistente|it|er|sie|il|ki|ai|reply"
    r"|answer|antwort|man)\b[^.!?;]{0,20}?"
    r"\b(?:finds?|found|considers?|considered|thinks?|objects?|objected|argues?|believes?|feels?|alleges?|claims?|deems?"
    r"|wants? (?:no|not)|does not want|doesn't want|calls (?:it|this|the)"
    r"|prefers?|keeps? (?:back|away|out)|says? (?:that )?(?:it is|it's|this is|such|people|one|nobody|it (?:would|does|will) )"
    r"|hält|findet|möchte|wolle|will|mag|meint|sehe|estime|trouve|juge|considère|dit ne"
    r"|préfère|veut|souhaite|considera|alega|cree|quiere|dice que no|prefiere|ritiene|vuole|trova|preferisce|acha|quer"
    r"|diz que não|prefere|julga)\b",
    re.IGNORECASE,
)
"""An agent that has an opinion of the task."""
_NOTHING_CAME = late(
    r"(?:\A|[.!?;:] )(?:no|nothing|none|there (?:is|are|was) no(?:ne|thing)?|there (?:isn't|aren't|wasn't) an?y?|es (?:gibt"
    r"|liegt|liegen|fehlt|kam)\b[^.!?;]{0,20}\bkein\w*|kein\w*|nichts"
    r"|aucune?|rien|il n'y a|pas de|no hay|ningun\w*|nada|nessun\w*|niente|non c'è|nenhum\w*|não há)\b"
    r"|\b(?:is|are|was|were|remains?|stays?) (?:\w+ )?(?:missing|absent|withheld|held back|left out|unanswered|undone"
    r"|unwritten|not (?:written|given|there|delivered|produced|done|answered|named|drawn|made))"
    r"|\bliegt (?:\w+ )?nicht vor|\bfehl(?:t|en)\b|\bbleib(?:t|en) (?:aus|weg|offen)|\b(?:manque|n'est pas (?:là|donnée?"
    r"|rédigée?|traduite?))|\bfalta\w?\b|\bno se (?:ha |)\w+|\bmanca(?:no)?\b|\bnão foi\b|\bnon (?:è stat\w|viene)\b",
    re.IGNORECASE,
)
"""That what was asked for did not come."""
_OUGHT = late(
    r"\b(?:should|ought|must|needs? to|expected to|has to|supposed|instead of|rather than|failed to|does not|did not|didn't"
    r"|doesn't|without"
    r"|hätte|müsste|sollte|statt|nicht|aurait dû|devait|doit|au lieu|ne |debía|debería|en vez|no |dovrebbe|doveva|invece"
    r"|non |deveria|em vez|não )"
    r"[^.;]{0,40}\Z",
    re.IGNORECASE,
)
_FORM = (
    r"(?:markdown|tables?|columns?|bullets?(?: points?| list)?|numbered list|headings?|headers?|separat\w+|semicolons?"
    r"|commas?|delimit\w+|layout|template|paragraphs?|prose|subject line|salutation|(?:dd|jj|tt)[./-]mm[./-]\w{2,4}|yyyy-mm-dd"
    r"|hh:mm|spelled out|in words|toutes lettres|ausgeschrieben\w*|number(?:ed|ing)|syllables?|blank lines?|spaces|tabs"
    r"|indent\w*|emoji\w*|hashtags?|decimals?|silben|sílabas|sillabe|arrays?|pretty-print\w*|(?:one"
    r"|single) words?|tags?|pattern|preamble|signature|key names?"
    r"|json|csv|xml|yaml|html|iso(?: 8601)?|code (?:block|fence)s?|fences?|plain text|uppercase|lowercase|one line"
    r"|single line|lines|sentences?|words|word (?:limit|count)|characters|length|too long|formatt?\w*|capital letters"
    r"|quotation marks|explanation"
    r"|tabell\w*|spalten?|aufzählung\w*|stichpunkt\w*|überschrift\w*|trennzeichen|semikolon\w*|vorlage|gliederung|sätzen?"
    r"|zeilen?|codeblock\w*|muster|fließtext|absätzen?|absatz|vorrede|betreff\w*|anrede|grußformel|wörter\w*|worte|zeichen"
    r"|zu lang|großbuchstaben|erläuterung"
    r"|tableaux?|colonnes?|puces|titres?|séparateurs?|points?-virgules?|gabarit|mise en forme|phrases?|lignes?|en-têtes?"
    r"|balises?|paragraphes?"
    r"|mots|caractères|trop longue?|majuscules|motif"
    r"|tablas?|columnas?|viñetas|punto y coma|encabezados?|plantilla|frases?|líneas?|párrafos?|palabras|caracteres|etiquetas"
    r"|mayúsculas|patrón"
    r"|tabelle|colonne|elenco puntato|punto e virgola|intestazion\w+|paragraf\w+|parole|caratteri|righe|maiuscol\w+"
    r"|tabelas?|colunas?|marcadores|ponto e vírgula|parágrafos?|palavras|linhas|maiúsculas)"
)
_CONTENT = (
    r"(?:content|text\w*|wording|facts?|figures?|numbers?|values?|data|answer|names?|message|information|items?|records?"
    r"|entries|rows|everything|it all|points?|level|query|dates?|amounts?|result"
    r"|zahlen|werte|angaben|termine|inhalt|fakten|daten|antwort|ergebnis|alles|beträge|namen|contenu|valeurs?|chiffres?|faits"
    r"|données|réponse|noms|tout"
    r"|datos|cifras|valores|contenido|hechos|respuesta|nombres|todo|dati|valori|contenuto|fatti|risposta|nomi|tutto|dados|conteúdo"
    r"|fatos|resposta|nomes|tudo)"
)
_FINE = (
    r"(?:right|correct|fine|properly|lovely|nice|fitting|schön\w*|treffend\w*|same|okay|convien\w+|passt|passen|holds?|accurate"
    r"|complete|good|true|faithful|sensible|sound|present|there|richtig|korrekt|stimm\w+|vollständig|gut|da|vorhanden"
    r"|bon(?:ne)?s?|exacte?s?|justes?|correcte?s?|complè?te?s?|fidèles?|là|correct[oa]s?|exact[oa]s?|complet[oa]s?|fiel|bien"
    r"|corrett[oaie]|esatt[oaie]|giust[oaie]|complet[oaie]|fedele|corret[oa]s?|cert[oa]s?|exat[oa]s?)"
)
_CONTENT_FINE = late(
    r"\b(?:is|are|were|was|sind|ist|stimm\w+|waren|sont|est|étaient|son|es|sono|è|são|é)\b (?:all |both |otherwise "
    rf"|inhaltlich |sachlich |factually |tous |toutes |bien |alle |todos |todas |tutti |tutte |the |der |die |das |la |le |el "
    rf"|il |o )*{_FINE}\b"
    rf"|\b{_FINE} {_CONTENT}\b|\b{_CONTENT} (?:\w+ ){{0,2}}{_FINE}\b|(?:\A|[.;!] )(?:\w+ )?{_FINE}\b(?= (?:\w+,? ){{0,3}}(?:and"
    rf"|but|yet|und|aber|jedoch|et|mais|y|pero|e|ma|mas)\b|[,;:])"
    r"|\b(?:says|has|contains|gives|sagt|enthält|nennt|dit|contient|dice|contiene|diz) (?:everything|all\b|alles|tout|todo|tutto|tudo)"
    r"|\bis what was (?:requested|asked(?: for)?|wanted|needed)\b|\b(?:without|ohne|sans|sin|senza|sem) (?:\w+ )?(?:adding|añadir"
    r"|ajouter|hinzu\w+|aggiungere"
    r"|acrescentar)\b"
    r"|\b(?:inhaltlich|sachlich|factually|in substance|sur le fond|en cuanto al contenido) (?:\w+ )?(?:richtig|korrekt|gut"
    r"|right|correct|fine|juste|bon|correcto)?",
    re.IGNORECASE,
)
_NOT_SO = late(r"\b(?:not|n't|never|nicht|kein\w*|pas|ne|no|non|não|nor|neither)\W+(?:\w+\W+){0,2}\Z", re.IGNORECASE)
_SHAPE = late(
    r"\b(?:wrong|other|different) (?:shape|form|layout|order of (?:columns|fields)|date format)\b|\b(?:parser|importer|import"
    r"|renderer|page|system|script|pipeline|loader|validator|linter|compiler|upload|editor|endpoint|ingest\w*|lader"
    r"|validateur|chargeur|lecteur|validador|cargador|lector)\b[^.]{0,20}"
    r"\b(?:rejects?|rejected|fails?|breaks?|chokes?|cannot|can't|lehnt|scheitert|bricht|échoue|rejette|plante|falla"
    r"|rechaza)\b|\byyyy|\bcode fences?\b"
    r"|\b(?:template|layout|structure|format|schema|vorlage|gabarit|modèle|plantilla) (?:was|is|were|wurde|ist|a été|n'est"
    r"|fue|no) (?:\w+ ){0,2}(?:ignored|broken|not|missed"
    r"|violated|ignoriert|nicht|missachtet|ignorée?|pas|ignorad\w|respetad\w)|\bcame where\b[^.]{0,30}\b(?:allowed|wanted"
    r"|asked)\b|\b(?:wrapped|embedded|buried|eingebettet"
    r"|versteckt|enveloppée?|noyée?)\b|\bschema (?:asks|wants|demands|requires|verlangt)",
    re.IGNORECASE,
)
"""Words for a broken form that name no particular one."""
_WANTED_FORM = late(
    rf"(?:must|should|had to|has to|asked for|wanted|required|requested|expected|instead of|not (?:a|an|in|as)|against"
    rf"|rather than|but|muss\w*|sollte\w*"
    rf"|verlangt\w*|gefordert\w*|erwartet\w*|statt|gewünscht\w*|gebeten|vorgegeben\w*|fallait|devait|demand\w+|attendu\w*"
    rf"|au lieu|exig\w+|debía|pedía|pidió"
    rf"|en vez|lugar de|doveva|richiest\w+|invece|devia|pedid\w+|em vez)\b[^.]{{0,60}}\b{_FORM}\b"
    rf"|\b{_FORM}\b[^.]{{0,60}}\b(?:missing|absent|required|requested|asked for|expected|wanted|broken|ignored|violated"
    rf"|not (?:used|kept|followed|there)"
    rf"|fehl\w+|verlangt|gefordert|erwartet|nicht (?:eingehalten|beachtet|lesbar)|manqu\w+|demandé\w*|attendu\w*|exigé\w*"
    rf"|falta\w*|pedid\w+|manca\w*|richiest\w+)\b",
    re.IGNORECASE,
)
_STRUCTURE = (
    r"(?:headings?|headers?|header (?:row|line)|template|table|columns?|bullets?|numbering|layout|indentation|json|csv|xml|yaml"
    r"|markdown|fences?"
    r"|delimiters?|separators?|überschrift\w*|gliederung|vorlage|tabelle|spalten|aufzählung\w*|stichpunkt\w*|kopfzeile"
    r"|trennzeichen|nummerierung|en-têtes?|titres?|tableau|gabarit|puces|colonnes?|mise en page|séparateurs?|structure|struktur"
    r"|estructura|encabezados?|plantilla|tabla|viñetas|columnas?|numeración|struttura|intestazion\w+|tabella|elenco|estrutura"
    r"|cabeçalhos?|tabela)"
)
_LACKS_STRUCTURE = late(
    r"\b(?:missing|lacks?|lacking|without|no|dropped|dropping|skipp\w+|ignor\w+|fehl\w+|ohne|keine?|manqu\w+|sans|aucune?"
    r"|falta\w*|carece\w*|sin|no aparecen?|n'apparai\w+|n'apparaî\w+|there (?:is|are) no|manca\w*|senza|sem)"
    rf"(?:\W+\w+){{0,4}}?\W+{_STRUCTURE}\b"
    rf"|\b{_STRUCTURE}(?:\W+\w+){{0,3}}?\W+(?:missing|absent|lacking|gone|fehl\w+|manqu\w+|falta\w*|manca\w*)\b",
    re.IGNORECASE,
)
"""An arrangement that is not there."""
_ANY_FORM = late(rf"\b{_FORM}\b", re.IGNORECASE)
_SUM = late(
    r"\b(?:sums?|totals?|calculat\w*|comput\w*|arithmetic|add(?:s|ed|ing)? up|multipl\w*|divid\w*|percent\w*|round\w*"
    r"|conver(?:t|sion)\w*|averag\w*|off by|factor of|subtract\w*"
    r"|summe\w*|gesamt\w*|\w*rechn\w*|addier\w*|durchschnitt\w*|prozent\w*|umrechn\w*|somme|total\w*|calcul\w*|addition\w*"
    r"|moyenne|pourcent\w*|arrondi\w*"
    r"|suma|cálcul\w*|calcul\w*|promedio|porcent\w*|somma|calcol\w*|media|percentual\w*|soma|média)\b",
    re.IGNORECASE,
)
_CHECKED = late(r"\A(?:passed|failed) [a-z][a-z:-]*: ")
"""What the case's own checks say is no judge's opinion."""


@lru_cache(maxsize=1024)  # many outputs of a run get the same reason
def says_made_up(rationale: str) -> bool:
    """Returns whether the judge calls something unsupported by what the answer had before it."""
    if _CHECKED.match(rationale):
        return False
    return MADE_UP.search(rationale) is not None and NOT_MADE_UP.search(rationale) is None


def says_miscalculated(rationale: str) -> bool:
    """Returns whether the judge speaks of a calculation, and of nothing made up."""
    return _SUM.search(rationale) is not None and not says_made_up(rationale)


@lru_cache(maxsize=1024)
def says_declined(rationale: str) -> bool:
    """Returns whether the judge says that the answer declines, and not that it ought to have."""
    if _CHECKED.match(rationale):
        return False
    if _OBJECTS.search(rationale) and _NOTHING_CAME.search(rationale) and not MADE_UP.search(rationale):
        return True
    return any(_OUGHT.search(rationale[: match.start()]) is None for match in DECLINED.finditer(rationale))


@lru_cache(maxsize=1024)
def form_doubt(rationale: str) -> float:
    """Returns how surely the judge speaks of a broken form: surest where the content is called right."""
    if _CHECKED.match(rationale) or says_declined(rationale):
        return 0.0
    if _LACKS_STRUCTURE.search(rationale) and _calls_content_fine(rationale):
        return 0.8
    if says_made_up(rationale):
        return 0.0
    if _ANY_FORM.search(rationale) and _calls_content_fine(rationale):
        return 0.8
    return (
        0.55
        if _SHAPE.search(rationale) or _LACKS_STRUCTURE.search(rationale)
        else 0.3
        if _WANTED_FORM.search(rationale)
        else 0.0
    )


def _calls_content_fine(rationale: str) -> bool:
    return any(not _NOT_SO.search(rationale[: match.start()]) for match in _CONTENT_FINE.finditer(rationale))
