package pmi

import (
	"fmt"
	"strconv"
	"strings"
)

// MappingKey is the key under which launchers publish the placement of ranks; it can be read right after init.
const MappingKey = "PMI_process_mapping"

// Block places ranks: PerNode consecutive ranks on each of Nodes nodes, beginning with node First.
type Block struct{ First, Nodes, PerNode int }

// Mapping is the placement of a job. Blocks are consumed in order, and again from the start until every rank is placed.
type Mapping []Block

// maxMapping bounds each number of a mapping, so that sums of them cannot overflow.
const maxMapping = 1 << 24

// ParseMapping reads `(vector,(first,nodes,perNode),...)`. The empty string means the launcher does not say: it gives a nil
// mapping and no error.
func ParseMapping(s string) (Mapping, error) {
	if s == "" {
		return nil, nil
	}
	bad := func(why string) (Mapping, error) {
		return nil, fmt.Errorf("pmi: %s=%s: %s", MappingKey, excerpt(s), why)
	}
	rest, ok := strings.CutPrefix(s, "(vector")
	if !ok {
		return bad("want (vector,...)")
	}
	var m Mapping
	for strings.HasPrefix(rest, ",(") {
		body, after, ok := strings.Cut(rest[2:], ")")
		if !ok {
			return bad("a block does not end")
		}
		rest = after
		words := strings.Split(body, ",")
		if len(words) != 3 {
			return bad("a block needs three numbers")
		}
		var v [3]int
		for i, w := range words {
			n, err := strconv.Atoi(strings.TrimSpace(w))
			if err != nil || n < 0 || n > maxMapping {
				return bad("a block holds something that is no usable number")
			}
			v[i] = n
		}
		if v[1] == 0 || v[2] == 0 {
			return bad("a block places no rank")
		}
		m = append(m, Block{v[0], v[1], v[2]})
	}
	if rest != ")" {
		return bad("unexpected text after the blocks")
	}
	return m, nil
}

// String is the inverse of ParseMapping; a nil mapping gives the empty string.
func (m Mapping) String() string {
	if len(m) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("(vector")
	for _, k := range m {
		fmt.Fprintf(&b, ",(%d,%d,%d)", k.First, k.Nodes, k.PerNode)
	}
	b.WriteByte(')')
	return b.String()
}

// Nodes returns the node index of each of size ranks, or nil for an empty mapping.
func (m Mapping) Nodes(size int) []int {
	if len(m) == 0 || size < 1 {
		return nil
	}
	nodes := make([]int, 0, size)
	for {
		for _, k := range m {
			for n := k.First; n < k.First+k.Nodes; n++ {
				for range k.PerNode {
					nodes = append(nodes, n)
					if len(nodes) == size {
						return nodes
					}
				}
			}
		}
	}
}
