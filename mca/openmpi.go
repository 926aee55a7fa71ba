package mca

import (
	"fmt"
	"slices"
	"strings"
)

// Files and the environment of a site are often made for Open MPI, whose frameworks ours are named after. What of them must not stop a
// program that uses this library is listed here, and in docs/params.md: everything else unknown in a framework that both have is an
// error, since it is more likely a slip.

// OpenMPIComponents are Open MPI's components, of all its releases from 2 on, in a framework that we have; nil for others.
func OpenMPIComponents(framework string) []string {
	switch framework {
	case "btl":
		return []string{"ofi", "openib", "portals4", "scif", "self", "sm", "smcuda", "tcp", "template", "uct", "ugni", "usnic", "vader"}
	case "bml":
		return []string{"r2"}
	case "pml":
		return []string{"bfo", "cm", "crcpw", "example", "monitoring", "ob1", "ucx", "v", "yalla"}
	case "coll":
		return []string{"accelerator", "acoll", "adapt", "basic", "cuda", "demo", "fca", "ftagree", "han", "hcoll", "hierarch", "inter", "libnbc", "ml",
			"monitoring", "portals4", "self", "sm", "sync", "tuned", "ucc", "xhc"}
	}
	return nil
}

// successor is what we call a component that Open MPI has renamed, "" for others.
func successor(framework, component string) string {
	if framework == "btl" && component == "vader" {
		return "sm"
	}
	return ""
}

// openMPIFields are parameters of Open MPI's components that ours of the same name have not, without the names of framework and
// component. "" stands for all components of the framework.
func openMPIFields(framework, component string) []string {
	switch framework + "/" + component {
	case "btl/":
		return []string{"flags", "atomic_flags", "priority", "free_list_num", "free_list_max", "free_list_inc", "rdma_pipeline_send_length",
			"rdma_pipeline_frag_size", "min_rdma_pipeline_size", "put_limit", "put_alignment", "get_alignment",
			"put_local_registration_threshold", "get_local_registration_threshold", "latency", "bandwidth", "exclusivity"}
	case "btl/sm":
		return []string{"backing_directory", "segment_size", "memcpy_limit", "fbox_max", "fbox_size", "fbox_threshold", "num_fifos",
			"fifo_lazy_free", "sm_extra_procs", "mpool", "use_knem", "use_cma", "knem_max_simultaneous", "knem_dma_min", "xpmem_minimum_size"}
	case "btl/tcp":
		return []string{"if_seq", "progress_thread", "warn_all_unfound_interfaces", "disable_family", "max_send_count"}
	case "bml/r2":
		return []string{"show_unreach_errors"}
	case "pml/ob1":
		return []string{"priority", "free_list_num", "free_list_max", "free_list_inc", "recv_pipeline_depth", "rdma_put_retries_limit",
			"rdma_retries_limit", "max_rdma_per_request", "max_send_per_range", "unexpected_limit", "use_all_rdma", "allocator", "matching",
			"accelerator_events_max"}
	case "coll/tuned":
		return []string{"init_tree_fanout", "init_chain_fanout", "init_max_requests", "use_dynamic_rules", "dynamic_rules_filename",
			"dynamic_rules_fileformat", "alltoall_large_msg", "alltoall_min_procs", "alltoall_max_requests"}
	case "coll/basic":
		return []string{"priority", "crossover"}
	case "coll/sm":
		return []string{"priority", "control_size", "fragment_size", "mpool", "comm_in_use_flags", "comm_num_segments", "tree_degree",
			"info_num_procs", "shared_mem_used_data", "fragment_size"}
	}
	return nil
}

// openMPI reports whether an unknown parameter of a framework that we have is one of Open MPI's; rest is its name without the framework's.
func (r *Registry) openMPI(framework, rest string) bool {
	theirs := OpenMPIComponents(framework)
	if theirs == nil {
		return false
	}
	if strings.HasPrefix(rest, BaseName+"_") {
		return true
	}
	component, field, ok := strings.Cut(rest, "_")
	if !ok || !slices.Contains(theirs, component) {
		return false
	}
	if _, ours := r.Component(framework, component); !ours || field == "verbose" {
		return true
	}
	return slices.Contains(openMPIFields(framework, ""), field) || slices.Contains(openMPIFields(framework, component), field)
}

// adapt makes a selection list that was written for Open MPI one for us: a renamed component gets its new name, and components that we
// do not have are left out, as long as something is left to use. note says what was done, "" for nothing.
func (r *Registry) adapt(framework, text string) (adapted, note string) {
	s, err := parseSelection(text)
	if err != nil {
		return text, ""
	}
	theirs, known := OpenMPIComponents(framework), r.componentNames(framework)
	var names, renamed, missing []string
	for _, name := range s.names {
		if slices.Contains(known, name) {
			names = append(names, name)
			continue
		}
		if !slices.Contains(theirs, name) {
			return text, "" // a slip
		}
		if heir := successor(framework, name); slices.Contains(known, heir) {
			renamed = append(renamed, fmt.Sprintf("%s, which is %s here", name, heir))
			if !slices.Contains(s.names, heir) {
				names = append(names, heir)
			}
			continue
		}
		missing = append(missing, name)
	}
	if renamed == nil && missing == nil || names == nil && !s.exclude {
		return text, ""
	}
	var notes []string
	if renamed != nil {
		notes = append(notes, "it names "+strings.Join(renamed, ", "))
	}
	if missing != nil {
		notes = append(notes, "left out, as this library has no such component: "+strings.Join(missing, ", "))
	}
	return Selection{names, s.exclude && names != nil}.String(), strings.Join(notes, "; ")
}
