//go:build !invariants

package invariants

// On reports whether the checks are compiled in.
const On = false
