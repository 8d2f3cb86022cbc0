"""Messages in another language than a conversation is held in: told by words of one language that another lacks. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, lru_cache

from minions_evals_mcp.scoring.conversations.languages import COMMON_WORDS, language_of

_SPOKEN: dict[str, str] = {
    "en": "i'm i'd i'll i've it's that's don't didn't can't isn't yes yeah no not thanks thank hello hi bye goodbye sorry sure okay please"
    " just only still already after before again also very much many some any all now today tomorrow yesterday week month year"
    " morning afternoon evening monday tuesday wednesday thursday friday saturday sunday was were been being am may might should"
    " must get got give go going come see know think want wanted like take make need needed help use used say said tell told buy"
    " bought pay paid send sent receive received order number name address email phone money refund cancel change book booking"
    " appointment account customer card broken new old one two three four five six seven eight nine ten good great fine nice right"
    " wrong because if when then than into onto up down out off over under their them him her his our us these those such own same other"
    " rather instead perfect works working here there agree ahead even haven't hasn't wasn't won't who's let's born date birth people"
    " picked around yet ever never always maybe really too bit kind way thing something anything nothing everything person both",
    "de": "ja nein danke vielen hallo guten tag morgen abend tschüss entschuldigung gerne gern sehr heute gestern woche monat jahr montag"
    " dienstag mittwoch donnerstag freitag samstag sonntag uhr hätte habe würde möchte wollen können kann muss darf soll sollte mag"
    " weiß gibt geht kommt macht nimmt brauche brauchen bekommen bezahlt gekauft geschickt bestellt bestellung nummer adresse geld"
    " zurück stornieren kündigen ändern termin konto kunde karte kaputt neu alt eins zwei drei vier fünf sechs sieben acht neun zehn gut"
    " super richtig falsch weil obwohl denn dafür damit davon darauf jetzt später einfach wirklich leider natürlich genau ganz mal"
    " eben schon immer nie vielleicht bitte ins vom beim am zur unser unsere euer dein deine heiße lautet geboren rechnung lieber",
    "fr": "oui non merci bonjour bonsoir salut désolé désolée très aujourd'hui demain hier semaine mois année lundi mardi mercredi jeudi"
    " vendredi samedi dimanche matin soir heure heures suis es sommes êtes aurais serait pourrait veux veut voulais faut dois doit"
    " commande numéro nom adresse courriel argent remboursement rembourser annuler changer rendez-vous compte client carte cassé"
    " nouveau nouvelle deux trois quatre cinq six sept huit neuf dix bon bonne bien parfait parce puisque si alors donc ici là-bas"
    " rien tout toute tous beaucoup peu toujours jamais peut-être vraiment maintenant après avant depuis chez vers aux leur leurs"
    " notre nos vos ton ta tes je j'aimerais d'accord voici voilà né née allez-y plutôt c'était l'ai quelle personnes",
    "es": "sí gracias hola buenos buenas días tardes noches adiós perdón perdone muy mucho mucha hoy mañana ayer semana mes año lunes"
    " martes miércoles jueves viernes sábado domingo hora soy eres somos fue sería quisiera gustaría necesito tengo debo pedido"
    " número nombre dirección correo dinero reembolso devolver cancelar cambiar cita cuenta cliente tarjeta roto nuevo nueva dos tres"
    " cuatro cinco seis siete ocho nueve diez bueno buena bien perfecto porque entonces pues aquí allí nunca siempre quizás ahora"
    " después antes hace nuestro nuestra tu tus contigo prefiero claro vale ningún ninguna alguien vez cuál nací hecho listo genial",
    "it": "sì grazie ciao buongiorno buonasera arrivederci scusi scusa molto molta oggi domani ieri settimana mese anno lunedì martedì"
    " mercoledì giovedì venerdì sabato domenica ora ore sei siamo siete sarebbe vorrei posso deve devo ordine numero nome indirizzo"
    " soldi rimborso annullare cambiare appuntamento conto cliente carta rotto nuovo nuova due tre quattro cinque sette otto nove"
    " dieci buono bene perfetto allora quindi qui sempre mai forse adesso dopo prima nostro nostra tuo tua tuoi sua gli ai alle"
    " nella nel dal dalla anche ancora niente tutto chiamo nata nato quello quella",
    "pt": "sim obrigado obrigada olá oi bom dia tarde noite tchau desculpe muito muita hoje amanhã ontem semana mês ano segunda-feira"
    " terça-feira quarta-feira quinta-feira sexta-feira sábado hora sou és somos foi seria gostaria preciso tenho devo pedido número"
    " endereço dinheiro reembolso devolver cancelar mudar trocar consulta conta cliente cartão quebrado novo nova dois três quatro"
    " cinco seis sete oito nove dez bem perfeito porque então aqui ali nunca sempre talvez agora depois antes nosso nossa você vocês"
    " quero pode nem também só até pelo pela nos nas dos das meus minhas não pra tô tá",
    "nl": "ja nee dank bedankt hallo hoi goedemorgen goedemiddag dag doei sorry heel erg vandaag morgen gisteren week maand jaar maandag"
    " dinsdag woensdag donderdag vrijdag zaterdag zondag uur ben bent geweest worden wordt moet mag graag bestelling nummer naam"
    " adres geld terug terugbetaling annuleren wijzigen afspraak rekening klant kaart kapot nieuw nieuwe twee drie vier vijf zes zeven"
    " acht negen tien goed prima perfect omdat dus hier daar altijd nooit misschien eigenlijk nu later eerst onze ons jouw jullie hem"
    " haar hun deze die geen wel toch alstublieft alsjeblieft",
    "pl": "tak nie dziękuję dzięki dzień dobry cześć przepraszam proszę bardzo dzisiaj jutro wczoraj tydzień miesiąc rok jest są był była"
    " było mam masz ma mogę może chcę chciałbym chciałabym muszę zamówienie zamówienia numer numeru adres pieniądze zwrot zwrócić"
    " anulować zmienić wizyta konto klient karta zepsuty nowy jak kiedy gdzie kto czy ale lub oraz dla bez przed po od do na za się"
    " ten ta to te mój moja moje już jeszcze tylko też tutaj teraz ich go jej nawet dobrze w z",
    "sv": "ja nej tack hej hejdå god morgon förlåt mycket idag imorgon igår vecka månad år är var har hade kan kunde vill skulle måste"
    " beställning nummer namn adress pengar tillbaka återbetalning avboka ändra bokning konto kund kort trasig ny jag du han hon vi"
    " ni de och eller men inte som för med på av till från den det ett en mitt min mina din ditt hur när var varför vem bara redan"
    " också här nu bra gärna",
    "da": "ja nej tak hej farvel undskyld meget dag morgen går uge måned år er var har havde kan kunne vil ville skal bestilling nummer"
    " navn adresse penge tilbage refusion afbestille ændre konto kunde kort ny jeg du han hun vi og eller men ikke som for med på af til"
    " fra den det et en min mit mine din dit hvordan hvornår hvor hvorfor hvem kun også her nu gerne noget",
    "no": "ja nei takk hei beklager mye dag morgen går uke måned år er var har hadde kan kunne vil ville skal bestilling nummer navn"
    " adresse penger tilbake refusjon avbestille endre konto kunde kort ny jeg du han hun vi og eller men ikke som for med på av til"
    " fra den det et en min mitt mine din ditt hvordan når hvor hvorfor hvem bare også her nå gjerne noe",
    "fi": "kyllä ei kiitos hei moi anteeksi tänään huomenna eilen viikko kuukausi vuosi on oli olen olet ovat minä sinä hän me te he ja"
    " tai mutta että kun jos niin se tämä joka mikä missä milloin miksi kuka haluan haluaisin voin voiko täytyy tilaus numero nimi"
    " osoite rahat takaisin peruuttaa vaihtaa tili kortti minun sinun nyt vain myös vielä hyvä tässä",
    "tr": "evet hayır teşekkürler teşekkür ederim merhaba lütfen çok bugün yarın dün hafta ay yıl bir bu şu o ben sen biz siz onlar ve veya"
    " ama için ile gibi kadar var yok değil mi mı ne nasıl nerede neden kim istiyorum sipariş siparişim numara numarası adres para iade"
    " iptal değiştirmek hesap kart yeni benim senin şimdi sadece daha da de tamam",
    "cs": "ano ne děkuji dobrý den ahoj prosím velmi dnes zítra včera týden měsíc rok je jsou byl byla jsem jsi jsme mám máte mohu může"
    " chci chtěl objednávka objednávky číslo jméno adresa peníze vrátit zrušit změnit účet zákazník karta nový jak kdy kde kdo proč"
    " ale nebo pro bez před po od do na za se ten ta to můj moje už ještě jen také tady teď v k z",
    "ro": "da nu mulțumesc bună ziua salut vă rog foarte azi mâine ieri săptămână lună an este sunt era am ai are avem pot poate vreau"
    " doresc trebuie comanda comandă numărul număr nume adresa bani înapoi anula schimba cont client card nou cum când unde cine de"
    " ce dar sau pentru fără după din la pe cu în și un o mea meu mele acum doar aici",
    "hu": "igen nem köszönöm szia jó napot kérem nagyon ma holnap tegnap hét hónap év van vannak volt én te ő mi ti ők és vagy de hogy"
    " ha mert ez az egy mikor hol miért ki szeretném akarom tudok kell rendelés rendelésem szám száma név cím pénz vissza lemondani"
    " számla ügyfél kártya új az enyém most csak is már még itt",
}  # fmt: skip
"""Words of everyday talk, besides the most common ones: those that several languages share tell nothing between them."""
_LOANED = frozenset(
    [
        "ok",
        "okay",
        "hi",
        "hello",
        "bye",
        "thanks",
        "sorry",
        "super",
        "email",
        "e-mail",
        "mail",
        "hotel",
        "check-in",
        "online",
        "service",
        "card",
        "now",
        "yes",
        "no",
        "week",
        "next",
    ]
)
"""Words that people of all languages use."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CONTRACTED = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)$|n't$")
_QUOTED = re.compile(
    r"[\"“”„«»][^\"“”„«»\n]{1,200}[\"“”„«»]|(?<!\w)['‘][^'‘’\n]{3,200}['’](?!\w)|[\w.+-]{1,64}@[\w.-]+"
)
_KANA, _HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]")
_SCRIPTS = {
    "Cyrillic": re.compile("[\u0400-\u04ff]"), "Korean": re.compile("[\uac00-\ud7af]"), "Arabic": re.compile("[\u0600-\u06ff]"),
    "Greek": re.compile("[\u0370-\u03ff]"), "Hebrew": re.compile("[\u0590-\u05ff]"), "Devanagari": re.compile("[\u0900-\u097f]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"), "Latin": re.compile("[A-Za-z\u00c0-\u024f]"),
}  # fmt: skip
_SCRIPT_OF = {
    "ru": "Cyrillic", "uk": "Cyrillic", "bg": "Cyrillic", "sr": "Cyrillic", "be": "Cyrillic", "mk": "Cyrillic", "kk": "Cyrillic",
    "ko": "Korean", "ar": "Arabic", "fa": "Arabic", "ur": "Arabic", "el": "Greek", "he": "Hebrew", "hi": "Devanagari",
    "mr": "Devanagari", "ne": "Devanagari", "th": "Thai", "zh": "Chinese", "ja": "Japanese",
}  # fmt: skip
_NAMES = {
    "en": "english", "de": "german deutsch", "fr": "french français", "es": "spanish español", "it": "italian italiano",
    "pt": "portuguese português", "nl": "dutch nederlands", "pl": "polish polski", "sv": "swedish svenska", "tr": "turkish türkçe",
    "ru": "russian русский", "zh": "chinese mandarin 中文", "ja": "japanese 日本語", "ko": "korean 한국어", "ar": "arabic العربية",
}  # fmt: skip
LEAST = 2
"""So many words of another language, and none of one that is spoken, tell another language."""
SCRIPT_LETTERS = 4


