"""How sentences end in the languages that eSpeak reads alone."""

from __future__ import annotations

from collections.abc import Iterator

from ..segments import SentenceEnds
from .forms import Forms, load_forms

_MONTHS = {
    "es": "ene feb mar abr may jun jul ago sep sept oct nov dic",
    "fr": "janv févr avr juil sept oct nov déc",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "pt-br": "jan fev mar abr mai jun jul ago set out nov dez",
}
_ABBREVIATIONS = {
    "es": "sr sra srta sres dr dra d dª dña prof profa lic ing arq gral cap ud uds vd vds av avda "
    "c ctra pza pº núm nº n pág págs p pp vol cap art ed ej fig aprox máx mín tel depto dpto sto "
    "sta fr mons excmo excma ilmo hno hnos cía vs cf",
    "fr": "m mm mme mmes mlle mlles dr drs pr prof me mgr st ste sts av bd boul fg n no nº p pp "
    "vol chap art éd ex fig env max min tél cf vs réf hab j.-c c.-à-d",
    "hi": "डॉ प्रो श्री सु कु पं मो स्व रु rs कि.मी कि.ग्रा से.मी मि.मी मि.ली ई.पू वि.सं dr mr mrs ms prof",
    "it": "sig sigg sig.ra sig.na dott dr dr.ssa dott.ssa prof prof.ssa avv ing arch geom rag on "
    "sen gen col cap mons s ss v p pag pagg vol cap art ed es fig ca max min tel n nr cfr vs "
    "spett gent egr c.so p.za p.zza",
    "pt-br": "sr sra srs srta dr dra drs d dª prof profa eng engª exmo exma ilmo ilma av r al pç "
    "trav nº n p pp pág págs vol cap art ed ex fig aprox máx mín tel depto dep gen cel ten sto "
    "sta mons cia ltda vs cf",
}


def _ends(code: str, anywhere: str = "") -> SentenceEnds:
    words = f"{_ABBREVIATIONS[code]} {_MONTHS.get(code, '')}".split()
    return SentenceEnds(
        anywhere=anywhere, abbreviations=frozenset([*words, *_written_out(load_forms(code))])
    )


def _written_out(forms: Forms) -> Iterator[str]:
    """What is written out before a name, a number or its own second part."""
    for kind in ("title", "name", "number"):
        for written in forms.of(f"abbreviation {kind}"):
            yield written.rpartition(" ")[2].removesuffix(".").lower()
    for written in forms.of("abbreviation"):
        yield from (part.removesuffix(".").lower() for part in written.split(" ")[:-1])


SPANISH = _ends("es")
FRENCH = _ends("fr")
HINDI = _ends("hi", anywhere="।॥")
ITALIAN = _ends("it")
PORTUGUESE = _ends("pt-br")
