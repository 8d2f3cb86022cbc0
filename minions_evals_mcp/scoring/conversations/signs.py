"""Signs of what a player of a user does wrong, and of how conversations end, in the languages that are read here."""

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
GOAL_DROPPED = re.compile(
    r"\bforget (?:about )?(?:that|it|this|everything|the whole|all of)\b|\bnever ?mind\b(?! (?:the|my|about|that i)\b)"
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
    r"\b(?:anything|something|any|else|further|other|more|all|help|assist|add|rate|feedback|survey|questions?|noch|sonst|weitere|fragen"
    r"|alles|bewerten|umfrage|autre|aider|question|avis|algo|más|preguntas?|ayudar\w*|valorar|altro|aiutar\w*|domande|mais|ajud\w*"
    r"|perguntas?|iets|verder|helpen|vragen|coś|jeszcze|pomóc|något|mer|hjälpa|başka|yardımcı|ещё|еще|помочь)\b"
    r"|ほかに|他に|还有|其他",
    re.IGNORECASE,
)
"""A question after which a user may leave."""
PARTING = re.compile(
    r"\b(?:thanks?|thank you|thx|bye|goodbye|cheers|great|perfect|danke\w*|dank|tschüss|wiedersehen|merci|au revoir|parfait|gracias|adiós"
    r"|perfecto|grazie|arrivederci|perfetto|obrigad[oa]|valeu|tchau|bedankt|doei|dziękuję|dzięki|tack|hej då|teşekkür\w*|sağ ol|спасибо"
    r"|that(?:'s| is| was) (?:all|it|everything)|das (?:ist|war) alles|c'est tout|eso es todo|è tutto|é tudo|dat is alles)\b"
    r"|ありがとう|谢谢|감사",
    re.IGNORECASE,
)
FAREWELL = re.compile(
    r"\b(?:bye|goodbye|good ?bye|see (?:you|ya)|so long|farewell|cya|have a (?:good|great|nice|lovely) (?:day|one|evening|weekend|night)"
    r"|tschüss|tschüs|tschau|ciao|wiedersehen|wiederhören|bis dann|bis bald|schönen tag|au revoir|bonne (?:journée|soirée)|à bientôt"
    r"|adiós|hasta (?:luego|pronto|la vista)|chao|arrivederci|a presto|buona giornata|tchau|adeus|até logo|doei|tot ziens|fijne dag"
    r"|do widzenia|hej ?då|до свидания|пока|görüşürüz|hoşça kal)\b|再见|さようなら|안녕히",
    re.IGNORECASE,
)
OPEN_QUESTION = re.compile(
    r"\b(?:what|which|who|where|when|how (?:many|much|old|long)|whose|wie|was|welche[rsnm]?|wann|wo|wer|wohin|quel(?:le)?s?|où|quand|qui"
    r"|combien|qué|cuál(?:es)?|cuándo|dónde|quién|cuánt[oa]s?|qual[ei]?|quando|dove|chi|quant[oi]|qual|quem|onde|wat|welke|wanneer|waar"
    r"|jaki[em]?|jaka|kiedy|gdzie|vilken|vilket|när|hangi|nerede|какой|какая|когда|где)\b|什么|哪|何|いつ|どこ",
    re.IGNORECASE,
)
"""A question that a farewell does not answer."""
ASKED_AGAIN = re.compile(
    r"\b(?:again|repeat|once more|one more time|double.?check|did(?:n't| not) (?:get|understand|catch|quite)|(?:can|could)(?:n't"
    r"|not| not) (?:find|see|locate"
    r"|hear|read)|not (?:found|valid|recogni[sz]ed|exist)|invalid|no (?:such|record|match|results?)|incorrect|typo|pardon|say that"
    r"|nochmals?|noch ?mal|noch einmal|erneut|wiederhol\w*|nicht (?:verstanden|finden|gefunden|gültig|richtig|erkannt)"
    r"|finde (?:ich )?\w* ?(?:leider )?nicht"
    r"|ungültig|répéte\w*|répéter|pas compris|encore une fois|à nouveau|ne (?:trouve|vois|retrouve) pas|introuvable|invalide|incorrecte?"
    r"|repet\w+|repit\w+|no (?:lo |la )?(?:he )?(?:entend\w+|encuentr\w+|encontr\w+|aparece|veo)|otra vez|de nuevo|inválid[oa]"
    r"|ripet\w+|non ho capito|non (?:lo |la )?trovo|di nuovo|ancora una volta|novamente|outra vez|não (?:o |a )?encontr\w+|não entendi"
    r"|herhal\w+|nog (?:een keer|eens)|opnieuw|niet (?:vinden|gevonden|begrepen|verstaan)|klopt (?:het|dat)|powtórz\w*|jeszcze raz"
    r"|nie (?:znajduję|mogę znaleźć)"
    r"|igen|upprepa|hittar inte|tekrar|bulamadım|ещё раз|еще раз|повторите|не (?:нашёл|нашел|найден|вижу))\b"
    r"|もう一度|再度|再(?:说|次|确认|发)|没有?找到|查不到|다시",
    re.IGNORECASE,
)
