// Package torch reads the checkpoints of openai/whisper, files of torch.save, without
// executing any code in them.
//
//	file → [Parse] → [Model] → package model
//
// # Format
//
// A zip archive of uncompressed files below one folder: data.pkl, a pickle of protocol
// 2, and data/0, data/1, …, the bytes of the tensors ("storages").
//
// # Safety
//
// A pickle is a program, and Python's reader executes it: it can call any function by
// name. This reader implements only the operations that torch.save writes for dictionaries of
// numbers, texts and tensors, and two functions: the one that builds a tensor from a storage,
// and the one that creates an ordered dictionary. Any other name is refused; the error names
// it. The operations, and with them the values, are bounded.
//
// # Upstream
//
// pytorch v2.15.0, torch/serialization.py and torch/_utils.py; CPython,
// Lib/pickletools.py for the operations. Archives from before PyTorch 1.6 are not zip
// files and are not supported.
package torch
