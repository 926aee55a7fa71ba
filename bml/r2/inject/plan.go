package inject

import (
	"fmt"
	"strconv"
	"strings"
)

// Plan is what is done to the messages of one BTL. Chances are in millionths.
type Plan struct {
	Drop, Dup, Delay, Reorder, Corrupt int
	FailAfter                          uint64 // messages to one peer, after which the path to it breaks; 0: never
}

const million = 1_000_000

// Parse reads plans by name of BTL: "tcp:drop=1%,dup=0.5%;sm:fail_after=100".
func Parse(text string) (map[string]Plan, error) {
	plans := map[string]Plan{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, list, ok := strings.Cut(part, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("%q names no BTL; write for example tcp:delay=1%%,fail_after=100", part)
		}
		if _, twice := plans[name]; twice {
			return nil, fmt.Errorf("%s is named twice", name)
		}
		var p Plan
		for item := range strings.SplitSeq(list, ",") {
			if err := p.set(strings.TrimSpace(item)); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		plans[name] = p
	}
	return plans, nil
}

func (p *Plan) set(item string) error {
	key, value, _ := strings.Cut(item, "=")
	if key == "fail_after" {
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil || n == 0 {
			return fmt.Errorf("fail_after=%q is not a number of messages", value)
		}
		p.FailAfter = n
		return nil
	}
	into := map[string]*int{"drop": &p.Drop, "dup": &p.Dup, "delay": &p.Delay, "reorder": &p.Reorder, "corrupt": &p.Corrupt}[key]
	if into == nil {
		return fmt.Errorf("%q is no fault; there are drop, dup, delay, reorder, corrupt (each with a chance, such as 1%%) and fail_after (a number of messages)", key)
	}
	number, percent := strings.CutSuffix(value, "%")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(x >= 0 && x <= 100) {
		return fmt.Errorf("%s=%q is not a chance from 0%% to 100%%", key, value)
	}
	*into = int(x * million / 100)
	return nil
}
