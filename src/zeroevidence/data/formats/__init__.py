"""Files of scores, embeddings, speech and results, a package for each kind.

| package | reads |
| --- | --- |
| ``scores`` | score files with their keys; each module adds formats |
| ``vectors`` | embeddings; each module adds formats |
| ``corpora`` | folders of speech |
| ``asvspoof`` | countermeasures and the verifiers behind them |
| ``voiceprivacy`` | folders and tables of the VoicePrivacy Challenges |
| ``lists`` | speakers, priors, transcripts and classes |
"""
