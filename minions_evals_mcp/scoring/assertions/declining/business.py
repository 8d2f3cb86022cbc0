"""The negatives of a business: a refund, a delivery or a change that cannot be had. They answer the task, they do not decline it."""

from __future__ import annotations

from minions_evals_mcp.late_patterns import late

_VERBS = (
    r"refund\w*|return\w*|exchang\w*|ship\w*|deliver\w*|cancel\w*|accept\w*|extend\w*|replac\w*|reimburs\w*|waive\w*"
    r"|discount\w*|(?:re)?book\w*|upgrad\w*|downgrad\w*|match (?:the|that|a|your)|honou?r\w*|modify|modif\w*|chang\w*"
    r"|offer (?:you )?(?:a|an|any|the|refunds?|discounts?|free)\b|take (?:\w+ ){0,3}back|reserv\w*|dispatch\w*|credit\w*"
    r"|offer (?:\w+ ){0,2}\w+ing\b|sell\b|stock\b|carry\b|have (?:any|that|this|it|those|these) (?:\w+ ){0,3}(?:in|left|available)"
    r"|process (?:\w+ ){0,3}(?:refund|return|payment|order|claim)\w*|approv\w*|grant\w*|charg\w*|repair\w*|reschedul\w*"
)
_WE = late(
    rf"\b(?:we|our \w+)(?:'re| are)? (?:\w+ly )?(?:cannot|can't|can not|couldn't|won't|will not|unable to|not able to"
    rf"|do not|don't|no longer)(?: be able to)? (?:\w+ ){{0,3}}?(?:{_VERBS})"
)
_I = late(
    rf"\bi(?:'m| am)? (?:\w+ly )?(?:cannot|can't|can not|won't|will not|unable to|not able to)(?: be able to)?"
    rf" (?:\w+ ){{0,3}}?(?:{_VERBS})"
)
_PASSIVE = late(
    r"\b(?:your|the|this|that|these|those|such|an?) (?!(?:request|question|topic|content|message|information|data)\b)"
    r"(?:\w+ ){0,3}?\w+"
    r" (?:cannot|can't|can not|could not|couldn't|is not|are not|isn't|aren't|was not) (?:be )?(?:\w+ly )?"
    r"(?:refund|return|exchang|ship|deliver|cancel|accept|extend|replac|reimburs|book|chang|modif|reserv|dispatch"
    r"|credit|process|approv|in stock|eligible|covered)\w*"
)
_REASON = late(
    r"\b(?:after|since|because|until|unless|without|due to|more than|within|already|sold out|expired|polic(?:y|ies)"
    r"|non-?refundable|out of stock|no longer|has passed|have passed|as (?:it|the|your|this|that|they|we)\b|\d+ (?:day|week"
    r"|month|hour|year)s?)\b"
)
_OTHER = (
    r"erstatt\w*|zurücknehmen|zurückerstatt\w*|umtausch\w*|stornier\w*|liefer\w*|versend\w*|verschick\w*|verläng\w*"
    r"|annehmen|gewähr\w*|ersetz\w*|buchen|umbuch\w*|änder\w*|rabatt\w*|kulanz"
    r"|rembours\w*|échang\w*|livr\w*|annul\w*|expédi\w*|accepter|prolong\w*|remplac\w*|reprendre|réserv\w*|modifi\w*"
    r"|reembols\w*|devol\w*|devolver|cambi\w*|enviar\w*|entreg\w*|cancel\w*|acept\w*|ampli\w*|reemplaz\w*|reserv\w*"
    r"|rimbors\w*|restitu\w*|sped\w*|consegn\w*|annull\w*|accett\w*|prolung\w*|sostitu\w*|prenot\w*"
    r"|troc\w*|aceit\w*|prorrog\w*|substitu\w*"
)
_OUR = late(
    rf"(?m)^(?>.*?\b(?:wir|uns\w*|nous|notre|nos|podemos|podremos|nuestr\w+|possiamo|potremo|nostr\w+|poderemos|noss\w+)\b)"
    rf".*\b(?:{_OTHER})\b|^(?>.*?\b(?:{_OTHER})\b).*\b(?:wir|nous)\b"
)
_MINE = late(rf"(?m)^(?>.*?\b(?:ich|je|j'|puedo|posso|podré|poderei|potrò|consigo)\b).*\b(?:{_OTHER})\b")
_FOREIGN_REASON = late(
    r"\b(?:nach|weil|da|bereits|schon|abgelaufen|ausverkauft|frist|après|car|puisque|déjà|expiré\w*|épuisé\w*|délai|después"
    r"|porque|ya|agotad\w+|vencid\w+|plazo|dopo|perché|già|scadut\w+|esaurit\w+|termine|após|depois|já|esgotad\w+|prazo|pois)\b"
)


def is_business(sentence: str) -> bool:
    """Returns whether the sentence (lower case) says what a business does not do, or cannot do for a stated reason."""
    if _WE.search(sentence) or _PASSIVE.search(sentence) or _OUR.search(sentence):
        return True
    if _I.search(sentence):
        return _REASON.search(sentence) is not None
    return _MINE.search(sentence) is not None and _FOREIGN_REASON.search(sentence) is not None
