// Package quant is the codec of few-bit weights: of int8 by rows ([RowMatrix]), and of groups.
// There 32 weights along a row share a scale, and each weight is a small integer times that scale.
//
//	32 weights → [Format.Fit] → [Grid] → codes → [Matrix] → float32, or integers and scales
//
// # One family
//
// Every [Format] is a table from codes to integers of at most eight bits, a unit,
// and a kind of scale. A weight is scale·unit·table[code], which float32 holds
// exactly. Products with integer activations are therefore exact inside a group,
// whatever the format.
//
//	int4     4 bits  code - 8                  scale: binary16 of 7, its sign chosen with it
//	int4z    4 bits  code - zero of the group  scale: binary16 of 7
//	mxfp6    6 bits  E2M3 in eighths           scale: E8M0, a power of two
//
// Scales have so few bits that each weight is a binary16 too: a network can hold the
// expanded weights in half precision without loss.
//
// # Layout
//
// Code i of a group lies in bits i·Bits … of its 4·Bits bytes, lowest first. A row
// is a whole number of groups; weights past its end are zero.
//
// # Upstream
//
// OCP Microscaling Formats (MX) specification v1.0, sections 5.2, 5.3 and 6.3;
// microsoft/microxcaling and ml_dtypes for the tests.
package quant
