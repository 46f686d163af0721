// Package models has the commands about models: models, info, quantize and synth.
//
//	arguments → [Info], [Models], [Quantize], [Synth] → what a model is, or a checkpoint
package models
