"""Words that say nothing about a text, by language; the language is that of the words which occur in a question."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.store.snippets import fold

_LISTS = {
    "en": """
        a about after again all also am an and any are as at be because been before being but by can could did do does
        doing don done down for from get gets getting go had has have having he her here him his how i if in into is it
        its just let like make me more most my no not now of off on once one only or other our out over own please same
        she should so some still such than that the their them then there these they this those to too up us use was
        way we were what when where which while who whose why will with would you your
    """,
    "de": """
        aber alle als am an auch auf aus bei bin bis bitte da dann das dass dein dem den denn der des die dies diese
        dieser doch du durch ein eine einem einen einer eines er es fur gibt hat habe haben hier ich ihr im in ist ja
        kann kein keine konnen man mein mit muss nach nicht noch nur ob oder ohne sein sich sie sind so uber um und uns
        unter vom von vor wann war warum was weil welche welcher wenn wer werden wie wir wird wo zu zum zur
    """,
    "fr": """
        a ai au aux avec c ce ces cette comment d dans de des donc du elle elles en est et etre fait faire il ils j je l
        la le les leur lui m ma mais me mes mon n ne nous on ou par pas plus pour pourquoi qu quand que quel quelle
        quels qui quoi s sa sans se ses si son sont sur t ta te tu un une vous y
    """,
    "es": """
        a al algo como con cual cuando de del desde donde el ella ellos en entre era es esa ese eso esta este esto estos
        fue ha hacer hay la las le lo los mas me mi muy no nos o para pero por porque puede que quien se ser si sin
        sobre son su sus tan te tiene un una uno unos y ya yo
    """,
    "it": """
        a ai al alla anche che chi ci come con cosa da dal dalla dei del della delle di dove e ed era gli ha ho i il in
        io la le lo ma mi ne nel nella no non o per perche piu puo quale quando quello questa questo se sei si sono su
        sul sulla tra un una uno
    """,
    "pt": """
        a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi ha isso isto ja mais mas
        me meu muito na nao nas no nos o onde os ou para pela pelo por porque pode qual quando que quem se sem ser seu
        sua tem um uma
    """,
    "nl": """
        aan al als bij dan dat de der deze die dit door dus een en er had heb heeft hem het hier hij hoe ik in is je kan
        maar me met mijn moet naar niet nog nu of om ons ook op over te tot uit van veel voor waar waarom want was wat
        we wel welke wie wij wordt ze zijn zo zou
    """,
    "sv": """
        alla att av blir da dar de dem den denna det detta din du eller en ett for fran har hon hur i icke inte jag kan
        man med men min mitt na nar och om pa sa sig sin ska som till ut vad var varfor vi vid vilka vilken vill ar
    """,
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}


def stop_words_in(words: Sequence[str]) -> frozenset[str]:
    """Return the words that weigh nothing in a question: those of the language that has most of them.

    Of equals the first language counts. A question of nothing else keeps all its words.
    """
    folded = [fold(word) for word in words]
    common = max(STOP_WORDS.values(), key=lambda known: sum(word in known for word in folded))
    found = frozenset(word for word, form in zip(words, folded, strict=True) if form in common)
    return found if len(found) < len(set(words)) else frozenset()
