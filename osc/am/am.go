// Package am carries out one-sided operations that come as messages: their form on the wire, and the target's side of them. osc/pt2pt sends everything so,
// osc/rdma what its BTLs cannot do.
package am
