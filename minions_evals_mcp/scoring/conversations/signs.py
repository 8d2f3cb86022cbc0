"""Signs of what a player of a user does wrong, in English, German, French and Spanish."""

from __future__ import annotations

import re

STOP_TOKEN = re.compile(
    r"(?<!#)#{2,}+ ?[A-Z][A-Z _-]{1,30}[A-Z] ?#{2,}"
    r"|<\|[\w-]{2,30}\|>"
    r"|</?(?:s|eos|bos|end|stop|done|exit|END|STOP|EOS|DONE|EXIT)>"
    r"|\[(?:END|STOP|DONE|EXIT|EOS|TERMINATE|FINISH(?:ED)?)(?:[ _][A-Z _]{1,40})?\]"
    r"|\[(?:CONVERSATION|CHAT|DIALOGUE|TASK)[ _](?:OVER|ENDS?|ENDED|COMPLETED?|DONE|FINISHED)\]"
    r"|\b(?:TERMINATE|(?:END|STOP)_(?:OF_)?(?:CONVERSATION|CHAT|DIALOGUE)|(?:CONVERSATION|CHAT|TASK)_(?:OVER|ENDED|COMPLETED?|DONE))\b"
)
_THINGS = (
    r"(?:order|account|booking|reservation|customer|phone|telephone|e-?mail|address|date of birth|ticket|invoice|member\w*|policy|card"
    r"|reference|confirmation|serial|tracking) ?(?:number|id|address|name|code|details)?"
)
_DONE = (
    r"(?:processed|issued|booked|updated|cancell?ed|refunded|forwarded|submitted|created|scheduled|changed|reset|sent|completed"
    r"|confirmed|closed|approved|resolved|registered|activated|added|removed|opened|reopened|extended|renewed|upgraded|transferred"
    r"|escalated|corrected|rebooked|replaced)"
)
ROLE_SWAPPED = re.compile(
    r"^\s*(?:assistant|agent|support|bot|ai|system|assistent|agente)\s*:"
    r"|\bhow (?:can|may|could) (?:i|we) (?:help|assist|be of (?:help|service))\b"
    r"|\b(?:what|which \w+) can (?:i|we) (?:do|help \w+ with)\b.{0,12}\bfor you\b"
    r"|\b(?:is there )?any(?:thing|thing else| other \w+)(?: else)?,? (?:that )?(?:i|we) can (?:help|assist|do)\b"
    r"|\banything else you(?:'d| would)? (?:need|like|want)\b.{0,20}\?"
    r"|\b(?:i(?:'d| would) be|i(?:'m| am)|we(?:'d| would) be) (?:happy|glad|pleased|delighted|here) to (?:help|assist) you\b"
    r"|\bi can (?:certainly |definitely |surely )?(?:help|assist) you with (?:that|this|your)\b"
    r"|\bas an? (?:ai|artificial intelligence|(?:large )?language model|virtual assistant)\b"
    r"|\bi(?:'m| am) an? (?:ai|virtual assistant|language model|chat ?bot)\b"
    r"|\b(?:thank you|thanks) for (?:contacting|reaching out|calling|getting in touch with) (?:us|to us|to our|our|support|customer)\b"
    r"|\b(?:thank you|thanks) for (?:contacting|reaching out)\b"
    rf"|\byour (?:request|{_THINGS}|refund|appointment|subscription|password|case|claim) (?:has|have) (?:now )?been {_DONE}\b"
    rf"|\bi(?:'ve| have) (?:just |now |already |successfully )?{_DONE} (?:that |this |it |everything |a \w+ )?(?:for you|your|to you|you)\b"
    rf"|\b(?:provide|tell me|give me|confirm|share|state|enter)(?: me)?(?: with)? your {_THINGS}"
    r"|\b(?:let me|i(?:'ll| will)|allow me to) (?:just )?(?:look up|check|pull up|review|process|access|verify|find)"
    r" (?:your|that for you|this for you)\b"
    rf"|\b(?:may|can|could|would) (?:i|we|you) (?:please |kindly |also |just )?(?:have|get|see|confirm|verify|provide|give|tell|state"
    rf"|share)(?: (?:me|us))?(?: with)? your (?:full |current )?{_THINGS}"
    r"|\b(?:we|i) (?:sincerely |do |deeply )?apologi[sz]e for (?:the|any|this|your) \w+"
    r"|\bwe(?:'re| are) (?:very |so |truly |really )?sorry (?:for|about) (?:the|any|this) (?:inconvenience|trouble|delay|confusion|mix-up)"
    r"|\bour (?:\w+ )?(?:team|department|specialists?|technicians?|staff|engineers?|colleagues?) will (?:\w+ )?(?:contact|call|reach"
    r"|be in touch|get back|look|review|assist|visit)\b"
    r"|\bhow (?:can|may|could) we be of\b"
    r"|\blet (?:me|us) know if you (?:have|need) any (?:other|further|more|additional)\b"
    r"|\bwie (?:kann|darf) ich (?:ihnen|dir) (?:helfen|weiterhelfen|behilflich)\b|\bkann ich (?:ihnen|dir) (?:sonst )?noch\b"
    r"|\bals (?:ki|sprachmodell)\b|\b(?:vielen dank|danke) für ihre (?:anfrage|kontaktaufnahme)\b"
    r"|\bnennen sie mir (?:bitte )?ihre\b|\bich habe (?:ihre|ihren|das für sie)\b.{0,40}\b(?:bearbeitet|storniert|gebucht|erstattet)\b"
    r"|\b(?:comment|en quoi) puis-je vous aider\b|\bpuis-je vous aider (?:pour )?autre\b|\ben tant qu'(?:ia|assistant)\b"
    r"|\bmerci de (?:nous avoir|votre demande)\b|\bveuillez (?:me )?(?:fournir|communiquer|indiquer) votre\b"
    r"|\b(?:en qué|cómo) puedo ayudar(?:le|te)\b|\bpuedo ayudar(?:le|te) en algo más\b|\bcomo (?:ia|modelo de lenguaje)\b"
    r"|\bgracias por (?:contactar|comunicarse)\b|\bproporci[oó]n\w* su\b",
    re.IGNORECASE,
)
"""What an assistant says, and a user does not."""
GOAL_DROPPED = re.compile(
    r"\bforget (?:about )?(?:that|it|this|everything|the whole|all of)\b|\bnever ?mind\b(?! the| my| about| that i)"
    r"|\b(?:changed|change) my mind\b"
    r"|\b(?:let's|let us|can we|i(?:'d| would)? (?:rather|want to|like to)?) ?talk about (?:something|the weather|another|other)\b"
    r"|\b(?:don't|do not) (?:want|need) (?:it|that|this|the \w+|any of \w+) (?:any ?more|after all|any longer)\b"
    r"|\b(?:leave|keep) (?:it|everything|things|all) (?:as (?:it|they) (?:is|are|was|were)|alone|be)\b"
    r"|\b(?:scrap|drop|abandon) (?:that|it|this|the (?:whole )?(?:thing|idea|request|matter))\b(?! off| by| at| in| on)"
    r"|\b(?:don't|do not) (?:really )?care (?:about (?:it|this|that|all this) )?(?:any ?more|any longer)\b"
    r"|\b(?:don't|do not) bother(?: with (?:it|this|that))?(?: any ?more)?(?=[.!,;]|$)"
    r"|\bdecided (?:against (?:it|this|that|the whole)|not to (?:go on|go ahead|continue|proceed|bother))"
    r"|\b(?:i(?:'ll| will)|i can) (?:just )?live with (?:it|that)\b|\bi give up\b"
    r"|\bsomething (?:completely |entirely |totally |quite )?(?:different|else) (?:now|instead)\b"
    r"|\b(?:tell|write|give) me (?:a|some) (?:joke|poem|story|recipe|song|riddle)s?\b"
    r"|\b(?:would|'d) rather cancel (?:my|the|this|that) request\b"
    r"|\b(?:lassen (?:wir|sie)|lass) (?:das|es)(?: lieber| einfach| doch)*(?: sein| bleiben)?(?=[.!,;]|$)"
    r"|\b(?:das|es) hat sich erledigt\b|\b(?:will|brauche|möchte) (?:ich )?(?:das|es) (?:jetzt )?(?:nicht|gar nicht) mehr\b"
    r"|\bn'en (?:veux|ai) plus (?:besoin)?\b|\bj'abandonne\b|\boublions (?:ça|cela|tout)\b"
    r"|\bya no (?:lo |la )?(?:quiero|necesito)\b|\bda igual, (?:no|ya|déjelo)"
    r"|\b(?:vergessen sie|vergiss) (?:das|es)\b|\bich habe es mir anders überlegt\b|\breden wir (?:lieber )?über etwas anderes\b"
    r"|\b(?:oubliez|laissez tomber)\b|\bj'ai changé d'avis\b|\bparlons d'autre chose\b"
    r"|\b(?:olv[ií]del[oa]|olv[ií]dalo|d[ée]jelo)\b|\bhe cambiado de (?:idea|opinión)\b|\bhablemos de otra cosa\b",
    re.IGNORECASE,
)
TALK_ABOUT = re.compile(
    r"\b(?:let's|let us|can we|could we|i(?:'d| would)? (?:rather|prefer to|like to|want to)) (?:just |rather )?"
    r"(?:talk|chat|speak) about ([^.!?,;]{3,60})"
    r"|\breden wir (?:lieber |jetzt )?(?:über|von) ([^.!?,;]{3,60})|\bparlons (?:plutôt )?d(?:e |u |es |')([^.!?,;]{3,60})"
    r"|\bhablemos (?:mejor )?de ([^.!?,;]{3,60})",
    re.IGNORECASE,
)
"""What the user turns to: another goal where nothing of it was spoken of."""
NO_LONGER = re.compile(r"\bno longer (?:want|need|interested)\b", re.IGNORECASE)
CANCELLING = re.compile(
    r"cancel|end (?:the|my)|terminat|quit|unsubscrib|give up|kündig|abbestell|storn|annul|résili|desist|anul|baja",
    re.IGNORECASE,
)
"""A goal of giving something up: that it is no longer wanted is then the reason."""
CLOSING = re.compile(
    r"\b(?:anything|something|any|else|further|other|more|all|help|assist|add|rate|feedback|questions?|noch|sonst|weitere|fragen|alles"
    r"|autre|aider|question|algo|más|preguntas?|ayudar\w*)\b",
    re.IGNORECASE,
)
"""A question after which a user may leave."""
PARTING = re.compile(
    r"\b(?:thanks?|thank you|bye|goodbye|cheers|great|perfect|danke\w*|dank|tschüss|wiedersehen|merci|au revoir|parfait|gracias|adiós"
    r"|perfecto|that(?:'s| is| was) (?:all|it|everything)|das (?:ist|war) alles|c'est tout|eso es todo)\b",
    re.IGNORECASE,
)
ASKED_AGAIN = re.compile(
    r"\b(?:again|repeat|once more|did(?:n't| not) (?:get|understand|catch)|noch ?mal\w*|wiederholen|nicht verstanden|répéter|pas compris"
    r"|encore une fois|repetir|no (?:lo )?(?:he )?entend\w+|otra vez|de nuevo)\b",
    re.IGNORECASE,
)
EMAIL = re.compile(r"[\w.+-]{1,64}+@[\w-]++(?:\.[\w-]++)+")
STREET = re.compile(
    r"\b\d{1,4}[a-z]? (?:[A-Z][\w'-]+ ){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Square|Close|Court)\b"
    r"|\b[A-Z]\w*(?:straße|strasse|weg|platz|allee|gasse) \d{1,4}\b|\b\d{1,4},? (?:rue|avenue|boulevard|place|chemin) (?:\w+ )*[A-Z]\w+"
    r"|\b(?:[Cc]alle|[Aa]venida|[Pp]laza) (?:\w+ )*[A-Z]\w+,? \d{1,4}\b"
)
NUMBER = re.compile(r"(?<![\w.])\+?[\w-]{0,64}?\d[\w-]*+(?:[ ./-]\d[\w-]*+)*+(?:,\d+)?")
"""A number or a code, with what belongs to it."""
CLOCK = re.compile(r"^\d{1,2}[:.h]\d{2}$")
YEAR = re.compile(r"^(?:19|20)\d\d$")
