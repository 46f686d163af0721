// Package eval runs engines over datasets and records the results.
//
//	datasets.Utterance → [Engine] → report.Record → records.jsonl
//
// [Run] evaluates one engine. [Compare] runs several over the same utterances in
// turn, A B A B, and says for each utterance whether they agree, to the bit.
//
// # Resuming
//
// A record is one line, appended with one write when its utterance is done, in the
// order of the dataset. A run that was killed leaves at worst an incomplete last line.
// The next run over the same folder removes it and continues after the last whole
// record, so no record is lost or written twice. Utterances that failed are recorded
// with their error; the next run removes these records, in one step, and tries the
// utterances again. When it is complete, the records are in the order of the dataset
// again. A folder with records of another model or dataset, or of other options, is
// refused.
//
// # Failures
//
// A row of the dataset that cannot be used, audio that cannot be read and an engine
// that fails give a record with an error. Only a full disk and the end of the context
// stop a run.
package eval
