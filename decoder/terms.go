package decoder

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"verity/tokenizer"
)

// A Term is a word or phrase that the audio is likely to contain, such as a name.
type Term struct {
	Text string

	// Weight multiplies the bias in favour of the term. 0 means 1; a negative weight means no bias.
	Weight float64
}

// What a term of weight 1 adds to the logits of tokens that begin it and that continue it; docs/ACCURACY.md
// has the measurements.
const (
	beginBias    = 2
	continueBias = 6
)

// A TermBias is a Rule that makes tokens likelier that begin or continue a term. It looks only at the tokens chosen
// so far in the window, so drafts cannot change what it does.
//
// Terms are known by their tokens, in a tree whose paths from a root are the spellings of terms. Words begin with
// a space; after a bracket, a quotation mark or a hyphen, and in scripts that do not separate words, they do not.
type TermBias struct {
	tok   *tokenizer.Tokenizer
	nodes []termNode
	most  int // tokens of the longest spelling
}

// The roots of the tree.
const (
	anywhereRoot  = iota // spellings that may follow any token
	wordStartRoot        // spellings without a space: only where a word begins
	termRoots
)

// A termNode is the beginning of one or more spellings.
type termNode struct {
	edges []termEdge
	index map[tokenizer.Token]int // of each edge, if there are more than searchedEdges
}

// Most nodes have one edge, and a map would need many times its memory.
const searchedEdges = 8

// A termEdge leads to a node by a token. With several terms the largest bias counts.
type termEdge struct {
	token tokenizer.Token
	to    int
	bias  float32
}

// A TermError says which term a vocabulary cannot spell, and why.
type TermError struct {
	Text string
	Err  error
}

func (e *TermError) Error() string { return fmt.Sprintf("%q: %v", e.Text, e.Err) }

func (e *TermError) Unwrap() error { return e.Err }

// NewTermBias returns the rule for terms; nil if none has a bias. It fails with a [TermError] if the vocabulary cannot
// spell a term.
func NewTermBias(t *tokenizer.Tokenizer, list []Term) (*TermBias, error) {
	r := &TermBias{tok: t, nodes: make([]termNode, termRoots)}
	for _, term := range list {
		weight := term.Weight
		switch text := strings.Join(strings.Fields(term.Text), " "); {
		case weight < 0 || text == "":
		case weight == 0:
			weight = 1
			fallthrough
		default:
			if err := r.addTerm(text, float32(weight)); err != nil {
				return nil, &TermError{text, err}
			}
		}
	}
	if r.most == 0 {
		return nil, nil
	}
	return r, nil
}

// addTerm adds the spellings of a term: as written, and with a capital at the beginning of a sentence.
func (r *TermBias) addTerm(text string, weight float32) error {
	first, size := utf8.DecodeRuneInString(text)
	spellings := []string{text}
	if title := unicode.ToTitle(first); title != first {
		spellings = append(spellings, string(title)+text[size:])
	}
	bare := wordStartRoot
	if tokenizer.IsUnspaced(first) {
		bare = anywhereRoot
	}
	for _, s := range spellings {
		for i, s := range []string{" " + s, s} {
			tokens, err := r.tok.EncodeStrict(s)
			if err != nil {
				return err
			}
			r.add([]int{anywhereRoot, bare}[i], tokens, weight)
		}
	}
	return nil
}

// add adds a spelling below a root.
func (r *TermBias) add(at int, tokens []tokenizer.Token, weight float32) {
	r.most = max(r.most, len(tokens))
	bias := beginBias * weight
	for _, tok := range tokens {
		n := &r.nodes[at]
		i := n.find(tok)
		if i < 0 {
			i = n.addEdge(termEdge{token: tok, to: len(r.nodes)})
			r.nodes = append(r.nodes, termNode{})
			n = &r.nodes[at]
		}
		n.edges[i].bias = max(n.edges[i].bias, bias)
		at, bias = n.edges[i].to, continueBias*weight
	}
}

// find returns the edge for a token, as an index into edges; -1 if there is none.
func (n *termNode) find(tok tokenizer.Token) int {
	if n.index == nil {
		return slices.IndexFunc(n.edges, func(e termEdge) bool { return e.token == tok })
	}
	if i, ok := n.index[tok]; ok {
		return i
	}
	return -1
}

// addEdge adds an edge for a new token, and returns its index.
func (n *termNode) addEdge(e termEdge) int {
	n.edges = append(n.edges, e)
	last := len(n.edges) - 1
	switch {
	case n.index != nil:
		n.index[e.token] = last
	case last == searchedEdges:
		n.index = map[tokenizer.Token]int{}
		for i, e := range n.edges {
			n.index[e.token] = i
		}
	}
	return last
}

// Apply adds the bias of every term that the tokens so far begin.
func (r *TermBias) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	var room [8]*termNode
	active := room[:0]
	chosen := seen[begin:]
	for at := max(0, len(chosen)-r.most); at <= len(chosen); at++ {
		for root := range termRoots {
			n := r.follow(root, chosen[at:])
			if n == nil || root == wordStartRoot && at > 0 && r.endsInWord(chosen[:at]) {
				continue
			}
			active = append(active, n)
		}
	}
	for i, n := range active {
		for _, e := range n.edges {
			if more := e.bias - biasOf(active[:i], e.token); more > 0 && int(e.token) < len(logits) {
				logits[e.token] += more
			}
		}
	}
}

// endsInWord reports whether a token without a space would go on with the word that chosen tokens end with. Tokens may
// divide a character; without its end, it counts as part of a word.
func (r *TermBias) endsInWord(chosen []tokenizer.Token) bool {
	i := len(chosen) - 1
	text := r.tok.Bytes(chosen[i])
	for i--; i >= 0 && len(text) > 0 && len(text) < utf8.UTFMax && !utf8.RuneStart(text[0]); i-- {
		text = slices.Concat(r.tok.Bytes(chosen[i]), text)
	}
	last, _ := utf8.DecodeLastRune(text)
	return len(text) > 0 && (last == utf8.RuneError || tokenizer.IsWordRune(last))
}

// follow returns the node that tokens lead to from a root; nil if no spelling begins with them.
func (r *TermBias) follow(at int, tokens []tokenizer.Token) *termNode {
	for _, tok := range tokens {
		i := r.nodes[at].find(tok)
		if i < 0 {
			return nil
		}
		at = r.nodes[at].edges[i].to
	}
	return &r.nodes[at]
}

// biasOf returns the largest bias that nodes have for a token.
func biasOf(nodes []*termNode, tok tokenizer.Token) (bias float32) {
	for _, n := range nodes {
		if i := n.find(tok); i >= 0 {
			bias = max(bias, n.edges[i].bias)
		}
	}
	return bias
}
