// Package invariants tells whether the checks of the build tag "invariants" are on: balances of pools, poisoned memory. They
// cost too much for every run; CI runs the tests with them.
package invariants

// Poison overwrites memory that nobody should read any more.
func Poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
