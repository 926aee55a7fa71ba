// Package relaxed has stores that need no fence of their own. sync/atomic's stores are sequentially consistent: on amd64 a locked
// exchange that costs some 20 cycles and waits for all earlier stores. Where a later locked operation orders things anyway, such
// as giving back the engine's token, a plain store that the compiler may not move is enough. Loads stay those of sync/atomic,
// which are plain instructions.
package relaxed
