package tuned

import (
	_ "embed"
	"fmt"
	"os"
	"sync"

	"github.com/ompi-go/ompi-go/coll/rules"
	"github.com/ompi-go/ompi-go/core"
	"github.com/ompi-go/ompi-go/rte"
)

//go:embed default.rules
var defaultRules string

//go:embed host.rules
var hostRules string

//go:embed crowd.rules
var crowdRules string

// tables are the decision tables of an instance.
type tables struct {
	across *rules.Table // communicators with ranks on several hosts
	host   *rules.Table // with all ranks on one
}

// builtIn gives the tables that are built in; host has the one for hosts with a core for each rank, crowd the one for others. They
// never change, so the instances of a process share them.
var builtIn = sync.OnceValues(func() (t struct{ across, host, crowd *rules.Table }, err error) {
	if t.across, err = rules.Parse("coll/tuned/default.rules", defaultRules, nil); err != nil {
		return t, err
	}
	if t.host, err = rules.Parse("coll/tuned/host.rules", hostRules, t.across); err != nil {
		return t, err
	}
	t.crowd, err = rules.Parse("coll/tuned/crowd.rules", crowdRules, t.across)
	return t, err
})

// loadTables takes the built-in tables, or the files that parameters name instead.
func (f *factory) loadTables(job rte.Job) error {
	b, err := builtIn()
	if err != nil {
		return err
	}
	f.tables = tables{b.across, b.host}
	if job != nil && len(job.LocalRanks()) > rte.HostCores() {
		f.host = b.crowd
	}
	if f.opts.RulesFile != "" {
		if err := replace(&f.across, "rules_file", f.opts.RulesFile); err != nil {
			return err
		}
		f.host = f.across
	}
	return replace(&f.host, "host_rules_file", f.opts.HostRulesFile)
}

// replace reads a table from a file, if one is named; `include default` means the table that it replaces.
func replace(t **rules.Table, param, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err == nil {
		*t, err = rules.Parse(file, string(text), *t)
	}
	if err != nil {
		return fmt.Errorf("parameter coll_tuned_%s: %w", param, err)
	}
	return nil
}

// tableFor is the table of a communicator. Localities are the same seen from every member.
func (f *factory) tableFor(c *core.Comm) *rules.Table {
	for _, p := range c.Procs {
		if p.Locality == core.LocalRemote {
			return f.across
		}
	}
	return f.host
}
