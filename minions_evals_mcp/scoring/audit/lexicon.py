"""Words that tell facts, negations and fillers apart, in the languages that people write most."""

from __future__ import annotations

MONTHS = (
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
    ("januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember"),
    ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"),
    ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
    ("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"),
    ("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)  # fmt: skip
DAYS = (
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    ("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"),
    ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"),
)
NUMBER_WORDS = (
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty", "fifty", "hundred"),
    ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf", "zwanzig", "dreißig", "hundert"),
    ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze", "vingt", "trente", "cent"),
    ("dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce", "veinte", "treinta", "cien"),
    ("due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove", "dieci", "undici", "dodici", "venti", "trenta", "cento"),
    ("dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze", "vinte", "trinta", "cem"),
)  # fmt: skip
AMBIGUOUS = frozenset({"may", "mar", "mars", "sei", "once", "tre", "due", "cent", "dez", "six", "mai"})
"""Words that mean something else, too: a month only beside a number, a number only by its spelling."""
PLACES = (
    "paris", "london", "berlin", "madrid", "rome", "vienna", "lisbon", "oslo", "prague", "warsaw", "dublin", "athens", "tokyo",
    "beijing", "sydney", "canberra", "ottawa", "washington", "moscow", "cairo", "nairobi", "lima", "munich", "hamburg", "lyon",
    "milan", "porto", "zurich", "geneva", "boston", "chicago", "seattle", "france", "germany", "spain", "italy", "portugal",
    "austria", "norway", "poland", "ireland", "greece", "japan", "china", "australia", "canada", "mexico", "brazil", "india",
    "egypt", "kenya", "peru", "sweden", "denmark", "finland", "switzerland", "belgium", "netherlands", "turkey", "argentina",
)  # fmt: skip
OTHER_PLACES = ("Tallinn", "Bogotá", "Hanoi")
OTHER_NAMES = ("Marwick", "Oberlin", "Tessaro")
OTHER_FULL_NAMES = ("Dana Marwick", "Ilya Oberlin", "Rosa Tessaro")

_FUNCTION = (
    # English
    "a an the and or but if of to in on at by for from with without within as is are was were be been being it its this "
    "that these those there here he she they we you i me my your his her their our us them do does did done has have had "
    "will would can could shall should may might must not no yes so than then too very just also into onto over under "
    "about after before during between up down out off again once all any both each few more most other some such only "
    "own same s t what which who whom when where why how "
    # German
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn von zu im in am an auf bei für mit ohne "
    "als ist sind war waren sein es dies diese dieser dieses er sie wir ihr ich mich mein nicht kein keine ja nein auch "
    "nur noch schon hat haben wird werden kann können soll sollen muss nach vor über unter zum zur vom ins "
    # French
    "le la les un une des du de et ou mais si à au aux en dans sur par pour avec sans est sont était être il elle ils "
    "elles nous vous je ce cet cette ces ne pas plus que qui se son sa ses leur y d l c n qu "
    # Spanish, Italian, Portuguese
    "el los las una unos unas y o pero de del al con sin por para en es son era ser se su sus lo que no sí il lo gli i "
    "uno e ed ma di da nel nella della dello per tra fra è sono non che si um uma os as ao à do da dos das no na nos nas "
    "com sem é são não"
)  # fmt: skip
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""Words that say nothing by themselves."""
_OPENERS = (
    "yes no dear please thank thanks sorry hello hi however our your according although because since while "
    "if note here unfortunately certainly sure of ja nein bitte danke leider hallo oui non merci bonjour sí "
    "gracias hola sì grazie ciao sim obrigado olá ihr ihre ihren ihrem ihrer sie first then next finally "
    "also additionally returns refunds mr mrs ms dr herr frau"
)
OPENERS = frozenset(_OPENERS.split())
"""Words that begin a sentence, and no name."""
_LABELS = (
    "positive negative neutral true false yes no high low medium urgent normal spam ham refund billing "
    "shipping technical approved rejected accept reject pass fail passed failed open closed active inactive "
    "critical major minor other none bug feature question sales support account order complaint praise "
    "request cancel exchange status escalate"
)
LABELS = frozenset(_LABELS.split())
"""Words that classify."""
