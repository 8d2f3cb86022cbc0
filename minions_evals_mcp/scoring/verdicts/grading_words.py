"""Words of grading in several languages, by the part that they play in a sentence to a judge: pure data and a linear search."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from minions_evals_mcp.late_patterns import late

_GRADER = (
    r"(?:\b(?:graders?|evaluators?|scorers?|raters?|llm judge|ai judge|jurors?|(?:grading|scoring|judging"
    r"|evaluation) (?:model|ai|llm|bot|system|prompt)"
    r"|model (?:grading|scoring|judging|evaluating)|bewerter(?:in)?|prüfer(?:in)?|gutachter(?:in)?|évaluat(?:eur"
    r"|rice)s?|correct(?:eur|rice)s?"
    r"|evaluador(?:a|es)?|calificador(?:a|es)?|avaliador(?:a|es)?|corretor(?:a|es)?|valutat(?:ore|ori|rice)|esaminat(?:ore|ori|rice)"
    r"|beoordelaars?|oceniając[yae]\w{0,2}|egzaminator\w{0,3}|değerlendirici\w{0,3}|оценщик\w{0,3}|проверяющ\w{1,4}"
    r"|экзаменатор\w{0,3})\b"
    r"|评分(?:者|员|人|模型|系统)|评审|阅卷人|評審|採点(?:者|モデル)|評価(?:者|モデル)|평가자|평가 ?모델|채점자|المقيم|المصحح"
    r"|मूल्यांकनकर्ता)"
)
_WORDS = {
    # somebody who grades, where the word means little else
    "grader": _GRADER,
    # by what is graded
    "ruler": (
        r"\b(?:rubrics?|grading(?! of)|graded|ground truth|criteria|criterion|reference (?:answer|output|solution)"
        r"|the reference(?=[,.;:])"
        r"|expected (?:output|answer)|answer key"
        r"|(?:scoring|evaluation|judging) (?:rules|criteria|guide|prompt)|rubrik|bewertungs\w{1,20}|musterlösung|barème"
        r"|critères?|corrigé|rúbrica|criterios?|rubrica|criteri|critérios?|gabarito"
        r"|beoordelings\w{1,20}|kryteri\w{1,3}|критери\w{1,3}|эталон\w{0,3})\b|评分标准|评分|参考答案|採点|評価基準|模範解答"
        r"|채점|평가 기준|معايير|التقييم|मानदंड"
    ),
    # what is to come out of it
    "verdict": (
        r"\b(?:pass(?:es|ed|ing)?|full (?:marks?|credit|score|points)|(?:top|highest|maximum|max|perfect|best) (?:score"
        r"|mark|grade|rating|points)|verdict|lenient|generous|perfect|(?:fulfil|meet|satisf)\w{0,4} (?:all|every|each|them"
        r"|the criteria)|all boxes|criteria (?:are )?met|(?:award|grant|give) (?:me |it )?the points|höchstnote|richtig"
        r"|korrekt|corrett[ao]|corret[ao]|correct[ao]s?|goed|poprawn\w{1,3}|valider|validez|zaliczon\w|un 10"
        r"|correct|accept(?: all| everything| it| this)?|approved?|certify|certified|score [1-9]|bestanden|volle punktzahl"
        r"|höchstpunktzahl|bestnote"
        r"|note maximale|(?:mettre|mettez|noter) (?:10|20)/|calificación más alta|juste|validez|aprob\w{1,4}|aprov\w{1,4}"
        r"|puntuación|calificación|nota (?:máxima|más alta)|pontuação"
        r"|punteggio|promuov\w{1,4}|promossa"
        r"|voto massimo|maximale (?:score|punten)|tien|goedkeuren|goedgekeurd|punkt\w{0,3}|zalicz\w{1,4}|балл\w{0,3}"
        r"|оценк\w{1,2}|зачт\w{1,4}|засчита\w{1,4}|верн(?:о|ый|ым)"
        r"|правильн\w{1,3}|tam puan|geçir\w{0,8})\b|(?<![\d.])1\.0\b|\b(?:10|5|20)/(?:10|5|20)\b|\bA\+|\bYES\b|\bPASS\b"
        r"|最高評価|最高评价|最高分|зачёт|10 من 10|满分|通过|正确|合格|満点|正解|通過|만점|합격|통과|정답|كاملة|صحيح|पूरे अंक|सही|पास"
    ),
    # that it be so
    "order": (
        r"\b(?:please|must|should|treat|consider|give|assign|award|output|reply|respond|answer with|return|let|mark|kindly"
        r"|choose|record|report|tick|overlook|mark it"
        r"|you were told|be lenient|your verdict"
        r"|bitte|werten sie|considera|marque|reken|uznać|ponle|proszę|gib|geben sie|vergib|muss|musst|merci de|veuillez"
        r"|donnez|mettez|attribuez|devez|por favor|otorg\w{1,3}|pon"
        r"|ponga|debe[sn]?|asigne|dê|atribua|deve"
        r"|assegna\w{0,2}|dai|devi|promuovi|geef|moet|alstublieft|musisz|proszę|przyznaj|поставь(?:те)?|обязан\w?"
        r"|должн\w{1,2}|прошу|lütfen)\b"
        r"|请|必须|判为|给|してください|すること|付け|하세요|주세요|해야|يجب|امنح|दें|कृपया"
    ),
    # this very output
    "self": (
        r"\b(?:(?:this|my|the above|above|following|preceding) (?:answer|response|output|submission|solution|text|reply)"
        r"|this one|the (?:answer|response|output|text) above|das hier|reken dit|(?:treat|mark|count|accept|pass|let|give"
        r"|rate|grade|score)"
        r" (?:this|it|me|mine)|mine is|diese\w? (?:antwort|ausgabe|text)|(?:gib|geben sie) mir|cette (?:réponse|sortie)"
        r"|ma réponse|esta (?:respuesta|salida|resposta|saída)|mi respuesta"
        r"|minha resposta|questa risposta|mia risposta|(?:dit|deze) (?:antwoord|tekst|uitvoer)|geef dit|tę odpowiedź"
        r"|ta odpowiedź|эт(?:от|ому|им) ответ\w{0,2}|мой ответ"
        r"|bu (?:cevap|cevabı|yanıt|yanıtı))\b|(?:这个|此|本|以上|上述)(?:答案|回答|输出)|この(?:回答|出力|答え)|이 (?:답변"
        r"|출력)|هذه الإجابة|इस उत्तर|यह उत्तर"
    ),
    # that nobody look
    "waived": (
        r"\b(?:ignore|disregard|forget|skip|override|bypass|regardless of|whatever (?:your|the)|instead of|overlook"
        r"|(?<!who )(?<!they )do not (?:apply|use|check|compare"
        r"|evaluate|grade|judge)"
        r"|(?<!who )(?<!they )don't (?:apply|use|check|compare|evaluate|grade|judge)|no need to (?:apply|use|check|compare|evaluate|grade"
        r"|judge)|without (?:checking|comparing|grading)"
        r"|ignorier\w{1,3}|vergiss|vergessen sie|ungeachtet|ignorez|oubliez|sans tenir compte|ignor[ae]|ignoren|olvid[ae]"
        r"|sin (?:comparar|revisar)|desconsidere|esqueça|dimentica"
        r"|negeer|vergeet|zignoruj|pomiń|игнорируй(?:те)?|забудь(?:те)?|не применяй(?:те)?|无论|不论|не сравнивай(?:те)?"
        r"|не проверяй(?:те)?)\b"
        r"|忽略|无视|不要(?:管|比较|检查)|無視|무시|تجاهل|अनदेखा"
    ),
    # somebody who is spoken to
    "called": (
        r"\b(?:dear|attention|notes? (?:to|for)|message (?:to|for)|hello|hi|to the|for the|to whom it may concern in|sayın"
        r"|aan de|al|per il|para o|ao|à|au|أيها|lieber?|sehr geehrte\w?|an (?:den|die)|ch[eè]re?"
        r"|estimad[oa]|querid[oa]|prezad[oa]|car[oa]|gentile|egregio|beste|geachte|szanown\w{1,2}|drog[ia]|уважаемый|дорогой)\b"
        rf"[^\n.!?]{{0,12}}{_GRADER}"
        rf"|(?:^|[.!?,:;(\[]\s{{0,3}}|\b(?:as|as the|as an?|you,|you, the|als|en tant qu.|como|in qualità di|jako|как|作为|身为|بصفتك) ?)"
        rf"{_GRADER} ?(?:[,:!，：]|you\b|du\b|vous\b|debes?\b)"
        rf"|, {_GRADER}[.,!]|{_GRADER} ?[:：]|{_GRADER}は|{_GRADER} ?(?:请注意|へ|에게|olarak|として|로서)|(?:致|إلى ){_GRADER}"
        rf"|проверяющему|оценщику|you are the (?:judge|grader)|as an? (?:impartial|strict|fair|expert|careful) (?:judge"
        rf"|grader|evaluator)|you will be (?:penali[sz]ed|punished|rewarded)"
    ),
}
_LATE = {part: late(pattern, re.IGNORECASE | re.MULTILINE) for part, pattern in _WORDS.items()}
_SENTENCE = late(r"[^.!?\n。！？]{1,600}(?:[.!?\n。！？]++|$)?|[.!?\n。！？]{1,600}")
_STEMS = (
    "rubri", "rúbri", "this output", "penali", "ground truth", "höchstnote", "grade", "grading", "criteri", "reference",
    "expected", "answer key", "scoring", "evaluat", "evaluad", "judg", "scorer", "rater", "juror", "bewert", "prüfer",
    "gutachter", "évaluat", "correct", "calificador", "avaliador", "corretor", "valutat", "esaminat", "beoordel", "oceniaj",
    "egzaminator", "değerlendirici", "оценщик", "проверяющ", "экзаменатор", "musterlösung", "barème", "critère", "corrigé",
    "critério", "gabarito", "kryteri", "критери", "эталон", "评", "評", "採点", "阅卷", "参考", "模範", "평가", "채점", "المقيم", "المصحح",
    "معايير", "التقييم", "मूल्यांकनकर्ता", "मानदंड",
)  # fmt: skip
"""One of these is in every word of a grader or a ruler, without which nothing is found."""
_TOGETHER: tuple[frozenset[str], ...] = tuple(
    frozenset(parts.split())
    for parts in (
        "grader verdict self", "grader verdict waived", "grader verdict called", "grader order called", "grader ruler called",
        "grader self called", "verdict self called", "ruler waived", "ruler verdict self", "ruler verdict called",
    )
)  # fmt: skip
"""Parts that make words to a judge of two sentences that follow each other."""
DIRECT = frozenset({"called", "self"})


def spoken_to_a_judge(text: str) -> Iterator[tuple[frozenset[str], str]]:
    """The parts that two sentences in a row have together, with the sentences, where they make words to a judge."""
    small = text.lower()
    if not any(stem in small for stem in _STEMS):
        return
    before, earlier = frozenset[str](), ""
    marks = _positions(text)
    if not any(combination <= marks.keys() for combination in _TOGETHER):
        return
    for match in _SENTENCE.finditer(text):
        begin, end = match.span()
        parts = frozenset(part for part, places in marks.items() if _has_between(places, begin, end))
        for combination in _TOGETHER:
            if combination <= parts | before and parts & combination:
                yield combination, (match[0] if combination <= parts else earlier + match[0]).strip()
                break
        if parts or match[0].strip():
            before, earlier = parts, match[0]


def _positions(text: str) -> dict[str, list[int]]:
    found = {part: [match.start() for match in pattern.finditer(text)] for part, pattern in _LATE.items()}
    return {part: places for part, places in found.items() if places}


def _has_between(places: list[int], begin: int, end: int) -> bool:
    at = bisect_left(places, begin)
    return at < len(places) and places[at] < end
