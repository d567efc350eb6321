"""Labels of rows and columns that sum others up, in several languages: averages, totals, maxima."""

from __future__ import annotations

import unicodedata

from reviewgraph.formats.files import terms

#: Words of the labels of rows and columns that sum others up; a label of them alone is no person and no paper.
SUMMARY_WORDS = frozenset(
    terms(
        """ranking, classement, soma, endnote, gesamtnote, durchschnittlich, 順位, 排名, average, avg, mean, median,
        std, sd, stdev, stddev, dev, deviation, standard, variance, subtotal, possible, consensus, durchschnitt,
        mittelwert, mittel, schnitt, gesamt, summe, insgesamt, standardabweichung, hoechstpunktzahl, hochstpunktzahl,
        maximalpunktzahl, moyenne, mediane, ecart, somme, promedio, mediana, suma, desviacion, somma, gemiddelde,
        totaal, notenschnitt, sredni, srednia, 平均, 平均分, 平均值, 总分, 合计, 合計, 平均点, 総計, 总计, 满分, 満点,
        最高分, 标准差, среднее, итого, сумма, всего"""
    )
)
#: Words that may be beside these, or beside each other; alone some of them are names, which need evidence.
_BESIDE_SUMMARY = frozenset(
    terms(
        """max, maximum, maximal, maximale, massimo, maximo, min, minimum, minimo, total, totals, totale, overall,
        grand, class, weighted, final, all, points, point, marks, mark, score, scores, grade, grades, punktzahl, punkte,
        note, notes, general, generale, of, out, full, sum, count, number, column, row, pts, puntos, punti, media,
        totalpoints, puntuacion, maxima, punteggio, type, pontos, rank, range, the, per, by, rater, judge"""
    )
)
#: Labels of two or more of the words beside, which say enough.
PHRASES = frozenset(
    terms(
        """max points, maximum points, max score, maximum score, out of, max marks, maximum marks, full marks,
        grand total, total points, total score, points possible, maximale punktzahl, total general, punteggio massimo,
        puntuacion maxima, final score, overall score, max punkte"""
    )
)


def words_of(label: str) -> str:
    r"""Return the words of a label without case, accents and signs.

    >>> words_of("Total g\xe9n\xe9ral:")
    'total general'
    """
    letters = unicodedata.normalize("NFKD", label.casefold())
    kept = "".join(sign if sign.isalnum() else " " for sign in letters if not unicodedata.combining(sign))
    return " ".join(kept.split())


def is_summary(label: str) -> bool:
    """Return whether a label is that of a row or a column that sums others up.

    >>> is_summary("Points Possible"), is_summary("Average:"), is_summary("Max"), is_summary("Average-case complexity")
    (True, True, False, False)
    """
    if len(label) > 40 or "," in label:
        return False
    words = words_of(label)
    parts = words.split()
    if words in PHRASES:
        return True
    known = all(part in SUMMARY_WORDS or part in _BESIDE_SUMMARY for part in parts)
    return known and any(part in SUMMARY_WORDS for part in parts)
