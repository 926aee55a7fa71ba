// Package report is what ompi-bench says: rows of results as text columns, as JSON and as a chart.
//
// It is called by ompi-bench's main package and its compare runner; it measures nothing itself.
package report

import (
	"encoding/json"
	"fmt"
	"os"
)

// Row is one measured size. Value is what is printed: the median of the repetitions.
type Row struct {
	Series string  `json:"series,omitempty"` // whose numbers these are, in a comparison
	Case   string  `json:"case,omitempty"`   // what of the test the row is about where it has several: a layout, a phase
	Size   int64   `json:"size"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Reps   int     `json:"reps"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	// Variant is which of a series' commands was the best at this size, where it has several.
	Variant string  `json:"variant,omitempty"`
	Ratio   *Spread `json:"ratio,omitempty"` // ours divided by this series, of each repetition
	// More are the further columns by their heading.
	More map[string]float64 `json:"more,omitempty"`
	// Checksum is that of the bytes sent, where it says what was measured.
	Checksum string `json:"checksum,omitempty"`
}

// Limit is a raw physical limit of the machine, measured without the stack.
type Limit struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"` // bytes
	Unit string `json:"unit"`
	Spread
	Missing string `json:"missing,omitempty"` // why it could not be measured
}

// Result is everything about one test; the JSON form is documented and stable.
type Result struct {
	Test   string         `json:"test"`
	Ranks  int            `json:"ranks"`
	Params map[string]any `json:"params"`
	Rows   []Row          `json:"rows"`
	Limits []Limit        `json:"limits,omitempty"`
	Means  []Mean         `json:"means,omitempty"` // of a comparison
}

// Mean is the geometric mean of the ratios ours / theirs over the rows of one side.
type Mean struct {
	Series string  `json:"series"`
	Ratio  float64 `json:"ratio"`
}

// NewRow summarises the repetitions of one size.
func NewRow(size int64, unit string, values []float64) Row {
	s := Summarise(values)
	return Row{Size: size, Value: s.Median, Unit: unit, Reps: len(values), Min: s.Min, Median: s.Median, Max: s.Max}
}

// Label is what the first column says.
func (r Row) Label() string {
	if r.Case != "" {
		return fmt.Sprintf("%s:%d", r.Case, r.Size)
	}
	return fmt.Sprint(r.Size)
}

// WriteJSON writes v, a Result or a list of them, to a file.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