@cache
def _lexicon() -> Mapping[str, frozenset[str]]:
    words = {name: frozenset(said.split()) for name, said in _SPOKEN.items()}
    return {name: said | frozenset(COMMON_WORDS.get(name, "").split()) for name, said in words.items()}


@lru_cache(maxsize=1024)
def spoken_in(text: str) -> str | None:
    """The language of a text, as far as this tells: a code, or the name of a script that several languages share."""
    script = script_of(text)
    if script is not None and script != "Latin":
        return script
    certain = language_of(text)
    if certain is not None:
        return certain
    said = _words(text, _LOANED)
    counts = {name: len(said & own) for name, own in _own_words().items()}
    (best, most), (_, second) = sorted(counts.items(), key=lambda count: -count[1])[:2]
    return best if most >= LEAST and most > second else None


def named_languages(text: str) -> frozenset[str]:
    """The languages that a text names, such as a persona that speaks Spanish."""
    words = frozenset(_WORD.findall(text.casefold()))
    return frozenset(code for code, names in _NAMES.items() if not words.isdisjoint(names.split()))


def foreign_language(text: str, spoken: Collection[str], names: str = "") -> str | None:
    """The language of the text where it is clear and not one of `spoken` (language codes, or names of scripts); else None.

    What it quotes is not its own, and words of `names` (facts, people, things) belong to no language.
    """
    own = _QUOTED.sub(" ", text)
    scripts = {_script_of_language(one) for one in spoken}
    script = script_of(own)
    if script is None or not scripts:
        return None
    if script not in scripts:
        # Names and codes are written in Latin letters everywhere.
        return _in_latin(own, names) if script == "Latin" else script
    return _in_shared_letters(own, spoken, names) if script == "Latin" else None


