"""Names that one language writes otherwise than another: Wien is Vienna. A translated name is no wrong argument."""

from __future__ import annotations

from functools import cache

_TABLE = """
vienna wien vienne viena dunaj bécs|cologne köln koeln colonia colônia keulen
munich münchen muenchen monaco_di_baviera múnich munique|nuremberg nürnberg nuernberg norimberga
geneva genf genève geneve ginebra ginevra genebra|zurich zürich zuerich zúrich zurigo zurique
basel bâle bale basilea basileia basle|bern berne berna|lucerne luzern lucerna
brussels brüssel bruessel bruxelles bruselas brussel bruxelas|antwerp antwerpen anvers amberes anversa antuérpia
ghent gent gand gante|bruges brügge brugge brujas bruge|liège lüttich luik lieja liegi
the_hague den_haag la_haye la_haya l'aja haia 's-gravenhage|aachen aix-la-chapelle aquisgrán aquisgrana
mainz mayence maguncia magonza|trier trèves tréveris treviri|strasbourg straßburg strassburg estrasburgo strasburgo
mulhouse mülhausen|nice nizza niza|lyon lyons lione|marseille marsiglia marsella marselha|paris parigi parís
london londres londra|edinburgh édimbourg edimburgo|lisbon lissabon lisbonne lisboa lisbona|oporto porto
seville sevilla séville siviglia sevilha|saragossa zaragoza saragosse|corunna a_coruña la_coruña la_corogne
rome rom roma|milan mailand milano milán milão|turin turin torino turín turim
venice venedig venise venezia venecia veneza|florence florenz firenze florencia florença
naples neapel napoli nápoles naples|genoa genua gênes genova génova gênova|bologna bologne bolonia bolonha
padua padova padoue|leghorn livorno livourne|syracuse syrakus siracusa|bolzano bozen|athens athen athènes atene atenas
copenhagen kopenhagen copenhague københavn copenaghen copenhaga|gothenburg göteborg goeteborg gotemburgo
helsinki helsingfors|turku åbo|tallinn reval|warsaw warschau varsovie warszawa varsovia varsavia varsóvia
cracow krakow krakau cracovie kraków cracovia cracóvia|gdansk danzig gdańsk|wroclaw breslau wrocław
poznan posen poznań|szczecin stettin|lodz łódź|prague prag praha praga|brno brünn bruenn|pilsen plzeň plzen
bratislava pressburg|budapest budapeste|belgrade belgrad beograd belgrado|zagreb agram zagabria
ljubljana laibach lubiana|bucharest bukarest bucarest bucurești bucuresti|sofia sofía sófia|kiev kyiv kiew kyjiw
lviv lemberg lwów lvov leopoli|moscow moskau moscou moskva moscú mosca moscovo
saint_petersburg st._petersburg sankt_petersburg saint-pétersbourg|istanbul estambul konstantinopel
cairo kairo le_caire el_cairo il_cairo|jerusalem jérusalem jerusalén gerusalemme|damascus damaskus damas damasco
baghdad bagdad|tehran teheran téhéran teerã|beijing peking pékin pekín pechino pequim|shanghai schanghai xangai
tokyo tokio tóquio|seoul séoul seúl seul|new_york nueva_york nova_york nova_iorque
mexico_city mexiko-stadt mexico ciudad_de_méxico città_del_messico cidade_do_méxico
havana havanna la_havane la_habana l'avana|germany deutschland allemagne alemania germania alemanha
france frankreich francia frança|italy italien italie italia itália|spain spanien espagne españa spagna espanha
portugal portogallo|austria österreich oesterreich autriche áustria|switzerland schweiz suisse suiza svizzera suíça
belgium belgien belgique bélgica belgio
netherlands niederlande pays-bas países_bajos paesi_bassi holland hollande holanda olanda
united_kingdom vereinigtes_königreich royaume-uni reino_unido regno_unito|england angleterre inglaterra inghilterra
scotland schottland écosse escocia scozia|ireland irland irlande irlanda|denmark dänemark danemark dinamarca danimarca
sweden schweden suède suecia svezia suécia|norway norwegen norvège noruega norvegia
finland finnland finlande finlandia finlândia|iceland island islande islandia islanda
poland polen pologne polonia polônia|czech_republic czechia tschechien tchéquie chequia cechia
hungary ungarn hongrie hungría ungheria hungria|greece griechenland grèce grecia
romania rumänien roumanie rumania romênia|bulgaria bulgarien bulgarie|croatia kroatien croatie croacia croazia
turkey türkei turquie turquía turchia türkiye|russia russland russie rusia rússia|ukraine ucraina ucrania ucrânia
united_states vereinigte_staaten états-unis estados_unidos stati_uniti usa|brazil brasilien brésil brasil brasile
japan japon japón giappone japão|china chine cina|india indien inde índia|egypt ägypten égypte egipto egitto
morocco marokko maroc marruecos marocco|south_africa südafrika|bavaria bayern bavière baviera
saxony sachsen saxe sajonia sassonia|tuscany toskana toscane toscana|sicily sizilien sicile sicilia
sardinia sardinien sardaigne cerdeña sardegna|brittany bretagne bretaña bretagna
normandy normandie normandía normandia|catalonia katalonien catalogne cataluña catalunya
andalusia andalusien andalousie andalucía|rhine rhein rhin rin reno|danube donau dunaj danubio
lake_constance bodensee lac_de_constance|lake_geneva genfersee lac_léman|john johannes jean juan giovanni joão
william wilhelm guillaume guillermo guglielmo guilherme|charles karl carlos carlo|peter pierre pedro pietro
henry heinrich henri enrique enrico
"""


@cache
def _groups() -> dict[str, frozenset[str]]:
    """Of each name the names that mean the same."""
    groups: dict[str, frozenset[str]] = {}
    for line in _TABLE.strip().replace("\n", "|").split("|"):
        same = frozenset(name.replace("_", " ") for name in line.split())
        for name in same:
            groups[name] = groups.get(name, frozenset()) | same
    return groups


def other_names(name: str) -> frozenset[str]:
    """Returns what other languages call it, case-folded; nothing for a name that is not known."""
    return _groups().get(name.casefold(), frozenset())
