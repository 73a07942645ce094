"""BibTeX of the sources, read from the file that is packaged, and references as sentences."""

import zeroevidence as ze
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.bibliography import bibtex, bibtex_entries, references, sentence


def test_every_reference_has_an_entry_and_every_entry_is_used():
    used = {key for measure in MEASURES.values() for key in measure.references}
    assert used == set(bibtex_entries())


def test_entries_are_whole():
    for key, entry in bibtex_entries().items():
        assert entry.startswith("@")
        assert f"{{{key},\n" in entry
        assert entry.endswith("}\n")
        assert entry.count("{") == entry.count("}")
        assert all(f"  {field} = {{" in entry for field in ("author", "title", "year")), key


def test_the_toolkit_and_the_sources_of_named_measures():
    text = bibtex(["d_ece", "tag"])
    assert text.startswith("@software{zeroevidence,\n")
    assert f"version = {{{ze.__version__}}}" in text
    assert text.count("@") == 2
    assert "{nautsch2020," in text
    assert bibtex().count("@") == 1 + len(bibtex_entries())


def test_every_reference_is_a_sentence():
    for key, entry in bibtex_entries().items():
        text = sentence(entry)
        assert text.endswith(".")
        assert not set("{}\\") & set(text), key
    assert sentence(bibtex_entries()["brummer2006"]).startswith("Niko Brümmer and Johan du Preez. ")
    assert [reference.key for reference in references(["d_ece", "tag", "eer"])] == ["nautsch2020", "vanleeuwen2007"]
    assert references(["d_ece", "tag"])[0].measures == ("D_ECE", "tag")
