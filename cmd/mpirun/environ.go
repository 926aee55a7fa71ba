package main

import (
	"slices"
	"strings"

	"github.com/ompi-go/ompi-go/mca"
	"github.com/ompi-go/ompi-go/rte"
	"github.com/ompi-go/ompi-go/rte/control"
)

// The descriptors that a rank inherits, beside the standard three.
const (
	pmiFD     = 3
	controlFD = 4
)

// foreignPrefixes begin variables by which launchers talk to their processes. If mpirun itself was started by one, its ranks
// must not take them for theirs.
var foreignPrefixes = []string{
	"PMI_", "PMIX_", "HYDI_", "MPI_LOCALNRANKS=", "MPI_LOCALRANKID=", "OMPI_COMM_WORLD_", "PRTE_LAUNCHED=",
	control.EnvFD + "=", mca.HandoffVar + "=", rte.HostCoresVar + "=", rte.SpareCoresVar + "=",
}

// rankEnviron is the environment that all ranks have in common: mpirun's own, then the tune files' variables, then those of -x,
// then what belongs to the job. Variables of -x without a value that are not set are returned as missing.
func rankEnviron(own []string, opt *options) (env, missing []string) {
	values := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = value
	}
	for _, kv := range own {
		if slices.ContainsFunc(foreignPrefixes, func(p string) bool { return strings.HasPrefix(kv, p) }) {
			continue
		}
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			set(name, value)
		}
	}
	for _, arg := range slices.Concat(opt.tuneEnv, opt.env) {
		name, value, ok := strings.Cut(arg, "=")
		if ok {
			set(name, value)
		} else if _, ok := values[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(opt.settings) > 0 {
		set(mca.HandoffVar, mca.EncodeHandoff(opt.settings))
	}
	for _, name := range order {
		env = append(env, name+"="+values[name])
	}
	return env, missing
}

// has tells whether env sets the variable.
func has(env []string, name string) bool {
	return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}
