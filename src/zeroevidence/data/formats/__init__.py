"""Files of scores, embeddings, speech and results.

| modules | read |
| --- | --- |
| ``scores`` | score files with their keys; a package whose modules add formats |
| ``vectors`` | embeddings; a package whose modules add formats |
| ``corpora``, ``corpus_files``, ``speech_pairs`` | folders of speech, and checks of them |
| ``asvspoof``, ``asvspoof_sides`` | countermeasures and the verifiers behind them |
| ``voiceprivacy_folders``, ``voiceprivacy_tables`` | results of the VoicePrivacy Challenges |
| ``lists`` | speakers, priors, transcripts, classes and tables |
"""
