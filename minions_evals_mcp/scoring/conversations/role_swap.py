"""A user who speaks as the assistant: told by what only an assistant does, and by how those who serve speak. Pure.

It offers its service, asks for what the user alone has, reports work done for somebody, thanks for the contact, or calls itself one.
The patterns, by language, address "you"; a user's own "me" and "my" do not match.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from minions_evals_mcp.scoring.conversations.speaker import serving_log_odds
from minions_evals_mcp.scoring.conversations.wording import plain, says, sentences

_EN_THING = (
    r"(?:order|booking|reservation|account|card|request|refund|appointment|subscription|membership|ticket|password|case|claim|flight"
    r"|contract|loan|policy|payment|warranty|parcel|package|delivery|seat|room|table|line|meter|invoice|bill|bag|luggage|return|exchange"
    r"|purchase|transfer|device|router|plan|repair|prescription|details|information|profile|records?)s?"
)
_EN_DONE = (
    r"(?:processed|issued|booked|updated|cancell?ed|refunded|forwarded|submitted|created|scheduled|changed|reset|sent|completed|placed"
    r"|confirmed|closed|approved|resolved|registered|activated|added|removed|opened|reopened|extended|renewed|upgraded|transferred"
    r"|escalated|corrected|rebooked|replaced|blocked|reserved|dispatched|shipped|moved|arranged|credited|checked|noted|received)"
)
_EN_DO = (
    r"(?:process|issue|book|update|cancel|refund|forward|submit|create|schedule|change|reset|place|confirm|close|approve|resolve"
    r"|register|activate|add|remove|reopen|extend|renew|upgrade|transfer|escalate|correct|rebook|replace|block|reserve|dispatch|move"
    r"|arrange|credit|check|look into|look up|pull up|review|access|verify|find|locate|track|waive|apply|handle)"
)
_EN_NOTED = (
    r"(?:(?:order|booking|reservation|customer|account|client|contract|policy|member(?:ship)?|card|ticket|invoice|tracking|serial"
    r"|confirmation|passport|library|employee|insurance|registration|rental|licen[cs]e|meter|case|reference|phone|contact|home|postal"
    r"|delivery|shipping|billing|email|e-mail|mailing) ?(?:number|no\b|id\b|code|reference|details|address|name)"
    r"|account|booking reference|date of birth|full name|(?:last|first) name|surname|membership id|number|address|phone|e-?mail|postcode"
    r"|zip code)"
)
_ENGLISH = (
    r"^\s*(?:assistant|agent|support|bot|ai|system|customer service|representative|operator)\s*:",
    r"\bhow (?:else )?(?:can|may|could) (?:i|we) (?:else )?(?:help|assist|support|be of (?:help|service|assistance))\b",
    r"\b(?:what|which \w+) (?:else )?can (?:i|we) (?:do|help \w+ with)\b.{0,12}\bfor you\b",
    r"\bany(?:thing|thing else| other \w+)(?: else)?,? (?:that )?(?:i|we) can (?:(?:help|assist)\b|do for you\b)(?! (?:to|on my))",
    r"\bany(?:thing|thing else)?(?: else)? (?:that )?you(?:'d| would)? (?:need|like|want)\b(?! from me| from us| to know"
    r"| me)[^?.!]{0,30}\?",
    r"\b(?:i(?:'d| would) be|i(?:'m| am)|we(?:'d| would) be|we(?:'re| are)|i will be) (?:more than |very |always )?"
    r"(?:happy|glad|pleased|delighted|here) to (?:help|assist|support)(?: you| with| further|[.,!?]|$)",
    r"\b(?:i|we)(?:'ll| can| will| could) (?:certainly |definitely |surely |gladly |happily |of course |absolutely )?"
    r"(?:help|assist) you\b",
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model|virtual assistant)\b",
    r"\bi(?:'m| am) an? (?:ai|virtual assistant|language model|chat ?bot)\b",
    r"\b(?:thank you|thanks) for (?:contacting|reaching out|calling us|getting in touch|choosing|your (?:enquiry|inquiry"
    r"|order|purchase|loyalty|interest|business|call[.!,]))",
    rf"\byour (?:\w+ )?{_EN_THING} (?:has|have|is|are|was|were) (?:now |just |already |successfully |been )*{_EN_DONE}\b",
    rf"\b(?:i|we)(?:'ve|'ll| have| will| can| could| am going to| shall)? (?:just |now |already |successfully |gladly |happily |also )*"
    rf"(?:{_EN_DONE}|{_EN_DO}) (?:(?:that|this|it|them|everything|the \w+|an? \w+|\w+ \w+) )?(?:for you\b|your (?:\w+ )?{_EN_THING}\b)",
    rf"\b(?:let me|allow me to|i(?:'ll| will)) (?:just |quickly |go ahead and |now )*{_EN_DO}"
    rf" (?:(?:that|this|it) for you\b|your (?:\w+ )?{_EN_THING}\b)",
    r"\byou(?:'re| are| have been) (?:now |all |successfully )*(?:booked|rebooked|registered|scheduled|checked in|refunded|enrolled)"
    r" (?:for|on|in|at|with|to)\b",
    rf"\b(?:provide|tell|give|confirm|share|state|enter|send|need|require)(?: (?:me|us))?(?: with)? your (?:\w+ )?{_EN_NOTED}",
    rf"\b(?:may|can|could|would|might) (?:i|we|you) (?:please |kindly |also |just )*(?:have|get|see|confirm|verify|provide|give|tell|state"
    rf"|share|spell)(?: (?:me|us))?(?: with)? your (?:full |current )?(?:{_EN_NOTED}|{_EN_THING})",
    rf"\b(?:what(?:'s| is| are)|which is) your (?:\w+ )?(?:{_EN_NOTED.replace('number|address|phone|e-?mail|', '')})",
    r"\b(?:tell me|give me|provide|confirm|what(?:'s| is)) the (?:serial|order|booking|account|tracking|model|card) (?:number|id"
    r"|code|reference)"
    r" (?:of|for|on) your\b",
    rf"\byour (?:new )?(?!web|site|app\b|system|service|shop|store|compan|polic|e-?mail|mail|message|letter|reply|answer|driver"
    rf"|colleague|team)"
    rf"\w+ (?:\w+ )?(?:has|have) (?:now |just |already |successfully )*been (?:now |just |successfully )*{_EN_DONE}\b",
    r"\bsorry to hear (?:that |about )?(?:that )?your\b|\b(?:what|which) \w+ (?:should|shall) (?:i|we) (?:block|refund|process"
    r"|issue|look up|pull up)\b",
    rf"\b(?:please|kindly|(?:need|have|like) (?:you )?to|can you|could you|let's) (?:verify|confirm|spell"
    rf"|re-?enter) your (?:\w+ )?{_EN_NOTED}",
    r"\b(?:thank you|thanks) for (?:holding|waiting on the line)\b|\b(?:we|i) can offer you\b|\bgone ahead and \w+ed\b"
    r"|\b(?:we|i) (?:just )?need to (?:confirm|verify) your\b|\bas an? (?:\w+ )?(?:assistant|agent|representative) i\b",
    r"\b(?:first|last) (?:\w+|\d) (?:digits|letters|characters) of your\b",
    rf"\bmay i (?:please |kindly )?(?:ask for|have|take|get) (?:the|your) (?:\w+ )?{_EN_NOTED}",
    r"\bwe (?:sincerely |do |deeply )?apologi[sz]e for (?:the|any|this|your) (?:inconvenience|trouble|delay|confusion|mix-?up|wait"
    r"|experience|frustration|error|issue)",
    r"\bwe(?:'re| are) (?:very |so |truly |really )?sorry (?:for|about) (?:the|any|this) (?:inconvenience|trouble|delay|confusion|mix-?up)",
    r"\bour (?:\w+ )?(?:team|department|specialists?|technicians?|staff|engineers?|colleagues?|support|driver) will (?:\w+ )?(?:contact"
    r"|call|reach|be in touch|get back|look|review|assist|visit|come)\b",
    r"\blet (?:me|us) know if you (?:have|need) any (?:other|further|more|additional)\b",
    r"\b(?:feel free|do not hesitate|don't hesitate) to (?:reach out|contact us|ask|let (?:us|me) know|get in touch|message)\b",
    r"\bif you have any (?:other |further |more |additional )?(?:questions|concerns)\b",
    r"\benjoy your (?:meal|stay|flight|trip|journey|day|purchase|visit|book|new)\b|\bwe look forward to (?:see|seeing|welcom\w+|serv\w+)\b",
    r"\bhave you (?:already )?tried (?:re-?start|reboot|switch|turn|unplug|reset|reinstall|clear|log|sign|updat|us|clean|charg"
    r"|plug)\w*ing\b",
    r"\bplease (?:try|check|make sure|ensure|restart|reboot|unplug|verify) (?:that |to \w+ |restarting |switching )*your (?:\w+ )?(?:router"
    r"|device|cables?|connection|settings|browser|spam|inbox|modem|phone|computer|order|account|card)\b",
    r"\bwould you (?:still |also )?(?:like|prefer|wish) to (?:proceed|continue|go ahead|book|rebook|cancel|add|exchange|return"
    r"|upgrade|keep|change"
    r"|modify|receive|schedule|use|pay|reserve|place|make|know more)\b",
    rf"\bwould you like me to (?:\w+ )?(?:{_EN_DO}|search|proceed|transfer|connect|exchange|send you|help|assist|go ahead|continue"
    rf"|modify)\b",
    r"\b(?:please )?(?:confirm|let me know) (?:if|whether) (?:you(?:'d| would) (?:still |also )?like (?:me )?to|you want (?:me )?to"
    r"|you wish to"
    r"|this is correct|these (?:details )?are correct|everything (?:is|looks) correct) ?(?:proceed|go ahead|continue)?",
    r"\b(?:transfer|connect) you (?:to|with)\b|\bto (?:better |further )?(?:assist|help) you\b|\bto proceed with your\b",
    r"\bi(?:'m| am) (?:un)?able to (?:assist|offer|help you)\b|\b(?:help|assist) you with\b|\byour identity\b",
    r"\byour (?:\w+ )?(?:reservation|booking|order|appointment|subscription|membership) (?:is|was|has|will|includes?|qualifies|ends"
    r"|starts|contains|can(?:not|'t)? be)\b",
    r"\bi understand (?:that )?(?:you(?:'d| would) like|you wish|your (?:frustration|concern))",
)
_GERMAN = (
    r"^\s*(?:assistent|berater|kundendienst|mitarbeiter|kundenservice)(?:in)?\s*:",
    r"\bwie (?:kann|darf|könnte) ich (?:ihnen|dir|euch) (?:\w+ )?(?:helfen|weiterhelfen|behilflich|sein)\b",
    r"\b(?:kann|darf) ich (?:sonst |ihnen |dir |noch |etwas |was )*(?:noch|sonst)\b[^?.!]{0,40}\b(?:für (?:sie|dich)|helfen"
    r"|weiterhelfen|tun)\b",
    r"\b(?:gerne?|selbstverständlich|natürlich)(?: doch)?,? (?:helfe|unterstütze|kümmere|prüfe|schaue|buche|storniere) ich\b",
    r"\bich helfe (?:ihnen|dir) (?:gerne?|sofort|selbstverständlich)\b",
    r"\bals (?:ki|sprachmodell|virtueller assistent)\b|\bich bin (?:ein|eine) (?:ki|sprachmodell|chatbot|virtueller?)\b",
    r"\b(?:vielen dank|danke)(?: dir| ihnen)? für (?:ihre|ihren|deine|deinen) (?:anfrage|kontaktaufnahme|anruf|nachricht|meldung|bestellung"
    r"|geduld|buchung|einkauf|vertrauen|interesse|rückmeldung)",
    r"\b(?:nennen|geben|teilen|sagen|schicken|senden|bestätigen) sie (?:mir |uns |dazu |dafür )*(?:bitte )?(?:noch |kurz |einmal |auch )*"
    r"(?:ihren?|die|das) \w*(?:nummer|name|namen|adresse|datum|daten|iban|kennung|code|anschrift)\b",
    r"\b(?:wie lautet|wie ist|was ist|bräuchte|brauche|benötige|darf ich|könnten sie mir|können sie mir)(?: ich)?(?: bitte| noch| um)* "
    r"(?:ihren?|deinen?|die|das) \w*(?:bestell|kunden|vertrags|buchungs|zähler|serien|sendungs|mitglieds|geburts|rechnungs|auftrags"
    r"|konto|personal|vorgangs)\w*",
    r"\b(?:ihre?|deine?) (?:\w+ )?(?:anfrage|bestellung|buchung|termin|vertrag|karte|konto|erstattung|rückerstattung|rezept|abo|ticket"
    r"|reservierung|paket|umtausch|kündigung|reklamation)\w* (?:wurde|ist|wird|liegt|endet|geht)\b"
    r"[^.!?]{0,40}\b(?:bearbeitet|storniert|gebucht|erstattet|gekündigt|bestätigt|gesperrt|geändert|verschickt|eingetragen|bereit"
    r"|aktualisiert|reserviert|überwiesen|unterwegs|abgeschlossen|registriert|geprüft)\b",
    r"\bich (?:habe|werde|kann) (?:ihre[nms]?|deine[nms]?|das|es|den|die)\b[^.!?]{0,40}\b(?:für sie|für dich|für euch)\b",
    r"\bich (?:habe|werde) (?:nun |jetzt |soeben |gerade )*(?:ihre[nms]?|deine[nms]?) [^.!?]{0,40}\b(?:bearbeite|stornier|gebucht|buchen"
    r"|erstatte|gekündigt|kündigen|gesperrt|sperren|geändert|ändern|verlängert|verlängern|prüfen|geprüft|umgebucht|bestellt)",
    r"\bich (?:schicke|sende|veranlasse|buche|storniere|erstatte|reserviere|verbinde|trage) (?:ihnen|sie|dir|dich)\b",
    r"\b(?:haben sie|hast du) (?:schon |bereits |es schon )+(?:\w+ ){0,4}(?:versucht|neu gestartet|neugestartet|ausprobiert)\b",
    r"\b(?:welche[nrsm]?|wann|wie|was|wo)\b[^?.!]{0,40}\b(?:ihre?[nmrs]?|deine?[nmrs]?) (?:\w+ )?(?:bestellung|buchung|reservierung|vertrag"
    r"|kundennummer|konto|karte|adresse|name|geburtsdatum|termin|paket|anschluss|gerät|rechnung|lieferung|abo)\w*[^?.!]{0,30}\?",
    r"\b(?:darf|dürfte|kann) ich (?:bitte |noch |kurz )*(?:um )?(?:ihre?n?|deine?n?) (?:\w+ )?\w*(?:nummer|namen?|adresse|datum"
    r"|iban|anschrift)\b",
    r"\bwir (?:entschuldigen uns|bitten um entschuldigung|bitten um ihr verständnis)\b|\bwir freuen uns (?:auf sie|auf ihren)\b",
    r"\bmelden sie sich (?:gerne?|jederzeit|bei fragen)\b|\b(?:bei|falls sie) (?:weiteren?|noch) fragen\b",
)
_FRENCH = (
    r"^\s*(?:assistante?|conseill(?:er|ère)|agente?|service client|support)\s*:",
    r"\b(?:comment|en quoi) (?:puis-je|pouvons-nous|je peux) (?:vous |t')?(?:aider|être utile)\b",
    r"\b(?:puis-je|est-ce que je peux|pouvons-nous) (?:faire )?(?:vous aider|autre chose|quelque chose d'autre)\b",
    r"\b(?:ravie?|heureu(?:x|se)|enchantée?) de (?:pouvoir )?vous (?:aider|assister|accompagner)\b|\bje (?:vais|peux) vous aider\b",
    r"\ben tant qu'(?:ia|assistante?)\b|\bje suis (?:un|une) (?:ia|assistante? virtuel)",
    r"\bmerci (?:de|pour) (?:nous avoir|votre (?:demande|appel|message|commande|patience|confiance|signalement|achat|réservation))",
    r"\b(?:veuillez|merci de|pouvez-vous|pourriez-vous|pourrais-je|puis-je|j'aurais besoin|il me faut)(?: s'il vous plaît)?(?: me"
    r"| m'| nous)? ?"
    r"(?:fournir|communiquer|indiquer|donner|préciser|confirmer|rappeler|avoir|de)? ?(?:votre|la référence de votre|le numéro de votre|vos)"
    r" (?:\w+ )?(?:\w+ )?(?:numéro|référence|nom|dossier|adresse|date|commande|réservation|identifiant|compte|contrat|coordonnées)",
    r"\b(?:quelle?s? (?:est|sont)) (?:votre|vos|la référence de votre|le numéro de votre) (?:\w+ )?(?:numéro|référence|dossier|date"
    r"|commande|réservation|identifiant|contrat|nom|adresse)",
    r"\bvotre (?:\w+ )?(?:demande|commande|billet|rendez-vous|réservation|compte|carte|colis|remboursement|contrat|abonnement) (?:a été|est"
    r"|sera|a bien été|est bien)(?: \w+)? (?:annulé|confirmé|remboursé|enregistré|modifié|traité|réservé|bloqué|expédié|effectué|validé"
    r"|pris|mis)",
    r"\bj'ai (?:bien )?(?:annulé|confirmé|remboursé|modifié|enregistré|réservé|bloqué|traité|changé|noté|trouvé) votre\b",
    r"\bje (?:vous )?(?:envoie|rembourse|confirme|réserve|transfère|mets en relation)(?: \w+)? (?:un technicien|votre|vous"
    r"|le remboursement)",
    r"\bje reste à votre disposition\b|\bvotre (?:commande|demande|réservation|dossier|remboursement|colis|rendez-vous) est (?:en"
    r"|bien|au)\b",
    r"\bnous (?:nous excusons|vous présentons nos excuses|sommes désolés pour)\b|\bn'hésitez pas à (?:me|nous)\b",
    r"\bavez-vous (?:déjà )?essayé de (?:redémarrer|débrancher|réinitialiser|éteindre)",
)
_SPANISH = (
    r"^\s*(?:asistente|agente|soporte|atención al cliente)\s*:",
    r"\b(?:en qué|cómo)(?: más)? (?:puedo|podemos|le puedo|te puedo) (?:ayudar|servir|asistir)\w*",
    r"\b(?:puedo|podemos) ayudar(?:le|te|la|lo|os)? (?:en|con) (?:algo|eso|esto|su|tu)\b",
    r"\b(?:encantad[oa]|con (?:mucho )?gusto)(?: de| a)? (?:le |te |la |lo )?(?:ayud\w+|atiend\w+|asist\w+)",
    r"\bhay algo más en lo que\b|\b(?:necesita|desea) algo más\?",
    r"\bcomo (?:una )?(?:ia|modelo de lenguaje|asistente virtual)\b|\bsoy (?:un|una) (?:asistente|ia|modelo)\b",
    r"\bgracias por (?:contactar|comunicarse|ponerse en contacto|llamar|su (?:llamada|paciencia|mensaje|compra|pedido|reserva|confianza))",
    r"\b(?:me (?:puede|podría|da|dice|indica|facilita|proporciona)|podría (?:indicar|decir|dar|facilitar|proporcionar|confirmar)(?:me|nos)"
    r"|puede (?:indicar|decir|dar|facilitar|proporcionar|confirmar)(?:me|nos)|necesito|indíqueme|dígame|deme|facilíteme|proporcióneme"
    r"|cuál es|proporcione|indique)(?: por favor)?(?: \w+)? (?:su|tu|el) (?:\w+ )?(?:de )?(?:número|código|nombre|dirección|correo|dni"
    r"|apellido|pedido|reserva|contrato|tarjeta|teléfono|fecha|iban|referencia)\b(?=[^.!?]{0,40}\?| de su| de tu"
    r"|[^.!?]{0,30}por favor|[.!]|$)",
    r"\bsu (?:\w+ )?(?:pedido|cita|reserva|solicitud|tarjeta|cuenta|reembolso|contrato|paquete|billete|vuelo|maleta) (?:ha sido|está|será"
    r"|fue|ya está|queda) (?:\w+ )?(?:cancelad|confirmad|reembolsad|modificad|registrad|tramitad|bloquead|enviad|cambiad|incluid|procesad)",
    r"\bhe (?:cancelado|confirmado|reembolsado|cambiado|registrado|reservado|bloqueado|modificado|añadido|encontrado) su\b",
    r"\b(?:le|te) (?:envío|reembolso|mando|confirmo|reservo|paso con|ayudo)\b|\bno dude en (?:contactar|escribir|llamar|preguntar)",
    r"\bhacer (?:algo|alguna cosa) más por (?:usted|ti)\b|\b(?:su|tu) (?:paquete|pedido|cita|reserva|reembolso) (?:llegará|llega"
    r"|estará|saldrá)\b",
    r"\bnecesito (?:su|tu) (?:\w+ )?(?:de )?(?:número|código|nombre|dirección|correo|dni|apellido|contrato|teléfono|fecha|iban)\b",
    r"\blamentamos (?:las molestias|los inconvenientes|mucho)|\b(?:ha|has) (?:probado|intentado) (?:a )?(?:reinici|desench|apag)\w+",
)
_ITALIAN = (
    r"^\s*(?:assistente|operatore|servizio clienti|supporto)\s*:",
    r"\b(?:come|in cosa|in cos'altro|in che modo) (?:posso|possiamo) (?:aiutar|esser|assister)\w*|\bposso (?:aiutarla|aiutarti"
    r"|fare altro per)\b",
    r"\b(?:la|ti|vi) aiuto (?:volentieri|subito)|\b(?:lieto|lieta|felice) di (?:aiutar|assister)\w*",
    r"\bgrazie per (?:averci|aver (?:contattato|chiamato)|la sua (?:chiamata|richiesta|pazienza|segnalazione)|il suo (?:ordine|messaggio))",
    r"\b(?:mi (?:può|potrebbe|puoi) (?:dare|dire|fornire|indicare|confermare)|qual è|avrei bisogno del|mi serve|mi dia|mi dica|mi fornisca"
    r"|può (?:darmi|dirmi|fornirmi|indicarmi|confermarmi)|potrebbe (?:darmi|dirmi|fornirmi|indicarmi)) (?:per favore )?(?:il|la|l')? ?"
    r"(?:numero (?:\w+ ){0,3}(?:sua|suo|tua|tuo)|(?:sua|suo|tua|tuo) (?:numero|codice|nome|indirizzo|targa|tessera|ordine|data))",
    r"\b(?:la sua|il suo) (?:\w+ )?(?:ordine|prenotazione|richiesta|carta|conto|rimborso|pacco|appuntamento|contratto) (?:è stat|è"
    r"|sarà)[oa]? "
    r"(?:\w+ )?(?:annullat|confermat|rimborsat|modificat|registrat|bloccat|spedit)",
    r"\bho (?:annullato|confermato|rimborsato|spostato|registrato|prenotato|bloccato|modificato|trovato) (?:la sua|il suo|la tua|il tuo)\b",
    r"\bci scusiamo per\b|\bnon esiti a (?:contattarci|chiamarci|scriverci)",
)
_PORTUGUESE = (
    r"^\s*(?:assistente|atendente|suporte|atendimento)\s*:",
    r"\b(?:como|em que)(?: mais)? (?:posso|podemos) (?:te |lhe |o |a )?(?:ajud|auxili)\w*|\bposso (?:ajudar|auxiliar)(?:-lo|-la"
    r"|-te)? (?:com|em)\b",
    r"\b(?:fico|ficarei|estou) (?:feliz|à disposição)\b|\b(?:posso|vou) (?:te |lhe )?ajudar (?:com|você|nisso)\b|\b(?:em"
    r"|com) mais alguma coisa\?",
    r"\bobrigad[oa] por (?:entrar em contat?o|contactar|contatar|ligar|sua (?:mensagem|paciência|compra)|seu (?:contat?o|pedido))",
    r"\b(?:qual (?:é|e)|me (?:informa|informe|diga|passa|dê)|informe(?:-me)?|diga-me|poderia (?:me )?(?:informar|dizer|fornecer"
    r"|passar)|pode(?:ria)? "
    r"(?:me )?(?:informar|dizer|indicar|fornecer)(?:-me)?|preciso d[oea])(?: por favor)? (?:o |a )?(?:seu|sua|teu|tua|número da sua"
    r"|número do seu) (?:\w+ )?(?:cpf|número|nome|código|endereço|e-?mail|data|pedido|apólice|matrícula|contrato|telefone|telemóvel"
    r"|reserva)",
    r"\b(?:o seu|a sua|seu|sua) (?:\w+ )?(?:pedido|reserva|solicitação|cartão|conta|reembolso|plano|marcação|consulta"
    r"|encomenda) (?:foi|está|será) "
    r"(?:\w+ )?(?:cancelad|confirmad|reembolsad|alterad|registad|registrad|bloquead|enviad|agendad|processad)",
    r"\b(?:cancelei|confirmei|alterei|registrei|registei|agendei|bloqueei|reembolsei) (?:o |a )?(?:seu|sua)\b|\bpedimos desculpa",
)
_DUTCH = (
    r"^\s*(?:assistent|medewerker|klantenservice)\s*:",
    r"\b(?:hoe|waarmee|waar) (?:kan|mag) ik (?:u|je|jou) (?:\w+ )?(?:helpen|van dienst)|\b(?:kan|mag) ik (?:u|je) (?:nog |ergens |verder )+"
    r"|\bik help (?:u|je|jou) (?:graag|daarmee|verder)|\bhelp ik (?:u|je|jou) (?:graag|daarmee|verder)",
    r"\b(?:bedankt|dank u|dank je) (?:voor|dat u) (?:uw|je|contact|ons|het contact)",
    r"\b(?:wat is|mag ik|kunt u (?:mij|me)|kun je (?:mij|me)|ik heb|geef (?:mij|me)) (?:ook |even |nog |alstublieft )*(?:uw|jouw|je) "
    r"(?:\w+ )?\w*(?:nummer|code|naam|adres|postcode|geboortedatum|bestelling|referentie)",
    r"\b(?:uw|jouw) (?:\w+ )?(?:bestelling|afspraak|aanvraag|pakket|kaart|rekening|terugbetaling|reservering|abonnement|huur) (?:is"
    r"|wordt|werd) "
    r"(?:\w+ )*(?:geannuleerd|bevestigd|terugbetaald|gewijzigd|verwerkt|geblokkeerd|verzonden|verlengd|geboekt)",
    r"\bik heb (?:uw|jouw) (?:\w+ )?(?:bestelling|afspraak|aanvraag|pakket|kaart|reservering|abonnement)\b|\bonze excuses (?:voor|aan)",
)
SIGNS = tuple(re.compile("|".join(said), re.IGNORECASE) for said in (
    _ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH
))  # fmt: skip
"""What an assistant says, and a user does not, by language."""
QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|(?<!\w)'[^'\n]{3,300}'(?!\w)"
)
"""What somebody else said."""
_OF_YOU = re.compile(
    r"\b(?:your|dein\w{0,2}|votre|vos|tu|vuestr[oa]|tuo|tua|seu|sua|uw|jouw|din|ditt|twój|twoje|pan[ai]|ваш\w{0,2})\b|(?<!\w)Ihre?n?\b"
    r"|\bsu\b(?=[^.!?]{0,60}\?)|您的|你的|お客様の",
)
_ALIKE, _LEAST_WORDS = 0.8, 4
SERVES = 1.75
"""Above these log-odds a message is taken for one of somebody who serves."""


def speaks_as_assistant(text: str, known_names: Collection[str], said_by_agent: Collection[str]) -> str | None:
    """The words with which the user speaks as the assistant; `known_names` are names of facts that the user has itself."""
    own = QUOTED.sub(" ", text)
    for sign in SIGNS:
        if found := sign.search(own):
            return found[0].strip()
    questions = [one for one in sentences(own) if _is_question(one)]
    asked = [one for one in questions if _OF_YOU.search(one) and any(says(one, name) for name in known_names)]
    return next(iter(asked), None) or next(_echoes(questions, said_by_agent), None)


def reads_as_assistant(text: str) -> bool:
    """Whether the message, in answer to the agent, is worded as those who serve speak, by what was learnt from examples."""
    return serving_log_odds(QUOTED.sub(" ", text)) > SERVES


def _echoes(questions: Collection[str], said_by_agent: Collection[str]) -> Iterator[str]:
    """Questions that the agent has asked in nearly the same words."""
    theirs = [frozenset(plain(one).split()) for text in said_by_agent for one in sentences(text) if _is_question(one)]
    for question in questions:
        words = frozenset(plain(question).split())
        if len(words) >= _LEAST_WORDS and any(len(words & one) >= _ALIKE * len(words | one) for one in theirs):
            yield question


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')»” ").endswith(("?", "？"))
