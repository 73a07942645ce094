"""References as sentences."""

from zeroevidence.report.bibliography.bibtex import bibtex_entries, references, sentence


def test_every_reference_is_a_sentence():
    for key, entry in bibtex_entries().items():
        text = sentence(entry)
        assert text.endswith(".")
        assert not set("{}\\") & set(text), key
    assert sentence(bibtex_entries()["brummer2006"]).startswith("Niko Brümmer and Johan du Preez. ")
    assert [reference.key for reference in references(["d_ece", "tag", "eer"])] == ["nautsch2020", "vanleeuwen2007"]
    assert references(["d_ece", "tag"])[0].measures == ("D_ECE", "tag")
