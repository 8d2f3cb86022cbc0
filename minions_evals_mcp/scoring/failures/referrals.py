"""Sentences that send the reader to somebody else: a doctor, an office, a colleague."""

from __future__ import annotations

import re

from minions_evals_mcp.late_patterns import late

_PERSON = (
    r"(?:doctor|physician|lawyer|solicitor|attorney|pharmacist|expert|professional|specialist|adviser|advisor|mediator"
    r"|accountant|notary|human(?: \w+)?|person|colleague|operator|maintainer|engineer|human\w*|someone|somebody|authority"
    r"|manager|team|staff|reception|front desk|provider|people|therapist"
    r"|nutritionist|dieti[ct]ian|nurse|vet|counsell?or|broker|electrician|plumber|embassy|ministry|website|office|authorities|chamber"
    r"|arzt\w*|ärzt\w+|anwalt\w*|anwält\w+|fach\w+|expert\w+|person|mensch\w*|jemand\w*|kolleg\w+|steuerberater\w*|apothek\w+"
    r"|behörde\w*|verein\w*|verband\w*|ministerium|\w+verein|\w+zentrale|webseite|website|amt|stelle|notar\w*|fachleute|berater\w*"
    r"|médecin|avocat\w*|juriste|notaire|professionnel\w*|spécialiste|expert\w*|collègue|conseiller|pharmacien|humain\w*|quelqu'un"
    r"|service\w*|ministère|équipe|accueil|mairie|préfecture|site"
    r"|médic[oa]|abogad[oa]|experto|profesional|especialista|notario|asesor|persona|colega|personal|recepción|equipo|responsable"
    r"|alguien|embajada|avvocat\w+|medico"
    r"|espert\w+|professionist\w+|traduttor\w+|notaio|qualcuno|commercialista"
    r"|advogad[oa]|especialista|profissional|alguém|contador|tradutor\w*)"
)
_HANDS_OVER = late(
    rf"\b(?:ask|consult|contact|see|speak|talk|reach out|refer|turn|get|have|let|take \w* ?up with|raise|bring up|best placed"
    rf"|(?:something|matter|question|job|one) for|better|should|would|must|needs? to|belongs?"
    rf"|up to|hands of|wenden|fragen|sollte\w*|bitte|gehört|hände|besser|überlasse"
    rf"|adressez|rapprochez|consulte[zr]?|demandez|voyez|appel\w+|confiez|laisse|doit|devrait|consulta\w*|acud\w+|habl\w+|pregunt\w+"
    rf"|debe\w*|rivolg\w+|chied\w+|consult\w+|deve|lascio|procur\w+|fale|pergunte)\b"
    rf"[^.!?\n]{{0,50}}\b{_PERSON}\b|\b{_PERSON}\b[^.!?\n]{{0,40}}\b(?:can|could|should|will|would|may|must|knows?|have|has to"
    rf"|needs to|is better|better|to ask|kann|können|sollte|muss|weiß|wird|hilft|berät|besser|peut|doit|saura|pourra|vous \w+|puede"
    rf"|debe|podrá|(?:le|te) \w+|può|deve|pode)\b",
    re.IGNORECASE,
)


def refers_on(text: str) -> bool:
    """Returns whether a sentence of the text says who else should be asked, or should do it."""
    return _HANDS_OVER.search(text) is not None
