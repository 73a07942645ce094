"""Back-ends: from embeddings to scores, higher meaning more alike.

All have one small interface: ``fit(vectors, speakers)`` on other people's embeddings, then ``score(enrol, trial)`` of
N profiles against T trials as a T x N array. The profile of an enrolled speaker is the mean of the speaker's
embeddings [Šterns et al., sec. 3.2].

`BACKENDS` is the table of those that have a name. Every module in this folder is imported with the package, and enters
its back-ends into the table.
"""
