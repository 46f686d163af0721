package decoder

import (
	"fmt"
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
	children map[tokenizer.Token]int // index into edges
	edges    []termEdge
}

// A termEdge leads to a node by a token. With several terms the largest bias counts.
type termEdge struct {
	token tokenizer.Token
	to    int
	bias  float32
}

// NewTermBias returns the rule for terms; nil if none has a bias. It fails if the vocabulary cannot spell a term.
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
				return nil, fmt.Errorf("%q: %w", text, err)
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
		i, known := n.children[tok]
		if !known {
			if n.children == nil {
				n.children = map[tokenizer.Token]int{}
			}
			i = len(n.edges)
			n.children[tok] = i
			n.edges = append(n.edges, termEdge{token: tok, to: len(r.nodes)})
			r.nodes = append(r.nodes, termNode{})
			n = &r.nodes[at]
		}
		n.edges[i].bias = max(n.edges[i].bias, bias)
		at, bias = n.edges[i].to, continueBias*weight
	}
}

// Apply adds the bias of every term that the tokens so far begin.
func (r *TermBias) Apply(logits []float32, seen []tokenizer.Token, begin int) {
	var room [8]*termNode
	active := room[:0]
	chosen := seen[begin:]
	for at := max(0, len(chosen)-r.most); at <= len(chosen); at++ {
		for root := range termRoots {
			n := r.follow(root, chosen[at:])
			if n == nil || root == wordStartRoot && at > 0 && r.endsInWord(chosen[at-1]) {
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

// endsInWord reports whether a token without a space would go on with the word that tok ends with.
func (r *TermBias) endsInWord(tok tokenizer.Token) bool {
	last, _ := utf8.DecodeLastRune(r.tok.Bytes(tok))
	return unicode.IsLetter(last) || unicode.IsDigit(last)
}

// follow returns the node that tokens lead to from a root; nil if no spelling begins with them.
func (r *TermBias) follow(at int, tokens []tokenizer.Token) *termNode {
	for _, tok := range tokens {
		i, ok := r.nodes[at].children[tok]
		if !ok {
			return nil
		}
		at = r.nodes[at].edges[i].to
	}
	return &r.nodes[at]
}

// biasOf returns the largest bias that nodes have for a token.
func biasOf(nodes []*termNode, tok tokenizer.Token) (bias float32) {
	for _, n := range nodes {
		if i, ok := n.children[tok]; ok {
			bias = max(bias, n.edges[i].bias)
		}
	}
	return bias
}
