// Package osctest is the conformance suite of one-sided components, over the public API: programs in all kinds of epochs over all kinds of windows, checked
// against models. A component's test calls Run; outside ones do the same.
package osctest
