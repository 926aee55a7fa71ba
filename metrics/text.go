package metrics

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Text is what a gatherer has, in Prometheus text exposition format.
func Text(g prometheus.Gatherer) ([]byte, error) {
	families, err := g.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return nil, fmt.Errorf("metrics: writing %s: %w", f.GetName(), err)
		}
	}
	return b.Bytes(), nil
}

// Markdown is a table of counters for the documentation.
func Markdown(descs []*Desc) string {
	cell := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	var b strings.Builder
	b.WriteString("| Name | Labels | What it counts |\n| --- | --- | --- |\n")
	for _, d := range descs {
		labels := ""
		for i, l := range d.Labels {
			if i > 0 {
				labels += ", "
			}
			labels += "`" + l + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Name, labels, cell(d.Help))
	}
	return b.String()
}
