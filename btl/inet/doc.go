// Package inet is what the BTLs over IP, tcp and udp, have in common: the choice of interfaces and addresses (iface.go), the business card
// by which peers find them (card.go), and a pool of buffers for messages that are put together from pieces (pool.go). It knows no sockets. Only
// those BTLs use it.
package inet
