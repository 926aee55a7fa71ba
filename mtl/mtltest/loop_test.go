package mtltest

import "testing"

func TestLoop(t *testing.T) {
	Run(t, Config{Component: &Loop{Eager: 4096}})
}

func TestLoopAnnounces(t *testing.T) {
	Run(t, Config{Component: &Loop{Eager: 100}, Long: 100000})
}
