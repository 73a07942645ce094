"""One module for each architecture, which enters it into the table. None of them imports torch."""
