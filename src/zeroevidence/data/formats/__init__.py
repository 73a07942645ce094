"""Files of scores, embeddings, speech and results, a package for each kind; one module for each format.

| package | reads |
| --- | --- |
| ``scores`` | score files with their keys; its modules are the formats |
| ``vectors`` | embeddings; its modules are the formats |
| ``corpora`` | folders of speech |
| ``asvspoof`` | countermeasures and the verifiers behind them |
| ``voiceprivacy`` | folders and tables of the VoicePrivacy Challenges |
| ``lists`` | speakers, priors, transcripts and classes |
"""
