package compare

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseColumns reads a program's output: `#` comment lines, then lines of a size and a value; further columns are ignored. What is
// neither is an error that quotes the line.
func parseColumns(stdout string) (map[int64]float64, error) {
	values := map[int64]float64{}
	lines := bufio.NewScanner(strings.NewReader(stdout))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 2 {
			return nil, fmt.Errorf("output has the line %.80q, want a size and a value", line)
		}
		size, err1 := strconv.ParseInt(f[0], 10, 64)
		value, err2 := strconv.ParseFloat(f[1], 64)
		if err1 != nil || err2 != nil || size < 0 || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("output has the line %.80q, want a size and a value", line)
		}
		values[size] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return values, nil
}
