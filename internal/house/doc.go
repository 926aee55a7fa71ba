// Package house holds the tests of the rules that the whole repository keeps: which floor may import which, no cgo, a size limit
// for files, a doc comment for every package, documents whose links lead somewhere. It has no other code; nobody imports it.
package house
