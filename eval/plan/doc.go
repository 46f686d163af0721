// Package plan computes the speed-up that theory expects of an assistant.
//
//	chance of acceptance, costs, JSON of bench and compare → [Assumptions] → [Forecast]
//
// A round drafts n tokens, at c steps of the model each, and verifies them in one pass.
// Each is accepted with probability α. Package assistant has the formulas, after
// Leviathan et al. 2023, arXiv:2211.17192.
package plan
