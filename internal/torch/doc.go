// Package torch reads the files of torch.save, such as the checkpoints of
// openai/whisper, without executing anything in them.
//
//	file → [Parse] → [Value]: dictionaries, lists, numbers, text, [Tensor] → package model
//
// # Format
//
// A zip archive of uncompressed files below one folder: data.pkl, a pickle of
// protocol 2, and data/0, data/1, …, the bytes of the tensors ("storages").
//
// # Safety
//
// A pickle is a program, and Python's reader runs it: it can call any function by
// name. This reader knows the few operations that build containers, and two
// functions: that which makes a tensor of a storage, and that which makes an
// ordered dictionary. Every other name is refused, with the name in the error.
// Sizes of the pickle, of its stack and of its values are bounded.
//
// # Upstream
//
// pytorch v2.15.0, torch/serialization.py and torch/_utils.py; CPython,
// Lib/pickletools.py for the operations. Archives of before PyTorch 1.6 are no zip
// and are not read.
package torch