def _in_latin(text: str, names: str) -> str | None:
    ignored = _ignored(names)
    found = {name: len(_words(text, ignored) & words) for name, words in _lexicon().items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > LEAST else None


def _in_shared_letters(text: str, spoken: Collection[str], names: str) -> str | None:
    known = {one: _lexicon()[one] for one in spoken if one in _lexicon()}
    if len(known) < len([one for one in spoken if _script_of_language(one) == "Latin"]):
        return None  # a language of which no words are known could be any
    words = _words(text, _ignored(names))
    mine = frozenset[str]().union(*known.values())
    kept = len(words & mine)
    best, most = None, 0
    for name, theirs in _lexicon().items():
        if name in known:
            continue
        foreign, lost = len((words & theirs) - mine), len((words & mine) - theirs)
        if (
            foreign > most
            and foreign >= LEAST
            and foreign > 2 * lost
            and (foreign > 2 or kept - lost < len(words & theirs))
        ):
            best, most = name, foreign
    return best


def script_of(text: str) -> str | None:
    """The script of most of its letters; None where it has too few."""
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    counts["Japanese" if kana else "Chinese"] = kana + han
    best = max(counts, key=lambda name: counts[name] * (3 if name in ("Japanese", "Chinese", "Korean") else 1))
    return best if counts[best] >= (2 if best in ("Japanese", "Chinese", "Korean") else SCRIPT_LETTERS) else None


def _script_of_language(language: str) -> str:
    return (
        language if language in _SCRIPTS or language in ("Chinese", "Japanese") else _SCRIPT_OF.get(language, "Latin")
    )


@cache
def _own_words() -> Mapping[str, frozenset[str]]:
    """The words of each language that no other one has."""
    lexicon = _lexicon()
    return {
        name: words - frozenset[str]().union(*(theirs for other, theirs in lexicon.items() if other != name))
        for name, words in lexicon.items()
    }


def _ignored(names: str) -> frozenset[str]:
    return _LOANED | frozenset(_WORD.findall(names.casefold()))


def _words(text: str, ignored: frozenset[str]) -> frozenset[str]:
    words = _WORD.findall(text.casefold().replace("’", "'"))
    return frozenset([*words, *(_CONTRACTED.sub("", word) for word in words)]) - ignored
